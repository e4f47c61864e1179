//! One reading of the input by many workers: chunk by chunk, each by whoever is free.
//!
//! ```text
//! source --next_chunk--> chunk --Reader--> batch --Sink--> whatever becomes of its rows
//!        under its lock        by its worker
//! ```
//!
//! Readings differ by their [`Sink`]: pages and sorted runs, keys alone, whole rows to be sorted.
//! Connections, which are let in one by one, take their chunks here too.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use job::error::Error;
use job::progress::{Progress, Snapshot, Stage};
use job::stop::Stop;
use job::tally::Tally;
use locks::Mutex;
use server::Interrupt;
use sort::RunStore;
use sources::{Batch, Chunk, Reader, Rows, Source, SourceExt as _, Visit};

use crate::long_records::{self, LongRecords};

/// The use that one worker makes of rows.
pub trait Sink {
    /// Takes the rows of a chunk.
    fn take<R: Rows>(&mut self, chunk: &Chunk, rows: R) -> Result<(), Stop>;

    /// Hands on all it holds: at the end of the input, and when it is to give back its buffers.
    fn hand_on(&mut self) -> Result<(), Stop>;
}

/// State shared by the workers of a reading.
pub struct Reading<'a> {
    source: &'a Mutex<Box<dyn Source>>,
    stage: Stage,
    progress: &'a dyn Progress,
    interrupt: &'a Interrupt,
    bytes_total: Option<u64>,
    /// Ends waiting for the source.
    given_up: Arc<AtomicBool>,
    /// Rows so far, for who watches.
    rows: AtomicU64,
    tally: Tally,
    is_paused: AtomicBool,
    stop: AtomicBool,
}

impl<'a> Reading<'a> {
    /// From where the source stands. `stage` is what the reading is for.
    pub fn new(
        source: &'a Mutex<Box<dyn Source>>,
        stage: Stage,
        progress: &'a dyn Progress,
        interrupt: &'a Interrupt,
    ) -> Reading<'a> {
        let (given_up, bytes_total) = {
            let source = source.lock();
            (Arc::clone(&source.facts().given_up), source.facts().bytes_total)
        };
        Reading {
            source,
            stage,
            progress,
            interrupt,
            bytes_total,
            given_up,
            rows: AtomicU64::new(0),
            tally: Tally::new(),
            is_paused: AtomicBool::new(false),
            stop: AtomicBool::new(false),
        }
    }

    /// Finds the rows of chunks, for one worker. Not to be asked for by who holds a right to a long
    /// record: another may wait for that with the source locked.
    pub fn reader(&self) -> Box<dyn Reader> {
        self.source.lock().reader()
    }

    /// Takes the next chunk; None at the end, or if `is_enough`. With it comes what `enter` gives for
    /// its bytes, which may wait: with the source locked, so that nobody reads another meanwhile.
    pub fn next_chunk<P>(
        &self,
        chunk: &mut Chunk,
        is_enough: impl FnOnce() -> bool,
        enter: impl FnOnce(usize) -> P,
    ) -> Result<Option<P>, Stop> {
        self.interrupt.check()?;
        let mut source = self.source.lock();
        if self.is_stopped() {
            return Err(Stop::Abandoned);
        }
        if is_enough() || self.is_paused.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let more = source.next_chunk(chunk)?;
        if more {
            self.tally.take_chunk();
        }
        self.progress.update(Snapshot {
            stage: self.stage,
            rows: self.rows.load(Ordering::Relaxed),
            done_bytes: source.bytes_read(),
            total_bytes: self.bytes_total,
            seconds_left: None,
        });
        Ok(more.then(|| enter(chunk.bytes.len())))
    }

    /// Runs one worker to the end of the input, until it is paused, or to the first failure of any.
    /// `stores` make room for a record that is far longer than a worker's share.
    pub fn work<S: Sink>(
        &self,
        large: &LongRecords,
        stores: &[RunStore],
        sink: impl Fn() -> Result<S, Stop>,
    ) -> Result<(), Stop> {
        let tally = &self.tally;
        let (reader, batch, sink_now) = (self.reader(), Batch::new(), sink()?);
        let mut worker = Worker { reader, batch, sink: sink_now, tally };
        let mut chunk = Chunk::default();
        while !self.is_stopped() {
            let enter = |bytes| large.enter_if_large(bytes);
            let Some(pass) = self.next_chunk(&mut chunk, || false, enter)? else {
                return worker.sink.hand_on();
            };
            let Some(pass) = pass else {
                worker.take(&chunk)?;
                continue;
            };
            let loans = long_records::borrow(stores, chunk.bytes.len())?;
            worker.take(&chunk)?;
            // Its buffers have grown with the record: give them back before the loans.
            worker.sink.hand_on()?;
            chunk = Chunk::default();
            (worker.batch, worker.sink) = (Batch::new(), sink()?);
            drop(loans);
            drop(pass);
        }
        Err(Stop::Abandoned)
    }

    /// Gives out no more chunks. Workers finish those that they have, and end.
    pub fn pause(&self) {
        self.is_paused.store(true, Ordering::Relaxed);
    }

    /// Gives out chunks again, for new workers; true if it was paused.
    pub fn resume(&self) -> bool {
        self.is_paused.swap(false, Ordering::Relaxed)
    }

    /// Lets no worker begin a chunk or wait for one any more.
    pub fn close(&self) {
        self.stop.store(true, Ordering::SeqCst);
        self.given_up.store(true, Ordering::SeqCst);
    }

    /// True if it was closed.
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }

    /// To be set by who has no use for more of the source.
    pub fn given_up(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.given_up)
    }

    /// Counts taken chunks, and with [`Reading::work`] the rows found in them. Others count the
    /// fates of these rows.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// So many rows are done.
    pub fn add_rows(&self, rows: u64) {
        self.rows.fetch_add(rows, Ordering::Relaxed);
    }

    /// So many rows are done in all.
    pub fn set_rows(&self, rows: u64) {
        self.rows.store(rows, Ordering::Relaxed);
    }
}

