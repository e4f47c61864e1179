//! Memory of the lanes: as many as fit, and a long record for itself.

use std::sync::{Condvar, Mutex, PoisonError};

use job::error::Error;
use job::memory::PROGRAM_BYTES;
use job::options::{LoadOptions, LoadPath};

/// Bytes that a lane may need for one of its chunk: as read, places of fields and rows, written out
/// with every byte escaped, as packets.
const COPIES_OF_A_CHUNK: usize = 8;
/// The same for INSERTs: statements too, and each value of a row by itself.
const COPIES_FOR_INSERT: usize = 14;
/// Below this, a transaction is mostly its commit.
const CHUNK_BYTES_MIN: usize = 64 << 10;
/// The same where `--connections` asks for so many that they would not fit.
const CHUNK_BYTES_LEAST: usize = 16 << 10;
/// Beyond this nothing gets faster, and what is rolled back gets long.
const CHUNK_BYTES_MAX: usize = 4 << 20;
/// Lanes for which there should be room before chunks get larger.
const LANES_WANTED: usize = 16;
/// Chunks that a lane should get at least, so that all lanes end at about the same time.
const CHUNKS_PER_LANE: u64 = 8;
/// Most lanes that are of any use.
const LANES_MAX: usize = 128;
/// What a connection keeps between two portions.
const LANE_BYTES: usize = 512 << 10;

/// What the lanes may use together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shares {
    /// Most lanes.
    pub(crate) lanes_max: usize,
    /// Input that a lane takes at once.
    pub(crate) chunk_bytes: usize,
    /// Longest record.
    pub(crate) record_bytes_max: usize,
    /// Bytes for one of a chunk.
    pub(crate) copies: usize,
    /// All of it.
    pub(crate) bytes: usize,
}

impl Shares {
    /// Of `--memory`, what reading ahead takes left out. `input_bytes` is the size of the input,
    /// if it is known.
    ///
    /// Errors: too little for one lane.
    pub(crate) fn of(
        options: &LoadOptions,
        path: LoadPath,
        reading_bytes: u64,
        input_bytes: Option<u64>,
    ) -> Result<Shares, Error> {
        let copies = match path {
            LoadPath::Insert => COPIES_FOR_INSERT,
            _ => COPIES_OF_A_CHUNK,
        };
        if let Some(shares) = options.shares {
            let chunk_bytes = shares.chunk_bytes;
            let record_bytes_max = shares.record_bytes_max;
            let bytes = (LANES_WANTED * copies * chunk_bytes).max(64 << 20);
            let lanes_max = LANES_WANTED;
            return Ok(Shares { lanes_max, chunk_bytes, record_bytes_max, copies, bytes });
        }
        let available = options.memory_bytes_max.saturating_sub(PROGRAM_BYTES + reading_bytes);
        let available = usize::try_from(available).unwrap_or(usize::MAX);
        let least = LANE_BYTES + copies * CHUNK_BYTES_MIN;
        if available < least {
            return Err(Error::Memory {
                given_bytes: options.memory_bytes_max,
                reason: format!("one connection takes {} KiB besides the program", least >> 10),
            });
        }
        // Few and large portions would leave lanes idle at the end of a small input.
        let fair = input_bytes.unwrap_or(u64::MAX) / (LANES_WANTED as u64 * CHUNKS_PER_LANE);
        let fair = usize::try_from(fair).unwrap_or(usize::MAX);
        let asked = options.batches.connections;
        let lane = available / asked.unwrap_or(1).max(LANES_WANTED);
        let chunk_bytes_min = if asked.is_some() { CHUNK_BYTES_LEAST } else { CHUNK_BYTES_MIN };
        let chunk_bytes = (lane.saturating_sub(LANE_BYTES) / copies)
            .min(fair)
            .clamp(chunk_bytes_min, CHUNK_BYTES_MAX);
        let lane = LANE_BYTES + copies * chunk_bytes;
        Ok(Shares {
            lanes_max: (available / lane).clamp(1, LANES_MAX),
            chunk_bytes,
            record_bytes_max: available / copies,
            copies,
            bytes: available,
        })
    }
}

/// Bytes that lanes have in use.
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
    pub(crate) fn new(shares: &Shares) -> Budget {
        let Shares { bytes, copies, .. } = *shares;
        Budget { bytes, copies, free: Mutex::new(bytes), freed: Condvar::new() }
    }

    /// Waits until there is room for a chunk: for a long one until most others are through. Only
    /// one lane at a time may ask, or two long ones would wait for each other.
    pub(crate) fn borrow(&self, chunk_bytes: usize) -> Loan<'_> {
        let bytes = chunk_bytes.saturating_mul(self.copies).min(self.bytes);
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        while *free < bytes {
            free = self.freed.wait(free).unwrap_or_else(PoisonError::into_inner);
        }
        *free -= bytes;
        Loan { budget: self, bytes }
    }
}

impl Drop for Loan<'_> {
    fn drop(&mut self) {
        let mut free = self.budget.free.lock().unwrap_or_else(PoisonError::into_inner);
        *free += self.bytes;
        self.budget.freed.notify_all();
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn shares(memory_bytes_max: u64, input_bytes: Option<u64>) -> Result<Shares, Error> {
        let mut options = LoadOptions::new(Vec::new(), "d", "t");
        options.memory_bytes_max = memory_bytes_max;
        Shares::of(&options, LoadPath::Stream, 0, input_bytes)
    }

    #[test]
    fn lanes_fit_what_was_given() {
        for mib in [24u64, 32, 64, 256, 4096] {
            let shares = shares(mib << 20, None).unwrap();
            let lanes = shares.lanes_max * (LANE_BYTES + COPIES_OF_A_CHUNK * shares.chunk_bytes);
            assert!(lanes as u64 + PROGRAM_BYTES <= mib << 20, "{mib} MiB: {shares:?}");
            assert!(shares.record_bytes_max * COPIES_OF_A_CHUNK <= shares.bytes);
        }
        assert!(shares(20 << 20, None).is_err());
        assert_eq!(shares(1 << 30, None).unwrap().chunk_bytes, CHUNK_BYTES_MAX);
        assert_eq!(shares(1 << 30, Some(64 << 20)).unwrap().chunk_bytes, 512 << 10);
    }

    #[test]
    fn as_many_lanes_as_are_asked_for_fit_where_they_can() {
        for path in [LoadPath::Stream, LoadPath::Insert] {
            for (connections, mib) in [(1, 64), (16, 64), (50, 64), (64, 128), (128, 256)] {
                let mut options = LoadOptions::new(Vec::new(), "d", "t");
                options.memory_bytes_max = mib << 20;
                options.batches.connections = Some(connections);
                let shares = Shares::of(&options, path, 0, None).unwrap();
                assert!(shares.lanes_max >= connections, "{connections} in {mib} MiB: {shares:?}");
            }
        }
    }

    #[test]
    fn a_long_record_waits_for_the_others_and_they_for_it() {
        let budget = Budget::new(&shares(64 << 20, None).unwrap());
        let small = budget.borrow(1000);
        std::thread::scope(|scope| {
            let long = scope.spawn(|| drop(budget.borrow(1 << 30)));
            std::thread::sleep(std::time::Duration::from_millis(20));
            assert!(!long.is_finished());
            drop(small);
            long.join().unwrap();
        });
        assert_eq!(*budget.free.lock().unwrap(), budget.bytes);
    }
}
