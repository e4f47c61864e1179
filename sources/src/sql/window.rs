//! The part of an input that is being looked at.

use std::path::PathBuf;

use crate::chunk::newlines;
use crate::error::{Position, Result};
use crate::stream::Stream;

/// Bytes per read. Small enough that a piece is still in the second-level cache when it is lexed.
pub(crate) const PIECE_BYTES: usize = 256 << 10;

/// Text of one input from the first byte that nobody has taken, as far as it was read.
#[derive(Debug)]
pub(crate) struct Window {
    stream: Stream,
    path: PathBuf,
    text: Vec<u8>,
    /// What of `text` was taken.
    start: usize,
    /// Place of `text[start]` in the input, unpacked.
    offset: u64,
    line: u64,
    ended: bool,
}

impl Window {
    /// Over a stream that stands at its first byte.
    pub(crate) fn new(stream: Stream, path: PathBuf) -> Window {
        Window { stream, path, text: Vec::new(), start: 0, offset: 0, line: 1, ended: false }
    }

    /// What was read and not taken.
    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.text[self.start..]
    }

    /// Whether nothing comes behind [`Window::bytes`].
    pub(crate) fn is_last(&self) -> bool {
        self.ended
    }

    /// Reads more; at the end of the input there is none.
    ///
    /// Errors: reading.
    pub(crate) fn fill(&mut self) -> Result<()> {
        if self.ended {
            return Ok(());
        }
        if self.start > 0 {
            self.text.drain(..self.start);
            self.start = 0;
        }
        let seen = self.text.len();
        self.text.resize(seen + PIECE_BYTES, 0);
        let read = self.stream.read(&mut self.text[seen..]);
        self.text.truncate(seen + *read.as_ref().unwrap_or(&0));
        self.ended = read? == 0;
        Ok(())
    }

    /// Reads until there are `size` bytes, or no more to come.
    ///
    /// Errors: reading.
    pub(crate) fn need(&mut self, size: usize) -> Result<()> {
        while self.bytes().len() < size && !self.ended {
            self.fill()?;
        }
        Ok(())
    }

    /// Takes the first `size` of the bytes.
    pub(crate) fn take(&mut self, size: usize) {
        let end = (self.start + size).min(self.text.len());
        let taken = &self.text[self.start..end];
        self.offset += taken.len() as u64;
        self.line += newlines(taken);
        self.start = end;
    }

    /// Byte of the input, unpacked, of the first one not taken.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// Its line, from 1.
    pub(crate) fn line(&self) -> u64 {
        self.line
    }

    /// Where `bytes()[at]` is.
    pub(crate) fn position(&self, at: usize) -> Position {
        let before = &self.bytes()[..at.min(self.bytes().len())];
        Position {
            path: self.path.clone(),
            line: self.line + newlines(before),
            offset: self.offset + at as u64,
        }
    }

    /// Bytes of the input, packed if it is, that were taken.
    pub(crate) fn consumed(&self) -> u64 {
        self.stream.consumed().unwrap_or(self.offset)
    }
}
