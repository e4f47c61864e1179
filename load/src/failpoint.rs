//! Places at which a test can have the process killed, stopped, or its file damaged.
//!
//! With feature `failpoints`, `INRUSH_FAILPOINT=import.begin=kill` ends the process at that
//! place as `kill -9` would; `=pause` stops it there as SIGSTOP would, until a SIGCONT;
//! `verify.begin=damage:<kind>` breaks the built file before it is verified (see `damage`).
//! Without the feature this is nothing.

#[cfg(feature = "failpoints")]
mod damage;

use crate::error::Error;
use crate::space_file::SpaceFile;

/// A place of this name was reached.
#[cfg(feature = "failpoints")]
pub(crate) fn hit(name: &str) {
    let Some(action) = action_at(name) else { return };
    let me = rustix::process::getpid();
    let signal = match action.as_str() {
        "kill" => rustix::process::Signal::KILL,
        "pause" => rustix::process::Signal::STOP,
        _ => return,
    };
    let _ = rustix::process::kill_process(me, signal);
    // The signal is on its way: no step of ours after it.
    std::thread::sleep(std::time::Duration::from_millis(100));
}

/// The built file is about to be verified.
#[cfg(feature = "failpoints")]
pub(crate) fn built(file: &SpaceFile) -> Result<(), Error> {
    match action_at("verify.begin").as_deref().and_then(|action| action.strip_prefix("damage:")) {
        Some(kind) => damage::damage(file, kind),
        None => Ok(()),
    }
}

/// What is to be done at the place of this name.
#[cfg(feature = "failpoints")]
fn action_at(name: &str) -> Option<String> {
    let wanted = std::env::var("INRUSH_FAILPOINT").ok()?;
    let (place, action) = wanted.split_once('=')?;
    (place == name).then(|| action.to_owned())
}

/// A place of this name was reached.
#[cfg(not(feature = "failpoints"))]
pub(crate) fn hit(_: &str) {}

/// The built file is about to be verified.
#[cfg(not(feature = "failpoints"))]
pub(crate) fn built(_: &SpaceFile) -> Result<(), Error> {
    Ok(())
}
