//! Loads against a server that fails at any request: it refuses, it loses the connection before or after the
//! request was executed, or it reports that somebody ended an executed statement. The reported outcome of a
//! load must be true, and the same command must make it good.
//!
//! `INRUSH_MODEL_RUNS=5000` makes as many loads, `INRUSH_SEED` others.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use load::{Error, LoadOptions, LoadPath, Mode};
use server::ConnectOptions;
use testkit::Random;
use testkit::proxy::{Fate, Proxy, Request};
use testkit::tables::server::{Db, Server};

/// Loads of each way where nothing is said of it: some 12 seconds of them. Rows that are sent meet more
/// in `stand_in`.
const BUILT_RUNS: usize = 10;
const SENT_RUNS: usize = 5;
/// Rows of each file; each file is a chunk.
const FILE_ROWS: u64 = 100;
const FILES: u64 = 3;
/// Requests that are not there in every run.
const MORE_REQUESTS: usize = 3;

/// A lock that did not come, a deadlock, a disk that is full, a server that is read-only, no right; a
/// server that goes down, a connection and a statement that were killed.
const REFUSALS: [u16; 8] = [1205, 1213, 1021, 1290, 1142, 1053, 1927, 1317];
/// The errors among these that are also reported for an executed statement.
const UNCLEAR: [u16; 3] = [1053, 1927, 1317];

/// A way in.
pub(crate) struct LoadCase {
    path: LoadPath,
    mode: Mode,
    /// Statements that make table `t`.
    sql: &'static [&'static str],
    /// True if the table has rows before.
    has_rows: bool,
}

const PLAIN: &[&str] = &["CREATE TABLE t (a INT PRIMARY KEY, b INT, KEY b (b)) ENGINE=InnoDB"];
const WITH_TRIGGER: &[&str] = &[
    "CREATE TABLE t (a INT PRIMARY KEY, b INT) ENGINE=InnoDB",
    "CREATE TRIGGER g BEFORE INSERT ON t FOR EACH ROW SET NEW.b = NEW.b + 1",
];

/// Into a staging table, into the table chunk by chunk, into it by one transaction; built.
pub(crate) const WAYS: [LoadCase; 7] = [
    LoadCase { path: LoadPath::Stream, mode: Mode::Replace, sql: PLAIN, has_rows: true },
    LoadCase { path: LoadPath::Insert, mode: Mode::Insert, sql: PLAIN, has_rows: false },
    LoadCase { path: LoadPath::Stream, mode: Mode::Append, sql: PLAIN, has_rows: true },
    LoadCase { path: LoadPath::Insert, mode: Mode::Replace, sql: WITH_TRIGGER, has_rows: true },
    LoadCase { path: LoadPath::Stream, mode: Mode::Insert, sql: WITH_TRIGGER, has_rows: false },
    LoadCase { path: LoadPath::Direct, mode: Mode::Replace, sql: PLAIN, has_rows: true },
    LoadCase { path: LoadPath::Direct, mode: Mode::Insert, sql: PLAIN, has_rows: false },
];

/// The outcome for a table, as the load reported it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ReportedOutcome {
    /// It is new.
    New,
    /// It is as before, but for so many rows.
    Old { added: u64 },
    /// Nothing tells.
    Unknown,
}

/// The same of an outcome.
pub(crate) fn told<T>(outcome: &Result<T, Error>) -> ReportedOutcome {
    let Err(error) = outcome else { return ReportedOutcome::New };
    let mut inner = error;
    while let Error::Step { error, .. } | Error::Several { error, .. } = inner {
        inner = error;
    }
    match inner {
        Error::AllIn { .. } => ReportedOutcome::New,
        Error::SwapUnknown { .. } | Error::Appended { rows: None, .. } => ReportedOutcome::Unknown,
        Error::Server(server::Error::CommitUnknown(_) | server::Error::Unanswered(_)) => {
            ReportedOutcome::Unknown
        }
        Error::Appended { rows: Some(rows), .. } => ReportedOutcome::Old { added: *rows },
        _ => ReportedOutcome::Old { added: 0 },
    }
}

/// True if the server may report that for such a request: a request that touches no row waits for
/// no row lock.
fn is_possible(fate: Fate, request: &Request) -> bool {
    let touches_no_row = ["SET", "START", "SAVEPOINT", "RELEASE", "SHOW", "SELECT", "DO"];
    match fate {
        Fate::Refused(1205 | 1213) => !touches_no_row.iter().any(|words| request.begins(words)),
        _ => true,
    }
}

/// A table that is loaded again and again, by one way.
pub(crate) struct Scene<'a> {
    pub(crate) way: &'a LoadCase,
    db: Db,
    options: LoadOptions,
    connect: ConnectOptions,
    proxy: Proxy,
    old: Vec<String>,
    new: Vec<String>,
    requests: usize,
}

