//! The files of a folder of mydumper's by database and table.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use sql::{Syntax, Token, Tokens};

use super::LeftOut;
use crate::dump::folder::{self, Folder};
use crate::dump::mydumper::metadata::Metadata;
use crate::error::Error;

/// Endings of delimited rows.
const DELIMITED: [&[u8]; 2] = [b".dat", b".csv"];

/// Files of one database.
#[derive(Clone, Debug, Default)]
pub(super) struct DatabaseFiles {
    /// Its name on the server.
    pub(super) name: Vec<u8>,
    pub(super) create: Option<PathBuf>,
    /// Routines and events.
    pub(super) post: Option<PathBuf>,
    pub(super) triggers: Option<PathBuf>,
    /// By the tables' names in the names of the files.
    pub(super) tables: BTreeMap<Vec<u8>, TableFiles>,
}

/// Files of one table, or view.
#[derive(Clone, Debug, Default)]
pub(super) struct TableFiles {
    /// Its name on the server.
    pub(super) name: Vec<u8>,
    /// CREATE TABLE; of a view, that of a table in its place.
    pub(super) definition: Option<PathBuf>,
    /// True if `definition` makes a sequence.
    pub(super) is_sequence: bool,
    pub(super) sequence: Option<PathBuf>,
    pub(super) view: Option<PathBuf>,
    pub(super) triggers: Option<PathBuf>,
    /// Statements by the numbers in the files' names.
    pub(super) rows: BTreeMap<Vec<u64>, PathBuf>,
    /// True if `rows` are LOAD DATA of files beside them.
    pub(super) is_delimited: bool,
    /// Rows that there are, where the dump says.
    pub(super) row_count: Option<u64>,
}

/// The databases by their names in the names of the files.
pub(super) type Databases = BTreeMap<Vec<u8>, DatabaseFiles>;

/// Assigns each file to its table. Files that are not mydumper's are named in `left`.
///
/// Errors: a definition that cannot be read.
pub(super) fn sort(
    folder: &Folder,
    metadata: &Metadata,
    left: &mut LeftOut,
) -> Result<Databases, Error> {
    let mut databases = Databases::new();
    for (name, path) in &folder.files {
        if let Some(database) = name.strip_suffix(b"-schema-create.sql") {
            databases.entry(database.to_vec()).or_default().create = Some(path.clone());
        }
    }
    let mut rows = Vec::new();
    for (name, path) in &folder.files {
        if is_metadata(name) || name.ends_with(b"-schema-create.sql") {
            continue;
        }
        if name == b"all-schema-create-tablespace.sql" {
            let what = "is not replayed: the paths of general tablespaces are another server's";
            left.notes.push(format!("{} {what}", path.display()));
        } else if !take(&mut databases, name, path)? {
            rows.push((name, path));
        }
    }
    for (name, path) in rows {
        if name.ends_with(b"-schema.sql") && is_unwritten(&folder::text(path)?) {
            let what =
                "has no CREATE TABLE: mydumper failed there, and its table is not in the dump";
            left.missing.push(format!("{} {what}", path.display()));
        } else if let Some(stem) = name.strip_suffix(b".sql") {
            take_rows(&mut databases, folder, stem, path);
        } else if let Some(stem) = DELIMITED.iter().find_map(|ending| name.strip_suffix(*ending)) {
            let statements = [stem, b".sql"].concat();
            if folder.file(&statements).is_none() {
                left.missing.push(format!(
                    "{} has rows, but {}, which loads them, is missing: these rows are skipped",
                    path.display(),
                    String::from_utf8_lossy(&statements)
                ));
            }
        } else {
            left.notes
                .push(format!("{} is not a file of mydumper, and is skipped", path.display()));
        }
    }
    find_names(&mut databases, metadata)?;
    Ok(databases)
}

fn is_metadata(name: &[u8]) -> bool {
    name.starts_with(b"metadata") || name == b"resume" || name == b"resume.partial"
}

/// Takes a file that is not one of rows.
fn take(databases: &mut Databases, name: &[u8], path: &Path) -> Result<bool, Error> {
    let some = Some(path.to_path_buf());
    if let Some(stem) = name.strip_suffix(b"-schema-post.sql") {
        databases.entry(stem.to_vec()).or_default().post = some;
    } else if let Some(stem) = name.strip_suffix(b"-schema-triggers.sql") {
        if databases.contains_key(stem) || !stem.contains(&b'.') {
            databases.entry(stem.to_vec()).or_default().triggers = some;
        } else {
            table(databases, stem).triggers = some;
        }
    } else if let Some(stem) = name.strip_suffix(b"-schema-view.sql") {
        table(databases, stem).view = some;
    } else if let Some(stem) = name.strip_suffix(b"-schema-sequence.sql") {
        table(databases, stem).sequence = some;
    } else if let Some(stem) = name.strip_suffix(b"-schema.sql") {
        let Some(made) = made_by(&folder::text(path)?) else {
            // Rows of a table whose own name ends so.
            return Ok(false);
        };
        let table = table(databases, stem);
        table.definition = some;
        table.name = made.name;
        table.is_sequence = made.is_sequence;
    } else {
        return Ok(false);
    }
    Ok(true)
}

