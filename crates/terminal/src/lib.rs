//! Options, sizes, signals and failures, the same for each of our programs.
//!
//! ```text
//! arguments -> ConnectArgs -> NamedServer -> server::ConnectOptions
//!           -> size, state                                    what other options mean
//! signals   -> server::Interrupt
//! Failure   -> a sentence, or JSON, and the exit status
//! ```
#![forbid(unsafe_code)]

pub mod arguments;
pub mod connect;
pub mod failure;
pub mod plain;
pub mod programs;
mod secure;
pub mod signals;
pub mod size;
pub mod state;

use std::fmt::Display;
use std::io::{StdoutLock, Write};

use plain::{Lines, Plain};

/// Says a line on stderr, one line whatever the values in it hold. The pipe that it goes to, or the terminal, may be
/// gone, which ends no program.
pub fn say(line: impl Display) {
    let line = plain::text(&plain::one_line(&line.to_string()));
    let _ = std::io::stderr().write_all(format!("{line}\n").as_bytes());
}

/// The standard output, for text and JSON.
pub fn out() -> Plain<StdoutLock<'static>> {
    Plain::new(std::io::stdout().lock())
}

/// The same for reports: a line feed in a value begins no line.
pub fn lines() -> Lines<StdoutLock<'static>> {
    Lines::new(std::io::stdout().lock())
}
