//! Settings of a server for a load, written down before they are set.
//!
//! ```text
//! tuned/KEY.json     the server, each variable with what it was and what it was set to, who uses it
//! tuned/KEY.lock     held by whoever changes anything, on the server or in the file
//! tuned/KEY.users    held by each load that counts on the settings, as long as its process lives
//! ```
//!
//! Who can have the last one alone is the only one left. The file is a journal of one event, which is
//! replaced whole: it may outlive any number of loads. The locks have files of their own for that reason.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::time::Duration;

use disk::journal::{self, Kind};
use disk::{Folder, private};
use rustix::fs::FlockOperation;
use serde::{Deserialize, Serialize};
use server::connect::Mark;
use server::error::{Error, Result};

use crate::identity::Identity;
use crate::variable::Variable;

/// Its folder, in the state folder.
const FOLDER: &str = "tuned";
/// Ending of a journal's name.
const JOURNAL: &str = "json";
/// Advice about a journal that lists nothing any more.
const DAMAGED: &str =
    "restore the server's variables by hand, or restart the server, then remove the journal";
/// How long somebody else may take who sets or puts back: a redo log is written out meanwhile.
pub(crate) const WAIT: Duration = Duration::from_secs(120);

/// A variable that was set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// Its name.
    pub variable: String,
    /// The value before anybody set it.
    pub before: String,
    /// The value that was set.
    pub set: String,
    /// True if it stays until somebody ends it, as `inrush tune --apply` does.
    #[serde(default)]
    pub held: bool,
    /// The value on which loads count that were at work before a flush set this one; none outside a flush.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beneath: Option<String>,
}

/// Somebody who counts on it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct User {
    /// The process.
    pub pid: u32,
    /// Its connection, by which it holds a lock of the server.
    pub connection: u64,
    /// The name of a lock that no other connection ever holds.
    pub lock: String,
    /// Its work: `load into shop.orders`.
    pub what: String,
}

/// The journal's contents for a server.
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

impl User {
    /// This process, by a connection of it.
    pub(crate) fn of(mark: &Mark, what: &str) -> User {
        let (pid, connection) = (std::process::id(), mark.id());
        User { pid, connection, lock: mark.lock.to_string(), what: what.to_owned() }
    }

    /// True if it has this connection.
    pub(crate) fn is(&self, mark: &Mark) -> bool {
        *self.lock == *mark.lock
    }
}

impl Change {
    /// True if a restarted server has the value that was set.
    pub(crate) fn outlives_restart(&self) -> bool {
        Variable::named(&self.variable).is_some_and(Variable::outlives_restart)
    }
}

impl Entry {
    /// The entry for a server that began in this second. A restart ends users, their connections, and all
    /// changes but those that outlive it, which nobody holds any longer.
    pub(crate) fn of_start(mut self, started_unix: i64) -> Entry {
        if self.started_unix != started_unix {
            self.started_unix = started_unix;
            self.users.clear();
            self.changes.retain(Change::outlives_restart);
            self.changes.iter_mut().for_each(|change| change.held = false);
        }
        self
    }
}

impl Kind for Entry {
    const NAME: &'static str = "tune";
    const REMEDY: &'static str = "restore the server's variables with the build of Inrush that \
                                  wrote the journal, or by hand, then remove the journal";
}

/// The files about one server.
#[derive(Debug)]
pub(crate) struct Journal {
    folder: Folder,
    key: String,
}

impl Journal {
    /// Opens them; the folder is made if it is missing.
    pub(crate) fn open(state_dir: &Path, server: &Identity) -> Result<Journal> {
        let folder = private::make(state_dir).and_then(|state| private::subfolder(&state, FOLDER));
        let folder = folder.map_err(|e| Error::io("opening", state_dir.join(FOLDER), e))?;
        Ok(Journal { folder, key: server.key() })
    }

    /// All that have something written down. Makes nothing, so that it fails where there is no folder.
    pub(crate) fn all(state_dir: &Path) -> io::Result<Vec<Journal>> {
        private::open(state_dir)?;
        let open = || private::open(&state_dir.join(FOLDER));
        let names = open()?.names()?;
        let keys = names.iter().filter_map(|name| name.to_str()?.strip_suffix(".json"));
        keys.map(|key| Ok(Journal { folder: open()?, key: key.to_owned() })).collect()
    }

    /// Waits until nobody else changes anything, at most so long. The file is held meanwhile.
    pub(crate) fn lock(&self, wait: Duration) -> Result<File> {
        let file = self.file("lock")?;
        journal::lock(&file, wait).map_err(self.failed("locking", "lock"))?;
        Ok(file)
    }

