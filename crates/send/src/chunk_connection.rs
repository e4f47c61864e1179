//! A connection that encodes: chunks in, transactions out.
//!
//! It takes a chunk under the source's lock, writes its rows out, has them loaded, and tells the
//! collector. Nothing queues: what a connection holds is its chunk.

use std::sync::Arc;

use encode::prepared::Prepared;
use encode::reading::Reading;
use encode::rejects::{Reject, Rejects};
use job::error::Error;
use job::failpoint;
use job::memory::ConnectionShares;
use job::options::OnDuplicate;
use job::progress::Stage;
use job::settled::Settled;
use job::steps::AddedNote;
use job::stop::Stop;
use locks::Mutex;
use server::Session;
use sources::{Source, SourceExt as _};

use super::budget::{Budget, Loan};
use super::collector::{Collected, Collector, LoadedRows};
use super::encoder::{Encoder, Shared};
use super::import_file::ImportFile;
use super::ledger::Entry;
use super::order::{KeyCollector, OrderGate, UniqueKeys};
use super::resume::Resume;
use super::sender::trouble::{Again, Trouble};
use super::sender::{Caller, ChunkResult, Commit, Sender, SenderOptions};
use super::sent_chunk::{Form, SentChunk};
use super::watch::Watch;
use crate::connections::{ConnectionSet, ConnectionWork};
use crate::controller::{Limits, Permit};

/// The settings of connections.
pub(crate) struct ConnectionSetup<'a> {
    pub(crate) prepared: &'a Prepared<'a>,
    pub(crate) limits: Limits,
    pub(crate) shares: ConnectionShares,
    pub(crate) encoder: Shared<'a>,
    pub(crate) sender: Arc<SenderOptions>,
    /// Chunks that an earlier run has loaded; none if all is one transaction.
    pub(crate) resume: Option<&'a Resume>,
    /// Notes the first rows that are in; none if nobody sees them yet.
    pub(crate) added: Option<&'a AddedNote>,
    /// The file that gets the rows in place of the server.
    pub(crate) file: Option<&'a ImportFile>,
    /// True if rows are in another order than the input's.
    pub(crate) is_sorted: bool,
    /// The keys by which chunks may not overtake each other; none where they always may.
    pub(crate) keys: Option<&'a UniqueKeys>,
    /// The connection of the one connection, in the transaction that holds all rows.
    pub(crate) session: Option<Session>,
}

/// State shared by the connections.
pub(crate) struct SharedChunks<'a> {
    plan: ConnectionSetup<'a>,
    source: &'a Mutex<Box<dyn Source>>,
    reading: Reading<'a>,
    connections: ConnectionSet<'a>,
    budget: Budget,
    order: Option<OrderGate>,
    collector: Collector,
    session: Mutex<Option<Session>>,
}

/// The result of all connections.
pub(crate) struct SendResult {
    pub(crate) collected: Collected,
    pub(crate) settled: Settled,
    /// Tries to send a chunk that failed and were made again.
    pub(crate) retries: usize,
    pub(crate) bytes_read: u64,
    /// Rows that were found in it, those of an earlier run included.
    pub(crate) rows_read: u64,
    /// The connection that was given, its transaction still open.
    pub(crate) session: Option<Session>,
}

