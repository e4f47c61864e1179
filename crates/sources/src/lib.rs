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
//! ```
//! use sources::{Batch, Chunk, Dialect, FileSource, Row, Rows, Source, SourceOptions, Value, Visit};
//!
//! /// The second field of each row.
//! struct Seconds;
//!
//! impl Visit for Seconds {
//!     type Output = Vec<String>;
//!
//!     fn rows<R: Rows>(self, rows: R) -> Vec<String> {
//!         let mut scratch = Vec::new();
//!         let text = |row: R::Row| match row.value(1, &mut scratch) {
//!             Value::Bytes(text) => String::from_utf8_lossy(text).into_owned(),
//!             other => format!("{other:?}"),
//!         };
//!         rows.iter().map(text).collect()
//!     }
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let path = std::env::temp_dir().join(format!("sources-{}.csv", std::process::id()));
//! std::fs::write(&path, "1,one\n2,\"two, or three\"\n")?;
//! let mut source = FileSource::new(&[path.clone()], &Dialect::csv(), SourceOptions::default())?;
//! let mut reader = source.reader();
//! let (mut chunk, mut batch, mut texts) = (Chunk::default(), Batch::new(), Vec::new());
//! while source.next_chunk(&mut chunk)? {
//!     reader.read(&chunk, &mut batch)?;
//!     texts.extend(batch.visit(&chunk, Seconds));
//! }
//! assert_eq!(texts, ["one", "two, or three"]);
//! # std::fs::remove_file(&path)?;
//! # Ok(())
//! # }
//! ```
//!
//! In reading order: `error`, `chunk`, `field`, `key`, `line_fields` and [`batch`] what travels, `source` the seam that kinds of
//! input fit in. Then `bytes` where they come from: files, pipes, archives, character sets, by the names in
//! [`charset`]; [`delimited`] CSV and its kin; [`json`]; [`dump`] the rows of INSERTs.
#![forbid(unsafe_code)]

mod error;

mod chunk;
mod field;
mod key;
mod line_fields;
mod position;
mod position_cursor;
mod preset;

pub mod batch;

pub mod charset;

mod source;

mod bytes;

mod delimited;

pub mod json;

pub mod dump;

pub use batch::{
    Batch, EvenRows, Formats, PickShape, Picked, PickedField, PickedRow, PickedRows, Places, Row,
    Rows, TextIndex, TextRow, TextRows, Visit,
};
pub use bytes::at_once::at_once;
pub use bytes::encoding::{Encoding, Unit};
pub use bytes::expand::expand;
pub use bytes::input::KeptPipes;
pub use bytes::random::{FoundInput, InputBytes};
pub use bytes::remote;
pub use bytes::sample::{Part, Sample};
pub use bytes::stdin::is_stdin;
pub use chunk::{Chunk, RecordPlace};
pub use delimited::{Dialect, FileSource, SourceOptions};
pub use error::{Error, Result};
pub use field::{FieldKind, Layout};
pub use key::{ColumnKind, Key, MissingValue, Pointer};
pub use line_fields::{LineFields, LineValue};
pub use position::{PartPlace, Position};
pub use position_cursor::PositionCursor;
pub use preset::{COMPRESSED, Preset};
pub use simd::Isa;
pub use source::{InputFacts, InputFile, ReadAs, Reader, Source, SourceExt, Start};
pub use unpack::Compression;
pub use values::{MultiByte, Value};
