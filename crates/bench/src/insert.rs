//! `inrush bench insert`: the Insert Benchmark, of Tim Callaghan (`iibench-tc`) and of Mark Callaghan
//! (`iibench-mc`): what it costs to add rows to a table whose secondary indexes do not fit the
//! buffer pool.
//!
//! Steps: l.i0, rows into the empty table; l.x, its three secondary indexes, where they are not there
//! from the start; l.i1, more rows with all indexes in place. Each step is run by INSERTs as the
//! benchmark does, by LOAD DATA, with the server's change buffer and without, and by Inrush in batches
//! of 1 %, 10 % and 50 % of the table; with a pool that holds the table, and with one an eighth of it.
//! One client: all ways add the same rows in the same order. Each begins with the same files, an
//! empty buffer pool and nothing in the page cache, and has to leave the same rows.
//!
//! In reading order: [`schema`] and [`rows`], the tables and what goes into them; [`yard`], the server;
//! [`way`] and [`meter`], what is run and read off; [`field`] runs it; [`outcome`] is what is printed, with
//! [`growth`] over several sizes, and [`chart`] what is drawn.

pub mod chart;
mod field;
mod growth;
pub mod meter;
pub mod outcome;
mod rows;
pub mod schema;
pub mod way;
mod yard;

use std::ops::Range;
use std::path::PathBuf;

use server::{Interrupt, Session};

pub use self::outcome::{Case, InsertOutcome};
pub use self::schema::{TABLE, Version};
pub use self::way::{Buffering, InsertWay, Run, Step};

use self::field::{FULL, Field};
use self::outcome::Pool;
use self::yard::Yard;
use crate::choice::Choice;
use crate::error::Error;
use crate::head::Head;
use crate::host;
use crate::machine;
use crate::program;

/// Batches of Inrush in l.i1, in percent of the table; those of more rows than are added are left out.
const BATCHES: [u64; 3] = [1, 10, 50];
/// The values of `--path`.
const PATHS: [&str; 4] = ["auto", "direct", "stream", "insert"];
/// The least buffer pool that a server runs with.
const POOL_BYTES_MIN: u64 = 8 << 20;
/// Bytes of a row in the finished table and as text; estimated, for room on the disk.
const TABLE_ROW_BYTES: u64 = 200;
const TEXT_ROW_BYTES: u64 = 70;

/// Options of a run. `InsertOptions::default()` is everything, on a table of four million rows.
#[derive(Clone, Debug)]
pub struct InsertOptions {
    /// Which benchmarks; empty for both.
    pub versions: Vec<Version>,
    /// Which steps; empty for all.
    pub steps: Vec<Step>,
    /// Which pools; empty for both.
    pub pools: Vec<Pool>,
    /// Rows of the first step.
    pub rows: u64,
    /// Rows of it in further tables, all of which are run: what each row costs is compared.
    pub more_sizes: Vec<u64>,
    /// Rows of the step behind it, in percent of these.
    pub more_percent: u64,
    /// The small buffer pool; none for an eighth of the table.
    pub pool_bytes: Option<u64>,
    /// A way begins no statement and no file later than this, in each step.
    pub seconds_max: f64,
    /// Seconds of an interval of INSERTs. LOAD DATA and Inrush have one for each file.
    pub interval_seconds: f64,
    /// `--path` of Inrush.
    pub path: String,
    /// Memory for Inrush, in bytes; none for its default.
    pub memory_bytes_max: Option<u64>,
    /// Redo log of the server.
    pub log_file_bytes: u64,
    /// Where the server and the rows are while the benchmark runs.
    pub data_dir: PathBuf,
    /// True if the last server's folder is kept.
    pub keep: bool,
    /// The inrush program to measure. Default: the one beside the running one, or on PATH.
    pub program: PathBuf,
    /// Ends the run early, the server with it.
    pub interrupt: Interrupt,
}

impl Default for InsertOptions {
    fn default() -> InsertOptions {
        InsertOptions {
            versions: Vec::new(),
            steps: Vec::new(),
            pools: Vec::new(),
            rows: 4_000_000,
            more_sizes: Vec::new(),
            more_percent: 50,
            pool_bytes: None,
            seconds_max: 300.0,
            interval_seconds: 1.0,
            path: "auto".to_owned(),
            memory_bytes_max: None,
            log_file_bytes: 1 << 30,
            data_dir: host::default_data_dir(),
            keep: false,
            program: program::default_path(),
            interrupt: Interrupt::default(),
        }
    }
}

impl InsertOptions {
    /// Numbers of the rows that a step adds.
    pub(crate) fn rows_of(&self, step: Step) -> Range<u64> {
        match step {
            Step::First => 0..self.rows,
            Step::More => self.rows..self.rows + self.more(),
        }
    }

    /// The same for each size, the least first.
    fn of_each_size(&self) -> Vec<InsertOptions> {
        let mut sizes = [&[self.rows], &self.more_sizes[..]].concat();
        sizes.sort_unstable();
        sizes.dedup();
        sizes.into_iter().map(|rows| InsertOptions { rows, ..self.clone() }).collect()
    }

