//! Sorted runs, in memory and on disk, as one ascending stream.

use std::sync::PoisonError;

use crate::batch::{BatchBuffers, BatchMerge};
use crate::entry::EntryShape;
use crate::error::Result;
use crate::file::RunFile;
use crate::plan::Plan;
use crate::run::MemoryRun;
use crate::source::{Reading, Source};
use crate::store::Runs;

/// The entries of a range of keys, ascending; equal keys are all there, side by side.
///
/// Equal keys come in the order of their chunks' ordinals, then in the order they were pushed.
pub struct Merge<'a> {
    engine: Engine<'a>,
    reading: Reading,
    /// Gets the buffers back, and the right to merge.
    runs: Option<&'a Runs>,
}

enum Engine<'a> {
    Batch(BatchMerge<'a>),
    Tree(crate::tree::LoserTree<'a>),
}

impl<'a> Merge<'a> {
    /// Merges the entries from `start` on and before `end` (None: to the last).
    pub(crate) fn new(
        shape: EntryShape,
        plan: &Plan,
        memory: impl Iterator<Item = &'a MemoryRun>,
        files: impl Iterator<Item = &'a RunFile>,
        (start, end): (&'a [u8], Option<&'a [u8]>),
        buffers: BatchBuffers,
    ) -> Merge<'a> {
        let sources = memory
            .map(|run| Source::memory(run, start, end))
            .chain(files.map(|run| Source::disk(shape, run, start, end)))
            .filter(|source| !source.is_empty() || source.has_more())
            .collect();
        let engine = match shape.stride() {
            Some(stride) => {
                Engine::Batch(BatchMerge::new(stride, plan.batch_entries, sources, buffers))
            }
            None => Engine::Tree(crate::tree::LoserTree::new(sources)),
        };
        Merge { engine, reading: Reading::new(&shape), runs: None }
    }

    pub(crate) fn of(mut self, runs: &'a Runs) -> Merge<'a> {
        self.runs = Some(runs);
        self
    }

    /// Steps to the next entry and gives its key and payload.
    ///
    /// Errors: a spilled run cannot be read or is damaged.
    #[inline]
    #[allow(clippy::should_implement_trait, reason = "the entry is lent until the next call")]
    pub fn next(&mut self) -> Result<Option<(&[u8], &[u8])>> {
        match &mut self.engine {
            Engine::Batch(batch) => Ok(batch.next(&mut self.reading)?.map(|key| (key, &[][..]))),
            Engine::Tree(tree) => {
                Ok(tree.next(&mut self.reading)?.map(|(_, key, payload)| (key, payload)))
            }
        }
    }

    /// The same with the ordinal of the entry's chunk; 0 for bare keys, whose equals are alike.
    #[inline]
    pub(crate) fn next_with_ordinal(&mut self) -> Result<Option<(u64, &[u8], &[u8])>> {
        match &mut self.engine {
            Engine::Batch(batch) => Ok(batch.next(&mut self.reading)?.map(|key| (0, key, &[][..]))),
            Engine::Tree(tree) => tree.next(&mut self.reading),
        }
    }
}

impl Drop for Merge<'_> {
    fn drop(&mut self) {
        let Some(runs) = self.runs else { return };
        let buffers = match std::mem::replace(
            &mut self.engine,
            Engine::Tree(crate::tree::LoserTree::new(Vec::new())),
        ) {
            Engine::Batch(batch) => Some(batch.into_buffers()),
            Engine::Tree(_) => None,
        };
        let mut merges = runs.merges.lock().unwrap_or_else(PoisonError::into_inner);
        merges.open -= 1;
        merges.buffers.extend(buffers);
    }
}
