//! A table, or two, that are loaded again and again.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use load::{LoadOptions, LoadPath, Mode};
use server::ConnectOptions;
use testkit::proxy::{Fate, Request};
use testkit::stand_in::faults::Fault;
use testkit::stand_in::{DATABASE, Engine, StandIn};

use crate::modelled::{ReportedOutcome, told};

/// Rows of each file; each file is a chunk.
const FILE_ROWS: u64 = 5;
const FILES: u64 = 2;
/// Rows of tables that are not empty.
const OLD: [&str; 2] = ["1000 1", "1001 2"];

/// As SHOW CREATE TABLE has it, behind the name.
const TABLE: &str = " (\n  `a` int(11) NOT NULL,\n  `b` int(11) DEFAULT NULL,\n  PRIMARY KEY (`a`),\n  \
     KEY `b` (`b`)\n) ENGINE=InnoDB DEFAULT CHARSET=latin1 COLLATE=latin1_swedish_ci";
const WITHOUT_KEY: &str = " (\n  `a` int(11) NOT NULL,\n  `b` int(11) DEFAULT NULL,\n  KEY `b` (`b`)\n) \
     ENGINE=InnoDB DEFAULT CHARSET=latin1 COLLATE=latin1_swedish_ci";
/// Of TiDB: its counters are at the end of the definition as soon as there are rows.
const COUNTED: &str = " (\n  `a` int(11) NOT NULL AUTO_INCREMENT,\n  `b` int(11) DEFAULT NULL,\n  \
     PRIMARY KEY (`a`),\n  KEY `b` (`b`)\n) ENGINE=InnoDB DEFAULT CHARSET=latin1 COLLATE=latin1_swedish_ci";
const RANDOM: &str = " (\n  `a` int(11) NOT NULL /*T![auto_rand] AUTO_RANDOM(5) */,\n  `b` int(11) DEFAULT \
     NULL,\n  PRIMARY KEY (`a`) /*T![clustered_index] CLUSTERED */,\n  KEY `b` (`b`)\n) ENGINE=InnoDB \
     DEFAULT CHARSET=latin1 COLLATE=latin1_swedish_ci";
/// A row's parent is in `p`, which nothing is asked about.
const CHILD: &str = " (\n  `a` int(11) NOT NULL,\n  `b` int(11) DEFAULT NULL,\n  PRIMARY KEY (`a`),\n  \
     KEY `b` (`b`),\n  CONSTRAINT `f` FOREIGN KEY (`b`) REFERENCES `p` (`a`)\n) ENGINE=InnoDB DEFAULT \
     CHARSET=latin1 COLLATE=latin1_swedish_ci";

/// A way in.
#[derive(Clone, Copy, Debug)]
pub(super) struct LoadCase {
    path: LoadPath,
    mode: Mode,
    pub(super) has_trigger: bool,
    has_rows: bool,
    /// Loaded by one command, each with the same rows.
    pub(super) tables: &'static [&'static str],
}

impl LoadCase {
    pub(super) const fn new(path: LoadPath, mode: Mode, has_trigger: bool) -> LoadCase {
        let has_rows = !matches!(mode, Mode::Insert);
        LoadCase { path, mode, has_trigger, has_rows, tables: &["t"] }
    }

    /// The same into these tables.
    pub(super) const fn into(self, tables: &'static [&'static str]) -> LoadCase {
        LoadCase { tables, ..self }
    }
}

/// Into a staging table by LOAD DATA and by INSERTs; two tables by one swap, and by one transaction; into the
/// table chunk by chunk, and by one transaction.
pub(super) const WAYS: [LoadCase; 9] = [
    LoadCase::new(LoadPath::Stream, Mode::Replace, false),
    LoadCase::new(LoadPath::Insert, Mode::Insert, false),
    LoadCase { tables: &["t", "u"], ..LoadCase::new(LoadPath::Stream, Mode::Replace, false) },
    LoadCase { tables: &["t", "u"], ..LoadCase::new(LoadPath::Auto, Mode::Insert, false) },
    LoadCase::new(LoadPath::Stream, Mode::Append, false),
    LoadCase::new(LoadPath::Insert, Mode::Append, false),
    LoadCase { tables: &["n"], ..LoadCase::new(LoadPath::Stream, Mode::Append, false) },
    LoadCase::new(LoadPath::Insert, Mode::Replace, true),
    LoadCase::new(LoadPath::Stream, Mode::Insert, true),
];

