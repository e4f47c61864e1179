//! The pipeline: files to a table, all or nothing.
//!
//! ```text
//! source -> rows -> encoded records -> sorted runs -> pages -> tablespace -> import
//!           '------ rows.rs ------'   '--- indexes.rs ---'    direct.rs
//! ```
//!
//! In reading order, [`options`] what is asked for, and then
//!
//! - the load as a whole: `job` what all ways have in common, `direct` the steps of one, `steps` and
//!   [`journal`] what is written down of them, [`progress`] and [`report`] what is told, `error` why
//!   there was none;
//! - before it: `plan` and `ladder` which way in, `ddl` the table made, `inspected` what server and input say,
//!   `estimate` and `space` whether there is room, `input` what is read, `machine`, `memory` and `reading` who may use
//!   how much memory, [`mod@sniff`] what a file is that nothing is known of;
//! - what a row becomes: `fields` which column a field goes to, `absent` what the input lacks,
//!   `binding` the fields of each index, `encode` one row, `entry` what is sorted of it, `clock` the
//!   zone of its times;
//! - numbers: `sequence` for every row, of `counter` the server's rule and `given` the input's own;
//! - the stages: `build` joins `rows` and `indexes`, by `pool`, `turn` and `stop`; `large` and
//!   `off_page` long records, `pages` and `space_file` where pages go, `verify` the finished file;
//! - rows that are not loaded: `fault` why, `position` where, `rejects` and `row_log` their files,
//!   `locate` the rows with a key, `duplicates` those that lose;
//! - without the server's files: `logical`, with `controller`;
//! - tests' own: `failpoint`.

pub mod journal;
pub mod options;
pub mod progress;
pub mod report;
pub mod sniff;

mod absent;
mod binding;
mod build;
mod clock;
mod controller;
mod counter;
mod ddl;
mod direct;
mod duplicates;
mod encode;
mod entry;
mod error;
mod estimate;
#[doc(hidden)]
pub mod failpoint;
mod fault;
mod fields;
mod given;
mod indexes;
mod input;
mod inspected;
mod job;
mod ladder;
mod large;
mod locate;
mod logical;
mod machine;
mod memory;
mod off_page;
mod pages;
mod plan;
mod pool;
mod position;
mod reading;
mod rejects;
mod row_log;
mod rows;
mod sequence;
mod space;
mod space_file;
mod steps;
mod stop;
mod turn;
mod verify;

pub use controller::{HeldBack, Settled};
pub use error::Error;
pub use estimate::Estimate;
pub use job::{load, load_from};
pub use ladder::Refused;
#[doc(hidden)]
pub use memory::Memory;
pub use options::{Batches, Fill, LoadOptions, LoadPath, Mode, OnDuplicate, Replicas, RowRules};
pub use plan::{Plan, check, plan};
pub use position::Position;
pub use progress::{Progress, Snapshot, Stage};
pub use report::{LogicalReport, Report};
pub use server::Interrupt;
