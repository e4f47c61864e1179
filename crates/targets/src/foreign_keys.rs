//! Foreign keys of other tables that refer to a table, or to a name that one had.

use std::collections::HashSet;

use server::error::Result;
use server::identifier::{TableName, quote_text};
use server::session::Session;

/// Server errors of an account that may not look, and of an engine that has no such dictionary.
const ER_ACCESS: [u16; 4] = [1142, 1227, 1109, 1146];

/// True if foreign keys of other tables refer to a table of this name, whether it exists or not.
pub fn has_children(session: &mut Session, table: &TableName) -> Result<bool> {
    let internal = quote_text(&catalog::name_in_keys(session, table)?);
    let view = session.version().flavor.innodb_view("FOREIGN");
    let dictionary = format!(
        "SELECT 1 FROM information_schema.{view} \
         WHERE REF_NAME={internal} AND FOR_NAME<>{internal} LIMIT 1"
    );
    match session.query(&dictionary) {
        Err(e) if e.errno().is_some_and(|errno| ER_ACCESS.contains(&errno)) => {}
        rows => return Ok(!rows?.is_empty()),
    }
    let (database, name) = (quote_text(&table.database), quote_text(&table.table));
    let visible = format!(
        "SELECT 1 FROM information_schema.REFERENTIAL_CONSTRAINTS \
         WHERE UNIQUE_CONSTRAINT_SCHEMA={database} AND REFERENCED_TABLE_NAME={name} \
         AND NOT (CONSTRAINT_SCHEMA={database} AND TABLE_NAME={name}) LIMIT 1"
    );
    Ok(!session.query(&visible)?.is_empty())
}

/// Those of some tables, there or not, that foreign keys refer to, as far as the account may look.
pub(super) fn referred(session: &mut Session, tables: &[TableName]) -> Result<Vec<TableName>> {
    Ok(in_dictionary(session, tables)?.unwrap_or_default())
}

/// The same also for an account that may not look into the dictionary, which is asked a question for
/// each table.
pub(super) fn with_children(session: &mut Session, tables: &[TableName]) -> Result<Vec<TableName>> {
    if let Some(found) = in_dictionary(session, tables)? {
        return Ok(found);
    }
    let mut found = Vec::new();
    for table in tables {
        if has_children(session, table)? {
            found.push(table.clone());
        }
    }
    Ok(found)
}

/// InnoDB's names of all tables of loads' own that foreign keys refer to, as far as the account may
/// look.
pub(super) fn own_parents(session: &mut Session) -> Result<Vec<String>> {
    let view = session.version().flavor.innodb_view("FOREIGN");
    let sql = format!(
        "SELECT DISTINCT REF_NAME FROM information_schema.{view} WHERE REF_NAME LIKE '%\\_inrush\\_%'"
    );
    match session.query(&sql) {
        Err(e) if e.errno().is_some_and(|errno| ER_ACCESS.contains(&errno)) => Ok(Vec::new()),
        rows => rows?.iter().map(|row| row.text(0)).collect(),
    }
}

/// Tables that keys refer to by InnoDB's dictionary, asked once; none where it cannot be asked.
fn in_dictionary(session: &mut Session, tables: &[TableName]) -> Result<Option<Vec<TableName>>> {
    if tables.is_empty() {
        return Ok(Some(Vec::new()));
    }
    let mut internal = Vec::new();
    for table in tables {
        internal.push(catalog::name_in_keys(session, table)?);
    }
    let list: Vec<String> = internal.iter().map(|name| quote_text(name)).collect();
    let view = session.version().flavor.innodb_view("FOREIGN");
    let dictionary = format!(
        "SELECT DISTINCT REF_NAME FROM information_schema.{view} WHERE REF_NAME IN ({})",
        list.join(", ")
    );
    let rows = match session.query(&dictionary) {
        Err(e) if e.errno().is_some_and(|errno| ER_ACCESS.contains(&errno)) => return Ok(None),
        rows => rows?,
    };
    let found: HashSet<String> = rows.iter().map(|row| row.text(0)).collect::<Result<_>>()?;
    let is_found = |at: &usize| found.contains(&internal[*at]);
    Ok(Some((0..tables.len()).filter(is_found).map(|at| tables[at].clone()).collect()))
}

/// Works under `foreign_key_checks=0`.
pub fn unchecked(
    session: &mut Session,
    work: impl FnOnce(&mut Session) -> Result<()>,
) -> Result<()> {
    if session.options().unchecked_keys {
        return work(session);
    }
    session.set(&[("foreign_key_checks", "0")])?;
    let done = work(session);
    // What made the work fail is what matters.
    let reset = session.set(&[("foreign_key_checks", "1")]);
    done.and(reset)
}
