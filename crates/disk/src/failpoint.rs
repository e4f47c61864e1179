//! Places at which a test can have the process killed, stopped, or a thread panic.
//!
//! With feature `faults`, `INRUSH_FAILPOINT=import.begin=kill` ends the process at that place as `kill -9`
//! would; `=pause` stops it there as SIGSTOP would, until a SIGCONT; `=panic` panics. Without the feature
//! this is nothing. Each thread of a load has a place for it, `thread.<its work>`, as the first thing that it
//! does.

use std::time::Duration;

/// A place of this name was reached.
#[cfg(feature = "faults")]
pub fn hit(name: &str) {
    let Some(action) = action_at(name) else { return };
    let me = rustix::process::getpid();
    let signal = match action.as_str() {
        "kill" => rustix::process::Signal::KILL,
        "pause" => rustix::process::Signal::STOP,
        "panic" => panic!("the failpoint {name}"),
        _ => return,
    };
    let _ = rustix::process::kill_process(me, signal);
    // The signal is on its way: no step of ours after it.
    std::thread::sleep(Duration::from_millis(100));
}

/// The action at the place of this name.
#[cfg(feature = "faults")]
pub fn action_at(name: &str) -> Option<String> {
    let wanted = std::env::var("INRUSH_FAILPOINT").ok()?;
    let (place, action) = wanted.split_once('=')?;
    (place == name).then(|| action.to_owned())
}

/// How long a server that went away is tried: the variable INRUSH_RECONNECT_MS says, if set.
#[cfg(feature = "faults")]
pub fn reconnect_wait(default: Duration) -> Duration {
    let millis = std::env::var("INRUSH_RECONNECT_MS").ok().and_then(|text| text.parse().ok());
    millis.map_or(default, Duration::from_millis)
}

/// True if servers are taken for those that make a checkpoint by no statement: the variable INRUSH_CHECKPOINT says
/// `flush`.
#[cfg(feature = "faults")]
pub fn only_flushes() -> bool {
    std::env::var("INRUSH_CHECKPOINT").is_ok_and(|way| way == "flush")
}

/// True if servers are taken for those that make a checkpoint by no statement.
#[cfg(not(feature = "faults"))]
pub fn only_flushes() -> bool {
    false
}

/// How long a server that went away is tried.
#[cfg(not(feature = "faults"))]
pub fn reconnect_wait(default: Duration) -> Duration {
    default
}

/// A place of this name was reached.
#[cfg(not(feature = "faults"))]
pub fn hit(_: &str) {}
