//! Foreign keys, triggers and CHECK constraints.

use schema::{Check, Column, ForeignKey, KeyEnd, TableName, Trigger};
use values::SqlType;

use super::only;
use crate::error::Result;
use crate::filename::filename;
use crate::identifier::{quote_name, quote_text};
use crate::session::{Row, Session};
use crate::version::Flavor;

/// The server's answer when the account may not look.
const ER_ACCESS: [u16; 3] = [1044, 1142, 1227];

/// All foreign keys that any account may ask for.
const ALL_VISIBLE: &str = "SELECT CONSTRAINT_SCHEMA, TABLE_NAME, UNIQUE_CONSTRAINT_SCHEMA, \
                           REFERENCED_TABLE_NAME FROM information_schema.REFERENTIAL_CONSTRAINTS";

/// Foreign keys in both directions.
///
/// InnoDB's dictionary shows all; an account without PROCESS sees those of the tables it has
/// rights on.
pub fn foreign_keys(session: &mut Session, table: &TableName) -> Result<Vec<ForeignKey>> {
    let database = filename(session, &table.database)?;
    let file = filename(session, &table.table)?;
    let internal = quote_text(&format!("{database}/{file}"));
    let rows = match session.query(&dictionary(session.version().flavor, &internal)) {
        Err(e) if e.errno().is_some_and(|n| ER_ACCESS.contains(&n)) => {
            session.query(&visible_keys(table))?
        }
        rows => rows?,
    };
    rows.iter().map(foreign_key).collect()
}

/// A foreign key of one table that refers to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyBetween {
    /// Whose rows refer.
    pub child: TableName,
    /// To which they do.
    pub parent: TableName,
}

/// All foreign keys of the server, as far as the account may look.
pub fn all_foreign_keys(session: &mut Session) -> Result<Vec<KeyBetween>> {
    if session.version().flavor == Flavor::MySql {
        return key_between(&session.query(ALL_VISIBLE)?);
    }
    let name = |end: &str, part: i8| {
        format!("CONVERT(CAST(SUBSTRING_INDEX({end}, '/', {part}) AS BINARY) USING filename)")
    };
    let dictionary = format!(
        "SELECT {}, {}, {}, {} FROM information_schema.INNODB_SYS_FOREIGN",
        name("FOR_NAME", 1),
        name("FOR_NAME", -1),
        name("REF_NAME", 1),
        name("REF_NAME", -1)
    );
    match session.query(&dictionary) {
        Err(e) if e.errno().is_some_and(|n| ER_ACCESS.contains(&n)) => {
            key_between(&session.query(ALL_VISIBLE)?)
        }
        rows => key_between(&rows?),
    }
}

fn key_between(rows: &[Row]) -> Result<Vec<KeyBetween>> {
    let name = |row: &Row, at: usize| -> Result<TableName> {
        Ok(TableName { database: row.text(at)?, table: row.text(at + 1)? })
    };
    rows.iter().map(|row| Ok(KeyBetween { child: name(row, 0)?, parent: name(row, 2)? })).collect()
}

/// Asks InnoDB for the keys of the table that its files are named `internal` after.
fn dictionary(flavor: Flavor, internal: &str) -> String {
    let other = format!("IF(BINARY FOR_NAME={internal}, REF_NAME, FOR_NAME)");
    // Names there are spelled as those of files, which MariaDB takes back.
    let part = |which: i8| match flavor {
        Flavor::MariaDb => format!(
            "CONVERT(CAST(SUBSTRING_INDEX({other}, '/', {which}) AS BINARY) USING filename)"
        ),
        Flavor::MySql => "NULL".to_owned(),
    };
    let view = match flavor {
        Flavor::MariaDb => "INNODB_SYS_FOREIGN",
        Flavor::MySql => "INNODB_FOREIGN",
    };
    format!(
        "SELECT ID, BINARY FOR_NAME={internal}, BINARY REF_NAME={internal}, {}, {} \
         FROM information_schema.{view} WHERE FOR_NAME={internal} OR REF_NAME={internal}",
        part(1),
        part(-1)
    )
}

