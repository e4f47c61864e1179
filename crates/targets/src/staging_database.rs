//! Where a table with foreign keys of its own waits for its place.
//!
//! Names of foreign keys are unique in a database, and one database's: those of `d.t` are `d/fk`. So
//! the filled table gets its keys, of the same names, in a database of the load's own, and brings
//! them along in the RENAME that gives it its place, as the old table takes its own to another:
//!
//! ```text
//! d._inrush_new_..  ->  `_inrush_new_..`.t, keys added  ->  d.t  ->  `_inrush_old_..`.t
//! ```
//!
//! A key to a table that is published with it refers to that one's own waiting place, and follows it.
//! Keys are added without looking at rows, of which [`orphans`](super::orphans) has looked before.
//! Source: tried on MariaDB 10.11.19 and 11.8.6; MariaDB 10.11, storage/innobase/row/row0mysql.cc,
//! `row_rename_table_for_mysql`: ids of constraints change their database with the table's.

use std::collections::{HashMap, HashSet};

use crate::foreign_keys::unchecked;
use crate::names::Names;
use catalog::{self, definition, references, without_references};
use schema::{Mode, Table, TableName};
use server::error::{Error, Result};
use server::identifier::{quote_name, quote_text};
use server::session::Session;

/// Under which names tables wait that are published together, by their targets'.
pub(super) type Waiting = HashMap<TableName, TableName>;

/// Brings a filled table to where it waits; one without keys of its own stays where it is.
///
/// Killed after it: a database with a table, and an empty one.
pub(super) fn bring(session: &mut Session, table: &Table, names: &Names, mode: Mode) -> Result<()> {
    if table.references.is_empty() {
        return Ok(());
    }
    create(session, &names.aside(table, mode))?;
    let replacement = names.replacement(table);
    create(session, &replacement)?;
    let (staging, replacement) = (names.staging.quoted(), replacement.quoted());
    session.exec(&format!("RENAME TABLE {staging} TO {replacement}")).map(drop)
}

/// Creates the database of a name that a table has while it waits. Waits for a backup of MySQL's in any case.
pub(super) fn create(session: &mut Session, name: &TableName) -> Result<()> {
    let database = quote_name(&name.database);
    session.exec(&format!("CREATE DATABASE IF NOT EXISTS {database}")).map(drop)
}

/// Gives a filled table where it waits the keys that the target has. All that are published with it
/// have been brought to where they wait.
///
/// Errors: [`Error::Altered`] where the server makes other keys of its own words for them.
pub(super) fn add_keys(
    session: &mut Session,
    table: &Table,
    names: &Names,
    waiting: &Waiting,
) -> Result<()> {
    if table.references.is_empty() {
        return Ok(());
    }
    let replacement = names.replacement(table);
    let parent_of = |parent: &TableName| waiting.get(parent).unwrap_or(parent).clone();
    let wanted = table.references.iter().map(|reference| {
        let mut wanted = reference.clone();
        wanted.parent = parent_of(&reference.parent);
        wanted
    });
    let wanted: Vec<_> = wanted.collect();
    let added: Vec<String> =
        wanted.iter().map(|key| format!("ADD {}", key.clause(&key.parent))).collect();
    let sql =
        format!("ALTER TABLE {} {}, ALGORITHM=INPLACE", replacement.quoted(), added.join(", "));
    unchecked(session, |session| session.exec(&sql).map(drop))?;
    let made = definition(session, &replacement)?;
    let is_like = references(&made, &replacement.database) == wanted
        && without_references(&made) == without_references(&table.definition);
    if is_like {
        return Ok(());
    }
    let detail = format!("the server creates different foreign keys for {replacement}");
    Err(Error::Altered { target: table.name.to_string(), detail })
}

/// Takes the keys of a filled table away again, as far as it has them.
pub(super) fn drop_keys(session: &mut Session, table: &Table, names: &Names) -> Result<()> {
    drop_keys_of(session, table, &names.replacement(table))
}

/// Takes the foreign keys of a target from a table that has some of them, or none.
pub(super) fn drop_keys_of(session: &mut Session, table: &Table, owner: &TableName) -> Result<()> {
    if table.references.is_empty()
        || references(&definition(session, owner)?, &owner.database).is_empty()
    {
        return Ok(());
    }
    let keys = table.references.iter().map(|key| {
        let name = quote_name(&key.name);
        format!("DROP FOREIGN KEY {name}")
    });
    let keys: Vec<String> = keys.collect();
    let owner = owner.quoted();
    let sql = format!("ALTER TABLE {owner} {}, ALGORITHM=INPLACE", keys.join(", "));
    unchecked(session, |session| session.exec(&sql).map(drop))
}

/// Drops databases of a load's own that are there and empty.
///
/// Errors: [`Error::Leftover`] where something is in one.
pub(super) fn drop_databases<'n>(
    session: &mut Session,
    names: impl IntoIterator<Item = &'n str>,
) -> Result<()> {
    let mut names = names.into_iter().peekable();
    if names.peek().is_none() {
        return Ok(());
    }
    // The server lists them all whatever is asked for.
    let there = session.query("SELECT SCHEMA_NAME FROM information_schema.SCHEMATA")?;
    let there: HashSet<String> = there.iter().map(|row| row.text(0)).collect::<Result<_>>()?;
    names.filter(|name| there.contains(*name)).try_for_each(|name| drop_database(session, name))
}

fn drop_database(session: &mut Session, database: &str) -> Result<()> {
    let tables = format!(
        "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA={} LIMIT 1",
        quote_text(database)
    );
    if let Some(table) = session.query_text(&tables)? {
        return Err(Error::Leftover(format!(
            "table {table} is in database {database}, which belongs to a load: find out who \
             created the table, then remove the table"
        )));
    }
    session.exec(&format!("DROP DATABASE IF EXISTS {}", quote_name(database))).map(drop)
}

/// True if a filled table still waits somewhere.
pub(super) fn is_waiting(session: &mut Session, table: &Table, names: &Names) -> Result<bool> {
    Ok(catalog::exists(session, &names.staging)?
        || catalog::exists(session, &names.replacement(table))?)
}
