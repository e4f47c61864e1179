//! What goes wrong, with the exit status it means.

use std::fmt;

use ::load::ErrorPlace;
use serde::Serialize;

/// 1: failed, the target is as before.
pub(crate) const FAILED: u8 = 1;
/// 2: usage, or a table that cannot be loaded; nothing was started.
pub(crate) const USAGE: u8 = 2;
/// 3: loaded, some rows refused.
pub(crate) const REJECTS: u8 = 3;

/// 4: all rows are in, and foreign keys of other tables refer to the old table still.
pub(crate) const KEYS_LEFT: u8 = 4;

/// A sentence for people and a status for scripts.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) status: u8,
    /// Empty where there is nobody to tell.
    pub(crate) text: String,
    /// Where in the input, if it is there.
    pub(crate) place: Option<Box<ErrorPlace>>,
}

impl Failure {
    /// Wrong options: nothing was started.
    pub(crate) fn usage(text: impl Into<String>) -> Failure {
        Failure { status: USAGE, text: text.into(), place: None }
    }

    /// Something failed on the way.
    pub(crate) fn failed(error: impl fmt::Display) -> Failure {
        Failure { status: FAILED, text: error.to_string(), place: None }
    }
}

impl Failure {
    /// The same for programs: what was said, the exit status, and where in the input it is.
    pub(crate) fn json(&self) -> String {
        #[derive(Serialize)]
        struct Told<'a> {
            error: &'a str,
            status: u8,
            #[serde(flatten)]
            place: Option<&'a ErrorPlace>,
        }
        let told = Told { error: &self.text, status: self.status, place: self.place.as_deref() };
        serde_json::to_string_pretty(&told).unwrap_or_default()
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl From<::load::Error> for Failure {
    fn from(error: ::load::Error) -> Failure {
        let place = error.place().map(Box::new);
        Failure { status: error.exit_status(), text: error.to_string(), place }
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
            std::io::ErrorKind::BrokenPipe => {
                Failure { status: FAILED, text: String::new(), place: None }
            }
            _ => Failure::failed(error),
        }
    }
}
