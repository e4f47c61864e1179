//! Files of ours in a database's folder, among those of others.
//!
//! Whoever may write to that folder may put anything under a name of ours, and Inrush may run as
//! root: nothing is followed, overwritten or removed before it is known to be a plain file of our
//! own or of the server's, with one name.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use disk::File;
use rustix::fs::OFlags;
use rustix::io::Errno;

use crate::error::{Error, Result};
use crate::facts::DatabaseDir;

/// Mode of our file until it is handed to the server.
const BUILD_MODE: u32 = 0o600;
/// Mode of the server's own files.
const SERVER_MODE: u32 = 0o660;

/// The folder of the target's database.
#[derive(Debug)]
pub(super) struct Folder {
    pub(super) dir: DatabaseDir,
    /// Whether it is known to be this server's.
    pub(super) is_proven: bool,
}

impl DatabaseDir {
    /// Whether a file of ours is there.
    ///
    /// Errors: [`Error::InTheWay`] for anything else of that name.
    pub(crate) fn has(&self, path: &Path) -> Result<bool> {
        let meta = match fs::symlink_metadata(path) {
            Ok(meta) => meta,
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(false),
            Err(e) => return Err(Error::io("looking at", path, e)),
        };
        match self.foreign(&meta) {
            Some(seen) => Err(Error::InTheWay { path: path.to_owned(), seen }),
            None => Ok(true),
        }
    }

    /// Removes a file of ours; false when there is none. Errors as for [`DatabaseDir::has`].
    pub(crate) fn remove(&self, path: &Path) -> Result<bool> {
        if !self.has(path)? {
            return Ok(false);
        }
        disk::remove(path, "leftover").map_err(|e| Error::io("removing", path, e))
    }

    /// Makes a file that nobody else can open.
    ///
    /// Errors: [`Error::InTheWay`] when anything has that name, a dangling symlink included.
    pub(crate) fn create(&self, path: &Path, what: &'static str) -> Result<File> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true).mode(BUILD_MODE);
        disk::open(&options, path, what).map_err(|e| match e.kind() {
            ErrorKind::AlreadyExists => self.in_the_way(path),
            _ => Error::io("making", path, e),
        })
    }

