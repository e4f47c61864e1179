//! The loads of all shards: each the ordinary load of one table, of the rows that are its own.
//!
//! As many run at once as there is memory for, beside the one reading of the input that gives each its rows.
//! None waits for another, but for rows that come behind those that a slower one has no room for.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use job::error::Error;
use job::failpoint;
use job::options::{LoadOptions, Mode, OnDuplicate, ResourceLimits, RowOptions, ServerOptions};
use job::pool;
use job::progress::{Progress, Snapshot, Stage};
use job::report::Report;
use job::stop::Stop;
use job::tally;
use locks::Mutex;
use server::ConnectOptions;
use sources::{Source, SourceExt as _};

use super::LoadOne;
use super::inspection::{self, Inspection};
use super::shares::Split;
use crate::map::{Shard, ShardMap};
use crate::routed::{RowRouter, RowsOfPartition, SharedReading};

/// State shared by the loads.
pub(super) struct Loads<'l> {
    connect: &'l ConnectOptions,
    options: LoadOptions,
    split: Split,
    router: Arc<RowRouter>,
    next: &'l ShardMap,
    load_one: &'l LoadOne<'l>,
    /// True if another load failed, which makes all useless.
    stop: AtomicBool,
}

/// The results of the loads.
#[derive(Default)]
pub(super) struct Filled {
    /// In the order of the shards, with how long each waited for rows.
    pub(super) reports: Vec<(Report, Duration)>,
    /// Bytes of the input.
    pub(super) bytes: u64,
}

impl Filled {
    /// Rows of all shards.
    pub(super) fn rows(&self) -> u64 {
        self.reports.iter().map(|(report, _)| report.rows).sum()
    }
}