    fn more(&self) -> u64 {
        (self.rows * self.more_percent / 100).max(1)
    }
}

/// Runs the benchmark. `say` gets a line before each step that takes time.
///
/// Needs the room of three tables, the rows and two redo logs. Errors: an option without meaning, no
/// space, no server, a statement or a load that fails, and ways that leave different rows.
pub fn run(options: &InsertOptions, say: &mut dyn FnMut(&str)) -> Result<InsertOutcome, Error> {
    let sizes = options.of_each_size();
    sizes.iter().try_for_each(check)?;
    let options = sizes.last().unwrap_or(options);
    let data_dir = &options.data_dir;
    let data_dir = std::path::absolute(data_dir).map_err(Error::io("finding", data_dir))?;
    let all = options.rows + options.more();
    let needed_bytes = all * (3 * TABLE_ROW_BYTES + TEXT_ROW_BYTES) + 2 * options.log_file_bytes;
    host::check_space(&data_dir, needed_bytes + (1 << 30))?;
    let notes: Vec<String> = machine::busy_note().into_iter().collect();
    let yard = Yard::open(&data_dir, options.keep, &options.interrupt)?;
    let mut outcome = InsertOutcome {
        head: Head::new(String::new()),
        server_settings: Vec::new(),
        notes,
        rows: options.rows,
        more_rows: options.more(),
        seconds_max: options.seconds_max,
        cases: Vec::new(),
    };
    for options in &sizes {
        for version in Version::chosen(&options.versions) {
            let expected = Vec::new();
            Benchmark { yard: &yard, options, version, expected }.run(&mut outcome, say)?;
        }
    }
    yard.finish()?;
    Ok(outcome)
}

/// Options that have no meaning.
fn check(options: &InsertOptions) -> Result<(), Error> {
    let wrong = |text: String| Err(Error::Option(text));
    let most = rows::ROWS_MAX / 2;
    if !(100..=most).contains(&options.rows) {
        return wrong(format!("--rows is 100 to {most}"));
    }
    if !(1..=100).contains(&options.more_percent) {
        return wrong("--more is 1 to 100 percent of the table".to_owned());
    }
    if !PATHS.contains(&options.path.as_str()) {
        return wrong(format!("--path: {:?} is none of {}", options.path, PATHS.join(", ")));
    }
    if options.seconds_max <= 0.0 || options.interval_seconds <= 0.0 {
        return wrong("--seconds and --interval are more than 0".to_owned());
    }
    if options.pool_bytes.is_some_and(|bytes| bytes < POOL_BYTES_MIN) {
        return wrong(
            "--pool must be at least 8M, the smallest buffer pool of a server".to_owned(),
        );
    }
    Ok(())
}

/// One of the two benchmarks.
struct Benchmark<'a> {
    yard: &'a Yard,
    options: &'a InsertOptions,
    version: Version,
    /// The tables of the first method behind each step.
    expected: Vec<(Step, String, Contents)>,
}

/// The contents of a table that are the same for all methods: not the numbers the server gave.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Contents {
    rows: u64,
    digest: String,
}

