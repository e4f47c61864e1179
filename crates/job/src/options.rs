//! What a load is asked to do: one plain struct, every field with its default.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustix::fs::Access;
use server::Interrupt;
use sources::{Dialect, Encoding, Source};
use tune::Class;

use crate::command::CommandLine;
use crate::command_files::CommandFiles;
use crate::error::Error;
use crate::machine;
use crate::memory::{LaneShares, Memory};
use crate::state;

pub use crate::written::Written;
pub use schema::LoadPath;

/// How long others may have to wait for a merge, where nobody says.
const WRITE_BLOCK_SECONDS: u32 = 30;

/// What may be in the target before the load, and what becomes of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// The target must be empty. The default, because it destroys nothing.
    #[default]
    Insert,
    /// Rows are added; on the direct path the target must be empty too.
    Append,
    /// The target's rows are replaced by those of the input in one step.
    Replace,
}

/// Whether and how a table gets its rows at once with others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WithOthers {
    /// By itself.
    #[default]
    Alone,
    /// By the swap of all, so that its rows must not go into it before.
    Swap,
    /// In one transaction that holds the rows of all, in the tables themselves.
    Transaction,
    /// The same, since that is sooner done with small tables.
    Small,
}

impl WithOthers {
    /// Whether one transaction holds the rows of all.
    pub fn is_transaction(self) -> bool {
        matches!(self, WithOthers::Transaction | WithOthers::Small)
    }
}

/// What becomes of rows that have a primary or unique key in common.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnDuplicate {
    /// The first that is met fails the load. The default, because it loses nothing.
    #[default]
    Fail,
    /// As LOAD DATA IGNORE: in input order, a row is left out if one that stays before it has any
    /// of its keys.
    Skip,
    /// As LOAD DATA REPLACE: in input order, a row takes the place of all rows before it that
    /// have any of its keys.
    Replace,
    /// As INSERT .. ON DUPLICATE KEY UPDATE of the columns that the input has: in input order, a
    /// row that shares a key with one that is there changes that one. By INSERT, or where it comes to
    /// the same as Replace.
    Update,
}

impl OnDuplicate {
    /// Whether a row takes the place of those before it, where it may be either of the two.
    pub fn replaces(self) -> bool {
        matches!(self, OnDuplicate::Replace | OnDuplicate::Update)
    }

    /// As `--on-duplicate` has it.
    pub fn name(self) -> &'static str {
        match self {
            OnDuplicate::Fail => "fail",
            OnDuplicate::Skip => "skip",
            OnDuplicate::Replace => "replace",
            OnDuplicate::Update => "update",
        }
    }
}

/// Whose rules say what becomes of a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RowRules {
    /// LOAD DATA's under strict mode.
    #[default]
    LoadData,
    /// Those of INSERTs with a list of rows. NULL is refused for a TIMESTAMP that is NOT NULL, which
    /// LOAD DATA gives the time, and so are values for generated columns; generated AUTO_INCREMENT
    /// values are not reserved in portions. Where they depend on which statement a row is in, the
    /// load fails: [`Error::is_not_plain`].
    Insert,
}

/// What the logical path otherwise finds by itself while it loads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Batches {
    /// Rows of a statement. Default: found, from about 1,000.
    pub rows: Option<u64>,
    /// Bytes of a statement. Default: found, below `max_allowed_packet` and 8 MiB.
    pub bytes: Option<u64>,
    /// Connections that load. Default: found, from few to 64.
    pub connections: Option<usize>,
    /// Bytes of input a second that are not exceeded. Default: no limit.
    pub bytes_per_second_max: Option<u64>,
}

/// Whom the logical path does not leave behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replicas {
    /// `HOST[:PORT]` of replicas that the primary does not know, or not by an address that can be
    /// reached from here. Those that it knows are found.
    pub named: Vec<String>,
    /// How far they may be behind before the load waits for them; None does not look. Default 30 s.
    pub lag_max: Option<Duration>,
}

impl Default for Replicas {
    fn default() -> Replicas {
        Replicas { named: Vec::new(), lag_max: Some(Duration::from_secs(30)) }
    }
}

