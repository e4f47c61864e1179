//! A swap on its way: who holds the tables, who renames, and who waits behind.

use std::sync::mpsc::{Receiver, channel};
use std::thread::Builder;
use std::time::{Duration, Instant};

use disk::failpoint;

use super::queued::{Queued, lock_statement};
use super::{ATTEMPT, Before, Group, HOLDERS_MAX, Held, Pair, Swap, exec_published};
use crate::behind::{Behind, not_started};
use crate::carried_triggers::{carry_held, hold};
use crate::followers::Followers;
use crate::foreign_keys::unchecked;
use crate::lock::check_writable;
use crate::queued::{POLL, wait_until_queued};
use crate::reach::second;
use crate::turns::{Blocked, TURN, Turns};
use crate::waiting::{ER_LOCK_WAIT_TIMEOUT, Patience};
use catalog::{self, KeyBetween};
use server::connect::Mark;
use server::error::{Error, Result};
use server::identifier::TableName;
use server::session::Session;

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
    pub(super) turns: &'s mut Turns,
    pub(super) reconnect_wait: Duration,
    /// Who holds the tables, in their order, where rows were looked at.
    pub(super) given: Vec<Session>,
    /// When ours were held, if this is the only attempt: its locks are waited for as long as nobody waits for ours.
    pub(super) yields_since: Option<Instant>,
    /// How long others may have waited.
    pub(super) blocked: &'s mut Blocked,
}

/// The outcome of a renaming.
struct Renamed {
    /// True if the holders had their tables until the mover waited for these.
    was_held: bool,
    /// The loss of a holder.
    cause: Option<Error>,
    /// The mover's answer.
    moved: Result<()>,
}

