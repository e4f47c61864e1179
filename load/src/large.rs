//! Records that are far longer than a worker's share: few at a time.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Lets records through as long as all of them together are no longer than the longest may be.
#[derive(Debug)]
pub(crate) struct Large {
    bytes_max: usize,
    /// Bytes of those that are being worked on.
    bytes: Mutex<usize>,
    left: Condvar,
}

/// The right to work on one, until it is dropped.
#[derive(Debug)]
pub(crate) struct Pass<'a> {
    large: &'a Large,
    bytes: usize,
}

impl Large {
    /// `bytes_max`: the longest record there may be.
    pub(crate) fn new(bytes_max: usize) -> Large {
        Large { bytes_max, bytes: Mutex::new(0), left: Condvar::new() }
    }

    /// Waits until a record of `bytes` can be worked on. One alone always can.
    pub(crate) fn enter(&self, bytes: usize) -> Pass<'_> {
        let mut inside = self.lock();
        while *inside > 0 && *inside + bytes > self.bytes_max {
            inside = self.left.wait(inside).unwrap_or_else(PoisonError::into_inner);
        }
        *inside += bytes;
        Pass { large: self, bytes }
    }

    fn lock(&self) -> MutexGuard<'_, usize> {
        self.bytes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        *self.large.lock() -= self.bytes;
        self.large.left.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn no_more_than_the_longest_is_worked_on_at_once() {
        let large = Large::new(100);
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
