//! The preparation of a swap whose tables have foreign keys with others, right before it.
//!
//! ```text
//! guard: nobody writes to these and the others -> rows are looked at -> filled tables get their keys -> swap
//!     -> old tables are dropped -> keys of the others are carried over -> guard ends
//! ```
//!
//! A swap that has to wait for others lets go of all of them, with the keys of filled tables taken back, and all
//! of it is done again. A target that keeps its rows is held longer, from before these are read.

use std::collections::BTreeSet;

use crate::covered;
use crate::guard::Guarded;
use crate::key_run::Keys;
use crate::lock::Lock;
use crate::names::Names;
use crate::orphans;
use crate::staging_database::{self, Waiting};
use schema::{KeyEnd, Mode, Reference, Table, TableName};
use server::error::Result;
use server::session::Session;

/// A parent with more rows than that, for each row that refers to it, is not read through: the server
/// finds a row by its key in twice the time in which it shows one.
const SCANNED_MAX: u64 = 2;

/// The way in which rows are checked for foreign keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyChecks {
    /// New rows refer to rows that are there, and rows of other tables to new ones.
    Rows,
    /// Nobody looks.
    None,
}

/// Filled tables whose rows are about to take their places.
pub(super) struct Preparation<'f> {
    pub(super) targets: &'f [(Table, Names)],
    pub(super) keys: &'f [Option<&'f Keys>],
    pub(super) mode: Mode,
    pub(super) checks: KeyChecks,
    /// How many of the targets' filled tables, the first ones, are where they wait.
    pub(super) brought: usize,
    /// True if filled tables may have keys that could not be taken away again.
    pub(super) keeps_keys: bool,
}

/// The other tables that foreign keys join with targets, as far as they are to be held, and the targets.
pub(super) fn around(
    lock: &mut Lock,
    targets: &[(Table, Names)],
    checks: KeyChecks,
) -> Result<Guarded> {
    let is_target = |name: &TableName| targets.iter().any(|(table, _)| table.name == *name);
    let mut around = Guarded {
        children: others(targets, KeyEnd::Parent, &is_target),
        targets: targets.iter().map(|(table, _)| table.name.clone()).collect(),
        ..Guarded::default()
    };
    if checks == KeyChecks::None {
        return Ok(around);
    }
    for parent in others(targets, KeyEnd::Child, &is_target) {
        // A key that is added without a look may be to a table that is not there.
        if !around.children.contains(&parent) && catalog::exists(&mut lock.session, &parent)? {
            around.parents.insert(parent);
        }
    }
    Ok(around)
}

