//! One run in a merge: the entries at hand, and the blocks they are refilled from if the run is on
//! disk.

use std::borrow::Cow;
use std::ops::Range;

use crate::block::BlockReader;
use crate::entry::{EntryAt, EntryShape};
use crate::error::Result;
use crate::file::RunFile;
use crate::keys::Keys;
use crate::run::{EncodedRun, lower_bound};

/// What reading blocks needs, shared by the sources of a merge.
pub(crate) struct Reading {
    reader: BlockReader,
    stored: Vec<u8>,
}

impl Reading {
    pub(crate) fn new() -> Reading {
        Reading { reader: BlockReader::new(), stored: Vec::new() }
    }
}

/// The part of a spilled run from one key on and before another that is not yet read.
struct Disk<'a> {
    run: &'a RunFile,
    blocks: Range<usize>,
    /// Cleared when an entry of the range was found: none after it is less.
    start: &'a [u8],
    end: Option<&'a [u8]>,
}

impl<'a> Disk<'a> {
    fn new(run: &'a RunFile, start: &'a [u8], end: Option<&'a [u8]>) -> Disk<'a> {
        Disk { run, blocks: run.blocks(start, end), start, end }
    }

    /// The range's end, if the block read last can reach beyond it.
    fn end_of_last(&self) -> Option<&'a [u8]> {
        self.end.filter(|_| self.blocks.is_empty())
    }
}

/// Bare keys of one length.
pub(crate) struct KeySource<'a> {
    keys: KeysAtHand<'a>,
    /// Index of the next key, and of the end of the range.
    pub(crate) at: usize,
    end: usize,
    disk: Option<Disk<'a>>,
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
        KeySource { keys: KeysAtHand::Run(keys), at, end, disk: None }
    }

    /// Reads nothing yet.
    pub(crate) fn disk(
        key_len: usize,
        run: &'a RunFile,
        start: &'a [u8],
        end: Option<&'a [u8]>,
    ) -> KeySource<'a> {
        let keys = KeysAtHand::Block(Box::new(Keys::empty(key_len)));
        KeySource { keys, at: 0, end: 0, disk: Some(Disk::new(run, start, end)) }
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

    /// Whether keys follow those at hand.
    pub(crate) fn has_more(&self) -> bool {
        self.disk.as_ref().is_some_and(|disk| !disk.blocks.is_empty())
    }

    /// About how many keys of the run are left.
    pub(crate) fn left(&self) -> usize {
        let blocks = self.disk.as_ref().map_or(0, |disk| disk.run.keys_in(&disk.blocks));
        self.end - self.at + blocks
    }

    /// Reads blocks until a key is at hand; false if there is none left.
    pub(crate) fn refill(&mut self, reading: &mut Reading) -> Result<bool> {
        while self.at == self.end {
            let (Some(disk), KeysAtHand::Block(keys)) = (&mut self.disk, &mut self.keys) else {
                return Ok(false);
            };
            let Some(block) = disk.blocks.next() else { return Ok(false) };
            let Reading { reader, stored } = reading;
            disk.run.read(block, stored, |stored| reader.read_keys(stored, keys))?;
            let len = keys.len();
            self.end = disk.end_of_last().map_or(len, |end| keys.lower_bound(0..len, end));
            self.at = match disk.start {
                [] => 0,
                start => keys.lower_bound(0..self.end, start),
            };
            if self.at < self.end {
                disk.start = &[];
            }
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
    disk: Option<Disk<'a>>,
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
        EntrySource { shape: run.shape, bytes, at, end, ordinal, disk: None }
    }

    /// Reads nothing yet.
    pub(crate) fn disk(
        shape: EntryShape,
        run: &'a RunFile,
        start: &'a [u8],
        end: Option<&'a [u8]>,
    ) -> EntrySource<'a> {
        let bytes = Cow::Owned(Vec::new());
        let disk = Some(Disk::new(run, start, end));
        EntrySource { shape, bytes, at: 0, end: 0, ordinal: run.ordinal, disk }
    }

    /// The bytes that offsets of entries point into.
    #[inline(always)]
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Whether no entry is at hand and none can follow.
    pub(crate) fn is_ended(&self) -> bool {
        self.at == self.end && self.disk.as_ref().is_none_or(|disk| disk.blocks.is_empty())
    }

    /// The next entry; None if there is none left.
    #[inline]
    pub(crate) fn next(&mut self, reading: &mut Reading) -> Result<Option<EntryAt>> {
        if self.at == self.end && !self.refill(reading)? {
            return Ok(None);
        }
        match self.shape.decode(&self.bytes[..self.end], self.at, self.disk.is_some()) {
            Some(entry) => {
                self.at = entry.end;
                Ok(Some(entry))
            }
            None => Err(self.damaged()),
        }
    }

    fn refill(&mut self, reading: &mut Reading) -> Result<bool> {
        while self.at == self.end {
            let Some(disk) = &mut self.disk else { return Ok(false) };
            let Some(block) = disk.blocks.next() else { return Ok(false) };
            let Reading { reader, stored } = reading;
            let bytes = self.bytes.to_mut();
            disk.run.read(block, stored, |stored| reader.read(stored, bytes))?;
            let bound = |bound| lower_bound(&self.shape, bytes, 0, true, bound);
            self.end = disk.end_of_last().map_or(bytes.len(), bound);
            self.at = match disk.start {
                [] => 0,
                start => bound(start).min(self.end),
            };
            if self.at < self.end {
                disk.start = &[];
            }
        }
        Ok(true)
    }

    #[cold]
    fn damaged(&self) -> crate::error::Error {
        match &self.disk {
            Some(disk) => {
                let block = disk.blocks.start.saturating_sub(1);
                disk.run.corrupt(block, "an entry's end", self.at as u64, self.end as u64)
            }
            None => unreachable!("a run in memory is as it was encoded"),
        }
    }
}
