//! Folders and files that nobody but this user can have put anything into: journals, what was
//! learned, the sandbox.
//!
//! Files there are trusted when they are read, and removed when they are old, so neither may be another's: a
//! folder that is a symbolic link, belongs to somebody else or may be written to by others is refused, and so
//! is a file.

use std::ffi::OsStr;
use std::fs::DirBuilder;
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use rustix::fs::{FileType, Mode, Stat};

use crate::File;
use crate::folder::{Folder, is_link};

/// Write permission of group and others.
const OTHERS_WRITE: u32 = 0o022;

/// Has no file or folder that this process makes, or a program that it starts, be writable by others, whatever
/// the umask is.
pub fn deny_writes_of_others() {
    let others = Mode::from_raw_mode(OTHERS_WRITE);
    let mask = rustix::process::umask(others);
    rustix::process::umask(mask | others);
}

/// Opens the folder at `path`; it and those above it are made for this user alone if they are
/// missing.
///
/// Errors, `PermissionDenied` with what was seen: a link, somebody else's, or open to others.
pub fn make(path: &Path) -> io::Result<Folder> {
    match open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            DirBuilder::new().recursive(true).mode(0o700).create(path)?;
            open(path)
        }
        opened => opened,
    }
}

/// As [`make`], of a folder that is there.
pub fn open(path: &Path) -> io::Result<Folder> {
    checked(Folder::open(path))
}

/// Opens the folder `name` in one of ours; made if it is missing.
pub fn subfolder(folder: &Folder, name: &str) -> io::Result<Folder> {
    checked(folder.subfolder(name))
}

/// All bytes of a file of ours.
pub fn read(folder: &Folder, name: &OsStr, what: &'static str) -> io::Result<Vec<u8>> {
    let (mut file, size) = open_file(folder, name, what)?;
    let mut bytes = Vec::with_capacity(size + 1);
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Opens a file of ours to read it. Gives its size in bytes as well.
pub(crate) fn open_file(
    folder: &Folder,
    name: &OsStr,
    what: &'static str,
) -> io::Result<(File, usize)> {
    let file = folder.read_from(name, what).map_err(named_link)?;
    let stat = rustix::fs::fstat(&file)?;
    check_file(&stat)?;
    Ok((file, usize::try_from(stat.st_size).unwrap_or(0)))
}

/// Opens a file of ours to read it and to write at its end; made if it is missing.
pub fn append_to(folder: &Folder, name: &OsStr, what: &'static str) -> io::Result<std::fs::File> {
    let file = folder.append_to(name, what).map_err(named_link)?;
    check_file(&rustix::fs::fstat(&file)?)?;
    Ok(file)
}

/// Puts a file of ours in its place whole, so that whoever reads it sees all of it or the one
/// before. It is not waited for until it is on the disk.
pub fn write(folder: &Folder, name: &str, bytes: &[u8], what: &'static str) -> io::Result<()> {
    let made = format!("{name}.{}.new", std::process::id());
    let made = OsStr::new(&made);
    // Of a process of that number that was killed.
    folder.remove(made, what)?;
    let mut file = folder.create(made, 0o600, what)?;
    let written = io::Write::write_all(&mut file, bytes);
    let placed = written.and_then(|()| folder.rename(made, OsStr::new(name), what));
    placed.inspect_err(|_| drop(folder.remove(made, what)))
}

/// True if others may put files into a folder, or if it is another user's.
pub fn is_shared(path: &Path) -> io::Result<bool> {
    Ok(others(&rustix::fs::stat(path)?).is_some())
}

fn checked(opened: io::Result<Folder>) -> io::Result<Folder> {
    let folder = opened.map_err(named_link)?;
    match others(&folder.stat()?) {
        Some(seen) => Err(refused(seen)),
        None => Ok(folder),
    }
}

fn check_file(stat: &Stat) -> io::Result<()> {
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(refused("it is not a plain file".to_owned()));
    }
    others(stat).map_or(Ok(()), |seen| Err(refused(seen)))
}

