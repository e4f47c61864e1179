//! One connection at work: a chunk of rows in, a transaction out.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use job::tally::Tally;
use load::failpoint;
use locks::Mutex;
use send::connections::{ConnectionSet, ConnectionWork};
use send::controller::Permit;
use send::retry::{Class, Tries, classify};
use server::Session;
use sources::{Chunk, Source};
use targets::RECONNECT_WAIT;

use super::feed::Feed;
use super::gate::{Commit, Gate, unfit};
use super::taken;
use super::tuples::{Span, Spans};
use crate::changes::{self, Changes};
use crate::filling::{Filling, Stopped};

/// Size of a statement if the server tells no limit: the protocol's first packet.
const PACKET_BYTES_DEFAULT: usize = 1 << 20;
/// Room in a packet that is not the statement's.
const PACKET_BYTES_SPARE: usize = 1 << 10;
/// How long a connection waits for a row of a transaction that others have open: where it is another
/// connection's, that ends with this one.
const ROW_LOCK_SECONDS_MAX: u32 = 10;

/// Server error, or warning, of NULL in a NOT NULL column.
const ER_BAD_NULL: u16 = 1048;

/// State shared by the connections.
pub(super) struct Chunks<'a, S> {
    filling: &'a Filling<'a>,
    gate: &'a Gate,
    connections: &'a ConnectionSet<'a>,
    feed: Mutex<Feed<S>>,
    /// Counts of the run's rows that were read, and of the server's answers.
    pub(super) tally: Tally,
    /// Rows that are in, or in a transaction.
    pub(super) rows: AtomicU64,
    /// Values that the server changed in them.
    pub(super) changes: Mutex<Changes>,
    /// Connections whose transactions are to be ended when all connections have, by their numbers.
    pub(super) open: Mutex<BTreeMap<usize, Session>>,
    /// The next of these numbers.
    next_number: AtomicUsize,
}

impl<'a, S: Source> Chunks<'a, S> {
    pub(super) fn new(
        filling: &'a Filling<'a>,
        gate: &'a Gate,
        connections: &'a ConnectionSet<'a>,
        feed: Feed<S>,
    ) -> Chunks<'a, S> {
        Chunks {
            filling,
            gate,
            connections,
            feed: Mutex::new(feed),
            tally: Tally::new(),
            rows: AtomicU64::new(0),
            changes: Mutex::default(),
            open: Mutex::new(BTreeMap::new()),
            next_number: AtomicUsize::new(0),
        }
    }

    fn note(&self, changes: Changes) {
        if changes.count > 0 {
            let mut all = self.changes.lock();
            all.join(changes, self.filling.options);
        }
    }

    fn next(&self, chunk: &mut Chunk) -> Result<bool, Stopped> {
        let mut feed = self.feed.lock();
        if self.connections.is_stopped() {
            return Err(Stopped::Abandoned);
        }
        let more = feed.next(chunk)?;
        if more {
            self.tally.take_chunk();
        }
        Ok(more)
    }
}

/// A connection that sends the dump's own text.
pub(super) struct StatementConnection<'l, 'a, S> {
    chunks: &'l Chunks<'a, S>,
    chunk: Chunk,
    /// None before the first chunk, and after it broke.
    connection: Option<Connection>,
}

/// A connection, set to what the dump's session is.
struct Connection {
    session: Session,
    /// Number of the transaction that is ended when all connections have ended.
    number: Option<usize>,
    /// Longest statement that the server takes.
    packet_bytes: usize,
    statement: Vec<u8>,
}

impl<S: Source> ConnectionWork for StatementConnection<'_, '_, S> {
    type Stop = Stopped;

    fn take(&mut self, permit: Permit<'_>) -> Result<bool, Stopped> {
        let chunks = self.chunks;
        let mut chunk = std::mem::take(&mut self.chunk);
        if !chunks.next(&mut chunk)? {
            return Ok(false);
        }
        failpoint::hit(&format!("chunk.{}", chunk.ordinal));
        let (rows, changes) = self.send(&chunk, &permit)?;
        chunks.note(changes);
        chunks.tally.done(rows);
        chunks.tally.end_chunk();
        permit.done(rows, chunk.bytes.len() as u64);
        chunks.rows.fetch_add(rows, Ordering::Relaxed);
        chunks.filling.watch.add_rows(rows);
        self.chunk = chunk;
        Ok(true)
    }

