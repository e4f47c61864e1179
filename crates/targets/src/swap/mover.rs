//! A swap on its way: who holds the tables, who renames, and who waits behind.

use std::collections::BTreeSet;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use disk::failpoint;

use super::queued::{Queued, lock_statement};
use super::{ATTEMPT, Before, Group, Held, Pair, Swap, exec_published};
use crate::behind::{Behind, hand_over_at_once};
use crate::followers::Followers;
use crate::foreign_keys::unchecked;
use crate::queued::{POLL, wait_until_queued};
use crate::reach::{reach, second};
use crate::waiting::{ER_LOCK_WAIT_TIMEOUT, Patience};
use server::catalog::{self, KeyBetween};
use server::connect::Mark;
use server::engine::Kind;
use server::error::{Error, Result};
use server::identifier::TableName;
use server::session::Session;

/// Connections that wait for children.
const BEHIND_MAX: usize = 16;
const PAUSE: Duration = Duration::from_millis(500);
/// A statement that has not ended after so many polls does not obey.
const KILLS_MAX: u32 = 2000;
/// Server error of a name that statistics are kept of already.
const ER_DUP_KEY: u16 = 1022;

/// A swap on its way.
pub(super) struct Mover<'s> {
    pub(super) swap: &'s Swap,
    /// The connection that renames.
    pub(super) session: &'s mut Session,
    pub(super) patience: &'s Patience,
    pub(super) reconnect_wait: Duration,
    /// Who has the children, and tables whose rows were read, before the holders.
    pub(super) before: Vec<Session>,
}

