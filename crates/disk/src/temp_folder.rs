//! Folders for the files of one step, below the folder for temporary files.
//!
//! The owner holds a lock on the folder's own handle, which ends with its process. The number of a process
//! proves nothing: two containers of one user may share the folder for temporary files and see no process of
//! each other. Folders without a lock belong to killed processes and are removed.

use std::fs::DirBuilder;
use std::io::{self, ErrorKind};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use crate::{Folder, Lock, Operation, faults};

/// A folder of this process, for its user alone. It is removed with its files when it is dropped.
#[derive(Debug)]
pub struct TempFolder {
    folder: Folder,
    what: &'static str,
}

impl TempFolder {
    /// Makes a folder named by `prefix`, the number of this process and another number, and removes those of
    /// killed processes.
    ///
    /// Errors: the system's, about `temp_dir` or the new folder.
    pub fn create(temp_dir: &Path, prefix: &str, what: &'static str) -> io::Result<TempFolder> {
        let temp_dir = std::path::absolute(temp_dir)?;
        remove_left(&temp_dir, prefix, what);
        faults::before(Operation::Create, what)?;
        DirBuilder::new().recursive(true).mode(0o700).create(&temp_dir)?;
        let process = std::process::id();
        let mut number = 0_u64;
        loop {
            let path = temp_dir.join(format!("{prefix}{process}-{number}"));
            number += 1;
            match DirBuilder::new().mode(0o700).create(&path) {
                // A folder of this process, or of one with its number in another container.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => continue,
                made => made?,
            }
            match Folder::open(&path) {
                // Another process took the folder for a killed one's before it was locked, and removes it.
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                folder => {
                    let folder = folder?;
                    if is_kept(&folder)? {
                        return Ok(TempFolder { folder, what });
                    }
                }
            }
        }
    }

    /// The folder itself.
    pub fn folder(&self) -> &Folder {
        &self.folder
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

impl Drop for TempFolder {
    fn drop(&mut self) {
        // The next owner of such a folder removes a rest.
        let _ = remove_all(self.path(), self.what);
    }
}

/// Locks a folder of this process; false if another process removes it.
///
/// A file system without locks gives none, and its folders stay.
fn is_kept(folder: &Folder) -> io::Result<bool> {
    let is_locked = folder.try_lock(Lock::Exclusive);
    Ok(is_locked.unwrap_or(true) && folder.stat()?.st_nlink > 0)
}

/// Removes the folders of killed processes.
fn remove_left(temp_dir: &Path, prefix: &str, what: &'static str) {
    for entry in std::fs::read_dir(temp_dir).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let rest = name.to_str().and_then(|name| name.strip_prefix(prefix));
        let process = rest.and_then(|rest| rest.split('-').next()?.parse::<u32>().ok());
        if process.is_none() {
            continue;
        }
        if let Ok(folder) = Folder::open(&entry.path())
            && folder.try_lock(Lock::Exclusive).is_ok_and(|is_locked| is_locked)
        {
            // The next owner of such a folder tries a rest again.
            let _ = remove_all(folder.path(), what);
        }
    }
}

fn remove_all(path: &Path, what: &'static str) -> io::Result<()> {
    faults::before(Operation::Remove, what)?;
    std::fs::remove_dir_all(path)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::ffi::OsStr;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    const PREFIX: &str = "inrush-test-";

    #[test]
    fn a_folder_of_a_killed_process_is_removed_and_one_with_an_owner_stays() {
        let temp = tempfile::tempdir().unwrap();
        let at = |name: &str| temp.path().join(name);
        // No process has these numbers here. Another container has the second one.
        let (left, foreign) = (format!("{PREFIX}4294967295"), format!("{PREFIX}4294967294-7"));
        for name in [&left[..], &foreign, "inrush-test-x", "other-4294967295"] {
            fs::create_dir(at(name)).unwrap();
            fs::write(at(name).join("rows"), "1").unwrap();
        }
        symlink(at("other-4294967295"), at("inrush-test-4294967293")).unwrap();
        let owner = Folder::open(&at(&foreign)).unwrap();
        assert!(owner.try_lock(Lock::Exclusive).unwrap());
        let first = TempFolder::create(temp.path(), PREFIX, "rows").unwrap();
        assert!(!at(&left).exists());
        for name in [&foreign[..], "inrush-test-x", "other-4294967295"] {
            assert!(at(name).join("rows").exists(), "{name}");
        }
        drop(owner);
        let second = TempFolder::create(temp.path(), PREFIX, "rows").unwrap();
        assert!(!at(&foreign).exists() && first.path().exists());
        assert_ne!(first.path(), second.path());
        assert_eq!(fs::metadata(second.path()).unwrap().permissions().mode() & 0o777, 0o700);
        second.folder().create(OsStr::new("rows"), 0o600, "rows").unwrap();
        let paths = [first.path().to_owned(), second.path().to_owned()];
        drop((first, second));
        assert!(paths.iter().all(|path| !path.exists()));
    }

    #[test]
    fn a_process_of_the_same_number_in_another_container_keeps_its_folder() {
        let temp = tempfile::tempdir().unwrap();
        let taken = temp.path().join(format!("{PREFIX}{}-0", std::process::id()));
        fs::create_dir(&taken).unwrap();
        let owner = Folder::open(&taken).unwrap();
        assert!(owner.try_lock(Lock::Exclusive).unwrap());
        let ours = TempFolder::create(temp.path(), PREFIX, "rows").unwrap();
        assert_ne!(ours.path(), taken);
        assert!(taken.exists());
    }

    #[test]
    fn a_folder_that_is_removed_before_its_lock_is_not_kept() {
        let temp = tempfile::tempdir().unwrap();
        fs::create_dir(temp.path().join("folder")).unwrap();
        let open = || Folder::open(&temp.path().join("folder")).unwrap();
        let (remover, owner) = (open(), open());
        assert!(remover.try_lock(Lock::Exclusive).unwrap());
        assert!(!is_kept(&owner).unwrap());
        fs::remove_dir(remover.path()).unwrap();
        drop(remover);
        assert!(!is_kept(&owner).unwrap());
    }
}