impl Benchmark<'_> {
    fn run(&mut self, outcome: &mut InsertOutcome, say: &mut dyn FnMut(&str)) -> Result<(), Error> {
        let table_bytes = self.make_table(outcome, say)?;
        for pool in Pool::chosen(&self.options.pools) {
            let pool_bytes = match pool {
                Pool::Cached => {
                    let grown = table_bytes + table_bytes / 100 * self.options.more_percent;
                    let (bytes, notes) = host::buffer_pool(grown, machine::memory_bytes());
                    outcome.notes.extend(notes);
                    bytes
                }
                Pool::Small => self.small_pool(table_bytes, outcome),
            };
            let (version, runs) = (self.version, Vec::new());
            let rows = self.options.rows;
            let mut case = Case { version, pool, pool_bytes, rows, table_bytes, runs };
            for (step, way, buffering) in self.ways() {
                say(&format!("{version}, {}: {}", pool.name(), line(step, way, buffering)));
                if let Some(run) = self.measure(pool_bytes, step, way, buffering)? {
                    say(&format!(
                        "{version}, {}: {:.0} rows/s",
                        pool.name(),
                        run.rows_per_second()
                    ));
                    case.runs.push(run);
                }
            }
            // As they are read, not as they ran.
            case.runs.sort_by_key(|run| {
                (run.step == Step::More, matches!(run.way, InsertWay::Inrush(_)))
            });
            outcome.cases.push(case);
        }
        Ok(())
    }

    fn small_pool(&self, table_bytes: u64, outcome: &mut InsertOutcome) -> u64 {
        const MIB: u64 = 1 << 20;
        let part = self.options.pool_bytes.unwrap_or(table_bytes / 8 / MIB * MIB);
        if part < POOL_BYTES_MIN {
            outcome.notes.push(format!(
                "{}: the table of {:.1} MB is less than eight times the smallest buffer pool of a \
                 server: choose more --rows for a pool of an eighth of the table",
                self.version,
                table_bytes as f64 / 1e6
            ));
        }
        part.max(POOL_BYTES_MIN)
    }

    /// The table that l.i1 begins with: rows by LOAD DATA, then the indexes. Gives its bytes.
    fn make_table(
        &self,
        outcome: &mut InsertOutcome,
        say: &mut dyn FnMut(&str),
    ) -> Result<u64, Error> {
        let rows = self.options.rows;
        say(&format!("{}: making the table of {rows} rows", self.version));
        let (pool_bytes, _) = host::buffer_pool(rows * TABLE_ROW_BYTES, machine::memory_bytes());
        let options = InsertOptions { seconds_max: f64::MAX, ..self.options.clone() };
        let field = Field { yard: self.yard, options: &options, version: self.version, pool_bytes };
        field.put_empty_aside()?;
        let mut session = field.start(Step::First, Buffering::None)?;
        field.run(&mut session, Step::First, InsertWay::LoadData, Buffering::None)?;
        outcome.head.server_version = session.version().to_string();
        outcome.server_settings = host::settings(&mut session)?;
        let table_bytes = self.yard.table_bytes()?;
        self.yard.put_aside(session, FULL)?;
        Ok(table_bytes)
    }

    /// Inrush first: what it refuses ends the benchmark before the others have taken their time.
    fn ways(&self) -> Vec<(Step, InsertWay, Buffering)> {
        use Buffering::{All, None};
        let first = [InsertWay::Inrush(100), InsertWay::Insert, InsertWay::LoadData];
        let first = first.map(|way| (Step::First, way, None));
        let batches = BATCHES.into_iter().filter(|&percent| percent <= self.options.more_percent);
        let ours = batches.map(|percent| (InsertWay::Inrush(percent), None));
        let theirs = [InsertWay::Insert, InsertWay::LoadData].map(|way| [(way, None), (way, All)]);
        let more = ours.chain(theirs.into_iter().flatten());
        let more = more.map(|(way, buffering)| (Step::More, way, buffering));
        let steps = Step::chosen(&self.options.steps);
        first.into_iter().chain(more).filter(|(step, ..)| steps.contains(step)).collect()
    }

    /// Runs one way on a server of its own; None where that has no change buffer.
    fn measure(
        &mut self,
        pool_bytes: u64,
        step: Step,
        way: InsertWay,
        buffering: Buffering,
    ) -> Result<Option<Run>, Error> {
        let (yard, options, version) = (self.yard, self.options, self.version);
        let field = Field { yard, options, version, pool_bytes };
        let mut session = field.start(step, buffering)?;
        if buffering == Buffering::All && !has_change_buffer(&mut session)? {
            yard.discard(session)?;
            return Ok(None);
        }
        let run = field.run(&mut session, step, way, buffering)?;
        self.check(&mut session, &run)?;
        yard.discard(session)?;
        Ok(Some(run))
    }

    /// Every index has all rows, and these are those of the way before.
    fn check(&mut self, session: &mut Session, run: &Run) -> Result<(), Error> {
        let rows = run.rows_before + run.rows;
        let differs = |seen: String, reference: &str, expected: String| Error::Different {
            table: TABLE.to_owned(),
            method: run.name(),
            seen,
            reference: reference.to_owned(),
            expected,
        };
        for index in self.version.indexes() {
            let sql = format!("SELECT COUNT(*) FROM {TABLE} FORCE INDEX (`{index}`)");
            let there: u64 = session.query_row(&sql)?.number(0)?;
            if there != rows {
                let seen = format!("{there} rows by index {index}");
                return Err(differs(seen, "by what was added, it", format!("{rows} rows")));
            }
        }
        if !run.is_whole {
            return Ok(());
        }
        let columns = self.version.columns();
        let sql = format!("SELECT BIT_XOR(CRC32(CONCAT_WS('|', {columns}))) FROM {TABLE}");
        let seen = Contents { rows, digest: session.query_row(&sql)?.text(0)? };
        match self.expected.iter().find(|(step, ..)| *step == run.step) {
            None => self.expected.push((run.step, run.name(), seen)),
            Some((_, _, expected)) if *expected == seen => {}
            Some((_, name, expected)) => {
                let show = |it: &Contents| format!("{} rows of checksum {}", it.rows, it.digest);
                return Err(differs(show(&seen), name, show(expected)));
            }
        }
        Ok(())
    }
}

fn has_change_buffer(session: &mut Session) -> Result<bool, Error> {
    Ok(!session.query("SHOW VARIABLES LIKE 'innodb_change_buffering'")?.is_empty())
}

fn line(step: Step, way: InsertWay, buffering: Buffering) -> String {
    let step = if step == Step::First { "l.i0" } else { "l.i1" };
    let way = match way {
        InsertWay::Insert => "INSERT".to_owned(),
        InsertWay::LoadData => "LOAD DATA".to_owned(),
        InsertWay::Inrush(percent) => format!("Inrush, batches of {percent} %"),
    };
    format!("{step} by {way}, change buffering {}", buffering.name())
}
