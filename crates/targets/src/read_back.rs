//! The files of a filled table, as the server has written them out.

use std::path::PathBuf;

use disk::File;
use schema::Partition;

use crate::export::partition_path;
use crate::publish::Filled;
use server::error::{Error, Result};
use server::filename::filename;
use server::identifier::TableName;
use server::session::Session;

/// The use of a table's files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    Read,
    Write,
}

impl Filled<'_> {
    /// Has the server write out the table that is to take the target's place, and gives its files to
    /// `read`: one, or one a partition. The server changes none of them meanwhile.
    ///
    /// Killed after it: as before it. A server killed within it may leave the .cfg.
    ///
    /// Errors: those of [`Filled::ensure_session`]; a file that is not where it should be; those of `read`.
    pub fn read_filled<T, E: From<Error>>(
        &mut self,
        partitions: Option<&[Partition]>,
        read: impl FnOnce(Vec<(File, PathBuf)>) -> std::result::Result<T, E>,
    ) -> std::result::Result<T, E> {
        self.ensure_session()?;
        self.flush()?;
        self.with_files(partitions, Access::Read, |_, files| read(files))
    }

    /// Has the server write out the table, and change nothing of it.
    pub(super) fn flush(&mut self) -> Result<()> {
        let table = self.table().clone();
        self.lock.write_out(&table)
    }

    /// Has `work` at its files done, which the server has written out, and lets the table go.
    pub(super) fn with_files<T, E: From<Error>>(
        &mut self,
        partitions: Option<&[Partition]>,
        access: Access,
        work: impl FnOnce(&mut Session, Vec<(File, PathBuf)>) -> std::result::Result<T, E>,
    ) -> std::result::Result<T, E> {
        let table = self.table().clone();
        let files = self.open_filled(&table, partitions, access).map_err(E::from);
        let outcome = files.and_then(|files| work(&mut self.lock.session, files));
        let released = self.lock.session.exec_always("UNLOCK TABLES");
        let outcome = outcome?;
        match released {
            // It holds nothing any more, and is made again when it is needed.
            Err(error) if error.is_cut() => Ok(outcome),
            released => released.map(|_| outcome).map_err(E::from),
        }
    }

    fn open_filled(
        &mut self,
        table: &TableName,
        partitions: Option<&[Partition]>,
        access: Access,
    ) -> Result<Vec<(File, PathBuf)>> {
        let dir = self.lock.dir()?.clone();
        let paths = match partitions {
            None => vec![dir.path.join(format!("{}.ibd", table.table))],
            Some(partitions) => {
                let path = |partition: &Partition| {
                    let name = filename(&mut self.lock.session, &partition.name)?;
                    partition_path(&dir, &table.table, &name)
                };
                partitions.iter().map(path).collect::<Result<_>>()?
            }
        };
        let open = |path: PathBuf| {
            let file = match access {
                Access::Read => dir.open(&path, "rows")?,
                Access::Write => dir.open_to_write(&path, "space")?,
            };
            Ok((file, path))
        };
        paths.into_iter().map(open).collect()
    }
}
