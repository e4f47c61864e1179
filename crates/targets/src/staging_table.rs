//! The server's steps of a direct load before its file is built: an empty table like the target.
//!
//! ```text
//! Direct::create_staging -> StagingTable::export_template -> Exported::discard -> Discarded
//!     -> (build) -> place -> import -> publish: see [`import`](super::import)
//! ```
//!
//! Between two steps the connections may go to another target: [`Direct::rest`] and what the last
//! step can be put aside as ([`Discarded::rest`], [`Building::rest`](super::import::Building::rest)).
//!
//! Each step says what it leaves behind when Inrush or the server is killed right after it. In
//! every case the target is untouched until the swap, and [`Direct::cleanup`] of the next run
//! removes the rest.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use innodb::page::FilHeader;
use locks::Mutex;

use crate::carried_triggers::try_out;
use crate::checkpoint::Checkpoint;
use crate::lock::Lock;
use server::error::{Error, Result};
use server::facts::CheckpointWay;
use server::facts::database_dir::DatabaseDir;
use server::facts::database_dir::FileId;
use server::filename::filename;
use server::identifier::TableName;
use server::version::Flavor;

/// The direct path into a locked target.
#[derive(Debug)]
pub struct Direct<'l> {
    /// The target.
    pub lock: &'l mut Lock,
    pub(super) made: DirectState,
}

/// State that outlives a failed step, until the load's tables and files are removed.
#[derive(Debug, Default)]
pub struct DirectState {
    /// The files that were made to build in.
    pub(super) built: Vec<(PathBuf, FileId)>,
    pub(super) log: Arc<LogWait>,
}

/// A wait for the redo log that several staging tables may share: what passes for one that was discarded
/// later has passed for those before.
#[derive(Debug, Default)]
pub struct LogWait {
    pub(super) state: Mutex<LogState>,
}

#[derive(Debug, Default)]
pub(super) enum LogState {
    /// Nothing is known, or not any more: the connection was lost.
    #[default]
    Unknown,
    /// Started behind a DISCARD, waited for by the import.
    Begun(Checkpoint),
    /// Nobody reads of it in the log any more.
    Passed,
}

/// An empty table as the server exports it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    /// The tablespace file.
    pub ibd: Vec<u8>,
    /// The description IMPORT wants beside it.
    pub cfg: Vec<u8>,
}

/// An empty table like the target, or like its partitions.
#[derive(Debug)]
pub struct StagingTable<'d> {
    /// The target.
    pub lock: &'d mut Lock,
    /// Its own name.
    pub(super) table: TableName,
    pub(super) dir: DatabaseDir,
    pub(super) made: &'d mut DirectState,
}

/// A staging table whose files were read.
#[derive(Debug)]
pub struct Exported<'d> {
    staging: StagingTable<'d>,
    space_id: Option<u32>,
}

/// A staging table that has no file any more.
#[derive(Debug)]
pub struct Discarded<'d> {
    pub(super) staging: StagingTable<'d>,
    /// Tablespace number of the exported template.
    pub(super) space_id: Option<u32>,
}

/// The same while nothing works at it.
#[derive(Clone, Debug)]
pub struct AtDiscarded {
    table: TableName,
    space_id: Option<u32>,
}

impl<'l> Direct<'l> {
    /// Nothing is done yet.
    pub fn new(lock: &'l mut Lock) -> Direct<'l> {
        Direct { lock, made: DirectState::default() }
    }

    /// Goes on with what was made before the connections went to other targets.
    pub fn resume(lock: &'l mut Lock, made: DirectState) -> Direct<'l> {
        Direct { lock, made }
    }

    /// Tables and files that the load made so far.
    pub fn rest(self) -> DirectState {
        self.made
    }

    /// The staging table whose file is discarded, again.
    ///
    /// Errors: the folder cannot be reached.
    pub fn discarded(&mut self, at: AtDiscarded) -> Result<Discarded<'_>> {
        let staging = self.staging(at.table)?;
        Ok(Discarded { staging, space_id: at.space_id })
    }

    pub(super) fn staging(&mut self, table: TableName) -> Result<StagingTable<'_>> {
        let dir = self.lock.dir()?.clone();
        Ok(StagingTable { lock: &mut *self.lock, table, dir, made: &mut self.made })
    }

