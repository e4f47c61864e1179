//! Ranges of sorted runs, which workers take one after the other.

use sort::{KeyRange, Runs};

/// One range of one index.
#[derive(Debug)]
pub(crate) struct Task {
    /// Index into the runs.
    pub(crate) slot: usize,
    pub(crate) range: KeyRange,
    /// Whether it is the last of its index.
    pub(crate) is_last: bool,
}

/// Cuts all runs into ranges of about `range_bytes`, index by index. An index without entries
/// still has one range, so that somebody finishes it.
pub(crate) fn tasks(runs: &[Runs], range_bytes: usize) -> Vec<Task> {
    let mut tasks = Vec::new();
    for (slot, runs) in runs.iter().enumerate() {
        tasks.extend(runs.ranges(range_bytes).into_iter().map(|range| Task {
            slot,
            range,
            is_last: false,
        }));
        if let Some(task) = tasks.last_mut() {
            task.is_last = true;
        }
    }
    tasks
}
