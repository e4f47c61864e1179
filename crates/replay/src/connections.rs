//! Rows as statements, over several connections.
//!
//! ```text
//! run -- chunk --> connection: INSERT .. INSERT .. COMMIT        the text of the dump, cut and joined
//!     -- chunk --> connection: INSERT .. INSERT .. COMMIT
//! ```
//!
//! The connections are those of [`send::connections`], with its controller; what they send is the dump's own.
//!
//! Chunks overtake each other, so this is for rows to which their order means nothing: literals, into a table
//! of InnoDB with a primary key, with no value that the server counts. REPLACE and IGNORE are so as long as
//! no two rows share a key, which the counts of the server tell. Rows of a table without a primary key stay
//! in their order and go over one connection. Those that go into a table that others see stay or go together:
//! by one transaction, or by one of each connection, which are prepared before the first is committed. Other
//! rows are [`Stopped::Unfit`], and for [`crate::serial`], which plays the statements as they stand.
//!
//! | module | content |
//! | --- | --- |
//! | `tuples`, `gate` | the rows of a chunk; the statements that may carry them |
//! | `feed`, `connection` | the chunks; a connection that sends them |
//! | `together` | transactions of several connections |

mod connection;
mod feed;
mod gate;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;
mod together;
mod tuples;

use std::collections::BTreeMap;
use std::time::Duration;

use job::capacity::Capacity;
use job::memory::record_bytes_max;
use load::{Progress, Snapshot};
use send::connections::ConnectionSet;
use send::controller::Limits;
use send::watch::Watch as ServerWatch;
use server::Session;
use server::session::Done;
use sources::{Source, SourceExt as _};
use sql::Verb;
use targets::secondary::{Defer, Secondary};

use crate::changes::Changes;
use crate::error::Error;
use crate::filling::{Filling, Sent, Stopped};
use crate::progress::Watch;
use connection::{Chunks, StatementConnection};
use feed::Feed;
use gate::{Commit, Gate};
pub(crate) use gate::{head, hold};
pub(crate) use together::{Resolved, Together};
use tuples::Rules;

/// Bytes of a chunk, a transaction each: commits are few then, and little is sent again after a deadlock.
const CHUNK_BYTES: usize = 2 << 20;
/// The least that a chunk is cut down to where memory is short.
const CHUNK_BYTES_MIN: usize = 64 << 10;
/// Runs of at least so many bytes have their secondary indexes built at the end. Less is not worth the ALTER TABLEs.
const DEFER_BYTES: usize = 8 << 20;
/// Connections for which there should be room, if none are requested.
const CONNECTIONS_WANTED: usize = 16;
/// Most connections, where nothing is said of them or their transactions stay together.
const CONNECTIONS_MAX: usize = 64;
/// Copies of a chunk in memory: its text, the statement, the driver's packet.
const COPIES: u64 = 3;
/// Bytes of a statement where the server takes as many: its rows are parsed into memory before the
/// first goes in, and smaller ones stay in the processor's caches.
const STATEMENT_BYTES: usize = 256 << 10;

/// Sends a run over several connections.
///
/// Errors: [`Stopped::Unfit`] where the dump's own statements have to be played one after the other.
/// The staging table may then hold rows, and may lack indexes.
pub(crate) fn send(filling: &Filling<'_>, mut run: impl Source) -> Result<Sent, Stopped> {
    let chunk_bytes = chunk_bytes(filling);
    // As of any load: both runs under way may have such a record.
    let record_bytes_max = record_bytes_max(filling.options.memory_bytes_max, 0);
    run.begin_with(chunk_bytes, record_bytes_max.max(chunk_bytes))?;
    let mut session = Session::connect(filling.connect)?;
    let gate = Gate::of(&mut session, filling)?;
    let mut feed = Feed::new(run);
    let is_large = feed.read_ahead(record_bytes_max.min(DEFER_BYTES))?;
    let secondary = match is_large && filling.is_staging && filling.is_empty {
        true => Secondary::of(&gate.table, Defer::NotUnique),
        false => Secondary::default(),
    };
    let is_deferred = secondary.take_from(&mut session, &gate.table)?;
    let limits = limits(filling, &gate, &mut session, &feed, chunk_bytes)?;
    let is_several = limits.connections_max > 1;
    let (rows, changes) = rows(filling, &gate, feed, limits, &mut session)?;
    if is_deferred && !secondary.build(&mut session, &gate.table)? {
        let into = filling.into;
        return Err(Error::Usage(format!("somebody else changed {into} during the replay")).into());
    }
    let notes = notes(&mut session, &gate, is_several)?;
    Ok(Sent { rows, way: "parallel", notes, changes })
}

/// How many rows of a statement there are in `tuples`, what follows its head; None where they are no literals.
pub(crate) fn rows_of(filling: &Filling<'_>, tuples: &[u8]) -> Option<u64> {
    let spans = Rules::of(filling)?.spans(tuples, usize::MAX).ok()?;
    Some(spans.spans.iter().map(|span| span.rows).sum())
}

/// How many of its `rows` a statement has taken, as the server tells it, if it does.
pub(crate) fn taken(done: &Done, verb: Verb, rows: u64) -> u64 {
    match (said(done), verb) {
        (Some(said), _) => said,
        // Triggers may have added rows of theirs.
        (None, Verb::Insert) => done.affected_rows.min(rows),
        // Rows that are left out, or replace others, are told in the summary only.
        (None, Verb::InsertIgnore | Verb::Replace) => rows,
    }
}

