//! Replays of a small dump against a server in memory ([`testkit::stand_in`]), of which one request has a
//! fate, or two have: as `crates/load/tests/stand_in` has it for loads.
//!
//! Rows are loaded by statements of their own, by statements over several connections, by the load engine
//! (which sends them, for the stand-in has no files), and all tables at once. Building needs a real server:
//! it exports an empty table's file, and judges the one that is built. Tests of replays that build are in
//! `super`, with a proxy before a real one.
//!
//! A replay that says that it is done has to be, one that fails leaves each table old or new, and the
//! same command makes it good. Each way meets some of all that can befall it; `INRUSH_STAND_IN_ROUNDS=n`
//! goes through all n times, `INRUSH_SEED` has others.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use locks::Mutex;
use server::ConnectOptions;
use testkit::stand_in::StandIn;
use testkit::stand_in::faults::{Fault, faults};

use super::*;

/// Threads that replay at the same time, and mostly wait.
const THREADS: usize = 6;
/// Runs of each way, where not all are wanted.
const RUNS_OF_A_WAY: usize = 80;
/// Failed runs that are told of.
const TOLD_MAX: usize = 20;

/// Tables of the dump; the last is not there before.
const TABLES: [&str; 3] = ["t", "u", "v"];
/// As SHOW CREATE TABLE has it, behind the name.
const TABLE: &str = " (\n  `a` int(11) NOT NULL,\n  `b` int(11) DEFAULT NULL,\n  PRIMARY KEY (`a`),\n  \
     KEY `b` (`b`)\n) ENGINE=InnoDB DEFAULT CHARSET=latin1 COLLATE=latin1_swedish_ci";
const OLD: [&str; 2] = ["1000 1", "1001 2"];
const NEW: [&str; 4] = ["1 1", "2 2", "3 0", "4 1"];

/// A replay that is made again and again, each time with another request that has a fate.
struct Replayed {
    server: StandIn,
    options: ReplayOptions,
    connect: ConnectOptions,
}

fn dump() -> String {
    let table = |name: &&str| {
        format!(
            "DROP TABLE IF EXISTS `{name}`;\nCREATE TABLE `{name}`{TABLE};\n\
             INSERT INTO `{name}` VALUES (1,1),(2,2);\nINSERT INTO `{name}` VALUES (3,0),(4,1);\n"
        )
    };
    format!("USE `model`;\n{}", TABLES.iter().map(table).collect::<String>())
}

impl Replayed {
    fn new(way: fn(&mut ReplayOptions), folder: &Path) -> Replayed {
        std::fs::create_dir_all(folder.join("runs")).unwrap();
        let mut options = ReplayOptions::new(folder.join("dump.sql"));
        std::fs::write(&options.dump, dump()).unwrap();
        (options.state_dir, options.temp_dir) = (folder.join("state"), folder.join("runs"));
        (options.connections, options.threads) = (Some(2), 1);
        (options.memory_bytes_max, options.lock_wait_seconds) = (120 << 20, 1);
        way(&mut options);
        static SOCKETS: AtomicUsize = AtomicUsize::new(0);
        let number = SOCKETS.fetch_add(1, Ordering::SeqCst);
        let server = StandIn::start(folder.join(format!("s{number}")));
        let connect = ConnectOptions::for_socket(server.socket());
        Replayed { server, options, connect }
    }

    fn reset(&self) {
        self.server.clear();
        for table in &TABLES[..2] {
            self.server.make(table, TABLE, None, &OLD.map(str::to_owned));
        }
        let _ = std::fs::remove_dir_all(&self.options.state_dir);
    }

    fn replay(&self) -> Result<Report, Error> {
        let outcome = replay(&self.connect, &self.options, &());
        self.server.let_pass();
        self.server.settle();
        outcome
    }

    /// The requests of a replay to which nothing happens.
    fn requests(&self) -> Vec<Request> {
        self.reset();
        let requests: Arc<Mutex<Vec<Request>>> = Arc::default();
        let seen = Arc::clone(&requests);
        self.server.judge(move |request| {
            seen.lock().push(request.clone());
            Fate::Done
        });
        let outcome = self.replay();
        self.is_done(&outcome, "nothing befell it");
        requests.lock().clone()
    }

    /// A replay that something befalls.
    fn run(&self, fault: Fault) {
        self.reset();
        let (count, met) = (AtomicUsize::new(0), Arc::<Mutex<Vec<String>>>::default());
        let meets = Arc::clone(&met);
        self.server.judge(move |request| {
            let fate = fault.fate_of(count.fetch_add(1, Ordering::SeqCst));
            if fate != Fate::Done {
                let text: String =
                    String::from_utf8_lossy(&request.text).chars().take(200).collect();
                meets.lock().push(text);
            }
            fate
        });
        let outcome = self.replay();
        let what = format!("{fault:?}, {:?}: {outcome:?}", met.lock());
        if outcome.is_ok() {
            return self.is_done(&outcome, &what);
        }
        let is_new: Vec<bool> = TABLES.iter().map(|table| self.is_new(table, &what)).collect();
        let is_one = is_new.iter().all(|&new| new == is_new[0]);
        assert!(!self.options.atomic || is_one, "{what}: {is_new:?}");
        let again = self.replay();
        self.is_done(&again, &format!("{what}: then {again:?}"));
    }

