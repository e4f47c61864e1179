//! Memory for decoding, which parts of files take while they are open.

use std::sync::Arc;
use std::time::Duration;

use locks::{Condvar, Mutex};

/// The longest time until it is looked again who has the memory.
const WAIT: Duration = Duration::from_millis(100);

/// Bytes that open parts share. Clones are the same.
#[derive(Clone, Debug)]
pub(crate) struct Room {
    bytes: u64,
    free: Arc<(Mutex<u64>, Condvar)>,
}

/// A part's share, given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Share {
    room: Room,
    bytes: u64,
}

impl Room {
    pub(crate) fn new(bytes: u64) -> Room {
        Room { bytes, free: Arc::new((Mutex::new(bytes), Condvar::new())) }
    }

    /// All of it.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Takes a share; None if there is not so much.
    pub(crate) fn take(&self, bytes: u64) -> Option<Share> {
        let mut free = self.free.0.lock();
        *free = free.checked_sub(bytes)?;
        Some(Share { room: self.clone(), bytes })
    }

    /// Waits a while until there is so much.
    pub(crate) fn wait(&self, bytes: u64) {
        let (free, given_back) = &*self.free;
        let free = free.lock();
        drop(given_back.wait_timeout_while(free, WAIT, |free| *free < bytes));
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let (free, given_back) = &*self.room.free;
        *free.lock() += self.bytes;
        given_back.notify_all();
    }
}