    /// Removes what a killed run left; does nothing the second time. Gives what was removed.
    ///
    /// Errors: those of [`Lock::cleanup_tables`]; [`Error::InTheWay`] when something else has the
    /// name of a file of ours, since the server would remove it with the table.
    pub fn cleanup(&mut self) -> Result<Vec<String>> {
        self.lock.cleanup_all()
    }

    /// Makes the empty staging table. Grants are by name and need no copy; comments, options, keys and
    /// defaults are the server's to copy, and the two definitions are compared.
    ///
    /// Killed after it: an empty table `staging`.
    ///
    /// Errors: an error that names everything in the way of the direct path, if there is anything.
    pub fn create_staging(&mut self) -> Result<StagingTable<'_>> {
        let lock = &mut *self.lock;
        if !lock.unsupported.is_empty() {
            let (target, reasons) = (lock.table.name.to_string(), lock.unsupported.clone());
            return Err(Error::Unsupported { target, reasons });
        }
        let (staging, target) = (lock.names.staging.clone(), lock.table.name.to_string());
        if let Some(reason) = lock.copy_target()? {
            return Err(Error::Unsupported { target, reasons: vec![reason] });
        }
        if lock.session.version().flavor == Flavor::MySql && !lock.table.triggers.is_empty() {
            let table = lock.table.name.clone();
            lock.watched(|session| try_out(session, &table, &staging))?;
        }
        self.staging(staging)
    }

    /// Removes everything that a load which has failed made, over a new connection if need be.
    ///
    /// Errors: what could not be removed is left to the next load of the table.
    pub fn abandon(&mut self) -> Result<()> {
        let abandoned = self.lock.abandon_by(Lock::cleanup_all);
        if abandoned.is_err() && !self.lock.session.is_alive() {
            self.remove_build();
        }
        abandoned
    }

    /// Removes the unfinished files, which are ours whether or not the server can be asked.
    fn remove_build(&self) {
        let Ok(dir) = self.lock.dir() else { return };
        for (path, id) in &self.made.built {
            if dir.id(path) == Some(*id) {
                // The error that is reported is the server's; the next load tries again.
                let _ = dir.remove(path);
            }
        }
    }
}

impl<'d> StagingTable<'d> {
    /// Has the server write out the empty staging table and reads the two files.
    ///
    /// This also proves that the folder is the server's: the .cfg was not there before FLUSH
    /// TABLES, is there after it with the right name inside, and is gone after UNLOCK TABLES.
    ///
    /// Killed after it: as before it. A server killed within it may leave the .cfg.
    pub fn export_template(self) -> Result<(Template, Exported<'d>)> {
        let (ibd_path, cfg_path) = (self.path("ibd"), self.path("cfg"));
        let (lock, staging) = (&mut *self.lock, &self.table);
        let inside =
            format!("{}/{}\0", filename(&mut lock.session, &staging.database)?, staging.table);
        let before = self.dir.is_taken(&cfg_path)?;
        let template = lock.export(&self.dir, staging)?;
        let elsewhere = |what: &str| lock.elsewhere(&cfg_path, what);
        if before || self.dir.is_taken(&cfg_path)? {
            return Err(elsewhere("the exported .cfg file did not appear and disappear"));
        }
        if !template.cfg.windows(inside.len()).any(|w| w == inside.as_bytes()) {
            return Err(elsewhere("it describes a different table"));
        }
        let space_id =
            space_id(&template.ibd[..]).map_err(|e| Error::io("reading", &ibd_path, e))?;
        lock.folder_is_proven();
        Ok((template, Exported { staging: self, space_id }))
    }

