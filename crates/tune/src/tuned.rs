//! Settings of a server for the time of a load.
//!
//! ```text
//! begin    lock -> what killed loads left, put back -> written down, synced -> SET .. SET -> unlock
//! end      lock -> somebody else left? stop : SET back .. -> nothing written down -> unlock
//! ```
//!
//! The first load that sets a variable notes what it was, and the last one that leaves puts it back. A process
//! that is killed lets go of its files, so that whoever comes next finds itself alone, and puts back first.

use std::fs::File;
use std::path::Path;
use std::time::Duration;

use face::call;
use face::option::RESTORE;
use schema::LoadPath;
use server::connect::Mark;
use server::error::{Error, Result};
use server::{ConnectOptions, Session};

use crate::class::Class;
use crate::facts::Facts;
use crate::guard;
use crate::identity::{Identity, started_unix};
use crate::journal::{self, Change, Entry, Journal, User, WAIT};
use crate::remnant;
use crate::setting::{self, SettingPlan, is_same};
use crate::variable::Variable;

/// A right is missing, which the message names.
const ER_SPECIFIC_ACCESS_DENIED: u16 = 1227;

/// The name of a flush among those who count on settings.
const FLUSH: &str = "a checkpoint";

/// The request for settings.
#[derive(Clone, Copy, Debug)]
pub struct Wish<'a> {
    /// The safety that may be given up.
    pub class: Class,
    /// The load's way into the server.
    pub path: LoadPath,
    /// Bytes of its rows, where that is known.
    pub bytes: Option<u64>,
    /// Where it is written down.
    pub state_dir: &'a Path,
    /// Who wants it: `load into shop.orders`.
    pub what: &'a str,
}

/// Settings that last as long as this value; dropping it restores them as well as [`Tuned::end`]
/// does.
#[derive(Debug)]
pub struct Tuned {
    connect: ConnectOptions,
    session: Option<Session>,
    journal: Journal,
    /// Held, which says that we are at work; none once we are not.
    users: Option<File>,
    /// Held while something is changed.
    locked: Option<File>,
    /// The connection that holds a lock of the server.
    mark: Mark,
    /// True if it is a flush, whose values are for the time of a checkpoint alone.
    flushes: bool,
    /// Current changes: by this load, and by running loads before it.
    pub changes: Vec<Change>,
    /// True if there were variables to set, and none of them could be.
    pub is_refused: bool,
    /// Notes, one sentence each.
    pub notes: Vec<String>,
}

/// The journal of a server is taken, and nothing is set yet.
struct Entered {
    tuned: Tuned,
    /// Held by those who count on settings.
    users: File,
    session: Session,
    /// The changes so far.
    entry: Entry,
}

impl Tuned {
    /// Sets the variables that the wish allows. Variables that the server refuses to change stay as
    /// they are, with a note.
    ///
    /// Errors: no connection; nothing can be written down; the connection is lost. What was set is put back
    /// then, or the error says that it is not.
    pub fn begin(connect: &ConnectOptions, wish: &Wish<'_>) -> Result<Tuned> {
        let Entered { mut tuned, users, mut session, mut entry } =
            Tuned::enter(connect, wish.state_dir, wish.what)?;
        if let Some(stranger) = taken(&mut session, &entry)? {
            tuned.is_refused = true;
            tuned.notes.push(format!(
                "nothing was set: connection {stranger}, from another machine or account, has set \
                 variables of this server for its own load"
            ));
            // Nothing is to be changed any more, and others may want to.
            tuned.locked = None;
            return Ok(tuned);
        }
        let facts = Facts::read(&mut session)?;
        let SettingPlan { changes, advice } =
            SettingPlan::of(&facts, wish.class, wish.path, wish.bytes);
        tuned.notes.extend(advice);
        let is_new =
            |change: &Change| !entry.changes.iter().any(|one| one.variable == change.variable);
        let new: Vec<Change> = changes.into_iter().filter(is_new).collect();
        entry.changes.extend(new.iter().cloned());
        tuned.note(users, &mut entry, wish.what)?;
        if let Err(error) = tuned.set(&mut session, &mut entry, &new, &facts) {
            let told: Vec<String> = [vec![error.to_string()], tuned.end()].concat();
            return Err(Error::Option(told.join("; ")));
        }
        tuned.is_refused = !new.is_empty() && entry.changes.is_empty();
        Ok(tuned.begun(session, entry))
    }

