//! `inrush bench batch`: rows a second over batch size and number of threads.
//!
//! The experiment of PolarDB-X's document on batch inserts, on any server: table `sbtest1`,
//! multi-row INSERTs, each committed by itself. First the grid: every cell inserts the same rows
//! into the same table, which is emptied before, with both indexes in place. All cells are measured
//! once, then the two sweeps and whatever came near the best again. Then the loads: more rows, by
//! the best cells again, by LOAD DATA, and by Inrush, which is told nothing and has the file to read.
//! They take turns, so that a change of the machine's mood meets all; afterwards each has to have
//! left the same table.
//!
//! In reading order: [`clients`] inserts as one cell does, [`grid`] holds the cells, [`loads`] are the
//! ways that are compared at the end, [`outcome`] is what is printed and [`chart`] what is drawn. [`shards`] is
//! the same against a head and its shards.

pub mod chart;
mod clients;
pub mod grid;
pub mod loads;
pub mod outcome;
pub mod shards;

use std::path::Path;
use std::time::Duration;

use server::Session;

pub use self::grid::Cell;
pub use self::outcome::BatchOutcome;

use self::clients::{Clients, Inserted};
use self::grid::Grid;
use self::loads::{BatchWay, InrushPath, Loads};
use crate::clock::{Clock, Took};
use crate::error::Error;
use crate::figure::rate;
use crate::head::Head;
use crate::host::{self, DATABASE, Host, HostOptions};
use crate::program::Program;
use crate::sbtest::{self, Tuples};

/// Batch sizes of the document.
pub(crate) const BATCHES: [usize; 8] = [1, 10, 100, 500, 1_000, 2_000, 5_000, 10_000];
/// Numbers of threads of the document.
pub const THREADS: [usize; 8] = [1, 2, 4, 8, 16, 32, 64, 128];
/// Cells that are measured again beside the loads.
const BEST_CELLS: usize = 3;
/// Rows of the loads before the grid.
const REHEARSED_ROWS: u64 = 100;
/// Connections that a server keeps for others.
const CONNECTIONS_SPARE: usize = 10;

/// Options of a run. `BatchOptions::default()` is the document's grid, on a server of its own.
#[derive(Clone, Debug)]
pub struct BatchOptions {
    /// Rows that each cell of the grid inserts.
    pub rows: u64,
    /// Rows of the loads at the end. More than `rows`, because a controller needs some to learn on.
    pub load_rows: u64,
    /// Batch sizes.
    pub batches: Vec<usize>,
    /// Numbers of threads.
    pub threads: Vec<usize>,
    /// The threads that batch sizes are compared at, and the batch size that threads are.
    pub at: Cell,
    /// Measure the two sweeps only.
    pub sweeps_only: bool,
    /// Runs of each cell on a sweep or near the best, and of each load.
    pub repeat: usize,
    /// A cell's run begins no statement later than this; its rate is that of the rows until then.
    pub time_max: Duration,
    /// Memory for Inrush, in bytes; none for its default.
    pub memory_bytes_max: Option<u64>,
    /// The server, and the program that is measured.
    pub host: HostOptions,
}

impl Default for BatchOptions {
    fn default() -> BatchOptions {
        BatchOptions {
            rows: 400_000,
            load_rows: 2_000_000,
            batches: BATCHES.to_vec(),
            threads: THREADS.to_vec(),
            at: Cell { batch: 1_000, threads: 16 },
            sweeps_only: false,
            repeat: 3,
            time_max: Duration::from_secs(5),
            memory_bytes_max: None,
            host: HostOptions::default(),
        }
    }
}

