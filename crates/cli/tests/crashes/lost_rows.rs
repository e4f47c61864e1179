//! Rows that get lost on their way, by a mistake of ours or by answers without sense: nothing is
//! published, the table is as it was, and the program says so.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use testkit::proxy::{Fate, Proxy, Request};

use crate::support::{Desk, Outcome, run, tables};

const ROWS: u32 = 3000;
/// The only row before the load.
const OLD: &str = "7|old";
/// Prepared INSERTs of many rows.
const COM_STMT_BULK_EXECUTE: u8 = 0xfa;

struct Scene {
    desk: Desk,
    proxy: Option<Proxy>,
}

impl Scene {
    fn new() -> Option<Scene> {
        let mut desk = Desk::new()?;
        desk.exec("CREATE TABLE t (a INT PRIMARY KEY, b VARCHAR(20)) ENGINE=InnoDB");
        desk.exec("INSERT INTO t VALUES (7, 'old')");
        Some(Scene { desk, proxy: None })
    }

    /// Has requests that `is_meant` be answered by nothing at all.
    fn answer_nothing(&mut self, is_meant: fn(&Request) -> bool) {
        let socket = self.desk.home.path().join("proxy.sock");
        let proxy = Proxy::start(socket, self.desk.server.socket());
        proxy.judge(move |request| if is_meant(request) { Fate::Nonsense } else { Fate::Done });
        self.proxy = Some(proxy);
    }

    fn socket(&self) -> PathBuf {
        let direct = self.desk.server.socket();
        self.proxy.as_ref().map_or(direct, Proxy::socket).to_owned()
    }

    /// `inrush load` of [`ROWS`] rows in place of the old one.
    fn load(&self, path: &str) -> Command {
        let mut text = String::new();
        (0..ROWS).for_each(|row| writeln!(text, "{row}\tnew").unwrap());
        let file = self.desk.home.file("rows.txt", text);
        let mut command = self.desk.home.load(self.desk.server, &self.desk.table("t"), &file);
        command.args(["--path", path, "--mode", "replace", "--socket"]).arg(self.socket());
        command
    }

    /// `inrush replay` of a dump that makes the table anew with [`ROWS`] rows.
    fn replay(&self, arguments: &[&str]) -> Command {
        let mut text = format!(
            "USE `{}`;\nDROP TABLE IF EXISTS `t`;\nCREATE TABLE `t` (`a` int PRIMARY KEY, \
             `b` varchar(20)) ENGINE=InnoDB;\n",
            self.desk.database
        );
        for row in 0..ROWS {
            let end = if row % 1000 == 999 { ";\n" } else { "," };
            let begin = if row % 1000 == 0 { "INSERT INTO `t` VALUES " } else { "" };
            write!(text, "{begin}({row},'new'){end}").unwrap();
        }
        let file: &Path = &self.desk.home.file("dump.sql", text);
        let mut command = self.desk.home.inrush(["replay"]);
        command.arg(file).args(["--threads", "2", "--memory", "120M", "--socket"]);
        command.arg(self.socket()).args(arguments);
        if let Some(user) = self.desk.server.options().user {
            command.args(["--user", &user]);
        }
        command
    }

    /// The table is as it was, and nothing else is there.
    #[track_caller]
    fn is_as_before(&mut self, what: &str) {
        assert_eq!(self.desk.rows("SELECT * FROM t"), [OLD], "{what}");
        let database = self.desk.database.clone();
        assert_eq!(tables(&mut self.desk.session, &database), ["t"], "{what}");
    }

    /// The command went through, and the table has the new rows.
    #[track_caller]
    fn is_new(&mut self, outcome: &Outcome) {
        outcome.done();
        let found = self.desk.rows("SELECT COUNT(*), MIN(b), MAX(b) FROM t");
        assert_eq!(found, [format!("{ROWS}|new|new")], "{outcome:?}");
    }
}

/// The ways of a replay's rows: connections, one statement after the other.
const REPLAYS: [&[&str]; 2] = [&["--as", "statements", "--small", "1"], &["--small", "1M"]];

#[test]
fn a_batch_that_gets_lost_fails_a_load_on_every_path() {
    for path in ["direct", "stream", "insert"] {
        let Some(mut scene) = Scene::new() else { return };
        let outcome = run(scene.load(path).env("INRUSH_FAILPOINT", "batch.0=drop"));
        outcome.refused(1, &["of the 3000 rows that were read", "nothing more was published"]);
        scene.is_as_before(path);
        let outcome = run(&mut scene.load(path));
        scene.is_new(&outcome);
    }
}

#[test]
fn a_batch_that_gets_lost_fails_a_replay_on_every_way() {
    for arguments in REPLAYS {
        let Some(mut scene) = Scene::new() else { return };
        let outcome = run(scene.replay(arguments).env("INRUSH_FAILPOINT", "batch.0=drop"));
        let said =
            ["dump.sql, line 4", "of the 3000 rows that were read", "nothing more was published"];
        outcome.refused(1, &said);
        scene.is_as_before(&format!("{arguments:?}"));
        let outcome = run(&mut scene.replay(arguments));
        scene.is_new(&outcome);
    }
}

#[test]
fn a_connection_that_panics_fails_the_replay() {
    let Some(mut scene) = Scene::new() else { return };
    let outcome = run(scene.replay(REPLAYS[0]).env("INRUSH_FAILPOINT", "chunk.0=panic"));
    outcome.refused(1, &["dump.sql, line 4", "an internal error", "the failpoint chunk.0"]);
    scene.is_as_before("connection");
    let outcome = run(&mut scene.replay(REPLAYS[0]));
    scene.is_new(&outcome);
}

#[test]
fn an_insert_without_an_answer_fails_the_replay() {
    for arguments in REPLAYS {
        let Some(mut scene) = Scene::new() else { return };
        scene.answer_nothing(|request| request.begins("INSERT INTO"));
        let outcome = run(scene.replay(arguments).args(["--lock-wait", "1"]));
        outcome.refused(1, &["dump.sql, line 4"]);
        scene.is_as_before(&format!("{arguments:?}"));
        scene.proxy = None;
        let outcome = run(&mut scene.replay(arguments));
        scene.is_new(&outcome);
    }
}

#[test]
fn rows_without_an_answer_are_in_or_the_load_fails() {
    for path in ["stream", "insert"] {
        let Some(mut scene) = Scene::new() else { return };
        scene.answer_nothing(|request| {
            let is_bulk = request.command == COM_STMT_BULK_EXECUTE;
            is_bulk || request.begins("LOAD DATA") || request.begins("INSERT INTO `")
        });
        let outcome = run(scene.load(path).args(["--lock-wait", "1"]));
        outcome.refused(1, &[]);
        scene.is_as_before(path);
        scene.proxy = None;
        let outcome = run(&mut scene.load(path));
        scene.is_new(&outcome);
    }
}
