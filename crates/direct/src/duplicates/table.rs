//! An array of records of one size: in memory where it fits its share, else in a file.

use std::io;
use std::path::{Path, PathBuf};

use disk::File;
use job::error::Error;

/// Records that begin as zeros and are read and written in any order.
#[derive(Debug)]
pub(crate) struct Table<const BYTES: usize> {
    store: Store,
    /// The folder of the file.
    folder: PathBuf,
}

#[derive(Debug)]
enum Store {
    Memory(Vec<u8>),
    /// Without a name. The system's cache makes it bearable.
    File(File),
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
            Store::Memory(vec![0; bytes as usize])
        } else {
            let failed = || Error::io("making a temporary file in", folder);
            let file = disk::unnamed(folder, "table").map_err(failed())?;
            file.set_len(bytes).map_err(failed())?;
            Store::File(file)
        };
        Ok(Table { store, folder: folder.to_owned() })
    }

    /// Record `index`, below `count`.
    pub(crate) fn get(&self, index: u64) -> Result<[u8; BYTES], Error> {
        let mut record = [0; BYTES];
        self.read(index, &mut record)?;
        Ok(record)
    }

    /// Reads consecutive records, from record `first` on.
    pub(crate) fn read(&self, first: u64, records: &mut [u8]) -> Result<(), Error> {
        let offset = first * BYTES as u64;
        match &self.store {
            Store::Memory(all) => {
                records.copy_from_slice(&all[offset as usize..][..records.len()]);
                Ok(())
            }
            Store::File(file) => file.read_exact_at(records, offset).map_err(self.unreadable()),
        }
    }

    /// Overwrites consecutive records, from record `first` on.
    pub(crate) fn set(&mut self, first: u64, records: &[u8]) -> Result<(), Error> {
        let offset = first * BYTES as u64;
        match &mut self.store {
            Store::Memory(all) => {
                all[offset as usize..][..records.len()].copy_from_slice(records);
                Ok(())
            }
            Store::File(file) => file
                .write_all_at(records, offset)
                .map_err(Error::io("writing a temporary file in", &self.folder)),
        }
    }

    /// The error of records that cannot be read.
    pub(crate) fn unreadable(&self) -> impl FnOnce(io::Error) -> Error {
        Error::io("reading a temporary file in", &self.folder)
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
                table.set(index, &[index as u8, 1, 2]).unwrap();
            }
            assert_eq!(table.get(99).unwrap(), [99, 1, 2]);
            assert_eq!(table.get(5).unwrap(), [5, 1, 2]);
            assert_eq!(table.get(6).unwrap(), [0; 3]);
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
