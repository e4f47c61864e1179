//! The server's steps of a direct load after its file is built: the file becomes the staging table's.
//!
//! ```text
//! Discarded::create_build_file -> Building (the file is built) -> Building::place -> Placed
//!     -> Placed::import -> Imported::check_indexes -> Imported::filled -> publish
//! ```
//!
//! Each step says what it leaves behind when Inrush or the server is killed right after it.

use std::fs::OpenOptions;
use std::io;
use std::path::{Path, PathBuf};

use disk::File;
use innodb::ids::PAGE_SIZE;
use innodb::space_format::SpaceFormat;

use crate::built_file::BuiltFile;
use crate::lock::Lock;
use crate::log_wait::wait_for_log;
use crate::publish::Filled;
use crate::staging_table::{Direct, Discarded, LogState, StagingTable, space_id};
use schema::TableName;
use server::error::{Error, Result};
use server::facts::database_dir::FileId;
use server::identifier::quote_name;
use server::interrupt::Interrupt;
use server::session::Warning;
use server::version::Flavor;

/// IMPORT's warning for an index it had to mark corrupt.
const ER_INDEX_CORRUPT: u16 = 1817;
/// IMPORT's warning for a `.cfg` file that it cannot open, and goes on without.
const ER_IO_READ_ERROR: u16 = 1810;
/// Words of IMPORT's errors for a `.ibd` file that it cannot open: a generic error of the engine on MariaDB 10.11.19,
/// and those of MySQL 9.7.4.
const NOT_OPENED: [&str; 2] = ["Got error 168 ", "Tablespace not found"];

/// Bytes of a file that are copied at once.
const COPY_BYTES: usize = 1 << 20;

/// A staging table without a file, and the file that is built for it.
#[derive(Debug)]
pub struct Building<'d> {
    staging: StagingTable<'d>,
    file: BuiltFile,
    space_id: Option<u32>,
}

/// The same while nothing works at it.
#[derive(Debug)]
pub struct AtBuilt {
    table: TableName,
    file: BuiltFile,
    space_id: Option<u32>,
}

/// A staging table whose file lies where IMPORT looks.
#[derive(Debug)]
pub struct Placed<'d> {
    building: Building<'d>,
}

/// A staging table with all rows.
#[derive(Debug)]
pub struct Imported<'d> {
    pub(super) staging: StagingTable<'d>,
    pub(super) file: BuiltFile,
    /// The server's, of the IMPORT.
    pub warnings: Vec<Warning>,
    /// Largest hidden row id, of a table that has them for its key.
    row_id_max: Option<u64>,
}

impl<'d> Discarded<'d> {
    /// Makes the empty file to build in, beside its place, under a name the server does not look
    /// at. Ours alone (mode 0600) until [`Building::place`].
    ///
    /// Killed after it: the file.
    pub fn create_build_file(self) -> Result<(File, Building<'d>)> {
        let Discarded { staging, space_id } = self;
        let path = staging.path("build");
        let file = staging.dir.create(&path, "space")?;
        let stat = rustix::fs::fstat(&file).map_err(|e| Error::io("reading", &path, e.into()))?;
        let id = FileId::of(&stat);
        staging.made.built.push((path.clone(), id));
        let built = BuiltFile { id, paths: [path, staging.path("ibd")] };
        Ok((file, Building { staging, file: built, space_id }))
    }
}

impl<'d> Discarded<'d> {
    /// Copies the file that is built for another server's staging table of the same shape, and is not placed
    /// there yet. The tablespace's number becomes this one's where the server looks for it before IMPORT.
    ///
    /// Killed after it, or in it: the file.
    ///
    /// Errors: the file system's; somebody wants the end.
    pub fn create_copy(self, built: &Path, interrupt: &Interrupt) -> Result<Building<'d>> {
        let space_id = self.space_id.unwrap_or(0);
        let (file, building) = self.create_build_file()?;
        let path = building.path();
        let reading = |e| Error::io("reading", built, e);
        let writing = |e| Error::io("writing", &path, e);
        let source = disk::open(OpenOptions::new().read(true), built, "space").map_err(reading)?;
        let bytes = source.metadata().map_err(reading)?.len();
        file.allocate(bytes).map_err(writing)?;
        let mut piece = vec![0; COPY_BYTES];
        let (mut offset, mut format) = (0, None);
        while offset < bytes {
            interrupt.check()?;
            piece.truncate(usize::try_from(bytes - offset).unwrap_or(COPY_BYTES).min(COPY_BYTES));
            source.read_exact_at(&mut piece, offset).map_err(reading)?;
            renumber(&mut piece, &mut format, space_id, built)?;
            file.write_all_at(&piece, offset).map_err(writing)?;
            offset += piece.len() as u64;
        }
        Ok(building)
    }
}

impl Direct<'_> {
    /// The staging table whose file is built, again.
    ///
    /// Errors: the folder cannot be reached.
    pub fn building(&mut self, at: AtBuilt) -> Result<Building<'_>> {
        let AtBuilt { table, file, space_id } = at;
        Ok(Building { staging: self.staging(table)?, file, space_id })
    }
}

