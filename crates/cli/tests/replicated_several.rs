//! `--replica` with several tables: all servers get the same files, and publish all tables by one RENAME.

use std::os::unix::process::ExitStatusExt;
use std::process::Command;

use testkit::{Cluster, TestServer, dialect};

use crate::support::{Home, finish, resume, run, start, wait_paused};

const KILL: i32 = 9;
const TABLES: [&str; 3] = ["a", "b", "c"];

/// A primary, its two replicas, three tables of database `r` with old rows, and a folder with new ones.
struct Stage {
    cluster: Cluster,
    home: Home,
}

impl Stage {
    fn new() -> Option<Stage> {
        let cluster = Cluster::start(2).unwrap()?;
        let stage = Stage { cluster, home: Home::new() };
        stage.cluster.log_format("MIXED").unwrap();
        // As careful servers have it: the primary waits until one has what it logs.
        semi_sync(&stage.cluster.primary, "master", "source");
        for (replica, _) in &stage.cluster.replicas {
            replica.script("STOP SLAVE").unwrap();
            semi_sync(replica, "slave", "replica");
            let script = "SET GLOBAL slave_parallel_threads=2; START SLAVE; SET GLOBAL read_only=1";
            replica.script(script).unwrap();
        }
        stage.sql("CREATE DATABASE r; CREATE TABLE r.other (a INT PRIMARY KEY)");
        stage.reset();
        std::fs::create_dir(stage.home.path().join("rows")).unwrap();
        for (at, table) in TABLES.iter().enumerate() {
            let lines: String =
                (1..=1_000 * (at + 1)).map(|n| format!("{n}\tname {}\n", n % 97)).collect();
            stage.home.file(&format!("rows/{table}.txt"), lines);
        }
        Some(stage)
    }

    fn servers(&self) -> impl Iterator<Item = &TestServer> {
        std::iter::once(&self.cluster.primary).chain(self.cluster.replicas.iter().map(|(it, _)| it))
    }

    fn sql(&self, script: &str) {
        self.cluster.primary.script(script).unwrap();
    }

    fn reset(&self) {
        for table in TABLES {
            self.sql(&format!(
                "CREATE OR REPLACE TABLE r.{table} (id INT PRIMARY KEY, name VARCHAR(40), KEY name (name)) \
                 ENGINE=InnoDB; INSERT INTO r.{table} VALUES (1, 'old'), (7000, 'old')"
            ));
        }
        self.cluster.wait_until_even().unwrap();
    }

    fn command(&self, command: &str, path: &str) -> Command {
        let mut command = self.home.inrush([command, "--into", "r", "--mode", "replace"]);
        command.arg(self.home.path().join("rows")).args(["--lock-wait", "20", "--path", path]);
        command.arg("--socket").arg(self.cluster.primary.socket());
        for (replica, _) in &self.cluster.replicas {
            command.arg("--replica").arg(replica.socket());
        }
        command
    }

    fn load(&self) -> Command {
        self.command("load", "direct")
    }

    /// The checksums of the tables, which all servers have, once the replicas have all that the primary has.
    #[track_caller]
    fn checksums(&self) -> Vec<String> {
        self.cluster.wait_until_even().unwrap();
        let of_server = |server: &TestServer| {
            let mut session = server.connect().unwrap();
            let mut sum = |table: &&str| {
                let checked =
                    session.query_row(&format!("CHECK TABLE r.{table} EXTENDED")).unwrap();
                assert_eq!(checked.text(3).unwrap(), "OK");
                let sum = session.query_row(&format!("CHECKSUM TABLE r.{table}")).unwrap();
                sum.text(1).unwrap()
            };
            TABLES.iter().map(&mut sum).collect::<Vec<String>>()
        };
        let sums: Vec<Vec<String>> = self.servers().map(of_server).collect();
        assert!(sums.iter().all(|sum| *sum == sums[0]), "{sums:?}");
        sums[0].clone()
    }

    /// Nothing of a load is left on any server.
    #[track_caller]
    fn clean(&self, when: &str) {
        for server in self.servers() {
            let mut session = server.connect().unwrap();
            let tables = session.query("SHOW TABLES FROM r").unwrap();
            let tables: Vec<String> = tables.iter().map(|row| row.text(0).unwrap()).collect();
            assert_eq!(tables, ["a", "b", "c", "other"], "{when}");
            let files = crate::support::names(&server.datadir().join("r"));
            assert_eq!(files, server.database_files(&["a", "b", "c", "other"]), "{when}");
        }
    }
}

/// Enables semi-sync replication, by the words of MariaDB and of MySQL for the server's part.
fn semi_sync(server: &TestServer, mariadb: &str, mysql: &str) {
    let script = match server.is_mysql() {
        true => format!(
            "INSTALL PLUGIN rpl_semi_sync_{mysql} SONAME 'semisync_{mysql}.so'; \
             SET GLOBAL rpl_semi_sync_{mysql}_enabled=1"
        ),
        false => format!("SET GLOBAL rpl_semi_sync_{mariadb}_enabled=1"),
    };
    server.script(&script).unwrap();
}

