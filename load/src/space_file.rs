//! The tablespace file while it is being built.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use innodb::reader::PageSource;

use crate::error::Error;

/// A file that several threads write at places that do not overlap.
#[derive(Debug)]
pub(crate) struct SpaceFile {
    file: File,
    path: PathBuf,
}

impl SpaceFile {
    /// An open, empty file.
    pub(crate) fn new(file: File, path: PathBuf) -> SpaceFile {
        SpaceFile { file, path }
    }

    /// Writes all of `bytes` at `offset`.
    pub(crate) fn write(&self, offset: u64, bytes: &[u8]) -> Result<(), Error> {
        self.file.write_all_at(bytes, offset).map_err(Error::io("writing", &self.path))
    }

    /// The file as pages to read.
    pub(crate) fn pages(&self) -> &dyn PageSource {
        &self.file
    }

    /// Sets the final size; what was never written is a hole of zeros.
    pub(crate) fn set_size(&self, bytes: u64) -> Result<(), Error> {
        self.file.set_len(bytes).map_err(Error::io("setting the size of", &self.path))
    }

    /// Size of the file now.
    pub(crate) fn size(&self) -> Result<u64, Error> {
        let metadata = self.file.metadata().map_err(Error::io("looking at", &self.path))?;
        Ok(metadata.len())
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}
