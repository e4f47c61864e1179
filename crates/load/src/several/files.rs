//! Which table a file's rows go to, by its name.
//!
//! ```text
//! shop.orders.0001.csv.zst
//! |    |      |    |   how it is compressed
//! |    |      |    what is in it
//! |    |      a part of the table: parts are taken in the order of their numbers
//! |    the table
//! the database, which may be left out
//! ```
//!
//! The number may also come last (`orders.tbl.1`). Characters of the table may be spelled as exports do: `a@002eb` is
//! `a.b`. Other names are given to tables by `--map`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use face::option::MAP;
use job::error::Error;
use schema::{stem_of_table, table_of_stem};
use sources::COMPRESSED;

/// Endings of files that hold rows.
const ROWS: [&str; 16] = [
    "csv", "tsv", "tbl", "txt", "dat", "data", "json", "jsonl", "ndjson", "parquet", "arrow",
    "arrows", "feather", "xlsx", "xlsm", "ods",
];

/// A table, and the files that its rows are in, in their order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableFiles {
    /// Its name, without the database.
    pub table: String,
    /// At least one.
    pub files: Vec<PathBuf>,
}

/// `--map PATTERN=TABLE`: files whose names match go to a table; with no table they are left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileMap {
    /// As it was typed, for messages.
    typed: String,
    pattern: String,
    table: Option<String>,
}

impl FileMap {
    /// Reads `PATTERN=TABLE`; `*` and `?` in the pattern stand for any characters and for one.
    ///
    /// Errors: there is no `=`, or nothing before it.
    pub fn parse(typed: &str) -> Result<FileMap, Error> {
        match typed.rsplit_once('=') {
            Some((pattern, table)) if !pattern.is_empty() => Ok(FileMap {
                typed: typed.to_owned(),
                pattern: pattern.to_owned(),
                table: (!table.is_empty()).then(|| table.to_owned()),
            }),
            _ => Err(Error::Usage(format!(
                "{} is not PATTERN=TABLE, as in {}",
                MAP.with(typed),
                MAP.with("'ord*.csv=orders'")
            ))),
        }
    }
}

/// The files that are in a folder, by name; hidden ones and folders are none.
///
/// Errors: a folder that cannot be read, or has no files; a link out of a folder to which others may write.
pub fn in_folder(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let failed = |error: std::io::Error| {
        Error::Usage(format!("reading the folder {}: {error}", folder.display()))
    };
    let real = std::fs::canonicalize(folder).map_err(failed)?;
    let is_shared = disk::private::is_shared(folder).map_err(failed)?;
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let leads_out = |path: &PathBuf| {
            path.is_symlink()
                && std::fs::canonicalize(path).is_ok_and(|file| !file.starts_with(&real))
        };
        if is_shared && leads_out(&path) {
            return Err(Error::Usage(format!(
                "{} is a link out of a folder to which other users may write; name the file itself, \
                 or remove the link",
                path.display()
            )));
        }
        let is_hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes()[0] == b'.');
        if !is_hidden && !path.is_dir() {
            files.push(path);
        }
    }
    files.sort();
    match files.is_empty() {
        true => Err(Error::Usage(format!("there are no files in {}", folder.display()))),
        false => Ok(files),
    }
}

/// The folder of files, if they have one and others may write to it: then no file is read through a link out of it.
pub fn shared_folder(files: &[PathBuf]) -> Option<PathBuf> {
    let folder = files.first()?.parent().filter(|folder| !folder.as_os_str().is_empty())?;
    let is_theirs = |path: &PathBuf| path.parent() == Some(folder);
    let is_shared = disk::private::is_shared(folder).unwrap_or(true);
    (is_shared && files.iter().all(is_theirs)).then(|| folder.to_owned())
}

