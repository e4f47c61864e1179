//! Places at which a test can have the process killed, stopped, or its file damaged.
//!
//! With feature `failpoints`, `INRUSH_FAILPOINT=import.begin=kill` ends the process at that
//! place as `kill -9` would; `=pause` stops it there as SIGSTOP would, until a SIGCONT; `=panic`
//! panics, and so does a thread at its begin, `thread.verify=panic`, or in the middle of its work,
//! `batch.1=panic`; `verify.begin=damage:<kind>` breaks the built file before it is verified,
//! `pages.written=damage:<kind>` what was verified on its way to it;
//! `batch.1=drop` loses the rows of the second chunk; `tables=small` has tables of any size taken for
//! small ones.
//! Without the feature this is nothing.

#[cfg(feature = "failpoints")]
use disk::failpoint::action_at;
pub use disk::failpoint::{hit, reconnect_wait};

/// A place of this name was reached; it can be named by its number too, among all of this kind that
/// the process has reached: `step.1` the first.
#[cfg(feature = "failpoints")]
pub fn step(name: &str) {
    static REACHED: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
    let before = REACHED.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    hit(name);
    hit(&format!("step.{}", before + 1));
}

/// True if the rows of a chunk are to be lost here, as by a mistake; or a panic, in the middle of
/// the work.
#[cfg(feature = "failpoints")]
pub fn drops_batch(ordinal: u64) -> bool {
    hit(&format!("batch.{ordinal}"));
    action_at(&format!("batch.{ordinal}")).as_deref() == Some("drop")
}

/// The size class that all tables are taken for, if set: true for small ones.
#[cfg(feature = "failpoints")]
pub fn are_small() -> Option<bool> {
    action_at("tables").map(|size| size == "small")
}

/// The damage that a built file is to take at a place: before it is verified, or after that.
#[cfg(feature = "failpoints")]
pub fn damage(name: &str) -> Option<String> {
    Some(action_at(name)?.strip_prefix("damage:")?.to_owned())
}

/// A place of this name was reached.
#[cfg(not(feature = "failpoints"))]
pub fn step(_: &str) {}

/// True if the rows of a chunk are to be lost here.
#[cfg(not(feature = "failpoints"))]
pub fn drops_batch(_: u64) -> bool {
    false
}

/// The size class that all tables are taken for.
#[cfg(not(feature = "failpoints"))]
pub fn are_small() -> Option<bool> {
    None
}
