//! One run in a merge: the entries at hand, and the blocks that further ones come in.
//!
//! A run in memory is at hand as a whole. A spilled run is read a block at a time.

use std::borrow::Cow;
use std::ops::Range;

use crate::block::BlockReader;
use crate::entry::{EntryAt, EntryShape};
use crate::error::Result;
use crate::file::{Cursor, RunFile};
use crate::keys::Keys;
use crate::run::{EncodedRun, lower_bound};

/// Buffers for reading spilled blocks, shared by the sources of a merge.
pub(crate) struct BlockBuffers {
    reader: BlockReader,
    stored: Vec<u8>,
}

impl BlockBuffers {
    pub(crate) fn new() -> BlockBuffers {
        BlockBuffers { reader: BlockReader::new(), stored: Vec::new() }
    }
}

/// The part of a spilled run from one key on and before another that is not yet at hand.
struct Rest<'a> {
    run: &'a RunFile,
    /// Blocks not yet read.
    cursor: Cursor,
    /// Cleared when an entry of the range was found: none after it is less.
    start: &'a [u8],
    end: Option<&'a [u8]>,
}

impl<'a> Rest<'a> {
    fn new(run: &'a RunFile, start: &'a [u8], end: Option<&'a [u8]>) -> Rest<'a> {
        Rest { run, cursor: run.blocks(start, end), start, end }
    }

    fn has_more(&self) -> bool {
        self.cursor.left() > 0
    }

    /// About how many entries the blocks hold.
    fn left(&self) -> usize {
        self.run.keys_in(self.cursor.left())
    }

    /// Replaces `keys` with those of the next block; false if there is none.
    fn next_keys(&mut self, buffers: &mut BlockBuffers, keys: &mut Keys) -> Result<bool> {
        if !self.has_more() {
            return Ok(false);
        }
        let BlockBuffers { reader, stored } = buffers;
        self.run.read(&mut self.cursor, stored, |stored| reader.read_keys(stored, keys))?;
        Ok(true)
    }

    /// Replaces `bytes` with the entries of the next block; false if there is none.
    fn next_entries(&mut self, buffers: &mut BlockBuffers, bytes: &mut Vec<u8>) -> Result<bool> {
        if !self.has_more() {
            return Ok(false);
        }
        let BlockBuffers { reader, stored } = buffers;
        self.run.read(&mut self.cursor, stored, |stored| reader.read(stored, bytes))?;
        Ok(true)
    }

    /// The range's end, if the block read last can reach beyond it.
    fn end_of_last(&self) -> Option<&'a [u8]> {
        self.end.filter(|_| self.cursor.left() < self.run.blocks_at_end())
    }

    /// Takes note of what lies in the range of the block read last.
    fn note(&mut self, in_range: &Range<usize>) {
        if !in_range.is_empty() {
            self.start = &[];
        }
    }
}

/// Bare keys of one length.
pub(crate) struct KeySource<'a> {
    keys: KeysAtHand<'a>,
    /// Index of the next key, and of the end of the range.
    pub(crate) at: usize,
    end: usize,
    /// None of a run in memory.
    rest: Option<Rest<'a>>,
}

enum KeysAtHand<'a> {
    Run(&'a Keys),
    Block(Box<Keys>),
}

impl<'a> KeySource<'a> {
    pub(crate) fn memory(keys: &'a Keys, start: &[u8], end: Option<&[u8]>) -> KeySource<'a> {
        let len = keys.len();
        let at = if start.is_empty() { 0 } else { keys.lower_bound(0..len, start) };
        let end = end.map_or(len, |end| keys.lower_bound(at..len, end));
        KeySource { keys: KeysAtHand::Run(keys), at, end, rest: None }
    }

    /// The source of a spilled run. Reads nothing yet.
    pub(crate) fn file(
        key_len: usize,
        run: &'a RunFile,
        start: &'a [u8],
        end: Option<&'a [u8]>,
    ) -> KeySource<'a> {
        let keys = KeysAtHand::Block(Box::new(Keys::empty(key_len)));
        KeySource { keys, at: 0, end: 0, rest: Some(Rest::new(run, start, end)) }
    }

    /// The keys that [`KeySource::window`] is about.
    #[inline]
    pub(crate) fn keys(&self) -> &Keys {
        match &self.keys {
            KeysAtHand::Run(keys) => keys,
            KeysAtHand::Block(keys) => keys,
        }
    }

    /// Indexes of the keys at hand.
    #[inline]
    pub(crate) fn window(&self) -> Range<usize> {
        self.at..self.end
    }

