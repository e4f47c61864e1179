//! The text of a run that was read and not handed out yet.

use std::mem;

use sql::Cutter;

use super::RunPlace;
use crate::chunk::newlines;
use crate::dump::window::{PIECE_BYTES, Window};
use crate::error::{Position, Result};

/// Bytes of the first piece of a run.
const FIRST_BYTES: usize = 16 << 10;

/// Text of a run that was read and not used.
#[derive(Debug)]
pub(super) struct RunText {
    /// Which of the run's files it is of.
    pub(super) file: usize,
    pub(super) bytes: Vec<u8>,
    /// Place of `bytes` in the input.
    pub(super) offset: u64,
    pub(super) line: u64,
    /// The input ends with `bytes`.
    pub(super) ended: bool,
    pub(super) cutter: Cutter,
    /// Where the run ends, if not the cutter has found it.
    pub(super) end: Option<usize>,
}

impl RunText {
    pub(super) fn new(place: &RunPlace) -> RunText {
        RunText {
            file: 0,
            bytes: Vec::new(),
            offset: place.offset,
            line: place.line,
            ended: false,
            cutter: place.cutter(),
            end: None,
        }
    }

    /// The text of the next file, which `window` is over.
    pub(super) fn behind(&self, place: &RunPlace, window: &Window) -> RunText {
        RunText {
            file: self.file + 1,
            offset: window.offset(),
            line: window.line(),
            cutter: self.cutter.anew(),
            ..RunText::new(place)
        }
    }

    /// Reads a piece, a small one first: a dump may have many runs of few rows.
    pub(super) fn read(&mut self, window: &mut Window) -> Result<()> {
        let size = if self.bytes.is_empty() { FIRST_BYTES } else { PIECE_BYTES };
        self.ended = !window.pour(&mut self.bytes, size)?;
        Ok(())
    }

    /// Follows the text up to byte `limit`.
    pub(super) fn look(&mut self, limit: usize) {
        let seen = &self.bytes[..limit.min(self.bytes.len())];
        // Not so where the input ends right at the limit, which nobody may know yet: where chunks
        // end follows from the text alone.
        self.cutter.advance(seen, self.ended && self.bytes.len() < limit);
    }

    pub(super) fn end(&self) -> Option<usize> {
        self.end.or(self.cutter.end())
    }

    pub(super) fn has_open_quote(&self) -> bool {
        self.ended && self.cutter.has_open_quote()
    }

    /// Moves the first `size` bytes, which are whole tuples, to `out`, which is empty.
    pub(super) fn cut_off(&mut self, size: usize, out: &mut Vec<u8>) {
        mem::swap(&mut self.bytes, out);
        self.bytes.clear();
        self.bytes.extend_from_slice(&out[size..]);
        out.truncate(size);
        self.cutter.consume(size);
        self.offset += size as u64;
        self.line += newlines(out);
    }

    /// Drops bytes that were looked at.
    pub(super) fn consume(&mut self, size: usize) {
        self.cutter.consume(size);
        self.drop_front(size);
    }

    pub(super) fn drop_front(&mut self, size: usize) {
        self.offset += size as u64;
        self.line += newlines(&self.bytes[..size]);
        self.bytes.drain(..size);
    }

    /// Where byte `at` is.
    pub(super) fn position(&self, place: &RunPlace, at: usize) -> Position {
        let before = &self.bytes[..at.min(self.bytes.len())];
        let input = place.onward.inputs.get(self.file).unwrap_or(&place.input);
        let (line, offset) = (self.line + newlines(before), self.offset + before.len() as u64);
        Position::in_text(input.path(), line, offset)
    }

    /// Puts what is behind the run back.
    pub(super) fn return_to(&mut self, window: &mut Window) {
        let end = self.end().unwrap_or(self.bytes.len()).min(self.bytes.len());
        let line = self.line + newlines(&self.bytes[..end]);
        window.put_back(&self.bytes[end..], self.offset + end as u64, line);
    }
}
