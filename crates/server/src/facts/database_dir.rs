//! Files of ours in a database's folder, among those of others.
//!
//! Others who may write to that folder may put anything under a name of ours, and Inrush may run as root:
//! nothing is followed, overwritten or removed before it is known to be a plain file of our own or of the
//! server's, with one name.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use disk::folder::is_link;
use disk::{File, Folder};
use face::option::DATADIR;
use rustix::fs::{Access, AtFlags, FileType, Gid, Stat, Uid};

use crate::error::{Error, Result, forbidden_to_root};
use crate::facts::ServerFacts;
use crate::filename::filename;
use crate::session::Session;
use crate::unsupported::Unsupported;

/// Mode of our file until it is handed to the server.
const BUILD_MODE: u32 = 0o600;
/// Mode of the server's own files.
const SERVER_MODE: u32 = 0o660;

/// The folder of one database, seen from here and writable by us.
///
/// It was opened once: whatever becomes of its path, what is done in it is done in this folder.
#[derive(Clone, Debug)]
pub struct DatabaseDir {
    /// Its path on this machine, for messages.
    pub path: PathBuf,
    /// The folder itself.
    folder: Arc<Folder>,
    /// User id of the server's files.
    pub uid: u32,
    /// Group id of the server's files.
    pub gid: u32,
}

/// Which file it is, whatever its name: device and inode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileId(u64, u64);

impl FileId {
    /// That of which this is said.
    pub fn of(stat: &Stat) -> FileId {
        FileId(stat.st_dev, stat.st_ino)
    }
}

/// A file and the time of its last write, in seconds and nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileVersion(FileId, i128, i128);

/// Files are told by their paths, as messages have them; only their names count, in the folder that
/// is open.
impl DatabaseDir {
    /// True if a file of ours exists.
    ///
    /// Errors: [`Error::InTheWay`] for anything else of that name.
    pub fn has(&self, path: &Path) -> Result<bool> {
        let Some(stat) = self.look(path)? else { return Ok(false) };
        match self.foreign(&stat) {
            Some(seen) => Err(Error::InTheWay { path: path.to_owned(), seen }),
            None => Ok(true),
        }
    }

    /// The names of all that is in the folder; those that are no UTF-8 are not ours.
    pub fn names(&self) -> Result<Vec<String>> {
        let names = self.folder.names().map_err(|e| Error::io("listing", &self.path, e))?;
        Ok(names.into_iter().filter_map(|name| name.into_string().ok()).collect())
    }

    /// True if any file exists, whoever made it.
    pub fn is_taken(&self, path: &Path) -> Result<bool> {
        Ok(self.look(path)?.is_some())
    }

    /// Which file it is that is there.
    pub fn id(&self, path: &Path) -> Option<FileId> {
        self.look(path).ok()?.map(|stat| FileId::of(&stat))
    }

    /// The version of a file, whoever made it.
    pub fn version(&self, path: &Path) -> Result<Option<FileVersion>> {
        let version = |stat: Stat| {
            let written = (i128::from(stat.st_mtime), i128::from(stat.st_mtime_nsec));
            FileVersion(FileId::of(&stat), written.0, written.1)
        };
        Ok(self.look(path)?.map(version))
    }

    /// Removes a file of ours; false when there is none. Errors as for [`DatabaseDir::has`].
    pub fn remove(&self, path: &Path) -> Result<bool> {
        if !self.has(path)? {
            return Ok(false);
        }
        self.folder.remove(name(path), "leftover").map_err(|e| self.failed("removing", path, e))
    }

    /// Makes a file that nobody else can open.
    ///
    /// Errors: [`Error::InTheWay`] when anything has that name, a dangling symlink included.
    pub fn create(&self, path: &Path, what: &'static str) -> Result<File> {
        self.folder.create(name(path), BUILD_MODE, what).map_err(|e| match e.kind() {
            ErrorKind::AlreadyExists => self.in_the_way(path),
            _ => self.failed("making", path, e),
        })
    }

    /// Opens a file of ours to read.
    pub fn open(&self, path: &Path, what: &'static str) -> Result<File> {
        self.ours(path, self.folder.read_from(name(path), what))
    }

    /// Opens a file of ours to read it and to change its bytes.
    pub fn open_to_write(&self, path: &Path, what: &'static str) -> Result<File> {
        self.ours(path, self.folder.change(name(path), what))
    }

    fn ours(&self, path: &Path, opened: io::Result<File>) -> Result<File> {
        let file = opened.map_err(|e| match is_link(&e) {
            true => self.in_the_way(path),
            false => self.failed("opening", path, e),
        })?;
        let stat = stat(&file, path)?;
        match self.foreign(&stat) {
            Some(seen) => Err(Error::InTheWay { path: path.to_owned(), seen }),
            None => Ok(file),
        }
    }

