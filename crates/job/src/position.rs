//! Rows that are refused, and where they are.

use std::fmt;

use face::option::HEADER;
use serde::Serialize;
pub use sources::{Position, PositionCursor};

/// A row that was refused, as errors have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedRow {
    /// Where it is.
    pub position: Position,
    /// Field of the line, from 1; none when the line as a whole is at fault.
    pub field: Option<usize>,
    /// Column the field goes to.
    pub column: Option<String>,
    /// The value, cut.
    pub value: Option<String>,
    /// Why it was refused.
    pub reason: String,
}

impl fmt::Display for RefusedRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.position)?;
        if let Some(field) = self.field {
            match self.position.cell(Some(field)) {
                Some(cell) => write!(f, ", cell {cell}")?,
                None => write!(f, ", field {field}")?,
            }
        }
        if let Some(column) = &self.column {
            write!(f, " `{column}`")?;
        }
        write!(f, ": {}", self.reason)?;
        // A field of line 1 that is its column's name is most likely a header's.
        let is_name = |value: &String| {
            Some(value.to_lowercase()) == self.column.as_ref().map(|c| c.to_lowercase())
        };
        if self.position.line == 1 && self.value.as_ref().is_some_and(is_name) {
            write!(f, "; line 1 has column names: use {HEADER}")?;
        }
        Ok(())
    }
}

/// Where in the input an error is, for programs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ErrorPlace {
    /// The file.
    pub file: String,
    /// Line, from 1.
    pub line: u64,
    /// Byte of the file, from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub byte: Option<u64>,
    /// Sheet, row group or record batch of a file that has such parts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
    /// Cell of a sheet, such as B7.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cell: Option<String>,
    /// Field of the line, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<usize>,
    /// Column that the field goes to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<String>,
    /// The value, cut.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// Why the row was refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl From<&Position> for ErrorPlace {
    fn from(position: &Position) -> ErrorPlace {
        ErrorPlace {
            file: position.file.display().to_string(),
            line: position.line,
            byte: position.offset,
            part: position.part.as_ref().map(|part| part.name.clone()),
            ..ErrorPlace::default()
        }
    }
}

impl From<&RefusedRow> for ErrorPlace {
    fn from(row: &RefusedRow) -> ErrorPlace {
        ErrorPlace {
            cell: row.position.cell(row.field),
            field: row.field,
            column: row.column.clone(),
            value: row.value.clone(),
            reason: Some(row.reason.clone()),
            ..ErrorPlace::from(&row.position)
        }
    }
}
