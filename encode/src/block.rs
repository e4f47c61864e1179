//! The columns of short numbers of a block of rows, converted column by column.
//!
//! Most fields of most tables are whole numbers, decimals and dates, whose stored values are a few bytes,
//! always as many. One after the other of one column they are converted in a loop that knows what it
//! converts; the record of a row is then put together from them. A row with a field that is not in
//! its usual form is left to the encoder, which takes any, or says why not.

use sources::{Row, Rows};
use values::{Converter, Value, VisitNarrow};

use crate::binding::Binding;
use crate::column_source::Input;

/// Rows that are converted at once: their columns stay in the fastest cache.
pub const BLOCK_ROWS: usize = 64;

/// Rows of a chunk, from `first` on, whose columns of short numbers are converted.
#[derive(Debug)]
pub(crate) struct Block {
    columns: Vec<BlockColumn>,
    first: usize,
    /// A bit for each row: whether all of its `columns` are there.
    is_ready: u64,
    scratch: Vec<u8>,
}

/// One column of a block.
#[derive(Debug)]
struct BlockColumn {
    /// Position in [`Binding::columns`].
    column: usize,
    field: usize,
    nullable: bool,
    /// Of each row the stored bytes, the first ones of the big-endian number.
    stored: Box<[u64; BLOCK_ROWS]>,
    /// A bit for each row: whether it is NULL.
    is_null: u64,
}

impl Block {
    /// For the columns of these positions, of which [`narrow_bytes`] are known.
    pub(crate) fn new(binding: &Binding, columns: impl Iterator<Item = usize>) -> Block {
        let column = |column: usize| BlockColumn {
            column,
            field: binding.columns[column].input.field().unwrap_or(usize::MAX),
            nullable: binding.columns[column].column.nullable,
            stored: Box::new([0; BLOCK_ROWS]),
            is_null: 0,
        };
        let columns = columns.map(column).collect();
        Block { columns, first: 0, is_ready: 0, scratch: Vec::new() }
    }

    /// Converts rows from `first` on.
    pub(crate) fn take<R: Rows>(
        &mut self,
        binding: &Binding,
        converters: &[Converter],
        rows: R,
        first: usize,
    ) {
        self.first = first;
        self.is_ready = 0;
        if self.columns.is_empty() {
            return;
        }
        let count = (rows.len() - first).min(BLOCK_ROWS);
        let mut block = [rows.row(first); BLOCK_ROWS];
        for (index, row) in block[..count].iter_mut().enumerate() {
            *row = rows.row(first + index);
            let is_right = row.has_fields_for(binding.fields_needed, binding.fields_per_row);
            self.is_ready |= u64::from(is_right) << index;
        }
        for column in &mut self.columns {
            let converter = &converters[column.column];
            let fill = Fill {
                rows: &block[..count],
                column,
                is_ready: &mut self.is_ready,
                scratch: &mut self.scratch,
            };
            if converter.visit_narrow(fill).is_none() {
                self.is_ready = 0;
            }
            if self.is_ready == 0 {
                return;
            }
        }
    }

    /// Which of the rows it is that the chunk's row `index` is, if its columns are all there.
    #[inline]
    pub(crate) fn find(&self, index: usize) -> Option<usize> {
        let row = index.wrapping_sub(self.first);
        (row < BLOCK_ROWS && self.is_ready >> row & 1 == 1).then_some(row)
    }

    /// Stored bytes of consecutive columns of a row; `None` is NULL.
    #[inline]
    pub(crate) fn values(
        &self,
        columns: std::ops::Range<usize>,
        row: usize,
    ) -> impl Iterator<Item = Option<u64>> {
        self.columns[columns].iter().map(move |column| {
            let is_null = column.is_null >> row & 1 == 1;
            (!is_null).then_some(column.stored[row])
        })
    }
}

/// Stored bytes of a column that is one for a block: a field of the input, and a short number.
pub(crate) fn narrow_bytes(binding: &Binding, column: usize) -> Option<usize> {
    let column = &binding.columns[column];
    let is_field = matches!(column.input, Input::Field(_));
    column.converter.narrow_bytes().filter(|_| is_field)
}

/// Fills a column.
struct Fill<'b, R> {
    rows: &'b [R],
    column: &'b mut BlockColumn,
    is_ready: &'b mut u64,
    scratch: &'b mut Vec<u8>,
}

impl<R: Row> VisitNarrow for Fill<'_, R> {
    type Output = ();

    #[inline]
    fn narrow(self, bytes: usize, convert: impl Fn(&[u8]) -> Option<u64>) {
        let Fill { rows, column, is_ready, scratch } = self;
        let shift = 64 - 8 * bytes as u32;
        let BlockColumn { field, nullable, .. } = *column;
        let (mut is_null, mut is_bad) = (0, 0);
        for (index, (row, stored)) in rows.iter().zip(column.stored.iter_mut()).enumerate() {
            let value = match field < row.field_count() {
                true => row.value(field, scratch),
                false => Value::Null,
            };
            let is_null_here = matches!(value, Value::Null) && nullable;
            is_null |= u64::from(is_null_here) << index;
            let number = match value {
                Value::Bytes(text) => convert(text),
                _ => is_null_here.then_some(0),
            };
            is_bad |= u64::from(number.is_none()) << index;
            *stored = number.unwrap_or(0) << shift;
        }
        column.is_null = is_null;
        *is_ready &= !is_bad;
    }
}