    /// True if keys may follow those in memory.
    pub(crate) fn has_more(&self) -> bool {
        self.rest.as_ref().is_some_and(Rest::has_more)
    }

    /// About how many keys of the run are left.
    pub(crate) fn left(&self) -> usize {
        self.end - self.at + self.rest.as_ref().map_or(0, Rest::left)
    }

    /// Reads blocks until a key is at hand; false if there is none left.
    pub(crate) fn refill(&mut self, buffers: &mut BlockBuffers) -> Result<bool> {
        while self.at == self.end {
            let (Some(rest), KeysAtHand::Block(keys)) = (&mut self.rest, &mut self.keys) else {
                return Ok(false);
            };
            if !rest.next_keys(buffers, keys)? {
                return Ok(false);
            }
            let len = keys.len();
            self.end = rest.end_of_last().map_or(len, |end| keys.lower_bound(0..len, end));
            self.at = match rest.start {
                [] => 0,
                start => keys.lower_bound(0..self.end, start),
            };
            rest.note(&(self.at..self.end));
        }
        Ok(true)
    }
}

/// Entries with payload or of several lengths.
pub(crate) struct EntrySource<'a> {
    shape: EntryShape,
    bytes: Cow<'a, [u8]>,
    /// Offset of the next entry, and of the end of the range.
    pub(crate) at: usize,
    end: usize,
    /// Ordinal of the entries, or what their own is relative to.
    pub(crate) ordinal: u64,
    /// True if entries are encoded as on disk.
    on_disk: bool,
    /// None of a run in memory.
    rest: Option<Rest<'a>>,
}

impl<'a> EntrySource<'a> {
    pub(crate) fn memory(
        run: &'a EncodedRun,
        ordinal: u64,
        start: &[u8],
        end: Option<&[u8]>,
    ) -> EntrySource<'a> {
        let at = if start.is_empty() { 0 } else { run.lower_bound(start) };
        let end = end.map_or(run.bytes.len(), |end| run.lower_bound(end)).max(at);
        let bytes = Cow::Borrowed(run.bytes.as_slice());
        EntrySource { shape: run.shape, bytes, at, end, ordinal, on_disk: false, rest: None }
    }

    /// The source of a spilled run. Reads nothing yet.
    pub(crate) fn file(
        shape: EntryShape,
        run: &'a RunFile,
        start: &'a [u8],
        end: Option<&'a [u8]>,
    ) -> EntrySource<'a> {
        let (bytes, rest) = (Cow::Owned(Vec::new()), Some(Rest::new(run, start, end)));
        EntrySource { shape, bytes, at: 0, end: 0, ordinal: run.ordinal, on_disk: true, rest }
    }

    /// The bytes that offsets of entries point into.
    #[inline(always)]
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// True if no entry is in memory and none can follow.
    pub(crate) fn is_ended(&self) -> bool {
        self.at == self.end && !self.rest.as_ref().is_some_and(Rest::has_more)
    }

    /// The next entry; None if there is none left.
    #[inline]
    pub(crate) fn next(&mut self, buffers: &mut BlockBuffers) -> Result<Option<EntryAt>> {
        if self.at == self.end && !self.refill(buffers)? {
            return Ok(None);
        }
        match self.shape.decode(&self.bytes[..self.end], self.at, self.on_disk) {
            Some(entry) => {
                self.at = entry.end;
                Ok(Some(entry))
            }
            None => Err(self.damaged()),
        }
    }

    fn refill(&mut self, buffers: &mut BlockBuffers) -> Result<bool> {
        while self.at == self.end {
            let Some(rest) = &mut self.rest else { return Ok(false) };
            let bytes = self.bytes.to_mut();
            if !rest.next_entries(buffers, bytes)? {
                return Ok(false);
            }
            let bound = |bound| lower_bound(&self.shape, bytes, 0, self.on_disk, bound);
            self.end = rest.end_of_last().map_or(bytes.len(), bound);
            self.at = match rest.start {
                [] => 0,
                start => bound(start).min(self.end),
            };
            rest.note(&(self.at..self.end));
        }
        Ok(true)
    }

    #[cold]
    fn damaged(&self) -> crate::error::Error {
        match &self.rest {
            Some(Rest { run, cursor, .. }) => {
                run.corrupt(cursor.last(), "an entry's end", self.at as u64, self.end as u64)
            }
            None => unreachable!("entries in memory are as they were encoded"),
        }
    }
}
