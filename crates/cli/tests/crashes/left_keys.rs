//! Foreign keys of other tables behind a publish that somebody disturbs: carried over, or named, and finished
//! by the next command.

use std::process::Child;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use schema::TableName;
use serde_json::Value;
use server::Session;
use targets::Names;
use testkit::TestServer;

use crate::support::{Home, Outcome, finish, idle_connections, resume, run, start, wait_paused};

const SCHEMA: &str = "\
    CREATE DATABASE d; USE d; \
    CREATE TABLE t (id INT PRIMARY KEY, v INT) ENGINE=InnoDB; \
    CREATE TABLE c (id INT AUTO_INCREMENT PRIMARY KEY, t_id INT, \
        CONSTRAINT c_t FOREIGN KEY (t_id) REFERENCES t (id)) ENGINE=InnoDB; \
    CREATE TABLE g (id INT AUTO_INCREMENT PRIMARY KEY, c_id INT, \
        CONSTRAINT g_c FOREIGN KEY (c_id) REFERENCES c (id)) ENGINE=InnoDB; \
    CREATE TABLE o (a INT) ENGINE=InnoDB; \
    CREATE TRIGGER goes_with_it AFTER DELETE ON c FOR EACH ROW DELETE FROM t WHERE id = OLD.t_id; \
    INSERT INTO c VALUES (1, NULL), (2, NULL)";
const ROWS: &str = "1\t1\n2\t2\n3\t3\n";
const LEFT: &str = "all rows are loaded; these foreign keys still refer to the old table: d.c.c_t; run inrush resume ";

/// A server of its own, a parent with a child and a grandchild, and a table of none of them. A trigger of the child
/// writes to the parent: whoever locks the child for writing has the parent locked too.
struct Scene {
    server: TestServer,
    session: Session,
    home: Home,
}

impl Scene {
    fn new() -> Option<Scene> {
        let server = TestServer::start()?;
        server.script(SCHEMA).unwrap();
        let session = server.connect().unwrap();
        Some(Scene { server, session, home: Home::new() })
    }

    fn load(&self, more: &[&str], place: &str) -> Child {
        let file = self.home.file("rows", ROWS);
        let mut load = self.home.load(&self.server, "d.t", &file);
        load.args(["--lock-wait", "2"]).args(more);
        start(load.env("INRUSH_FAILPOINT", place))
    }

    fn load_other(&self) -> Outcome {
        let file = self.home.file("others", "1\n");
        run(self.home.load(&self.server, "d.o", &file).args(["--mode", "append"]))
    }

    fn doctor(&self) -> Outcome {
        run(self.home.inrush(["doctor", "--user", "root", "--socket"]).arg(self.server.socket()))
    }

    fn inrush(&self, arguments: &[&str]) -> Outcome {
        run(&mut self.home.inrush(arguments))
    }

    /// A load that loses the connections which keep others from its tables, right behind its swap, and meets
    /// a transaction that has a row of the child.
    fn disturbed(&mut self, more: &[&str], place: &str) -> (Outcome, Session) {
        let mut child = self.load(more, &format!("{place}=pause"));
        wait_paused(&mut child);
        for connection in idle_connections(&mut self.session) {
            let _ = self.session.exec(&format!("KILL {connection}"));
        }
        let mut writer = self.server.connect().unwrap();
        for sql in ["START TRANSACTION", "INSERT INTO d.c (t_id) VALUES (NULL)"] {
            writer.exec(sql).unwrap();
        }
        // It pauses at each turn.
        while child.try_wait().unwrap().is_none() {
            resume(&child);
            std::thread::sleep(Duration::from_millis(20));
        }
        (finish(child), writer)
    }

    fn refers_to(&mut self) -> String {
        let row = self.session.query_row("SHOW CREATE TABLE d.c").unwrap().text(1).unwrap();
        row.split_once("REFERENCES ").unwrap().1.split('(').next().unwrap().trim().to_owned()
    }

    /// The keys are those of the new table, and nothing of a load's is left.
    #[track_caller]
    fn check(&mut self, rows: u64) {
        assert_eq!(self.refers_to(), "`t`");
        let count = self.session.query_row("SELECT COUNT(*) FROM d.t").unwrap();
        assert_eq!(count.number::<u64>(0).unwrap(), rows);
        let refused = self.session.exec("INSERT INTO d.c (t_id) VALUES (99)");
        assert_eq!(refused.err().and_then(|error| error.errno()), Some(1452));
        let left =
            "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_NAME LIKE '\\_inrush%'";
        assert_eq!(self.session.query_text(left).unwrap(), None);
    }
}