    /// Sets the variables by which a server writes out its changed pages at once
    /// ([`FLUSH_VARIABLES`](server::facts::FLUSH_VARIABLES)), over those that loads at work have set.
    ///
    /// Errors: no connection; nothing can be written down; a right that is missing; a load from elsewhere that
    /// has set variables of this server. Nothing stays set then.
    pub fn flush(connect: &ConnectOptions, state_dir: &Path) -> Result<Tuned> {
        let Entered { mut tuned, users, mut session, mut entry } =
            Tuned::enter(connect, state_dir, FLUSH)?;
        if let Some(stranger) = taken(&mut session, &entry)? {
            return Err(Error::Option(format!(
                "a checkpoint needs variables of the server that connection {stranger}, from another machine or \
                 account, has set for its own load; try again after it"
            )));
        }
        setting::note_flush(&mut session, &mut entry)?;
        tuned.flushes = true;
        tuned.note(users, &mut entry, FLUSH)?;
        let is_beneath = |change: &&Change| change.beneath.is_some();
        for (number, change) in entry.changes.iter().filter(is_beneath).enumerate() {
            let Some(variable) = Variable::named(&change.variable) else { continue };
            session.exec(&variable.statement(&change.set))?;
            disk::failpoint::hit(&format!("tune.set.{}", number + 1));
        }
        Ok(tuned.begun(session, entry))
    }

    /// All variables are set.
    fn begun(mut self, session: Session, entry: Entry) -> Tuned {
        self.changes = entry.changes;
        self.session = Some(session);
        self.locked = None;
        self
    }

    /// Takes the journal of a server, and puts back what killed loads have left.
    fn enter(connect: &ConnectOptions, state_dir: &Path, what: &str) -> Result<Entered> {
        let mut session = Session::connect(connect)?;
        let server = Identity::read(&mut session)?;
        let journal = Journal::open(state_dir, &server)?;
        let locked = Some(journal.lock(WAIT)?);
        let users = journal.file("users")?;
        let mut notes = Vec::new();
        if journal::is_alone(&users) {
            notes.extend(settle(&mut session, &journal)?);
        }
        if !journal::join(&users) {
            return Err(Error::Option(format!(
                "another process is restoring the settings of this server, which {what} needs; try again"
            )));
        }
        let started_unix = started_unix(&mut session)?;
        let entry = journal.read()?.map(|entry| entry.of_start(started_unix));
        let address = connect.target_text();
        let entry = entry.unwrap_or(Entry { server, address, started_unix, ..Entry::default() });
        let tuned = Tuned {
            connect: connect.clone(),
            session: None,
            journal,
            users: None,
            locked,
            mark: session.mark().clone(),
            flushes: false,
            changes: Vec::new(),
            is_refused: false,
            notes,
        };
        Ok(Entered { tuned, users, session, entry })
    }

    /// Writes down what is about to be set. From here on all of it is put back, whatever happens.
    fn note(&mut self, users: File, entry: &mut Entry, what: &str) -> Result<()> {
        entry.users.push(User::of(&self.mark, what));
        self.journal.write(entry)?;
        self.users = Some(users);
        disk::failpoint::hit("tune.noted");
        Ok(())
    }

    /// Sets what is new, and corrects what is written down by what came of it.
    fn set(
        &mut self,
        session: &mut Session,
        entry: &mut Entry,
        new: &[Change],
        facts: &Facts,
    ) -> Result<()> {
        let mut is_other = false;
        for (number, change) in new.iter().enumerate() {
            let Some(variable) = Variable::named(&change.variable) else { continue };
            let statement = variable.statement(&change.set);
            match session.exec(&statement) {
                Ok(_) => {}
                Err(error) if error.errno() == Some(ER_SPECIFIC_ACCESS_DENIED) => {
                    let (name, set) = (&change.variable, &change.set);
                    let right = variable.right(facts);
                    self.notes.push(format!(
                        "{name}={set} was not set: the account needs {right}: {statement}"
                    ));
                }
                Err(error) if error.errno().is_some() => {
                    self.notes.push(format!("{} was not set: {error}", change.variable));
                }
                Err(error) => return Err(error),
            }
            let now = setting::value(session, variable)?.unwrap_or_default();
            if is_same(&now, &change.before) {
                entry.changes.retain(|one| one.variable != change.variable);
                is_other = true;
            } else if !is_same(&now, &change.set) {
                // The server takes it in steps of its own.
                let ours = entry.changes.iter_mut().find(|one| one.variable == change.variable);
                ours.into_iter().for_each(|one| one.set.clone_from(&now));
                self.journal.write(entry)?;
            }
            disk::failpoint::hit(&format!("tune.set.{}", number + 1));
        }
        if is_other { self.journal.write(entry) } else { Ok(()) }
    }

