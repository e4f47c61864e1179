//! An open folder: what its names mean stays what it was, whatever becomes of the path to it.
//!
//! Anybody who may rename or replace a folder, or one above it, between two uses of a path leads the second
//! one elsewhere, and Inrush may run as root. So a folder is opened once, not through a symbolic link at its
//! end, and every name in it is looked up in the opened folder: `openat`, `renameat2`, `unlinkat`. No name in
//! it is followed if it is a link.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileTypeExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FlockOperation, Mode, OFlags, RenameFlags, ResolveFlags, Stat};
use rustix::io::Errno;

use crate::faults;
use crate::{File, Operation};

/// How a folder is opened.
const FOLDER: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// How a file in it is: never through a link, and without waiting for the other end of a pipe.
const FILE: OFlags = OFlags::NOFOLLOW.union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);

/// A lock of a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lock {
    /// Others may have one, too.
    Shared,
    /// Nobody else has one.
    Exclusive,
}

/// A folder that is open.
#[derive(Debug)]
pub struct Folder {
    folder: OwnedFd,
    path: PathBuf,
}

impl Folder {
    /// Opens the folder at `path`. Links above it are followed, it must not be one.
    ///
    /// Errors: the system's; [`is_link`] tells that of a link.
    pub fn open(path: &Path) -> io::Result<Folder> {
        // Behind a slash at its end a link would be followed.
        let path: PathBuf = path.components().collect();
        let folder = rustix::fs::open(&path, FOLDER, Mode::empty());
        let folder = folder.map_err(|errno| link_or(errno, rustix::fs::lstat(&path)))?;
        Ok(Folder { folder, path })
    }

    /// As [`Folder::open`], but a link is followed: whoever calls looks at whose the folder is.
    pub fn open_linked(path: &Path) -> io::Result<Folder> {
        let flags = FOLDER.difference(OFlags::NOFOLLOW);
        let folder = rustix::fs::open(path, flags, Mode::empty())?;
        Ok(Folder { folder, path: path.to_owned() })
    }