/// Space left free in each built page, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fill {
    /// Pages of the clustered index. Default 1,024, a sixteenth, as the server's own sorted build.
    pub clustered_reserve: usize,
    /// Pages of secondary indexes. Default 1,024 too. The server leaves nothing, and a full
    /// index of 154 pages splits into 307 after 5 % random inserts, one with this reserve into 177.
    pub secondary_reserve: usize,
}

impl Default for Fill {
    fn default() -> Fill {
        Fill { clustered_reserve: 1024, secondary_reserve: 1024 }
    }
}

/// Makes the source of a table's rows of that of the lines of files, where a line holds rows of several
/// tables.
pub trait Select: fmt::Debug + Send + Sync {
    /// The rows of the table. Nothing was read of the lines.
    ///
    /// Errors: lines that have no such rows.
    fn select(&self, lines: Box<dyn Source>) -> sources::Result<Box<dyn Source>>;

    /// Bytes of the lines that have them; none if that may be all.
    fn line_bytes(&self) -> Option<u64> {
        None
    }
}

/// Everything about one load that is not the connection.
#[derive(Clone, Debug)]
pub struct LoadOptions {
    /// Input files, in the order their rows are taken.
    pub files: Vec<PathBuf>,
    /// Database of the target.
    pub database: String,
    /// Name of the target table.
    pub table: String,
    /// SQL that makes the target when it is missing. Its database is made too.
    pub ddl: Option<String>,
    /// What may be in the target before.
    pub mode: Mode,
    /// Way into the server. Default: the fastest that is open.
    pub path: LoadPath,
    /// What is fixed of the logical path's batches. Default nothing.
    pub batches: Batches,
    /// Replicas that the logical path waits for. Default: those that the primary knows.
    pub replicas: Replicas,
    /// Whether rows that are appended become visible all at once: one connection, one
    /// transaction. Default no.
    pub atomic: bool,
    /// Whether and how the table gets its rows at once with others. Default alone; loads of several
    /// tables set it.
    pub with_others: WithOthers,
    /// How the input is cut into fields.
    pub dialect: Dialect,
    /// Whose rules say what becomes of a row. Default: LOAD DATA's.
    pub rules: RowRules,
    /// Columns the fields of a line go to, in order. Default: the header's, or all in
    /// table order but the INVISIBLE ones.
    pub columns: Option<Vec<String>>,
    /// Whether the first line of each file names the columns.
    pub header: bool,
    /// Lines to leave out at the start of each file, before the header.
    pub skip_lines: u64,
    /// Whether names in the header that are no column's are left out. Default no: they are refused.
    pub ignore_unknown_columns: bool,
    /// How values are written. Default: as the server reads them.
    pub written: Written,
    /// Which rows of the input's lines are the table's. Default: each line is one.
    pub selection: Option<Arc<dyn Select>>,
    /// Columns that have the same value in all rows, which the input lacks, with that.
    pub constants: Vec<(String, String)>,
    /// Columns that have the value of an SQL expression in all rows, which is asked of the server once and
    /// then stands in `constants`.
    pub expressions: Vec<(String, String)>,
    /// Character set of the input. Default utf8mb4.
    pub charset: String,
    /// Whether the input is UTF-16 or UTF-32, which become UTF-8 before `charset` is asked.
    /// Default: if a byte order mark says so.
    pub encoding: Encoding,
    /// Whether the dialect's escape is only what LOAD DATA takes when nothing is said: with
    /// NO_BACKSLASH_ESCAPES that is none, and the load is refused. Default no.
    pub escape_is_assumed: bool,
    /// Flags of `sql_mode` by which values are read, besides strict mode. Default: the server's.
    pub sql_mode: Option<String>,
    /// Time zone of the input's TIMESTAMP values. Default: that of the server's sessions.
    pub time_zone: Option<String>,
    /// Where refused rows go, byte for byte; `<file>.reasons.jsonl` says why.
    pub rejects: Option<PathBuf>,
    /// Whether rows of a table whose partitions are tables of other servers go through its own server.
    /// Default: where they cannot go to each by themselves.
    pub through_head: bool,
    /// Refused rows that are tolerated. Default 0: the first one fails the load.
    pub rejects_max: u64,
    /// The part of the input's rows that may be refused, in percent, which is judged when all of them
    /// are read and before any is published. Rows that are added go in by one transaction then.
    /// Default: `rejects_max` alone counts.
    pub rejects_max_percent: Option<f64>,
    /// Whether a line with a quote that nothing closes is a row that may be refused, or left out. Default:
    /// if any may.
    pub leaves_unclosed: Option<bool>,
    /// True if [`Mode::Replace`] keeps the table's next AUTO_INCREMENT number. Default no: numbers begin as
    /// after TRUNCATE.
    pub keep_auto_increment: bool,
    /// True if a file that has text and no row is loaded as an empty one, and whether [`Mode::Replace`]
    /// may put nothing in the place of the rows that are there: an input without rows, or with refused
    /// ones only. Default no.
    pub allow_empty: bool,
    /// What becomes of rows with one key. Default: they fail the load.
    pub on_duplicate: OnDuplicate,
    /// Where rows go that are left out as duplicates, byte for byte; `<file>.reasons.jsonl` says to
    /// which row each lost. Only for [`OnDuplicate::Skip`] and [`OnDuplicate::Replace`].
    pub duplicates: Option<PathBuf>,
    /// Threads that parse, sort and build. Default: one a core.
    pub threads: usize,
    /// Memory of the whole process, in bytes. Default a quarter of the machine's.
    pub memory_bytes_max: u64,
    /// Bytes of a file built for IMPORT that may be left to the page cache until then. Default:
    /// [`machine::page_cache_bytes`].
    pub page_cache_bytes: Option<u64>,
    /// Whether nothing of the load is to be in the server's binary log, which only the direct path
    /// can do for so many rows. Default: no.
    pub unlogged: bool,
    /// Whether a table that is built is read back from the server before it is published, and its rows
    /// compared with those that were read. Default: yes.
    pub verifies: bool,
    /// Whether a table with triggers may be built, past them: they are not run, and stay on it.
    /// Default: no.
    pub no_triggers: bool,
    /// Whether rows are taken in whatever foreign keys say of them. Default: no.
    pub unchecked_keys: bool,
    /// The shares of that memory, which otherwise follow from it. For tests: small ones make many
    /// chunks, hand-overs and spills of little input.
    #[doc(hidden)]
    pub shares: Option<Memory>,
    /// Whether the logical path sorts rows by primary key first. For tests and benchmarks. Default:
    /// where it pays.
    #[doc(hidden)]
    pub sort_input: Option<bool>,
    /// Whether the logical path drops the twin's indexes and builds them when the rows are in. For
    /// tests. Default: where it pays.
    #[doc(hidden)]
    pub defer_indexes: Option<bool>,
    /// Where sorted runs spill to. Default: the system's temporary folder.
    pub temp_dir: PathBuf,
    /// Where the journal is kept. Default: `inrush` in the user's state folder; empty, and refused,
    /// where there is none.
    pub state_dir: PathBuf,
    /// The command that the journal notes, so that it can be run again; of several tables that of the
    /// first. Default: none.
    pub command: Option<CommandLine>,
    /// Free space in built pages.
    pub fill: Fill,
    /// Seconds to wait for others who hold the table. Default 60.
    pub lock_wait_seconds: u32,
    /// How long others that write to the table may have to wait while rows are merged with those there;
    /// none for as long as it takes.
    pub write_block_seconds_max: Option<u32>,
    /// Whether variables of the server are set for the load, and put back behind it, and what may be given
    /// up meanwhile. Default: none is set.
    pub tune: Option<Class>,
    /// Addresses of servers that have partitions of the table, by the names that it knows them by:
    /// `HOST:PORT`. Default: those that it says.
    pub shard_addresses: Vec<(String, String)>,
    /// Whoever wants the load to end early says so here.
    pub interrupt: Interrupt,
}