    fn end(self) {
        let Some(Connection { session, number: Some(number), .. }) = self.connection else {
            return;
        };
        let mut open = self.chunks.open.lock();
        open.insert(number, session);
    }
}

impl<'l, 'a, S: Source> StatementConnection<'l, 'a, S> {
    /// Not connected yet.
    pub(super) fn new(chunks: &'l Chunks<'a, S>) -> StatementConnection<'l, 'a, S> {
        StatementConnection { chunks, chunk: Chunk::default(), connection: None }
    }

    /// Sends the rows of a chunk, all or none; gives their number as the server told it, and the values that
    /// it changed.
    ///
    /// Errors: [`Stopped::Unfit`] for whatever the dump's own statements, one after the other, may
    /// yet do otherwise.
    fn send(&mut self, chunk: &Chunk, permit: &Permit<'_>) -> Result<(u64, Changes), Stopped> {
        let Chunks { filling, gate, connections, .. } = *self.chunks;
        let interrupt = &filling.options.interrupt;
        let lock_wait = Duration::from_secs(u64::from(filling.options.lock_wait_seconds));
        let mut tries = Tries::begin();
        let mut found: Option<Spans> = None;
        loop {
            let connection = match &mut self.connection {
                Some(connection) => connection,
                none => none.insert(Connection::make(self.chunks)?),
            };
            let statement_bytes_max = connection.packet_bytes.min(permit.batch().bytes);
            let spans = match &found {
                Some(spans) => spans,
                None => {
                    let spans = found.insert(spans(gate, chunk, statement_bytes_max)?);
                    self.chunks.tally.read(spans.spans.iter().map(|span| span.rows).sum());
                    spans
                }
            };
            let sent = connection.transaction(filling, gate, chunk, spans, statement_bytes_max);
            let error = match sent {
                Ok(sent) => return Ok(sent),
                Err(Stopped::Failed(crate::Error::Server(error))) => error,
                Err(stopped) => return Err(stopped),
            };
            let cause = match classify(&error) {
                Class::Again(cause) if gate.commit == Commit::Chunks => cause,
                _ => return Err(refused(error)),
            };
            let pause = tries.fail(Some(connection.session.id()));
            interrupt.check()?;
            if tries.are_over(lock_wait) {
                return Err(refused(error));
            }
            connections.again(permit, cause)?;
            server::reach::sleep(pause, interrupt);
            if connection.session.exec("ROLLBACK").is_err() {
                self.connection = None;
            }
        }
    }
}

impl Connection {
    fn make<S>(chunks: &Chunks<'_, S>) -> Result<Connection, Stopped> {
        let Chunks { filling, gate, .. } = *chunks;
        let wait = failpoint::reconnect_wait(RECONNECT_WAIT);
        let mut session = server::reach::reach(filling.connect, wait)?;
        filling.state.apply(&mut session)?;
        // Without the check MariaDB locks an empty table as a whole and fills it in bulk: two
        // transactions that do so wait for each other, and no statement can be taken back.
        session.set(&[("unique_checks", "1"), ("sql_notes", "0")])?;
        changes::keep(&mut session)?;
        let packet = session.query_row("SELECT @@SESSION.max_allowed_packet")?;
        let packet = packet.number::<usize>(0).unwrap_or(PACKET_BYTES_DEFAULT);
        let number = match &gate.commit {
            Commit::Chunks => None,
            commit => {
                let number = chunks.next_number.fetch_add(1, Ordering::Relaxed);
                if gate.is_parallel {
                    session.limit_row_wait(ROW_LOCK_SECONDS_MAX)?;
                }
                begin(&mut session, commit, number)?;
                session.exec_bytes(&gate.hold)?;
                Some(number)
            }
        };
        let packet_bytes = packet.saturating_sub(PACKET_BYTES_SPARE);
        Ok(Connection { session, number, packet_bytes, statement: Vec::new() })
    }

