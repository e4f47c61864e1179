//! A row of an answer.

use std::str::FromStr;
use std::sync::Arc;

use mysql::Value;

use crate::error::{Error, Result};

/// One row of an answer: text, raw bytes or NULL in each column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    values: Vec<Option<Vec<u8>>>,
    statement: Arc<str>,
}

impl Row {
    /// A row that the driver read, of a statement.
    pub(super) fn of(row: mysql::Row, statement: &Arc<str>) -> Row {
        let values = row.unwrap_raw().into_iter().map(value_bytes).collect();
        Row { values, statement: Arc::clone(statement) }
    }

    /// Its approximate size in memory.
    pub(super) fn memory_bytes(&self) -> usize {
        let of_value = |value: &Option<Vec<u8>>| value.as_ref().map_or(0, Vec::len);
        self.values.iter().map(|value| size_of_val(value) + of_value(value)).sum::<usize>()
            + size_of::<Row>()
    }

    /// Number of columns.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// True if the row has no column.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// True if a column is NULL (or not there).
    pub fn is_null(&self, column: usize) -> bool {
        self.bytes(column).is_none()
    }

    /// The bytes of a column; None for NULL (or not there).
    pub fn bytes(&self, column: usize) -> Option<&[u8]> {
        self.values.get(column)?.as_deref()
    }

    /// A text column that is not NULL.
    pub fn text(&self, column: usize) -> Result<String> {
        self.text_or_null(column)?.ok_or_else(|| self.wrong(column, "is NULL", "text"))
    }

    /// A text column.
    pub fn text_or_null(&self, column: usize) -> Result<Option<String>> {
        let Some(bytes) = self.bytes(column) else { return Ok(None) };
        match std::str::from_utf8(bytes) {
            Ok(text) => Ok(Some(text.to_owned())),
            Err(_) => Err(self.wrong(column, "is not UTF-8", "text")),
        }
    }

    /// A column as text, whatever is not UTF-8 replaced; NULL is empty.
    pub fn text_lossy(&self, column: usize) -> String {
        String::from_utf8_lossy(self.bytes(column).unwrap_or_default()).into_owned()
    }

    /// A number that is not NULL.
    pub fn number<T: FromStr>(&self, column: usize) -> Result<T> {
        let text = self.text(column)?;
        text.parse().map_err(|_| self.wrong(column, &format!("is {text:?}"), "a number"))
    }

    /// A number, or NULL.
    pub fn number_or_null<T: FromStr>(&self, column: usize) -> Result<Option<T>> {
        if self.is_null(column) { Ok(None) } else { self.number(column).map(Some) }
    }

    fn wrong(&self, column: usize, seen: &str, expected: &'static str) -> Error {
        Error::Answer {
            column,
            seen: seen.to_owned(),
            expected,
            statement: self.statement.to_string(),
        }
    }
}

/// The bytes of a column.
pub(super) fn value_bytes(value: Option<Value>) -> Option<Vec<u8>> {
    match value? {
        Value::Bytes(bytes) => Some(bytes),
        Value::NULL => None,
        // The text protocol has no other kinds.
        other => Some(other.as_sql(true).into_bytes()),
    }
}
