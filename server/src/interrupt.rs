//! A wish to stop that also ends what the server is doing for us.
//!
//! Statements can wait long: for a table's lock, for an import. When somebody asks for the end
//! ([`Interrupt::request`]), those that are under way are ended by `KILL QUERY` from a connection
//! of its own, and no new one begins. Work that has to come to its end all the same, cleaning up
//! above all, is done under a [`Shield`].

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::error::{Error, Result};
use crate::options::ConnectOptions;
use crate::session::Session;

/// Pause between two looks at statements that should have ended.
const PAUSE: Duration = Duration::from_millis(200);

/// Shared by whoever wants the end and those who work.
#[derive(Clone, Debug, Default)]
pub struct Interrupt {
    state: Arc<State>,
}

#[derive(Debug, Default)]
struct State {
    requested: Arc<AtomicBool>,
    /// Who asked: `SIGINT`.
    by: Mutex<Option<&'static str>>,
    shields: AtomicU32,
    /// Connections with a statement under way.
    running: Mutex<BTreeSet<u64>>,
    changed: Condvar,
}

impl Interrupt {
    /// Asks for the end; `by` is the name of the signal.
    pub fn request(&self, by: &'static str) {
        self.state.by.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(by);
        let running = self.state.lock();
        self.state.requested.store(true, Ordering::SeqCst);
        drop(running);
        self.state.changed.notify_all();
    }

    /// Who asked for the end, if anybody has.
    pub fn requested(&self) -> Option<&'static str> {
        if !self.is_requested() {
            return None;
        }
        *self.state.by.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether anybody has asked for the end. Costs a read.
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

    /// Notes that connection `id` runs a statement, until the result is dropped.
    pub(crate) fn begin(&self, id: u64) -> Result<Statement> {
        let mut running = self.state.lock();
        self.check()?;
        if self.state.shields.load(Ordering::SeqCst) > 0 {
            return Ok(Statement { state: Arc::clone(&self.state), id: None });
        }
        running.insert(id);
        drop(running);
        Ok(Statement { state: Arc::clone(&self.state), id: Some(id) })
    }

    /// Starts the thread that ends statements once the end is asked for. It ends with the result.
    pub fn watch(&self, connect: &ConnectOptions) -> Watcher {
        let state = Arc::clone(&self.state);
        let connect = ConnectOptions { interrupt: Interrupt::default(), ..connect.clone() };
        let ended = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&ended);
        let thread = std::thread::Builder::new()
            .name("interrupt".to_owned())
            .spawn(move || state.watch(&connect, &seen));
        Watcher { state: Arc::clone(&self.state), ended, thread: thread.ok() }
    }
}

impl State {
    fn lock(&self) -> MutexGuard<'_, BTreeSet<u64>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn watch(&self, connect: &ConnectOptions, ended: &AtomicBool) {
        let mut session = None;
        let mut running = self.lock();
        while !ended.load(Ordering::SeqCst) {
            let is_asked = self.requested.load(Ordering::SeqCst);
            if !is_asked || running.is_empty() {
                running = self.changed.wait(running).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            if session.is_none() {
                drop(running);
                session = Session::connect(connect).ok();
                running = self.lock();
            }
            // Under the lock, so that no statement ends meanwhile and another one is hit.
            for &id in running.iter() {
                if session.as_mut().is_some_and(|session| session.kill_query(id).is_err()) {
                    session = None;
                }
            }
            let waited = self.changed.wait_timeout(running, PAUSE);
            running = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// The thread that ends statements.
#[derive(Debug)]
pub struct Watcher {
    state: Arc<State>,
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Watcher {
    fn drop(&mut self) {
        let running = self.state.lock();
        self.ended.store(true, Ordering::SeqCst);
        drop(running);
        self.state.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            // It has nothing to say.
            let _ = thread.join();
        }
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
    id: Option<u64>,
}

impl Drop for Statement {
    fn drop(&mut self) {
        let Some(id) = self.id else { return };
        self.state.lock().remove(&id);
    }
}
