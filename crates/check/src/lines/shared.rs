//! State shared by the workers that read lines.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use encode::mapped::{Gathering, Lines};
use encode::reading::Reading;
use encode::rejects::Reject;
use face::option::MEMORY;
use job::error::Error;
use job::stop::Stop;
use locks::Mutex;
use server::Session;

use super::candidate::{self, Candidate, Entities};
use super::{BadLine, LinesCheck};

/// The part of the memory that entities and bad lines may take.
const GATHERED_PART: u64 = 4;
/// About what a bad line, or a candidate, takes besides its text, and each of its faults.
const FAULT_BYTES: u64 = 512;
/// So many times more candidates are waited for after each decision.
const CANDIDATES_GROWTH: u64 = 4;

/// State shared by the workers.
pub(super) struct Shared<'a> {
    pub(super) check: &'a LinesCheck<'a>,
    pub(super) reading: Reading<'a>,
    pub(super) lines: Lines,
    pub(super) entities: Entities,
    /// One a table: true once a line that is not refused by itself has a row of the table.
    pub(super) has_rows: Vec<AtomicBool>,
    pub(super) bad: Mutex<Vec<BadLine>>,
    /// Bytes of the bad lines of all readings.
    pub(super) bad_bytes: AtomicU64,
    /// Lines that are bad if they stand for an entity, of which those that are read do not decide.
    pub(super) candidates: Mutex<Vec<Candidate>>,
    pub(super) candidate_bytes: AtomicU64,
    /// With more of them reading pauses until it is decided which are bad.
    pub(super) candidates_max: u64,
}

impl Shared<'_> {
    /// Fails if the gathered lines do not fit into memory.
    pub(super) fn check_memory(&self) -> Result<(), Stop> {
        let entities: u64 = self.entities.gathered.iter().flatten().map(Gathering::bytes).sum();
        let bad = self.candidate_bytes.load(Ordering::Relaxed)
            + match self.check.ends_early {
                true => 0,
                false => self.bad_bytes.load(Ordering::Relaxed),
            };
        let most = self.gathered_max();
        if entities + bad <= most {
            return Ok(());
        }
        let what = match bad > entities {
            true => "bad lines",
            false => "distinct keys of entities, and values of unique rules,",
        };
        Err(Error::Usage(format!(
            "{what} take more than {} MB, a quarter of the memory: use more {MEMORY}",
            most >> 20
        ))
        .into())
    }

    /// Bytes that entities and bad lines may take.
    fn gathered_max(&self) -> u64 {
        self.check.options.limits.memory_bytes_max / GATHERED_PART
    }

    pub(super) fn refuse(&self, line: BadLine) {
        self.bad_bytes.fetch_add(bytes(&line.reject), Ordering::Relaxed);
        self.bad.lock().push(line);
        if self.is_enough() {
            self.reading.pause();
        }
    }

    /// True if more lines are bad than are tolerated, or than there is room for: no more are read.
    pub(super) fn is_enough(&self) -> bool {
        let bad = self.bad.lock();
        let is_full = || self.bad_bytes.load(Ordering::Relaxed) > self.gathered_max();
        bad.len() as u64 > self.check.options.rows.rejects_max || self.check.ends_early && is_full()
    }

    /// Takes down a good line.
    fn take(&self, Candidate { at, rows, .. }: Candidate) {
        for row in rows {
            if let Some(entities) = &self.entities.gathered[row.table] {
                entities.take(&row.key, at, row.digest);
            }
        }
    }

    /// Keeps the candidates of a chunk for which no good line stands by now.
    pub(super) fn keep(&self, candidates: &mut Vec<Candidate>) {
        for candidate in candidates.drain(..) {
            if !candidate.stands(&self.entities) {
                self.take(candidate);
                continue;
            }
            self.candidate_bytes.fetch_add(bytes(&candidate.reject), Ordering::Relaxed);
            let mut kept = self.candidates.lock();
            kept.push(candidate);
            // Bad lines are decided of before they fill the room of all.
            let is_full = self.check.ends_early
                && self.candidate_bytes.load(Ordering::Relaxed) > self.gathered_max() / 2;
            if kept.len() as u64 > self.candidates_max || is_full {
                self.reading.pause();
            }
        }
    }

    /// Decides which candidates are bad lines, once no worker reads; false where more lines are to be read.
    ///
    /// Errors: the server's.
    pub(super) fn decide(&mut self, session: &mut Session) -> Result<bool, Stop> {
        let (is_enough, is_end) = (self.is_enough(), !self.reading.resume());
        let kept = self.candidates.get_mut();
        // Lines that were not read may stand for these entities.
        let are_undecided = (is_enough || !is_end)
            && kept.iter().any(|candidate| candidate.waits_for_last(&self.entities));
        self.candidates_max = self.candidates_max.saturating_mul(CANDIDATES_GROWTH);
        if are_undecided || kept.is_empty() {
            return Ok(is_end || is_enough);
        }
        let candidates = std::mem::take(kept);
        self.candidate_bytes = AtomicU64::new(0);
        self.ask_kept(&candidates, session)?;
        let is_bad = candidate::bad_among(&candidates, &self.entities);
        for (candidate, is_bad) in candidates.into_iter().zip(is_bad) {
            match is_bad {
                true => {
                    let Candidate { at, reject, .. } = candidate;
                    self.refuse(BadLine { place: at.place(), reject });
                }
                false => self.take(candidate),
            }
        }
        Ok(is_end || self.is_enough())
    }

    /// Asks for which entities of candidates the tables that keep their rows have one.
    fn ask_kept(&mut self, candidates: &[Candidate], session: &mut Session) -> Result<(), Error> {
        for (number, table) in self.check.tables.iter().enumerate() {
            let rows = candidates.iter().flat_map(|candidate| &candidate.rows);
            let rows = rows.filter(|row| row.table == number && row.is_faulty);
            let keys: candidate::Keys = rows.map(|row| row.key.clone()).collect();
            if keys.is_empty() || !table.keeps_rows {
                continue;
            }
            let kept = &mut self.entities.kept[number];
            table.for_each_row(session, None, |key, _| {
                kept.extend(keys.get(key).cloned());
            })?;
        }
        Ok(())
    }
}

/// About what a bad line takes.
fn bytes(reject: &Reject) -> u64 {
    reject.raw.len() as u64 + FAULT_BYTES * (1 + reject.also.len() as u64)
}