/// Runs the benchmark. `say` gets a line before each step that takes time.
///
/// Errors: an option without meaning, no space, no server, a statement or a load that fails, and
/// ways that leave different tables.
pub fn run(options: &BatchOptions, say: &mut dyn FnMut(&str)) -> Result<BatchOutcome, Error> {
    check(options)?;
    let rows = options.load_rows;
    let needed_bytes = rows * (sbtest::ROW_BYTES + 3 * sbtest::TABLE_ROW_BYTES);
    options.host.check_space(needed_bytes)?;
    let data_dir = options.host.data_dir()?;
    say(&format!("making {rows} rows"));
    let file = sbtest::file(rows, &data_dir)?;
    let tuples = Tuples::new(rows);
    let host = Host::start(&options.host, 2 * rows * sbtest::TABLE_ROW_BYTES)?;
    let mut runs = Bench::new(&host, options, &tuples)?;
    runs.rehearse(&data_dir)?;
    let grid = runs.grid(say)?;
    let ways = ways(&grid);
    let loads = runs.loads(&ways, &file, say)?;
    let outcome = BatchOutcome {
        head: Head::new(runs.session.version().to_string()),
        server_settings: host::settings(&mut runs.session)?,
        notes: host.notes.clone(),
        rows: options.rows,
        seconds_max: options.time_max.as_secs_f64(),
        grid,
        loads,
    };
    if !options.host.keep {
        runs.session.exec(&format!("DROP DATABASE IF EXISTS {DATABASE}"))?;
    }
    drop(runs);
    host.finish()?;
    Ok(outcome)
}

/// Options that have no meaning.
fn check(options: &BatchOptions) -> Result<(), Error> {
    let wrong = |text: &str| Err(Error::Option(text.to_owned()));
    let numbers = [&options.batches[..], &options.threads, &[options.at.batch, options.at.threads]];
    if numbers.concat().contains(&0) || options.repeat == 0 {
        return wrong("batch sizes, threads and --repeat must be at least 1");
    }
    if options.batches.is_empty() || options.threads.is_empty() {
        return wrong("a grid has at least one batch size and one number of threads");
    }
    let most = sbtest::ROWS_MAX;
    if !(1..=most).contains(&options.rows) || !(options.rows..=most).contains(&options.load_rows) {
        return Err(Error::Option(format!(
            "--rows is 1 to {most}, and --load-rows that many or more, up to {most}"
        )));
    }
    let fits = options.at.batch as u64 * (options.at.threads as u64 - 1) < options.rows;
    if !fits {
        return Err(Error::Option(format!(
            "{} rows are too few for a statement of {} rows for each of {} threads: choose more \
             --rows",
            options.rows, options.at.batch, options.at.threads
        )));
    }
    Ok(())
}

/// The methods compared at the end: the best cells, LOAD DATA, Inrush as it is, and Inrush with the
/// best cells' batch and connections, beside which it shows the cost or gain of finding them.
fn ways(grid: &Grid) -> Vec<BatchWay> {
    let best: Vec<Cell> = grid.best(BEST_CELLS).iter().map(|measured| measured.cell).collect();
    let inrush = [InrushPath::Insert, InrushPath::Stream].map(BatchWay::Inrush);
    let told = best.iter().map(|&cell| BatchWay::Fixed(InrushPath::Insert, cell));
    let cells = best.iter().map(|&cell| BatchWay::Cell(cell));
    cells.chain([BatchWay::LoadData]).chain(inrush).chain(told).collect()
}

/// The server and the rows while the benchmark runs.
struct Bench<'a> {
    host: &'a Host,
    options: &'a BatchOptions,
    tuples: &'a Tuples,
    program: Program,
    session: Session,
}

