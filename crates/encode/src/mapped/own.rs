//! Which lines stand for the rows of an entity.

use std::sync::Arc;

use sources::{Chunk, RecordPlace, Unit};

use super::LinePlace;
use super::gathering::LineAt;

/// Lines that stand for rows, in their order, with the ids of these.
#[derive(Debug, Default)]
pub struct OwnLines {
    lines: Vec<(LineAt, u64)>,
}

impl OwnLines {
    /// These lines, in any order.
    pub fn new(mut lines: Vec<(LineAt, u64)>) -> OwnLines {
        lines.sort_unstable();
        OwnLines { lines }
    }

    /// The memory that it takes.
    pub fn bytes(&self) -> u64 {
        (self.lines.len() * size_of::<(LineAt, u64)>()) as u64
    }

    /// Bytes of all of them.
    pub(super) fn line_bytes(&self) -> u64 {
        self.lines.iter().map(|(line, _)| u64::from(line.bytes)).sum()
    }

    /// True if they all begin before a place.
    pub(super) fn end_before(&self, place: LinePlace) -> bool {
        self.lines.last().is_none_or(|(line, _)| line.place() < place)
    }

    /// Leaves of a chunk these lines alone, with their places, so that others are not looked at. A chunk
    /// of which they are most stays as it is, and one whose bytes are not the file's.
    pub(super) fn leave_in(&self, chunk: &mut Chunk) -> Result<(), Moved> {
        let is_plain = chunk.unit == Unit::Byte && chunk.first_record.is_none();
        if !is_plain || chunk.is_unclosed || !chunk.places.is_empty() {
            return Ok(());
        }
        let (start, end) = (chunk.offset, chunk.offset + chunk.bytes.len() as u64);
        let first_from =
            |place: LinePlace| self.lines.partition_point(|(at, _)| at.place() < place);
        let own = &self.lines[first_from((chunk.file, start))..first_from((chunk.file, end))];
        let size: usize = own.iter().map(|(line, _)| line.bytes as usize).sum();
        if size > chunk.bytes.len() / 2 {
            return Ok(());
        }
        let mut to = 0;
        for (line, _) in own {
            let from = (line.offset - start) as usize;
            let span = from..from + line.bytes as usize;
            // The last record of a chunk of JSON lacks the end of its line.
            if span.end == chunk.bytes.len() + 1 && !chunk.bytes.ends_with(b"\n") {
                chunk.bytes.push(b'\n');
            }
            if span.end > chunk.bytes.len() || from < to {
                return Err(Moved);
            }
            chunk.bytes.copy_within(span, to);
            let LineAt { file, offset, line: number, bytes } = *line;
            chunk.places.push(RecordPlace { at: to, file, offset, line: number });
            to += bytes as usize;
        }
        chunk.bytes.truncate(to);
        if let Some(first) = chunk.places.first() {
            (chunk.offset, chunk.first_line) = (first.offset, first.line);
        }
        Ok(())
    }
}

/// Goes through them beside the lines of an input.
#[derive(Debug)]
pub(super) struct Cursor {
    own: Arc<OwnLines>,
    /// The first that does not come before the line looked at last.
    next: usize,
    last: LinePlace,
}

/// A line that stands for a row does not begin where it did.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Moved;

impl Cursor {
    pub(super) fn new(own: &Arc<OwnLines>) -> Cursor {
        Cursor { own: Arc::clone(own), next: 0, last: (u32::MAX, u64::MAX) }
    }

    /// Begins a batch, which may be of any lines.
    pub(super) fn begin(&mut self) {
        self.last = (u32::MAX, u64::MAX);
    }

    /// The id of the row that a line stands for; none if it stands for none. Lines of a batch come one
    /// after the other; none between them that stands for a row is left out.
    #[inline]
    pub(super) fn id_at(&mut self, place: LinePlace) -> Result<Option<u64>, Moved> {
        if place < self.last {
            self.next = self.own.lines.partition_point(|(line, _)| line.place() < place);
        }
        self.last = place;
        match self.own.lines.get(self.next).map(|(line, id)| (line.place(), *id)) {
            Some((line, id)) if line == place => {
                self.next += 1;
                Ok(Some(id))
            }
            Some((line, _)) if line < place => Err(Moved),
            _ => Ok(None),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn cursor(places: &[(u64, u64)]) -> Cursor {
        let lines = places.iter().map(|&(offset, id)| (at(0, offset), id));
        Cursor::new(&Arc::new(OwnLines::new(lines.collect())))
    }

    /// A line of four bytes.
    fn at(file: u32, offset: u64) -> LineAt {
        LineAt { file, offset, line: offset / 4 + 1, bytes: 4 }
    }

    fn chunk(file: u32, offset: u64, lines: &str) -> Chunk {
        let (bytes, first_line) = (lines.as_bytes().to_vec(), offset / 4 + 1);
        Chunk { file, offset, bytes, first_line, ..Chunk::default() }
    }

    #[test]
    fn of_a_chunk_its_own_lines_are_left_with_their_places() {
        let own = OwnLines::new(
            [(1, 40), (0, 44), (1, 56), (1, 100)].map(|(f, o)| (at(f, o), 7)).to_vec(),
        );
        let mut some = chunk(1, 40, "aaa\nbbb\nccc\nddd\neee\nfff\n");
        own.leave_in(&mut some).unwrap();
        assert_eq!(some.bytes, b"aaa\neee\n");
        assert_eq!((some.offset_at(0), some.line_at(0)), (40, 11));
        assert_eq!((some.offset_at(4), some.line_at(4)), (56, 15));
        let mut none = chunk(1, 60, "fff\nggg\n");
        own.leave_in(&mut none).unwrap();
        assert!(none.bytes.is_empty());
        let (mut most, before) = (chunk(0, 44, "bbb\n"), chunk(0, 44, "bbb\n"));
        own.leave_in(&mut most).unwrap();
        assert_eq!(most, before);
    }

    #[test]
    fn a_line_that_ends_behind_its_chunk_is_noticed() {
        let own = OwnLines::new(vec![(at(0, 8), 1)]);
        assert_eq!(own.leave_in(&mut chunk(0, 0, "aaa\nbbb\ncc")), Err(Moved));
    }

    #[test]
    fn lines_that_stand_for_rows_are_met_in_order_and_from_anywhere() {
        let mut cursor = cursor(&[(40, 3), (0, 1), (10, 2)]);
        let ids = |cursor: &mut Cursor, from: u64| -> Vec<_> {
            cursor.begin();
            (from / 10..6).map(|line| cursor.id_at((0, line * 10)).ok().flatten()).collect()
        };
        assert_eq!(ids(&mut cursor, 0), [Some(1), Some(2), None, None, Some(3), None]);
        assert_eq!(ids(&mut cursor, 20), [None, None, Some(3), None]);
        assert_eq!(cursor.id_at((0, 10)), Ok(Some(2)), "another file of the same chunk");
    }

    #[test]
    fn a_line_that_begins_elsewhere_now_is_noticed() {
        let mut cursor = cursor(&[(10, 1)]);
        assert_eq!(cursor.id_at((0, 0)), Ok(None));
        assert_eq!(cursor.id_at((0, 12)), Err(Moved));
    }
}
