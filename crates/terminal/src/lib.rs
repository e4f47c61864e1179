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
pub mod programs;
pub mod secure;
pub mod signals;
pub mod size;
pub mod state;

use std::fmt::Display;
use std::io::Write;

/// Says a line on stderr, whoever listens: the pipe that it goes to, or the terminal, may be gone, which ends
/// no program.
pub fn say(line: impl Display) {
    let _ = writeln!(std::io::stderr(), "{line}");
}
