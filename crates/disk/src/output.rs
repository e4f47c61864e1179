//! Files that a command writes where its user says: rejects, duplicates, reports.
//!
//! ```text
//! no file, or a plain one                 a new file of mode 0600, which takes the name at once
//! a device, the standard output or error  written to as it is
//! a link, a pipe, a folder                refused
//! a name of another machine               see `returned`
//! ```
//!
//! The folder may belong to somebody else, who may put anything under the name, before and meanwhile. So no
//! file there is opened to be written: the new one is made under a name that nobody has, and renamed. Nothing
//! waits for the other end of a pipe.

use std::ffi::OsString;
use std::fs::Permissions;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use rustix::fs::{FileType, Stat};

use crate::{File, Folder, returned};

/// Names of the standard output and of the standard error.
const STDOUT: [&str; 3] = ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"];
const STDERR: [&str; 3] = ["/dev/stderr", "/dev/fd/2", "/proc/self/fd/2"];

/// Mode of a new file: it may hold rows.
const MODE: u32 = 0o600;

/// What a name stands for.
enum Place {
    Stdout,
    Stderr,
    Device(Folder, OsString),
    File(Folder, OsString),
}

/// True if a path is a name of the standard output or of the standard error.
pub fn is_stream(path: &Path) -> bool {
    STDOUT.iter().chain(&STDERR).any(|stream| path == Path::new(stream))
}

/// Refuses what [`create`] refuses, and changes nothing.
///
/// Errors: as [`create`].
pub fn check(path: &Path) -> io::Result<()> {
    match returned::has(path) {
        true => Ok(()),
        false => find(path).map(drop),
    }
}

/// Begins the file at `path`, empty, in place of a plain file that has the name.
///
/// Errors: the system's; `InvalidInput` with a sentence about a name that is no plain file's.
pub fn create(path: &Path, what: &'static str) -> io::Result<File> {
    if let Some(file) = returned::create(path, what) {
        return file;
    }
    match find(path)? {
        Place::Stdout => shared(io::stdout().as_fd(), what),
        Place::Stderr => shared(io::stderr().as_fd(), what),
        Place::Device(folder, name) => Ok(File::new(folder.write_to_device(&name, what)?, what)),
        Place::File(folder, name) => {
            let made = unused_name();
            let file = folder.create(&made, MODE, what)?;
            let placed = folder.rename(&made, &name, what);
            placed.inspect_err(|_| drop(folder.remove(&made, what)))?;
            Ok(file)
        }
    }
}

/// Writes a complete file of this mode that takes the name at the end. Readers see the old file or the new one.
/// Not durable.
///
/// Errors: as [`create`], which also writes to devices.
pub fn replace(path: &Path, bytes: &[u8], mode: u32, what: &'static str) -> io::Result<()> {
    if let Some(sent) = returned::replace(path, bytes) {
        return sent;
    }
    let mut new = NewFile::create(path, mode, what)?;
    new.file().write_all(bytes)?;
    new.take_name()
}

/// Makes the name of a file durable, unless its folder may be written to and not be read.
///
/// Errors: the system's.
pub fn sync_name(path: &Path, what: &'static str) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    match crate::sync_folder(folder.unwrap_or(Path::new(".")), what) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
        synced => synced,
    }
}

/// A file that takes its name when it is complete. It is removed if it is dropped before.
#[derive(Debug)]
pub struct NewFile {
    folder: Folder,
    name: OsString,
    /// The temporary name; empty when the file has its own.
    made: OsString,
    file: File,
    what: &'static str,
}

impl NewFile {
    /// Begins the file of this mode for `path`.
    ///
    /// Errors: as [`create`], which also writes to devices.
    pub fn create(path: &Path, mode: u32, what: &'static str) -> io::Result<NewFile> {
        let Place::File(folder, name) = find(path)? else {
            return Err(refused("it is not a file"));
        };
        let made = unused_name();
        let file = folder.create(&made, mode, what)?;
        let new = NewFile { folder, name, made, file, what };
        // The mask of the process may be narrower.
        new.file.set_permissions(Permissions::from_mode(mode))?;
        Ok(new)
    }

    /// The file, to be written.
    pub fn file(&mut self) -> &mut File {
        &mut self.file
    }

    /// Gives the file its name. The name is not durable yet ([`sync_name`]).
    ///
    /// Errors: the system's.
    pub fn take_name(mut self) -> io::Result<()> {
        self.folder.rename(&self.made, &self.name, self.what)?;
        self.made.clear();
        Ok(())
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if !self.made.is_empty() {
            let _ = self.folder.remove(&self.made, self.what);
        }
    }
}

