//! Has the server load a chunk, in one transaction.
//!
//! ```text
//! START TRANSACTION -> ledger -> LOAD DATA LOCAL ------------------------> COMMIT
//!                                  | a row skipped, a value changed          ^
//!                                  v                                         |
//!                 ROLLBACK, and the ledger again -> strict INSERTs, bisected-'
//! ```
//!
//! LOAD DATA LOCAL never refuses a row: it skips it or bends its values, and warns. So the first
//! warning undoes it all, and statements that do refuse find out which rows are at fault.
//!
//! In reading order: [`statements`] the texts around the rows, [`parameters`] rows without a text,
//! [`trouble`] what a refusal means, [`refused`] rows with the columns at fault, [`lines`] LOAD DATA, [`strict`] the INSERTs, [`connection`] what
//! they go over, [`search`] which rows are sent next once some are refused.

mod connection;
mod lines;
pub(crate) mod parameters;
mod refused;
mod search;
pub(crate) mod statements;
mod strict;
#[cfg(test)]
mod tests;
pub(crate) mod trouble;

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use connection::lock_name;
use encode::rejects::Reject;
use job::error::Error;
use job::position::Position;
use refused::rejects_of;
use schema::TableName;
use server::ConnectOptions;
use server::engine::Kind;
use server::reach::{reach, sleep};
use server::session::{Prepared, Session};
use server::version::Flavor;
use statements::{Place, Statements};
use targets::row_waits::RowWaits;
use trouble::{Again, Trouble};

use crate::columns::{Columns, FilledColumn};
use crate::controller::Batch;
use crate::ledger::{Entry, Ledger};
use crate::retry::{Cause, Class, Tries, classify};
use crate::sent_chunk::{Form, SentChunk};
use crate::shards::Vindex;

/// Warnings that a session keeps, all that the server can.
const WARNINGS_MAX: usize = 65_535;
/// Size of a statement if the server tells no limit: the protocol's first packet.
const PACKET_BYTES_DEFAULT: usize = 1 << 20;

/// The state that a chunk of a larger transaction is taken back to.
const SAVEPOINT: &str = "SAVEPOINT inrush_chunk";

/// Server error of a key that is there already.
const ER_DUP_ENTRY: u16 = 1062;
/// Server error of the next AUTO_INCREMENT value, which is not to be had: the column is full, or others keep its lock.
const ER_AUTOINC_READ_FAILED: u16 = 1467;
/// Warning of a ROLLBACK that could not undo everything.
const ER_NOT_ROLLED_BACK: u16 = 1196;

/// How the senders of a load work. Shared by its connections.
#[derive(Clone, Debug)]
pub(crate) struct SenderOptions {
    /// How to reach the server.
    pub(crate) connect: ConnectOptions,
    /// Where rows go.
    pub(crate) place: Place,
    /// When rows are there to stay.
    pub(crate) commit: Commit,
    /// True if the transaction of [`Commit::Whole`] holds the table when it is given.
    pub(crate) is_held: bool,
    /// The column by which rows are divided among shards, and its place in a tuple.
    pub(crate) vindex: Option<(Vindex, usize)>,
    /// How rows are to be written: [`insert_form`] says it of INSERTs.
    pub(crate) form: Form,
    /// Variables that every new connection begins with: `sql_mode`.
    pub(crate) settings: Vec<(&'static str, String)>,
    /// The source's files, for positions.
    pub(crate) files: Arc<[PathBuf]>,
    /// The columns that the rows fill, for refusals that name one.
    pub(crate) columns: Arc<[FilledColumn]>,
    /// Rows of one chunk that may be refused, by conversion and server together.
    pub(crate) rejects_max: u64,
    /// How long one chunk is tried again for the sake of deadlocks and locks.
    pub(crate) lock_wait: Duration,
    /// The load's connections, and who waits for whom.
    pub(crate) row_waits: RowWaits,
    /// How long a server that does not answer is tried.
    pub(crate) reconnect_wait: Duration,
}

/// When rows are there to stay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Commit {
    /// After each chunk, with its row in the ledger.
    Chunks(Ledger),
    /// Not here: the session that is given is in a transaction that others end.
    Whole {
        /// True if a chunk that was not loaded cleanly may be undone alone and sent again by strict
        /// INSERTs. Else it fails the load. MariaDB's bulk insert knows no savepoints.
        savepoints: bool,
    },
}

