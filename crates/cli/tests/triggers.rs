//! Tables with triggers, built past them: the rows are the file's, and the triggers are on the table
//! afterwards to the letter, whatever happens on the way.

use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::Command;

use server::Session;
use testkit::{TestServer, TestServerOptions};

use crate::scene::SWAPPED;
use crate::support::{Home, Outcome, finish, names, resume, run, start, wait_paused};

const KILL: i32 = 9;

/// A table with triggers in an order, of two definers and modes, with old rows, and the file.
const SCRIPT: &str = "
    CREATE DATABASE d; USE d; CREATE USER app@localhost; GRANT ALL ON d.* TO app@localhost;
    CREATE TABLE log (x INT); CREATE TABLE u (id INT PRIMARY KEY, v INT);
    CREATE TABLE `a-b` (id INT PRIMARY KEY, v INT, KEY v (v));
    INSERT INTO `a-b` VALUES (100, 100);
    DELIMITER //
    CREATE TRIGGER second BEFORE INSERT ON `a-b` FOR EACH ROW SET NEW.v = NEW.v + 1//
    CREATE DEFINER=app@localhost TRIGGER `fi``rst` BEFORE INSERT ON `a-b` FOR EACH ROW
        PRECEDES second SET NEW.v = COALESCE(NEW.v, 7)//
    SET sql_mode='ANSI_QUOTES'//
    CREATE TRIGGER third AFTER UPDATE ON \"a-b\" FOR EACH ROW
        BEGIN INSERT INTO log VALUES (NEW.v); END//";

struct Place {
    home: Home,
    server: TestServer,
    session: Session,
    file: PathBuf,
    triggers: Vec<String>,
}

impl Place {
    fn new() -> Option<Place> {
        let options = TestServerOptions { durable: true, ..TestServerOptions::default() };
        let server = TestServer::start_with(&options)?;
        server.script(SCRIPT).unwrap();
        let home = Home::new();
        let file = home.file("rows", "1\t\\N\n2\t20\n3\t30\n");
        let session = server.connect().unwrap();
        let mut place = Place { home, server, session, file, triggers: Vec::new() };
        place.triggers = place.shown();
        assert_eq!(place.triggers.len(), 3);
        Some(place)
    }

    fn command(&self, more: &[&str]) -> Command {
        let mut command = self.home.load(&self.server, "d.a-b", &self.file);
        command.args(["--mode", "replace"]).args(more);
        command
    }

    fn load(&self, more: &[&str]) -> Outcome {
        run(&mut self.command(more))
    }

    fn rows(&mut self, sql: &str) -> Vec<String> {
        let rows = self.session.query(sql).unwrap();
        let line = |row: &server::Row| {
            (0..row.len()).map(|at| row.text_lossy(at)).collect::<Vec<_>>().join("|")
        };
        rows.iter().map(line).collect()
    }

    /// All that the server says of the triggers, when they were made included.
    fn shown(&mut self) -> Vec<String> {
        self.rows("SHOW TRIGGERS FROM d")
    }

    /// The triggers are what they were, and nothing of ours is there.
    #[track_caller]
    fn check(&mut self, when: &str) {
        assert_eq!(self.shown(), self.triggers, "{when}");
        let folder = self.server.datadir().join("d");
        let of_triggers = |name: &String| {
            name.ends_with(".TRG") || name.ends_with(".TRN") || name.contains("_inrush")
        };
        let found: Vec<String> = names(&folder).into_iter().filter(of_triggers).collect();
        assert_eq!(found, ["a@002db.TRG", "fi@0060rst.TRN", "second.TRN", "third.TRN"], "{when}");
    }

    /// They are run, in their order, and are known by their names.
    fn check_they_work(&mut self) {
        for sql in ["INSERT INTO d.`a-b` VALUES (9, NULL)", "UPDATE d.`a-b` SET v = v WHERE id = 9"]
        {
            self.session.exec(sql).unwrap();
        }
        assert_eq!(self.rows("SELECT v FROM d.`a-b` WHERE id = 9"), ["8"]);
        assert_eq!(self.rows("SELECT * FROM d.log"), ["8"]);
        for name in ["`fi``rst`", "second", "third"] {
            self.session.exec(&format!("DROP TRIGGER d.{name}")).unwrap();
        }
        assert_eq!(self.shown(), [""; 0]);
    }
}

const NEW_ROWS: [&str; 3] = ["1|", "2|20", "3|30"];
const ALL: &str = "SELECT * FROM d.`a-b` ORDER BY id";

