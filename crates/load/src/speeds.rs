//! How fast loads were here: what an estimate of time goes by.
//!
//! Every large load leaves its stages' speeds in a file of the state folder, as a moving average. Before
//! the first one, an estimate goes by the machine of docs/benchmarks.md, and says so.

use std::ffi::OsStr;
use std::path::Path;

use disk::private;
use job::options::LoadPath;
use job::progress::Stage;
use job::report::Report;
use schema::{Flavor, Method};
use serde::{Deserialize, Serialize};

use crate::overhead::Overhead;

/// Name of the file in the state folder: MySQL imports a file at a fifth of MariaDB's speed.
fn file_name(flavor: Flavor) -> &'static str {
    match flavor {
        Flavor::MariaDb => "speeds.json",
        Flavor::MySql => "speeds-mysql.json",
    }
}

/// Input of a load whose speed tells something: in smaller ones what is constant prevails.
const BYTES_MIN: u64 = 16 << 20;
/// Weight of a load beside those before it.
const WEIGHT: f64 = 0.3;
/// Speeds beyond these were not measured, whatever a file says.
const SPEED_MIN: f64 = 1e4;
const SPEED_MAX: f64 = 1e12;
/// The server's time for a partition that gets rows, whatever they are: a table of its own that is
/// made, discarded, imported, exchanged and dropped, on a disk that syncs.
const PARTITION_SECONDS: f64 = 0.2;
/// Beyond these nothing was measured either.
const PARTITION_SECONDS_MIN: f64 = 1e-3;
const PARTITION_SECONDS_MAX: f64 = 10.0;
/// The server's time to check that a row belongs to its partition.
const EXCHANGED_ROW_SECONDS: f64 = 1e-6;

/// Bytes a second of each stage.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Speeds {
    /// Loads that these were measured by; with none they are of the machine of docs/benchmarks.md.
    pub(crate) loads: u32,
    /// Parsing, converting, encoding, building: input of one thread.
    pub(crate) build: f64,
    /// Sorting rows that do not come in key order: their records, one thread.
    pub(crate) sort: f64,
    /// Reading the finished file again, one thread.
    pub(crate) verify: f64,
    /// The server's import.
    pub(crate) import: f64,
    /// Stamping its pages for incremental backups.
    #[serde(default = "stamp_speed")]
    pub(crate) stamp: f64,
    /// Rows sent by LOAD DATA LOCAL, indexes built afterwards: [`work_bytes`] of the whole machine,
    /// which the server has most of.
    #[serde(rename = "stream_work")]
    pub(crate) stream: f64,
    /// The same by INSERTs.
    #[serde(rename = "insert_work")]
    pub(crate) insert: f64,
    /// Seconds of a partition besides its bytes and rows, once some were loaded.
    #[serde(default)]
    pub(crate) partition_seconds: Option<f64>,
    /// The overhead, whatever the size.
    #[serde(default)]
    pub(crate) fixed: Overhead,
}

/// The server's work for `rows` that are sent, in bytes of text: a short row costs at least these,
/// and each index once more. Measured with rows of 10 bytes, of sysbench and of lineitem.
pub(crate) fn work_bytes(input_bytes: u64, rows: u64, indexes: usize) -> f64 {
    const ROW_BYTES: f64 = 84.0;
    const ENTRY_BYTES: f64 = 35.0;
    let each = ROW_BYTES + ENTRY_BYTES * indexes.saturating_sub(1) as f64;
    input_bytes as f64 + rows as f64 * each
}

/// [`Speeds::stamp`] before the first such load: that of a disk that writes 500 MB/s.
fn stamp_speed() -> f64 {
    400e6
}

impl Speeds {
    /// Speeds before any load, measured with MariaDB 10.11.19 and MySQL 9.7.4, which looks at each record.
    pub(crate) fn before_any(flavor: Flavor) -> Speeds {
        let (import, sent) = match flavor {
            Flavor::MariaDb => (1.05e9, 70e6),
            Flavor::MySql => (0.19e9, 35e6),
        };
        Speeds {
            loads: 0,
            build: 300e6,
            sort: 400e6,
            verify: 1.1e9,
            import,
            stamp: stamp_speed(),
            stream: sent,
            insert: sent,
            partition_seconds: None,
            fixed: Overhead::default(),
        }
    }

    /// Speeds that loads into servers of this family have left in a state folder.
    pub(crate) fn of(state_dir: &Path, flavor: Flavor) -> Speeds {
        let text = private::open(state_dir)
            .and_then(|folder| private::read(&folder, OsStr::new(file_name(flavor)), "speeds"))
            .unwrap_or_default();
        let before_any = Speeds::before_any(flavor);
        let read: Speeds = serde_json::from_slice(&text).unwrap_or(before_any);
        let speeds =
            [read.build, read.sort, read.verify, read.import, read.stamp, read.stream, read.insert];
        let is_sane = |speed: &f64| (SPEED_MIN..=SPEED_MAX).contains(speed);
        if speeds.iter().all(is_sane) { read } else { before_any }
    }

