//! The server's steps of a direct load, from an empty twin of the target to a filled one.
//!
//! ```text
//! lock -> cleanup -> create_shadow -> export_template -> discard -> (build) -> place -> import
//!                                                                   -> publish::swap -> drop_old
//! ```
//!
//! Each step says what it leaves behind when Inrush or the server is killed right after it. In
//! every case the target is untouched until the swap, and [`Target::cleanup`] of the next run
//! removes the rest. All names of ours start with `_inrush_` and hold a digest of the target's
//! full name, so that nothing of anyone else's is ever taken for a leftover.

use std::fs::{self, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use disk::File;

use crate::catalog::{Table, definition};
use crate::checkpoint::Checkpoint;
use crate::error::{Error, Result, Unsupported};
use crate::facts::{DatabaseDir, ServerFacts};
use crate::identifier::{TableName, digest, filename, quote_name};
use crate::session::{Session, Warning};

/// How long a table's lock is waited for, all attempts together.
pub const LOCK_WAIT: Duration = Duration::from_secs(60);
/// A predecessor that was killed may still hold its lock while the server ends its statement.
const BUSY_WAIT: Duration = Duration::from_secs(5);
/// Characters of the target's name in the names of ours: 64 less prefix and digest.
const NAME_CHARS: usize = 30;
/// Mode of our file until it is handed to the server.
const BUILD_MODE: u32 = 0o600;
/// IMPORT's warning for an index it had to mark corrupt.
const ER_INDEX_CORRUPT: u16 = 1817;

/// How to treat a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetOptions {
    /// How long to wait for the target's metadata lock; default [`LOCK_WAIT`].
    pub lock_wait: Duration,
    /// The server's data directory as this machine sees it; default as the server names it.
    pub datadir: Option<PathBuf>,
}

impl Default for TargetOptions {
    fn default() -> TargetOptions {
        TargetOptions { lock_wait: LOCK_WAIT, datadir: None }
    }
}

/// Names of one load's helpers, derived from the target's name alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names {
    /// The twin that is built and swapped in.
    pub shadow: TableName,
    /// What the target becomes in the swap when its rows are replaced.
    pub replaced: TableName,
    /// What the target becomes in the swap when it was empty.
    pub emptied: TableName,
    /// The server's named lock.
    pub lock: String,
}

impl Names {
    /// The names for a target.
    pub fn of(target: &TableName) -> Names {
        let digest = digest(format!("{}\0{}", target.database, target.table).as_bytes());
        let plain: String = target
            .table
            .chars()
            .flat_map(char::to_lowercase)
            .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
            .take(NAME_CHARS)
            .collect();
        let name = |kind: &str| {
            let table = format!("_inrush_{kind}_{digest:016x}_{plain}");
            TableName::new(target.database.clone(), table)
        };
        Names {
            shadow: name("new"),
            replaced: name("old"),
            emptied: name("empty"),
            lock: format!("inrush_{digest:016x}"),
        }
    }
}

/// A target that no other load can touch, with the session that holds it.
#[derive(Debug)]
pub struct Target {
    /// The session all statements go through; its end releases the target.
    pub session: Session,
    /// The target as it was when it was locked.
    pub table: Table,
    /// The server as it was then.
    pub facts: ServerFacts,
    /// Names of our helpers.
    pub names: Names,
    /// Everything that keeps the direct path from this target: table, server, data directory.
    pub unsupported: Vec<Unsupported>,
    pub(crate) lock_wait: Duration,
    dir: Option<DatabaseDir>,
    /// Tablespace number of the exported template; None before [`Target::export_template`].
    space_id: Option<u32>,
    /// Started by [`Target::discard`], waited for by [`Target::import`].
    checkpoint: Option<Checkpoint>,
}

/// An empty table as the server exports it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    /// The tablespace file.
    pub ibd: Vec<u8>,
    /// The description IMPORT wants beside it.
    pub cfg: Vec<u8>,
}

