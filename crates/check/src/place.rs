//! Where a row of the input is, small enough to travel in every entry of a sort.

use std::path::PathBuf;
use std::sync::Arc;

use encode::mapped::{LineAt, LinePlace};
use job::position::{Position, PositionCursor};
use sources::{Chunk, PartPlace};
use values::decode::big_endian;

/// Where a row begins. Ascends in input order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    /// Index into the input's files.
    pub(crate) file: u32,
    /// As [`PositionCursor::place`] has it.
    pub(crate) offset: u64,
    /// Line of the file, from 1.
    pub(crate) line: u64,
}

impl Place {
    /// Bytes of [`Place::to_bytes`].
    pub(crate) const BYTES: usize = 20;

    /// Memcmp-ordered.
    pub(crate) fn to_bytes(self) -> [u8; Place::BYTES] {
        let mut bytes = [0; Place::BYTES];
        bytes[..4].copy_from_slice(&self.file.to_be_bytes());
        bytes[4..12].copy_from_slice(&self.offset.to_be_bytes());
        bytes[12..].copy_from_slice(&self.line.to_be_bytes());
        bytes
    }

    /// Reads the bytes of [`Place::to_bytes`].
    pub(crate) fn from_bytes(bytes: &[u8]) -> Place {
        Place {
            file: big_endian(&bytes[..4]) as u32,
            offset: big_endian(&bytes[4..12]),
            line: big_endian(&bytes[12..Place::BYTES]),
        }
    }

    /// The same by the names of files.
    pub(crate) fn position(&self, files: &[PathBuf]) -> Position {
        let file = files.get(self.file as usize).cloned().unwrap_or_default();
        let is_text = self.offset & PositionCursor::NUMBERED == 0;
        let offset = is_text.then_some(self.offset);
        Position { file, line: self.line, offset, part: None }
    }
}

/// The row at hand, in its chunk: where it is, is counted when somebody asks.
pub(crate) struct Here<'a> {
    chunk: &'a Chunk,
    cursor: &'a mut PositionCursor,
    start: usize,
}

impl<'a> Here<'a> {
    /// The row that begins at `start` of the chunk, behind those that the cursor was asked about.
    pub(crate) fn new(chunk: &'a Chunk, cursor: &'a mut PositionCursor, start: usize) -> Here<'a> {
        Here { chunk, cursor, start }
    }

    /// Where it begins.
    #[inline]
    pub(crate) fn place(&mut self) -> Place {
        let offset = self.cursor.place(self.chunk, self.start);
        Place { file: self.chunk.file, offset, line: self.cursor.line(self.chunk) }
    }

    /// The same without the number of the line.
    #[inline]
    pub(crate) fn line_place(&mut self) -> LinePlace {
        (self.chunk.file, self.cursor.place(self.chunk, self.start))
    }

    /// The same of a line of so many bytes.
    pub(crate) fn line_at(&mut self, bytes: u32) -> LineAt {
        let Place { file, offset, line } = self.place();
        LineAt { file, offset, line, bytes }
    }

    /// The part of the file that the row is in, if files have such.
    pub(crate) fn part(&self) -> Option<Arc<PartPlace>> {
        self.chunk.part.clone()
    }

    /// The same as people are told. Counts from the start of the chunk: for few.
    pub(crate) fn position(&self, files: &[PathBuf]) -> Position {
        Position::of(self.chunk, self.start, files)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_keep_a_place_and_input_order() {
        let place = |file, offset, line| Place { file, offset, line };
        let places = [place(0, 0, 1), place(0, 7, 2), place(0, 300, 2), place(1, 0, 1)];
        for place in places {
            assert_eq!(Place::from_bytes(&place.to_bytes()), place);
        }
        assert!(places.is_sorted() && places.map(Place::to_bytes).is_sorted());
    }
}