    /// A file of the staging table.
    pub(super) fn path(&self, extension: &str) -> PathBuf {
        self.dir.path.join(format!("{}.{extension}", self.table.table))
    }
}

impl<'d> Exported<'d> {
    /// Has the server forget the staging table's empty file, and starts the checkpoint (see the module
    /// `checkpoint`) that must pass before IMPORT; it goes on beside the build.
    ///
    /// Killed after it: a table without tablespace, which DROP TABLE removes.
    pub fn discard(self) -> Result<Discarded<'d>> {
        let discarded = self.discard_only()?;
        discarded.staging.lock.begin_log_wait(&discarded.staging.made.log)?;
        Ok(discarded)
    }

    /// The same without the checkpoint, which [`Lock::begin_log_wait`] starts for several.
    pub fn discard_only(self) -> Result<Discarded<'d>> {
        let Exported { staging, space_id } = self;
        let name = staging.table.quoted();
        staging.lock.exec_without_clones(&format!("ALTER TABLE {name} DISCARD TABLESPACE"))?;
        Ok(Discarded { staging, space_id })
    }
}

impl Discarded<'_> {
    /// Puts it aside.
    pub fn rest(self) -> AtDiscarded {
        AtDiscarded { table: self.staging.table, space_id: self.space_id }
    }
}

impl DirectState {
    /// Nothing is made yet; `log` is waited for before the import.
    pub fn with_log(log: &Arc<LogWait>) -> DirectState {
        DirectState { built: Vec::new(), log: Arc::clone(log) }
    }
}

impl Lock {
    /// Starts the checkpoint that must pass before what was discarded so far is imported.
    pub fn begin_log_wait(&mut self, log: &LogWait) -> Result<()> {
        let state = match self.facts.checkpoint {
            Some(CheckpointWay::Import) => LogState::Passed,
            _ => LogState::Begun(self.begin_checkpoint()?),
        };
        log.set(state);
        Ok(())
    }

    pub(super) fn begin_checkpoint(&mut self) -> Result<Checkpoint> {
        let other = self.second()?;
        // Without a way the direct path is refused.
        let way = self.facts.checkpoint.unwrap_or(CheckpointWay::Statement);
        Checkpoint::start(&mut self.session, other, way)
    }

    /// Has the server write out a table of ours, and reads the two files.
    pub(super) fn export(&mut self, dir: &DatabaseDir, table: &TableName) -> Result<Template> {
        let path = |extension: &str| dir.path.join(format!("{}.{extension}", table.table));
        let (ibd, cfg) = (path("ibd"), path("cfg"));
        self.write_out(table)?;
        let read = |path: &Path| dir.read(path, "template");
        let files = read(&ibd).and_then(|ibd| Ok(Template { ibd, cfg: read(&cfg)? }));
        let shield = self.session.options().interrupt.shield();
        self.session.exec("UNLOCK TABLES")?;
        drop(shield);
        match files {
            Err(Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
                Err(self.elsewhere(&cfg, "the exported table did not appear there"))
            }
            files => files,
        }
    }
}

impl LogWait {
    pub(super) fn take(&self) -> LogState {
        std::mem::take(&mut *self.state.lock())
    }

    pub(super) fn set(&self, state: LogState) {
        *self.state.lock() = state;
    }
}

/// The tablespace number in the header of a file's first page; None when the file is shorter.
pub(super) fn space_id(mut file: impl Read) -> std::io::Result<Option<u32>> {
    let mut header = [0; size_of::<FilHeader>()];
    match file.read_exact(&mut header) {
        Err(e) if e.kind() == std::io::ErrorKind::UnexpectedEof => return Ok(None),
        read => read?,
    }
    Ok(FilHeader::parse(&header).map(|header| header.space_id.get()))
}
