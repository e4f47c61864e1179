//! One connection at work: portions in, transactions out.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use server::{ConnectOptions, TableName};
use sources::{Chunk, Source};

use super::collector::{Collected, Collector};
use super::plain::{PlainEncoder, PlainSender};
use crate::error::Error;
use crate::job::Job;
use crate::pool;
use crate::progress::{Snapshot, Stage};
use crate::rejects::Rejects;
use crate::stop::Stop;

/// What the lanes share.
pub(crate) struct Lanes<'a> {
    job: &'a Job<'a>,
    connect: &'a ConnectOptions,
    source: &'a Mutex<Box<dyn Source>>,
    /// Where rows go.
    into: TableName,
    collector: Collector,
    given_up: Arc<AtomicBool>,
    bytes_total: Option<u64>,
    stop: AtomicBool,
}

impl<'a> Lanes<'a> {
    pub(crate) fn new(
        job: &'a Job<'a>,
        connect: &'a ConnectOptions,
        source: &'a Mutex<Box<dyn Source>>,
        into: TableName,
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
            collector: Collector::new(rejects),
            given_up,
            bytes_total,
            stop: AtomicBool::new(false),
        })
    }

    /// Runs `lanes` lanes to the end of the input; gives what they tell, and the bytes read.
    pub(crate) fn run(self, lanes: usize) -> Result<(Collected, u64), Error> {
        pool::run(lanes, || self.work(), || self.close()).map_err(|stop| self.explain(stop))?;
        let source = self.source.lock().unwrap_or_else(PoisonError::into_inner);
        Ok((self.collector.finish()?, source.bytes_read()))
    }

    fn work(&self) -> Result<(), Stop> {
        let mut encoder = PlainEncoder::new(self.job);
        let mut sender = PlainSender::connect(self.connect, self.job, &self.into)?;
        loop {
            let mut chunk = Chunk::default();
            if !self.next_chunk(&mut chunk)? {
                return Ok(());
            }
            let portion = encoder.encode(chunk, self.job.rung.path.form());
            let (ordinal, rows) = (portion.ordinal, portion.rows.len() as u64);
            let rejects = sender.send(portion)?;
            self.collector.take(ordinal, rows, rejects)?;
        }
    }

    /// Takes the next chunk; false at the end of the input, or if there is no need to go on.
    fn next_chunk(&self, chunk: &mut Chunk) -> Result<bool, Stop> {
        self.job.options.interrupt.check()?;
        let mut source = self.source.lock().unwrap_or_else(PoisonError::into_inner);
        if self.stop.load(Ordering::Relaxed) {
            return Err(Stop::Abandoned);
        }
        if self.collector.is_full() {
            return Ok(false);
        }
        let more = source.next_chunk(chunk)?;
        self.job.progress.update(Snapshot {
            stage: Stage::Rows,
            rows: self.collector.rows(),
            done_bytes: source.bytes_read(),
            total_bytes: self.bytes_total,
        });
        Ok(more)
    }

    /// Lets no lane begin a portion or wait any more.
    fn close(&self) {
        self.stop.store(true, Ordering::Relaxed);
        self.given_up.store(true, Ordering::Relaxed);
        self.collector.close();
    }

    fn explain(&self, stop: Stop) -> Error {
        match stop {
            Stop::Failed(error) => error,
            _ => Error::Internal("lanes stopped without a reason".to_owned()),
        }
    }
}
