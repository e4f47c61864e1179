//! `--replica` on the direct path: a primary and two replicas get the same file, and publish it by one RENAME.

use std::os::unix::process::ExitStatusExt;
use std::process::Command;

use server::Session;
use testkit::{Cluster, dialect};

use crate::support::{Home, Outcome, finish, resume, run, start, wait_paused};

const KILL: i32 = 9;
const COLUMNS: &str =
    "(id INT NOT NULL PRIMARY KEY, name VARCHAR(40), note TEXT, KEY name (name)) ENGINE=InnoDB";

/// A primary, its two replicas, table `r.t` with old rows, and a file with new ones.
struct Stage {
    cluster: Cluster,
    home: Home,
}

impl Stage {
    fn new(format: &str) -> Option<Stage> {
        let cluster = Cluster::start(2).unwrap()?;
        let stage = Stage { cluster, home: Home::new() };
        stage.cluster.log_format(format).unwrap();
        for replica in 0..2 {
            stage.cluster.replica(replica).unwrap().exec("SET GLOBAL read_only=1").unwrap();
        }
        stage.sql("CREATE DATABASE r; CREATE TABLE r.other (a INT PRIMARY KEY)");
        stage.reset();
        let lines: String = (1..=5_000)
            .map(|n| format!("{n}\tname {}\t{}\n", n % 97, "x".repeat(n % 50)))
            .collect();
        stage.home.file("rows", lines);
        Some(stage)
    }

    fn servers(&self) -> impl Iterator<Item = &testkit::TestServer> {
        std::iter::once(&self.cluster.primary).chain(self.cluster.replicas.iter().map(|(it, _)| it))
    }

    fn sql(&self, script: &str) {
        self.cluster.primary.script(script).unwrap();
    }

    fn reset(&self) {
        self.sql(&format!(
            "DROP TABLE IF EXISTS r.t; CREATE TABLE r.t {COLUMNS}; INSERT INTO r.t VALUES (1, 'old', NULL), (7000, 'old', 'o')"
        ));
        self.cluster.wait_until_even().unwrap();
    }

    /// `inrush load rows --into r.t --mode replace` with these replicas.
    fn load(&self, replicas: &[usize]) -> Command {
        let rows = self.home.path().join("rows");
        let mut command = self.home.load(&self.cluster.primary, "r.t", &rows);
        command.args(["--mode", "replace", "--lock-wait", "20"]);
        for &replica in replicas {
            command.arg("--replica").arg(self.cluster.replicas[replica].0.socket());
        }
        command
    }

    /// The checksums of the table on all servers, which are one, once the replicas have all that the primary
    /// has.
    #[track_caller]
    fn checksum(&self) -> String {
        self.cluster.wait_until_even().unwrap();
        let of_server = |server: &testkit::TestServer| {
            let mut session = server.connect().unwrap();
            let checked = session.query_row("CHECK TABLE r.t EXTENDED").unwrap();
            assert_eq!(checked.text(3).unwrap(), "OK");
            session.query_row("CHECKSUM TABLE r.t").unwrap().text(1).unwrap()
        };
        let sums: Vec<String> = self.servers().map(of_server).collect();
        assert!(sums.iter().all(|sum| *sum == sums[0]), "{sums:?}");
        sums[0].clone()
    }

    fn count(&self) -> String {
        let mut session = self.cluster.primary.connect().unwrap();
        session.query_text("SELECT COUNT(*) FROM r.t").unwrap().unwrap()
    }

    /// Nothing of a load is left on any server.
    #[track_caller]
    fn clean(&self, when: &str) {
        for server in self.servers() {
            let mut session = server.connect().unwrap();
            let tables = session.query("SHOW TABLES FROM r").unwrap();
            let tables: Vec<String> = tables.iter().map(|row| row.text(0).unwrap()).collect();
            assert_eq!(tables, ["other", "t"], "{when}");
            let files = crate::support::names(&server.datadir().join("r"));
            assert_eq!(files, server.database_files(&["other", "t"]), "{when}");
        }
    }
}

