//! The rows of a block, field by field.

use std::ops::Range;

use sources::batch::TypedColumn;
use sources::{EvenRows, Places, Row, Rows};

use written::Format;

use super::BLOCK_ROWS;
use crate::binding::Binding;

/// Rows of a chunk, at most [`BLOCK_ROWS`].
#[derive(Clone, Copy)]
pub(super) struct BlockRows<'r, R> {
    all: R,
    first: usize,
    count: usize,
    /// The same, if they are alike.
    even: Option<EvenRows<'r>>,
}

impl<'r, R: Rows + 'r> BlockRows<'r, R> {
    /// Those from `first` on, and a bit for each: whether it has fields for the table.
    pub(super) fn new(binding: &Binding, all: R, first: usize) -> (BlockRows<'r, R>, u64) {
        let count = (all.len() - first).min(BLOCK_ROWS);
        let (needed, columns) = (binding.fields_needed, binding.fields_per_row);
        let has_fields = |even: &EvenRows<'_>| {
            let fields = even.field_count();
            fields == columns || (needed..columns).contains(&fields)
        };
        let even = all.even(first..first + count).filter(has_fields);
        let rows = BlockRows { all, first, count, even };
        let has_fields =
            |index| u64::from(rows.row(index).has_fields_for(needed, columns)) << index;
        let are_right = match even {
            Some(_) => rows.every(),
            None => (0..count).map(has_fields).fold(0, |all, one| all | one),
        };
        (rows, are_right)
    }

    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// A bit for each.
    pub(super) fn every(&self) -> u64 {
        u64::MAX >> (BLOCK_ROWS - self.count)
    }

    /// One of them.
    pub(super) fn row(&self, index: usize) -> R::Row {
        self.all.row(self.first + index)
    }

    /// True if all of their text is ASCII, as far as a quick check shows.
    pub(super) fn are_ascii(&self) -> bool {
        self.even.is_some_and(|even| even.span().is_ascii())
    }

    /// True if the texts of a field are ASCII, as far as a quick check shows; those of all fields may be known to be.
    pub(super) fn are_ascii_in(&self, field: usize, are_all: bool) -> bool {
        are_all || self.column(field).is_some_and(|(column, rows)| column.bytes(rows).is_ascii())
    }

    /// The bytes that the places of a field are in.
    #[inline]
    pub(super) fn bytes_of(&self, field: usize) -> &'r [u8] {
        self.all.bytes_of(field)
    }

    /// The values of a field in all rows, if they are typed, and where those of these rows begin.
    #[inline]
    pub(super) fn column(&self, field: usize) -> Option<(&'r TypedColumn, Range<usize>)> {
        Some((self.all.column(field)?, self.first..self.first + self.count))
    }

    /// Finds what the rows have in a field: a bit for each that has a place in its bytes.
    pub(super) fn find(&self, field: usize, places: &mut Places) -> u64 {
        match (self.even, self.column(field)) {
            (Some(even), _) if field < even.field_count() => {
                let found = even.find(field, places);
                match self.all.format_of(field) {
                    Some(format) => found & self.as_written(format, field, places),
                    None => found,
                }
            }
            (None, Some((column, rows))) => column.find(rows, places),
            _ => 0,
        }
    }

    /// A bit for each row whose text at its place is what its format makes of it.
    fn as_written(&self, format: &Format, field: usize, places: &Places) -> u64 {
        let text = self.all.bytes_of(field);
        let of_row = |(row, &(start, end)): (usize, &(u32, u32))| {
            let written = text.get(start as usize..end as usize);
            u64::from(written.is_some_and(|text| format.is_as_written(text))) << row
        };
        places[..self.count].iter().enumerate().map(of_row).fold(0, |all, one| all | one)
    }
}
