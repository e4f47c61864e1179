//! One reading of an input for several partitions.
//!
//! ```text
//! source --lock--> chunk --Placer--> rows     --turn--> Cutter a --> Queue a
//!                  each thread its own        in order  Cutter b --> Queue b
//! ```
//!
//! Threads take chunks one after the other and tell their rows apart side by side; rows go into the pieces in
//! the order of the input. Who has the turn waits where a queue is full. The load of that queue goes on by
//! itself, or ends, and either makes room; those of other queues have nothing to do with it.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use job::failpoint;
use job::stop::Stop;
use job::turn::Turnstile;
use locks::Mutex;
use server::Interrupt;
use sources::{Chunk, Error, Result, Source, SourceExt as _};

use super::partition_source::PartitionSource;
use super::piece::{Cutter, Piece};
use super::placer::{PlacedRow, Placer};
use super::queue::{Queue, Waits};
use super::{RowRouter, RowsOfPartition};

/// Memory of one partition's rows on their way to its load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shares {
    /// Rows that go on together.
    pub(crate) piece_bytes: usize,
    /// Pieces that wait.
    pub(crate) queue_bytes: usize,
    /// Pieces that are kept for a load that begins again; of more it reads the input by itself.
    pub(crate) kept_bytes: usize,
    /// All of it, or what reading the input by itself takes.
    pub(crate) held_bytes: u64,
}

/// One reading of an input.
pub(crate) struct SharedReading {
    source: Mutex<Box<dyn Source>>,
    router: Arc<RowRouter>,
    /// Those whose rows are wanted.
    partitions: Range<usize>,
    shares: Shares,
    queues: Vec<Arc<Queue>>,
    paths: Arc<Vec<PathBuf>>,
    interrupt: Interrupt,
    turns: Turnstile<Vec<Cutter>>,
    /// Chunks that were taken, and threads that are not through.
    chunks: AtomicU64,
    threads: AtomicUsize,
    /// Rows of each partition.
    rows: Vec<AtomicU64>,
    stop: AtomicBool,
    given_up: Arc<AtomicBool>,
}

impl SharedReading {
    /// A reading of an unread input, by so many threads: each calls [`SharedReading::work`].
    pub(crate) fn new(
        source: Box<dyn Source>,
        router: &Arc<RowRouter>,
        partitions: Range<usize>,
        shares: Shares,
        threads: usize,
        interrupt: &Interrupt,
    ) -> SharedReading {
        let count = partitions.len();
        let paths = source.files().iter().map(|file| file.path.clone()).collect();
        let cutters = (0..count).map(|_| Cutter::new(shares.piece_bytes)).collect();
        SharedReading {
            given_up: Arc::clone(&source.facts().given_up),
            source: Mutex::new(source),
            router: Arc::clone(router),
            partitions,
            shares,
            queues: (0..count).map(|_| Arc::new(Queue::new(shares.queue_bytes))).collect(),
            paths: Arc::new(paths),
            interrupt: interrupt.clone(),
            turns: Turnstile::new(cutters),
            chunks: AtomicU64::new(0),
            threads: AtomicUsize::new(threads),
            rows: (0..count).map(|_| AtomicU64::new(0)).collect(),
            stop: AtomicBool::new(false),
        }
    }

    /// The rows of a partition that is wanted, for one load.
    ///
    /// Errors: an input of which there can be but one reading.
    pub(crate) fn rows_of(&self, partition: usize) -> Result<Box<dyn Source>> {
        let input = self.source.lock().again().ok_or_else(|| {
            Error::Dialect("only input that can be read again can be divided".to_owned())
        })?;
        let router = Arc::clone(&self.router);
        let rows = RowsOfPartition { router, partition, shares: self.shares };
        let queue = &self.queues[partition - self.partitions.start];
        Ok(Box::new(PartitionSource::of_queue(input, rows, queue)))
    }

    /// The work of one thread: to the end of the input, or the first failure of any. After that
    /// somebody has to call [`SharedReading::close`].
    pub(crate) fn work(&self) -> std::result::Result<(), Stop> {
        failpoint::hit("thread.route");
        let mut placer = Placer::new(&self.router, &**self.source.lock(), &self.paths);
        let mut chunk = Chunk::default();
        while let Some(bytes_read) = self.next_chunk(&mut chunk)? {
            let rows = placer.place(&chunk)?;
            let mut turn = self.turns.wait(chunk.ordinal)?;
            self.cut(&chunk, rows, turn.state(), bytes_read)?;
            turn.pass();
        }
        if self.threads.fetch_sub(1, Ordering::SeqCst) == 1 {
            // All others are through.
            let bytes_read = self.source.lock().bytes_read();
            let mut turn = self.turns.wait(self.chunks.load(Ordering::SeqCst))?;
            for (at, cutter) in turn.state().iter_mut().enumerate() {
                if let Some(chunk) = cutter.finish() {
                    self.push(at, Piece { chunk, bytes_read })?;
                }
                self.queues[at].end();
            }
        }
        Ok(())
    }

    /// Ends the reading, and whoever waits for its rows.
    pub(crate) fn close(&self) {
        self.stop.store(true, Ordering::SeqCst);
        self.given_up.store(true, Ordering::SeqCst);
        // First these: who has the turn may wait for one.
        self.queues.iter().for_each(|queue| queue.stop());
        self.turns.close();
    }

    /// How long the load of a partition waited for rows, and the reading for it.
    pub(crate) fn waits(&self, partition: usize) -> Waits {
        self.queues[partition - self.partitions.start].waits()
    }

    /// Rows of a partition so far.
    pub(crate) fn rows(&self, partition: usize) -> u64 {
        self.rows[partition - self.partitions.start].load(Ordering::Relaxed)
    }

    /// True if the load of a partition ended before it had all rows.
    pub(crate) fn was_left(&self, partition: usize) -> bool {
        self.queues[partition - self.partitions.start].was_left()
    }

    /// The input, to be read again.
    pub(crate) fn into_source(self) -> Box<dyn Source> {
        self.source.into_inner()
    }

    /// Takes the next chunk, and gives how many bytes were read behind it.
    fn next_chunk(&self, chunk: &mut Chunk) -> std::result::Result<Option<u64>, Stop> {
        self.interrupt.check()?;
        let mut source = self.source.lock();
        if self.stop.load(Ordering::SeqCst) {
            return Err(Stop::Abandoned);
        }
        if !source.next_chunk(chunk)? {
            return Ok(None);
        }
        self.chunks.fetch_add(1, Ordering::SeqCst);
        Ok(Some(source.bytes_read()))
    }

    /// Adds the rows of a chunk to the pieces, and hands on those that are full.
    fn cut(
        &self,
        chunk: &Chunk,
        rows: &[PlacedRow],
        cutters: &mut [Cutter],
        bytes_read: u64,
    ) -> std::result::Result<(), Stop> {
        let first = self.partitions.start;
        for row in rows {
            let Some(at) = (row.partition as usize).checked_sub(first) else { continue };
            let Some(cutter) = cutters.get_mut(at) else { continue };
            if let Some(full) = cutter.push(chunk, row, || self.queues[at].spare()) {
                self.push(at, Piece { chunk: full, bytes_read })?;
            }
        }
        Ok(())
    }

    fn push(&self, at: usize, piece: Piece) -> std::result::Result<(), Stop> {
        self.rows[at].fetch_add(piece.rows(), Ordering::Relaxed);
        match self.queues[at].push(piece) {
            true => Ok(()),
            false => Err(Stop::Abandoned),
        }
    }
}
