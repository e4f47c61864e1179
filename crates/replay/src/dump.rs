//! The files of a dump, in the order in which they are to be read.
//!
//! ```text
//! dump.sql, a pipe                       one part of SQL
//! folder --plan--> Part, Part, ..        databases; a table's CREATE, then its rows; what needs tables
//! ```
//!
//! The conductor walks [`Dump::parts`] from the first to the last. In a folder a table's rows follow
//! its CREATE at once, so that it can take its place before the next begins, and triggers, views
//! and routines come when the tables of all databases are there.

mod folder;
mod load_data;
mod mydumper;
mod script;
mod shell;
mod tab;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use sources::Dialect;

use crate::error::Error;
use crate::names::Names;

pub(crate) use script::Script;

use folder::Folder;

/// The folders, as messages call them.
const TAB: &str = "a folder of mariadb-dump --tab";
const DIR: &str = "a folder of mariadb-dump --dir";

/// A dump as its files.
#[derive(Clone, Debug, Default)]
pub(crate) struct Dump {
    /// Parts of the dump, in their order.
    pub parts: Vec<Part>,
    /// Notes for the report, a sentence each: parts of the dump that are not replayed.
    pub notes: Vec<String>,
    /// What the dump lacks, a sentence each.
    pub missing: Vec<String>,
    /// Rows of its tables, where it says so.
    pub counts: Vec<RowCount>,
}

/// Rows of a table, as the dump itself counts them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RowCount {
    /// The database, as the dump calls it.
    pub database: Vec<u8>,
    /// The table.
    pub table: Vec<u8>,
    /// Rows that the dump has.
    pub rows: u64,
}

/// One step of a dump.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    /// The database that is the default when it begins, as the dump calls it; None leaves the session where it is.
    pub database: Option<Vec<u8>>,
    /// Its content.
    pub content: Content,
}

/// Bytes of files; None where one is a pipe, or not there any more.
fn bytes(files: &[PathBuf]) -> Option<u64> {
    let size = |file: &PathBuf| {
        let metadata = std::fs::metadata(file).ok()?;
        metadata.is_file().then_some(metadata.len())
    };
    files.iter().map(size).sum()
}

impl Part {
    /// Bytes of its files, packed if they are; None where that is not known.
    fn bytes(&self) -> Option<u64> {
        match &self.content {
            Content::Sql { files, rows } => {
                let rows = rows.as_ref().map_or(Some(0), |rows| rows.bytes());
                Some(bytes(files)? + rows?)
            }
            Content::Script(_) => Some(0),
            Content::Rows(rows) => rows.bytes(),
        }
    }

    /// How many files of statements it has, at least 1.
    pub(crate) fn files(&self) -> usize {
        match &self.content {
            Content::Sql { files, .. } => files.len().max(1),
            Content::Script(_) | Content::Rows(_) => 1,
        }
    }
}

/// The content of a part.
#[derive(Clone, Debug)]
pub(crate) enum Content {
    /// Statements, which may be many.
    Sql {
        /// Their files, one after the other, which may be compressed. Those of one table's rows
        /// begin with the same SETs each.
        files: Vec<PathBuf>,
        /// Delimited rows of the table that they make, to go in right after its CREATE TABLE, or
        /// at the end if there is none.
        rows: Option<Box<TableRows>>,
    },
    /// Statements that are known already.
    Script(Script),
    /// Delimited rows of one table.
    Rows(Box<TableRows>),
}

impl Content {
    /// The statements of a file.
    fn of(path: PathBuf) -> Content {
        Content::Sql { files: vec![path], rows: None }
    }
}

/// Rows of one table in delimited files.
#[derive(Clone, Debug)]
pub(crate) struct TableRows {
    /// The table, in [`Part::database`].
    pub table: Vec<u8>,
    /// The files, in the order of their rows. May be compressed; may be none.
    pub files: Vec<PathBuf>,
    /// How they are cut into fields.
    pub dialect: Dialect,
    /// Lines at the start of each file that are no rows.
    pub skip_lines: u64,
    /// The columns in the order of the fields; None: all of the table.
    pub columns: Option<Vec<FieldColumn>>,
    /// Character set of the files, as the server calls it. By `binary` each text is in the character
    /// set of its column.
    pub charset: String,
    /// Flags of `sql_mode` for these rows; None: the session's.
    pub sql_mode: Option<String>,
    /// Rows that the dump says there are.
    pub row_count: Option<u64>,
}

impl TableRows {
    /// Bytes of the files, packed if they are; None where that is not known.
    pub(crate) fn bytes(&self) -> Option<u64> {
        bytes(&self.files)
    }

    /// True if files of the one may follow files of the other in one load.
    pub(crate) fn is_like(&self, other: &TableRows) -> bool {
        self.table == other.table
            && self.dialect == other.dialect
            && self.skip_lines == other.skip_lines
            && self.columns == other.columns
            && self.charset == other.charset
    }
}

/// Where a field goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FieldColumn {
    /// The column; a name that begins with `@` is none, and the field is left out.
    pub name: Vec<u8>,
    /// The coding of the value in the file.
    pub coding: Coding,
}

/// The coding of a value in a delimited file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Coding {
    /// The value.
    #[default]
    Plain,
    /// Two hexadecimal digits a byte: `SET c = UNHEX(@c)`.
    Hex,
    /// Base64: `SET c = FROM_BASE64(@c)`.
    Base64,
}

impl Dump {
    /// Bytes of all files that are read, packed if they are; None where that is not known.
    pub(crate) fn bytes(&self) -> Option<u64> {
        self.parts.iter().map(Part::bytes).sum()
    }

    /// The dump at `path`: a folder is searched, a file is one part. Tables that `names` leaves out
    /// are not among the parts of a folder, as far as the names of its files tell.
    ///
    /// Errors: a folder that cannot be read, that no tool known here wrote, or that lacks what a
    /// complete dump of its tool has and cannot be replayed without.
    pub(crate) fn open(path: &Path, names: &Names) -> Result<Dump, Error> {
        let is_folder = std::fs::metadata(path).is_ok_and(|meta| meta.is_dir());
        if !is_folder {
            let part = Part { database: None, content: Content::of(path.to_owned()) };
            return Ok(Dump { parts: vec![part], ..Dump::default() });
        }
        let folder = Folder::open(path)?;
        if shell::is_shell(&folder) {
            return shell::open(&folder, names);
        }
        if mydumper::is_mydumper(&folder) {
            return mydumper::open(&folder, names);
        }
        if tab::is_tab(&folder) {
            return tab::open_tab(&folder, names);
        }
        if tab::is_dir(&folder) {
            return tab::open_dir(&folder, names);
        }
        Err(Error::Usage(format!(
            "{} is not a folder of mydumper, of MySQL Shell, or of mariadb-dump --tab or --dir; \
             if a dump has several files, name the files one after the other",
            path.display()
        )))
    }
}