#[test]
fn several_tables_are_published_on_all_servers_by_one_rename() {
    let Some(stage) = Stage::new() else { return };
    let mut child =
        start(stage.load().arg("--verbose").env("INRUSH_FAILPOINT", "publish.begin=pause"));
    wait_paused(&mut child);
    stage.sql("INSERT INTO r.a VALUES (8001, 'meanwhile'); INSERT INTO r.other VALUES (1)");
    resume(&child);
    let loaded = finish(child);
    assert!(loaded.done().out.contains("6,000 rows loaded into 3 tables at once"), "{loaded:?}");
    assert!(loaded.out.contains("2 replica(s) get a copy of the built file"), "{loaded:?}");
    stage.sql("INSERT INTO r.b VALUES (8002, 'after'); UPDATE r.c SET name='u' WHERE id < 40");
    stage.checksums();
    stage.clean("loaded");
    // What is in the log of it: one RENAME, no row, nothing that makes a table.
    let mut session = stage.cluster.primary.connect().unwrap();
    let events = session.query("SHOW BINLOG EVENTS").unwrap();
    let texts: Vec<String> = events.iter().map(|row| row.text(5).unwrap()).collect();
    let with = |words: &str| texts.iter().filter(|text| text.contains(words)).count();
    assert_eq!((with("RENAME TABLE"), with("_inrush_new")), (1, 1), "{texts:?}");

    // A replica that breaks before fails all.
    let old = stage.checksums();
    let mut child = start(stage.load().env("INRUSH_FAILPOINT", "publish.begin=pause"));
    wait_paused(&mut child);
    let mut replica = stage.cluster.replica(1).unwrap();
    dialect::exec(&mut replica, "STOP SLAVE").unwrap();
    resume(&child);
    finish(child).refused(1, &["the replica", "_sql_running is No"]);
    dialect::exec(&mut replica, "START SLAVE").unwrap();
    assert_eq!(stage.checksums(), old);
    stage.clean("after a stopped replica");

    // So does a row of the last file, when the others are in their staging tables everywhere.
    let path = stage.home.path().join("rows/a.txt");
    let good = std::fs::read(&path).unwrap();
    std::fs::write(&path, "1\tone\nx\ttwo\n").unwrap();
    run(&mut stage.load()).refused(1, &["line 2"]);
    assert_eq!(stage.checksums(), old);
    stage.clean("after a bad row");
    std::fs::write(&path, good).unwrap();
}

#[test]
fn a_load_of_several_tables_killed_on_replicas_leaves_all_old_ones_or_all_new_ones() {
    let Some(stage) = Stage::new() else { return };
    let old = stage.checksums();
    for (place, is_new) in [
        ("replica.copied", false),
        ("replica.imported", false),
        ("import.placed", false),
        ("publish.begin", false),
        ("publish.moved", true),
    ] {
        stage.reset();
        let mut killed = stage.load();
        let killed = run(killed.env("INRUSH_FAILPOINT", format!("{place}=kill")));
        assert_eq!(killed.status.signal(), Some(KILL), "{place}: {killed:?}");
        let sums = stage.checksums();
        assert!(
            sums.iter().zip(&old).all(|(new, old)| (new != old) == is_new),
            "{place}: {sums:?}"
        );
        run(&mut stage.load()).done();
        assert!(stage.checksums().iter().zip(&old).all(|(new, old)| new != old), "{place}");
        stage.clean(place);
    }
}

#[test]
fn what_is_not_copied_keeps_all_tables_of_the_command_from_it() {
    let Some(stage) = Stage::new() else { return };
    // One replica that is not named: the rows of all are sent, and in the log.
    let mut some = stage.command("load", "auto");
    let named = some.get_args().count() - 2;
    let arguments: Vec<_> = some.get_args().take(named).map(ToOwned::to_owned).collect();
    some = stage.home.inrush(arguments);
    let sent = run(&mut some);
    let note = "note: --replica: the replicas get the rows from the binary log, not the built file: replicas that are not \
                named by --replica would stop at the RENAME";
    assert_eq!(sent.done().out.matches("stream staging").count(), 1, "{sent:?}");
    assert_eq!(sent.out.matches(note).count(), 1, "{sent:?}");
    stage.checksums();
    stage.clean("sent");
    // One that is to stay behind, and has not got what was written last.
    let delay =
        |seconds: u32| format!("STOP SLAVE; CHANGE MASTER TO MASTER_DELAY={seconds}; START SLAVE");
    stage.cluster.replicas[1].0.script(&delay(3600)).unwrap();
    stage.sql("INSERT INTO r.other VALUES (7)");
    let refused = run(stage.load().args(["--lock-wait", "1"]));
    refused
        .refused(2, &["it did not catch up within 1 s, and MASTER_DELAY keeps it 3600 s behind"]);
    stage.cluster.replicas[1].0.script(&delay(0)).unwrap();
    // Tables with foreign keys can only be sent one by one.
    stage.sql("ALTER TABLE r.b ADD FOREIGN KEY (id) REFERENCES r.c (id)");
    stage.cluster.wait_until_even().unwrap();
    let said = "r.b: foreign keys and triggers cannot be kept on replicas";
    run(&mut stage.load()).refused(2, &[said]);
    let plan = run(stage.command("plan", "auto").arg("--json"));
    assert_eq!(plan.code(), 2, "{plan:?}");
    let plan: serde_json::Value = serde_json::from_str(&plan.out).unwrap();
    for table in plan["tables"].as_array().unwrap() {
        let is_tied = table["target"] != "r.a";
        assert_eq!(table["path"].as_str(), (!is_tied).then_some("stream"), "{plan}");
        let refused = table["refused"].to_string();
        assert!(refused.contains("replicas") && (!is_tied || refused.contains("--each")), "{plan}");
    }
    stage.clean("planned");
}
