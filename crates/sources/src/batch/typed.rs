//! Typed rows: columns of values, as Parquet and Arrow have them.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use values::{Decimal, Reason, Value};

use super::{EvenRows, Places, Row, Rows};

/// Values of one column, in the order of rows.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Cells {
    /// NULL in so many rows.
    Null(usize),
    /// Whole numbers.
    Integer(Vec<i64>),
    /// Whole numbers from 0 on.
    Unsigned(Vec<u64>),
    /// Numbers of four bytes.
    Float(Vec<f32>),
    /// Numbers of eight bytes.
    Double(Vec<f64>),
    /// Whole numbers of units of 10^-`scale`.
    Decimal {
        /// The units.
        units: Vec<i128>,
        /// Digits after the point.
        scale: u8,
    },
    /// Days since 1970-01-01.
    Date(Vec<i32>),
    /// Microseconds, which may be below 0 and more than a day.
    Time(Vec<i64>),
    /// Microseconds since 1970-01-01 00:00:00 of a clock on the wall, in no zone.
    DateTime(Vec<i64>),
    /// Microseconds since 1970-01-01 00:00:00 UTC.
    Timestamp(Vec<i64>),
    /// Text in the file's character set, or bytes: `ends` has where each ends in `bytes`.
    Bytes {
        /// Where each ends.
        ends: Vec<usize>,
        /// All of them.
        bytes: Vec<u8>,
    },
}

/// One column.
#[derive(Clone, Debug, PartialEq)]
pub struct TypedColumn {
    /// A value a row; any where it is NULL.
    pub cells: Cells,
    /// True for each value that is not NULL; empty if none is NULL.
    pub is_valid: Vec<bool>,
    /// Values that no column takes, by ascending rows.
    pub refused: Vec<RefusedCell>,
}

/// A value that no column takes, in place of the one in the cells.
#[derive(Clone, Debug, PartialEq)]
pub struct RefusedCell {
    /// Its row.
    pub row: usize,
    /// The value in words.
    pub text: Vec<u8>,
    /// Why no column takes it.
    pub reason: Reason,
}

/// How a rejected row is written.
pub trait LineForm: std::fmt::Debug + Send + Sync {
    /// The line of a row of these columns.
    fn line(&self, columns: &[TypedColumn], row: usize) -> Vec<u8>;
}

/// The columns of typed rows; to be filled by a [`crate::Reader`].
#[derive(Clone, Debug, Default)]
pub struct TypedColumns {
    rows: usize,
    columns: Vec<TypedColumn>,
    /// The form of [`Row::raw`]; None: a line of LOAD DATA.
    form: Option<Arc<dyn LineForm>>,
}

impl Cells {
    /// Number of values.
    #[allow(clippy::len_without_is_empty, reason = "nobody asks")]
    pub fn len(&self) -> usize {
        match self {
            Cells::Null(rows) => *rows,
            Cells::Integer(cells) | Cells::Time(cells) => cells.len(),
            Cells::DateTime(cells) | Cells::Timestamp(cells) => cells.len(),
            Cells::Unsigned(cells) => cells.len(),
            Cells::Float(cells) => cells.len(),
            Cells::Double(cells) => cells.len(),
            Cells::Decimal { units, .. } => units.len(),
            Cells::Date(cells) => cells.len(),
            Cells::Bytes { ends, .. } => ends.len(),
        }
    }