impl Target {
    /// Takes the target and describes it: table, server, folder.
    ///
    /// Two loads of one table exclude each other by a named lock of the server, which also holds
    /// between machines and is released when the session ends, however it ends.
    /// Changes nothing; killed after it: nothing is left.
    ///
    /// Errors: [`Error::Busy`], [`Error::NoTable`]; [`Error::Leftover`] when the table is missing
    /// but one that a swap had put aside exists.
    pub fn lock(mut session: Session, name: &TableName, options: &TargetOptions) -> Result<Target> {
        let table = match Table::read(&mut session, name) {
            Err(Error::NoTable(missing)) => {
                return Err(missing_target(&mut session, name, missing));
            }
            table => table?,
        };
        let names = Names::of(&table.name);
        if !session.lock_name(&names.lock, BUSY_WAIT)? {
            let holder = session.lock_holder(&names.lock)?.unwrap_or(0);
            return Err(Error::Busy { target: table.name.to_string(), holder });
        }
        // Again, now that nobody else loads it.
        let table = Table::read(&mut session, &table.name)?;
        let facts = ServerFacts::read(&mut session)?;
        let mut unsupported = table.unsupported.clone();
        unsupported.extend(facts.unsupported(&table.name.database));
        if table.columns.iter().any(|column| column.auto_increment) {
            unsupported.extend(facts.unsupported_step());
        }
        let datadir = options.datadir.as_deref();
        let dir = match facts.database_dir(&mut session, &table.name.database, datadir)? {
            Ok(dir) => Some(dir),
            Err(reason) => {
                unsupported.push(reason);
                None
            }
        };
        session.set_lock_wait(options.lock_wait)?;
        let lock_wait = options.lock_wait;
        Ok(Target {
            session,
            table,
            facts,
            names,
            unsupported,
            lock_wait,
            dir,
            space_id: None,
            checkpoint: None,
        })
    }

    /// An error that names everything in the way of the direct path, if there is anything.
    pub fn require_direct(&self) -> Result<()> {
        if self.unsupported.is_empty() {
            return Ok(());
        }
        let (target, reasons) = (self.table.name.to_string(), self.unsupported.clone());
        Err(Error::Unsupported { target, reasons })
    }

    /// Removes what a killed run left; does nothing the second time. Gives what was removed.
    ///
    /// A shadow in whatever state was never published: it is dropped, its files with it. A table
    /// put aside by a finished swap is dropped too: the target is the new table then. The table
    /// put aside by a swap that took the target for empty is dropped only if it is empty.
    ///
    /// Errors: [`Error::Leftover`] when it is not empty; a lock that does not come.
    pub fn cleanup(&mut self) -> Result<Vec<String>> {
        let mut removed = Vec::new();
        let mut failed = Ok(());
        let Names { shadow, replaced, emptied, .. } = self.names.clone();
        if Table::exists(&mut self.session, &emptied)? {
            self.drop_emptied()?;
            removed.push(format!("table {emptied}"));
        }
        for table in [&shadow, &replaced] {
            if Table::exists(&mut self.session, table)? {
                self.session.exec(&format!("DROP TABLE {}", table.quoted()))?;
                removed.push(format!("table {table}"));
            }
        }
        for path in self.file_paths()? {
            match disk::remove(&path, "leftover") {
                Ok(true) => removed.push(path.display().to_string()),
                Ok(false) => {}
                // The others go all the same.
                Err(e) => failed = failed.and(Err(Error::io("removing", &path, e))),
            }
        }
        failed.map(|()| removed)
    }

    /// Makes the empty twin. Grants are by name and need no copy; comments, options, keys and
    /// defaults are the server's to copy, and the two definitions are compared.
    ///
    /// Killed after it: an empty table `shadow`.
    pub fn create_shadow(&mut self) -> Result<()> {
        self.require_direct()?;
        let (shadow, target) = (self.names.shadow.clone(), self.table.name.clone());
        // The target may be one that strict mode would not make: with rows too wide for a page.
        self.session.exec(&format!(
            "SET STATEMENT innodb_strict_mode=0 FOR CREATE TABLE {} LIKE {}",
            shadow.quoted(),
            target.quoted()
        ))?;
        if definition(&mut self.session, &shadow)? != self.table.definition {
            let detail = "CREATE TABLE .. LIKE made another table than it".to_owned();
            return Err(Error::Altered { target: target.to_string(), detail });
        }
        Ok(())
    }

