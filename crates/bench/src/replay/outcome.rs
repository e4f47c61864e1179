//! Results of the replay benchmark: as a table for people, and as JSON.

use std::fmt::Write;

use serde::Serialize;

use super::dump::{Dump, Kind};
use super::player::Played;
use super::way::ReplayWay;
use crate::figure::{rate, times};
use crate::head::{Head, write_notes};
use crate::runs::Runs;
use crate::text_table::TextTable;

/// The times of one method.
#[derive(Clone, Debug, Serialize)]
pub struct WayOutcome {
    /// Which.
    pub way: ReplayWay,
    /// Seconds: the median of the runs.
    pub seconds: f64,
    /// The runs.
    #[serde(flatten)]
    pub runs: Runs,
}

/// The times of one dump.
#[derive(Clone, Debug, Serialize)]
pub struct DumpOutcome {
    /// Which.
    pub dump: Kind,
    /// Rows of all its tables.
    pub rows: u64,
    /// Bytes of the dump.
    pub bytes: u64,
    /// The ways, in the order of [`ReplayWay::ALL`].
    pub ways: Vec<WayOutcome>,
}

/// A whole run.
#[derive(Clone, Debug, Serialize)]
pub struct ReplayOutcome {
    /// The program, the server and the machine.
    #[serde(flatten)]
    pub head: Head,
    /// Settings of the server that matter here, as SHOW VARIABLES gives them.
    pub server_settings: Vec<(String, String)>,
    /// TPC-H scale factor.
    pub scale: f64,
    /// Circumstances that make the comparison less than fair.
    pub notes: Vec<String>,
    /// The dumps.
    pub dumps: Vec<DumpOutcome>,
}

impl DumpOutcome {
    pub(super) fn new(dump: &Dump, ways: &[ReplayWay]) -> DumpOutcome {
        let mut ways = ways.to_vec();
        ways.sort_unstable();
        ways.dedup();
        let outcome = |way| WayOutcome { way, seconds: 0.0, runs: Runs::default() };
        DumpOutcome {
            dump: dump.kind,
            rows: dump.rows(),
            bytes: dump.bytes,
            ways: ways.into_iter().map(outcome).collect(),
        }
    }

    /// Adds a run.
    pub(super) fn push(&mut self, way: ReplayWay, played: Played) {
        if let Some(outcome) = self.ways.iter_mut().find(|outcome| outcome.way == way) {
            outcome.runs.push(played.took, played.report);
            outcome.seconds = outcome.runs.seconds();
        }
    }

    /// The times of one method; None if it did not run.
    pub fn get(&self, way: ReplayWay) -> Option<&WayOutcome> {
        self.ways.iter().find(|outcome| outcome.way == way)
    }
}

impl ReplayOutcome {
    /// The comparison as text.
    pub fn text(&self) -> String {
        let mut text = self.head.text("server");
        for dump in &self.dumps {
            let _ = write!(text, "\n{}", dump.table());
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
    fn table(&self) -> TextTable {
        let megabytes = self.bytes as f64 / 1e6;
        let dump = format!("{}, {megabytes:.0} MB", self.dump.name());
        let heads = ["seconds", "rows/s", "MB/s", "/ client", "CPU", "seconds of each run"];
        let mut table = TextTable::new([dump].into_iter().chain(heads.map(str::to_owned)));
        let client = self.get(ReplayWay::Client).map_or(0.0, |client| client.seconds);
        for WayOutcome { way, seconds, runs } in &self.ways {
            table.line([
                way.name().to_owned(),
                format!("{seconds:.2}"),
                format!("{:.0}", rate(self.rows, *seconds)),
                format!("{:.1}", rate(self.bytes, *seconds) / 1e6),
                times(client, *seconds),
                runs.cpu(1.0, 1),
                runs.each(),
            ]);
        }
        table
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;
    use crate::clock::Took;

    fn way(way: ReplayWay, seconds: f64) -> WayOutcome {
        let took = Took { seconds, server_cpu_seconds: 2.0, client_cpu_seconds: 0.5 };
        WayOutcome { way, seconds, runs: Runs { runs: vec![took], reports: Vec::new() } }
    }

    #[test]
    fn ratios_are_those_of_the_client() {
        let dump = DumpOutcome {
            dump: Kind::Plain,
            rows: 1_000_000,
            bytes: 100_000_000,
            ways: vec![way(ReplayWay::Client, 40.0), way(ReplayWay::Rows, 4.0)],
        };
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
            ways: vec![WayOutcome { runs: Runs::default(), ..way(ReplayWay::Rows, 0.0) }],
        };
        for seconds in [5.0, 1.0, 2.0] {
            let took = Took { seconds, ..Took::default() };
            outcome.push(ReplayWay::Rows, Played { took, report: None });
        }
        assert_eq!(outcome.get(ReplayWay::Rows).unwrap().seconds, 2.0);
    }
}
