//! Replays against a server that fails at any request: as `crates/load/tests/modelled.rs` has it for loads.
//! Each table is the old one or the new one, and the same command leads to the new ones.

use std::sync::Arc;
use std::time::Instant;

use locks::Mutex;
use server::{ConnectOptions, Session};
use testkit::proxy::{Damage, Fate, Proxy, Request};
use testkit::{Random, TestServer};

use super::*;

mod stand_in;

/// Replays where nothing is said of it: about 20 seconds of them.
const RUNS: usize = 32;
/// Requests that are not there in every run.
const MORE_REQUESTS: usize = 5;
/// Packets of an answer of which one is damaged.
const PACKETS: usize = 6;
/// The last is a view.
const TABLES: [&str; 5] = ["a", "b", "c", "e", "v"];

/// Tables before the replay: `a` and `b` are made again by the dump, `e` is none of its tables.
const BEFORE: &str = "CREATE TABLE a (id INT PRIMARY KEY, old INT) ENGINE=InnoDB;\
     CREATE TABLE b (id INT PRIMARY KEY, a INT, CONSTRAINT f FOREIGN KEY (a) REFERENCES a (id)) ENGINE=InnoDB;\
     CREATE TABLE e (id INT PRIMARY KEY) ENGINE=InnoDB;\
     INSERT INTO a VALUES (1, 1);INSERT INTO b VALUES (1, 1)";

const DUMP: &str = "SET FOREIGN_KEY_CHECKS=0;
DROP TABLE IF EXISTS b;
CREATE TABLE b (id INT PRIMARY KEY, a INT, KEY (a), CONSTRAINT f FOREIGN KEY (a) REFERENCES a (id)) ENGINE=InnoDB;
INSERT INTO b VALUES (10,1),(11,2),(12,NULL);
INSERT INTO b VALUES (20,2);
DROP TABLE IF EXISTS a;
CREATE TABLE a (id INT PRIMARY KEY) ENGINE=InnoDB;
INSERT INTO a VALUES (1),(2),(3);
DROP TABLE IF EXISTS c;
CREATE TABLE c (id INT, v VARCHAR(9)) ENGINE=InnoDB;
INSERT INTO c VALUES (1,'x'),(1,'y');
CREATE OR REPLACE VIEW v AS SELECT id FROM a;
";
/// Rows for a table that the dump does not make.
const MORE: &str = "INSERT INTO e VALUES (1),(2),(3);\n";

/// A lock that did not come, a deadlock, a disk that is full, a server that is read-only; one that
/// goes down, a connection and a statement that were killed.
const REFUSALS: [u16; 7] = [1205, 1213, 1021, 1290, 1053, 1927, 1317];
/// The errors among these that are also reported for an executed statement.
const UNCLEAR: [u16; 3] = [1053, 1927, 1317];
/// Fates after which the same command may do what was not done.
const PASSING: [Fate; 8] = [
    Fate::LostBefore,
    Fate::LostAfter,
    Fate::Refused(1205),
    Fate::Refused(1213),
    Fate::Refused(1053),
    Fate::Refused(1927),
    Fate::Refused(1317),
    Fate::DoneThenRefused(1317),
];
/// Requests at the end of a replay at which it is stopped.
const SIGNALS: usize = 12;
/// First words of statements that touch no row: they wait for no row lock.
const WITHOUT_ROWS: [&str; 8] = ["SET", "START", "XA", "USE", "SHOW", "SELECT", "DO", "CREATE"];

struct Scene {
    session: Session,
    database: String,
    options: ReplayOptions,
    connect: ConnectOptions,
    proxy: Proxy,
    old: Vec<String>,
    new: Vec<String>,
    requests: usize,
}

