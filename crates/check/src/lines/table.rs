//! A table that lines have rows of, and how those are judged.

use std::sync::Arc;

use encode::binding::{self, BoundColumn};
use encode::fields::InputFields;
use encode::formats;
use encode::input;
use encode::inspected::{Collations, Inspected};
use encode::mapped::{From, GivenRow, KeyOf, Lookup, Mapping, RowKeys};
use face::option::DDL;
use job::error::Error;
use job::options::{LoadOptions, Mode};
use schema::{Table, TableName};
use server::learn::{self, CollationCache};
use server::{Row, ServerFacts, Session, catalog};
use sources::Formats;
use values::ConvertOptions;

use crate::judge::Rules;
use crate::subject;

/// A table, and what its rows are of the lines.
#[derive(Debug)]
pub struct LineTable {
    /// The table, as the server describes it.
    pub table: Table,
    /// The part of each line that goes to it.
    pub mapping: Arc<Mapping>,
    /// How the keys of its entity are made, if it is one's.
    pub key: Option<KeyOf>,
    /// Columns of the key as the table has them.
    pub key_columns: Vec<BoundColumn>,
    convert: ConvertOptions,
    pub(super) rules: Rules,
    pub(super) formats: Arc<Formats>,
    /// Columns that must get the id of another row, and of which table.
    pub(super) ids: Vec<(String, String)>,
    /// True if it keeps the rows that it has.
    pub(super) keeps_rows: bool,
}

impl LineTable {
    /// Asks the server about a table.
    ///
    /// Errors: as of a load; a key whose order is not known.
    pub fn look(
        session: &mut Session,
        facts: &ServerFacts,
        options: &LoadOptions,
        mapping: &Arc<Mapping>,
    ) -> Result<LineTable, Error> {
        let name = TableName::new(&options.database, &options.table);
        let table = match catalog::read(session, &name) {
            Err(server::Error::NoTable(name)) => {
                return Err(Error::Usage(format!(
                    "table {name} does not exist: create it first, for instance with {}",
                    DDL.with("FILE")
                )));
            }
            table => table?,
        };
        let (_, mut source) = input::open_files(options)?;
        let inspected = Inspected::of_table(session, &table, facts, options, &mut *source)?;
        let charset = inspected.convert.file_charset;
        let formats = formats::formats(&options.input.written, &table, &inspected.fields, charset)?;
        let mut rules = subject::rules(&table, &inspected)?;
        let taken = taken(mapping);
        rules.columns.retain(|bound| !taken.contains(&bound.column.name.to_lowercase()));
        let key = mapping.entity.as_ref().map(|entity| entity.key.clone()).unwrap_or_default();
        let key_columns = named(&inspected.columns, &key, &table)?;
        let key = match key.is_empty() {
            true => None,
            false => {
                let collations = learned(session, &key_columns)?;
                let names: Vec<String> =
                    key_columns.iter().map(|bound| bound.column.name.clone()).collect();
                let mapping = Arc::clone(mapping);
                let made = KeyOf::new(mapping, &names, &key_columns, &collations, formats.clone());
                Some(made.ok_or_else(|| unordered(&table, &names))?)
            }
        };
        let ids = mapping.columns.iter().flatten().filter_map(|(column, from)| match from {
            From::IdOf(of) => Some((column.clone(), of.clone())),
            _ => None,
        });
        let must = |(name, _): &(String, String)| {
            let is_named = |column: &schema::Column| column.name.eq_ignore_ascii_case(name);
            table.columns.iter().find(|column| is_named(column)).is_some_and(|of| !of.nullable)
        };
        Ok(LineTable {
            ids: ids.filter(must).collect(),
            mapping: Arc::clone(mapping),
            key,
            key_columns,
            convert: inspected.convert,
            rules,
            formats: Arc::new(formats),
            keeps_rows: options.mode == Mode::Append,
            table,
        })
    }

    /// Gives `visit` each row that the table has: its key as an entity, and the row as the server shows it,
    /// whose last column is `id` if there is one. Rows without a key are left out.
    ///
    /// Errors: the server's.
    pub fn for_each_row(
        &self,
        session: &mut Session,
        charset: &str,
        id: Option<&str>,
        mut visit: impl FnMut(&[u8], &Row),
    ) -> Result<(), Error> {
        let Some(of) = &self.key else { return Ok(()) };
        let mut keys = RowKeys::new(of);
        let names = self.mapping.column_names().unwrap_or_default();
        let place = |bound: &BoundColumn| {
            names.iter().position(|name| name.eq_ignore_ascii_case(&bound.column.name))
        };
        let places: Vec<usize> = self.key_columns.iter().filter_map(place).collect();
        let mut columns: Vec<String> =
            self.key_columns.iter().map(|bound| shown(bound, charset)).collect();
        columns.extend(id.map(schema::quote_name));
        let base = self.table.name.base();
        let sql = format!("SELECT {} FROM {base}", columns.join(", "));
        session.for_each(&sql, |row| {
            let mut values = vec![None; names.len()];
            for (column, &place) in places.iter().enumerate() {
                values[place] = row.bytes(column);
            }
            if let Ok(key) = keys.of(GivenRow(&values)) {
                visit(key, &row);
            }
            Ok(())
        })?;
        Ok(())
    }