    /// Sends the rows of a chunk, and commits them where they are a transaction of their own; gives
    /// their number as the server told it, and the values that it changed.
    fn transaction(
        &mut self,
        filling: &Filling<'_>,
        gate: &Gate,
        chunk: &Chunk,
        spans: &Spans,
        statement_bytes_max: usize,
    ) -> Result<(u64, Changes), Stopped> {
        if gate.commit == Commit::Chunks {
            self.session.exec("START TRANSACTION")?;
            self.session.exec_bytes(&gate.hold)?;
        }
        let (mut sent, mut changes) = (0, Changes::default());
        let mut rest = spans.spans.as_slice();
        if failpoint::drops_batch(chunk.ordinal) {
            rest = &[];
        }
        while !rest.is_empty() {
            let count = self.write(gate, chunk, rest, statement_bytes_max);
            let (now, later) = rest.split_at(count);
            rest = later;
            let done = self.session.exec_bytes(&self.statement)?;
            let rows: u64 = now.iter().map(|span| span.rows).sum();
            sent += taken(&done, gate.verb, rows);
            if gate.counts_matter && done.affected_rows != rows {
                return Err(unfit("rows with the same key replace each other"));
            }
            if spans.has_single && done.warnings > 0 && self.has_null(done.warnings)? {
                return Err(unfit(
                    "NULL in a NOT NULL column, which the server refuses in an \
                                  INSERT of one row",
                ));
            }
            if done.warnings > 0 {
                let line = now.first().map_or(0, |span| chunk.line_at(span.bytes.start));
                changes.take(&mut self.session, &done, line, filling.options)?;
            }
        }
        if gate.commit == Commit::Chunks {
            self.commit()?;
        }
        Ok((sent, changes))
    }

    /// Errors: not one to try again after where the server did not answer: the rows may be in.
    fn commit(&mut self) -> Result<(), Stopped> {
        match self.session.exec("COMMIT").and_then(|_| self.session.check_in_step()) {
            Err(error) if error.is_unclear() => {
                Err(Stopped::Failed(load::Error::from(error).into()))
            }
            done => Ok(done?),
        }
    }

    /// True if a warning is, or may be, about a NULL that the server has changed: in a statement of
    /// one row it is an error.
    fn has_null(&mut self, count: u16) -> Result<bool, Stopped> {
        let told = self.session.warnings()?;
        let is_all = told.len() >= usize::from(count);
        Ok(!is_all || told.iter().any(|warning| warning.errno == ER_BAD_NULL))
    }

    /// Writes a statement of as many spans as fit, at least one; their number.
    fn write(
        &mut self,
        gate: &Gate,
        chunk: &Chunk,
        spans: &[Span],
        statement_bytes_max: usize,
    ) -> usize {
        self.statement.clear();
        self.statement.extend_from_slice(&gate.head);
        for (count, span) in spans.iter().enumerate() {
            let text = chunk.bytes.get(span.bytes.clone()).unwrap_or_default();
            if count > 0 {
                if self.statement.len() + text.len() >= statement_bytes_max {
                    return count;
                }
                self.statement.push(b',');
            }
            self.statement.extend_from_slice(text);
        }
        spans.len()
    }
}

/// Begins the transaction that a connection has all its rows in.
fn begin(session: &mut Session, commit: &Commit, number: usize) -> Result<(), crate::Error> {
    match commit {
        Commit::Together(together) => together.begin(session, number),
        _ => Ok(session.exec("START TRANSACTION").map(drop)?),
    }
}

/// The rows of a chunk, in pieces that statements are made of.
fn spans(gate: &Gate, chunk: &Chunk, statement_bytes_max: usize) -> Result<Spans, Stopped> {
    let span_bytes_max = statement_bytes_max.saturating_sub(gate.head.len());
    gate.rules.spans(&chunk.bytes, span_bytes_max).map_err(|found| {
        let (line, offset) = (chunk.line_at(found.at), chunk.offset_at(found.at));
        unfit(format!("{} in line {line}, byte {offset}", found.what))
    })
}

/// The meaning of a server's error: it may not be one for the dump's own statements, and if it is,
/// they tell which of them it was.
fn refused(error: server::Error) -> Stopped {
    match error {
        server::Error::Statement { errno, message, .. } => {
            unfit(format!("the server refused it: {message} (error {errno})"))
        }
        error => error.into(),
    }
}
