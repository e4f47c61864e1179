//! What was set on a server for a load, written down before it is set.
//!
//! ```text
//! tuned/KEY.json     the server, each variable with what it was and what it was set to, who uses it
//! tuned/KEY.lock     held by whoever changes anything, on the server or in the file
//! tuned/KEY.users    held by each load that counts on the settings, as long as its process lives
//! ```
//!
//! Who can have the last one alone is the only one left. The file is replaced whole and synced each time.

use std::ffi::OsStr;
use std::io::Write;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use disk::{Folder, private};
use rustix::fs::FlockOperation;
use serde::{Deserialize, Serialize};
use server::error::{Error, Result};

use crate::identity::Identity;

/// Its folder, in the state folder.
const FOLDER: &str = "tuned";
const ENDING: &str = ".json";
/// How long somebody else may take who sets or puts back: a redo log is written out meanwhile.
const WAIT: Duration = Duration::from_secs(120);
const PAUSE: Duration = Duration::from_millis(20);

/// A variable that was set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// Its name.
    pub variable: String,
    /// What it was, before anybody set it.
    pub before: String,
    /// What it was set to.
    pub set: String,
    /// Whether it stays until somebody asks for the end of it, as `inrush tune --apply` does.
    #[serde(default)]
    pub held: bool,
}

/// Somebody who counts on it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct User {
    /// The process.
    pub pid: u32,
    /// Its connection, by which it holds a lock of the server.
    pub connection: u64,
    /// What it does: `load into shop.orders`.
    pub what: String,
}

/// What is written down of a server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Which server.
    pub server: Identity,
    /// How it was reached.
    pub address: String,
    /// The second in which it began.
    pub started_unix: i64,
    /// In the order in which they were set.
    pub changes: Vec<Change>,
    /// Those at work; of them some may have been killed.
    pub users: Vec<User>,
}

/// The files about one server.
#[derive(Debug)]
pub(crate) struct Journal {
    folder: Folder,
    key: String,
}

/// Held while something is changed.
#[derive(Debug)]
pub(crate) struct Locked(#[expect(dead_code, reason = "held")] std::fs::File);

impl Journal {
    /// Opens them; the folder is made if it is missing.
    pub(crate) fn open(state_dir: &Path, server: &Identity) -> Result<Journal> {
        let folder = private::make(state_dir).and_then(|state| private::subfolder(&state, FOLDER));
        let folder = folder.map_err(|e| Error::io("opening", state_dir.join(FOLDER), e))?;
        Ok(Journal { folder, key: server.key() })
    }

    /// All that have something written down. Makes nothing.
    pub(crate) fn all(state_dir: &Path) -> Result<Vec<Journal>> {
        let path = state_dir.join(FOLDER);
        let open = || private::open(state_dir).and_then(|_| private::open(&path));
        let failed = |e| Error::io("reading", &path, e);
        let names = match open().and_then(|folder| folder.names()) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            names => names.map_err(failed)?,
        };
        let keys = names.iter().filter_map(|name| name.to_str()?.strip_suffix(ENDING));
        let journal =
            |key: &str| Ok(Journal { folder: open().map_err(failed)?, key: key.to_owned() });
        keys.map(journal).collect()
    }

    /// Waits until nobody else changes anything.
    pub(crate) fn lock(&self) -> Result<Locked> {
        let (name, begun) = (format!("{}.lock", self.key), Instant::now());
        let file = self.file(&name)?;
        loop {
            match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(Locked(file)),
                Err(_) if begun.elapsed() < WAIT => sleep(PAUSE),
                Err(error) => {
                    return Err(Error::io("locking", self.folder.path().join(&name), error.into()));
                }
            }
        }
    }

    /// The same, if nobody does now.
    pub(crate) fn try_lock(&self) -> Option<Locked> {
        let file = self.file(&format!("{}.lock", self.key)).ok()?;
        let locked = rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive);
        locked.ok().map(|()| Locked(file))
    }

    /// The file that users hold.
    pub(crate) fn users(&self) -> Result<std::fs::File> {
        self.file(&format!("{}.users", self.key))
    }

    fn file(&self, name: &str) -> Result<std::fs::File> {
        let failed = |e| Error::io("opening", self.folder.path().join(name), e);
        private::append_to(&self.folder, OsStr::new(name), "settings").map_err(failed)
    }

    /// What is written down; none where nothing is, or nothing that can be read.
    pub(crate) fn read(&self) -> Option<Entry> {
        let name = format!("{}{ENDING}", self.key);
        let text = private::read(&self.folder, name.as_ref(), "settings").ok()?;
        let entry: Entry = serde_json::from_slice(&text).ok()?;
        (entry.server.key() == self.key).then_some(entry)
    }

    /// Writes it down, and waits until it is on the disk.
    pub(crate) fn write(&self, entry: &Entry) -> Result<()> {
        let name = format!("{}{ENDING}", self.key);
        let new = format!("{name}.new");
        let write = || {
            // Of a process that was killed. Whoever writes holds the lock.
            self.folder.remove(new.as_ref(), "settings")?;
            let mut file = self.folder.create(new.as_ref(), 0o600, "settings")?;
            file.write_all(&serde_json::to_vec_pretty(entry)?)?;
            file.sync_all()?;
            self.folder.rename(new.as_ref(), name.as_ref(), "settings")?;
            self.folder.sync("settings")
        };
        write().map_err(|e| Error::io("writing", self.folder.path().join(&name), e))
    }

    /// Nothing is set any more.
    pub(crate) fn remove(&self) -> Result<()> {
        let name = format!("{}{ENDING}", self.key);
        let remove = || {
            self.folder.remove(name.as_ref(), "settings")?;
            self.folder.sync("settings")
        };
        remove().map_err(|e| Error::io("removing", self.folder.path().join(&name), e))
    }
}

