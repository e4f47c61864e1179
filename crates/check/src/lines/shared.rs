//! State shared by the workers that read lines.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use encode::mapped::{Gathering, Lines};
use encode::reading::Reading;
use face::option::MEMORY;
use job::error::Error;
use job::stop::Stop;
use server::Session;

use super::candidate::{self, Candidate, Entities};
use super::{BadLine, LinesCheck};

/// The part of the memory that entities may take.
const ENTITIES_PART: u64 = 4;
/// About what a candidate takes besides its line.
const CANDIDATE_BYTES: u64 = 512;
/// So many times more candidates are waited for after each decision.
const CANDIDATES_GROWTH: u64 = 4;

/// State shared by the workers.
pub(super) struct Shared<'a> {
    pub(super) check: &'a LinesCheck<'a>,
    pub(super) reading: Reading<'a>,
    pub(super) lines: Lines,
    pub(super) entities: Entities,
    pub(super) bad: Mutex<Vec<BadLine>>,
    /// Lines that are bad if they stand for an entity, of which those that are read do not decide.
    pub(super) candidates: Mutex<Vec<Candidate>>,
    pub(super) candidate_bytes: AtomicU64,
    /// With more of them reading pauses until it is decided which are bad.
    pub(super) candidates_max: u64,
}

impl Shared<'_> {
    /// Fails if the gathered lines do not fit into memory.
    pub(super) fn check_memory(&self) -> Result<(), Stop> {
        let bytes: u64 = self.entities.gathered.iter().flatten().map(Gathering::bytes).sum();
        let bytes = bytes + self.candidate_bytes.load(Ordering::Relaxed);
        let most = self.check.options.limits.memory_bytes_max / ENTITIES_PART;
        if bytes <= most {
            return Ok(());
        }
        Err(Error::Usage(format!(
            "distinct keys of entities, and values of unique rules, take more than {} MB, a \
             quarter of the memory: use more {MEMORY}",
            most >> 20
        ))
        .into())
    }

    pub(super) fn refuse(&self, line: BadLine) {
        self.bad.lock().unwrap_or_else(PoisonError::into_inner).push(line);
        if self.is_enough() {
            self.reading.pause();
        }
    }

    /// True if more lines are bad than are tolerated: no more are read.
    fn is_enough(&self) -> bool {
        let bad = self.bad.lock().unwrap_or_else(PoisonError::into_inner);
        bad.len() as u64 > self.check.options.rows.rejects_max
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
            let bytes = candidate.reject.raw.len() as u64 + CANDIDATE_BYTES;
            self.candidate_bytes.fetch_add(bytes, Ordering::Relaxed);
            let mut kept = self.candidates.lock().unwrap_or_else(PoisonError::into_inner);
            kept.push(candidate);
            if kept.len() as u64 > self.candidates_max {
                self.reading.pause();
            }
        }
    }

    /// Decides which candidates are bad lines, once no worker reads; false where more lines are to be read.
    ///
    /// Errors: the server's.
    pub(super) fn decide(&mut self, session: &mut Session) -> Result<bool, Stop> {
        let (is_enough, is_end) = (self.is_enough(), !self.reading.resume());
        let kept = self.candidates.get_mut().unwrap_or_else(PoisonError::into_inner);
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
            table.for_each_row(session, &self.check.options.input.charset, None, |key, _| {
                kept.extend(keys.get(key).cloned());
            })?;
        }
        Ok(())
    }
}
