//! The columns by which rows are compared, and a row of the input as bytes that do not depend on how its
//! values are written.

use encode::binding::BoundColumn;
use encode::column_source::Input;
use encode::inspected::Inspected;
use encode::row_keys::{KeyPlan, KeyReader};
use schema::Table;
use sources::Row;

use crate::fault;

/// Stands for the length of NULL.
const NULL: u32 = u32::MAX;

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

    /// The bytes of some columns, one after the other.
    pub(crate) fn of(&self, columns: &[usize]) -> Vec<u8> {
        let begin = |at: usize| if at == 0 { 0 } else { self.ends[at - 1] };
        columns.iter().flat_map(|&at| &self.bytes[begin(at)..self.ends[at]]).copied().collect()
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
