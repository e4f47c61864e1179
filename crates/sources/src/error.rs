//! Errors of reading input, with their place in a file.

use std::io;
use std::path::{Path, PathBuf};

use face::option::{ALLOW_EMPTY, MEMORY, TEMP_DIR};
use sql::Problem;

pub(crate) use crate::position::Position;

/// Result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Reading the input failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system said no.
    #[error("{action} {}: {source}{}", path.display(), disk::advice(source))]
    Io {
        /// The operation: "opening", "reading".
        action: &'static str,
        /// To which file.
        path: PathBuf,
        /// The system's error.
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
    #[error("{at}: a quote opens here and is never closed")]
    UnterminatedQuote {
        /// Where the quote opened.
        at: Position,
    },
    /// The input ends inside an object or an array of JSON.
    #[error(
        "{at}: the file ends before all objects and arrays are closed; the last object begins here"
    )]
    OpenJson {
        /// Where the last object begins.
        at: Position,
    },
    /// A record that does not fit into the largest chunk.
    #[error(
        "{at}: the record that starts here is longer than {bytes_max} bytes{}; usual causes are \
         an unclosed quote or a different line terminator; otherwise use more {MEMORY}",
        open_quote(quote)
    )]
    RecordTooLong {
        /// Start of the record.
        at: Position,
        /// The limit.
        bytes_max: usize,
        /// The quote that is open at the limit.
        quote: Option<Box<Position>>,
    },
    /// `--header` was given and a file has none, or another one than the first file.
    #[error("{}: the header line {seen}; expected {expected}", path.display())]
    Header {
        /// The file.
        path: PathBuf,
        /// The contents.
        seen: String,
        /// The expected contents.
        expected: String,
    },
    /// A file that has text, and no row.
    #[error(
        "no row was read from {}: {reason}; {ALLOW_EMPTY} treats it as an empty file", path.display()
    )]
    NoRows {
        /// The file.
        path: PathBuf,
        /// The likely reason.
        reason: String,
    },
    /// A row of which no partition is known that takes it.
    #[error("{at}: the row {why}")]
    Unplaced {
        /// Where the row is.
        at: Position,
        /// The reason.
        why: String,
    },
    /// A file is not what it was when the load began.
    #[error("{} {what}; load it when no program writes to it, or load a copy", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
        /// The change.
        what: String,
    },
    /// Compressed input that cannot be unpacked.
    #[error("{} byte {offset}: the {compression} data is {problem}", path.display())]
    Archive {
        /// The file.
        path: PathBuf,
        /// Its compression.
        compression: &'static str,
        /// Byte of the file, compressed, up to which it was read.
        offset: u64,
        /// The fault.
        problem: String,
    },
    /// A file of typed columns that cannot be read: where in it, and why.
    #[error("{}{place}: {problem}", path.display())]
    Columns {
        /// The file.
        path: PathBuf,
        /// The part of the file, behind a comma; empty for all of it.
        place: String,
        /// The fault.
        problem: String,
    },
    /// An input that holds no text.
    #[error("{} is {what}", path.display())]
    NotText {
        /// The file.
        path: PathBuf,
        /// Its format, and advice.
        what: &'static str,
    },
    /// Bytes that are no character in a UTF-16 or UTF-32 file.
    #[error("{at}: not {encoding}: {reason}")]
    Encoding {
        /// The file, and byte of it as it is.
        at: Position,
        /// The encoding it is read by.
        encoding: &'static str,
        /// The fault.
        reason: String,
    },
    /// A pipe's bytes could not be kept.
    #[error(
        "storing the data of {} in {}: {source}; a pipe's data is stored to be read again: free \
         some space, choose another {TEMP_DIR}, or load a file", path.display(), folder.display()
    )]
    Spool {
        /// The pipe.
        path: PathBuf,
        /// The temporary folder.
        folder: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A statement of a dump that cannot be read.
    #[error("{at}: {problem}{}", begins(statement))]
    Sql {
        /// Where.
        at: Position,
        /// Why not.
        problem: Problem,
        /// How the statement begins.
        statement: String,
    },
    /// Rows that were put aside and cannot be had back.
    #[error("reading sorted rows: {0}")]
    Sorted(String),
    /// Text in the rows of an INSERT that is no plain literal, or none that its column takes as
    /// LOAD DATA takes a field.
    #[error("{at}: {what}, which only the server can evaluate")]
    NotPlain {
        /// Where it is.
        at: Position,
        /// The unexpected part: a noun with its article.
        what: &'static str,
    },
    /// A line that holds rows of several tables, and not the fields that it should.
    #[error("{at}: {}, but the header or the job file names {expected}", fields_of_line(*seen))]
    FieldCount {
        /// Where it is.
        at: Position,
        /// Fields of the line; 0 of a blank one.
        seen: usize,
        /// Fields that are named.
        expected: usize,
    },
    /// A record that holds rows of several tables, and no fields that are known.
    #[error("{at}: {problem}")]
    Record {
        /// Where it is.
        at: Position,
        /// Why they are not.
        problem: String,
    },
    /// Somebody asked for the end.
    #[error("reading {} was stopped", path.display())]
    Stopped {
        /// The input that was waited for.
        path: PathBuf,
    },
    /// A pipe that is named twice.
    #[error("{} is a pipe and is named twice; a pipe can be read only once", path.display())]
    Twice {
        /// The pipe.
        path: PathBuf,
    },
    /// A pattern that names no files.
    #[error("{pattern}: {reason}")]
    Pattern {
        /// The pattern.
        pattern: String,
        /// Why not.
        reason: String,
    },
}

fn open_quote(quote: &Option<Box<Position>>) -> String {
    match quote {
        None => String::new(),
        Some(at) => {
            let byte = at.offset.map_or_else(String::new, |offset| format!(" (byte {offset})"));
            format!(", and the quote that opens at line {}{byte} is never closed", at.line)
        }
    }
}

fn fields_of_line(seen: usize) -> String {
    match seen {
        0 => "the line is blank".to_owned(),
        _ => format!("the line has {seen} field(s)"),
    }
}

fn begins(statement: &str) -> String {
    if statement.is_empty() { String::new() } else { format!(" (statement: {statement})") }
}

impl Error {
    /// The error of a file that lacks the header line; `is_empty` says that the file has nothing at all.
    pub(crate) fn no_header(path: &Path, is_empty: bool) -> Error {
        let expected = match is_empty {
            true => format!("column names; {ALLOW_EMPTY} accepts files without rows"),
            false => "column names".to_owned(),
        };
        Error::Header { path: path.to_owned(), seen: "is missing".to_owned(), expected }
    }

    /// Where in the input it happened, if it happened at a place.
    pub fn position(&self) -> Option<&Position> {
        match self {
            Error::UnterminatedQuote { at }
            | Error::NotPlain { at, .. }
            | Error::RecordTooLong { at, .. }
            | Error::Encoding { at, .. }
            | Error::FieldCount { at, .. }
            | Error::Record { at, .. }
            | Error::Unplaced { at, .. }
            | Error::Sql { at, .. } => Some(at),
            _ => None,
        }
    }
}