impl AtBuilt {
    /// The same for a table that has got this tablespace number since.
    pub(super) fn numbered(self, space_id: Option<u32>) -> AtBuilt {
        AtBuilt { space_id, ..self }
    }

    /// Gives the file, which was built by the template of another table, the number of this one's
    /// tablespace where the server looks for it before IMPORT.
    ///
    /// Errors: the file system's.
    pub fn renumber(&self, file: &File) -> Result<()> {
        let [path, _] = &self.file.paths;
        let reading = |e| Error::io("reading", path, e);
        let bytes = file.metadata().map_err(reading)?.len();
        let mut piece = vec![0; PAGE_SIZE];
        let (mut offset, mut format) = (0, None);
        while offset < bytes {
            file.read_exact_at(&mut piece, offset).map_err(reading)?;
            renumber(&mut piece, &mut format, self.space_id.unwrap_or(0), path)?;
            file.write_all_at(&piece, offset).map_err(|e| Error::io("writing", path, e))?;
            if !format.is_some_and(SpaceFormat::is_numbered_throughout) {
                break;
            }
            offset += piece.len() as u64;
            piece.resize(usize::try_from(bytes - offset).unwrap_or(COPY_BYTES).min(COPY_BYTES), 0);
        }
        Ok(())
    }
}

/// Gives the pages of a piece of the file at `path` the number of another tablespace, where the server looks for it
/// before IMPORT, which writes it into all pages. The first piece tells the format.
fn renumber(
    piece: &mut [u8],
    format: &mut Option<SpaceFormat>,
    space_id: u32,
    path: &Path,
) -> Result<()> {
    let (pages, _) = piece.as_chunks_mut::<PAGE_SIZE>();
    for page in pages {
        match format {
            Some(format) => format.renumber_other(page, space_id),
            None => {
                let found = innodb::space_format::renumber(page, space_id);
                let found = found.map_err(|e| Error::io("reading", path, io::Error::other(e)));
                *format = Some(found?);
            }
        }
    }
    Ok(())
}

impl<'d> Building<'d> {
    /// Puts it aside.
    pub fn rest(self) -> AtBuilt {
        AtBuilt { table: self.staging.table, file: self.file, space_id: self.space_id }
    }

    /// Where the file is built.
    pub fn path(&self) -> PathBuf {
        self.staging.path("build")
    }

    /// Sees to it that the session works, before a step that needs it. One that was lost while
    /// nothing was asked of it is made again, if what was built is still there.
    ///
    /// Errors: [`Error::Overtaken`], [`Error::Busy`]; a server that cannot be reached.
    pub fn ensure_session(&mut self) -> Result<()> {
        let (file, dir) = (&self.file, &self.staging.dir);
        let is_there = |lock: &mut Lock| file.is_still_there(&mut lock.session, dir, &lock.table);
        if self.staging.lock.ensure_session_if(is_there)? {
            self.staging.made.log.set(LogState::Unknown);
        }
        Ok(())
    }

    /// Waits until nobody reads of the DISCARD in the redo log any more: not the server after a
    /// crash, since the checkpoint that
    /// [`Exported::discard`](super::staging_table::Exported::discard) started has passed, and no backup.
    fn wait_for_log(&mut self) -> Result<()> {
        self.ensure_session()?;
        let StagingTable { lock, dir, made, .. } = &mut self.staging;
        wait_for_log(lock, dir, made)
    }

    /// Puts the built file and its description where IMPORT looks, owned as the server's own files.
    /// The names are durable then, the contents are not: IMPORT reads and writes the file in the
    /// page cache and syncs it before its table is there, and until then no table needs it.
    /// Backups that are under way are waited for: see the module `backup`.
    ///
    /// A server that crashes while a file of another tablespace's number lies under this name
    /// does not start again (its log still names the file: "Recovery cannot access file", seen
    /// on 10.11.19), so the number is compared with the template's first.
    ///
    /// Killed after it: both files beside a table without tablespace; after a power cut, with
    /// anything in them.
    ///
    /// Errors: [`Error::ForeignFile`], [`Error::InTheWay`]; the file system's.
    pub fn place(mut self, cfg: &[u8]) -> Result<Placed<'d>> {
        self.wait_for_log()?;
        let dir = &self.staging.dir;
        let build = self.path();
        let (ibd, cfg_path) = (self.staging.path("ibd"), self.staging.path("cfg"));
        let mut file = dir.open(&build, "space")?;
        let seen = space_id(&mut file).map_err(|e| Error::io("reading", &build, e))?;
        let expected = self.space_id;
        if seen.is_none() || seen != expected {
            let (seen, expected) = (seen.unwrap_or(0), expected.unwrap_or(0));
            return Err(Error::ForeignFile { path: build, seen, expected });
        }
        dir.hand_over(&file, &build)?;
        dir.write(&cfg_path, cfg, "cfg")?;
        dir.rename(&build, &ibd, "space")?;
        Ok(Placed { building: self })
    }
}

