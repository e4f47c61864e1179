//! A piece of input: whole records of one file.

use crate::encoding::Unit;

/// Whole records of one file, in input order. Reused: [`crate::Source::next_chunk`] overwrites it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chunk {
    /// Place in the input: 0, 1, 2, ... over all files.
    pub ordinal: u64,
    /// Index into [`crate::Source::files`].
    pub file: u32,
    /// Byte of the file (after decompression) that `bytes[0]` is.
    pub offset: u64,
    /// What the file's characters are made of, where `bytes` are not the file's own.
    pub unit: Unit,
    /// Line of the file that `bytes[0]` is on, from 1, counted by `\n` as editors do.
    pub first_line: u64,
    /// The records. The last one of a file may lack its terminator.
    pub bytes: Vec<u8>,
}

impl Chunk {
    /// Line of the file, from 1, that `bytes[at]` is on. Counts from the start of the chunk: for
    /// messages, not for every row.
    pub fn line_at(&self, at: usize) -> u64 {
        let before = &self.bytes[..at.min(self.bytes.len())];
        self.first_line + newlines(before)
    }

    /// Lines that end between two bytes of the chunk: for who goes on counting from `from`.
    pub fn lines_between(&self, from: usize, to: usize) -> u64 {
        let to = to.min(self.bytes.len());
        newlines(&self.bytes[from.min(to)..to])
    }

    /// Byte of the file that `bytes[at]` is. In a file that was UTF-16 or UTF-32, counts from the
    /// start of the chunk: for messages, not for every row.
    pub fn offset_at(&self, at: usize) -> u64 {
        self.offset + self.unit.file_bytes(&self.bytes[..at.min(self.bytes.len())])
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
}
