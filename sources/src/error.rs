//! What can go wrong while reading input, and where in which file.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// Result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A place in an input file as an editor shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Position {
    /// The file.
    pub path: PathBuf,
    /// Line, from 1, counted by `\n`.
    pub line: u64,
    /// Byte, from 0, after decompression.
    pub offset: u64,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} line {}, byte {}", self.path.display(), self.line, self.offset)
    }
}

/// Reading the input failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system said no.
    #[error("{action} {}: {source}", path.display())]
    Io {
        /// What was being done: "opening", "reading".
        action: &'static str,
        /// To which file.
        path: PathBuf,
        /// What the system answered.
        source: io::Error,
    },
    /// A path that names no file of bytes.
    #[error("{} is a directory; name the files in it", path.display())]
    Directory {
        /// The path.
        path: PathBuf,
    },
    /// Field options that contradict each other or are not supported.
    #[error("{0}")]
    Dialect(String),
    /// The input ends inside quotes.
    #[error("{at}: a quote opens here and is not closed before the end of the file")]
    UnterminatedQuote {
        /// Where the quote opened.
        at: Position,
    },
    /// A record that does not fit into the largest chunk.
    #[error(
        "{at}: the record that starts here is longer than {bytes_max} bytes; a quote not closed or \
         another line terminator than given is the usual cause, else it takes more --memory"
    )]
    RecordTooLong {
        /// Start of the record.
        at: Position,
        /// The limit.
        bytes_max: usize,
    },
    /// `--header` was given and a file has none, or another one than the first file.
    #[error("{}: the header line {seen}, expected {expected}", path.display())]
    Header {
        /// The file.
        path: PathBuf,
        /// What was found.
        seen: String,
        /// What was expected.
        expected: String,
    },
    /// The input can be read only once (a pipe) and has to be read again.
    #[error("{} is a pipe and cannot be read a second time; give a regular file", path.display())]
    NotRestartable {
        /// The input.
        path: PathBuf,
    },
}

impl Error {
    /// Where in the input it happened, if it happened at a place.
    pub fn position(&self) -> Option<&Position> {
        match self {
            Error::UnterminatedQuote { at } | Error::RecordTooLong { at, .. } => Some(at),
            _ => None,
        }
    }
}
