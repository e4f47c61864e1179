//! States of a MySQL server that a load looks for first: clones, super_read_only; and its hidden row ids behind
//! a crash. Runs where INRUSH_TEST_MYSQLD names a `mysqld`.

use std::fmt::Write as _;
use std::time::Instant;

use server::Session;
use testkit::{TestServer, free_port};

use crate::support::{Home, PATIENCE, finish, resume, run, start, tables, wait_paused};

/// A MySQL with a table and a file for it.
struct Scene {
    server: TestServer,
    session: Session,
    home: Home,
    file: std::path::PathBuf,
}

impl Scene {
    fn new(extra: &[&str]) -> Option<Scene> {
        let server = TestServer::mysql(extra.iter().map(|&option| option.to_owned()).collect())?;
        let mut session = server.connect().unwrap();
        session.exec("CREATE DATABASE d").unwrap();
        session.exec("CREATE TABLE d.t (id INT PRIMARY KEY, v VARCHAR(30), KEY (v))").unwrap();
        let home = Home::new();
        let rows: String = (0..5_000).map(|id| format!("{id}\tvalue {id}\n")).collect();
        let file = home.file("rows.txt", rows);
        Some(Scene { server, session, home, file })
    }

    fn load(&self, more: &[&str]) -> std::process::Command {
        let mut load = self.home.load(&self.server, "d.t", &self.file);
        load.args(["--unlogged", "--mode", "replace"]).args(more);
        load
    }

    fn rows(&mut self, table: &str) -> u64 {
        let row = self.session.query_row(&format!("SELECT COUNT(*) FROM {table}")).unwrap();
        row.number(0).unwrap()
    }
}

/// True while somebody clones the server.
fn is_cloned(session: &mut Session) -> bool {
    let sql = "SELECT 1 FROM information_schema.PROCESSLIST WHERE COMMAND='clone'";
    session.query_text(sql).unwrap().is_some()
}

fn wait_until(mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < PATIENCE);
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
}

#[test]
fn a_load_waits_for_the_end_of_a_clone() {
    let port = free_port().unwrap();
    let (tcp, address) = (format!("--port={port}"), format!("127.0.0.1:{port}"));
    let extra = ["--skip-networking=0", "--bind-address=127.0.0.1", &tcp];
    let Some(mut scene) = Scene::new(&extra) else { return };
    let Some(copy) = TestServer::mysql(Vec::new()) else { return };
    let mut cloner = copy.connect().unwrap();
    for session in [&mut scene.session, &mut cloner] {
        if let Err(error) = session.exec("INSTALL PLUGIN clone SONAME 'mysql_clone.so'") {
            println!("skipped: {error}");
            return;
        }
    }
    for sql in ["CREATE USER c@'%' IDENTIFIED BY 'x'", "GRANT BACKUP_ADMIN ON *.* TO c@'%'"] {
        scene.session.exec(sql).unwrap();
    }
    // The slowest that it can be: a minute for a new server.
    for sql in [
        &format!("SET GLOBAL clone_valid_donor_list='{address}'"),
        "SET GLOBAL clone_max_data_bandwidth=1",
        "SET GLOBAL clone_autotune_concurrency=OFF",
    ] {
        cloner.exec(sql).unwrap();
    }
    let sql = format!(
        "CLONE INSTANCE FROM c@127.0.0.1:{port} IDENTIFIED BY 'x' DATA DIRECTORY='{}' REQUIRE NO SSL",
        copy.dir().join("clone").display()
    );
    let cloner_id = cloner.id();
    std::thread::scope(|scope| {
        let cloning = scope.spawn(move || cloner.exec(&sql).map(drop));
        wait_until(|| is_cloned(&mut scene.session) || cloning.is_finished());
        let outcome = run(&mut scene.load(&["--lock-wait", "1"]));
        assert!(!cloning.is_finished(), "{:?} {outcome:?}", cloning.join());
        let refused =
            "nothing was loaded: the server takes no file while it is cloned by connection ";
        outcome.refused(1, &[refused, " of c@", "wait longer with --lock-wait"]);
        assert_eq!(scene.rows("d.t"), 0);
        assert_eq!(tables(&mut scene.session, "d"), ["t"]);
        let waiting = start(scene.load(&["--lock-wait", "100"]).arg("--verbose"));
        std::thread::sleep(std::time::Duration::from_secs(3));
        assert!(!cloning.is_finished());
        copy.connect().unwrap().exec(&format!("KILL QUERY {cloner_id}")).unwrap();
        cloning.join().unwrap().unwrap_err();
        let outcome = finish(waiting);
        let told =
            "waiting until a clone of the server ends, at most 100 s; it is made by connection";
        assert!(outcome.done().err.contains(told), "{outcome:?}");
    });
    assert_eq!(scene.rows("d.t"), 5_000);
}

