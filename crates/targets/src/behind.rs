//! Locks of tables that pass from one connection to another, with nobody else in between.
//!
//! The server grants a waiting `LOCK TABLES .. WRITE` before later and earlier writers, as it grants a
//! waiting RENAME before that. So a connection that was seen to wait gets a table as soon as another
//! one lets it go.
//! Source: MariaDB 10.11, sql/mdl.cc, `MDL_lock::can_grant_lock`, and the matrix of waiting requests.

use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError, channel};
use std::thread::Builder;
use std::time::{Duration, Instant};

use disk::failpoint;

use crate::queued::wait_until_queued;
use server::connect::Mark;
use server::error::{Error, Result};
use server::session::Session;

/// How long a statement that is ended may take to end.
const ENDING_WAIT: Duration = Duration::from_secs(5);

/// A connection that waits for locks.
pub(super) struct Behind {
    mark: Mark,
    result: Receiver<(Session, Result<()>)>,
    statement: String,
    /// How many it waits for.
    tables: usize,
    /// The connection, where it had not to wait.
    early: Option<Session>,
}

impl Behind {
    /// Has `session` wait for the locks of so many tables; `observer` sees it do so, or get them at once.
    ///
    /// Errors: neither.
    pub(super) fn queue(
        statement: String,
        tables: usize,
        mut session: Session,
        wait: Duration,
        observer: &mut Session,
    ) -> Result<Behind> {
        session.set_lock_wait(wait)?;
        let (mark, (sender, result)) = (session.mark().clone(), channel());
        let sql = statement.clone();
        let waiting = move || {
            failpoint::hit("thread.behind");
            let locked = session.exec(&sql).map(drop);
            // Nobody waits for it any more: the lock goes with the session.
            let _ = sender.send((session, locked));
        };
        Builder::new().spawn(waiting).map_err(|error| not_started(&error, &statement))?;
        let seen = wait_until_queued(observer, &mark, None, tables, &result).inspect_err(|_| {
            // Nobody is told when it gets its locks.
            let _ = observer.kill(&mark);
        })?;
        let behind = Behind { mark, result, statement, tables, early: None };
        match seen {
            Some((_, Err(error))) => Err(error),
            Some((session, Ok(()))) => Ok(Behind { early: Some(session), ..behind }),
            // Nothing comes of a thread that waits, and nothing will of one that died.
            None if behind.result.try_recv().err() == Some(TryRecvError::Empty) => Ok(behind),
            None => Err(waiter_died(&behind.statement)),
        }
    }

    /// The connection, if it gets its locks until `end`; else it waits no more.
    pub(super) fn held_until(self, end: Instant, observer: &mut Session) -> Option<Session> {
        if self.early.is_some() {
            return self.early;
        }
        match self.result.recv_timeout(end.saturating_duration_since(Instant::now())) {
            Ok((session, Ok(()))) => Some(session),
            Ok((_, Err(_))) | Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => {
                self.give_up(observer);
                None
            }
        }
    }

    /// Has it wait no more, nor keep what it has got.
    pub(super) fn give_up(self, observer: &mut Session) {
        if self.early.is_some() {
            return;
        }
        let _shield = observer.options().interrupt.shield();
        // One that cannot be ended ends with its wait.
        let _ = observer.kill_query(&self.mark);
        let _ = self.result.recv_timeout(ENDING_WAIT);
    }

    /// Has another connection wait in its place, behind all that wait now.
    pub(super) fn again(self, wait: Duration, observer: &mut Session) -> Result<Behind> {
        let (statement, tables) = (self.statement.clone(), self.tables);
        self.give_up(observer);
        let session = observer.another()?;
        Behind::queue(statement, tables, session, wait, observer)
    }
}

fn waiter_died(statement: &str) -> Error {
    Error::lost("the thread that waits for a table's lock has ended", statement)
}

/// The error of a statement whose thread the system did not start: it was not sent.
pub(super) fn not_started(error: &std::io::Error, statement: &str) -> Error {
    Error::lost(format!("no thread could be started for it: {error}"), statement)
}

/// Does `work`, whose connection waits for some of so many tables that these have: they let go when it
/// does.
pub(super) fn hand_over<T: Send>(
    mut holders: Vec<Session>,
    waiter: &Mark,
    tables: usize,
    work: impl FnOnce() -> Result<T> + Send,
) -> Result<T> {
    let Some(mut observer) = holders.pop() else { return work() };
    std::thread::scope(|scope| {
        let (sender, result) = channel();
        let carry = move || {
            failpoint::hit("thread.carrier");
            // The receiver outlives this: it is asked in any case.
            let _ = sender.send(work());
        };
        let working = Builder::new()
            .spawn_scoped(scope, carry)
            .map_err(|error| not_started(&error, "LOCK TABLES"))?;
        let early = wait_until_queued(&mut observer, waiter, None, tables, &result);
        // Without it the other would wait for nothing.
        drop(observer);
        holders.clear();
        let done = match early {
            // It had not to wait: nobody had them.
            Ok(Some(ended)) => ended,
            Ok(None) | Err(_) => result.recv().unwrap_or_else(|_| Err(waiter_died("LOCK TABLES"))),
        };
        let _ = working.join();
        done
    })
}