    /// As [`Folder::open_linked`], to make and rename files in a folder that may not be read.
    pub fn open_for_names(path: &Path) -> io::Result<Folder> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = rustix::fs::open(path, flags, Mode::empty())?;
        Ok(Folder { folder, path: path.to_owned() })
    }

    /// Opens the folder `name` in this one; made for this user alone if it is missing.
    pub fn subfolder(&self, name: &str) -> io::Result<Folder> {
        match rustix::fs::mkdirat(&self.folder, name, Mode::RWXU) {
            Err(Errno::EXIST) => {}
            made => made?,
        }
        let folder = rustix::fs::openat(&self.folder, name, FOLDER, Mode::empty());
        let folder = folder.map_err(|errno| link_or(errno, self.stat_of(name.as_ref())))?;
        Ok(Folder { folder, path: self.path.join(name) })
    }

    /// The path it was opened by, for messages.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its own owner and mode.
    pub fn stat(&self) -> io::Result<Stat> {
        Ok(rustix::fs::fstat(&self.folder)?)
    }

    /// The entry of a name, a link itself and not its target; None if there is none.
    pub fn look(&self, name: &OsStr) -> io::Result<Option<Stat>> {
        match self.stat_of(name) {
            Err(Errno::NOENT) => Ok(None),
            stat => Ok(Some(stat?)),
        }
    }

    /// Makes a file of mode `mode` to read and write, under a name that nobody has.
    pub fn create(&self, name: &OsStr, mode: u32, what: &'static str) -> io::Result<File> {
        faults::before(Operation::Create, what)?;
        let flags = FILE | OFlags::RDWR | OFlags::CREATE | OFlags::EXCL;
        let file = rustix::fs::openat(&self.folder, name, flags, Mode::from_raw_mode(mode))?;
        faults::made(self.folder.as_fd(), name)?;
        Ok(File::new(file.into(), what))
    }

    /// Opens a file to read.
    pub fn read_from(&self, name: &OsStr, what: &'static str) -> io::Result<File> {
        faults::before(Operation::Open, what)?;
        self.open_file(name, OFlags::RDONLY).map(|file| File::new(file, what))
    }

    /// Opens a file to read it and to change its bytes.
    pub fn change(&self, name: &OsStr, what: &'static str) -> io::Result<File> {
        faults::before(Operation::Open, what)?;
        self.open_file(name, OFlags::RDWR).map(|file| File::new(file, what))
    }

    /// Opens a plain file at or below the folder to read it. Links in the folder are followed if they do not lead
    /// out of it; nothing waits for the other end of a pipe.
    ///
    /// Errors: the system's; `InvalidInput` for a link out of the folder, and for what is no plain file.
    pub fn read_below(&self, path: &Path, what: &'static str) -> io::Result<std::fs::File> {
        faults::before(Operation::Open, what)?;
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        let opened = rustix::fs::openat2(&self.folder, path, flags, Mode::empty(), resolve);
        let file: std::fs::File = match opened {
            // Of a kernel before 5.6, a container that forbids it, or beside a rename.
            Err(Errno::NOSYS | Errno::PERM | Errno::AGAIN) => {
                self.read_without_links(path, flags)?
            }
            opened => opened.map_err(leads_out)?,
        }
        .into();
        match file.metadata()?.is_file() {
            true => Ok(file),
            false => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no plain file")),
        }
    }

    /// As [`Folder::read_below`], where the kernel keeps nobody below a folder: no part of the path is a link.
    fn read_without_links(&self, path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
        let mut folder = self.folder.try_clone()?;
        let mut parts = path.components().peekable();
        while let Some(part) = parts.next() {
            let Component::Normal(name) = part else { return Err(leads_out(Errno::XDEV)) };
            let flags = if parts.peek().is_some() { FOLDER } else { flags | OFlags::NOFOLLOW };
            let opened = rustix::fs::openat(&folder, name, flags, Mode::empty());
            folder = opened.map_err(|errno| match errno {
                Errno::LOOP | Errno::NOTDIR => leads_out(Errno::XDEV),
                errno => errno.into(),
            })?;
        }
        Ok(folder)
    }

    /// Opens a file to read it and to write at its end; made for this user alone if it is missing.
    pub fn append_to(&self, name: &OsStr, what: &'static str) -> io::Result<std::fs::File> {
        faults::before(Operation::Create, what)?;
        self.open_file(name, OFlags::RDWR | OFlags::APPEND | OFlags::CREATE)
    }

    /// Opens a character device to write to it.
    ///
    /// Errors: something else has the name.
    pub fn write_to_device(&self, name: &OsStr, what: &'static str) -> io::Result<std::fs::File> {
        faults::before(Operation::Open, what)?;
        let file = self.open_file(name, OFlags::WRONLY | OFlags::NOCTTY)?;
        if !file.metadata()?.file_type().is_char_device() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        // A terminal that is slow is waited for.
        rustix::fs::fcntl_setfl(&file, OFlags::empty())?;
        Ok(file)
    }

    /// Gives a file another name in one step, over a file that has it.
    pub fn rename(&self, from: &OsStr, to: &OsStr, what: &'static str) -> io::Result<()> {
        faults::before(Operation::Rename, what)?;
        Ok(rustix::fs::renameat(&self.folder, from, &self.folder, to)?)
    }

    /// As [`Folder::rename`], but never over something that has that name: `AlreadyExists` then.
    pub fn rename_new(&self, from: &OsStr, to: &OsStr, what: &'static str) -> io::Result<()> {
        faults::before(Operation::Rename, what)?;
        let here = self.folder.as_fd();
        match rustix::fs::renameat_with(here, from, here, to, RenameFlags::NOREPLACE) {
            // Not every file system can refuse to replace.
            Err(Errno::INVAL | Errno::NOSYS) => match self.look(to)? {
                Some(_) => return Err(io::ErrorKind::AlreadyExists.into()),
                None => rustix::fs::renameat(here, from, here, to)?,
            },
            renamed => renamed?,
        }
        faults::renamed(here, from, to)
    }

    /// Removes a file, or a link; false when there was none.
    pub fn remove(&self, name: &OsStr, what: &'static str) -> io::Result<bool> {
        faults::before(Operation::Remove, what)?;
        match rustix::fs::unlinkat(&self.folder, name, AtFlags::empty()) {
            Err(Errno::NOENT) => Ok(false),
            removed => Ok(removed.map(|()| true)?),
        }
    }

    /// Takes a lock of the open folder, without waiting; false if others have theirs. It ends with the folder.
    ///
    /// Errors: the system's; some file systems have no locks.
    pub fn try_lock(&self, lock: Lock) -> io::Result<bool> {
        let operation = match lock {
            Lock::Shared => FlockOperation::NonBlockingLockShared,
            Lock::Exclusive => FlockOperation::NonBlockingLockExclusive,
        };
        match rustix::fs::flock(&self.folder, operation) {
            Err(Errno::WOULDBLOCK) => Ok(false),
            locked => Ok(locked.map(|()| true)?),
        }
    }

    /// Names in it, in no order.
    pub fn names(&self) -> io::Result<Vec<OsString>> {
        let mut names = Vec::new();
        for entry in Dir::read_from(&self.folder)? {
            let name = OsStr::from_bytes(entry?.file_name().to_bytes()).to_owned();
            if name != "." && name != ".." {
                names.push(name);
            }
        }
        Ok(names)
    }

    /// Makes what happened to the names in it durable.
    pub fn sync(&self, what: &'static str) -> io::Result<()> {
        faults::before(Operation::Sync, what)?;
        rustix::io::retry_on_intr(|| rustix::fs::fsync(&self.folder))?;
        faults::synced(&self.folder)
    }

    fn stat_of(&self, name: &OsStr) -> rustix::io::Result<Stat> {
        rustix::fs::statat(&self.folder, name, AtFlags::SYMLINK_NOFOLLOW)
    }

    fn open_file(&self, name: &OsStr, flags: OFlags) -> io::Result<std::fs::File> {
        let mode = Mode::RUSR | Mode::WUSR;
        let file = rustix::fs::openat(&self.folder, name, FILE | flags, mode);
        Ok(file.map_err(|errno| link_or(errno, self.stat_of(name)))?.into())
    }
}

