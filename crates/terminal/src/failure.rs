//! Failures, with their exit status.

use std::fmt;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};

use job::position::ErrorPlace;
use serde::Serialize;

use crate::say;

/// 1: failed, the target is as before.
pub const FAILED: u8 = 1;
/// 2: usage, or a table that cannot be loaded; nothing was started.
pub const USAGE: u8 = 2;
/// 3: loaded, some rows refused.
pub const REJECTS: u8 = 3;

/// 4: all rows are in, and foreign keys of other tables refer to the old table still.
pub const KEYS_LEFT: u8 = 4;

/// 141: nobody reads the output any more, as `| head` does. Programs that SIGPIPE ends have the same status.
pub const HUNG_UP: u8 = 141;

/// The version of objects that `--json` prints: higher wherever a field goes, or changes its name or meaning.
pub const JSON_VERSION: u32 = 2;

/// True if an option file or the environment asks for JSON.
static GIVEN_JSON: AtomicBool = AtomicBool::new(false);

/// Has failures be told as JSON, too.
pub fn tell_as_json() {
    GIVEN_JSON.store(true, Ordering::Relaxed);
}

/// A sentence for people and a status for scripts.
#[derive(Debug)]
pub struct Failure {
    /// The exit status.
    pub status: u8,
    /// Empty where there is nobody to tell.
    pub text: String,
    /// Kind of the error ([`job::Error::kind`]).
    pub kind: &'static str,
    /// The table that it is about.
    pub table: Option<String>,
    /// Where in the input, if it is there.
    pub place: Option<Box<ErrorPlace>>,
}

impl Failure {
    /// Wrong options: nothing was started.
    pub fn usage(text: impl Into<String>) -> Failure {
        Failure { kind: "usage", ..Failure::of(USAGE, text.into()) }
    }

    /// A failure with this status, and nothing but its text.
    pub fn of(status: u8, text: String) -> Failure {
        Failure { status, text, kind: "failed", table: None, place: None }
    }

    /// A load failed. The text says what became of its tables, first of all if nothing was loaded.
    pub fn of_load(error: job::Error) -> Failure {
        let is_unchanged = error.leaves_table_unchanged();
        let failure = Failure::from(error);
        match is_unchanged {
            true => Failure { text: format!("nothing was loaded: {}", failure.text), ..failure },
            false => failure,
        }
    }

    /// Something failed on the way.
    pub fn failed(error: impl fmt::Display) -> Failure {
        Failure::of(FAILED, error.to_string())
    }
}

impl Failure {
    /// Nobody reads the standard output any more, and nobody is told so.
    pub fn hung_up() -> Failure {
        Failure::of(HUNG_UP, String::new())
    }

    /// Says it on stderr, and as JSON on stdout where the command asks for JSON; gives the exit status.
    pub fn tell(&self) -> u8 {
        if !self.text.is_empty() {
            say(format_args!("inrush: {}", self.text));
            if wants_json() {
                // Who reads it has the exit status too.
                let _ = writeln!(crate::out(), "{}", self.json());
            }
        }
        self.status
    }

    /// The same for programs: what was said, the exit status, and where in the input it is.
    fn json(&self) -> String {
        #[derive(Serialize)]
        struct FailureReport<'a> {
            json_version: u32,
            error: &'a str,
            status: u8,
            kind: &'a str,
            #[serde(skip_serializing_if = "Option::is_none")]
            table: Option<&'a str>,
            #[serde(flatten)]
            place: Option<&'a ErrorPlace>,
        }
        let told = FailureReport {
            json_version: JSON_VERSION,
            error: &self.text,
            status: self.status,
            kind: self.kind,
            table: self.table.as_deref(),
            place: self.place.as_deref(),
        };
        serde_json::to_string_pretty(&told).unwrap_or_default()
    }
}

/// True if the command asks for JSON, also if its line could not be read.
fn wants_json() -> bool {
    let arguments = std::env::args_os().take_while(|argument| argument != "--");
    GIVEN_JSON.load(Ordering::Relaxed) || arguments.skip(1).any(|argument| argument == "--json")
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl From<job::Error> for Failure {
    fn from(error: job::Error) -> Failure {
        Failure {
            status: error.exit_status(),
            text: error.to_string(),
            kind: error.kind(),
            table: error.table().map(str::to_owned),
            place: error.place().map(Box::new),
        }
    }
}

impl From<server::Error> for Failure {
    fn from(error: server::Error) -> Failure {
        Failure::from(job::Error::from(error))
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Failure {
        match error.kind() {
            std::io::ErrorKind::BrokenPipe => Failure::hung_up(),
            _ => Failure::failed(error),
        }
    }
}
