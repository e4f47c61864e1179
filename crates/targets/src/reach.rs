//! Connections to a server that is full, restarting, or still busy with one that was lost.

use std::time::{Duration, Instant};

use server::error::{Error, Result};
use server::session::Session;

/// A server is waited for no longer when somebody has asked for the end of the load.
const STOPPING_WAIT: Duration = Duration::from_secs(3);
/// Between two tries, doubled up to the second.
const TRY_MIN: Duration = Duration::from_millis(50);
const TRY_MAX: Duration = Duration::from_secs(2);
/// A statement of a connection that was lost goes on until the server notices.
pub const ENDING_WAIT: Duration = Duration::from_secs(60);
/// The server is full: too many connections, of all accounts or of this one.
const ER_FULL: [u16; 3] = [1040, 1203, 1226];
/// The server is going down.
const ER_SHUTDOWN: u16 = 1053;
/// Between two looks at a connection that is about to end.
const NAP: Duration = Duration::from_millis(20);

/// A connection like one, as soon as the server has room.
pub(super) fn second(like: &Session, wait: Duration) -> Result<Session> {
    let full = |e: &Error| e.errno().is_some_and(|n| ER_FULL.contains(&n));
    connect(like, wait, full)
}

/// A connection like one to a server that may be restarting.
pub(super) fn reach(like: &Session, wait: Duration) -> Result<Session> {
    let passing = |e: &Error| match e {
        Error::Connect { errno: None, .. } | Error::Lost { .. } | Error::Nonsense { .. } => true,
        e => e.errno().is_some_and(|n| n == ER_SHUTDOWN || ER_FULL.contains(&n)),
    };
    // Who asked for the end does not want to wait.
    let asked = like.options().interrupt.is_requested();
    let wait = if asked { wait.min(STOPPING_WAIT) } else { wait };
    connect(like, wait, passing)
}

/// Connects as `like` is, again and again while the error is one that passes.
fn connect(like: &Session, wait: Duration, passes: impl Fn(&Error) -> bool) -> Result<Session> {
    let (begun, mut pause) = (Instant::now(), TRY_MIN);
    loop {
        match like.another() {
            Err(error) if passes(&error) && begun.elapsed() < wait => {
                std::thread::sleep(pause);
                pause = (pause * 2).min(TRY_MAX);
            }
            session => return session,
        }
    }
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
