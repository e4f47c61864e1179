//! The head of a report: what was measured, on which server and machine, by which command.

use std::fmt::Write;

use serde::Serialize;

use crate::machine::Machine;

/// The head of every benchmark's report.
#[derive(Clone, Debug, Serialize)]
pub struct Head {
    /// Version of Inrush.
    pub inrush_version: &'static str,
    /// Version of the server.
    pub server_version: String,
    /// The machine.
    pub machine: Machine,
    /// The command of this run.
    pub command: String,
}

impl Head {
    /// The head of this run.
    pub(crate) fn new(server_version: String) -> Head {
        Head {
            inrush_version: env!("CARGO_PKG_VERSION"),
            server_version,
            machine: Machine::here(),
            command: std::env::args().collect::<Vec<_>>().join(" "),
        }
    }

    /// Three lines for people; `server` is what the server is called in them.
    pub(crate) fn text(&self, server: &str) -> String {
        let Head { inrush_version, server_version, machine, command } = self;
        let machine = machine.line();
        format!("Inrush {inrush_version}, {server} {server_version}\n{machine}\n{command}\n")
    }
}

/// Adds a line for each thing that would make the comparison less than fair.
pub(crate) fn write_notes(text: &mut String, notes: &[String]) {
    for note in notes {
        let _ = writeln!(text, "note: {note}");
    }
}