impl<'a> Scene<'a> {
    pub(crate) fn new(server: &Server, way: &'a LoadCase) -> Scene<'a> {
        let db = server.database();
        let lines = |file: u64| {
            let rows = file * FILE_ROWS..(file + 1) * FILE_ROWS;
            rows.map(|n| format!("{n}\t{}\n", n % 7)).collect::<String>()
        };
        let files: Vec<PathBuf> =
            (0..FILES).map(|file| server.file(&db, &format!("{file}.txt"), lines(file))).collect();
        let mut options = server.options(&db, "t", files);
        (options.path, options.mode) = (way.path, way.mode);
        options.limits.batches.connections = Some(2);
        options.server.lock_wait_seconds = 10;
        let proxy =
            Proxy::start(server.folder(&db.name).join("proxy"), server.test_server().socket());
        let connect =
            ConnectOptions { socket: Some(proxy.socket().to_owned()), ..server.connect_options() };
        let (old, new) = (Vec::new(), Vec::new());
        let mut scene = Scene { way, db, options, connect, proxy, old, new, requests: 0 };
        scene.reset();
        scene.old = scene.rows();
        scene.requests = scene.proxy.requests_of(|| {
            load::load(&scene.connect, &scene.options, None, &()).unwrap();
        });
        scene.new = scene.rows();
        let kept = if way.mode == Mode::Append { scene.old.len() } else { 0 };
        assert_eq!(scene.new.len(), kept + (FILES * FILE_ROWS) as usize);
        scene
    }

    fn reset(&mut self) {
        for table in self.db.tables() {
            self.db.sql(&format!("DROP TABLE `{table}`"));
        }
        self.way.sql.iter().for_each(|sql| drop(self.db.sql(sql)));
        if self.way.has_rows {
            self.db.sql("INSERT INTO t VALUES (1000, 1), (1001, 2), (1002, 3)");
        }
    }

    fn rows(&mut self) -> Vec<String> {
        let rows = self.db.rows("SELECT CONCAT(a, ' ', b) FROM t ORDER BY a");
        rows.iter().map(|row| row.text_lossy(0)).collect()
    }

    /// A load in which one request has a fate of its own.
    fn run(&mut self, random: &mut Random) {
        let fate = match random.below(4) {
            0 => Fate::LostBefore,
            1 => Fate::LostAfter,
            2 => Fate::Refused(random.pick(&REFUSALS)),
            _ => Fate::DoneThenRefused(random.pick(&UNCLEAR)),
        };
        self.run_with(fate, random);
    }

    /// A load in which one request, any, has this fate.
    pub(crate) fn run_with(&mut self, fate: Fate, random: &mut Random) {
        self.reset();
        let nth = random.below(self.requests + MORE_REQUESTS);
        let met: Arc<Mutex<Option<Request>>> = Arc::default();
        let (mut count, meets) = (0, Arc::clone(&met));
        self.proxy.judge(move |request| {
            count += 1;
            if count - 1 != nth || !is_possible(fate, request) {
                return Fate::Done;
            }
            *meets.lock().unwrap() = Some(request.clone());
            fate
        });
        let outcome = load::load(&self.connect, &self.options, None, &());
        self.proxy.let_pass();
        let met = met.lock().unwrap().take();
        let met = met
            .map(|met| String::from_utf8_lossy(&met.text[..met.text.len().min(200)]).into_owned());
        let what = format!(
            "{:?} {:?}: {fate:?} at request {nth}, {met:?}: {outcome:?}",
            self.way.path, self.way.mode
        );
        self.is_true(&outcome, &what);
        self.again(&what);
    }

    /// The table is what the load says that it is.
    fn is_true(&mut self, outcome: &Result<load::Report, Error>, what: &str) {
        let seen = self.rows();
        let is_old = self.old.iter().all(|row| seen.contains(row));
        match told(outcome) {
            ReportedOutcome::New => assert_eq!(seen, self.new, "{what}"),
            ReportedOutcome::Old { added } => {
                assert!(is_old && seen.len() as u64 == self.old.len() as u64 + added, "{what}");
            }
            ReportedOutcome::Unknown if self.way.mode == Mode::Append => {
                let added = seen.len() - self.old.len();
                assert!(is_old && (added as u64).is_multiple_of(FILE_ROWS), "{what}");
            }
            ReportedOutcome::Unknown => assert!(seen == self.old || seen == self.new, "{what}"),
        }
    }

    /// The same command leads to the new table, and leaves nothing.
    fn again(&mut self, what: &str) {
        let is_new = self.rows() == self.new;
        if !is_new || self.way.mode == Mode::Replace {
            let outcome = load::load(&self.connect, &self.options, None, &());
            assert!(outcome.is_ok(), "{what}: then {outcome:?}");
            assert_eq!(self.rows(), self.new, "{what}");
            assert_eq!(self.db.tables(), ["t"], "{what}: then {outcome:?}");
        }
    }
}

#[test]
fn what_a_load_says_of_its_outcome_is_so_whatever_the_server_does() {
    let Some(server) = Server::get() else { return };
    let runs = std::env::var("INRUSH_MODEL_RUNS").ok().and_then(|text| text.parse().ok());
    let mut random = Random::new(Random::seed_of_run());
    let begun = Instant::now();
    for way in &WAYS {
        let mut scene = Scene::new(&server, way);
        let few = if way.path == LoadPath::Direct { BUILT_RUNS } else { SENT_RUNS };
        let runs: usize = runs.map_or(few, |runs: usize| runs / WAYS.len());
        (0..runs).for_each(|_| scene.run(&mut random));
        let (seconds, requests) = (begun.elapsed().as_secs(), scene.requests);
        println!("{:?} {:?}: {requests} requests, {seconds} s", way.path, way.mode);
    }
}
