//! Tables of MySQL with triggers, built past them: the triggers are on the table afterwards, to the letter and in their
//! order, whatever happens on the way. Runs where INRUSH_TEST_MYSQLD names a `mysqld`.

use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use server::Session;
use testkit::{MYSQL_VARIABLE, TestServer, TestServerOptions};

use crate::support::{Home, Outcome, finish, resume, run, start, tables, wait_paused};

const KILL: i32 = 9;

/// Triggers of two definers and modes, in an order that is not that of their names, one of a table that is not there.
const SCHEMA: [&str; 15] = [
    "CREATE DATABASE d",
    "USE d",
    "CREATE USER app@localhost",
    "GRANT ALL ON d.* TO app@localhost",
    "CREATE TABLE log (x INT)",
    "CREATE TABLE u (id INT PRIMARY KEY, v INT)",
    "CREATE TABLE `a-b` (id INT PRIMARY KEY, v INT, KEY v (v))",
    "CREATE TRIGGER second BEFORE INSERT ON `a-b` FOR EACH ROW SET NEW.v = NEW.v + 1",
    "CREATE DEFINER=app@localhost TRIGGER `fi``rst` BEFORE INSERT ON `a-b` FOR EACH ROW \
     PRECEDES second SET NEW.v = COALESCE(NEW.v, 7)",
    "CREATE TRIGGER a_last BEFORE INSERT ON `a-b` FOR EACH ROW FOLLOWS second SET @last = NEW.v",
    "SET sql_mode='ANSI_QUOTES,NO_BACKSLASH_ESCAPES', collation_connection=latin1_bin",
    "CREATE TRIGGER third AFTER UPDATE ON \"a-b\" FOR EACH ROW /* it's \u{fc} */\n  BEGIN \
     INSERT INTO \"log\" VALUES (NEW.v); -- on `a-b` FOR EACH ROW \n SET @x = _latin1'\\', @y = N'\u{fc}''';\nEND",
    "SET NAMES utf8mb4, sql_mode=DEFAULT",
    "CREATE TRIGGER gone AFTER DELETE ON `a-b` FOR EACH ROW INSERT INTO missing VALUES (1)",
    "INSERT INTO `a-b` VALUES (100, 100)",
];
const NEW_ROWS: [&str; 3] = ["1|", "2|20", "3|30"];
const ALL: &str = "SELECT * FROM d.`a-b` ORDER BY id";
const ADDED_ROWS: [&str; 4] = ["1|", "2|20", "3|30", "4|40"];
/// The steps between the RENAME and the end, behind the last one before it.
const STEPS: [&str; 6] = [
    "triggers.begin",
    "triggers.held",
    "triggers.dropped",
    "triggers.made",
    "triggers.end",
    "publish.moved",
];

struct Place {
    home: Home,
    server: TestServer,
    session: Session,
    file: PathBuf,
    more: PathBuf,
    triggers: Vec<String>,
}

impl Place {
    fn new(extra: &[&str]) -> Option<Place> {
        let Some(path) = std::env::var_os(MYSQL_VARIABLE).filter(|path| !path.is_empty()) else {
            println!("skipped: {MYSQL_VARIABLE} names no mysqld");
            return None;
        };
        let server = TestServer::start_with(&TestServerOptions {
            binary: Some(PathBuf::from(path)),
            durable: true,
            extra: extra.iter().map(|&option| option.to_owned()).collect(),
            ..TestServerOptions::default()
        })?;
        let session = server.connect().unwrap();
        let home = Home::new();
        let file = home.file("rows", "1\t\\N\n2\t20\n3\t30\n");
        let more = home.file("more", "4\t40\n");
        let mut place = Place { home, server, session, file, more, triggers: Vec::new() };
        SCHEMA.iter().for_each(|sql| place.exec(sql));
        place.triggers = place.shown();
        assert_eq!(place.triggers.len(), 5);
        Some(place)
    }