impl<'d> Placed<'d> {
    /// Has the server adopt the placed file, and removes the description it no longer needs.
    /// `row_id_max` is the largest hidden row id in it, of a table that has them for its key: the
    /// rows that come later get larger ones (see the module `row_ids`).
    ///
    /// Killed after it: a filled table `staging`. A server killed within it: still a table without
    /// tablespace. On an error the table is without tablespace too.
    ///
    /// Errors: the server's; an index it marked corrupt.
    pub fn import(mut self, row_id_max: Option<u64>) -> Result<Imported<'d>> {
        self.building.wait_for_log()?;
        let Building { staging, file, .. } = self.building;
        let paths = ["cfg", "ibd"].map(|end| staging.path(end));
        let lock = &mut *staging.lock;
        lock.check_writable()?;
        // Another thread may clean up, by statements that no wish to stop ends: this is none of them.
        if lock.session.options().interrupt.is_requested() {
            return Err(Error::Interrupted);
        }
        let sql = format!("ALTER TABLE {} IMPORT TABLESPACE", staging.table.quoted());
        let done = lock.exec_without_clones(&sql);
        let done = done.map_err(|error| unusable(error, &paths))?;
        let warnings = if done.warnings > 0 { lock.session.warnings()? } else { Vec::new() };
        staging.dir.sync_adopted(&staging.path("ibd"), "space")?;
        staging.dir.remove(&paths[0])?;
        let is_bad = |w: &&Warning| {
            w.errno == ER_INDEX_CORRUPT || w.level == "Error" || is_of_cfg(w.errno, &w.message)
        };
        match warnings.iter().find(is_bad) {
            Some(bad) => {
                let error = Error::Statement {
                    errno: bad.errno,
                    sqlstate: "HY000".to_owned(),
                    message: bad.message.clone(),
                    statement: sql,
                };
                Err(unusable(error, &paths))
            }
            None => {
                if let Some(imported) = row_id_max {
                    staging.lock.raise_row_ids(&staging.dir, imported)?;
                }
                Ok(Imported { staging, file, warnings, row_id_max })
            }
        }
    }
}

/// True of an error of IMPORT, or a warning, about a `.cfg` file that it could not read.
fn is_of_cfg(errno: u16, message: &str) -> bool {
    (errno == ER_IO_READ_ERROR && message.contains(".cfg"))
        || message.contains(".cfg file is missing")
}

/// The error of an IMPORT, with the one of its two files that the server could not use if it was for that.
fn unusable(error: Error, [cfg, ibd]: &[PathBuf; 2]) -> Error {
    let path = match &error {
        Error::Statement { errno, message, .. } if is_of_cfg(*errno, message) => cfg,
        Error::Statement { message, .. }
            if NOT_OPENED.iter().any(|words| message.contains(words)) =>
        {
            ibd
        }
        _ => return error,
    };
    Error::UnusableFile { path: path.clone(), error: Box::new(error) }
}

impl<'d> Imported<'d> {
    /// Has the table's next AUTO_INCREMENT value survive a restart. IMPORT of MySQL has it in memory alone: after a
    /// restart the table would count from 1 again.
    ///
    /// Killed in it: a filled table `staging`.
    pub fn keep_counter(&mut self, next: Option<u64>) -> Result<()> {
        let (lock, staging) = (&mut *self.staging.lock, &self.staging.table);
        match next {
            Some(next) if lock.session.version().flavor == Flavor::MySql => {
                lock.exec(&format!("ALTER TABLE {} AUTO_INCREMENT={next}", staging.quoted()))
            }
            _ => Ok(()),
        }
    }

    /// Reads the first and the last entry of each index of the staging table, as the server sees it.
    ///
    /// IMPORT takes an index it cannot place for an empty one and says so in its log only; this
    /// is where it shows. Rows are not counted: the file's were, in every index, and a scan takes
    /// the server as long as the import (1.0 s for 6 million rows).
    ///
    /// Errors: [`Error::Count`] when an index has entries and the table was built empty, or none
    /// and it was not.
    pub fn check_indexes(&mut self, expected: u64) -> Result<()> {
        let (lock, staging) = (&mut *self.staging.lock, &self.staging.table);
        lock.session.exec(&format!("HANDLER {} OPEN AS imported", staging.quoted()))?;
        let mut reads = vec!["FIRST".to_owned()];
        for index in &lock.table.indexes {
            let name = quote_name(&index.name);
            reads.extend([format!("{name} FIRST"), format!("{name} LAST")]);
        }
        let mut found = Ok(());
        for read in reads {
            let entries =
                lock.session.query(&format!("HANDLER imported READ {read}"))?.len() as u64;
            if entries != expected.min(1) && found.is_ok() {
                let table = format!("{staging} read by {read}");
                found = Err(Error::Count { table, found: entries, expected });
            }
        }
        lock.session.exec("HANDLER imported CLOSE")?;
        found
    }

    /// The staging table as what takes the target's place.
    pub fn filled(self) -> Filled<'d> {
        let Imported { staging, file, row_id_max, .. } = self;
        Filled::built(staging.lock, file, staging.dir, row_id_max)
    }
}
