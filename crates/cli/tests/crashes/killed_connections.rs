//! An administrator kills connections of a command at any of its requests: the tables are the old ones or the
//! new ones, nothing is left, the message says so, and the same command again works.
//!
//! `INRUSH_TEST_KILLS=n` kills at n requests of each command, `all` at each.

mod case;

use std::collections::BTreeMap;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use server::Session;
use testkit::proxy::{Fate, Proxy};
use testkit::{TestServer, TestServerOptions};

use self::case::{Atomicity, Case};
use super::disturbed::{others, settings};
use crate::support::{
    Contents, Home, Outcome, PATIENCE, check_table, contents, names, run, tables,
};

/// Names of our tables.
const OURS: &str = "_inrush_";
const KEPT: &str = "_inrush_kept_";

/// A table's definition and rows.
type State = BTreeMap<String, (String, Contents)>;

/// The connections that are killed, and when.
#[derive(Clone, Copy, Debug)]
enum Kill {
    /// All of them, before the server gets the request.
    All,
    /// One of them before that; another one at each request.
    One,
    /// All, while the server is at the request.
    During,
}

const KILLS: [Kill; 3] = [Kill::All, Kill::One, Kill::During];

/// A command's tables, on a server that nobody else uses.
struct Scene<'a> {
    case: &'a Case,
    server: &'a TestServer,
    session: Session,
    home: Home,
    database: String,
    proxy: Proxy,
    settings: Vec<String>,
    files: Vec<String>,
    old: State,
    new: State,
    new_files: Vec<String>,
    output: Option<Vec<u8>>,
    requests: usize,
}

