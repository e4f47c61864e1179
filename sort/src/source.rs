//! One run in a merge: a window of entries in memory, refilled block by block if the run is on
//! disk.

use std::borrow::Cow;
use std::ops::Range;

use crate::block::BlockReader;
use crate::entry::{EntryAt, EntryShape};
use crate::error::Result;
use crate::file::RunFile;
use crate::run::{MemoryRun, lower_bound_fixed, lower_bound_scan};

/// Entries of one run from one key on and before another.
pub(crate) struct Source<'a> {
    shape: EntryShape,
    window: Cow<'a, [u8]>,
    /// Offset in the window of the next entry.
    pub(crate) at: usize,
    /// End of the entries of the range in the window.
    end: usize,
    /// Ordinal of the entries, or what their own is relative to.
    pub(crate) ordinal: u64,
    disk: Option<Disk<'a>>,
}

struct Disk<'a> {
    run: &'a RunFile,
    /// Blocks not yet read.
    blocks: Range<usize>,
    start: &'a [u8],
    end: Option<&'a [u8]>,
}

/// What reading blocks needs, shared by the sources of a merge.
pub(crate) struct Reading {
    reader: BlockReader,
    stored: Vec<u8>,
}

impl Reading {
    pub(crate) fn new(shape: &EntryShape) -> Reading {
        Reading { reader: BlockReader::new(shape.stride()), stored: Vec::new() }
    }
}

impl<'a> Source<'a> {
    pub(crate) fn memory(run: &'a MemoryRun, start: &[u8], end: Option<&[u8]>) -> Source<'a> {
        let at = if start.is_empty() { 0 } else { run.lower_bound(start) };
        let end = end.map_or(run.bytes.len(), |end| run.lower_bound(end));
        Source {
            shape: run.shape,
            window: Cow::Borrowed(&run.bytes),
            at,
            end: end.max(at),
            ordinal: run.ordinal,
            disk: None,
        }
    }

    /// Reads nothing yet: the window is empty until the first refill.
    pub(crate) fn disk(
        shape: EntryShape,
        run: &'a RunFile,
        start: &'a [u8],
        end: Option<&'a [u8]>,
    ) -> Source<'a> {
        Source {
            shape,
            window: Cow::Owned(Vec::new()),
            at: 0,
            end: 0,
            ordinal: run.ordinal,
            disk: Some(Disk { run, blocks: run.blocks(start, end), start, end }),
        }
    }

    /// The entries at hand.
    #[inline(always)]
    pub(crate) fn window(&self) -> &[u8] {
        &self.window[self.at..self.end]
    }

    /// The bytes that offsets of entries point into.
    #[inline(always)]
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.window
    }

    /// Whether entries follow those of the window.
    pub(crate) fn has_more(&self) -> bool {
        self.disk.as_ref().is_some_and(|disk| !disk.blocks.is_empty())
    }

    /// Whether the window is used up.
    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.at == self.end
    }

    /// Reads blocks until the window has an entry; false if there is none left.
    pub(crate) fn refill(&mut self, reading: &mut Reading) -> Result<bool> {
        while self.at == self.end {
            let Some(disk) = &mut self.disk else { return Ok(false) };
            let Some(block) = disk.blocks.next() else { return Ok(false) };
            let entries = self.window.to_mut();
            disk.run.read(block, &mut reading.reader, &mut reading.stored, entries)?;
            self.end = match disk.end {
                Some(end) if disk.blocks.is_empty() => lower_bound(&self.shape, entries, end),
                _ => entries.len(),
            };
            self.at = match disk.start {
                [] => 0,
                start => lower_bound(&self.shape, entries, start).min(self.end),
            };
            // Later blocks start at or after the range's start.
            if self.at < self.end {
                disk.start = &[];
            }
        }
        Ok(true)
    }

    /// The entry the window starts with; the window is not empty.
    #[inline]
    pub(crate) fn entry(&self) -> Result<EntryAt> {
        let on_disk = self.disk.is_some();
        match self.shape.decode(&self.window[..self.end], self.at, on_disk) {
            Some(entry) => Ok(entry),
            None => Err(self.damaged()),
        }
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

fn lower_bound(shape: &EntryShape, entries: &[u8], bound: &[u8]) -> usize {
    match shape.stride() {
        Some(stride) => lower_bound_fixed(entries, stride, bound),
        None => lower_bound_scan(shape, entries, 0, true, bound),
    }
}