/// Takes the users' file alone: whether nobody else counts on the settings.
pub(crate) fn is_alone(users: &std::fs::File) -> bool {
    rustix::fs::flock(users, FlockOperation::NonBlockingLockExclusive).is_ok()
}

/// Takes it beside others.
pub(crate) fn join(users: &std::fs::File) -> bool {
    rustix::fs::flock(users, FlockOperation::NonBlockingLockShared).is_ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_down_is_read_and_damage_is_nothing() {
        let state = tempfile::tempdir().unwrap();
        let dir = state.path().join("inrush");
        assert!(Journal::all(&dir).unwrap().is_empty());
        let server = Identity { port: "3306".to_owned(), ..Identity::default() };
        let journal = Journal::open(&dir, &server).unwrap();
        assert_eq!(journal.read(), None);
        let change = Change {
            variable: "a".to_owned(),
            before: "1".to_owned(),
            set: "2".to_owned(),
            held: false,
        };
        let entry = Entry { server, changes: vec![change], ..Entry::default() };
        journal.write(&entry).unwrap();
        journal.write(&entry).unwrap();
        assert_eq!(journal.read(), Some(entry));
        let all = Journal::all(&dir).unwrap();
        assert_eq!(all.iter().map(|one| one.key.as_str()).collect::<Vec<_>>(), [&journal.key]);
        let path = dir.join(FOLDER).join(format!("{}.json", journal.key));
        let text = std::fs::read(&path).unwrap();
        std::fs::write(&path, &text[..text.len() / 2]).unwrap();
        assert_eq!(journal.read(), None);
        journal.remove().unwrap();
        assert!(Journal::all(&dir).unwrap().is_empty());
    }

    #[test]
    fn the_last_of_those_who_use_it_is_known() {
        let state = tempfile::tempdir().unwrap();
        let journal = Journal::open(&state.path().join("inrush"), &Identity::default()).unwrap();
        let (one, two) = (journal.users().unwrap(), journal.users().unwrap());
        assert!(is_alone(&one) && !is_alone(&two) && !join(&two));
        assert!(join(&one) && join(&two) && !is_alone(&one));
        drop(one);
        assert!(is_alone(&two));
    }
}
