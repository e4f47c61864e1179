//! The files that Inrush makes, every operation on them, the format of journals, and sizes in words.
//!
//! Whatever is written to a disk goes through here: the tablespace, spilled runs, the journal,
//! files of refused rows. With feature `faults` a test has the nth of these operations fail, as a
//! full or broken disk would, or ends the process there (see `faults`); without it the calls
//! are those of the standard library and nothing else.

#![forbid(unsafe_code)]

pub mod failpoint;
#[cfg(feature = "faults")]
mod faults;
mod file;
pub mod folder;
pub mod journal;
#[cfg(not(feature = "faults"))]
mod no_faults;
mod open_files;
pub mod output;
pub mod private;
pub mod returned;
pub mod size;
mod temp_folder;
#[cfg(feature = "faults")]
mod unsynced;

#[cfg(not(feature = "faults"))]
use no_faults as faults;

pub use file::File;
pub use folder::{Folder, Lock};
pub use open_files::{open_files_max, raise_open_files_max};
pub use temp_folder::TempFolder;

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

/// An operation that can fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Create,
    Open,
    Read,
    #[cfg_attr(not(feature = "faults"), expect(dead_code, reason = "writes are counted in bytes"))]
    Write,
    SetSize,
    Allocate,
    Sync,
    Rename,
    Remove,
}

/// Advice about an error, as the end of a sentence that describes it; mostly empty.
pub fn advice(error: &io::Error) -> &'static str {
    use io::ErrorKind as Kind;
    match error.kind() {
        Kind::StorageFull | Kind::QuotaExceeded => "; free some space there, then load again",
        Kind::FileTooLarge => "; the file is larger than ulimit -f or the file system allows",
        Kind::ReadOnlyFilesystem => "; the file system is mounted read-only",
        Kind::PermissionDenied => "; run as root or as the owner of the folder",
        _ => match error.raw_os_error().map(rustix::io::Errno::from_raw_os_error) {
            Some(rustix::io::Errno::IO) => "; the disk fails: see the kernel's log (dmesg)",
            Some(rustix::io::Errno::MFILE) => "; ulimit -n raises the number of open files",
            _ => "",
        },
    }
}

/// Opens or makes a file; `what` says in one word what it is for.
pub fn open(options: &OpenOptions, path: &Path, what: &'static str) -> io::Result<File> {
    faults::before(Operation::Create, what)?;
    Ok(File::new(options.open(path)?, what))
}

/// Opens a file to read it. Never waits for the writer of a pipe that has taken the file's place.
pub fn open_to_read(path: &Path) -> io::Result<fs::File> {
    let flags = rustix::fs::OFlags::NONBLOCK.bits() as i32;
    OpenOptions::new().read(true).custom_flags(flags).open(path)
}

/// Waits until a pipe has bytes to read or no writer any more, at most so long; true if that is so.
pub fn wait_for_bytes(pipe: &fs::File, time: Duration) -> io::Result<bool> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let time = Timespec { tv_sec: time.as_secs() as i64, tv_nsec: time.subsec_nanos().into() };
    match poll(&mut [PollFd::new(pipe, PollFlags::IN)], Some(&time)) {
        Err(rustix::io::Errno::INTR) => Ok(false),
        ready => Ok(ready? > 0),
    }
}

/// A new file without a name in `folder`, for this user alone: it is gone when it is closed,
/// however the process ends.
pub fn unnamed(folder: &Path, what: &'static str) -> io::Result<File> {
    faults::before(Operation::Create, what)?;
    Ok(File::new(tempfile::tempfile_in(folder)?, what))
}

/// Removes a file; false when there was none.
pub fn remove(path: &Path, what: &'static str) -> io::Result<bool> {
    faults::before(Operation::Remove, what)?;
    match fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Makes what happened to the names in a folder durable.
pub fn sync_folder(path: &Path, what: &'static str) -> io::Result<()> {
    faults::before(Operation::Open, what)?;
    let folder = fs::File::open(path)?;
    faults::before(Operation::Sync, what)?;
    folder.sync_all()
}
