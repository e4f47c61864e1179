//! The server's expected result: the rows that LOAD DATA refuses, the duplicates, and the order of the others
//! in the clustered index.
//!
//! LOAD DATA IGNORE warns of each value that strict mode refuses, so one load tells all such rows;
//! a counter column tells which rows a unique key kept out.

use std::collections::BTreeSet;
use std::path::Path;

use server::version::Flavor;

use crate::tables::column::{Column, Kind};
use crate::tables::format::Format;
use crate::tables::server::Db;
use crate::tables::table::Table;

/// Rows of a file that the server had a remark about.
#[derive(Debug, Default)]
pub(crate) struct Remarks {
    /// Rows that strict mode refuses.
    pub(crate) refused: BTreeSet<usize>,
    /// Rows that it may refuse: MySQL only notes that digits of a number, or a text behind it, were lost.
    pub(crate) doubtful: BTreeSet<usize>,
}

/// Rows of the file at `path` that strict mode refuses, or may refuse, for their values alone.
pub(crate) fn remarks(
    db: &mut Db,
    table: &Table,
    format: &Format,
    path: &Path,
    columns: &[&str],
) -> Remarks {
    let mut scratch = table.clone();
    let (mut json, mut checked) = (Vec::new(), Vec::new());
    for column in &mut scratch.columns {
        // A value that such a column refuses ends the load of all rows, also of LOAD DATA IGNORE.
        if let Kind::Shape { .. } | Kind::Vector(_) = column.kind {
            let mut taken = column.clone();
            (taken.nullable, taken.default) = (true, None);
            checked.push(taken);
            column.declaration = "LONGBLOB".to_owned();
        }
        // The rows that a CHECK keeps out are not counted in the warnings' row numbers.
        if let Kind::Json = column.kind {
            column.declaration = "LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin".to_owned();
            json.push(format!("NOT JSON_VALID(`{}`)", column.name));
        }
        if std::mem::take(&mut column.auto_increment) {
            column.nullable = true;
        }
    }
    create(db, &scratch, "values_scratch", false);
    let is_mysql = db.session().version().flavor == Flavor::MySql;
    if is_mysql {
        db.sql("SET sql_notes=1");
    }
    load(db, format, path, "values_scratch", columns);
    let mut remarks = Remarks::default();
    for (level, text) in db.remarks() {
        let Some(row) = row_of_warning(&text) else { continue };
        let of = if level == "Note" { &mut remarks.doubtful } else { &mut remarks.refused };
        of.insert(row);
    }
    if is_mysql {
        db.sql("SET sql_notes=0");
    }
    if !json.is_empty() {
        let sql = format!("SELECT __n FROM values_scratch WHERE {}", json.join(" OR "));
        let rows = db.rows(&sql);
        remarks.refused.extend(rows.iter().map(|row| row.number::<usize>(0).unwrap()));
    }
    if !checked.is_empty() {
        remarks.refused.extend(refused_by(db, &checked));
    }
    remarks.doubtful.retain(|row| !remarks.refused.contains(row));
    remarks
}

/// Rows of the table that [`remarks`] has made with bytes that these columns refuse.
fn refused_by(db: &mut Db, columns: &[Column]) -> Vec<usize> {
    let lines: Vec<String> = columns.iter().map(Column::sql).collect();
    let names: Vec<String> = columns.iter().map(|column| format!("`{}`", column.name)).collect();
    let names = names.join(", ");
    db.sql("ALTER TABLE values_scratch ADD KEY (__n)");
    db.sql("DROP TABLE IF EXISTS checked_scratch");
    db.sql(&format!("CREATE TABLE checked_scratch ({})", lines.join(", ")));
    let rows = db.number("SELECT COALESCE(MAX(__n) + 1, 0) FROM values_scratch") as usize;
    let mut refused = Vec::new();
    let mut ranges: Vec<_> = std::iter::once(0..rows).collect();
    while let Some(range) = ranges.pop().filter(|range| !range.is_empty()) {
        let insert = format!(
            "INSERT INTO checked_scratch SELECT {names} FROM values_scratch \
             WHERE __n BETWEEN {} AND {}",
            range.start,
            range.end - 1
        );
        if db.try_sql(&insert).is_ok() {
            continue;
        }
        match range.len() {
            1 => refused.push(range.start),
            count => {
                let middle = range.start + count / 2;
                ranges.extend([range.start..middle, middle..range.end]);
            }
        }
    }
    refused
}

/// True if strict mode takes the only row of the file at `path`, of the table that [`remarks`] has made.
pub(crate) fn is_taken(db: &mut Db, format: &Format, path: &Path, columns: &[&str]) -> bool {
    db.try_sql(&format.load_data(path, "", "values_scratch", columns)).is_ok()
}

/// Numbers of the rows of a file that the keys let in, in the order of the clustered index.
pub(crate) fn order(
    db: &mut Db,
    table: &Table,
    format: &Format,
    path: &Path,
    columns: &[&str],
) -> Vec<usize> {
    create(db, table, "keys_scratch", true);
    load(db, format, path, "keys_scratch", columns);
    // No index has the counter, so this reads the clustered one.
    db.rows("SELECT __n FROM keys_scratch").iter().map(|row| row.number(0).unwrap()).collect()
}

fn create(db: &mut Db, table: &Table, name: &str, with_keys: bool) {
    db.sql(&format!("DROP TABLE IF EXISTS {name}"));
    db.sql(&table.sql(name, with_keys, "`__n` INT"));
}

fn load(db: &mut Db, format: &Format, path: &Path, name: &str, columns: &[&str]) {
    db.sql("SET @n = -1");
    let load = format.load_data(path, "IGNORE", name, columns);
    db.sql(&format!("{load} SET __n = (@n := @n + 1)"));
}

/// `... at row 3`, `Row 3 doesn't contain data for all columns`.
fn row_of_warning(text: &str) -> Option<usize> {
    let behind = text.rsplit_once(" at row ").map(|(_, row)| row);
    let before = || text.strip_prefix("Row ")?.split(' ').next();
    let number: usize = behind.or_else(before)?.parse().ok()?;
    // The server counts from 1.
    Some(number - 1)
}
