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
    CREATE TABLE e (id INT) ENGINE=InnoDB; \
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

    fn count(&mut self, table: &str) -> u64 {
        let sql = format!("SELECT COUNT(*) FROM `{}`.{table}", self.database);
        self.session.query_row(&sql).unwrap().number(0).unwrap()
    }

    fn rows(&mut self) -> Vec<u64> {
        ["a", "b", "c", "d", "log"].map(|table| self.count(table)).to_vec()
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
    let fate = format!("; {}.a is unchanged; already loaded: {c}, {d}", place.database);
    refused.refused(1, &["a.csv line 2", &fate]);
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

/// A table that is in has no key: nothing but the journal keeps its rows from being added twice.
#[test]
fn a_failed_command_goes_on_with_the_missing_tables() {
    let Some(server) = TestServer::shared() else { return };
    for (more, mode) in [
        ("--each", "append"),
        ("--each", "insert"),
        ("--verbose", "append"),
        ("--verbose", "insert"),
    ] {
        let mut place = Place::new(server, &["a"]);
        // The largest file comes first.
        place.home.file("rows/e.csv", "1\n2\n3\n4\n5\n");
        place.home.file("rows/a.csv", "1\nx\n");
        let load = |place: &Place<'_>| place.load(&[more, "--mode", mode]);
        let before =
            format!("already loaded: {}.e; the same command loads the missing", place.database);
        load(&place).refused(1, &["a.csv line 2", &before]);
        load(&place).refused(1, &["a.csv line 2", &before]);
        let jobs = run(&mut place.home.inrush(["jobs", "clean"]));
        assert!(jobs.done().out.contains("journals removed"), "{jobs:?}");
        place.home.file("rows/a.csv", "1\n7\n");
        let loaded = load(&place);
        let told =
            format!("its command failed at {}.a; this command loaded nothing", place.database);
        assert!(loaded.done().out.contains(&told), "{loaded:?}");
        assert_eq!((place.count("e"), place.count("a")), (5, 2), "{more} {mode}");
        // Once its user knows, the command is another load.
        let (again, is_added) = (load(&place), more == "--each" && mode == "append");
        assert_eq!(again.code(), if mode == "append" { 1 } else { 2 }, "{more} {mode}: {again:?}");
        assert_eq!((place.count("e"), place.count("a")), (if is_added { 10 } else { 5 }, 2));
    }
}

/// A file that was written again, as `sed -i` does, was taken for another one: its rows were added once more.
#[test]
fn files_of_loaded_tables_that_are_written_again_are_not_added_twice() {
    let Some(server) = TestServer::shared() else { return };
    for more in ["--each", "--verbose"] {
        let mut place = Place::new(server, &["a"]);
        let rows = "1\n2\n3\n4\n5\n";
        place.home.file("rows/e.csv", rows);
        place.home.file("rows/a.csv", "1\nx\n");
        let load = |place: &Place<'_>| place.load(&[more, "--mode", "append"]);
        load(&place).refused(1, &["a.csv line 2", "already loaded: "]);
        place.home.file("rows/e.csv", rows);
        load(&place).refused(1, &["a.csv line 2", "already loaded: "]);
        assert_eq!(place.count("e"), 5, "{more}");
        place.home.file("rows/e.csv", "1\n2\n3\n4\n6\n");
        place.home.file("rows/a.csv", "1\n7\n");
        let refused = load(&place);
        refused.refused(2, &["e.csv begins with different bytes now", "would be added twice"]);
        assert_eq!((place.count("e"), place.count("a")), (5, 0), "{more}");
        let (_, job) = refused.err.split_once("jobs clean ").unwrap();
        let (job, _) = job.split_once(',').unwrap();
        run(place.home.inrush(["jobs", "clean"]).args(job.split(' '))).done();
        load(&place).done();
        assert_eq!((place.count("e"), place.count("a")), (10, 2), "{more}");
    }
}

#[test]
fn the_job_of_a_failed_table_loads_that_table_alone() {
    let Some(server) = TestServer::shared() else { return };
    for more in ["--each", "--verbose"] {
        let mut place = Place::new(server, &["a"]);
        place.home.file("rows/e.csv", "1\n2\n3\n4\n5\n");
        place.session.exec(&format!("INSERT INTO `{}`.a VALUES (2)", place.database)).unwrap();
        if more == "--verbose" {
            // Rows in a table would have all tables loaded by one transaction.
            place.session.exec(&format!("DELETE FROM `{}`.a", place.database)).unwrap();
            place.home.file("rows/a.csv", "1\n2\n2\n");
        }
        place.load(&[more, "--mode", "append"]).refused(1, &["already loaded: "]);
        let jobs = run(&mut place.home.inrush(["jobs", "--json"]));
        let jobs: Vec<Value> = serde_json::from_str(&jobs.done().out).unwrap();
        let failed = jobs.iter().find(|job| job["state"] == "failed").unwrap();
        place.session.exec(&format!("DELETE FROM `{}`.a", place.database)).unwrap();
        if more == "--verbose" {
            if server.is_mysql() {
                place.session.exec("SET restrict_fk_on_non_standard_key=OFF").unwrap();
            }
            place
                .session
                .exec(&format!("ALTER TABLE `{}`.a DROP PRIMARY KEY, ADD KEY (id)", place.database))
                .unwrap();
        }
        run(&mut place.home.inrush(["resume", failed["job"].as_str().unwrap()])).done();
        assert_eq!((place.count("e"), place.count("a")), (5, 3), "{more}");
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

/// A child of a table with triggers comes behind the others also where it could not be swapped by itself.
#[test]
fn a_child_of_a_table_with_triggers_needs_no_method_with_others() {
    let Some(server) = TestServer::shared() else { return };
    let mut place = Place::new(server, &["a", "b", "c"]);
    let database = &place.database;
    server.script(&format!("ALTER TABLE `{database}`.b ROW_FORMAT=COMPRESSED;")).unwrap();
    let told = place.load(&[]).done().out.clone();
    for (table, is_behind) in [("a", true), ("b", true), ("c", false)] {
        let note = format!("{database}.{table} is loaded after the other tables");
        assert_eq!(told.contains(&note), is_behind, "{told}");
    }
    assert_eq!(place.rows(), [3, 3, 3, 0, 3], "{told}");
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
