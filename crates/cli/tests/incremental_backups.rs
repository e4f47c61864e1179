//! Incremental backups of tables that were built: the pages have the server's LSN, so they are copied.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use server::Session;
use testkit::{TestServer, TestServerOptions};

use crate::backups::Backup;
use crate::scene::{Mode, Scene};
use crate::support::{
    COLUMNS, Home, check_table, contents, finish, lines, resume, run, start, wait_paused,
};

const ROWS: u32 = 6_000;

/// A table, and the options of its load.
const TABLES: [(&str, &[&str]); 6] = [
    ("filled", &[]),
    ("replaced", &["--mode", "replace"]),
    ("merged", &["--mode", "append", "--max-write-block", "600"]),
    ("parted", &["--mode", "replace"]),
    ("part", &["--mode", "append", "--max-write-block", "600"]),
    ("child", &["--mode", "replace"]),
];

fn durable(extra: &[&str]) -> Option<TestServer> {
    let extra = extra.iter().map(|&option| option.to_owned()).collect();
    TestServer::start_with(&TestServerOptions { durable: true, extra, ..Default::default() })
}

/// The first backup, which others add to.
fn base(program: &Path, server: &TestServer) -> Backup {
    let mut base = Backup::start(program, server, "base", &["--history=nightly"]);
    base.finish();
    base
}

/// A backup of what has changed since another one began.
fn begin_incremental(program: &Path, server: &TestServer, name: &str, since: &Backup) -> Backup {
    let basedir = format!("--incremental-basedir={}", since.dir.display());
    Backup::start(program, server, name, &[&basedir, "--throttle=60"])
}

fn incremental(program: &Path, server: &TestServer, name: &str, since: &Backup) -> Backup {
    let mut backup = begin_incremental(program, server, name, since);
    backup.finish();
    backup
}

fn restored(backup: &Backup) -> TestServer {
    let options =
        TestServerOptions { restored: Some(backup.dir.clone()), ..TestServerOptions::default() };
    TestServer::start_with(&options).unwrap()
}

/// Makes the tables, with some rows.
fn make_tables(session: &mut Session, database: &str) {
    session.exec(&format!("USE {database}")).unwrap();
    for name in ["filled", "replaced", "merged", "unstamped", "one", "two", "beside"] {
        session.exec(&format!("CREATE TABLE {name} {COLUMNS}")).unwrap();
    }
    for (name, by) in [
        ("parted", "HASH (id) PARTITIONS 3"),
        (
            "part",
            "RANGE (id) (PARTITION a VALUES LESS THAN (0), PARTITION b VALUES LESS THAN MAXVALUE)",
        ),
    ] {
        session.exec(&format!("CREATE TABLE {name} {COLUMNS}")).unwrap();
        session.exec(&format!("ALTER TABLE {name} DROP KEY n, ADD UNIQUE KEY n (n, id)")).unwrap();
        session.exec(&format!("ALTER TABLE {name} PARTITION BY {by}")).unwrap();
    }
    session.exec("CREATE TABLE parent (id INT PRIMARY KEY)").unwrap();
    let ids = format!("SELECT seq - 1 FROM seq_1_to_{ROWS}");
    session.exec(&format!("INSERT INTO parent {ids}")).unwrap();
    session.exec(&format!("CREATE TABLE child {COLUMNS}")).unwrap();
    let key = "ADD FOREIGN KEY (id) REFERENCES parent (id)";
    session.exec(&format!("ALTER TABLE child {key}")).unwrap();
    for name in ["replaced", "merged", "parted", "part"] {
        let rows = "SELECT -seq, -seq, CONCAT('old ', seq), NULL FROM seq_1_to_500";
        session.exec(&format!("INSERT INTO {name} {rows}")).unwrap();
    }
}

