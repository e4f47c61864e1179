//! A replay killed at any step: each table is the old one or the new one, and the same command goes
//! on to what the client would have made of the dump.

use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};

use server::Session;
use testkit::{TestServer, TestServerOptions};

use crate::support::{Home, Outcome, finish, run, start};

const KILL: i32 = 9;
/// The words about rows that may be in.
const DOUBT: &str = "rows there may be these";
/// A replay has fewer steps.
const STEPS_MAX: usize = 200;

/// Tables before the replay: `p` and `c` are made again by the dump, `other` is none of its tables.
const BEFORE: &str = "
CREATE TABLE p (id INT PRIMARY KEY, old INT) ENGINE=InnoDB;
CREATE TABLE c (id INT PRIMARY KEY, p INT, CONSTRAINT f FOREIGN KEY (p) REFERENCES p (id)) ENGINE=InnoDB;
CREATE TABLE other (id INT PRIMARY KEY, p INT, CONSTRAINT o FOREIGN KEY (p) REFERENCES p (id)) ENGINE=InnoDB;
CREATE TABLE e (id INT) ENGINE=InnoDB;
CREATE TABLE big (id INT PRIMARY KEY, old INT) ENGINE=InnoDB;
INSERT INTO p VALUES (1, 1);
INSERT INTO c VALUES (1, 1);
INSERT INTO other VALUES (1, 1)";

const DUMP: &str = "
/*!40101 SET NAMES utf8mb4 */;
/*!40014 SET @OLD_FOREIGN_KEY_CHECKS=@@FOREIGN_KEY_CHECKS, FOREIGN_KEY_CHECKS=0 */;
/*!40101 SET @OLD_SQL_MODE=@@SQL_MODE, SQL_MODE='NO_AUTO_VALUE_ON_ZERO' */;
DROP TABLE IF EXISTS `c`;
CREATE TABLE `c` (
  `id` int(11) NOT NULL,
  `p` int(11) DEFAULT NULL,
  PRIMARY KEY (`id`),
  KEY `f` (`p`),
  CONSTRAINT `f` FOREIGN KEY (`p`) REFERENCES `p` (`id`) ON DELETE CASCADE
) ENGINE=InnoDB;
LOCK TABLES `c` WRITE;
/*!40000 ALTER TABLE `c` DISABLE KEYS */;
INSERT INTO `c` VALUES (10,1),(11,2),(12,NULL);
INSERT INTO `c` VALUES (20,2);
/*!40000 ALTER TABLE `c` ENABLE KEYS */;
UNLOCK TABLES;
/*!50003 CREATE TRIGGER `t` BEFORE INSERT ON `c` FOR EACH ROW SET NEW.p = 1 */;
DROP TABLE IF EXISTS `n`;
CREATE TABLE `n` (
  `id` int(11) NOT NULL AUTO_INCREMENT,
  `me` int(11) DEFAULT NULL,
  PRIMARY KEY (`id`),
  KEY `me` (`me`),
  CONSTRAINT `n_ibfk_1` FOREIGN KEY (`me`) REFERENCES `n` (`id`)
) ENGINE=InnoDB AUTO_INCREMENT=9;
INSERT INTO `n` VALUES (1,2),(2,1);
DROP TABLE IF EXISTS `p`;
CREATE TABLE `p` (
  `id` int(11) NOT NULL,
  PRIMARY KEY (`id`)
) ENGINE=InnoDB;
INSERT INTO `p` VALUES (1),(2);
/*!50001 DROP VIEW IF EXISTS `v`*/;
/*!50001 CREATE VIEW `v` AS SELECT `c`.`id` FROM `c` */;
/*!50003 CREATE PROCEDURE `q`() SELECT 1 */;
/*!40101 SET SQL_MODE=@OLD_SQL_MODE */;
/*!40014 SET FOREIGN_KEY_CHECKS=@OLD_FOREIGN_KEY_CHECKS */;
";
/// Rows for a table that the dump does not make.
const MORE: &str = "INSERT INTO `e` VALUES (1),(2);\nINSERT INTO `e` VALUES (3);\n";

/// A database, what it was, and what the client makes of the dump.
struct Scene<'a> {
    server: &'a TestServer,
    session: Session,
    home: Home,
    database: String,
    more: &'a [&'a str],
    old: Vec<String>,
    new: Vec<String>,
    expected: String,
}