    /// The file that users hold, or whoever changes something.
    pub(crate) fn file(&self, ending: &str) -> Result<File> {
        let opened = private::append_to(&self.folder, &self.name(ending), "journal");
        opened.map_err(self.failed("opening", ending))
    }

    /// Reads the entry; none if there is none.
    ///
    /// Errors: a journal of another build, a damaged one, or one that cannot be read.
    pub(crate) fn read(&self) -> Result<Option<Entry>> {
        let records = match journal::read::<Entry>(&self.folder, &self.name(JOURNAL)) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            records => records.map_err(self.failed("reading", JOURNAL))?,
        };
        // It is written whole before it gets its name.
        let Some(last) = records.into_iter().next_back() else {
            let damaged = io::Error::new(
                ErrorKind::InvalidData,
                format!("it is damaged, and variables that it listed may still be set; {DAMAGED}"),
            );
            return Err(self.failed("reading", JOURNAL)(damaged));
        };
        Ok(Some(last.what).filter(|entry| entry.server.key() == self.key))
    }

    /// Writes the entry, and waits until it is on the disk. An entry without settings and users is
    /// removed.
    pub(crate) fn write(&self, entry: &Entry) -> Result<()> {
        if entry.changes.is_empty() && entry.users.is_empty() {
            return self.remove();
        }
        let written = journal::replace(&self.folder, &self.name(JOURNAL), entry);
        written.map_err(self.failed("writing", JOURNAL))
    }

    /// Nothing is set any more.
    pub(crate) fn remove(&self) -> Result<()> {
        let removed = self.folder.remove(&self.name(JOURNAL), "journal");
        let synced = removed.and_then(|_| self.folder.sync("journal"));
        synced.map_err(self.failed("removing", JOURNAL))
    }

    fn name(&self, ending: &str) -> OsString {
        OsString::from(format!("{}.{ending}", self.key))
    }

    fn failed(&self, doing: &'static str, ending: &str) -> impl FnOnce(io::Error) -> Error {
        let path = self.folder.path().join(self.name(ending));
        move |source| Error::io(doing, path, source)
    }
}

/// Takes the users' file alone: whether nobody else counts on the settings.
pub(crate) fn is_alone(users: &File) -> bool {
    journal::lock(users, Duration::ZERO).is_ok()
}

/// Takes it beside others.
pub(crate) fn join(users: &File) -> bool {
    rustix::fs::flock(users, FlockOperation::NonBlockingLockShared).is_ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_down_is_read_and_another_builds_is_refused() {
        let state = tempfile::tempdir().unwrap();
        let dir = state.path().join("inrush");
        assert!(Journal::all(&dir).is_err());
        let server = Identity { port: "3306".to_owned(), ..Identity::default() };
        let journal = Journal::open(&dir, &server).unwrap();
        assert_eq!(journal.read().unwrap(), None);
        let change = Change {
            variable: "a".to_owned(),
            before: "1".to_owned(),
            set: "2".to_owned(),
            held: false,
            beneath: None,
        };
        let entry = Entry { server, changes: vec![change], ..Entry::default() };
        journal.write(&entry).unwrap();
        journal.write(&entry).unwrap();
        assert_eq!(journal.read().unwrap(), Some(entry));
        let all = Journal::all(&dir).unwrap();
        assert_eq!(all.iter().map(|one| one.key.as_str()).collect::<Vec<_>>(), [&journal.key]);
        let path = dir.join(FOLDER).join(format!("{}.json", journal.key));
        let text = std::fs::read(&path).unwrap();
        std::fs::write(&path, &text[..text.len() / 2]).unwrap();
        let error = journal.read().unwrap_err().to_string();
        assert!(
            error.contains("it is damaged, and variables that it listed may still be set"),
            "{error}"
        );
        std::fs::write(&path, "{\n  \"changes\": []\n}\n").unwrap();
        let error = journal.read().unwrap_err().to_string();
        let refused = ": it is the tune journal of a different build of Inrush; restore the server's variables";
        assert!(error.starts_with(&format!("reading {}", path.display())), "{error}");
        assert!(error.contains(refused), "{error}");
        journal.remove().unwrap();
        assert!(Journal::all(&dir).unwrap().is_empty());
    }

    #[test]
    fn the_last_of_those_who_use_it_is_known() {
        let state = tempfile::tempdir().unwrap();
        let journal = Journal::open(&state.path().join("inrush"), &Identity::default()).unwrap();
        let (one, two) = (journal.file("users").unwrap(), journal.file("users").unwrap());
        assert!(is_alone(&one) && !is_alone(&two) && !join(&two));
        assert!(join(&one) && join(&two) && !is_alone(&one));
        drop(one);
        assert!(is_alone(&two));
    }
}
