//! Foreign keys of other tables, carried over from a table to the one that takes its place.
//!
//! InnoDB keeps by name to what a foreign key refers, and follows a table that is renamed: those of
//! other tables that refer to the old table refer to its new name after the swap, and dangle when it
//! is dropped. A table that takes a name to which one dangles gets it. So the new table takes the
//! old one's second name for a moment, as a table that is dropped and made again gets them:
//!
//! ```text
//! RENAME TABLE t TO aside, aside TO t
//!              |           needs InnoDB's lock of each child: a transaction there makes it wait
//!              the children are those of the new table from here on
//! ```
//!
//! **If that wait fails, the server cannot take the first step back**: its files and InnoDB have the new
//! table under the name `aside`, the server under `t`, nobody can open it, and DROP TABLE of `aside`
//! deletes its rows. So others are kept from the children first, and a table that is in that state is
//! mended before anything is dropped: the same statement again fails, and takes both back.
//! Source: tried on MariaDB 10.11.19 and 11.8.6; MariaDB 10.11, storage/innobase/row/row0mysql.cc,
//! `row_rename_table_for_mysql`, `dict_load_foreigns`; handler/ha_innodb.cc, `lock_table_children`.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use disk::failpoint;
use schema::{ForeignKey, KeyEnd};

use crate::followers::Followers;
use crate::foreign_keys::unchecked;
use crate::lock::ER_GONE;
use crate::reach::second;
use crate::turns::{PAUSE_MIN, TURN, Turns};
use server::error::Result;
use server::identifier::TableName;
use server::session::Session;
use server::version::Flavor;

/// How long RENAME waits for children that could not be held: it must not fail.
const CHILDREN_WAIT: Duration = Duration::from_secs(50);
/// How long a table that nobody can open is tried to be mended.
const MENDING_WAIT: Duration = Duration::from_secs(120);
/// A table of which InnoDB has none.
const ER_NO_SUCH_TABLE_IN_ENGINE: u16 = 1932;

/// Foreign keys of other tables that refer to a table put aside, whether it is there or not.
pub(super) fn keys_of(session: &mut Session, aside: &TableName) -> Result<Vec<ForeignKey>> {
    let keys = catalog::foreign_keys(session, aside)?.into_iter();
    Ok(keys.filter(|key| key.end == KeyEnd::Parent).collect())
}

/// `database.child.key`.
pub(super) fn key_name(key: &ForeignKey) -> String {
    let name = key.name.split_once('/').map_or(key.name.as_str(), |(_, name)| name);
    let name = name.split_once(char::REPLACEMENT_CHARACTER).map_or(name, |(_, name)| name);
    match &key.other {
        Some(child) => format!("{child}.{name}"),
        None => key.name.replace(['/', char::REPLACEMENT_CHARACTER], "."),
    }
}

/// Has the foreign keys that refer to tables put aside, which are dropped by now, refer to those
/// that took their places; does nothing the second time. Each is (table, its name aside). Others who hold
/// a child are waited for.
///
/// Killed at any point: they refer to either; doing it again is right.
///
/// Errors: a table lacks the columns or the index that a key refers to; it is as it was then. A child
/// that is held for longer than `wait`.
pub fn carry_over(
    session: &mut Session,
    replaced: &[(TableName, TableName)],
    wait: Duration,
) -> Result<()> {
    let mut turns = Turns::begin(wait);
    for (table, aside) in replaced {
        while let Err(error) = carry_one_over(session, table, aside) {
            if !session.is_alive() || !turns.again(&error, session) {
                return Err(error);
            }
        }
    }
    Ok(())
}

/// One turn of [`carry_over`], for one table.
pub(super) fn carry_one_over(
    session: &mut Session,
    table: &TableName,
    aside: &TableName,
) -> Result<()> {
    let keys = keys_of(session, aside)?;
    if keys.is_empty() {
        return Ok(());
    }
    let _held = hold(session, table, aside, &keys)?;
    there_and_back(session, table, aside)
}

