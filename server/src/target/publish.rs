//! The swap: the filled shadow becomes the target in one atomic RENAME.
//!
//! MariaDB refuses RENAME TABLE under LOCK TABLES (error 1192), so looking at the target and
//! swapping it cannot be one connection's work. Two do it:
//!
//! ```text
//! holder: LOCK TABLES target WRITE      nobody writes any more; look: empty? not altered?
//! mover:  RENAME TABLE target TO .., shadow TO target                     waits for the lock
//! holder: sees the mover wait; UNLOCK TABLES
//! mover:  goes first: the server grants a waiting exclusive lock before every later or earlier
//!         waiting reader and writer, whose statements then find the new table
//! ```
//!
//! Killed at any point, the target is the old table or the new one: RENAME is atomic, on the
//! server's crash too (DDL log, MariaDB 10.6 and later).
//! Source: MariaDB 10.11, sql/mdl.cc, `MDL_lock::can_grant_lock`: a request is granted only if no
//! incompatible stronger one waits.

use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use crate::catalog::{Table, definition, foreign_keys};
use crate::error::{Error, Result};
use crate::identifier::{TableName, quote_text};
use crate::session::Session;
use crate::target::import::Target;
use crate::target::waiting::{ER_LOCK_WAIT_TIMEOUT, lock_holders};

/// Server errors of a killed statement and of a killed connection: sent also when the statement
/// was through before it noticed (sql/sql_parse.cc, `mysql_execute_command`, at `finish`).
const ER_KILLED: [u16; 2] = [1317, 1927];
/// One attempt at the target's lock. While it waits, new statements on the target wait behind
/// it, so attempts are short and leave pauses.
const ATTEMPT: Duration = Duration::from_secs(3);
/// Several locks, one after the other, may each take an attempt's time.
const QUEUED_MAX: Duration = Duration::from_secs(15);
const PAUSE: Duration = Duration::from_millis(500);
const POLL: Duration = Duration::from_millis(2);
/// A statement that has not ended after so many polls does not obey.
const KILLS_MAX: u32 = 1000;
/// The mover must be seen waiting this often in a row: another lock than the target's would be
/// a moment's.
const SIGHTINGS: u32 = 3;
const WAITING: &str = "Waiting for table metadata lock";

/// What becomes of rows that are in the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// `--mode insert`: there must be none, up to the swap.
    Insert,
    /// `--mode replace`: they go.
    Replace,
}

impl Target {
    /// Swaps the shadow in. Afterwards the old table has the name [`Target::aside`] gives.
    ///
    /// Rows inserted before the swap are never lost: in [`Mode::Insert`] they stop it. Statements
    /// that come meanwhile wait, at most a few milliseconds plus the time the locks take.
    ///
    /// Killed after it: the target is new, the old table is still there under its other name.
    ///
    /// Errors, the target as before: [`Error::NotEmpty`], [`Error::Altered`] (the twin too, if
    /// anything of the target is missing in it), [`Error::LockWait`]. [`Error::Unanswered`]: it is the old table or the new one.
    pub fn publish(&mut self, mode: Mode) -> Result<()> {
        let begun = Instant::now();
        self.check_writable()?;
        self.check_twin()?;
        let mut holder = self.second()?;
        // Without autocommit LOCK TABLES also takes InnoDB's lock, which waits for transactions
        // without a connection: prepared ones. UNLOCK TABLES commits.
        holder
            .exec("SET SESSION autocommit=0, innodb_table_locks=1, innodb_lock_wait_timeout=1")?;
        let outcome = loop {
            let left = self.patience.wait.saturating_sub(begun.elapsed());
            holder.set_lock_wait(ATTEMPT.min(left))?;
            self.session.set_lock_wait(ATTEMPT.min(left))?;
            let outcome = self.attempt(&mut holder, mode);
            let late = outcome.as_ref().err().and_then(Error::errno) == Some(ER_LOCK_WAIT_TIMEOUT);
            if !late {
                break outcome;
            }
            let holders = lock_holders(&mut holder, &self.table.name).unwrap_or_default();
            if begun.elapsed() + PAUSE >= self.patience.wait {
                break Err(self.patience.timed_out(&mut holder, holders));
            }
            self.patience.tell(&holders);
            std::thread::sleep(PAUSE);
        };
        self.spare = Some(holder);
        // Of no matter where the connection has gone.
        let _ = self.session.set_lock_wait(self.patience.wait);
        outcome.map_err(|error| self.gone_meanwhile(error))
    }

