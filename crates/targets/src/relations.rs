//! The preparation of a swap whose tables have foreign keys with others, right before it.
//!
//! ```text
//! guard: nobody writes to the others -> rows are looked at -> filled tables get their keys -> swap
//!     -> old tables are dropped -> keys of the others are carried over -> guard ends
//! ```

use std::collections::BTreeSet;

use crate::covered;
use crate::followers::Followers;
use crate::guard::Guard;
use crate::key_run::Keys;
use crate::lock::Lock;
use crate::names::Names;
use crate::orphans;
use crate::staging_database::{self, Waiting};
use schema::{KeyEnd, Mode, Reference, Table, TableName};
use server::catalog;
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

/// Tables that others are joined with by foreign keys, none of them a target.
#[derive(Debug, Default)]
pub(super) struct Relations {
    /// Rows of these refer to targets, or the server locks them with such whose rows do.
    pub(super) children: BTreeSet<TableName>,
    /// Holds them, if their rows were looked at.
    pub(super) guard: Option<Guard>,
    /// Holds those that rows of targets refer to.
    pub(super) parents: Option<Guard>,
}

/// Looks at rows, and gives filled tables the foreign keys of the targets.
///
/// Killed in it: filled tables, some of them in databases of their own, and targets as they were.
///
/// Errors: [`Error::Orphans`](server::Error::Orphans), [`Error::LockWait`](server::Error::LockWait).
pub(super) fn prepare(
    lock: &mut Lock,
    targets: &[(Table, Names)],
    keys: &[Option<&Keys>],
    mode: Mode,
    checks: KeyChecks,
) -> Result<Relations> {
    if targets.iter().all(|(table, _)| table.foreign_keys.is_empty()) {
        return Ok(Relations::default());
    }
    let is_target = |name: &TableName| targets.iter().any(|(table, _)| table.name == *name);
    let mut children = others(targets, KeyEnd::Parent, &is_target);
    let (mut guard, mut parents) = (None, None);
    if checks == KeyChecks::Rows {
        let mut held = BTreeSet::new();
        let referred = others(targets, KeyEnd::Child, &is_target);
        let followers = followers(lock, targets, &children, &referred)?;
        for parent in referred {
            // A key that is added without a look may be to a table that is not there.
            let is_there = catalog::exists(&mut lock.session, &parent)?;
            // What the server locks with the targets has to be held by who holds these.
            match followers.contains(&parent) {
                true if is_there => children.insert(parent),
                false if is_there => held.insert(parent),
                _ => false,
            };
        }
        // In the order in which the server locks tables for a change that other rows follow.
        parents = Guard::take(lock, &held)?;
        guard = Guard::take(lock, &children)?;
        check(lock, targets, keys, mode, &children)?;
    }
    for (table, names) in targets {
        staging_database::bring(&mut lock.session, table, names, mode)?;
    }
    let waiting: Waiting = targets
        .iter()
        .map(|(table, names)| (table.name.clone(), names.replacement(table)))
        .collect();
    for (table, names) in targets {
        staging_database::add_keys(&mut lock.session, table, names, &waiting)?;
    }
    Ok(Relations { children, guard, parents })
}

/// Tables among `referred`, which rows of targets refer to, whose own rows follow those of targets.
fn followers(
    lock: &mut Lock,
    targets: &[(Table, Names)],
    children: &BTreeSet<TableName>,
    referred: &BTreeSet<TableName>,
) -> Result<BTreeSet<TableName>> {
    if children.is_empty() || referred.is_empty() {
        return Ok(BTreeSet::new());
    }
    let keys = catalog::all_foreign_keys(&mut lock.session)?;
    let followers = Followers::of(&keys);
    let reached = targets.iter().flat_map(|(table, _)| followers.reached(&table.name));
    let is_referred = |name: &&TableName| referred.contains(*name);
    Ok(reached.filter(is_referred).cloned().collect())
}

fn check(
    lock: &mut Lock,
    targets: &[(Table, Names)],
    keys: &[Option<&Keys>],
    mode: Mode,
    children: &BTreeSet<TableName>,
) -> Result<()> {
    let filled: Waiting =
        targets.iter().map(|(table, names)| (table.name.clone(), names.staging.clone())).collect();
    for (at, (table, names)) in targets.iter().enumerate() {
        for reference in &table.references {
            if !is_covered(&mut lock.session, reference, targets, keys, at)? {
                orphans::check_rows(&mut lock.session, table, reference, &names.staging, &filled)?;
            }
        }
        if mode != Mode::Replace {
            // Rows that refer to an empty table did so before; rows that are kept are there still.
            continue;
        }
        let of_this = table.foreign_keys.iter().filter(|key| key.end == KeyEnd::Parent);
        let of_this: BTreeSet<&TableName> = of_this.filter_map(|key| key.other.as_ref()).collect();
        for child in of_this.into_iter().filter(|child| children.contains(*child)) {
            orphans::check_children(&mut lock.session, child, &table.name, &names.staging)?;
        }
    }
    Ok(())
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
