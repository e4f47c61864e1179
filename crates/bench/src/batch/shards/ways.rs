//! The ways of getting the rows to the shards, and what each takes.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde::Serialize;
use server::{ConnectOptions, Session};

use super::ShardsOptions;
use super::cluster::Cluster;
use crate::batch::grid::Cell;
use crate::clients::send;
use crate::clock;
use crate::error::Error;
use crate::host::DATABASE;
use crate::program::Program;
use crate::sbtest::{self, Tuples};

/// The text before the tuples.
const INSERT: &str = "INSERT INTO inrush_bench.sbtest1 (id, k, c, pad) VALUES ";

/// A way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ShardWay {
    /// INSERTs, which the head divides.
    Head(Cell),
    /// INSERTs of one shard's rows each, sent there; a client has one shard.
    Affine(Cell),
    /// LOAD DATA LOCAL of a file of its rows into each shard, over one connection each.
    LoadData,
    /// `inrush load --path stream`.
    Stream,
    /// `inrush load --path direct`.
    Direct,
}

impl ShardWay {
    pub(super) fn name(self) -> String {
        match self {
            ShardWay::Head(cell) => format!("INSERT through Spider, {cell}"),
            ShardWay::Affine(cell) => format!("INSERT to the shards, {cell}"),
            ShardWay::LoadData => "LOAD DATA to each shard".to_owned(),
            ShardWay::Stream => "Inrush stream".to_owned(),
            ShardWay::Direct => "Inrush direct".to_owned(),
        }
    }
}

/// The times of one run.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Run {
    /// Rows that are in.
    pub rows: u64,
    /// From the first statement, or the start of the program, to the end.
    pub seconds: f64,
    /// Processor seconds of the head.
    pub head_cpu_seconds: f64,
    /// Processor seconds of each shard.
    pub shards_cpu_seconds: Vec<f64>,
    /// Processor seconds of the client: the benchmark, or Inrush.
    pub client_cpu_seconds: f64,
    /// When each shard had all its rows; empty where the head divides them.
    pub finished_seconds: Vec<f64>,
    /// How long each shard's load waited for rows of the input; Inrush says that.
    pub waited_seconds: Vec<f64>,
}

/// Processor seconds so far.
struct Used {
    servers: Vec<f64>,
    client: f64,
}

/// All that the ways need.
pub(super) struct Ways<'a> {
    cluster: &'a Cluster,
    options: &'a ShardsOptions,
    tuples: &'a Tuples,
    file: &'a Path,
    head: Session,
    /// Those of the shards that are in use.
    shards: Vec<Session>,
    pids: Vec<Option<u32>>,
    /// The rows of each shard, as tuples and as a file.
    parts: Vec<(Tuples, PathBuf)>,
}

