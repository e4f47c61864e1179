//! The least `--memory` that a load does with.

use super::{LEAST_BYTES, Memory, PROGRAM_BYTES, VERIFY_PAGE_BYTES};
use crate::error::Error;
use innodb::ids::PAGE_SIZE;
use innodb::verify::RUN_PAGES;

/// Step of the search for the smallest memory.
const STEP_BYTES: u64 = 1 << 20;
/// No sort of a table's indexes needs more.
const SORTING_BYTES_MAX: u64 = 1 << 36;

/// Some memory, and what takes that much of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MinMemory {
    /// Bytes of the whole process.
    pub bytes: u64,
    /// The purpose, if not every load has it.
    pub why: Option<String>,
}

impl MinMemory {
    /// The minimum of any load; `reading_bytes` are for unpacking the input.
    pub fn of_any(reading_bytes: u64) -> MinMemory {
        let why = (reading_bytes > 0)
            .then(|| format!("unpacking the input needs {}", mebibytes(reading_bytes)));
        MinMemory { bytes: LEAST_BYTES + reading_bytes, why }
    }

    /// The minimum for verifying a file.
    pub fn of_verifying(file_bytes: u64) -> MinMemory {
        let pages_bytes = (RUN_PAGES * PAGE_SIZE) as u64;
        let bytes = PROGRAM_BYTES + MinMemory::verifying_bytes(file_bytes) + pages_bytes;
        let why = format!("verifying a file of {} needs that much", disk::size::show(file_bytes));
        MinMemory { bytes, why: Some(why) }
    }

    /// Bytes that grow with the file that is verified.
    pub fn verifying_bytes(file_bytes: u64) -> u64 {
        file_bytes / PAGE_SIZE as u64 * VERIFY_PAGE_BYTES
    }

    /// The minimum for sorting so many indexes, whose runs need `runs_min` bytes on so many
    /// threads. If it is above `given_bytes`, a smaller one may exist: with more memory come more
    /// threads.
    pub fn of_sorting(
        indexes: usize,
        runs_min: impl Fn(usize) -> usize,
        threads: usize,
        reading_bytes: u64,
        given_bytes: u64,
    ) -> MinMemory {
        let fits = |bytes: u64| {
            Memory::split(bytes.saturating_sub(reading_bytes), threads)
                .is_ok_and(|memory| runs_min(memory.threads) <= memory.run_bytes)
        };
        let any = MinMemory::of_any(reading_bytes);
        let from = if fits(given_bytes) { any.bytes } else { given_bytes.max(any.bytes) };
        let mut bytes = from.next_multiple_of(STEP_BYTES);
        while bytes < SORTING_BYTES_MAX && !fits(bytes) {
            bytes += STEP_BYTES;
        }
        match bytes > any.bytes.next_multiple_of(STEP_BYTES) {
            true => {
                MinMemory { bytes, why: Some(format!("sorting {indexes} indexes needs that much")) }
            }
            false => any,
        }
    }

    /// The one that asks for more.
    pub fn or(self, other: MinMemory) -> MinMemory {
        if other.bytes > self.bytes { other } else { self }
    }

    /// Refuses less.
    pub fn check(self, given_bytes: u64) -> Result<(), Error> {
        match given_bytes < self.bytes {
            true => Err(self.refuse(given_bytes)),
            false => Ok(()),
        }
    }

    /// The error of a load that was given less.
    pub fn refuse(self, given_bytes: u64) -> Error {
        let least = mebibytes(self.bytes);
        let reason = match self.why {
            Some(why) => format!("at least {least} is needed: {why}"),
            None => format!("at least {least} is needed"),
        };
        Error::Memory { given_bytes, reason }
    }
}

fn mebibytes(bytes: u64) -> String {
    format!("{} MiB", bytes.div_ceil(1 << 20))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_to_be_the_least_does() {
        for (runs, threads) in [(1 << 20, 1), (9 << 20, 2), (200 << 20, 16)] {
            let needs = |used: usize| runs * used.max(2) / 2;
            let least = MinMemory::of_sorting(7, needs, threads, 0, 0);
            let memory = Memory::split(least.bytes, threads).unwrap();
            assert!(needs(memory.threads) <= memory.run_bytes, "{least:?}: {memory:?}");
            let less = Memory::split(least.bytes - STEP_BYTES, threads);
            assert!(less.is_err() || needs(less.unwrap().threads) > runs / 2);
        }
        assert_eq!(MinMemory::of_sorting(1, |_| 1 << 20, 1, 0, 64 << 20), MinMemory::of_any(0));
    }

    #[test]
    fn an_error_says_how_much_would_do_and_why() {
        let error = MinMemory::of_verifying(1 << 40).check(64 << 20).unwrap_err().to_string();
        let said = "is too small: at least 4120 MiB is needed: verifying a file of 1.10 TB needs that much";
        assert!(error.ends_with(said), "{error}");
        assert!(MinMemory::of_verifying(10 << 30).check(64 << 20).is_ok());
        let error = MinMemory::of_any(5 << 20).or(MinMemory::of_any(0)).refuse(1).to_string();
        let said = "at least 33 MiB is needed: unpacking the input needs 5 MiB";
        assert!(error.ends_with(said), "{error}");
    }
}