/// Inserts rows until it is told to stop, as an application does.
fn write_beside(server: &TestServer, database: &str, stop: &AtomicBool) {
    let mut session = server.connect().unwrap();
    for id in 0.. {
        if stop.load(Ordering::Relaxed) {
            return;
        }
        let row = format!("({id}, {id}, 'beside', REPEAT('x', 500))");
        session.exec(&format!("INSERT INTO {database}.beside VALUES {row}")).unwrap();
    }
}

/// Loads all tables; each report says whether pages were stamped.
fn load_all(server: &TestServer, database: &str, home: &Home, options: &[&str]) {
    let file = home.file("rows.txt", lines(ROWS));
    for (name, more) in TABLES {
        let into = format!("{database}.{name}");
        let loaded = run(home.load(server, &into, &file).args(more).args(options).arg("--json"));
        assert!(loaded.done().out.contains("\"stamped_pages\": "), "{name}: {loaded:?}");
    }
    let files = ["one.txt", "two.txt"].map(|name| home.file(name, lines(ROWS)));
    let mut several = home.load(server, database, &files[0]);
    run(several.arg(&files[1]).args(options)).done();
    let into = format!("{database}.unstamped");
    let plain = run(home.load(server, &into, &file).args(["--stamp", "no", "--json"]));
    assert!(!plain.done().out.contains("stamped_pages"), "{plain:?}");
    assert!(plain.out.contains("Take a full backup"), "{plain:?}");
}

/// Statements of an application behind the loads.
fn change_all(session: &mut Session) {
    for (name, _) in TABLES {
        session.exec(&format!("DELETE FROM {name} WHERE id % 13 = 0")).unwrap();
        let change = "SET name = CONCAT(name, '!'), body = REPEAT('y', 300) WHERE id % 17 = 0";
        session.exec(&format!("UPDATE {name} {change}")).unwrap();
    }
}

/// Files of tables that the program of the server finds nothing wrong with.
fn check_files(folder: &Path) {
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let is_checked = |path: &PathBuf| {
        path.extension().is_some_and(|extension| extension == "ibd")
            && !path.file_name().unwrap().to_string_lossy().starts_with("unstamped")
    };
    let files: Vec<PathBuf> = files.filter(is_checked).collect();
    assert!(files.len() > TABLES.len(), "{files:?}");
    for file in files {
        let checked = Command::new("innochecksum").arg(&file).output().unwrap();
        assert!(checked.status.success(), "{}: {checked:?}", file.display());
    }
}

fn backed_up(extra: &[&str], options: &[&str]) {
    let Some(server) = durable(extra) else { return };
    let Some(program) = TestServer::backup_program() else { return };
    let database = server.database().unwrap();
    let mut session = server.connect().unwrap();
    make_tables(&mut session, &database);
    let base = base(&program, &server);
    let (home, stop) = (Home::new(), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| write_beside(&server, &database, &stop));
        load_all(&server, &database, &home, options);
        stop.store(true, Ordering::Relaxed);
    });
    change_all(&mut session);
    let more = incremental(&program, &server, "more", &base);
    base.prepare_with(&[&more]);
    check_files(&base.dir.join(&database));
    let copy = restored(&base);
    let mut other = copy.connect().unwrap();
    other.exec(&format!("USE {database}")).unwrap();
    let loaded = TABLES.iter().map(|(name, _)| *name);
    for name in loaded.chain(["one", "two", "beside", "parent"]) {
        assert_eq!(contents(&mut other, name), contents(&mut session, name), "{name}");
        check_table(&mut other, name);
    }
    change_all(&mut other);
    let lost = other.query("SELECT COUNT(*) FROM unstamped").unwrap_err();
    assert!(lost.to_string().contains("194"), "a backup lacks pages without an LSN: {lost}");
    let into = format!("{database}.filled");
    let file = home.file("rows.txt", lines(ROWS));
    run(home.load(&copy, &into, &file).args(["--mode", "replace"])).done();
}

#[test]
fn an_incremental_backup_has_the_tables_that_were_loaded_since() {
    backed_up(&[], &[]);
}