/// A load that is made again and again, each time with another request that has a fate.
pub(super) struct Scene {
    pub(super) way: LoadCase,
    pub(super) server: StandIn,
    pub(super) options: Vec<LoadOptions>,
    pub(super) connect: ConnectOptions,
    pub(super) old: Vec<String>,
    new: Vec<String>,
    engine: Engine,
}

impl Scene {
    pub(super) fn new(way: LoadCase, folder: &Path) -> Scene {
        Scene::of(Engine::MariaDb, way, folder)
    }

    /// The same with an engine.
    pub(super) fn of(engine: Engine, way: LoadCase, folder: &Path) -> Scene {
        std::fs::create_dir_all(folder.join("runs")).unwrap();
        static SOCKETS: AtomicUsize = AtomicUsize::new(0);
        let files: Vec<PathBuf> = (0..FILES).map(|file| file_of(folder, file)).collect();
        let options = |table: &&str| {
            let mut options = LoadOptions::new(files.clone(), DATABASE, table);
            (options.path, options.mode) = (way.path, way.mode);
            (options.state_dir, options.limits.temp_dir) =
                (folder.join("state"), folder.join("runs"));
            (options.limits.threads, options.limits.memory_bytes_max) = (1, 64 << 20);
            (options.limits.batches.connections, options.server.lock_wait_seconds) = (Some(2), 1);
            options.limits.defer_indexes = Some(true);
            options
        };
        let number = SOCKETS.fetch_add(1, Ordering::SeqCst);
        let server = StandIn::start_as(folder.join(format!("s{number}")), engine);
        let connect = ConnectOptions::for_socket(server.socket());
        let old = if way.has_rows { OLD.map(str::to_owned).to_vec() } else { Vec::new() };
        let mut new: Vec<String> =
            (0..FILES * FILE_ROWS).map(|n| format!("{n} {}", n % 3)).collect();
        if way.mode == Mode::Append {
            new.extend(old.iter().cloned());
        }
        new.sort();
        let options = way.tables.iter().map(options).collect();
        Scene { way, server, options, connect, old, new, engine }
    }

    pub(super) fn reset(&self) {
        self.server.clear();
        for table in self.way.tables {
            self.server.make(
                table,
                definition(table),
                self.way.has_trigger.then_some("g"),
                &self.old,
            );
        }
    }

    /// Loads; gives how many rows it says that are in.
    fn load(&self) -> Result<u64, load::Error> {
        match &self.options[..] {
            [one] => load::load(&self.connect, one, None, &()).map(|report| report.rows),
            all => load::load_several(&self.connect, all, &()).map(|report| report.rows),
        }
    }

    /// The requests of a load to which nothing happens.
    pub(super) fn requests(&self) -> Vec<Request> {
        self.reset();
        let requests: Arc<Mutex<Vec<Request>>> = Arc::default();
        let seen = Arc::clone(&requests);
        self.server.judge(move |request| {
            seen.lock().unwrap().push(request.clone());
            Fate::Done
        });
        let outcome = self.load();
        self.server.let_pass();
        self.is_new(&outcome, &format!("{:?}", self.way));
        requests.lock().unwrap().clone()
    }

    /// A load that something befalls.
    pub(super) fn run(&self, fault: Fault) {
        self.reset();
        // Now and then the server does not notice at once that a client has gone.
        let unnoticed = if fault.nth.is_multiple_of(3) { 4 } else { 0 };
        self.server.set_unnoticed(Duration::from_millis(unnoticed));
        let (count, met) = (AtomicUsize::new(0), Arc::<Mutex<Vec<String>>>::default());
        let meets = Arc::clone(&met);
        self.server.judge(move |request| {
            let fate = fault.fate_of(count.fetch_add(1, Ordering::SeqCst));
            if fate != Fate::Done {
                let text: String =
                    String::from_utf8_lossy(&request.text).chars().take(200).collect();
                meets.lock().unwrap().push(text);
            }
            fate
        });
        let outcome = self.load();
        self.server.let_pass();
        self.server.settle();
        let (way, met) = (self.way, met.lock().unwrap().clone());
        let what = format!("{way:?}: {fault:?}, {met:?}: {outcome:?}");
        self.is_true(&outcome, fault, &what);
        self.again(&what);
        assert_eq!(self.server.unknown(), Vec::<String>::new(), "{what}");
    }