/// Carries the keys over by a RENAME, while others are kept from the children.
pub(super) fn there_and_back(
    session: &mut Session,
    table: &TableName,
    aside: &TableName,
) -> Result<()> {
    let (from, to) = (table.quoted(), aside.quoted());
    let sql = format!("RENAME TABLE {from} TO {to}, {to} TO {from}");
    let waits = [TURN, CHILDREN_WAIT].map(|wait| wait.as_secs().to_string());
    let waits =
        [("lock_wait_timeout", waits[0].as_str()), ("innodb_lock_wait_timeout", waits[1].as_str())];
    let begun = Instant::now();
    failpoint::hit("keys.begin");
    loop {
        let done = unchecked(session, |session| session.exec_under(&waits, &sql).map(drop));
        let Err(error) = done else { return Ok(()) };
        if !session.is_alive() {
            return Err(error);
        }
        let is_whole = is_whole(session, table)?;
        if is_whole && keys_of(session, aside)?.is_empty() {
            return Ok(());
        }
        if is_whole || begun.elapsed() > MENDING_WAIT {
            return Err(error);
        }
        std::thread::sleep(PAUSE_MIN);
    }
}

/// Mends a table that a RENAME of [`carry_over`] has left where nobody can open it: before anything of
/// its name aside is dropped.
///
/// Errors: somebody holds a child.
pub fn mend(session: &mut Session, replaced: &[(TableName, TableName)]) -> Result<()> {
    for (table, aside) in replaced {
        if !is_whole(session, table)? {
            let keys = keys_of(session, aside)?;
            if keys.is_empty() {
                // It is broken by something else.
                continue;
            }
            let _held = hold(session, table, aside, &keys)?;
            there_and_back(session, table, aside)?;
        }
    }
    Ok(())
}

/// True if InnoDB has the table under the name that the server has.
fn is_whole(session: &mut Session, table: &TableName) -> Result<bool> {
    match session.query(&format!("SELECT 1 FROM {base} LIMIT 0", base = table.base())) {
        Ok(_) => Ok(true),
        Err(error) => match error.errno() {
            Some(ER_NO_SUCH_TABLE_IN_ENGINE) => Ok(false),
            Some(errno) if ER_GONE.contains(&errno) || error.is_denied() => Ok(true),
            _ => Err(error),
        },
    }
}

/// A connection that keeps others from writing to the tables whose keys are to be carried over and to those whose
/// rows follow theirs, so that no transaction has a lock of theirs; none where the account may not.
///
/// Readers are let in: a WRITE would also lock what triggers of these tables write to, which may be the new table, and
/// its RENAME would wait for this connection. Source: MariaDB 10.11, sql/sql_base.cc,
/// `DML_prelocking_strategy::handle_table`; tried.
///
/// Errors: somebody holds one of them.
fn hold(
    session: &mut Session,
    table: &TableName,
    aside: &TableName,
    keys: &[ForeignKey],
) -> Result<Option<Session>> {
    if session.version().flavor == Flavor::MySql {
        // RENAME locks them all first, and fails with nothing done.
        return Ok(None);
    }
    let mut children: BTreeSet<TableName> =
        keys.iter().filter_map(|key| key.other.clone()).collect();
    let between = catalog::all_foreign_keys(session)?;
    let followers = Followers::of(&between);
    let reached: BTreeSet<TableName> =
        children.iter().flat_map(|child| followers.reached(child)).cloned().collect();
    children.extend(reached);
    children.retain(|child| child != table && child != aside);
    let mut there = Vec::new();
    for child in children {
        if catalog::exists(session, &child)? {
            there.push(format!("{} READ", child.quoted()));
        }
    }
    if there.is_empty() {
        return Ok(None);
    }
    let mut holder = second(session, TURN)?;
    holder.set_lock_wait(TURN)?;
    // Without autocommit LOCK TABLES takes InnoDB's locks too, which waits for transactions that have no
    // connection: prepared ones. COMMIT gives these back, for RENAME, and not the tables.
    holder.set(&[("autocommit", "0"), ("innodb_lock_wait_timeout", "1")])?;
    match holder.exec(&format!("LOCK TABLES {}", there.join(", "))) {
        // Carrying keys over does not need the rights that holding a table needs.
        Err(error) if error.is_denied() => return Ok(None),
        locked => locked?,
    };
    holder.exec("COMMIT")?;
    Ok(Some(holder))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_named_as_every_release_names_them() {
        let other = Some(TableName::new("d", "child"));
        let key =
            |name: &str, other| ForeignKey { name: name.to_owned(), end: KeyEnd::Parent, other };
        assert_eq!(key_name(&key("d/c_t", other.clone())), "d.child.c_t");
        assert_eq!(key_name(&key("d/child\u{FFFD}1", other)), "d.child.1");
        assert_eq!(key_name(&key("d/c_t", None)), "d.c_t");
        assert_eq!(key_name(&key("d/child\u{FFFD}1", None)), "d.child.1");
    }
}
