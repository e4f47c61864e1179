//! One connection at work: portions in, transactions out.
//!
//! A lane waits for the controller's leave, takes a chunk under the source's lock, writes its rows
//! out, has them loaded, and tells the collector. Nothing queues: what a lane holds is its portion.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use server::capacity::Capacity;
use server::{ConnectOptions, TableName, Target};
use sources::{Chunk, Source};

use super::budget::{Budget, Loan, Shares};
use super::collector::{Collected, Collector};
use super::plain::{PlainEncoder, PlainSender};
use super::watch::Watch;
use crate::controller::{Controller, Limits, Settled};
use crate::error::Error;
use crate::job::Job;
use crate::options::LoadPath;
use crate::pool;
use crate::progress::{Snapshot, Stage};
use crate::rejects::Rejects;
use crate::stop::Stop;

/// Most connections where nothing is said of them.
const CONNECTIONS_MAX: usize = 64;
/// Bytes of a statement beyond which nothing gets faster.
const STATEMENT_BYTES_MAX: u64 = 8 << 20;
/// What a statement is besides its rows.
const STATEMENT_BYTES: u64 = 64 << 10;

/// What the lanes share.
pub(crate) struct Lanes<'a> {
    job: &'a Job<'a>,
    connect: &'a ConnectOptions,
    source: &'a Mutex<Box<dyn Source>>,
    /// Where rows go.
    into: TableName,
    controller: Controller,
    lanes: usize,
    budget: Budget,
    collector: Collector,
    given_up: Arc<AtomicBool>,
    bytes_total: Option<u64>,
    next_lane: AtomicUsize,
    stop: AtomicBool,
}

/// What came of all lanes.
pub(crate) struct Loaded {
    pub(crate) collected: Collected,
    pub(crate) settled: Settled,
    pub(crate) bytes_read: u64,
}

impl<'a> Lanes<'a> {
    /// Lanes into table `into`, within `shares`.
    pub(crate) fn new(
        job: &'a Job<'a>,
        connect: &'a ConnectOptions,
        source: &'a Mutex<Box<dyn Source>>,
        into: TableName,
        limits: Limits,
        shares: &Shares,
    ) -> Result<Lanes<'a>, Error> {
        let options = job.options;
        let rejects = Rejects::create(
            options.rejects.as_deref(),
            options.rejects_max,
            &options.dialect.lines_terminated_by,
        )?;
        let (given_up, bytes_total) = {
            let source = source.lock().unwrap_or_else(PoisonError::into_inner);
            (source.given_up(), source.bytes_total())
        };
        Ok(Lanes {
            job,
            connect,
            source,
            into,
            lanes: limits.connections.unwrap_or(limits.connections_max),
            controller: Controller::new(limits),
            budget: Budget::new(shares),
            collector: Collector::new(rejects),
            given_up,
            bytes_total,
            next_lane: AtomicUsize::new(0),
            stop: AtomicBool::new(false),
        })
    }

    /// Runs the lanes to the end of the input.
    pub(crate) fn run(self, mut watch: Watch) -> Result<Loaded, Error> {
        let ended = watch.during(&self.controller, self.job, || {
            pool::run(self.lanes, || self.work(), || self.close())
        });
        ended.map_err(|stop| self.explain(stop))?;
        let source = self.source.lock().unwrap_or_else(PoisonError::into_inner);
        let settled = self.controller.settled();
        Ok(Loaded { collected: self.collector.finish()?, settled, bytes_read: source.bytes_read() })
    }

    fn work(&self) -> Result<(), Stop> {
        let number = self.next_lane.fetch_add(1, Ordering::Relaxed);
        let form = self.job.rung.path.form();
        let mut encoder = PlainEncoder::new(self.job);
        let mut sender = None;
        while let Some(permit) = self.controller.enter(number, &self.job.options.interrupt) {
            let Some((chunk, loan)) = self.next_chunk()? else {
                self.controller.close();
                return Ok(());
            };
            let bytes = chunk.bytes.len() as u64;
            let sender = match &mut sender {
                Some(sender) => sender,
                none => none.insert(PlainSender::connect(self.connect, self.job, &self.into)?),
            };
            let portion = encoder.encode(chunk, form);
            let (ordinal, rows) = (portion.ordinal, portion.rows.len() as u64);
            let rejects = sender.send(portion, permit.batch())?;
            drop(loan);
            permit.done(rows, bytes);
            self.collector.take(ordinal, rows, rejects)?;
        }
        // Nobody may begin a portion any more: the input has ended, or the load is to.
        self.job.options.interrupt.check()?;
        if self.stop.load(Ordering::Relaxed) { Err(Stop::Abandoned) } else { Ok(()) }
    }

    /// Takes the next chunk; none at the end of the input, or if there is no need to go on.
    fn next_chunk(&self) -> Result<Option<(Chunk, Loan<'_>)>, Stop> {
        self.job.options.interrupt.check()?;
        let mut source = self.source.lock().unwrap_or_else(PoisonError::into_inner);
        if self.stop.load(Ordering::Relaxed) {
            return Err(Stop::Abandoned);
        }
        if self.collector.is_full() {
            return Ok(None);
        }
        let mut chunk = Chunk::default();
        let more = source.next_chunk(&mut chunk)?;
        self.job.progress.update(Snapshot {
            stage: Stage::Rows,
            rows: self.collector.rows(),
            done_bytes: source.bytes_read(),
            total_bytes: self.bytes_total,
        });
        // Waited for with the source locked, so that nobody reads another meanwhile.
        Ok(more.then(|| {
            let loan = self.budget.borrow(chunk.bytes.len());
            (chunk, loan)
        }))
    }

    /// Lets no lane begin a portion or wait any more.
    fn close(&self) {
        self.stop.store(true, Ordering::Relaxed);
        self.given_up.store(true, Ordering::Relaxed);
        self.controller.close();
        self.collector.close();
    }

    fn explain(&self, stop: Stop) -> Error {
        match stop {
            Stop::Failed(error) => error,
            _ => Error::Internal("lanes stopped without a reason".to_owned()),
        }
    }
}

/// Within what the controller may choose for a target.
pub(crate) fn limits(job: &Job<'_>, target: &mut Target, shares: &Shares) -> Result<Limits, Error> {
    let batches = job.options.batches;
    let capacity = Capacity::read(&mut target.session)?;
    let room = capacity.connections.unwrap_or(CONNECTIONS_MAX);
    let connections_max = match batches.connections {
        Some(connections) if connections > shares.lanes_max => {
            return Err(Error::Memory {
                given_bytes: job.options.memory_bytes_max,
                reason: format!(
                    "it has room for {} connections, --connections asks for {connections}",
                    shares.lanes_max
                ),
            });
        }
        Some(connections) => connections,
        None => room.min(shares.lanes_max).min(CONNECTIONS_MAX),
    };
    let packet = target.session.query_row("SELECT @@max_allowed_packet")?.number::<u64>(0)?;
    let packet = packet.saturating_sub(STATEMENT_BYTES).max(1024);
    let wanted = batches.bytes.unwrap_or(STATEMENT_BYTES_MAX);
    let whole = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
    Ok(Limits {
        connections_max,
        server_cores: capacity.cores,
        connections: batches.connections,
        batch_rows: batches.rows.map(whole),
        batch_bytes_max: whole(wanted.min(packet)),
        tune_batch: job.rung.path == LoadPath::Insert,
        rate_bytes: batches.bytes_per_second_max,
        lag_max: job.options.replicas.lag_max.unwrap_or_default(),
        portion_bytes: shares.chunk_bytes,
    })
}
