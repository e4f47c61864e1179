//! The decisions of the controller, without its clock and its lock: so tests can run hours of
//! loading in no time.

use std::time::Duration;

use crate::pressure::Pressure;
use crate::retry::Cause;
use job::settled::Settled;

use super::backoff::Backoff;
use super::rate::Rate;
use super::sample::Sample;
use super::search::Search;
use super::statement::Statement;
use super::{Batch, Limits};

/// Sleep of a connection that has no turn; it is woken when it gets one.
const IDLE: Duration = Duration::from_secs(3600);

/// Connections to begin with where the server's processors are not known.
const CONNECTIONS_START: usize = 4;
/// Connections for each processor of the server: one is served while another sends.
const CONNECTIONS_PER_CORE: usize = 2;
/// The known good region ends here; what is beyond is found by climbing.
const CONNECTIONS_START_MAX: usize = 16;

/// Share of the redo log from which on writers are about to wait for pages to be flushed.
const CHECKPOINT_FULL: f64 = 0.9;

/// Rows a statement starts with, in the known good region.
const ROWS_START: usize = 1000;
/// Most rows of a statement that are tried.
const ROWS_MAX: usize = 10_000;

/// All that is known of the load so far, and what follows from it.
#[derive(Debug)]
pub(super) struct Tuner {
    search: Search,
    /// None: a statement takes all of a chunk.
    statement: Option<Statement>,
    batch_bytes_max: usize,
    backoff: Backoff,
    rate: Option<Rate>,
    /// Connections at work, and the seconds that all connections worked until `counted_at`.
    active: usize,
    active_max: usize,
    connection_seconds: f64,
    counted_at: Duration,
    rows: u64,
    bytes: u64,
    checkpoint_max: f64,
}

/// A chunk at work.
#[derive(Clone, Copy, Debug)]
pub(super) struct Begun {
    pub(super) batch: Batch,
    at: Duration,
    connection_seconds: f64,
    /// Bytes of the rate.
    taken: f64,
}

impl Tuner {
    pub(super) fn new(limits: &Limits) -> Tuner {
        let most = limits.connections_max.max(1);
        let search = match limits.connections {
            Some(connections) => Search::fixed(connections.clamp(1, most)),
            None => {
                let (start, near) = start(limits.server_cores);
                Search::new(start, most, near)
            }
        };
        let statement = match limits.batch_rows {
            Some(rows) => Some(Statement::fixed(rows)),
            None => limits.tune_batch.then(|| Statement::new(ROWS_START, ROWS_MAX)),
        };
        Tuner {
            search,
            statement,
            batch_bytes_max: limits.batch_bytes_max.max(1),
            backoff: Backoff::new(limits.lag_max),
            rate: limits.rate_bytes.map(|bytes| Rate::new(bytes, limits.chunk_bytes)),
            active: 0,
            active_max: 0,
            connection_seconds: 0.0,
            counted_at: Duration::ZERO,
            rows: 0,
            bytes: 0,
            checkpoint_max: 0.0,
        }
    }

    /// How long connection `number` has to wait at least; zero if it may go.
    pub(super) fn wait(&self, number: usize, now: Duration) -> Duration {
        if number >= self.connections() {
            return IDLE;
        }
        self.rate.as_ref().map_or(Duration::ZERO, |rate| rate.wait(now))
    }

    /// Connections that may be at work now.
    pub(super) fn connections(&self) -> usize {
        self.search.connections().min(self.backoff.allowed())
    }

    /// A connection begins a chunk.
    pub(super) fn begin(&mut self, now: Duration) -> Begun {
        self.count(now);
        self.active += 1;
        self.active_max = self.active_max.max(self.active);
        let taken = self.rate.as_mut().map_or(0.0, |rate| rate.take(now));
        let rows = self.statement.as_mut().map_or(usize::MAX, Statement::next);
        let batch = Batch { rows, bytes: self.batch_bytes_max };
        Begun { batch, at: now, connection_seconds: self.connection_seconds, taken }
    }

    /// The chunk is committed.
    pub(super) fn done(&mut self, begun: &Begun, rows: u64, bytes: u64, now: Duration) {
        self.count(now);
        self.rows += rows;
        self.bytes += bytes;
        if let Some(rate) = &mut self.rate {
            rate.settle(begun.taken, bytes);
        }
        self.backoff.done(self.search.connections(), now);
        let took = now.saturating_sub(begun.at);
        if rows == 0 || took.is_zero() {
            return;
        }
        let beside = (self.connection_seconds - begun.connection_seconds) / took.as_secs_f64();
        let sample = Sample::new(bytes, took, beside);
        let usual = self.statement.as_ref().map_or(usize::MAX, Statement::best);
        if let Some(statement) = &mut self.statement {
            let rows_max = self.batch_bytes_max as u64 / (bytes / rows).max(1);
            statement.push(begun.batch.rows, sample, rows as usize, rows_max as usize);
            if statement.best() != usual {
                return self.search.forget();
            }
        }
        if begun.batch.rows != usual {
            return;
        }
        if self.backoff.allowed() >= self.search.connections() {
            self.search.push(sample, now);
        } else {
            self.search.suspend();
        }
    }

    /// A connection has no chunk any more.
    pub(super) fn leave(&mut self, now: Duration) {
        self.count(now);
        self.active -= 1;
    }

    /// The chunk has to be loaded again.
    pub(super) fn troubled(&mut self, cause: Cause, now: Duration) {
        self.backoff.troubled(cause, self.search.connections(), now);
    }

    /// Takes note of what the server suffers.
    pub(super) fn observe(&mut self, pressure: &Pressure, now: Duration) {
        let checkpoint = pressure.checkpoint.unwrap_or(0.0);
        self.checkpoint_max = self.checkpoint_max.max(checkpoint);
        self.search.press(checkpoint >= CHECKPOINT_FULL);
        self.backoff.observe(pressure, self.search.connections(), self.active, now);
    }

    /// The reason why the load is held back now.
    pub(super) fn holding(&self) -> Option<String> {
        self.backoff.holding()
    }

    /// How long a replica has applied nothing, and its words.
    pub(super) fn standing(&self, now: Duration) -> Option<(Duration, &str)> {
        self.backoff.standing(now)
    }

    /// The settings.
    pub(super) fn settled(&self) -> Settled {
        let row_bytes = self.bytes / self.rows.max(1);
        let rows = self.statement.as_ref().map(|statement| statement.best() as u64);
        let bytes = |rows: u64| rows.saturating_mul(row_bytes).min(self.batch_bytes_max as u64);
        Settled {
            connections: self.search.best(),
            connections_max: self.active_max,
            batch_rows: rows,
            batch_bytes: rows.map(bytes),
            redo_log_max: self.checkpoint_max,
            held_back: self.backoff.held(),
        }
    }

    /// Adds up the connections' time until `now`.
    fn count(&mut self, now: Duration) {
        self.connection_seconds +=
            self.active as f64 * now.saturating_sub(self.counted_at).as_secs_f64();
        self.counted_at = now;
    }
}

/// Connections to begin with, and whether the best number is taken to be near.
fn start(server_cores: Option<usize>) -> (usize, bool) {
    let Some(cores) = server_cores else { return (CONNECTIONS_START, false) };
    let known = cores.saturating_mul(CONNECTIONS_PER_CORE);
    (known.clamp(2, CONNECTIONS_START_MAX), known <= CONNECTIONS_START_MAX)
}
