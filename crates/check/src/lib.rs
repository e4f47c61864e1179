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
//! | module | content |
//! | --- | --- |
//! | `run`, `table`, `subject` | the whole check; the table; the rules for its rows |
//! | `pass`, `rows`, `judge`, `partitions` | one reading of the input, the rows of a worker, one row, its partition |
//! | `place`, `findings`, `fault` | the place of a row; its faults; their words |
//! | `keys`, `key_lookups`, `conditions` | unique and foreign keys; keys of the table and its parents; CHECK constraints |
//! | `fault_report`, [`report`] | faults in the order of the input; the result |
//! | [`lines`] | lines with rows of several tables |
//! | `verify` | a table compared with its input |

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
