//! Folders that `mariadb-dump --tab` and `--dir` wrote.
//!
//! ```text
//! t.sql   SETs, DROP TABLE, CREATE TABLE, triggers      t.txt   rows, by SELECT .. INTO OUTFILE
//! v.sql   SETs, DROP VIEW, CREATE VIEW                  --dir: such a folder for each database
//! ```
//!
//! Rows are in the order of the columns in CREATE TABLE, those that are generated or INVISIBLE
//! included, each text in the character set of its column, times in the zone that the `.sql` sets.
//! Names of files are the server's: `@002d` for `-`. Nothing says how fields are cut: it is taken that
//! mariadb-dump was told nothing. Its standard output gets what is not in the folder: sequences,
//! routines and events.
//!
//! Source: `client/mysqldump.cc` of MariaDB 10.11 and 11.8, what `mariadb-import` sets in
//! `client/mysqlimport.c`, and their statements in a server's general log.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use face::option::INTO;
use schema::name_of_file;
use sources::Dialect;
use sources::dump::SqlReader;
use sql::{StatementKind, Syntax, TokenKind, Tokens, quoted};

use crate::dump::folder::{self, Folder};
use crate::dump::{Coding, Content, DIR, Dump, FieldColumn, Part, Script, TAB, TableRows};
use crate::error::Error;
use crate::names::Names;

/// The definitions do not say it, and come in the order of their names.
const PRELUDE: &str = "SET FOREIGN_KEY_CHECKS=0";

/// The `sql_mode` for reading rows: they are a table's, so 0 is 0.
const SQL_MODE: &str = "NO_AUTO_VALUE_ON_ZERO";

/// Bytes of a file that has its comment about the database.
const HEAD_BYTES: usize = 4 << 10;

/// True if `mariadb-dump --tab` wrote the folder.
pub(super) fn is_tab(folder: &Folder) -> bool {
    let is_pair = |name: &[u8]| {
        let stem = name.strip_suffix(b".txt");
        stem.is_some_and(|stem| folder.file(&[stem, b".sql"].concat()).is_some())
    };
    folder.files.keys().any(|name| is_pair(name))
}

/// True if `mariadb-dump --dir` wrote the folder.
pub(super) fn is_dir(folder: &Folder) -> bool {
    folder.files.is_empty()
        && folder.folders.values().any(|path| Folder::open(path).is_ok_and(|inner| is_tab(&inner)))
}

/// The parts of a folder of `mariadb-dump --tab`.
///
/// Errors: no `--into`; a file that cannot be read.
pub(super) fn open_tab(folder: &Folder, names: &Names) -> Result<Dump, Error> {
    if names.into().is_none() {
        return Err(Error::Usage(format!(
            "{} is {TAB}, whose database is unknown; add {}",
            folder.path.display(),
            INTO.with("DATABASE")
        )));
    }
    let mut plan = FolderPlan::new(names);
    let database = database_of(folder)?;
    plan.database(folder, database.as_deref(), false)?;
    Ok(plan.finish(TAB))
}

/// The parts of a folder of `mariadb-dump --dir`.
///
/// Errors: a database whose name cannot be told; a file that cannot be read.
pub(super) fn open_dir(folder: &Folder, names: &Names) -> Result<Dump, Error> {
    let mut plan = FolderPlan::new(names);
    for (name, path) in &folder.folders {
        let inner = Folder::open(path)?;
        let said = database_of(&inner)?.or_else(|| name_of_file(name)).ok_or_else(|| {
            let why = "is the folder of an unknown database: no file in it has mariadb-dump's \
                       comment \"Database:\"";
            Error::Usage(format!("{} {why}", path.display()))
        })?;
        plan.database(&inner, Some(&said), true)?;
    }
    Ok(plan.finish(DIR))
}

/// A view, and the names in its definition.
struct View {
    database: Option<Vec<u8>>,
    name: Vec<u8>,
    content: Content,
    words: BTreeSet<Vec<u8>>,
}

/// The parts so far.
struct FolderPlan<'a> {
    names: &'a Names,
    parts: Vec<Part>,
    views: Vec<View>,
}

