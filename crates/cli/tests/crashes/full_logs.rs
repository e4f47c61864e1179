//! Loads on servers whose logs are full: undo logs on a file system without room, and the smallest redo log beside a
//! writer.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use server::Session;
use tempfile::TempDir;
use testkit::{TestServer, TestServerOptions, dialect};

use super::file_systems::fill;
use crate::scene::{Mode, Scene};
use crate::support::{check_table, contents, finish, resume, run, start, wait_paused};

/// Tables, how they are partitioned, and how the rows get in.
const WAYS: [(Mode, &str, &[&str]); 6] = [
    (Mode::Replace, "", &[]),
    (Mode::Replace, "", &["--path", "stream"]),
    (Mode::Insert, "", &["--path", "stream"]),
    (Mode::Insert, "", &["--path", "insert", "--atomic"]),
    (Mode::Append, "", &[]),
    (Mode::Replace, "HASH (id) PARTITIONS 3", &[]),
];

/// Transactions that hold undo logs: each tablespace has some of them.
const HOLDERS: usize = 4;

/// A file system in memory, mounted until this is dropped.
struct MemoryDisk(TempDir);

impl MemoryDisk {
    /// None, with a line, where it cannot be mounted.
    fn new() -> Option<MemoryDisk> {
        let dir = tempfile::Builder::new().prefix("inrush-undo-").tempdir().unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=48m,mode=777", "tmpfs"]).arg(dir.path());
        let is_mounted = mount.output().is_ok_and(|output| output.status.success());
        if !is_mounted {
            println!("skipped: only root mounts file systems");
        }
        is_mounted.then(|| MemoryDisk(dir))
    }

    /// The file that takes the room.
    fn filler(&self) -> PathBuf {
        self.0.path().join("filler")
    }
}

impl Drop for MemoryDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0.path()).output();
    }
}

/// Undo logs that are full until this is dropped: transactions hold them, and a file the room for more.
struct FullUndo<'a> {
    server: &'a TestServer,
    database: String,
    holders: Vec<Session>,
    filler: PathBuf,
}

impl<'a> FullUndo<'a> {
    fn of(server: &'a TestServer, database: &str, disk: &MemoryDisk) -> FullUndo<'a> {
        let database = format!("{database}_held");
        let mut first = server.connect().unwrap();
        first.exec(&format!("CREATE DATABASE {database}")).unwrap();
        let held = format!("{database}.held");
        first.exec(&format!("CREATE TABLE {held} (id INT PRIMARY KEY, f TEXT)")).unwrap();
        let rows = format!("SELECT seq, REPEAT('f', 3000) FROM {database}.seq_1_to_20000");
        dialect::exec(&mut first, &format!("INSERT INTO {held} {rows}")).unwrap();
        let filler = disk.filler();
        fill(&filler);
        let hold = |at: usize| {
            let mut session = server.connect().unwrap();
            session.exec("BEGIN").unwrap();
            let row = |number: usize| at * (20_000 / HOLDERS) + 1 + number % 4000;
            let update = |number: usize| {
                format!("UPDATE {held} SET f=CONCAT({number}, f) WHERE id={}", row(number))
            };
            let is_full = (0..40_000).map(update).any(|sql| session.exec(&sql).is_err());
            assert!(is_full, "the undo logs took all changes");
            session
        };
        let holders = (0..HOLDERS).map(hold).collect();
        FullUndo { server, database, holders, filler }
    }
}

impl Drop for FullUndo<'_> {
    fn drop(&mut self) {
        fs::remove_file(&self.filler).unwrap();
        self.holders.iter_mut().for_each(|one| drop(one.exec("ROLLBACK").unwrap()));
        let sql = format!("DROP DATABASE {}", self.database);
        self.server.connect().unwrap().exec(&sql).unwrap();
    }
}