impl Mover<'_> {
    /// Swaps, in as many attempts as there is time for. `spare` is the first holder, and one stays
    /// there.
    pub(super) fn run(&mut self, spare: &mut Option<Session>) -> Result<Held> {
        // Rows that were looked at could change before a second attempt: that is for the caller.
        let were_seen = !self.given.is_empty();
        let mut holders = match were_seen {
            true => std::mem::take(&mut self.given),
            false => self.holders(spare)?,
        };
        let mut has_forgotten = false;
        let joined = self.joined()?;
        let outcome = loop {
            let begun = Instant::now();
            let locked = if were_seen { Ok(()) } else { self.lock(&mut holders) };
            let outcome = locked.and_then(|()| self.attempt(&mut holders, &joined, spare.as_mut()));
            self.blocked.all_since(begun);
            let outcome = outcome.map(|held| held.since(begun));
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
            let own: Vec<u64> =
                holders.iter().map(Session::id).chain([self.session.id()]).collect();
            let seen_by = holders.first_mut().unwrap_or(self.session);
            let seen = self.swap.holders_of_locks(seen_by, &own);
            let (target, seconds) = (self.swap.names(), self.patience.wait.as_secs());
            let waited = Error::LockWait { target, seconds, holders: seen };
            if were_seen || !self.turns.again(&waited, self.session) {
                break Err(waited);
            }
            if let Error::LockWait { holders, .. } = &waited {
                self.patience.tell(holders);
            }
        };
        if !were_seen {
            *spare = holders.into_iter().next();
        }
        outcome
    }

    /// The new tables that nobody writes to until their triggers are theirs, and those that children are to refer to:
    /// those together that the server locks together.
    fn joined(&mut self) -> Result<Vec<Group>> {
        let swap = self.swap;
        if swap.children.is_empty() {
            let alone = |(table, _): (&TableName, _)| Group::alone(table);
            return Ok(swap.with_triggers().map(alone).collect());
        }
        let keys = behind_swap(&catalog::all_foreign_keys(self.session)?, &swap.pairs);
        let tables = swap.referred();
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
        // The server locks tables with those whose rows follow, and with those that triggers write to: one
        // connection has all.
        let is_one = self.swap.is_joined() || self.swap.has_triggers();
        let count = if is_one { 1 } else { HOLDERS_MAX };
        for _ in self.swap.held(count) {
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

    /// Locks the tables, or none; error 1205 when one does not come within a [`TURN`].
    fn lock(&mut self, holders: &mut [Session]) -> Result<()> {
        for (at, pairs) in self.swap.held(holders.len()).iter().enumerate() {
            let sql = lock_statement(pairs.iter().map(|pair| &pair.table));
            let holder = &mut holders[at];
            holder.set_lock_wait(TURN)?;
            if let Err(error) = holder.exec(&sql) {
                unlock(&mut holders[..=at]);
                return Err(error);
            }
        }
        Ok(())
    }

    /// Looks at tables that holders have locked, and swaps once; error 1205 when others keep them for a [`TURN`].
    /// Nothing is locked afterwards. `spare`, which holds nothing, ends the swap where a holder is lost.
    fn attempt(
        &mut self,
        holders: &mut [Session],
        joined: &[Group],
        spare: Option<&mut Session>,
    ) -> Result<Held> {
        // Others can only have got one of several meanwhile.
        let is_single = self.swap.pairs.len() == 1 && !holders.is_empty();
        // A lock that only keeps writers away lets readers in, whom the mover waits for.
        let has_readers = self.swap.is_joined();
        let wait = if is_single && !has_readers { ATTEMPT } else { TURN };
        let is_patient = self.yields_since.is_some();
        self.session.set_lock_wait(if is_patient { self.patience.wait } else { wait })?;
        let held = self.swap.held(holders.len());
        let mut looked = held.iter().zip(holders.iter_mut());
        let looked = looked.try_for_each(|(pairs, holder)| check(pairs, holder));
        let looked = looked.and_then(|()| check_writable(self.session, &self.patience.target));
        let mut behind = match looked.and_then(|()| self.queue_behind(holders, joined)) {
            Ok(behind) => behind,
            Err(error) => {
                unlock(holders);
                return Err(error);
            }
        };
        let mover_id = self.session.id();
        let Renamed { was_held, cause, moved } = match holders.is_empty() {
            true => Renamed { was_held: true, cause: None, moved: self.rename() },
            false => self.rename_held(holders, &mut behind, spare),
        };
        if moved.is_err() && !holders.is_empty() {
            // An ending that came late hits this instead of what follows.
            let _ = self.session.exec_always("DO 0");
        }
        match moved {
            Err(error) if is_open(&error) => {
                match self.swap.was_swapped(self.session, self.reconnect_wait, mover_id) {
                    Ok(true) => {}
                    Ok(false) => {
                        behind.give_up(self.session);
                        return Err(cause.unwrap_or(error));
                    }
                    Err(_) => return Err(self.swap.unanswered()),
                }
            }
            Err(error) => {
                behind.give_up(self.session);
                return Err(error);
            }
            Ok(()) => {}
        }
        // Rows that were read are in the new table, later ones in the old table alone.
        let has_later_rows = self.yields_since.is_some() && !was_held;
        let mut held = behind.held(self.session);
        self.carry_triggers(&mut held);
        Ok(Held { has_later_rows, ..held })
    }

    /// Carries triggers over to new tables that nobody writes to. What fails is done when the old tables are dropped.
    fn carry_triggers(&mut self, held: &mut Held) {
        for (table, old) in self.swap.with_triggers() {
            let Some(mut holder) = held.take(table) else { continue };
            failpoint::hit("triggers.begin");
            // The table is kept from others by the holder until then.
            let _shield = holder.options().interrupt.shield();
            let limited =
                self.session.set_lock_wait(TURN).and_then(|()| holder.set_lock_wait(TURN));
            let _ = limited
                .and_then(|()| hold(self.session, old))
                .and_then(|()| carry_held(self.session, Some(&mut holder), table, old));
        }
    }

    /// Has connections wait for the new tables, behind the mover.
    fn queue_behind(&mut self, holders: &mut [Session], joined: &[Group]) -> Result<Queued> {
        let mut queued = Queued::default();
        let Some(holder) = holders.first_mut() else { return Ok(queued) };
        let wait = self.patience.wait + ATTEMPT;
        let mut queue = |group: &Group| {
            let session = second(self.session, self.patience.wait)?;
            let statement = lock_statement(group.tables.iter());
            Behind::queue(statement, group.tables.len(), session, wait, holder)
        };
        let mut all = || -> Result<()> {
            for group in joined {
                queued.tables.push((group.clone(), queue(group)?));
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
        let (patience, yields_since) = (self.patience, self.yields_since);
        let publish = |session: &mut Session| match yields_since {
            Some(since) => {
                patience.watch_yielding(session, since, |session| exec_published(session, &sql))
            }
            None => exec_published(session, &sql),
        };
        if self.swap.pairs.iter().all(Pair::is_free) {
            return publish(self.session);
        }
        let mut is_done = false;
        let done = unchecked(self.session, |session| {
            publish(session)?;
            is_done = true;
            Ok(())
        });
        // What becomes of the session afterwards does not undo it.
        if is_done { Ok(()) } else { done }
    }

    /// Under the holders' locks: renames, and lets each lock go when the renaming waits for it.
    fn rename_held(
        &mut self,
        holders: &mut [Session],
        behind: &mut Queued,
        mut spare: Option<&mut Session>,
    ) -> Renamed {
        let died = Error::lost("the renaming thread has ended", self.swap.statement());
        let (mover, wait) = (self.session.mark().clone(), self.patience.wait);
        let swap = self.swap;
        let tables = self.swap.pairs.len();
        std::thread::scope(|scope| {
            let (sender, result) = channel();
            let renaming = move || {
                failpoint::hit("thread.mover");
                // The receiver outlives this: it is asked in any case.
                let _ = sender.send(self.rename());
            };
            let moving = match Builder::new().spawn_scoped(scope, renaming) {
                Ok(moving) => moving,
                Err(error) => {
                    unlock(holders);
                    let moved = Err(not_started(&error, &swap.statement()));
                    return Renamed { was_held: true, cause: None, moved };
                }
            };
            let (mut seen, mut ended, mut unlocked) = (Ok(None), None, Ok(()));
            let held = swap.held(holders.len());
            for (holder, pairs) in holders.iter_mut().zip(held) {
                let mut failed_here = false;
                if matches!(seen, Ok(None)) {
                    let before = swap.locked_before(&pairs[0].table);
                    seen = wait_until_queued(holder, &mover, before, tables, &result);
                    failpoint::hit("publish.queued");
                    failed_here = seen.is_err();
                }
                // To its end, also when somebody wants the load stopped: the lock must go.
                let _shield = holder.options().interrupt.shield();
                // Before the lock goes: else the mover would swap what nobody watches. Where this
                // fails too, the mover may swap, and says so.
                if failed_here {
                    let ender = spare.as_deref_mut().unwrap_or(holder);
                    ended = end_mover(ender, &mover, &result);
                }
                // Without it the mover would wait for nothing.
                unlocked = unlocked.and(holder.exec("UNLOCK TABLES").map(drop));
            }
            let was_held = matches!(seen, Ok(None));
            let (early, cause) = match seen {
                Ok(early) => (early, unlocked.err()),
                Err(cause) => (ended, Some(cause)),
            };
            // Whatever befell a holder, the mover knows whether the swap is done.
            // Where it died without a word, the server is asked what it has done.
            let moved = early
                .unwrap_or_else(|| behind.let_pass(&result, wait, holders).unwrap_or(Err(died)));
            let _ = moving.join();
            Renamed { was_held, cause, moved }
        })
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
        let _ = holder.exec_always("UNLOCK TABLES");
    }
}

/// True if a statement may have been done although it failed.
fn is_open(error: &Error) -> bool {
    error.is_unclear() || matches!(error, Error::Yielded { .. })
}

/// Sees that nothing of the tables of one holder was altered.
pub(super) fn check(pairs: &[&Pair], holder: &mut Session) -> Result<()> {
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
