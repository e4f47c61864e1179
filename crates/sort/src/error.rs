//! Errors of a sort: the disk, or a budget that cannot work.

use std::io;
use std::path::PathBuf;

/// Result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Failure of a sort. Entries themselves cannot be wrong; disks and budgets can.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No spill file could be made in the temporary directory.
    #[error("creating spill run {run} in {}: {source}{}", dir.display(), disk::advice(source))]
    Create {
        /// The temporary directory.
        dir: PathBuf,
        /// Number of the spilled run, from 0.
        run: u64,
        /// The system's error.
        source: io::Error,
    },
    /// Writing a spilled run failed, most often for want of space.
    #[error("writing spill run {run} to {}: {source} (the run needs about {bytes_needed} bytes, \
             {bytes_written} were written){}", dir.display(), disk::advice(source))]
    Write {
        /// The temporary directory.
        dir: PathBuf,
        /// Number of the spilled run, from 0.
        run: u64,
        /// Bytes of the run's entries before compression.
        bytes_needed: u64,
        /// Bytes the disk had taken.
        bytes_written: u64,
        /// The system's error.
        source: io::Error,
    },
    /// Reading a spilled run back failed.
    #[error("reading block {block} of spill run {run} in {}: {source}{}", dir.display(), disk::advice(source))]
    Read {
        /// The temporary directory.
        dir: PathBuf,
        /// Number of the spilled run, from 0.
        run: u64,
        /// Number of the block in the run, from 0.
        block: usize,
        /// The system's error.
        source: io::Error,
    },
    /// A spilled block is not what was written: the disk or the memory is at fault.
    #[error("block {block} of spill run {run} in {} is damaged: {what} is {seen}, expected \
             {expected}", dir.display())]
    Corrupt {
        /// The temporary directory.
        dir: PathBuf,
        /// Number of the spilled run, from 0.
        run: u64,
        /// Number of the block in the run, from 0.
        block: usize,
        /// The field that disagrees.
        what: &'static str,
        /// Its value in the file.
        seen: u64,
        /// The value that fits the rest.
        expected: u64,
    },
    /// The budget cannot hold even the buffers of the smallest merge.
    #[error("sorting needs at least {needed} bytes of memory, but the limit is {given} bytes")]
    BudgetTooSmall {
        /// Bytes given.
        given: usize,
        /// Bytes without which no merge is possible.
        needed: usize,
    },
    /// More merges at once than the budget was divided for.
    #[error("{merges_max} merges are open, and the memory allows no more")]
    TooManyMerges {
        /// `StoreOptions::threads` of the store.
        merges_max: usize,
    },
    /// Another thread's spill failed before; the store takes no more runs.
    #[error("the sort has stopped: {first}")]
    Stopped {
        /// Text of the first failure.
        first: String,
    },
}
