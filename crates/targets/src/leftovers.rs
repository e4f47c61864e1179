//! Leftovers of a killed load, and their removal by the next.
//!
//! A staging table in whatever state was never published: it is dropped, its files with it. A table put
//! aside by a finished swap is dropped too: the target is the new table then, which has rows. The
//! table put aside by a swap that took the target for empty is dropped only if it is empty.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::carried_keys::carry_over;
use crate::foreign_keys::{has_children, referred, unchecked};
use crate::identity::{EngineRows, rows_of};
use crate::import_job::cancel_jobs;
use crate::lock::Lock;
use crate::names::{
    ASIDES, MARK, Names, is_own_database, kind_prefix, own_pattern, part_prefix, proof_in,
    staging_prefix,
};
use crate::staging_database;
use crate::swapped::check_emptied;
use face::option::DATADIR;
use schema::{Engine, ForeignKey, TableKind};
use server::Unsupported;
use server::engine::Kind;
use server::error::{Error, Result};
use server::facts::database_dir::DatabaseDir;
use server::identifier::{TableName, quote_text};
use server::session::{Row, Session};
use server::version::Flavor;

/// A table that a killed load has left, which is there only where its rows are in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proof {
    /// Its name.
    pub table: TableName,
    /// The identity of the rows, if the name has it.
    pub of: Option<String>,
}

/// Tables and files that loads of a target have made.
struct Own {
    /// Beside the target.
    tables: Vec<TableName>,
    databases: Vec<String>,
}

impl Lock {
    /// True if no load of this target has left anything: known if it was locked with others.
    pub fn is_swept(&self) -> bool {
        self.left.as_ref().is_some_and(|left| !left.has(&self.table.name))
    }

    /// Removes the tables that a killed load of this target left, by whichever way; gives their
    /// names. Files that the direct path left are removed where they can be reached; files that
    /// stay are a remark, since no statement needs their names. Does nothing the second time.
    ///
    /// Errors: [`Error::Leftover`] when the table put aside for empty is not, or when one with rows
    /// was put aside and the target has none; a lock that does not come.
    pub fn cleanup_tables(&mut self) -> Result<Vec<String>> {
        let mut removed = self.drop_leftovers()?;
        match self.remove_files() {
            Ok(files) => removed.extend(files),
            // The files belong to another server.
            Err(Error::Unsupported { reasons, .. })
                if matches!(reasons[..], [Unsupported::DataDirectory(_)]) => {}
            Err(error) => self.remarks.push(format!("files of a killed load stay: {error}")),
        }
        Ok(removed)
    }

    /// As [`Lock::cleanup_tables`], for a load that needs the names of the files.
    ///
    /// Errors: [`Error::InTheWay`] when something else has the name of a file of ours, since the
    /// server would remove it with the table.
    pub(super) fn cleanup_all(&mut self) -> Result<Vec<String>> {
        if let Some(dir) = self.folder.as_ref().map(|folder| folder.dir.clone()) {
            for path in self.file_paths(&dir)? {
                dir.has(&path)?;
            }
            // What nobody but an intruder can have made: the server reads it as the place of the
            // table.
            let link = self.staging_path(&dir, "isl");
            if dir.has(&link)? {
                let seen = "a file that makes the server create the table elsewhere".to_owned();
                return Err(Error::InTheWay { path: link, seen });
            }
        }
        let mut removed = self.drop_leftovers()?;
        removed.extend(self.remove_files()?);
        Ok(removed)
    }