#[test]
fn keys_that_somebody_keeps_from_being_carried_over_are_named_and_the_next_load_finishes() {
    let Some(mut scene) = Scene::new() else { return };
    for place in ["publish.moved", "publish.dropped"] {
        scene.session.exec("DELETE FROM d.t").unwrap();
        let (left, mut writer) = scene.disturbed(&["--json"], place);
        assert_eq!(left.code(), 4, "{place}: {left:?}");
        assert!(left.err.contains(LEFT), "{place}: {left:?}");
        let json: Value = serde_json::from_str(&left.out).unwrap();
        assert_eq!(json["foreign_keys_left"][0], "d.c.c_t", "{json}");
        assert!(scene.refers_to().contains("_inrush_empty_"), "{place}");
        let steps = scene.home.journal();
        assert!(steps.ends_with(&["keys.failed", "job.failed"].map(str::to_owned)), "{steps:?}");
        // Whoever loads something else is not kept from it.
        let other = scene.load_other();
        let warned = "warning: foreign keys still refer to the old table of d.t, after an earlier load: d.c.c_t (";
        assert!(other.done().err.contains(warned), "{place}: {other:?}");
        writer.exec("COMMIT").unwrap();
        let other = scene.load_other();
        assert!(other.done().err.contains("refer to d.t now: d.c.c_t"), "{place}: {other:?}");
        scene.check(3);
        assert!(!scene.load_other().done().err.contains("foreign keys"));
    }
}

#[test]
fn resume_carries_keys_over_and_loads_nothing_again() {
    let Some(mut scene) = Scene::new() else { return };
    scene.session.exec("INSERT INTO d.t VALUES (50, 1)").unwrap();
    // Rows that are added to a table with foreign keys are sent to MySQL.
    let (mode, rows) = if scene.server.is_mysql() { ("replace", 3) } else { ("append", 4) };
    let (left, mut writer) = scene.disturbed(&["--mode", mode], "publish.dropped");
    assert_eq!(left.code(), 4, "{left:?}");
    let job = left.err.split_once(LEFT).unwrap().1.split(',').next().unwrap().to_owned();
    let again = scene.inrush(&["resume", &job]);
    assert_eq!(again.code(), 4, "{again:?}");
    assert!(again.err.contains("these foreign keys still refer to the old table: d.c.c_t"));
    writer.exec("COMMIT").unwrap();
    let done = scene.inrush(&["resume", &job]);
    assert!(done.done().err.contains("all rows are loaded"), "{done:?}");
    scene.check(rows);
    scene.inrush(&["resume", &job]).refused(2, &["it is done"]);
}

#[test]
fn keys_that_a_killed_load_has_left_are_carried_over_by_a_load_of_another_table() {
    let Some(mut scene) = Scene::new() else { return };
    for place in ["publish.moved", "publish.dropped", "keys.begin"] {
        let killed = finish(scene.load(&["--mode", "replace"], &format!("{place}=kill")));
        assert_eq!(killed.code(), -1, "{place}: {killed:?}");
        assert!(scene.refers_to().contains("_inrush_old_"), "{place}");
        let words =
            "a load of d.t ended early, and foreign keys still refer to its old table: d.c.c_t";
        let doctor = scene.doctor();
        assert!(doctor.done().err.contains(words), "{place}: {doctor:?}");
        let file = scene.home.file("others", "1\n");
        let mut plan = scene.home.inrush(["plan", "--into", "d.o", "--user", "root", "--socket"]);
        let plan = run(plan.arg(scene.server.socket()).arg(&file).args(["--mode", "append"]));
        assert!(plan.done().out.contains(words), "{place}: {plan:?}");
        let other = scene.load_other();
        assert!(other.done().err.contains("refer to d.t now: d.c.c_t"), "{place}: {other:?}");
        scene.check(3);
        assert!(!scene.doctor().done().err.contains("ended early"), "{place}");
    }
}