/// The first bytes of the plain file at `path`, at most `len`; None if there is no file.
///
/// Errors: the system's; `InvalidInput` with a sentence about a name that is no plain file's.
pub fn head(path: &Path, len: u64, what: &'static str) -> io::Result<Option<Vec<u8>>> {
    if returned::has(path) {
        return Ok(None);
    }
    let Place::File(folder, name) = find(path)? else {
        return Err(refused("it is not a file"));
    };
    let file = match folder.read_from(&name, what) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file?,
    };
    let mut head = Vec::new();
    file.take(len).read_to_end(&mut head)?;
    Ok(Some(head))
}

fn find(path: &Path) -> io::Result<Place> {
    let is = |names: [&str; 3]| names.iter().any(|name| path == Path::new(name));
    if is(STDOUT) {
        return Ok(Place::Stdout);
    }
    if is(STDERR) {
        return Ok(Place::Stderr);
    }
    let Some(name) = path.file_name().filter(|_| !ends_as_folder(path)) else {
        return Err(refused("it is a directory; name a file"));
    };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = Folder::open_for_names(folder.unwrap_or(Path::new(".")))?;
    match folder.look(name)?.map(|stat| kind(&stat)) {
        None | Some(FileType::RegularFile) => Ok(Place::File(folder, name.to_owned())),
        Some(FileType::CharacterDevice) => Ok(Place::Device(folder, name.to_owned())),
        Some(FileType::Symlink) => Err(refused("it is a symbolic link; name the file itself")),
        Some(FileType::Fifo) => {
            Err(refused("it is a pipe, whose reader could hold the command up; name a file"))
        }
        Some(FileType::Directory) => Err(refused("it is a directory; name a file")),
        Some(_) => Err(refused("it is neither a file nor a character device")),
    }
}

fn ends_as_folder(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().ends_with(b"/")
}

fn shared(stream: std::os::fd::BorrowedFd<'_>, what: &'static str) -> io::Result<File> {
    Ok(File::new(stream.try_clone_to_owned()?.into(), what))
}

/// A name that no other file of ours has, of any process.
fn unused_name() -> OsString {
    static MADE: AtomicU64 = AtomicU64::new(0);
    let (pid, number) = (std::process::id(), MADE.fetch_add(1, Ordering::Relaxed));
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    OsString::from(format!(".inrush-{pid}-{number}-{:x}.part", since.as_nanos()))
}

/// What the entry of a name is.
pub(crate) fn kind(stat: &Stat) -> FileType {
    FileType::from_raw_mode(stat.st_mode)
}

fn refused(words: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, words)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn nothing_is_written_through_a_name_of_somebody_else() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        fs::write(at("victim"), "precious").unwrap();
        fs::set_permissions(at("victim"), fs::Permissions::from_mode(0o644)).unwrap();
        fs::hard_link(at("victim"), at("hard")).unwrap();
        symlink(at("victim"), at("soft")).unwrap();
        symlink(at("nowhere"), at("dangling")).unwrap();
        fs::create_dir(at("folder")).unwrap();
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mkfifoat(rustix::fs::CWD, at("pipe"), mode).unwrap();
        for (name, words) in [
            ("soft", "a symbolic link"),
            ("dangling", "a symbolic link"),
            ("folder", "a directory"),
            ("new/", "a directory"),
            ("pipe", "a pipe"),
        ] {
            for outcome in [check(&at(name)), create(&at(name), "x").map(drop)] {
                let text = outcome.unwrap_err().to_string();
                assert!(text.contains(words), "{name}: {text}");
            }
        }
        for name in ["hard", "new"] {
            check(&at(name)).unwrap();
            let mut file = create(&at(name), "x").unwrap();
            file.write_all(b"rows").unwrap();
            assert_eq!(fs::read(at(name)).unwrap(), b"rows");
            assert_eq!(fs::metadata(at(name)).unwrap().permissions().mode() & 0o777, 0o600);
        }
        assert_eq!(fs::read(at("victim")).unwrap(), b"precious");
        assert!(!at("nowhere").exists());
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 7);
    }

    #[test]
    fn a_replaced_file_is_complete_and_has_its_mode() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("a.prom");
        for text in ["first", "second"] {
            replace(&path, text.as_bytes(), 0o644, "x").unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o644);
        }
        symlink(&path, place.path().join("link")).unwrap();
        assert!(replace(&place.path().join("link"), b"x", 0o644, "x").is_err());
        assert!(replace(Path::new("/dev/null"), b"x", 0o644, "x").is_err());
        assert_eq!(fs::read(&path).unwrap(), b"second");
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 2);
    }

    #[test]
    fn devices_and_the_output_are_written_to_as_they_are() {
        create(Path::new("/dev/null"), "x").unwrap().write_all(b"x").unwrap();
        let full = create(Path::new("/dev/full"), "x").unwrap().write_all(b"x");
        assert_eq!(full.unwrap_err().kind(), io::ErrorKind::StorageFull);
        for path in ["/dev/stderr", "/dev/fd/1"] {
            assert!(is_stream(Path::new(path)));
            create(Path::new(path), "x").unwrap();
        }
        assert!(check(Path::new("/dev/stdin")).is_err());
    }
}
