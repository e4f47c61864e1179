//! Sorted runs, in memory and on disk, as one ascending stream.

use locks::Mutex;

use crate::batch::{BatchBuffers, BatchMerge};
use crate::budget::Budget;
use crate::buffer::common_len;
use crate::entry::EntryShape;
use crate::error::Result;
use crate::file::RunFile;
use crate::run::{Entries, MemoryRun};
use crate::source::{BlockBuffers, EntrySource, KeySource};
use crate::tree::{LoserTree, OrderedEntry};

/// The entries of a range of keys, ascending; equal keys are all there, side by side.
///
/// Equal keys come in the order of their chunks' ordinals, then in the order they were pushed.
pub struct Merge<'a> {
    engine: Engine<'a>,
    block_buffers: BlockBuffers,
    /// Gets the buffers back, and the right to merge.
    merges: Option<&'a Mutex<Merges>>,
}

/// Merges of one sort that are open, and buffers of those that were.
#[derive(Debug, Default)]
pub(crate) struct Merges {
    pub(crate) open: usize,
    pub(crate) buffers: Vec<BatchBuffers>,
}

enum Engine<'a> {
    Batch(Box<BatchMerge<'a>>),
    Tree(LoserTree<'a>),
}

/// The runs of a merge, by where they are.
#[derive(Clone, Copy)]
pub(crate) struct MergeRuns<'a> {
    pub(crate) memory: &'a [MemoryRun],
    pub(crate) files: &'a [RunFile],
}

impl<'a> Merge<'a> {
    /// Merges the entries from `start` on and before `end` (None: to the last).
    pub(crate) fn new(
        shape: EntryShape,
        budget: &Budget,
        runs: MergeRuns<'a>,
        start: &'a [u8],
        end: Option<&'a [u8]>,
        buffers: BatchBuffers,
    ) -> Merge<'a> {
        let MergeRuns { memory, files } = runs;
        let engine = if let Some(len) = shape.stride() {
            let memory = memory.iter().filter_map(|run| match &run.entries {
                Entries::Keys(keys) => Some(KeySource::memory(keys, start, end)),
                Entries::Encoded(_) => None,
            });
            let files = files.iter().map(|run| KeySource::file(len, run, start, end));
            let sources = memory
                .chain(files)
                .filter(|source| !source.window().is_empty() || source.has_more());
            let sources = sources.collect();
            Engine::Batch(Box::new(BatchMerge::new(len, budget.batch_entries, sources, buffers)))
        } else {
            let memory = memory.iter().filter_map(|run| match &run.entries {
                Entries::Keys(_) => None,
                Entries::Encoded(entries) => {
                    Some(EntrySource::memory(entries, run.ordinal, start, end))
                }
            });
            let files = files.iter().map(|run| EntrySource::file(shape, run, start, end));
            let sources = memory.chain(files).filter(|source| !source.is_ended()).collect();
            // What begins both bounds begins all that lies between.
            let common_len = end.map_or(0, |end| common_len(start, end));
            Engine::Tree(LoserTree::new(sources, common_len))
        };
        Merge { engine, block_buffers: BlockBuffers::new(), merges: None }
    }

    /// The same merge, counted among others.
    pub(crate) fn among(mut self, merges: &'a Mutex<Merges>) -> Merge<'a> {
        self.merges = Some(merges);
        self
    }

    /// Steps to the next entry and gives its key and payload.
    ///
    /// Errors: a spilled run cannot be read or is damaged.
    #[inline]
    #[allow(clippy::should_implement_trait, reason = "the entry is lent until the next call")]
    pub fn next(&mut self) -> Result<Option<(&[u8], &[u8])>> {
        let buffers = &mut self.block_buffers;
        match &mut self.engine {
            Engine::Batch(batch) => Ok(batch.next(buffers)?.map(|key| (key, &[][..]))),
            Engine::Tree(tree) => Ok(tree.next(buffers)?.map(|(_, key, payload)| (key, payload))),
        }
    }

    /// The same with the ordinal of the entry's chunk; 0 for bare keys, whose equals are alike.
    #[inline]
    pub(crate) fn next_with_ordinal(&mut self) -> Result<Option<OrderedEntry<'_>>> {
        let buffers = &mut self.block_buffers;
        match &mut self.engine {
            Engine::Batch(batch) => Ok(batch.next(buffers)?.map(|key| (0, key, &[][..]))),
            Engine::Tree(tree) => tree.next(buffers),
        }
    }
}

impl Drop for Merge<'_> {
    fn drop(&mut self) {
        let Some(merges) = self.merges else { return };
        let mut merges = merges.lock();
        assert!(merges.open > 0, "an open merge is counted");
        merges.open -= 1;
        if let Engine::Batch(batch) = &mut self.engine {
            merges.buffers.push(batch.take_buffers());
        }
    }
}
