//! SQL dumps: statements as `mariadb-dump`, `mysqldump`, mydumper and people write them, and the
//! rows among them as a source.
//!
//! ```text
//! Stream --SqlReader--> Statement (whole), or InsertHead and then
//!                       RowRun: chunks of `(..),(..)` text --Reader--> Batch
//! ```
//!
//! The `sql` crate knows statements and rows. Consecutive INSERTs into one table by the same words are one
//! run of rows, whose chunks may be scanned by any thread.
//!
//! In reading order: `statement` one of them, `window` the bytes at hand, `problem` what cannot be
//! read, `blank` what stands between statements, `lead` what a file begins
//! with, `reader` the dump front to back; then rows:
//! `onward` how a run goes on in the next file, `run` the run as a [`crate::Source`], `scan` the
//! fields of a chunk of it.

mod blank;
mod last_line;
mod lead;
mod onward;
mod problem;
mod reader;
mod run;
mod scan;
mod statement;
mod window;

pub use reader::{SqlOptions, SqlReader, StrayLines};
pub use run::{Handback, RowRun, RunPlace, RunStatement};
pub use scan::run_reader;
pub use statement::Statement;
