//! The report of a check.

use std::path::PathBuf;

use encode::rejects::{Also, Reject};
use job::position::RefusedRow;
use job::report::RejectTally;
use serde::Serialize;

/// The report of a check of an input.
#[derive(Clone, Debug, Default, Serialize)]
pub struct CheckReport {
    /// `database.table`.
    pub target: String,
    /// Version of the server.
    pub server: String,
    /// Where the server is: host and port, its socket, or `sandbox`.
    pub server_address: String,
    /// Rows of the input.
    pub rows: u64,
    /// Rows with something wrong.
    pub bad_rows: u64,
    /// How many rows are at fault, by column and reason, most first. A row counts for each of its
    /// reasons.
    pub reasons: Vec<RejectTally>,
    /// The first bad rows, in input order.
    pub first: Vec<BadRow>,
    /// Where all of them are, if they were to be written down; why is in `<file>.reasons.jsonl`.
    pub rejects_file: Option<PathBuf>,
    /// Rules that were applied besides types and NOT NULL.
    pub judged: Vec<String>,
    /// Rules that could not be applied, or were not to be.
    pub not_judged: Vec<String>,
    /// Bytes of input.
    pub bytes: u64,
    /// From the beginning to the end.
    pub seconds: f64,
}

/// A row with something wrong.
#[derive(Clone, Debug, Serialize)]
pub struct BadRow {
    /// The file.
    pub file: String,
    /// Line on which it begins, from 1.
    pub line: u64,
    /// Byte of the file at which it begins, from 0; none of a row that is no text.
    pub byte: Option<u64>,
    /// The sheet, row group or record batch of a file that has such parts.
    pub part: Option<String>,
    /// All that is wrong with it.
    pub reasons: Vec<Also>,
}

impl BadRow {
    /// The row's place, in words for people.
    pub fn place(&self) -> String {
        let BadRow { file, line, byte, part, reasons } = self;
        let is_sheet = reasons.iter().any(|also| also.cell.is_some());
        match (byte, part) {
            (Some(byte), _) => format!("{file} line {line} (byte {byte})"),
            (None, Some(part)) if is_sheet => format!("{file} row {line} of {part}"),
            (None, _) => format!("{file} row {line}"),
        }
    }
}

impl From<Reject> for BadRow {
    fn from(reject: Reject) -> BadRow {
        let Reject { row: RefusedRow { position, field, column, value, reason }, also, .. } =
            reject;
        let first = Also { field, column, cell: position.cell(field), value, reason };
        BadRow {
            file: position.file.display().to_string(),
            line: position.line,
            byte: position.offset,
            part: position.part.as_ref().map(|part| part.name.clone()),
            reasons: std::iter::once(first).chain(also).collect(),
        }
    }
}

impl CheckReport {
    /// Bad rows that it has.
    pub const ROWS_TOLD: usize = 20;

    /// True if there are no faults.
    pub fn is_clean(&self) -> bool {
        self.bad_rows == 0
    }
}
