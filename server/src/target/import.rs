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

use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use disk::File;

use crate::catalog::{Table, definition, row_format_of};
use crate::error::{Error, Result, Unsupported};
use crate::facts::{DatabaseDir, READ_ONLY, ServerFacts, is_set};
use crate::identifier::{TableName, digest, filename, quote_name};
use crate::session::{Session, Warning};
use crate::target::checkpoint::Checkpoint;
use crate::target::recover::RECONNECT_WAIT;
use crate::target::twin::Twin;
use crate::target::waiting::{Patience, describe};

/// How long a table's lock is waited for, all attempts together.
pub const LOCK_WAIT: Duration = Duration::from_secs(60);
/// A predecessor that was killed may still hold its lock while the server ends its statement.
const BUSY_WAIT: Duration = Duration::from_secs(5);
/// Characters of the target's name in the names of ours: 64 less prefix and digest.
const NAME_CHARS: usize = 30;
/// Server errors of a table or a database that is not there.
const ER_GONE: [u16; 2] = [1146, 1049];
/// IMPORT's warning for an index it had to mark corrupt.
const ER_INDEX_CORRUPT: u16 = 1817;

/// How to treat a target.
#[derive(Clone, Debug)]
pub struct TargetOptions {
    /// How long a statement waits for locks, the swap in all its attempts; default [`LOCK_WAIT`].
    pub lock_wait: Duration,
    /// How long a server that went away is tried again; default [`RECONNECT_WAIT`].
    pub reconnect_wait: Duration,
    /// Gets a sentence whenever a lock is waited for; default nobody.
    pub told: Option<Sender<String>>,
    /// The server's data directory as this machine sees it; default as the server names it.
    pub datadir: Option<PathBuf>,
}