/// The tables that files go to, in the order in which they are met first.
///
/// Errors: a file without a table, or of another database; files that cannot all be parts of one
/// table; a pattern that no file matches.
pub fn tables_of(
    files: &[PathBuf],
    database: &str,
    maps: &[FileMap],
) -> Result<Vec<TableFiles>, Error> {
    let mut order = Vec::new();
    let mut found: BTreeMap<String, Vec<Part>> = BTreeMap::new();
    let mut is_used = vec![false; maps.len()];
    for path in files {
        let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
        let map = maps.iter().position(|map| matches(&map.pattern, &name));
        let (table, number) = match map {
            Some(at) => {
                is_used[at] = true;
                let Some(table) = maps[at].table.clone() else { continue };
                (table, Number::Mapped)
            }
            None => named(path, &name, database)?,
        };
        let parts = found.entry(table.clone()).or_default();
        if parts.is_empty() {
            order.push(table);
        }
        parts.push(Part { number, path: path.clone() });
    }
    if let Some(at) = is_used.iter().position(|used| !used) {
        return Err(Error::Usage(format!("{}: no file matches", MAP.with(&maps[at].typed))));
    }
    let table = |table: String| {
        let parts = found.remove(&table).unwrap_or_default();
        Ok(TableFiles { files: in_order(&table, parts)?, table })
    };
    order.into_iter().map(table).collect()
}

/// A file of a table.
#[derive(Clone, Debug)]
struct Part {
    number: Number,
    path: PathBuf,
}

/// Which part of its table a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Number {
    /// All of it.
    Whole,
    /// One of several.
    Part(u64),
    /// Whatever `--map` says.
    Mapped,
}

/// The table and the number in a file's name.
fn named(path: &Path, name: &str, database: &str) -> Result<(String, Number), Error> {
    let wrong = |what: &str| {
        let path = path.display();
        Err(Error::Usage(format!(
            "{path}: {what}; {} names the table of such files, {} skips them",
            MAP.with("PATTERN=TABLE"),
            MAP.with("PATTERN=")
        )))
    };
    let mut words: Vec<&str> = name.split('.').collect();
    let mut number = Number::Whole;
    let ends_in = |words: &[&str], endings: &[&str]| {
        let last = words.last().map(|word| word.to_ascii_lowercase()).unwrap_or_default();
        words.len() > 1 && endings.contains(&last.as_str())
    };
    if ends_in(&words, &COMPRESSED) {
        words.pop();
    }
    take_number(&mut words, &mut number);
    if ends_in(&words, &ROWS) {
        words.pop();
    }
    if number == Number::Whole {
        take_number(&mut words, &mut number);
    }
    match words.as_slice() {
        [table] | [_, table] if table.is_empty() => wrong("its name contains no table name"),
        [table] => Ok((table_of_stem(table), number)),
        [of, table] if *of == database => Ok((table_of_stem(table), number)),
        [of, table] => wrong(&format!(
            "its name is that of {of}.{table}, but all tables of one command must be in one \
             database, here {database}"
        )),
        _ => wrong("its name does not identify its table"),
    }
}

fn take_number(words: &mut Vec<&str>, number: &mut Number) {
    let last = words.last().filter(|_| words.len() > 1);
    if let Some(part) = last.and_then(|word| word.parse().ok()) {
        *number = Number::Part(part);
        words.pop();
    }
}

/// The files of one table as they are read.
fn in_order(table: &str, mut parts: Vec<Part>) -> Result<Vec<PathBuf>, Error> {
    // By name where there is no number: the sort keeps that.
    parts.sort_by_key(|part| part.number);
    let is_mapped = parts.iter().all(|part| part.number == Number::Mapped);
    let wrong = parts.windows(2).find(|two| {
        let is_part = |part: &Part| matches!(part.number, Number::Part(_));
        !(is_part(&two[0]) && is_part(&two[1])) || two[0].number == two[1].number
    });
    match wrong.filter(|_| !is_mapped) {
        Some(two) => Err(Error::Usage(format!(
            "{} and {} are both named after table {table}: number the parts of a table, as in \
             {}.1.csv, or use {} for files of any name",
            two[0].path.display(),
            two[1].path.display(),
            stem_of_table(table),
            MAP.with(format!("PATTERN={table}"))
        ))),
        None => Ok(parts.into_iter().map(|part| part.path).collect()),
    }
}

