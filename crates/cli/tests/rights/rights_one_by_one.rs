//! Every right that a server knows taken away from an account that has all others, one at a time:
//! the command either works and is exact, or it fails, says the GRANT that mends it, and leaves the
//! tables as they were and nothing beside them. With that GRANT, no other, the same command works.

use std::path::PathBuf;
use std::process::Command;

use server::Session;
use testkit::TestServer;

use crate::snapshot::Snapshot;
use crate::support::{Home, Outcome, check_table, run};

const PASSWORD: &str = "sw0rdfish-1177";
/// Rights that some way may need; `make soak` takes away all that the server knows.
const LIKELY: [&str; 15] = [
    "SELECT",
    "INSERT",
    "UPDATE",
    "DELETE",
    "CREATE",
    "DROP",
    "ALTER",
    "INDEX",
    "REFERENCES",
    "TRIGGER",
    "CREATE VIEW",
    "LOCK TABLES",
    "RELOAD",
    "PROCESS",
    "SUPER",
];
/// The same of MySQL. Rights of which each alone would do are one.
const LIKELY_MYSQL: [&str; 15] = [
    "SELECT",
    "REFERENCES",
    "UPDATE",
    "DELETE",
    "TRIGGER",
    "SUPER, SYSTEM_VARIABLES_ADMIN, SESSION_VARIABLES_ADMIN",
    "INSERT",
    "CREATE",
    "DROP",
    "LOCK TABLES",
    "ALTER",
    "INDEX",
    "RELOAD",
    "PROCESS",
    "CREATE VIEW",
];
/// Words of grants that are no privilege that could be missing.
const NONE: [&str; 3] = ["USAGE", "PROXY", "GRANT OPTION"];

/// How rows get in, and what is there before.
#[derive(Clone, Copy, Debug)]
struct RightsCase {
    name: &'static str,
    /// Arguments of `inrush`; FILE, DB and TABLE, a statement's file, are replaced.
    command: &'static str,
    /// Statements that make the tables.
    before: &'static [&'static str],
    text: &'static str,
    /// Rows of `t` behind it.
    after: &'static [&'static str],
}

const KEYS: &str = "CREATE TABLE t (a INT PRIMARY KEY, b INT, KEY b (b)) ENGINE=InnoDB";
const OLD: &str = "INSERT INTO t VALUES (1, 1)";
const PARENT: [&str; 4] = [
    "CREATE TABLE p (a INT PRIMARY KEY) ENGINE=InnoDB",
    "INSERT INTO p VALUES (1), (2), (3)",
    "CREATE TABLE t (a INT PRIMARY KEY, b INT, KEY b (b), FOREIGN KEY (b) REFERENCES p (a)) \
     ENGINE=InnoDB",
    OLD,
];
const TRIGGER: [&str; 3] =
    [KEYS, "CREATE TRIGGER g BEFORE INSERT ON t FOR EACH ROW SET NEW.b = NEW.b", OLD];
const ROWS: &str = "2\t2\n3\t3\n";
const NEW: [&str; 2] = ["2 2", "3 3"];
const BOTH: [&str; 3] = ["1 1", "2 2", "3 3"];
const LOAD: &str = "load FILE --into DB.t";
const DUMP: &str = "DROP TABLE IF EXISTS `t`;\n\
    CREATE TABLE `t` (`a` int PRIMARY KEY, `b` int, KEY `b` (`b`)) ENGINE=InnoDB;\n\
    LOCK TABLES `t` WRITE;\nINSERT INTO `t` VALUES (2,2),(3,3);\nUNLOCK TABLES;\n\
    CREATE TRIGGER `g` BEFORE INSERT ON `t` FOR EACH ROW SET NEW.b = NEW.b;\n\
    DROP VIEW IF EXISTS `v`;\nCREATE VIEW `v` AS SELECT a FROM t;\n";