/// The events that a replica has applied.
fn position(replica: &mut Session) -> Option<String> {
    let sql = dialect::of(replica.version(), "SELECT @@gtid_slave_pos").into_owned();
    replica.query_text(&sql).unwrap()
}

#[track_caller]
fn loaded(outcome: &Outcome) {
    outcome.done();
    assert!(outcome.out.contains(", direct "), "{outcome:?}");
}

#[test]
fn a_primary_and_its_replicas_publish_the_same_file_by_one_rename() {
    for format in ["ROW", "MIXED"] {
        let Some(stage) = Stage::new(format) else { return };
        // Others write before, meanwhile and afterwards; replication runs on.
        stage.sql("INSERT INTO r.t VALUES (8000, 'before', NULL)");
        let mut child = start(stage.load(&[0, 1]).env("INRUSH_FAILPOINT", "publish.begin=pause"));
        wait_paused(&mut child);
        stage.sql(
            "INSERT INTO r.t VALUES (8001, 'meanwhile', NULL); INSERT INTO r.other VALUES (1)",
        );
        resume(&child);
        loaded(&finish(child));
        stage.sql("INSERT INTO r.t VALUES (8002, 'after', 'a'); UPDATE r.t SET note='u' WHERE id < 40; DELETE FROM r.t WHERE id=50");
        stage.checksum();
        assert_eq!(stage.count(), "5000");
        stage.clean(format);
        // What is in the log of it: one RENAME, one DROP, no row.
        let mut session = stage.cluster.primary.connect().unwrap();
        let events = session.query("SHOW BINLOG EVENTS").unwrap();
        let texts: Vec<String> = events.iter().map(|row| row.text(5).unwrap()).collect();
        let with = |words: &str| texts.iter().filter(|text| text.contains(words)).count();
        assert_eq!((with("RENAME TABLE"), with("_inrush_new")), (1, 1), "{texts:?}");
        // Empty tables too.
        stage.sql("TRUNCATE r.t");
        loaded(&run(stage.load(&[0, 1]).args(["--mode", "insert", "--path", "auto"])));
        stage.checksum();
        assert_eq!(stage.count(), "5000");
        stage.clean("mode insert");
    }
}

#[test]
fn loads_on_replicas_killed_at_any_step_leave_all_old_tables_or_all_new_ones() {
    let Some(stage) = Stage::new("ROW") else { return };
    let old = stage.checksum();
    for (place, is_new) in [
        ("staging.discarded", false),
        ("verify.end", false),
        ("replica.copied", false),
        ("replica.imported", false),
        ("import.placed", false),
        ("publish.begin", false),
        ("publish.moved", true),
        ("publish.swapped", true),
    ] {
        stage.reset();
        let mut killed = stage.load(&[0, 1]);
        let killed = run(killed.env("INRUSH_FAILPOINT", format!("{place}=kill")));
        assert_eq!(killed.status.signal(), Some(KILL), "{place}: {killed:?}");
        assert_eq!(stage.checksum() != old, is_new, "{place}");
        let again = run(&mut stage.load(&[0, 1]));
        match is_new {
            true => assert!(again.done().out.contains("loaded already"), "{place}: {again:?}"),
            false => loaded(&again),
        }
        assert_ne!(stage.checksum(), old, "{place}");
        stage.clean(place);
    }
}

