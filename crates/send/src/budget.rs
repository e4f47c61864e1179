//! Memory that connections have in use: a long record waits until it has the room of most.

use job::memory::ConnectionShares;

use crate::sync::{Condvar, Mutex};

/// Bytes that connections have in use.
#[derive(Debug)]
pub(crate) struct Budget {
    bytes: usize,
    copies: usize,
    free: Mutex<usize>,
    freed: Condvar,
}

/// Part of a budget, until it is dropped.
#[derive(Debug)]
pub(crate) struct Loan<'a> {
    budget: &'a Budget,
    bytes: usize,
}

impl Budget {
    pub(crate) fn new(shares: &ConnectionShares) -> Budget {
        let ConnectionShares { bytes, copies, .. } = *shares;
        Budget { bytes, copies, free: Mutex::new(bytes), freed: Condvar::new() }
    }

    /// Waits until there is room for a chunk: for a long one until most others are through. Only
    /// one connection at a time may ask, or two long ones would wait for each other.
    pub(crate) fn borrow(&self, chunk_bytes: usize) -> Loan<'_> {
        let bytes = chunk_bytes.saturating_mul(self.copies).min(self.bytes);
        let mut free = self.free.lock();
        while *free < bytes {
            free = self.freed.wait(free);
        }
        *free -= bytes;
        Loan { budget: self, bytes }
    }
}

impl Drop for Loan<'_> {
    fn drop(&mut self) {
        let mut free = self.budget.free.lock();
        *free += self.bytes;
        self.budget.freed.notify_all();
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use job::options::LoadPath;

    use super::*;

    #[test]
    fn a_long_record_waits_for_the_others_and_they_for_it() {
        let budget =
            Budget::new(&ConnectionShares::of(64 << 20, 0, LoadPath::Stream, None, None).unwrap());
        let small = budget.borrow(1000);
        std::thread::scope(|scope| {
            let long = scope.spawn(|| drop(budget.borrow(1 << 30)));
            std::thread::sleep(std::time::Duration::from_millis(20));
            assert!(!long.is_finished());
            drop(small);
            long.join().unwrap();
        });
        assert_eq!(*budget.free.lock(), budget.bytes);
    }
}
