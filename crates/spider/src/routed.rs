//! The rows of an input by the partitions that take them: one reading for all, a source like any other for
//! each.
//!
//! ```text
//! files --Source--> chunk --Placer--> partition of each row --Cutter--> piece --Queue--> PartitionSource
//!                           any thread                       in order         bounded    a partition's load
//! ```
//!
//! The input is read, its rows are found and told apart once ([`SharedReading`]). A row goes on as its bytes
//! and its place in the input, so that whatever is said of it later names file, line and byte. A queue that is
//! full holds up the reading, and so all others, but nobody waits for one whose rows are not wanted any more.
//!
//! Rows that a load needs again, because it begins again, are kept as long as they are few; else that load
//! reads the input by itself. Pieces are cut by their bytes, in both cases the same.
//!
//! In reading order: `placer` where a row goes, `piece` what travels, `queue` how, `partition_source` who
//! takes it, `shared_reading` who brings it; before all that, `head_rows` for the server to be asked about.

mod head_rows;
mod partition_source;
mod piece;
mod placer;
mod queue;
mod shared_reading;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

use std::sync::Arc;

use encode::binding::BoundColumn;
use encode::column_source::Input;
use encode::partition::Router;
use encode::row_keys::KeyPlan;
use job::options::Select;
use sources::{Result, Source};

use self::partition_source::PartitionSource;

pub(crate) use self::head_rows::head_rows;
pub(crate) use self::shared_reading::{SharedReading, Shares};

/// Tells of rows, by their fields, which partition takes them.
#[derive(Clone, Debug)]
pub(crate) struct RowRouter {
    router: Router,
    /// The columns that the router looks at, in its order; behind them one that is AUTO_INCREMENT, whose
    /// numbers have to be in the input.
    plan: KeyPlan,
    /// How many of them the router looks at.
    looked_at: usize,
    has_number: bool,
}

impl RowRouter {
    /// By the columns of the table whose values follow from the input, `zero_is_value` being whether
    /// NO_AUTO_VALUE_ON_ZERO is set.
    ///
    /// Errors: why it cannot be told, in words.
    pub(crate) fn new(
        router: &Router,
        names: &[String],
        columns: &[BoundColumn],
        zero_is_value: bool,
    ) -> std::result::Result<RowRouter, String> {
        let find = |name: &String| columns.iter().find(|bound| bound.column.name == *name);
        let unknown =
            |name| format!("the value of column `{name}` is unknown before the row is loaded");
        let wanted = router.columns().iter().map(|at| &names[*at]);
        let mut plan = Vec::new();
        for name in wanted {
            plan.push(find(name).ok_or_else(|| unknown(name))?);
        }
        let looked_at = plan.len();
        let number = columns.iter().find(|bound| bound.column.auto_increment);
        if let Some(bound) = number {
            if matches!(bound.input, Input::AutoIncrement(None)) {
                return Err(format!("the input has no numbers for `{}`", bound.column.name));
            }
            plan.push(bound);
        }
        let plan = KeyPlan::of_columns(&plan, zero_is_value);
        Ok(RowRouter { router: router.clone(), plan, looked_at, has_number: number.is_some() })
    }
}

/// The rows that one partition takes, for a load that reads the input by itself.
#[derive(Clone, Debug)]
pub(crate) struct RowsOfPartition {
    /// Which partition takes a row.
    pub(crate) router: Arc<RowRouter>,
    /// The one.
    pub(crate) partition: usize,
    /// Memory of a load for its rows.
    pub(crate) shares: Shares,
}

impl Select for RowsOfPartition {
    fn select(&self, lines: Box<dyn Source>) -> Result<Box<dyn Source>> {
        Ok(Box::new(PartitionSource::alone(lines, self.clone())))
    }
}
