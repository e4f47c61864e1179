//! SQL dumps: statements as `mariadb-dump`, `mysqldump`, mydumper and people write them.
//!
//! ```text
//! Stream --SqlReader--> Statement (whole), or InsertHead and then
//!                       RowRun: chunks of `(..),(..)` text --Scanner--> Rows
//! ```
//!
//! A dump is bytes, not UTF-8: blobs stand raw in its strings. Statements are told apart by the
//! rules of the mariadb client and of the server's lexer (`client/mysql.cc`, `sql/sql_lex.cc`).
//! Consecutive INSERTs into one table by the same words are one run of rows, whose chunks may be
//! scanned by any thread.
//!
//! In reading order: `lexer` where a statement ends, `token` its words, `statement` what it is and
//! `classify` how that is told, `insert` the words before the rows, `session` what the dump sets that
//! changes how it is read, `window` the bytes at hand, `problem` what cannot be read, `blank` and
//! `command` what stands between statements, `reader` the dump front to back; then rows: `walk` what
//! is a string and what a tuple, `cut` where a run may be cut and ends, `onward` how it goes on in
//! the next file, `run` the run as a [`crate::Source`], `tuples` the fields of a chunk of it,
//! `literal` what a field means and which column takes it.

mod blank;
mod classify;
mod command;
mod cut;
mod insert;
mod lexer;
pub(crate) mod literal;
mod onward;
mod problem;
mod reader;
mod run;
mod session;
mod statement;
mod token;
pub(crate) mod tuples;
pub(crate) mod walk;
mod window;

pub use classify::classify;
pub use insert::{InsertHead, Verb};
pub use lexer::Syntax;
pub use literal::Literals;
pub use problem::Problem;
pub use reader::{SqlOptions, SqlReader};
pub use run::{Handback, RowRun, RunOptions, RunPlace, RunStatement};
pub use statement::{Bound, ObjectName, Statement, StatementKind};
pub use token::Comments;
pub use tuples::Tuples;
