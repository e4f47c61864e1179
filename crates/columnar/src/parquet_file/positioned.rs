//! An input as the crate `parquet` reads it: bytes at any place, and never more than there are.

use std::io::{self, BufReader, Read};
use std::sync::Arc;

use bytes::Bytes;
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::{ChunkReader, Length};
use sources::InputBytes;

/// Bytes that are read at once of a page's header.
const HEADER_BYTES: usize = 4 << 10;

/// An input of known size. Clones are the same input.
#[derive(Clone)]
pub(super) struct Positioned {
    input: Arc<InputBytes>,
    bytes: u64,
}

/// The input from a place on.
pub(super) struct From {
    input: Positioned,
    at: u64,
}

impl Positioned {
    /// Reads a pipe to its end.
    pub(super) fn new(input: InputBytes) -> sources::Result<Positioned> {
        let bytes = input.size()?;
        Ok(Positioned { input: Arc::new(input), bytes })
    }

    pub(super) fn input(&self) -> &InputBytes {
        &self.input
    }

    /// Its size.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn begins_with(&self, magic: &[u8; 4]) -> bool {
        let mut head = [0; 4];
        self.input.read_at(0, &mut head).is_ok_and(|size| size == 4) && head == *magic
    }
}

impl Length for Positioned {
    fn len(&self) -> u64 {
        self.bytes
    }
}

impl ChunkReader for Positioned {
    type T = BufReader<From>;

    fn get_read(&self, start: u64) -> Result<BufReader<From>> {
        let from = From { input: self.clone(), at: start };
        Ok(BufReader::with_capacity(HEADER_BYTES, from))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        if start.checked_add(length as u64).is_none_or(|end| end > self.bytes) {
            let problem = format!("bytes {start} and {length} more are behind the end of the file");
            return Err(ParquetError::EOF(problem));
        }
        let mut out = vec![0; length];
        let size = self.input.read_at(start, &mut out).map_err(io::Error::other)?;
        match size == length {
            true => Ok(out.into()),
            false => Err(ParquetError::EOF("the file became shorter".to_owned())),
        }
    }
}

impl Read for From {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.input.bytes.saturating_sub(self.at)).unwrap_or(usize::MAX);
        let size = out.len().min(left);
        let read = self.input.input.read_at(self.at, &mut out[..size]).map_err(io::Error::other)?;
        self.at += read as u64;
        Ok(read)
    }
}
