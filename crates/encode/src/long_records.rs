//! Records that are far longer than a worker's share: few at a time.

use job::memory::{COPIES_OF_A_RECORD, Memory};
use sort::{Loan, RunStore};

use crate::sync::{Condvar, Mutex};

/// A chunk of more than so many chunks is one long record.
const LARGE_CHUNKS: usize = 2;

/// Lets records through as long as all of them together are no longer than the longest may be.
#[derive(Debug)]
pub struct LongRecords {
    /// A longer chunk is such a record.
    chunk_bytes_max: usize,
    bytes_max: usize,
    /// Bytes of those that are being worked on.
    bytes: Mutex<usize>,
    left: Condvar,
}

/// The right to work on one, until it is dropped.
#[derive(Debug)]
pub struct Pass<'a> {
    large: &'a LongRecords,
    bytes: usize,
}

impl LongRecords {
    /// Nobody is working on one yet.
    pub fn new(memory: &Memory) -> LongRecords {
        LongRecords {
            chunk_bytes_max: LARGE_CHUNKS * memory.chunk_bytes,
            bytes_max: memory.record_bytes_max,
            bytes: Mutex::new(0),
            left: Condvar::new(),
        }
    }

    /// Waits until a chunk of `bytes` can be worked on, if it is such a record. One alone always
    /// can.
    pub fn enter_if_large(&self, bytes: usize) -> Option<Pass<'_>> {
        (bytes > self.chunk_bytes_max).then(|| self.enter(bytes))
    }

    fn enter(&self, bytes: usize) -> Pass<'_> {
        let mut inside = self.bytes.lock();
        while *inside > 0 && *inside + bytes > self.bytes_max {
            inside = self.left.wait(inside);
        }
        *inside += bytes;
        Pass { large: self, bytes }
    }
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        *self.large.bytes.lock() -= self.bytes;
        self.large.left.notify_all();
    }
}

/// Has sorted runs make room for what becomes of a record of `bytes`.
pub fn borrow(stores: &[RunStore], bytes: usize) -> Result<Vec<Loan<'_>>, sort::Error> {
    let needed = (bytes as f64 * COPIES_OF_A_RECORD) as u128;
    let total = stores.iter().map(RunStore::memory_bytes_max).sum::<usize>().max(1);
    let share = |store: &RunStore| needed * store.memory_bytes_max() as u128 / total as u128;
    let loan = |store| RunStore::lend(store, usize::try_from(share(store)).unwrap_or(usize::MAX));
    stores.iter().map(loan).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn no_more_than_the_longest_is_worked_on_at_once() {
        let memory = Memory::split(64 << 20, 2).unwrap();
        let large = LongRecords::new(&Memory { record_bytes_max: 100, ..memory });
        let (inside, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for bytes in [30, 60, 100, 20, 50, 120, 10, 40] {
                let (large, inside, most) = (&large, &inside, &most);
                scope.spawn(move || {
                    let pass = large.enter(bytes);
                    let now = inside.fetch_add(bytes, Ordering::SeqCst) + bytes;
                    most.fetch_max(now, Ordering::SeqCst);
                    std::thread::yield_now();
                    inside.fetch_sub(bytes, Ordering::SeqCst);
                    drop(pass);
                });
            }
        });
        assert_eq!(most.into_inner(), 120, "alone, one longer than the limit may pass");
    }
}
