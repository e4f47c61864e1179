//! The times of each setting.

use std::fmt::Write;

use serde::Serialize;

use super::setting::Setting;
use crate::figure::least;
use crate::head::{Head, write_notes};
use crate::text_table::TextTable;

/// All of it.
#[derive(Clone, Debug, Serialize)]
pub struct TuneOutcome {
    /// The program, the server and the machine.
    #[serde(flatten)]
    pub head: Head,
    /// The machine's name.
    pub host: String,
    /// Lines of all files.
    pub lines: u64,
    /// Files, and transactions.
    pub files: u64,
    /// Circumstances that make the comparison less than fair.
    pub notes: Vec<String>,
    /// The defaults first.
    pub settings: Vec<SettingOutcome>,
}

/// One of them.
#[derive(Clone, Debug, Serialize)]
pub struct SettingOutcome {
    /// Which.
    pub setting: Setting,
    /// Seconds of each run.
    pub seconds: Vec<f64>,
}

impl SettingOutcome {
    pub(super) fn least(&self) -> f64 {
        least(&self.seconds)
    }
}

impl TuneOutcome {
    pub(super) fn push(&mut self, setting: Setting, seconds: f64) {
        match self.settings.iter_mut().find(|known| known.setting == setting) {
            Some(known) => known.seconds.push(seconds),
            None => self.settings.push(SettingOutcome { setting, seconds: vec![seconds] }),
        }
    }

    /// The least that a setting took.
    pub fn seconds(&self, setting: Setting) -> f64 {
        let found = self.settings.iter().find(|known| known.setting == setting);
        found.map_or(f64::INFINITY, SettingOutcome::least)
    }

    /// As a table for people.
    pub fn text(&self) -> String {
        let mut text = String::new();
        let _ = writeln!(text, "inrush {}, {}", self.head.inrush_version, self.head.server_version);
        let _ = writeln!(text, "{}", self.head.machine.line());
        write_notes(&mut text, &self.notes);
        let (lines, files) = (self.lines, self.files);
        let _ =
            writeln!(text, "{lines} lines in {files} files, a transaction each, into two tables");
        let default = self.seconds(Setting::Default);
        let mut table = TextTable::new(["setting", "seconds", "gain"]);
        for one in &self.settings {
            let gain = (1.0 - one.least() / default) * 100.0;
            let (name, least) = (one.setting.text(), one.least());
            table.line([name, format!("{least:.2}"), format!("{gain:.0} %")]);
        }
        let _ = write!(text, "\n{table}");
        text
    }
}