    /// By which rows go in that are sent by `path`.
    pub(crate) fn of_sending(&self, path: LoadPath) -> f64 {
        match path {
            LoadPath::Insert => self.insert,
            LoadPath::Auto | LoadPath::Direct | LoadPath::Stream | LoadPath::Import => self.stream,
        }
    }

    /// Seconds that the server takes for files of so many partitions, besides their import.
    pub(crate) fn of_exchanging(&self, partitions: usize, rows: u64) -> f64 {
        let each = self.partition_seconds.unwrap_or(PARTITION_SECONDS);
        let each = each.clamp(PARTITION_SECONDS_MIN, PARTITION_SECONDS_MAX);
        partitions as f64 * each + rows as f64 * EXCHANGED_ROW_SECONDS
    }

    /// Remembers a load by this method, unless others ran beside it. Failures to write are ignored:
    /// an estimate is then as good as before.
    pub(crate) fn remember(
        state_dir: &Path,
        flavor: Flavor,
        path: LoadPath,
        method: Option<Method>,
        report: &Report,
        indexes: usize,
    ) {
        let is_small = report.bytes.max(report.file_bytes) < BYTES_MIN;
        // Nobody has measured the one, and the other teaches nothing.
        if path == LoadPath::Import || (is_small && report.partitions == 0 && method.is_none()) {
            return;
        }
        let known = Speeds::of(state_dir, flavor);
        let mut speeds = known;
        match (report.partitions, method) {
            (0, Some(method)) if is_small => speeds.learn_fixed(method, report),
            (0, _) if report.bytes < BYTES_MIN => {}
            // Into indexes that are there, entry by entry: `AppendTimes` counts that by itself.
            (0, Some(Method::Transaction | Method::Append)) if indexes > 1 => {}
            (0, _) => speeds.learn(path, report, indexes),
            (partitions, _) => speeds.learn_partitions(partitions, report),
        }
        if speeds != known {
            let _ = speeds.write(state_dir, flavor);
        }
    }

    /// Learns the overhead from a small load: the stages in which no row is read, sorted or sent.
    fn learn_fixed(&mut self, method: Method, report: &Report) {
        let stages = [Stage::Inspect, Stage::Staging, Stage::Export, Stage::Import, Stage::Publish];
        let imported = report.file_bytes as f64 / self.import;
        self.fixed.learn(method, seconds(report, &stages) - imported);
    }

    /// Learns the time of a partition; their number dominates a load into partitions.
    fn learn_partitions(&mut self, partitions: u64, report: &Report) {
        let imported = report.file_bytes as f64 / self.import;
        let rows = report.rows as f64 * EXCHANGED_ROW_SECONDS;
        let others = seconds(report, &[Stage::Import]) - imported - rows;
        let seen = others / partitions as f64;
        if (PARTITION_SECONDS_MIN..=PARTITION_SECONDS_MAX).contains(&seen) {
            let known = self.partition_seconds.unwrap_or(seen);
            self.partition_seconds = Some(known * (1.0 - WEIGHT) + seen * WEIGHT);
        }
    }

    fn learn(&mut self, path: LoadPath, report: &Report, indexes: usize) {
        let seconds = |stages: &[Stage]| seconds(report, stages);
        let is_first = self.loads == 0;
        let mix = |known: &mut f64, bytes: u64, seconds: f64| {
            let seen = bytes as f64 / seconds;
            if (SPEED_MIN..=SPEED_MAX).contains(&seen) {
                let weight = if is_first { 1.0 } else { WEIGHT };
                *known = *known * (1.0 - weight) + seen * weight;
            }
        };
        let building = seconds(&[Stage::Rows, Stage::Indexes]);
        let threads = report.threads.max(1) as f64;
        let sent = work_bytes(report.bytes, report.rows, indexes) as u64;
        match path {
            LoadPath::Auto | LoadPath::Direct => {
                if report.sorted_input && report.duplicates == 0 {
                    mix(&mut self.build, report.bytes, building * threads);
                }
                mix(&mut self.verify, report.file_bytes, seconds(&VERIFYING) * threads);
                mix(&mut self.import, report.file_bytes, seconds(&[Stage::Import]));
                mix(&mut self.stamp, report.file_bytes, seconds(&[Stage::Stamp]));
            }
            LoadPath::Stream => mix(&mut self.stream, sent, building),
            LoadPath::Insert => mix(&mut self.insert, sent, building),
            LoadPath::Import => {}
        }
        self.loads = self.loads.saturating_add(1);
    }

    /// Puts the file in its place whole, so that loads that end at once do not mix theirs.
    fn write(&self, state_dir: &Path, flavor: Flavor) -> std::io::Result<()> {
        private::write(
            &private::make(state_dir)?,
            file_name(flavor),
            &serde_json::to_vec(self)?,
            "speeds",
        )
    }
}

