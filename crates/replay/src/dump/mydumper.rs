//! Folders that mydumper wrote.
//!
//! ```text
//! db-schema-create.sql          CREATE DATABASE         metadata   when; since 0.12 also options,
//! db.t-schema.sql               CREATE TABLE                       real names and rows of tables
//! db.t-schema-sequence.sql      CREATE SEQUENCE         metadata.partial   it did not come to its end
//! db.t.sql, db.t.00000.sql, db.t.00000.00001.sql        INSERTs, or LOAD DATA of
//! db.t.00000.dat                                        delimited rows
//! db.t-schema-triggers.sql, db-schema-triggers.sql      triggers
//! db-schema-post.sql                                    routines and events
//! db.v-schema.sql, db.v-schema-view.sql                 a table in a view's place, then the view
//! ```
//!
//! Names stand in the files' names as they are; newer versions write `mydumper_0` for those that
//! would not do, and the real ones in `metadata`. In files of triggers, routines and views a
//! statement ends where a line ends with `;`: mydumper writes `; ` at the other line ends.
//!
//! Source: `mydumper.c` and `myloader.c` of 0.10; `mydumper_common.c`, `mydumper_start_dump.c` and
//! `myloader_process_filename.c` of 1.0.

mod files;
mod metadata;

use sql::{Syntax, Tokens, quoted};
use std::path::{Path, PathBuf};

use crate::dump::folder::{self, Folder};
use crate::dump::load_data::LoadData;
use crate::dump::script::Script;
use crate::dump::{Content, Dump, Part, RowCount, TableRows};
use crate::error::Error;
use crate::names::Names;
use crate::place::head;

use files::{DatabaseFiles, Databases, TableFiles};
use metadata::Metadata;

/// Settings that myloader makes in its sessions before a file, whose own SETs come after. It leaves
/// out `sql_mode` for everything but rows; the flag is for rows only, and the others of a server
/// would refuse definitions that another one gave.
const PRELUDE: [&str; 3] = ["SET NAMES binary", "SET UNIQUE_CHECKS=0", "SET FOREIGN_KEY_CHECKS=0"];

/// `sql_mode` where the dump says none.
const SQL_MODE: &str = "'NO_AUTO_VALUE_ON_ZERO'";

/// Routines and triggers keep the settings that they are made under. Where the dump does not say
/// them, they are the server's, as in the session of myloader's that makes them.
const OWN_SETTINGS: [&str; 2] = ["SET SQL_MODE=DEFAULT", "SET TIME_ZONE=DEFAULT"];

/// True if mydumper wrote the folder.
pub(super) fn is_mydumper(folder: &Folder) -> bool {
    let marks = ["metadata", "metadata.partial", "metadata.header"];
    marks.iter().any(|name| folder.file(name.as_bytes()).is_some())
        || folder.has_ending(b"-schema-create.sql")
        || folder.has_ending(b"-schema.sql")
}

/// The parts of a folder of mydumper's: databases; sequences, which tables may take values from;
/// tables with their rows; and what needs tables to be there, routines before the views that call
/// them.
///
/// Errors: a file that cannot be read; a LOAD DATA that is not mydumper's.
pub(super) fn open(folder: &Folder, names: &Names) -> Result<Dump, Error> {
    let metadata = Metadata::read(folder)?;
    let mut left = LeftOut::default();
    if !metadata.is_complete {
        left.missing.push(format!(
            "{} is incomplete: its file metadata lacks mydumper's \"Finished dump at\"; the \
             existing files are replayed",
            folder.path.display()
        ));
    }
    let databases = files::sort(folder, &metadata, &mut left)?;
    let says_mode = metadata.sql_mode.is_some();
    let mut plan = FolderPlan { folder, names, says_mode, parts: Vec::new() };
    plan.begin(&metadata);
    plan.databases(&databases)?;
    plan.tables(&databases)?;
    plan.others(&databases)?;
    let counts = plan.counts(&databases);
    let LeftOut { notes, missing } = left;
    Ok(Dump { parts: plan.parts, notes, missing, counts })
}

/// The parts so far.
struct FolderPlan<'a> {
    folder: &'a Folder,
    names: &'a Names,
    /// True if `metadata` has the `sql_mode` of sessions.
    says_mode: bool,
    parts: Vec<Part>,
}

/// What is not replayed, a sentence each.
#[derive(Debug, Default)]
struct LeftOut {
    /// Files that are no part of the dump.
    notes: Vec<String>,
    /// Parts that the dump lacks.
    missing: Vec<String>,
}