impl LoadOptions {
    /// What the rows of its command are known by, in a job.
    pub fn proof(&self) -> Option<String> {
        self.command.as_ref()?.proof.as_ref().map(|proof| proof.id.clone())
    }

    /// A load of `files` into `database.table`, everything else at its default.
    pub fn new(files: Vec<PathBuf>, database: &str, table: &str) -> LoadOptions {
        LoadOptions {
            files,
            database: database.to_owned(),
            table: table.to_owned(),
            ddl: None,
            mode: Mode::Insert,
            path: LoadPath::Auto,
            batches: Batches::default(),
            replicas: Replicas::default(),
            atomic: false,
            through_head: false,
            with_others: WithOthers::Alone,
            dialect: Dialect::mysql(),
            rules: RowRules::LoadData,
            columns: None,
            header: false,
            skip_lines: 0,
            ignore_unknown_columns: false,
            written: Written::default(),
            selection: None,
            constants: Vec::new(),
            expressions: Vec::new(),
            charset: "utf8mb4".to_owned(),
            encoding: Encoding::default(),
            escape_is_assumed: false,
            sql_mode: None,
            time_zone: None,
            rejects: None,
            rejects_max: 0,
            rejects_max_percent: None,
            leaves_unclosed: None,
            keep_auto_increment: false,
            allow_empty: false,
            on_duplicate: OnDuplicate::Fail,
            duplicates: None,
            threads: default_threads(),
            memory_bytes_max: default_memory_bytes(),
            page_cache_bytes: None,
            unlogged: false,
            verifies: true,
            no_triggers: false,
            unchecked_keys: false,
            shares: None,
            sort_input: None,
            defer_indexes: None,
            temp_dir: std::env::temp_dir(),
            state_dir: state::default_dir(),
            command: None,
            fill: Fill::default(),
            lock_wait_seconds: 60,
            write_block_seconds_max: Some(WRITE_BLOCK_SECONDS),
            tune: None,
            shard_addresses: Vec::new(),
            interrupt: Interrupt::default(),
        }
    }