/// The table of `db.table`.
fn table<'a>(databases: &'a mut Databases, stem: &[u8]) -> &'a mut TableFiles {
    let (database, table) = split(databases, stem);
    databases.entry(database).or_default().tables.entry(table).or_default()
}

/// Which dot of `db.table` is the one: that after the longest name of a database; where none of
/// them is known, the first.
fn split(databases: &Databases, stem: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let rest_of = |name: &[u8]| stem.strip_prefix(name).and_then(|rest| rest.strip_prefix(b"."));
    let known =
        databases.keys().filter(|name| rest_of(name).is_some()).max_by_key(|name| name.len());
    let end = known
        .map(Vec::len)
        .or_else(|| stem.iter().position(|&byte| byte == b'.'))
        .unwrap_or(stem.len());
    (stem[..end].to_vec(), stem.get(end + 1..).unwrap_or_default().to_vec())
}

/// Takes `db.table.00001.00002`: the table is one that has a definition if there is such a one,
/// for names may have dots and digits too.
fn take_rows(databases: &mut Databases, folder: &Folder, stem: &[u8], path: &Path) {
    let (database, rest) = split(databases, stem);
    let tables = &mut databases.entry(database).or_default().tables;
    let mut numbers = Vec::new();
    let mut name = rest.as_slice();
    while !tables.contains_key(name) || tables[name].definition.is_none() {
        let Some((before, number)) = last_number(name) else { break };
        numbers.insert(0, number);
        name = before;
        if numbers.len() == 2 {
            break;
        }
    }
    let table = tables.entry(name.to_vec()).or_default();
    let is_delimited =
        DELIMITED.iter().any(|ending| folder.file(&[stem, ending].concat()).is_some());
    table.is_delimited |= is_delimited;
    table.rows.insert(numbers, path.to_path_buf());
}

/// `t.00001` as `t` and 1. mydumper writes five digits or more.
fn last_number(name: &[u8]) -> Option<(&[u8], u64)> {
    let dot = name.iter().rposition(|&byte| byte == b'.')?;
    let digits = &name[dot + 1..];
    let is_number = digits.len() >= 5 && digits.iter().all(u8::is_ascii_digit);
    let number = std::str::from_utf8(digits).ok().filter(|_| is_number)?.parse().ok()?;
    Some((&name[..dot], number))
}

/// The object that a definition makes.
struct DefinedObject {
    name: Vec<u8>,
    is_sequence: bool,
}

/// Words that the first statement of a definition or of rows begins with.
const FIRST_WORDS: [&str; 4] = ["CREATE", "INSERT", "REPLACE", "LOAD"];

/// True if a text has neither a definition nor rows.
fn is_unwritten(text: &[u8]) -> bool {
    !tokens(text).any(|one| FIRST_WORDS.iter().any(|word| one.is(word)))
}

/// The object that the first CREATE of a text makes; None if it begins with rows.
fn made_by(text: &[u8]) -> Option<DefinedObject> {
    let mut pieces = tokens(text);
    pieces
        .find(|one| FIRST_WORDS.iter().any(|word| one.is(word)))
        .filter(|one| one.is("CREATE"))?;
    let words = ["OR", "REPLACE", "TABLE", "SEQUENCE", "IF", "NOT", "EXISTS"];
    let name = pieces.find(|one| !words.iter().any(|word| one.is(word)))?;
    let name = name_of(text, &name);
    let is_sequence = pieces.any(|one| one.is("SEQUENCE"));
    Some(DefinedObject { name, is_sequence })
}

fn tokens(text: &[u8]) -> Tokens<'_> {
    let ansi_quotes = has_word(text, b"ANSI_QUOTES");
    Tokens::of_any_server(text, Syntax { ansi_quotes, ..Syntax::default() })
}

/// The name in a token; other tokens as they stand.
fn name_of(text: &[u8], token: &Token<'_>) -> Vec<u8> {
    token.name().map_or_else(|| text[token.place.clone()].to_vec(), Cow::into_owned)
}