    /// Locks, looks and swaps once; error 1205 when a lock does not come for [`ATTEMPT`].
    fn attempt(&mut self, holder: &mut Session, mode: Mode) -> Result<()> {
        holder.exec(&format!("LOCK TABLES {} WRITE", self.table.name.quoted()))?;
        if let Err(error) = self.check_unchanged(holder, mode) {
            let _shield = holder.options().interrupt.shield();
            let _ = holder.exec("UNLOCK TABLES");
            return Err(error);
        }
        self.swap(holder, mode)
    }

    /// Under the holder's lock: renames, and lets the lock go when the renaming waits for it.
    fn swap(&mut self, holder: &mut Session, mode: Mode) -> Result<()> {
        let target = self.table.name.clone();
        let aside = self.aside(mode).clone();
        let rename = format!(
            "RENAME TABLE {} TO {}, {} TO {}",
            target.quoted(),
            aside.quoted(),
            self.names.shadow.quoted(),
            target.quoted()
        );
        let mover = &mut self.session;
        let mover_id = mover.id();
        let (cause, moved) = std::thread::scope(|scope| {
            let (sender, result) = channel();
            scope.spawn(move || {
                // The receiver outlives this: it is asked in any case.
                let _ = sender.send(mover.exec(&rename).map(drop));
            });
            let seen = wait_until_queued(holder, mover_id, &result);
            // To its end, also when somebody wants the load stopped: the lock must go.
            let _shield = holder.options().interrupt.shield();
            // Before the lock goes: else the mover would swap what nobody watches. Where this
            // fails too, the mover may swap, and says so.
            let ended = seen.is_err().then(|| end_mover(holder, mover_id, &result)).flatten();
            // Without it the mover would wait for nothing.
            let unlocked = holder.exec("UNLOCK TABLES").map(drop);
            let (early, cause) = match seen {
                Ok(early) => (early, unlocked.err()),
                Err(cause) => (ended, Some(cause)),
            };
            // Whatever befell the holder, the mover knows whether the swap is done.
            let moved =
                early.unwrap_or_else(|| result.recv().unwrap_or_else(|_| Err(gone(&target))));
            (cause, moved)
        });
        if moved.is_err() {
            // An ending that came late hits this instead of what follows.
            let _shield = self.session.options().interrupt.shield();
            let _ = self.session.exec("DO 0");
        }
        match moved {
            Err(error) if is_unclear(&error) => match self.was_swapped(mover_id) {
                Ok(true) => Ok(()),
                Ok(false) => Err(cause.unwrap_or(error)),
                Err(_) => Err(gone(&target)),
            },
            clear => clear,
        }
    }

    /// Whether a RENAME without answer was done: it is atomic, so the shadow's name tells.
    fn was_swapped(&self, mover: u64) -> Result<bool> {
        let _shield = self.session.options().interrupt.shield();
        let mut session = self.reach()?;
        let busy = format!(
            "SELECT 1 FROM information_schema.PROCESSLIST WHERE ID={mover} \
             AND INFO LIKE 'RENAME TABLE%'"
        );
        let start = Instant::now();
        while session.query_text(&busy)?.is_some() {
            if start.elapsed() > ATTEMPT {
                return Err(gone(&self.table.name));
            }
            std::thread::sleep(POLL);
        }
        Ok(!Table::exists(&mut session, &self.names.shadow)?)
    }

    /// Drops what the swap put aside, over a new connection if the old one was lost.
    ///
    /// Errors: [`Error::Leftover`] if rows are in a table that had to be empty; it is kept.
    pub fn drop_old(&mut self, mode: Mode) -> Result<()> {
        self.reconnect()?;
        match self.drop_aside(mode) {
            Err(Error::Lost { .. }) => {
                self.recover()?;
                // The server may have dropped it before the connection broke.
                let aside = self.aside(mode).clone();
                if !Table::exists(&mut self.session, &aside)? {
                    return Ok(());
                }
                self.drop_aside(mode)
            }
            dropped => dropped,
        }
    }