    /// Keeps what is set until [`release`], though this process ends.
    pub fn hold(mut self, class: Class) -> Result<()> {
        if self.users.is_none() {
            // Nothing was set.
            return Ok(());
        }
        let _locked = self.journal.lock(WAIT)?;
        if let Some(mut entry) = self.journal.read()? {
            // Loads at work may have set what gives up more.
            let is_of = |name: &str| Variable::named(name).is_some_and(|one| one.class <= class);
            entry.changes.iter_mut().for_each(|change| change.held |= is_of(&change.variable));
            entry.users.retain(|user| !user.is(&self.mark));
            self.journal.write(&entry)?;
        }
        self.users = None;
        Ok(())
    }

    /// Puts back what was set, unless others count on it; gives what there is to say, one sentence each.
    pub fn end(mut self) -> Vec<String> {
        self.leave()
    }

    fn leave(&mut self) -> Vec<String> {
        let Some(users) = self.users.take() else { return Vec::new() };
        disk::failpoint::hit("tune.end");
        let _shield = self.connect.interrupt.shield();
        let left = self.put_back(users);
        left.unwrap_or_else(|error| {
            vec![format!(
                "settings of the server could not be restored ({error}): the next command for \
                 this server restores them, and so does {}",
                call("tune", RESTORE)
            )]
        })
    }

    fn put_back(&mut self, users: File) -> Result<Vec<String>> {
        let _locked = self.locked.take().map_or_else(|| self.journal.lock(WAIT), Ok)?;
        if !journal::is_alone(&users) {
            let left = self.leave_others();
            // While the lock is held, or the last of them does not find itself alone.
            drop(users);
            return left;
        }
        let session =
            self.session.take().map(Ok).unwrap_or_else(|| Session::connect(&self.connect));
        let mut session = session?;
        if !session.is_alive() {
            session = Session::connect(&self.connect)?;
        }
        let told = settle(&mut session, &self.journal)?;
        // The next load must not take us for somebody else; where this fails, it looks again.
        let _ = guard::release(&mut session);
        Ok(told)
    }
}

impl Tuned {
    /// Leaves the settings to others at work, but for those of the last flush.
    fn leave_others(&mut self) -> Result<Vec<String>> {
        if let Some(mut entry) = self.journal.read()? {
            entry.users.retain(|user| !user.is(&self.mark));
            if self.flushes && !entry.users.iter().any(|user| user.what == FLUSH) {
                let alive = self.session.take_if(|session| session.is_alive());
                let mut session =
                    alive.map(Ok).unwrap_or_else(|| Session::connect(&self.connect))?;
                setting::end_flush(&mut session, &mut entry)?;
                self.session = Some(session);
            }
            // While we are still noted, so that nobody takes us for somebody else.
            let _ = self.session.as_mut().map(guard::release);
            self.journal.write(&entry)?;
        }
        Ok(Vec::new())
    }
}

impl Drop for Tuned {
    /// After [`Tuned::end`] there is nothing to do.
    fn drop(&mut self) {
        self.leave();
    }
}

/// Somebody else who sets variables of this server, or none, and then our lock is taken.
fn taken(session: &mut Session, entry: &Entry) -> Result<Option<u64>> {
    if let Some(stranger) = guard::lasting_stranger(session, &entry.users)? {
        return Ok(Some(stranger));
    }
    guard::take(session)?;
    // Two who came at the same time see each other now.
    guard::stranger(session, &entry.users)
}