impl<'a> Bench<'a> {
    /// Makes the table, and sees that the server can take the grid.
    fn new(
        host: &'a Host,
        options: &'a BatchOptions,
        tuples: &'a Tuples,
    ) -> Result<Bench<'a>, Error> {
        let mut session = host.session()?;
        let limits = session.query_row("SELECT @@max_connections, @@max_allowed_packet")?;
        let connections: usize = limits.number(0)?;
        let threads = options.threads.iter().chain([&options.at.threads]).max();
        let threads = threads.copied().unwrap_or(1);
        if threads + CONNECTIONS_SPARE > connections {
            return Err(Error::Option(format!(
                "the server takes {connections} connections (max_connections), too few for \
                 {threads} threads: choose fewer --threads"
            )));
        }
        let packet_bytes: u64 = limits.number(1)?;
        let batch = options.batches.iter().chain([&options.at.batch]).max().copied().unwrap_or(1);
        if batch as u64 * sbtest::ROW_BYTES + 1024 > packet_bytes {
            return Err(Error::Option(format!(
                "the server takes statements of {packet_bytes} bytes (max_allowed_packet), too few \
                 for {batch} rows: choose smaller --batches"
            )));
        }
        session.exec(&format!("CREATE DATABASE IF NOT EXISTS {DATABASE}"))?;
        session.exec(&format!("USE {DATABASE}"))?;
        session.exec("DROP TABLE IF EXISTS sbtest1")?;
        session.exec(sbtest::DDL)?;
        let program = host.program(&options.host);
        Ok(Bench { host, options, tuples, program, session })
    }

    /// Loads a few rows in every way but the cells': what cannot work fails now, and not after the grid.
    fn rehearse(&mut self, data_dir: &Path) -> Result<(), Error> {
        let file = sbtest::file(REHEARSED_ROWS, data_dir)?;
        let inrush = [InrushPath::Insert, InrushPath::Stream].map(BatchWay::Inrush);
        for way in [BatchWay::LoadData].into_iter().chain(inrush) {
            self.load(way, &file, REHEARSED_ROWS)?;
        }
        Ok(())
    }

    /// Measures the cells, round by round.
    fn grid(&mut self, say: &mut dyn FnMut(&str)) -> Result<Grid, Error> {
        let options = self.options;
        let rows = options.rows as usize;
        let (at, only) = (options.at, options.sweeps_only);
        let mut grid = Grid::new(&options.batches, &options.threads, at, rows, only);
        say("warming up");
        self.cell(at, rows, options.time_max)?;
        for round in 0..options.repeat {
            let due = grid.due(round);
            for (index, &cell) in due.iter().enumerate() {
                let (run, _) = self.cell(cell, rows, options.time_max)?;
                grid.push(cell, run);
                say(&format!(
                    "round {} of {}, cell {} of {}: {cell}: {:.0} rows/s",
                    round + 1,
                    options.repeat,
                    index + 1,
                    due.len(),
                    rate(run.rows, run.seconds)
                ));
            }
        }
        Ok(grid)
    }

    /// One run of a cell, into the emptied table; sees that what was committed is there.
    fn cell(
        &mut self,
        cell: Cell,
        rows: usize,
        time_max: Duration,
    ) -> Result<(Inserted, Took), Error> {
        self.empty()?;
        let connect = &self.host.server.connect;
        let clients = Clients { connect, tuples: self.tuples, rows, time_max };
        let clock = Clock::start(self.host.pid());
        let done = clients.insert(cell.batch, cell.threads)?;
        let took = clock.stop();
        let there: u64 = self.session.query_row("SELECT COUNT(*) FROM sbtest1")?.number(0)?;
        if there != done.rows {
            return Err(Error::Different {
                table: "sbtest1".to_owned(),
                method: cell.to_string(),
                seen: format!("{there} rows"),
                reference: "by what the server answered, it".to_owned(),
                expected: format!("{} rows", done.rows),
            });
        }
        Ok((done, took))
    }

    /// Empties the table and waits until the server is idle.
    fn empty(&mut self) -> Result<(), Error> {
        self.session.exec("TRUNCATE TABLE sbtest1")?;
        host::settle(&mut self.session, self.host.is_own())
    }

    /// Runs the ways in turns, each round beginning with another.
    fn loads(
        &mut self,
        ways: &[BatchWay],
        file: &Path,
        say: &mut dyn FnMut(&str),
    ) -> Result<Loads, Error> {
        let mut loads = Loads::new(ways, self.options.load_rows);
        for round in 0..self.options.repeat {
            for turn in 0..ways.len() {
                let way = ways[(round + turn) % ways.len()];
                let loaded = self.load(way, file, self.options.load_rows)?;
                say(&format!(
                    "round {} of {}: {} rows by {}: {:.2} s",
                    round + 1,
                    self.options.repeat,
                    self.options.load_rows,
                    way.name(),
                    loaded.took.seconds
                ));
                loads.push(way, loaded)?;
            }
        }
        Ok(loads)
    }
}
