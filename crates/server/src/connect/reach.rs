//! Connections to a server that is restarting, or full.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use locks::Mutex;

use super::interrupt::Interrupt;
use super::options::ConnectOptions;
use super::session::Session;
use crate::error::{Error, Result};

/// The longest wait for a server once somebody has asked for the end of the load.
const STOPPING_WAIT: Duration = Duration::from_secs(3);
/// The longest wait for a server that did not come back within an earlier wait.
const GONE_WAIT: Duration = Duration::from_secs(1);
/// Between two tries, doubled up to the second.
const PAUSE_MIN: Duration = Duration::from_millis(50);
const PAUSE_MAX: Duration = Duration::from_secs(1);
/// The server is full: too many connections, of all accounts or of this one.
const ER_FULL: [u16; 3] = [1040, 1203, 1226];
/// The server is going down, is not yet part of its cluster, or blocks this host for a while.
const ER_PASSES: [u16; 3] = [1053, 1047, 1129];

/// Addresses of servers that did not come back within a wait: who ends a load asks several times, and must not
/// wait as long each time.
static GONE: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// Connects to a server that may be restarting, or full, within a time.
pub fn reach(options: &ConnectOptions, wait: Duration) -> Result<Session> {
    let passes = |error: &Error| match error {
        Error::Connect { errno: None, .. } | Error::Lost { .. } | Error::Nonsense { .. } => true,
        error => is_full(error) || error.errno().is_some_and(|n| ER_PASSES.contains(&n)),
    };
    let address = options.server_text();
    let gone = || GONE.lock();
    let wait = if gone().contains(&address) { wait.min(GONE_WAIT) } else { wait };
    let session = connect(options, wait, passes);
    match &session {
        Err(error) if passes(error) => drop(gone().insert(address)),
        _ => drop(gone().remove(&address)),
    }
    session
}

/// Connects to a server as soon as it has room, within a time.
pub fn with_room(options: &ConnectOptions, wait: Duration) -> Result<Session> {
    connect(options, wait, is_full)
}

/// True if the server, or the account, may have no more connections.
pub fn is_full(error: &Error) -> bool {
    error.errno().is_some_and(|n| ER_FULL.contains(&n))
}

/// Connects again and again while the error is one that passes.
fn connect(
    options: &ConnectOptions,
    wait: Duration,
    passes: impl Fn(&Error) -> bool,
) -> Result<Session> {
    let (begun, mut pause) = (Instant::now(), PAUSE_MIN);
    loop {
        // Who asked for the end does not want to wait.
        let is_stopping = options.interrupt.is_requested();
        let wait = if is_stopping { wait.min(STOPPING_WAIT) } else { wait };
        match Session::connect(options) {
            Err(error) if passes(&error) && begun.elapsed() < wait => {
                sleep(pause, &options.interrupt);
                pause = (pause * 2).min(PAUSE_MAX);
            }
            session => return session,
        }
    }
}

/// Sleeps; no longer than a moment when somebody has asked for the end.
pub fn sleep(pause: Duration, interrupt: &Interrupt) {
    const SLICE: Duration = Duration::from_millis(50);
    let begun = Instant::now();
    loop {
        std::thread::sleep(SLICE.min(pause.saturating_sub(begun.elapsed())));
        if begun.elapsed() >= pause || interrupt.is_requested() {
            return;
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_does_not_come_back_is_waited_for_once() {
        let folder = tempfile::tempdir().unwrap();
        let socket = Some(folder.path().join("no.sock"));
        let options = ConnectOptions { socket, ..ConnectOptions::default() };
        let waited = || {
            let begun = Instant::now();
            reach(&options, Duration::from_secs(3)).unwrap_err();
            begun.elapsed()
        };
        let first = waited();
        assert!((3..6).contains(&first.as_secs()), "{first:?}");
        let next = waited();
        assert!((1..3).contains(&next.as_secs()), "{next:?}");
        options.interrupt.request("a test");
        let last = waited();
        assert!(last.as_secs() < 3, "{last:?}");
    }
}
