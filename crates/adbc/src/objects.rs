//! Databases, tables, columns and keys of a server.

mod nested;

use adbc_core::error::Result;
use adbc_core::options::ObjectDepth;
use server::identifier::quote_text;
use server::{Row, Session};

use crate::errors::of_server;
use crate::result::Reader;
use crate::shared::{CATALOG, current_database};

/// Patterns of names, as in LIKE; None means all.
pub(crate) struct Filter<'a> {
    pub(crate) catalog: Option<&'a str>,
    pub(crate) db_schema: Option<&'a str>,
    pub(crate) table_name: Option<&'a str>,
    /// Kinds of tables.
    pub(crate) table_type: Option<Vec<&'a str>>,
    pub(crate) column_name: Option<&'a str>,
}

/// A database.
struct Database {
    name: String,
    /// None if tables are not asked for.
    tables: Option<Vec<Table>>,
}

/// A table or view.
struct Table {
    name: String,
    kind: String,
    /// Both are None if columns are not asked for.
    columns: Option<Vec<Column>>,
    keys: Option<Vec<Key>>,
}

/// A column.
struct Column {
    name: String,
    position: i32,
    comment: Option<String>,
    /// `decimal`, and `decimal(12,2) unsigned`.
    type_name: String,
    size: Option<i32>,
    scale: Option<i16>,
    octets: Option<i32>,
    is_nullable: bool,
    default: Option<String>,
    is_auto_increment: bool,
    is_generated: bool,
}

/// A primary, unique or foreign key.
struct Key {
    name: String,
    kind: &'static str,
    columns: Vec<String>,
    /// Database, table and column that each column refers to.
    referred: Vec<(String, String, String)>,
}

/// The objects to a depth, all in memory.
///
/// A pattern of tables without one of databases is about the database of the connection, as names in SQL are:
/// pandas asks so whether a table exists.
pub(crate) fn objects(
    session: &mut Session,
    depth: ObjectDepth,
    filter: &Filter<'_>,
) -> Result<Reader> {
    let has_catalog = match filter.catalog {
        Some(pattern) => {
            let sql = format!("SELECT {} LIKE {}", quote_text(CATALOG), quote_text(pattern));
            text(session, &sql)?.as_deref() == Some("1")
        }
        None => true,
    };
    if !has_catalog || depth == ObjectDepth::Catalogs {
        return nested::reader(has_catalog, None);
    }
    let schema = match (filter.db_schema, filter.table_name) {
        (Some(pattern), _) => like("SCHEMA_NAME", Some(pattern)),
        (None, Some(_)) => match current_database(session)? {
            Some(database) => format!("SCHEMA_NAME = {}", quote_text(&database)),
            None => "TRUE".to_owned(),
        },
        (None, None) => "TRUE".to_owned(),
    };
    let sql =
        format!("SELECT SCHEMA_NAME FROM information_schema.SCHEMATA WHERE {schema} ORDER BY 1");
    let mut databases = Vec::new();
    for row in rows(session, &sql)? {
        databases.push(Database { name: row.text_lossy(0), tables: None });
    }
    if depth != ObjectDepth::Schemas {
        let schema = schema.replace("SCHEMA_NAME", "TABLE_SCHEMA");
        add_tables(session, &mut databases, &schema, filter)?;
        if depth != ObjectDepth::Tables {
            add_columns(session, &mut databases, &schema, filter)?;
            add_keys(session, &mut databases, &schema, filter)?;
        }
    }
    nested::reader(true, Some(databases))
}

fn add_tables(
    session: &mut Session,
    databases: &mut [Database],
    schema: &str,
    filter: &Filter<'_>,
) -> Result<()> {
    let kinds = match &filter.table_type {
        Some(kinds) if !kinds.is_empty() => {
            let kinds: Vec<String> = kinds.iter().map(|kind| quote_text(kind)).collect();
            format!("TABLE_TYPE IN ({})", kinds.join(", "))
        }
        _ => "TRUE".to_owned(),
    };
    let sql = format!(
        "SELECT TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE FROM information_schema.TABLES \
         WHERE {schema} AND {} AND {kinds} ORDER BY TABLE_SCHEMA, TABLE_NAME",
        like("TABLE_NAME", filter.table_name)
    );
    databases.iter_mut().for_each(|database| database.tables = Some(Vec::new()));
    for row in rows(session, &sql)? {
        let table =
            Table { name: row.text_lossy(1), kind: row.text_lossy(2), columns: None, keys: None };
        let database = databases.iter_mut().find(|one| one.name == row.text_lossy(0));
        if let Some(tables) = database.and_then(|database| database.tables.as_mut()) {
            tables.push(table);
        }
    }
    Ok(())
}