    fn drop_leftovers(&mut self) -> Result<Vec<String>> {
        let mut removed = Vec::new();
        let names = Names::of(&self.table.name);
        self.drop_without_partitions()?;
        let Own { tables: mut there, databases } = self.own()?;
        for database in &databases {
            let table = TableName::new(database.as_str(), self.table.name.table.as_str());
            if catalog::exists(&mut self.session, &table)? {
                there.push(table);
            }
        }
        if self.facts.engine.kind == Kind::TiDb {
            // The job of a killed load may still fill its staging table.
            cancel_jobs(&mut self.session, &there)?;
        }
        let is =
            |table: &TableName, name: &TableName| table == name || table.database == name.table;
        let of_kind = |table: &TableName, kind: &str| {
            proof_in(table).is_some()
                && table.table.starts_with(&kind_prefix(&self.table.name, kind))
        };
        let is_emptied = |table: &TableName| is(table, &names.emptied) || of_kind(table, "empty");
        let is_replaced = |table: &TableName| {
            let is_plain = is(table, &names.replaced) || is(table, &names.extended);
            is_plain || of_kind(table, "old") || of_kind(table, "before")
        };
        let (emptied, rest): (Vec<TableName>, Vec<TableName>) =
            there.iter().cloned().partition(|table| is_emptied(table));
        let (replaced, rest): (Vec<TableName>, Vec<TableName>) =
            rest.into_iter().partition(|table| is_replaced(table));
        for table in &emptied {
            check_emptied(&mut self.session, &self.table.name, table)?;
        }
        for table in &replaced {
            self.check_replaced(table)?;
        }
        for table in &rest {
            if self.has_old_rows(table)? {
                self.check_replaced(table)?;
                removed.push(format!("table {}", names.extended));
            }
        }
        let mark = kind_prefix(&self.table.name, MARK);
        let made = [staging_prefix(&self.table.name), part_prefix(&self.table.name), mark];
        for table in there {
            let aside = names.beside().into_iter().find(|aside| is(&table, aside));
            let is_aside = emptied.contains(&table) || replaced.contains(&table);
            let is_filled = is(&table, &names.staging) || table == names.row_ids;
            if is_aside || is_filled || made.iter().any(|name| table.table.starts_with(name)) {
                self.free_of_triggers(&table)?;
                self.drop_own(&table)?;
                removed.push(format!("table {}", aside.unwrap_or(&table)));
            }
        }
        self.drop_unknown()?;
        // Whether those were there still, or had been dropped.
        let asides = names.asides(&self.table.name);
        for aside in referred(&mut self.session, &asides)? {
            let replaced = [(self.table.name.clone(), aside)];
            carry_over(&mut self.session, &replaced, self.patience.wait)?;
            self.table.foreign_keys = catalog::foreign_keys(&mut self.session, &self.table.name)?;
        }
        staging_database::drop_databases(&mut self.session, databases.iter().map(String::as_str))?;
        Ok(removed)
    }

    /// Reads the foreign keys anew where tables of loads' own refer to the target: what a killed load left, or one
    /// that was about to end, may be gone.
    pub fn reread_keys(&mut self) -> Result<()> {
        let is_own = |key: &ForeignKey| {
            key.other.as_ref().is_some_and(|other| is_own_database(&other.database))
        };
        if self.table.foreign_keys.iter().any(is_own) {
            self.table.foreign_keys = catalog::foreign_keys(&mut self.session, &self.table.name)?;
        }
        Ok(())
    }

    /// Leftovers of killed loads of the target that prove that their rows are in. Waits for a
    /// transaction that is not over.
    ///
    /// Errors: a lock that does not come.
    pub fn proofs(&mut self) -> Result<Vec<Proof>> {
        if self.is_swept() {
            return Ok(Vec::new());
        }
        let (target, names) = (self.table.name.clone(), Names::of(&self.table.name));
        let Own { tables, databases } = self.own()?;
        let mut proofs = Vec::new();
        for database in databases.iter().filter(|name| **name != names.staging.table) {
            let table = TableName::new(database.as_str(), target.table.as_str());
            if catalog::exists(&mut self.session, &table)? {
                proofs.push(Proof { table, of: None });
            }
        }
        let is_aside = |table: &TableName| {
            let is_of = |kind| table.table.starts_with(&kind_prefix(&target, kind));
            names.beside().contains(&table)
                || proof_in(table).is_some() && ASIDES.into_iter().any(is_of)
        };
        for table in tables {
            let is_mark = table.table.starts_with(&kind_prefix(&target, MARK));
            let proves = is_aside(&table)
                || is_mark && self.was_marked(&table)?
                || self.has_old_rows(&table)?;
            if proves {
                let of = proof_in(&table);
                proofs.push(Proof { table, of });
            }
        }
        Ok(proofs)
    }

    /// Tables and databases of loads of this target.
    fn own(&mut self) -> Result<Own> {
        let database = self.table.name.database.clone();
        let sql = format!(
            "SELECT TABLE_NAME, TABLE_TYPE, ENGINE FROM information_schema.TABLES \
             WHERE TABLE_SCHEMA={} AND TABLE_NAME LIKE {}",
            quote_text(&database),
            quote_text(&own_pattern(&self.table.name))
        );
        let rows = self.session.query(&sql)?;
        let name = |row: &Row| {
            let name = TableName::new(database.as_str(), row.text(0)?);
            let kind = TableKind::named(&row.text(1)?);
            let engine = Engine::named(&row.text_or_null(2)?.unwrap_or_default());
            match self.is_foreign(&kind, &engine) {
                Some(what) => Err(foreign(&name, &what, &kind)),
                None => Ok(name),
            }
        };
        let tables = rows.iter().map(name).collect::<Result<_>>()?;
        let sql = format!(
            "SELECT SCHEMA_NAME FROM information_schema.SCHEMATA WHERE SCHEMA_NAME IN ({})",
            Names::of(&self.table.name).staging_databases().map(quote_text).join(", ")
        );
        let rows = self.session.query(&sql)?;
        let databases = rows.iter().map(|row| row.text(0)).collect::<Result<_>>()?;
        Ok(Own { tables, databases })
    }