struct Worker<'t, S> {
    reader: Box<dyn Reader>,
    batch: Batch,
    sink: S,
    tally: &'t Tally,
}

impl<S: Sink> Worker<'_, S> {
    fn take(&mut self, chunk: &Chunk) -> Result<(), Stop> {
        self.reader.read(chunk, &mut self.batch)?;
        self.tally.read(self.batch.len() as u64);
        self.batch.visit(chunk, Taking { sink: &mut self.sink, chunk })
    }
}

struct Taking<'a, S> {
    sink: &'a mut S,
    chunk: &'a Chunk,
}

impl<S: Sink> Visit for Taking<'_, S> {
    type Output = Result<(), Stop>;

    fn rows<R: Rows>(self, rows: R) -> Result<(), Stop> {
        self.sink.take(self.chunk, rows)
    }
}

/// Reads the first rows of a source until `take` gives false, then restarts the source.
pub fn read_start(
    source: &mut dyn Source,
    interrupt: &Interrupt,
    mut take: impl FnMut(&Chunk, &Batch) -> bool,
) -> Result<(), Error> {
    if let Err(stop) = read_alone(source, interrupt, |chunk, batch| Ok(take(chunk, batch))) {
        interrupt.check()?;
        return Err(stop.into_error("reading"));
    }
    Ok(source.restart()?)
}

/// Reads a source from where it stands, alone, until `take` says that it was enough.
pub fn read_alone(
    source: &mut dyn Source,
    interrupt: &Interrupt,
    mut take: impl FnMut(&Chunk, &Batch) -> Result<bool, Stop>,
) -> Result<(), Stop> {
    let (mut reader, mut chunk, mut batch) = (source.reader(), Chunk::default(), Batch::new());
    while source.next_chunk(&mut chunk)? {
        interrupt.check()?;
        reader.read(&chunk, &mut batch)?;
        if !take(&chunk, &batch)? {
            break;
        }
    }
    Ok(())
}
