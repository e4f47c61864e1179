//! The report of a finished load.

use std::fmt;
use std::path::PathBuf;
use std::time::Instant;

use face::option::{REPLICA, STAMP, UNLOGGED};
use serde::Serialize;
use server::engine::Rules;
use server::facts::{CheckpointWay, FLUSH_VARIABLES, ServerFacts};

use crate::progress::Stage;
use crate::settled::Settled;

/// The note about backups of tables that are built.
pub fn backup_note() -> String {
    format!(
        "Take a full backup: incremental backups do not contain this table, except with {}.",
        STAMP.with("yes")
    )
}

/// A note on variables that are set until the redo log is past the empty table; none if a statement does it.
pub fn flush_note(facts: &ServerFacts) -> Option<String> {
    let set = FLUSH_VARIABLES.map(|(name, value)| format!("{name}={value}")).join(", ");
    (facts.checkpoint == Some(CheckpointWay::Flush)).then(|| {
        format!(
            "this server has no innodb_log_checkpoint_now: while the file is built, {set} are set until \
             the changed pages are written, usually for a second, and then restored"
        )
    })
}

/// A note on rows that are kept out of the binary log; none if they are not, or there is no
/// log.
pub fn unlogged_note(facts: &ServerFacts) -> Option<String> {
    if facts.logs_publishing {
        return Some(format!(
            "{REPLICA}: the replicas have the same file and publish the table at the RENAME \
             in the binary log, which contains nothing else of this load; point-in-time \
             recovery from an earlier backup would stop at that RENAME, so take a full backup"
        ));
    }
    let missing = match facts.replicas.as_slice() {
        [] => "replicas".to_owned(),
        names => format!("replicas ({})", names.join(", ")),
    };
    facts.unlogged.then(|| {
        format!(
            "{UNLOGGED}: the binary log does not contain this load, so {missing} and \
             point-in-time recovery lack these rows. A replica stops at the first logged \
             change of such a row: before any change, load the rows into each replica with \
             {UNLOGGED}, and take a full backup"
        )
    })
}

/// Wall time of one stage.
#[derive(Clone, Debug, Serialize)]
pub struct StageTime {
    /// [`Stage::name`].
    pub name: &'static str,
    /// Seconds from its start to its end.
    pub seconds: f64,
}

/// One index of the finished table.
#[derive(Clone, Debug, Serialize)]
pub struct IndexReport {
    /// Its name; the clustered index of a table without a key is `GEN_CLUST_INDEX`.
    pub name: String,
    /// Its entries.
    pub records: u64,
    /// Its leaf pages.
    pub leaf_pages: u64,
    /// Levels, 1 when the root is a leaf.
    pub height: u16,
}

/// Refused rows of one kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RejectTally {
    /// The column that is at fault, if it is one.
    pub column: Option<String>,
    /// Why, in words without the values.
    pub reason: String,
    /// How many, each counted by what was seen first in it.
    pub rows: u64,
}

impl fmt::Display for RejectTally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.column {
            Some(column) => write!(f, "`{column}` {}", self.reason),
            None => f.write_str(&self.reason),
        }
    }
}

/// How rows were sent by the paths stream and insert.
#[derive(Clone, Debug, Serialize)]
pub struct LogicalReport {
    /// The controller's settings.
    #[serde(flatten)]
    pub settled: Settled,
    /// Where rows went: `staging`, a staging table that was swapped in; `transaction`, the table itself in one
    /// transaction; `append`, the table itself in many.
    pub destination: &'static str,
    /// The reason for it, a sentence.
    pub destination_reason: String,
    /// Pieces of input, a transaction each unless all is one.
    pub chunks: u64,
    /// True if the rows were sorted by primary key before they were sent.
    pub sorted: bool,
    /// Times that a chunk was sent again: for a deadlock, a lock, a lost connection.
    pub retries: usize,
    /// Rows that an interrupted load of the same input had left in the table.
    pub rows_before: u64,
}

