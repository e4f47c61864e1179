//! Tables that cannot be published together with others: each is loaded by itself behind these.

use serde_json::Value;
use server::Session;
use testkit::TestServer;

use crate::support::{Home, Outcome, run};

/// `a` has triggers and `b` refers to it; `c` and `d` have nothing to do with them.
const TABLES: &str = "USE `@`; CREATE TABLE log (x INT); \
    CREATE TABLE a (id INT PRIMARY KEY) ENGINE=InnoDB; \
    CREATE TABLE b (id INT PRIMARY KEY, FOREIGN KEY (id) REFERENCES a (id)) ENGINE=InnoDB; \
    CREATE TABLE c (id INT PRIMARY KEY) ENGINE=InnoDB; \
    CREATE TABLE d (id INT PRIMARY KEY) ENGINE=InnoDB; \
    CREATE TRIGGER logged AFTER INSERT ON a FOR EACH ROW INSERT INTO log VALUES (NEW.id);";

struct Place<'a> {
    server: &'a TestServer,
    session: Session,
    home: Home,
    database: String,
}

impl<'a> Place<'a> {
    fn new(server: &'a TestServer, files: &[&str]) -> Place<'a> {
        let database = server.database().unwrap();
        server.script(&TABLES.replace('@', &database)).unwrap();
        let (home, session) = (Home::new(), server.connect().unwrap());
        std::fs::create_dir(home.path().join("rows")).unwrap();
        for table in files {
            home.file(&format!("rows/{table}.csv"), "1\n2\n3\n");
        }
        Place { server, session, home, database }
    }

    fn load(&self, more: &[&str]) -> Outcome {
        let folder = self.home.path().join("rows");
        run(self
            .home
            .load(self.server, &self.database, &folder)
            .args(["--path", "auto"])
            .args(more))
    }

    fn load_direct(&self) -> Outcome {
        let folder = self.home.path().join("rows");
        run(&mut self.home.load(self.server, &self.database, &folder))
    }

    fn rows(&mut self) -> Vec<u64> {
        let mut rows = Vec::new();
        for table in ["a", "b", "c", "d", "log"] {
            let sql = format!("SELECT COUNT(*) FROM `{}`.{table}", self.database);
            rows.push(self.session.query_row(&sql).unwrap().number(0).unwrap());
        }
        rows
    }
}

#[test]
fn a_table_with_triggers_and_its_child_come_behind_the_others() {
    let Some(server) = TestServer::shared() else { return };
    let mut place = Place::new(server, &["a", "b", "c", "d"]);
    let mut plan = place.home.inrush(["plan", "--json", "--into", &place.database, "--socket"]);
    let plan = run(plan.arg(server.socket()).arg(place.home.path().join("rows")));
    let loaded = place.load(&["--json"]);
    for told in [&plan, &loaded] {
        let told: Value = serde_json::from_str(&told.done().out).unwrap();
        assert_eq!(told["atomic"], false, "{told}");
        let tables = told["tables"].as_array().unwrap().iter();
        let tables: Vec<&str> = tables
            .map(|table| table["target"].as_str().unwrap().rsplit('.').next().unwrap())
            .collect();
        assert_eq!(tables, ["c", "d", "a", "b"], "{told}");
        let note = format!("{}.b is loaded after the other tables, by itself", place.database);
        assert!(told.to_string().contains(&note), "{told}");
    }
    // Each row of the table with the trigger has fired it.
    assert_eq!(place.rows(), [3, 3, 3, 3, 3]);
}

#[test]
fn the_tables_behind_the_others_fail_by_themselves_and_say_what_is_loaded() {
    let Some(server) = TestServer::shared() else { return };
    let mut place = Place::new(server, &["a", "b", "c", "d"]);
    place.home.file("rows/a.csv", "1\nx\n");
    let refused = place.load(&[]);
    let (c, d) = (format!("{}.c", place.database), format!("{}.d", place.database));
    refused.refused(1, &["a.csv line 2", &format!("already loaded: {c}, {d}")]);
    assert_eq!(place.rows(), [0, 0, 3, 3, 0]);
}

/// Rows that were left out are told, also where a later table fails.
#[test]
fn rejected_rows_of_loaded_tables_are_told_behind_a_failure() {
    let Some(server) = TestServer::shared() else { return };
    for more in [&["--each"][..], &[]] {
        let place = Place::new(server, &["a", "c"]);
        // The largest file comes first.
        place.home.file("rows/c.csv", "1\nx\n2\n3\n4\n5\n");
        place.home.file("rows/a.csv", "1\nx\ny\n");
        let refused = place.load(&[&["--rejects-max", "1"], more].concat());
        let told = format!("warning: {}.c: 1 row rejected (in ", place.database);
        let before = format!("already loaded: {}.c", place.database);
        assert!(refused.code() == 1 && refused.err.contains(&told), "{refused:?}");
        assert!(refused.err.contains(&before), "{refused:?}");
    }
}

#[test]
fn only_tables_that_cannot_be_published_together_are_loaded_one_after_the_other() {
    let Some(server) = TestServer::shared() else { return };
    let mut place = Place::new(server, &["a", "b"]);
    assert!(place.load(&[]).done().out.contains("6 rows loaded into 2 tables, 0 rejected"));
    assert_eq!(place.rows(), [3, 3, 0, 0, 3]);
    // Foreign keys alone are no reason to publish tables one by one.
    let mut joined = Place::new(server, &["a", "b"]);
    joined.session.exec(&format!("DROP TRIGGER `{}`.logged", joined.database)).unwrap();
    joined.load(&["--path", "stream"]).refused(2, &["cannot be published together", "--each"]);
    assert_eq!(joined.rows(), [0; 5]);
    // A table that no method fits is refused before anything is done.
    let place = Place::new(server, &["a", "c"]);
    place.load_direct().refused(2, &[".a cannot be loaded by the direct path"]);
}

/// At whatever step a command is killed, the same command loads each row that is missing, and no row twice.
#[test]
fn a_killed_command_goes_on_with_the_tables_behind_the_others() {
    let Some(server) = TestServer::shared() else { return };
    let places =
        ["job.begin", "inspect.end", "rows.begin", "publish.begin", "publish.end", "job.end"];
    for (at, place) in ["a", "b"].iter().flat_map(|table| places.map(|place| (table, place))) {
        for mode in ["insert", "append"] {
            let mut family = Place::new(server, &["a", "b", "c", "d"]);
            let folder = family.home.path().join("rows");
            let mut load = family.home.load(server, &family.database, &folder);
            load.args(["--path", "auto", "--mode", mode]);
            let place = format!("{}.{at}.{place}=kill", family.database);
            let killed = run(load.env("INRUSH_FAILPOINT", &place));
            assert_eq!(killed.code(), -1, "{mode} {place}: {killed:?}");
            let again = family.load(&["--mode", mode]);
            assert_eq!(again.code(), 0, "{mode} {place}: {again:?}");
            assert_eq!(family.rows(), [3; 5], "{mode} {place}: {again:?}");
        }
    }
}