#[test]
fn triggers_are_left_alone_and_stay() {
    let Some(mut place) = Place::new() else { return };
    place.load(&[]).refused(2, &["trigger (fi`rst)"]);
    let sent = place.load(&["--no-triggers", "--path", "stream"]);
    sent.refused(2, &["--no-triggers is for the direct path"]);
    assert_eq!(place.rows(ALL), ["100|100"]);
    place.check("refused");
    let loaded = place.load(&["--no-triggers"]);
    assert!(loaded.done().out.contains("stay, but do not run for these rows"), "{loaded:?}");
    assert_eq!(place.rows(ALL), NEW_ROWS);
    place.check("replaced");
    // An empty table, with others at once.
    place.session.exec("DELETE FROM d.`a-b`").unwrap();
    place.home.file("u.txt", "5\t5\n");
    let mut both = place.home.inrush(["load", "rows", "u.txt", "--into", "d", "--map", "rows=a-b"]);
    both.args(["--dialect", "mysql", "--no-triggers", "--path", "direct", "--memory", "40M"]);
    let both = run(both.arg("--socket").arg(place.server.socket()));
    assert!(both.done().out.contains("2 tables at once"), "{both:?}");
    assert_eq!(place.rows(ALL), NEW_ROWS);
    place.check("two tables");
    // They outlive the server, too.
    place.server.restart().unwrap();
    place.session = place.server.connect().unwrap();
    place.check("restarted");
    place.check_they_work();
}

/// LOCK TABLES of a table for writing also locks what its triggers write to, so two connections of the load would
/// wait for each other.
#[test]
fn tables_whose_triggers_write_to_each_other_take_their_places_together() {
    let Some(place) = Place::new() else { return };
    place
        .server
        .script(
            "USE d; CREATE TRIGGER there AFTER INSERT ON u FOR EACH ROW INSERT INTO log VALUES (1);
             CREATE TRIGGER back AFTER DELETE ON log FOR EACH ROW DELETE FROM u WHERE id = OLD.x",
        )
        .unwrap();
    let folder = place.home.path().join("several");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("log.csv"), "1\n2\n").unwrap();
    std::fs::write(folder.join("u.csv"), "1,1\n2,2\n").unwrap();
    for mode in ["insert", "replace"] {
        let mut load = place.home.load(&place.server, "d", &folder);
        load.args(["--mode", mode, "--path", "direct", "--no-triggers", "--lock-wait", "3"]);
        let loaded = run(&mut load);
        let loaded = loaded.done();
        assert!(loaded.out.contains("4 rows loaded into 2 tables at once"), "{loaded:?}");
        assert!(!loaded.err.contains("waiting for a lock"), "{loaded:?}");
    }
}

#[test]
fn a_trigger_that_is_made_meanwhile_stays_too() {
    let Some(mut place) = Place::new() else { return };
    let mut command = place.command(&["--no-triggers"]);
    let mut child = start(command.env("INRUSH_FAILPOINT", "publish.begin=pause"));
    wait_paused(&mut child);
    place.session.exec("DROP TRIGGER d.third").unwrap();
    let sql = "CREATE TRIGGER d.third AFTER DELETE ON d.`a-b` FOR EACH ROW SET @gone = OLD.id";
    place.session.exec(sql).unwrap();
    place.triggers = place.shown();
    resume(&child);
    finish(child).done();
    assert_eq!(place.rows(ALL), NEW_ROWS);
    place.check("another trigger");
}

#[test]
fn no_trigger_is_lost_wherever_the_program_or_the_server_is_killed() {
    let Some(mut place) = Place::new() else { return };
    for point in ["import.end", "publish.begin", "publish.queued", "publish.moved", SWAPPED] {
        for kills_server in [false, true] {
            let when = format!("{point}, server {kills_server}");
            let mut command = place.command(&["--no-triggers"]);
            let how = if kills_server { "pause" } else { "kill" };
            let mut child = start(command.env("INRUSH_FAILPOINT", format!("{point}={how}")));
            if kills_server {
                wait_paused(&mut child);
                place.server.kill_9().unwrap();
                resume(&child);
                finish(child);
                place.server.restart().unwrap_or_else(|error| panic!("{when}: {error}"));
                place.session = place.server.connect().unwrap();
            } else {
                assert_eq!(finish(child).status.signal(), Some(KILL), "{when}");
            }
            // Whoever uses the table waits for a RENAME that goes on without the program.
            place.rows(ALL);
            let of_target = |line: &&String| line.split('|').nth(2) == Some("a-b");
            let shown = place.shown();
            let shown: Vec<&String> = shown.iter().filter(of_target).collect();
            assert_eq!(shown, place.triggers.iter().collect::<Vec<_>>(), "{when}");
            // Whoever loads it next removes what is left; by another way, too.
            place.load(&["--no-triggers"]).done();
            assert_eq!(place.rows(ALL), NEW_ROWS, "{when}");
            place.check(&when);
            place.session.exec("DELETE FROM d.`a-b`").unwrap();
            place.session.exec("INSERT INTO d.`a-b` VALUES (100, 99)").unwrap();
        }
    }
    place.check_they_work();
}
