//! The connection that holds all targets of a command that loads several.
//!
//! A target's named lock belongs to a connection. Those that work at several targets in turn may be
//! lost and made again, so one that does nothing else holds the locks of all, taken in the order of
//! the targets' names: two commands that want some of the same tables cannot wait for each other.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use locks::Mutex;
use schema::TableName;

use crate::busy::{BUSY_WAIT, busy};
use crate::names::Names;
use crate::reach;
use server::error::Result;
use server::session::Session;

/// Holds targets until it is dropped.
#[derive(Debug)]
pub struct Keeper {
    pub(super) session: Mutex<Session>,
    /// In the order of their names.
    pub(super) targets: Vec<TableName>,
    pub(super) reconnect_wait: Duration,
    /// True once the connection was lost, and the targets are held by a new one.
    pub(super) is_retaken: AtomicBool,
}

impl Keeper {
    /// Another connection like the one that holds them.
    pub fn another(&self) -> Result<Session> {
        self.session.lock().another()
    }

    /// True if the targets were held from the beginning, by one connection that lives.
    pub fn has_held(&self) -> bool {
        !self.is_retaken.load(Ordering::Relaxed) && self.session.lock().is_alive()
    }

    /// Sees to it that the targets are held, over a new connection if the one before was lost:
    /// whether one ever was. Somebody else may have had them meanwhile.
    ///
    /// Errors: [`Error::Busy`](server::Error::Busy) where somebody has one now; a server that cannot be
    /// reached.
    pub(super) fn ensure(&self) -> Result<bool> {
        let mut held = self.session.lock();
        if held.is_alive() {
            return Ok(self.is_retaken.load(Ordering::Relaxed));
        }
        let mut session = reach::reach(&held, self.reconnect_wait)?;
        reach::end(&mut session, &held)?;
        for target in &self.targets {
            if !session.lock_name(&Names::of(target).lock, BUSY_WAIT)? {
                return Err(busy(&mut session, target)?);
            }
        }
        *held = session;
        self.is_retaken.store(true, Ordering::Relaxed);
        Ok(true)
    }
}
