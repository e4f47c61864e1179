//! Rows in primary key order, for input that does not come in it.
//!
//! ```text
//! look    the first rows: how far apart in key order are rows that are neighbours in the input
//! sort    the input once: (key, place of the row) -> its bytes, in sorted runs; spilled
//! source  the runs merged: chunks of rows again, which carry where each is from
//! ```
//!
//! The server finds the page of each row by itself, and with rows in key order it is the page of
//! the row before. Out of order each row costs it a search, pages end up less full, and where the
//! table is larger than the buffer pool, each row reads a page and writes another.
//!
//! Rows come out as they went in, byte for byte, those of one key in input order. The order is the
//! same whenever the same input is sorted, and chunks are cut where their bytes say, so they are
//! the same too: what a ledger says of them holds for a second run.

mod arrange;
mod row_origin;
mod scatter;
mod sorter;
mod source;

use std::path::Path;

use encode::binding::BoundColumn;
use encode::column_source::Input;
use encode::inspected::Inspected;
use encode::row_keys::{self, KeyPlan};
use job::error::Error;
use job::memory::Memory;
use job::options::OnDuplicate;
use job::progress::Progress;
use schema::{Column, Table};
use server::Interrupt;
use sources::Source;

pub(crate) use self::arrange::{Arrangement, InputOrder};
use self::scatter::Scatter;
use self::source::SortedSource;
use crate::order::RowOrder;

/// Name of the primary key.
const PRIMARY: &str = "PRIMARY";

/// How rows of a table are sorted.
#[derive(Clone, Debug)]
pub(crate) struct SortPlan {
    /// The primary key alone.
    keys: KeyPlan,
}

impl SortPlan {
    /// Looks whether rows of a table may be loaded in primary key order instead of the input's;
    /// none if not.
    ///
    /// They may not where the input's order decides what the table gets: which of several rows
    /// with a key stays, if there are keys besides the primary, which generated number a row gets,
    /// and whether the row is there that another one refers to.
    pub(crate) fn new(
        table: &Table,
        inspected: &Inspected,
        on_duplicate: OnDuplicate,
        row_order: RowOrder,
    ) -> Option<SortPlan> {
        let primary = table.index(PRIMARY)?;
        let others = table.indexes.iter().filter(|index| index.unique).count() > 1;
        let is_key = |column: &Column| primary.columns.iter().any(|c| c.name == column.name);
        // Numbers that the input gives are told by the keys, if the primary key has them.
        let is_numbered = |bound: &BoundColumn| {
            matches!(bound.input, Input::AutoIncrement(None))
                || (bound.column.auto_increment && !is_key(&bound.column))
        };
        // Which rows share a key is only known of rows that the server converts as we do.
        let is_unsure = others || row_order.is_mysql || row_order.has_triggers;
        let decides = is_unsure && on_duplicate != OnDuplicate::Fail;
        if decides || row_order.refers_to_itself || inspected.columns.iter().any(is_numbered) {
            return None;
        }
        let columns = row_keys::plain_columns(&inspected.columns);
        let zero_is_value = inspected.series.zero_is_value;
        let keys = KeyPlan::new(&[primary], &columns, &inspected.collations, zero_is_value);
        keys.has(0).then_some(SortPlan { keys })
    }
}

/// The parts that sorting needs.
#[derive(Clone, Copy)]
pub(crate) struct Sorting<'a> {
    pub(crate) plan: &'a SortPlan,
    /// Workers, chunks, and what workers sort at once.
    pub(crate) memory: &'a Memory,
    /// For sorted runs, as long as the sorted source lives.
    pub(crate) store_bytes: usize,
    pub(crate) temp_dir: &'a Path,
    pub(crate) progress: &'a dyn Progress,
    pub(crate) interrupt: &'a Interrupt,
}

impl Sorting<'_> {
    /// How scattered the first rows of the input are; None if they are no text, which only is sorted.
    /// Goes back to its start, before and after;
    /// takes as long as reading a few
    /// megabytes.
    pub(crate) fn look(&self, source: &mut dyn Source) -> Result<Option<Scatter>, Error> {
        scatter::look(self, source)
    }

    /// True if the memory is enough to sort in.
    pub(crate) fn fits(&self) -> bool {
        sorter::memory_bytes_min(self) <= self.store_bytes
    }

    /// Reads the input to its end and sorts it. Without a result the input's order has a say in
    /// what the table gets; it is then to be read from its start, where this leaves it.
    pub(crate) fn sort(&self, source: Box<dyn Source>) -> Result<Sorted, Error> {
        sorter::sort(self, source)
    }
}

/// The result of sorting.
pub(crate) enum Sorted {
    /// The rows in key order.
    Rows(Box<SortedSource>),
    /// The input as it was, at its start: it has rows that get numbers in its order.
    NotSorted(Box<dyn Source>),
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