    /// All bytes of a file of ours.
    pub fn read(&self, path: &Path, what: &'static str) -> Result<Vec<u8>> {
        let (mut file, mut bytes) = (self.open(path, what)?, Vec::new());
        file.read_to_end(&mut bytes).map_err(|e| Error::io("reading", path, e))?;
        Ok(bytes)
    }

    /// Writes a new file and gives it to the server. Not durable.
    pub fn write(&self, path: &Path, bytes: &[u8], what: &'static str) -> Result<()> {
        let mut file = self.create(path, what)?;
        file.write_all(bytes).map_err(|e| Error::io("writing", path, e))?;
        self.hand_over(&file, path)
    }

    /// Gives a file the owner of the folder and the mode of the server's files.
    pub fn hand_over(&self, file: &File, path: &Path) -> Result<()> {
        let stat = stat(file, path)?;
        if (stat.st_uid, stat.st_gid) != (self.uid, self.gid) {
            // Only root may give files away; a server run by us owns its folder as we do.
            let (uid, gid) = (Uid::from_raw(self.uid), Gid::from_raw(self.gid));
            rustix::fs::fchown(file, Some(uid), Some(gid))
                .map_err(|e| Error::io("changing the owner of", path, e.into()))?;
        }
        file.set_permissions(fs::Permissions::from_mode(SERVER_MODE))
            .map_err(|e| Error::io("changing the permissions of", path, e))
    }

    /// Makes a file durable that the server has adopted: its owner and mode, and its contents, which the
    /// server has synced unless it was told not to sync anything.
    pub fn sync_adopted(&self, path: &Path, what: &'static str) -> Result<()> {
        let file = self.open(path, what)?;
        file.was_synced_elsewhere().map_err(|e| Error::io("looking at", path, e))?;
        file.sync_all().map_err(|e| Error::io("syncing", path, e))
    }

    /// Renames a file of ours to a name that nobody has, durable.
    pub fn rename(&self, from: &Path, to: &Path, what: &'static str) -> Result<()> {
        self.folder.rename_new(name(from), name(to), what).map_err(|e| match e.kind() {
            ErrorKind::AlreadyExists => self.in_the_way(to),
            _ => self.failed("renaming", from, e),
        })?;
        self.sync_names()
    }

    /// Makes the names of all files durable, also those that the server gave.
    pub fn sync_names(&self) -> Result<()> {
        self.folder.sync("folder").map_err(|e| Error::io("syncing", &self.path, e))
    }

    /// The entry of the name of `path`.
    fn look(&self, path: &Path) -> Result<Option<Stat>> {
        self.folder.look(name(path)).map_err(|e| Error::io("looking at", path, e))
    }

    /// The fault of a file that should be ours, in words.
    fn foreign(&self, stat: &Stat) -> Option<String> {
        let what = match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => "",
            FileType::Symlink => "a symbolic link",
            FileType::Directory => "a folder",
            FileType::Fifo => "a pipe",
            _ => "a socket or a device",
        };
        if !what.is_empty() {
            return Some(what.to_owned());
        }
        if stat.st_nlink > 1 {
            return Some(format!("a file with {} hard links", stat.st_nlink));
        }
        let me = rustix::process::geteuid().as_raw();
        if stat.st_uid != self.uid && stat.st_uid != me {
            return Some(format!("a file of user {}", stat.st_uid));
        }
        None
    }

    /// The error for a name that is taken.
    fn in_the_way(&self, path: &Path) -> Error {
        let stat = self.look(path).ok().flatten();
        let seen = stat.and_then(|stat| self.foreign(&stat));
        let seen = seen.unwrap_or_else(|| "a file that appeared while the load ran".to_owned());
        Error::InTheWay { path: path.to_owned(), seen }
    }

    /// The error of an operation on a file.
    fn failed(&self, doing: &'static str, path: &Path, source: io::Error) -> Error {
        match source.kind() {
            ErrorKind::PermissionDenied if is_root() => {
                Error::Forbidden { doing, path: path.to_owned(), owner: self.uid, source }
            }
            _ => Error::io(doing, path, source),
        }
    }
}

impl ServerFacts {
    /// The data directory as this machine sees it: the named one, else as the server names it. A server in a
    /// container sees another path.
    pub fn data_folder(&self) -> &Path {
        self.local_datadir.as_deref().unwrap_or(&self.datadir)
    }

