//! Delimited files: CSV, TSV and what else LOAD DATA reads.
//!
//! The rules are those of the server's LOAD DATA (`READ_INFO::read_field` in `sql/sql_load.cc`), see
//! [`Dialect`].
//!
//! In reading order: [`dialect`] what a file looks like, `lexer` the rules byte by byte with rows
//! without separators, `blocks` the same 64 bytes at a time, `split` where to cut, `scan` the fields
//! of a chunk, `reader` that for whoever wants rows, `files` one input after the other.

mod blocks;
pub(crate) mod dialect;
mod files;
mod lexer;
mod reader;
mod scan;
mod split;

pub use dialect::Dialect;
pub use files::{FileSource, SourceOptions};