    /// Opens a file of ours to read.
    pub(crate) fn open(&self, path: &Path, what: &'static str) -> Result<File> {
        let mut options = OpenOptions::new();
        options.read(true).custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32);
        let file = disk::open(&options, path, what).map_err(|e| match e.raw_os_error() {
            Some(errno) if errno == Errno::LOOP.raw_os_error() => self.in_the_way(path),
            _ => Error::io("opening", path, e),
        })?;
        let meta = file.metadata().map_err(|e| Error::io("reading", path, e))?;
        match self.foreign(&meta) {
            Some(seen) => Err(Error::InTheWay { path: path.to_owned(), seen }),
            None => Ok(file),
        }
    }

    /// Writes a new file and gives it to the server, durable.
    pub(crate) fn write(&self, path: &Path, bytes: &[u8], what: &'static str) -> Result<()> {
        let mut file = self.create(path, what)?;
        file.write_all(bytes).map_err(|e| Error::io("writing", path, e))?;
        self.hand_over(&file, path)
    }

    /// Gives a file the owner of the folder and the mode of the server's files, and syncs it.
    pub(crate) fn hand_over(&self, file: &File, path: &Path) -> Result<()> {
        let meta = file.metadata().map_err(|e| Error::io("reading", path, e))?;
        if (meta.uid(), meta.gid()) != (self.uid, self.gid) {
            // Only root may give files away; a server run by us owns its folder as we do.
            std::os::unix::fs::fchown(file, Some(self.uid), Some(self.gid))
                .map_err(|e| Error::io("giving the server", path, e))?;
        }
        file.set_permissions(fs::Permissions::from_mode(SERVER_MODE))
            .map_err(|e| Error::io("opening to the server", path, e))?;
        file.sync_all().map_err(|e| Error::io("syncing", path, e))
    }

    /// Renames a file of ours to a name that nobody has, durable.
    pub(crate) fn rename(&self, from: &Path, to: &Path, what: &'static str) -> Result<()> {
        disk::rename_new(from, to, what).map_err(|e| match e.kind() {
            ErrorKind::AlreadyExists => self.in_the_way(to),
            _ => Error::io("renaming", from, e),
        })?;
        disk::sync_folder(&self.path, "folder").map_err(|e| Error::io("syncing", &self.path, e))
    }

    /// What is wrong with a file that should be ours, in words.
    fn foreign(&self, meta: &fs::Metadata) -> Option<String> {
        let kind = meta.file_type();
        if kind.is_symlink() {
            return Some("a symbolic link".to_owned());
        }
        if kind.is_dir() {
            return Some("a folder".to_owned());
        }
        if !kind.is_file() {
            let what = if kind.is_fifo() { "a pipe" } else { "a socket or a device" };
            return Some(what.to_owned());
        }
        if meta.nlink() > 1 {
            return Some(format!("a file with {} hard links", meta.nlink()));
        }
        let me = rustix::process::geteuid().as_raw();
        if meta.uid() != self.uid && meta.uid() != me {
            return Some(format!("a file of user {}", meta.uid()));
        }
        None
    }

    /// The error for a name that is taken.
    fn in_the_way(&self, path: &Path) -> Error {
        let seen = fs::symlink_metadata(path).ok().and_then(|meta| self.foreign(&meta));
        let seen = seen.unwrap_or_else(|| "a file that appeared while the load ran".to_owned());
        Error::InTheWay { path: path.to_owned(), seen }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// A folder of ours, gone with the test.
    struct Place(tempfile::TempDir);

    impl Place {
        fn dir(&self) -> DatabaseDir {
            let meta = fs::metadata(self.0.path()).unwrap();
            DatabaseDir { path: self.0.path().to_owned(), uid: meta.uid(), gid: meta.gid() }
        }
    }

    #[test]
    fn nothing_foreign_is_followed_overwritten_or_removed() {
        let place = Place(tempfile::tempdir().unwrap());
        let (dir, at) = (place.dir(), |name: &str| place.0.path().join(name));
        fs::write(at("victim"), "precious").unwrap();
        symlink(at("victim"), at("link")).unwrap();
        symlink(at("nowhere"), at("dangling")).unwrap();
        fs::create_dir(at("folder")).unwrap();
        fs::write(at("mine"), "precious too").unwrap();
        fs::hard_link(at("mine"), at("hard")).unwrap();
        let ours = at("ours");
        dir.write(&ours, b"built", "x").unwrap();
        for (name, seen) in [
            ("link", "a symbolic link"),
            ("dangling", "a symbolic link"),
            ("folder", "a folder"),
            ("hard", "a file with 2 hard links"),
        ] {
            let path = at(name);
            for outcome in [
                dir.has(&path).map(drop),
                dir.remove(&path).map(drop),
                dir.create(&path, "x").map(drop),
                dir.open(&path, "x").map(drop),
                dir.write(&path, b"x", "x"),
                dir.rename(&ours, &path, "x"),
            ] {
                match outcome {
                    Err(Error::InTheWay { seen: found, .. }) => assert_eq!(found, seen, "{name}"),
                    other => panic!("{name}: {other:?}"),
                }
            }
            assert!(fs::symlink_metadata(&path).is_ok(), "{name}");
        }
        assert_eq!(fs::read(at("victim")).unwrap(), b"precious");
        assert_eq!(fs::read(at("mine")).unwrap(), b"precious too");
        assert!(!at("nowhere").exists());
        assert_eq!(fs::read(&ours).unwrap(), b"built");
        dir.rename(&ours, &at("placed"), "x").unwrap();
        assert!(dir.remove(&at("placed")).unwrap());
        assert!(!dir.remove(&at("placed")).unwrap());
    }
}
