//! What a sort leaves: its runs, and what it did.

use std::sync::Mutex;
use std::time::Duration;

use crate::batch::BatchBuffers;
use crate::budget::Budget;
use crate::entry::EntryShape;
use crate::file::RunFile;
use crate::ordered::AddedRun;
use crate::run::MemoryRun;

/// What a store did, for the report.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SortStats {
    /// Runs added that had entries.
    pub runs: u64,
    /// Entries added.
    pub entries: u64,
    /// Bytes of these entries.
    pub entry_bytes: u64,
    /// Runs written to disk, those of merges of spilled runs included.
    pub spilled_runs: u64,
    /// Bytes of their entries.
    pub spilled_entry_bytes: u64,
    /// Bytes they took on disk.
    pub spilled_file_bytes: u64,
    /// Merges of spilled runs into larger ones, because there were too many for one pass.
    pub premerges: u64,
    /// Time spent spilling, summed over threads.
    pub spill_time: Duration,
    /// Time callers waited for memory, summed over threads.
    pub wait_time: Duration,
    /// Most bytes ever counted against the budget, the fixed reserve included.
    pub memory_bytes_peak: usize,
}

/// All runs of a sort, ready to be merged; threads may merge different ranges at once.
#[derive(Debug)]
pub struct Runs {
    pub(crate) shape: EntryShape,
    pub(crate) budget: Budget,
    pub(crate) memory: Vec<MemoryRun>,
    pub(crate) files: Vec<RunFile>,
    pub(crate) added: Vec<AddedRun>,
    pub(crate) stats: SortStats,
    pub(crate) merges: Mutex<Merges>,
}

/// Merges that are open, and buffers of those that were.
#[derive(Debug, Default)]
pub(crate) struct Merges {
    pub(crate) open: usize,
    pub(crate) buffers: Vec<BatchBuffers>,
}

impl Runs {
    /// Number of entries, without those of [`RunStore::add_ordered`].
    pub fn entries(&self) -> u64 {
        self.stats.entries
    }

    /// What the sort did so far.
    pub fn stats(&self) -> &SortStats {
        &self.stats
    }
}
