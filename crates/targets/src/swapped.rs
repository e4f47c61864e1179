//! The work after filled tables have taken their places.

use std::collections::HashSet;
use std::time::Instant;

use disk::failpoint;
use schema::{ForeignKey, KeyEnd, Mode, Table};

use crate::behind::hand_over;
use crate::carried_keys::{carry_one_over, key_name, keys_of, mend, there_and_back};
use crate::carried_triggers;
use crate::foreign_keys::{unchecked, with_children};
use crate::guard::Guard;
use crate::kept_rows::KeptRows;
use crate::lock::{ER_GONE, Lock};
use crate::names::{Names, is_own_database, kept_name};
use crate::staging_database;
use crate::swap::{HOLDERS_MAX, Held, exec_published};
use crate::turns::{TURN, Turns, in_turn};
use catalog::{self, definition, without_references};
use server::error::{Error, Result};
use server::identifier::TableName;
use server::session::Session;
use server::version::Flavor;

/// Tables that are dropped by one statement.
const DROPPED_AT_ONCE: usize = 64;

/// Targets that are the new tables. The old ones are still there, under other names.
#[derive(Debug)]
pub struct Swapped {
    pub(super) targets: Vec<(Table, Names)>,
    pub(super) mode: Mode,
    /// Holds tables that their rows refer to.
    pub(super) guard: Option<Guard>,
    /// Tables that nobody writes to yet.
    pub(super) held: Held,
    /// When others had to wait first.
    pub(super) begun: Option<Instant>,
    /// True if there was a turn at dropping the old tables.
    pub(super) has_tried: bool,
    /// Old tables that are not dropped, one a target, or none.
    pub(super) kept: Vec<KeptRows>,
}

impl Swapped {
    /// A target that nothing else is published with, and that has no keys.
    pub(super) fn alone(lock: &Lock, mode: Mode) -> Swapped {
        let targets = vec![(lock.table.clone(), lock.names.clone())];
        let (guard, held, begun) = (None, Held::default(), None);
        Swapped { targets, mode, guard, held, begun, has_tried: false, kept: Vec::new() }
    }

    /// Keeps the old tables, to which others may have written after their rows were read. What fails here is tried
    /// again by [`Swapped::drop_old`].
    pub(super) fn keep_old(&mut self, lock: &mut Lock, partition: Option<&str>) {
        let connection = lock.session.id();
        let kept = self.targets.iter().map(|(table, names)| KeptRows {
            old: names.aside(table, self.mode),
            kept: kept_name(&table.name, connection),
            partition: partition.map(str::to_owned),
            is_renamed: false,
        });
        self.kept = kept.collect();
        let _shield = lock.session.options().interrupt.shield();
        let _ = self.rename_kept(lock);
    }

    fn rename_kept(&mut self, lock: &mut Lock) -> Result<()> {
        let mut kept = self.kept.iter_mut().zip(&self.targets);
        kept.try_for_each(|(kept, (table, _))| kept.keep(lock, table))
    }

    /// The names of the old tables.
    pub fn asides(&self) -> Vec<TableName> {
        self.targets.iter().map(|(table, names)| names.aside(table, self.mode)).collect()
    }

    /// Drops the old tables by the lock that swapped them, over a new connection if the one before was lost,
    /// and has rows of other tables refer to the new ones. Where others hold a table for longer than a
    /// second, those who wait for the new ones have their turn before it tries again, until the lock wait is
    /// over.
    ///
    /// Errors: [`Error::Leftover`] if rows are in a table that had to be empty, which is kept while the others go,
    /// and where rows of others may be lost.
    /// Keys that refer to an old table still are in [`Lock::keys_left`].
    pub fn drop_old(&mut self, lock: &mut Lock) -> Result<()> {
        let mut turns = Turns::begin(lock.patience.wait);
        let done = loop {
            let since = self.held.since;
            let done = lock.reconnect().and_then(|()| self.turn(lock));
            since.into_iter().for_each(|since| lock.blocked.all_since(since));
            self.held = Held::default();
            if self.guard.take().is_some() || since.is_some() {
                self.begun.into_iter().for_each(|begun| lock.blocked.writers_since(begun));
            }
            self.begun = None;
            self.has_tried = true;
            let Err(error) = done else { break Ok(()) };
            if let Error::LockWait { holders, .. } = &error {
                lock.patience.tell(holders);
            }
            if !turns.again(&error, &lock.session) {
                break Err(error);
            }
            if error.is_cut() {
                // Where the server has gone, the next turn says so.
                let _ = lock.recover();
            }
        };
        let Err(error) = done else { return Ok(()) };
        self.leave(lock);
        let lost = self.kept.iter().zip(&self.targets).find(|(kept, _)| !kept.is_renamed);
        Err(match lost {
            Some((kept, (table, _))) => kept.not_renamed(&table.name, &error),
            None => error,
        })
    }