/// True if a whole name matches a pattern.
fn matches(pattern: &str, name: &str) -> bool {
    let (mut pattern, mut name) = (pattern.chars(), name.chars());
    loop {
        match (pattern.next(), name.clone().next()) {
            (None, rest) => return rest.is_none(),
            (Some('*'), _) => {
                let rest = pattern.as_str();
                let mut ends = name.as_str().char_indices().map(|(at, _)| at);
                let text = name.as_str();
                return ends.any(|at| matches(rest, &text[at..])) || matches(rest, "");
            }
            (Some('?'), Some(_)) => {}
            (Some(wanted), Some(seen)) if wanted == seen => {}
            _ => return false,
        }
        name.next();
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn tables(files: &[&str], maps: &[&str]) -> Result<Vec<String>, String> {
        let files: Vec<PathBuf> = files.iter().map(PathBuf::from).collect();
        let maps: Vec<FileMap> = maps.iter().map(|map| FileMap::parse(map).unwrap()).collect();
        let tables = tables_of(&files, "shop", &maps).map_err(|error| error.to_string())?;
        let text = |one: TableFiles| {
            let files: Vec<_> = one.files.iter().map(|file| file.display().to_string()).collect();
            format!("{}: {}", one.table, files.join(" "))
        };
        Ok(tables.into_iter().map(text).collect())
    }

    #[test]
    fn a_files_name_tells_its_table() {
        for (name, table) in [
            ("orders.tbl", "orders"),
            ("x/orders.CSV.GZ", "orders"),
            ("shop.orders.csv", "orders"),
            ("orders", "orders"),
            ("orders.0001.csv.zst", "orders"),
            ("shop.orders.7", "orders"),
            ("orders.tbl.1", "orders"),
            ("orders.csv.2.gz", "orders"),
            ("shop.csv", "shop"),
            ("2024.csv", "2024"),
            ("orders.parquet", "orders"),
            ("shop.orders.0001.jsonl.gz", "orders"),
            ("orders.xlsx", "orders"),
            ("shop.a@002eb.0001.csv", "a.b"),
            ("sold@2024.csv", "sold@2024"),
        ] {
            assert_eq!(tables(&[name], &[]).unwrap(), [format!("{table}: {name}")], "{name}");
        }
        for (name, said) in [
            ("other.orders.csv", "its name is that of other.orders"),
            ("a.b.orders.csv", "its name does not identify its table"),
            (".csv", "its name contains no table name"),
            ("README.md", "its name is that of README.md"),
        ] {
            let error = tables(&[name], &[]).unwrap_err();
            assert!(error.contains(said) && error.contains("--map"), "{name}: {error}");
        }
    }

    #[test]
    fn parts_are_taken_in_the_order_of_their_numbers() {
        let parts = ["t.10.csv", "u.tbl", "t.9.csv", "t.0001.csv"];
        assert_eq!(tables(&parts, &[]).unwrap(), ["t: t.0001.csv t.9.csv t.10.csv", "u: u.tbl"]);
        for wrong in [["t.csv", "t.tbl"], ["t.csv", "t.1.csv"], ["t.1.csv", "a/t.01.csv"]] {
            let error = tables(&wrong, &[]).unwrap_err();
            assert!(error.contains("are both named after table t"), "{error}");
        }
        // A part of the table `a.b`, as exports spell it.
        let error = tables(&["a@002eb.csv", "a@002eb.tbl"], &[]).unwrap_err();
        assert!(
            error.contains("named after table a.b: number the parts")
                && error.contains(" a@002eb.1.csv,"),
            "{error}"
        );
    }

    #[test]
    fn patterns_give_files_to_tables() {
        let files = ["ord-b.csv", "ord-a.csv", "README.md", "item.csv"];
        let maps = ["ord-?.csv=orders", "*.md="];
        assert_eq!(
            tables(&files, &maps).unwrap(),
            ["orders: ord-b.csv ord-a.csv", "item: item.csv"]
        );
        let error = tables(&files, &["*.md=", "ord*=orders", "x*=y"]).unwrap_err();
        assert!(error.contains("x*=y: no file matches"), "{error}");
        let error = tables(&["orders.csv", "ord-a.csv"], &["ord-*=orders"]).unwrap_err();
        assert!(error.contains("both named after table orders"), "{error}");
        for wrong in ["x", "=t", ""] {
            assert!(FileMap::parse(wrong).is_err(), "{wrong}");
        }
        assert!(matches("a*c*", "abcd") && matches("*", "") && !matches("a*c", "abcd"));
    }
}