impl<'a> Scene<'a> {
    /// `tail` is what the dump says after what all have.
    fn new(server: &'a TestServer, more: &'a [&'a str], tail: &str) -> Scene<'a> {
        Scene::of(server, more, &format!("{DUMP}{tail}"))
    }

    /// With a dump that says this.
    fn of(server: &'a TestServer, more: &'a [&'a str], text: &str) -> Scene<'a> {
        let home = Home::new();
        let database = server.database().unwrap();
        home.file("dump.sql", format!("USE `{database}`;\n{text}"));
        let session = server.connect().unwrap();
        let (old, new, expected) = (Vec::new(), Vec::new(), String::new());
        let mut scene = Scene { server, session, home, database, more, old, new, expected };
        scene.reset();
        scene.old = scene.tables();
        let mut client = scene.client("mariadb");
        client.stdin(std::fs::File::open(scene.home.path().join("dump.sql")).unwrap());
        run(&mut client).done();
        scene.new = scene.tables();
        scene.expected = scene.dumped();
        scene
    }

    fn client(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.arg("--no-defaults").arg("--socket").arg(self.server.socket());
        command.args(self.server.options().user.map(|user| format!("--user={user}")));
        command.stdin(Stdio::null());
        command
    }

    /// Everything as it is before a replay.
    fn reset(&mut self) {
        let database = &self.database;
        let script =
            format!("DROP DATABASE {database};CREATE DATABASE {database};USE {database};{BEFORE}");
        script.split(';').for_each(|statement| drop(self.session.exec(statement).unwrap()));
        let _ = std::fs::remove_dir_all(self.home.path().join("state"));
    }

    /// A dump of everything.
    fn dumped(&self) -> String {
        let mut dump = self.client("mariadb-dump");
        dump.args(["--skip-comments", "--routines", "--triggers", &self.database]);
        run(&mut dump).done().out.clone()
    }

    /// Rows of the tables that the dump fills; that a table is not there is another content.
    fn tables(&mut self) -> Vec<String> {
        let database = &self.database;
        let session = &mut self.session;
        ["c", "n", "p", "e", "big"]
            .map(|table| {
                match session.query(&format!("SELECT * FROM {database}.{table} ORDER BY 1")) {
                    Ok(rows) => format!("{rows:?}"),
                    Err(error) => format!("{:?}", error.errno()),
                }
            })
            .to_vec()
    }

    fn command(&self) -> Command {
        let mut command = self.home.inrush(["replay", "dump.sql"]);
        command.arg("--socket").arg(self.server.socket()).args(self.more);
        if let Some(user) = self.server.options().user {
            command.args(["--user", &user]);
        }
        command
    }

    fn killed_at(&self, step: usize) -> Command {
        let mut command = self.command();
        command.env("INRUSH_FAILPOINT", format!("step.{step}=kill"));
        command
    }

    /// No table is anything but the old one or the new one.
    #[track_caller]
    fn is_whole(&mut self, step: usize) {
        let seen = self.tables();
        for (at, table) in seen.iter().enumerate() {
            let is_known = [&self.old[at], &self.new[at]].contains(&table);
            assert!(is_known, "step {step}: {table}");
        }
        if self.more.contains(&"--atomic") {
            let is_new: Vec<bool> = (0..3).map(|at| seen[at] != self.old[at]).collect();
            assert!(is_new.iter().all(|&new| new == is_new[0]), "step {step}: {seen:?}");
        }
    }

    /// The same command again makes what the client makes, and leaves nothing.
    #[track_caller]
    fn again(&mut self, step: usize) {
        let mut outcome = run(&mut self.command());
        if outcome.err.contains(DOUBT) {
            // As its user does who finds all of them.
            assert_eq!(self.tables()[3], self.new[3], "step {step}: {outcome:?}");
            self.session.exec(&format!("DELETE FROM {}.e", self.database)).unwrap();
            outcome = run(&mut self.command());
        }
        assert_eq!(outcome.code(), 0, "step {step}: {outcome:?}");
        self.is_as_expected(step);
        self.is_clean(step);
    }

    #[track_caller]
    fn is_as_expected(&self, step: usize) {
        let dumped = self.dumped();
        let other =
            dumped.lines().zip(self.expected.lines()).find(|(seen, expected)| seen != expected);
        assert_eq!(other, None, "step {step}");
        assert_eq!(dumped.len(), self.expected.len(), "step {step}");
    }

    #[track_caller]
    fn is_clean(&mut self, step: usize) {
        let sql = "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_NAME LIKE '\\_inrush%' \
             AND TABLE_SCHEMA='";
        let left = self.session.query(&format!("{sql}{}'", self.database)).unwrap();
        assert!(left.is_empty(), "step {step}: {left:?}");
        let files = std::fs::read_dir(self.server.datadir().join(&self.database)).unwrap();
        let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
        let left: Vec<String> = names.filter(|name| name.contains("inrush")).collect();
        assert!(left.is_empty(), "step {step}: {left:?}");
        let journals = std::fs::read_dir(self.home.path().join("state/inrush/replays"));
        assert_eq!(journals.map_or(0, Iterator::count), 0, "step {step}");
    }
}

/// Kills at every step there is, until one is not reached.
fn kill_at_every_step(more: &[&str], tail: &str) {
    let Some(server) = TestServer::shared() else { return };
    let mut scene = Scene::new(server, more, tail);
    for step in 1..STEPS_MAX {
        scene.reset();
        let killed: Outcome = run(&mut scene.killed_at(step));
        if killed.status.signal() != Some(KILL) {
            assert_eq!(killed.code(), 0, "{killed:?}");
            scene.is_as_expected(step);
            scene.is_clean(step);
            assert!(step > 10, "only {step} steps");
            return;
        }
        scene.is_whole(step);
        scene.again(step);
    }
    panic!("a replay has more than {STEPS_MAX} steps");
}

/// Rows of new tables came twice, or no replay came to its end any more, when one was killed between
/// the RENAME of tables and their lines in the journal.
#[test]
fn a_replay_killed_at_any_step_goes_on() {
    kill_at_every_step(&[], &format!("{PLAIN}{MORE}"));
}

/// Rows of somebody else in a table that had none were taken for those of the dump, which were lost.
#[test]
fn rows_of_others_are_not_taken_for_those_of_the_dump() {
    let Some(server) = TestServer::shared() else { return };
    let mut scene = Scene::of(server, &["--as", "statements"], MORE);
    let (mut step, mut refused) = (0, 0);
    loop {
        step += 1;
        scene.reset();
        let killed = run(&mut scene.killed_at(step));
        if killed.status.signal() != Some(KILL) {
            break;
        }
        if scene.tables()[3] != scene.old[3] {
            continue;
        }
        let database = scene.database.clone();
        scene.session.exec(&format!("INSERT INTO {database}.e VALUES (7)")).unwrap();
        let outcome = run(&mut scene.command());
        if outcome.err.contains(DOUBT) {
            refused += 1;
            continue;
        }
        assert_eq!(outcome.code(), 0, "step {step}: {outcome:?}");
        let count = scene.session.query_row(&format!("SELECT COUNT(*) FROM {database}.e"));
        assert_eq!(count.unwrap().text_lossy(0), "4", "step {step}: {outcome:?}");
    }
    assert!((1..5).contains(&refused), "{refused} refusals in {step} steps");
}

/// Changes of rows of a table that the dump does not make: in a transaction, and each by itself.
const CHANGES: &str = "INSERT INTO `e` VALUES (1),(2);
BEGIN;
UPDATE `e` SET `id` = `id` + 10;
SAVEPOINT `s`;
DELETE FROM `e`;
ROLLBACK TO `s`;
INSERT INTO `e` VALUES (3);
INSERT INTO `e` SELECT `id` + 100 FROM `e`;
COMMIT;
UPDATE `e` SET `id` = `id` + 1000;
SET autocommit=0;
DELETE FROM `e` ORDER BY `id` LIMIT 1;
CREATE TABLE `behind` (`id` int) ENGINE=InnoDB;
INSERT INTO `e` VALUES (4);
COMMIT;
";

/// A statement of a transaction was once taken for done before its COMMIT, and one that was killed was
/// done twice. Only a kill during a COMMIT leaves a doubt.
#[test]
fn changes_of_rows_killed_at_any_step_are_made_once() {
    let Some(server) = TestServer::shared() else { return };
    let mut scene = Scene::of(server, &[], CHANGES);
    let mut doubts = 0;
    for step in 1..STEPS_MAX {
        scene.reset();
        let killed: Outcome = run(&mut scene.killed_at(step));
        if killed.status.signal() != Some(KILL) {
            assert_eq!(killed.code(), 0, "{killed:?}");
            // More on a busy machine, where a server is still at a COMMIT whose client is gone.
            assert!((1..20).contains(&doubts), "{doubts} doubts");
            return;
        }
        let before = scene.tables();
        let outcome = run(&mut scene.command());
        if outcome.code() == 0 {
            scene.is_as_expected(step);
            scene.is_clean(step);
            continue;
        }
        let doubt = ["may be done already", DOUBT];
        assert!(doubt.iter().any(|words| outcome.err.contains(words)), "step {step}: {outcome:?}");
        doubts += 1;
        assert_eq!(scene.tables()[3], before[3], "step {step}: {outcome:?}");
    }
    panic!("a replay has more than {STEPS_MAX} steps");
}

/// A table without transactions, and a transaction that does not reach it.
const BESIDE: &str = "CREATE TABLE `m` (`n` int) ENGINE=MyISAM;
BEGIN;
UPDATE `e` SET `id` = `id` + 10;
UPDATE `e` SET `id` = `id` + 20;
INSERT INTO `e` SELECT 5;
UPDATE `e` SET `id` = `id` + 40;
COMMIT;
";

/// All changes of rows of a killed replay were in doubt if any table of the server had no transactions.
#[test]
fn a_table_without_transactions_leaves_no_doubt_about_others() {
    // Alone: others' tables without transactions may have names of its columns.
    let Some(server) = TestServer::start() else { return };
    let mut scene = Scene::of(&server, &[], BESIDE);
    let mut doubts = 0;
    for step in 1..STEPS_MAX {
        scene.reset();
        let killed: Outcome = run(&mut scene.killed_at(step));
        if killed.status.signal() != Some(KILL) {
            assert_eq!(killed.code(), 0, "{killed:?}");
            // That of the COMMIT.
            assert_eq!(doubts, 1);
            return;
        }
        let outcome = run(&mut scene.command());
        match outcome.err.contains("may be done already") {
            true => doubts += 1,
            false => assert_eq!(outcome.code(), 0, "step {step}: {outcome:?}"),
        }
    }
    panic!("a replay has more than {STEPS_MAX} steps");
}

/// A transaction of statements that may commit.
const CALLS: &str = "SET NAMES utf8mb4;
CREATE PROCEDURE `add`(`n` int) INSERT INTO `e` VALUES (`n`);
BEGIN;
CALL `add`(1);
CALL `add`(2);
CALL `add`(3);
COMMIT;
";

/// Each CALL of a killed transaction was refused once, one after the other.
#[test]
fn a_killed_transaction_of_many_calls_is_refused_once() {
    let Some(server) = TestServer::shared() else { return };
    let mut scene = Scene::of(server, &[], CALLS);
    let mut refused = 0;
    for step in 1..STEPS_MAX {
        scene.reset();
        let killed: Outcome = run(&mut scene.killed_at(step));
        if killed.status.signal() != Some(KILL) {
            assert_eq!(killed.code(), 0, "{killed:?}");
            assert!(refused > 1, "{refused} refusals");
            return;
        }
        let mut outcome = run(&mut scene.command());
        if outcome.err.contains("may be done already") {
            refused += 1;
            // As its user does who undoes what there is.
            scene.session.exec(&format!("DELETE FROM {}.e", scene.database)).unwrap();
            outcome = run(&mut scene.command());
        }
        assert_eq!(outcome.code(), 0, "step {step}: {outcome:?}");
        scene.is_as_expected(step);
        scene.is_clean(step);
    }
    panic!("a replay has more than {STEPS_MAX} steps");
}

/// A table that gets another name.
const RENAMED: &str = "CREATE TABLE `o1` (`id` int) ENGINE=InnoDB;
INSERT INTO `o1` VALUES (1);
RENAME TABLE `o1` TO `o2`;
";

/// The same command failed for ever, since there was no table of the old name.
#[test]
fn a_rename_that_the_server_has_done_is_not_done_again() {
    let Some(server) = TestServer::shared() else { return };
    let mut scene = Scene::of(server, &[], RENAMED);
    let mut done_before = 0;
    for step in 1..STEPS_MAX {
        scene.reset();
        let killed: Outcome = run(&mut scene.killed_at(step));
        if killed.status.signal() != Some(KILL) {
            assert_eq!(killed.code(), 0, "{killed:?}");
            assert!(done_before > 0, "the RENAME was never in doubt");
            return;
        }
        // As the server has done it, if it came there.
        let rename = format!("RENAME TABLE {0}.o1 TO {0}.o2", scene.database);
        if scene.session.exec(&rename).is_err() {
            continue;
        }
        let outcome = run(&mut scene.command());
        if outcome.code() == 0 {
            done_before += 1;
            scene.is_as_expected(step);
        }
    }
    panic!("a replay has more than {STEPS_MAX} steps");
}

/// Tables that the dump does not drop before, without keys.
const PLAIN: &str = "CREATE TABLE IF NOT EXISTS `x1` (`id` int) ENGINE=InnoDB;
INSERT INTO `x1` VALUES (1),(2);
CREATE TABLE `x2` (`id` int) ENGINE=InnoDB;
INSERT INTO `x2` VALUES (1);
CREATE TABLE IF NOT EXISTS `x3` (`id` int) ENGINE=InnoDB;
";

#[test]
fn an_atomic_replay_killed_at_any_step_is_done_or_not() {
    kill_at_every_step(&["--atomic"], PLAIN);
}

#[test]
fn a_replay_whose_server_is_killed_goes_on() {
    let durable = TestServerOptions { durable: true, ..TestServerOptions::default() };
    let Some(server) = TestServer::start_with(&durable) else { return };
    let mut scene = Scene::new(&server, &[], MORE);
    for step in (2..STEPS_MAX).step_by(7) {
        scene.reset();
        let mut command = scene.command();
        command.env("INRUSH_FAILPOINT", format!("step.{step}=pause"));
        let mut child = start(&mut command);
        if !wait_paused_or_ended(&mut child) {
            assert!(step > 10, "only {step} steps");
            finish(child);
            return;
        }
        server.kill_9().unwrap();
        crate::support::resume(&child);
        let outcome = finish(child);
        server.restart().unwrap();
        scene.session = server.connect().unwrap();
        scene.is_whole(step);
        if outcome.code() != 0 {
            scene.again(step);
        }
    }
}

/// Everybody waited behind the ALTER TABLE that adds foreign keys, as long as it waited for somebody.
#[test]
fn foreign_keys_are_added_in_turns() {
    let Some(server) = TestServer::shared() else { return };
    let mut scene = Scene::new(server, &[], "");
    scene.reset();
    let database = scene.database.clone();
    let text = format!(
        "USE `{database}`;\nSET FOREIGN_KEY_CHECKS=0;\nDROP TABLE IF EXISTS c;\n\
         CREATE TABLE c (id INT PRIMARY KEY, p INT, CONSTRAINT f FOREIGN KEY (p) REFERENCES p (id)) \
         ENGINE=InnoDB;\nINSERT INTO c VALUES (1,1);\nDROP TABLE IF EXISTS p;\n\
         CREATE TABLE p (id INT PRIMARY KEY) ENGINE=InnoDB;\nINSERT INTO p VALUES (1);\n"
    );
    scene.home.file("dump.sql", text);
    // One table has its place, and its foreign key comes behind the other one.
    let mut command = scene.command();
    command.env("INRUSH_FAILPOINT", "replay.dropped=pause");
    let mut child = start(&mut command);
    assert!(wait_paused_or_ended(&mut child));
    let (mut holder, read) = (server.connect().unwrap(), format!("SELECT * FROM {database}.c"));
    holder.exec("BEGIN").unwrap();
    holder.query(&read).unwrap();
    crate::support::resume(&child);
    let (begun, mut longest) = (std::time::Instant::now(), std::time::Duration::ZERO);
    let mut count = 0;
    while begun.elapsed().as_secs() < 6 {
        let asked = std::time::Instant::now();
        scene.session.query(&read).unwrap();
        longest = longest.max(asked.elapsed());
        count += 1;
        if count % 50 == 0 {
            // It is stopped there again.
            crate::support::resume(&child);
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    holder.exec("COMMIT").unwrap();
    crate::support::resume(&child);
    assert_eq!(finish(child).code(), 0);
    let waited = longest.as_secs_f64();
    assert!((0.5..3.0).contains(&waited), "{waited} s");
    let shown = scene.session.query_row(&format!("SHOW CREATE TABLE {database}.c")).unwrap();
    assert!(shown.text_lossy(1).contains("CONSTRAINT `f`"), "{}", shown.text_lossy(1));
}

/// A table of so many rows that they go in by the load engine, or over several connections.
fn big() -> String {
    let rows: Vec<String> = (1..40_000).map(|id| format!("({id},'{id:060}')")).collect();
    format!(
        "DROP TABLE IF EXISTS `big`;\nCREATE TABLE `big` (`id` int NOT NULL PRIMARY KEY, `t` \
         varchar(99), KEY (`t`)) ENGINE=InnoDB;\nINSERT INTO `big` VALUES {};\n",
        rows.join(",")
    )
}

#[test]
fn a_replay_killed_while_many_rows_go_in_leaves_nothing_behind() {
    let Some(server) = TestServer::shared() else { return };
    let mut scene = Scene::new(server, &["--as", "rows"], &big());
    let places = ["staging.discarded", "rows.end", "import.placed", "publish.swapped", "job.end"];
    for (step, place) in places.into_iter().enumerate() {
        scene.reset();
        let mut command = scene.command();
        let killed = run(command.env("INRUSH_FAILPOINT", format!("{place}=kill")));
        assert_eq!(killed.status.signal(), Some(KILL), "{place}: {killed:?}");
        scene.is_whole(step);
        scene.again(step);
    }
    scene.more = &["--as", "statements"];
    for step in 0..3 {
        scene.reset();
        let mut child = start(&mut scene.command());
        std::thread::sleep(std::time::Duration::from_millis(60 + 70 * step as u64));
        let _ = child.kill();
        let killed = finish(child);
        scene.is_whole(step);
        // One that came to its end first has nothing to go on with, and made what cannot be made twice.
        if killed.status.signal() == Some(KILL) {
            scene.again(step);
        }
    }
}

/// Rows for a table that was there before, so many that they go over several connections.
fn more_of_other() -> String {
    let rows: Vec<String> = (2..120_000).map(|id| format!("({id},{})", id % 2 + 1)).collect();
    let statements = rows.chunks(20_000);
    statements.map(|rows| format!("INSERT INTO `other` VALUES {};\n", rows.join(","))).collect()
}

#[test]
fn rows_that_several_connections_commit_go_in_as_a_whole_whenever_it_is_killed() {
    let Some(server) = TestServer::shared() else { return };
    let more = ["--as", "statements", "--memory", "24M"];
    let mut scene = Scene::new(server, &more, &more_of_other());
    for (step, place) in ["replay.prepared", "replay.committed"].into_iter().enumerate() {
        for is_empty in [false, true] {
            scene.reset();
            let database = scene.database.clone();
            if is_empty {
                scene.session.exec(&format!("DELETE FROM {database}.other")).unwrap();
            }
            let mut command = scene.command();
            let killed = run(command.env("INRUSH_FAILPOINT", format!("{place}=kill")));
            assert_eq!(killed.status.signal(), Some(KILL), "{place}: {killed:?}");
            let outcome = run(&mut scene.command());
            assert_eq!(outcome.code(), 0, "{place}: {outcome:?}");
            if is_empty {
                scene.session.exec(&format!("INSERT INTO {database}.other VALUES (1,1)")).unwrap();
            }
            scene.is_as_expected(step);
            scene.is_clean(step);
            assert!(scene.session.query("XA RECOVER").unwrap().is_empty(), "{place}");
        }
    }
}

/// Waits for the failpoint; false for a process that has come to its end.
fn wait_paused_or_ended(child: &mut std::process::Child) -> bool {
    let stat = format!("/proc/{}/stat", child.id());
    loop {
        let text = std::fs::read_to_string(&stat).unwrap();
        match text.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next()) {
            Some('T') => return true,
            Some('Z') => return false,
            _ => std::thread::sleep(std::time::Duration::from_millis(2)),
        }
    }
}