/// LOCK TABLES does not hold a backup off, and RENAME waits for its end: a second attempt would have the rows checked in
/// vain.
#[test]
fn a_backup_that_begins_while_rows_are_checked_is_waited_for_and_named() {
    let Some(mut scene) = Scene::new(&[]) else { return };
    scene.session.exec("CREATE TABLE d.c (id INT PRIMARY KEY, v INT, CONSTRAINT f FOREIGN KEY (id) REFERENCES d.t (id))").unwrap();
    run(&mut scene.load(&[])).done();
    let file = scene.home.file("children.txt", "1\t1\n2\t2\n");
    let load = |scene: &Scene| {
        let mut load = scene.home.load(&scene.server, "d.c", &file);
        load.args(["--unlogged", "--mode", "replace", "--lock-wait", "4"]);
        load
    };
    let mut child = start(load(&scene).env("INRUSH_FAILPOINT", "publish.prepared=pause"));
    wait_paused(&mut child);
    scene.session.exec("LOCK INSTANCE FOR BACKUP").unwrap();
    let id = scene.session.id();
    resume(&child);
    let outcome = finish(child);
    let holder = format!("connection {id} of ");
    assert!(outcome.code() == 1 && outcome.err.contains(&holder), "{outcome:?}");
    assert_eq!(scene.rows("d.c"), 0);
    scene.session.exec("UNLOCK INSTANCE").unwrap();
    run(&mut load(&scene)).done();
    assert_eq!(scene.rows("d.c"), 2);
}

/// The server lets nobody remove the keys of the filled table then, so a row that others delete takes rows of that
/// table along.
#[test]
fn a_table_that_keeps_its_keys_beside_a_backup_is_not_published() {
    let Some(mut scene) = Scene::new(&[]) else { return };
    scene.session.exec("CREATE TABLE d.c (id INT PRIMARY KEY, v INT, CONSTRAINT f FOREIGN KEY (id) REFERENCES d.t (id) ON DELETE CASCADE)").unwrap();
    run(&mut scene.load(&[])).done();
    let file = scene.home.file("children.txt", "1\t1\n2\t2\n");
    let load = |scene: &Scene| {
        let mut load = scene.home.load(&scene.server, "d.c", &file);
        load.args(["--unlogged", "--mode", "replace"]);
        load
    };
    let mut child = start(load(&scene).env("INRUSH_FAILPOINT", "publish.prepared=pause"));
    wait_paused(&mut child);
    scene.session.exec("LOCK INSTANCE FOR BACKUP").unwrap();
    resume(&child);
    scene.session.exec("DELETE FROM d.t WHERE id = 1").unwrap();
    scene.session.exec("UNLOCK INSTANCE").unwrap();
    finish(child)
        .refused(1, &["nothing was loaded: d.c: ", "load again when that lock is released"]);
    assert_eq!(scene.rows("d.c"), 0);
    assert_eq!(tables(&mut scene.session, "d"), ["c", "t"]);
    run(&mut load(&scene)).refused(1, &["refer with foreign key `f`"]);
}

/// The list of processes in information_schema fails while such a statement runs.
#[test]
fn a_load_runs_beside_a_statement_with_a_character_of_four_bytes() {
    let Some(mut scene) = Scene::new(&[]) else { return };
    let more: String = (5_000..6_000).map(|id| format!("{id}\tvalue {id}\n")).collect();
    let more = scene.home.file("more.txt", more);
    let mut append = scene.home.load(&scene.server, "d.t", &more);
    append.args(["--unlogged", "--mode", "append"]);
    beside(&mut scene, "SELECT SLEEP(300), '\u{1f600}'", |scene| {
        run(&mut scene.load(&[])).done();
        run(&mut append).done();
    });
    assert_eq!(scene.rows("d.t"), 6_000);
    beside(&mut scene, "SELECT SLEEP(300), '\u{1f600}' FROM d.t", |scene| {
        let holder = "(SELECT SLEEP(300), '..' FROM d.t, for ";
        run(&mut scene.load(&["--lock-wait", "2"])).refused(1, &[holder]);
    });
}