/// The number of rows in the summary, if there is one.
pub(crate) fn said(done: &Done) -> Option<u64> {
    done.info.strip_prefix("Records: ")?.split(' ').next()?.parse().ok()
}

/// Sends all rows, and has them stay.
fn rows(
    filling: &Filling<'_>,
    gate: &Gate,
    feed: Feed<impl Source>,
    limits: Limits,
    session: &mut Session,
) -> Result<(u64, Changes), Stopped> {
    if let Commit::Together(together) = &gate.commit {
        // Rows that somebody has left half in, or half out, would be waited for.
        together.resolve(session)?;
    }
    let interrupt = &filling.options.interrupt;
    let connections = ConnectionSet::new(limits, feed.given_up(), interrupt);
    let chunks = Chunks::new(filling, gate, &connections, feed);
    let mut server_watch = ServerWatch::of_server(filling.connect);
    let told = EngineProgress { watch: filling.watch };
    let ended =
        connections.run(&mut server_watch, &told, || StatementConnection::new(&chunks), || ());
    let Chunks { rows, changes, open, tally, .. } = chunks;
    let changes = changes.into_inner();
    let rows = rows.into_inner();
    let open = open.into_inner();
    let _shield = interrupt.shield();
    let ended = ended.and_then(|()| Ok(tally.check()?));
    match ended.and_then(|()| interrupt.check().map_err(Stopped::from)) {
        Ok(()) => stay(filling, gate, session, open).map(|()| (rows, changes)),
        Err(stopped) => {
            filling.watch.take_rows(rows);
            go(gate, open);
            Err(stopped)
        }
    }
}

/// Commits the transactions of connections that are still open.
fn stay(
    filling: &Filling<'_>,
    gate: &Gate,
    session: &mut Session,
    mut open: BTreeMap<usize, Session>,
) -> Result<(), Stopped> {
    match &gate.commit {
        Commit::Together(together) => together.commit(session, open)?,
        Commit::AtEnd | Commit::Chunks => {
            for session in open.values_mut() {
                filling.commit(session)?;
            }
        }
    }
    Ok(())
}

/// Rolls back the transactions of connections that are still open.
fn go(gate: &Gate, mut open: BTreeMap<usize, Session>) {
    match &gate.commit {
        Commit::Together(together) => together.roll_back(open),
        // A connection that is gone takes its rows back too.
        Commit::AtEnd | Commit::Chunks => {
            open.values_mut().for_each(|session| drop(session.exec("ROLLBACK")));
        }
    }
}

/// Bytes of a chunk, where so many connections as may be wanted have to fit.
fn chunk_bytes(filling: &Filling<'_>) -> usize {
    let connections = filling.options.connections.unwrap_or(CONNECTIONS_WANTED).max(1);
    let share = filling.memory_bytes_max / (connections as u64 * COPIES);
    usize::try_from(share).unwrap_or(CHUNK_BYTES).clamp(CHUNK_BYTES_MIN, CHUNK_BYTES)
}

/// Within what the controller may choose.
fn limits(
    filling: &Filling<'_>,
    gate: &Gate,
    session: &mut Session,
    feed: &Feed<impl Source>,
    chunk_bytes: usize,
) -> Result<Limits, Error> {
    let capacity = Capacity::read(session)?;
    let fit = filling.memory_bytes_max / (COPIES * chunk_bytes as u64);
    let fit = usize::try_from(fit).unwrap_or(CONNECTIONS_MAX).clamp(1, CONNECTIONS_MAX);
    let wanted = filling.options.connections.unwrap_or(fit);
    let room = capacity.connections.filter(|_| filling.options.connections.is_none());
    let wanted = match gate.commit {
        Commit::Together(_) => wanted.min(CONNECTIONS_MAX),
        _ => wanted,
    };
    let most = if gate.is_parallel { wanted.min(feed.chunks_known()) } else { 1 };
    let connections_max = most.min(room.unwrap_or(usize::MAX)).max(1);
    Ok(Limits {
        connections_max,
        server_cores: capacity.cores,
        connections: filling.options.connections.map(|_| connections_max),
        batch_rows: None,
        batch_bytes_max: STATEMENT_BYTES,
        tune_batch: false,
        rate_bytes: None,
        lag_max: Duration::ZERO,
        chunk_bytes,
    })
}

/// The notes about a run.
fn notes(session: &mut Session, gate: &Gate, is_several: bool) -> Result<Vec<String>, Error> {
    let mut notes = Vec::new();
    if gate.rules.counted.is_some() && is_several {
        let mode = session.query_text("SELECT @@innodb_autoinc_lock_mode")?;
        if mode.as_deref() == Some("0") {
            notes.push(
                "innodb_autoinc_lock_mode is 0, so INSERTs into a table with an AUTO_INCREMENT \
                 column wait for each other; 1 or 2 avoids this, with the same rows"
                    .to_owned(),
            );
        }
    }
    Ok(notes)
}

/// Tells what holds the connections back.
struct EngineProgress<'a> {
    watch: &'a Watch,
}

impl Progress for EngineProgress<'_> {
    fn update(&self, _: Snapshot) {}

    fn waiting(&self, text: &str) {
        self.watch.say(text);
    }
}