    #[track_caller]
    fn exec(&mut self, sql: &str) {
        self.session.exec(sql).unwrap();
    }

    fn command(&self, more: &[&str]) -> Command {
        let mut command = self.home.load(&self.server, "d.a-b", &self.file);
        command.args(["--mode", "replace", "--unlogged", "--no-triggers"]).args(more);
        command
    }

    fn load(&self, more: &[&str]) -> Outcome {
        run(&mut self.command(more))
    }

    /// The command that adds a row to those of [`Place::load`].
    fn appending(&self) -> Command {
        let mut command = self.home.load(&self.server, "d.a-b", &self.more);
        command.args(["--mode", "append", "--unlogged", "--no-triggers"]);
        command
    }

    /// A load of another table.
    fn load_other(&self) -> Outcome {
        let file = self.home.file("others", "1\t1\n");
        run(self.home.load(&self.server, "d.u", &file).args(["--mode", "replace", "--unlogged"]))
    }

    fn rows(&mut self, sql: &str) -> Vec<String> {
        let rows = self.session.query(sql).unwrap();
        let line = |row: &server::Row| {
            (0..row.len()).map(|at| row.text_lossy(at)).collect::<Vec<_>>().join("|")
        };
        rows.iter().map(line).collect()
    }

    /// All that the server says of the triggers, but when they were made.
    fn shown(&mut self) -> Vec<String> {
        let sql = "SELECT TRIGGER_NAME, EVENT_OBJECT_TABLE, EVENT_MANIPULATION, ACTION_TIMING, ACTION_ORDER, \
                   ACTION_STATEMENT, SQL_MODE, DEFINER, CHARACTER_SET_CLIENT, COLLATION_CONNECTION, \
                   DATABASE_COLLATION FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA='d' \
                   ORDER BY EVENT_MANIPULATION, ACTION_TIMING, ACTION_ORDER";
        let rows = self.session.query(sql).unwrap();
        let mut shown = self.rows(sql);
        for (line, row) in shown.iter_mut().zip(rows) {
            let name = row.text(0).unwrap().replace('`', "``");
            let made = self.rows(&format!("SHOW CREATE TRIGGER d.`{name}`"));
            let made: Vec<&str> = made[0].rsplitn(2, '|').collect();
            line.push_str(made[1]);
        }
        shown
    }

    /// The triggers are what they were, and nothing of ours is there.
    #[track_caller]
    fn check(&mut self, when: &str) {
        assert_eq!(self.shown(), self.triggers, "{when}");
        assert_eq!(tables(&mut self.session, "d"), ["a-b", "log", "u"], "{when}");
    }

    /// They are run, in their order.
    #[track_caller]
    fn check_they_work(&mut self) {
        self.exec("INSERT INTO d.`a-b` VALUES (9, NULL)");
        self.exec("UPDATE d.`a-b` SET v = v WHERE id = 9");
        assert_eq!(self.rows("SELECT v, @last FROM d.`a-b` WHERE id = 9"), ["8|8"]);
        assert_eq!(self.rows("SELECT * FROM d.log"), ["8"]);
        let gone = self.session.exec("DELETE FROM d.`a-b`");
        assert_eq!(gone.err().and_then(|error| error.errno()), Some(1146));
    }
}

