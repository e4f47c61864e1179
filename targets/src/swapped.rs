//! What is left to do once filled tables have taken their places.

use std::collections::{HashMap, HashSet};

use disk::failpoint;
use schema::{KeyEnd, Table};

use crate::behind::hand_over;
use crate::foreign_keys::{carry_over, unchecked, with_children};
use crate::guard::Guard;
use crate::lock::{ER_GONE, Lock};
use crate::names::Names;
use crate::scratch;
use crate::swap::{HOLDERS_MAX, Held, Mode, exec_published};
use server::catalog::{self, definition, without_references};
use server::error::{Error, Result};
use server::identifier::TableName;
use server::session::Session;

/// Tables that are dropped by one statement.
const DROPPED_AT_ONCE: usize = 64;

/// Targets that are the new tables. The old ones are still there, under other names.
#[derive(Debug)]
pub struct Swapped<'l> {
    pub(super) lock: &'l mut Lock,
    pub(super) targets: Vec<(Table, Names)>,
    pub(super) mode: Mode,
    /// Tables that their rows refer to.
    pub(super) parents: Option<Guard>,
    /// What nobody writes to yet.
    pub(super) held: Held,
}

impl<'l> Swapped<'l> {
    /// A target that nothing else is published with, and that has no keys.
    pub(super) fn alone(lock: &'l mut Lock, mode: Mode) -> Swapped<'l> {
        let targets = vec![(lock.table.clone(), lock.names.clone())];
        Swapped { lock, targets, mode, parents: None, held: Held::default() }
    }

    /// The names of the old tables.
    pub fn asides(&self) -> Vec<TableName> {
        self.targets.iter().map(|(table, names)| names.aside(table, self.mode)).collect()
    }

    /// Whether rows of other tables refer to one of them.
    pub fn is_referred_to(&self) -> bool {
        let mut keys = self.targets.iter().flat_map(|(table, _)| &table.foreign_keys);
        keys.any(|key| key.end == KeyEnd::Parent)
    }

    /// Drops the old tables, over a new connection if the one before was lost, and has rows of other
    /// tables refer to the new ones.
    ///
    /// Errors: [`Error::Leftover`] if rows are in a table that had to be empty; it is kept, the others
    /// go.
    pub fn drop_old(&mut self) -> Result<()> {
        self.lock.reconnect()?;
        let done = match self.finish() {
            Err(error) if error.is_cut() => {
                self.lock.recover()?;
                self.finish()
            }
            done => done,
        };
        // Whatever came of it, others go on.
        self.held = Held::default();
        self.parents = None;
        done
    }

    /// Drops those that are there: a server may have dropped some before its connection broke.
    fn finish(&mut self) -> Result<()> {
        let mut kept = Ok(());
        let mut dropped = Vec::new();
        for (table, names) in self.targets.clone() {
            let aside = names.aside(&table, self.mode);
            match self.check_aside(&table, &aside) {
                Ok(()) => {
                    if !table.triggers.is_empty() {
                        self.lock.free_of_triggers(&aside)?;
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
        self.drop_asides(&dropped)?;
        failpoint::hit("publish.dropped");
        self.carry_over(&dropped)?;
        let dropped: HashSet<&TableName> = dropped.iter().map(|(name, _)| name).collect();
        let with_own = |(table, _): &&(Table, Names)| {
            !table.references.is_empty() && dropped.contains(&table.name)
        };
        let databases = self.targets.iter().filter(with_own).flat_map(|(_, names)| names.scratch());
        scratch::drop_databases(&mut self.lock.session, databases)?;
        kept
    }

    fn drop_asides(&mut self, dropped: &[(TableName, TableName)]) -> Result<()> {
        let has_keys = self.targets.iter().any(|(table, _)| !table.foreign_keys.is_empty());
        // Who holds them lets them go.
        let mut holders = self.held.take_old();
        for some in dropped.chunks(DROPPED_AT_ONCE) {
            let some: Vec<String> = some.iter().map(|(_, aside)| aside.quoted()).collect();
            let sql = format!("DROP TABLE IF EXISTS {}", some.join(", "));
            let Lock { session, patience, .. } = &mut *self.lock;
            let mark = session.mark().clone();
            let done = hand_over(std::mem::take(&mut holders), &mark, some.len(), || {
                patience.watch(session, |session| match has_keys {
                    false => exec_published(session, &sql),
                    true => unchecked(session, |session| exec_published(session, &sql)),
                })
            });
            done.map_err(|error| self.lock.gone_meanwhile(error))?;
        }
        Ok(())
    }

    /// Rows of other tables refer to the new ones.
    fn carry_over(&mut self, dropped: &[(TableName, TableName)]) -> Result<()> {
        let targets = self.targets.iter().map(|(table, _)| (&table.name, table));
        let targets: HashMap<&TableName, &Table> = targets.collect();
        let is_parent = |(name, _): &&(TableName, TableName)| {
            let keys = targets.get(name).map_or(&[][..], |table| &table.foreign_keys);
            keys.iter().any(|key| key.end != KeyEnd::Child)
        };
        let parents = dropped.iter().filter(is_parent);
        let asides: Vec<TableName> = parents.map(|(_, aside)| aside.clone()).collect();
        let referred = with_children(&mut self.lock.session, &asides)?;
        for replaced in dropped.iter().filter(|(_, aside)| referred.contains(aside)) {
            let session = &mut self.lock.session;
            let held: Vec<Session> = self.held.take(&replaced.0).into_iter().collect();
            let mark = session.mark().clone();
            let replaced = std::slice::from_ref(replaced);
            hand_over(held, &mark, 1, || carry_over(session, replaced))?;
        }
        Ok(())
    }

    /// Errors: [`Error::Leftover`] where an old table is not to be dropped.
    fn check_aside(&mut self, target: &Table, aside: &TableName) -> Result<()> {
        if self.mode == Mode::Insert {
            check_emptied(&mut self.lock.session, &target.name, aside)?;
        }
        // Of those that share a holder, all but the first.
        let has_keys = self.targets.iter().any(|(table, _)| !table.foreign_keys.is_empty());
        let may_be_altered = self.targets.len() > if has_keys { 1 } else { HOLDERS_MAX };
        // In another database other names of tables are shown in full.
        let plain = |definition: &str| without_references(definition);
        if may_be_altered
            && plain(&definition(&mut self.lock.session, aside)?) != plain(&target.definition)
        {
            return Err(Error::Leftover(format!(
                "{aside} is what {} was, and was altered while it was being swapped: see whether the \
                 new table is to be altered too, then drop it",
                target.name
            )));
        }
        Ok(())
    }
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
        "{aside} holds rows that were inserted into {target} while it was being swapped: copy them, \
         then drop it"
    )))
}