impl<'a> FolderPlan<'a> {
    fn new(names: &'a Names) -> FolderPlan<'a> {
        let content = Content::Script(Script::own([PRELUDE]));
        FolderPlan { names, parts: vec![Part { database: None, content }], views: Vec::new() }
    }

    fn database(
        &mut self,
        folder: &Folder,
        database: Option<&[u8]>,
        is_made: bool,
    ) -> Result<(), Error> {
        if let Some(name) = database.filter(|_| is_made) {
            let create = [b"CREATE DATABASE IF NOT EXISTS ", quoted(name).as_slice()].concat();
            let content = Content::Script(Script::own([create]));
            self.parts.push(Part { database: None, content });
        }
        // Both files of each table.
        let mut stems: BTreeMap<&[u8], ()> = BTreeMap::new();
        for name in folder.files.keys() {
            let stem = name.strip_suffix(b".sql").or_else(|| name.strip_suffix(b".txt"));
            stems.extend(stem.map(|stem| (stem, ())));
        }
        for stem in stems.keys() {
            self.table(folder, database, stem)?;
        }
        Ok(())
    }

    fn table(
        &mut self,
        folder: &Folder,
        database: Option<&[u8]>,
        stem: &[u8],
    ) -> Result<(), Error> {
        let file = |ending: &[u8]| folder.file(&[stem, ending].concat()).cloned();
        let (sql, txt) = (file(b".sql"), file(b".txt"));
        let made = match &sql {
            Some(path) => DefinedObject::by(path)?,
            None => DefinedObject::Nothing,
        };
        let name = match &made {
            DefinedObject::Table { name, .. } | DefinedObject::View { name, .. } => name.clone(),
            DefinedObject::Nothing => name_of_file(stem).ok_or_else(|| {
                let file = txt.as_ref().or(sql.as_ref()).map(|path| path.display().to_string());
                Error::Usage(format!(
                    "{} belongs to a table whose name is unknown without its CREATE TABLE",
                    file.unwrap_or_default()
                ))
            })?,
        };
        if !self.names.takes(database, &name) {
            return Ok(());
        }
        if let Some(path) = &txt
            && let Some(odd) = other_format(&folder::head(path, HEAD_BYTES)?.0)
        {
            return Err(Error::Usage(format!(
                "{} has {odd}, but files of such a folder are read in LOAD DATA's default format: \
                 create the dump again without options of fields and lines, or load the file with \
                 inrush load",
                path.display()
            )));
        }
        let columns = match &made {
            DefinedObject::Table { columns, .. } => Some(columns.clone()),
            _ => None,
        };
        let rows = txt.map(|path| {
            Box::new(TableRows {
                table: name.clone(),
                files: vec![path],
                dialect: Dialect::mysql(),
                skip_lines: 0,
                columns,
                charset: "binary".to_owned(),
                sql_mode: Some(SQL_MODE.to_owned()),
                row_count: None,
            })
        });
        let content = match (sql, rows) {
            (Some(path), rows) => Content::Sql { files: vec![path], rows },
            (None, Some(rows)) => Content::Rows(rows),
            (None, None) => return Ok(()),
        };
        let database = database.map(<[u8]>::to_vec);
        match made {
            DefinedObject::View { words, .. } => {
                self.views.push(View { database, name, content, words })
            }
            _ => self.parts.push(Part { database, content }),
        }
        Ok(())
    }

    /// Views last, each behind those that it asks for.
    fn finish(mut self, folder: &str) -> Dump {
        let mut left = std::mem::take(&mut self.views);
        while !left.is_empty() {
            let waits = |view: &View, left: &[View]| {
                left.iter().any(|other| other.name != view.name && view.words.contains(&other.name))
            };
            // Views in a circle there are none; a word that is no view may look like one.
            let next = (0..left.len()).find(|&index| !waits(&left[index], &left)).unwrap_or(0);
            let view = left.remove(next);
            self.parts.push(Part { database: view.database, content: view.content });
        }
        let note = format!(
            "{folder} contains no sequences, routines and events: mariadb-dump prints them instead; its \
             rows are read in LOAD DATA's default format"
        );
        Dump { parts: self.parts, notes: vec![note], ..Dump::default() }
    }
}

/// The object that a `.sql` makes.
enum DefinedObject {
    Table { name: Vec<u8>, columns: Vec<FieldColumn> },
    View { name: Vec<u8>, words: BTreeSet<Vec<u8>> },
    Nothing,
}

impl DefinedObject {
    fn by(path: &Path) -> Result<DefinedObject, Error> {
        let mut reader = SqlReader::open(&[path.to_owned()], folder::reading(path))?;
        while let Some(statement) = reader.next()? {
            let syntax = reader.syntax();
            let text = &statement.text;
            match statement.kind {
                StatementKind::CreateTable { table, .. } => {
                    return Ok(DefinedObject::Table {
                        name: table.name,
                        columns: columns(text, syntax),
                    });
                }
                StatementKind::CreateView(view) => {
                    let names = Tokens::of_any_server(text, syntax).filter_map(|one| one.name());
                    let words = names.map(Cow::into_owned).collect();
                    return Ok(DefinedObject::View { name: view.name, words });
                }
                _ => {}
            }
        }
        Ok(DefinedObject::Nothing)
    }
}

/// The columns of a CREATE TABLE in their order: what begins with a name in quotes between the
/// commas of its parentheses, as the server writes it.
fn columns(text: &[u8], syntax: Syntax) -> Vec<FieldColumn> {
    let mut columns = Vec::new();
    let mut depth = 0;
    let mut is_first = false;
    for token in Tokens::of_any_server(text, syntax) {
        match token.kind {
            TokenKind::Sign(b'(') => {
                depth += 1;
                is_first = depth == 1;
                continue;
            }
            TokenKind::Sign(b')') if depth == 1 => break,
            TokenKind::Sign(b')') => depth -= 1,
            TokenKind::Sign(b',') => {
                is_first = depth == 1;
                continue;
            }
            TokenKind::Name(name) if is_first => {
                columns.push(FieldColumn { name: name.into_owned(), coding: Coding::Plain });
            }
            _ => {}
        }
        is_first = false;
    }
    columns
}

/// The database in mariadb-dump's comments, if any file of the folder has them.
fn database_of(folder: &Folder) -> Result<Option<Vec<u8>>, Error> {
    const MARK: &[u8] = b"    Database: ";
    for path in
        folder.files.iter().filter(|(name, _)| name.ends_with(b".sql")).map(|(_, path)| path)
    {
        let (text, _) = folder::head(path, HEAD_BYTES)?;
        let line = text.split(|&byte| byte == b'\n').find(|line| line.starts_with(b"-- Host: "));
        let place = line.and_then(|line| line.windows(MARK.len()).position(|part| part == MARK));
        if let Some((line, place)) = line.zip(place) {
            return Ok(Some(line[place + MARK.len()..].to_vec()));
        }
    }
    Ok(None)
}

/// A sign in the first lines that they are not in LOAD DATA's default format.
fn other_format(head: &[u8]) -> Option<String> {
    let lines = head.split_inclusive(|&byte| byte == b'\n').filter_map(|l| l.strip_suffix(b"\n"));
    if lines.clone().next().is_some() && lines.clone().all(|line| line.ends_with(b"\r")) {
        return Some("lines that end in CR LF".to_owned());
    }
    let is_number = |field: &&[u8]| str::from_utf8(field).is_ok_and(|f| f.parse::<f64>().is_ok());
    let fields = lines.flat_map(|line| line.split(|&byte| byte == b'\t'));
    let mut texts = fields.filter(|field| !matches!(*field, b"" | b"\\N") && !is_number(field));
    let first = texts.next()?;
    let quote = *first.first().filter(|byte| b"\"'".contains(byte))?;
    let is_quoted = |text: &[u8]| matches!(text, [a, .., b] if *a == quote && *b == quote);
    let are_quoted = is_quoted(first) && texts.all(is_quoted);
    are_quoted.then(|| format!("its texts in {}", char::from(quote)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_what_begins_with_a_quoted_name() {
        let text = b"CREATE TABLE `t` (\n  `a` int(11) NOT NULL DEFAULT (`b` + f(1,`c`)),\n  \
            `b``x` enum('(',',`z`') GENERATED ALWAYS AS (concat(`a`,`a`)) VIRTUAL,\n  \
            PRIMARY KEY (`a`,`b``x`),\n  CONSTRAINT `q` CHECK (`a` > 1)\n) COMMENT='(`n`'";
        let names: Vec<_> =
            columns(text, Syntax::default()).into_iter().map(|one| one.name).collect();
        assert_eq!(names, [b"a".to_vec(), b"b`x".to_vec()]);
    }

    #[test]
    fn other_formats_than_the_default_are_seen() {
        for (head, expected) in [
            ("1\t\"a\"\t\\N\n2\t\"\"\t\"b\"\n3\tcut", Some("its texts in \"")),
            ("'1'\t'a'\n", Some("its texts in '")),
            ("a\tb\r\nc\r\nd", Some("lines that end in CR LF")),
            ("a\tb\r\nc\n", None),
            ("1\t\"a\"\n2\tb\n", None),
            ("1\t\"\n", None),
            ("1\t2.5\n", None),
            ("", None),
        ] {
            assert_eq!(other_format(head.as_bytes()).as_deref(), expected, "{head}");
        }
    }
}