    /// Has the server write out the empty twin and reads the two files.
    ///
    /// This also proves that the folder is the server's: the .cfg was not there before FLUSH
    /// TABLES, is there after it with the right name inside, and is gone after UNLOCK TABLES.
    ///
    /// Killed after it: as before it. A server killed within it may leave the .cfg.
    pub fn export_template(&mut self) -> Result<Template> {
        let shadow = self.names.shadow.clone();
        let (ibd_path, cfg_path) = (self.shadow_path("ibd")?, self.shadow_path("cfg")?);
        let before = cfg_path.exists();
        self.session.exec(&format!("FLUSH TABLES {} FOR EXPORT", shadow.quoted()))?;
        let read =
            |path: &Path| disk::read(path, "template").map_err(|e| Error::io("reading", path, e));
        let files = read(&ibd_path).and_then(|ibd| Ok(Template { ibd, cfg: read(&cfg_path)? }));
        self.session.exec("UNLOCK TABLES")?;
        let elsewhere = |what: &str| {
            let detail = format!("{} is not this server's: {what}", cfg_path.display());
            let reasons = vec![Unsupported::new("data directory", detail)];
            Error::Unsupported { target: self.table.name.to_string(), reasons }
        };
        let template = match files {
            Err(Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
                return Err(elsewhere("the exported table did not appear there"));
            }
            files => files?,
        };
        if before || cfg_path.exists() {
            return Err(elsewhere("the exported description did not come and go"));
        }
        let inside =
            format!("{}/{}\0", filename(&mut self.session, &shadow.database)?, shadow.table);
        if !template.cfg.windows(inside.len()).any(|w| w == inside.as_bytes()) {
            return Err(elsewhere("it describes another table"));
        }
        self.space_id =
            space_id(&template.ibd[..]).map_err(|e| Error::io("reading", &ibd_path, e))?;
        Ok(template)
    }

    /// Has the server forget the twin's empty file, and starts the checkpoint (see the module
    /// `checkpoint`) that must pass before [`Target::import`]; it goes on beside the build.
    ///
    /// Killed after it: a table without tablespace, which DROP TABLE removes.
    pub fn discard(&mut self) -> Result<()> {
        let shadow = self.names.shadow.quoted();
        self.session.exec(&format!("ALTER TABLE {shadow} DISCARD TABLESPACE"))?;
        self.checkpoint = Some(Checkpoint::start(&mut self.session)?);
        Ok(())
    }

    /// Where the file is built: beside its place, so that a rename brings it there, under a name
    /// the server does not look at.
    pub fn build_path(&self) -> Result<PathBuf> {
        self.shadow_path("build")
    }