#[test]
fn triggers_stay_and_do_not_run_for_loaded_rows() {
    let Some(mut place) = Place::new(&[]) else { return };
    let loaded = place.load(&[]);
    assert!(loaded.done().out.contains("stay, but do not run for these rows"), "{loaded:?}");
    assert_eq!(place.rows(ALL), NEW_ROWS);
    place.check("replaced");
    run(&mut place.appending()).done();
    assert_eq!(place.rows(ALL), ADDED_ROWS);
    place.check("added");
    place.exec("DROP TRIGGER d.gone");
    place.exec("DELETE FROM d.`a-b`");
    place.exec("CREATE TRIGGER d.gone AFTER DELETE ON d.`a-b` FOR EACH ROW INSERT INTO d.missing VALUES (1)");
    place.triggers = place.shown();
    // An empty table, with others at once.
    place.home.file("u.txt", "5\t5\n");
    let mut both = place.home.inrush(["load", "rows", "u.txt", "--into", "d", "--map", "rows=a-b"]);
    both.args(["--dialect", "mysql", "--no-triggers", "--path", "direct", "--memory", "40M"]);
    let both = run(both.arg("--unlogged").arg("--socket").arg(place.server.socket()));
    assert!(both.done().out.contains("2 tables at once"), "{both:?}");
    assert_eq!(place.rows(ALL), NEW_ROWS);
    place.check("two tables");
    // They outlive the server, too.
    place.server.restart().unwrap();
    place.session = place.server.connect().unwrap();
    place.check("restarted");
    place.check_they_work();
}

#[test]
fn triggers_that_somebody_makes_meanwhile_stay_too() {
    let Some(mut place) = Place::new(&[]) else { return };
    let mut command = place.command(&[]);
    let mut child = start(command.env("INRUSH_FAILPOINT", "publish.begin=pause"));
    wait_paused(&mut child);
    place.exec("DROP TRIGGER d.third");
    place.exec("CREATE TRIGGER d.third AFTER DELETE ON d.`a-b` FOR EACH ROW SET @gone = OLD.id");
    place.exec("CREATE TRIGGER d.fourth BEFORE DELETE ON d.`a-b` FOR EACH ROW SET @gone = 1");
    place.triggers = place.shown();
    resume(&child);
    finish(child).done();
    assert_eq!(place.rows(ALL), NEW_ROWS);
    place.check("other triggers");
    // One that cannot be carried over: all is as before.
    place.exec("DELETE FROM d.log");
    let mut command = place.command(&[]);
    let mut child = start(command.env("INRUSH_FAILPOINT", "publish.begin=pause"));
    wait_paused(&mut child);
    let long = "n".repeat(60);
    place.exec(&format!(
        "CREATE TRIGGER d.{long} BEFORE DELETE ON d.`a-b` FOR EACH ROW SET @gone = 1"
    ));
    place.exec("UPDATE d.`a-b` SET v = 31 WHERE id = 3");
    place.triggers = place.shown();
    resume(&child);
    finish(child).refused(1, &["too long"]);
    assert_eq!(place.rows(ALL), ["1|", "2|20", "3|31"]);
    place.check("a long name");
}

