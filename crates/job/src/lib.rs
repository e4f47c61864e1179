//! Options, limits, progress, journal and report of a load: the same for every method.
//!
//! In reading order: [`options`] what is asked for; [`machine`], [`memory`], [`space`] and [`capacity`] what there is;
//! [`pool`], [`turn`] and [`stop`] how workers run, wait for each other and end, [`tally`] that they lose
//! nothing; [`position`] where a row is, [`row_log`] files of rows that are not loaded; [`progress`],
//! [`settled`] and [`report`] what is told, [`journal`] and [`steps`] what is written down, [`state`] where,
//! [`closing`] until when, [`command`] what began it, [`command_files`] which files it reads and writes,
//! [`jobs`] what there was, [`tuning`] what is set on the server meanwhile, [`error`] why there was no load;
//! [`publish`] the step that all ways end with. [`failpoint`] is the tests' own.

#![forbid(unsafe_code)]

pub mod capacity;
pub mod closing;
pub mod command;
pub mod command_files;
pub mod error;
#[doc(hidden)]
pub mod failed;
pub mod failpoint;
pub mod jobs;
pub mod journal;
mod machine;
pub mod memory;
pub mod options;
pub mod pool;
pub mod position;
pub mod progress;
pub mod publish;
pub mod report;
pub mod row_log;
pub mod settled;
pub mod space;
pub mod state;
pub mod steps;
pub mod stop;
pub mod tally;
pub mod tuning;
pub mod turn;
mod written;

pub use error::Error;
pub use memory::Memory;
pub use options::LoadOptions;
pub use position::Position;
pub use progress::{Progress, Snapshot, Stage};
pub use report::Report;

/// Locks of this crate. Models of what waits here (`crates/testkit/tests/models`) put others in their place.
mod sync {
    pub(crate) use locks::{Condvar, Mutex, MutexGuard};
}
