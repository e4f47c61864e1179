//! Rows that refer to rows which are not there.
//!
//! The server joins the two tables by the key of the parent, and compares as its foreign keys do.

use crate::scratch::Waiting;
use schema::{Reference, Table, TableName};
use server::catalog::{self, definition, references};
use server::error::{Error, Orphans, Result};
use server::identifier::quote_name;
use server::session::{Row, Session};

/// Keys that an error names.
const KEYS_NAMED: usize = 3;

/// Looks whether `rows` of a filled table refer to rows that are there: in the table that is, or in
/// that which is published with it.
///
/// Errors: [`Error::Orphans`].
pub(super) fn check_rows(
    session: &mut Session,
    table: &Table,
    (reference, rows): (&Reference, &TableName),
    filled: &Waiting,
) -> Result<()> {
    let parent = filled.get(&reference.parent).unwrap_or(&reference.parent);
    let Some(keys) = orphans(session, reference, rows, parent)? else { return Ok(()) };
    Err(Error::Orphans(Box::new(Orphans {
        child: table.name.to_string(),
        constraint: reference.name.clone(),
        columns: reference.columns.join(", "),
        parent: reference.parent.to_string(),
        keys,
        is_new: true,
    })))
}

/// Looks whether rows of another table, `child`, refer to rows that a filled one has.
///
/// Errors: [`Error::Orphans`].
pub(super) fn check_children(
    session: &mut Session,
    child: &TableName,
    table: &TableName,
    rows: &TableName,
) -> Result<()> {
    let definition = definition(session, child)?;
    for reference in references(&definition, &child.database) {
        if reference.parent != *table {
            continue;
        }
        let Some(keys) = orphans(session, &reference, child, rows)? else { continue };
        return Err(Error::Orphans(Box::new(Orphans {
            child: child.to_string(),
            constraint: reference.name,
            columns: reference.columns.join(", "),
            parent: table.to_string(),
            keys,
            is_new: false,
        })));
    }
    Ok(())
}

/// Some keys of rows in `child` that no row of `parent` has, in words; none if there are no such rows.
fn orphans(
    session: &mut Session,
    reference: &Reference,
    child: &TableName,
    parent: &TableName,
) -> Result<Option<String>> {
    let columns: Vec<String> = reference.columns.iter().map(|name| quote_name(name)).collect();
    let is_key: Vec<String> = columns.iter().map(|name| format!("c.{name} IS NOT NULL")).collect();
    let keys: Vec<String> = columns.iter().map(|name| format!("c.{name}")).collect();
    let limit = KEYS_NAMED + 1;
    let (keys, is_key, rows) = (keys.join(", "), is_key.join(" AND "), child.quoted());
    let sql = if catalog::exists(session, parent)? {
        let on = columns.iter().zip(&reference.parent_columns);
        let on: Vec<String> =
            on.map(|(own, other)| format!("p.{}=c.{own}", quote_name(other))).collect();
        let first = quote_name(&reference.parent_columns[0]);
        // By the parent's index, whatever the server thinks that there is in a new table; and without
        // rows of transactions that have not ended.
        format!(
            "SET STATEMENT join_cache_level=0 FOR SELECT {keys} FROM {rows} c \
             LEFT JOIN {} p ON {} WHERE {is_key} AND p.{first} IS NULL LIMIT {limit} \
             LOCK IN SHARE MODE",
            parent.quoted(),
            on.join(" AND ")
        )
    } else {
        format!("SELECT {keys} FROM {rows} c WHERE {is_key} LIMIT {limit}")
    };
    let found = session.query(&sql)?;
    Ok((!found.is_empty()).then(|| told(&found, columns.len())))
}

fn told(found: &[Row], columns: usize) -> String {
    let key = |row: &Row| {
        let values: Vec<String> = (0..columns).map(|at| row.text_lossy(at)).collect();
        format!("({})", values.join(", "))
    };
    let keys: Vec<String> = found.iter().take(KEYS_NAMED).map(key).collect();
    let more = if found.len() > KEYS_NAMED { " and others" } else { "" };
    format!("{}{more}", keys.join(", "))
}