impl<'a> Ways<'a> {
    pub(super) fn new(
        cluster: &'a Cluster,
        options: &'a ShardsOptions,
        tuples: &'a Tuples,
        file: &'a Path,
    ) -> Result<Ways<'a>, Error> {
        let mut head = cluster.session(0)?;
        head.exec(&format!("CREATE DATABASE IF NOT EXISTS {DATABASE}"))?;
        let (shards, parts) = (Vec::new(), Vec::new());
        Ok(Ways { cluster, options, tuples, file, head, shards, pids: cluster.pids(), parts })
    }

    /// Has the table divided among the first so many shards, empty.
    pub(super) fn divide(&mut self, count: usize) -> Result<(), Error> {
        self.shards.clear();
        for shard in 1..=count {
            let mut session = self.cluster.session(shard)?;
            session.exec(&format!("CREATE DATABASE IF NOT EXISTS {DATABASE}"))?;
            session.exec(&format!("USE {DATABASE}"))?;
            session.exec("DROP TABLE IF EXISTS sbtest1")?;
            session.exec(sbtest::DDL)?;
            self.shards.push(session);
        }
        let partition =
            |shard| format!("PARTITION p{shard} COMMENT='srv \"{}\"'", self.cluster.name(shard));
        let partitions: Vec<String> = (1..=count).map(partition).collect();
        let ddl = sbtest::DDL.replace("ENGINE=InnoDB", "ENGINE=SPIDER");
        self.head.exec(&format!("USE {DATABASE}"))?;
        self.head.exec("DROP TABLE IF EXISTS sbtest1")?;
        self.head.exec(&format!(
            "{ddl} COMMENT='wrapper \"mysql\", database \"{DATABASE}\", table \"sbtest1\"' \
             PARTITION BY HASH (id) ({})",
            partitions.join(", ")
        ))?;
        let part = |shard| Ok((self.tuples.every(count, shard), self.part(count, shard)?));
        self.parts = (0..count).map(part).collect::<Result<_, Error>>()?;
        Ok(())
    }

    /// The lines of the file that go to a shard.
    fn part(&self, count: usize, shard: usize) -> Result<PathBuf, Error> {
        let path = self.file.with_extension(format!("{count}-{shard}.tsv"));
        let reading = File::open(self.file).map_err(Error::io("opening", self.file))?;
        let writing = File::create(&path).map_err(Error::io("making", &path))?;
        let (mut lines, mut out) = (BufReader::new(reading).lines(), BufWriter::new(writing));
        for at in 1.. {
            let Some(line) = lines.next() else { break };
            let line = line.map_err(Error::io("reading", self.file))?;
            if at % count == shard {
                writeln!(out, "{line}").map_err(Error::io("writing", &path))?;
            }
        }
        out.flush().map_err(Error::io("writing", &path))?;
        Ok(path)
    }

    /// One run into the empty table; sees that all rows that went in are there, each where it belongs.
    pub(super) fn run(&mut self, way: ShardWay) -> Result<Run, Error> {
        // A load of Inrush puts other tables in the place of these.
        self.divide_again(way)?;
        rustix::fs::sync();
        let before = self.used();
        let mut run = match way {
            ShardWay::Head(cell) => self.head(cell)?,
            ShardWay::Affine(cell) => self.affine(cell)?,
            ShardWay::LoadData => self.load_data()?,
            ShardWay::Stream => self.inrush("stream")?,
            ShardWay::Direct => self.inrush("direct")?,
        };
        let after = self.used();
        let servers =
            after.servers.iter().zip(&before.servers).map(|(after, before)| after - before);
        let mut servers = servers.take(self.shards.len() + 1);
        run.head_cpu_seconds = servers.next().unwrap_or_default();
        run.shards_cpu_seconds = servers.collect();
        run.client_cpu_seconds = after.client - before.client;
        self.check(way, &run)?;
        Ok(run)
    }

    fn divide_again(&mut self, way: ShardWay) -> Result<(), Error> {
        let is_clean = !matches!(way, ShardWay::Stream | ShardWay::Direct);
        for session in &mut self.shards {
            let exists = session.query("SHOW TABLES LIKE 'sbtest1'")?;
            if exists.is_empty() {
                return self.divide(self.shards.len());
            }
            session.exec("TRUNCATE TABLE sbtest1")?;
        }
        // Those of the load before are behind other links.
        if is_clean { Ok(()) } else { self.divide(self.shards.len()) }
    }

    fn used(&self) -> Used {
        let servers = self.pids.iter().map(|pid| clock::cpu_of_server(*pid)).collect();
        Used { servers, client: clock::cpu_of_client() }
    }

    fn head(&self, cell: Cell) -> Result<Run, Error> {
        let next = AtomicUsize::new(0);
        let clients: Vec<Vec<Target<'_>>> = (0..cell.threads)
            .map(|_| vec![Target { server: 0, tuples: self.tuples, next: &next }])
            .collect();
        let (run, _) = self.insert(cell.batch, &clients)?;
        Ok(run)
    }

    /// A client has one shard, or more where there are fewer clients than shards, one after the other.
    fn affine(&self, cell: Cell) -> Result<Run, Error> {
        let count = self.shards.len();
        let next: Vec<AtomicUsize> = (0..count).map(|_| AtomicUsize::new(0)).collect();
        let target = |shard: usize| Target {
            server: shard + 1,
            tuples: &self.parts[shard].0,
            next: &next[shard],
        };
        let clients: Vec<Vec<Target<'_>>> = (0..cell.threads)
            .map(|client| match client < count {
                true => (client..count).step_by(cell.threads).map(target).collect(),
                false => vec![target(client % count)],
            })
            .collect();
        let (mut run, last) = self.insert(cell.batch, &clients)?;
        run.finished_seconds = (1..=count)
            .map(|server| {
                last.iter().filter(|(of, _)| *of == server).fold(0.0, |a: f64, (_, b)| a.max(*b))
            })
            .collect();
        Ok(run)
    }

    /// Has each client insert the rows of its targets; gives also when each had its last row in.
    fn insert(
        &self,
        batch: usize,
        clients: &[Vec<Target<'_>>],
    ) -> Result<(Run, Vec<(usize, f64)>), Error> {
        let (time_max, ready) = (self.options.time_max, Barrier::new(clients.len() + 1));
        let client = |targets: &[Target<'_>]| {
            let sessions: Result<Vec<Session>, Error> =
                targets.iter().map(|target| self.cluster.session(target.server)).collect();
            ready.wait();
            let started = Instant::now();
            let mut done = Vec::new();
            for (mut session, target) in sessions?.into_iter().zip(targets) {
                let rows = target.insert(&mut session, batch, started, time_max)?;
                done.push((target.server, rows, started.elapsed().as_secs_f64()));
            }
            Ok::<_, Error>(done)
        };
        let client = &client;
        let (parts, seconds) = std::thread::scope(|scope| {
            let handles: Vec<_> =
                clients.iter().map(|targets| scope.spawn(move || client(targets))).collect();
            ready.wait();
            let started = Instant::now();
            let parts: Vec<_> = handles
                .into_iter()
                .map(|handle| handle.join().unwrap_or_else(|died| std::panic::resume_unwind(died)))
                .collect();
            (parts, started.elapsed().as_secs_f64())
        });
        let (mut run, mut last) = (Run { seconds, ..Run::default() }, Vec::new());
        for part in parts {
            for (server, rows, seconds) in part? {
                run.rows += rows;
                last.push((server, seconds));
            }
        }
        Ok((run, last))
    }

    fn load_data(&self) -> Result<Run, Error> {
        let ready = Barrier::new(self.parts.len() + 1);
        let load = |shard: usize| {
            let path = &self.parts[shard].1;
            let session = self.cluster.session(shard + 1);
            let file = File::open(path).map_err(Error::io("opening", path));
            ready.wait();
            let started = Instant::now();
            let sql = format!("LOAD DATA LOCAL INFILE 'x' INTO TABLE {DATABASE}.sbtest1");
            session?.load_local(&sql, file?)?;
            Ok(started.elapsed().as_secs_f64())
        };
        let load = &load;
        let (finished, seconds) = std::thread::scope(|scope| {
            let handles: Vec<_> =
                (0..self.parts.len()).map(|shard| scope.spawn(move || load(shard))).collect();
            ready.wait();
            let started = Instant::now();
            let finished: Vec<Result<f64, Error>> = handles
                .into_iter()
                .map(|handle| handle.join().unwrap_or_else(|died| std::panic::resume_unwind(died)))
                .collect();
            (finished, started.elapsed().as_secs_f64())
        });
        let finished_seconds = finished.into_iter().collect::<Result<Vec<f64>, Error>>()?;
        Ok(Run { rows: self.options.rows, seconds, finished_seconds, ..Run::default() })
    }

    fn inrush(&self, path: &str) -> Result<Run, Error> {
        let table = format!("{DATABASE}.sbtest1");
        let mut arguments: Vec<OsString> = vec!["--path".into(), path.into()];
        if let Some(memory) = &self.options.memory {
            arguments.extend(["--memory".into(), memory.into()]);
        }
        let server = format!("--defaults-file={}", self.cluster.client_file().display());
        let path = self.options.program.clone();
        let program =
            Program { path, connect_arguments: vec![server.into()], environment: Vec::new() };
        let started = Instant::now();
        let report = program.load(self.file, &table, &arguments, &ConnectOptions::default())?;
        let seconds = started.elapsed().as_secs_f64();
        let of_shards = |name: &str| {
            let shards = report["shards"].as_array().map(Vec::as_slice).unwrap_or_default();
            shards.iter().filter_map(|shard| shard[name].as_f64()).collect()
        };
        Ok(Run {
            rows: report["rows"].as_u64().unwrap_or_default(),
            seconds,
            finished_seconds: of_shards("seconds"),
            waited_seconds: of_shards("waited_seconds"),
            ..Run::default()
        })
    }

    fn check(&mut self, way: ShardWay, run: &Run) -> Result<(), Error> {
        let different = |seen: String, expected: String| Error::Different {
            table: "sbtest1".to_owned(),
            method: way.name(),
            seen,
            reference: "by what the servers answered, it".to_owned(),
            expected,
        };
        let there: u64 = self.head.query_row("SELECT COUNT(*) FROM sbtest1")?.number(0)?;
        let is_timed = matches!(way, ShardWay::Head(_) | ShardWay::Affine(_));
        if there != run.rows || (!is_timed && there != self.options.rows) {
            return Err(different(format!("{there} rows"), format!("{} rows", run.rows)));
        }
        let checked = self.head.query_row("CHECK TABLE sbtest1")?.text(3)?;
        match checked == "OK" {
            true => Ok(()),
            false => Err(different(
                format!("a table for which CHECK TABLE reports {checked:?}"),
                "OK".into(),
            )),
        }
    }
}

/// Rows that go to a server, whose clients share them.
struct Target<'t> {
    server: usize,
    tuples: &'t Tuples,
    next: &'t AtomicUsize,
}

impl Target<'_> {
    /// Inserts what others have left, or until time is over; gives how many rows that were.
    fn insert(
        &self,
        session: &mut Session,
        batch: usize,
        started: Instant,
        time_max: Duration,
    ) -> Result<u64, Error> {
        let (mut sql, mut rows) = (String::from(INSERT), 0);
        while started.elapsed() < time_max {
            let first = self.next.fetch_add(1, Ordering::Relaxed) * batch;
            let end = (first + batch).min(self.tuples.len());
            if first >= end {
                break;
            }
            sql.truncate(INSERT.len());
            sql.push_str(self.tuples.values(first..end));
            send(session, &sql)?;
            rows += (end - first) as u64;
        }
        Ok(rows)
    }
}

impl Drop for Ways<'_> {
    fn drop(&mut self) {
        // They are made again in a moment.
        for (_, path) in &self.parts {
            let _ = fs::remove_file(path);
        }
    }
}