    /// The tables are what the load says that they are.
    fn is_true(&self, outcome: &Result<u64, load::Error>, fault: Fault, what: &str) {
        let all: Vec<Vec<String>> =
            self.way.tables.iter().map(|table| self.rows(table, what)).collect();
        let seen = &all[0];
        assert!(all.iter().all(|rows| rows == seen), "{what}: {all:?}");
        let is_old = self.old.iter().all(|row| seen.contains(row));
        let added = seen.len().saturating_sub(self.old.len()) as u64;
        let told = told(outcome);
        let is_divided = matches!(self.engine, Engine::Vitess { shards: 2.. });
        match told {
            ReportedOutcome::New => assert_eq!(seen, &self.new, "{what}"),
            ReportedOutcome::Old { added: told } => {
                assert!(is_old && added == told, "{what}: {seen:?}")
            }
            // A chunk may be in on one of several shards.
            ReportedOutcome::Unknown if is_divided => assert!(is_old, "{what}: {seen:?}"),
            ReportedOutcome::Unknown if self.way.mode == Mode::Append => {
                assert!(is_old && added.is_multiple_of(FILE_ROWS), "{what}: {seen:?}");
            }
            ReportedOutcome::Unknown => {
                assert!(*seen == self.old || *seen == self.new, "{what}: {seen:?}")
            }
        }
        // Whom one thing befalls can still ask, but for what goes on without its connection.
        let may_ask = !is_divided && !matches!(self.engine, Engine::TiDb { .. });
        assert!(
            told != ReportedOutcome::Unknown || !may_ask || fault.then.is_some(),
            "{what}: {seen:?}"
        );
        let Err(error) = outcome else { return };
        let is_clean = match error {
            load::Error::Step { clean, .. } => *clean,
            load::Error::Several { left, .. } => left.is_none(),
            error => error.exit_status() == 2,
        };
        assert!(!is_clean || self.server.tables() == self.way.tables, "{what}: something is left");
    }

    fn rows(&self, table: &str, what: &str) -> Vec<String> {
        self.server.rows(table).unwrap_or_else(|| panic!("{what}: {table} is gone"))
    }

    /// The same command leads to the new tables.
    fn again(&self, what: &str) {
        let is_new = self.way.tables.iter().all(|table| self.rows(table, what) == self.new);
        let is_left = self.server.tables() != self.way.tables;
        if !is_new || (is_left && self.way.mode == Mode::Replace) {
            self.is_new(&self.load(), &format!("{what}: then"));
        }
    }

    /// A load is through, has all rows, and has left nothing.
    fn is_new(&self, outcome: &Result<u64, load::Error>, what: &str) {
        self.server.settle();
        assert_eq!(self.server.unknown(), Vec::<String>::new(), "{what} {outcome:?}");
        assert_eq!(self.server.broken(), Vec::<String>::new(), "{what} {outcome:?}");
        let rows = FILES * FILE_ROWS * self.way.tables.len() as u64;
        assert!(outcome.as_ref().is_ok_and(|told| *told == rows), "{what} {outcome:?}");
        for table in self.way.tables {
            assert_eq!(self.rows(table, what), self.new, "{what}");
        }
        assert_eq!(self.server.tables(), self.way.tables, "{what}");
    }
}

/// A table's definition: all but `n` have a key that refuses a duplicate row, that of `i` and `r` from a counter.
pub(super) fn definition(table: &str) -> &'static str {
    match table {
        "n" => WITHOUT_KEY,
        "i" => COUNTED,
        "r" => RANDOM,
        "c" => CHILD,
        _ => TABLE,
    }
}

fn file_of(folder: &Path, file: u64) -> PathBuf {
    let path = folder.join(format!("{file}.txt"));
    let rows = file * FILE_ROWS..(file + 1) * FILE_ROWS;
    std::fs::write(&path, rows.map(|n| format!("{n}\t{}\n", n % 3)).collect::<String>()).unwrap();
    path
}