#[test]
#[ignore = "a minute long; make soak runs it"]
fn loads_beside_full_undo_logs_leave_the_old_table_or_the_new_one() {
    let Some(disk) = MemoryDisk::new() else { return };
    let extra = vec![
        "--innodb-undo-tablespaces=2".to_owned(),
        format!("--innodb-undo-directory={}", disk.0.path().display()),
    ];
    let options = TestServerOptions { durable: true, extra, ..TestServerOptions::default() };
    let Some(server) = TestServer::start_with(&options) else { return };
    let mut failed = BTreeSet::new();
    for (mode, by, more) in WAYS {
        let mut scene = Scene::of(&server, mode, 20_000, by);
        scene.more = more.to_vec();
        for place in ["job.begin", "rows.begin", "rows.end", "publish.begin"] {
            scene.reset();
            let mut child = start(&mut scene.load_with(&format!("{place}=pause")));
            wait_paused(&mut child);
            let held = FullUndo::of(&server, &scene.database, &disk);
            resume(&child);
            let outcome = finish(child);
            drop(held);
            let when = format!("{mode:?} {by} {more:?} {place}: {outcome:?}");
            assert!([0, 1].contains(&outcome.code()), "{when}");
            if outcome.code() == 1 {
                assert!(outcome.err.contains("the server has no room: free some space"), "{when}");
                assert!(!scene.is_new(), "{when}");
                failed.insert(place);
            }
            scene.again(&when);
        }
    }
    assert!(failed.len() > 1, "full at {failed:?} alone");
    rows_in_chunks(&server, &disk);
}

/// Rows that are added in chunks: those that are in stay, and the same command adds the others.
fn rows_in_chunks(server: &TestServer, disk: &MemoryDisk) {
    let mut scene = Scene::new(server, Mode::Append, 20_000);
    let load = || {
        let mut load = scene.home.load(scene.server, &scene.table, &scene.file);
        run(load.args(["--mode", "append", "--path", "stream", "--batch-rows", "500"]))
    };
    let held = FullUndo::of(server, &scene.database, disk);
    let outcome = load();
    drop(held);
    outcome.refused(1, &["the server has no room"]);
    load().done();
    assert_eq!(contents(&mut scene.session, &scene.table), scene.new);
    check_table(&mut scene.session, &scene.table);
}

#[test]
#[ignore = "a minute long; make soak runs it"]
fn loads_with_the_smallest_redo_log_are_right_beside_a_writer() {
    let durable = |extra: &str| TestServerOptions {
        durable: true,
        extra: vec![extra.to_owned()],
        ..TestServerOptions::default()
    };
    let mariadb = TestServer::start_with(&durable("--innodb-log-file-size=4M"));
    let mysql = TestServer::mysql(vec!["--innodb-redo-log-capacity=8M".to_owned()]);
    for server in [mariadb, mysql].into_iter().flatten() {
        for (mode, by, more) in WAYS {
            let mut scene = Scene::of(&server, mode, 20_000, by);
            scene.more = more.to_vec();
            scene.reset();
            let written = beside_a_writer(&server, &scene.database.clone(), || {
                let outcome = run(&mut scene.command());
                assert_eq!(outcome.code(), 0, "{mode:?} {by} {more:?}: {outcome:?}");
            });
            assert!(written > 8 << 20, "{mode:?} {by} {more:?}: {written} bytes beside it");
            assert!(scene.is_new());
            check_table(&mut scene.session, &scene.table);
        }
    }
}

/// Does some work while somebody writes more than a small log holds; gives the bytes that were written.
fn beside_a_writer(server: &TestServer, database: &str, work: impl FnOnce()) -> u64 {
    let (stop, written) = (AtomicBool::new(false), AtomicU64::new(0));
    let other = format!("{database}_writer");
    let mut session = server.connect().unwrap();
    session.exec(&format!("CREATE DATABASE {other}")).unwrap();
    session.exec(&format!("CREATE TABLE {other}.w (id INT PRIMARY KEY, f LONGTEXT)")).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let sql = format!("REPLACE INTO {other}.w VALUES (1, REPEAT('w', 400000))");
            while !stop.load(Ordering::Relaxed) || written.load(Ordering::Relaxed) <= 8 << 20 {
                session.exec(&sql).unwrap();
                written.fetch_add(400_000, Ordering::Relaxed);
            }
        });
        work();
        stop.store(true, Ordering::Relaxed);
    });
    server.connect().unwrap().exec(&format!("DROP DATABASE {other}")).unwrap();
    written.into_inner()
}