    #[inline]
    fn value(&self, row: usize) -> Value<'_> {
        match self {
            Cells::Null(_) => Value::Null,
            Cells::Integer(cells) => Value::Integer(cells[row]),
            Cells::Unsigned(cells) => Value::Unsigned(cells[row]),
            Cells::Float(cells) => Value::Double(f64::from(cells[row])),
            Cells::Double(cells) => Value::Double(cells[row]),
            Cells::Decimal { units, scale } => {
                Value::Decimal(Decimal { units: units[row], scale: *scale })
            }
            Cells::Date(cells) => Value::Date(cells[row]),
            Cells::Time(cells) => Value::Time(cells[row]),
            Cells::DateTime(cells) => Value::DateTime(cells[row]),
            Cells::Timestamp(cells) => Value::Timestamp(cells[row]),
            Cells::Bytes { ends, bytes } => {
                let start = row.checked_sub(1).map_or(0, |before| ends[before]);
                Value::Bytes(&bytes[start..ends[row]])
            }
        }
    }
}

impl TypedColumn {
    /// The value of a row.
    #[inline]
    pub fn value(&self, row: usize) -> Value<'_> {
        match self.is_valid.get(row) {
            Some(false) => Value::Null,
            _ if self.refused.is_empty() => self.cells.value(row),
            _ => self.refused(row).unwrap_or_else(|| self.cells.value(row)),
        }
    }

    /// A bit for each of at most 64 rows from `first` on: whether it has a value that is not NULL, and whether it has
    /// one that no column takes.
    pub fn flags(&self, rows: Range<usize>) -> (u64, u64) {
        let bits = |valid: &[bool]| {
            valid.iter().rev().fold(0, |bits, is_valid| bits << 1 | u64::from(*is_valid))
        };
        let every = u64::MAX >> (EvenRows::ROWS_MAX - rows.len());
        let is_valid = self.is_valid.get(rows.clone()).map_or(every, bits);
        let mut is_refused = 0;
        if !self.refused.is_empty() {
            let first = self.refused.partition_point(|cell| cell.row < rows.start);
            let cells = self.refused[first..].iter().take_while(|cell| cell.row < rows.end);
            is_refused = cells.fold(0, |bits, cell| bits | 1 << (cell.row - rows.start));
        }
        (is_valid, is_refused & is_valid)
    }

    /// The bytes of some rows together, one after the other; none of values that are no bytes.
    pub fn bytes(&self, rows: Range<usize>) -> &[u8] {
        let Cells::Bytes { ends, bytes } = &self.cells else { return &[] };
        let end = |row: Option<usize>| row.map_or(0, |row| ends[row]);
        &bytes[end(rows.start.checked_sub(1))..end(rows.end.checked_sub(1))]
    }

    /// Finds, in [`Rows::bytes_of`], the bytes of at most 64 rows. Gives a bit for each: whether it has a place; none
    /// where the value is NULL, no column takes it, or it is no bytes.
    pub fn find(&self, rows: Range<usize>, places: &mut Places) -> u64 {
        let Cells::Bytes { ends, .. } = &self.cells else { return 0 };
        let (is_valid, is_refused) = self.flags(rows.clone());
        let mut start = rows.start.checked_sub(1).map_or(0, |before| ends[before]);
        let mut is_found = is_valid & !is_refused;
        for (row, (&end, place)) in ends[rows].iter().zip(places.iter_mut()).enumerate() {
            match (u32::try_from(start), u32::try_from(end)) {
                (Ok(start), Ok(end)) if is_found >> row & 1 == 1 => *place = (start, end),
                _ => {
                    *place = (0, 0);
                    is_found &= !(1 << row);
                }
            }
            start = end;
        }
        is_found
    }

    #[cold]
    fn refused(&self, row: usize) -> Option<Value<'_>> {
        let at = self.refused.binary_search_by_key(&row, |cell| cell.row).ok()?;
        let RefusedCell { text, reason, .. } = &self.refused[at];
        Some(Value::Refused { text, reason: *reason })
    }
}

impl From<Cells> for TypedColumn {
    /// A column without NULL.
    fn from(cells: Cells) -> TypedColumn {
        TypedColumn { cells, is_valid: Vec::new(), refused: Vec::new() }
    }
}

impl TypedColumns {
    /// Number of rows.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// The columns, in the order of fields.
    pub fn columns(&self) -> &[TypedColumn] {
        &self.columns
    }

