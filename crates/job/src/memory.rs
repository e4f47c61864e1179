//! Who may use how much memory: decided once, before the load starts.
//!
//! ```text
//! --memory = program + reading ahead (`read_ahead`) + building or sending
//! building = threads x worker + runs
//! worker   = chunk of input + its index of fields + pages being built + entries being sorted
//! sending  = connections: chunk of input, written out, as packets
//! ```
//!
//! Nothing grows with the input: a worker whose pages or entries reach their share hands them on
//! in mid-chunk, and runs beyond theirs spill. A record longer than a worker's
//! share is the only one there is at its time, and runs spill to make room for the copies of it. How
//! long it may be is the same whichever way it goes in: [`record_bytes_max`].

mod connections;
mod min_memory;
mod read_ahead;

use face::option::MEMORY;

pub use self::connections::ConnectionShares;
pub use self::min_memory::MinMemory;
pub use self::read_ahead::ReadAhead;
use crate::error::Error;
use crate::machine;

/// Code, stacks, collations, the connection: what every load has.
pub const PROGRAM_BYTES: u64 = 20 << 20;
/// The least share of a worker: below this, chunks are too small to be worth a thread.
const WORKER_BYTES_MIN: u64 = 4 << 20;
/// Share of a worker beyond which nothing gets faster.
const WORKER_BYTES_MAX: u64 = 96 << 20;
/// Input beyond which a chunk leaves the processor's caches before it is done.
const CHUNK_BYTES_MAX: usize = 4 << 20;
/// Pages beyond which a batch gains nothing.
const BATCH_BYTES_MAX: usize = 12 << 20;
/// Copies of a long record at once: as read, without escapes, as encoded, and half of one for what
/// grows. Sorted runs make room for it while it is there.
pub const COPIES_OF_A_RECORD: f64 = 3.5;
/// Part of what the program leaves that a record may take, whichever way it goes in: the copies of
/// it, and what is there besides, fit even where all of it has to be escaped for an INSERT.
const RECORD_SHARE: u64 = 8;
/// Bytes that verification keeps for a page: its summary, and a reference if a value begins there.
const VERIFY_PAGE_BYTES: u64 = 64;
/// The least memory for runs.
const RUN_BYTES_MIN: u64 = 4 << 20;
/// Below this there is no room for one worker.
const LEAST_BYTES: u64 = PROGRAM_BYTES + WORKER_BYTES_MIN + RUN_BYTES_MIN;

/// The shares, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// Workers that fit.
    pub threads: usize,
    /// Input that a worker takes at once.
    pub chunk_bytes: usize,
    /// Longest record; a longer one stops the load.
    pub record_bytes_max: usize,
    /// Pages a worker builds before it hands them on.
    pub batch_bytes: usize,
    /// Entries of all indexes that a worker collects before it sorts them into runs. Sorting takes
    /// up to twice as much again.
    pub entry_bytes: usize,
    /// Sorted runs of all indexes together.
    pub run_bytes: usize,
}

/// Longest record, in bytes, of a load that was given so many, of which `held_bytes` are for reading
/// ahead and the like; a longer one stops the load.
pub fn record_bytes_max(given_bytes: u64, held_bytes: u64) -> usize {
    let available = given_bytes.saturating_sub(PROGRAM_BYTES + held_bytes);
    usize::try_from(available / RECORD_SHARE).unwrap_or(usize::MAX)
}

impl Memory {
    /// The shares of a load that was given so many bytes, of what reading ahead leaves.
    pub fn of(given_bytes: u64, threads: usize, reading_bytes: u64) -> Result<Memory, Error> {
        let there = machine::memory_bytes();
        if given_bytes > there {
            return Err(Error::Usage(format!(
                "{MEMORY} {} MiB exceeds the {} MiB of this machine, or of the process's limits",
                given_bytes >> 20,
                there >> 20
            )));
        }
        MinMemory::of_any(reading_bytes).check(given_bytes)?;
        Memory::split(given_bytes - reading_bytes, threads)
    }

    /// Splits `memory_bytes_max` among at most `threads` workers.
    pub fn split(memory_bytes_max: u64, threads: usize) -> Result<Memory, Error> {
        MinMemory::of_any(0).check(memory_bytes_max)?;
        let available = memory_bytes_max - PROGRAM_BYTES;
        let threads = threads.max(1).min((available / 2 / WORKER_BYTES_MIN).max(1) as usize);
        let worker = (available / 3 / threads as u64).clamp(WORKER_BYTES_MIN, WORKER_BYTES_MAX);
        let runs = available.saturating_sub(worker * threads as u64).max(RUN_BYTES_MIN);
        let worker = worker as usize;
        Ok(Memory {
            threads,
            chunk_bytes: (worker / 12).min(CHUNK_BYTES_MAX),
            record_bytes_max: record_bytes_max(memory_bytes_max, 0),
            batch_bytes: (worker / 4).min(BATCH_BYTES_MAX),
            entry_bytes: worker / 6,
            run_bytes: usize::try_from(runs).unwrap_or(usize::MAX),
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn shares_stay_within_what_was_given() {
        for mib in [28u64, 64, 256, 1024, 65536] {
            for threads in [1, 2, 8, 128] {
                let given = mib << 20;
                let memory = Memory::split(given, threads).unwrap();
                let worker = memory.chunk_bytes * 12;
                let used = PROGRAM_BYTES + (worker * memory.threads + memory.run_bytes) as u64;
                assert!(used <= given, "{mib} MiB, {threads} threads: {memory:?}");
                let copies = memory.record_bytes_max as f64 * COPIES_OF_A_RECORD;
                assert!(copies < 0.9 * memory.run_bytes as f64, "{memory:?}");
                assert!(memory.threads >= 1 && memory.threads <= threads);
            }
        }
        assert!(Memory::split(27 << 20, 1).is_err());
    }
}