impl<'a> Scene<'a> {
    fn new(server: &'a TestServer, case: &'a Case) -> Scene<'a> {
        let home = Home::new();
        for (name, text) in &case.files {
            home.file(name, text);
        }
        let mut session = server.connect().unwrap();
        let proxy = Proxy::start(home.path().join("proxy"), server.socket());
        let mut scene = Scene {
            settings: settings(&mut session),
            case,
            server,
            session,
            home,
            database: server.database().unwrap(),
            proxy,
            files: Vec::new(),
            old: State::new(),
            new: State::new(),
            new_files: Vec::new(),
            output: None,
            requests: 0,
        };
        scene.reset();
        (scene.old, scene.files) = (scene.state(), scene.database_files());
        let mut command = scene.command();
        let mut outcome = None;
        scene.requests = scene.proxy.requests_of(|| outcome = Some(run(&mut command)));
        outcome.unwrap().done();
        (scene.new, scene.new_files) = (scene.state(), scene.database_files());
        scene.output = scene.written();
        scene
    }

    /// Everything as it is before the command.
    fn reset(&mut self) {
        let Scene { session, database, case, home, .. } = self;
        let database = format!("`{database}`");
        for sql in ["DROP DATABASE", "CREATE DATABASE", "USE"] {
            session.exec(&format!("{sql} {database}")).unwrap();
        }
        for sql in case.tables.split(';') {
            match sql.contains("LOAD DATA LOCAL") {
                true => {
                    let file = std::fs::File::open(home.path().join(case.files[0].0)).unwrap();
                    session.load_local(sql, file).unwrap();
                }
                false => drop(session.exec(sql).unwrap()),
            }
        }
        let _ = std::fs::remove_dir_all(home.path().join("state"));
        case.output.iter().for_each(|name| drop(std::fs::remove_file(home.path().join(name))));
    }

    fn command(&self) -> Command {
        let arguments = self.case.arguments.iter().map(|text| text.replace('@', &self.database));
        let mut command = self.home.inrush(arguments);
        command.arg("--socket").arg(self.proxy.socket());
        command
    }

    fn state(&mut self) -> State {
        let mut state = State::new();
        for table in tables(&mut self.session, &self.database) {
            let row = self.session.query_row(&format!("SHOW CREATE TABLE `{table}`")).unwrap();
            let name = format!("`{}`.`{table}`", self.database);
            state.insert(table, (row.text(1).unwrap(), contents(&mut self.session, &name)));
        }
        state
    }

    fn database_files(&self) -> Vec<String> {
        names(&self.server.datadir().join(&self.database))
    }

    fn written(&self) -> Option<Vec<u8>> {
        self.case.output.and_then(|name| std::fs::read(self.home.path().join(name)).ok())
    }

    /// Runs the command, and kills at a request, from 0.
    fn killed(&self, nth: usize, kill: Kill) -> Outcome {
        let (count, server) = (Arc::new(AtomicUsize::new(0)), self.server.options());
        let me = self.session.id();
        self.proxy.judge(move |_| {
            if count.fetch_add(1, Ordering::SeqCst) == nth {
                let mut session = Session::connect(&server).unwrap();
                let mut kill_them = move || {
                    let mut ours = others(&mut session);
                    ours.retain(|&id| id != me);
                    if let (Kill::One, false) = (kill, ours.is_empty()) {
                        ours = vec![ours[nth % ours.len()]];
                    }
                    for id in ours {
                        // It may have gone by itself.
                        let _ = session.exec(&format!("KILL CONNECTION {id}"));
                    }
                };
                if let Kill::During = kill {
                    std::thread::spawn(move || {
                        std::thread::sleep(Duration::from_millis(nth as u64 % 4));
                        kill_them();
                    });
                } else {
                    kill_them();
                }
            }
            Fate::Done
        });
        let outcome = run(&mut self.command());
        self.proxy.let_pass();
        outcome
    }

    /// True if the tables are the new ones; panics if they are neither.
    #[track_caller]
    fn is_new(&mut self, when: &str) -> bool {
        let seen = self.state();
        let is_known = match self.case.atomicity {
            Atomicity::Tables => seen == self.old || seen == self.new,
            Atomicity::Table => {
                let mut theirs = seen.iter().filter(|(name, _)| !name.starts_with(OURS));
                theirs.all(|(name, table)| {
                    let mut known = [self.old.get(name), self.new.get(name)].into_iter().flatten();
                    known.any(|known| without_keys(known) == without_keys(table))
                })
            }
            Atomicity::Chunk => true,
        };
        assert!(is_known, "{when}: {seen:?} is neither old nor new");
        seen == self.new
    }

    /// Does what the command says about old rows that it has kept, since others could write to them at last; true
    /// if it has.
    #[track_caller]
    fn drop_kept(&mut self, outcome: &Outcome, when: &str) -> bool {
        let tables = tables(&mut self.session, &self.database);
        let Some(kept) = tables.into_iter().find(|name| name.starts_with(KEPT)) else {
            return false;
        };
        assert!(outcome.err.contains(&kept), "{when}: {outcome:?}");
        let drop = format!("SET STATEMENT foreign_key_checks=0 FOR DROP TABLE `{kept}`");
        self.session.exec(&drop).unwrap();
        // Where rows of other tables refer to them, the status says that something is left to do.
        if outcome.code() == 4 {
            let there_and_back = format!("RENAME TABLE t TO `{kept}`, `{kept}` TO t");
            assert!(outcome.err.contains("SET foreign_key_checks=0, DROP TABLE "), "{outcome:?}");
            self.session.exec(&there_and_back).unwrap();
        }
        true
    }

    /// Waits for the server to have ended the command's connections.
    #[track_caller]
    fn wait_for_the_end(&mut self, when: &str) {
        let begun = Instant::now();
        while !others(&mut self.session).is_empty() {
            assert!(begun.elapsed() < PATIENCE, "{when}: {:?}", others(&mut self.session));
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Asserts that nothing of the command is left.
    #[track_caller]
    fn clean(&mut self, when: &str) {
        self.wait_for_the_end(when);
        assert_eq!(settings(&mut self.session), self.settings, "{when}");
        let files = self.database_files();
        assert!(files == self.files || files == self.new_files, "{when}: {files:?}");
        assert_eq!(self.home.temp_files(), [""; 0], "{when}");
    }

    /// After a command that was disturbed: it worked, or says that it did not.
    #[track_caller]
    fn judge(&mut self, outcome: &Outcome, when: &str) {
        self.wait_for_the_end(when);
        let is_kept = self.drop_kept(outcome, when);
        let is_done = outcome.code() == 0 || is_kept;
        let is_new = self.is_new(when);
        if is_done {
            assert!(is_new && self.written() == self.output, "{when}: {outcome:?}");
        } else {
            outcome.refused(1, &[]);
            assert!(self.written().is_none(), "{when}: {outcome:?}");
        }
        if is_done || self.case.atomicity == Atomicity::Tables {
            self.clean(when);
        }
        if !is_done {
            run(&mut self.command()).done();
        }
        assert!(self.is_new(when) && self.written() == self.output, "{when}");
        self.clean(when);
        for table in self.new.keys() {
            check_table(&mut self.session, &format!("`{}`.`{table}`", self.database));
        }
    }
}

/// A table without its foreign keys, which a replay adds when all rows are in.
fn without_keys((definition, contents): &(String, Contents)) -> (String, &Contents) {
    let lines = definition.lines().filter(|line| !line.contains(" FOREIGN KEY "));
    let lines: Vec<&str> = lines.map(|line| line.trim_end_matches(',')).collect();
    (lines.join("\n"), contents)
}

/// Requests at which connections are killed: so many, or what INRUSH_TEST_KILLS says.
fn requests(all: usize, default: usize) -> Vec<usize> {
    let wanted = std::env::var("INRUSH_TEST_KILLS").map(|text| match text.as_str() {
        "all" => all,
        text => text.parse().unwrap(),
    });
    let count = wanted.unwrap_or(default).min(all);
    (0..count).map(|turn| all * (2 * turn + 1) / (2 * count)).collect()
}

fn kill_connections(case: &Case, default: usize) {
    let Some(server) = TestServer::start_with(&TestServerOptions::default()) else { return };
    let mut scene = Scene::new(&server, case);
    for nth in requests(scene.requests, default) {
        for kill in KILLS {
            scene.reset();
            let outcome = scene.killed(nth, kill);
            scene.judge(&outcome, &format!("{}, request {nth}, {kill:?}", case.name));
        }
    }
}

/// Cases of `make test`, at one request each.
const SOME: [&str; 5] = ["merge", "a parent and child", "several tables", "replay", "export"];

#[test]
fn commands_whose_connections_are_killed_leave_the_old_tables_or_the_new_ones() {
    for case in case::all().iter().filter(|case| SOME.contains(&case.name)) {
        kill_connections(case, 1);
    }
}

#[test]
#[ignore = "minutes long; make soak runs it"]
fn every_command_whose_connections_are_killed_leaves_the_old_tables_or_the_new_ones() {
    case::all().iter().for_each(|case| kill_connections(case, 3));
}
