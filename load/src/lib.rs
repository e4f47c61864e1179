//! The pipeline: files to a table, all or nothing.
//!
//! ```text
//! source -> rows -> encoded records -> sorted runs -> pages -> tablespace -> import
//!           '------ rows.rs ------'   '--- indexes.rs ---'    direct.rs
//! ```
//!
//! [`mod@sniff`] looks at files that nothing is known of; [`load`] plans, builds, verifies, imports and publishes; [`plan`] only says what it would do.

pub mod journal;
pub mod options;
pub mod progress;
pub mod report;
pub mod sniff;

mod absent;
mod binding;
mod build;
mod clock;
mod counter;
mod ddl;
mod direct;
mod duplicates;
mod encode;
mod entry;
mod error;
mod estimate;
mod failpoint;
mod fault;
mod fields;
mod given;
mod indexes;
mod inspected;
mod large;
mod locate;
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

pub use direct::load;
pub use error::Error;
pub use estimate::Estimate;
#[doc(hidden)]
pub use memory::Memory;
pub use options::{Fill, LoadOptions, Mode, OnDuplicate};
pub use plan::{Plan, check, plan};
pub use position::Position;
pub use progress::{Progress, Snapshot, Stage};
pub use report::Report;
pub use server::Interrupt;
