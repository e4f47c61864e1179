//! A target that no other load can touch, with the session that holds it.
//!
//! Two loads of one table exclude each other by a named lock of the server, which also holds
//! between machines and is released when the session ends, however it ends.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use schema::{Table, TableName};

use crate::busy::BUSY_WAIT;
use crate::description::write_out;
use crate::keeper::Keeper;
use crate::left::Left;
use crate::names::Names;
use crate::turns::{Blocked, Turns};
use crate::waiting::Patience;
use server::Unsupported;
use server::error::{Error, Result};
use server::facts::{ServerFacts, database_dir::DatabaseDir, writes_kept_away};
use server::session::{Done, Session};

/// How long a table's lock is waited for, all attempts together.
pub const LOCK_WAIT: Duration = Duration::from_secs(60);
/// How long a server that does not answer is tried, by default.
pub const RECONNECT_WAIT: Duration = Duration::from_secs(30);
/// Server errors of a table or a database that is not there.
pub(super) const ER_GONE: [u16; 2] = [1146, 1049];
const ER_LOCK_DEADLOCK: u16 = 1213;

/// How to treat a target.
#[derive(Clone, Debug)]
pub struct LockOptions {
    /// How long a statement waits for locks, the swap in all its attempts; default [`LOCK_WAIT`].
    pub lock_wait: Duration,
    /// How long another load of the target is waited for; default 5 s, the least.
    pub load_wait: Duration,
    /// How long a server that went away is tried again; default [`RECONNECT_WAIT`].
    pub reconnect_wait: Duration,
    /// Gets a sentence whenever a lock is waited for; default nobody.
    pub told: Option<Sender<String>>,
    /// True if the direct path bypasses triggers, which stay on the target; default no.
    pub no_triggers: bool,
    /// The identity of the command's rows; default none.
    pub proof: Option<String>,
    /// True if the command may leave the target without rows; default no.
    pub allow_empty: bool,
}

impl Default for LockOptions {
    fn default() -> LockOptions {
        let reconnect_wait = RECONNECT_WAIT;
        LockOptions {
            lock_wait: LOCK_WAIT,
            load_wait: BUSY_WAIT,
            reconnect_wait,
            told: None,
            no_triggers: false,
            proof: None,
            allow_empty: false,
        }
    }
}

/// A locked target.
#[derive(Debug)]
pub struct Lock {
    /// The session all statements go through; its end releases the target, unless it is one of
    /// several that a [`Keeper`] holds.
    pub session: Session,
    /// The target as it was when it was locked.
    pub table: Table,
    /// The server as it was then.
    pub facts: Arc<ServerFacts>,
    /// Names of our helpers.
    pub names: Names,
    /// Everything that keeps the direct path from this target: table, server, data directory.
    pub unsupported: Vec<Unsupported>,
    /// Remarks on events that did not end the load: a connection made again.
    pub remarks: Vec<String>,
    /// [`Resting::was_empty`](crate::Resting::was_empty).
    pub was_empty: Option<bool>,
    /// Foreign keys of other tables that refer to an old table behind its swap, each with the table that it
    /// is to refer to.
    pub keys_left: Vec<(TableName, String)>,
    /// Triggers that an old table has still, each with the table that is to have it.
    pub triggers_left: Vec<(TableName, String)>,
    /// How long others may have waited for the load.
    pub blocked: Blocked,
    /// Since when others wait for the load to end: it waits for nobody any more then.
    pub(super) keeps_others: Option<Instant>,
    pub(super) patience: Patience,
    pub(super) reconnect_wait: Duration,
    /// [`LockOptions::allow_empty`].
    pub(super) allow_empty: bool,
    /// Connected early, so that a full server cannot stop the swap: it holds the table there.
    pub(super) spare: Option<Session>,
    /// None where it cannot be reached: [`Lock::unsupported`] says why.
    pub(super) folder: Option<Folder>,
    /// Who holds the target, if it is another connection than [`Lock::session`].
    pub(super) keeper: Option<Arc<Keeper>>,
    /// Leftovers of killed loads when it was locked, if that was asked.
    pub(super) left: Option<Arc<Left>>,
}

/// The folder of the target's database.
#[derive(Debug)]
pub(super) struct Folder {
    pub(super) dir: DatabaseDir,
    /// True if it is known to be this server's.
    pub(super) is_proven: bool,
}

impl Lock {
    /// True if the target has no row that this session can see.
    pub fn is_empty(&mut self) -> Result<bool> {
        let name = self.table.name.clone();
        self.patience.watch(&mut self.session, |session| catalog::is_empty(session, &name))
    }

    /// Runs statements that may wait for locks, and that leave the target as it is.
    pub fn watched<T>(&mut self, work: impl FnOnce(&mut Session) -> Result<T>) -> Result<T> {
        self.patience.watch(&mut self.session, work)
    }

