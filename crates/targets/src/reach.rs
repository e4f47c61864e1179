//! Connections to a server that is full, restarting, or still busy with one that was lost.

use std::time::{Duration, Instant};

use server::error::Result;
use server::session::Session;

/// A statement of a connection that was lost goes on until the server notices.
pub const ENDING_WAIT: Duration = Duration::from_secs(60);
/// Between two looks at a connection that is about to end.
const NAP: Duration = Duration::from_millis(20);

/// A connection like one, as soon as the server has room.
pub(super) fn second(like: &Session, wait: Duration) -> Result<Session> {
    server::reach::with_room(like.options(), wait)
}

/// A connection like one to a server that may be restarting.
pub(super) fn reach(like: &Session, wait: Duration) -> Result<Session> {
    server::reach::reach(like.options(), wait)
}

/// Ends what a connection that was lost is doing on the server still.
pub(super) fn end(session: &mut Session, lost: &Session) -> Result<()> {
    session.kill(lost.mark())?;
    let begun = Instant::now();
    while session.is_there(lost.mark())? && begun.elapsed() < ENDING_WAIT {
        std::thread::sleep(NAP);
    }
    Ok(())
}
