//! Results of the benchmark: for people, and as JSON.

use std::fmt::Write;

use serde::Serialize;

use super::way::FormatWay;
use crate::figure::{rate, times};
use crate::head::{Head, write_notes};
use crate::runs::Runs;
use crate::text_table::TextTable;

/// All of it.
#[derive(Clone, Debug, Serialize)]
pub struct FormatsOutcome {
    /// The program, the server and the machine.
    #[serde(flatten)]
    pub head: Head,
    /// Its settings that matter.
    pub server_settings: Vec<(String, String)>,
    /// TPC-H scale factor.
    pub scale: f64,
    /// Circumstances that make the comparison less than fair, and versions of other programs.
    pub notes: Vec<String>,
    /// The ways, in the order of [`FormatWay`].
    pub ways: Vec<WayOutcome>,
}

/// One way.
#[derive(Clone, Debug, Serialize)]
pub struct WayOutcome {
    /// Which.
    pub way: FormatWay,
    /// Rows of the file.
    pub rows: u64,
    /// Bytes of the file.
    pub bytes: u64,
    /// The runs.
    #[serde(flatten)]
    pub runs: Runs,
}

impl WayOutcome {
    /// Seconds of a stage of Inrush: the median; none of what has no stages.
    fn stage(&self, name: &str) -> Option<f64> {
        let seconds = |report: &serde_json::Value| {
            let stages = report["stages"].as_array()?;
            stages.iter().find(|stage| stage["name"] == name)?["seconds"].as_f64()
        };
        let all: Vec<f64> = self.runs.reports.iter().filter_map(seconds).collect();
        (!all.is_empty()).then(|| crate::figure::median(&all))
    }

    /// Most memory of a run, in bytes.
    fn memory_bytes(&self) -> Option<u64> {
        self.runs.reports.iter().filter_map(|report| report["memory_peak_bytes"].as_u64()).max()
    }
}

impl FormatsOutcome {
    /// The times of one way; none if it did not run.
    pub fn get(&self, way: FormatWay) -> Option<&WayOutcome> {
        self.ways.iter().find(|outcome| outcome.way == way)
    }

    /// The time of a way, in times of that of a CSV file with the same columns.
    pub fn ratio(&self, way: FormatWay) -> Option<f64> {
        let seconds = |way| self.get(way).map(|outcome| outcome.runs.seconds());
        let (own, csv) = (seconds(way)?, seconds(way.compared_with())?);
        (own > 0.0 && csv > 0.0).then(|| own / csv)
    }

    /// As a table for people.
    pub fn text(&self) -> String {
        let mut text = self.head.text("server");
        let _ = write!(text, "\n{}", self.table());
        text += "\nReading: seconds of the stage in which the rows are read, decoded, converted and sorted. CPU: processor \
                 seconds, server + client.\nThe table of each run was equal to that of the CSV file (CHECKSUM TABLE).\n";
        write_notes(&mut text, &self.notes);
        text
    }

    fn table(&self) -> TextTable {
        let heads = [
            "way",
            "seconds",
            "/ CSV",
            "rows/s",
            "reading",
            "CPU",
            "memory MB",
            "file MB",
            "each run",
        ];
        let mut table = TextTable::new(heads);
        for outcome in &self.ways {
            let WayOutcome { way, rows, bytes, runs } = outcome;
            let csv = self.get(way.compared_with()).map_or(0.0, |csv| csv.runs.seconds());
            let dash = || "-".to_owned();
            table.line([
                way.name().to_owned(),
                format!("{:.2}", runs.seconds()),
                times(runs.seconds(), csv),
                format!("{:.0}", rate(*rows, runs.seconds())),
                outcome.stage("rows").map_or_else(dash, |seconds| format!("{seconds:.2}")),
                runs.cpu(1.0, 2),
                outcome.memory_bytes().map_or_else(dash, |bytes| (bytes / 1_000_000).to_string()),
                format!("{:.1}", *bytes as f64 / 1e6),
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

    #[test]
    fn a_way_is_compared_with_a_text_of_the_same_columns() {
        let way = |way, seconds| WayOutcome {
            way,
            rows: 100,
            bytes: 1_000_000,
            runs: Runs {
                runs: vec![Took { seconds, ..Took::default() }],
                reports: vec![serde_json::json!({
                    "memory_peak_bytes": 7_000_000,
                    "stages": [{ "name": "staging", "seconds": 9.0 }, { "name": "rows", "seconds": 0.25 }],
                })],
            },
        };
        let outcome = FormatsOutcome {
            head: Head::new("10.11".to_owned()),
            server_settings: Vec::new(),
            scale: 1.0,
            notes: vec!["busy".to_owned()],
            ways: vec![
                way(FormatWay::Csv, 4.0),
                way(FormatWay::Parquet, 3.0),
                way(FormatWay::WideCsv, 2.0),
                way(FormatWay::WideParquet, 0.5),
            ],
        };
        assert_eq!(outcome.ratio(FormatWay::Parquet), Some(0.75));
        assert_eq!(outcome.ratio(FormatWay::WideParquet), Some(0.25));
        assert_eq!(outcome.ratio(FormatWay::Pandas), None);
        let text = outcome.text();
        let line = text.lines().find(|line| line.contains("Parquet (zstd)")).unwrap();
        let words: Vec<&str> = line.split_whitespace().skip(3).collect();
        let expected = ["3.00", "0.75x", "33", "0.25", "0.00", "+", "0.00", "7", "1.0", "3.00"];
        assert_eq!(words, expected);
        assert!(text.contains("note: busy"));
    }
}
