//! What a run of the replay benchmark found: as a table for people, and as JSON.

use std::fmt::Write;

use serde::Serialize;

use super::dump::{Dump, Kind};
use super::player::Played;
use super::way::Way;
use crate::batch::grid::{median, rate};
use crate::clock::Took;
use crate::head::{Head, write_notes};

/// What one way took.
#[derive(Clone, Debug, Serialize)]
pub struct WayOutcome {
    /// Which.
    pub way: Way,
    /// Seconds: the median of the runs.
    pub seconds: f64,
    /// What each run took.
    pub runs: Vec<Took>,
    /// Inrush's own report of each run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reports: Vec<serde_json::Value>,
}

/// What one dump took.
#[derive(Clone, Debug, Serialize)]
pub struct DumpOutcome {
    /// Which.
    pub dump: Kind,
    /// Rows of all its tables.
    pub rows: u64,
    /// Bytes of the dump.
    pub bytes: u64,
    /// The ways, in the order of [`Way::ALL`].
    pub ways: Vec<WayOutcome>,
}

/// A whole run.
#[derive(Clone, Debug, Serialize)]
pub struct ReplayOutcome {
    /// What was measured, and where.
    #[serde(flatten)]
    pub head: Head,
    /// Settings of the server that matter here, as SHOW VARIABLES gives them.
    pub server_settings: Vec<(String, String)>,
    /// TPC-H scale factor.
    pub scale: f64,
    /// What would make the comparison less than fair.
    pub notes: Vec<String>,
    /// The dumps.
    pub dumps: Vec<DumpOutcome>,
}

impl DumpOutcome {
    pub(super) fn new(dump: &Dump, ways: &[Way]) -> DumpOutcome {
        let mut ways = ways.to_vec();
        ways.sort_unstable();
        ways.dedup();
        let outcome = |way| WayOutcome { way, seconds: 0.0, runs: Vec::new(), reports: Vec::new() };
        DumpOutcome {
            dump: dump.kind,
            rows: dump.rows(),
            bytes: dump.bytes,
            ways: ways.into_iter().map(outcome).collect(),
        }
    }

    /// Adds a run.
    pub(super) fn push(&mut self, way: Way, played: Played) {
        if let Some(outcome) = self.ways.iter_mut().find(|outcome| outcome.way == way) {
            outcome.runs.push(played.took);
            outcome.reports.extend(played.report);
            outcome.seconds = outcome.median(|took| took.seconds);
        }
    }

    /// What one way took; None when it was not among those that ran.
    pub fn get(&self, way: Way) -> Option<&WayOutcome> {
        self.ways.iter().find(|outcome| outcome.way == way)
    }

    /// How many times as fast as the client `way` is.
    pub fn ratio(&self, way: Way) -> Option<f64> {
        let (client, own) = (self.get(Way::Client)?.seconds, self.get(way)?.seconds);
        (client > 0.0 && own > 0.0).then(|| client / own)
    }
}

impl WayOutcome {
    fn median(&self, figure: impl Fn(&Took) -> f64) -> f64 {
        median(&self.runs.iter().map(figure).collect::<Vec<f64>>())
    }
}

impl ReplayOutcome {
    /// The comparison as text.
    pub fn text(&self) -> String {
        let mut text = self.head.text("server");
        for dump in &self.dumps {
            dump.write(&mut text);
        }
        text += "\nplain: HammerDB's tables and foreign keys; numbered: with AUTO_INCREMENT columns. \
                 Inrush: the whole\nprocess. CPU: processor seconds, server + client. Rows (CHECKSUM \
                 TABLE) and CREATE statements\n(mariadb-dump --no-data) of all ways are those of the \
                 dumped tables.\n";
        write_notes(&mut text, &self.notes);
        text
    }
}

impl DumpOutcome {
    fn write(&self, text: &mut String) {
        let megabytes = self.bytes as f64 / 1e6;
        let _ = writeln!(
            text,
            "\n{:<22} {:>9} {:>11} {:>8} {:>9} {:>14}   seconds of each run",
            format!("{}, {megabytes:.0} MB", self.dump.name()),
            "seconds",
            "rows/s",
            "MB/s",
            "/ client",
            "CPU"
        );
        for outcome in &self.ways {
            let seconds = outcome.seconds;
            let ratio = self.ratio(outcome.way).map(|ratio| format!("{ratio:.2}x"));
            let server = outcome.median(|took| took.server_cpu_seconds);
            let client = outcome.median(|took| took.client_cpu_seconds);
            let _ = write!(
                text,
                "{:<22} {seconds:>9.2} {:>11.0} {:>8.1} {:>9} {:>14}  ",
                outcome.way.name(),
                rate(self.rows, seconds),
                if seconds > 0.0 { megabytes / seconds } else { 0.0 },
                ratio.unwrap_or_else(|| "-".to_owned()),
                format!("{server:.1} + {client:.1}"),
            );
            for run in &outcome.runs {
                let _ = write!(text, " {:.2}", run.seconds);
            }
            text.push('\n');
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    fn way(way: Way, seconds: f64) -> WayOutcome {
        let took = Took { seconds, server_cpu_seconds: 2.0, client_cpu_seconds: 0.5 };
        WayOutcome { way, seconds, runs: vec![took], reports: Vec::new() }
    }

    #[test]
    fn ratios_are_those_of_the_client() {
        let dump = DumpOutcome {
            dump: Kind::Plain,
            rows: 1_000_000,
            bytes: 100_000_000,
            ways: vec![way(Way::Client, 40.0), way(Way::Rows, 4.0)],
        };
        assert_eq!((dump.ratio(Way::Rows), dump.ratio(Way::Statements)), (Some(10.0), None));
        let outcome = ReplayOutcome {
            head: Head::new("10.11".to_owned()),
            server_settings: Vec::new(),
            scale: 1.0,
            notes: vec!["busy".to_owned()],
            dumps: vec![dump],
        };
        let text = outcome.text();
        let rows = text.lines().find(|line| line.starts_with("Inrush as rows")).unwrap();
        let words: Vec<&str> = rows.split_whitespace().skip(3).collect();
        assert_eq!(words, ["4.00", "250000", "25.0", "10.00x", "2.0", "+", "0.5", "4.00"]);
        assert!(text.contains("plain, 100 MB") && text.contains("note: busy"), "{text}");
        let json = serde_json::to_value(&outcome).unwrap();
        assert_eq!(json["dumps"][0]["ways"][1]["way"], "rows");
    }

    #[test]
    fn the_median_of_the_runs_counts() {
        let mut outcome = DumpOutcome {
            dump: Kind::Numbered,
            rows: 1,
            bytes: 1,
            ways: vec![WayOutcome { runs: Vec::new(), ..way(Way::Rows, 0.0) }],
        };
        for seconds in [5.0, 1.0, 2.0] {
            let took = Took { seconds, ..Took::default() };
            outcome.push(Way::Rows, Played { took, report: None });
        }
        assert_eq!(outcome.get(Way::Rows).unwrap().seconds, 2.0);
    }
}
