//! Sorts more entries than fit in memory.
//!
//! ```text
//! push -> SortBuffer -> MemoryRun -> RunStore -> Runs -> Merge -> entries, ascending
//!         one chunk     sorted       budget,     ranges  one per
//!                                    spill               thread
//! ```
mod batch;
mod block;
mod buffer;
mod entry;
mod error;
mod file;
mod keys;
mod merge;
mod pack;
mod plan;
mod radix;
mod range;
mod run;
mod source;
mod store;
mod tree;

pub use buffer::SortBuffer;
pub use entry::EntryShape;
pub use error::{Error, Result};
pub use merge::Merge;
pub use range::KeyRange;
pub use run::MemoryRun;
pub use store::{RunStore, Runs, SortStats, StoreOptions};
