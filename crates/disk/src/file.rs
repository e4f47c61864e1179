//! An open file of ours.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::{FileExt, OpenOptionsExt};

use crate::Operation;
use rustix::fs::{FallocateFlags, OFlags};
use rustix::io::Errno;

use crate::faults;

/// A file, and what it is for.
#[derive(Debug)]
pub struct File {
    file: std::fs::File,
    what: &'static str,
}

impl File {
    /// Takes an open file in.
    pub fn new(file: std::fs::File, what: &'static str) -> File {
        File { file, what }
    }

    /// Writes all of `bytes` at `offset`. Threads may write at other places meanwhile.
    pub fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let granted = faults::before_write(self.what, bytes.len())?;
        faults::writes(&self.file, Some(offset), bytes.len())?;
        self.file.write_all_at(&bytes[..granted], offset)?;
        if granted < bytes.len() {
            faults::before_write(self.what, bytes.len() - granted)?;
            self.file.write_all_at(&bytes[granted..], offset + granted as u64)?;
        }
        Ok(())
    }

    /// Fills `buffer` from `offset` on.
    pub fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        faults::before(Operation::Read, self.what)?;
        self.file.read_exact_at(buffer, offset)
    }

    /// Sets the size; what was never written is a hole of zeros.
    pub fn set_len(&self, bytes: u64) -> io::Result<()> {
        faults::before(Operation::SetSize, self.what)?;
        faults::sizes(&self.file)?;
        self.file.set_len(bytes)
    }

    /// Makes sure that the first `bytes` bytes can be written later, holes included, where the
    /// file system can promise that.
    pub fn allocate(&self, bytes: u64) -> io::Result<()> {
        faults::before(Operation::Allocate, self.what)?;
        loop {
            match rustix::fs::fallocate(&self.file, FallocateFlags::empty(), 0, bytes) {
                Err(Errno::INTR) => {}
                Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => return Ok(()),
                allocated => return Ok(allocated?),
            }
        }
    }

    /// Waits until contents and size are on the disk.
    pub fn sync_data(&self) -> io::Result<()> {
        faults::before(Operation::Sync, self.what)?;
        self.file.sync_data()?;
        faults::synced(&self.file)
    }

    /// Waits until the file, its owner and mode included, is on the disk.
    pub fn sync_all(&self) -> io::Result<()> {
        faults::before(Operation::Sync, self.what)?;
        self.file.sync_all()?;
        faults::synced(&self.file)
    }

    /// Notes, for tests of power cuts, that another process has synced the file.
    pub fn was_synced_elsewhere(&self) -> io::Result<()> {
        faults::synced(&self.file)
    }

    /// Size, owner, mode.
    pub fn metadata(&self) -> io::Result<std::fs::Metadata> {
        self.file.metadata()
    }

    /// Changes the mode.
    pub fn set_permissions(&self, permissions: std::fs::Permissions) -> io::Result<()> {
        self.file.set_permissions(permissions)
    }

    /// The file opened once more, to be read and written around the page cache: at addresses, of
    /// sizes and to places that are multiples of what the disk asks for, at most 4 KiB.
    ///
    /// Errors: a file system that cannot; where `/proc` is not mounted.
    pub fn open_around_cache(&self) -> io::Result<File> {
        let path = format!("/proc/self/fd/{}", self.file.as_raw_fd());
        let mut options = std::fs::OpenOptions::new();
        options.read(true).write(true).custom_flags(OFlags::DIRECT.bits() as i32);
        Ok(File { file: options.open(path)?, what: self.what })
    }

    /// The same open file once more.
    pub fn try_clone(&self) -> io::Result<File> {
        Ok(File { file: self.file.try_clone()?, what: self.what })
    }
}

impl Read for File {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        faults::before(Operation::Read, self.what)?;
        self.file.read(buffer)
    }
}

impl Write for File {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let granted = faults::before_write(self.what, bytes.len())?;
        faults::writes(&self.file, None, granted)?;
        self.file.write(&bytes[..granted])
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl AsFd for File {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}
