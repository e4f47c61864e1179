//! The direct path: build the tablespace, have the server adopt it, swap it in.
//!
//! ```text
//! rows (a chunk a worker) -> sorted runs -> indexes (a key range a worker) -> verify -> import
//!   rows                      sort           indexes                           verify    server
//! ```
//!
//! In reading order: `load` the steps, `shadowed` what the server has before them and `unplaced` behind,
//! `build` what its stages share, `attempt` how they are joined, `rows` the first and `indexes` the second,
//! in some `order`, by `key_ranges`; `old` rows that the table has already and `hold` from when on they stay
//! as they are, `off_page` long values, `pages` and `space_file` where pages go, `early_pass` what is
//! verified of them on the way, `unique_part` of an entry, `verify` the finished file, `adopted` what the
//! server has of it, by a `digest` that a `digester` takes; `least` what memory all that takes; `locate`
//! which rows have a key, `duplicates` those that lose. `damage` is the tests' own.

#![forbid(unsafe_code)]

mod adopted;
mod attempt;
mod build;
#[cfg(feature = "failpoints")]
mod damage;
mod digest;
mod digester;
mod duplicates;
mod early_pass;
mod hold;
mod indexes;
mod key_ranges;
mod key_taps;
mod load;
mod locate;
mod min_memory;
mod off_page;
mod old;
mod order;
mod pages;
mod rows;
mod space_file;
mod staged_build;
mod unique_part;
mod unplaced;
mod verify;

pub use attempt::Built;
pub use load::{build, report};
pub use min_memory::least_memory;
pub use staged_build::{StagedBuild, prepare};
pub use unplaced::Unplaced;
