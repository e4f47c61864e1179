//! Why an export did not happen.

use std::io;
use std::path::{Path, PathBuf};

use face::option::{COLUMNS, FORCE, PATH, WHERE};
use server::error::holders_text;

/// Everything that ends an export. No file of it is left, but for [`Error::Partly`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An option that cannot be meant.
    #[error("{0}")]
    Usage(String),
    /// The server, or the way to it.
    #[error(transparent)]
    Server(#[from] server::Error),
    /// A server that has a partition of the table.
    #[error("shard {name}: {error}")]
    Shard {
        /// Which.
        name: String,
        /// The server's error.
        error: server::Error,
    },
    /// A table whose file cannot be read without the server, where that was asked for.
    #[error("{table} cannot be read from its file: {}; {} reads it", .reasons.join("; "), PATH.with("select"))]
    NotDirect {
        /// `database.table`.
        table: String,
        /// Each thing in the way, as a sentence.
        reasons: Vec<String>,
    },
    /// A table that others write to all the time, whose file was to be read.
    #[error(
        "the file of {table} was not locked within {seconds} s; {}; {} reads the table without \
         that lock", holders_text(.holders), PATH.with("select")
    )]
    Locked {
        /// `database.table`.
        table: String,
        /// How long the lock was tried for.
        seconds: u64,
        /// Who may hold it, one sentence each.
        holders: Vec<String>,
    },
    /// A table with another definition than at the start of the export.
    #[error("{0} was altered during the export; no file is left; export it again")]
    Altered(String),
    /// A value that the dialect has no text for.
    #[error("a value of column `{column}` cannot be written: {why}")]
    Value {
        /// The column.
        column: String,
        /// The obstacle.
        why: String,
    },
    /// A file, of the output or of the server.
    #[error("{doing} {}: {source}{}", .path.display(), advice(.source))]
    Io {
        /// `writing`, `opening`.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Files of an export that took the places of others, until one could not.
    #[error(
        "{error}; {placed} of {files} files are new, and the others are as before: export again"
    )]
    Partly {
        /// How many have their names.
        placed: usize,
        /// How many there are.
        files: usize,
        /// Why the next one has not.
        error: Box<Error>,
    },
    /// A file of the server's that is not as it should be.
    #[error("{}: {detail}", .path.display())]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// The fault.
        detail: String,
    },
    /// Somebody asked for the end.
    #[error("stopped by {0}; no file is left")]
    Interrupted(&'static str),
    /// Nobody takes what a thread has: another error says why.
    #[error("the export was ended by another of its threads")]
    Abandoned,
    /// A mistake of ours.
    #[error("an internal error stopped the export; please report this: {0}")]
    Internal(String),
}

impl Error {
    /// Makes an error of what the system says of a file.
    pub(crate) fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
        let path = path.to_owned();
        move |source| Error::Io { doing, path, source }
    }

    /// Text in a character set that is not the same again on the way back from UTF-8.
    pub(crate) fn no_text(column: &str) -> Error {
        Error::Value { column: column.to_owned(), why: no_text_reason() }
    }

    /// An error of a shard, unless the end was requested.
    pub fn shard(name: &str, error: server::Error) -> Error {
        match error {
            error @ server::Error::Interrupted => error.into(),
            error => Error::Shard { name: name.to_owned(), error },
        }
    }

    /// An error of compression, which is neither the disk's nor the text's.
    pub(crate) fn packing(source: io::Error) -> Error {
        Error::Internal(format!("compressing: {source}"))
    }

    /// 2 where nothing was begun, else 1.
    pub fn exit_status(&self) -> u8 {
        match self {
            Error::Usage(_) | Error::NotDirect { .. } => 2,
            _ => 1,
        }
    }
}

/// Why bytes are no text in a file.
pub(crate) fn no_text_reason() -> String {
    format!(
        "its bytes cannot be written as UTF-8 and loaded back unchanged; {COLUMNS} or {WHERE} \
         omits it, and CAST(.. AS BINARY) in a view exports its bytes"
    )
}

fn advice(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "; free some space there, then export again".to_owned()
        }
        io::ErrorKind::AlreadyExists => format!("; {FORCE} overwrites it"),
        _ => String::new(),
    }
}
