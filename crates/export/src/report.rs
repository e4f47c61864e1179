//! The report of an export.

use std::path::PathBuf;

use serde::Serialize;

/// The report of a finished export.
#[derive(Clone, Debug, Serialize)]
pub struct ExportReport {
    /// `database.table`.
    pub table: String,
    /// `direct` or `select`.
    pub path: &'static str,
    /// Why this way, and not the faster one.
    pub why: String,
    /// Rows that were written.
    pub rows: u64,
    /// Bytes of text, or of typed values, before they are compressed.
    pub bytes: u64,
    /// Bytes of the files.
    pub file_bytes: u64,
    /// From the first question to the server to the last file's name.
    pub seconds: f64,
    /// Rows in each of these seconds.
    pub rows_per_second: f64,
    /// Millions of these bytes a second.
    pub megabytes_per_second: f64,
    /// The files, in the order of their rows; none on the standard output.
    pub files: Vec<PathBuf>,
    /// The columns, in order.
    pub columns: Vec<String>,
    /// The most memory that the process had.
    pub memory_peak_bytes: u64,
    /// Threads that read.
    pub threads: usize,
    /// The server's version.
    pub server: String,
    /// Its address.
    pub server_address: String,
    /// Notes for the user, above all for a load of the files.
    pub notes: Vec<String>,
}