    /// Tries once. Others who wait for what is held wait no longer than that.
    fn turn(&mut self, lock: &mut Lock) -> Result<()> {
        lock.session.set_lock_wait(TURN)?;
        let done = self.finish(lock);
        if lock.session.is_alive() {
            self.unlock(lock)?;
            // Of no matter where the connection has gone.
            let _ = lock.session.set_lock_wait(lock.patience.wait);
        }
        done
    }

    /// Leaves the old tables to the next load, and notes the foreign keys that refer to them in
    /// [`Lock::keys_left`], and their triggers in [`Lock::triggers_left`].
    pub fn leave(&self, lock: &mut Lock) {
        lock.keys_left = self.keys_left(&mut lock.session);
        lock.triggers_left = self.triggers_left(&mut lock.session);
    }

    /// Triggers that old tables have still, with the tables that are to have them.
    fn triggers_left(&self, session: &mut Session) -> Vec<(TableName, String)> {
        let mut found = Vec::new();
        let is_mysql = session.version().flavor == Flavor::MySql;
        for (table, names) in self.targets.iter().filter(|_| is_mysql) {
            let known = table.triggers.iter().map(|trigger| trigger.name.clone()).collect();
            let now = carried_triggers::left(session, &names.aside(table, self.mode));
            // All of them may be left on a server that cannot be asked.
            for name in now.unwrap_or(known) {
                found.push((table.name.clone(), format!("{}.{name}", table.name.database)));
            }
        }
        found
    }

    /// Keys that refer to an old table still, with the table that they are to refer to.
    fn keys_left(&self, session: &mut Session) -> Vec<(TableName, String)> {
        let mut left = Vec::new();
        for (at, (table, names)) in self.targets.iter().enumerate() {
            let known = table.foreign_keys.iter().filter(|key| key.end == KeyEnd::Parent);
            let known: Vec<ForeignKey> = known.cloned().collect();
            if known.is_empty() {
                continue;
            }
            let keys = match self.kept.get(at) {
                Some(kept) => kept.keys(session),
                None => keys_of(session, &names.aside(table, self.mode)),
            };
            // Of a server that cannot be asked they may all be left.
            for key in keys.unwrap_or(known) {
                if !key.other.as_ref().is_some_and(|child| is_own_database(&child.database)) {
                    left.push((table.name.clone(), key_name(&key)));
                }
            }
        }
        left
    }

    /// The targets that rows of other tables refer to, with the names of the old ones.
    fn parents_replaced(&self) -> Vec<(TableName, TableName)> {
        let is_parent = |(table, _): &&(Table, Names)| {
            table.foreign_keys.iter().any(|key| key.end != KeyEnd::Child)
        };
        let parents = self.targets.iter().filter(is_parent);
        parents.map(|(table, names)| (table.name.clone(), names.aside(table, self.mode))).collect()
    }

    /// Drops those that are there: a server may have dropped some before its connection broke.
    fn finish(&mut self, lock: &mut Lock) -> Result<()> {
        if self.has_tried {
            let parents = self.parents_replaced();
            mend(&mut lock.session, &parents)?;
        }
        self.rename_kept(lock)?;
        let mut kept = Ok(());
        for (old, (table, _)) in self.kept.iter().zip(&self.targets) {
            kept = kept.and(old.check_keys(&mut lock.session, &table.name));
        }
        let mut dropped = Vec::new();
        for (table, names) in self.targets.clone() {
            let aside = names.aside(&table, self.mode);
            match self.check_aside(&mut lock.session, &table, &aside) {
                Ok(()) => {
                    if !table.triggers.is_empty() {
                        lock.free_of_triggers(&aside)?;
                    }
                    dropped.push((table.name.clone(), aside));
                }
                Err(error @ Error::Leftover(_)) => kept = kept.and(Err(error)),
                Err(error) if error.errno().is_some_and(|errno| ER_GONE.contains(&errno)) => {
                    dropped.push((table.name.clone(), aside));
                }
                Err(error) => return Err(error),
            }
        }
        self.drop_asides(lock, &dropped)?;
        failpoint::hit("publish.dropped");
        self.carry_over(&mut lock.session, &dropped)?;
        self.unlock(lock)?;
        let dropped: HashSet<&TableName> = dropped.iter().map(|(name, _)| name).collect();
        let with_own = |(table, _): &&(Table, Names)| {
            !table.references.is_empty() && dropped.contains(&table.name)
        };
        let databases =
            self.targets.iter().filter(with_own).flat_map(|(_, names)| names.staging_databases());
        staging_database::drop_databases(&mut lock.session, databases)?;
        kept
    }