#[test]
fn triggers_that_cannot_be_made_anew_are_refused_by_name() {
    let Some(mut place) = Place::new(&["--log-bin=binlog"]) else { return };
    let long = "n".repeat(57);
    let cases: [(&str, &str, &str); 4] = [
        (
            &format!("CREATE TRIGGER d.{long} BEFORE DELETE ON d.u FOR EACH ROW SET @a = 1"),
            &format!("DROP TRIGGER d.{long}"),
            "more than 56 characters",
        ),
        (
            "CREATE TRIGGER d._inrush_x BEFORE DELETE ON d.u FOR EACH ROW SET @a = 1",
            "DROP TRIGGER d._inrush_x",
            "trigger (_inrush_x: names that begin with _inrush_ are those of loads)",
        ),
        (
            "ALTER DATABASE d COLLATE utf8mb4_bin",
            "ALTER DATABASE d COLLATE utf8mb4_0900_ai_ci",
            "trigger (plain: it was created when the database had the collation utf8mb4_0900_ai_ci",
        ),
        (
            "ALTER TABLE d.u ADD FOREIGN KEY f (v) REFERENCES d.u (id)",
            "DROP TABLE d.u",
            "trigger (plain)",
        ),
    ];
    place.exec("CREATE TRIGGER d.plain BEFORE INSERT ON d.u FOR EACH ROW SET @a = 1");
    let file = place.home.file("others", "1\t1\n");
    let load = |place: &Place, more: &[&str]| {
        let mut load = place.home.load(&place.server, "d.u", &file);
        load.args(["--mode", "replace", "--unlogged", "--no-triggers"]).args(more);
        run(if more.is_empty() { &mut load } else { load.env("MYSQL_PWD", "x") })
    };
    load(&place, &[]).done();
    // An account that may not see triggers takes none for there.
    place.exec("CREATE USER blind@localhost IDENTIFIED BY 'x'");
    place.exec(
        "GRANT SELECT, INSERT, UPDATE, CREATE, ALTER, DROP, LOCK TABLES ON d.* TO blind@localhost",
    );
    place.exec("GRANT RELOAD, PROCESS, SESSION_VARIABLES_ADMIN ON *.* TO blind@localhost");
    load(&place, &["--user", "blind"]).refused(2, &["GRANT TRIGGER ON `d`.* TO `blind`"]);
    // The account, and the binary log.
    let rights = "SELECT, INSERT, CREATE, ALTER, DROP, LOCK TABLES, TRIGGER ON d.*";
    place.exec("CREATE USER one@localhost IDENTIFIED BY 'x'");
    place.exec(&format!("GRANT {rights} TO one@localhost"));
    place.exec("GRANT RELOAD, PROCESS ON *.* TO one@localhost");
    place.exec("GRANT SESSION_VARIABLES_ADMIN ON *.* TO one@localhost");
    let refused = load(&place, &["--user", "one"]);
    refused.refused(
        2,
        &["log_bin_trust_function_creators=ON", "GRANT SET_ANY_DEFINER ON *.* TO `one`"],
    );
    place.exec("SET GLOBAL log_bin_trust_function_creators=ON");
    place.exec("GRANT SET_ANY_DEFINER ON *.* TO one@localhost");
    // The definer has SYSTEM_USER: the server is asked before rows are read.
    load(&place, &["--user", "one"]).refused(1, &["SYSTEM_USER"]);
    place.exec("GRANT SYSTEM_USER ON *.* TO one@localhost");
    load(&place, &["--user", "one"]).done();
    for (before, after, why) in cases {
        place.exec(before);
        load(&place, &[]).refused(2, &[why]);
        place.exec(after);
    }
    place.exec("CREATE TABLE d.u (id INT PRIMARY KEY, v INT)");
    place.exec("SET character_set_client=latin1");
    place.exec("CREATE TRIGGER d.old_text BEFORE INSERT ON d.u FOR EACH ROW SET @a = '\u{fc}'");
    place.exec("SET NAMES utf8mb4");
    load(&place, &[])
        .refused(2, &["trigger (old_text: its text is in latin1, and has more than ASCII)"]);
    assert_eq!(tables(&mut place.session, "d"), ["a-b", "log", "u"]);
}

/// Kills a load that replaces rows, or adds some.
fn kill_at_every_step(kills_server: bool, adds: bool) {
    let Some(mut place) = Place::new(&[]) else { return };
    let before = if adds { "publish.queued" } else { "publish.prepared" };
    for point in std::iter::once(before).chain(STEPS) {
        let when = format!("{point}, server {kills_server}, adds {adds}");
        if adds {
            place.load(&[]).done();
        }
        let command = |place: &Place| if adds { place.appending() } else { place.command(&[]) };
        let how = if kills_server { "pause" } else { "kill" };
        let mut child = start(command(&place).env("INRUSH_FAILPOINT", format!("{point}={how}")));
        let mut is_done = false;
        if kills_server {
            wait_paused(&mut child);
            place.server.kill_9().unwrap();
            resume(&child);
            is_done = finish(child).out.contains("loaded");
            place.server.restart().unwrap_or_else(|error| panic!("{when}: {error}"));
            place.session = place.server.connect().unwrap();
        } else {
            assert_eq!(finish(child).status.signal(), Some(KILL), "{when}");
        }
        // The next command puts all back, of whatever table.
        let other = place.load_other();
        let is_told = other.done().err.contains("are those of d.a-b again: d.");
        let is_left = point.starts_with("triggers.") && point != "triggers.end";
        // A RENAME that waits goes on without the program.
        let may_be_left = is_left || point == "publish.queued";
        assert!(kills_server || is_told == is_left || may_be_left, "{when}: {other:?}");
        assert_eq!(place.shown(), place.triggers, "{when}");
        // The same command finishes the load.
        if !is_done {
            run(&mut command(&place)).done();
        }
        assert_eq!(place.rows(ALL), if adds { &ADDED_ROWS[..] } else { &NEW_ROWS }, "{when}");
        if is_done {
            // The old table goes with the next load.
            place.load(&[]).done();
        }
        place.check(&when);
        place.exec("UPDATE d.`a-b` SET v = 99");
        place.exec("TRUNCATE d.log");
    }
    place.check_they_work();
}