impl<'a> SharedChunks<'a> {
    pub(crate) fn new(
        mut plan: ConnectionSetup<'a>,
        source: &'a Mutex<Box<dyn Source>>,
    ) -> Result<SharedChunks<'a>, Error> {
        let options = plan.prepared.options;
        let form = encode::rejects::form(&mut **source.lock())?;
        let rejects =
            Rejects::create(options.rows.rejects.as_deref(), options.rows.rejects_max, &form)?;
        let collector = match plan.is_sorted {
            true => Collector::new(rejects).of_sorted(&options.input.files),
            false => Collector::new(rejects),
        };
        let session = plan.session.take();
        if session.is_some() {
            plan.limits.connections = Some(1);
        }
        let reading = Reading::new(source, Stage::Rows, plan.prepared.progress, &options.interrupt);
        Ok(SharedChunks {
            source,
            connections: ConnectionSet::new(
                plan.limits.clone(),
                reading.given_up(),
                &options.interrupt,
            ),
            reading,
            budget: Budget::new(&plan.shares),
            order: plan.keys.map(|_| OrderGate::new()),
            collector,
            session: Mutex::new(session),
            plan,
        })
    }

    /// Runs the connections to the end of the input.
    pub(crate) fn run(self, watch: &mut Watch) -> Result<SendResult, Error> {
        let progress = self.plan.prepared.progress;
        let ended =
            self.connections.run(watch, progress, || ChunkConnection::new(&self), || self.close());
        ended.map_err(|stop| stop.into_error("connections"))?;
        self.reading.tally().check()?;
        let bytes_read = self.source.lock().bytes_read();
        Ok(SendResult {
            settled: self.connections.settled(),
            collected: self.collector.finish()?,
            retries: self.connections.tries_failed(),
            bytes_read,
            rows_read: self.reading.tally().rows_read(),
            session: self.session.into_inner(),
        })
    }

    /// Takes the next chunk; none at the end of the input, or if there is no need to go on.
    fn next_chunk(&self, chunk: &mut SentChunk) -> Result<Option<Loan<'_>>, Stop> {
        let is_enough = || {
            self.reading.set_rows(self.collector.rows());
            self.collector.is_full()
        };
        self.reading.next_chunk(&mut chunk.input, is_enough, |bytes| self.budget.borrow(bytes))
    }

    /// Rows of the input that went in or were left out. Those that replaced or changed others are
    /// counted once, as rows that are in.
    fn rows_of(&self, loaded: LoadedRows) -> u64 {
        match self.plan.prepared.options.rows.on_duplicate {
            OnDuplicate::Skip => loaded.rows + loaded.duplicates,
            OnDuplicate::Fail | OnDuplicate::Replace | OnDuplicate::Update => loaded.rows,
        }
    }

    /// A chunk is through, with so many rows.
    fn end_chunk(&self, rows: u64) {
        self.reading.tally().done(rows);
        self.reading.tally().end_chunk();
    }

    /// Lets no connection wait any more.
    fn close(&self) {
        self.reading.close();
        if let Some(numbers) = self.plan.encoder.numbers {
            numbers.close();
        }
        if let Some(order) = &self.order {
            order.close();
        }
        self.collector.close();
    }
}

/// A connection, and what writes its rows.
struct ChunkConnection<'l, 'a> {
    chunks: &'l SharedChunks<'a>,
    encoder: Encoder<'a>,
    chunk: SentChunk,
    keys: Option<KeyCollector>,
    /// None before the first chunk.
    sender: Option<Sender>,
}

impl<'l, 'a> ChunkConnection<'l, 'a> {
    fn new(chunks: &'l SharedChunks<'a>) -> ChunkConnection<'l, 'a> {
        ChunkConnection {
            chunks,
            encoder: Encoder::new(chunks.plan.encoder, chunks.reading.reader()),
            chunk: SentChunk::default(),
            keys: chunks.plan.keys.map(UniqueKeys::collector),
            sender: None,
        }
    }

    fn send(&mut self, permit: &Permit<'_>) -> Result<ChunkResult, Stop> {
        let chunks = self.chunks;
        let options = &chunks.plan.sender;
        if let Some(file) = chunks.plan.file {
            file.push(&self.chunk)?;
            return Ok(ChunkResult { entry: Entry::of(&self.chunk), ..ChunkResult::default() });
        }
        let sender = match &mut self.sender {
            Some(sender) => sender,
            none => {
                let given = chunks.session.lock().take();
                none.insert(match given {
                    Some(session) => Sender::with(session, options)?,
                    None => Sender::connect(options)?,
                })
            }
        };
        let batch = permit.batch();
        let mut caller = ConnectionCaller {
            connections: &chunks.connections,
            encoder: &mut self.encoder,
            permit,
        };
        let sent = sender.send(&mut self.chunk, batch, &mut caller);
        sent.or_else(|trouble| match trouble.into_error() {
            Ok(error) => Err(error.into()),
            Err(rejects) => Ok(not_loaded(rejects)),
        })
    }
}

impl ChunkConnection<'_, '_> {
    /// Gives back buffers that have grown with a long record, before its loan.
    fn free_buffers(&mut self) {
        let is_in_packet = self.chunk.form != Form::Lines;
        self.chunk = SentChunk::default();
        self.encoder.begin_anew();
        if is_in_packet && matches!(self.chunks.plan.sender.commit, Commit::Chunks(_)) {
            // A connection keeps room for the longest packet that it has sent. Lines go in short ones, and
            // of the one in the transaction of all rows there is no other.
            self.sender = None;
        }
    }
}

impl ConnectionWork for ChunkConnection<'_, '_> {
    type Stop = Stop;

