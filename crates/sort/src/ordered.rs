//! Runs that the sort did not make: anything that gives entries in ascending order, as the leaves
//! of an index that exists.
//!
//! Such a run is asked for a block of entries at a time, so what it does for an entry is compiled
//! into its own loop, and the merge goes through the block as through one of a spilled run.

use std::fmt::Debug;

use crate::budget::Budget;
use crate::entry::EntryShape;
use crate::error::{Error, Result, RunError};
use crate::order::OrderCheck;

/// Entries in ascending order of key, of the shape of the sort. See
/// [`crate::RunStore::add_ordered`].
///
/// Several threads read different ranges at once, and a range may be read again.
pub trait OrderedRun: Debug + Send + Sync {
    /// Gives a reader of the entries from `start` on and before `end` (None: to the last). It may
    /// give others too, before and after them: these are left out.
    fn reader<'a>(&'a self, start: &[u8], end: Option<&[u8]>) -> Box<dyn RunReader + 'a>;

    /// Names some keys, ascending and about `step` bytes of entries apart, each with the bytes of
    /// the entries from it to the next. The ranges of a merge are cut by them.
    fn sample(&self, step: usize, take: &mut dyn FnMut(&[u8], u64));

    /// Bytes of the longest entry, or more.
    fn entry_bytes_max(&self) -> usize;

    /// Most memory that a reader takes, in bytes.
    fn reader_bytes(&self) -> usize {
        0
    }
}

/// Reads a range of an [`OrderedRun`], front to back.
pub trait RunReader {
    /// Pushes the next entries until the block is full; none if none is left.
    ///
    /// Errors: whatever keeps the run from being read, which ends the merge.
    fn fill(&mut self, block: &mut EntryBlock) -> std::result::Result<(), RunError>;

    /// About how many entries of the range are left: a share of each batch is for them.
    fn left(&self) -> usize;
}

/// Entries that a [`RunReader`] gives at once.
#[derive(Debug)]
pub struct EntryBlock {
    shape: EntryShape,
    /// Bytes from which on the block is full.
    full_bytes: usize,
    /// The entries, encoded as in memory.
    pub(crate) bytes: Vec<u8>,
    /// The key pushed last, in this block or one before.
    last_key: Vec<u8>,
    is_unordered: bool,
}

impl EntryBlock {
    fn new(shape: EntryShape, budget: &Budget) -> EntryBlock {
        EntryBlock {
            shape,
            full_bytes: budget.block_entry_bytes,
            bytes: Vec::new(),
            last_key: Vec::new(),
            is_unordered: false,
        }
    }

    /// Adds an entry, not less than the one before. Key and payload are of the sort's shape.
    #[inline]
    pub fn push(&mut self, key: &[u8], payload: &[u8]) {
        assert!(self.shape.takes(key, payload), "the entry has the sort's shape");
        self.is_unordered |= key < self.last_key.as_slice();
        self.last_key.clear();
        self.last_key.extend_from_slice(key);
        self.shape.encode(None, key, payload, &mut self.bytes);
    }

    /// True if no more entries are requested now.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.bytes.len() >= self.full_bytes
    }
}

/// An ordered run among the runs of a sort.
#[derive(Debug)]
pub(crate) struct AddedRun {
    pub(crate) run: Box<dyn OrderedRun>,
    pub(crate) ordinal: u64,
}

impl AddedRun {
    /// Memory that one merge takes for it.
    pub(crate) fn source_bytes(&self, budget: &Budget) -> usize {
        budget.source_bytes(self.run.entry_bytes_max()) + self.run.reader_bytes()
    }

    /// Blocks of the entries from `start` on and before `end`.
    pub(crate) fn blocks<'a>(
        &'a self,
        shape: EntryShape,
        budget: &Budget,
        start: &[u8],
        end: Option<&[u8]>,
    ) -> OrderedBlocks<'a> {
        OrderedBlocks {
            reader: self.run.reader(start, end),
            ordinal: self.ordinal,
            block: EntryBlock::new(shape, budget),
            is_ended: false,
        }
    }
}

/// The blocks of an ordered run that are not yet read.
pub(crate) struct OrderedBlocks<'a> {
    reader: Box<dyn RunReader + 'a>,
    ordinal: u64,
    block: EntryBlock,
    is_ended: bool,
}

impl OrderedBlocks<'_> {
    /// True if no block is left; known only when the reader was asked in vain.
    pub(crate) fn is_ended(&self) -> bool {
        self.is_ended
    }

    /// Reads no further.
    pub(crate) fn end(&mut self) {
        self.is_ended = true;
    }

    /// About how many entries are left.
    pub(crate) fn left(&self) -> usize {
        if self.is_ended { 0 } else { self.reader.left() }
    }

    /// Replaces `bytes` with the next entries; false if there are none.
    pub(crate) fn next(&mut self, bytes: &mut Vec<u8>) -> Result<bool> {
        if self.is_ended {
            return Ok(false);
        }
        bytes.clear();
        self.block.bytes = std::mem::take(bytes);
        let filled = self.reader.fill(&mut self.block);
        *bytes = std::mem::take(&mut self.block.bytes);
        filled.map_err(|source| Error::Ordered { ordinal: self.ordinal, source })?;
        if self.block.is_unordered {
            return Err(Error::Unsorted { ordinal: self.ordinal });
        }
        self.is_ended = bytes.is_empty();
        Ok(!self.is_ended)
    }

    /// True if the block read last may reach to `bound`.
    pub(crate) fn reaches(&self, bound: &[u8]) -> bool {
        self.block.last_key.as_slice() >= bound
    }
}

/// Samples of an added run, as [`crate::run::MemoryRun::samples`].
pub(crate) fn samples(added: &AddedRun, step: usize) -> Vec<(Vec<u8>, u64)> {
    let mut samples = Vec::new();
    let mut order = OrderCheck::default();
    added.run.sample(step, &mut |key, bytes| {
        order.note(key, 0);
        samples.push((key.to_vec(), bytes));
    });
    samples
}