#[test]
fn no_trigger_is_lost_wherever_the_program_is_killed() {
    kill_at_every_step(false, false);
}

#[test]
fn no_trigger_is_lost_wherever_the_server_is_killed() {
    kill_at_every_step(true, false);
}

#[test]
fn no_trigger_is_lost_wherever_an_append_is_killed() {
    kill_at_every_step(false, true);
}

#[test]
fn no_trigger_is_lost_wherever_the_server_is_killed_in_an_append() {
    kill_at_every_step(true, true);
}

/// A merged partition takes its place by EXCHANGE, and the table stays.
#[test]
fn rows_are_added_to_partitions_past_triggers() {
    let Some(mut place) = Place::new(&[]) else { return };
    let table = "CREATE TABLE d.parts (id INT PRIMARY KEY, v INT) PARTITION BY RANGE (id) \
                 (PARTITION a VALUES LESS THAN (10), PARTITION b VALUES LESS THAN MAXVALUE)";
    place.exec(table);
    place.exec("INSERT INTO d.parts VALUES (1, 1), (11, 1)");
    place.exec(
        "CREATE TRIGGER d.note AFTER INSERT ON d.parts FOR EACH ROW INSERT INTO d.log VALUES (NEW.id)",
    );
    let before = place.shown();
    for rows in ["2\t2\n", "3\t3\n13\t3\n"] {
        let file = place.home.file("some", rows);
        let mut load = place.home.load(&place.server, "d.parts", &file);
        run(load.args(["--mode", "append", "--unlogged", "--no-triggers"])).done();
    }
    let rows = place.rows("SELECT * FROM d.parts ORDER BY id");
    assert_eq!(rows, ["1|1", "2|2", "3|3", "11|1", "13|3"]);
    assert_eq!(place.shown(), before);
    assert!(place.rows("SELECT * FROM d.log").is_empty());
    place.exec("INSERT INTO d.parts VALUES (20, 1)");
    assert_eq!(place.rows("SELECT * FROM d.log"), ["20"]);
    assert_eq!(tables(&mut place.session, "d"), ["a-b", "log", "parts", "u"]);
}

