//! Going on, or giving up cleanly, after a connection was lost.
//!
//! A build can take hours in which its connections idle: an administrator ends them, a firewall
//! cuts them, the server restarts. What the load has on the server outlives them, but the named
//! lock does not, so another load may have come and cleaned up: it has not while the file that
//! was built is still there, because cleaning up removes that.

use std::os::unix::fs::MetadataExt;
use std::time::{Duration, Instant};

use crate::catalog::{Table, definition};
use crate::error::{Error, Result};
use crate::session::Session;
use crate::target::import::Target;
use crate::target::waiting::describe;

/// How long a server that does not answer is tried, by default.
pub const RECONNECT_WAIT: Duration = Duration::from_secs(30);
/// The same when somebody has asked for the end of the load.
const STOPPING_WAIT: Duration = Duration::from_secs(3);
/// Between two tries, doubled up to the second.
const TRY_MIN: Duration = Duration::from_millis(50);
const TRY_MAX: Duration = Duration::from_secs(2);
/// A statement of a connection that was lost goes on until the server notices.
const ENDING_WAIT: Duration = Duration::from_secs(60);
/// The server is full: too many connections, of all accounts or of this one.
const ER_FULL: [u16; 3] = [1040, 1203, 1226];
/// The server is going down.
const ER_SHUTDOWN: u16 = 1053;
/// Cleaning up after a failure does not wait for a lock as long as the load itself.
const CLEANUP_WAIT: Duration = Duration::from_secs(5);
/// Connections lost in cleaning up before it is left to the next load.
const CLEANUP_TRIES: usize = 2;

impl Target {
    /// A second connection: the one that was kept, or a new one as soon as the server has room.
    pub(crate) fn second(&mut self) -> Result<Session> {
        if let Some(mut session) = self.spare.take()
            && session.is_alive()
        {
            return Ok(session);
        }
        let full = |e: &Error| e.errno().is_some_and(|n| ER_FULL.contains(&n));
        connect(&self.session, self.patience.wait, full)
    }

    /// A connection to a server that may be restarting.
    pub(crate) fn reach(&self) -> Result<Session> {
        let passing = |e: &Error| match e {
            Error::Connect { errno: None, .. } | Error::Lost { .. } => true,
            e => e.errno().is_some_and(|n| n == ER_SHUTDOWN || ER_FULL.contains(&n)),
        };
        // Who asked for the end does not want to wait.
        let asked = self.session.options().interrupt.is_requested();
        let wait = if asked { self.reconnect_wait.min(STOPPING_WAIT) } else { self.reconnect_wait };
        connect(&self.session, wait, passing)
    }

    /// Sees to it that the session works, before a step that needs it. One that was lost while
    /// nothing was asked of it is made again, if what was built is still there.
    ///
    /// Errors: [`Error::Overtaken`], [`Error::Busy`]; a server that cannot be reached.
    pub fn ensure_session(&mut self) -> Result<()> {
        if self.session.is_alive() {
            return Ok(());
        }
        self.recover()?;
        if !self.is_still_there()? {
            return Err(Error::Overtaken(self.table.name.to_string()));
        }
        let id = self.session.id();
        self.remarks
            .push(format!("the connection to the server was lost and made again (now {id})"));
        Ok(())
    }

    /// Connects again if the session was lost, for what is left to be said or undone.
    pub fn reconnect(&mut self) -> Result<()> {
        if self.session.is_alive() { Ok(()) } else { self.recover() }
    }

    /// Connects again and takes the target again. What the lost connection was doing is ended.
    pub(crate) fn recover(&mut self) -> Result<()> {
        let mut session = self.reach()?;
        session.set_lock_wait(self.patience.wait)?;
        let lock = &self.names.lock;
        if !session.lock_name(lock, Duration::ZERO)? {
            let holder = session.lock_holder(lock)?;
            // Numbers of connections begin anew with the server.
            if holder == Some(self.session.id()) && self.is_same_server(&mut session)? {
                session.kill(self.session.id())?;
            }
            if !session.lock_name(lock, ENDING_WAIT)? {
                let holder = session.lock_holder(lock)?.unwrap_or(0);
                let who = describe(&mut session, holder);
                return Err(Error::Busy { target: self.table.name.to_string(), holder, who });
            }
        }
        self.session = session;
        self.spare = None;
        self.checkpoint = None;
        Ok(())
    }

    /// Removes everything that a load which has failed made, over a new connection if need be.
    ///
    /// Errors: what could not be removed is left to the next load of the table.
    pub fn abandon(&mut self) -> Result<()> {
        self.patience.wait = CLEANUP_WAIT.min(self.patience.wait);
        // Whoever ended the connection of the load may be about to end this one too.
        for _ in 0..CLEANUP_TRIES {
            match self.abandon_once() {
                Err(Error::Lost { .. }) => {}
                done => return done,
            }
        }
        self.abandon_once()
    }

    fn abandon_once(&mut self) -> Result<()> {
        if let Err(error) = self.reconnect() {
            self.remove_build();
            return Err(error);
        }
        // An export that was broken off may still hold its lock, against our own DROP TABLE too.
        self.session.exec("UNLOCK TABLES")?;
        self.session.set_lock_wait(self.patience.wait)?;
        let in_server = self.twin.is_some() || self.in_place;
        if in_server { self.cleanup_tables().map(drop) } else { self.cleanup().map(drop) }
    }

    /// Whether the server has run since the target was locked.
    pub(crate) fn is_same_server(&self, session: &mut Session) -> Result<bool> {
        let uptime: u64 = session.query_row("SHOW GLOBAL STATUS LIKE 'Uptime'")?.number(1)?;
        // Of whole seconds.
        Ok(uptime + 1 >= self.locked_at.elapsed().as_secs())
    }

    /// Whether no other load has cleaned up: the file that was built, placed or not, and the
    /// shadow are there.
    ///
    /// A twin's name is that of one load alone; the target itself is nobody's to clean up.
    fn is_still_there(&mut self) -> Result<bool> {
        if self.twin.is_some() {
            let shadow = self.names.shadow.clone();
            return Table::exists(&mut self.session, &shadow);
        }
        if self.in_place {
            return Ok(true);
        }
        let here = |path| std::fs::symlink_metadata(path).ok().map(|m| (m.dev(), m.ino()));
        let found = [self.build_path()?, self.shadow_path("ibd")?];
        if self.built.is_none() || !found.into_iter().any(|path| here(path) == self.built) {
            return Ok(false);
        }
        let shadow = self.names.shadow.clone();
        match definition(&mut self.session, &shadow) {
            Ok(definition) => Ok(definition == self.table.definition),
            Err(Error::Statement { .. }) => Ok(false),
            Err(e) => Err(e),
        }
    }

    /// Removes the unfinished file, which is ours whether or not the server can be asked.
    fn remove_build(&self) {
        let Ok(path) = self.build_path() else { return };
        let here = std::fs::symlink_metadata(&path).ok().map(|m| (m.dev(), m.ino()));
        if here.is_some() && here == self.built {
            // The error that is reported is the server's; the next load tries again.
            let _ = disk::remove(&path, "leftover");
        }
    }
}

/// Connects as `like` is, again and again while the error is one that passes.
fn connect(like: &Session, wait: Duration, passes: impl Fn(&Error) -> bool) -> Result<Session> {
    let (begun, mut pause) = (Instant::now(), TRY_MIN);
    loop {
        match like.another() {
            Err(error) if passes(&error) && begun.elapsed() < wait => {
                std::thread::sleep(pause);
                pause = (pause * 2).min(TRY_MAX);
            }
            session => return session,
        }
    }
}