impl Default for TargetOptions {
    fn default() -> TargetOptions {
        let reconnect_wait = RECONNECT_WAIT;
        TargetOptions { lock_wait: LOCK_WAIT, reconnect_wait, told: None, datadir: None }
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
    /// Which portions of a load by statements are in.
    pub ledger: TableName,
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
            ledger: name("ledger"),
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
    /// What was noticed on the way and did not end the load: a connection made again.
    pub remarks: Vec<String>,
    pub(crate) patience: Patience,
    pub(crate) reconnect_wait: Duration,
    pub(crate) locked_at: Instant,
    /// Connected early, so that a full server cannot stop the swap: it holds the lock there.
    pub(crate) spare: Option<Session>,
    pub(crate) dir: Option<DatabaseDir>,
    /// Whether the folder is known to be this server's.
    proven: bool,
    /// Tablespace number of the exported template; None before [`Target::export_template`].
    space_id: Option<u32>,
    /// The file that was made to build in: no other load has removed it while it is there.
    pub(crate) built: Option<FileId>,
    /// Started by [`Target::discard`], waited for by [`Target::import`].
    pub(crate) checkpoint: Option<Checkpoint>,
    /// What is sent rows in the target's place; None on the direct path.
    pub(crate) twin: Option<Twin>,
    /// Whether rows go into the target itself: nothing else has to be there then.
    pub in_place: bool,
    /// Gets a row in the transaction that all rows go in with: it tells whether that was committed.
    pub(crate) mark: Option<TableName>,
}

/// Which file it is, whatever its name: device and inode.
pub(crate) type FileId = (u64, u64);

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
        let (wait, told) = (options.lock_wait, options.told.clone());
        let mut patience = Patience { target: name.clone(), wait, told };
        session.set_lock_wait(wait)?;
        let read = |session: &mut Session| Table::read(session, name);
        let table = match patience.watch(&mut session, read) {
            Err(Error::NoTable(missing)) => {
                return Err(missing_target(&mut session, name, missing));
            }
            table => table?,
        };
        patience.target = table.name.clone();
        let names = Names::of(&table.name);
        if !session.lock_name(&names.lock, BUSY_WAIT)? {
            let holder = session.lock_holder(&names.lock)?.unwrap_or(0);
            let who = describe(&mut session, holder);
            return Err(Error::Busy { target: table.name.to_string(), holder, who });
        }
        // Again, now that nobody else loads it.
        let table = patience.watch(&mut session, read)?;
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
        Ok(Target {
            session,
            table,
            facts,
            names,
            unsupported,
            remarks: Vec::new(),
            patience,
            reconnect_wait: options.reconnect_wait,
            locked_at: Instant::now(),
            spare: None,
            dir,
            proven: false,
            space_id: None,
            built: None,
            checkpoint: None,
            twin: None,
            in_place: false,
            mark: None,
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
    /// Errors: [`Error::Leftover`] when it is not empty; [`Error::InTheWay`] when something else
    /// has the name of a file of ours, since the server would remove it with the table; a lock
    /// that does not come.
    pub fn cleanup(&mut self) -> Result<Vec<String>> {
        if let Some(dir) = self.dir.clone() {
            for path in self.file_paths()? {
                dir.has(&path)?;
            }
            let link = self.link_path()?;
            if dir.has(&link)? {
                let seen = "a file that would have the server put the table elsewhere".to_owned();
                return Err(Error::InTheWay { path: link, seen });
            }
        }
        let mut removed = self.drop_leftovers()?;
        removed.extend(self.remove_files()?);
        Ok(removed)
    }

    /// The tables of [`Target::cleanup`].
    pub(crate) fn drop_leftovers(&mut self) -> Result<Vec<String>> {
        let mut removed = Vec::new();
        let Names { shadow, replaced, emptied, .. } = Names::of(&self.table.name);
        if Table::exists(&mut self.session, &emptied)? {
            self.drop_emptied()?;
            removed.push(format!("table {emptied}"));
        }
        let twins = self.twins()?;
        for table in [shadow, replaced].iter().chain(&twins) {
            if Table::exists(&mut self.session, table)? {
                self.exec(&format!("DROP TABLE {}", table.quoted()))?;
                removed.push(format!("table {table}"));
            }
        }
        Ok(removed)
    }

    /// The files of [`Target::cleanup`], after its tables.
    pub(crate) fn remove_files(&mut self) -> Result<Vec<String>> {
        let (mut removed, mut failed) = (Vec::new(), Ok(()));
        let Some(dir) = self.dir.clone() else { return Ok(removed) };
        for path in self.file_paths()? {
            if !dir.has(&path)? {
                continue;
            }
            if !self.proven {
                self.prove_dir(&dir)?;
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

    /// Whether the target has no row that this session can see.
    pub fn is_empty(&mut self) -> Result<bool> {
        let name = self.table.name.clone();
        self.patience.watch(&mut self.session, |session| Table::is_empty(session, &name))
    }

    /// Runs a statement that may wait for locks, on our tables or the target.
    pub(crate) fn exec(&mut self, sql: &str) -> Result<()> {
        let done = self.patience.watch(&mut self.session, |session| session.exec(sql).map(drop));
        done.map_err(|error| self.gone_meanwhile(error))
    }

    /// A statement that found a table no more says which one it was, and why that matters.
    pub(crate) fn gone_meanwhile(&mut self, error: Error) -> Error {
        if !error.errno().is_some_and(|errno| ER_GONE.contains(&errno)) {
            return error;
        }
        let target = self.table.name.clone();
        let detail = match Table::exists(&mut self.session, &target) {
            Ok(true) => format!("the load's own table, {}, was dropped", self.names.shadow),
            _ => "it was dropped or renamed, or its database was".to_owned(),
        };
        Error::Altered { target: target.to_string(), detail }
    }

    /// Proves that the folder is this server's, before a file in it is removed: a folder of the
    /// same path on this machine can be another server's, with files of another running load.
    ///
    /// The server makes a table that is nothing but a description with a word of ours in it, and
    /// drops it again; the description has to come and to go here.
    ///
    /// Killed in it: a table under the shadow's name.
    fn prove_dir(&mut self, dir: &DatabaseDir) -> Result<()> {
        let word = format!("inrush {} {}", std::process::id(), self.session.id());
        let shadow = self.names.shadow.quoted();
        let path = self.shadow_path("frm")?;
        let before = dir.has(&path)?;
        self.exec(&format!("CREATE TABLE {shadow} (a INT) ENGINE=MEMORY COMMENT='{word}'"))?;
        let description = std::fs::read(&path);
        self.exec(&format!("DROP TABLE {shadow}"))?;
        let found = match description {
            Ok(bytes) => bytes.windows(word.len()).any(|bytes| bytes == word.as_bytes()),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => false,
            Err(e) => return Err(Error::io("reading", &path, e)),
        };
        if found && !before && !path.exists() {
            self.proven = true;
            return Ok(());
        }
        Err(self.elsewhere(&dir.path, "a table made by the server did not come and go there"))
    }

    /// The error for a folder that is another server's.
    fn elsewhere(&self, path: &Path, what: &str) -> Error {
        let detail = format!(
            "{} on this machine is not that of the server, which runs on {}: {what}; run Inrush \
             where the server's files are",
            path.display(),
            self.facts.hostname
        );
        let reasons = vec![Unsupported::new("data directory", detail)];
        Error::Unsupported { target: self.table.name.to_string(), reasons }
    }

    /// Makes the empty twin. Grants are by name and need no copy; comments, options, keys and
    /// defaults are the server's to copy, and the two definitions are compared.
    ///
    /// Killed after it: an empty table `shadow`.
    pub fn create_shadow(&mut self) -> Result<()> {
        self.require_direct()?;
        let (shadow, target) = (self.names.shadow.clone(), self.table.name.clone());
        // The target may be one that strict mode would not make: with rows too wide for a page.
        self.exec(&format!(
            "SET STATEMENT innodb_strict_mode=0, sql_mode='ALLOW_INVALID_DATES' FOR CREATE TABLE {} LIKE {}",
            shadow.quoted(),
            target.quoted()
        ))?;
        if definition(&mut self.session, &shadow)? != self.table.definition {
            let detail = "CREATE TABLE .. LIKE made another table than it".to_owned();
            return Err(Error::Altered { target: target.to_string(), detail });
        }
        // Where the table does not say, the server's setting of today does.
        let (made, expected) = (row_format_of(&mut self.session, &shadow)?, self.table.row_format);
        if made != expected {
            let detail = format!(
                "the server makes {made:?} tables now, {target} is {expected:?}: set \
                 innodb_default_row_format, or give the table a ROW_FORMAT"
            );
            let reasons = vec![Unsupported::new("row format", detail)];
            return Err(Error::Unsupported { target: target.to_string(), reasons });
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
        let inside =
            format!("{}/{}\0", filename(&mut self.session, &shadow.database)?, shadow.table);
        let before = cfg_path.exists();
        self.exec(&format!("FLUSH TABLES {} FOR EXPORT", shadow.quoted()))?;
        let read =
            |path: &Path| disk::read(path, "template").map_err(|e| Error::io("reading", path, e));
        let files = read(&ibd_path).and_then(|ibd| Ok(Template { ibd, cfg: read(&cfg_path)? }));
        let shield = self.session.options().interrupt.shield();
        self.session.exec("UNLOCK TABLES")?;
        drop(shield);
        let elsewhere = |what: &str| self.elsewhere(&cfg_path, what);
        let template = match files {
            Err(Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
                return Err(elsewhere("the exported table did not appear there"));
            }
            files => files?,
        };
        if before || cfg_path.exists() {
            return Err(elsewhere("the exported description did not come and go"));
        }
        if !template.cfg.windows(inside.len()).any(|w| w == inside.as_bytes()) {
            return Err(elsewhere("it describes another table"));
        }
        self.space_id =
            space_id(&template.ibd[..]).map_err(|e| Error::io("reading", &ibd_path, e))?;
        self.proven = true;
        Ok(template)
    }

    /// Has the server forget the twin's empty file, and starts the checkpoint (see the module
    /// `checkpoint`) that must pass before [`Target::import`]; it goes on beside the build.
    ///
    /// Killed after it: a table without tablespace, which DROP TABLE removes.
    pub fn discard(&mut self) -> Result<()> {
        let shadow = self.names.shadow.quoted();
        self.exec(&format!("ALTER TABLE {shadow} DISCARD TABLESPACE"))?;
        let other = self.second()?;
        self.checkpoint = Some(Checkpoint::start(&mut self.session, other)?);
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
    pub fn create_build_file(&mut self) -> Result<File> {
        let path = self.build_path()?;
        let file = self.dir()?.create(&path, "space")?;
        let meta = file.metadata().map_err(|e| Error::io("reading", &path, e))?;
        self.built = Some((meta.dev(), meta.ino()));
        Ok(file)
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
    /// Errors: [`Error::ForeignFile`], [`Error::InTheWay`]; the file system's.
    pub fn place(&mut self, cfg: &[u8]) -> Result<()> {
        let dir = self.dir()?.clone();
        let build = self.build_path()?;
        let (ibd, cfg_path) = (self.shadow_path("ibd")?, self.shadow_path("cfg")?);
        let mut file = dir.open(&build, "space")?;
        let seen = space_id(&mut file).map_err(|e| Error::io("reading", &build, e))?;
        let expected = self.space_id;
        if seen.is_none() || seen != expected {
            let (seen, expected) = (seen.unwrap_or(0), expected.unwrap_or(0));
            return Err(Error::ForeignFile { path: build, seen, expected });
        }
        dir.hand_over(&file, &build)?;
        dir.write(&cfg_path, cfg, "cfg")?;
        dir.rename(&build, &ibd, "space")
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
        self.ensure_session()?;
        let second = match self.checkpoint.take().map(Checkpoint::wait) {
            Some(Ok(second)) => second,
            Some(Err(error @ Error::Checkpoint { .. })) => return Err(error),
            // Not known to have passed: its connection was lost, or the one before this.
            _ => {
                let other = self.second()?;
                Checkpoint::start(&mut self.session, other)?.wait()?
            }
        };
        self.spare = Some(second);
        self.check_writable()?;
        let shadow = self.names.shadow.quoted();
        let sql = format!("ALTER TABLE {shadow} IMPORT TABLESPACE");
        self.exec(&sql)?;
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

    /// Number of the second connection, which will hold the target's lock in the swap.
    pub fn second_connection(&self) -> Option<u64> {
        let checkpoint = self.checkpoint.as_ref().map(|checkpoint| checkpoint.connection);
        self.spare.as_ref().map(Session::id).or(checkpoint)
    }

    /// The folder of the target's database.
    pub fn dir(&self) -> Result<&DatabaseDir> {
        self.dir.as_ref().ok_or_else(|| Error::Unsupported {
            target: self.table.name.to_string(),
            reasons: self.unsupported.clone(),
        })
    }

    /// Nobody has made the server read-only meanwhile. An administrator's account could write all
    /// the same, and would where a server is about to be given up for another.
    pub(crate) fn check_writable(&mut self) -> Result<()> {
        for variable in READ_ONLY {
            let sql = format!("SELECT @@GLOBAL.{variable}");
            if self.session.query_text(&sql)?.is_some_and(|value| is_set(&value)) {
                let (target, variable) = (self.table.name.to_string(), variable.to_owned());
                return Err(Error::ReadOnly { target, variable });
            }
        }
        Ok(())
    }

    /// A file of the shadow. Its name is ASCII letters, digits and `_`: the same on disk.
    pub(crate) fn shadow_path(&self, extension: &str) -> Result<PathBuf> {
        Ok(self.dir()?.path.join(format!("{}.{extension}", self.names.shadow.table)))
    }

    /// What nobody but an intruder can have made: the server reads it as the place of the table.
    fn link_path(&self) -> Result<PathBuf> {
        self.shadow_path("isl")
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
