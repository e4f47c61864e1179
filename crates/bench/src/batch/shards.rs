//! `inrush bench batch --shards 1,2,4`: the document's tables against a head and its shards.
//!
//! ```text
//! clients --INSERT--> head --INSERT--> s1, s2, ..    through the head: batch sizes, threads
//! clients --INSERT, LOAD DATA--> s1, s2, ..          straight to the shards, each client to one of them
//! inrush load: one reading, a load a shard           by stream, and direct
//! ```
//!
//! The Spider server and the shards are servers of their own on this machine, of the sandbox's kind, and the
//! table is divided by HASH (id) among the first 1, 2, 4 of them. They share the machine's processors, so
//! rows a second cannot grow with the shards. Processor time shows that more machines would bring more: a row
//! costs coordinator, shards and client the same however many shards there are, and no shard is done long
//! before the last.
//!
//! In reading order: `cluster` the servers, `ways` of loading, `outcome` what is printed.

mod cluster;
mod outcome;
mod ways;

use std::path::PathBuf;
use std::time::Duration;

use server::Interrupt;

use self::cluster::Cluster;
pub use self::outcome::{ShardsOutcome, WayOutcome};
use self::ways::{Run, ShardWay, Ways};
use super::grid::Cell;
use crate::error::Error;
use crate::head::Head;
use crate::host;
use crate::program;
use crate::sbtest::{self, Tuples};

/// Options of a run. `ShardsOptions::default()` takes some minutes.
#[derive(Clone, Debug)]
pub struct ShardsOptions {
    /// Numbers of shards.
    pub shards: Vec<usize>,
    /// Rows of each run.
    pub rows: u64,
    /// Batch sizes of INSERTs, at `at.threads`.
    pub batches: Vec<usize>,
    /// Numbers of clients, at `at.batch`.
    pub threads: Vec<usize>,
    /// Where the two comparisons meet.
    pub at: Cell,
    /// Runs of each.
    pub repeat: usize,
    /// INSERTs begin no statement later than this.
    pub time_max: Duration,
    /// Memory for Inrush; none for its default.
    pub memory: Option<String>,
    /// Where rows and servers are.
    pub data_dir: PathBuf,
    /// True if the servers' folders stay.
    pub keep: bool,
    /// The inrush program to measure.
    pub program: PathBuf,
    /// Ends the run early, the servers with it.
    pub interrupt: Interrupt,
}

impl Default for ShardsOptions {
    fn default() -> ShardsOptions {
        ShardsOptions {
            shards: vec![1, 2, 4],
            rows: 100_000,
            batches: vec![10, 100, 1_000],
            threads: vec![1, 4, 8],
            at: Cell { batch: 1_000, threads: 4 },
            repeat: 1,
            time_max: Duration::from_secs(5),
            memory: None,
            data_dir: host::default_data_dir(),
            keep: false,
            program: program::default_path(),
            interrupt: Interrupt::default(),
        }
    }
}

/// Runs the benchmark. `say` gets a line before each step that takes time.
///
/// Errors: an option without meaning, no server with Spider, a statement or a load that fails, rows that are
/// not where they belong.
pub fn run(options: &ShardsOptions, say: &mut dyn FnMut(&str)) -> Result<ShardsOutcome, Error> {
    check(options)?;
    let most = options.shards.iter().copied().max().unwrap_or(1);
    let needed_bytes = options.rows * (2 * sbtest::ROW_BYTES + 2 * sbtest::TABLE_ROW_BYTES);
    host::check_space(&options.data_dir, needed_bytes + (1 << 30))?;
    let data_dir =
        std::path::absolute(&options.data_dir).map_err(Error::io("finding", &options.data_dir))?;
    say(&format!("making {} rows, and a Spider server with {most} shards", options.rows));
    let file = sbtest::file(options.rows, &data_dir)?;
    let tuples = Tuples::new(options.rows);
    let cluster = Cluster::start(&data_dir, most, options.keep)?;
    let mut ways = Ways::new(&cluster, options, &tuples, &file)?;
    let mut all: Vec<WayOutcome> = Vec::new();
    for round in 0..options.repeat {
        for &shards in &options.shards {
            ways.divide(shards)?;
            for way in chosen(options) {
                options.interrupt.check().map_err(Error::Server)?;
                let run = ways.run(way)?;
                say(&format!(
                    "round {} of {}, {shards} shards, {}: {:.0} rows/s",
                    round + 1,
                    options.repeat,
                    way.name(),
                    run.rows as f64 / run.seconds
                ));
                add(&mut all, way, shards, run);
            }
        }
    }
    let outcome = ShardsOutcome {
        head: Head::new(cluster.version()?),
        rows: options.rows,
        seconds_max: options.time_max.as_secs_f64(),
        ways: all,
    };
    drop(ways);
    cluster.finish()?;
    Ok(outcome)
}

fn add(all: &mut Vec<WayOutcome>, way: ShardWay, shards: usize, run: Run) {
    let name = way.name();
    match all.iter_mut().find(|known| known.way == name && known.shards == shards) {
        Some(known) => known.runs.push(run),
        None => all.push(WayOutcome { way: name, shards, runs: vec![run] }),
    }
}

/// The ways in the order they are run and printed: both comparisons through the head, then to the shards.
fn chosen(options: &ShardsOptions) -> Vec<ShardWay> {
    let at = options.at;
    let mut cells: Vec<Cell> = options.batches.iter().map(|&batch| Cell { batch, ..at }).collect();
    cells.extend(options.threads.iter().map(|&threads| Cell { threads, ..at }));
    cells.push(at);
    cells.sort_unstable();
    cells.dedup();
    let head = cells.iter().map(|&cell| ShardWay::Head(cell));
    let affine = cells.iter().map(|&cell| ShardWay::Affine(cell));
    head.chain(affine).chain([ShardWay::LoadData, ShardWay::Stream, ShardWay::Direct]).collect()
}

fn check(options: &ShardsOptions) -> Result<(), Error> {
    let numbers = [
        &options.shards[..],
        &options.batches,
        &options.threads,
        &[options.at.batch, options.at.threads, options.repeat],
    ];
    if numbers.concat().contains(&0) || options.shards.is_empty() {
        let wrong = "shards, batch sizes, threads and --repeat must be at least 1";
        return Err(Error::Option(wrong.to_owned()));
    }
    if !(1..=sbtest::ROWS_MAX).contains(&options.rows) {
        return Err(Error::Option(format!("--rows is 1 to {}", sbtest::ROWS_MAX)));
    }
    Ok(())
}
