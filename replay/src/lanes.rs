//! Rows as statements, over several connections.
//!
//! ```text
//! run -- chunk --> lane: INSERT .. INSERT .. COMMIT        the text of the dump, cut and joined
//!     -- chunk --> lane: INSERT .. INSERT .. COMMIT
//! ```
//!
//! Chunks overtake each other, so this is for rows to which their order means nothing: literals, into
//! a table of InnoDB with a primary key, with no value that the server counts. REPLACE and IGNORE are
//! so as long as no two rows share a key, which the counts of the server tell. Rows of a table without
//! a primary key stay in their order and go over one connection, and so do rows that go into a table
//! that others see: in one transaction. What is not so is [`Stopped::Unfit`], and for
//! [`crate::serial`], which plays the statements as they stand.
//!
//! In reading order: `tuples` the rows of a chunk, `gate` what may be done with them, `lane` a
//! connection at work.

mod gate;
mod lane;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;
mod tuples;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use server::Session;
use server::secondary::{Defer, Secondary};
use sources::{Chunk, Source};

use crate::error::Error;
use crate::work::{Sent, Stopped, Work};
pub(crate) use gate::head;
use gate::{Gate, unfit};
use lane::Lane;

/// Bytes of a chunk, a transaction each: commits are few then, and little is sent again after a
/// deadlock.
const CHUNK_BYTES: usize = 2 << 20;
/// Runs of at least so many bytes have their secondary indexes built at the end. Less is not worth
/// the ALTER TABLEs.
const DEFER_BYTES: usize = 8 << 20;
/// Lanes, where nothing is said.
const LANES_MAX: usize = 16;
/// Copies of a chunk in memory: its text, the statement, the driver's packet.
const COPIES: u64 = 3;

/// Sends a run over several connections.
///
/// Errors: [`Stopped::Unfit`] where the dump's own statements have to be played one after the other.
/// The shadow may then hold rows, and may lack indexes.
pub(crate) fn send(work: &Work<'_>, mut run: impl Source) -> Result<Sent, Stopped> {
    let lanes = lanes(work);
    let share = work.memory_bytes_max / (lanes as u64 * COPIES);
    let chunk_bytes = usize::try_from(share).unwrap_or(CHUNK_BYTES).clamp(64 << 10, CHUNK_BYTES);
    let record_bytes_max = usize::try_from(work.memory_bytes_max / COPIES).unwrap_or(usize::MAX);
    run.set_chunks(chunk_bytes, record_bytes_max.max(chunk_bytes))?;
    let mut session = Session::connect(work.connect)?;
    let gate = Gate::of(&mut session, work)?;
    let mut feed = Feed::new(run);
    let ahead = usize::try_from(work.memory_bytes_max / COPIES).unwrap_or(DEFER_BYTES);
    let is_large = feed.read_ahead(ahead.min(DEFER_BYTES))?;
    let secondary = match is_large && work.is_shadow && work.is_empty {
        true => Secondary::of(&gate.table, Defer::NotUnique),
        false => Secondary::default(),
    };
    let is_deferred = secondary.take_from(&mut session, &gate.table)?;
    let lanes = if gate.is_parallel { lanes.min(feed.chunks_known()) } else { 1 };
    let rows = Lanes::new(work, &gate, feed).run(lanes)?;
    if is_deferred && !secondary.build(&mut session, &gate.table)? {
        let into = work.into;
        return Err(Error::Usage(format!("{into} was changed by somebody else meanwhile")).into());
    }
    Ok(Sent { rows, way: "lanes", notes: notes(&mut session, &gate, lanes)? })
}

/// Connections that rows may go over.
fn lanes(work: &Work<'_>) -> usize {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    work.options.connections.unwrap_or((2 * cores).min(LANES_MAX)).max(1)
}

/// What is to be said about a run.
fn notes(session: &mut Session, gate: &Gate, lanes: usize) -> Result<Vec<String>, Error> {
    let mut notes = Vec::new();
    if gate.rules.counted.is_some() && lanes > 1 {
        let mode = session.query_text("SELECT @@innodb_autoinc_lock_mode")?;
        if mode.as_deref() == Some("0") {
            notes.push(
                "innodb_autoinc_lock_mode is 0: INSERTs into a table with an AUTO_INCREMENT column \
                 wait for each other; with 1 or 2 they do not, and the rows are the same"
                    .to_owned(),
            );
        }
    }
    Ok(notes)
}

/// The run, some of it read ahead.
struct Feed<S> {
    run: S,
    /// Read, and not taken; the first one last.
    ahead: Vec<Chunk>,
    is_at_end: bool,
}

