//! The input judged against a table, as if all of it were to go in; nothing is loaded or changed.
//!
//! ```text
//! rows  input -> every fault of every row, by the converters that loads use
//!             -> (key, place of the row), sorted, for each unique and each foreign key
//! keys  merged: rows that share a key; with the keys of the table, and of parents, as the server
//!       shows them in order
//! conditions   CHECK constraints, of which the server judges values that are in no table
//! told  (place, what is wrong), sorted -> the rows in input order, with all their reasons
//! ```
//!
//! A check does not use the stages of the direct path: they need the file that a server has made for the
//! table, and a check makes none. It uses the same converters, keys, readings and sorts.
//!
//! In reading order: `run` all of it, `subject` what rows are judged by and `looks` at which keys, `pass` the
//! reading, `rows` what a worker finds, with `judge` of one row and `partitions` whether one takes it,
//! `place` where it is, `findings` what is wrong with it and `fault` in words, `keys` and `conditions`,
//! `told`, and [`report`]; [`lines`] those that hold rows of several tables. `verify` is the other question:
//! whether the table holds just these rows.

#![forbid(unsafe_code)]

mod conditions;
mod fault;
mod fault_report;
mod findings;
mod judge;
mod key_lookups;
mod keys;
pub mod lines;
mod partitions;
mod pass;
mod place;
pub mod report;
mod rows;
mod run;
mod subject;
mod table;
mod verify;

pub use report::{BadRow, CheckReport};
pub use run::check;
pub use verify::report::{OtherRow, VerifyReport};
pub use verify::verify;
