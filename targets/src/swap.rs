//! The swap: filled tables become the tables they are for in one atomic RENAME.
//!
//! MariaDB refuses RENAME TABLE under LOCK TABLES (error 1192), so looking at a table and swapping
//! it cannot be one connection's work. Two do it, a holder for each table (or for some that follow
//! each other, where they are too many for a connection each) and one mover for all:
//!
//! ```text
//! holder: LOCK TABLES table WRITE      nobody writes any more; look: empty? not altered?
//! mover:  RENAME TABLE table TO .., shadow TO table, ..                   waits for the lock
//! holder: sees the mover wait; UNLOCK TABLES
//! mover:  goes first: the server grants a waiting exclusive lock before every later or earlier
//!         waiting reader and writer, whose statements then find the new table
//! ```
//!
//! The mover takes the locks of several tables in the order of their names, and holders let go in
//! that order, each when the mover waits for its table. Should one be taken to wait that has just
//! got the lock before, a row that slips in is not lost either: it is in the table put aside, which
//! is not dropped while rows are in it. The same goes for a table that is not the first of its
//! holder's: those who waited for it have it before the mover comes. Should one of them alter it, the
//! table put aside is kept too.
//!
//! Killed at any point, the tables are the old ones or the new ones: RENAME is atomic, on the
//! server's crash too (DDL log, MariaDB 10.6 and later). Whether one without an answer was done is
//! told by the name of a replacement.
//! Source: MariaDB 10.11, sql/mdl.cc, `MDL_lock::can_grant_lock`: a request is granted only if no
//! incompatible stronger one waits; `MDL_context::acquire_locks` sorts requests by name.

use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use disk::failpoint;

use crate::foreign_keys::unchecked;
use crate::lock::{Lock, RECONNECT_WAIT};
use crate::reach::{reach, second};
use crate::triggers::{self, has_triggers};
use crate::waiting::{ER_LOCK_WAIT_TIMEOUT, Patience, lock_holders};
use server::catalog::{self, definition, foreign_keys};
use server::connect::Mark;
use server::error::{Error, Result};
use server::facts::database_dir::DatabaseDir;
use server::identifier::TableName;
use server::session::Session;

/// One attempt at the locks. While it waits, new statements on the tables wait behind it, so
/// attempts are short and leave pauses.
const ATTEMPT: Duration = Duration::from_secs(3);
/// Several locks, one after the other, may each take an attempt's time.
const QUEUED_MAX: Duration = Duration::from_secs(15);
/// Connections that hold tables: with more tables than that each holds some that follow each other.
pub(super) const HOLDERS_MAX: usize = 8;
const PAUSE: Duration = Duration::from_millis(500);
const POLL: Duration = Duration::from_millis(1);
/// A statement that has not ended after so many polls does not obey.
const KILLS_MAX: u32 = 2000;
/// Server error of a name that statistics are kept of already.
const ER_DUP_KEY: u16 = 1022;
/// The mover must be seen waiting this often in a row: another lock than the table's would be
/// a moment's.
const SIGHTINGS: u32 = 3;
const WAITING: &str = "Waiting for table metadata lock";

/// What becomes of rows that are in a table whose place is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// `--mode insert`: there must be none, up to the swap.
    Insert,
    /// `--mode replace`: they go.
    Replace,
}

/// A table and what takes its place.
#[derive(Clone, Debug)]
pub struct Pair {
    /// The name that both have, one after the other.
    pub table: TableName,
    /// What the new table is called before the swap.
    pub replacement: TableName,
    /// What has the name before the swap.
    pub before: Before,
}

/// What has a table's name before the swap. `aside` is what that is called afterwards.
#[derive(Clone, Debug)]
pub enum Before {
    /// Nothing.
    Nothing,
    /// A table that goes as it is. Foreign keys of others may refer to it:
    /// [`carry_over`](super::foreign_keys::carry_over) is for them.
    Whatever {
        /// Its name after the swap.
        aside: TableName,
    },
    /// A table that must not have been altered, nor have got its first trigger or foreign keys, and has to
    /// be empty in [`Mode::Insert`], up to the swap.
    Unchanged {
        /// Its name after the swap.
        aside: TableName,
        /// Its definition.
        definition: String,
        /// Whether it has to be empty.
        mode: Mode,
        /// Where its files are, if it has triggers: those that it has then stay on the table of its
        /// name.
        triggers: Option<DatabaseDir>,
    },
}

/// Tables that take their places all at once, or none of them.
#[derive(Clone, Debug)]
pub struct Swap {
    /// In the order of the tables' names, as the server locks them.
    pairs: Vec<Pair>,
}

