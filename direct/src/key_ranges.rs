//! Ranges of sorted runs, which workers take one after the other.

use std::ops::Range;

use sort::{KeyRange, Runs};

use crate::old::OldIndex;

/// One range of one index.
#[derive(Debug)]
pub(crate) struct Task {
    /// Index into the runs.
    pub(crate) slot: usize,
    pub(crate) range: KeyRange,
    /// Leaves of the old index that have keys of it, in a table that has rows already.
    pub(crate) old: Option<Range<usize>>,
    /// Whether it is the last of its index.
    pub(crate) is_last: bool,
}

/// Cuts all runs into ranges of about `range_bytes`, index by index, with what an old table has of each.
/// An index without entries still has one range, so that somebody finishes it.
pub(crate) fn tasks(runs: &[Runs], old: Option<&[OldIndex]>, range_bytes: usize) -> Vec<Task> {
    let mut tasks = Vec::new();
    for (slot, runs) in runs.iter().enumerate() {
        let task = |range, old| Task { slot, range, old, is_last: false };
        match old.map(|old| &old[slot]) {
            None => {
                let ranges = runs.ranges(range_bytes).into_iter();
                tasks.extend(ranges.map(|range| task(range, None)));
            }
            Some(old) => {
                let ranges = old.ranges(runs, range_bytes).into_iter();
                tasks.extend(ranges.map(|(range, leaves)| task(range, Some(leaves))));
            }
        }
        if let Some(task) = tasks.last_mut() {
            task.is_last = true;
        }
    }
    tasks
}