    /// Takes the columns of `rows` rows, in the order of fields, and gives back those it had, so that
    /// what they have allocated can be filled again.
    ///
    /// Panics if one has another number of values.
    pub fn replace(&mut self, rows: usize, columns: Vec<TypedColumn>) -> Vec<TypedColumn> {
        for column in &columns {
            assert_eq!(column.cells.len(), rows, "a value a row");
            let told = column.is_valid.len();
            assert!(told == 0 || told == rows, "validity is given for every row or for none");
        }
        self.rows = rows;
        std::mem::replace(&mut self.columns, columns)
    }

    /// Says how rows are written down.
    pub fn set_form(&mut self, form: Option<Arc<dyn LineForm>>) {
        self.form = form;
    }

    /// The rows.
    #[inline]
    pub fn rows(&self) -> TypedRows<'_> {
        TypedRows { columns: self }
    }
}

/// Typed rows.
#[derive(Clone, Copy, Debug)]
pub struct TypedRows<'a> {
    columns: &'a TypedColumns,
}

impl<'a> Rows for TypedRows<'a> {
    type Row = TypedRow<'a>;

    #[inline]
    fn len(self) -> usize {
        self.columns.rows
    }

    #[inline]
    fn bytes_of<'v>(self, field: usize) -> &'v [u8]
    where
        Self: 'v,
    {
        match self.columns.columns.get(field) {
            Some(TypedColumn { cells: Cells::Bytes { bytes, .. }, .. }) => bytes,
            _ => &[],
        }
    }

    #[inline]
    fn column<'v>(self, field: usize) -> Option<&'v TypedColumn>
    where
        Self: 'v,
    {
        self.columns.columns.get(field)
    }

    #[inline]
    fn row(self, index: usize) -> TypedRow<'a> {
        TypedRow { columns: &self.columns.columns, form: self.columns.form.as_deref(), index }
    }
}

/// One typed row.
#[derive(Clone, Copy, Debug)]
pub struct TypedRow<'a> {
    columns: &'a [TypedColumn],
    form: Option<&'a dyn LineForm>,
    index: usize,
}

impl Row for TypedRow<'_> {
    #[inline]
    fn field_count(self) -> usize {
        self.columns.len()
    }

    #[inline]
    fn has_fields_for(self, needed: usize, columns: usize) -> bool {
        self.columns.len() == columns || (needed..columns).contains(&self.columns.len())
    }

    #[inline]
    fn value<'v>(self, field: usize, _scratch: &'v mut Vec<u8>) -> Value<'v>
    where
        Self: 'v,
    {
        self.columns[field].value(self.index)
    }

    #[inline]
    fn start(self) -> usize {
        self.index
    }

    #[inline]
    fn span(self) -> Range<usize> {
        self.index..self.index + 1
    }

    fn raw<'v>(self) -> Cow<'v, [u8]>
    where
        Self: 'v,
    {
        if let Some(form) = self.form {
            return Cow::Owned(form.line(self.columns, self.index));
        }
        let (mut line, mut scratch, mut text) = (Vec::new(), Vec::new(), Vec::new());
        for field in 0..self.columns.len() {
            if field > 0 {
                line.push(b'\t');
            }
            match self.value(field, &mut scratch).text(&mut text) {
                None => line.extend_from_slice(b"\\N"),
                Some(text) => escape(text, &mut line),
            }
        }
        line.push(b'\n');
        Cow::Owned(line)
    }
}

/// Appends a field of LOAD DATA's own dialect.
fn escape(text: &[u8], line: &mut Vec<u8>) {
    for &byte in text {
        match byte {
            b'\t' => line.extend_from_slice(b"\\t"),
            b'\n' => line.extend_from_slice(b"\\n"),
            b'\\' => line.extend_from_slice(b"\\\\"),
            byte => line.push(byte),
        }
    }
}
