//! A piece of input: whole records of one file.

use std::sync::Arc;

use crate::bytes::encoding::Unit;
use crate::position::PartPlace;

/// Whole records, of one file and in input order unless `places` says otherwise. Reused:
/// [`crate::Source::next_chunk`] overwrites it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chunk {
    /// Place in the input: 0, 1, 2, ... over all files.
    pub ordinal: u64,
    /// Index into [`crate::InputFacts::files`].
    pub file: u32,
    /// Byte of the file (after decompression) that `bytes[0]` is.
    pub offset: u64,
    /// The unit of the file's characters, if `bytes` are not the file's own.
    pub unit: Unit,
    /// Line of the file that `bytes[0]` is on, from 1, counted by `\n` as editors do.
    pub first_line: u64,
    /// The records. The last one of a file may lack its terminator.
    pub bytes: Vec<u8>,
    /// Number of its first record in its file, from 0, where records are numbered and are no text:
    /// then places are told by these numbers, and a place in the chunk is the index of a record.
    pub first_record: Option<u64>,
    /// Where each record is from, if they are not one piece of a file; ascending by `at`, the first
    /// one at 0. `file`, `offset` and `first_line` are then those of the first record.
    pub places: Vec<RecordPlace>,
    /// The part of the file that its records are in, where a file has such parts.
    pub part: Option<Arc<PartPlace>>,
    /// True if it is one line with an unclosed quote, so that its fields are unknown.
    pub is_unclosed: bool,
}

/// Where a record of a chunk is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordPlace {
    /// Its first byte in the chunk.
    pub at: usize,
    /// As [`Chunk::file`].
    pub file: u32,
    /// Byte of the file that it begins at.
    pub offset: u64,
    /// Line of the file that it begins on, from 1.
    pub line: u64,
}

impl Chunk {
    /// Most bytes of one.
    pub const BYTES_MAX: usize = simd::POSITION_MAX as usize;

    /// Line of the file, from 1, that `bytes[at]` is on, or number of the record, from 1. Counts from
    /// the start of the chunk: for messages, not for every row.
    pub fn line_at(&self, at: usize) -> u64 {
        if let Some(first) = self.first_record {
            return first + at as u64 + 1;
        }
        let (start, line) = self.place(at).map_or((0, self.first_line), |of| (of.at, of.line));
        line + self.lines_between(start, at)
    }

    /// Index into [`crate::InputFacts::files`] of the file that `bytes[at]` is from.
    pub fn file_at(&self, at: usize) -> u32 {
        self.place(at).map_or(self.file, |of| of.file)
    }

    /// Lines that end between two bytes of the chunk: for who goes on counting from `from`.
    pub fn lines_between(&self, from: usize, to: usize) -> u64 {
        if self.first_record.is_some() {
            return (to - from) as u64;
        }
        let to = to.min(self.bytes.len());
        newlines(&self.bytes[from.min(to)..to])
    }

    /// Byte of the file that `bytes[at]` is. In a file that was UTF-16 or UTF-32, counts from the
    /// start of the chunk, or of the record where these have places: for messages, not for every row.
    pub fn offset_at(&self, at: usize) -> u64 {
        if self.first_record.is_some() {
            return self.offset;
        }
        let (start, offset) = self.place(at).map_or((0, self.offset), |of| (of.at, of.offset));
        let end = at.min(self.bytes.len());
        offset + self.unit.file_bytes(&self.bytes[start.min(end)..end])
    }

    /// Bytes of the file that became those between two bytes of the chunk.
    pub(crate) fn file_bytes_between(&self, from: usize, to: usize) -> u64 {
        match (self.first_record, self.unit) {
            (Some(_), _) => 0,
            (None, Unit::Byte) => (to - from) as u64,
            (None, unit) => unit.file_bytes(&self.bytes[from..to]),
        }
    }

    /// Begins it anew, without records.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.places.clear();
        self.first_record = None;
        self.part = None;
        self.is_unclosed = false;
    }

    /// Place of the record that `bytes[at]` is in, if records have places of their own.
    fn place(&self, at: usize) -> Option<&RecordPlace> {
        let after = self.places.partition_point(|place| place.at <= at);
        self.places.get(after.checked_sub(1)?)
    }
}

/// Number of `\n` in `bytes`, at SIMD speed.
pub(crate) fn newlines(bytes: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', bytes).count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_as_editors_do() {
        let chunk = Chunk {
            first_line: 7,
            offset: 100,
            bytes: b"a\n\nb\r\nc".to_vec(),
            ..Chunk::default()
        };
        let lines: Vec<u64> = (0..8).map(|at| chunk.line_at(at)).collect();
        assert_eq!(lines, [7, 7, 8, 9, 9, 9, 10, 10]);
        assert_eq!(chunk.offset_at(3), 103);
    }

    #[test]
    fn records_from_several_places_keep_them() {
        let place = |at, file, offset, line| RecordPlace { at, file, offset, line };
        let chunk = Chunk {
            bytes: b"ab\ncd\n\"e\nf\"\n".to_vec(),
            places: vec![place(0, 2, 50, 9), place(3, 0, 7, 3), place(6, 2, 10, 4)],
            ..Chunk::default()
        };
        let of = |at| (chunk.file_at(at), chunk.offset_at(at), chunk.line_at(at));
        assert_eq!(of(0), (2, 50, 9));
        assert_eq!(of(3), (0, 7, 3));
        assert_eq!(of(5), (0, 9, 3));
        assert_eq!(of(6), (2, 10, 4));
        assert_eq!(of(9), (2, 13, 5));
    }
}