/// The same of what any account may ask.
fn visible_keys(table: &TableName) -> String {
    let (database, name) = (quote_text(&table.database), quote_text(&table.table));
    let is_child = format!("CONSTRAINT_SCHEMA={database} AND TABLE_NAME={name}");
    let is_parent = format!("UNIQUE_CONSTRAINT_SCHEMA={database} AND REFERENCED_TABLE_NAME={name}");
    format!(
        "SELECT CONSTRAINT_NAME, {is_child}, {is_parent}, \
         IF({is_child}, UNIQUE_CONSTRAINT_SCHEMA, CONSTRAINT_SCHEMA), \
         IF({is_child}, REFERENCED_TABLE_NAME, TABLE_NAME) \
         FROM information_schema.REFERENTIAL_CONSTRAINTS WHERE ({is_child}) OR ({is_parent})"
    )
}

fn foreign_key(row: &Row) -> Result<ForeignKey> {
    let is = |at| row.text_or_null(at).map(|text| text.as_deref() == Some("1"));
    let end = match (is(1)?, is(2)?) {
        (true, true) => KeyEnd::Both,
        (true, false) => KeyEnd::Child,
        (false, _) => KeyEnd::Parent,
    };
    let other = row.text_or_null(3)?.zip(row.text_or_null(4)?);
    let other = other.map(|(database, table)| TableName { database, table });
    Ok(ForeignKey { name: row.text(0)?, end, other })
}

/// Triggers, as far as the account may see them.
pub(super) fn triggers(session: &mut Session, table: &TableName) -> Result<Vec<Trigger>> {
    let (database, name) = (quote_text(&table.database), quote_text(&table.table));
    let rows = session.query(&format!(
        "SELECT TRIGGER_NAME FROM information_schema.TRIGGERS WHERE EVENT_OBJECT_SCHEMA={database} \
         AND EVENT_OBJECT_TABLE={name} AND BINARY EVENT_OBJECT_TABLE={name}"
    ))?;
    rows.iter().map(|row| Ok(Trigger { name: row.text(0)? })).collect()
}

/// CHECK constraints, but not the JSON_VALID that makes a LONGTEXT a JSON column: `columns` are
/// told.
pub(super) fn checks(
    session: &mut Session,
    table: &TableName,
    columns: &mut [Column],
) -> Result<Vec<Check>> {
    let condition = only(table);
    let rows = session.query(&match session.version().flavor {
        Flavor::MariaDb => format!(
            "SELECT CONSTRAINT_NAME, LEVEL, CHECK_CLAUSE FROM information_schema.CHECK_CONSTRAINTS \
             WHERE {}",
            condition.replace("TABLE_SCHEMA", "CONSTRAINT_SCHEMA")
        ),
        Flavor::MySql => format!(
            "SELECT CONSTRAINT_NAME, 'Table', CHECK_CLAUSE FROM information_schema.TABLE_CONSTRAINTS \
             JOIN information_schema.CHECK_CONSTRAINTS USING (CONSTRAINT_SCHEMA, CONSTRAINT_NAME) \
             WHERE {condition} AND CONSTRAINT_TYPE='CHECK' AND ENFORCED='YES'"
        ),
    })?;
    let mut found = Vec::new();
    for row in rows {
        let (name, level, clause) = (row.text(0)?, row.text(1)?, row.text(2)?);
        let json = format!("json_valid({})", quote_name(&name));
        let is_json = level == "Column" && clause == json;
        let column = columns.iter_mut().find(|column| is_json && column.name == name);
        let text = column.as_ref().and_then(|column| column.sql_type.may_be_json().cloned());
        match column.zip(text) {
            Some((column, text)) => column.sql_type = SqlType::Json(text),
            None => found.push(Check { name, clause }),
        }
    }
    Ok(found)
}
