//! Files that killed exports left in a folder: found by their names, and removed by the next export of the same files.
//!
//! ```text
//! .orders.0001.csv.4711-1f2e3d4c.part     a file until it has its name: process, and a number of its own
//! ```
//!
//! Each export holds a shared lock on its folder, which ends with its process, also in another container. An export
//! that gets the folder for itself removes the files of processes that no longer run here.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::thread;
use std::time::{Duration, SystemTime};

use disk::{Folder, Lock};
use rustix::fs::FileType;
use rustix::process::{Pid, geteuid, getpid, test_kill_process};

/// The time that another export has to remove files.
const WAIT: Duration = Duration::from_secs(1);
const PAUSE: Duration = Duration::from_millis(5);

/// The end of the names that files of one export have until they have theirs.
#[derive(Debug)]
pub(crate) struct PartEnding(String);

impl PartEnding {
    pub(crate) fn new() -> PartEnding {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let number = since.as_nanos() as u32;
        PartEnding(format!("{}-{number:08x}.part", std::process::id()))
    }

    /// The name of a file until it is `name`.
    pub(crate) fn made(&self, name: &OsStr) -> OsString {
        let mut made = OsString::from(".");
        made.push(name);
        made.push(".");
        made.push(&self.0);
        made
    }
}

/// Removes files of killed exports whose name `is_own`, and has other exports leave those of this one.
///
/// A file system without locks keeps the files. `what` is their kind in errors of the disk.
pub(crate) fn remove(folder: &Folder, what: &'static str, is_own: impl Fn(&OsStr) -> bool) {
    if folder.try_lock(Lock::Exclusive).unwrap_or(false) {
        for name in folder.names().unwrap_or_default() {
            let part = split(&name).filter(|(own, process)| is_own(own) && has_ended(*process));
            if part.is_some() && is_plain_and_ours(folder, &name) {
                // The next export tries a rest again.
                let _ = folder.remove(&name, what);
            }
        }
    }
    let tries = WAIT.as_millis() / PAUSE.as_millis();
    for _ in 0..tries {
        if folder.try_lock(Lock::Shared).unwrap_or(true) {
            return;
        }
        thread::sleep(PAUSE);
    }
}

/// The name of a file and the process that wrote it, from the name until then.
fn split(made: &OsStr) -> Option<(&OsStr, Pid)> {
    let name = made.as_bytes().strip_prefix(b".")?.strip_suffix(b".part")?;
    let dot = name.iter().rposition(|byte| *byte == b'.')?;
    let ending = str::from_utf8(&name[dot + 1..]).ok()?;
    let (process, number) = ending.split_once('-')?;
    let is_hex = |text: &str| text.len() == 8 && text.bytes().all(|b| b.is_ascii_hexdigit());
    let process = process.parse().ok().and_then(Pid::from_raw)?;
    (is_hex(number) && process.as_raw_nonzero().get() > 0)
        .then(|| (OsStr::from_bytes(&name[..dot]), process))
}

/// True if no process has the number. One with our own was in another container: we alone use the folder.
fn has_ended(process: Pid) -> bool {
    process == getpid() || test_kill_process(process) == Err(rustix::io::Errno::SRCH)
}

fn is_plain_and_ours(folder: &Folder, name: &OsStr) -> bool {
    folder.look(name).is_ok_and(|stat| {
        stat.is_some_and(|stat| {
            FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile
                && stat.st_uid == geteuid().as_raw()
                && stat.st_nlink == 1
        })
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::Path;

    use super::*;

    /// No process has this number here.
    const ENDED: &str = "4194305-0123abcd.part";

    fn names(path: &Path) -> Vec<String> {
        let names = Folder::open(path).unwrap().names().unwrap();
        let mut names: Vec<_> = names.iter().map(|n| n.to_str().unwrap().to_owned()).collect();
        names.sort();
        names
    }

    fn clean(path: &Path) -> Folder {
        let folder = Folder::open(path).unwrap();
        remove(&folder, "export", |name| name == "t.csv");
        folder
    }

    #[test]
    fn files_of_killed_exports_are_removed_and_no_others() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        let left =
            [format!(".t.csv.{ENDED}"), format!(".t.csv.{}-0123abcd.part", std::process::id())];
        left.iter().for_each(|name| fs::write(at(name), "rows").unwrap());
        fs::write(at("victim"), "precious").unwrap();
        symlink(at("victim"), at(".t.csv.4194306-0123abcd.part")).unwrap();
        fs::hard_link(at("victim"), at(".t.csv.4194307-0123abcd.part")).unwrap();
        fs::create_dir(at(".t.csv.4194308-0123abcd.part")).unwrap();
        for name in [
            // A process that runs, another table, names of somebody else.
            ".t.csv.1-0123abcd.part",
            ".u.csv.4194305-0123abcd.part",
            ".t.csv.4194305.part",
            ".t.csv.4194305-xyz.part",
            ".t.csv.-4194305-0123abcd.part",
            "t.csv.4194305-0123abcd.part",
            "t.csv",
        ] {
            fs::write(at(name), "rows").unwrap();
        }
        let kept: Vec<_> = names(place.path()).into_iter().filter(|n| !left.contains(n)).collect();
        clean(place.path());
        assert_eq!(names(place.path()), kept);
        assert_eq!(fs::read(at("victim")).unwrap(), b"precious");
    }

    #[test]
    fn nothing_is_removed_beside_another_export() {
        let place = tempfile::tempdir().unwrap();
        let left = place.path().join(format!(".t.csv.{ENDED}"));
        let other = clean(place.path());
        fs::write(&left, "rows").unwrap();
        let this = clean(place.path());
        assert!(left.exists());
        drop(other);
        clean(place.path());
        assert!(left.exists(), "this one holds its lock");
        drop(this);
        clean(place.path());
        assert!(!left.exists());
    }
}
