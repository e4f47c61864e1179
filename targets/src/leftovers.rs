//! What a load that was killed left of itself, and its removal by the next.
//!
//! A shadow in whatever state was never published: it is dropped, its files with it. A table put
//! aside by a finished swap is dropped too: the target is the new table then, which has rows. The
//! table put aside by a swap that took the target for empty is dropped only if it is empty.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::lock::Lock;
use crate::names::{Names, own_pattern, twin_prefix};
use crate::publish::check_emptied;
use server::Unsupported;
use server::catalog;
use server::error::{Error, Result};
use server::facts::database_dir::DatabaseDir;
use server::identifier::{TableName, quote_text};

impl Lock {
    /// Removes the tables that a killed load of this target left, by whichever way; gives their
    /// names. Files that the direct path left are removed where they can be reached. Does nothing
    /// the second time.
    ///
    /// Errors: [`Error::Leftover`] when the table put aside for empty is not, or when one with rows
    /// was put aside and the target has none; a lock that does not come.
    pub fn cleanup_tables(&mut self) -> Result<Vec<String>> {
        let mut removed = self.drop_leftovers()?;
        // Of another server than this, they are none of our business here.
        removed.extend(self.remove_files().unwrap_or_default());
        Ok(removed)
    }

    /// As [`Lock::cleanup_tables`], for a load that needs the names of the files.
    ///
    /// Errors: [`Error::InTheWay`] when something else has the name of a file of ours, since the
    /// server would remove it with the table.
    pub(super) fn cleanup_all(&mut self) -> Result<Vec<String>> {
        if let Some(dir) = self.folder.as_ref().map(|folder| folder.dir.clone()) {
            for path in self.file_paths(&dir) {
                dir.has(&path)?;
            }
            // What nobody but an intruder can have made: the server reads it as the place of the
            // table.
            let link = self.shadow_path(&dir, "isl");
            if dir.has(&link)? {
                let seen = "a file that would have the server put the table elsewhere".to_owned();
                return Err(Error::InTheWay { path: link, seen });
            }
        }
        let mut removed = self.drop_leftovers()?;
        removed.extend(self.remove_files()?);
        Ok(removed)
    }

    fn drop_leftovers(&mut self) -> Result<Vec<String>> {
        let mut removed = Vec::new();
        let Names { shadow, replaced, emptied, row_ids, .. } = Names::of(&self.table.name);
        let there = self.own_tables()?;
        if there.contains(&emptied) {
            self.drop_emptied()?;
            removed.push(format!("table {emptied}"));
        }
        if there.contains(&replaced) {
            self.check_replaced()?;
        }
        let twin = twin_prefix(&self.table.name);
        let dropped = |table: &&TableName| {
            [&shadow, &replaced, &row_ids].contains(table) || table.table.starts_with(&twin)
        };
        for table in there.iter().filter(dropped) {
            self.free_of_triggers(table)?;
            // A replica may never have had what a load without a log has left here.
            self.exec(&format!("DROP TABLE IF EXISTS {}", table.quoted()))?;
            removed.push(format!("table {table}"));
        }
        Ok(removed)
    }

    /// Drops the table that a swap took for empty, if it is.
    fn drop_emptied(&mut self) -> Result<()> {
        let (target, aside) = (self.table.name.clone(), self.names.emptied.clone());
        check_emptied(&mut self.session, &target, &aside)?;
        self.free_of_triggers(&aside)?;
        self.exec(&format!("DROP TABLE IF EXISTS {}", aside.quoted()))
    }

    /// The table that was put aside for new rows is of no use any more: the target has rows, or
    /// neither has any. A target without rows may be one that somebody has made anew since, and the
    /// rows of the other then are the only ones that are left.
    fn check_replaced(&mut self) -> Result<()> {
        let (target, aside) = (self.table.name.clone(), self.names.replaced.clone());
        if !self.is_empty()? || catalog::is_empty(&mut self.session, &aside)? {
            return Ok(());
        }
        Err(Error::Leftover(format!(
            "{target} has no rows, and {aside}, which a load had put aside for it, has: DROP TABLE {} \
             gives these up; to have them back, DROP TABLE {}, then RENAME TABLE {} TO {}",
            aside.quoted(),
            target.quoted(),
            aside.quoted(),
            target.quoted()
        )))
    }

    /// All tables that loads of this target have made, which has but one load at a time.
    fn own_tables(&mut self) -> Result<Vec<TableName>> {
        let database = self.table.name.database.clone();
        let sql = format!(
            "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA={} \
             AND TABLE_NAME LIKE {}",
            quote_text(&database),
            quote_text(&own_pattern(&self.table.name))
        );
        let rows = self.session.query(&sql)?;
        rows.iter().map(|row| Ok(TableName::new(database.as_str(), row.text(0)?))).collect()
    }

    /// The files, after the tables.
    fn remove_files(&mut self) -> Result<Vec<String>> {
        let (mut removed, mut failed) = (Vec::new(), Ok(()));
        let Some(folder) = &self.folder else { return Ok(removed) };
        let (dir, mut is_proven) = (folder.dir.clone(), folder.is_proven);
        for path in self.file_paths(&dir) {
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
        failed.map(|()| removed)
    }

    /// Every file of ours that a kill can leave.
    ///
    /// A server killed in DROP TABLE can come back without the table and with its file (seen on
    /// 10.11.19), which would stand in the way of the next swap.
    fn file_paths(&self, dir: &DatabaseDir) -> Vec<PathBuf> {
        let dropped = [&self.names.replaced, &self.names.emptied, &self.names.row_ids];
        let dropped = dropped.map(|name| dir.path.join(format!("{}.ibd", name.table)));
        let shadow = ["build", "cfg", "ibd"].map(|extension| self.shadow_path(dir, extension));
        shadow.into_iter().chain(dropped).collect()
    }

    /// Proves that the folder is this server's, before a file in it is removed: a folder of the
    /// same path on this machine can be another server's, with files of another running load.
    ///
    /// The server makes a table that is nothing but a description with a word of ours in it, and
    /// drops it again; the description has to come and to go here.
    ///
    /// Killed in it: a table under the name of that for row ids, which nothing else is to be told of.
    pub(super) fn prove_dir(&mut self, dir: &DatabaseDir) -> Result<()> {
        let word = format!("inrush {} {}", std::process::id(), self.session.id());
        let TableName { table: file, .. } = &self.names.row_ids;
        let path = dir.path.join(format!("{file}.frm"));
        let probe = self.names.row_ids.quoted();
        // What a killed load left of it.
        self.exec(&format!("DROP TABLE IF EXISTS {probe}"))?;
        let before = dir.has(&path)?;
        self.exec(&format!("CREATE TABLE {probe} (a INT) ENGINE=MEMORY COMMENT='{word}'"))?;
        let description = dir.read(&path, "description");
        self.exec(&format!("DROP TABLE {probe}"))?;
        let found = match description {
            Ok(bytes) => bytes.windows(word.len()).any(|bytes| bytes == word.as_bytes()),
            Err(Error::Io { source, .. }) if source.kind() == ErrorKind::NotFound => false,
            Err(e) => return Err(e),
        };
        if found && !before && !dir.is_taken(&path)? {
            self.folder_is_proven();
            return Ok(());
        }
        Err(self.elsewhere(&dir.path, "a table made by the server did not come and go there"))
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
            "{} on this machine is not that of the server, which runs on {}: {what}; run Inrush \
             where the server's files are",
            path.display(),
            self.facts.hostname
        );
        let reasons = vec![Unsupported::DataDirectory(detail)];
        Error::Unsupported { target: self.table.name.to_string(), reasons }
    }
}