const WAYS: [RightsCase; 17] = [
    RightsCase {
        name: "direct",
        command: "LOAD --path direct --mode replace",
        before: &[KEYS, OLD],
        text: ROWS,
        after: &NEW,
    },
    RightsCase {
        name: "direct, empty",
        command: "LOAD --path direct",
        before: &[KEYS],
        text: ROWS,
        after: &NEW,
    },
    RightsCase {
        name: "direct, made",
        command: "LOAD --path direct --create --header",
        before: &[],
        text: "a\tb\n2\t2\n3\t3\n",
        after: &NEW,
    },
    RightsCase {
        name: "direct, made by a statement",
        command: "LOAD --path direct --ddl TABLE",
        before: &[],
        text: ROWS,
        after: &NEW,
    },
    RightsCase {
        name: "stream, made by a statement",
        command: "LOAD --path stream --ddl TABLE",
        before: &[],
        text: ROWS,
        after: &NEW,
    },
    RightsCase {
        name: "stream",
        command: "LOAD --path stream --mode replace",
        before: &[KEYS, OLD],
        text: ROWS,
        after: &NEW,
    },
    RightsCase {
        name: "stream, some left out",
        command: "LOAD --path stream --mode replace --on-duplicate skip",
        before: &[KEYS, OLD],
        text: "2\t2\n2\t9\n3\t3\n",
        after: &NEW,
    },
    RightsCase {
        name: "one of several",
        command: "load FILE --into DB --map input=t --mode replace",
        before: &[KEYS, OLD],
        text: ROWS,
        after: &NEW,
    },
    RightsCase {
        name: "one of several, sent",
        command: "load FILE --into DB --map input=t --mode replace --path stream",
        before: &[KEYS, OLD],
        text: ROWS,
        after: &NEW,
    },
    RightsCase {
        name: "stream, added",
        command: "LOAD --path stream --mode append",
        before: &PARENT,
        text: ROWS,
        after: &BOTH,
    },
    RightsCase {
        name: "stream, instead of some",
        command: "LOAD --path stream --mode append --on-duplicate replace",
        before: &[KEYS, OLD],
        text: "1\t5\n2\t2\n",
        after: &["1 5", "2 2"],
    },
    RightsCase {
        name: "insert",
        command: "LOAD --path insert --mode replace",
        before: &TRIGGER,
        text: ROWS,
        after: &NEW,
    },
    RightsCase {
        name: "insert, with a foreign key",
        command: "LOAD --path insert --mode replace",
        before: &PARENT,
        text: ROWS,
        after: &NEW,
    },
    RightsCase {
        name: "as it can",
        command: "LOAD --mode replace",
        before: &PARENT,
        text: ROWS,
        after: &NEW,
    },
    RightsCase {
        name: "insert, changed",
        command: "LOAD --path insert --mode append --on-duplicate update",
        before: &[KEYS, OLD],
        text: "1\t5\n2\t2\n",
        after: &["1 5", "2 2"],
    },
    RightsCase {
        name: "replay",
        command: "replay FILE --into DB",
        before: &[],
        text: DUMP,
        after: &NEW,
    },
    RightsCase {
        name: "replay, whole",
        command: "replay FILE --into DB --atomic",
        before: &[KEYS, OLD],
        text: DUMP,
        after: &NEW,
    },
];

/// The statements of an error that give the account what it lacks.
///
/// Errors: the message is of another form, or gives something else.
fn mending(outcome: &Outcome, missing: &str) -> Result<Vec<String>, String> {
    let errors = outcome.err.lines().filter(|line| line.starts_with("inrush: "));
    let errors: Vec<&str> = errors.filter(|line| !line.starts_with("inrush: warning")).collect();
    let ([error], 1 | 2) = (errors.as_slice(), outcome.code()) else {
        return Err(format!("ended with another status, or not with one error: {outcome:?}"));
    };
    let mut grants: Vec<String> = Vec::new();
    let account = " TO `one`@`localhost`";
    for (at, _) in error.match_indices("GRANT ") {
        let Some(end) = error[at..].find(account) else { continue };
        grants.push(error[at..at + end + account.len()].to_owned());
    }
    let gives = |grant: &String| {
        let rights = grant.strip_prefix("GRANT ").and_then(|rest| rest.split_once(" ON "));
        let is_missing = |right: &str| missing.split(", ").any(|missing| right == missing);
        rights.is_some_and(|(rights, _)| rights.split(", ").any(is_missing))
    };
    match grants.iter().any(gives) {
        true => Ok(grants),
        false => Err(format!("no GRANT of {missing} in {error}")),
    }
}

fn expected(way: RightsCase) -> Vec<String> {
    way.after.iter().map(|&row| row.to_owned()).collect()
}

struct Scene {
    server: TestServer,
    root: Session,
    home: Home,
}

impl Scene {
    fn of(server: Option<TestServer>) -> Option<Scene> {
        let server = server?;
        let mut root = server.connect().unwrap();
        root.exec(&format!("CREATE USER one@localhost IDENTIFIED BY '{PASSWORD}'")).unwrap();
        Some(Scene { server, root, home: Home::new() })
    }

    /// Those of the server's rights that can be given.
    fn all_rights(&mut self) -> Vec<String> {
        let rows = self.root.query("SHOW PRIVILEGES").unwrap();
        let rights = rows.iter().map(|row| row.text(0).unwrap().to_ascii_uppercase());
        let rights: Vec<String> = rights.filter(|right| !NONE.contains(&&**right)).collect();
        rights.into_iter().filter(|right| self.give(&[right]).is_ok()).collect()
    }

    fn give(&mut self, rights: &[&str]) -> server::Result<()> {
        self.root.exec("REVOKE ALL PRIVILEGES, GRANT OPTION FROM one@localhost")?;
        self.root.exec(&format!("GRANT {} ON *.* TO one@localhost", rights.join(", "))).map(drop)
    }

