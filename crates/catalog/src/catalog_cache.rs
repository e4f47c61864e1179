//! Rows of information_schema about many tables, queried at once.
//!
//! ```text
//! definition of a, of b, ..  ->  each view, about some tables at a time  ->  the definitions again  ->  a as described, b, ..
//! ```
//!
//! A question about one table costs the server nearly as much as one about sixty. An answer counts if the definition is the same
//! afterwards as it was before: see [`CatalogCache::confirm`] and [`read_among`](super::read_among).

use std::collections::{BTreeMap, HashMap, HashSet};

use schema::{ForeignKey, TableName};

use super::constraints::{KeysOfTables, foreign_keys_of};
use super::create_table::definitions;
use super::{About, columns, constraints, indexes, is_listed_only};
use server::error::Result;
use server::session::{Row, Session};

/// Tables that a question names at most.
const TABLES_MAX: usize = 64;

/// A view of information_schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum View {
    Tables,
    Columns,
    Indexes,
    Triggers,
    Checks,
}

/// Tables that were asked about, and the answers.
#[derive(Clone, Debug, Default)]
pub struct CatalogCache {
    /// As they were before anything else was asked.
    definitions: BTreeMap<TableName, String>,
    rows: HashMap<(View, TableName), Vec<Row>>,
    keys: KeysOfTables,
    /// True if the definitions were the same behind all questions.
    pub(super) is_confirmed: bool,
}

impl CatalogCache {
    /// Takes the definitions of tables, which has to come before all that [`CatalogCache::ask`] asks of them.
    ///
    /// Errors: the server's; tables that lack one are asked about alone when they are read.
    pub fn define(&mut self, session: &mut Session, names: &[&TableName]) -> Result<()> {
        for some in names.chunks(TABLES_MAX) {
            let named = some.iter().map(|&name| name.clone());
            self.definitions.extend(named.zip(definitions(session, some)?));
        }
        Ok(())
    }

    /// Sees to it that no ALTER came between the questions. What was altered is asked about alone, and so is
    /// every definition if one is refused.
    ///
    /// Errors: a lost connection.
    pub fn confirm(&mut self, session: &mut Session) -> Result<()> {
        let mut now = CatalogCache::default();
        match now.define(session, &self.definitions.keys().collect::<Vec<_>>()) {
            Err(error) if error.errno().is_none() => return Err(error),
            defined => self.is_confirmed = defined.is_ok(),
        }
        if self.is_confirmed {
            self.definitions.retain(|name, was| now.definitions.get(name) == Some(was));
        }
        Ok(())
    }

    /// Asks about all tables whose definitions were taken.
    pub fn ask(&mut self, session: &mut Session) -> Result<()> {
        let mut by_database: BTreeMap<&str, Vec<&TableName>> = BTreeMap::new();
        for name in self.definitions.keys() {
            by_database.entry(&name.database).or_default().push(name);
        }
        let mut answers = HashMap::new();
        for (database, names) in by_database {
            for some in names.chunks(TABLES_MAX) {
                ask_some(session, database, some, &View::ALL, &mut answers)?;
            }
        }
        self.rows = answers;
        let names: Vec<TableName> = self.definitions.keys().cloned().collect();
        self.keys = foreign_keys_of(session, &names)?;
        Ok(())
    }

    /// The definition that was taken before, of a table that was asked about.
    pub(super) fn definition(&self, name: &TableName) -> Option<&String> {
        self.definitions.get(name)
    }

    /// The foreign keys of a table that was asked about.
    pub(super) fn foreign_keys(&self, name: &TableName) -> Option<&Vec<ForeignKey>> {
        self.keys.get(name)
    }

    /// A table as it is listed, if it was asked about and is.
    pub(super) fn listed(&self, session: &mut Session, name: &TableName) -> Result<Option<Row>> {
        let is_asked = self.definitions.contains_key(name);
        let rows = if is_asked { self.rows(session, View::Tables, name)? } else { Vec::new() };
        match rows.into_iter().next() {
            Some(row) if !is_listed_only(&row)? => Ok(Some(row)),
            _ => Ok(None),
        }
    }

    /// The rows of a view about a table, queried now if they were not before.
    pub(super) fn rows(
        &self,
        session: &mut Session,
        view: View,
        name: &TableName,
    ) -> Result<Vec<Row>> {
        match self.definitions.contains_key(name) {
            true => Ok(self.rows.get(&(view, name.clone())).cloned().unwrap_or_default()),
            false => view.ask(session, &name.database, &[name]),
        }
    }
}

/// The rows about the columns of tables of one database, by few questions. While an ALTER puts a new definition in its
/// place, a table has none.
pub(super) fn columns(
    session: &mut Session,
    names: &[TableName],
) -> Result<HashMap<(View, TableName), Vec<Row>>> {
    let (names, mut answers) = (names.iter().collect::<Vec<_>>(), HashMap::new());
    for some in names.chunks(TABLES_MAX) {
        ask_some(session, &some[0].database, some, &[View::Columns], &mut answers)?;
    }
    Ok(answers)
}

fn ask_some(
    session: &mut Session,
    database: &str,
    names: &[&TableName],
    views: &[View],
    answers: &mut HashMap<(View, TableName), Vec<Row>>,
) -> Result<()> {
    let wanted: HashSet<&str> = names.iter().map(|name| name.table.as_str()).collect();
    for view in views {
        for row in view.ask(session, database, names)? {
            let table = match names {
                [one] => one.table.clone(),
                _ => row.text(row.len() - 1)?,
            };
            // Names that differ in case alone are the same to information_schema.
            if wanted.contains(table.as_str()) {
                let name = TableName::new(database, table);
                answers.entry((*view, name)).or_default().push(row);
            }
        }
    }
    Ok(())
}

impl View {
    const ALL: [View; 5] =
        [View::Tables, View::Columns, View::Indexes, View::Triggers, View::Checks];

    /// The rows about tables of a database; of several, the name of its table is the last column of each row.
    fn ask(self, session: &mut Session, database: &str, names: &[&TableName]) -> Result<Vec<Row>> {
        let flavor = session.version().flavor;
        let (schema, table) = match self {
            View::Triggers => ("EVENT_OBJECT_SCHEMA", "EVENT_OBJECT_TABLE"),
            _ => ("TABLE_SCHEMA", "TABLE_NAME"),
        };
        let about = About::of(flavor, schema, table, database, names);
        let sql = match self {
            View::Tables => super::sql(&about),
            View::Columns => columns::sql(session.version(), &about),
            View::Indexes => indexes::sql(flavor, &about),
            View::Triggers => constraints::triggers_sql(&about),
            View::Checks => match constraints::checks_sql(session, database, names)? {
                Some(sql) => sql,
                None => return Ok(Vec::new()),
            },
        };
        session.query(&sql)
    }
}
