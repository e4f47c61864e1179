//! Rows as row groups of files with typed columns.

use columnar::{BadCell, RowEncoder, TableFormat, WriteError, WriteOptions, WrittenColumn};
use face::option::{COLUMNS, WHERE};
use schema::Table;
use server::Session;

use crate::columns::Columns;
use crate::error::Error;
use crate::layout::Layout;
use crate::options::ExportOptions;
use crate::text::{Chunk, RowText};

/// Longest part of a value in messages, in characters.
const SHOWN_CHARS: usize = 40;

/// The contents of the files: text, or typed columns.
#[derive(Debug)]
pub(crate) enum Contents {
    Text(Layout),
    Typed(TableFormat),
}

/// Rows on their way to files.
#[derive(Debug)]
pub(crate) enum Rows<'a> {
    Text(RowText<'a>),
    Typed(TypedRows<'a>),
}

impl Contents {
    /// The beginning of each file of text.
    pub(crate) fn prelude(&self) -> &[u8] {
        match self {
            Contents::Text(layout) => layout.prelude(),
            Contents::Typed(_) => &[],
        }
    }

    /// The format of typed columns.
    pub(crate) fn typed(&self) -> Option<&TableFormat> {
        match self {
            Contents::Text(_) => None,
            Contents::Typed(format) => Some(format),
        }
    }

    /// Rows of a thread.
    pub(crate) fn rows<'a>(
        &'a self,
        columns: &'a Columns,
        options: &ExportOptions,
    ) -> Result<Rows<'a>, Error> {
        Ok(match self {
            Contents::Text(layout) => Rows::Text(RowText::new(layout, &columns.fields, options)),
            Contents::Typed(format) => {
                let encoder = format.encoder().map_err(Error::Internal)?;
                Rows::Typed(TypedRows { encoder, columns })
            }
        })
    }
}

impl Rows<'_> {
    /// Takes the rows since the chunk before.
    pub(crate) fn take(&mut self) -> Result<Chunk, Error> {
        match self {
            Rows::Text(text) => Ok(text.take()),
            Rows::Typed(rows) => rows.take(),
        }
    }

    /// Goes on in a chunk whose rows are written, for its memory.
    pub(crate) fn reuse(&mut self, spare: Chunk) {
        match (self, spare.group) {
            (Rows::Text(text), group) => text.reuse(Chunk { group, ..spare }),
            (Rows::Typed(rows), Some(group)) => rows.encoder.reuse(group),
            (Rows::Typed(_), None) => {}
        }
    }
}

/// The format of the columns of a table.
///
/// Errors: a build without it; columns that it has not.
pub(crate) fn format(
    session: &mut Session,
    table: &Table,
    columns: &Columns,
    options: WriteOptions,
) -> Result<TableFormat, Error> {
    let mut written = Vec::with_capacity(columns.places.len());
    for place in &columns.places {
        let column = &table.columns[*place];
        let srid = match columnar::is_geometry(&column.sql_type) {
            true => srid(session, table, &column.name)?,
            false => 0,
        };
        written.push(WrittenColumn {
            name: &column.name,
            sql_type: &column.sql_type,
            // A view may have NULLs where its tables have none.
            is_nullable: column.nullable || table.kind.is_view(),
            srid,
        });
    }
    TableFormat::new(&written, options).map_err(Error::Usage)
}

/// The SRID of the first geometry of a column, which the others have to have too.
fn srid(session: &mut Session, table: &Table, column: &str) -> Result<u32, Error> {
    let name = schema::quote_name(column);
    let base = table.base_or_view();
    let sql = format!("SELECT ST_SRID({name}) FROM {base} WHERE {name} IS NOT NULL LIMIT 1");
    let rows = session.query(&sql)?;
    let srid = rows.first().map(|row| row.number_or_null(0)).transpose()?.flatten();
    Ok(srid.and_then(|srid: u64| u32::try_from(srid).ok()).unwrap_or(0))
}

/// Rows that become row groups.
#[derive(Debug)]
pub(crate) struct TypedRows<'a> {
    pub(crate) encoder: RowEncoder,
    columns: &'a Columns,
}

impl TypedRows<'_> {
    /// Appends a row as the server sends it; true if the row group is full.
    pub(crate) fn sent(&mut self, row: &server::Row) -> Result<bool, Error> {
        for field in 0..self.columns.places.len() {
            if let Err(bad) = self.encoder.sent(field, row.bytes(field)) {
                let text = |field: usize| row.bytes(field).map(<[u8]>::to_vec);
                return Err(self.refused(field, bad, text));
            }
        }
        self.end_rows(1)
    }

    /// Ends so many rows; true if the row group is full.
    pub(crate) fn end_rows(&mut self, rows: usize) -> Result<bool, Error> {
        self.encoder.end_rows(rows).map_err(|error| failed(self.columns, error))
    }

    fn take(&mut self) -> Result<Chunk, Error> {
        let group = self.encoder.take().map_err(|error| failed(self.columns, error))?;
        let rows = group.as_ref().map_or(0, |group| group.rows);
        Ok(Chunk { group, rows, ..Chunk::default() })
    }

    /// The error for a value that cannot be written, in a row with these texts.
    #[cold]
    pub(crate) fn refused(
        &self,
        field: usize,
        bad: BadCell,
        text: impl Fn(usize) -> Option<Vec<u8>>,
    ) -> Error {
        let Columns { fields, key, .. } = self.columns;
        let column = fields[field].name.clone();
        if bad == BadCell::NoText {
            return Error::no_text(&column);
        }
        let shown = |field: usize| match text(field) {
            Some(text) => String::from_utf8_lossy(&text).chars().take(SHOWN_CHARS).collect(),
            None => "NULL".to_owned(),
        };
        let named = |field: &usize| format!("`{}` = {}", fields[*field].name, shown(*field));
        // Without a key, the first column tells rows apart best.
        let key: &[usize] = if key.is_empty() { &[0] } else { key };
        let row = key.iter().map(named).collect::<Vec<_>>().join(", ");
        let value = match bad {
            BadCell::NoDay | BadCell::NotStored => format!(" ({})", shown(field)),
            _ => String::new(),
        };
        let why = format!(
            "in the row with {row}, {bad}{value}; {WHERE} or {COLUMNS} excludes it, and a view can convert it"
        );
        Error::Value { column, why }
    }
}

fn failed(columns: &Columns, error: WriteError) -> Error {
    match error {
        WriteError::Cell(field, BadCell::NoText) => Error::no_text(&columns.fields[field].name),
        WriteError::Cell(field, bad) => {
            Error::Value { column: columns.fields[field].name.clone(), why: bad.to_string() }
        }
        WriteError::Internal(problem) => Error::Internal(problem),
    }
}
