//! `--ddl` for several tables: an empty server, a schema, a folder of files.

use std::os::unix::process::ExitStatusExt;
use std::process::Command;

use server::Session;
use testkit::TestServer;

use crate::support::{Home, Outcome, run, tables};

/// Tables in the order of nobody's keys, two of which need each other, in a file that says more.
const SCHEMA: &str = "\
    /*!40101 SET NAMES utf8mb4 */;\n\
    DROP TABLE IF EXISTS `item`;\n\
    CREATE TABLE `item` (`id` int NOT NULL, `store` int DEFAULT NULL, `note` varchar(20) DEFAULT 'it''s; new', \
      PRIMARY KEY (`id`), CONSTRAINT `at_store` FOREIGN KEY (`store`) REFERENCES `store` (`id`)) ENGINE=InnoDB;\n\
    CREATE TABLE store (id INT PRIMARY KEY, head INT NOT NULL, \
      CONSTRAINT led_by FOREIGN KEY (head) REFERENCES staff (id)) ENGINE=InnoDB;\n\
    CREATE TABLE staff (id INT PRIMARY KEY, store INT NOT NULL, FOREIGN KEY (store) REFERENCES store (id)) ENGINE=InnoDB;\n\
    CREATE TABLE unused (id INT PRIMARY KEY);\n\
    /*!40000 ALTER TABLE `item` DISABLE KEYS */;\n";

struct Empty<'a> {
    server: &'a TestServer,
    session: Session,
    home: Home,
    /// It does not exist.
    database: String,
}

