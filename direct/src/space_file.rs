//! The tablespace file while it is being built.
//!
//! Written and read around the page cache where the file system allows it: the
//! server imports with O_DIRECT, so that cached pages would only be copied, written
//! back and thrown away again. Pages are then aligned as the disk wants them.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use disk::File;
use innodb::ids::{PAGE_SIZE, PageNo};
use innodb::page::AlignedPage;
use innodb::source::PageSource;
use job::error::Error;
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

/// What O_DIRECT asks of addresses: [`AlignedPage`]'s alignment.
const ALIGNMENT: usize = align_of::<AlignedPage>();
/// Pages that are copied at once when a caller's bytes are not aligned.
const BOUNCE_PAGES: usize = 16;

/// A file that several threads write at places that do not overlap.
#[derive(Debug)]
pub(crate) struct SpaceFile {
    file: File,
    path: PathBuf,
    is_direct: AtomicBool,
}

impl SpaceFile {
    /// An open, empty file.
    pub(crate) fn new(file: File, path: PathBuf) -> SpaceFile {
        let is_direct = AtomicBool::new(set_direct(&file, true).is_ok());
        SpaceFile { file, path, is_direct }
    }

    /// Writes all of `bytes`, which are whole pages, at `offset`.
    pub(crate) fn write(&self, offset: u64, bytes: &[u8]) -> Result<(), Error> {
        self.write_pages(offset, bytes).map_err(Error::io("writing", &self.path))
    }

    fn write_pages(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        if !self.is_direct.load(Ordering::Relaxed) {
            return self.file.write_all_at(bytes, offset);
        }
        if is_aligned(bytes) {
            return match self.file.write_all_at(bytes, offset) {
                Err(error) if refuses_direct(&error) => {
                    self.go_buffered()?;
                    self.file.write_all_at(bytes, offset)
                }
                outcome => outcome,
            };
        }
        let mut bounce = vec![AlignedPage::ZERO; BOUNCE_PAGES.min(bytes.len() / PAGE_SIZE)];
        let mut offset = offset;
        for part in bytes.chunks(BOUNCE_PAGES * PAGE_SIZE) {
            let aligned = &mut AlignedPage::bytes_of_mut(&mut bounce)[..part.len()];
            aligned.copy_from_slice(part);
            self.write_pages(offset, aligned)?;
            offset += part.len() as u64;
        }
        Ok(())
    }

    /// Sets the size; what was never written is a hole of zeros.
    pub(crate) fn set_size(&self, bytes: u64) -> Result<(), Error> {
        self.file.set_len(bytes).map_err(Error::io("setting the size of", &self.path))
    }

    /// Takes room for the first `bytes` bytes, holes included: the server writes them too, and
    /// when its disk is full it says no more than "I/O error".
    pub(crate) fn allocate(&self, bytes: u64) -> Result<(), Error> {
        self.file.allocate(bytes).map_err(Error::io("taking room for", &self.path))
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

    /// For a file system that takes the flag and refuses the transfer.
    fn go_buffered(&self) -> io::Result<()> {
        set_direct(&self.file, false)?;
        self.is_direct.store(false, Ordering::Relaxed);
        Ok(())
    }
}

impl PageSource for SpaceFile {
    fn read(&self, first: PageNo, buffer: &mut [u8]) -> io::Result<()> {
        let offset = first.file_offset();
        if !self.is_direct.load(Ordering::Relaxed) {
            return self.file.read_exact_at(buffer, offset);
        }
        if is_aligned(buffer) {
            return match self.file.read_exact_at(buffer, offset) {
                Err(error) if refuses_direct(&error) => {
                    self.go_buffered()?;
                    self.file.read_exact_at(buffer, offset)
                }
                outcome => outcome,
            };
        }
        let mut bounce = vec![AlignedPage::ZERO; buffer.len() / PAGE_SIZE];
        self.read(first, AlignedPage::bytes_of_mut(&mut bounce))?;
        buffer.copy_from_slice(AlignedPage::bytes_of(&bounce));
        Ok(())
    }
}

fn is_aligned(bytes: &[u8]) -> bool {
    bytes.as_ptr().addr().is_multiple_of(ALIGNMENT) && bytes.len().is_multiple_of(PAGE_SIZE)
}

fn refuses_direct(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::InvalidInput
}

fn set_direct(file: &File, on: bool) -> io::Result<()> {
    let mut flags = fcntl_getfl(file)?;
    flags.set(OFlags::DIRECT, on);
    Ok(fcntl_setfl(file, flags)?)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn aligned_and_other_bytes_come_back_as_written() {
        let folder = tempfile::tempdir_in(".").unwrap();
        let path = folder.path().join("space");
        let mut options = std::fs::OpenOptions::new();
        options.read(true).write(true).create_new(true);
        let open = disk::open(&options, &path, "space").unwrap();
        let file = SpaceFile::new(open, path);
        let pages: Vec<AlignedPage> =
            (0..40).map(|page| AlignedPage([page as u8; PAGE_SIZE])).collect();
        let bytes = AlignedPage::bytes_of(&pages);
        file.write(0, bytes).unwrap();
        let mut shifted = vec![0];
        shifted.extend_from_slice(bytes);
        file.write(bytes.len() as u64, &shifted[1..]).unwrap();
        assert_eq!(file.size().unwrap(), 2 * bytes.len() as u64);
        let mut back = vec![0; 1 + bytes.len()];
        for first in [0, 40] {
            file.read(PageNo(first), &mut back[1..]).unwrap();
            assert_eq!(&back[1..], bytes);
        }
    }
}