    fn command(&self, way: RightsCase, database: &str) -> Command {
        let file: PathBuf = self.home.file("input", way.text);
        let words = way.command.replace("LOAD", LOAD);
        let words = words.split(' ').map(|word| match word {
            "FILE" => file.display().to_string(),
            "TABLE" => self.home.file("table.sql", KEYS).display().to_string(),
            word => word.replace("DB", database),
        });
        let mut command = self.home.inrush(words);
        command.args(["--threads", "2", "--memory", "120M", "--user", "one", "--socket"]);
        command.arg(self.server.socket()).env("MYSQL_PWD", PASSWORD);
        command
    }

    fn seen(&mut self, database: &str) -> Snapshot {
        Snapshot::of(&mut self.root, &self.server, database)
    }

    /// Without one of the rights, or some: whether that works; or what was wrong with it, in words.
    fn without(&mut self, way: RightsCase, all: &[String], missing: &str) -> Result<bool, String> {
        let database = self.server.database().unwrap();
        self.root.exec(&format!("USE {database}")).unwrap();
        way.before.iter().for_each(|sql| drop(self.root.exec(sql).unwrap()));
        let is_kept = |right: &&str| missing.split(", ").all(|missing| *right != missing);
        let kept: Vec<&str> = all.iter().map(|r| &**r).filter(is_kept).collect();
        self.give(&kept).unwrap();
        let before = self.seen(&database);
        let outcome = run(&mut self.command(way, &database));
        let after = self.seen(&database);
        if outcome.code() == 0 {
            return match self.is_new(way, &database, &outcome) && after.left().is_empty() {
                true => Ok(true),
                false => Err(format!("ended well with {after:?}: {outcome:?}")),
            };
        }
        let grants = mending(&outcome, missing)?;
        let is_replay = way.command.starts_with("replay");
        // What a load will need is known before; what a dump asks for is not.
        if !is_replay && outcome.code() != 2 {
            return Err(format!("seen too late: {outcome:?}"));
        }
        let are_named = after.left().iter().all(|name| outcome.err.contains(name));
        // Of a replay what was finished stays: triggers and views come behind the rows.
        let is_finished = is_replay && after.rows == Some(expected(way));
        let is_kept = match outcome.code() {
            // Nothing was started.
            2 => after == before,
            _ => after == before || is_finished || !after.left().is_empty(),
        };
        if !are_named || !is_kept {
            return Err(format!("was {before:?}, is {after:?}: {outcome:?}"));
        }
        for grant in &grants {
            self.root.exec(grant).map_err(|error| format!("{grant}: {error}"))?;
        }
        let again = run(&mut self.command(way, &database));
        match again.code() == 0 && self.is_new(way, &database, &again) {
            true => Ok(false),
            false => Err(format!("then with {grants:?}: {again:?}; before {outcome:?}")),
        }
    }

    fn is_new(&mut self, way: RightsCase, database: &str, outcome: &Outcome) -> bool {
        let seen = self.seen(database);
        let is_sound = !outcome.err.contains("panicked");
        check_table(&mut self.root, &format!("{database}.t"));
        let beside = seen.tables.iter().all(|name| ["p", "t", "v"].contains(&&**name));
        is_sound && beside && seen.rows == Some(expected(way))
    }

    /// Takes each of the rights away, of each way or of every nth pair.
    fn take_away(&mut self, rights: &[&str], every: usize) {
        let all = self.all_rights();
        let mut wrong = Vec::new();
        let pairs = WAYS.iter().flat_map(|way| rights.iter().map(move |right| (way, right)));
        for (nth, (way, missing)) in pairs.enumerate() {
            if nth % every != 0 {
                continue;
            }
            match self.without(*way, &all, missing) {
                Ok(works) => println!(
                    "{}: {missing} {}",
                    way.name,
                    if works { "is not needed" } else { "is named" }
                ),
                Err(why) => wrong.push(format!("{} without {missing}: {why}", way.name)),
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    }
}

#[test]
fn a_right_that_is_missing_is_named_or_not_needed() {
    let Some(mut scene) = Scene::of(TestServer::start()) else { return };
    let likely = if scene.server.is_mysql() { &LIKELY_MYSQL } else { &LIKELY };
    scene.take_away(likely, 4);
}

/// Runs where INRUSH_TEST_MYSQLD names a `mysqld`.
#[test]
fn a_right_of_mysql_that_is_missing_is_named_or_not_needed() {
    let Some(mut scene) = Scene::of(TestServer::mysql(Vec::new())) else { return };
    scene.take_away(&LIKELY_MYSQL, 4);
}

#[test]
#[ignore = "takes minutes: make soak"]
fn any_right_that_is_missing_is_named_or_not_needed() {
    let Some(mut scene) = Scene::of(TestServer::start()) else { return };
    let all = scene.all_rights();
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    scene.take_away(&all, 1);
}
