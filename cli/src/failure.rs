//! What goes wrong, with the exit status it means.

use std::fmt;

/// 1: failed, the target is as before.
pub(crate) const FAILED: u8 = 1;
/// 2: usage, or a table that cannot be loaded; nothing was started.
pub(crate) const USAGE: u8 = 2;
/// 3: loaded, some rows refused.
pub(crate) const REJECTS: u8 = 3;

/// A sentence for people and a status for scripts.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) status: u8,
    /// Empty where there is nobody to tell.
    pub(crate) text: String,
}

impl Failure {
    /// Wrong options: nothing was started.
    pub(crate) fn usage(text: impl Into<String>) -> Failure {
        Failure { status: USAGE, text: text.into() }
    }

    /// Something failed on the way.
    pub(crate) fn failed(error: impl fmt::Display) -> Failure {
        Failure { status: FAILED, text: error.to_string() }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl From<::load::Error> for Failure {
    fn from(error: ::load::Error) -> Failure {
        Failure { status: error.exit_status(), text: error.to_string() }
    }
}

impl From<server::Error> for Failure {
    fn from(error: server::Error) -> Failure {
        Failure::from(::load::Error::from(error))
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Failure {
        match error.kind() {
            // Whoever read the output has seen enough.
            std::io::ErrorKind::BrokenPipe => Failure { status: FAILED, text: String::new() },
            _ => Failure::failed(error),
        }
    }
}