#[test]
#[ignore = "takes long, for `make test-more`"]
fn an_incremental_backup_has_the_tables_whatever_way_the_server_writes() {
    for method in ["fsync", "O_DIRECT", "O_DIRECT_NO_FSYNC", "O_DSYNC"] {
        let option = format!("--innodb-flush-method={method}");
        backed_up(&[&option, "--innodb-buffer-pool-size=6M"], &["--stamp", "yes"]);
    }
}

/// A backup that runs while pages are stamped has some of them. The next one has all.
#[test]
fn pages_are_stamped_again_behind_a_backup_that_ran_beside() {
    let Some(server) = durable(&[]) else { return };
    let Some(program) = TestServer::backup_program() else { return };
    let mut scene = Scene::new(&server, Mode::Replace, 20_000);
    let base = base(&program, &server);
    let mut load = start(&mut scene.load_with("stamp.run=pause"));
    wait_paused(&mut load);
    let mut beside = begin_incremental(&program, &server, "beside", &base);
    beside.wait_for("Acquired locks for BACKUP STAGE START");
    resume(&load);
    beside.finish();
    wait_paused(&mut load);
    resume(&load);
    finish(load).done();
    assert!(scene.is_new());
    let later = incremental(&program, &server, "later", &beside);
    base.prepare_with(&[&beside, &later]);
    let copy = restored(&base);
    let mut other = copy.connect().unwrap();
    check_table(&mut other, &scene.table);
    assert_eq!(contents(&mut other, &scene.table), scene.new);
    assert_eq!(scene.home.temp_files(), [""; 0]);
}

/// A backup that a table was half copied to, as a staging table: it is dropped by the next load.
#[test]
#[ignore = "takes long, for `make test-more`"]
fn a_backup_of_a_half_stamped_table_has_the_old_one() {
    let Some(server) = durable(&[]) else { return };
    let Some(program) = TestServer::backup_program() else { return };
    let scene = Scene::new(&server, Mode::Replace, 20_000);
    let base = base(&program, &server);
    let mut load = start(&mut scene.load_with("stamp.run=pause"));
    wait_paused(&mut load);
    let mut beside = begin_incremental(&program, &server, "beside", &base);
    beside.wait_for("Acquired locks for BACKUP STAGE START");
    resume(&load);
    beside.finish();
    wait_paused(&mut load);
    resume(&load);
    finish(load).done();
    base.prepare_with(&[&beside]);
    let copy = restored(&base);
    let mut other = copy.connect().unwrap();
    check_table(&mut other, &scene.table);
    assert_eq!(contents(&mut other, &scene.table), scene.old);
    let mut again = scene.home.load(&copy, &scene.table, &scene.file);
    run(again.args(["--mode", "replace"])).done();
    assert_eq!(contents(&mut other, &scene.table), scene.new);
}

/// The machine goes down while pages are stamped: their halves are of before and after.
#[test]
fn a_staging_table_of_torn_pages_is_dropped() {
    let Some(server) = durable(&[]) else { return };
    let mut scene = Scene::new(&server, Mode::Replace, 20_000);
    let mut load = start(&mut scene.load_with("stamp.run=pause"));
    wait_paused(&mut load);
    server.kill_9().unwrap();
    load.kill().unwrap();
    finish(load);
    let folder = server.datadir().join(&scene.database);
    let staging = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let is_staging = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        name.starts_with("_inrush") && name.ends_with(".ibd")
    };
    let files: Vec<PathBuf> = staging.filter(is_staging).collect();
    assert_eq!(files.len(), 1, "{files:?}");
    let mut bytes = std::fs::read(&files[0]).unwrap();
    for page in bytes.chunks_mut(innodb::ids::PAGE_SIZE) {
        page[16..24].copy_from_slice(&7_u64.to_be_bytes());
    }
    std::fs::write(&files[0], bytes).unwrap();
    server.restart().unwrap_or_else(|error| panic!("{error}\n{}", server.error_log()));
    scene.reconnect();
    assert!(!scene.is_new());
    scene.again("torn");
}