/// The state of a chunk whose transaction begins.
enum ChunkState {
    /// It is nowhere.
    New,
    /// It is in, as the ledger has it, and there is no transaction.
    Loaded(Entry),
    /// Some shards have their rows of it; these lack theirs, and have a row in their ledgers by now.
    OnSome(Entry, Vec<String>),
}

/// The result of a chunk.
#[derive(Clone, Debug, Default)]
pub(crate) struct ChunkResult {
    /// As in the ledger: rows that went in, duplicates, rows refused by the server.
    pub(crate) entry: Entry,
    /// Rows that the server refused, in input order, each behind its first byte in the chunk.
    pub(crate) rejects: Vec<(usize, Reject)>,
    /// True if an earlier attempt had loaded it: its COMMIT was not answered, or another run did
    /// it.
    pub(crate) was_loaded: bool,
}

/// How rows are best written for INSERTs of these columns by this server.
///
/// MariaDB's bulk protocol where it is there. 200,000 rows of lineitem, 1,000 a statement, took the
/// server 0.49 s of processor time by it, the client 0.15 s; by text 0.90 s and 0.04 s with numbers
/// unquoted, 0.97 s and 0.05 s with; by a prepared INSERT of as many rows 0.56 s and 0.14 s; by
/// LOAD DATA 0.49 s and 0.01 s (MariaDB 10.11). MySQL 9.7 gains nothing by preparing.
///
/// The server may read a prepared statement again at any time, in the character set that the session
/// has then: that of the values. So names must be the same in it.
pub(crate) fn insert_form(
    session: &mut Session,
    table: &TableName,
    columns: &Columns,
) -> Result<Form, Error> {
    let mut names = columns.names();
    names.extend([table.database.clone(), table.table.clone()]);
    let can_be = columns.file.name() == connection::NAMES || names.iter().all(|n| n.is_ascii());
    let has_bulk = can_be && session.version().flavor == Flavor::MariaDb && columns.are_values();
    Ok(if has_bulk && session.has_bulk()? { Form::Values } else { Form::Tuples })
}

/// The requests of a sender to its caller.
pub(crate) trait Caller {
    /// Writes the rows of a chunk anew as [`Form::Tuples`], in the same order and with the same
    /// AUTO_INCREMENT numbers; only `form`, `text` and `rows` change.
    fn tuples(&mut self, chunk: &mut SentChunk) -> Result<(), Error>;

    /// Hears of a try that failed, before the pause that follows. An error ends the load.
    fn again(&mut self, again: &Again) -> Result<(), Error>;
}

/// One connection that loads chunks.
pub(crate) struct Sender {
    options: Arc<SenderOptions>,
    statements: Statements,
    /// None once it broke, until it is made again.
    session: Option<Session>,
    /// Held by the session, so that a new one finds the old one and ends it.
    lock: String,
    /// `max_allowed_packet`, less what surrounds the rows.
    packet_bytes: usize,
    /// The INSERTs of [`Form::Values`], plain and strict, once they were needed.
    prepared: [Option<Prepared>; 2],
    /// True if the session is in the rows' character set, and not in UTF-8.
    is_in_file_charset: bool,
    /// True if the session may be in a transaction.
    is_open: bool,
    /// True if the transaction of [`Commit::Whole`] holds the table.
    is_held: bool,
    /// True if a statement of this attempt was ended, for others that wait.
    has_yielded: Arc<AtomicBool>,
    /// The statement that is sent.
    sql: String,
}

impl Sender {
    /// Connects.
    pub(crate) fn connect(options: &Arc<SenderOptions>) -> Result<Sender, Error> {
        let session = reach(&options.connect, options.reconnect_wait)?;
        Sender::with(session, options)
    }

    /// Takes a session that is connected, and in a transaction if [`Commit::Whole`].
    pub(crate) fn with(session: Session, options: &Arc<SenderOptions>) -> Result<Sender, Error> {
        let lock = lock_name(&session);
        let statements = Statements::new(options.place.clone(), session.version());
        let mut sender = Sender {
            options: Arc::clone(options),
            statements,
            session: None,
            lock,
            packet_bytes: PACKET_BYTES_DEFAULT,
            prepared: [None, None],
            is_in_file_charset: false,
            is_open: false,
            is_held: options.is_held,
            has_yielded: Arc::default(),
            sql: String::new(),
        };
        sender.adopt(session)?;
        Ok(sender)
    }

