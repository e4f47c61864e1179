//! Foreign keys, triggers and CHECK constraints.

use std::collections::HashMap;

use schema::{Check, Column, ForeignKey, KeyEnd, TableName, Trigger};
use values::SqlType;

use super::About;
use server::error::Result;
use server::filename::filename;
use server::identifier::{quote_name, quote_text};
use server::session::{Row, Session};
use server::version::Flavor;

/// The server's answer when the account may not look, or it has no such dictionary: what is no InnoDB shows what any account may ask for.
const ER_ACCESS: [u16; 5] = [1044, 1142, 1227, 1109, 1146];

/// All foreign keys that any account may ask for.
const ALL_VISIBLE: &str = "SELECT CONSTRAINT_SCHEMA, TABLE_NAME, UNIQUE_CONSTRAINT_SCHEMA, \
                           REFERENCED_TABLE_NAME FROM information_schema.REFERENTIAL_CONSTRAINTS";

/// Foreign keys of tables that were asked for at once, by the tables' names.
pub type KeysOfTables = HashMap<TableName, Vec<ForeignKey>>;

/// Foreign keys in both directions.
///
/// InnoDB's dictionary shows all; an account without PROCESS sees those of the tables it has rights on.
pub fn foreign_keys(session: &mut Session, table: &TableName) -> Result<Vec<ForeignKey>> {
    let internal = name_in_keys(session, table)?;
    let rows = match session.query(&dictionary(session.version().flavor, Some(&internal))) {
        Err(e) if e.errno().is_some_and(|n| ER_ACCESS.contains(&n)) => {
            let rows = session.query(&visible_keys(table))?;
            return rows.iter().map(visible_key).collect();
        }
        rows => rows?,
    };
    let keys = rows.iter().map(Entry::of).collect::<Result<Vec<_>>>()?;
    Ok(keys.iter().map(|entry| entry.key_of(&internal)).collect())
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
    let flavor = session.version().flavor;
    let rows = match session.query(&dictionary(flavor, None)) {
        Err(e) if e.errno().is_some_and(|n| ER_ACCESS.contains(&n)) => {
            return visible_between(session);
        }
        rows => rows?,
    };
    let mut keys = Vec::new();
    for row in &rows {
        let Entry { child_table, parent_table, .. } = Entry::of(row)?;
        let both = child_table.zip(parent_table);
        keys.extend(both.map(|(child, parent)| KeyBetween { child, parent }));
    }
    Ok(keys)
}

fn visible_between(session: &mut Session) -> Result<Vec<KeyBetween>> {
    let name = |row: &Row, at: usize| -> Result<TableName> {
        Ok(TableName { database: row.text(at)?, table: row.text(at + 1)? })
    };
    let rows = session.query(ALL_VISIBLE)?;
    rows.iter().map(|row| Ok(KeyBetween { child: name(row, 0)?, parent: name(row, 2)? })).collect()
}

/// The same of many tables: the dictionary, which has an entry for each key and is read whole for each question, is asked once.
pub fn foreign_keys_of(session: &mut Session, tables: &[TableName]) -> Result<KeysOfTables> {
    let mut found = KeysOfTables::new();
    if let [table] = tables {
        found.insert(table.clone(), foreign_keys(session, table)?);
        return Ok(found);
    }
    let rows = match session.query(&dictionary(session.version().flavor, None)) {
        Err(e) if e.errno().is_some_and(|n| ER_ACCESS.contains(&n)) => {
            for table in tables {
                found.insert(table.clone(), foreign_keys(session, table)?);
            }
            return Ok(found);
        }
        rows => rows?,
    };
    let entries = rows.iter().map(Entry::of).collect::<Result<Vec<_>>>()?;
    let mut by_name: HashMap<String, Vec<&Entry>> = HashMap::new();
    for entry in &entries {
        let (child, parent) = (entry.child.to_lowercase(), entry.parent.to_lowercase());
        if child != parent {
            by_name.entry(parent).or_default().push(entry);
        }
        by_name.entry(child).or_default().push(entry);
    }
    for table in tables {
        let internal = name_in_keys(session, table)?;
        let entries = by_name.get(&internal.to_lowercase()).map_or(&[][..], Vec::as_slice);
        let keys = entries.iter().map(|entry| entry.key_of(&internal)).collect();
        found.insert(table.clone(), keys);
    }
    Ok(found)
}

/// The name that a table has in InnoDB's dictionary of foreign keys. On MariaDB it is that of its files.
pub fn name_in_keys(session: &mut Session, table: &TableName) -> Result<String> {
    if session.version().flavor == Flavor::MySql {
        return Ok(format!("{}/{}", table.database, table.table));
    }
    Ok(format!("{}/{}", filename(session, &table.database)?, filename(session, &table.table)?))
}

