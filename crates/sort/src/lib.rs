//! Sorts more entries than fit in memory.
//!
//! ```text
//! push -> SortBuffer -> MemoryRun -> RunStore -> Runs -> Merge -> entries, ascending
//!         a chunk       sorted       budget,     ranges  one per
//!         of a worker                spill               thread
//! ```
//!
//! An entry is a key, compared by memcmp and prefix-free, and in some sorts a payload. Workers
//! sort chunks in buffers of their own and add the runs, in any order; each run carries the number
//! of its chunk. After the last, the keys are cut into ranges that any number of threads merge at
//! once. Entries of equal keys all come out, side by side, in the order of their chunks and as
//! pushed within a chunk, wherever the run was kept meanwhile.
//!
//! Bare keys of one length (secondary indexes of numbers and dates) are held as integers of the
//! bits in which they differ, in memory and on disk, and sorted by radix, in the chunk and again in
//! the merge. All other entries are sorted by comparison and merged by a loser tree.
//!
//! # Memory
//!
//! A store keeps within `memory_bytes_max`, always:
//!
//! ```text
//! memory_bytes_max = reserve + room
//! reserve = max(spills at once * buffers of a spill, merges at once * buffers of a merge)
//! room   >= retained runs (capacities) + indexes of spilled runs
//!           + while spilled runs are merged early: a block of each of them
//!           + after finish: spilled runs * merges at once * a block
//! ```
//!
//! The sizes are in `budget.rs`, the room is counted in `store.rs` before memory is taken. With 64
//! MiB, two threads and keys of 20 bytes: a block is 128 KiB; a merge has a batch of 20,164 keys
//! (1 MiB) and a stored block, 1.1 MiB; a spill has a merge, a write buffer of 1 MiB, 3 blocks and
//! 52 KiB for an index, 2.6 MiB; the reserve is one spill (two merges are 2.3 MiB) and the room
//! 61.4 MiB. From 53.8 MiB on, 7.0 M keys of up to 64 differing bits, one thread spills half of
//! them; up to 122 such spilled runs are merged in one pass.
//!
//! Not in it: a run that a caller holds while it waits in [`RunStore::add`], at most one for each
//! thread, and the [`SortBuffer`]s, which say what they hold. An entry longer than a block (4 KiB
//! to 256 KiB, a 512th of the budget) adds four times its length for each spill or merge at once.
//!
//! # Disk
//!
//! Spilled runs are unlinked files in the temporary directory, of blocks with a CRC-32C each. A
//! merge needs one pass; only when there are more runs than half of the room has blocks for are the
//! smallest merged early.

#![forbid(unsafe_code)]

mod batch;
mod block;
mod budget;
mod buffer;
mod entry;
mod error;
mod file;
mod keys;
mod merge;
mod order;
mod pack;
mod radix;
mod range;
mod run;
mod source;
mod store;
mod tree;

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod faults;

pub use buffer::SortBuffer;
pub use entry::EntryShape;
pub use error::{Error, Result};
pub use merge::Merge;
pub use range::KeyRange;
pub use run::MemoryRun;
pub use store::{Loan, RunStore, Runs, SortStats, StoreOptions};