impl Mover<'_> {
    /// Swaps, in as many attempts as there is time for. `spare` is the first holder, and one stays
    /// there.
    pub(super) fn run(&mut self, spare: &mut Option<Session>) -> Result<Held> {
        let begun = Instant::now();
        let mut holders = self.holders(spare)?;
        let mut has_forgotten = false;
        // Rows that were looked at could change before a second attempt.
        let were_seen = !self.swap.children.is_empty() || !self.before.is_empty();
        let joined = self.joined()?;
        let outcome = loop {
            let left = self.patience.wait.saturating_sub(begun.elapsed());
            // Where nobody holds the tables for us there is nothing to gain by a second attempt.
            let is_once = holders.is_empty() || were_seen;
            let wait = if is_once { left } else { ATTEMPT.min(left) };
            let outcome = self.attempt(&mut holders, &joined, wait);
            match outcome.as_ref().err().and_then(Error::errno) {
                Some(ER_LOCK_WAIT_TIMEOUT) => {}
                Some(ER_DUP_KEY) if !has_forgotten => {
                    has_forgotten = true;
                    self.forget_statistics()?;
                    if !were_seen {
                        continue;
                    }
                    // Rows that were looked at may be others by now: the next load gets through.
                    break outcome;
                }
                _ => break outcome,
            }
            let seen_by = holders.first_mut().unwrap_or(self.session);
            let seen = self.swap.holders_of_locks(seen_by);
            if is_once || begun.elapsed() + PAUSE >= self.patience.wait {
                let (target, seconds) = (self.swap.names(), self.patience.wait.as_secs());
                break Err(Error::LockWait { target, seconds, holders: seen });
            }
            self.patience.tell(&seen);
            std::thread::sleep(PAUSE);
        };
        *spare = holders.into_iter().next();
        outcome
    }

    /// The children, and the new tables that they are to refer to: those together that the server locks
    /// together.
    fn joined(&mut self) -> Result<Vec<Group>> {
        let swap = self.swap;
        if swap.children.is_empty() {
            return Ok(Vec::new());
        }
        let keys = behind_swap(&catalog::all_foreign_keys(self.session)?, &swap.pairs);
        let tables: Vec<&TableName> = swap.children.iter().chain(swap.referred()).collect();
        let followers = Followers::of(&keys);
        let is_old = |table: &TableName| swap.pairs.iter().any(|pair| pair.aside() == Some(table));
        let group = |tables: Vec<&TableName>| Group {
            has_old: tables.iter().any(|one| followers.reached(one).into_iter().any(is_old)),
            tables: tables.into_iter().cloned().collect(),
        };
        Ok(followers.groups(&tables).into_iter().map(group).collect())
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
            holder.set(&[("autocommit", "0"), ("innodb_lock_wait_timeout", "1")])?;
            holders.push(holder);
        }
        Ok(holders)
    }

    /// Locks, looks and swaps once; error 1205 when a lock does not come for `wait`.
    fn attempt(
        &mut self,
        holders: &mut [Session],
        joined: &[Group],
        wait: Duration,
    ) -> Result<Held> {
        for holder in holders.iter_mut() {
            holder.set_lock_wait(wait)?;
        }
        self.session.set_lock_wait(wait)?;
        for (at, pairs) in self.swap.held().iter().enumerate() {
            // With children, and where rows were read, there is one holder for all.
            let before = std::mem::take(&mut self.before);
            let held = hold(pairs, &self.swap.children, &mut holders[at], before);
            if let Err(error) = held {
                unlock(&mut holders[..at]);
                return Err(error);
            }
        }
        let mut behind = match self.queue_behind(holders, joined) {
            Ok(behind) => behind,
            Err(error) => {
                unlock(holders);
                return Err(error);
            }
        };
        let mover_id = self.session.id();
        let (cause, moved) = match holders.is_empty() {
            true => (None, self.rename()),
            false => self.rename_held(holders, &mut behind),
        };
        if moved.is_err() && !holders.is_empty() {
            // An ending that came late hits this instead of what follows.
            let _shield = self.session.options().interrupt.shield();
            let _ = self.session.exec("DO 0");
        }
        match moved {
            Err(error) if error.is_unclear() => match self.was_swapped(mover_id) {
                Ok(true) => {}
                Ok(false) => {
                    behind.give_up(self.session);
                    return Err(cause.unwrap_or(error));
                }
                Err(_) => return Err(self.swap.unanswered()),
            },
            Err(error) => {
                behind.give_up(self.session);
                return Err(error);
            }
            Ok(()) => {}
        }
        Ok(behind.held(self.session))
    }

    /// Has connections wait for the children, and for the new tables that they are to refer to.
    fn queue_behind(&mut self, holders: &mut [Session], joined: &[Group]) -> Result<Queued> {
        let mut queued = Queued::default();
        let Some(holder) = holders.first_mut() else { return Ok(queued) };
        let wait = self.patience.wait + ATTEMPT;
        let mut queue = |groups: &[&Group]| {
            let session = second(self.session, self.patience.wait)?;
            let tables = groups.iter().flat_map(|group| &group.tables);
            let statement = lock_statement(tables.clone());
            Behind::queue(statement, tables.count(), session, wait, holder)
        };
        let mut all = || -> Result<()> {
            let is_new = |group: &&Group| {
                !group.tables.iter().all(|table| self.swap.children.contains(table))
            };
            let (new, children): (Vec<&Group>, Vec<&Group>) = joined.iter().partition(is_new);
            // Of many, some share a connection, which gets them one after the other.
            for some in children.chunks(children.len().div_ceil(BEHIND_MAX).max(1)) {
                queued.children.push(queue(some)?);
            }
            for group in new {
                queued.tables.push((group.clone(), queue(&[group])?));
            }
            Ok(())
        };
        match all() {
            Ok(()) => Ok(queued),
            Err(error) => {
                queued.give_up(self.session);
                Err(error)
            }
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
        if self.swap.pairs.iter().all(Pair::is_free) {
            return exec_published(self.session, &sql);
        }
        let mut is_done = false;
        let done = unchecked(self.session, |session| {
            exec_published(session, &sql)?;
            is_done = true;
            Ok(())
        });
        // What becomes of the session afterwards does not undo it.
        if is_done { Ok(()) } else { done }
    }

    /// Under the holders' locks: renames, and lets each lock go when the renaming waits for it.
    /// Gives what befell a holder, and what the renaming says.
    fn rename_held(
        &mut self,
        holders: &mut [Session],
        behind: &mut Queued,
    ) -> (Option<Error>, Result<()>) {
        let died = Error::Lost {
            message: "the renaming thread has ended".to_owned(),
            statement: self.swap.statement(),
        };
        let (mover, wait) = (self.session.mark().clone(), self.patience.wait);
        let tables = self.swap.pairs.len();
        std::thread::scope(|scope| {
            let (sender, result) = channel();
            let moving = scope.spawn(move || {
                failpoint::hit("thread.mover");
                // The receiver outlives this: it is asked in any case.
                let _ = sender.send(self.rename());
            });
            let (mut seen, mut ended, mut unlocked) = (Ok(None), None, Ok(()));
            for holder in holders.iter_mut() {
                let mut failed_here = false;
                if matches!(seen, Ok(None)) {
                    seen = wait_until_queued(holder, &mover, tables, &result);
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
            let moved = early
                .unwrap_or_else(|| behind.let_pass(&result, wait, holders).unwrap_or(Err(died)));
            let _ = moving.join();
            (cause, moved)
        })
    }

    /// True if a RENAME without answer was done: it is atomic, so the name of one replacement
    /// tells.
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
        let is_waiting = catalog::exists(&mut session, &self.swap.pairs[0].replacement)?;
        if is_waiting && Kind::of_version(session.version()).renames_later() {
            return Err(self.swap.unanswered());
        }
        Ok(!is_waiting)
    }
}

/// Foreign keys as they are when the tables are swapped: those of others refer to the old tables, which
/// refer to what they did.
fn behind_swap(keys: &[KeyBetween], pairs: &[Pair]) -> Vec<KeyBetween> {
    let aside = |name: &TableName| pairs.iter().find(|pair| pair.table == *name)?.aside().cloned();
    let mut behind = Vec::new();
    for KeyBetween { child, parent } in keys.iter().cloned() {
        let old = (aside(&child), aside(&parent));
        if old.0.is_some() || old.1.is_none() {
            behind.push(KeyBetween { child: child.clone(), parent: parent.clone() });
        }
        if old.0.is_some() || old.1.is_some() {
            let (child, parent) = (old.0.unwrap_or(child), old.1.unwrap_or(parent));
            behind.push(KeyBetween { child, parent });
        }
    }
    behind
}

fn unlock(holders: &mut [Session]) {
    for holder in holders {
        let _shield = holder.options().interrupt.shield();
        let _ = holder.exec("UNLOCK TABLES");
    }
}

/// Locks the tables of one holder, with the children of some, if they are as they have to be. Who has
/// the children before lets them go.
fn hold(
    pairs: &[&Pair],
    children: &BTreeSet<TableName>,
    holder: &mut Session,
    before: Vec<Session>,
) -> Result<()> {
    let sql = lock_statement(pairs.iter().map(|pair| &pair.table).chain(children));
    let mark = holder.mark().clone();
    let tables = pairs.len() + children.len();
    let locked = hand_over_at_once(before, &mark, tables, || holder.exec(&sql).map(drop));
    let checked = locked.and_then(|()| check(pairs, holder));
    if checked.is_err() {
        let _shield = holder.options().interrupt.shield();
        let _ = holder.exec("UNLOCK TABLES");
    }
    checked
}

/// Sees that nothing of the tables of one holder was altered.
fn check(pairs: &[&Pair], holder: &mut Session) -> Result<()> {
    let names: Vec<TableName> = pairs.iter().map(|pair| pair.table.clone()).collect();
    let keys = catalog::foreign_keys_of(holder, &names)?;
    pairs.iter().try_for_each(|pair| pair.check_unchanged(holder, &keys))
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
