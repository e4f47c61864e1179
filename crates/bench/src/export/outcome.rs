//! Results of the benchmark: for people, and as JSON.

use std::fmt::Write;

use serde::Serialize;

use super::way::ExportWay;
use crate::choice::Choice;
use crate::clock::Took;
use crate::figure::rate;
use crate::head::{Head, write_notes};
use crate::runs::Runs;
use crate::text_table::TextTable;

/// All of it.
#[derive(Clone, Debug, Serialize)]
pub struct ExportOutcome {
    /// The program, the server and the machine.
    #[serde(flatten)]
    pub head: Head,
    /// Its settings that matter.
    pub server_settings: Vec<(String, String)>,
    /// TPC-H scale factor.
    pub scale: f64,
    /// Rows of the table.
    pub rows: u64,
    /// Circumstances that make the comparison less than fair.
    pub notes: Vec<String>,
    /// The ways, in the order of [`ExportWay::ALL`].
    pub ways: Vec<WayOutcome>,
}

/// One way.
#[derive(Clone, Debug, Serialize)]
pub struct WayOutcome {
    /// Which.
    pub way: ExportWay,
    /// Bytes that it writes.
    pub bytes: u64,
    /// True if its files were loaded again, and gave an equal table.
    pub is_verified: bool,
    /// The runs.
    #[serde(flatten)]
    pub runs: Runs,
}

impl WayOutcome {
    /// Processor seconds of client and server: the median; none where the server's are not known.
    pub(crate) fn cpu_seconds(&self) -> Option<f64> {
        let is_known = |took: &Took| took.server_cpu_seconds > 0.0;
        let cpu = self.runs.median(|took| took.server_cpu_seconds + took.client_cpu_seconds);
        (!self.way.is_peer() || self.runs.runs.iter().all(is_known)).then_some(cpu)
    }
}

impl ExportOutcome {
    /// The times of one method; none if it did not run.
    pub fn get(&self, way: ExportWay) -> Option<&WayOutcome> {
        self.ways.iter().find(|outcome| outcome.way == way)
    }

    /// The fastest way without Inrush.
    pub fn fastest_peer(&self) -> Option<&WayOutcome> {
        let peers = self.ways.iter().filter(|outcome| outcome.way.is_peer());
        peers.min_by(|a, b| a.runs.seconds().total_cmp(&b.runs.seconds()))
    }

    /// How many times the rows of the fastest peer a way writes in a second of a processor.
    pub(crate) fn ratio_per_core(&self, way: ExportWay) -> Option<f64> {
        let peer = self.fastest_peer()?.cpu_seconds()?;
        let own = self.get(way)?.cpu_seconds()?;
        (peer > 0.0 && own > 0.0).then(|| peer / own)
    }

    /// And in a second by the wall.
    pub fn ratio(&self, way: ExportWay) -> Option<f64> {
        let (peer, own) = (self.fastest_peer()?.runs.seconds(), self.get(way)?.runs.seconds());
        (peer > 0.0 && own > 0.0).then(|| peer / own)
    }

    /// As a table for people.
    pub fn text(&self) -> String {
        let mut text = self.head.text("server");
        let _ = write!(text, "\n{}", self.table());
        text += "\nAll into files, from memory; Inrush's are synced to the disk. MB: as written, compressed where that is so. \
                 CPU: processor seconds, server + client.\n/ peer: as many times as fast as the fastest of client, quick \
                 and dump. Per core: the same of a processor second. ";
        text += &self.verified();
        text.push('\n');
        write_notes(&mut text, &self.notes);
        text
    }

    fn table(&self) -> TextTable {
        let heads =
            ["seconds", "rows/s", "MB/s", "MB", "CPU", "/ peer", "per core", "seconds of each run"];
        let lineitem = format!("lineitem, {} rows", self.rows);
        let mut table = TextTable::new([lineitem].into_iter().chain(heads.map(str::to_owned)));
        for WayOutcome { way, bytes, runs, .. } in &self.ways {
            let ratio = |ratio: Option<f64>| match ratio.filter(|_| !way.is_peer()) {
                Some(ratio) => format!("{ratio:.2}x"),
                None => "-".to_owned(),
            };
            let seconds = runs.seconds();
            table.line([
                way.name().to_owned(),
                format!("{seconds:.2}"),
                format!("{:.0}", rate(self.rows, seconds)),
                format!("{:.0}", rate(*bytes, seconds) / 1e6),
                format!("{:.1}", *bytes as f64 / 1e6),
                runs.cpu(1.0, 2),
                ratio(self.ratio(*way)),
                ratio(self.ratio_per_core(*way)),
                runs.each(),
            ]);
        }
        table
    }

    fn verified(&self) -> String {
        let of = |is_verified| {
            let ways = self.ways.iter().filter(move |way| way.is_verified == is_verified);
            ways.map(|way| way.way.short()).collect::<Vec<_>>().join(", ")
        };
        let mut text = format!(
            "Exports that gave an equal table when loaded again (CHECKSUM TABLE): {}",
            of(true)
        );
        let others = of(false);
        if !others.is_empty() {
            text += &format!("; not loaded: {others}");
        }
        text + "."
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    fn outcome(way: ExportWay, seconds: f64, server: f64, client: f64) -> WayOutcome {
        let took = Took { seconds, server_cpu_seconds: server, client_cpu_seconds: client };
        let is_verified = way != ExportWay::Dump;
        WayOutcome {
            way,
            bytes: 100_000_000,
            is_verified,
            runs: Runs { runs: vec![took], reports: Vec::new() },
        }
    }

    fn whole(ways: Vec<WayOutcome>) -> ExportOutcome {
        ExportOutcome {
            head: Head::new("10.11".to_owned()),
            server_settings: Vec::new(),
            scale: 0.1,
            rows: 1_000_000,
            notes: vec!["busy".to_owned()],
            ways,
        }
    }

    #[test]
    fn ratios_are_those_of_the_fastest_peer_by_the_wall_and_per_core() {
        let outcome = whole(vec![
            outcome(ExportWay::Client, 12.0, 4.0, 6.0),
            outcome(ExportWay::Quick, 8.0, 4.0, 6.0),
            outcome(ExportWay::Dump, 9.0, 2.0, 3.0),
            outcome(ExportWay::Direct, 1.0, 0.0, 2.0),
        ]);
        assert_eq!(outcome.ratio(ExportWay::Direct), Some(8.0));
        assert_eq!(outcome.ratio_per_core(ExportWay::Direct), Some(5.0));
        assert_eq!(outcome.ratio_per_core(ExportWay::Zstd), None);
        let text = outcome.text();
        let line = text.lines().find(|line| line.contains("--path direct")).unwrap();
        let words: Vec<&str> = line.split_whitespace().skip(5).collect();
        let expected = ["1.00", "1000000", "100", "100.0", "0.00", "+", "2.00", "8.00x", "5.00x"];
        assert_eq!(words[..9], expected);
        assert!(
            text.contains("client, quick, direct; not loaded: dump.")
                && text.contains("note: busy")
        );
    }

    #[test]
    fn a_server_whose_processor_time_is_not_known_gives_no_ratio_per_core() {
        let outcome = whole(vec![
            outcome(ExportWay::Client, 8.0, 0.0, 6.0),
            outcome(ExportWay::Direct, 1.0, 0.0, 2.0),
        ]);
        assert_eq!(outcome.ratio_per_core(ExportWay::Direct), None);
    }
}
