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

use crate::guard;
use crate::journal::User;

/// How long a connection may take to end once it was killed: the server looks every five seconds while it
/// writes out its redo log.
const ENDING_WAIT: Duration = Duration::from_secs(8);
const PAUSE: Duration = Duration::from_millis(50);

/// Ends the connections of these users, whose processes have ended, and waits for their end. Gives one that
/// is still there.
pub(crate) fn end_connections(session: &mut Session, users: &[User]) -> Result<Option<u64>> {
    let begun = Instant::now();
    let mut left = connections(session, users)?;
    // Behind a balancer the number of another may be a stranger's: one with our lock is ours.
    let ours = if left.is_empty() { Vec::new() } else { guard::holders(session)? };
    for connection in left.iter().filter(|connection| ours.contains(connection)) {
        match session.exec(&format!("KILL {connection}")) {
            // It has just ended, or it is another account's: it ends by itself.
            Err(error) if error.errno().is_none() => return Err(error),
            _ => {}
        }
    }
    while !left.is_empty() && begun.elapsed() < ENDING_WAIT {
        std::thread::sleep(PAUSE);
        left = connections(session, users)?;
    }
    Ok(left.first().copied())
}

/// Connections of these users that the server still has. An account that may not see connections of others
/// sees the locks that they hold.
fn connections(session: &mut Session, users: &[User]) -> Result<Vec<u64>> {
    let own = session.id();
    let mut noted: Vec<u64> = users.iter().map(|user| user.connection).collect();
    noted.retain(|connection| *connection != own);
    if noted.is_empty() {
        return Ok(noted);
    }
    let mut there = guard::holders(session)?;
    let list: Vec<String> = noted.iter().map(u64::to_string).collect();
    let ids = list.join(", ");
    for row in session
        .query_processes(|processes| format!("SELECT ID FROM {processes} WHERE ID IN ({ids})"))?
    {
        there.push(row.number(0)?);
    }
    noted.retain(|connection| there.contains(connection));
    Ok(noted)
}