fn has_word(text: &[u8], word: &[u8]) -> bool {
    text.windows(word.len()).any(|window| window.eq_ignore_ascii_case(word))
}

/// The name in CREATE DATABASE.
fn database_made_by(text: &[u8]) -> Option<Vec<u8>> {
    let mut pieces = tokens(text).skip_while(|one| !one.is("CREATE"));
    let words = ["CREATE", "DATABASE", "SCHEMA", "IF", "NOT", "EXISTS"];
    let name = pieces.find(|one| !words.iter().any(|word| one.is(word)))?;
    Some(name_of(text, &name))
}

/// Says what each database and table is called on the server.
fn find_names(databases: &mut Databases, metadata: &Metadata) -> Result<(), Error> {
    for (name, database) in databases {
        let made = match &database.create {
            Some(path) => database_made_by(&folder::text(path)?),
            None => None,
        };
        database.name = made.unwrap_or_else(|| name.clone());
        for (table_name, table) in &mut database.tables {
            let key = (name.clone(), table_name.clone());
            if table.name.is_empty() {
                table.name = metadata.names.get(&key).unwrap_or(table_name).clone();
            }
            table.row_count = metadata.rows.get(&key).copied();
        }
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// A folder of these files.
    fn sorted(files: &[(&str, &str)]) -> (Databases, Vec<String>) {
        let place = tempfile::tempdir().unwrap();
        for (name, text) in files {
            std::fs::write(place.path().join(name), text).unwrap();
        }
        let folder = Folder::open(place.path()).unwrap();
        let metadata = Metadata::read(&folder).unwrap();
        let mut left = LeftOut::default();
        (sort(&folder, &metadata, &mut left).unwrap(), left.notes)
    }

    #[test]
    fn names_with_dots_and_digits_find_their_files() {
        let (databases, warnings) = sorted(&[
            ("metadata", "Finished dump at: now\n"),
            ("a.b-schema-create.sql", "CREATE DATABASE `a.b`;\n"),
            ("a.b.t.00001-schema.sql", "CREATE TABLE `t.00001` (a int);\n"),
            ("a.b.t.00001.sql", "INSERT INTO `t.00001` VALUES\n(1);\n"),
            ("a.b.u-schema.sql", "CREATE TABLE `u` (a int);\n"),
            ("a.b.u.00010.sql", "INSERT"),
            ("a.b.u.00002.sql", "INSERT"),
            ("a.b.u.00002.00001.sql", "INSERT"),
            ("a.b.x-schema-schema.sql", "CREATE TABLE `x-schema` (a int);\n"),
            ("a.b.x-schema.sql", "INSERT INTO `x-schema` VALUES\n(1);\n"),
            ("notes.txt", ""),
        ]);
        let tables = &databases[b"a.b".as_slice()].tables;
        let numbers = |name: &[u8]| tables[name].rows.keys().cloned().collect::<Vec<_>>();
        assert_eq!(numbers(b"t.00001"), [Vec::<u64>::new()]);
        assert_eq!(numbers(b"u"), [vec![2], vec![2, 1], vec![10]]);
        assert_eq!(numbers(b"x-schema"), [Vec::<u64>::new()]);
        assert_eq!(tables.len(), 3);
        assert_eq!(warnings.len(), 1);
    }

    #[test]
    fn names_that_would_not_do_are_found_in_the_files() {
        let (databases, _) = sorted(&[
            ("metadata", "[`mydumper_0`.`mydumper_1`]\nreal_table_name=a.b\nrows = 3\n"),
            (
                "mydumper_0-schema-create.sql",
                "SET a=1;\nCREATE DATABASE /*!32312 IF NOT EXISTS*/ `a.c`;\n",
            ),
            ("mydumper_0.mydumper_1.00000.sql", "LOAD DATA LOCAL INFILE 'x'"),
            ("mydumper_0.mydumper_1.00000.dat", ""),
            ("mydumper_0.s-schema.sql", "CREATE TABLE `S` (a int) ENGINE=InnoDB SEQUENCE=1;\n"),
        ]);
        let database = &databases[b"mydumper_0".as_slice()];
        assert_eq!(database.name, b"a.c");
        let table = &database.tables[b"mydumper_1".as_slice()];
        assert_eq!((table.name.as_slice(), table.row_count), (b"a.b".as_slice(), Some(3)));
        assert!(table.is_delimited);
        let sequence = &database.tables[b"s".as_slice()];
        assert_eq!((sequence.name.as_slice(), sequence.is_sequence), (b"S".as_slice(), true));
    }
}