/// The table of a row, which begins with database and table.
fn table<'a>(databases: &'a mut [Database], row: &Row) -> Option<&'a mut Table> {
    let database = databases.iter_mut().find(|one| one.name == row.text_lossy(0))?;
    let name = row.text_lossy(1);
    database.tables.as_mut()?.iter_mut().find(|table| table.name == name)
}

fn add_columns(
    session: &mut Session,
    databases: &mut [Database],
    schema: &str,
    filter: &Filter<'_>,
) -> Result<()> {
    let sql = format!(
        "SELECT TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME, ORDINAL_POSITION, COLUMN_COMMENT, COLUMN_TYPE, \
         COALESCE(NUMERIC_PRECISION, CHARACTER_MAXIMUM_LENGTH, DATETIME_PRECISION), NUMERIC_SCALE, \
         CHARACTER_OCTET_LENGTH, IS_NULLABLE, COLUMN_DEFAULT, EXTRA FROM information_schema.COLUMNS \
         WHERE {schema} AND {} AND {} ORDER BY TABLE_SCHEMA, TABLE_NAME, ORDINAL_POSITION",
        like("TABLE_NAME", filter.table_name),
        like("COLUMN_NAME", filter.column_name)
    );
    for all in databases.iter_mut().filter_map(|database| database.tables.as_mut()) {
        all.iter_mut().for_each(|table| table.columns = Some(Vec::new()));
    }
    for row in rows(session, &sql)? {
        // A column may be longer than the interface can say.
        let number = |at| row.text_lossy(at).parse::<i32>().ok();
        let words = row.text_lossy(11).to_ascii_lowercase();
        let column = Column {
            name: row.text_lossy(2),
            position: number(3).unwrap_or_default(),
            comment: Some(row.text_lossy(4)).filter(|comment| !comment.is_empty()),
            type_name: row.text_lossy(5),
            size: number(6),
            scale: number(7).and_then(|scale| i16::try_from(scale).ok()),
            octets: number(8),
            is_nullable: row.text_lossy(9) == "YES",
            default: (!row.is_null(10)).then(|| row.text_lossy(10)),
            is_auto_increment: words.contains("auto_increment"),
            is_generated: words.contains("virtual") || words.contains("stored generated"),
        };
        let columns = table(databases, &row).and_then(|table| table.columns.as_mut());
        if let Some(columns) = columns {
            columns.push(column);
        }
    }
    Ok(())
}

fn add_keys(
    session: &mut Session,
    databases: &mut [Database],
    schema: &str,
    filter: &Filter<'_>,
) -> Result<()> {
    let sql = format!(
        "SELECT TABLE_SCHEMA, TABLE_NAME, CONSTRAINT_NAME, COLUMN_NAME, REFERENCED_TABLE_SCHEMA, \
         REFERENCED_TABLE_NAME, REFERENCED_COLUMN_NAME FROM information_schema.KEY_COLUMN_USAGE \
         WHERE {schema} AND {} ORDER BY TABLE_SCHEMA, TABLE_NAME, CONSTRAINT_NAME, ORDINAL_POSITION",
        like("TABLE_NAME", filter.table_name)
    );
    for all in databases.iter_mut().filter_map(|database| database.tables.as_mut()) {
        all.iter_mut().for_each(|table| table.keys = Some(Vec::new()));
    }
    for row in rows(session, &sql)? {
        let Some(keys) = table(databases, &row).and_then(|table| table.keys.as_mut()) else {
            continue;
        };
        let name = row.text_lossy(2);
        let kind = match (name.as_str(), row.is_null(5)) {
            ("PRIMARY", _) => "PRIMARY KEY",
            (_, false) => "FOREIGN KEY",
            _ => "UNIQUE",
        };
        if keys.last().is_none_or(|key| key.name != name || key.kind != kind) {
            keys.push(Key { name, kind, columns: Vec::new(), referred: Vec::new() });
        }
        if let Some(key) = keys.last_mut() {
            key.columns.push(row.text_lossy(3));
            if kind == "FOREIGN KEY" {
                key.referred.push((row.text_lossy(4), row.text_lossy(5), row.text_lossy(6)));
            }
        }
    }
    Ok(())
}

/// The condition that a pattern means.
fn like(column: &str, pattern: Option<&str>) -> String {
    match pattern {
        Some(pattern) => format!("{column} LIKE {}", quote_text(pattern)),
        None => "TRUE".to_owned(),
    }
}

fn rows(session: &mut Session, sql: &str) -> Result<Vec<Row>> {
    session.query(sql).map_err(|cause| of_server(&cause))
}

fn text(session: &mut Session, sql: &str) -> Result<Option<String>> {
    session.query_text(sql).map_err(|cause| of_server(&cause))
}