impl Scene {
    fn new(server: &TestServer, set: impl FnOnce(&mut ReplayOptions)) -> Scene {
        let database = server.database().unwrap();
        let folder = server.dir().join(format!("{database}-model"));
        std::fs::create_dir_all(&folder).unwrap();
        let mut options = ReplayOptions::new(folder.join("dump.sql"));
        options.state_dir = folder.join("state");
        options.temp_dir = folder.clone();
        options.connections = Some(2);
        options.threads = 2;
        options.memory_bytes_max = 120 << 20;
        options.lock_wait_seconds = 2;
        set(&mut options);
        let more = if options.atomic { "" } else { MORE };
        std::fs::write(&options.dump, format!("USE `{database}`;\n{DUMP}{more}")).unwrap();
        let proxy = Proxy::start(folder.join("proxy"), server.socket());
        let connect =
            ConnectOptions { socket: Some(proxy.socket().to_owned()), ..server.options() };
        let mut session = server.connect().unwrap();
        session.exec(&format!("USE `{database}`")).unwrap();
        let (old, new) = (Vec::new(), Vec::new());
        let mut scene = Scene { session, database, options, connect, proxy, old, new, requests: 0 };
        scene.reset();
        scene.old = scene.seen();
        scene.requests = scene.proxy.requests_of(|| {
            replay(&scene.connect, &scene.options, &()).unwrap();
        });
        scene.new = scene.seen();
        scene
    }

    fn reset(&mut self) {
        let database = &self.database;
        let script = format!(
            "DROP DATABASE `{database}`;CREATE DATABASE `{database}`;USE `{database}`;{BEFORE}"
        );
        script.split(';').for_each(|statement| drop(self.session.exec(statement).unwrap()));
        let _ = std::fs::remove_dir_all(&self.options.state_dir);
    }

    /// The rows of each table; that it is not there is another content.
    fn seen(&mut self) -> Vec<String> {
        let rows = |table: &&str| {
            match self.session.query(&format!("SELECT * FROM {table} ORDER BY 1, 2")) {
                Ok(rows) => format!("{table} {rows:?}"),
                Err(error) if error.errno() == Some(1146) => format!("no {table}"),
                // A table of one column.
                Err(_) => {
                    let rows = self.session.query(&format!("SELECT * FROM {table} ORDER BY 1"));
                    format!("{table} {:?}", rows.unwrap())
                }
            }
        };
        TABLES.iter().map(rows).collect()
    }

    /// A replay in which one request has a fate of its own.
    fn run(&mut self, random: &mut Random) {
        let fate = match random.below(4) {
            0 => Fate::LostBefore,
            1 => Fate::LostAfter,
            2 => Fate::Refused(random.pick(&REFUSALS)),
            _ => Fate::DoneThenRefused(random.pick(&UNCLEAR)),
        };
        self.run_with(fate, random);
    }

    /// A replay in which one request, any, has this fate.
    fn run_with(&mut self, fate: Fate, random: &mut Random) {
        let nth = random.below(self.requests + MORE_REQUESTS);
        self.run_at(fate, nth);
    }

    /// A replay in which the request of this number has this fate.
    fn run_at(&mut self, fate: Fate, nth: usize) {
        let mut count = 0;
        self.run_where(fate, move |_| {
            count += 1;
            count - 1 == nth
        });
    }

    /// A replay in which the first request that is meant has this fate.
    fn run_where(
        &mut self,
        fate: Fate,
        mut is_meant: impl FnMut(&Request) -> bool + Send + 'static,
    ) {
        self.reset();
        let met: Arc<Mutex<String>> = Arc::default();
        let (mut is_over, meets) = (false, Arc::clone(&met));
        self.proxy.judge(move |request| {
            let needs_rows = matches!(fate, Fate::Refused(1205 | 1213));
            let has_none = WITHOUT_ROWS.iter().any(|words| request.begins(words));
            if is_over || !is_meant(request) {
                return Fate::Done;
            }
            is_over = true;
            if needs_rows && has_none {
                return Fate::Done;
            }
            let text = &request.text[..request.text.len().min(200)];
            *meets.lock() = String::from_utf8_lossy(text).into_owned();
            fate
        });
        let outcome = replay(&self.connect, &self.options, &());
        self.proxy.let_pass();
        let met = met.lock().clone();
        let what = format!("{fate:?} at {met:?}: {outcome:?}");
        let seen = self.seen();
        for (at, table) in seen.iter().enumerate() {
            let is_known = [&self.old[at], &self.new[at]].contains(&table);
            assert!(is_known, "{what}: {table}");
        }
        if outcome.is_ok() {
            assert_eq!(seen, self.new, "{what}");
        }
        if self.options.atomic {
            let is_new: Vec<bool> = (0..3).map(|at| seen[at] != self.old[at]).collect();
            assert!(is_new.iter().all(|&new| new == is_new[0]), "{what}: {seen:?}");
        }
        let notes = outcome.as_ref().map(notes).unwrap_or_default();
        self.again(&what, outcome.is_ok());
        let left = self.session.query("SHOW TABLES LIKE '\\_inrush%'").unwrap();
        // What is left of a replay that is done, its report says.
        assert!(left.is_empty() || notes.contains("could not be dropped"), "{what}: {left:?}");
        let prepared = self.session.query("XA RECOVER").unwrap();
        assert!(prepared.is_empty(), "{what}: {prepared:?}");
    }