/// The server cannot take a RENAME of two steps back while somebody has a row of a child: InnoDB has the table
/// under the name of the old one then, and DROP TABLE of that name would delete the new rows.
#[test]
fn a_table_that_nobody_can_open_is_mended_with_all_its_rows() {
    let Some(mut scene) = Scene::new() else { return };
    if scene.server.lacks("RENAME that fails and leaves a table which nobody can open") {
        return;
    }
    let aside = Names::of(&TableName::new("d", "t")).replaced.quoted();
    let mut session = scene.server.connect().unwrap();
    let mut exec = |sql: &str| session.exec(&sql.replace('@', &aside)).map(drop);
    for sql in [
        "SET foreign_key_checks=0",
        "CREATE TABLE d.n LIKE d.t",
        "INSERT INTO d.n VALUES (1, 1), (2, 2)",
        "RENAME TABLE d.t TO @, d.n TO d.t",
        "DROP TABLE @",
    ] {
        exec(sql).unwrap();
    }
    let mut writer = scene.server.connect().unwrap();
    for sql in ["START TRANSACTION", "INSERT INTO d.c (t_id) VALUES (NULL)"] {
        writer.exec(sql).unwrap();
    }
    let failed =
        exec("SET STATEMENT innodb_lock_wait_timeout=0 FOR RENAME TABLE d.t TO @, @ TO d.t");
    assert_eq!(failed.err().and_then(|error| error.errno()), Some(1205));
    let broken = exec("SELECT 1 FROM d.t");
    assert_eq!(broken.err().and_then(|error| error.errno()), Some(1932));
    writer.exec("COMMIT").unwrap();
    let other = scene.load_other();
    assert!(other.done().err.contains("refer to d.t now: d.c.c_t"), "{other:?}");
    scene.check(2);
}

/// Transactions that have a row of the grandchild and then want the child, or the new table, get in the way of
/// connections that wait for these. A round takes up to a minute, so only with `INRUSH_TEST_KILLS`.
#[test]
fn under_load_keys_are_carried_over_or_named() {
    let Ok(kills) = std::env::var("INRUSH_TEST_KILLS") else { return };
    let rounds = kills.parse().unwrap_or(5);
    let Some(mut scene) = Scene::new() else { return };
    let is_over = AtomicBool::new(false);
    let server = &scene.server;
    let disturb = |statements: &[&str]| {
        let mut session = server.connect().unwrap();
        while !is_over.load(Ordering::Relaxed) {
            for sql in statements {
                if session.exec(sql).is_err() {
                    let _ = session.exec("ROLLBACK");
                    break;
                }
            }
        }
    };
    std::thread::scope(|scope| {
        let grandchild = [
            "START TRANSACTION",
            "INSERT INTO d.g (c_id) VALUES (1)",
            "DO SLEEP(0.01)",
            "INSERT INTO d.c (t_id) VALUES (1)",
            "UPDATE d.t SET v=v+1 WHERE id=2",
            "COMMIT",
            "DO SLEEP(0.1)",
        ];
        scope.spawn(move || disturb(&grandchild));
        let parent = ["UPDATE d.t SET v=7 WHERE id=1", "DO SLEEP(0.01)"];
        scope.spawn(move || disturb(&parent));
        let file = scene.home.file("rows", ROWS);
        let load = || {
            let mut load = scene.home.load(server, "d.t", &file);
            run(load.args(["--mode", "replace", "--lock-wait", "10"]))
        };
        let _ends = Ends(&is_over);
        let (mut done, mut left) = (0, 0);
        for round in 0..rounds {
            let outcome = load();
            match outcome.code() {
                0 => done += 1,
                4 => left += 1,
                // A lock did not come before the swap: nothing has changed.
                _ => outcome.refused(1, &["lock"]),
            }
            let refers = scene.session.query_row("SHOW CREATE TABLE d.c").unwrap();
            let is_old = refers.text(1).unwrap().contains("_inrush_");
            assert_eq!(is_old, outcome.code() == 4, "{round}: {outcome:?}");
        }
        assert!(rounds < 20 || done + left > 0, "{done} {left}");
    });
    scene.load_other().done();
    // Each round may have met a lock, and have left an empty table.
    finish(scene.load(&["--mode", "replace"], "none")).done();
    scene.check(3);
}

struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
