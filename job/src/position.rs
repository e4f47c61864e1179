//! Where a row of the input is.

use std::fmt;
use std::path::PathBuf;

use sources::Chunk;

/// A row of the input: file, line and byte, as an editor counts them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Position {
    /// The file as it was named.
    pub file: PathBuf,
    /// Line on which the row begins, from 1.
    pub line: u64,
    /// Byte of the file at which the row begins, from 0.
    pub offset: u64,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} line {} (byte {})", self.file.display(), self.line, self.offset)
    }
}

/// Finds lines and bytes of the file for rows of one chunk after the other, in order: each byte is
/// looked at once.
#[derive(Clone, Copy, Debug, Default)]
pub struct Places {
    /// Byte of the chunk up to which was counted, and the line and byte of the file there.
    at: usize,
    line: u64,
    offset: u64,
}

impl Places {
    /// At the start of `chunk`.
    pub fn of(chunk: &Chunk) -> Places {
        Places { at: 0, line: chunk.first_line, offset: chunk.offset }
    }

    /// Where byte `at` of the chunk is, which is not before that of the call before.
    pub fn find(&mut self, chunk: &Chunk, files: &[PathBuf], at: usize) -> Position {
        let file = files.get(chunk.file_at(at) as usize).cloned().unwrap_or_default();
        if !chunk.places.is_empty() {
            return Position { file, line: chunk.line_at(at), offset: chunk.offset_at(at) };
        }
        self.line += chunk.lines_between(self.at, at);
        self.offset += chunk.unit.file_bytes(&chunk.bytes[self.at..at]);
        self.at = at;
        Position { file, line: self.line, offset: self.offset }
    }
}
