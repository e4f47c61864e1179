//! A guess at files of typed columns: their own types, and room for texts by the longest that was seen.

use columnar::{ColumnGuess, ColumnarOptions, Kind, SheetOptions, TableGuess};
use face::option::COLUMNS;
use job::error::Error;
use sources::Preset;

use super::{
    COLUMNS_MAX, SniffOptions, Sniffed, SniffedColumn, completed, header, row_size, too_wide,
};

/// Characters of a VARCHAR that is guessed.
const WIDTH: usize = 255;

/// Looks at the schema and the first rows.
///
/// Errors: reading; a type that no column takes.
pub(super) fn sniff(kind: Kind, options: &SniffOptions) -> Result<Sniffed, Error> {
    let is_excel = kind == Kind::Excel;
    let header = !is_excel || options.header == Some(true) || options.columns.is_none();
    let columnar_options = ColumnarOptions {
        matching: options.matching,
        sheet: SheetOptions {
            sheet: options.sheet.clone(),
            skip_rows: options.skip_lines,
            has_names: header,
        },
        memory_bytes: options.memory_bytes_max / 2,
        temp_dir: options.temp_dir.clone(),
        ..ColumnarOptions::default()
    };
    let guess = columnar::guess(kind, &options.files, columnar_options);
    let guess = guess.map_err(|error| Error::Usage(error.to_string()))?;
    if guess.columns.len() > COLUMNS_MAX {
        return Err(too_wide(&options.files[0], guess.columns.len()));
    }
    let preset = Preset::Mysql;
    let mut sniffed = Sniffed {
        columnar: Some(kind),
        dialect: preset.dialect(),
        preset,
        header,
        skip_lines: if is_excel { options.skip_lines } else { 0 },
        columns: columns(&guess),
        rows: guess.rows,
        is_whole: guess.is_whole,
        notes: notes(&guess),
        kept: guess.kept.clone(),
        ..Sniffed::default()
    };
    name_columns(&mut sniffed, options);
    completed(sniffed, options)
}

/// The columns, with texts that are no VARCHAR where a row has no room for all of these.
fn columns(guess: &TableGuess) -> Vec<SniffedColumn> {
    let column = |column: &ColumnGuess| SniffedColumn {
        name: column.name.clone(),
        sql_type: column.sql_type.clone(),
        is_empty: column.is_empty,
        ..SniffedColumn::default()
    };
    let mut columns: Vec<SniffedColumn> = guess.columns.iter().map(column).collect();
    let width = |column: &SniffedColumn| column.sql_type.starts_with("VAR").then_some(WIDTH);
    let widths: Vec<Option<usize>> = columns.iter().map(width).collect();
    if !row_size::fits_server(&columns, &widths) {
        for (column, guess) in columns.iter_mut().zip(&guess.columns) {
            if let Some(long_type) = guess.long_type {
                column.sql_type = long_type.to_owned();
            }
        }
    }
    columns
}

/// Gives columns the names that are typed, and leaves out those that begin with `@`; changes names of the file that no
/// column can have.
fn name_columns(sniffed: &mut Sniffed, options: &SniffOptions) {
    let own: Vec<String> = sniffed.columns.iter().map(|column| column.name.clone()).collect();
    let names = match &options.columns {
        Some(names) => names,
        None if header::are_columns(&own) => return,
        None => {
            let note = "the file has names that are empty, equal or invalid for a column: these names are changed";
            sniffed.notes.push(format!("{note}; {COLUMNS} sets the names"));
            &header::changed(&own, &vec![true; own.len()])
        }
    };
    for (column, name) in sniffed.columns.iter_mut().zip(names) {
        column.name.clone_from(name);
    }
    sniffed.columns.retain(|column| !column.name.starts_with('@'));
    sniffed.names = Some(names.clone());
}

fn notes(guess: &TableGuess) -> Vec<String> {
    let mut notes = Vec::new();
    if !guess.is_whole {
        notes.push("longer texts in rows that were not read may be rejected".to_owned());
    }
    let empty = guess.columns.iter().filter(|column| column.is_empty);
    notes.extend(empty.map(|column| {
        format!(
            "`{}` has no values and no type in the file, so it becomes VARCHAR(255)",
            column.name
        )
    }));
    let uuids = guess.columns.iter().filter(|column| column.sql_type == "UUID");
    notes.extend(uuids.map(|column| {
        format!(
            "`{}` is BINARY(16) on MySQL and MariaDB before 10.7, which have no UUID",
            column.name
        )
    }));
    notes
}
