//! Rows that were refused: their bytes to one file, the reasons to another.

use std::path::Path;

use job::error::Error;
use job::position::Position;
use job::row_log::{Kind, RowLog};
use schema::Column;
use serde::Serialize;
use sources::Row;

use crate::fault::{FaultKind, RowFault};
use crate::field;

/// Longest part of a value that is repeated in a reason, in bytes.
const VALUE_BYTES_MAX: usize = 200;

/// A refused row.
#[derive(Clone, Debug)]
pub struct Reject {
    /// Where the row is.
    pub position: Position,
    /// Field of the line, from 1; none when the line as a whole is at fault.
    pub field: Option<usize>,
    /// Column the field goes to.
    pub column: Option<String>,
    /// The value, cut.
    pub value: Option<String>,
    /// Why it was refused.
    pub reason: String,
    /// The row as it is in the file, terminator included.
    pub raw: Vec<u8>,
}

impl Reject {
    /// The row at `position`, refused for `fault`, of whose columns `column` is the one at fault.
    #[cold]
    pub fn new<R: Row>(
        fault: &RowFault,
        row: R,
        column: Option<&Column>,
        position: Position,
    ) -> Reject {
        let (mut scratch, mut text) = (Vec::new(), Vec::new());
        let value = field::value(row, fault.field, &mut scratch);
        let value = value.text(&mut text);
        let reason = match (&fault.kind, value, column) {
            (FaultKind::Value(reason), Some(value), Some(column)) => {
                reason.explain(value, &column.sql_type).to_string()
            }
            (kind, ..) => kind.to_string(),
        };
        Reject {
            position,
            field: fault.field.map(|field| field + 1),
            column: column.map(|column| column.name.clone()),
            value: value.map(Reject::cut),
            reason,
            raw: row.raw().into_owned(),
        }
    }

    /// The value as text for people: cut, and what is not UTF-8 replaced.
    pub fn cut(value: &[u8]) -> String {
        let mut text =
            String::from_utf8_lossy(&value[..value.len().min(VALUE_BYTES_MAX)]).into_owned();
        if value.len() > VALUE_BYTES_MAX {
            text.push_str("...");
        }
        text
    }
}

impl std::fmt::Display for Reject {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.position)?;
        if let Some(field) = self.field {
            write!(f, ", field {field}")?;
        }
        if let Some(column) = &self.column {
            write!(f, " `{column}`")?;
        }
        write!(f, ": {}", self.reason)
    }
}

#[derive(Serialize)]
struct ReasonLine<'a> {
    file: &'a str,
    line: u64,
    byte: Option<u64>,
    field: Option<usize>,
    column: Option<&'a str>,
    value: Option<&'a str>,
    reason: &'a str,
}

/// Counts refused rows and writes them down, in input order.
#[derive(Debug)]
pub struct Rejects {
    count: u64,
    max: u64,
    files: Option<RowLog>,
}

impl Rejects {
    /// Begins empty files at `path` and beside it, replacing what is there.
    /// `terminator` ends a row that has none: the last of a file.
    pub fn create(path: Option<&Path>, max: u64, terminator: &[u8]) -> Result<Rejects, Error> {
        let create = |path| RowLog::create(Kind::Rejects, path, terminator);
        Ok(Rejects { count: 0, max, files: path.map(create).transpose()? })
    }

    /// How many there were.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// How many are tolerated.
    pub fn max(&self) -> u64 {
        self.max
    }

    /// Takes one row; an error when it is one too many.
    pub fn push(&mut self, reject: &Reject) -> Result<(), Error> {
        self.count += 1;
        if let Some(files) = &mut self.files {
            let reason = ReasonLine {
                file: &reject.position.file.to_string_lossy(),
                line: reject.position.line,
                byte: reject.position.offset,
                field: reject.field,
                column: reject.column.as_deref(),
                value: reject.value.as_deref(),
                reason: &reject.reason,
            };
            files.write(&reject.raw, &reason)?;
        }
        if self.count > self.max {
            self.flush()?;
            return Err(Error::Rejected {
                rejects: self.count,
                rejects_max: self.max,
                last: reject.to_string(),
            });
        }
        Ok(())
    }

    /// Hands everything to the system.
    pub fn flush(&mut self) -> Result<(), Error> {
        match &mut self.files {
            Some(files) => files.flush(),
            None => Ok(()),
        }
    }
}