impl<'a> Empty<'a> {
    fn new(server: &'a TestServer) -> Empty<'a> {
        let database = server.database().unwrap();
        let mut session = server.connect().unwrap();
        session.exec(&format!("DROP DATABASE {database}")).unwrap();
        let home = Home::new();
        std::fs::create_dir(home.path().join("rows")).unwrap();
        for (name, text) in [
            ("item", "1\t1\ta\n2\t2\tb\n3\t\\N\tc\n"),
            ("store", "1\t10\n2\t20\n"),
            ("staff", "10\t1\n20\t2\n"),
        ] {
            home.file(&format!("rows/{name}.txt"), text);
        }
        home.file("schema.sql", SCHEMA);
        Empty { server, session, home, database }
    }

    fn command(&self, more: &[&str]) -> Command {
        let folder = self.home.path().join("rows");
        let mut load = self.home.load(self.server, &self.database, &folder);
        load.arg("--ddl").arg(self.home.path().join("schema.sql")).args(more);
        load
    }

    fn load(&self, more: &[&str]) -> Outcome {
        run(&mut self.command(more))
    }

    fn has_database(&mut self) -> bool {
        let sql = format!(
            "SELECT COUNT(*) FROM information_schema.SCHEMATA WHERE SCHEMA_NAME='{}'",
            self.database
        );
        self.session.query_text(&sql).unwrap().as_deref() == Some("1")
    }

    fn count(&mut self, table: &str) -> Option<String> {
        let sql = format!("SELECT COUNT(*) FROM {}.{table}", self.database);
        self.session.query_text(&sql).unwrap()
    }
}

#[test]
fn a_schema_and_a_folder_fill_an_empty_server() {
    let Some(server) = TestServer::shared() else { return };
    for more in [&["--path", "direct"][..], &[]] {
        let mut empty = Empty::new(server);
        let loaded = empty.load(more);
        assert!(loaded.done().out.contains("7 rows loaded into 3 tables at once"), "{loaded:?}");
        assert_eq!(tables(&mut empty.session, &empty.database), ["item", "staff", "store"]);
        let sql = format!("SHOW CREATE TABLE {}.item", empty.database);
        let shown = empty.session.query_row(&sql).unwrap().text(1).unwrap();
        assert!(shown.contains("CONSTRAINT `at_store`") && shown.contains("it''s; new"), "{shown}");
        let orphan = format!("INSERT INTO {}.item VALUES (9, 9, '')", empty.database);
        assert_eq!(empty.session.exec(&orphan).unwrap_err().errno(), Some(1452));
        // They are there now: nothing is made, nothing replaced.
        empty.load(more).refused(2, &["is not empty"]);
        empty.load(&["--mode", "replace"]).done();
        assert_eq!(empty.count("item").as_deref(), Some("3"));
    }
}

#[test]
fn a_plan_knows_the_order_and_makes_nothing() {
    let Some(server) = TestServer::shared() else { return };
    let mut empty = Empty::new(server);
    let folder = empty.home.path().join("rows");
    let mut plan = empty.home.inrush(["plan", "--json", "--into", &empty.database]);
    plan.arg(folder).arg("--ddl").arg(empty.home.path().join("schema.sql"));
    let plan = run(plan.arg("--socket").arg(server.socket()));
    let plan: serde_json::Value = serde_json::from_str(&plan.done().out).unwrap();
    let targets: Vec<&str> = plan["tables"]
        .as_array()
        .unwrap()
        .iter()
        .map(|table| {
            assert_eq!(table["makes_table"], true, "{plan}");
            table["target"].as_str().unwrap().rsplit('.').next().unwrap()
        })
        .collect();
    assert_eq!(targets[0], "item", "the largest first: {plan}");
    assert!(!empty.has_database());
}

#[test]
fn a_load_that_fails_takes_back_what_it_made() {
    let Some(server) = TestServer::shared() else { return };
    let mut empty = Empty::new(server);
    for path in ["direct", "auto"] {
        empty.home.file("rows/staff.txt", "10\t1\n20\tx\n");
        empty.load(&["--path", path]).refused(1, &["staff", "line 2"]);
        assert!(!empty.has_database(), "{path}");
        empty.home.file("rows/staff.txt", "10\t1\n20\t7\n");
        empty.load(&["--path", "direct"]).refused(1, &["foreign key", "(7)"]);
        assert!(!empty.has_database(), "{path}");
    }
    // Tables that were there before stay.
    let database = empty.database.clone();
    empty.session.exec(&format!("CREATE DATABASE {database}")).unwrap();
    empty.session.exec(&format!("CREATE TABLE {database}.kept (a INT)")).unwrap();
    empty.load(&["--path", "direct"]).refused(1, &["foreign key", "(7)"]);
    assert_eq!(tables(&mut empty.session, &database), ["kept"]);
    empty.home.file("rows/staff.txt", "10\t1\n20\t2\n");
    empty.load(&["--path", "direct"]).done();
}

#[test]
fn a_load_that_is_killed_is_made_good_by_the_same_command() {
    let Some(server) = TestServer::shared() else { return };
    let mut empty = Empty::new(server);
    for place in ["staging.created", "publish.moved"] {
        let mut load = empty.command(&["--path", "direct", "--mode", "replace"]);
        let killed = run(load.env("INRUSH_FAILPOINT", format!("{place}=kill")));
        assert_eq!(killed.status.signal(), Some(9), "{place}: {killed:?}");
        empty.load(&["--path", "direct", "--mode", "replace"]).done();
        assert_eq!(tables(&mut empty.session, &empty.database), ["item", "staff", "store"]);
        assert_eq!(empty.count("store").as_deref(), Some("2"), "{place}");
    }
}

#[test]
fn what_a_schema_does_not_say_is_refused_and_nothing_is_made() {
    let Some(server) = TestServer::shared() else { return };
    let mut empty = Empty::new(server);
    let lacking = "CREATE TABLE item (id INT PRIMARY KEY, store INT, note TEXT); \
        CREATE TABLE store (id INT PRIMARY KEY, head INT)";
    let far = format!(
        "{lacking}; CREATE TABLE staff (id INT PRIMARY KEY, store INT, \
        FOREIGN KEY (store) REFERENCES far (id))"
    );
    let later = format!(
        "{lacking}; CREATE TABLE staff (id INT, store INT); \
        ALTER TABLE staff ADD PRIMARY KEY (id)"
    );
    for (schema, said) in [
        (lacking, "a table does not exist"),
        (&far, "which does not exist and has no file"),
        (&later, "with ALTER TABLE or CREATE INDEX, but only CREATE TABLE is"),
        (
            "CREATE TABLE item (id INT, store INT, note INTEGRAL); CREATE TABLE store (id INT, head INT); \
          CREATE TABLE staff (id INT, store INT)",
            ": server error ",
        ),
    ] {
        empty.home.file("schema.sql", schema);
        empty.load(&[]).refused(2, &[said]);
        assert!(!empty.has_database(), "{said}");
    }
}
