//! Foreign keys that earlier loads have left at old tables, found by the names of these and carried over.
//!
//! A load that was killed behind its swap leaves them, or one that somebody kept from a child for longer than
//! its lock wait. Any load of the server brings them to the new table, not only one of the same table.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::busy::busy;
use crate::carried_keys::{carry_over, key_name, keys_of, mend};
use crate::foreign_keys::own_parents;
use crate::lock::{Lock, LockOptions};
use crate::names::{Names, digest_of, digests_in, is_own_database};
use crate::turns::TURN;
use server::error::{Error, Result};
use server::identifier::{TableName, quote_text};
use server::session::Session;

/// The prefix of tables that a replay has renamed.
const REPLAYED: &str = "_inrush_aside_";

/// Foreign keys of other tables that referred to an old table.
#[derive(Debug)]
pub struct LeftKeys {
    /// The table that took its place.
    pub table: TableName,
    /// `database.table.key`.
    pub keys: Vec<String>,
    /// Why they refer to the old one still; none where they refer to the new one now.
    pub error: Option<Error>,
}

/// Carries over what is left, as far as the account may look; others who hold a child are waited for.
/// Tables that a load works at are left to it, and so are old tables that `may_go` keeps, told of the
/// new table and whether rows were added to it: they tell what a killed job has done.
pub fn finish(
    session: &mut Session,
    wait: Duration,
    mut may_go: impl FnMut(&TableName, bool) -> bool,
) -> Result<Vec<LeftKeys>> {
    if own_parents(session)?.is_empty() {
        return Ok(Vec::new());
    }
    let mut asides: BTreeMap<TableName, TableName> = BTreeMap::new();
    for key in catalog::all_foreign_keys(session)? {
        let is_ours = |name: &TableName| {
            is_own_database(&name.database) || name.table.starts_with("_inrush_")
        };
        if is_ours(&key.parent)
            && !is_ours(&key.child)
            && let Some(target) = target_of(session, &key.parent)?
        {
            asides.insert(key.parent, target);
        }
    }
    let mut left = Vec::new();
    for (aside, target) in asides {
        let keys = keys_of(session, &aside)?.iter().map(key_name).collect();
        let error = match finish_one(session, &target, &aside, wait, &mut may_go) {
            Err(Error::Busy { .. }) => continue,
            done => done.err(),
        };
        left.push(LeftKeys { table: target, keys, error });
    }
    Ok(left)
}

/// The table whose place was taken, by the digest in the name that it has since; none where there is none
/// of that name.
fn target_of(session: &mut Session, aside: &TableName) -> Result<Option<TableName>> {
    let (sql, named) = match is_own_database(&aside.database) {
        true => (
            format!(
                "SELECT TABLE_SCHEMA, TABLE_NAME FROM information_schema.TABLES WHERE TABLE_NAME={}",
                quote_text(&aside.table)
            ),
            &aside.database,
        ),
        false => (
            format!(
                "SELECT TABLE_SCHEMA, TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA={}",
                quote_text(&aside.database)
            ),
            &aside.table,
        ),
    };
    let digests: Vec<String> = digests_in(named).collect();
    for row in session.query(&sql)? {
        let table = TableName::new(row.text(0)?, row.text(1)?);
        let is_target = digests.contains(&digest_of(&table));
        if is_target && (is_aside_of(&table, aside) || aside.table.starts_with(REPLAYED)) {
            return Ok(Some(table));
        }
    }
    Ok(None)
}

/// True if a table is called so once its place is taken.
fn is_aside_of(table: &TableName, aside: &TableName) -> bool {
    Names::of(table).asides(table).contains(aside)
}

fn finish_one(
    session: &mut Session,
    target: &TableName,
    aside: &TableName,
    wait: Duration,
    may_go: &mut impl FnMut(&TableName, bool) -> bool,
) -> Result<()> {
    let replaced = [(target.clone(), aside.clone())];
    let mut own = session.another()?;
    if !own.lock_name(&Names::of(target).lock, TURN)? {
        return Err(busy(&mut own, target)?);
    }
    own.set_lock_wait(TURN)?;
    mend(&mut own, &replaced)?;
    if !catalog::exists(&mut own, aside)? {
        return carry_over(&mut own, &replaced, wait);
    }
    let extended = Names::of(target).extended;
    let is_extended = *aside == extended || aside.database == extended.table;
    let is_replayed = aside.table.starts_with(REPLAYED);
    if is_replayed || !may_go(target, is_extended) {
        let by = if is_replayed { "replay" } else { "command, or the next load of the table," };
        return Err(Error::Leftover(format!("{aside} still exists: the same {by} removes it")));
    }
    // Its end gives the target to the next one.
    drop(own);
    let options = LockOptions { lock_wait: wait.max(TURN), ..LockOptions::default() };
    let mut lock = Lock::take(session.another()?, target, &options)?;
    lock.cleanup_tables().map(drop)
}