impl Swap {
    /// A swap of these tables, at least one.
    pub fn new(mut pairs: Vec<Pair>) -> Swap {
        assert!(!pairs.is_empty(), "a swap of no table");
        pairs.sort_by(|a, b| a.table.cmp(&b.table));
        assert!(pairs.windows(2).all(|two| two[0].table != two[1].table), "a table swapped twice");
        Swap { pairs }
    }

    /// Swaps over `session`, and waits for locks no longer than `wait`. A session that is lost on the
    /// way is made again; what it held besides is lost with it.
    ///
    /// Errors, all tables as before: [`Error::NotEmpty`], [`Error::Altered`], [`Error::LockWait`];
    /// the server's. [`Error::Unanswered`]: they are the old tables or the new ones.
    pub fn run(&self, session: &mut Session, wait: Duration) -> Result<()> {
        let patience = Patience { target: self.pairs[0].table.clone(), wait, told: None };
        let reconnect_wait = RECONNECT_WAIT;
        let done =
            Mover { swap: self, session, patience: &patience, reconnect_wait }.run(&mut None);
        if session.is_alive() {
            return done;
        }
        let again = reach(session, reconnect_wait).and_then(|again| {
            *session = again;
            session.set_lock_wait(wait)
        });
        done.and(again)
    }

    /// As [`Swap::run`], over the session of a locked target, which keeps a second one.
    pub(super) fn run_for(&self, lock: &mut Lock) -> Result<()> {
        let mut spare = Some(lock.second()?);
        let Lock { session, patience, reconnect_wait, .. } = lock;
        let reconnect_wait = *reconnect_wait;
        let done = Mover { swap: self, session, patience, reconnect_wait }.run(&mut spare);
        lock.spare = spare;
        // Of no matter where the connection has gone.
        let _ = lock.session.set_lock_wait(lock.patience.wait);
        done
    }

    /// Pairs whose tables are locked before the swap, those of each holder together: none where there
    /// is nothing to be looked at, and else all, so that the mover waits for nobody else's lock.
    fn held(&self) -> Vec<Vec<&Pair>> {
        if !self.pairs.iter().any(Pair::is_looked_at) {
            return Vec::new();
        }
        let is_there = |pair: &&Pair| !matches!(pair.before, Before::Nothing);
        let held: Vec<&Pair> = self.pairs.iter().filter(is_there).collect();
        let each = held.len().div_ceil(HOLDERS_MAX).max(1);
        held.chunks(each).map(<[&Pair]>::to_vec).collect()
    }

    /// The names of the tables, for messages.
    fn names(&self) -> String {
        let names: Vec<String> = self.pairs.iter().map(|pair| pair.table.to_string()).collect();
        names.join(", ")
    }

    fn statement(&self) -> String {
        let mut renames = Vec::new();
        for Pair { table, replacement, before } in &self.pairs {
            let (table, replacement) = (table.quoted(), replacement.quoted());
            if let Before::Whatever { aside } | Before::Unchanged { aside, .. } = before {
                renames.push(format!("{table} TO {}", aside.quoted()));
            }
            renames.push(format!("{replacement} TO {table}"));
        }
        format!("RENAME TABLE {}", renames.join(", "))
    }

    /// Who may hold a lock that keeps the tables from being swapped.
    fn holders_of_locks(&self, session: &mut Session) -> Vec<String> {
        let mut holders = Vec::new();
        for pair in &self.pairs {
            holders.extend(lock_holders(session, &pair.table).unwrap_or_default());
        }
        holders.dedup();
        holders
    }

    fn unanswered(&self) -> Error {
        Error::Unanswered(self.names())
    }
}

/// A swap on its way.
struct Mover<'s> {
    swap: &'s Swap,
    /// The connection that renames.
    session: &'s mut Session,
    patience: &'s Patience,
    reconnect_wait: Duration,
}

