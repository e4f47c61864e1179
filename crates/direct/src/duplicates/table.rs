//! An array of records of one size: in memory where it fits its share, else in a file.

use std::path::{Path, PathBuf};

use disk::File;
use job::error::Error;

/// Records that begin as zeros and are read and written in any order.
#[derive(Debug)]
pub(crate) struct Table<const BYTES: usize> {
    store: Store<BYTES>,
}

#[derive(Debug)]
enum Store<const BYTES: usize> {
    Memory(Vec<[u8; BYTES]>),
    /// Without a name, in this folder. The system's cache makes it bearable.
    File(File, PathBuf),
}

impl<const BYTES: usize> Table<BYTES> {
    /// `count` records, in memory if they take `memory_bytes_max` at most, else in `folder`.
    pub(crate) fn new(
        count: u64,
        memory_bytes_max: usize,
        folder: &Path,
    ) -> Result<Table<BYTES>, Error> {
        let bytes = count.saturating_mul(BYTES as u64);
        let store = if bytes <= memory_bytes_max as u64 {
            Store::Memory(vec![[0; BYTES]; count as usize])
        } else {
            let failed = || Error::io("making a temporary file in", folder);
            let file = disk::unnamed(folder, "table").map_err(failed())?;
            file.set_len(bytes).map_err(failed())?;
            Store::File(file, folder.to_owned())
        };
        Ok(Table { store })
    }

    /// Record `index`, below `count`.
    pub(crate) fn get(&self, index: u64) -> Result<[u8; BYTES], Error> {
        match &self.store {
            Store::Memory(records) => Ok(records[index as usize]),
            Store::File(file, folder) => {
                let mut record = [0; BYTES];
                file.read_exact_at(&mut record, index * BYTES as u64)
                    .map_err(Error::io("reading a temporary file in", folder))?;
                Ok(record)
            }
        }
    }

    /// Overwrites record `index`, below `count`.
    pub(crate) fn set(&mut self, index: u64, record: [u8; BYTES]) -> Result<(), Error> {
        match &mut self.store {
            Store::Memory(records) => {
                records[index as usize] = record;
                Ok(())
            }
            Store::File(file, folder) => file
                .write_all_at(&record, index * BYTES as u64)
                .map_err(Error::io("writing a temporary file in", folder)),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn records_in_memory_and_in_a_file_are_the_same() {
        let folder = tempfile::tempdir().unwrap();
        for memory_bytes_max in [0, 1 << 20] {
            let mut table = Table::<3>::new(100, memory_bytes_max, folder.path()).unwrap();
            assert_eq!(matches!(table.store, Store::File(..)), memory_bytes_max == 0);
            assert_eq!(table.get(99).unwrap(), [0; 3]);
            for index in [5, 99, 0] {
                table.set(index, [index as u8, 1, 2]).unwrap();
            }
            assert_eq!(table.get(99).unwrap(), [99, 1, 2]);
            assert_eq!(table.get(5).unwrap(), [5, 1, 2]);
            assert_eq!(table.get(6).unwrap(), [0; 3]);
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