    /// The session, for who began the transaction.
    pub(crate) fn into_session(self) -> Option<Session> {
        self.session
    }

    /// The server's id of the connection; none while there is none.
    pub(crate) fn connection_id(&self) -> Option<u64> {
        self.session.as_ref().map(Session::id)
    }

    /// Loads a chunk: all its rows but those that the server refuses, once.
    ///
    /// A try that fails for a reason that passes is made again, over a new connection if need be,
    /// for as long as the options say. Afterwards nothing of the chunk is in unless the result
    /// says so, or the connection was lost for good: then the ledger knows.
    pub(crate) fn send(
        &mut self,
        chunk: &mut SentChunk,
        batch: Batch,
        caller: &mut dyn Caller,
    ) -> Result<ChunkResult, Trouble> {
        let mut tries = Tries::begin();
        loop {
            let trouble = match self.attempt(chunk, batch, caller) {
                Ok(sent) => return Ok(sent),
                Err(trouble) => trouble,
            };
            let Trouble::Again(mut again) = trouble else {
                self.give_up();
                return Err(trouble);
            };
            again.pause = tries.fail(self.connection_id());
            again.tries = tries.failed();
            if matches!(self.options.commit, Commit::Whole { .. }) {
                self.give_up();
                return Err(Trouble::Again(again));
            }
            self.options.connect.interrupt.check().map_err(Error::from)?;
            caller.again(&again)?;
            if tries.are_over(self.options.lock_wait) {
                self.name_holders(&mut again);
                self.give_up();
                return Err(gave_up(chunk, &self.options.files, again, tries.elapsed()).into());
            }
            sleep(again.pause, &self.options.connect.interrupt);
        }
    }

    /// Has the error of a lock that did not come say who may hold it.
    fn name_holders(&mut self, again: &mut Again) {
        let is_lock = again.cause == Cause::LockWait;
        let Some(session) = self.session.as_mut().filter(|_| is_lock) else { return };
        let SenderOptions { place, row_waits, lock_wait, .. } = &*self.options;
        let holders = row_waits.holders(session, &place.table);
        let (target, seconds) = (place.target.to_string(), lock_wait.as_secs());
        again.error = server::Error::LockWait { target, seconds, holders };
    }

    /// Sends a chunk once.
    fn attempt(
        &mut self,
        chunk: &mut SentChunk,
        batch: Batch,
        caller: &mut dyn Caller,
    ) -> Result<ChunkResult, Trouble> {
        self.reconnect()?;
        let session = self.session.as_ref().ok_or_else(no_session)?;
        if matches!(self.options.commit, Commit::Whole { .. }) {
            return self.attempt_once(chunk, batch, caller);
        }
        let (options, mark) = (session.options().clone(), session.mark().clone());
        let row_waits = self.options.row_waits.clone();
        let once = |has_yielded: &Arc<AtomicBool>| {
            self.has_yielded = Arc::clone(has_yielded);
            self.attempt_once(chunk, batch, caller)
        };
        match row_waits.yielding(&options, &mark, once) {
            (Err(Trouble::Again(again)), true) => {
                Err(Trouble::Again(Again { cause: Cause::LockWait, ..again }))
            }
            (done, _) => done,
        }
    }

    /// The same over the connection that there is.
    fn attempt_once(
        &mut self,
        chunk: &mut SentChunk,
        batch: Batch,
        caller: &mut dyn Caller,
    ) -> Result<ChunkResult, Trouble> {
        let mut sent = ChunkResult { entry: Entry::of(chunk), ..ChunkResult::default() };
        match self.begin(&sent.entry, chunk.form)? {
            ChunkState::New => {}
            ChunkState::Loaded(entry) => {
                let rejects = rejects_of(chunk, &entry.refused, &self.options);
                return Ok(ChunkResult { entry, rejects, was_loaded: true });
            }
            ChunkState::OnSome(entry, missing) => {
                self.send_rest(chunk, batch, &entry, &missing)?;
                let rejects = rejects_of(chunk, &entry.refused, &self.options);
                return Ok(ChunkResult { entry, rejects, was_loaded: false });
            }
        }
        let mut clean = match chunk.form {
            Form::Lines => self.load(chunk, &mut sent)?,
            Form::Tuples | Form::Values => self.insert(chunk, batch, false, &mut sent)?,
        };
        if !clean {
            self.undo()?;
            if chunk.form == Form::Lines {
                caller.tuples(chunk)?;
            }
            sent.entry = Entry::of(chunk);
            if !matches!(self.begin(&sent.entry, chunk.form)?, ChunkState::New) {
                return Err(
                    internal("the ledger has a chunk of the input that was rolled back").into()
                );
            }
            clean = self.insert(chunk, batch, true, &mut sent)?;
        }
        if !clean {
            return Err(internal("an INSERT that should refuse rows changed their values").into());
        }
        self.end(chunk, &sent.entry)?;
        sent.rejects = rejects_of(chunk, &sent.entry.refused, &self.options);
        Ok(sent)
    }

