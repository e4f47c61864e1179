//! Which columns are written, and how the server is asked for them.

use face::option::COLUMNS;
use schema::quote_name;
use schema::{Column, Table};
use values::{Charset, SqlType};

use crate::error::Error;
use crate::layout::{Field, Kind};

/// Columns of the output, in order, by their places in the table.
#[derive(Clone, Debug)]
pub(crate) struct Columns {
    pub(crate) places: Vec<usize>,
    pub(crate) fields: Vec<Field>,
    /// The columns that tell the table's rows apart; none if not all of them are exported.
    pub(crate) key: Vec<usize>,
}

impl Columns {
    /// Those of these names; of none all that a load can give: not those whose values are the server's.
    ///
    /// Errors: a name that the table does not have, or twice; no column.
    pub(crate) fn new(table: &Table, names: Option<&[String]>) -> Result<Columns, Error> {
        let mut places = Vec::new();
        match names {
            None => {
                let given = |place: &usize| table.columns[*place].generated.is_none();
                places.extend((0..table.columns.len()).filter(given));
            }
            Some(names) => {
                for name in names {
                    let place = place(table, name)?;
                    if places.contains(&place) {
                        return Err(Error::Usage(format!("column `{name}` is given twice")));
                    }
                    places.push(place);
                }
            }
        }
        if places.is_empty() {
            return Err(Error::Usage(format!(
                "{} has generated columns only; {COLUMNS} selects them",
                table.name
            )));
        }
        let field = |place: &usize| {
            let Column { name, sql_type, .. } = &table.columns[*place];
            Field { name: name.clone(), kind: Kind::of(sql_type) }
        };
        let fields: Vec<Field> = places.iter().map(field).collect();
        let of_key = |part: &schema::IndexColumn| {
            fields.iter().position(|field| field.name.eq_ignore_ascii_case(&part.name))
        };
        let primary = table.index("PRIMARY").map(|primary| &primary.columns);
        let key = primary.into_iter().flatten().map(of_key).collect::<Option<Vec<_>>>();
        let key = key.unwrap_or_default();
        Ok(Columns { places, fields, key })
    }

    /// Checks that a table with the same definition takes values for each column.
    ///
    /// Errors: [`Error::Usage`] with the first generated column.
    pub(crate) fn check_insertable(&self, table: &Table) -> Result<(), Error> {
        let mut columns = self.places.iter().map(|place| &table.columns[*place]);
        match columns.find(|column| column.generated.is_some()) {
            None => Ok(()),
            Some(column) => Err(Error::Usage(format!(
                "column `{}` is generated: the table that the SQL file creates takes no values for \
                 it; {COLUMNS} without it exports the others",
                column.name
            ))),
        }
    }

    /// True if a load must be told the columns, because it would read others, or in another order.
    pub(crate) fn have_to_be_told(&self, table: &Table) -> bool {
        let visible = |(_, column): &(usize, &Column)| !column.is_invisible;
        let usual = table.columns.iter().enumerate().filter(visible).map(|(place, _)| place);
        !usual.eq(self.places.iter().copied())
    }

    /// The names, as `--columns` takes them.
    pub(crate) fn names(&self) -> Vec<String> {
        self.fields.iter().map(|field| field.name.clone()).collect()
    }

    /// The selected expressions. A real number has all of its digits: multiplied by one it is a
    /// DOUBLE.
    pub(crate) fn expressions(&self, table: &Table) -> String {
        let expression = |place: &usize| {
            let Column { name, sql_type, .. } = &table.columns[*place];
            match sql_type {
                SqlType::Float { .. } | SqlType::Double { .. } => {
                    format!("{}*1e0", quote_name(name))
                }
                _ => quote_name(name),
            }
        };
        let mut all: Vec<String> = self.places.iter().map(expression).collect();
        all.extend(self.lost(table));
        all.join(",")
    }

    /// The error for a text that would be lost, as the server tells it by the number of its field.
    #[cold]
    pub(crate) fn lost_text(&self, number: &[u8]) -> Error {
        let field = str::from_utf8(number).ok().and_then(|number| number.parse::<usize>().ok());
        let column = field.and_then(|field| self.fields.get(field));
        Error::no_text(column.map_or("?", |field| &field.name))
    }

    /// An expression behind the values of a row that gives the number of a text that UTF-8 would
    /// change: the server would put other characters there without a word. None if that cannot be.
    fn lost(&self, table: &Table) -> Option<String> {
        let case = |(at, place): (usize, &usize)| {
            let Column { name, sql_type, .. } = &table.columns[*place];
            let charset = sql_type.charset()?;
            let may_lose = matches!(charset, Charset::Ascii | Charset::Learned(_));
            let (name, charset) = (quote_name(name), charset.name());
            may_lose.then(|| {
                format!(
                    " WHEN CAST(CONVERT(CONVERT({name} USING utf8mb4) USING {charset}) AS BINARY)<>\
                     CAST({name} AS BINARY) THEN {at}"
                )
            })
        };
        let cases: String = self.places.iter().enumerate().filter_map(case).collect();
        (!cases.is_empty()).then(|| format!("CASE{cases} END"))
    }
}

fn place(table: &Table, name: &str) -> Result<usize, Error> {
    let same = |column: &Column| column.name.to_lowercase() == name.to_lowercase();
    table.columns.iter().position(same).ok_or_else(|| {
        let known: Vec<String> = table.columns.iter().map(|c| format!("`{}`", c.name)).collect();
        Error::Usage(format!("{} has no column `{name}`, only {}", table.name, known.join(", ")))
    })
}