    /// Lets go of tables that the connection itself has locked, as it has some on MySQL.
    fn unlock(&self, lock: &mut Lock) -> Result<()> {
        let is_alone = self.targets.iter().any(|(table, _)| is_alone(table));
        if !is_alone || lock.session.version().flavor != Flavor::MySql {
            return Ok(());
        }
        lock.session.exec_always("UNLOCK TABLES")
    }

    fn drop_asides(&mut self, lock: &mut Lock, dropped: &[(TableName, TableName)]) -> Result<()> {
        let has_keys = self.targets.iter().any(|(table, _)| !table.foreign_keys.is_empty());
        // Who holds them lets them go.
        let mut holders = self.held.take_old();
        // Under LOCK TABLES, MySQL opens the children of a dropped table again at the end of the statement, and
        // fails with 1146 if that statement has dropped a child too. Tried on 9.7.4.
        let alone = has_keys && lock.session.version().flavor == Flavor::MySql;
        for some in dropped.chunks(if alone { 1 } else { DROPPED_AT_ONCE }) {
            let some: Vec<String> = some.iter().map(|(_, aside)| aside.quoted()).collect();
            let sql = format!("DROP TABLE IF EXISTS {}", some.join(", "));
            let Lock { session, patience, .. } = &mut *lock;
            let mark = session.mark().clone();
            let done = hand_over(std::mem::take(&mut holders), &mark, some.len(), || {
                patience.watch(session, |session| match has_keys {
                    false => exec_published(session, &sql),
                    true => unchecked(session, |session| {
                        exec_published(session, &in_turn(session, &sql))
                    }),
                })
            });
            done.map_err(|error| lock.gone_meanwhile(error))?;
        }
        Ok(())
    }

    /// Rows of other tables refer to the new ones.
    fn carry_over(
        &mut self,
        session: &mut Session,
        dropped: &[(TableName, TableName)],
    ) -> Result<()> {
        let mut parents = self.parents_replaced();
        parents.retain(|parent| dropped.contains(parent));
        let asides: Vec<TableName> = parents.iter().map(|(_, aside)| aside.clone()).collect();
        let referred = with_children(session, &asides)?;
        for replaced in parents.iter().filter(|(_, aside)| referred.contains(aside)) {
            let Some(held) = self.held.take(&replaced.0) else {
                (self.held, self.guard) = (Held::default(), None);
                carry_one_over(session, &replaced.0, &replaced.1)?;
                continue;
            };
            let mark = session.mark().clone();
            let renamed = || there_and_back(session, &replaced.0, &replaced.1);
            hand_over(vec![held], &mark, 1, renamed)?;
        }
        Ok(())
    }

    /// Errors: [`Error::Leftover`] where an old table is not to be dropped.
    fn check_aside(&self, session: &mut Session, target: &Table, aside: &TableName) -> Result<()> {
        if self.mode == Mode::Insert {
            check_emptied(session, &target.name, aside)?;
        }
        // Of those that share a holder, all but the first.
        let has_keys = self.targets.iter().any(|(table, _)| !table.foreign_keys.is_empty());
        let may_be_altered = self.targets.len() > if has_keys { 1 } else { HOLDERS_MAX };
        // In another database other names of tables are shown in full.
        let plain = |definition: &str| without_references(definition);
        if may_be_altered && plain(&definition(session, aside)?) != plain(&target.definition) {
            return Err(Error::Leftover(format!(
                "{aside}, the old {}, was altered during the swap: check if the new table needs \
                 the same change, then drop the old table",
                target.name
            )));
        }
        Ok(())
    }
}

/// True if MySQL swaps a table by one connection, which locks it.
pub(super) fn is_alone(table: &Table) -> bool {
    !table.foreign_keys.is_empty() || !table.triggers.is_empty()
}

/// A table that a swap took for empty is, as it is dropped.
pub(super) fn check_emptied(
    session: &mut Session,
    target: &TableName,
    aside: &TableName,
) -> Result<()> {
    if catalog::is_empty(session, aside)? {
        return Ok(());
    }
    Err(Error::Leftover(format!(
        "{aside} has rows that were inserted into {target} during the swap: copy these rows into \
         the new table, then drop the old table"
    )))
}