/// Works while another connection runs a statement.
fn beside(scene: &mut Scene, sql: &str, work: impl FnOnce(&mut Scene)) {
    let mut other = scene.server.connect().unwrap();
    let (id, sql) = (other.id(), sql.to_owned());
    // Not of a scope: a failed test does not wait for its end.
    let running = std::thread::spawn(move || other.exec(&sql).map(drop));
    let state =
        format!("SELECT 1 FROM performance_schema.processlist WHERE ID={id} AND INFO IS NOT NULL");
    wait_until(|| scene.session.query_text(&state).unwrap().is_some());
    work(scene);
    assert!(!running.is_finished());
    scene.session.exec(&format!("KILL QUERY {id}")).unwrap();
    let _ = running.join().unwrap();
}

#[test]
fn a_super_read_only_server_is_named_before_anything_is_built() {
    let Some(mut scene) = Scene::new(&[]) else { return };
    scene.session.exec("SET GLOBAL super_read_only=1").unwrap();
    for path in ["direct", "auto", "stream"] {
        let outcome = run(&mut scene.load(&["--path", path]));
        let named = "read-only server (super_read_only and read_only are set; no account can write \
                     before SET GLOBAL super_read_only=OFF)";
        outcome.refused(2, &[named]);
        assert!(!scene.home.journal().contains(&"rows.begin".to_owned()), "{path}");
    }
    scene.session.exec("SET GLOBAL super_read_only=0").unwrap();
    let outcome = run(&mut scene.load(&[]));
    outcome.refused(2, &["read-only server (read_only is set)"]);
    scene.session.exec("SET GLOBAL read_only=0").unwrap();
    run(&mut scene.load(&[])).done();
    assert_eq!(scene.rows("d.t"), 5_000);
}

/// The counter of hidden row ids of a new server has not gone up yet: the imported ids must not be given again.
#[test]
fn hidden_row_ids_outlive_crashes_of_a_new_server() {
    for crashes in [1, 2] {
        let Some(scene) = Scene::new(&DURABLE) else { return };
        keep_row_ids(scene, crashes);
    }
}

/// Options of a server that is killed: the test's own options lose what was not synced.
const DURABLE: [&str; 3] =
    ["--innodb-flush-method=fsync", "--innodb-flush-log-at-trx-commit=1", "--innodb-doublewrite=1"];
const ROWS: u64 = 20_000;
const INSERTED: u64 = 1_000;

/// Loads tables without a key, has the server crash so often, and inserts rows; then once more.
fn keep_row_ids(mut scene: Scene, crashes: usize) {
    let mut text = String::new();
    (0..ROWS).for_each(|a| writeln!(text, "{a}\tvalue {}", a % 100).unwrap());
    let file = scene.home.file("keyless.txt", text);
    let loaded = [("d.k0", "(a INT, v VARCHAR(30))"), ("d.k1", "(a INT, v VARCHAR(30), KEY (v))")];
    for (table, definition) in loaded {
        scene.session.exec(&format!("CREATE TABLE {table} {definition}")).unwrap();
        let mut load = scene.home.load(&scene.server, table, &file);
        run(load.arg("--unlogged")).done();
    }
    for (crashes, inserts) in [(crashes, 1), (1, 2)] {
        for _ in 0..crashes {
            scene.server.kill_9().unwrap();
            scene.server.restart().unwrap();
        }
        scene.session = scene.server.connect().unwrap();
        for (table, _) in loaded {
            let insert = format!(
                "INSERT INTO {table} SELECT -a - 1, 'new' FROM d.k0 WHERE a >= 0 LIMIT {INSERTED}"
            );
            scene.session.exec(&insert).unwrap();
            let check = scene.session.query(&format!("CHECK TABLE {table} EXTENDED")).unwrap();
            assert_eq!(check.last().unwrap().text_lossy(3), "OK", "{table}");
            let sql = format!(
                "SELECT COUNT(*), COUNT(DISTINCT IF(a < 0, NULL, a)), SUM(a < 0) FROM {table}"
            );
            let row = scene.session.query_row(&sql).unwrap();
            let seen: [u64; 3] = [0, 1, 2].map(|column| row.number(column).unwrap());
            assert_eq!(seen, [ROWS + inserts * INSERTED, ROWS, inserts * INSERTED], "{table}");
        }
    }
}
