//! Results of the benchmark: for people, and as JSON.

use std::fmt::Write;

use serde::Serialize;

use super::application::Application;
use super::way::FolderWay;
use crate::clock::Took;
use crate::head::{Head, write_notes};
use crate::runs::Runs;
use crate::text_table::TextTable;

/// All of it.
#[derive(Clone, Debug, Serialize)]
pub struct FolderOutcome {
    /// The program, the server and the machine.
    #[serde(flatten)]
    pub head: Head,
    /// Its settings that matter.
    pub server_settings: Vec<(String, String)>,
    /// Circumstances that make the comparison less than fair.
    pub notes: Vec<String>,
    /// Each application.
    pub applications: Vec<ApplicationOutcome>,
}

/// One application.
#[derive(Clone, Debug, Serialize)]
pub struct ApplicationOutcome {
    /// Its tables.
    pub tables: usize,
    /// Rows of all.
    pub rows: u64,
    /// Bytes of all files.
    pub bytes: u64,
    /// Seconds that `inrush plan` expected of the folder.
    pub planned_seconds: Option<f64>,
    /// The runs of each way.
    pub ways: Vec<WayOutcome>,
}

/// One way.
#[derive(Clone, Debug, Serialize)]
pub struct WayOutcome {
    /// Which.
    pub way: FolderWay,
    /// Its runs.
    #[serde(flatten)]
    pub runs: Runs,
}

impl ApplicationOutcome {
    pub(super) fn of(application: &Application, planned_seconds: Option<f64>) -> Self {
        ApplicationOutcome {
            tables: application.names().count(),
            rows: application.rows(),
            bytes: application.bytes,
            planned_seconds,
            ways: Vec::new(),
        }
    }

    pub(super) fn push(&mut self, way: FolderWay, took: Took) {
        let known = self.ways.iter().position(|known| known.way == way);
        let at = known.unwrap_or_else(|| {
            self.ways.push(WayOutcome { way, runs: Runs::default() });
            self.ways.len() - 1
        });
        self.ways[at].runs.push(took, None);
    }

    fn seconds(&self, way: FolderWay) -> Option<f64> {
        self.ways.iter().find(|one| one.way == way).map(|one| one.runs.seconds())
    }

    fn table(&self) -> TextTable {
        let mut table = TextTable::new(["way", "seconds", "CPU server + client", "times inrush"]);
        for WayOutcome { way, runs } in &self.ways {
            let inrush = self.seconds(way.of_inrush()).filter(|_| way.of_inrush() != *way);
            let times = inrush.map(|inrush| format!("{:.2}", runs.seconds() / inrush));
            let cells = [way.name().to_owned(), runs.each(), runs.cpu(1.0, 2)];
            table.line(cells.into_iter().chain([times.unwrap_or_default()]));
        }
        table
    }
}

impl FolderOutcome {
    /// As a table for people.
    pub fn text(&self) -> String {
        let mut text = self.head.text("server");
        write_notes(&mut text, &self.notes);
        for application in &self.applications {
            let ApplicationOutcome { tables, rows, bytes, planned_seconds, .. } = application;
            let megabytes = *bytes as f64 / 1e6;
            let _ = write!(text, "\n{tables} tables, {rows} rows, {megabytes:.1} MB");
            let _ = match planned_seconds {
                Some(seconds) => writeln!(text, "; inrush plan expects {seconds:.2} s"),
                None => writeln!(text),
            };
            let _ = write!(text, "{}", application.table());
        }
        text
    }
}