    /// Begins the chunk's transaction, with its row in the ledger of each shard.
    fn begin(&mut self, entry: &Entry, form: Form) -> Result<ChunkState, Trouble> {
        let options = Arc::clone(&self.options);
        let table = &options.place.table;
        let ledger = match &options.commit {
            Commit::Whole { savepoints } => {
                // Before the savepoint, since the way back to a savepoint lets go of tables that came after it.
                if !self.is_held {
                    self.with_session(|session| session.hold_tables(&[table]))?;
                    self.is_held = true;
                }
                if *savepoints && !self.joins_savepoint(form) {
                    self.exec(SAVEPOINT)?;
                }
                return Ok(ChunkState::New);
            }
            Commit::Chunks(ledger) => ledger,
        };
        self.is_open = true;
        self.exec("START TRANSACTION")?;
        let all = ledger.shards().all();
        if all.len() == 1 {
            self.with_session(|session| session.hold_tables(&[ledger.table(), table]))?;
        }
        let (mut there, mut missing) = (None, Vec::new());
        for shard in &all {
            match self.with_session(|session| ledger.insert(session, shard, entry)) {
                Err(Trouble::Failed(Error::Server(e))) if e.errno() == Some(ER_DUP_ENTRY) => {
                    there = Some(*shard);
                }
                inserted => {
                    inserted?;
                    missing.push((*shard).to_owned());
                }
            }
        }
        let Some(there) = there else {
            if all.len() > 1 {
                // Behind the ledgers, whose order is that of the commits.
                self.with_session(|session| session.hold_tables(&[table]))?;
            }
            return Ok(ChunkState::New);
        };
        if missing.is_empty() {
            self.exec("ROLLBACK")?;
        }
        let session = self.session.as_mut().ok_or_else(no_session)?;
        let loaded = ledger.entry(session, there, entry.ordinal).map_err(again_or_failed)?;
        let Some(loaded) = loaded else {
            return Err(internal("a row of the ledger is a duplicate, but missing").into());
        };
        if !loaded.is_of_same_input(entry) {
            return Err(Error::InputChanged.into());
        }
        Ok(if missing.is_empty() {
            ChunkState::Loaded(loaded)
        } else {
            ChunkState::OnSome(loaded, missing)
        })
    }

    /// True if the savepoint before a chunk is set by the request of its rows, which not every engine takes.
    fn joins_savepoint(&self, form: Form) -> bool {
        let kind = self.session.as_ref().map(|session| Kind::of_version(session.version()));
        form == Form::Lines
            && kind == Some(Kind::Plain)
            && self.options.commit == Commit::Whole { savepoints: true }
    }