    /// The longest wait for the locks of one statement.
    pub fn lock_wait(&self) -> Duration {
        self.patience.wait
    }

    /// True if the rows of a merge that let others go on, which is `error`, are merged once more: there is time for
    /// it, and the others had their turn.
    pub fn merges_again(&self, turns: &mut Turns, error: &Error) -> bool {
        matches!(error, Error::Yielded { .. }) && turns.again(error, &self.session)
    }

    /// Runs a statement that may wait for locks, on our tables or the target; as long as nobody waits for the load,
    /// if it holds the target.
    pub(super) fn exec(&mut self, sql: &str) -> Result<()> {
        self.exec_done(sql).map(drop)
    }

    /// The same, with what it did.
    pub(super) fn exec_done(&mut self, sql: &str) -> Result<Done> {
        self.run(|session| session.exec(sql))
    }

    /// Has the server write out a table of ours, as [`write_out`] does.
    pub(super) fn write_out(&mut self, table: &TableName) -> Result<()> {
        let wait = self.patience.wait;
        self.run(|session| write_out(session, table, wait))
    }

    fn run<T>(&mut self, run: impl FnOnce(&mut Session) -> Result<T>) -> Result<T> {
        let done = match self.keeps_others {
            Some(since) => self.patience.watch_yielding(&mut self.session, since, run),
            None => self.patience.watch(&mut self.session, run),
        };
        done.map_err(|error| self.gone_meanwhile(error))
    }

    /// A statement that found a table no more says which one it was, and why that matters.
    pub fn gone_meanwhile(&mut self, error: Error) -> Error {
        let is_gone = |error: &Error| error.errno().is_some_and(|errno| ER_GONE.contains(&errno));
        // A DROP that wins a deadlock holds the target until it is through.
        let error = match error.errno() {
            Some(ER_LOCK_DEADLOCK) => self.is_empty().err().filter(is_gone).unwrap_or(error),
            _ => error,
        };
        if !is_gone(&error) {
            return error;
        }
        let target = self.table.name.clone();
        let (ledger, staging) = (&self.names.ledger, &self.names.staging);
        let detail = match catalog::exists(&mut self.session, &target) {
            Ok(true) if is_missing(ledger, &error) => {
                format!("the load's own table, {ledger}, was dropped")
            }
            Ok(true) if is_missing(staging, &error) => {
                format!("the load's staging table, {staging}, was dropped")
            }
            // Somebody else's: of a trigger, or joined with the target by a foreign key.
            Ok(true) => return error,
            _ => "the table, or its database, was dropped or renamed during the load".to_owned(),
        };
        Error::Altered { target: target.to_string(), detail }
    }

    /// True if the target is known not to exist any more.
    pub fn is_gone(&mut self) -> bool {
        matches!(catalog::exists(&mut self.session, &self.table.name), Ok(false))
    }

    /// Nobody has made the server read-only meanwhile. An administrator's account could write all
    /// the same, and would where a server is about to be given up for another.
    pub fn check_writable(&mut self) -> Result<()> {
        check_writable(&mut self.session, &self.table.name)
    }

    /// Number of the connection that is kept for the swap.
    pub fn second_connection(&self) -> Option<u64> {
        self.spare.as_ref().map(Session::id)
    }

    /// The folder of the target's database.
    pub fn dir(&self) -> Result<&DatabaseDir> {
        let folder = self.folder.as_ref().ok_or_else(|| Error::Unsupported {
            target: self.table.name.to_string(),
            reasons: self.unsupported.clone(),
        })?;
        Ok(&folder.dir)
    }

    /// Where the direct path builds its file: beside its place, so that a rename brings it there,
    /// under a name the server does not look at.
    pub fn build_path(&self) -> Result<PathBuf> {
        Ok(self.staging_path(self.dir()?, "build"))
    }

    /// A file of the staging table. Its name is ASCII letters, digits and `_`: the same on disk.
    pub(super) fn staging_path(&self, dir: &DatabaseDir, extension: &str) -> PathBuf {
        dir.path.join(format!("{}.{extension}", self.names.staging.table))
    }
}

/// As [`Lock::check_writable`], over another connection.
pub(super) fn check_writable(session: &mut Session, target: &TableName) -> Result<()> {
    match writes_kept_away(session)?.first() {
        None => Ok(()),
        Some(&variable) => {
            Err(Error::ReadOnly { target: target.to_string(), variable: variable.to_owned() })
        }
    }
}

/// True if the server's error is that a table of ours, or a database of its name, does not exist.
pub(super) fn is_missing(table: &TableName, error: &Error) -> bool {
    // Not the statement: it may name tables that exist.
    matches!(error, Error::Statement { message, .. } if message.contains(&table.table))
}
