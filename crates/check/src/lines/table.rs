//! A table that lines have rows of, and how those are judged.

use std::sync::Arc;

use catalog::learn::{self, CollationCache};
use encode::binding::{self, BoundColumn};
use encode::fields::InputFields;
use encode::formats;
use encode::input;
use encode::inspected::{Collations, Inspected};
use encode::mapped::{ColumnValues, From, GivenRow, KeyOf, Lookup, Mapping, RowKeys};
use encode::rejects::Also;
use face::option::DDL;
use job::error::Error;
use job::options::{LoadOptions, Mode};
use schema::{Column, Table};
use server::{Row, ServerFacts, Session};
use sources::Formats;
use values::{Charset, ConvertOptions, Converter};

use crate::judge::{Judge, Rules};
use crate::subject;

/// The character set of keys of rows, as the server shows them.
const UTF8: &str = "utf8mb4";

/// A table, and what its rows are of the lines.
#[derive(Debug)]
pub struct LineTable {
    /// The table, as the server describes it.
    pub table: Table,
    /// The part of each line that goes to it.
    pub mapping: Arc<Mapping>,
    /// How lines' keys of its entity are made, if it is one's.
    pub key: Option<KeyOf>,
    /// The same keys of rows that it has, whose texts are in UTF-8.
    row_key: Option<KeyOf>,
    /// Columns of the key as the table has them.
    pub key_columns: Vec<BoundColumn>,
    pub(super) convert: ConvertOptions,
    pub(super) rules: Rules,
    /// Columns that get something by a lookup, and how it is judged.
    lookups: Vec<(Lookup, Rules)>,
    pub(super) formats: Arc<Formats>,
    /// Values of its columns, where lines are made of typed rows.
    pub(super) values: ColumnValues,
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
        let name = options.target();
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
        let values = ColumnValues::of(&source.facts().read_as);
        let mut rules = subject::rules(&table, &inspected)?;
        let lookups = of_lookups(&rules, mapping);
        let taken = taken(mapping);
        rules.columns.retain(|bound| !taken.contains(&bound.column.name.to_lowercase()));
        let key = mapping.entity.as_ref().map(|entity| entity.key.clone()).unwrap_or_default();
        let key_columns = named(&inspected.columns, &key, &table)?;
        let (mut of_lines, mut of_rows) = (None, None);
        if !key.is_empty() {
            let convert = &inspected.convert;
            let (lines, rows) =
                keys(session, &table, mapping, &key_columns, convert, &formats, &values)?;
            (of_lines, of_rows) = (Some(lines), Some(rows));
        }
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
            key: of_lines,
            row_key: of_rows,
            key_columns,
            convert: inspected.convert,
            rules,
            lookups,
            formats: Arc::new(formats),
            values,
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
        id: Option<&str>,
        mut visit: impl FnMut(&[u8], &Row),
    ) -> Result<(), Error> {
        let Some(of) = &self.row_key else { return Ok(()) };
        let mut keys = RowKeys::new(of);
        let names = self.mapping.column_names().unwrap_or_default();
        let place = |bound: &BoundColumn| {
            names.iter().position(|name| name.eq_ignore_ascii_case(&bound.column.name))
        };
        let places: Vec<usize> = self.key_columns.iter().filter_map(place).collect();
        let mut columns: Vec<String> =
            self.key_columns.iter().map(|bound| shown(&bound.column, UTF8)).collect();
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

    /// Judges the values of a lookup, if rows of the table take them.
    pub fn taken_values(&self, lookup: &Lookup) -> Option<TakenValues<'_>> {
        let (_, rules) = self.lookups.iter().find(|(known, _)| known == lookup)?;
        Some(TakenValues { rules, judge: Judge::new(rules), formats: &self.formats })
    }

    /// Name of the table, without the database.
    pub fn name(&self) -> &str {
        &self.table.name.table
    }
}

/// Judges values that rows of a table take from another.
pub struct TakenValues<'a> {
    rules: &'a Rules,
    judge: Judge<'a>,
    formats: &'a Formats,
}

impl TakenValues<'_> {
    /// The first column that cannot have a value, and why; none if all can. Columns with a format read another value.
    pub fn fault(&mut self, value: Option<&[u8]>) -> Option<String> {
        let TakenValues { rules, judge, formats } = self;
        let is_read = |field: Option<usize>| field.is_some_and(|at| formats.text(at).is_some());
        let mut values = vec![None; rules.fields_per_row];
        for field in rules.columns.iter().filter_map(|bound| bound.input.field()) {
            values[field] = value;
        }
        let (row, mut first) = (GivenRow(&values), None);
        judge.judge(row, |fault| {
            if value.is_some() && is_read(fault.field) {
                return;
            }
            first.get_or_insert_with(|| {
                let column = fault.column.map(|at| &rules.columns[at].column);
                let name = column.map_or("", |column| column.name.as_str());
                format!("{name}: {}", Also::new(&fault, row, column).reason)
            });
        });
        first
    }

    /// The first of the columns.
    pub fn column(&self) -> &str {
        self.rules.columns.first().map_or("", |bound| bound.column.name.as_str())
    }
}

/// A column, as a file in this character set would have it.
fn shown(column: &Column, charset: &str) -> String {
    let name = schema::quote_name(&column.name);
    match column.sql_type.is_text() {
        true => format!("CAST(CONVERT({name} USING {charset}) AS BINARY)"),
        false => name,
    }
}

