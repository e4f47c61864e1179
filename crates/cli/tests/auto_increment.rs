//! AUTO_INCREMENT of a table that is replaced: as after TRUNCATE and LOAD DATA of the same file.

use testkit::{TestServer, TestServerOptions};

use crate::support::{Desk, run};

/// A table that has no numbers left, with a file of rows that get theirs from the server.
struct Full {
    desk: Desk,
}

impl Full {
    fn new(more: &str) -> Option<Full> {
        let mut desk = Desk::new()?;
        for table in ["t", "l"] {
            desk.exec(&format!("CREATE TABLE {table} {COLUMNS} {more}"));
            let trigger =
                format!("CREATE TRIGGER {table}_b BEFORE INSERT ON {table} FOR EACH ROW SET @x=1");
            if more == TRIGGER {
                desk.exec(&trigger);
            }
            desk.exec(&format!("INSERT INTO {table} VALUES (32766, 0)"));
            desk.exec(&format!("INSERT INTO {table} (v) VALUES (1)"));
        }
        Some(Full { desk })
    }

    /// The server's counter.
    fn next(&mut self, table: &str) -> String {
        let database = &self.desk.database;
        let sql = format!(
            "SELECT AUTO_INCREMENT FROM information_schema.TABLES \
             WHERE TABLE_SCHEMA='{database}' AND TABLE_NAME='{table}'"
        );
        self.desk.rows(&sql).remove(0)
    }

    /// Replaces the rows by Inrush, and by TRUNCATE and LOAD DATA.
    #[track_caller]
    fn replace(&mut self, rows: &str, columns: &str, more: &[&str]) {
        let file = self.desk.home.file("rows", rows);
        let mut load = self.desk.home.load(self.desk.server, &self.desk.table("t"), &file);
        load.args(["--mode", "replace", "--columns", columns]).args(more);
        let loaded = run(&mut load);
        assert!(!loaded.done().err.contains("warning"), "{loaded:?}");
        self.desk.exec("TRUNCATE l");
        let script = format!(
            "USE {}; LOAD DATA LOCAL INFILE '{}' INTO TABLE l ({columns})",
            self.desk.database,
            file.display()
        );
        self.desk.server.script(&script).unwrap();
    }

    /// Both tables are the same, and give the same numbers.
    #[track_caller]
    fn check(&mut self, how: &[&str]) {
        let (ours, theirs) = (self.next("t"), self.next("l"));
        assert_eq!(ours, theirs, "{how:?}");
        for table in ["t", "l"] {
            self.desk.exec(&format!("INSERT INTO {table} (v) VALUES (77)"));
        }
        let rows = |table: &str| format!("SELECT * FROM {table} ORDER BY 1");
        assert_eq!(self.desk.rows(&rows("t")), self.desk.rows(&rows("l")), "{how:?}");
    }
}

const COLUMNS: &str = "(id SMALLINT AUTO_INCREMENT PRIMARY KEY, v INT) ENGINE=InnoDB";
const TRIGGER: &str = "COMMENT 'with a trigger'";
const PARTITIONS: &str = "PARTITION BY HASH (id) PARTITIONS 3";

#[test]
fn a_table_that_is_replaced_counts_as_after_truncate_by_each_method() {
    let generated: String = (0..100).map(|v| format!("{v}\n")).collect();
    let given = "7\t1\n90\t2\n3\t3\n";
    let ways: [(&str, &[&str]); 5] = [
        ("", &["--path", "direct"]),
        ("", &["--path", "stream"]),
        ("", &["--path", "insert"]),
        (PARTITIONS, &["--path", "direct"]),
        (TRIGGER, &["--path", "stream"]),
    ];
    for (more, way) in ways {
        for (rows, columns) in [(generated.as_str(), "v"), (given, "id,v")] {
            if more == PARTITIONS && columns == "v" {
                // LOAD DATA reserves no numbers there.
                continue;
            }
            let Some(mut full) = Full::new(more) else { return };
            full.replace(rows, columns, way);
            full.check(way);
        }
    }
}

#[test]
fn keep_auto_increment_goes_on_where_the_table_was() {
    for (more, path) in [("", "direct"), ("", "stream"), (TRIGGER, "insert")] {
        let Some(mut full) = Full::new(more) else { return };
        for table in ["t", "l"] {
            full.desk.exec(&format!("DELETE FROM {table}"));
            full.desk.exec(&format!("ALTER TABLE {table} AUTO_INCREMENT=50"));
        }
        let keep = ["--path", path, "--keep-auto-increment"];
        full.replace("5\t1\n", "id,v", &keep);
        assert_eq!(full.next("t"), "50", "{path}");
        full.desk.exec("INSERT INTO t (v) VALUES (2)");
        assert_eq!(full.desk.rows("SELECT id FROM t ORDER BY 1"), ["5", "50"], "{path}");
    }
}