    /// In words, something that no load makes, by its kind and engine; none of a table that a load may have
    /// made.
    fn is_foreign(&self, kind: &TableKind, engine: &Engine) -> Option<String> {
        match kind {
            TableKind::View | TableKind::SystemView => Some("a view".to_owned()),
            TableKind::Sequence => Some("a sequence".to_owned()),
            TableKind::Other(kind) => Some(format!("a {kind}")),
            // In the moment of an ALTER the server names no engine.
            TableKind::Base | TableKind::SystemVersioned => {
                let is_known = rows_of(engine) != EngineRows::Unknown
                    || *engine == Engine::None
                    || *engine == self.table.engine;
                (!is_known).then(|| format!("a table of the engine {engine}"))
            }
        }
    }

    /// Drops a table of ours that others may refer to. A replica may never have had what a load
    /// without a log has left here.
    fn drop_own(&mut self, table: &TableName) -> Result<()> {
        let sql = format!("DROP TABLE IF EXISTS {}", table.quoted());
        if self.table.foreign_keys.is_empty() && !has_children(&mut self.session, table)? {
            return self.exec(&sql);
        }
        let Lock { session, patience, .. } = self;
        let dropped = patience
            .watch(session, |session| unchecked(session, |session| session.exec(&sql).map(drop)));
        dropped.map_err(|error| self.gone_meanwhile(error))
    }

    /// The table that was put aside for new rows is of no use any more: the target has rows, or
    /// neither has any. A target without rows may be one that somebody has made anew since, and the
    /// rows of the other then are the only ones that are left.
    fn check_replaced(&mut self, aside: &TableName) -> Result<()> {
        let target = self.table.name.clone();
        let is_old = aside.table.starts_with(&kind_prefix(&target, "old"));
        let is_own = proof_in(aside).is_some_and(|of| self.names.proof.as_ref() == Some(&of));
        // The same command may have put nothing in their place. An empty target of any other command was made
        // anew: these are the only rows until new ones are in.
        if is_old && is_own && self.allow_empty {
            return Ok(());
        }
        if !self.is_empty()? || catalog::is_empty(&mut self.session, aside)? {
            return Ok(());
        }
        Err(Error::Leftover(format!(
            "{target} has no rows, but {aside}, the old table that a load renamed, has rows: DROP \
             TABLE {} discards these rows; to restore the old table, DROP TABLE {}, then RENAME \
             TABLE {} TO {}",
            aside.quoted(),
            target.quoted(),
            aside.quoted(),
            target.quoted()
        )))
    }

    /// The files, after the tables.
    fn remove_files(&mut self) -> Result<Vec<String>> {
        let (mut removed, mut failed) = (Vec::new(), Ok(()));
        let Some(folder) = &self.folder else { return Ok(removed) };
        let (dir, mut is_proven) = (folder.dir.clone(), folder.is_proven);
        for path in self.file_paths(&dir)? {
            if !dir.has(&path)? {
                continue;
            }
            if !is_proven {
                self.prove_dir(&dir)?;
                is_proven = true;
            }
            match dir.remove(&path) {
                Ok(true) => removed.push(path.display().to_string()),
                Ok(false) => {}
                // The others go all the same.
                Err(e) => failed = failed.and(Err(e)),
            }
        }
        self.remove_dropped(&dir)?;
        failed.map(|()| removed)
    }

    /// Every file of ours that a kill can leave.
    ///
    /// A server killed in DROP TABLE can come back without the table and with its file (seen on
    /// 10.11.19), which would stand in the way of the next swap.
    fn file_paths(&self, dir: &DatabaseDir) -> Result<Vec<PathBuf>> {
        let dropped = self.names.beside().into_iter().chain([&self.names.row_ids]);
        let dropped = dropped.map(|name| dir.path.join(format!("{}.ibd", name.table)));
        let staging = ["build", "cfg", "ibd"].map(|extension| self.staging_path(dir, extension));
        // As many as the target had partitions then.
        let part = part_prefix(&self.table.name);
        let whole = self.names.beside().into_iter().chain([&self.names.staging]);
        let mut whole: Vec<String> = whole.map(|name| format!("{}#", name.table)).collect();
        whole.extend(ASIDES.map(|kind| format!("{}by_", kind_prefix(&self.table.name, kind))));
        let is_of_parts = |name: &str| {
            let is_part = name.starts_with(&part) && name.ends_with(".build");
            let is_file = name.ends_with(".ibd") || name.ends_with(".cfg");
            let is_made =
                name.starts_with(&part) || whole.iter().any(|whole| name.starts_with(whole));
            is_part || is_file && is_made
        };
        let parts = dir.names()?.into_iter().filter(|name| is_of_parts(name));
        let parts = parts.map(|name| dir.path.join(name));
        Ok(staging.into_iter().chain(dropped).chain(parts).collect())
    }