/// Stages that read all pages of a built file.
const VERIFYING: [Stage; 2] = [Stage::Verify, Stage::Compare];

/// The seconds of these stages of a load.
fn seconds(report: &Report, stages: &[Stage]) -> f64 {
    let named = |name| stages.iter().any(|stage| stage.name() == name);
    report.stages.iter().filter(|time| named(time.name)).map(|time| time.seconds).sum()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs;

    use job::report::StageTime;

    use super::*;

    const MARIADB: Flavor = Flavor::MariaDb;

    fn report(bytes: u64, seconds: f64) -> Report {
        let time = |stage: Stage| StageTime { name: stage.name(), seconds };
        Report {
            bytes,
            file_bytes: 2 * bytes,
            threads: 2,
            sorted_input: true,
            stages: [Stage::Rows, Stage::Verify, Stage::Import].map(time).to_vec(),
            ..Report::default()
        }
    }

    #[test]
    fn speeds_are_those_of_the_loads_before() {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path().join("state");
        assert_eq!(Speeds::of(&state, MARIADB), Speeds::before_any(MARIADB));
        let (direct, build) = (LoadPath::Direct, Some(Method::Build));
        Speeds::remember(&state, MARIADB, direct, build, &report(1 << 10, 1.0), 1);
        let small = Speeds::of(&state, MARIADB);
        assert_eq!(
            Speeds { fixed: Overhead::default(), ..small },
            Speeds::before_any(MARIADB),
            "too small"
        );
        assert!((small.fixed.seconds(Method::Build) - 1.0).abs() < 0.01, "but for the import");
        Speeds::remember(&state, MARIADB, direct, build, &report(100_000_000, 1.0), 1);
        let first = Speeds::of(&state, MARIADB);
        assert_eq!((first.loads, first.build, first.verify, first.import), (1, 50e6, 100e6, 200e6));
        assert_eq!(first.stream, Speeds::before_any(MARIADB).stream, "none was sent");
        Speeds::remember(&state, MARIADB, direct, build, &report(200_000_000, 1.0), 1);
        assert!((Speeds::of(&state, MARIADB).import - 260e6).abs() < 1.0, "a moving average");
        Speeds::remember(&state, MARIADB, LoadPath::Insert, None, &report(100_000_000, 4.0), 1);
        assert!(Speeds::of(&state, MARIADB).insert < Speeds::before_any(MARIADB).insert);
        assert_eq!(fs::read_dir(&state).unwrap().count(), 1, "nothing else stays there");
        let of_others = Speeds::before_any(Flavor::MySql);
        assert_eq!(Speeds::of(&state, Flavor::MySql), of_others, "another server has its own");
    }

    #[test]
    fn short_rows_cost_as_much_as_longer_ones() {
        // 6 million rows of lineitem with two indexes took 24.5 s.
        let seconds = |bytes, rows, indexes| {
            work_bytes(bytes, rows, indexes)
                / Speeds::before_any(MARIADB).of_sending(LoadPath::Stream)
        };
        assert!((20.0..30.0).contains(&seconds(760_000_000, 6_000_000, 3)));
        // A million and a half of two numbers, two seconds: by their bytes alone it would be 0.2.
        assert!((1.5..3.0).contains(&seconds(16_700_000, 1_500_000, 1)));
    }

    #[test]
    fn partitions_take_what_they_took_before() {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path().join("state");
        let unknown = Speeds::before_any(MARIADB);
        assert!((unknown.of_exchanging(10, 1_000_000) - 3.0).abs() < 0.01);
        let time = |stage: Stage, seconds| StageTime { name: stage.name(), seconds };
        let stages = vec![time(Stage::Staging, 9.0), time(Stage::Import, 0.5)];
        let few = Report { partitions: 10, stages, ..report(1 << 10, 1.0) };
        Speeds::remember(&state, MARIADB, LoadPath::Direct, Some(Method::Build), &few, 1);
        let known = Speeds::of(&state, MARIADB);
        assert!((known.of_exchanging(100, 0) - 5.0).abs() < 0.01, "{known:?}");
        assert_eq!(Speeds { partition_seconds: None, ..known }, unknown, "and nothing else");
        // A file that was written before anybody counted partitions.
        let old = serde_json::to_string(&known).unwrap().replace("partition_seconds", "other");
        fs::write(state.join(file_name(MARIADB)), old).unwrap();
        assert_eq!(Speeds::of(&state, MARIADB), unknown);
    }

    #[test]
    fn a_file_without_sense_counts_for_nothing() {
        let folder = tempfile::tempdir().unwrap();
        for text in [
            "",
            "[]",
            r#"{"loads":3,"build":0,"sort":1e9,"verify":1e9,"import":1e9,"stream_work":1e9,"insert_work":1e9}"#,
        ] {
            fs::write(folder.path().join(file_name(MARIADB)), text).unwrap();
            assert_eq!(Speeds::of(folder.path(), MARIADB), Speeds::before_any(MARIADB), "{text}");
        }
    }
}