impl AsFd for Folder {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.folder.as_fd()
    }
}

/// The error of a path that leads out of a folder in words.
fn leads_out(errno: Errno) -> io::Error {
    const OUT: &str =
        "it is a link out of its folder, whose own files alone are read; copy the file there";
    match errno {
        Errno::XDEV | Errno::LOOP => io::Error::new(io::ErrorKind::InvalidInput, OUT),
        errno => errno.into(),
    }
}

/// True if an error is that of a symbolic link where none may be.
pub fn is_link(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::LOOP.raw_os_error())
}

/// The kernel says of a link that was to be a folder that it is none.
fn link_or(errno: Errno, found: rustix::io::Result<Stat>) -> io::Error {
    let is_link = |stat: Stat| {
        rustix::fs::FileType::from_raw_mode(stat.st_mode) == rustix::fs::FileType::Symlink
    };
    match errno {
        Errno::NOTDIR if found.is_ok_and(is_link) => Errno::LOOP.into(),
        errno => errno.into(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn files_below_a_folder_are_read_and_no_others() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        fs::create_dir_all(at("dump/sub")).unwrap();
        for name in ["outside", "dump/own", "dump/sub/own"] {
            fs::write(at(name), "rows").unwrap();
        }
        symlink("own", at("dump/alias")).unwrap();
        symlink("../outside", at("dump/out")).unwrap();
        symlink(at("outside"), at("dump/sub/absolute")).unwrap();
        symlink("../..", at("dump/sub/up")).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, at("dump/pipe"), Mode::RUSR).unwrap();
        let folder = Folder::open(&at("dump")).unwrap();
        for (name, words) in [
            ("own", ""),
            ("alias", ""),
            ("sub/own", ""),
            ("out", "a link out of its folder"),
            ("sub/absolute", "a link out of its folder"),
            ("sub/up/outside", "a link out of its folder"),
            ("../outside", "a link out of its folder"),
            ("sub", "no plain file"),
            ("pipe", "no plain file"),
        ] {
            let text = folder
                .read_below(Path::new(name), "x")
                .map_or_else(|e| e.to_string(), |_| String::new());
            assert!(text.contains(words) && text.is_empty() == words.is_empty(), "{name}: {text}");
            let opened =
                folder.read_without_links(Path::new(name), OFlags::RDONLY | OFlags::NONBLOCK);
            let is_plain = words.is_empty() && name != "alias";
            assert!(opened.is_ok() == is_plain || ["sub", "pipe"].contains(&name), "{name}");
        }
    }
}