/// Puts back what is written down, of users who have all ended. The lock is held, and the users' file.
fn settle(session: &mut Session, journal: &Journal) -> Result<Vec<String>> {
    let Some(noted) = journal.read()? else { return Ok(Vec::new()) };
    let started_unix = started_unix(session)?;
    let is_restarted = noted.started_unix != started_unix && !noted.changes.is_empty();
    let has_outlived = is_restarted && noted.changes.iter().any(Change::outlives_restart);
    let mut entry = noted.of_start(started_unix);
    if let Some(stranger) = guard::lasting_stranger(session, &entry.users)? {
        return Ok(vec![format!(
            "settings of another load stay for now: its connection {stranger}, from another \
             machine or account, needs them"
        )]);
    }
    if let Some(connection) = remnant::end_connections(session, &entry.users)? {
        return Ok(vec![format!(
            "settings of a killed load stay for now: its connection {connection} still executes a \
             statement; after that statement, the next command for this server restores the \
             settings, and so does {}",
            call("tune", RESTORE)
        )]);
    }
    let is_noted = entry.users.iter().any(|user| user.is(session.mark()));
    if !is_noted && entry.changes.iter().any(|change| !change.held) {
        // A kill here may leave a statement of this connection, too.
        entry.users.push(User::of(session.mark(), "restoring settings"));
        guard::take(session)?;
        journal.write(&entry)?;
    }
    setting::end_flush(session, &mut entry)?;
    let mut told = setting::put_back(session, &mut entry);
    if is_restarted && entry.changes.is_empty() {
        let others = if has_outlived {
            "; its redo log, which stays off over a restart, is on again"
        } else {
            ""
        };
        told.insert(
            0,
            format!(
                "the server was restarted since its variables were set for a load, and has its own settings \
                 again{others}"
            ),
        );
    }
    if !is_noted {
        // Its end gives it back, too.
        let _ = guard::release(session);
    }
    entry.users.clear();
    journal.write(&entry)?;
    Ok(told)
}

/// Puts back what loads left that were killed, if this is their server; gives what there is to say. Where
/// nothing is written down, nobody is asked.
pub fn recover(connect: &ConnectOptions, state_dir: &Path) -> Result<Vec<String>> {
    let waits = |journal: &Journal| {
        // One that cannot be read is refused below, if it is about this server.
        let is_open =
            journal.read().map_or(true, |entry| entry.is_some_and(|entry| may_be_left(&entry)));
        // Whoever has the lock puts back itself.
        let locked = journal.lock(Duration::ZERO).ok().filter(|_| is_open);
        locked.is_some() && journal.file("users").is_ok_and(|users| journal::is_alone(&users))
    };
    // A folder that cannot be read is for those to tell of who write to it.
    if !Journal::all(state_dir).is_ok_and(|all| all.iter().any(waits)) {
        return Ok(Vec::new());
    }
    let mut session = Session::connect(connect)?;
    let journal = Journal::open(state_dir, &Identity::read(&mut session)?)?;
    let _locked = journal.lock(WAIT)?;
    let users = journal.file("users")?;
    let started_unix = started_unix(&mut session)?;
    let is_left = |entry: &Entry| entry.started_unix != started_unix || is_left(entry);
    let Some(entry) = journal.read()?.filter(is_left) else { return Ok(Vec::new()) };
    if !journal::is_alone(&users) {
        return Ok(Vec::new());
    }
    let mut told = settle(&mut session, &journal)?;
    let put_back = entry.changes.iter().filter(|change| !change.held);
    let names: Vec<&str> = put_back.map(|change| change.variable.as_str()).collect();
    if told.is_empty() && !names.is_empty() {
        told.push(format!("restored settings of a killed load: {}", names.join(", ")));
    }
    Ok(told)
}

/// True if a variable is set that nobody holds, or a user is noted who may be gone.
fn is_left(entry: &Entry) -> bool {
    !entry.users.is_empty() || entry.changes.iter().any(|change| !change.held)
}

/// True if a variable may be set that the server should not have: a held one that outlived a restart, too.
fn may_be_left(entry: &Entry) -> bool {
    is_left(entry) || entry.changes.iter().any(Change::outlives_restart)
}

/// The journal's entry for this server, without settings that a restart has ended.
pub fn noted(session: &mut Session, state_dir: &Path) -> Result<Option<Entry>> {
    let server = Identity::read(session)?;
    let Some(entry) = Journal::open(state_dir, &server)?.read()? else { return Ok(None) };
    Ok(Some(entry.of_start(started_unix(session)?)))
}

/// Ends what [`Tuned::hold`] began: puts back, or leaves that to loads at work. Gives what there is to say, and
/// whether others are at work.
pub fn release(session: &mut Session, state_dir: &Path) -> Result<(Vec<String>, bool)> {
    let journal = Journal::open(state_dir, &Identity::read(session)?)?;
    let _locked = journal.lock(WAIT)?;
    let users = journal.file("users")?;
    let Some(mut entry) = journal.read()? else { return Ok((Vec::new(), false)) };
    entry.changes.iter_mut().for_each(|change| change.held = false);
    journal.write(&entry)?;
    if !journal::is_alone(&users) {
        return Ok((Vec::new(), true));
    }
    Ok((settle(session, &journal)?, false))
}
