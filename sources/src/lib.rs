//! Input to rows: chunks of whole records, and the fields of a chunk.
//!
//! ```text
//! files --Source--> Chunk (whole records, in order) --Reader--> Batch --visit--> Rows --value--> Value
//!         under a lock, cheap                        any thread, one chunk each
//! ```
//!
//! A [`Source`] reads its input front to back and cuts it at record ends, exactly, also where a
//! quoted field holds a newline; every chunk can then be read by whichever thread is free. Formats
//! are open, each a source with a [`Reader`]; what a reader gives is text or typed values.
//!
//! In reading order: `error`, `chunk`, `field` and [`batch`] what travels, `source` the seam that
//! kinds of input fit in. Then `bytes` where they come from: files, pipes, archives, character sets;
//! [`delimited`] CSV and its kin; [`dump`] the rows of INSERTs.
#![forbid(unsafe_code)]

mod error;

mod chunk;
mod field;

pub mod batch;

mod source;

mod bytes;

pub mod delimited;

pub mod dump;

pub use batch::{Batch, Row, Rows, TextIndex, TextRow, TextRows, Visit};
pub use bytes::compression::Compression;
pub use bytes::encoding::{Encoding, Unit};
pub use bytes::expand::expand;
pub use bytes::sample::{Part, Sample};
pub use bytes::stdin::is_stdin;
pub use chunk::{Chunk, RecordPlace};
pub use delimited::{Dialect, FileSource, SourceOptions};
pub use error::{Error, Position, Result};
pub use field::{FieldKind, Layout};
pub use simd::Isa;
pub use source::{InputFile, Reader, Source};
pub use values::{MultiByte, Value};
