//! Positions of the rows of a chunk.

use std::path::PathBuf;

use crate::chunk::Chunk;
use crate::position::Position;

impl Position {
    /// The position of the row that begins at `at` of a chunk. Counts from the start of the chunk: for few.
    pub fn of(chunk: &Chunk, at: usize, files: &[PathBuf]) -> Position {
        Position {
            file: file_of(chunk, at, files),
            line: chunk.line_at(at),
            offset: offset(chunk, chunk.offset_at(at)),
            part: chunk.part.clone(),
        }
    }
}

fn file_of(chunk: &Chunk, at: usize, files: &[PathBuf]) -> PathBuf {
    files.get(chunk.file_at(at) as usize).cloned().unwrap_or_default()
}

fn offset(chunk: &Chunk, offset: u64) -> Option<u64> {
    chunk.first_record.is_none().then_some(offset)
}

/// Finds lines and bytes of the file for rows of one chunk after the other, in order: each byte is
/// looked at once.
#[derive(Clone, Copy, Debug, Default)]
pub struct PositionCursor {
    /// The record at hand, where records have places of their own.
    record: usize,
    /// Where in the chunk bytes were counted up to, and the byte of the file there.
    at: usize,
    offset: u64,
    /// Where lines were counted up to, which are asked for less often, and the line there.
    line_at: usize,
    line: u64,
}

impl PositionCursor {
    /// In a place, says that rows are numbered.
    pub const NUMBERED: u64 = 1 << 63;

    /// At the start of `chunk`.
    pub fn of(chunk: &Chunk) -> PositionCursor {
        PositionCursor {
            record: 0,
            at: 0,
            offset: chunk.offset,
            line_at: 0,
            line: chunk.line_at(0),
        }
    }

    /// Line and byte of the file at which the row at `at` begins, which is not before that of the
    /// call before.
    #[inline]
    pub fn advance(&mut self, chunk: &Chunk, at: usize) -> (u64, u64) {
        let offset = self.advance_bytes(chunk, at);
        (self.line(chunk), offset)
    }

    /// Byte of the file at which the row at `at` begins, as [`PositionCursor::advance`].
    #[inline]
    pub fn advance_bytes(&mut self, chunk: &Chunk, at: usize) -> u64 {
        if !chunk.places.is_empty() {
            self.enter_record(chunk, at);
        }
        self.offset += chunk.file_bytes_between(self.at, at);
        self.at = at;
        self.offset
    }

    /// The place of the row at `at` in its file, as [`PositionCursor::advance`]: its byte, or its number with
    /// [`PositionCursor::NUMBERED`] where rows are numbered. Ascends.
    #[inline]
    pub fn place(&mut self, chunk: &Chunk, at: usize) -> u64 {
        match chunk.first_record {
            None => self.advance_bytes(chunk, at),
            Some(first) => {
                self.at = at;
                PositionCursor::numbered(first + at as u64 + 1)
            }
        }
    }

    /// The place of the row of a number, from 1.
    pub fn numbered(number: u64) -> u64 {
        PositionCursor::NUMBERED | number
    }

    /// Counts on from the record that `at` is in.
    fn enter_record(&mut self, chunk: &Chunk, at: usize) {
        while let Some(next) = chunk.places.get(self.record + 1).filter(|next| next.at <= at) {
            let record = self.record + 1;
            let (at, line) = (next.at, next.line);
            *self = PositionCursor { record, at, offset: next.offset, line_at: at, line };
        }
    }

    /// Line of the file on which the row begins that was asked about last.
    #[inline]
    pub fn line(&mut self, chunk: &Chunk) -> u64 {
        self.line += chunk.lines_between(self.line_at, self.at);
        self.line_at = self.at;
        self.line
    }

    /// Where the row at `at` is, as [`PositionCursor::advance`].
    pub fn find(&mut self, chunk: &Chunk, files: &[PathBuf], at: usize) -> Position {
        let (line, bytes) = self.advance(chunk, at);
        let offset = offset(chunk, bytes);
        Position { file: file_of(chunk, at, files), line, offset, part: chunk.part.clone() }
    }
}

#[cfg(test)]
mod tests {
    use crate::chunk::RecordPlace;

    use super::*;

    #[test]
    fn places_of_records_from_anywhere_are_theirs() {
        let place = |at, offset, line| RecordPlace { at, file: 0, offset, line };
        let chunk = Chunk {
            offset: 40,
            first_line: 5,
            bytes: b"a\n\"b\nb\"\nc\n".to_vec(),
            places: vec![place(0, 40, 5), place(2, 70, 9), place(8, 76, 11)],
            ..Chunk::default()
        };
        let mut places = PositionCursor::of(&chunk);
        let seen: Vec<_> = [0, 2, 5, 8].map(|at| places.advance(&chunk, at)).to_vec();
        assert_eq!(seen, [(5, 40), (9, 70), (10, 73), (11, 76)]);
        let mut late = PositionCursor::of(&chunk);
        assert_eq!(late.advance(&chunk, 8), (11, 76));
    }
}
