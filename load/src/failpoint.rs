//! Places at which a test can have the process killed.
//!
//! With feature `failpoints`, `INRUSH_FAILPOINT=import.begin=kill` ends the process at that
//! place as `kill -9` would, and `=pause` stops it there until it is killed from outside.
//! Without the feature this is nothing.

/// A place of this name was reached.
#[cfg(feature = "failpoints")]
pub(crate) fn hit(name: &str) {
    let Ok(wanted) = std::env::var("INRUSH_FAILPOINT") else { return };
    match wanted.split_once('=') {
        Some((place, "kill")) if place == name => {
            let me = rustix::process::getpid();
            let _ = rustix::process::kill_process(me, rustix::process::Signal::KILL);
        }
        Some((place, "pause")) if place == name => loop {
            std::thread::sleep(std::time::Duration::from_secs(1));
        },
        _ => {}
    }
}

/// A place of this name was reached.
#[cfg(not(feature = "failpoints"))]
pub(crate) fn hit(_: &str) {}
