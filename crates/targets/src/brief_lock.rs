//! A lock that nobody waits for longer than a second: short attempts with pauses between them.
//!
//! A statement that waits for a table's lock has every later writer wait behind it. After a second it is
//! given up, and writers go on until the next attempt.

use std::time::{Duration, Instant};

use schema::TableName;
use server::error::{Error, Result, holders_text};
use server::session::{Done, Session};

use crate::waiting::{ER_LOCK_WAIT_TIMEOUT, lock_holders};

/// One attempt: as long as writers may wait behind it.
pub const ATTEMPT: Duration = Duration::from_secs(1);
/// Between two attempts, doubled up to the second.
const PAUSE_MIN: Duration = Duration::from_secs(1);
const PAUSE_MAX: Duration = Duration::from_secs(8);

/// Runs `sql`, which locks `table`, in attempts of a second until `wait` is over; `waiting` hears of each
/// failed attempt and of the holders.
///
/// Errors: [`Error::LockWait`] with the holders; the server's.
pub fn take(
    session: &mut Session,
    table: &TableName,
    sql: &str,
    wait: Duration,
    waiting: impl Fn(&str),
) -> Result<Done> {
    session.set_lock_wait(ATTEMPT)?;
    let (begun, mut pause) = (Instant::now(), PAUSE_MIN);
    let outcome = loop {
        match session.exec(sql) {
            Err(error) if error.errno() == Some(ER_LOCK_WAIT_TIMEOUT) => {}
            done => break done,
        }
        let holders = lock_holders(session, &[table], &[]).unwrap_or_default();
        let Some(left) = wait.checked_sub(begun.elapsed() + ATTEMPT) else {
            let seconds = wait.as_secs();
            break Err(Error::LockWait { target: table.to_string(), seconds, holders });
        };
        let text = holders_text(&holders);
        waiting(&format!(
            "waiting for a lock on {table}, at most {} s, one second at a time; {text}",
            wait.as_secs()
        ));
        let interrupt = session.options().interrupt.clone();
        server::reach::sleep(pause.min(left), &interrupt);
        interrupt.check()?;
        pause = (pause * 2).min(PAUSE_MAX);
    };
    // Of no matter where the connection has gone.
    let again = session.set_lock_wait(wait);
    outcome.and_then(|done| again.map(|()| done))
}
