//! Panics of the readers of formats, which damaged files cause: kept inside the part that is read.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The fault of a part of a file, in words.
pub(crate) type Problem = String;

thread_local! {
    static IS_GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// True on a thread that reads what may be damaged: a panic there becomes an error, and is not to be printed.
pub fn is_guarded() -> bool {
    IS_GUARDED.get()
}

/// Runs what may panic on damaged bytes.
pub(crate) fn guard<T>(work: impl FnOnce() -> Result<T, Problem>) -> Result<T, Problem> {
    let before = IS_GUARDED.replace(true);
    let outcome = catch_unwind(AssertUnwindSafe(work));
    IS_GUARDED.set(before);
    outcome.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        Err(format!("the data is damaged ({})", text.unwrap_or("its reader failed")))
    })
}

/// The text of a reader's error, in one line.
pub(crate) fn problem(error: impl std::fmt::Display) -> Problem {
    // Errors of Arrow's tables name the table in lines of their own.
    let text = error.to_string();
    text.lines().map(str::trim).collect::<Vec<_>>().join(" ")
}
