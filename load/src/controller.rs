//! How many connections load at once, and how much each statement holds: found by feedback.
//!
//! ```text
//! lane -> enter: gate (connections), rate, back-off -> Permit -> done: a measured portion
//!                   ^                                              |
//!                   '-- search, trial: what would be faster? <-----'      observe: the server's pressure
//! ```
//!
//! A lane has a [`Permit`] from before it takes its chunk until the chunk's rows are committed.
//! How long that took beside how many others is all that the controller learns from; nobody tells
//! it what the server is.

#![allow(dead_code)] // until the lanes use it

mod backoff;
mod rate;
mod settled;

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use server::Interrupt;
use server::pressure::Pressure;

use self::backoff::Backoff;
pub(crate) use self::backoff::Trouble;
use self::rate::Rate;
pub use self::settled::{HeldBack, Settled};

/// Longest sleep of a waiting lane before it looks whether the load is to end.
const NAP: Duration = Duration::from_millis(100);

/// Rows a statement starts with, in the known good region.
const ROWS_START: usize = 1000;
/// Most rows of a statement that are tried.
const ROWS_MAX: usize = 10_000;

/// Within what the controller may choose. What is fixed is not searched for.
#[derive(Clone, Debug)]
pub(crate) struct Limits {
    /// Most connections: what memory, the server and the user allow; at least 1.
    pub(crate) connections_max: usize,
    /// Processors of the server, where they are known: what the search starts from.
    pub(crate) server_cores: Option<usize>,
    /// `--connections`: exactly so many.
    pub(crate) connections: Option<usize>,
    /// `--batch-rows`: exactly so many rows a statement.
    pub(crate) batch_rows: Option<usize>,
    /// Most bytes of a statement: `--batch-bytes`, or what max_allowed_packet allows.
    pub(crate) batch_bytes_max: usize,
    /// Whether the size of statements matters; else each takes all of a portion.
    pub(crate) tune_batch: bool,
    /// `--max-rate`: bytes of input a second.
    pub(crate) rate_bytes: Option<u64>,
    /// Bytes of a chunk: what a portion takes of the rate before its size is known.
    pub(crate) portion_bytes: usize,
}

/// How much one statement holds: it ends before the row that would exceed either.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Batch {
    /// Rows, at least 1.
    pub(crate) rows: usize,
    /// Bytes of its text; a longer row goes alone.
    pub(crate) bytes: usize,
}

/// Decides who may load, and with what batch.
#[derive(Debug)]
pub(crate) struct Controller {
    limits: Limits,
    began: Instant,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    closed: bool,
    /// Lanes with a permit.
    active: usize,
    /// Most there were at once.
    active_max: usize,
    connections: usize,
    batch: Batch,
    backoff: Backoff,
    rate: Option<Rate>,
    rows: u64,
    bytes: u64,
}

/// Leave to load one portion. Dropped without [`Permit::done`], nothing was measured.
#[derive(Debug)]
pub(crate) struct Permit<'a> {
    controller: &'a Controller,
    batch: Batch,
    /// Bytes of the rate.
    taken: f64,
}

impl Controller {
    /// Begins in the middle of the known good region, within `limits`.
    pub(crate) fn new(limits: Limits) -> Controller {
        let most = limits.connections_max.max(1);
        let start = limits.connections.unwrap_or_else(|| {
            limits.server_cores.map_or(8, |cores| cores.saturating_mul(2)).clamp(2, 16)
        });
        let rows = match (limits.batch_rows, limits.tune_batch) {
            (Some(rows), _) => rows.max(1),
            (None, true) => ROWS_START.min(ROWS_MAX),
            (None, false) => usize::MAX,
        };
        let state = State {
            closed: false,
            active: 0,
            active_max: 0,
            connections: start.clamp(1, most),
            batch: Batch { rows, bytes: limits.batch_bytes_max.max(1) },
            backoff: Backoff::new(most),
            rate: limits.rate_bytes.map(|bytes| Rate::new(bytes, limits.portion_bytes)),
            rows: 0,
            bytes: 0,
        };
        Controller {
            limits,
            began: Instant::now(),
            state: Mutex::new(state),
            changed: Condvar::new(),
        }
    }

    /// Waits until lane number `lane` (0, 1, 2, ..) may load a portion. None when nobody may any
    /// more: the input is at its end ([`Controller::close`]) or the load is to stop.
    ///
    /// The lanes with the lowest numbers go first, so the connections of the others need not even
    /// be opened.
    pub(crate) fn enter(&self, lane: usize, interrupt: &Interrupt) -> Option<Permit<'_>> {
        let mut state = self.lock();
        loop {
            if state.closed || interrupt.is_requested() {
                return None;
            }
            let now = self.began.elapsed();
            let wait = state.wait(lane, now);
            if wait.is_zero() {
                break;
            }
            let waited = self.changed.wait_timeout(state, wait.min(NAP));
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        let now = self.began.elapsed();
        let taken = state.rate.as_mut().map_or(0.0, |rate| rate.take(now));
        state.active += 1;
        state.active_max = state.active_max.max(state.active);
        Some(Permit { controller: self, batch: state.batch, taken })
    }

    /// Lets go all who wait: there is nothing left to load.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_all();
    }

    /// Takes note of what the server suffers.
    pub(crate) fn observe(&self, pressure: &Pressure) {
        let mut state = self.lock();
        let now = self.began.elapsed();
        let connections = state.connections;
        state.backoff.observe(pressure, connections, now);
        drop(state);
        self.changed.notify_all();
    }

    /// What was found, for the report.
    pub(crate) fn settled(&self) -> Settled {
        let state = self.lock();
        let row_bytes = state.bytes / state.rows.max(1);
        Settled::new(
            &state.backoff,
            state.connections,
            state.active_max,
            state.batch,
            row_bytes,
            self.began.elapsed(),
        )
    }

    /// What the load is held back for now, as a sentence; None when it is not.
    pub(crate) fn holding(&self) -> Option<String> {
        self.lock().backoff.holding()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// How long lane `lane` has to wait at least; zero if it may go.
    fn wait(&self, lane: usize, now: Duration) -> Duration {
        if lane >= self.connections.min(self.backoff.allowed()) {
            return NAP;
        }
        self.rate.as_ref().map_or(Duration::ZERO, |rate| rate.wait(now))
    }
}

impl Permit<'_> {
    /// How much a statement of this portion holds.
    pub(crate) fn batch(&self) -> Batch {
        self.batch
    }

    /// The portion is committed: `rows` of it, from `bytes` of input.
    pub(crate) fn done(self, rows: u64, bytes: u64) {
        let mut state = self.controller.lock();
        let now = self.controller.began.elapsed();
        state.rows += rows;
        state.bytes += bytes;
        if let Some(rate) = &mut state.rate {
            rate.settle(self.taken, bytes);
        }
        state.backoff.done(now);
    }

    /// The portion has to be loaded again because of `trouble`; the permit stays valid.
    pub(crate) fn troubled(&self, trouble: Trouble) {
        let mut state = self.controller.lock();
        let connections = state.connections;
        state.backoff.troubled(trouble, connections, self.controller.began.elapsed());
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        let mut state = self.controller.lock();
        state.active -= 1;
        drop(state);
        self.controller.changed.notify_all();
    }
}