/// The columns of each lookup, and how they are judged.
fn of_lookups(rules: &Rules, mapping: &Mapping) -> Vec<(Lookup, Rules)> {
    let mut all: Vec<(Lookup, Rules)> = Vec::new();
    for (column, from) in mapping.columns.iter().flatten() {
        let From::Lookup(lookup) = from else { continue };
        let of = rules.columns.iter().filter(|of| of.column.name.eq_ignore_ascii_case(column));
        match all.iter_mut().find(|(known, _)| known == lookup) {
            Some((_, known)) => known.columns.extend(of.cloned()),
            None => {
                let columns = of.cloned().collect();
                all.push((lookup.clone(), Rules { columns, partitions: None, ..rules.clone() }));
            }
        }
    }
    all.retain(|(_, rules)| !rules.columns.is_empty());
    all
}

/// How keys of lines are made of these columns, and the same of rows whose texts are in UTF-8: a file may be in a
/// character set that lacks some of their characters.
///
/// Errors: a key whose order is not known.
fn keys(
    session: &mut Session,
    table: &Table,
    mapping: &Arc<Mapping>,
    columns: &[BoundColumn],
    convert: &ConvertOptions,
    formats: &Formats,
    values: &ColumnValues,
) -> Result<(KeyOf, KeyOf), Error> {
    let collations = learned(session, columns)?;
    let names: Vec<String> = columns.iter().map(|bound| bound.column.name.clone()).collect();
    let utf8 = ConvertOptions { file_charset: Charset::Utf8mb4, ..convert.clone() };
    let of_row = |bound: &BoundColumn| {
        let Column { name, sql_type, .. } = &bound.column;
        Ok(BoundColumn { converter: Converter::new(name, sql_type, &utf8)?, ..bound.clone() })
    };
    let of_rows = columns.iter().map(of_row).collect::<Result<Vec<_>, Error>>()?;
    let key = |columns: &[BoundColumn]| {
        let mapping = Arc::clone(mapping);
        let made = KeyOf::new(mapping, &names, columns, &collations, formats.clone(), values);
        made.ok_or_else(|| unordered(table, &names))
    };
    Ok((key(columns)?, key(&of_rows)?))
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

/// A table that rows are looked up in.
pub struct LookupColumns {
    /// How lines' keys are made.
    pub key: KeyOf,
    /// The same keys of its rows, whose texts are in UTF-8.
    pub row_key: KeyOf,
    /// The column of the key.
    pub key_column: Column,
    /// The column that is taken.
    pub take: Column,
    /// The table as statements name it.
    pub base_or_view: String,
}

impl LookupColumns {
    /// Asks the server about the table of a lookup. `like` is how texts of lines are read.
    ///
    /// Errors: no such table or column; a key whose order is not known.
    pub fn look(
        session: &mut Session,
        lookup: &Lookup,
        like: &LineTable,
    ) -> Result<LookupColumns, Error> {
        let Lookup { table, key, field, take } = lookup;
        let table = catalog::read(session, table).map_err(|error| match error {
            server::Error::NoTable(name) => {
                Error::Usage(format!("table {name}, in which {field} is looked up, does not exist"))
            }
            error => error.into(),
        })?;
        let position = |name: &str| {
            let mut columns = table.columns.iter();
            let found = columns.position(|column| column.name.eq_ignore_ascii_case(name));
            found.ok_or_else(|| Error::Usage(format!("{} has no column {name}", table.name)))
        };
        let take = table.columns[position(take)?].clone();
        let at = position(key)?;
        let fields = InputFields::of(vec![Some(at)]);
        let (none, is_key) = (Default::default(), |column| column == at);
        let columns = &table.columns;
        let bound = binding::bind_columns(columns, &fields, &like.convert, &none, None, is_key)?;
        if bound.is_empty() {
            return Err(unordered(&table, std::slice::from_ref(key)));
        }
        let key_column = bound[0].column.clone();
        let mapping = Mapping {
            fields: like.mapping.fields.clone(),
            columns: Some(vec![(key_column.name.clone(), From::Field(field.clone()))]),
            ..Mapping::default()
        };
        let (mapping, formats) = (Arc::new(mapping), Formats::default());
        let values = ColumnValues::of_type(&key_column.sql_type);
        let convert = &like.convert;
        let (key, row_key) =
            keys(session, &table, &mapping, &bound[..1], convert, &formats, &values)?;
        let base_or_view = table.base_or_view();
        Ok(LookupColumns { key, row_key, key_column, take, base_or_view })
    }

    /// The statement that reads the key of each row, in UTF-8, its value as a file in this character set has it, and
    /// 1 where that is the same text.
    pub fn statement(&self, charset: &str) -> String {
        let LookupColumns { key_column, take, base_or_view, .. } = self;
        let (key, value) = (shown(key_column, UTF8), shown(take, charset));
        let name = schema::quote_name(&take.name);
        let is_same = match take.sql_type.is_text() {
            true => format!(
                "CAST(CONVERT(CONVERT({name} USING {charset}) USING {UTF8}) AS BINARY) <=> {}",
                shown(take, UTF8)
            ),
            false => "1".to_owned(),
        };
        format!("SELECT {key}, {value}, {is_same} FROM {base_or_view}")
    }
}
