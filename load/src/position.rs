//! Where a row of the input is.

use std::fmt;
use std::path::PathBuf;

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