#[test]
fn tables_of_one_command_and_of_a_job_file_count_so_too() {
    let Some(mut full) = Full::new("") else { return };
    full.desk.exec(&format!("CREATE TABLE u {COLUMNS}"));
    full.desk.exec("INSERT INTO u VALUES (32766, 0)");
    let files = ["t", "u"].map(|table| full.desk.home.file(&format!("{table}.txt"), "4\t4\n"));
    let mut load = full.desk.home.load(full.desk.server, &full.desk.database, &files[0]);
    run(load.arg(&files[1]).args(["--mode", "replace"])).done();
    assert_eq!([full.next("t"), full.next("u")], ["5", "5"]);

    let job = "[input]\nfiles = [\"t.txt\"]\ncolumns = [\"id\", \"v\"]\n@\n[[table]]\nname = \"t\"\n\
               mode = \"replace\"\n[[table]]\nname = \"u\"\nmode = \"replace\"\n";
    for (key, next) in [("keep_auto_increment = true", "100"), ("", "5")] {
        for table in ["t", "u"] {
            full.desk.exec(&format!("ALTER TABLE {table} AUTO_INCREMENT=100"));
        }
        let path = full.desk.home.file("job.toml", job.replace('@', key));
        let mut load = full.desk.home.inrush(["load", "-c"]);
        load.arg(path).args(["--into", &full.desk.database, "--user", "root", "--socket"]);
        run(load.arg(full.desk.server.socket())).done();
        assert_eq!([full.next("t"), full.next("u")], [next, next], "{key}");
        // Typed options count more than those of a table in the file.
        let rows = full.desk.rows("SELECT COUNT(*) FROM t");
        run(load.args(["--mode", "insert"])).refused(2, &["the table is not empty"]);
        assert_eq!(full.desk.rows("SELECT COUNT(*) FROM t"), rows, "{key}");
    }
}

/// The counter of a table that was imported is in the server's memory only, until it is written down.
#[test]
fn numbers_go_on_where_they_were_after_a_restart() {
    let durable = TestServerOptions { durable: true, ..TestServerOptions::default() };
    let Some(server) = TestServer::start_with(&durable) else { return };
    let mut desk = Desk::on(Box::leak(Box::new(server)));
    let halves = "PARTITION BY RANGE (id) (PARTITION p0 VALUES LESS THAN (40), \
                  PARTITION p1 VALUES LESS THAN (1000), PARTITION p2 VALUES LESS THAN MAXVALUE)";
    let given: String = (1..=60).map(|id| format!("{id}\t{id}\n")).collect();
    let added = "70\t1\n71\t2\n";
    // Which load of a table that has a row; then the number of the first row behind it, and of three more.
    let loads: [(&str, &str, &str, &str, &[&str]); 5] = [
        ("given", "", &given, "id,v", &["replace"]),
        ("kept", "", "5\t1\n", "id,v", &["replace", "--keep-auto-increment"]),
        ("parts", halves, &given, "id,v", &["replace"]),
        ("merged", "", added, "id,v", &["append"]),
        ("part", halves, added, "id,v", &["append"]),
    ];
    for (table, by, rows, columns, more) in loads {
        let id = "id INT AUTO_INCREMENT PRIMARY KEY, v INT";
        desk.exec(&format!("CREATE TABLE {table} ({id}) {by}"));
        desk.exec(&format!("INSERT INTO {table} VALUES (50, 0)"));
        let file = desk.home.file("rows", rows);
        let options = ["--path", "direct", "--columns", columns, "--mode"];
        desk.load(table, &file, &[&options[..], more].concat()).done();
    }
    let expected = [61, 51, 61, 72, 72];
    for round in 0..4 {
        if round % 2 == 0 {
            desk.server.kill_9().unwrap();
        }
        desk.server.restart().unwrap();
        desk.session = desk.server.connect().unwrap();
        desk.exec(&format!("USE {}", desk.database));
        for ((table, ..), first) in loads.iter().zip(expected) {
            desk.exec(&format!("INSERT INTO {table} (v) VALUES (1000)"));
            let ids = desk.rows(&format!("SELECT id FROM {table} WHERE v=1000 ORDER BY id"));
            let expected: Vec<String> = (first..=first + round).map(|id| id.to_string()).collect();
            assert_eq!(ids, expected, "{table}, round {round}");
        }
    }
}