    /// A replay that somebody wants to end at the request of this number.
    fn stop_at(&mut self, nth: usize) {
        self.reset();
        self.options.interrupt = server::Interrupt::default();
        let (mut count, interrupt) = (0, self.options.interrupt.clone());
        self.proxy.judge(move |_| {
            count += 1;
            if count - 1 == nth {
                interrupt.request("SIGTERM");
            }
            Fate::Done
        });
        let outcome = replay(&self.connect, &self.options, &());
        self.proxy.let_pass();
        self.options.interrupt = server::Interrupt::default();
        let what = format!("stopped at request {nth}: {outcome:?}");
        if outcome.is_ok() {
            assert_eq!(self.seen(), self.new, "{what}");
        }
        self.again(&what, outcome.is_ok());
    }

    fn again(&mut self, what: &str, is_done: bool) {
        if !is_done {
            let mut outcome = replay(&self.connect, &self.options, &());
            let doubt = "rows there may be these";
            if outcome.as_ref().is_err_and(|error| error.to_string().contains(doubt)) {
                // As its user does who finds all of them.
                assert_eq!(self.seen()[3], self.new[3], "{what}: {outcome:?}");
                self.session.exec("DELETE FROM e").unwrap();
                outcome = replay(&self.connect, &self.options, &());
            }
            assert!(outcome.is_ok(), "{what}: then {outcome:?}");
            assert_eq!(self.seen(), self.new, "{what}: then {outcome:?}");
        }
    }
}

/// All that a report says.
fn notes(report: &Report) -> String {
    let of_tables = report.tables.iter().flat_map(|table| table.notes.clone());
    report.notes.iter().cloned().chain(of_tables).collect::<Vec<_>>().join("; ")
}

fn runs(ways: usize) -> usize {
    let runs = std::env::var("INRUSH_MODEL_RUNS").ok().and_then(|text| text.parse().ok());
    runs.unwrap_or(RUNS) / ways
}

/// Ways in: as it comes, by connections, built, built all at once.
const WAYS: [fn(&mut ReplayOptions); 4] = [
    |_| (),
    |options| (options.rows_as, options.small_bytes_max) = (As::Statements, 1),
    |options| options.small_bytes_max = 1,
    |options| (options.small_bytes_max, options.atomic) = (1, true),
];

/// The ways that `--force` may be used with.
const NOT_ATOMIC: &[fn(&mut ReplayOptions)] = WAYS.split_at(3).0;

/// Answers that are damaged: as `crates/load/tests/hostile.rs` has it for loads.
#[test]
fn hostile_servers_leave_whole_tables_behind_a_replay() {
    let Some(server) = TestServer::start() else { return };
    let runs = std::env::var("INRUSH_HOSTILE_RUNS").ok().and_then(|text| text.parse().ok());
    let mut random = Random::new(Random::seed_of_run());
    for set in WAYS {
        let mut scene = Scene::new(&server, set);
        for _ in 0..runs.unwrap_or(RUNS / 2) / WAYS.len() {
            let fate = Fate::Damaged(random.below(PACKETS), Damage::any(&mut random));
            scene.run_with(fate, &mut random);
        }
    }
}

