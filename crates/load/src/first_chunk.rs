//! A look at the first rows of an input, before it is read.

use job::error::Error;
use job::memory::Memory;
use sources::{Batch, Chunk, Source, SourceExt as _};

/// Bytes of text that are looked at for an estimate, where these tell how much all rows are.
const PIECE_BYTES: usize = 512 << 10;

/// Findings in the first chunk of an input.
pub(crate) struct First<T> {
    pub(crate) found: T,
    /// Bytes that were read for it, and all there are.
    pub(crate) part: u64,
    pub(crate) total: u64,
}

/// Inspects the first chunk and goes back to the start. None if the input's size is unknown, or it
/// can be read only once. A smaller piece, enough to estimate from, is read for a load with this
/// `memory`.
pub(crate) fn first_chunk<T>(
    source: &mut dyn Source,
    memory: Option<&Memory>,
    look: impl FnOnce(&Chunk, &Batch) -> T,
) -> Result<Option<First<T>>, Error> {
    let Some(total) = source.facts().bytes_total else { return Ok(None) };
    if source.files().iter().any(|file| file.bytes.is_none()) {
        return Ok(None);
    }
    let is_large =
        |memory: &&Memory| total > PIECE_BYTES as u64 && memory.chunk_bytes > PIECE_BYTES;
    let memory = memory.filter(is_large);
    if let Some(memory) = memory {
        source.begin_with(PIECE_BYTES, memory.record_bytes_max)?;
    }
    let (mut chunk, mut batch) = (Chunk::default(), Batch::new());
    // What is wrong with the input is said when the load comes to it.
    let mut read = source.next_chunk(&mut chunk).unwrap_or(false);
    let mut part = source.bytes_read();
    if let Some(memory) = memory {
        // Of a file as it is, bytes read are bytes of its text.
        let tells = part == chunk.offset + chunk.bytes.len() as u64;
        source.begin_with(memory.chunk_bytes, memory.record_bytes_max)?;
        if !tells {
            read = source.next_chunk(&mut chunk).unwrap_or(false);
            part = source.bytes_read();
        }
    }
    source.restart()?;
    if !read || source.reader().read(&chunk, &mut batch).is_err() {
        (chunk, batch) = (Chunk::default(), Batch::new());
    }
    Ok(Some(First { found: look(&chunk, &batch), part, total }))
}
