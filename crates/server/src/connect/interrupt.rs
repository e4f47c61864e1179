//! A wish to stop that also ends what the server is doing for us.
//!
//! Statements can wait long: for a table's lock, for an import. When somebody asks for the end ([`Interrupt::request`]), those that are
//! under way are ended by `KILL QUERY` from a connection of its own, and no new one begins. Work that has to come to its end all the
//! same, cleaning up above all, is done under a [`Shield`].

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use locks::{Condvar, Mutex};

use super::mark::Mark;
use crate::error::{Error, Result};

/// Shared by whoever wants the end and those who work.
#[derive(Clone, Debug, Default)]
pub struct Interrupt {
    pub(super) state: Arc<State>,
}

#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) requested: Arc<AtomicBool>,
    /// Who asked: `SIGINT`.
    by: Mutex<Option<&'static str>>,
    shields: AtomicU32,
    /// Connections with a statement under way.
    pub(super) running: Mutex<BTreeSet<Mark>>,
    /// Told when a statement begins or ends that a watcher may have to end, and of the wish itself.
    pub(super) changed: Condvar,
}

impl Interrupt {
    /// Asks for the end; `by` is the name of the signal.
    pub fn request(&self, by: &'static str) {
        self.state.by.lock().get_or_insert(by);
        let running = self.state.running.lock();
        self.state.requested.store(true, Ordering::SeqCst);
        drop(running);
        self.state.changed.notify_all();
    }

    /// Who asked for the end, if anybody has.
    pub fn requested(&self) -> Option<&'static str> {
        if !self.is_requested() {
            return None;
        }
        *self.state.by.lock()
    }

    /// True if the end was requested. Costs a read.
    #[inline]
    pub fn is_requested(&self) -> bool {
        self.state.requested.load(Ordering::Relaxed)
    }

    /// The same as a flag, for those who know nothing of servers.
    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.state.requested)
    }

    /// Lets statements begin, and keeps them from being ended, while it lives.
    pub fn shield(&self) -> Shield {
        self.state.shields.fetch_add(1, Ordering::SeqCst);
        Shield { state: Arc::clone(&self.state) }
    }

    /// An error when the end was asked for and nothing shields us.
    pub fn check(&self) -> Result<()> {
        let stops = self.is_requested() && self.state.shields.load(Ordering::SeqCst) == 0;
        if stops { Err(Error::Interrupted) } else { Ok(()) }
    }

    /// Notes that a session runs a statement, until the result is dropped.
    pub(crate) fn begin(&self, session: &Mark) -> Result<Statement> {
        let mut running = self.state.running.lock();
        self.check()?;
        if self.state.shields.load(Ordering::SeqCst) > 0 {
            return Ok(Statement { state: Arc::clone(&self.state), session: None });
        }
        running.insert(session.clone());
        drop(running);
        Ok(Statement { state: Arc::clone(&self.state), session: Some(session.clone()) })
    }
}

/// While it lives, statements are not ended by the wish to stop.
#[derive(Debug)]
pub struct Shield {
    state: Arc<State>,
}

impl Drop for Shield {
    fn drop(&mut self) {
        self.state.shields.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A statement under way.
#[derive(Debug)]
pub(crate) struct Statement {
    state: Arc<State>,
    session: Option<Mark>,
}

impl Drop for Statement {
    fn drop(&mut self) {
        let Some(session) = &self.session else { return };
        self.state.running.lock().remove(session);
    }
}
