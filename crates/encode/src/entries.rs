//! The entries that one worker collects to be sorted, a buffer for each index.

use std::sync::atomic::{AtomicU64, Ordering};

use job::stop::Stop;
use sort::{EntryShape, RunStore, SortBuffer};

/// Bytes that an entry takes in a sort buffer besides its own.
const ENTRY_BYTES: usize = 16;

/// Entries on their way to sorted runs.
#[derive(Debug)]
pub struct Entries<'a> {
    buffers: Vec<SortBuffer>,
    /// One a buffer.
    stores: &'a [RunStore],
    /// Number of the next sorted run, of all workers.
    next_run: &'a AtomicU64,
    /// A worker's share of memory.
    bytes_max: usize,
}

impl<'a> Entries<'a> {
    /// Entries of these shapes, one for each store.
    pub fn new(
        shapes: impl IntoIterator<Item = EntryShape>,
        stores: &'a [RunStore],
        next_run: &'a AtomicU64,
        bytes_max: usize,
    ) -> Entries<'a> {
        let buffers: Vec<_> = shapes.into_iter().map(SortBuffer::new).collect();
        assert_eq!(buffers.len(), stores.len(), "a store an index");
        Entries { buffers, stores, next_run, bytes_max }
    }

    /// Takes an entry of index `index`.
    #[inline]
    pub fn push(&mut self, index: usize, key: &[u8], payload: &[u8]) {
        self.buffers[index].push(key, payload);
    }

    /// Sorts what was collected if it has reached its share of memory.
    pub fn relieve(&mut self) -> Result<(), Stop> {
        let bytes: usize =
            self.buffers.iter().map(|buffer| buffer.bytes() + ENTRY_BYTES * buffer.len()).sum();
        if bytes > self.bytes_max { self.sort() } else { Ok(()) }
    }

    /// Sorts what was collected, over as many chunks as fit, into one run an index: every run costs
    /// the merge a little for each of its batches.
    pub fn sort(&mut self) -> Result<(), Stop> {
        let run = self.next_run.fetch_add(1, Ordering::Relaxed);
        for (buffer, store) in self.buffers.iter_mut().zip(self.stores) {
            if !buffer.is_empty() {
                store.add(buffer.sort(run))?;
            }
        }
        Ok(())
    }
}