impl FolderPlan<'_> {
    fn push(&mut self, database: Option<&[u8]>, content: Content) {
        self.parts.push(Part { database: database.map(<[u8]>::to_vec), content });
    }

    fn begin(&mut self, metadata: &Metadata) {
        let mode = metadata.sql_mode.as_deref().unwrap_or(SQL_MODE);
        let mode = format!("SET SQL_MODE={mode}");
        let prelude = PRELUDE.into_iter().chain([mode.as_str()]);
        self.push(None, Content::Script(Script::own(prelude)));
    }

    /// A database that is there already is used as it is, as myloader does.
    fn databases(&mut self, databases: &Databases) -> Result<(), Error> {
        for database in databases.values() {
            let Some(path) = &database.create else {
                let name = quoted(&database.name);
                let create = [b"CREATE DATABASE IF NOT EXISTS ", name.as_slice()].concat();
                self.push(None, Content::Script(Script::own([create])));
                continue;
            };
            let mut script = Script::by_lines(path.clone(), &folder::text(path)?);
            for statement in &mut script.statements {
                statement.text = if_not_exists(&statement.text);
            }
            self.push(None, Content::Script(script));
        }
        Ok(())
    }

    fn tables(&mut self, databases: &Databases) -> Result<(), Error> {
        for is_sequence in [true, false] {
            for database in databases.values() {
                for table in database.tables.values().filter(|table| table.view.is_none()) {
                    let sequence = table.is_sequence || table.sequence.is_some();
                    if sequence == is_sequence && self.takes(database, table) {
                        self.table(&database.name, table)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Rows of the tables by `metadata`.
    fn counts(&self, databases: &Databases) -> Vec<RowCount> {
        let all = databases
            .values()
            .flat_map(|database| database.tables.values().map(move |table| (database, table)));
        let tables = all.filter(|(database, table)| {
            let is_table = table.view.is_none() && table.sequence.is_none() && !table.is_sequence;
            is_table && table.definition.is_some() && self.takes(database, table)
        });
        let count = |(database, table): (&DatabaseFiles, &TableFiles)| {
            let (database, name) = (database.name.clone(), table.name.clone());
            table.row_count.map(|rows| RowCount { database, table: name, rows })
        };
        tables.filter_map(count).collect()
    }

    fn takes(&self, database: &DatabaseFiles, table: &TableFiles) -> bool {
        self.names.takes(Some(&database.name), &table.name)
    }

    fn table(&mut self, database: &[u8], table: &TableFiles) -> Result<(), Error> {
        let made = table.sequence.iter().chain(&table.definition);
        for path in made.cloned() {
            self.push(Some(database), Content::of(path));
        }
        let files: Vec<PathBuf> = table.rows.values().cloned().collect();
        if files.is_empty() {
            return Ok(());
        }
        if !table.is_delimited {
            self.push(Some(database), Content::Sql { files, rows: None });
            return Ok(());
        }
        self.delimited(database, table, &files)
    }

    /// Rows in delimited files: what their LOAD DATA say, once for all that say the same.
    fn delimited(
        &mut self,
        database: &[u8],
        table: &TableFiles,
        files: &[PathBuf],
    ) -> Result<(), Error> {
        let mut last: Option<(Script, TableRows)> = None;
        for path in files {
            let load = LoadData::parse(&folder::text(path)?).map_err(|reason| {
                let path = path.display();
                Error::Usage(format!("{path} is not as mydumper writes LOAD DATA: {reason}"))
            })?;
            let data = self.data_file(path, &load.file)?;
            let settings = Script::own(&load.settings);
            let rows = TableRows { row_count: table.row_count, ..load.rows };
            match &mut last {
                Some((said, before)) if *said == settings && before.is_like(&rows) => {
                    before.files.push(data);
                }
                _ => {
                    self.delimited_rows(database, last.take());
                    last = Some((settings, TableRows { files: vec![data], ..rows }));
                }
            }
        }
        self.delimited_rows(database, last);
        Ok(())
    }

    fn delimited_rows(&mut self, database: &[u8], rows: Option<(Script, TableRows)>) {
        if let Some((settings, rows)) = rows {
            self.push(Some(database), Content::Script(settings));
            self.push(Some(database), Content::Rows(Box::new(rows)));
        }
    }

    /// The file that a LOAD DATA names, beside its own: its folder then was another.
    fn data_file(&self, path: &Path, name: &[u8]) -> Result<PathBuf, Error> {
        let last = name.rsplit(|&byte| byte == b'/').next().unwrap_or(name);
        let plain = folder::plain(last);
        self.folder.file(plain).cloned().ok_or_else(|| {
            Error::Usage(format!(
                "{} loads {}, which is not in the folder",
                path.display(),
                head(last)
            ))
        })
    }

    fn others(&mut self, databases: &Databases) -> Result<(), Error> {
        // Tables in the place of views: a view may ask for one that comes later.
        for (database, table) in views(databases) {
            if self.takes(database, table)
                && let Some(path) = table.definition.clone()
            {
                self.push(Some(&database.name), Content::of(path));
            }
        }
        if !self.says_mode {
            self.push(None, Content::Script(Script::own(OWN_SETTINGS)));
        }
        for database in databases.values() {
            for table in database
                .tables
                .values()
                .filter(|table| self.names.takes(Some(&database.name), &table.name))
            {
                self.script(&database.name, table.triggers.as_ref())?;
            }
            self.script(&database.name, database.triggers.as_ref())?;
        }
        for database in databases.values() {
            self.script(&database.name, database.post.as_ref())?;
        }
        for (database, table) in views(databases) {
            if self.takes(database, table) {
                self.script(&database.name, table.view.as_ref())?;
            }
        }
        Ok(())
    }

    fn script(&mut self, database: &[u8], path: Option<&PathBuf>) -> Result<(), Error> {
        if let Some(path) = path {
            let script = Script::by_lines(path.clone(), &folder::text(path)?);
            self.push(Some(database), Content::Script(script));
        }
        Ok(())
    }
}

fn views(databases: &Databases) -> impl Iterator<Item = (&DatabaseFiles, &TableFiles)> {
    databases.values().flat_map(|database| {
        let views = database.tables.values().filter(|table| table.view.is_some());
        views.map(move |table| (database, table))
    })
}

/// CREATE DATABASE as CREATE DATABASE IF NOT EXISTS; anything else as it is.
fn if_not_exists(text: &[u8]) -> Vec<u8> {
    let mut pieces = Tokens::of_any_server(text, Syntax::default());
    let create = pieces.next().filter(|one| one.is("CREATE"));
    let what = create.and_then(|_| pieces.next());
    match what.filter(|one| one.is("DATABASE") || one.is("SCHEMA")) {
        Some(what) if pieces.next().is_some_and(|one| !one.is("IF")) => {
            let (head, tail) = text.split_at(what.place.end);
            [head, b" IF NOT EXISTS", tail].concat()
        }
        _ => text.to_vec(),
    }
}
