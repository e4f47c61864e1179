//! Turns at locks that others hold: short, and with pauses in which those who wait for us go on.
//!
//! While a load holds a lock that others want, it waits no longer than a [`TURN`] for one that others hold. Then
//! it lets go of everything, and tries again after a pause.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::time::{Duration, Instant};

use crate::waiting::ER_LOCK_WAIT_TIMEOUT;
use server::error::{Error, Result};
use server::session::Session;
use server::version::Flavor;

/// How long others who wait for a table of ours wait for one that somebody else holds.
pub(super) const TURN: Duration = Duration::from_secs(1);
/// Between two turns, doubled each time.
pub(super) const PAUSE_MIN: Duration = Duration::from_millis(50);
const PAUSE_MAX: Duration = Duration::from_secs(2);
/// A deadlock.
const ER_LOCK_DEADLOCK: u16 = 1213;
/// A statement that took longer than a turn.
const ER_STATEMENT_TIMEOUT: u16 = 1969;

/// How long others may have waited for a load, by the load's own clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Blocked {
    /// The longest time in which nobody could read a table.
    pub readers: Duration,
    /// The longest time in which nobody could write to a table.
    pub writers: Duration,
}

/// Tries again while somebody holds what is needed, in turns that leave others theirs.
#[derive(Debug)]
pub struct Turns {
    begun: Instant,
    wait: Duration,
    pause: Duration,
    /// How long others may have waited in turns that failed.
    pub(super) blocked: Blocked,
}

impl Blocked {
    /// Writers may have waited since then.
    pub(super) fn writers_since(&mut self, begun: Instant) {
        self.writers = self.writers.max(begun.elapsed());
    }

    /// Everybody may have waited since then.
    pub(super) fn all_since(&mut self, begun: Instant) {
        self.readers = self.readers.max(begun.elapsed());
        self.writers_since(begun);
    }

    /// The longer times of both.
    pub(super) fn include(&mut self, other: Blocked) {
        self.readers = self.readers.max(other.readers);
        self.writers = self.writers.max(other.writers);
    }
}

impl Turns {
    /// Turns for so long.
    pub fn begin(wait: Duration) -> Turns {
        Turns { begun: Instant::now(), wait, pause: PAUSE_MIN, blocked: Blocked::default() }
    }

    /// How long they have been going on.
    pub(super) fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }

    /// True if there is one more after `error`, once others had theirs.
    pub(super) fn again(&mut self, error: &Error, session: &Session) -> bool {
        let passes = is_wait(error) || error.is_unclear();
        // A connection that broke may have taken its time to do so.
        let is_first = self.pause == PAUSE_MIN && error.is_cut();
        let left = self.wait.saturating_sub(self.begun.elapsed());
        let is_over = !is_first && left.is_zero();
        if !passes || is_over || session.options().interrupt.is_requested() {
            return false;
        }
        std::thread::sleep(self.pause.mul_f64(jitter()).min(left.max(PAUSE_MIN)));
        self.pause = (self.pause * 2).min(PAUSE_MAX);
        true
    }
}

/// Has a statement wait for locks in turns, up to `wait` in all: a try that waited for one in vain has done nothing.
///
/// Errors: the statement's.
pub fn take_turns(
    session: &mut Session,
    wait: Duration,
    mut attempt: impl FnMut(&mut Session) -> Result<()>,
) -> Result<()> {
    let mut turns = Turns::begin(wait);
    session.set_lock_wait(TURN)?;
    let done = loop {
        match attempt(session) {
            Err(error) if is_wait(&error) && turns.again(&error, session) => {}
            done => break done,
        }
    };
    // A lost connection fails at the next statement.
    let _ = session.set_lock_wait(wait);
    done
}

/// True for a lock that did not come, or not while others waited for the load.
pub(super) fn is_wait(error: &Error) -> bool {
    let waits = [ER_LOCK_WAIT_TIMEOUT, ER_LOCK_DEADLOCK, ER_STATEMENT_TIMEOUT];
    matches!(error, Error::LockWait { .. } | Error::Yielded { .. })
        || error.errno().is_some_and(|errno| waits.contains(&errno))
}

/// A statement that needs InnoDB's locks of children, and ends without them in a turn: it has done nothing
/// then.
pub(super) fn in_turn(session: &Session, sql: &str) -> String {
    match session.version().flavor {
        Flavor::MariaDb => {
            let seconds = TURN.as_secs();
            format!("SET STATEMENT innodb_lock_wait_timeout={seconds} FOR {sql}")
        }
        Flavor::MySql => sql.to_owned(),
    }
}

/// A statement that locks tables and does nothing else, and ends without them behind `left` of a turn, where the
/// server can do so.
pub(super) fn within(session: &Session, left: Duration, sql: &str) -> String {
    match session.version().flavor {
        Flavor::MariaDb => {
            // 0 would be no limit.
            let seconds = left.as_secs_f64().max(0.001);
            format!("SET STATEMENT max_statement_time={seconds:.3} FOR {sql}")
        }
        Flavor::MySql => sql.to_owned(),
    }
}

/// From a half to 1: two loads that met do not meet again.
fn jitter() -> f64 {
    let random = RandomState::new().build_hasher().finish() % 1000;
    0.5 + random as f64 / 2000.0
}
