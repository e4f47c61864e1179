//! The target as the server writes it out, to be read while nobody writes to it.
//!
//! `FLUSH TABLES .. FOR EXPORT` writes all changed pages of the table to its file and keeps the server from
//! changing any, until the connection lets the table go: rows can be read, writers wait. The lock for the
//! swap takes over from here, so that nothing comes in between: see [`swap`](super::swap).
//!
//! Before that, and until the swap, the tables that foreign keys join with it are held too: see
//! [`guard`](super::guard). Purge stands still meanwhile, on the whole server.
//! Source: MariaDB 10.11, storage/innobase/row/row0quiesce.cc, `row_quiesce_table_start`.

use std::path::PathBuf;
use std::time::Instant;

use disk::File;

use crate::description::{had_instant_columns, write_out};
use crate::guard::{Guard, Kind};
use crate::lock::Lock;
use crate::log_wait::wait_for_log;
use crate::relations::{self, KeyChecks};
use crate::staging_table::Direct;
use crate::triggers;
use crate::turns::{TURN, Turns, is_wait};
use catalog::definition;
use schema::Table;
use server::error::{Error, Result};
use server::facts::database_dir::DatabaseDir;
use server::filename::filename;
use server::identifier::table_condition;
use server::session::Session;

/// The target, which nobody writes to as long as this is there.
#[derive(Debug)]
pub struct Export {
    session: Session,
    /// Holds tables that foreign keys join with it.
    guard: Guard,
    /// Its files: one, or one of each partition that was asked for.
    pub files: Vec<ExportedFile>,
}

impl Export {
    /// The same as [`had_instant_columns`], of the target.
    pub fn had_instant_columns(&mut self) -> Result<bool> {
        let files = self.files.iter().map(|one| (&one.file, one.path.as_path()));
        had_instant_columns(&mut self.session, files)
    }
}

/// A file of the target, or of one of its partitions.
#[derive(Debug)]
pub struct ExportedFile {
    /// The server's description of it.
    pub cfg: Vec<u8>,
    /// Its rows.
    pub file: File,
    /// Where they are, for messages.
    pub path: PathBuf,
}

impl Direct<'_> {
    /// Has the server write out the target, and locks it. For a table with partitions the files are
    /// those of `partition`, or of all in their order.
    ///
    /// Killed after it: nothing is left.
    ///
    /// Errors: [`Error::LockWait`], [`Error::Altered`]; a file that is not where it should be.
    pub fn export_target(&mut self, partition: Option<&str>) -> Result<Export> {
        let lock = &mut *self.lock;
        let dir = lock.dir()?.clone();
        let table = lock.table.name.clone();
        if lock.table.partitioning.is_none() {
            // The import waits for no backup then, nor for the log, with others waiting for it.
            wait_for_log(lock, &dir, &self.made)?;
        } else {
            let mut other = lock.second()?;
            lock.wait_for_backups(&dir, &mut other)?;
            lock.spare = Some(other);
        }
        let (session, guard) = hold(lock)?;
        lock.keeps_others = Some(guard.since());
        if definition(&mut lock.session, &table)? != lock.table.definition {
            let detail = "the table's definition changed during the load".to_owned();
            return Err(Error::Altered { target: table.to_string(), detail });
        }
        // Others could make triggers until now.
        let reasons = triggers::stuck(&mut lock.session, &lock.table, &lock.facts, true)?;
        if !reasons.is_empty() {
            return Err(Error::Unsupported { target: table.to_string(), reasons });
        }
        let files = self.exported_files(partition)?;
        Ok(Export { session, guard, files })
    }

    /// The files of a target that the server has written out, chosen as [`Direct::export_target`] does.
    pub fn exported_files(&mut self, partition: Option<&str>) -> Result<Vec<ExportedFile>> {
        let lock = &mut *self.lock;
        let dir = lock.dir()?.clone();
        let names = match partition {
            Some(partition) => vec![Some(partition.to_owned())],
            None => file_names(&lock.table),
        };
        let mut files = Vec::with_capacity(names.len());
        for name in names {
            let (file, path) = lock.open_rows(name.as_deref())?;
            let cfg = dir.read(&path.with_extension("cfg"), "description")?;
            files.push(ExportedFile { cfg, file, path });
        }
        Ok(files)
    }
}

