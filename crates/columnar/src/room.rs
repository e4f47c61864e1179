//! Memory for decoding, which readers take while they decode.

use std::sync::{Condvar, Mutex, PoisonError};

/// Bytes that readers share.
#[derive(Debug)]
pub(crate) struct Room {
    bytes: u64,
    free: Mutex<u64>,
    freed: Condvar,
}

/// A reader's share, given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Share<'r> {
    room: &'r Room,
    bytes: u64,
}

impl Room {
    pub(crate) fn new(bytes: u64) -> Room {
        Room { bytes, free: Mutex::new(bytes), freed: Condvar::new() }
    }

    /// All of it.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Takes a share, once there is so much; None if there never is.
    pub(crate) fn take(&self, bytes: u64) -> Option<Share<'_>> {
        if bytes > self.bytes {
            return None;
        }
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.freed.wait_while(free, |free| *free < bytes);
        *waited.unwrap_or_else(PoisonError::into_inner) -= bytes;
        Some(Share { room: self, bytes })
    }
}

impl Drop for Share<'_> {
    fn drop(&mut self) {
        *self.room.free.lock().unwrap_or_else(PoisonError::into_inner) += self.bytes;
        self.room.freed.notify_all();
    }
}