#[test]
fn modelled_servers_leave_whole_tables_behind_a_replay() {
    // Alone: others' prepared transactions would be seen.
    let Some(server) = TestServer::start() else { return };
    let mut random = Random::new(Random::seed_of_run());
    for (number, set) in WAYS.into_iter().enumerate() {
        let begun = Instant::now();
        let mut scene = Scene::new(&server, set);
        (0..runs(WAYS.len())).for_each(|_| scene.run(&mut random));
        let (seconds, requests) = (begun.elapsed().as_secs(), scene.requests);
        println!("way {number}: {requests} requests, {seconds} s");
    }
}

/// `--force` once passed over statements that did not run, or the same command took them for done.
#[test]
fn what_did_not_run_is_not_passed_over_by_force() {
    let Some(server) = TestServer::start() else { return };
    let mut random = Random::new(Random::seed_of_run());
    for (number, way) in NOT_ATOMIC.iter().enumerate() {
        let mut scene = Scene::new(&server, way);
        scene.options.force = true;
        for begin in ["CREATE OR REPLACE VIEW", "INSERT INTO"] {
            // Each of them meets one of the ways at least.
            for fate in PASSING.into_iter().skip(number % 2).step_by(2) {
                scene.run_where(fate, move |request| request.begins(begin));
            }
        }
        for _ in 0..runs(4 * NOT_ATOMIC.len()) {
            let fate = random.pick(&PASSING);
            scene.run_with(fate, &mut random);
        }
    }
}

/// The same command once took a statement for done that the server had refused, because its object
/// existed.
#[test]
fn a_statement_that_was_refused_is_refused_again() {
    let Some(server) = TestServer::start() else { return };
    let mut scene = Scene::new(&server, WAYS[0]);
    scene.reset();
    scene.session.exec("CREATE VIEW v AS SELECT 7 AS id").unwrap();
    let text = DUMP.replace("CREATE OR REPLACE VIEW", "CREATE VIEW");
    std::fs::write(&scene.options.dump, format!("USE `{}`;\n{text}", scene.database)).unwrap();
    for _ in 0..3 {
        let outcome = replay(&scene.connect, &scene.options, &());
        let error = outcome.unwrap_err().to_string();
        assert!(error.contains("server error 1050"), "{error}");
    }
    scene.session.exec("DROP VIEW v").unwrap();
    replay(&scene.connect, &scene.options, &()).unwrap();
    assert_eq!(scene.session.query("SELECT id FROM v").unwrap().len(), 3);
}

/// A complete replay was an error when its journal could not be removed.
#[test]
fn a_journal_that_stays_is_a_note() {
    let Some(server) = TestServer::start() else { return };
    let mut scene = Scene::new(&server, WAYS[0]);
    scene.reset();
    let journals = scene.options.state_dir.join("replays");
    let folder = journals.clone();
    scene.proxy.judge(move |request| {
        if request.begins("CREATE OR REPLACE VIEW") {
            // A folder cannot be removed as a file.
            for file in std::fs::read_dir(&folder).unwrap() {
                let path = file.unwrap().path();
                std::fs::remove_file(&path).unwrap();
                std::fs::create_dir(&path).unwrap();
            }
        }
        Fate::Done
    });
    let report = replay(&scene.connect, &scene.options, &()).unwrap();
    scene.proxy.let_pass();
    assert_eq!(scene.seen(), scene.new);
    let notes = notes(&report);
    let told = ["journal is left", &journals.display().to_string(), "remove", "--fresh"];
    assert!(told.iter().all(|words| notes.contains(words)), "{notes}");
}

#[test]
fn a_signal_under_force_loses_no_statement() {
    let Some(server) = TestServer::start() else { return };
    for way in &NOT_ATOMIC[..2] {
        let mut scene = Scene::new(&server, way);
        scene.options.force = true;
        (0..scene.requests).rev().take(SIGNALS).for_each(|nth| scene.stop_at(nth));
    }
}

/// Answers that come twice, where they once did harm: a lag from the settings on, in the middle of a
/// table's rows, at their COMMIT.
#[test]
fn an_answer_that_comes_twice_leaves_whole_tables_behind_a_replay() {
    let Some(server) = TestServer::start() else { return };
    for set in WAYS {
        let mut scene = Scene::new(&server, set);
        for (nth, packet) in [(3, 5), (21, 0), (36, 1), (38, 0)] {
            scene.run_at(Fate::Damaged(packet, Damage::Twice), nth);
        }
    }
}
