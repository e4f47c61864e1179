//! The part of an input that is being looked at.

use std::path::{Path, PathBuf};

use crate::bytes::stream::Stream;
use crate::chunk::newlines;
use crate::dump::last_line::{COMPLETED, LastLine};
use crate::error::{Position, Result};

/// Bytes per read. Small enough that a piece is still in the second-level cache when it is lexed.
pub(crate) const PIECE_BYTES: usize = 256 << 10;

/// Text of one input from the first byte that nobody has taken, as far as it was read.
#[derive(Debug)]
pub(crate) struct Window {
    stream: Stream,
    path: PathBuf,
    /// Bytes per read.
    piece_bytes: usize,
    text: Vec<u8>,
    /// End of the part of `text` that was taken.
    start: usize,
    /// Place of `text[start]` in the input, unpacked.
    offset: u64,
    line: u64,
    /// Bytes behind `offset` that were poured out and not put back.
    poured: u64,
    ended: bool,
    /// True if a comment says that mariadb-dump or mysqldump has written it, whose last line is
    /// [`COMPLETED`].
    pub(super) is_of_client: bool,
    /// That line, and statements behind it.
    pub(super) last_line: LastLine,
    /// True if that line has not come behind the last first line.
    is_open: bool,
    /// The first line of a dump that stands behind one without its last line.
    pub(super) cut_before: Option<u64>,
    /// True if the dump forbids the client its commands.
    pub(super) is_sandboxed: bool,
}

/// Beginnings of the first line of mariadb-dump or mysqldump, unless it was told to write none.
const HEADS: [&[u8]; 2] = [b"-- MariaDB dump ", b"-- MySQL dump "];

impl Window {
    /// Over a stream that stands at its first byte.
    pub(crate) fn new(stream: Stream, path: PathBuf, piece_bytes: usize) -> Window {
        let window = Window::at(stream, path, 0, 1);
        Window { piece_bytes: piece_bytes.max(1), ..window }
    }

    /// Over a stream that stands at another one.
    pub(crate) fn at(stream: Stream, path: PathBuf, offset: u64, line: u64) -> Window {
        let (piece_bytes, text, start, ended) = (PIECE_BYTES, Vec::new(), 0, false);
        Window {
            stream,
            path,
            piece_bytes,
            text,
            start,
            offset,
            line,
            poured: 0,
            ended,
            is_of_client: false,
            last_line: LastLine::Missing,
            is_open: false,
            cut_before: None,
            is_sandboxed: false,
        }
    }

    /// Looks at a comment that begins here, for what dumps say of themselves.
    ///
    /// Errors: reading.
    pub(super) fn look_at_comment(&mut self) -> Result<()> {
        self.need(COMPLETED.len())?;
        if HEADS.iter().any(|head| self.bytes().starts_with(head)) {
            if self.is_open {
                self.cut_before.get_or_insert(self.line);
            }
            (self.is_of_client, self.is_open) = (true, true);
            self.last_line = LastLine::Missing;
        }
        if self.bytes().starts_with(COMPLETED) {
            (self.last_line, self.is_open) = (LastLine::Read, false);
        }
        Ok(())
    }

    /// The file, for messages.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The bytes that were read and not taken.
    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.text[self.start..]
    }

    /// True if nothing comes behind [`Window::bytes`].
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
        self.text.resize(seen + self.piece_bytes, 0);
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

    /// Puts up to `size` bytes behind `out`: of what was read and not taken, then of the input: false at its end.
    /// Where the input is after that is the caller's to know, until
    /// [`Window::put_back`].
    ///
    /// Errors: reading.
    pub(crate) fn pour(&mut self, out: &mut Vec<u8>, size: usize) -> Result<bool> {
        let held = &self.text[self.start..];
        if !held.is_empty() {
            let held = &held[..size.min(held.len())];
            out.extend_from_slice(held);
            self.poured += held.len() as u64;
            self.start += held.len();
            return Ok(true);
        }
        if self.ended {
            return Ok(false);
        }
        let seen = out.len();
        out.resize(seen + size, 0);
        let read = self.stream.read(&mut out[seen..]);
        let read = read.inspect(|&read| self.poured += read as u64);
        out.truncate(seen + *read.as_ref().unwrap_or(&0));
        self.ended = read? == 0;
        Ok(!self.ended)
    }

    /// Puts back the text from this place on, to be examined again next. It is the end of what was poured out.
    pub(crate) fn put_back(&mut self, text: &[u8], offset: u64, line: u64) {
        (self.offset, self.line, self.poured) = (offset, line, 0);
        match self.text[..self.start].ends_with(text) {
            // It was held, and is still there.
            true => self.start -= text.len(),
            false => {
                self.text.splice(..self.start, text.iter().copied());
                self.start = 0;
            }
        }
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
        Position::in_text(&self.path, self.line + newlines(before), self.offset + at as u64)
    }

    /// Bytes of the input, packed if it is, that were taken or poured out.
    pub(crate) fn consumed(&self) -> u64 {
        self.stream.consumed().unwrap_or(self.offset + self.poured)
    }
}
