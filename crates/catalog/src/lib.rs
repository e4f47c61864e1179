//! A table as the server describes it, and the character sets and collations of its columns.
//!
//! [`read`] asks information_schema and SHOW CREATE TABLE and turns the answer into a
//! [`schema::Table`]: facts, of which paths judge by themselves. The server's own words are
//! believed; nothing is parsed from a CREATE statement of the user's.

#![forbid(unsafe_code)]

mod catalog_cache;
mod column_type;
mod columns;
mod constant;
mod constraints;
mod create_table;
mod defaults;
mod evaluate;
mod indexes;
pub mod learn;
mod partitions;
mod references;
mod uuid;

use std::collections::HashMap;
use std::time::{Duration, Instant};

use schema::{Column, Engine, RowFormat, Table, TableKind, TableName};

pub use self::catalog_cache::CatalogCache;
pub use self::constraints::{
    KeyBetween, KeysOfTables, all_foreign_keys, foreign_keys, foreign_keys_of, name_in_keys,
};
pub use self::create_table::{definition, definitions, lines};
pub use self::defaults::for_copies;
pub use self::evaluate::{Moment, default_moment_digits, evaluate_defaults};
pub use self::references::{plain_keys, references, without_references};

use self::catalog_cache::View;
use server::error::{Error, Result};
use server::identifier::{quote_text, table_condition};
use server::session::{Row, Session};
use server::version::Flavor;

/// How long a table may be listed without an engine before that is believed.
const LISTED_WAIT: Duration = Duration::from_secs(2);
const LISTED_NAP: Duration = Duration::from_millis(20);

/// Describes `name`. Changes nothing.
///
/// Errors: [`Error::NoTable`]; a server that refuses to tell.
pub fn read(session: &mut Session, name: &TableName) -> Result<Table> {
    let table = read_among(session, name, &CatalogCache::default())?;
    // A limit would have cut off what was read.
    session.check_variables()?;
    Ok(table)
}

/// The columns of many tables of one database, without the values of their defaults.
///
/// Errors: as [`read`]; the inner ones are those of one table.
pub fn columns_of(session: &mut Session, names: &[TableName]) -> Result<Vec<Result<Vec<Column>>>> {
    let mut rows = catalog_cache::columns(session, names)?;
    let columns = names.iter().map(|name| match rows.remove(&(View::Columns, name.clone())) {
        Some(rows) => columns::columns(session, &rows),
        None => Ok(read(session, name)?.columns),
    });
    let columns = columns.collect();
    session.check_in_step()?;
    Ok(columns)
}

/// The description of one of many, of what was asked about all of them. The caller checks the session's variables behind the last one.
pub fn read_among(session: &mut Session, name: &TableName, asked: &CatalogCache) -> Result<Table> {
    let begun = Instant::now();
    let alone = CatalogCache::default();
    let mut asked = if asked.definition(name).is_some() { asked } else { &alone };
    loop {
        let calls = session.calls();
        let table = read_once(session, name, asked)?;
        // Nothing more was asked.
        let is_known = asked.is_confirmed && calls == session.calls() && is_whole(&table);
        if is_known || begun.elapsed() > LISTED_WAIT || is_as_read(session, &table)? {
            return Ok(table);
        }
        asked = &alone;
        std::thread::sleep(LISTED_NAP);
    }
}

/// True if no ALTER came between the questions that a description takes.
fn is_as_read(session: &mut Session, table: &Table) -> Result<bool> {
    Ok(table.kind.is_view()
        || (is_whole(table) && definition(session, &table.name)? == table.definition))
}

/// True if no view was asked while an ALTER put a new definition in its place: the table has no columns then, and no indexes.
fn is_whole(table: &Table) -> bool {
    let keys = ["\n  PRIMARY KEY ", "\n  UNIQUE KEY ", "\n  KEY "];
    let has_keys = keys.iter().any(|key| table.definition.contains(key));
    !(table.columns.is_empty() || has_keys && table.indexes.is_empty())
}