    fn take(&mut self, permit: Permit<'_>) -> Result<bool, Stop> {
        let chunks = self.chunks;
        let Some(loan) = chunks.next_chunk(&mut self.chunk)? else { return Ok(false) };
        let chunk = &self.chunk.input;
        let (ordinal, bytes) = (chunk.ordinal, chunk.bytes.len());
        let before = chunks.plan.resume.map_or(Ok(None), |resume| resume.loaded(chunk))?;
        if let Some(before) = before.filter(|before| !before.has_rejects) {
            drop((loan, permit));
            if let Some(order) = &chunks.order {
                order.pass_over(ordinal);
            }
            let loaded = LoadedRows { rows: before.rows, duplicates: before.duplicates };
            let rows = chunks.rows_of(loaded);
            chunks.reading.tally().read(rows);
            chunks.end_chunk(rows);
            chunks.collector.take(ordinal, loaded, Vec::new())?;
            return Ok(true);
        }
        failpoint::hit(&format!("chunk.{ordinal}.read"));
        self.encoder.encode(&mut self.chunk, chunks.plan.sender.form)?;
        chunks.reading.tally().read(self.chunk.batch.len() as u64);
        if failpoint::drops_batch(ordinal) {
            self.chunk.rows.clear();
            self.chunk.text.clear();
        }
        let pass = match (&chunks.order, &mut self.keys) {
            (Some(order), Some(keys)) => {
                let keys = self.chunk.batch.visit(&self.chunk.input, keys);
                Some(order.enter(ordinal, keys)?)
            }
            _ => None,
        };
        let rejects_max = chunks.plan.prepared.options.rows.rejects_max;
        let sent = match self.chunk.rejected.len() as u64 > rejects_max {
            // The encoder has left the rest of the chunk out: it must not be written down as in.
            true => not_loaded(Vec::new()),
            false => self.send(&permit)?,
        };
        let ChunkResult { entry, rejects, was_loaded } = sent;
        if let Some(added) = chunks.plan.added.filter(|_| entry.rows > 0) {
            added.write()?;
        }
        failpoint::hit(&format!("chunk.{ordinal}.loaded"));
        let rejected = (self.chunk.rejected.len() + rejects.len()) as u64;
        // With more rejected rows than are tolerated it is not loaded: nobody may overtake it.
        if let Some(pass) = pass.filter(|_| rejected <= rejects_max) {
            pass.done();
        }
        match was_loaded {
            true => drop(permit),
            false => permit.done(entry.rows, bytes as u64),
        }
        let mut hand_on = |part| chunks.collector.push(ordinal, part);
        let rejects = self.encoder.rejects(&self.chunk, rejects, &mut hand_on)?;
        if bytes > 2 * chunks.plan.shares.chunk_bytes {
            self.free_buffers();
        }
        drop(loan);
        let loaded = LoadedRows { rows: entry.rows, duplicates: entry.duplicates };
        chunks.end_chunk(chunks.rows_of(loaded) + rejected);
        chunks.collector.take(ordinal, loaded, rejects)?;
        Ok(true)
    }

    fn end(self) {
        let Some(session) = self.sender.and_then(Sender::into_session) else { return };
        // Only the one that was given is wanted.
        let mut given = self.chunks.session.lock();
        given.get_or_insert(session);
    }
}

/// The result of a chunk with more rejected rows than are tolerated, these by the server: the collector reports it when
/// it has those before them.
fn not_loaded(rejects: Vec<(usize, Reject)>) -> ChunkResult {
    ChunkResult { rejects, was_loaded: true, ..ChunkResult::default() }
}

/// The requests of a sender to its connection.
struct ConnectionCaller<'c, 'l, 'a> {
    connections: &'l ConnectionSet<'a>,
    encoder: &'c mut Encoder<'a>,
    permit: &'c Permit<'c>,
}

impl Caller for ConnectionCaller<'_, '_, '_> {
    fn tuples(&mut self, chunk: &mut SentChunk) -> Result<(), Error> {
        self.encoder.encode_as(chunk, Form::Tuples)
    }

    fn again(&mut self, again: &Again) -> Result<(), Error> {
        self.connections.again(self.permit, again.cause)
    }
}

impl From<Trouble> for Stop {
    fn from(trouble: Trouble) -> Stop {
        match trouble.into_error() {
            Ok(error) => Stop::Failed(error),
            Err(_) => Stop::Abandoned,
        }
    }
}