#[test]
fn a_replica_that_breaks_fails_the_load_and_nothing_is_left() {
    let Some(stage) = Stage::new("ROW") else { return };
    let old = stage.checksum();
    let mut child = start(stage.load(&[0, 1]).env("INRUSH_FAILPOINT", "publish.begin=pause"));
    wait_paused(&mut child);
    let mut replica = stage.cluster.replica(1).unwrap();
    dialect::exec(&mut replica, "STOP SLAVE").unwrap();
    resume(&child);
    finish(child).refused(1, &["the replica", "_sql_running is No"]);
    dialect::exec(&mut replica, "START SLAVE").unwrap();
    assert_eq!(stage.checksum(), old);
    stage.clean("after a stopped replica");
    // A replica that is behind gets the RENAME when it comes to it.
    let mut child = start(stage.load(&[0, 1]).env("INRUSH_FAILPOINT", "publish.begin=pause"));
    wait_paused(&mut child);
    replica.exec("LOCK TABLES r.other WRITE").unwrap();
    stage.sql("INSERT INTO r.other VALUES (2)");
    resume(&child);
    loaded(&finish(child));
    let behind = position(&mut replica);
    replica.exec("UNLOCK TABLES").unwrap();
    assert_ne!(stage.checksum(), old);
    assert_ne!(position(&mut replica), behind);
    stage.clean("after a replica that was behind");
}

#[test]
fn replicas_that_would_not_come_to_the_rename_keep_the_direct_path_away() {
    let Some(stage) = Stage::new("ROW") else { return };
    let refused = |load: &mut Command, said: &[&str]| run(load).refused(2, said);
    refused(
        &mut stage.load(&[0]),
        &["replicas that are not named by --replica would stop at the RENAME", "server 3"],
    );
    let added = run(stage.load(&[0, 1]).args(["--mode", "append"]));
    added.refused(2, &["--replica (rows that are added to a table are sent"]);
    assert!(!added.err.contains("gives each"), "{added:?}");
    let mut with_primary = stage.load(&[0, 1]);
    with_primary.arg("--replica").arg(stage.cluster.primary.socket());
    refused(&mut with_primary, &["does not replicate from server 1"]);
    let mut replica = stage.cluster.replica(0).unwrap();
    replica.exec("SET sql_log_bin=0").unwrap();
    replica.exec("ALTER TABLE r.t ADD COLUMN more INT").unwrap();
    refused(&mut stage.load(&[0, 1]), &["its definition of r.t differs from the primary's"]);
    // On the way that is chosen by itself the rows are sent, and the replicas get them by the log.
    replica.exec("ALTER TABLE r.t DROP COLUMN more").unwrap();
    let sent = run(stage.load(&[0]).args(["--path", "auto"]));
    let note = "note: --replica: the replicas get the rows from the binary log, not the built file: replicas that are not \
                named by --replica would stop at the RENAME";
    assert!(sent.done().out.contains("stream staging"), "{sent:?}");
    assert!(sent.out.contains(note), "{sent:?}");
    stage.checksum();
    let is_mysql = stage.cluster.primary.is_mysql();
    for (name, rule) in [("replicate_wild_ignore_table", "'r.%'"), ("replicate_do_db", "'other'")] {
        let mut set = |rule: &str| {
            dialect::exec(&mut replica, "STOP SLAVE").unwrap();
            let sql = match (is_mysql, rule) {
                (true, rule) => {
                    format!(
                        "CHANGE REPLICATION FILTER {name}=({})",
                        rule.replace("'other'", "other")
                    )
                }
                (false, "") => format!("SET GLOBAL {name}=''"),
                (false, rule) => format!("SET GLOBAL {name}={rule}"),
            };
            replica.exec(&sql).unwrap();
            dialect::exec(&mut replica, "START SLAVE").unwrap();
        };
        set(rule);
        refused(&mut stage.load(&[0, 1]), &[name]);
        set("");
    }
    let mut plan = stage.home.inrush(["plan", "--into", "r.t", "--mode", "replace", "--socket"]);
    plan.arg(stage.cluster.primary.socket()).arg(stage.home.path().join("rows"));
    for (socket, _) in &stage.cluster.replicas {
        plan.arg("--replica").arg(socket.socket());
    }
    let planned = run(&mut plan);
    assert!(planned.done().out.contains("loads with the direct path"), "{planned:?}");
    assert!(
        planned.out.contains("note: --replica: the replicas have the same file"),
        "{planned:?}"
    );
    stage.clean("after a plan");
}

