//! The CREATE TABLE that an SQL file begins with.

use schema::{Engine, Table, TableKind};
use server::Session;

use crate::error::Error;

/// The statements that make the table where it is missing; else the reason why a file has none.
///
/// The statement has IF NOT EXISTS: files of a table that was cut into several may run in any order, and
/// a table that exists gets the rows.
pub(crate) fn read(session: &mut Session, table: &Table) -> Result<Result<Vec<u8>, String>, Error> {
    if let Some(reason) = missing(table) {
        return Ok(Err(reason));
    }
    let row = session.query_row(&format!("SHOW CREATE TABLE {}", table.name.quoted()))?;
    let shown = row.bytes(1).unwrap_or_default();
    let Some(rest) = shown.strip_prefix(b"CREATE TABLE ") else {
        return Ok(Err(format!("the server shows no CREATE TABLE of {}", table.name)));
    };
    let mut statements = Vec::new();
    if !table.references.is_empty() {
        // The tables that the foreign keys name may be made, and filled, later.
        statements.extend_from_slice(b"SET foreign_key_checks=0;\n");
    }
    statements.extend_from_slice(b"CREATE TABLE IF NOT EXISTS ");
    statements.extend_from_slice(rest);
    statements.extend_from_slice(b";\n");
    Ok(Ok(statements))
}

/// Why the rows of a table need another place than a table like it.
fn missing(table: &Table) -> Option<String> {
    let name = &table.name;
    match (&table.kind, &table.engine) {
        (kind, _) if kind.is_view() => Some(format!("{name} is a view")),
        (TableKind::Base | TableKind::SystemVersioned, Engine::Other(engine)) => {
            Some(format!("engine {engine} may keep the rows of {name} on other servers"))
        }
        (TableKind::Base | TableKind::SystemVersioned, _) => None,
        _ => Some(format!("{name} is not a table")),
    }
}