/// Holds the target, and before it the tables that foreign keys join with it: in turns, so that transactions that
/// write to some of them end.
fn hold(lock: &mut Lock) -> Result<(Session, Guard)> {
    let checks = match lock.session.options().unchecked_keys {
        true => KeyChecks::None,
        false => KeyChecks::Rows,
    };
    let targets = [(lock.table.clone(), lock.names.clone())];
    let tables = relations::around(lock, &targets, checks)?;
    let mut session = lock.fresh()?;
    // Nobody writes to it by then: what may be in the way is a change of its definition.
    session.set_lock_wait(TURN)?;
    let table = lock.table.name.clone();
    let mut turns = Turns::begin(lock.patience.wait);
    let held = loop {
        let mut guard = Guard::take(&lock.session, &lock.patience, &tables, &mut turns)?;
        match lock.patience.watch(&mut session, |session| write_out(session, &table, TURN)) {
            Ok(()) => {
                // Transactions that wrote to it have ended, and the export keeps others away.
                drop(guard.hand_out(Kind::Target));
                break Ok((session, guard));
            }
            Err(error) => {
                turns.blocked.writers_since(guard.since());
                drop(guard);
                if !is_wait(&error) || !turns.again(&error, &session) {
                    break Err(error);
                }
            }
        }
    };
    lock.blocked.include(turns.blocked);
    held
}

impl Lock {
    /// The target's file, or a partition's, as the server has it now.
    ///
    /// Errors: it is not where it should be.
    pub fn open_rows(&mut self, partition: Option<&str>) -> Result<(File, PathBuf)> {
        let dir = self.dir()?.clone();
        let path = rows_path(&mut self.session, &dir, &self.table, partition)?;
        let file = dir.open(&path, "rows")?;
        Ok((file, path))
    }

    /// How large the target's file is, or that of each partition.
    pub fn file_bytes(&mut self) -> Result<Vec<u64>> {
        let names = file_names(&self.table);
        names.iter().map(|partition| self.bytes_of(partition.as_deref())).collect()
    }

    /// The reason why the target's rows cannot be read from files, as [`missing_file`] tells it.
    pub fn missing_file(&mut self) -> Result<Option<String>> {
        let dir = self.dir()?.clone();
        missing_file(&mut self.session, &dir, &self.table)
    }

    fn bytes_of(&mut self, partition: Option<&str>) -> Result<u64> {
        let (file, path) = self.open_rows(partition)?;
        let metadata = file.metadata();
        Ok(metadata.map_err(|error| Error::io("looking at", path, error))?.len())
    }

    /// The next AUTO_INCREMENT value, as the server has it now; none of a table without one.
    pub fn next_auto_increment(&mut self) -> Result<Option<u64>> {
        let sql = format!(
            "SELECT AUTO_INCREMENT FROM information_schema.TABLES WHERE {}",
            table_condition(&self.table.name)
        );
        self.session.query_row(&sql)?.number_or_null(0)
    }
}

/// The partitions that files of a table are of: none of one that has no partitions.
pub fn file_names(table: &Table) -> Vec<Option<String>> {
    match &table.partitioning {
        None => vec![None],
        Some(by) => by.partitions.iter().map(|part| Some(part.name.clone())).collect(),
    }
}

/// The file with the rows of a table, or of a partition, in the database's folder.
pub fn rows_path(
    session: &mut Session,
    dir: &DatabaseDir,
    table: &Table,
    partition: Option<&str>,
) -> Result<PathBuf> {
    let name = filename(session, &table.name.table)?;
    match partition {
        None => Ok(dir.path.join(format!("{name}.ibd"))),
        Some(partition) => partition_path(dir, &name, &filename(session, partition)?),
    }
}

/// Where the rows of a partition may be: servers that keep names of tables in lower case keep these so too.
pub(super) fn partition_paths(dir: &DatabaseDir, table: &str, partition: &str) -> [PathBuf; 2] {
    let part = format!("#P#{partition}");
    let lower = part.to_lowercase();
    [part, lower].map(|part| dir.path.join(format!("{table}{part}.ibd")))
}

/// Where they are.
pub(super) fn partition_path(dir: &DatabaseDir, table: &str, partition: &str) -> Result<PathBuf> {
    let [path, lower] = partition_paths(dir, table, partition);
    Ok(if dir.is_taken(&path)? { path } else { lower })
}

/// The reason why a table's rows cannot be read from files: one of these does not exist.
pub fn missing_file(
    session: &mut Session,
    dir: &DatabaseDir,
    table: &Table,
) -> Result<Option<String>> {
    for partition in file_names(table) {
        let path = rows_path(session, dir, table, partition.as_deref())?;
        if !dir.is_taken(&path)? {
            return Ok(Some(format!(
                "{} does not exist: {} is in a tablespace that tables share, or the folder \
                 belongs to another server",
                path.display(),
                table.name
            )));
        }
    }
    Ok(None)
}

impl Export {
    /// Sees to it that it holds the target still.
    ///
    /// Errors: [`Error::Lost`] where its connection has ended, and somebody may have written since.
    pub(super) fn check(&mut self) -> Result<()> {
        self.guard.check()?;
        self.session.exec("DO 0").map(drop)
    }

    /// When the first of the tables was held.
    pub(super) fn since(&self) -> Instant {
        self.guard.since()
    }

    /// The session that locks the target, and what holds the tables that have to do with it.
    pub(super) fn into_parts(self) -> (Session, Guard) {
        (self.session, self.guard)
    }
}
