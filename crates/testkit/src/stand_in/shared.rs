//! State shared by the connections of a stand-in.

use std::collections::BTreeMap;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use locks::{Condvar, Mutex, MutexGuard};

use super::answers::Learned;
use super::engine::Engine;
use super::imports::Imports;
use super::statements::{Answer, gave_up, waited_too_long};
use super::tables::{Id, SessionState, Tables, Value};
use crate::proxy::{Fate, Request};

type Judge = Box<dyn FnMut(&Request) -> Fate + Send>;
/// Rows, and their number of columns.
type ToldRows = (usize, Vec<Vec<Value>>);

/// All that there is.
pub(super) struct Shared {
    tables: Mutex<Tables>,
    /// Something has ended that others may wait for.
    pub(super) changed: Condvar,
    pub(super) answers: BTreeMap<String, Learned>,
    pub(super) engine: Engine,
    /// Answers that a test gives.
    pub(super) told: Mutex<BTreeMap<String, ToldRows>>,
    pub(super) imports: Mutex<Imports>,
    /// Statements that an engine would have done in a way of its own.
    pub(super) broken: Mutex<Vec<String>>,
    /// Statements that nothing was known of.
    pub(super) unknown: Mutex<Vec<String>>,
    pub(super) judge: Mutex<Option<Judge>>,
    /// How long the server does not learn that a client has gone.
    pub(super) unnoticed: Mutex<Duration>,
    streams: Mutex<BTreeMap<Id, UnixStream>>,
}

impl Shared {
    pub(super) fn new(engine: Engine) -> Shared {
        Shared {
            tables: Mutex::default(),
            changed: Condvar::new(),
            answers: engine.answers(),
            engine,
            told: Mutex::default(),
            imports: Mutex::default(),
            broken: Mutex::default(),
            unknown: Mutex::default(),
            judge: Mutex::default(),
            unnoticed: Mutex::default(),
            streams: Mutex::default(),
        }
    }

    pub(super) fn held(&self) -> MutexGuard<'_, Tables> {
        self.tables.lock()
    }

    /// The fate of a request.
    pub(super) fn fate(&self, request: &Request) -> Fate {
        self.judge.lock().as_mut().map_or(Fate::Done, |judge| judge(request))
    }

    /// Notes a statement that nothing is known of.
    pub(super) fn remember(&self, sql: &str) {
        self.unknown.lock().push(sql.to_owned());
    }

    /// A connection is there.
    pub(super) fn begin(&self, id: Id, stream: &UnixStream) {
        self.held().session(id);
        if let Ok(stream) = stream.try_clone() {
            self.streams.lock().insert(id, stream);
        }
    }

    /// It has gone, which the server notices after a while.
    pub(super) fn end(&self, id: Id) {
        let unnoticed = *self.unnoticed.lock();
        let begun = Instant::now();
        let mut tables = self.held();
        while begun.elapsed() < unnoticed
            && !tables.sessions.get(&id).is_none_or(|session| session.is_killed)
        {
            let left = unnoticed.saturating_sub(begun.elapsed());
            tables = self.changed.wait_timeout(tables, left);
        }
        tables.end(id);
        drop(tables);
        self.streams.lock().remove(&id);
        self.changed.notify_all();
    }

    /// Ends a connection, or what it does; whether there is one.
    pub(super) fn kill(&self, id: Id, all: bool) -> bool {
        let mut tables = self.held();
        let Some(session) = tables.sessions.get_mut(&id) else { return false };
        if all {
            session.is_killed = true;
            if let Some(stream) = self.streams.lock().get(&id) {
                let _ = stream.shutdown(Shutdown::Both);
            }
        } else {
            session.is_stopped = !session.statement.is_empty();
        }
        drop(tables);
        self.changed.notify_all();
        true
    }

    /// Tries something until it can be done.
    ///
    /// Errors: it could not, for as long as `wait` says of the connection, or somebody ended it.
    pub(super) fn when<T>(
        &self,
        id: Id,
        wait: impl Fn(&SessionState) -> Duration,
        mut attempt: impl FnMut(&mut Tables) -> Option<T>,
    ) -> Result<T, Answer> {
        let begun = Instant::now();
        let mut tables = self.held();
        loop {
            if let Some(done) = attempt(&mut tables) {
                return Ok(done);
            }
            let session = tables.session(id);
            if let Some(ended) = gave_up(session) {
                return Err(ended);
            }
            let left = wait(session).saturating_sub(begun.elapsed());
            if left.is_zero() {
                return Err(waited_too_long());
            }
            // Whoever asks who waits is to see it.
            tables = self.changed.wait_timeout(tables, left);
        }
    }
}
