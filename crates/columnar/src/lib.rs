//! Parquet and Arrow files and workbooks to batches of typed rows.
//!
//! ```text
//! file --footer--> parts (row groups, record batches) --next_chunk--> rows of a part
//! chunk --Reader, any thread--> Arrow arrays of the columns that are loaded --cells--> typed columns
//! ```
//!
//! Values go to stored bytes without becoming text. A value that its column cannot store exactly is refused:
//! [`sources::Value::Refused`].
//!
//! In reading order: `kind` how files are recognised, `source` the [`sources::Source`], `file` what it reads, `parts`
//! what readers share of it, `parquet_file` and `arrow_file` the two formats, `excel` workbooks, `cells` Arrow arrays to cells, `fit` and
//! `exact` what a column takes, `create` columns for a new table; `write` rows to files, the way back.
#![forbid(unsafe_code)]

mod guess;
mod kind;
mod options;
mod written;

#[cfg(feature = "parquet")]
mod arrow_file;
#[cfg(feature = "parquet")]
mod cells;
#[cfg(feature = "parquet")]
mod create;
#[cfg(feature = "parquet")]
mod exact;
#[cfg(feature = "excel")]
mod excel;
#[cfg(feature = "parquet")]
mod file;
#[cfg(feature = "parquet")]
mod fit;
#[cfg(feature = "parquet")]
mod guard;
#[cfg(feature = "parquet")]
mod page_headers;
#[cfg(feature = "parquet")]
mod parquet_file;
#[cfg(feature = "parquet")]
mod parts;
#[cfg(feature = "parquet")]
mod room;
#[cfg(feature = "parquet")]
mod shared;
#[cfg(feature = "parquet")]
mod source;
#[cfg(feature = "parquet")]
mod thrift;
#[cfg(not(feature = "parquet"))]
mod unwritable;
#[cfg(feature = "parquet")]
mod write;

#[cfg(feature = "parquet")]
pub use guard::is_guarded;
pub use guess::{ColumnGuess, TableGuess};
pub use kind::Kind;
pub use options::{ColumnMatching, ColumnarOptions, SheetOptions};
#[cfg(not(feature = "parquet"))]
pub use unwritable::{FileWriter, RowEncoder, RowGroup, TableFormat, WriteError};
#[cfg(feature = "parquet")]
pub use write::{FileWriter, RowEncoder, RowGroup, TableFormat, WriteError};
pub use written::{BadCell, Packing, WriteOptions, WrittenColumn, is_geometry};

use std::path::PathBuf;

use sources::{Result, Source};

/// A source over these files, in this order, which are all of a kind.
///
/// Errors: files that are missing, cannot be read or have other columns than the first; a build without this.
#[cfg(feature = "parquet")]
pub fn open(kind: Kind, paths: &[PathBuf], options: ColumnarOptions) -> Result<Box<dyn Source>> {
    Ok(Box::new(source::ColumnarSource::new(kind, paths, options)?))
}

/// Columns of a new table for these files.
///
/// Errors: reading them; a type that no column takes; a build without this.
#[cfg(feature = "parquet")]
pub fn guess(kind: Kind, paths: &[PathBuf], options: ColumnarOptions) -> Result<TableGuess> {
    create::guess(kind, paths, options)
}

/// A build without this feature reads neither.
#[cfg(not(feature = "parquet"))]
pub fn open(kind: Kind, paths: &[PathBuf], _: ColumnarOptions) -> Result<Box<dyn Source>> {
    Err(unsupported(kind, paths))
}

/// A build without this feature reads neither.
#[cfg(not(feature = "parquet"))]
pub fn guess(kind: Kind, paths: &[PathBuf], _: ColumnarOptions) -> Result<TableGuess> {
    Err(unsupported(kind, paths))
}

#[cfg(not(feature = "parquet"))]
fn unsupported(kind: Kind, paths: &[PathBuf]) -> sources::Error {
    let problem = format!("this program was built without support for {} files", kind.name());
    let path = paths.first().cloned().unwrap_or_default();
    sources::Error::Columns { path, place: String::new(), problem }
}

/// True on a thread that reads what may be damaged: a build without this reads nothing.
#[cfg(not(feature = "parquet"))]
pub fn is_guarded() -> bool {
    false
}