/// Who else could have made it, or written to it.
fn others(stat: &Stat) -> Option<String> {
    let me = rustix::process::geteuid().as_raw();
    let mode = stat.st_mode & 0o7777;
    if stat.st_uid != me {
        return Some(format!("it belongs to user {}, not to user {me}", stat.st_uid));
    }
    (mode & OTHERS_WRITE != 0).then(|| {
        format!("users other than its owner may write to it (mode {mode:04o}): run chmod go-w")
    })
}

fn named_link(error: io::Error) -> io::Error {
    if is_link(&error) { refused("it is a symbolic link".to_owned()) } else { error }
}

fn refused(seen: String) -> io::Error {
    io::Error::new(ErrorKind::PermissionDenied, seen)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn text<T>(outcome: io::Result<T>) -> String {
        outcome.err().unwrap().to_string()
    }

    #[test]
    fn what_others_could_have_made_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        let ours = make(&at("a/b/ours/")).unwrap();
        assert_eq!(fs::metadata(at("a/b/ours")).unwrap().permissions().mode() & 0o777, 0o700);
        symlink(at("a/b/ours"), at("link")).unwrap();
        for path in ["link", "link/", "link/."] {
            assert!(text(make(&at(path))).contains("a symbolic link"), "{path}");
        }
        symlink(at("nowhere"), at("dangling")).unwrap();
        assert!(text(make(&at("dangling"))).contains("a symbolic link"));
        assert!(!at("nowhere").exists());
        symlink(place.path(), at("a/b/ours/jobs")).unwrap();
        assert!(text(subfolder(&ours, "jobs")).contains("a symbolic link"));
        for mode in [0o770, 0o702, 0o1777] {
            fs::set_permissions(at("a/b/ours"), fs::Permissions::from_mode(mode)).unwrap();
            assert!(text(make(&at("a/b/ours"))).contains("chmod go-w"), "{mode:o}");
        }
        fs::set_permissions(at("a/b/ours"), fs::Permissions::from_mode(0o755)).unwrap();
        make(&at("a/b/ours")).unwrap();
        if rustix::process::geteuid().is_root() {
            std::os::unix::fs::chown(at("a/b/ours"), Some(12), None).unwrap();
            assert!(text(make(&at("a/b/ours"))).contains("belongs to user 12"));
        }
    }

    #[test]
    fn files_of_others_are_neither_read_nor_written() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        fs::set_permissions(place.path(), fs::Permissions::from_mode(0o700)).unwrap();
        let folder = open(place.path()).unwrap();
        fs::write(at("victim"), "precious").unwrap();
        symlink(at("victim"), at("link")).unwrap();
        fs::create_dir(at("folder")).unwrap();
        fs::write(at("open"), "forged").unwrap();
        fs::set_permissions(at("open"), fs::Permissions::from_mode(0o666)).unwrap();
        for (name, seen) in [("link", "symbolic link"), ("folder", ""), ("open", "chmod go-w")] {
            let name = OsStr::new(name);
            assert!(text(read(&folder, name, "x")).contains(seen), "{name:?}");
            assert!(text(append_to(&folder, name, "x")).contains(seen), "{name:?}");
        }
        write(&folder, "link", b"ours", "x").unwrap();
        assert_eq!(fs::read(at("victim")).unwrap(), b"precious");
        assert_eq!(read(&folder, OsStr::new("link"), "x").unwrap(), b"ours");
    }

    #[test]
    fn a_folder_stays_the_one_that_was_opened() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        let folder = make(&at("one")).unwrap();
        fs::create_dir(at("two")).unwrap();
        fs::rename(at("one"), at("was")).unwrap();
        symlink(at("two"), at("one")).unwrap();
        folder.create(OsStr::new("file"), 0o600, "x").unwrap();
        folder.rename_new(OsStr::new("file"), OsStr::new("placed"), "x").unwrap();
        folder.sync("x").unwrap();
        assert_eq!(folder.names().unwrap(), ["placed"]);
        assert!(at("was/placed").exists() && !at("two/placed").exists());
        assert!(folder.remove(OsStr::new("placed"), "x").unwrap());
        assert!(!folder.remove(OsStr::new("placed"), "x").unwrap());
    }
}