impl<'f> Preparation<'f> {
    pub(super) fn new(
        targets: &'f [(Table, Names)],
        keys: &'f [Option<&'f Keys>],
        mode: Mode,
        checks: KeyChecks,
    ) -> Preparation<'f> {
        Preparation { targets, keys, mode, checks, brought: 0, keeps_keys: false }
    }

    /// Looks at rows while the tables `around` are held, and gives filled tables the foreign keys of the targets.
    ///
    /// Killed in it: filled tables, some of them in databases of their own, and targets as they were.
    ///
    /// Errors, filled tables without keys: [`Error::Orphans`](server::Error::Orphans).
    pub(super) fn prepare(&mut self, lock: &mut Lock, around: &Guarded) -> Result<()> {
        let prepared = self.give_keys(lock, around);
        if prepared.is_err() && lock.session.is_alive() {
            // Others may delete rows that the keys refer to once this has failed.
            let _shield = lock.session.options().interrupt.shield();
            self.take_back(lock)?;
        }
        prepared
    }

    fn give_keys(&mut self, lock: &mut Lock, around: &Guarded) -> Result<()> {
        if self.checks == KeyChecks::Rows {
            self.check(lock, &around.children)?;
        }
        self.bring(lock)?;
        // Keys of an attempt before, which could not take them back.
        self.take_back(lock)?;
        let waiting: Waiting = self
            .targets
            .iter()
            .map(|(table, names)| (table.name.clone(), names.replacement(table)))
            .collect();
        for (table, names) in self.targets {
            staging_database::add_keys(&mut lock.session, table, names, &waiting)?;
        }
        Ok(())
    }

    /// Brings filled tables to where they wait; does nothing the second time.
    ///
    /// Killed in it: filled tables, some of them in databases of their own.
    pub(super) fn bring(&mut self, lock: &mut Lock) -> Result<()> {
        let Lock { session, patience, .. } = lock;
        for (table, names) in &self.targets[self.brought..] {
            patience.watch(session, |session| {
                staging_database::bring(session, table, names, self.mode)
            })?;
            self.brought += 1;
        }
        Ok(())
    }

    /// Waits, while nothing is held, for a backup that would keep the tables from their places.
    pub(super) fn wait_for_backup(&self, lock: &mut Lock) -> Result<()> {
        let Lock { session, patience, .. } = lock;
        let has_keys = |target: &&(Table, Names)| !target.0.references.is_empty();
        let Some((table, names)) = self.targets.iter().find(has_keys) else { return Ok(()) };
        let name = names.replacement(table);
        patience.watch(session, |session| staging_database::create(session, &name))
    }

    /// Takes the keys of filled tables away before others may write to the tables around: a row that is deleted
    /// there must neither be kept by rows that nobody sees, nor take these along.
    pub(super) fn take_back(&mut self, lock: &mut Lock) -> Result<()> {
        // No table gets keys before all are there.
        if self.brought < self.targets.len() {
            return Ok(());
        }
        let taken = self.targets.iter().try_for_each(|(table, names)| {
            staging_database::drop_keys(&mut lock.session, table, names)
        });
        self.keeps_keys = taken.is_err();
        taken
    }

    /// Where the rows of a filled table are.
    fn rows_of(&self, at: usize) -> TableName {
        let (table, names) = &self.targets[at];
        if at < self.brought { names.replacement(table) } else { names.staging.clone() }
    }

    fn check(&self, lock: &mut Lock, children: &BTreeSet<TableName>) -> Result<()> {
        let filled: Waiting = self
            .targets
            .iter()
            .enumerate()
            .map(|(at, target)| (target.0.name.clone(), self.rows_of(at)))
            .collect();
        for (at, target) in self.targets.iter().enumerate() {
            let (table, rows) = (&target.0, self.rows_of(at));
            for reference in &table.references {
                let Preparation { targets, keys, .. } = self;
                if !is_covered(&mut lock.session, reference, targets, keys, at)? {
                    orphans::check_rows(&mut lock.session, table, reference, &rows, &filled)?;
                }
            }
            if self.mode != Mode::Replace {
                // Rows that refer to an empty table did so before; rows that are kept are there still.
                continue;
            }
            let of_this = table.foreign_keys.iter().filter(|key| key.end == KeyEnd::Parent);
            let of_this: BTreeSet<&TableName> =
                of_this.filter_map(|key| key.other.as_ref()).collect();
            for child in of_this.into_iter().filter(|child| children.contains(*child)) {
                orphans::check_children(&mut lock.session, child, &table.name, &rows)?;
            }
        }
        Ok(())
    }
}

/// True if the captured keys of a table are all in the one that they refer to. The server decides
/// if they may not be, and if there are none.
fn is_covered(
    session: &mut Session,
    reference: &Reference,
    targets: &[(Table, Names)],
    keys: &[Option<&Keys>],
    at: usize,
) -> Result<bool> {
    let Some(own) = keys[at] else { return Ok(false) };
    let Some(child) = own.of(&reference.columns) else { return Ok(false) };
    let parent = &reference.parent;
    if let Some(at) = targets.iter().position(|(table, _)| table.name == *parent) {
        let parent = keys[at].and_then(|keys| keys.of(&reference.parent_columns));
        return parent.map_or(Ok(false), |parent| covered::by_run(child, parent));
    }
    let rows = catalog::rows_about(session, parent)?;
    if rows > SCANNED_MAX * own.rows || !catalog::exists(session, parent)? {
        return Ok(false);
    }
    covered::by_table(session, child, reference, parent)
}

/// The tables at the other ends of keys whose near end is `end`, but for targets.
fn others(
    targets: &[(Table, Names)],
    end: KeyEnd,
    is_target: &impl Fn(&TableName) -> bool,
) -> BTreeSet<TableName> {
    let keys = targets.iter().flat_map(|(table, _)| &table.foreign_keys);
    let other = keys.filter(|key| key.end == end).filter_map(|key| key.other.clone());
    other.filter(|name| !is_target(name)).collect()
}