    /// Sends the rows of a chunk that some shards have, to those that lack them. The transaction has begun.
    fn send_rest(
        &mut self,
        chunk: &mut SentChunk,
        batch: Batch,
        entry: &Entry,
        missing: &[String],
    ) -> Result<(), Trouble> {
        let options = Arc::clone(&self.options);
        let (Commit::Chunks(ledger), Some((vindex, at))) = (&options.commit, &options.vindex)
        else {
            return Err(internal("the shards of a chunk's rows are unknown").into());
        };
        let session = self.session.as_mut().ok_or_else(no_session)?;
        if *entry != Entry::of(chunk) {
            let shards: Vec<&str> = missing.iter().map(String::as_str).collect();
            let updated = ledger.update(session, &shards, entry, self.packet_bytes);
            updated.map_err(again_or_failed)?;
        }
        let refused: HashSet<usize> = entry.refused.iter().map(|row| row.begin).collect();
        let was_refused = |row: &usize| refused.contains(&chunk.rows[*row].raw.start);
        let rows: Vec<usize> = (0..chunk.rows.len()).filter(|row| !was_refused(row)).collect();
        let rows = vindex.rows_of(session, chunk, &rows, *at, missing);
        let rows = rows.map_err(again_or_failed)?;
        let rest = chunk.only(&rows);
        let whole = (
            std::mem::replace(&mut chunk.text, rest.0),
            std::mem::replace(&mut chunk.rows, rest.1),
        );
        let mut sent = ChunkResult::default();
        let outcome = self.insert(chunk, batch, true, &mut sent);
        (chunk.text, chunk.rows) = whole;
        outcome?;
        if sent.entry.rows + sent.entry.duplicates != rows.len() as u64 {
            return Err(internal("a shard refused rows of a chunk that another shard has").into());
        }
        self.commit()
    }

    /// Undoes the chunk's rows and its ledger row.
    fn undo(&mut self) -> Result<(), Trouble> {
        let sql = match &self.options.commit {
            Commit::Whole { savepoints: false } => {
                return Err(internal(
                    "the server skipped rows or changed values, and the transaction has no \
                     savepoint",
                )
                .into());
            }
            Commit::Whole { savepoints: true } => "ROLLBACK TO SAVEPOINT inrush_chunk",
            Commit::Chunks(_) => "ROLLBACK",
        };
        self.undo_by(sql)
    }

    fn undo_by(&mut self, sql: &str) -> Result<(), Trouble> {
        if self.exec(sql)?.warnings == 0 {
            return Ok(());
        }
        let warnings = self.with_session(Session::warnings)?;
        match warnings.into_iter().find(|warning| warning.errno == ER_NOT_ROLLED_BACK) {
            Some(warning) => Err(Error::NotRolledBack {
                target: self.options.place.target.to_string(),
                message: warning.message,
            }
            .into()),
            None => Ok(()),
        }
    }

    /// Makes the chunk's rows stay.
    fn end(&mut self, chunk: &SentChunk, entry: &Entry) -> Result<(), Trouble> {
        let ledger = match &self.options.commit {
            // The savepoint goes with the next of its name, or with the transaction.
            Commit::Whole { .. } => return Ok(()),
            Commit::Chunks(ledger) => ledger.clone(),
        };
        if *entry != Entry::of(chunk) {
            let session = self.session.as_mut().ok_or_else(no_session)?;
            let shards = ledger.shards().all();
            let updated = ledger.update(session, &shards, entry, self.packet_bytes);
            updated.map_err(again_or_failed)?;
        }
        self.commit()
    }

    fn commit(&mut self) -> Result<(), Trouble> {
        // Rows that were converted by other settings are not to stay.
        let session = self.session.as_mut().ok_or_else(no_session)?;
        session.check_variables().map_err(again_or_failed)?;
        self.exec("COMMIT")?;
        self.is_open = false;
        Ok(())
    }
}

impl std::fmt::Debug for Sender {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Sender by {:?}", self.session)
    }
}

/// The meaning of a server's error if no row is at fault.
fn again_or_failed(error: impl Into<Error>) -> Trouble {
    match error.into() {
        Error::Server(error) => match classify(&error) {
            Class::Again(cause) => {
                Trouble::Again(Again { cause, tries: 0, pause: Duration::ZERO, error })
            }
            _ => Trouble::Failed(error.into()),
        },
        error => Trouble::Failed(error),
    }
}

/// A lock that did not come in time.
fn late(error: server::Error) -> Trouble {
    Trouble::Again(Again { cause: Cause::LockWait, tries: 0, pause: Duration::ZERO, error })
}

fn gave_up(chunk: &SentChunk, files: &[PathBuf], again: Again, elapsed: Duration) -> Error {
    let end = chunk.rows.first().map_or(0, |row| row.raw.start);
    Error::GaveUp {
        position: Box::new(Position::of(&chunk.input, end, files)),
        tries: again.tries,
        seconds: elapsed.as_secs(),
        error: again.error,
    }
}

fn internal(what: &str) -> Error {
    Error::Internal(what.to_owned())
}

fn no_session() -> Trouble {
    internal("rows were sent without a connection").into()
}
