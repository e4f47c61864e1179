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
//! In reading order: `lexer` where a statement ends, `statement` what it is, `insert` the words
//! before the rows, `reader` the dump front to back; `cut` where a run may be cut, `tuples` the
//! fields of a chunk of it, `run` the run as a [`crate::Source`].

mod insert;
mod statement;

pub use insert::{InsertHead, Verb};
pub use statement::{ObjectName, Statement, StatementKind};