    /// True if AUTO_INCREMENT numbers begin as after TRUNCATE.
    pub fn restarts_numbers(&self) -> bool {
        self.mode == Mode::Replace && !self.keep_auto_increment
    }

    /// Who may use how much of the memory, of what reading ahead leaves.
    ///
    /// Errors: [`Error::Memory`], [`Error::Usage`] where it is too little, or more than there is.
    pub fn memory(&self, reading_bytes: u64) -> Result<Memory, Error> {
        match self.shares {
            Some(shares) => Ok(shares),
            None => Memory::of(self.memory_bytes_max, self.threads, reading_bytes),
        }
    }

    /// What the lanes may use together that send rows by `path`, of what reading ahead leaves.
    ///
    /// Errors: [`Error::Memory`] where it is too little for one.
    pub fn lane_shares(
        &self,
        path: LoadPath,
        reading_bytes: u64,
        input_bytes: Option<u64>,
    ) -> Result<LaneShares, Error> {
        let (given_bytes, connections) = (self.memory_bytes_max, self.batches.connections);
        match &self.shares {
            Some(shares) => Ok(LaneShares::of_shares(shares, path)),
            None => LaneShares::of(given_bytes, reading_bytes, path, connections, input_bytes),
        }
    }

    /// Refuses what can be seen to fail, before anything is done.
    pub fn check(&self) -> Result<(), Error> {
        state::check(&self.state_dir)?;
        check_folder("--temp-dir", &self.temp_dir)?;
        if self.duplicates.is_some() && self.on_duplicate == OnDuplicate::Fail {
            return Err(Error::Usage(
                "--duplicates needs --on-duplicate skip or replace: without it the first duplicate \
                 fails the load, and the message names both rows"
                    .to_owned(),
            ));
        }
        if self.unlogged && self.ddl.is_some() {
            return Err(Error::Usage(
                "--unlogged with --ddl or --create would make a table that replicas lack: make it \
                 before, in the binary log"
                    .to_owned(),
            ));
        }
        if let Some(percent) = self.rejects_max_percent
            && !(0.0..=100.0).contains(&percent)
        {
            return Err(Error::Usage(format!(
                "--rejects-max {percent}% is no part of the rows: it is from 0% to 100%"
            )));
        }
        self.batches.check()?;
        let logs = [("--rejects", &self.rejects), ("--duplicates", &self.duplicates)];
        for (option, path) in logs {
            path.as_deref().map_or(Ok(()), |path| check_log(option, path))?;
        }
        files_of(std::slice::from_ref(self)).check()
    }

    /// Whether a line with a quote that nothing closes is a row, instead of an error.
    pub fn leaves_unclosed(&self) -> bool {
        let tolerates_any = self.rejects_max > 0 || self.rejects_max_percent.is_some();
        self.leaves_unclosed.unwrap_or(tolerates_any)
    }

