//! Runs of rows under way, while the conductor goes on.

use std::collections::BTreeSet;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::Scope;
use std::time::Instant;

use job::failpoint;
use job::pool;
use schema::TableName;

use crate::filling::{Sent, Stopped};
use crate::journal::Spot;
use crate::place::Place;
use crate::route::{self, Job, Shared};

/// Runs under way at once: while one is built or imported, the next is read.
const JOBS_MAX: usize = 2;
/// The least memory that a run's rows are built in, in bytes.
const JOB_BYTES_MIN: u64 = 32 << 20;

/// Runs that may be under way at once in so much memory: one, where there is too little for more.
pub(crate) fn jobs_max(memory_bytes_max: u64) -> usize {
    let fit = usize::try_from(memory_bytes_max / JOB_BYTES_MIN).unwrap_or(usize::MAX);
    fit.clamp(1, JOBS_MAX)
}

/// A run that is in, or is not.
pub(crate) struct Finished {
    /// The table.
    pub(crate) table: TableName,
    /// Where it begins.
    pub(crate) place: Place,
    pub(crate) spot: Spot,
    pub(crate) outcome: Result<Sent, Stopped>,
    pub(crate) seconds: f64,
}

/// Runs under way, a thread each.
pub(crate) struct Runs<'scope, 'env> {
    scope: &'scope Scope<'scope, 'env>,
    shared: Shared<'env>,
    busy: BTreeSet<TableName>,
    finished: (Sender<Finished>, Receiver<Finished>),
}

impl<'scope, 'env> Runs<'scope, 'env> {
    pub(crate) fn new(scope: &'scope Scope<'scope, 'env>, shared: Shared<'env>) -> Self {
        Runs { scope, shared, busy: BTreeSet::new(), finished: channel() }
    }

    /// True if there is room for one more.
    pub(crate) fn has_room(&self) -> bool {
        self.busy.len() < self.shared.jobs_max
    }

    /// True if a table's rows are being loaded.
    pub(crate) fn is_busy(&self, table: &TableName) -> bool {
        self.busy.contains(table)
    }

    /// True if nothing is being loaded.
    pub(crate) fn is_idle(&self) -> bool {
        self.busy.is_empty()
    }

    /// Begins a run, of a table that is not busy, where there is room.
    pub(crate) fn begin(&mut self, place: Place, job: Job) {
        let (table, spot) = (job.table.clone(), job.spot);
        assert!(self.has_room() && self.busy.insert(table.clone()), "{table} is not to begin");
        let (shared, sender) = (self.shared, self.finished.0.clone());
        let run = shared.watch.begin(job.input.file_bytes());
        self.scope.spawn(move || {
            let started = Instant::now();
            // Whoever died of a mistake of ours, or of the driver's, says so too.
            let outcome = pool::catch(|| {
                failpoint::hit("thread.run");
                route::put(shared, job, &run)
            });
            let outcome = outcome.unwrap_or_else(|error| Err(error.into()));
            shared.watch.end(&run);
            let seconds = started.elapsed().as_secs_f64();
            // The receiver is gone only with the conductor.
            let _ = sender.send(Finished { table, place, spot, outcome, seconds });
        });
    }

    /// A run that has ended, if any has; waits for one where `wait` says so and any is under way.
    pub(crate) fn next(&mut self, wait: bool) -> Option<Finished> {
        let finished = match wait && !self.is_idle() {
            // Each one that was begun says how it ended.
            true => self.finished.1.recv().ok(),
            false => self.finished.1.try_recv().ok(),
        }?;
        self.busy.remove(&finished.table);
        Some(finished)
    }
}
