//! What a run of the benchmark found: for people, and as JSON.

use std::fmt::Write;
use std::path::Path;

use serde::Serialize;

use super::rows::BAD_ONE_IN;
use super::ways::Way;
use crate::head::{Head, write_notes};

/// All of it.
#[derive(Clone, Debug, Serialize)]
pub struct SplitOutcome {
    /// What was measured, and where.
    #[serde(flatten)]
    pub head: Head,
    /// Its settings that matter.
    pub server_settings: Vec<(String, String)>,
    /// Lines of each file.
    pub lines: u64,
    /// By what the script spoke with the server.
    pub client: String,
    /// What would make the comparison less than fair.
    pub notes: Vec<String>,
    /// Each file.
    pub files: Vec<FileOutcome>,
}

/// One file.
#[derive(Clone, Debug, Serialize)]
pub struct FileOutcome {
    /// Its bytes.
    pub bytes: u64,
    /// Whether some lines are bad.
    pub has_bad: bool,
    /// What all ways left.
    pub rows: String,
    /// What each took.
    pub ways: Vec<WayOutcome>,
}

/// One way.
#[derive(Clone, Debug, Serialize)]
pub struct WayOutcome {
    /// Which.
    pub way: Way,
    /// Seconds of each run.
    pub seconds: Vec<f64>,
}

impl WayOutcome {
    fn least(&self) -> f64 {
        self.seconds.iter().copied().fold(f64::INFINITY, f64::min)
    }
}

impl FileOutcome {
    pub(super) fn new(path: &Path, has_bad: bool) -> FileOutcome {
        let bytes = std::fs::metadata(path).map_or(0, |meta| meta.len());
        FileOutcome { bytes, has_bad, rows: String::new(), ways: Vec::new() }
    }

    pub(super) fn push(&mut self, way: Way, seconds: f64) {
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
            let _ = writeln!(text, "the script spoke with the server by {}", self.client);
        }
        for file in &self.files {
            let bad = match file.has_bad {
                true => format!("one in {BAD_ONE_IN} bad"),
                false => "all good".to_owned(),
            };
            let megabytes = file.bytes as f64 / 1e6;
            let _ =
                writeln!(text, "\n{} lines, {bad}, {megabytes:.0} MB: {}", self.lines, file.rows);
            let inrush = file.ways.iter().find(|way| way.way == Way::Inrush).map(WayOutcome::least);
            for way in &file.ways {
                let all: Vec<String> = way.seconds.iter().map(|s| format!("{s:.2}")).collect();
                let times = match inrush {
                    Some(inrush) if way.way != Way::Inrush => {
                        format!("  {:.1} times inrush", way.least() / inrush)
                    }
                    _ => String::new(),
                };
                let _ = writeln!(text, "  {:<42} {:>8} s{times}", way.way.name(), all.join(" "));
            }
        }
        text
    }
}