    /// Proves that the folder is this server's, before a file in it is removed, by [`is_folder_of`].
    ///
    /// Killed in it: a table under the name of that for row ids, which nothing else is to be told of.
    pub(super) fn prove_dir(&mut self, dir: &DatabaseDir) -> Result<()> {
        let Lock { session, patience, names, .. } = self;
        let proven = patience.watch(session, |session| is_folder_of(session, dir, &names.row_ids));
        if proven.map_err(|error| self.gone_meanwhile(error))? {
            self.folder_is_proven();
            return Ok(());
        }
        Err(self.elsewhere(
            &dir.path,
            "a test table that the server created and dropped did not appear and disappear there",
        ))
    }

    /// The folder is this server's.
    pub(super) fn folder_is_proven(&mut self) {
        if let Some(folder) = &mut self.folder {
            folder.is_proven = true;
        }
    }

    /// The error for a folder that is another server's.
    pub(super) fn elsewhere(&self, path: &Path, what: &str) -> Error {
        let detail = format!(
            "{} on this machine does not belong to the server, which runs on {}: {what}; run \
             Inrush on the server's machine, with {} for a server in a container",
            path.display(),
            self.facts.hostname,
            DATADIR.with("PATH")
        );
        let reasons = vec![Unsupported::DataDirectory(detail)];
        Error::Unsupported { target: self.table.name.to_string(), reasons }
    }
}

/// True if a folder is that of a server's database: one of the same path on this machine can be another
/// server's, with files of another running load.
///
/// The server makes a table that is nothing but a description with a word of ours in it, and drops it again;
/// the description has to come and to go here.
pub(super) fn is_folder_of(
    session: &mut Session,
    dir: &DatabaseDir,
    probe: &TableName,
) -> Result<bool> {
    let word = format!("inrush {} {}", std::process::id(), session.id());
    let flavor = session.version().flavor;
    let table = probe.quoted();
    // What a killed load left of it.
    session.exec(&format!("DROP TABLE IF EXISTS {table}"))?;
    let before = has_description(flavor, dir, probe, &word)?;
    let columns = "a INT PRIMARY KEY";
    session.exec(&format!("CREATE TABLE {table} ({columns}) ENGINE=MEMORY COMMENT='{word}'"))?;
    let found = has_description(flavor, dir, probe, &word);
    session.exec(&format!("DROP TABLE {table}"))?;
    Ok(found? && !before && !has_description(flavor, dir, probe, &word)?)
}

/// True if the description of a table in memory is there, with a word in it: `t.frm`. Of MySQL it is `t_7.sdi`, with
/// the first characters of the name and a number.
/// Source: MySQL 9.7, sql/dd/impl/sdi_file.cc, `sdi_file::store`.
fn has_description(
    flavor: Flavor,
    dir: &DatabaseDir,
    table: &TableName,
    word: &str,
) -> Result<bool> {
    const NAME_CHARS: usize = 16;
    let mut names = vec![format!("{}.frm", table.table)];
    if flavor == Flavor::MySql {
        let name = table.table.get(..NAME_CHARS).unwrap_or(&table.table);
        names = dir.names()?;
        names.retain(|file| file.starts_with(name) && file.ends_with(".sdi"));
    }
    for name in names {
        match dir.read(&dir.path.join(name), "description") {
            Err(Error::Io { source, .. }) if source.kind() == ErrorKind::NotFound => {}
            bytes => {
                if bytes?.windows(word.len()).any(|bytes| bytes == word.as_bytes()) {
                    return Ok(true);
                }
            }
        }
    }
    Ok(false)
}

/// The error for something of others under a name of ours, which no load reads or removes.
fn foreign(name: &TableName, what: &str, kind: &TableKind) -> Error {
    let verb = match kind {
        TableKind::View | TableKind::SystemView => "DROP VIEW",
        TableKind::Sequence => "DROP SEQUENCE",
        TableKind::Base | TableKind::SystemVersioned | TableKind::Other(_) => "DROP TABLE",
    };
    Error::Leftover(format!(
        "{name} is {what}, not a table of Inrush: nothing was read from {name}; inspect it, then \
         remove it ({verb} {})",
        name.quoted()
    ))
}
