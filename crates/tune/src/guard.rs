//! Who on other machines, or under other accounts of this one, sets variables of the same server.
//!
//! Their journals are not seen, and what they find set they would take for what was there before. So each
//! user holds a lock of the server as long as it is connected, one of a few names, and one whose holder is
//! not in the journal here is somebody else's.

use std::time::Duration;

use server::Session;
use server::error::Result;

use crate::journal::User;

/// Users of one server at the same time.
const NAMES: usize = 16;
/// How often, and at what distance, a stranger is looked for.
const LOOKS: usize = 10;
const PAUSE: Duration = Duration::from_millis(100);

fn name(number: usize) -> String {
    format!("inrush.tune.{number}")
}

/// The connection of somebody else who does it, if there is one.
pub(crate) fn stranger(session: &mut Session, ours: &[User]) -> Result<Option<u64>> {
    let is_ours = |holder: &u64| ours.iter().any(|user| user.connection == *holder);
    Ok(holders(session)?.into_iter().find(|holder| !is_ours(holder)))
}

/// The other connections that hold a lock of these names.
pub(crate) fn holders(session: &mut Session) -> Result<Vec<u64>> {
    let names: Vec<String> = (0..NAMES).map(|n| format!("IS_USED_LOCK('{}')", name(n))).collect();
    let row = session.query_row(&format!("SELECT {}", names.join(", ")))?;
    let mut holders = Vec::new();
    for column in 0..NAMES {
        holders.extend(row.number_or_null::<u64>(column)?);
    }
    holders.retain(|holder| *holder != session.id());
    Ok(holders)
}

/// As [`stranger`], of one who is still there in a second: a connection that has just ended, or whose process
/// was killed, holds its lock until the server has noticed.
pub(crate) fn lasting_stranger(session: &mut Session, ours: &[User]) -> Result<Option<u64>> {
    for _ in 0..LOOKS {
        if stranger(session, ours)?.is_none() {
            return Ok(None);
        }
        std::thread::sleep(PAUSE);
    }
    stranger(session, ours)
}

/// Gives back what [`take`] has taken, before the connection ends.
pub(crate) fn release(session: &mut Session) -> Result<()> {
    let names: Vec<String> = (0..NAMES).map(|n| format!("RELEASE_LOCK('{}')", name(n))).collect();
    session.query_row(&format!("SELECT {}", names.join(", "))).map(drop)
}

/// Takes the first free name; false where all are taken.
pub(crate) fn take(session: &mut Session) -> Result<bool> {
    for number in 0..NAMES {
        if session.lock_name(&name(number), Duration::ZERO)? {
            return Ok(true);
        }
    }
    Ok(false)
}