    /// True if a table is the new one; it may be the old one.
    fn is_new(&self, table: &str, what: &str) -> bool {
        let rows = self.server.rows(table);
        let old = (table != TABLES[2]).then(|| OLD.map(str::to_owned).to_vec());
        let is_new = rows == Some(NEW.map(str::to_owned).to_vec());
        assert!(is_new || rows == old, "{what}: {table} has {rows:?}");
        is_new
    }

    /// A replay is through, has all rows, and has left nothing that it does not tell of.
    fn is_done(&self, outcome: &Result<Report, Error>, what: &str) {
        assert_eq!(self.server.unknown(), Vec::<String>::new(), "{what}");
        let report = outcome.as_ref().unwrap_or_else(|error| panic!("{what}: {error}"));
        let is_new = TABLES.iter().all(|table| self.is_new(table, what));
        assert!(is_new, "{what}: a table is the old one");
        let notes = notes(report);
        let is_told = ["could not be dropped", "could not be removed"];
        let is_told = is_told.iter().any(|words| notes.contains(words));
        assert!(is_told || self.server.tables() == TABLES, "{what}: {:?}", self.server.tables());
    }
}

#[test]
fn whatever_befalls_a_request_of_a_replay_what_it_says_is_so() {
    let rounds = std::env::var("INRUSH_STAND_IN_ROUNDS").ok().and_then(|text| text.parse().ok());
    let (seed, begun) = (Random::seed_of_run(), Instant::now());
    let mut random = Random::new(seed);
    let folder = match Path::new("/dev/shm").is_dir() {
        true => tempfile::tempdir_in("/dev/shm").unwrap(),
        false => tempfile::tempdir().unwrap(),
    };
    let mut work = Vec::new();
    for (at, way) in WAYS.into_iter().enumerate() {
        let requests = Replayed::new(way, &folder.path().join(format!("first{at}"))).requests();
        println!("way {at}: {} requests", requests.len());
        for _ in 0..rounds.unwrap_or(1) {
            // In any order.
            let mut faults = faults(&requests, rounds.is_some(), &mut random);
            faults.truncate(if rounds.is_some() { usize::MAX } else { RUNS_OF_A_WAY });
            work.extend(faults.into_iter().map(|fault| (at, fault)));
        }
    }
    let failed = all(&work, folder.path());
    println!("{} runs in {:?}, seed {seed}", work.len(), begun.elapsed());
    let some: Vec<&str> = failed.iter().take(TOLD_MAX).map(String::as_str).collect();
    assert!(failed.is_empty(), "seed {seed}, {} failed:\n{}", failed.len(), some.join("\n"));
}

/// It was left once, without a word, beside the table that was then made in its own place.
#[test]
fn a_staging_goes_that_was_made_by_a_statement_that_was_killed() {
    let folder = tempfile::tempdir().unwrap();
    let replayed = Replayed::new(WAYS[1], folder.path());
    replayed.reset();
    replayed.server.judge(|request| {
        let is_of_v = String::from_utf8_lossy(&request.text).contains("_v` (");
        let is_killed = request.begins("CREATE TABLE `model`.`_inrush_replay_") && is_of_v;
        if is_killed { Fate::DoneThenRefused(1317) } else { Fate::Done }
    });
    let outcome = replayed.replay();
    replayed.is_done(&outcome, "the last CREATE TABLE was killed when it was through");
}

/// Makes all runs, several at a time, and gives what is wrong with those that failed.
fn all(work: &[(usize, Fault)], folder: &Path) -> Vec<String> {
    let (next, failed) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (next, failed) = (&next, &failed);
            scope.spawn(move || {
                let made = |at| Replayed::new(WAYS[at], &folder.join(format!("{thread}-{at}")));
                let mut all: Vec<Replayed> = (0..WAYS.len()).map(made).collect();
                while let Some(&(at, fault)) = work.get(next.fetch_add(1, Ordering::SeqCst)) {
                    let run = || all[at].run(fault);
                    if let Err(why) = catch_unwind(AssertUnwindSafe(run)) {
                        let text = why.downcast_ref::<String>().cloned().unwrap_or_default();
                        failed.lock().push(format!("way {at}: {text}"));
                        all[at] = made(at);
                    }
                }
            });
        }
    });
    failed.into_inner()
}
