//! What the workers that read lines share.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use encode::mapped::{Gathering, Lines};
use encode::reading::Reading;
use job::error::Error;
use job::stop::Stop;

use super::{BadLine, LinesCheck};

/// The part of the memory that entities may take.
const ENTITIES_PART: u64 = 4;

/// What the workers share.
pub(super) struct Shared<'a> {
    pub(super) check: &'a LinesCheck<'a>,
    pub(super) reading: Reading<'a>,
    pub(super) lines: Lines,
    pub(super) entities: Vec<Option<Gathering>>,
    /// One a rule for unique values.
    pub(super) uniques: Vec<Gathering>,
    pub(super) bad: Mutex<Vec<BadLine>>,
    pub(super) bad_count: AtomicU64,
    pub(super) count: AtomicU64,
    pub(super) is_enough: AtomicBool,
}

impl Shared<'_> {
    /// Whether what is gathered still has room.
    pub(super) fn check_memory(&self) -> Result<(), Stop> {
        let all = self.entities.iter().flatten().chain(&self.uniques);
        let bytes: u64 = all.map(Gathering::bytes).sum();
        let most = self.check.options.memory_bytes_max / ENTITIES_PART;
        if bytes <= most {
            return Ok(());
        }
        Err(Error::Usage(format!(
            "the distinct keys of entities, and values that are to be unique, take more than {} MB, a quarter of the memory: it takes more \
             --memory",
            most >> 20
        ))
        .into())
    }

    pub(super) fn refuse(&self, line: BadLine) {
        self.bad.lock().unwrap_or_else(PoisonError::into_inner).push(line);
        let count = self.bad_count.fetch_add(1, Ordering::Relaxed) + 1;
        if count > self.check.options.rejects_max {
            self.is_enough.store(true, Ordering::Relaxed);
        }
    }
}