impl Mover<'_> {
    /// Swaps, in as many attempts as there is time for. `spare` is the first holder, and one stays
    /// there.
    fn run(&mut self, spare: &mut Option<Session>) -> Result<()> {
        let begun = Instant::now();
        let mut holders = self.holders(spare)?;
        let mut has_forgotten = false;
        let outcome = loop {
            let left = self.patience.wait.saturating_sub(begun.elapsed());
            // Where nobody holds the tables for us there is nothing to gain by a second attempt.
            let wait = if holders.is_empty() { left } else { ATTEMPT.min(left) };
            let outcome = self.attempt(&mut holders, wait);
            match outcome.as_ref().err().and_then(Error::errno) {
                Some(ER_LOCK_WAIT_TIMEOUT) => {}
                Some(ER_DUP_KEY) if !has_forgotten => {
                    has_forgotten = true;
                    self.forget_statistics()?;
                    continue;
                }
                _ => break outcome,
            }
            let seen_by = holders.first_mut().unwrap_or(self.session);
            let seen = self.swap.holders_of_locks(seen_by);
            if holders.is_empty() || begun.elapsed() + PAUSE >= self.patience.wait {
                let (target, seconds) = (self.swap.names(), self.patience.wait.as_secs());
                break Err(Error::LockWait { target, seconds, holders: seen });
            }
            self.patience.tell(&seen);
            std::thread::sleep(PAUSE);
        };
        *spare = holders.into_iter().next();
        outcome
    }

    /// A connection for each table that is held.
    fn holders(&self, spare: &mut Option<Session>) -> Result<Vec<Session>> {
        let mut holders = Vec::new();
        for _ in self.swap.held() {
            let mut holder = match spare.take() {
                Some(holder) => holder,
                None => second(self.session, self.patience.wait)?,
            };
            // Without autocommit LOCK TABLES also takes InnoDB's lock, which waits for transactions
            // without a connection: prepared ones. UNLOCK TABLES commits.
            holder.exec(
                "SET SESSION autocommit=0, innodb_table_locks=1, innodb_lock_wait_timeout=1",
            )?;
            holders.push(holder);
        }
        Ok(holders)
    }

    /// Locks, looks and swaps once; error 1205 when a lock does not come for `wait`.
    fn attempt(&mut self, holders: &mut [Session], wait: Duration) -> Result<()> {
        for holder in holders.iter_mut() {
            holder.set_lock_wait(wait)?;
        }
        self.session.set_lock_wait(wait)?;
        for (at, pairs) in self.swap.held().iter().enumerate() {
            let held = hold(pairs, &mut holders[at]);
            if held.is_err() {
                for holder in &mut holders[..at] {
                    let _shield = holder.options().interrupt.shield();
                    let _ = holder.exec("UNLOCK TABLES");
                }
                return held;
            }
        }
        let mover_id = self.session.id();
        let (cause, moved) = match holders.is_empty() {
            true => (None, self.rename()),
            false => self.rename_held(holders),
        };
        if moved.is_err() && !holders.is_empty() {
            // An ending that came late hits this instead of what follows.
            let _shield = self.session.options().interrupt.shield();
            let _ = self.session.exec("DO 0");
        }
        match moved {
            Err(error) if error.is_unclear() => match self.was_swapped(mover_id) {
                Ok(true) => Ok(()),
                Ok(false) => Err(cause.unwrap_or(error)),
                Err(_) => Err(self.swap.unanswered()),
            },
            clear => clear,
        }
    }

    /// Has the server forget statistics of names that tables are put aside under. They stay when a
    /// table is dropped while `innodb_stats_persistent` is off, and no other table gets the name when
    /// it is on again.
    fn forget_statistics(&mut self) -> Result<()> {
        for pair in &self.swap.pairs {
            if let Before::Whatever { aside } | Before::Unchanged { aside, .. } = &pair.before {
                let aside = aside.quoted();
                let options = "ENGINE=InnoDB STATS_PERSISTENT=1";
                self.session
                    .exec(&format!("CREATE TABLE {aside} (a INT PRIMARY KEY) {options}"))?;
                self.session.exec(&format!("DROP TABLE {aside}"))?;
            }
        }
        Ok(())
    }

    fn rename(&mut self) -> Result<()> {
        let sql = self.swap.statement();
        // What is looked at has no foreign keys.
        if self.swap.pairs.iter().all(Pair::is_looked_at) {
            return exec_published(self.session, &sql);
        }
        unchecked(self.session, |session| exec_published(session, &sql))
    }

    /// Under the holders' locks: renames, and lets each lock go when the renaming waits for it.
    /// Gives what befell a holder, and what the renaming says.
    fn rename_held(&mut self, holders: &mut [Session]) -> (Option<Error>, Result<()>) {
        let died = Error::Lost {
            message: "the thread that renames has ended".to_owned(),
            statement: self.swap.statement(),
        };
        let mover = self.session.mark().clone();
        std::thread::scope(|scope| {
            let (sender, result) = channel();
            let moving = scope.spawn(move || {
                failpoint::hit("thread.mover");
                // The receiver outlives this: it is asked in any case.
                let _ = sender.send(self.rename());
            });
            let (mut seen, mut ended, mut unlocked) = (Ok(None), None, Ok(()));
            for holder in holders {
                let mut failed_here = false;
                if matches!(seen, Ok(None)) {
                    seen = wait_until_queued(holder, &mover, &result);
                    failpoint::hit("publish.queued");
                    failed_here = seen.is_err();
                }
                // To its end, also when somebody wants the load stopped: the lock must go.
                let _shield = holder.options().interrupt.shield();
                // Before the lock goes: else the mover would swap what nobody watches. Where this
                // fails too, the mover may swap, and says so.
                if failed_here {
                    ended = end_mover(holder, &mover, &result);
                }
                // Without it the mover would wait for nothing.
                unlocked = unlocked.and(holder.exec("UNLOCK TABLES").map(drop));
            }
            let (early, cause) = match seen {
                Ok(early) => (early, unlocked.err()),
                Err(cause) => (ended, Some(cause)),
            };
            // Whatever befell a holder, the mover knows whether the swap is done.
            // Where it died without a word, the server is asked what it has done.
            let moved = early.unwrap_or_else(|| result.recv().unwrap_or(Err(died)));
            let _ = moving.join();
            (cause, moved)
        })
    }

    /// Whether a RENAME without answer was done: it is atomic, so the name of one replacement tells.
    fn was_swapped(&self, mover: u64) -> Result<bool> {
        let _shield = self.session.options().interrupt.shield();
        let mut session = reach(self.session, self.reconnect_wait)?;
        let busy = format!(
            "SELECT 1 FROM information_schema.PROCESSLIST WHERE ID={mover} \
             AND INFO LIKE 'RENAME TABLE%'"
        );
        let start = Instant::now();
        while session.query_text(&busy)?.is_some() {
            if start.elapsed() > ATTEMPT {
                return Err(self.swap.unanswered());
            }
            std::thread::sleep(POLL);
        }
        Ok(!catalog::exists(&mut session, &self.swap.pairs[0].replacement)?)
    }
}

