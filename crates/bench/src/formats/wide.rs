//! A table of many columns, of which few are loaded.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use crate::mixed::mixed;

/// Columns of the file.
const COLUMNS: usize = 40;
/// Every so many of them is loaded.
const LOADED_ONE_IN: usize = 8;
/// Types of columns, by turns.
const TYPES: [&str; 4] =
    ["INT NOT NULL", "DECIMAL(10,2) NOT NULL", "DATE NOT NULL", "VARCHAR(40) NOT NULL"];

/// CREATE TABLE of all columns, or of those that are loaded.
pub(super) fn ddl(table: &str, has_all: bool) -> String {
    let is_wanted = |at: &usize| has_all || at.is_multiple_of(LOADED_ONE_IN);
    let column = |at: usize| match at {
        0 => "c0 INT NOT NULL PRIMARY KEY".to_owned(),
        at => format!("c{at} {}", TYPES[kind(at)]),
    };
    let columns: Vec<String> = (0..COLUMNS).filter(is_wanted).map(column).collect();
    format!("CREATE TABLE {table} ({}) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4", columns.join(", "))
}

/// The kind of a column: those that are loaded are of all kinds.
fn kind(column: usize) -> usize {
    (column + column / LOADED_ONE_IN) % TYPES.len()
}

/// Writes a CSV file of so many rows, the same always.
pub(super) fn write(path: &Path, rows: u64) -> io::Result<()> {
    let part = path.with_extension("part");
    let mut file = BufWriter::with_capacity(1 << 20, File::create(&part)?);
    let names: Vec<String> = (0..COLUMNS).map(|at| format!("c{at}")).collect();
    writeln!(file, "{}", names.join(","))?;
    for row in 0..rows {
        write!(file, "{row}")?;
        for column in 1..COLUMNS {
            let number = mixed(row << 6 | column as u64);
            match kind(column) {
                0 => write!(file, ",{}", number % 1_000_000),
                1 => write!(file, ",{}.{:02}", number % 100_000, number >> 32 & 63),
                2 => write!(
                    file,
                    ",20{:02}-{:02}-{:02}",
                    number % 26,
                    number % 12 + 1,
                    number % 28 + 1
                ),
                _ => write!(file, ",text {} of column {column}", number % 100_000),
            }?;
        }
        writeln!(file)?;
    }
    file.into_inner().map_err(|error| error.into_error())?.sync_all()?;
    fs::rename(&part, path)
}
