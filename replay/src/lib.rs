//! A dump into a server: rows by the fastest path, everything else in its order.
//!
//! ```text
//! dump -> statements --conductor--> session           in order, one after the other
//!         rows of a table ---------> rows (load) or lanes (statements), while the conductor goes on
//! ```
//!
//! In reading order: [`options`] what is asked for; `dump` the files of a dump, `names` what of it
//! and into which database; `conductor` which statement may run when, `state` what a session was
//! set to; `table` a table from its CREATE to the moment it takes its place, by `create`, its text
//! under another name (by its `token`s), and `keys`, its foreign keys; `rows` its rows by the load engine, `lanes` as
//! statements over several connections; `journal` what is done, for the same command after a crash;
//! `report`, [`progress`] and `error`.

mod conductor;
#[allow(dead_code, reason = "the conductor is on its way")]
mod create;
pub mod dump;
mod error;
mod journal;
#[allow(dead_code, reason = "the conductor is on its way")]
mod keys;
mod lanes;
pub mod names;
pub mod options;
#[allow(dead_code, reason = "the conductor is on its way")]
pub mod progress;
pub mod report;
mod rows;
#[allow(dead_code, reason = "the conductor is on its way")]
mod sessions;
#[allow(dead_code, reason = "the conductor is on its way")]
mod state;
#[allow(dead_code, reason = "the conductor is on its way")]
mod table;
mod token;
#[allow(dead_code, reason = "the conductor is on its way")]
mod work;

pub use error::Error;
pub use options::{As, ReplayOptions};