/// Rows of others run the triggers before, beside and behind the loads; loaded ones do not.
#[test]
fn rows_that_others_write_beside_appends_run_the_triggers() {
    let Some(mut place) = Place::new(&[]) else { return };
    place.exec("CREATE TABLE d.busy (id INT PRIMARY KEY, v INT, KEY v (v))");
    place.exec("INSERT INTO d.busy VALUES (0, 0)");
    place.exec("CREATE TRIGGER d.note AFTER INSERT ON d.busy FOR EACH ROW INSERT INTO d.log VALUES (NEW.id)");
    let ended = AtomicBool::new(false);
    let written = std::thread::scope(|scope| {
        let write = |first: u32| {
            let (mut session, ended) = (place.server.connect().unwrap(), &ended);
            scope.spawn(move || {
                let mut id = first;
                while !ended.load(Ordering::Relaxed) {
                    session.exec(&format!("INSERT INTO d.busy VALUES ({id}, 1)")).unwrap();
                    id += 1;
                }
                id - first
            })
        };
        let writers = [1_000_000, 2_000_000, 3_000_000].map(write);
        for load in 1..=8 {
            let rows: String = (0..100).map(|row| format!("{}\t2\n", load * 1000 + row)).collect();
            let file = place.home.file("some", &rows);
            let mut load = place.home.load(&place.server, "d.busy", &file);
            run(load.args(["--mode", "append", "--unlogged", "--no-triggers"])).done();
        }
        ended.store(true, Ordering::Relaxed);
        writers.map(|writer| writer.join().unwrap()).iter().sum::<u32>()
    });
    assert!(written > 100, "{written} rows");
    let counts = "SELECT (SELECT COUNT(*) FROM d.busy), (SELECT COUNT(*) FROM d.log), \
                  (SELECT COUNT(*) FROM d.log JOIN d.busy ON x = id AND v = 1)";
    assert_eq!(place.rows(counts), [format!("{}|{written}|{written}", written + 801)]);
    place.exec("DROP TABLE d.busy");
    place.exec("DELETE FROM d.log");
    place.check("beside writers");
}

/// The load itself goes on over a new connection.
#[test]
fn triggers_are_carried_over_by_a_load_that_loses_its_connection() {
    let Some(mut place) = Place::new(&[]) else { return };
    let points = ["triggers.begin", "triggers.held", "triggers.dropped", "triggers.made"];
    for (point, adds) in points.iter().flat_map(|point| [(point, false), (point, true)]) {
        if adds {
            place.load(&[]).done();
        }
        let mut command = if adds { place.appending() } else { place.command(&[]) };
        let mut child = start(command.env("INRUSH_FAILPOINT", format!("{point}=pause")));
        wait_paused(&mut child);
        let sql = "SELECT ID FROM information_schema.PROCESSLIST WHERE ID<>CONNECTION_ID() AND USER='root'";
        for id in place.rows(sql) {
            let _ = place.session.exec(&format!("KILL {id}"));
        }
        while child.try_wait().unwrap().is_none() {
            resume(&child);
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        finish(child).done();
        assert_eq!(place.rows(ALL), if adds { &ADDED_ROWS[..] } else { &NEW_ROWS }, "{point}");
        place.check(point);
        place.exec("UPDATE d.`a-b` SET v = 99");
    }
}

/// Somebody takes the name of a trigger in the moment in which no trigger has it.
#[test]
fn a_trigger_that_cannot_be_put_back_is_named_and_the_next_load_does_so() {
    let Some(mut place) = Place::new(&[]) else { return };
    let mut child = start(place.command(&[]).env("INRUSH_FAILPOINT", "triggers.dropped=pause"));
    wait_paused(&mut child);
    place.exec("CREATE TRIGGER d.`fi``rst` BEFORE INSERT ON d.u FOR EACH ROW SET @a = 1");
    while child.try_wait().unwrap().is_none() {
        resume(&child);
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let left = finish(child);
    assert_eq!(left.code(), 4, "{left:?}");
    assert!(left.err.contains("these triggers are still those of the old table"), "{left:?}");
    assert!(left.err.contains("d.fi`rst"), "{left:?}");
    let mut doctor = place.home.inrush(["doctor", "--user", "root", "--socket"]);
    let doctor = run(doctor.arg(place.server.socket()));
    let words = "triggers are still those of its old table, and do not run: ";
    let told = doctor.done().err.split_once(words).map(|(_, names)| names);
    assert!(told.is_some_and(|names| names.contains("d.fi`rst")), "{doctor:?}");
    place.exec("DROP TRIGGER d.`fi``rst`");
    let other = place.load_other();
    assert!(other.done().err.contains("are those of d.a-b again: d."), "{other:?}");
    assert_eq!(place.shown(), place.triggers);
    assert_eq!(place.rows(ALL), NEW_ROWS);
}