/// Hidden row ids, numbers, values on pages of their own; over TCP.
#[test]
fn tables_of_any_shape_go_on_alike_on_all_servers() {
    let Some(stage) = Stage::new("MIXED") else { return };
    let port = stage.cluster.open_options().port.unwrap().to_string();
    for (columns, line, insert) in [
        ("(a INT, b LONGTEXT)", "1\tx\n", "(a) VALUES (7)"),
        (
            "(id INT AUTO_INCREMENT PRIMARY KEY, b LONGTEXT, n INT, UNIQUE KEY (n))",
            "\\N\tx\t\\N\n",
            "(n) VALUES (7)",
        ),
    ] {
        stage.sql(&format!("DROP TABLE IF EXISTS r.t; CREATE TABLE r.t {columns} ENGINE=InnoDB"));
        stage.cluster.wait_until_even().unwrap();
        let long = line.replace('x', &"long ".repeat(9_000));
        let rows = stage.home.file("shapes", line.repeat(3_000) + &long.repeat(20));
        let mut load = stage.home.inrush(["load", "--into", "r.t", "--path", "direct"]);
        load.arg(&rows).args(["--host", "127.0.0.1", "--port", &port, "--user", "open"]);
        for replica in 0..2 {
            load.arg("--replica").arg(stage.cluster.address(replica));
        }
        loaded(&run(&mut load));
        let sum = stage.checksum();
        stage.sql(&format!(
            "INSERT INTO r.t {insert}; UPDATE r.t SET b='changed' WHERE b='x' LIMIT 40"
        ));
        assert_ne!(stage.checksum(), sum);
        assert_eq!(stage.count(), "3021");
        stage.clean(columns);
    }
}

#[test]
fn a_replica_whose_server_dies_has_the_old_table_when_it_is_back() {
    let Some(stage) = Stage::new("ROW") else { return };
    let old = stage.checksum();
    for place in ["replica.placed", "import.placed"] {
        let mut child =
            start(stage.load(&[0, 1]).env("INRUSH_FAILPOINT", format!("{place}=pause")));
        wait_paused(&mut child);
        let (server, _) = &stage.cluster.replicas[0];
        server.kill_9().unwrap();
        resume(&child);
        finish(child).refused(1, &["the replica", "may be left on the replica"]);
        server.restart().unwrap();
        assert_eq!(stage.checksum(), old, "{place}");
    }
    loaded(&run(&mut stage.load(&[0, 1])));
    assert_ne!(stage.checksum(), old);
    stage.clean("after all");
}

#[test]
fn each_right_that_is_missing_is_named_before_anything_is_made() {
    let Some(stage) = Stage::new("ROW") else { return };
    let (on_server, rights) = match stage.cluster.primary.is_mysql() {
        true => (
            "SYSTEM_VARIABLES_ADMIN",
            &["REPLICATION SLAVE", "REPLICATION CLIENT", "CONNECTION_ADMIN"][..],
        ),
        false => ("SUPER", &["REPLICATION MASTER ADMIN", "READ_ONLY ADMIN"][..]),
    };
    stage.sql(&format!(
        "CREATE USER bob@localhost; GRANT ALL ON r.* TO bob@localhost; \
         GRANT RELOAD, PROCESS, SELECT ON *.* TO bob@localhost; \
         GRANT {on_server} ON *.* TO bob@localhost"
    ));
    for right in rights {
        stage.cluster.wait_until_even().unwrap();
        let refused = run(stage.load(&[0, 1]).args(["--user", "bob"]));
        refused.refused(2, &[right]);
        stage.clean(right);
        stage.sql(&format!("GRANT {right} ON *.* TO bob@localhost"));
    }
    stage.cluster.wait_until_even().unwrap();
    loaded(&run(stage.load(&[0, 1]).args(["--user", "bob"])));
    stage.checksum();
    assert_eq!(stage.count(), "5000");
}
