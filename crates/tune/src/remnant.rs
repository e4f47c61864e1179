//! Connections of loads that were killed: the server may still execute their last SET.
//!
//! ```text
//! client: SET GLOBAL innodb_log_file_size=..   killed      its process and its locks are gone
//! server: ..................................... done       the variable changes seconds later
//! ```
//!
//! So a variable is put back only once the connection that may set it has ended.

use std::time::{Duration, Instant};

use server::Session;
use server::error::Result;

use crate::journal::User;

/// How long a connection may take to end once it was killed: the server looks every five seconds while it
/// writes out its redo log.
const ENDING_WAIT: Duration = Duration::from_secs(8);
const PAUSE: Duration = Duration::from_millis(50);

/// Ends the connections of these users, whose processes have ended, and waits for their end. Gives one that
/// is still there.
///
/// A connection is known by the lock that it holds. Its number may be a stranger's by now: behind a balancer, or
/// since a restart of the server.
pub(crate) fn end_connections(session: &mut Session, users: &[User]) -> Result<Option<u64>> {
    let begun = Instant::now();
    let others = users.iter().filter(|user| !user.is(session.mark()));
    let mut left: Vec<&str> = others.map(|user| &*user.lock).collect();
    for lock in &left {
        match session.kill_holder(lock) {
            // It is another account's: it ends by itself.
            Err(error) if error.errno().is_none() => return Err(error),
            _ => {}
        }
    }
    loop {
        let mut holder = None;
        while let Some(lock) = left.last()
            && holder.is_none()
        {
            holder = session.lock_holder(lock)?;
            if holder.is_none() {
                left.pop();
            }
        }
        if holder.is_none() || begun.elapsed() >= ENDING_WAIT {
            return Ok(holder);
        }
        std::thread::sleep(PAUSE);
    }
}
