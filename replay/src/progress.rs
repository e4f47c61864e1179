//! What is told while a replay runs.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// How far a replay is, at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// What it is at: a table, or the head of a statement.
    pub doing: String,
    /// Bytes of the dump's files that are read, compressed if they are.
    pub read_bytes: u64,
    /// Of so many, where that is known.
    pub total_bytes: Option<u64>,
    /// Rows that are in.
    pub rows: u64,
    /// Tables that are finished.
    pub tables: u64,
}

/// Somebody who wants to know how far a replay is.
pub trait Progress: Sync {
    /// It is at `snapshot` now. Called a few times a second at most.
    fn update(&self, snapshot: &Snapshot);

    /// A sentence for people: what is waited for, or went wrong and is passed over.
    fn say(&self, text: &str) {
        let _ = text;
    }
}

/// Nobody watches.
impl Progress for () {
    fn update(&self, _: &Snapshot) {}
}

/// Time between two updates.
pub(crate) const INTERVAL: Duration = Duration::from_millis(200);

/// What workers count while they send rows; the conductor tells it on.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    rows: AtomicU64,
}

impl Watch {
    /// So many more rows are in.
    pub(crate) fn add_rows(&self, count: u64) {
        self.rows.fetch_add(count, Ordering::Relaxed);
    }

    /// Rows counted so far.
    pub(crate) fn rows(&self) -> u64 {
        self.rows.load(Ordering::Relaxed)
    }
}
