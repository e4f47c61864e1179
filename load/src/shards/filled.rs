//! The loads of all shards: each the ordinary load of one table, of the rows that are its own.
//!
//! As many run at once as there is memory for. None waits for another: a shard that gets most of the rows takes
//! longest.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use encode::routed::{RowRouter, RowsOfPartition};
use job::error::Error;
use job::failpoint;
use job::options::{LoadOptions, Mode};
use job::pool;
use job::progress::{Progress, Snapshot, Stage};
use job::report::Report;
use job::stop::Reason;
use server::ConnectOptions;
use targets::shards::{Shard, ShardMap};

use super::LoadOne;
use super::looked::{self, Looked};

/// Memory that a load of a shard is given at least, as long as there are others to wait for.
const MEMORY_BYTES_MIN: u64 = 96 << 20;

/// What they share.
pub(super) struct Loads<'l> {
    connect: &'l ConnectOptions,
    options: LoadOptions,
    router: Arc<RowRouter>,
    next: &'l ShardMap,
    load_one: &'l LoadOne<'l>,
    at_once: usize,
    /// Of no use any more: another has failed.
    stop: Arc<AtomicBool>,
}

impl<'l> Loads<'l> {
    pub(super) fn new(
        connect: &'l ConnectOptions,
        (options, load_one): (&LoadOptions, &'l LoadOne<'l>),
        looked: &Looked,
        next: &'l ShardMap,
    ) -> Loads<'l> {
        let room = usize::try_from(options.memory_bytes_max / MEMORY_BYTES_MIN).unwrap_or(1);
        let at_once = next.shards.len().min(room.max(1));
        let options = LoadOptions {
            mode: Mode::Insert,
            ddl: None,
            // A shard may get no row.
            allow_empty: true,
            threads: options.threads.div_ceil(at_once),
            memory_bytes_max: options.memory_bytes_max / at_once as u64,
            sql_mode: Some(looked.sql_mode.clone()),
            time_zone: options.time_zone.clone().or_else(|| looked.time_zone.clone()),
            // They are no jobs of their own.
            state_dir: options.state_dir.join("shards"),
            command: None,
            shard_addresses: Vec::new(),
            ..options.clone()
        };
        let router = Arc::clone(&looked.router);
        Loads { connect, options, router, next, load_one, at_once, stop: Arc::default() }
    }

    /// Runs them all; their reports, in the order of the shards.
    ///
    /// Errors: of the first that failed, [`Error::Shard`]; the others end then.
    pub(super) fn run(&self, progress: &dyn Progress) -> Result<Vec<Report>, Error> {
        let state_dir = &self.options.state_dir;
        std::fs::create_dir_all(state_dir).map_err(Error::io("making", state_dir))?;
        let count = self.next.shards.len();
        let told = Told { progress, parts: Mutex::new(vec![None; count]) };
        let reports = Mutex::new(vec![None; count]);
        let turn = AtomicUsize::new(0);
        let work = || {
            failpoint::hit("thread.shard");
            loop {
                let at = turn.fetch_add(1, Ordering::Relaxed);
                let Some(shard) = self.next.shards.get(at) else { return Ok(()) };
                if self.stop.load(Ordering::Relaxed) {
                    return Err(Ended(None));
                }
                let report = self.load(at, shard, &Part { told: &told, at });
                let report = report.map_err(|error| self.ended(shard, error))?;
                lock(&reports)[at] = Some(report);
                failpoint::hit(&format!("shards.filled.{at}"));
            }
        };
        let close = || self.stop.store(true, Ordering::Relaxed);
        pool::run(self.at_once, work, close).map_err(|Ended(error)| {
            error.unwrap_or_else(|| Error::Internal("the loads of shards ended early".to_owned()))
        })?;
        let reports = reports.into_inner().unwrap_or_else(PoisonError::into_inner);
        let all: Option<Vec<Report>> = reports.into_iter().collect();
        all.ok_or_else(|| Error::Internal("a shard has not told what it got".to_owned()))
    }

    fn load(&self, at: usize, shard: &Shard, progress: &Part<'_>) -> Result<Report, Error> {
        let connect = looked::reached(shard, self.connect)?;
        let rows = RowsOfPartition {
            router: Arc::clone(&self.router),
            partition: at,
            stop: Arc::clone(&self.stop),
        };
        let options = LoadOptions {
            database: shard.table.database.clone(),
            table: shard.table.table.clone(),
            selection: Some(Arc::new(rows)),
            ..self.options.clone()
        };
        (self.load_one)(at, &connect, &options, progress)
    }

    /// Why a load ended: nothing of its own where another had failed before.
    fn ended(&self, shard: &Shard, error: Error) -> Ended {
        match self.stop.load(Ordering::Relaxed) {
            true => Ended(None),
            false if matches!(error, Error::Shard { .. }) => Ended(Some(error)),
            false => Ended(Some(looked::of(shard, error))),
        }
    }
}

/// Why a load of a shard ended; none that another had.
struct Ended(Option<Error>);

impl From<Error> for Ended {
    fn from(error: Error) -> Ended {
        Ended(Some(error))
    }
}

impl Reason for Ended {
    const ABANDONED: Ended = Ended(None);

    fn is_abandoned(&self) -> bool {
        self.0.is_none()
    }
}

/// How far all shards are, for whoever watches.
struct Told<'p> {
    progress: &'p dyn Progress,
    parts: Mutex<Vec<Option<Snapshot>>>,
}

/// How far one is.
struct Part<'t> {
    told: &'t Told<'t>,
    at: usize,
}

impl Progress for Part<'_> {
    fn update(&self, snapshot: Snapshot) {
        let all = {
            let mut parts = lock(&self.told.parts);
            let before = parts[self.at].map_or(0, |part: Snapshot| part.rows);
            parts[self.at] = Some(Snapshot { rows: snapshot.rows.max(before), ..snapshot });
            let seen = parts.iter().flatten();
            let is_read = |part: &&Snapshot| part.stage == Stage::Rows;
            let read = parts.iter().flatten().filter(is_read);
            Snapshot {
                stage: Stage::Rows,
                rows: seen.map(|part| part.rows).sum(),
                done_bytes: read.clone().map(|part| part.done_bytes).sum(),
                total_bytes: read.map(|part| part.total_bytes).sum(),
                seconds_left: None,
            }
        };
        self.told.progress.update(all);
    }

    fn waiting(&self, text: &str) {
        self.told.progress.waiting(text);
    }
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
