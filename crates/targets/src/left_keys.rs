//! Foreign keys that earlier loads have left at old tables, found by the names of these and carried over; on MySQL also
//! triggers of the old tables.
//!
//! A load that was killed behind its swap leaves them, or one that somebody kept from a child for longer than
//! its lock wait. Any load of the server brings them to the new table, not only one of the same table.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::busy::busy;
use crate::carried_keys::{carry_over, key_name, keys_of, mend};
use crate::carried_triggers::{self, is_aside_of};
use crate::foreign_keys::own_parents;
use crate::lock::{Lock, LockOptions};
use crate::names::{Names, digest_of, digests_in, is_own_database};
use crate::turns::{TURN, take_turns};
use server::engine::Kind;
use server::error::{Error, Result};
use server::identifier::{TableName, quote_text};
use server::session::Session;
use server::version::Flavor;

/// The prefix of tables that a replay has renamed.
const REPLAYED: &str = "_inrush_aside_";

/// Foreign keys of other tables that referred to an old table, or its triggers.
#[derive(Debug)]
pub struct LeftKeys {
    /// The table that took its place.
    pub table: TableName,
    /// `database.table.key`.
    pub keys: Vec<String>,
    /// `database.trigger`.
    pub triggers: Vec<String>,
    /// Why they are the old one's still; none where they are the new one's now, or were only looked for.
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
    let mut left = Vec::new();
    for (aside, target) in with_triggers(session)? {
        match finish_triggers_of(session, target, &aside, wait) {
            Err(Error::Busy { .. }) => {}
            done => left.push(done?),
        }
    }
    for (aside, target) in with_keys(session)? {
        let keys = keys_of(session, &aside)?.iter().map(key_name).collect();
        let error = match finish_one(session, &target, &aside, wait, &mut may_go) {
            Err(Error::Busy { .. }) => continue,
            done => done.err(),
        };
        left.push(LeftKeys { table: target, keys, triggers: Vec::new(), error });
    }
    Ok(left)
}

/// The same with nothing carried over; also of loads that are at work.
pub fn find(session: &mut Session) -> Result<Vec<LeftKeys>> {
    let mut left = Vec::new();
    for (aside, table) in with_triggers(session)? {
        let triggers = triggers_of(session, &aside)?;
        left.push(LeftKeys { table, keys: Vec::new(), triggers, error: None });
    }
    for (aside, table) in with_keys(session)? {
        let keys = keys_of(session, &aside)?.iter().map(key_name).collect();
        left.push(LeftKeys { table, keys, triggers: Vec::new(), error: None });
    }
    Ok(left)
}

/// Old tables that foreign keys of other tables refer to, with the tables that took their places.
fn with_keys(session: &mut Session) -> Result<BTreeMap<TableName, TableName>> {
    let mut asides = BTreeMap::new();
    if own_parents(session)?.is_empty() {
        return Ok(asides);
    }
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
    Ok(asides)
}

/// Old tables with triggers, with the tables that took their places. These old tables stay: they prove that rows are in.
fn with_triggers(session: &mut Session) -> Result<BTreeMap<TableName, TableName>> {
    let mut asides = BTreeMap::new();
    let version = session.version();
    if version.flavor != Flavor::MySql || !Kind::of_version(version).has_files() {
        return Ok(asides);
    }
    let sql = "SELECT DISTINCT EVENT_OBJECT_SCHEMA, EVENT_OBJECT_TABLE \
               FROM information_schema.TRIGGERS WHERE EVENT_OBJECT_TABLE LIKE '\\_inrush\\_%'";
    for row in session.query(sql)? {
        let aside = TableName::new(row.text(0)?, row.text(1)?);
        let target = target_of(session, &aside)?;
        let target = target.filter(|_| !aside.table.starts_with(REPLAYED));
        asides.extend(target.map(|target| (aside, target)));
    }
    Ok(asides)
}

/// `database.trigger` of those that an old table has still.
fn triggers_of(session: &mut Session, aside: &TableName) -> Result<Vec<String>> {
    let names = carried_triggers::left(session, aside)?.into_iter();
    Ok(names.map(|name| format!("{}.{name}", aside.database)).collect())
}

/// Errors: [`Error::Busy`] where a load works at the table.
fn finish_triggers_of(
    session: &mut Session,
    table: TableName,
    aside: &TableName,
    wait: Duration,
) -> Result<LeftKeys> {
    let mut own = session.another()?;
    if !own.lock_name(&Names::of(&table).lock, TURN)? {
        return Err(busy(&mut own, &table)?);
    }
    let triggers = triggers_of(&mut own, aside)?;
    let carry_over = |own: &mut Session| carried_triggers::carry_over(own, &table, aside);
    let error = take_turns(&mut own, wait, carry_over).err();
    Ok(LeftKeys { table, keys: Vec::new(), triggers, error })
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
        let is_ours = is_aside_of(&table, aside) || is_elsewhere(&table, aside);
        if is_target && (is_ours || aside.table.starts_with(REPLAYED)) {
            return Ok(Some(table));
        }
    }
    Ok(None)
}

/// True if a table is called so once its place is taken, in a database of its own.
fn is_elsewhere(table: &TableName, aside: &TableName) -> bool {
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