    /// Name of the table, without the database.
    pub fn name(&self) -> &str {
        &self.table.name.table
    }
}

/// A column, as a file in this character set would have it.
pub fn shown(bound: &BoundColumn, charset: &str) -> String {
    let name = schema::quote_name(&bound.column.name);
    match bound.column.sql_type.is_text() {
        true => format!("CAST(CONVERT({name} USING {charset}) AS BINARY)"),
        false => name,
    }
}

/// The columns that get something of another row, or the id of their own, in small letters.
fn taken(mapping: &Mapping) -> Vec<String> {
    let of_others = mapping.columns.iter().flatten().filter_map(|(column, from)| match from {
        From::IdOf(_) | From::Lookup(_) => Some(column.to_lowercase()),
        From::Field(_) | From::Joined(_) | From::FileName | From::Line => None,
    });
    let own = mapping.entity.as_ref().and_then(|entity| entity.id.as_ref());
    of_others.chain(own.map(|id| id.to_lowercase())).collect()
}

/// The columns of these names.
fn named(
    columns: &[BoundColumn],
    names: &[String],
    table: &Table,
) -> Result<Vec<BoundColumn>, Error> {
    let find = |name: &String| {
        let found = columns.iter().find(|bound| bound.column.name.eq_ignore_ascii_case(name));
        found.cloned().ok_or_else(|| unordered(table, std::slice::from_ref(name)))
    };
    names.iter().map(find).collect()
}

fn unordered(table: &Table, names: &[String]) -> Error {
    Error::Usage(format!(
        "{}: only the server can compare values of {}, so the key cannot distinguish rows",
        table.name,
        names.join(", ")
    ))
}

/// The collations of columns, in whatever indexes they are.
fn learned(session: &mut Session, columns: &[BoundColumn]) -> Result<Collations, Error> {
    let mut collations = Collations::default();
    for name in columns.iter().filter_map(|bound| bound.column.sql_type.collation()) {
        match learn::collation(session, name, &CollationCache::of_user()) {
            Ok(collation) => drop(collations.insert(name.to_owned(), collation)),
            Err(server::Error::Collation(why)) => return Err(Error::Usage(why.to_string())),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(collations)
}

/// How a line's key in a table is made that is looked up, with the column that it is of. `like` is how
/// texts are read.
///
/// Errors: no such table or column; a key whose order is not known.
pub fn key_of_lookup(
    session: &mut Session,
    lookup: &Lookup,
    like: &LineTable,
) -> Result<(KeyOf, BoundColumn, String), Error> {
    let Lookup { table, key, field, take } = lookup;
    let table = catalog::read(session, table).map_err(|error| match error {
        server::Error::NoTable(name) => {
            Error::Usage(format!("table {name}, in which {field} is looked up, does not exist"))
        }
        error => error.into(),
    })?;
    let position = |name: &str| {
        let found = table.columns.iter().position(|column| column.name.eq_ignore_ascii_case(name));
        found.ok_or_else(|| Error::Usage(format!("{} has no column {name}", table.name)))
    };
    position(take)?;
    let at = position(key)?;
    let fields = InputFields::of(vec![Some(at)]);
    let (none, is_key) = (Default::default(), |column| column == at);
    let bound = binding::bind_columns(&table.columns, &fields, &like.convert, &none, None, is_key)?;
    let collations = learned(session, &bound)?;
    let column =
        bound.into_iter().next().ok_or_else(|| unordered(&table, std::slice::from_ref(key)))?;
    let name = column.column.name.clone();
    let mapping = Mapping {
        fields: like.mapping.fields.clone(),
        columns: Some(vec![(name.clone(), From::Field(field.clone()))]),
        ..Mapping::default()
    };
    let (names, columns) = (std::slice::from_ref(&name), std::slice::from_ref(&column));
    let made = KeyOf::new(Arc::new(mapping), names, columns, &collations, Formats::default());
    let made = made.ok_or_else(|| unordered(&table, std::slice::from_ref(&name)))?;
    Ok((made, column, table.base_or_view()))
}
