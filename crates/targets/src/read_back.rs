//! The files of a filled table, as the server has written them out.

use std::path::PathBuf;

use disk::File;
use schema::Partition;

use crate::publish::Filled;
use server::error::{Error, Result};
use server::filename::filename;

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
        let table = self.lock.names.staging.quoted();
        self.lock.exec(&format!("FLUSH TABLES {table} FOR EXPORT"))?;
        let outcome = self.open_filled(partitions).map_err(E::from).and_then(read);
        let _shield = self.lock.session.options().interrupt.shield();
        let released = self.lock.session.exec("UNLOCK TABLES");
        let outcome = outcome?;
        match released {
            // It holds nothing any more, and is made again when it is needed.
            Err(error) if error.is_cut() => Ok(outcome),
            released => released.map(|_| outcome).map_err(E::from),
        }
    }

    fn open_filled(&mut self, partitions: Option<&[Partition]>) -> Result<Vec<(File, PathBuf)>> {
        let mut suffixes = vec![String::new()];
        if let Some(partitions) = partitions {
            let name = |partition: &Partition| {
                Ok(format!("#P#{}", filename(&mut self.lock.session, &partition.name)?))
            };
            suffixes = partitions.iter().map(name).collect::<Result<_>>()?;
        }
        let dir = self.lock.dir()?.clone();
        let staging = &self.lock.names.staging.table;
        let open = |suffix: &String| {
            let mut path = dir.path.join(format!("{staging}{suffix}.ibd"));
            // Servers that keep names of tables in lower case keep these so too.
            if !suffix.is_empty() && !dir.is_taken(&path)? {
                path = dir.path.join(format!("{staging}{}.ibd", suffix.to_lowercase()));
            }
            Ok((dir.open(&path, "rows")?, path))
        };
        suffixes.iter().map(open).collect()
    }
}
