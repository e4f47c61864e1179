//! Input files to records: dialects, chunks of whole records, a SIMD field scanner.
//!
//! ```text
//! files --Source--> Chunk (whole records, in order) --Scanner--> Rows --value()--> bytes or NULL
//!         one thread, cheap                           any thread, one chunk each
//! ```
//!
//! A [`Source`] reads the files front to back and cuts them at record ends, exactly, also where a
//! quoted field holds a newline; every chunk can then be scanned by whichever thread is free.
//! The rules of a delimited file are those of the server's LOAD DATA (`READ_INFO::read_field` in
//! `sql/sql_load.cc`), see [`Dialect`].
//!
//! In reading order: [`dialect`] what a file looks like, `chunk` and `source` the seam other kinds
//! of input fit in. Then where bytes come from: `expand` names to paths, `input` files that must
//! not change and pipes, `spool` what a pipe gave, `stdin`, `compression` and `decompress` archives,
//! `encoding` UTF-16 and UTF-32, `text` all of these in a row, `ahead` on a thread, `stream` or
//! not, `files` one input after the other, `sample` parts of them to guess from. Then rows: `split`
//! where to cut, `lexer` the rules byte by byte, `fixed`
//! rows without separators, `blocks` the same 64 bytes at a time, `scan` and `rows` the fields of a
//! chunk, `decode` what a field means.
#![forbid(unsafe_code)]

pub mod dialect;

mod chunk;
mod source;

mod expand;

mod input;
mod spool;
mod stdin;

mod compression;
mod decompress;
mod encoding;
mod text;

mod ahead;
mod stream;

mod files;
mod sample;

mod split;

mod blocks;
mod fixed;
mod lexer;

mod scan;

mod rows;

mod decode;

pub mod dump;

mod error;

pub use chunk::{Chunk, RecordPlace};
pub use compression::Compression;
pub use dialect::{Dialect, FieldKind};
pub use encoding::{Encoding, Unit};
pub use error::{Error, Position, Result};
pub use expand::expand;
pub use files::{FileSource, SourceOptions};
pub use rows::{Field, Fields, NotPlain, Row, Rows};
pub use sample::{Part, Sample};
pub use scan::Scanner;
pub use simd::Isa;
pub use source::{InputFile, Source};
pub use stdin::is_stdin;
pub use values::{MultiByte, Value};