    /// Judges what came of the `read` rows of an input: refuses to publish without too large a part of
    /// them, and to put nothing in the place of rows, which an export that failed looks like.
    ///
    /// Errors: [`Error::RejectedPart`], [`Error::NothingToLoad`].
    pub fn check_loaded(&self, rows: u64, rejects: u64, read: u64) -> Result<(), Error> {
        if let Some(percent_max) = self.rejects_max_percent
            && rejects as f64 * 100.0 > percent_max * read as f64
        {
            let kept = self.rejects.clone();
            return Err(Error::RejectedPart { rejects, rows: read, percent_max, kept });
        }
        if self.mode != Mode::Replace || self.allow_empty || rows > 0 {
            return Ok(());
        }
        Err(Error::NothingToLoad { target: format!("{}.{}", self.database, self.table), rejects })
    }

    /// What is said of a table that was emptied; none where it was not.
    pub fn emptied_note(&self, rows: u64, rejects: u64) -> Option<String> {
        let why = match rejects {
            _ if self.mode != Mode::Replace || rows > 0 => return None,
            0 => "the input had no rows",
            _ => "every row of the input was refused",
        };
        Some(format!("{why}, so that the table is empty now"))
    }

    /// What is said of a table with foreign keys that nobody looked at; none where there are none, or
    /// somebody did.
    pub fn unchecked_note(&self, has_foreign_keys: bool) -> Option<String> {
        let is_unchecked = self.unchecked_keys && has_foreign_keys;
        is_unchecked.then(|| {
            "--no-foreign-key-checks: nobody looked whether rows refer to rows that are there"
                .to_owned()
        })
    }
}

/// The inputs of loads that are one command, and their files for rows that are not loaded.
pub fn files_of(tables: &[LoadOptions]) -> CommandFiles {
    let mut files = CommandFiles::new();
    for (at, options) in tables.iter().enumerate() {
        // All tables of a job file share the inputs, and the file of refused lines.
        let is_shared = options.selection.is_some() && at > 0;
        if !is_shared {
            options.files.iter().for_each(|file| files.reads("the input", file));
            options.rejects.iter().for_each(|path| files.writes_rows("--rejects", path));
        }
        options.duplicates.iter().for_each(|path| files.writes_rows("--duplicates", path));
    }
    files
}

/// Refuses a file for rows that are not loaded where it cannot be made.
fn check_log(option: &str, path: &Path) -> Result<(), Error> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    check_folder(&format!("the folder of {option}"), folder.unwrap_or(Path::new(".")))?;
    match path.is_dir() {
        true => Err(Error::Usage(format!(
            "{option} {} is a directory; name another file",
            path.display()
        ))),
        false => Ok(()),
    }
}

impl Batches {
    /// Refuses nothing at a time.
    fn check(&self) -> Result<(), Error> {
        let given = [
            ("--batch-rows", self.rows),
            ("--batch-bytes", self.bytes),
            ("--connections", self.connections.map(|count| count as u64)),
            ("--max-rate", self.bytes_per_second_max),
        ];
        match given.iter().find(|(_, value)| *value == Some(0)) {
            Some((option, _)) => Err(Error::Usage(format!("{option} 0 would load nothing"))),
            None => Ok(()),
        }
    }
}

/// Refuses a folder that is not there or cannot be written to.
fn check_folder(what: &str, folder: &Path) -> Result<(), Error> {
    let wrong = |reason: &str| Err(Error::Usage(format!("{what}, {}, {reason}", folder.display())));
    match std::fs::metadata(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => wrong("does not exist"),
        Err(error) => wrong(&format!("cannot be used: {error}")),
        Ok(meta) if !meta.is_dir() => wrong("is not a folder"),
        Ok(_) => match rustix::fs::access(folder, Access::WRITE_OK | Access::EXEC_OK) {
            Err(error) => wrong(&format!("cannot be written to: {error}")),
            Ok(()) => Ok(()),
        },
    }
}

fn default_threads() -> usize {
    std::thread::available_parallelism().map_or(1, |n| n.get())
}

/// A quarter of the memory that the process may use: of the machine's, of its control group's, or
/// of what `ulimit` leaves.
pub fn default_memory_bytes() -> u64 {
    machine::memory_bytes() / 4
}
