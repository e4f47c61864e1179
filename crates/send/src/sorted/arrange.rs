//! The decision to sort the input before it is loaded, and then the sorting of it.

use encode::prepared::Prepared;
use face::option::TEMP_DIR;
use job::error::Error;
use job::memory::ConnectionShares;
use job::memory::Memory;
use job::options::LoadPath;
use job::progress::Stage;
use job::space;
use job::steps::Steps;
use schema::Table;
use sources::{Source, SourceExt as _};

use super::{SortPlan, Sorted, Sorting};
use crate::order::RowOrder;

/// Smallest input that is sorted; order makes no difference to less.
const INPUT_BYTES_MIN: u64 = 32 << 20;
/// Rows that are farther apart than this part of the input, on average, are worth sorting.
const DISTANCE_MIN: f64 = 0.02;
/// Chunks by which it is decided: the same whatever memory there is, for a load that goes on where
/// another ended.
const LOOK_BYTES: usize = 1 << 20;

/// The decision about the input's order.
#[derive(Debug)]
pub(crate) struct Arrangement {
    /// How rows are sorted, if they are.
    plan: Option<SortPlan>,
    /// For sorted runs; part of that is still held when rows are loaded.
    store_bytes: usize,
    is_in_order: bool,
}

/// The order of the rows, and the decision about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InputOrder {
    /// True if rows came in key order, or so nearly that it did not matter; also if it was not
    /// checked.
    pub(crate) is_in_order: bool,
    /// True if they were sorted.
    pub(crate) is_sorted: bool,
    /// Bytes that sorted runs took on disk.
    pub(crate) spilled_bytes: u64,
    /// How many rows were sorted, if they were.
    pub(crate) rows: Option<u64>,
}

impl InputOrder {
    /// The report's note about it, if any.
    pub(crate) fn note(&self) -> Option<String> {
        match (self.is_sorted, self.is_in_order) {
            (true, _) => {
                Some("rows were not in primary key order; they were sorted first".to_owned())
            }
            (false, false) => Some(format!(
                "rows were not in primary key order and were sent as they came: memory or \
                 {TEMP_DIR} has no room to sort them, or they get AUTO_INCREMENT values by their \
                 order"
            )),
            (false, true) => None,
        }
    }
}

impl Arrangement {
    /// Looks at the first rows. They are sorted where they are far from primary key order and may
    /// be loaded in that instead; the source is at its start then.
    pub(crate) fn of(
        prepared: &Prepared<'_>,
        table: &Table,
        row_order: RowOrder,
        source: &mut dyn Source,
    ) -> Result<Arrangement, Error> {
        let options = prepared.options;
        let none = Arrangement { plan: None, store_bytes: 0, is_in_order: true };
        let plan = SortPlan::new(table, prepared.inspected, options.rows.on_duplicate, row_order);
        let is_large = source.facts().bytes_total.is_none_or(|bytes| bytes >= INPUT_BYTES_MIN);
        // IMPORT INTO sorts by itself.
        let sorts = is_large && prepared.path != LoadPath::Import;
        let Some(plan) = plan.filter(|_| options.limits.sort_input.unwrap_or(sorts)) else {
            return Ok(none);
        };
        source.begin_with(LOOK_BYTES, prepared.memory.record_bytes_max)?;
        let memory = Memory { chunk_bytes: LOOK_BYTES, ..*prepared.memory };
        let store_bytes = memory.run_bytes / 2;
        let sorting = sorting(prepared, &plan, &memory, store_bytes);
        let Some(scatter) = sorting.look(source)? else { return Ok(none) };
        let is_in_order = scatter.distance < DISTANCE_MIN;
        let can_be = sorting.fits() && has_room(prepared, source, store_bytes);
        let is_sorted = can_be && (!is_in_order || options.limits.sort_input == Some(true));
        Ok(match is_sorted {
            true => Arrangement { plan: Some(plan), store_bytes, is_in_order },
            false => Arrangement { is_in_order, ..none },
        })
    }

    /// True if rows are to be sorted.
    pub(crate) fn is_sorted(&self) -> bool {
        self.plan.is_some()
    }

    /// Bytes of memory that are taken as long as rows are loaded.
    pub(crate) fn store_bytes(&self) -> usize {
        self.store_bytes
    }

    /// The input as it is to be loaded, in chunks of the connections'.
    pub(crate) fn apply(
        &self,
        prepared: &Prepared<'_>,
        source: Box<dyn Source>,
        shares: &ConnectionShares,
        steps: &mut Steps<'_>,
    ) -> Result<(Box<dyn Source>, InputOrder), Error> {
        let is_in_order = self.is_in_order;
        let as_it_is = InputOrder { is_in_order, is_sorted: false, spilled_bytes: 0, rows: None };
        let Some(plan) = &self.plan else { return Ok((source, as_it_is)) };
        let memory = Memory {
            chunk_bytes: shares.chunk_bytes,
            record_bytes_max: shares.record_bytes_max,
            ..*prepared.memory
        };
        let sorting = sorting(prepared, plan, &memory, self.store_bytes);
        Ok(match steps.step(Stage::Sort, || sorting.sort(source))? {
            Sorted::Rows(rows) => {
                let (spilled_bytes, count) = (rows.spilled_bytes(), Some(rows.row_count()));
                (rows, InputOrder { is_in_order, is_sorted: true, spilled_bytes, rows: count })
            }
            Sorted::NotSorted(source) => (source, as_it_is),
        })
    }
}

fn sorting<'s>(
    prepared: &'s Prepared<'_>,
    plan: &'s SortPlan,
    memory: &'s Memory,
    store_bytes: usize,
) -> Sorting<'s> {
    Sorting {
        plan,
        memory,
        store_bytes,
        temp_dir: &prepared.options.limits.temp_dir,
        progress: prepared.progress,
        interrupt: &prepared.options.interrupt,
    }
}

/// True if runs that do not fit in memory would fit on disk; also if that is unknown.
fn has_room(prepared: &Prepared<'_>, source: &dyn Source, store_bytes: usize) -> bool {
    match (source.facts().bytes_total, space::free_bytes(&prepared.options.limits.temp_dir)) {
        (Some(bytes), Ok(free)) => bytes <= store_bytes as u64 || bytes < free,
        _ => true,
    }
}
