//! The state of a random case, for readers of its failure.

use std::sync::OnceLock;

static KEEPER: OnceLock<fn(&str)> = OnceLock::new();

/// Says what a case is at: printed, which a test shows when it fails, or kept as
/// [`keep_what_is_said`] had it.
pub fn say(text: &str) {
    match KEEPER.get() {
        Some(keep) => keep(text),
        None => println!("{text}"),
    }
}

/// Has `keep` take what is said from now on; the first caller decides.
pub fn keep_what_is_said(keep: fn(&str)) {
    let _ = KEEPER.set(keep);
}