impl Pair {
    fn is_looked_at(&self) -> bool {
        matches!(self.before, Before::Unchanged { .. })
    }

    /// Under the holder's lock: the table is as it was when its replacement was made.
    fn check_unchanged(&self, holder: &mut Session) -> Result<()> {
        let Before::Unchanged { definition: before, mode, triggers, .. } = &self.before else {
            return Ok(());
        };
        let name = &self.table;
        let altered = |detail: &str| {
            Err(Error::Altered { target: name.to_string(), detail: detail.to_owned() })
        };
        if definition(holder, name)? != *before {
            return altered("its definition is another");
        }
        if triggers.is_none() && has_triggers(holder, name)? {
            return altered("it has a trigger now");
        }
        // That of a child table is not in the target's definition.
        if let Some(key) = foreign_keys(holder, name)?.first() {
            return altered(&format!("it has a foreign key now: {key}"));
        }
        let any = format!("SELECT 1 FROM {} LIMIT 1", name.quoted());
        if *mode == Mode::Insert && !holder.query(&any)?.is_empty() {
            return Err(Error::NotEmpty(name.to_string()));
        }
        match triggers {
            Some(dir) => triggers::copy(holder, dir, name, &self.replacement),
            None => Ok(()),
        }
    }
}

/// A statement that publishes: in the binary log, also of a session that is not, where replicas are
/// to publish by it.
pub(super) fn exec_published(session: &mut Session, sql: &str) -> Result<()> {
    if !session.options().logs_publishing {
        return session.exec(sql).map(drop);
    }
    session.exec("SET SESSION sql_log_bin=1")?;
    let done = session.exec(sql).map(drop);
    if session.is_alive() {
        let _shield = session.options().interrupt.shield();
        // One that is made again begins without the log.
        let _ = session.exec("SET SESSION sql_log_bin=0");
    }
    done
}

/// Locks the tables of one holder, if they are as they have to be.
fn hold(pairs: &[&Pair], holder: &mut Session) -> Result<()> {
    let tables: Vec<_> =
        pairs.iter().map(|pair| format!("{} WRITE", pair.table.quoted())).collect();
    holder.exec(&format!("LOCK TABLES {}", tables.join(", ")))?;
    let checked = pairs.iter().try_for_each(|pair| pair.check_unchanged(holder));
    if checked.is_err() {
        let _shield = holder.options().interrupt.shield();
        let _ = holder.exec("UNLOCK TABLES");
    }
    checked
}

/// Polls until connection `mover` waits for a table lock; Some when it ended before.
fn wait_until_queued(
    holder: &mut Session,
    mover: &Mark,
    result: &Receiver<Result<()>>,
) -> Result<Option<Result<()>>> {
    let sql = format!("SELECT STATE FROM information_schema.PROCESSLIST WHERE ID={}", mover.id());
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
            // It died without a word: the caller's recv says so.
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
    mover: &Mark,
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
