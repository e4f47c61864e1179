//! The seam for kinds of input: local files and pipes, the rows of a dump's INSERTs, sorted rows;
//! remote files fit too.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::chunk::Chunk;
use crate::dialect::{Dialect, FieldKind};
use crate::error::Result;

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

    /// How records are to be scanned, with their fields once they were set.
    fn dialect(&self) -> &Dialect;

    /// Says where the fields of a record go; before the first chunk.
    ///
    /// Errors: fields that make no record.
    fn set_fields(&mut self, fields: Vec<FieldKind>) -> Result<()>;

    /// Begins again, with chunks of another size, and records no longer than that. The same sizes
    /// give the same chunks of the same text. Costs nothing before the first chunk.
    fn set_chunks(&mut self, chunk_bytes: usize, record_bytes_max: usize) -> Result<()>;

    /// The column names in the header of the first file, in the file's character set; None if
    /// there is none. Reads the start of the first file if nothing was read yet.
    fn header_bytes(&mut self) -> Result<Option<&[Vec<u8>]>> {
        Ok(None)
    }

    /// Most memory that reading takes besides the chunks, in bytes.
    fn held_bytes(&self) -> u64 {
        0
    }

    /// What tells this input from others in the same files; empty if it is all that is in them.
    fn part(&self) -> String {
        String::new()
    }

    /// Size of all inputs, if known beforehand.
    fn bytes_total(&self) -> Option<u64>;

    /// Bytes handed out or skipped so far, in the unit of `bytes_total`.
    fn bytes_read(&self) -> u64;

    /// To be set by whoever has no use for what is being read, so that nobody waits for a pipe:
    /// `next_chunk` then gives [`crate::Error::Stopped`].
    fn given_up(&self) -> Arc<AtomicBool>;

    /// Begins again at the first file with ordinal 0, not given up.
    ///
    /// Errors: an input that can be read only once, if there is such a kind. Files that changed
    /// since are an error of `next_chunk`.
    fn restart(&mut self) -> Result<()>;
}
