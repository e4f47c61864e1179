//! The target as the server writes it out, to be read while nobody writes to it.
//!
//! `FLUSH TABLES .. FOR EXPORT` writes all changed pages of the table to its file and keeps the server from
//! changing any, until the connection lets the table go: rows can be read, writers wait. The lock for the
//! swap takes over from here, so that nothing comes in between: see [`swap`](super::swap).
//!
//! Purge stands still meanwhile, on the whole server.
//! Source: MariaDB 10.11, storage/innobase/row/row0quiesce.cc, `row_quiesce_table_start`.

use std::path::PathBuf;

use disk::File;

use crate::description::check_described;
use crate::lock::Lock;
use crate::staging_table::Direct;
use crate::undecided;
use server::catalog::definition;
use server::error::{Error, Result};
use server::filename::filename;
use server::identifier::{TableName, quote_text};
use server::session::Session;

/// The target, which nobody writes to as long as this is there.
#[derive(Debug)]
pub struct Export {
    session: Session,
    /// Its files: one, or one of each partition that was asked for.
    pub files: Vec<ExportedFile>,
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
        let mut session = lock.fresh()?;
        session.set_lock_wait(lock.patience.wait)?;
        undecided::await_end(&mut session)?;
        let sql = format!("FLUSH TABLES {} FOR EXPORT", table.quoted());
        let done = lock.patience.watch(&mut session, |session| session.exec(&sql))?;
        check_described(&mut session, &sql, &done)?;
        let altered = |detail: &str| {
            Err(Error::Altered { target: table.to_string(), detail: detail.to_owned() })
        };
        if definition(&mut lock.session, &table)? != lock.table.definition {
            return altered("the table's definition changed during the load");
        }
        if undecided::is_any(&mut lock.session)? {
            return altered(
                "a transaction from before the server's start is not finished (XA RECOVER lists \
                 it), and may have rows in the table",
            );
        }
        let names = match partition {
            Some(partition) => vec![Some(partition.to_owned())],
            None => lock.file_names(),
        };
        let mut files = Vec::with_capacity(names.len());
        for name in names {
            let cfg = dir.read(&lock.own_path(name.as_deref(), "cfg")?, "description")?;
            let (file, path) = lock.open_rows(name.as_deref())?;
            files.push(ExportedFile { cfg, file, path });
        }
        Ok(Export { session, files })
    }
}

impl Lock {
    /// The target's file, or a partition's, as the server has it now.
    ///
    /// Errors: it is not where it should be.
    pub fn open_rows(&mut self, partition: Option<&str>) -> Result<(File, PathBuf)> {
        let path = self.own_path(partition, "ibd")?;
        let file = self.dir()?.open(&path, "rows")?;
        Ok((file, path))
    }

    /// How large the target's file is, or that of each partition.
    pub fn file_bytes(&mut self) -> Result<Vec<u64>> {
        let names = self.file_names();
        names.iter().map(|partition| self.bytes_of(partition.as_deref())).collect()
    }

    /// The partitions that files of the target are of: none of one that has no partitions.
    fn file_names(&self) -> Vec<Option<String>> {
        match &self.table.partitioning {
            None => vec![None],
            Some(by) => by.partitions.iter().map(|part| Some(part.name.clone())).collect(),
        }
    }

    fn bytes_of(&mut self, partition: Option<&str>) -> Result<u64> {
        let (file, path) = self.open_rows(partition)?;
        let metadata = file.metadata();
        Ok(metadata.map_err(|error| Error::io("looking at", path, error))?.len())
    }

    /// The next AUTO_INCREMENT value, as the server has it now; none of a table without one.
    pub fn next_auto_increment(&mut self) -> Result<Option<u64>> {
        let TableName { database, table } = &self.table.name;
        let sql = format!(
            "SELECT AUTO_INCREMENT FROM information_schema.TABLES WHERE TABLE_SCHEMA={} AND \
             TABLE_NAME={}",
            quote_text(database),
            quote_text(table)
        );
        self.session.query_row(&sql)?.number_or_null(0)
    }

    /// A file of the target in the database's folder.
    fn own_path(&mut self, partition: Option<&str>, extension: &str) -> Result<PathBuf> {
        let mut name = filename(&mut self.session, &self.table.name.table)?;
        let mut part = String::new();
        if let Some(partition) = partition {
            part = format!("#P#{}", filename(&mut self.session, partition)?);
        }
        let dir = self.dir()?;
        // Servers that keep names of tables in lower case keep these so too.
        let path = dir.path.join(format!("{name}{part}.{extension}"));
        if part.is_empty() || dir.is_taken(&path)? {
            return Ok(path);
        }
        name.push_str(&part.to_lowercase());
        Ok(dir.path.join(format!("{name}.{extension}")))
    }
}

impl Export {
    /// Sees to it that it holds the target still.
    ///
    /// Errors: [`Error::Lost`] where its connection has ended, and somebody may have written since.
    pub(super) fn check(&mut self) -> Result<()> {
        self.session.exec("DO 0").map(drop)
    }

    /// The session that locks the target.
    pub(super) fn into_session(self) -> Session {
        self.session
    }
}