/// Asks InnoDB for the keys of all tables, or of the one that it calls `internal`.
fn dictionary(flavor: Flavor, internal: Option<&str>) -> String {
    // Names there are spelled as those of files, which MariaDB takes back. MySQL has them as they are: that of a
    // table may contain the slash.
    let part = |name: &str, which: i8| {
        let database = format!("SUBSTRING_INDEX({name}, '/', 1)");
        match (flavor, which) {
            (Flavor::MariaDb, _) => format!(
                "CONVERT(CAST(SUBSTRING_INDEX({name}, '/', {which}) AS BINARY) USING filename)"
            ),
            (Flavor::MySql, 1) => database,
            (Flavor::MySql, _) => format!("SUBSTRING({name}, CHAR_LENGTH({database}) + 2)"),
        }
    };
    let view = flavor.innodb_view("FOREIGN");
    let only = internal.map_or_else(String::new, |internal| {
        let internal = quote_text(internal);
        format!(" WHERE FOR_NAME={internal} OR REF_NAME={internal}")
    });
    format!(
        "SELECT ID, FOR_NAME, REF_NAME, {}, {}, {}, {} FROM information_schema.{view}{only}",
        part("FOR_NAME", 1),
        part("FOR_NAME", -1),
        part("REF_NAME", 1),
        part("REF_NAME", -1)
    )
}

/// A key as InnoDB's dictionary has it.
struct Entry {
    name: String,
    /// InnoDB's names of both tables.
    child: String,
    parent: String,
    /// The server's names of both, where it tells.
    child_table: Option<TableName>,
    parent_table: Option<TableName>,
}

impl Entry {
    fn of(row: &Row) -> Result<Entry> {
        let table = |at: usize| -> Result<Option<TableName>> {
            let names = row.text_or_null(at)?.zip(row.text_or_null(at + 1)?);
            Ok(names.map(|(database, table)| TableName { database, table }))
        };
        Ok(Entry {
            // Since MDEV-28933 a byte that is no UTF-8 stands between the names of table and key.
            name: row.text_lossy(0),
            child: row.text(1)?,
            parent: row.text(2)?,
            child_table: table(3)?,
            parent_table: table(5)?,
        })
    }

    /// The key as the table has it that InnoDB calls `internal`.
    fn key_of(&self, internal: &str) -> ForeignKey {
        let (end, other) = match (self.child == internal, self.parent == internal) {
            (true, true) => (KeyEnd::Both, &self.parent_table),
            (true, false) => (KeyEnd::Child, &self.parent_table),
            (false, _) => (KeyEnd::Parent, &self.child_table),
        };
        ForeignKey { name: self.name.clone(), end, other: other.clone() }
    }
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

/// A key as [`visible_keys`] asks for it.
fn visible_key(row: &Row) -> Result<ForeignKey> {
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

/// Asks about triggers.
pub(super) fn triggers_sql(About { condition, also }: &About) -> String {
    format!("SELECT TRIGGER_NAME{also} FROM information_schema.TRIGGERS WHERE {condition}")
}

/// Triggers, as far as the account may see them.
pub(super) fn triggers(rows: &[Row]) -> Result<Vec<Trigger>> {
    rows.iter().map(|row| Ok(Trigger { name: row.text(0)? })).collect()
}

/// The views in which a server of MySQL's kind has CHECK constraints. TABLE_CONSTRAINTS of TiDB has neither them nor ENFORCED.
/// Source: TiDB 8.5, pkg/infoschema/tables.go, `tableConstraintsCols`, `tableTiDBCheckConstraintsCols`.
const VIEWS: &str = "SELECT TABLE_NAME FROM information_schema.COLUMNS WHERE \
                     TABLE_SCHEMA='information_schema' AND (TABLE_NAME='TABLE_CONSTRAINTS' AND \
                     COLUMN_NAME='ENFORCED' OR TABLE_NAME='TIDB_CHECK_CONSTRAINTS' AND \
                     COLUMN_NAME='TABLE_NAME')";

/// Asks about CHECK constraints, in the views that the server has; none where it has no such constraints.
pub(super) fn checks_sql(
    session: &mut Session,
    database: &str,
    names: &[&TableName],
) -> Result<Option<String>> {
    let flavor = session.version().flavor;
    let of_table = About::of(flavor, "CONSTRAINT_SCHEMA", "TABLE_NAME", database, names);
    let sql = |level: &str, view: &str, About { condition, also }: &About| {
        format!(
            "SELECT CONSTRAINT_NAME, {level}, CHECK_CLAUSE{also} FROM information_schema.{view} \
             WHERE {condition}"
        )
    };
    if flavor == Flavor::MariaDb {
        return Ok(Some(sql("LEVEL", "CHECK_CONSTRAINTS", &of_table)));
    }
    let Some(row) = session.query_once(VIEWS)?.into_iter().next() else { return Ok(None) };
    let view = row.text(0)?;
    if view.starts_with("TIDB") {
        return Ok(Some(sql("'Table'", &view, &of_table)));
    }
    let view = format!(
        "{view} JOIN information_schema.CHECK_CONSTRAINTS USING (CONSTRAINT_SCHEMA, CONSTRAINT_NAME)"
    );
    let about = About::of(flavor, "TABLE_SCHEMA", "TABLE_NAME", database, names);
    // One that is not enforced counts, too: its name would be another in a copy of the table.
    Ok(Some(sql("'Table'", &view, &about) + " AND CONSTRAINT_TYPE='CHECK'"))
}

/// CHECK constraints, but not the JSON_VALID that makes a LONGTEXT a JSON column: `columns` are told.
pub(super) fn checks(rows: &[Row], columns: &mut [Column]) -> Result<Vec<Check>> {
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