    fn drop_aside(&mut self, mode: Mode) -> Result<()> {
        match mode {
            Mode::Insert => self.drop_emptied(),
            Mode::Replace => {
                let sql = format!("DROP TABLE {}", self.names.replaced.quoted());
                self.exec(&sql)
            }
        }
    }

    /// The name of the old table after the swap.
    pub fn aside(&self, mode: Mode) -> &TableName {
        match mode {
            Mode::Insert => &self.names.emptied,
            Mode::Replace => &self.names.replaced,
        }
    }

    /// Drops the table that a swap took for empty, if it is.
    pub(crate) fn drop_emptied(&mut self) -> Result<()> {
        let aside = self.names.emptied.clone();
        if !Table::is_empty(&mut self.session, &aside)? {
            return Err(Error::Leftover(format!(
                "{aside} holds rows that were inserted into {} while it was being swapped: copy \
                 them, then drop it",
                self.table.name
            )));
        }
        self.exec(&format!("DROP TABLE {}", aside.quoted()))
    }

    /// Under the holder's lock: the target is as it was when the shadow was made.
    fn check_unchanged(&self, holder: &mut Session, mode: Mode) -> Result<()> {
        let name = &self.table.name;
        let altered = |detail: &str| {
            Err(Error::Altered { target: name.to_string(), detail: detail.to_owned() })
        };
        if definition(holder, name)? != self.table.definition {
            return altered("its definition is another");
        }
        let triggers = format!(
            "SELECT 1 FROM information_schema.TRIGGERS WHERE EVENT_OBJECT_SCHEMA={} \
             AND EVENT_OBJECT_TABLE={}",
            quote_text(&name.database),
            quote_text(&name.table)
        );
        if !holder.query(&triggers)?.is_empty() {
            return altered("it has a trigger now");
        }
        // That of a child table is not in the target's definition.
        if let Some(key) = foreign_keys(holder, name)?.first() {
            return altered(&format!("it has a foreign key now: {key}"));
        }
        let any = format!("SELECT 1 FROM {} LIMIT 1", name.quoted());
        if mode == Mode::Insert && !holder.query(&any)?.is_empty() {
            return Err(Error::NotEmpty(name.to_string()));
        }
        Ok(())
    }
}

/// Polls until connection `mover` waits for a table lock; Some when it ended before.
fn wait_until_queued(
    holder: &mut Session,
    mover: u64,
    result: &Receiver<Result<()>>,
) -> Result<Option<Result<()>>> {
    let sql = format!("SELECT STATE FROM information_schema.PROCESSLIST WHERE ID={mover}");
    let (start, mut sightings) = (Instant::now(), 0);
    loop {
        let waits = holder.query_text(&sql)?.as_deref() == Some(WAITING);
        sightings = if waits { sightings + 1 } else { 0 };
        if sightings >= SIGHTINGS {
            return Ok(None);
        }
        match result.recv_timeout(POLL) {
            Ok(early) => return Ok(Some(early)),
            Err(RecvTimeoutError::Timeout) => {}
            // The thread cannot end without a word; the caller's recv reports it.
            Err(RecvTimeoutError::Disconnected) => return Ok(None),
        }
        if start.elapsed() > QUEUED_MAX {
            // Ended by the server, it reports so; the target stays as it is.
            holder.kill(mover)?;
            return Ok(None);
        }
    }
}

/// Ends the mover's statement, its connection only if that does not help; gives what it says.
fn end_mover(
    holder: &mut Session,
    mover: u64,
    result: &Receiver<Result<()>>,
) -> Option<Result<()>> {
    for _ in 0..KILLS_MAX {
        if holder.kill_query(mover).is_err() {
            break;
        }
        if let Ok(ended) = result.recv_timeout(POLL) {
            return Some(ended);
        }
    }
    let _ = holder.kill(mover);
    None
}

/// Whether the server may have done the statement all the same.
fn is_unclear(error: &Error) -> bool {
    matches!(error, Error::Lost { .. }) || error.errno().is_some_and(|n| ER_KILLED.contains(&n))
}

fn gone(target: &TableName) -> Error {
    Error::Unanswered(target.to_string())
}
