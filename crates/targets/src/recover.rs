//! Going on, or giving up cleanly, after a connection was lost.
//!
//! A build can take hours in which its connections idle: an administrator ends them, a firewall cuts them,
//! the server restarts. The load's tables and files on the server outlive them, but the named lock does not,
//! so another load may have come and cleaned up: it has not while the built file exists, because cleaning up
//! removes that.

use std::time::Duration;

use crate::busy::busy;
use crate::lock::Lock;
use crate::reach::{self, ENDING_WAIT, second};
use server::error::{Error, Result};
use server::session::Session;

/// Cleaning up after a failure does not wait for a lock as long as the load itself.
const CLEANUP_WAIT: Duration = Duration::from_secs(5);
/// Connections lost in cleaning up before it is left to the next load.
const CLEANUP_TRIES: usize = 2;

impl Lock {
    /// A second connection: the one that was kept, or a new one as soon as the server has room.
    pub fn second(&mut self) -> Result<Session> {
        if let Some(mut session) = self.spare.take()
            && session.is_alive()
        {
            return Ok(session);
        }
        second(&self.session, self.patience.wait)
    }

    /// Another connection, which is not kept.
    pub(super) fn fresh(&self) -> Result<Session> {
        second(&self.session, self.patience.wait)
    }

    /// A connection to a server that may be restarting.
    pub(super) fn reach(&self) -> Result<Session> {
        reach::reach(&self.session, self.reconnect_wait)
    }

    /// Sees to it that the session works, before a step that needs it. One that was lost while
    /// nothing was asked of it is made again, if what the load has made is still there; whether it
    /// was. Rows that are in the target itself are nobody's to clean up.
    ///
    /// Errors: [`Error::Overtaken`], [`Error::Busy`]; a server that cannot be reached.
    pub(super) fn ensure_session_if(
        &mut self,
        is_still_there: impl FnOnce(&mut Lock) -> Result<bool>,
    ) -> Result<bool> {
        if self.session.is_alive() {
            return Ok(false);
        }
        self.recover()?;
        if !is_still_there(self)? {
            return Err(Error::Overtaken(self.table.name.to_string()));
        }
        let id = self.session.id();
        self.remarks.push(format!(
            "the connection to the server was lost and opened again (new connection \
                           id: {id})"
        ));
        Ok(true)
    }

    /// Connects again if the session was lost, for what is left to be said or undone.
    pub fn reconnect(&mut self) -> Result<()> {
        if self.session.is_alive() { Ok(()) } else { self.recover() }
    }

    /// Begins the load once more, whose tables are removed: it waits up to `wait` for locks, as at first.
    pub fn begin_again(&mut self, wait: Duration) -> Result<()> {
        (self.patience.wait, self.keeps_others) = (wait, None);
        self.reconnect()?;
        self.session.set_lock_wait(wait)
    }

    /// Connects again and locks the target again. The lost connection's statement is ended.
    pub(super) fn recover(&mut self) -> Result<()> {
        let mut session = self.reach()?;
        session.set_lock_wait(self.patience.wait)?;
        let lock = &self.names.lock;
        if let Some(keeper) = &self.keeper {
            reach::end(&mut session, &self.session)?;
            keeper.ensure()?;
        } else if !session.lock_name(lock, Duration::ZERO)? {
            // If it is the connection that was lost: another load's stays.
            session.kill(self.session.mark())?;
            if !session.lock_name(lock, ENDING_WAIT)? {
                return Err(busy(&mut session, &self.table.name)?);
            }
        }
        self.session = session;
        self.spare = None;
        Ok(())
    }

    /// Removes the tables that a load which has failed made, over a new connection if need be.
    ///
    /// Errors: what could not be removed is left to the next load of the table.
    pub fn abandon(&mut self) -> Result<()> {
        self.abandon_by(Lock::cleanup_tables)
    }

    /// As [`Lock::abandon`], where `clean` removes what there is.
    pub(super) fn abandon_by(&mut self, clean: fn(&mut Lock) -> Result<Vec<String>>) -> Result<()> {
        self.patience.wait = CLEANUP_WAIT.min(self.patience.wait);
        self.keeps_others = None;
        self.clean_up(|lock| {
            // An export that was broken off may still hold its lock, against our own DROP TABLE too.
            lock.session.exec("UNLOCK TABLES")?;
            lock.session.set_lock_wait(lock.patience.wait)?;
            clean(lock).map(drop)
        })
    }

    /// Cleans up by `work`, which does nothing the second time: again where its connection breaks, and also
    /// where somebody wants the load stopped.
    pub fn clean_up<T, E: From<Error>>(
        &mut self,
        work: impl Fn(&mut Lock) -> std::result::Result<T, E>,
    ) -> std::result::Result<T, E> {
        let _shield = self.session.options().interrupt.shield();
        let mut tries = 0;
        loop {
            // Whoever ended the connection of the load may be about to end this one too.
            let done = self.reconnect().map_err(E::from).and_then(|()| work(self));
            tries += 1;
            if done.is_ok() || tries > CLEANUP_TRIES || self.session.is_alive() {
                return done;
            }
        }
    }
}
