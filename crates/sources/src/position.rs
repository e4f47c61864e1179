//! Positions of rows and bytes in an input.

use std::fmt;
use std::path::{Path, PathBuf};

/// A position in the input, as an editor counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Position {
    /// The file as it was named.
    pub file: PathBuf,
    /// Line, from 1, counted by `\n`; of an input whose rows are no text, the number of the row.
    pub line: u64,
    /// Byte, from 0, of the file after decompression, where rows are text; of a UTF-16 or UTF-32 file as it is.
    pub offset: Option<u64>,
}

impl Position {
    /// A position in text.
    pub(crate) fn in_text(file: &Path, line: u64, offset: u64) -> Position {
        Position { file: file.to_owned(), line, offset: Some(offset) }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = self.file.display();
        match self.offset {
            Some(offset) => write!(f, "{file} line {} (byte {offset})", self.line),
            None => write!(f, "{file} row {}", self.line),
        }
    }
}