/// A partition whose rows are on a server of its own.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ShardReport {
    /// The partition.
    pub partition: String,
    /// The server, as the table names it.
    pub server: String,
    /// Where it is: host and port, or its socket.
    pub address: String,
    /// The table there; of a load that is done the one that was replaced.
    pub table: String,
    /// `direct`, `stream` or `insert`, by which it was loaded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<&'static str>,
    /// Rows that it got.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows: Option<u64>,
    /// Wall time of its load.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
    /// The part of that time in which it waited for rows of the input.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waited_seconds: Option<f64>,
}

/// The engine that answers, where it is no server that has its tables to itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EngineReport {
    /// `TiDB`, `Vitess`, `PolarDB-X`, `Galera`, `Group Replication`.
    pub name: &'static str,
    /// The rules that a load keeps to there, a sentence each.
    pub rules: Vec<String>,
}

impl EngineReport {
    /// None of a plain server.
    pub fn of(rules: &Rules) -> Option<EngineReport> {
        let report = || EngineReport { name: rules.kind.name(), rules: rules.sentences() };
        (!rules.is_plain()).then(report)
    }
}

/// Outcome of a load.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Report {
    /// `database.table`.
    pub target: String,
    /// Name of the job in the journal.
    pub job: String,
    /// `direct`, `stream` or `insert`; `shards` where each shard was loaded by its own.
    pub path: &'static str,
    /// Why that path.
    pub why: String,
    /// True if a killed job of the same command had loaded all rows, so that this one loaded none.
    #[serde(skip_serializing_if = "is_false")]
    pub is_in_already: bool,
    /// Version of the server.
    pub server: String,
    /// Where the server is: host and port, its socket, or `sandbox`.
    pub server_address: String,
    /// The engine, where it is no server that has its tables to itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub engine: Option<EngineReport>,
    /// Rows in the table that came from the input.
    pub rows: u64,
    /// Rows of the input that were refused.
    pub rejects: u64,
    /// The same by reason, most first.
    pub rejects_by_reason: Vec<RejectTally>,
    /// The file that has them; `.reasons.jsonl` behind its name is that of the reasons.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rejects_file: Option<PathBuf>,
    /// The treatment of rows that share keys: `fail`, `skip`, `replace` or `update`.
    pub on_duplicate: &'static str,
    /// Rows of the input that were left out because others have their keys. For the paths stream
    /// and insert: under `replace` rows that were replaced, of the input or there before; under
    /// `update` rows of the input that went into others. Both count as loaded there.
    pub duplicates: u64,
    /// Bytes read from the input.
    pub bytes: u64,
    /// Bytes of the finished tablespace.
    pub file_bytes: u64,
    /// Bytes of sorted runs that went to the temporary folder.
    pub spilled_bytes: u64,
    /// Pages that got the server's LSN, so that incremental backups contain the table.
    #[serde(skip_serializing_if = "is_zero")]
    pub stamped_pages: u64,
    /// True if the input came in primary key order, as far as it was checked.
    pub sorted_input: bool,
    /// Wall time of the load.
    pub seconds: f64,
    /// The plan's estimate, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected_seconds: Option<f64>,
    /// Rows a second over the whole load.
    pub rows_per_second: f64,
    /// Input megabytes (10^6) a second over the whole load.
    pub megabytes_per_second: f64,
    /// Wall time of each stage, in order.
    pub stages: Vec<StageTime>,
    /// Highest resident memory of the process.
    pub memory_peak_bytes: u64,
    /// Threads used.
    pub threads: usize,
    /// The indexes, clustered first; of the direct path.
    pub indexes: Vec<IndexReport>,
    /// Partitions that got rows, a file each; of the direct path.
    #[serde(skip_serializing_if = "is_zero")]
    pub partitions: u64,
    /// The report of the paths stream and insert.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub logical: Option<LogicalReport>,
    /// The partitions that are on servers of their own, if they are.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub shards: Vec<ShardReport>,
    /// Foreign keys of other tables that refer to the old table still, as `database.table.key`: the job is
    /// not finished then.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub foreign_keys_left: Vec<String>,
    /// Triggers that the old table has still, as `database.trigger`: the job is not finished then.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub triggers_left: Vec<String>,
    /// The longest time in which readers of a table could wait for the load, by the load's own clock: for an
    /// attempt at the RENAME and the RENAME. None where no table was exchanged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub readers_waited_seconds: Option<f64>,
    /// The same of writers, who also wait while rows are checked or merged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub writers_waited_seconds: Option<f64>,
    /// Notes for the user: no binlog, backup to take, and the like.
    pub notes: Vec<String>,
    /// Failures after the rows were in place, one sentence each; usually empty.
    pub warnings: Vec<String>,
}