impl<S: Source> Feed<S> {
    fn new(run: S) -> Feed<S> {
        Feed { run, ahead: Vec::new(), is_at_end: false }
    }

    /// Reads at least so many bytes; false if there are no more.
    fn read_ahead(&mut self, bytes: usize) -> Result<bool, Stopped> {
        let mut read = 0;
        let mut chunks = Vec::new();
        while read < bytes {
            let mut chunk = Chunk::default();
            if !self.run.next_chunk(&mut chunk).map_err(not_read)? {
                self.is_at_end = true;
                break;
            }
            read += chunk.bytes.len();
            chunks.push(chunk);
        }
        chunks.reverse();
        self.ahead = chunks;
        Ok(!self.is_at_end)
    }

    /// Chunks that there are, as far as is known.
    fn chunks_known(&self) -> usize {
        if self.is_at_end { self.ahead.len().max(1) } else { usize::MAX }
    }

    fn next(&mut self, chunk: &mut Chunk) -> Result<bool, Stopped> {
        if let Some(next) = self.ahead.pop() {
            *chunk = next;
            return Ok(true);
        }
        Ok(!self.is_at_end && self.run.next_chunk(chunk).map_err(not_read)?)
    }
}

fn not_read(error: sources::Error) -> Stopped {
    match error {
        error @ (sources::Error::NotPlain { .. } | sources::Error::RecordTooLong { .. }) => {
            unfit(error.to_string())
        }
        error => error.into(),
    }
}

/// What lanes share.
struct Lanes<'a, S> {
    work: &'a Work<'a>,
    gate: &'a Gate,
    feed: Mutex<Feed<S>>,
    given_up: Arc<AtomicBool>,
    rows: AtomicU64,
    stop: AtomicBool,
    /// Why the first one stopped.
    stopped: Mutex<Option<Stopped>>,
}

impl<'a, S: Source> Lanes<'a, S> {
    fn new(work: &'a Work<'a>, gate: &'a Gate, feed: Feed<S>) -> Lanes<'a, S> {
        Lanes {
            work,
            gate,
            given_up: feed.run.given_up(),
            feed: Mutex::new(feed),
            rows: AtomicU64::new(0),
            stop: AtomicBool::new(false),
            stopped: Mutex::new(None),
        }
    }

    /// Runs so many lanes to the end of the run, or to the first failure; gives the rows.
    fn run(self, lanes: usize) -> Result<u64, Stopped> {
        let guarded = || {
            self.work().map_err(|stopped| {
                self.stop.store(true, Ordering::SeqCst);
                self.given_up.store(true, Ordering::SeqCst);
                let mut first = self.stopped.lock().unwrap_or_else(PoisonError::into_inner);
                first.get_or_insert(stopped);
            })
        };
        let ended: Vec<Lane<'_>> = std::thread::scope(|scope| {
            let others: Vec<_> = (1..lanes).map(|_| scope.spawn(guarded)).collect();
            let first = guarded().ok();
            first
                .into_iter()
                .chain(others.into_iter().filter_map(|o| o.join().ok()?.ok()))
                .collect()
        });
        let stopped = self.stopped.into_inner().unwrap_or_else(PoisonError::into_inner);
        for lane in ended {
            lane.end(stopped.is_none())?;
        }
        match stopped {
            Some(stopped) => Err(stopped),
            None => Ok(self.rows.into_inner()),
        }
    }

    fn work(&self) -> Result<Lane<'a>, Stopped> {
        let mut lane = Lane::connect(self.work, self.gate)?;
        let mut chunk = Chunk::default();
        let ended = loop {
            match self.next(&mut chunk) {
                Ok(true) => {}
                Ok(false) => break Ok(()),
                Err(stopped) => break Err(stopped),
            }
            match lane.send(&chunk) {
                Ok(rows) => {
                    self.rows.fetch_add(rows, Ordering::Relaxed);
                    self.work.watch.add_rows(rows);
                }
                Err(stopped) => break Err(stopped),
            }
        };
        match ended {
            Ok(()) => Ok(lane),
            Err(stopped) => {
                lane.end(false)?;
                Err(stopped)
            }
        }
    }

    fn next(&self, chunk: &mut Chunk) -> Result<bool, Stopped> {
        let mut feed = self.feed.lock().unwrap_or_else(PoisonError::into_inner);
        if self.stop.load(Ordering::SeqCst) {
            return Ok(false);
        }
        feed.next(chunk)
    }
}