    /// Makes the empty file to build in. Ours alone (mode 0600) until [`Target::place`].
    ///
    /// Killed after it: the file.
    pub fn create_build_file(&self) -> Result<File> {
        let path = self.build_path()?;
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true).mode(BUILD_MODE);
        disk::open(&options, &path, "space").map_err(|e| Error::io("making", &path, e))
    }

    /// Puts the built file and its description where IMPORT looks, owned as the server's own
    /// files and durable: contents first, then the names.
    ///
    /// A server that crashes while a file of another tablespace's number lies under this name
    /// does not start again (its log still names the file: "Recovery cannot access file", seen
    /// on 10.11.19), so the number is compared with the template's first.
    ///
    /// Killed after it: both files beside a table without tablespace.
    ///
    /// Errors: [`Error::ForeignFile`]; the file system's.
    pub fn place(&mut self, cfg: &[u8]) -> Result<()> {
        let dir = self.dir()?.clone();
        let build = self.build_path()?;
        let (ibd, cfg_path) = (self.shadow_path("ibd")?, self.shadow_path("cfg")?);
        let mut file = disk::open(OpenOptions::new().read(true), &build, "space")
            .map_err(|e| Error::io("opening", &build, e))?;
        let seen = space_id(&mut file).map_err(|e| Error::io("reading", &build, e))?;
        let expected = self.space_id;
        if seen.is_none() || seen != expected {
            let (seen, expected) = (seen.unwrap_or(0), expected.unwrap_or(0));
            return Err(Error::ForeignFile { path: build, seen, expected });
        }
        hand_over(&file, &build, &dir)?;
        file.sync_all().map_err(|e| Error::io("syncing", &build, e))?;
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(BUILD_MODE);
        let mut description = disk::open(&options, &cfg_path, "cfg")
            .map_err(|e| Error::io("making", &cfg_path, e))?;
        description.write_all(cfg).map_err(|e| Error::io("writing", &cfg_path, e))?;
        hand_over(&description, &cfg_path, &dir)?;
        description.sync_all().map_err(|e| Error::io("syncing", &cfg_path, e))?;
        disk::rename(&build, &ibd, "space").map_err(|e| Error::io("renaming", &build, e))?;
        disk::sync_folder(&dir.path, "folder").map_err(|e| Error::io("syncing", &dir.path, e))
    }

    /// Has the server adopt the placed file, and removes the description it no longer needs.
    /// Gives the server's warnings.
    ///
    /// Waits for the checkpoint that [`Target::discard`] started.
    ///
    /// Killed after it: a filled table `shadow`. A server killed within it: still a table without
    /// tablespace. On an error the table is without tablespace too.
    ///
    /// Errors: the server's; an index it marked corrupt.
    pub fn import(&mut self) -> Result<Vec<Warning>> {
        match self.checkpoint.take() {
            Some(checkpoint) => checkpoint.wait()?,
            // Discarded by an earlier run: its checkpoint is not known to have passed.
            None => Checkpoint::start(&mut self.session)?.wait()?,
        }
        let shadow = self.names.shadow.quoted();
        let sql = format!("ALTER TABLE {shadow} IMPORT TABLESPACE");
        self.session.exec(&sql)?;
        let warnings = self.session.warnings()?;
        let cfg = self.shadow_path("cfg")?;
        disk::remove(&cfg, "cfg").map_err(|e| Error::io("removing", &cfg, e))?;
        match warnings.iter().find(|w| w.errno == ER_INDEX_CORRUPT || w.level == "Error") {
            Some(bad) => Err(Error::Statement {
                errno: bad.errno,
                sqlstate: "HY000".to_owned(),
                message: bad.message.clone(),
                statement: sql,
            }),
            None => Ok(warnings),
        }
    }

    /// Reads the first and the last entry of each index of the shadow, as the server sees it.
    ///
    /// IMPORT takes an index it cannot place for an empty one and says so in its log only; this
    /// is where it shows. Rows are not counted: the file's were, in every index, and a scan takes
    /// the server as long as the import (1.0 s for 6 million rows).
    ///
    /// Errors: [`Error::Count`] when an index has entries and the table was built empty, or none
    /// and it was not.
    pub fn check_indexes(&mut self, expected: u64) -> Result<()> {
        let shadow = self.names.shadow.clone();
        self.session.exec(&format!("HANDLER {} OPEN AS imported", shadow.quoted()))?;
        let mut reads = vec!["FIRST".to_owned()];
        for index in &self.table.indexes {
            let name = quote_name(&index.name);
            reads.extend([format!("{name} FIRST"), format!("{name} LAST")]);
        }
        let mut found = Ok(());
        for read in reads {
            let entries =
                self.session.query(&format!("HANDLER imported READ {read}"))?.len() as u64;
            if entries != expected.min(1) && found.is_ok() {
                let table = format!("{shadow} read by {read}");
                found = Err(Error::Count { table, found: entries, expected });
            }
        }
        self.session.exec("HANDLER imported CLOSE")?;
        found
    }

    /// The folder of the target's database.
    pub fn dir(&self) -> Result<&DatabaseDir> {
        self.dir.as_ref().ok_or_else(|| Error::Unsupported {
            target: self.table.name.to_string(),
            reasons: self.unsupported.clone(),
        })
    }

    /// A file of the shadow. Its name is ASCII letters, digits and `_`: the same on disk.
    fn shadow_path(&self, extension: &str) -> Result<PathBuf> {
        Ok(self.dir()?.path.join(format!("{}.{extension}", self.names.shadow.table)))
    }

    /// Every file of ours that a kill can leave; none when the folder cannot be reached.
    ///
    /// A server killed in DROP TABLE can come back without the table and with its file (seen on
    /// 10.11.19), which would stand in the way of the next swap.
    fn file_paths(&self) -> Result<Vec<PathBuf>> {
        let Some(dir) = &self.dir else { return Ok(Vec::new()) };
        let aside = [&self.names.replaced, &self.names.emptied];
        let aside = aside.map(|name| dir.path.join(format!("{}.ibd", name.table)));
        let shadow = ["build", "cfg", "ibd"].map(|extension| self.shadow_path(extension));
        shadow.into_iter().chain(aside.map(Ok)).collect()
    }
}

