//! Results of the benchmark: for people, and as JSON.

use std::fmt::Write;
use std::path::Path;

use serde::Serialize;

use super::rows::BAD_ONE_IN;
use super::ways::SplitWay;
use crate::figure::least;
use crate::head::{Head, write_notes};
use crate::text_table::TextTable;

/// All of it.
#[derive(Clone, Debug, Serialize)]
pub struct SplitOutcome {
    /// The program, the server and the machine.
    #[serde(flatten)]
    pub head: Head,
    /// Its settings that matter.
    pub server_settings: Vec<(String, String)>,
    /// Lines of each file.
    pub lines: u64,
    /// By what the script spoke with the server.
    pub client: String,
    /// Circumstances that make the comparison less than fair.
    pub notes: Vec<String>,
    /// Each file.
    pub files: Vec<FileOutcome>,
}

/// One file.
#[derive(Clone, Debug, Serialize)]
pub struct FileOutcome {
    /// Its bytes.
    pub bytes: u64,
    /// True if some lines are bad.
    pub has_bad: bool,
    /// The rows that all methods left.
    pub rows: String,
    /// The times of each.
    pub ways: Vec<WayOutcome>,
}

/// One way.
#[derive(Clone, Debug, Serialize)]
pub struct WayOutcome {
    /// Which.
    pub way: SplitWay,
    /// Seconds of each run.
    pub seconds: Vec<f64>,
}

impl WayOutcome {
    fn least(&self) -> f64 {
        least(&self.seconds)
    }
}

impl FileOutcome {
    pub(super) fn new(path: &Path, has_bad: bool) -> FileOutcome {
        let bytes = std::fs::metadata(path).map_or(0, |meta| meta.len());
        FileOutcome { bytes, has_bad, rows: String::new(), ways: Vec::new() }
    }

    pub(super) fn push(&mut self, way: SplitWay, seconds: f64) {
        match self.ways.iter_mut().find(|known| known.way == way) {
            Some(known) => known.seconds.push(seconds),
            None => self.ways.push(WayOutcome { way, seconds: vec![seconds] }),
        }
    }

    pub(super) fn name(&self) -> &'static str {
        if self.has_bad { "some lines bad" } else { "all lines good" }
    }
}

impl SplitOutcome {
    /// As a table for people.
    pub fn text(&self) -> String {
        let mut text = String::new();
        let _ = writeln!(text, "inrush {}, {}", self.head.inrush_version, self.head.server_version);
        let _ = writeln!(text, "{}", self.head.machine.line());
        write_notes(&mut text, &self.notes);
        if !self.client.is_empty() {
            let _ = writeln!(text, "the script connected to the server with {}", self.client);
        }
        for file in &self.files {
            let bad = match file.has_bad {
                true => format!("one in {BAD_ONE_IN} bad"),
                false => "all good".to_owned(),
            };
            let megabytes = file.bytes as f64 / 1e6;
            let _ =
                writeln!(text, "\n{} lines, {bad}, {megabytes:.0} MB: {}", self.lines, file.rows);
            let inrush =
                file.ways.iter().find(|way| way.way == SplitWay::Inrush).map(WayOutcome::least);
            let mut table = TextTable::new(["way", "seconds", "times inrush"]);
            for way in &file.ways {
                let all: Vec<String> = way.seconds.iter().map(|s| format!("{s:.2}")).collect();
                let ratio = inrush.filter(|_| way.way != SplitWay::Inrush);
                table.line([
                    way.way.name().to_owned(),
                    all.join(" "),
                    ratio.map_or(String::new(), |inrush| format!("{:.1}", way.least() / inrush)),
                ]);
            }
            let _ = write!(text, "{table}");
        }
        text
    }
}
