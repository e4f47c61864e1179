//! The columns by which rows are compared, and a row of the input as bytes that do not depend on how its
//! values are written.

use encode::binding::BoundColumn;
use encode::column_source::Input;
use encode::inspected::Inspected;
use encode::row_keys::{KeyPlan, KeyReader};
use schema::Table;
use sources::Row;

use super::digest::Digest;
use crate::fault;

/// Stands for the length of NULL.
const NULL: u32 = u32::MAX;

/// Bytes of a key that are kept of each row.
const KEY_BYTES_MAX: usize = 64;

/// Columns whose values the input gives.
#[derive(Clone, Debug)]
pub(crate) struct Columns {
    pub(crate) bound: Vec<BoundColumn>,
    /// Those by which a row is named: the primary key, or all.
    pub(crate) key: Vec<usize>,
    /// Columns that are not compared, a sentence each.
    pub(crate) not_compared: Vec<String>,
    fields_per_row: usize,
    fields_needed: usize,
    zero_is_value: bool,
}

impl Columns {
    /// Those of a table; the AUTO_INCREMENT column only if the input gives all its values.
    pub(crate) fn of(table: &Table, inspected: &Inspected, with_numbers: bool) -> Columns {
        let given = |bound: &BoundColumn| match bound.input {
            Input::Field(_) => true,
            Input::AutoIncrement(field) => field.is_some() && with_numbers,
            // The value of an expression may be another one by now.
            Input::Constant(_) => inspected.constants.iter().any(|constant| {
                let name = &table.columns[constant.column].name;
                !constant.is_evaluated && *name == bound.column.name
            }),
        };
        let bound: Vec<BoundColumn> =
            inspected.columns.iter().filter(|bound| given(bound)).cloned().collect();
        let place = |name: &str| bound.iter().position(|bound| bound.column.name == name);
        let primary = table.indexes.iter().find(|index| index.name == "PRIMARY");
        let key: Option<Vec<usize>> = primary
            .and_then(|index| index.columns.iter().map(|column| place(&column.name)).collect());
        let missing = table.columns.iter().filter(|column| place(&column.name).is_none());
        let not_compared = missing.map(|column| format!("column `{}`", column.name)).collect();
        Columns {
            key: key.unwrap_or_else(|| (0..bound.len()).collect()),
            bound,
            not_compared,
            fields_per_row: inspected.fields.columns.len(),
            fields_needed: inspected.fields.needed(),
            zero_is_value: inspected.series.zero_is_value,
        }
    }
}

/// A row of the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Read {
    /// One that can be compared.
    Row,
    /// One that the table would refuse.
    Refused,
    /// One whose AUTO_INCREMENT value the server is to give.
    Numbered,
}

/// The bytes of a row, column by column.
#[derive(Clone, Debug, Default)]
pub(crate) struct RowBytes {
    pub(crate) bytes: Vec<u8>,
    /// Where each column's end.
    ends: Vec<usize>,
}

impl RowBytes {
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    /// Takes the next column.
    #[inline]
    pub(crate) fn push(&mut self, stored: Option<&[u8]>) {
        let len = stored.map_or(NULL, |stored| stored.len() as u32);
        self.bytes.extend_from_slice(&len.to_le_bytes());
        self.bytes.extend_from_slice(stored.unwrap_or_default());
        self.ends.push(self.bytes.len());
    }

    /// The bytes of a key, one column after the other; of a long one its beginning and a hash, so that keys of
    /// any length are kept.
    pub(crate) fn key(&self, columns: &[usize]) -> Vec<u8> {
        let begin = |at: usize| if at == 0 { 0 } else { self.ends[at - 1] };
        let values = columns.iter().map(|&at| &self.bytes[begin(at)..self.ends[at]]);
        let mut key = values.collect::<Vec<_>>().concat();
        if key.len() > KEY_BYTES_MAX {
            let hash = Digest::hash(&key);
            key.truncate(KEY_BYTES_MAX);
            key.extend_from_slice(&hash.to_be_bytes());
            key.shrink_to_fit();
        }
        key
    }
}

/// Reads rows of the input, for one worker.
#[derive(Debug)]
pub(crate) struct InputRows<'c> {
    columns: &'c Columns,
    reader: KeyReader,
}

impl<'c> InputRows<'c> {
    pub(crate) fn new(columns: &'c Columns) -> InputRows<'c> {
        let bound: Vec<&BoundColumn> = columns.bound.iter().collect();
        let plan = KeyPlan::of_columns(&bound, columns.zero_is_value);
        InputRows { columns, reader: KeyReader::new(plan) }
    }

    /// Reads one.
    #[inline]
    pub(crate) fn read<R: Row>(&mut self, row: R, out: &mut RowBytes) -> Read {
        out.clear();
        let Columns { fields_per_row, fields_needed, .. } = self.columns;
        if !row.has_fields_for(*fields_needed, *fields_per_row) || !self.reader.read(row) {
            return Read::Refused;
        }
        for at in 0..self.reader.columns() {
            let Ok(stored) = self.reader.stored(at) else { return Read::Numbered };
            out.push(stored);
        }
        Read::Row
    }

    /// The key of a row as the input has it.
    pub(crate) fn key_text<R: Row>(&self, row: R) -> String {
        let text = |&at: &usize| {
            let field = self.columns.bound[at].input.field();
            let text = field.and_then(|field| fault::text(row, field));
            text.unwrap_or_else(|| "NULL".to_owned())
        };
        format!("({})", self.columns.key.iter().map(text).collect::<Vec<_>>().join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_any_length_are_short_and_differ() {
        let key = |id: &str, text: &str| {
            let mut bytes = RowBytes::default();
            bytes.push(Some(id.as_bytes()));
            bytes.push(None);
            bytes.push(Some(text.as_bytes()));
            bytes.key(&[0, 2])
        };
        assert_eq!(key("1", "ab"), b"\x01\0\0\x001\x02\0\0\0ab");
        let long = "x".repeat(100_000);
        let other = format!("{long}y");
        assert_eq!(key("1", &long).len(), KEY_BYTES_MAX + 16);
        assert_eq!(key("1", &long), key("1", &long));
        assert_ne!(key("1", &long), key("1", &other));
        assert!(key("1", &long) < key("2", &long));
    }
}