impl<'l> Loads<'l> {
    /// Loads of the rows of this unread source.
    ///
    /// Errors: files that cannot be looked at.
    pub(super) fn new(
        connect: &'l ConnectOptions,
        options: &LoadOptions,
        load_one: &'l LoadOne<'l>,
        looked: &Inspection,
        next: &'l ShardMap,
        source: &dyn Source,
    ) -> Result<Loads<'l>, Error> {
        let split = Split::of(options, next.shards.len(), source)?;
        let options = LoadOptions {
            mode: Mode::Insert,
            ddl: None,
            // A shard may get no row.
            allow_empty: true,
            // They are no jobs of their own.
            state_dir: options.state_dir.join("shards"),
            command: None,
            limits: ResourceLimits {
                threads: options.limits.threads.div_ceil(split.at_once),
                memory_bytes_max: split.load_bytes,
                ..options.limits.clone()
            },
            rows: RowOptions {
                sql_mode: Some(looked.sql_mode.clone()),
                time_zone: options.rows.time_zone.clone().or_else(|| looked.time_zone.clone()),
                ..options.rows.clone()
            },
            server: ServerOptions { shard_addresses: Vec::new(), ..options.server.clone() },
            ..options.clone()
        };
        let lacking = || Error::Internal("the shard of a row is unknown".to_owned());
        let router = looked.router.clone().ok_or_else(lacking)?;
        let stop = AtomicBool::new(false);
        Ok(Loads { connect, options, split, router, next, load_one, stop })
    }

    /// Runs them all.
    ///
    /// Errors: of the first that failed, [`Error::Shard`]; of the reading; the others end then.
    pub(super) fn run(
        &self,
        mut source: Box<dyn Source>,
        progress: &dyn Progress,
    ) -> Result<Filled, Error> {
        let state_dir = &self.options.state_dir;
        disk::private::make(state_dir).map_err(Error::io("making", state_dir))?;
        let count = self.next.shards.len();
        let told = ShardProgress { progress, parts: Mutex::new(vec![None; count]) };
        let Split { at_once, rows, readers, chunk_bytes, record_bytes_max, .. } = self.split;
        let (mut reports, mut bytes) = (Vec::new(), 0);
        for first in (0..count).step_by(at_once) {
            let group = first..(first + at_once).min(count);
            source.begin_with(chunk_bytes, record_bytes_max)?;
            let interrupt = &self.options.interrupt;
            let (router, shards) = (&self.router, group.clone());
            let reading = SharedReading::new(source, router, shards, rows, readers, interrupt);
            reports.extend(self.group(&reading, group, &told)?);
            source = reading.into_source();
            bytes = source.bytes_read();
        }
        Ok(Filled { reports, bytes })
    }

    /// Runs those of a group beside one reading.
    fn group(
        &self,
        reading: &SharedReading,
        group: Range<usize>,
        told: &ShardProgress<'_>,
    ) -> Result<Vec<(Report, Duration)>, Error> {
        let reports = Mutex::new(vec![None; group.len()]);
        let turn = AtomicUsize::new(group.start);
        let work = || {
            failpoint::hit("thread.shard");
            let at = turn.fetch_add(1, Ordering::Relaxed);
            if !group.contains(&at) {
                return reading.work();
            }
            let shard = &self.next.shards[at];
            let report = self.load(at, shard, reading, &Part { told, at });
            let report = report.map_err(|error| self.ended(shard, error))?;
            reports.lock()[at - group.start] = Some((report, reading.waits(at).for_rows));
            failpoint::hit(&format!("shards.filled.{at}"));
            Ok(())
        };
        let close = || {
            self.stop.store(true, Ordering::SeqCst);
            reading.close();
        };
        pool::run(group.len() + self.split.readers, work, close).map_err(|stop| match stop {
            Stop::Failed(error) => error,
            _ => Error::Internal("the loads of shards ended early".to_owned()),
        })?;
        let reports = reports.into_inner();
        let all: Option<Vec<(Report, Duration)>> = reports.into_iter().collect();
        let lacking = || Error::Internal("a shard did not report its rows".to_owned());
        let all = all.ok_or_else(lacking)?;
        // A load that read the input by itself may be through before the shared reading.
        if self.options.rows.on_duplicate == OnDuplicate::Fail {
            for (at, (report, _)) in group.zip(&all) {
                tally::check(reading.rows(at), report.rows + report.rejects, 0)?;
            }
        }
        Ok(all)
    }

    fn load(
        &self,
        at: usize,
        shard: &Shard,
        reading: &SharedReading,
        progress: &Part<'_>,
    ) -> Result<Report, Error> {
        let connect = inspection::reached(shard, self.connect)?;
        let (router, shares) = (Arc::clone(&self.router), self.split.rows);
        let mut options = self.options.clone();
        options.database.clone_from(&shard.table.database);
        options.table.clone_from(&shard.table.table);
        // Of whoever opens the files again.
        let selection = RowsOfPartition { router, partition: at, shares };
        options.input.selection = Some(Arc::new(selection));
        let report = (self.load_one)(at, &connect, &options, reading.rows_of(at)?, progress)?;
        if reading.was_left(at) {
            let what = "the load of a shard has ended before its rows did";
            return Err(Error::Internal(what.to_owned()));
        }
        Ok(report)
    }

    /// Why a load ended: nothing of its own where another had failed before.
    fn ended(&self, shard: &Shard, error: Error) -> Stop {
        match self.stop.load(Ordering::Relaxed) {
            true => Stop::Abandoned,
            false if matches!(error, Error::Shard { .. }) => Stop::Failed(error),
            false => Stop::Failed(inspection::of(shard, error)),
        }
    }
}

/// How far all shards are, for whoever watches.
struct ShardProgress<'p> {
    progress: &'p dyn Progress,
    parts: Mutex<Vec<Option<Snapshot>>>,
}

/// How far one is.
struct Part<'t> {
    told: &'t ShardProgress<'t>,
    at: usize,
}

impl Progress for Part<'_> {
    fn update(&self, snapshot: Snapshot) {
        let all = {
            let mut parts = self.told.parts.lock();
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