fn read_once(session: &mut Session, name: &TableName, asked: &CatalogCache) -> Result<Table> {
    let (name, row) = match asked.listed(session, name)? {
        Some(row) => (name.clone(), row),
        None => find(session, name)?,
    };
    let kind = TableKind::named(&row.text(2)?);
    let definition = match asked.definition(&name) {
        _ if kind.is_view() => String::new(),
        Some(definition) => definition.clone(),
        None => definition(session, &name)?,
    };
    let about = |session: &mut Session, view| asked.rows(session, view, &name);
    let columns = about(session, View::Columns)?;
    let indexes = about(session, View::Indexes)?;
    let options = row.text_or_null(6)?.unwrap_or_default();
    let mut table = Table {
        engine: Engine::named(&row.text_or_null(3)?.unwrap_or_default()),
        row_format: RowFormat::named(&row.text_or_null(4)?.unwrap_or_default()),
        options: create_table::options(&options, &definition),
        partitioning: partitions::partitioning(session, &name, &options, &definition)?,
        auto_increment: row.number_or_null(5)?,
        columns: columns::columns(session, &columns)?,
        period: create_table::period(&definition),
        indexes: indexes::indexes(&indexes, &definition)?,
        foreign_keys: Vec::new(),
        references: references::references(&definition, &name.database),
        triggers: Vec::new(),
        checks: Vec::new(),
        old_uuids: None,
        definition,
        kind,
        name,
    };
    if table.kind != TableKind::View {
        table.foreign_keys = match asked.foreign_keys(&table.name) {
            Some(keys) => keys.clone(),
            None => constraints::foreign_keys(session, &table.name)?,
        };
        let about = |session: &mut Session, view| asked.rows(session, view, &table.name);
        table.triggers = constraints::triggers(&about(session, View::Triggers)?)?;
        // The definition has the word of every check.
        if table.definition.contains("CHECK") {
            table.checks = constraints::checks(&about(session, View::Checks)?, &mut table.columns)?;
        }
    }
    if session.version().flavor == Flavor::MariaDb {
        table.old_uuids = uuid::old(session, &table)?;
    }
    defaults::complete(session, &mut table)?;
    create_table::fill_auto_random(&table.definition, &mut table.columns);
    Ok(table)
}

/// True if a table has no row that this session can see.
pub fn is_empty(session: &mut Session, name: &TableName) -> Result<bool> {
    let sql = format!("SELECT 1 FROM {base} LIMIT 1", base = name.base());
    Ok(session.query(&sql)?.is_empty())
}

/// Rows of a table as the server guesses, 0 for one that is not there.
pub fn rows_about(session: &mut Session, name: &TableName) -> Result<u64> {
    match find(session, name) {
        Ok((_, row)) => Ok(row.number_or_null(8)?.unwrap_or(0)),
        Err(Error::NoTable(_)) => Ok(0),
        Err(e) => Err(e),
    }
}

/// A table's name as the server spells it; none if there is no such table.
pub fn spelling(session: &mut Session, name: &TableName) -> Result<Option<TableName>> {
    match find(session, name) {
        Ok((spelled, _)) => Ok(Some(spelled)),
        Err(Error::NoTable(_)) => Ok(None),
        Err(e) => Err(e),
    }
}

/// The same of many names in one database, by one question that no lock of a table keeps waiting.
pub fn spellings(
    session: &mut Session,
    database: &str,
    names: &[TableName],
) -> Result<Vec<Option<TableName>>> {
    let rows = session.query(&format!(
        "SELECT TABLE_SCHEMA, TABLE_NAME, @@lower_case_table_names FROM information_schema.TABLES \
         WHERE TABLE_SCHEMA={}",
        quote_text(database)
    ))?;
    let mut there = HashMap::new();
    for row in rows {
        let spelled = spelled(session, &row, database)?;
        let caseless = row.number::<u8>(2)? != 0;
        there.insert(folded(&spelled, caseless), (spelled, caseless));
    }
    let caseless = there.values().next().is_some_and(|(_, caseless)| *caseless);
    let spelled = |name| Some(there.get(&folded(name, caseless))?.0.clone());
    Ok(names.iter().map(spelled).collect())
}

/// The name in a row about a table of `database`. vtgate answers with the name that MySQL has: `vt_shop_0`.
fn spelled(session: &Session, row: &Row, database: &str) -> Result<TableName> {
    let own = row.text(0)?;
    let is_other =
        session.version().flavor == Flavor::MySql && own.to_lowercase() != database.to_lowercase();
    Ok(TableName::new(if is_other { database.to_owned() } else { own }, row.text(1)?))
}

