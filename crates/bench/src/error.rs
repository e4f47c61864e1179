//! Errors of a benchmark.

use std::io;
use std::path::{Path, PathBuf};

/// Why a benchmark stopped. The text reads as one sentence.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file could not be read or written.
    #[error("{doing} {}: {source}", path.display())]
    Io {
        /// The operation: "writing", "reading".
        doing: &'static str,
        /// To which file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// An option has no meaning.
    #[error("{0}")]
    Option(String),
    /// The file system is too small for what is asked.
    #[error(
        "{} has {available_bytes} bytes free, and this benchmark needs about {needed_bytes}: \
         choose a smaller --scale or --rows, or another --data-dir",
        path.display()
    )]
    Space {
        /// A folder of the file system.
        path: PathBuf,
        /// Free bytes there.
        available_bytes: u64,
        /// Bytes that the run writes at its peak.
        needed_bytes: u64,
    },
    /// The server said no.
    #[error(transparent)]
    Server(#[from] server::Error),
    /// Inrush itself failed.
    #[error("inrush load of {table}: {said}")]
    Inrush {
        /// The table.
        table: String,
        /// Its output.
        said: String,
    },
    /// Another program that the benchmark runs failed, or is not installed.
    #[error("{name}: {said}")]
    Program {
        /// Its name.
        name: String,
        /// Its output.
        said: String,
    },
    /// A stage failed on rows that it should take.
    #[error("stage {stage}: {said}")]
    Stage {
        /// Its name.
        stage: &'static str,
        /// Its output.
        said: String,
    },
    /// Another benchmark uses the same folder.
    #[error("another benchmark is running in {}; wait for it, or use another --data-dir", .0.display())]
    Busy(PathBuf),
    /// Two ways of loading the same rows gave different tables.
    #[error("table {table}: {method} loaded {seen}, {reference} loaded {expected}")]
    Different {
        /// The table.
        table: String,
        /// The way that differs.
        method: String,
        /// The rows that it loaded.
        seen: String,
        /// The way it is compared with.
        reference: String,
        /// The rows of the reference.
        expected: String,
    },
}

impl Error {
    /// Turns an I/O error into one that says what was being done to which file.
    pub(crate) fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
        let path = path.to_path_buf();
        move |source| Error::Io { doing, path, source }
    }

    /// Turns what a stage said into an error that names the stage.
    pub(crate) fn stage<S: std::fmt::Display>(stage: &'static str) -> impl FnOnce(S) -> Error {
        move |said| Error::Stage { stage, said: said.to_string() }
    }
}