/// The tablespace number in the header of a file's first page; None when the file is shorter.
/// Source: MariaDB 10.11, fil0fil.h, FIL_PAGE_SPACE_ID.
fn space_id(mut file: impl Read) -> std::io::Result<Option<u32>> {
    let mut header = [0; 38];
    match file.read_exact(&mut header) {
        Err(e) if e.kind() == std::io::ErrorKind::UnexpectedEof => return Ok(None),
        read => read?,
    }
    Ok(header[34..].first_chunk().map(|bytes| u32::from_be_bytes(*bytes)))
}

/// Gives a file the owner of the database's folder and the mode of the server's own files there.
fn hand_over(file: &File, path: &Path, dir: &DatabaseDir) -> Result<()> {
    const SERVER_MODE: u32 = 0o660;
    let meta = file.metadata().map_err(|e| Error::io("reading", path, e))?;
    if (meta.uid(), meta.gid()) != (dir.uid, dir.gid) {
        // Only root may give files away; a server run by us owns its folder as we do.
        std::os::unix::fs::fchown(file, Some(dir.uid), Some(dir.gid))
            .map_err(|e| Error::io("giving the server", path, e))?;
    }
    file.set_permissions(fs::Permissions::from_mode(SERVER_MODE))
        .map_err(|e| Error::io("opening to the server", path, e))
}

/// Why the target is missing: never there, or put aside by a swap that was not atomic.
fn missing_target(session: &mut Session, name: &TableName, missing: String) -> Error {
    let names = Names::of(name);
    for aside in [&names.replaced, &names.emptied] {
        match Table::exists(session, aside) {
            Ok(true) => {
                return Error::Leftover(format!(
                    "table {missing} does not exist, but {aside}, which a load had put aside for \
                     it, does: RENAME TABLE {} TO {} brings it back, DROP TABLE gives it up",
                    aside.quoted(),
                    name.quoted()
                ));
            }
            Ok(false) => {}
            Err(e) => return e,
        }
    }
    Error::NoTable(missing)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_helpers_fit_and_differ() {
        let long = TableName::new("d", "\u{65e5}".repeat(64));
        let names = Names::of(&long);
        for name in [&names.shadow, &names.replaced, &names.emptied] {
            assert!(name.table.chars().count() <= 64 && name.table.is_ascii(), "{name}");
            assert!(name.table.starts_with("_inrush_"));
        }
        assert_ne!(names.shadow, Names::of(&TableName::new("d", "\u{65e6}".repeat(64))).shadow);
        // A dot more or less on either side is another table.
        assert_ne!(
            Names::of(&TableName::new("a", "b.c")).lock,
            Names::of(&TableName::new("a.b", "c")).lock
        );
        assert_eq!(Names::of(&TableName::new("d", "Line-Item")).shadow.table.len(), 38);
    }
}