    /// The folder of `database` in the data directory, if this process can put files there that
    /// the server can open.
    ///
    /// That a folder of the right name exists proves little; that it is this server's is proven
    /// when a table that the server exports appears in it.
    pub fn database_dir(
        &self,
        session: &mut Session,
        database: &str,
    ) -> Result<Result<DatabaseDir, Unsupported>> {
        let datadir = self.data_folder();
        let path = datadir.join(filename(session, database)?);
        let refuse = |detail: String| Ok(Err(Unsupported::DataDirectory(detail)));
        let folder = match Folder::open_linked(&path) {
            Ok(folder) => folder,
            Err(e) if e.kind() == ErrorKind::NotADirectory => {
                return refuse(format!("{} is not a folder", path.display()));
            }
            Err(e) => return refuse(self.inaccessible(&path, &e)),
        };
        let stat = folder.stat().map_err(|e| Error::io("reading", &path, e))?;
        let owner = stat.st_uid;
        let all = Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK;
        if let Err(e) = rustix::fs::accessat(&folder, ".", all, AtFlags::empty()) {
            let how = match is_root() {
                true => forbidden_to_root(&path, Some(owner)),
                false => format!("run as root or as user {owner}"),
            };
            return refuse(format!("{} is not writable: {e}; {how}", path.display()));
        }
        let user = rustix::process::geteuid();
        if !user.is_root() && user.as_raw() != owner {
            return refuse(format!(
                "{} belongs to user {owner}, and its files must, too: run as root or as that user",
                path.display()
            ));
        }
        // A link that the server's user made could lead anywhere; to what is that user's own anyway,
        // it may.
        let server = std::fs::metadata(datadir).map_err(|e| Error::io("reading", datadir, e))?;
        if owner != server.uid() {
            return refuse(format!(
                "{} belongs to user {owner}, but {} to user {}: both must belong to the server's \
                 user",
                path.display(),
                datadir.display(),
                server.uid()
            ));
        }
        let (uid, gid) = (stat.st_uid, stat.st_gid);
        Ok(Ok(DatabaseDir { path, folder: Arc::new(folder), uid, gid }))
    }

    /// Why a folder of the server's cannot be opened, and what helps.
    fn inaccessible(&self, path: &Path, error: &std::io::Error) -> String {
        let how = match (error.kind(), &self.local_datadir) {
            (ErrorKind::PermissionDenied, _) if is_root() => {
                forbidden_to_root(path, fs::metadata(path).ok().map(|stat| stat.uid()))
            }
            (ErrorKind::PermissionDenied, _) => "run as root or as the server's user".to_owned(),
            (_, Some(named)) => {
                format!("{} must name its data directory", DATADIR.with(named.display()))
            }
            (_, None) => format!(
                "run on the server's machine; {} names the data directory of a server in a container",
                DATADIR.with("PATH")
            ),
        };
        format!(
            "{} of the server on {} is inaccessible from here: {error}; {how}",
            path.display(),
            self.hostname
        )
    }
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

fn name(path: &Path) -> &OsStr {
    path.file_name().unwrap_or_default()
}

fn stat(file: &File, path: &Path) -> Result<Stat> {
    rustix::fs::fstat(file).map_err(|e| Error::io("reading", path, e.into()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::os::unix::fs::{MetadataExt, symlink};
    use std::sync::Arc;

    use disk::Folder;

    use super::*;

    /// A folder of ours, gone with the test.
    struct Place(tempfile::TempDir);

    impl Place {
        fn dir(&self) -> DatabaseDir {
            let meta = fs::metadata(self.0.path()).unwrap();
            let (path, folder) = (self.0.path().to_owned(), Folder::open(self.0.path()).unwrap());
            DatabaseDir { path, folder: Arc::new(folder), uid: meta.uid(), gid: meta.gid() }
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

    /// Somebody who may write beside the folder puts a link to another one in its place while a load
    /// runs: nothing is made, read, renamed or removed there.
    #[test]
    fn a_folder_that_is_swapped_for_a_link_leads_nowhere() {
        let place = Place(tempfile::tempdir().unwrap());
        let (db, was, etc) =
            (place.0.path().join("db"), place.0.path().join("was"), place.0.path().join("etc"));
        fs::create_dir(&db).unwrap();
        fs::create_dir(&etc).unwrap();
        let meta = fs::metadata(&db).unwrap();
        let folder = Arc::new(Folder::open_linked(&db).unwrap());
        let dir = DatabaseDir { path: db.clone(), folder, uid: meta.uid(), gid: meta.gid() };
        dir.write(&db.join("before"), b"ours", "x").unwrap();
        fs::rename(&db, &was).unwrap();
        symlink(&etc, &db).unwrap();
        for name in ["before", "precious"] {
            fs::write(etc.join(name), "precious").unwrap();
        }
        dir.write(&db.join("after"), b"ours", "x").unwrap();
        dir.rename(&db.join("after"), &db.join("placed"), "x").unwrap();
        assert_eq!(dir.read(&db.join("before"), "x").unwrap(), b"ours");
        assert!(dir.remove(&db.join("before")).unwrap());
        assert!(!dir.has(&db.join("precious")).unwrap());
        let names = |folder: &Path| {
            let mut names: Vec<_> =
                fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
            names.sort();
            names
        };
        assert_eq!(names(&etc), ["before", "precious"]);
        assert_eq!(names(&was), ["placed"]);
        assert_eq!(fs::read(etc.join("before")).unwrap(), b"precious");
    }
}