/// A name as the server compares it.
fn folded(name: &TableName, caseless: bool) -> String {
    if caseless { name.to_string().to_lowercase() } else { name.to_string() }
}

/// True if a table of this name exists.
pub fn exists(session: &mut Session, name: &TableName) -> Result<bool> {
    Ok(spelling(session, name)?.is_some())
}

/// True if a table has triggers.
pub fn has_triggers(session: &mut Session, table: &TableName) -> Result<bool> {
    let sql = format!(
        "SELECT 1 FROM information_schema.TRIGGERS WHERE EVENT_OBJECT_SCHEMA={} \
         AND EVENT_OBJECT_TABLE={} LIMIT 1",
        quote_text(&table.database),
        quote_text(&table.table)
    );
    Ok(!session.query(&sql)?.is_empty())
}

/// How the rows of a table are laid out.
pub fn row_format_of(session: &mut Session, name: &TableName) -> Result<RowFormat> {
    let (_, row) = find(session, name)?;
    Ok(RowFormat::named(&row.text_or_null(4)?.unwrap_or_default()))
}

/// The row of information_schema.TABLES, and the name as it is spelled there.
fn find(session: &mut Session, name: &TableName) -> Result<(TableName, Row)> {
    let begun = Instant::now();
    loop {
        let (spelled, row) = find_once(session, name)?;
        if !is_listed_only(&row)? || begun.elapsed() > LISTED_WAIT {
            return Ok((spelled, row));
        }
        std::thread::sleep(LISTED_NAP);
    }
}

/// So a table is listed in the moment in which an ALTER puts a new definition in its place.
fn is_listed_only(row: &Row) -> Result<bool> {
    Ok(row.text(2)? == "BASE TABLE" && row.text_or_null(3)?.is_none())
}

/// Asks what tables there are.
fn sql(About { condition, also }: &About) -> String {
    format!(
        "SELECT TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE, ENGINE, ROW_FORMAT, AUTO_INCREMENT, \
         CREATE_OPTIONS, @@lower_case_table_names, TABLE_ROWS{also} FROM \
         information_schema.TABLES WHERE {condition}"
    )
}

fn find_once(session: &mut Session, name: &TableName) -> Result<(TableName, Row)> {
    let sql = sql(&About { condition: table_condition(name), also: String::new() });
    for row in session.query(&sql)? {
        let spelled = spelled(session, &row, &name.database)?;
        let caseless = row.number::<u8>(7)? != 0;
        if folded(&spelled, caseless) == folded(name, caseless) {
            return Ok((spelled, row));
        }
    }
    Err(Error::NoTable(name.to_string()))
}

/// Which tables a question is about.
struct About {
    condition: String,
    /// Another selected column: the name of the table, if there are several.
    also: String,
}

impl About {
    /// Exact: information_schema compares without case, and the plain comparison is what it can look up. MySQL
    /// compares databases as it has them, and vtgate finds none by `BINARY`.
    fn of(
        flavor: Flavor,
        schema: &str,
        table: &str,
        database: &str,
        names: &[&TableName],
    ) -> About {
        let quoted: Vec<String> = names.iter().map(|name| quote_text(&name.table)).collect();
        let database = quote_text(database);
        let (plain, exact, also) = match quoted.as_slice() {
            [one] => (format!("={one}"), format!(" AND BINARY {table}={one}"), String::new()),
            // Whose name it is, is compared when the rows are here.
            some => (format!(" IN ({})", some.join(", ")), String::new(), format!(", {table}")),
        };
        let own = match flavor {
            Flavor::MariaDb => format!(" AND BINARY {schema}={database}"),
            Flavor::MySql => String::new(),
        };
        let condition = format!("{schema}={database} AND {table}{plain}{own}{exact}");
        About { condition, also }
    }
}

/// That of a view of tables, about one.
fn only(flavor: Flavor, name: &TableName) -> String {
    About::of(flavor, "TABLE_SCHEMA", "TABLE_NAME", &name.database, &[name]).condition
}
