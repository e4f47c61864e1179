//! A column of short numbers, some of which may be missing: NULL, or given by a counter.

use std::ops::Range;

use sources::Rows;
use sources::batch::{Cells, TypedColumn};
use values::{Converter, Decimal, Narrow, TextEnd, Value, VisitNarrow};

use super::BLOCK_ROWS;
use super::rows::BlockRows;
use crate::field;

/// One column of a block.
#[derive(Debug)]
pub(super) struct NumberColumn {
    /// Position in [`crate::binding::Binding::columns`].
    pub(super) column: usize,
    field: usize,
    nullable: bool,
    /// True if a counter may give the values.
    may_count: bool,
    /// The stored bytes of each row, the first ones of the big-endian number.
    stored: Box<[u64; BLOCK_ROWS]>,
    /// A bit for each row: whether it is NULL.
    is_null: u64,
    /// A bit for each row: whether it has a value here, NULL among them.
    is_known: u64,
}

impl NumberColumn {
    pub(super) fn new(
        column: usize,
        field: usize,
        nullable: bool,
        may_count: bool,
    ) -> NumberColumn {
        let stored = Box::new([0; BLOCK_ROWS]);
        NumberColumn { column, field, nullable, may_count, stored, is_null: 0, is_known: 0 }
    }

    pub(super) fn take<'r, R: Rows + 'r>(
        &mut self,
        rows: BlockRows<'r, R>,
        converter: &Converter,
        scratch: &mut Vec<u8>,
    ) {
        (self.is_null, self.is_known) = (0, 0);
        let (field, put) = (self.field, self);
        converter.visit_narrow(Fill { rows, field, scratch, put });
    }

    /// The value of a row, where it is here; `Some(None)` is NULL. `is_counted` says that the row's
    /// AUTO_INCREMENT value does not come from the input.
    #[inline]
    pub(super) fn value(&self, row: usize, is_counted: bool) -> Option<Option<u64>> {
        let is_here = self.is_known >> row & 1 == 1 && !(is_counted && self.may_count);
        let is_null = self.is_null >> row & 1 == 1;
        is_here.then(|| (!is_null).then_some(self.stored[row]))
    }
}

impl Put for NumberColumn {
    #[inline(always)]
    fn put(&mut self, row: usize, cell: Cell) {
        let is_null = cell == Cell::Null && self.nullable;
        self.is_null |= u64::from(is_null) << row;
        let number = if let Cell::Number(number) = cell { Some(number) } else { None };
        self.is_known |= u64::from(is_null || number.is_some()) << row;
        self.stored[row] = number.unwrap_or(0);
    }
}

/// A row's value in a column of short numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cell {
    /// The stored bytes, the first ones of the big-endian number.
    Number(u64),
    Null,
    /// Not in its usual form.
    Other,
}

/// Takes the cells of a column.
pub(super) trait Put {
    fn put(&mut self, row: usize, cell: Cell);
}

/// Converts a column, and gives the cells to `put`.
pub(super) struct Fill<'s, 'r, R, P> {
    pub(super) rows: BlockRows<'r, R>,
    pub(super) field: usize,
    pub(super) scratch: &'s mut Vec<u8>,
    pub(super) put: &'s mut P,
}

impl<'r, R: Rows + 'r, P: Put> VisitNarrow for Fill<'_, 'r, R, P> {
    type Output = ();

    #[inline]
    fn narrow(self, bytes: usize, convert: &impl Narrow) {
        let Fill { rows, field, scratch, put } = self;
        let mut places = [(0, 0); BLOCK_ROWS];
        let are_found = rows.find(field, &mut places);
        let shift = 64 - 8 * bytes as u32;
        if let Some((column, places)) = rows.column(field)
            && put_typed(column, places, |value| Cell::of(convert.narrow_value(value), shift), put)
        {
            return;
        }
        let text = rows.bytes_of(field);
        if are_found == rows.every() {
            for (row, &(start, end)) in places[..rows.count()].iter().enumerate() {
                let field = TextEnd::within(&text[..end as usize], (end - start) as usize);
                put.put(row, Cell::of(convert.narrow(field), shift));
            }
            return;
        }
        for row in 0..rows.count() {
            let cell = match field::value(rows.row(row), Some(field), scratch) {
                Value::Bytes(text) => Cell::of(convert.narrow(TextEnd::new(text)), shift),
                Value::Null => Cell::Null,
                _ => Cell::Other,
            };
            put.put(row, cell);
        }
    }
}

/// Gives the cells of typed values; false of values that go one by one.
#[inline(always)]
fn put_typed<'c>(
    column: &'c TypedColumn,
    rows: Range<usize>,
    cell: impl Fn(Value<'c>) -> Cell,
    put: &mut impl Put,
) -> bool {
    let (is_valid, is_refused) = column.flags(rows.clone());
    match &column.cells {
        Cells::Integer(all) => {
            put_all(&all[rows], is_valid, is_refused, |n| cell(Value::Integer(n)), put)
        }
        Cells::Unsigned(all) => {
            put_all(&all[rows], is_valid, is_refused, |n| cell(Value::Unsigned(n)), put)
        }
        Cells::Decimal { units, scale } => {
            let number = |units| Value::Decimal(Decimal { units, scale: *scale });
            put_all(&units[rows], is_valid, is_refused, |units| cell(number(units)), put);
        }
        Cells::Date(all) => {
            put_all(&all[rows], is_valid, is_refused, |day| cell(Value::Date(day)), put)
        }
        Cells::DateTime(all) => {
            put_all(&all[rows], is_valid, is_refused, |time| cell(Value::DateTime(time)), put)
        }
        _ => return false,
    }
    true
}

#[inline(always)]
fn put_all<N: Copy>(
    values: &[N],
    is_valid: u64,
    is_refused: u64,
    cell: impl Fn(N) -> Cell,
    put: &mut impl Put,
) {
    for (row, &value) in values.iter().enumerate() {
        let cell = match (is_valid >> row & 1, is_refused >> row & 1) {
            (0, _) => Cell::Null,
            (_, 0) => cell(value),
            _ => Cell::Other,
        };
        put.put(row, cell);
    }
}

impl Cell {
    #[inline(always)]
    fn of(number: Option<u64>, shift: u32) -> Cell {
        match number {
            Some(number) => Cell::Number(number << shift),
            None => Cell::Other,
        }
    }
}
