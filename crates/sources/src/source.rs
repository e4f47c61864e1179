//! The seam for kinds of input: local files and pipes, the rows of a dump's INSERTs, sorted rows;
//! remote files and other formats fit too.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::batch::{Batch, Formats};
use crate::chunk::Chunk;
use crate::error::{Error, Result};
use crate::field::{FieldKind, Layout};

/// One input as it was found before reading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputFile {
    /// Its path, for messages.
    pub path: PathBuf,
    /// Its size in bytes, compressed if it is; None when only reading tells (a pipe).
    pub bytes: Option<u64>,
}

/// Input as chunks of whole records, front to back. Nothing needs to seek.
pub trait Source: Send {
    /// Overwrites `chunk` with the next records, or returns false at the end of the input (the
    /// chunk is empty then). A chunk never spans two files and is never empty otherwise.
    ///
    /// Errors: reading; a quote that never closes; a record longer than the limit. After an error
    /// the source is done.
    fn next_chunk(&mut self, chunk: &mut Chunk) -> Result<bool>;

    /// The inputs in order; [`Chunk::file`] is an index into this.
    fn files(&self) -> &[InputFile];

    /// Finds the rows of its chunks, for one thread; once the fields were set.
    fn reader(&self) -> Box<dyn Reader>;

    /// How fields lie in a row.
    fn layout(&self) -> Layout {
        Layout::Separated
    }

    /// What ends a row of [`crate::Row::raw`], which the last one of a file may lack.
    fn row_end(&self) -> &[u8] {
        b"\n"
    }

    /// Says where the fields of a record go; before the first chunk.
    ///
    /// Errors: fields that make no record.
    fn set_fields(&mut self, fields: Vec<FieldKind>) -> Result<()>;

    /// Says how fields are written that are not as the server reads them; before the first reader.
    ///
    /// Errors: a source whose fields are no text of people's.
    fn set_formats(&mut self, formats: Arc<Formats>) -> Result<()> {
        match formats.is_empty() {
            true => Ok(()),
            false => Err(Error::Dialect(
                "only of delimited text it can be said how values are written".to_owned(),
            )),
        }
    }

    /// Begins again, with chunks of another size, and records no longer than that. The same sizes
    /// give the same chunks of the same text. Costs nothing before the first chunk.
    fn set_chunks(&mut self, chunk_bytes: usize, record_bytes_max: usize) -> Result<()>;

    /// The column names in the header of the first file, in the file's character set; None if
    /// there is none. Reads the start of the first file if nothing was read yet.
    fn header_bytes(&mut self) -> Result<Option<&[Vec<u8>]>> {
        Ok(None)
    }

    /// What stands before the rows of the first file: lines to skip, the header. A file of some of the
    /// rows can be read as the input was if it begins with that. Reads the start of the first file if
    /// nothing was read yet.
    fn preamble(&mut self) -> Result<Vec<u8>> {
        Ok(Vec::new())
    }

    /// Most memory that reading takes besides the chunks, in bytes.
    fn held_bytes(&self) -> u64 {
        0
    }

    /// In words, all that decides which rows come of its files: a load that goes on where another
    /// ended must have the same.
    fn words(&self) -> String;

    /// Size of all inputs, if known beforehand.
    fn bytes_total(&self) -> Option<u64>;

    /// Bytes handed out or skipped so far, in the unit of `bytes_total`.
    fn bytes_read(&self) -> u64;

    /// Whether bytes of the input are bytes of its text, so that of a small piece too it is known how much
    /// of all it is. Asked while one is read.
    fn counts_text(&self) -> bool {
        false
    }

    /// To be set by whoever has no use for what is being read, so that nobody waits for a pipe:
    /// `next_chunk` then gives [`crate::Error::Stopped`].
    fn given_up(&self) -> Arc<AtomicBool>;

    /// Another source of the same rows, from the first file on, with the same fields, formats and chunks;
    /// None where there can be but one.
    fn again(&self) -> Option<Box<dyn Source>> {
        None
    }

    /// Begins again at the first file with ordinal 0, not given up.
    ///
    /// Errors: an input that can be read only once, if there is such a kind. Files that changed
    /// since are an error of `next_chunk`.
    fn restart(&mut self) -> Result<()>;
}

/// Finds the rows of chunks. Taking a chunk is cheap and happens under a lock; this is not and does
/// not: each thread has one of its own.
pub trait Reader: Send {
    /// Overwrites `batch` with the rows of a chunk of the source that this is of.
    ///
    /// Errors: what is there instead of a row, with its place.
    fn read(&mut self, chunk: &Chunk, batch: &mut Batch) -> Result<()>;
}