/// Measures stages one after the other.
#[derive(Debug)]
pub struct Stopwatch {
    started: Instant,
    stage: Option<(Stage, Instant)>,
    times: Vec<StageTime>,
}

/// As serde asks.
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// As serde asks.
fn is_false(is: &bool) -> bool {
    !is
}

/// The sentence about foreign keys that still refer to an old table.
pub fn keys_left_text(keys: &str) -> String {
    format!("all rows are loaded; these foreign keys still refer to the old table: {keys}")
}

/// The sentence about triggers that an old table has still.
pub fn triggers_left_text(triggers: &str) -> String {
    format!(
        "all rows are loaded; these triggers are still those of the old table, and do not run: {triggers}"
    )
}

impl Report {
    /// Adds how long it took, the memory of the process, and what did not work after the rows were in place.
    pub fn finish(
        &mut self,
        stopwatch: &mut Stopwatch,
        memory_peak_bytes: u64,
        warnings: Vec<String>,
    ) {
        stopwatch.stop();
        self.take(stopwatch.total_seconds());
        self.stages = stopwatch.times();
        self.memory_peak_bytes = memory_peak_bytes;
        self.warnings.extend(warnings);
    }

    /// How long others waited at most, in words; none where no table was exchanged.
    pub fn waits_text(&self) -> Option<String> {
        let (readers, writers) = (self.readers_waited_seconds?, self.writers_waited_seconds?);
        Some(format!(
            "readers waited at most {readers:.2} s, writers waited at most {writers:.2} s"
        ))
    }

    /// It took so many seconds.
    pub fn take(&mut self, seconds: f64) {
        let before = self.logical.as_ref().map_or(0, |logical| logical.rows_before);
        self.seconds = seconds;
        self.rows_per_second = self.rows.saturating_sub(before) as f64 / seconds;
        self.megabytes_per_second = self.bytes as f64 / 1e6 / seconds;
    }
}

impl Stopwatch {
    /// Starts now.
    pub fn start() -> Stopwatch {
        Stopwatch { started: Instant::now(), stage: None, times: Vec::new() }
    }

    /// Ends the running stage and begins `stage`.
    pub fn enter(&mut self, stage: Stage) {
        self.stop();
        self.stage = Some((stage, Instant::now()));
    }

    /// Ends the running stage.
    pub fn stop(&mut self) {
        if let Some((stage, since)) = self.stage.take() {
            let seconds = since.elapsed().as_secs_f64();
            match self.times.iter_mut().find(|time| time.name == stage.name()) {
                Some(time) => time.seconds += seconds,
                None => self.times.push(StageTime { name: stage.name(), seconds }),
            }
        }
    }

    /// Seconds from its start to its stop.
    pub(crate) fn total_seconds(&self) -> f64 {
        self.started.elapsed().as_secs_f64()
    }

    /// Times of the stages that have ended, in order.
    pub fn times(&self) -> Vec<StageTime> {
        self.times.clone()
    }
}

/// Highest resident memory of this process so far, in bytes; 0 where the kernel does not say.
pub fn memory_peak_bytes() -> u64 {
    let Ok(text) = std::fs::read_to_string("/proc/self/status") else { return 0 };
    text.lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok())
        .map_or(0, |kib| kib * 1024)
}
