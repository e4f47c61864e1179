//! Backups that are made while a table is loaded: what comes back holds the old rows or the new.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use testkit::{TestServer, TestServerOptions};

use crate::scene::{Mode, Scene};
use crate::support::{check_table, contents, finish, resume, start, wait_paused};

/// How long a backup is given.
const PATIENCE: Duration = Duration::from_secs(120);

/// A backup on its way.
pub(crate) struct Backup {
    child: Child,
    program: PathBuf,
    pub(crate) dir: PathBuf,
    log: PathBuf,
}

impl Backup {
    /// Begins one that takes a few seconds, and comes back when it has the server's lock for it.
    fn begin(program: &Path, server: &TestServer) -> Backup {
        let mut backup = Backup::start(program, server, "backup", &["--throttle=60"]);
        backup.wait_for("Acquired locks for BACKUP STAGE START");
        backup
    }

    /// Begins one into a folder of this name.
    pub(crate) fn start(program: &Path, server: &TestServer, name: &str, more: &[&str]) -> Backup {
        let (dir, log) = (server.dir().join(name), server.dir().join(format!("{name}.log")));
        let said = std::fs::File::create(&log).unwrap();
        let child = Command::new(program)
            .args(["--no-defaults", "--backup", "--user=root"])
            .args(more)
            .arg(format!("--socket={}", server.socket().display()))
            .arg(format!("--datadir={}", server.datadir().display()))
            .arg(format!("--target-dir={}", dir.display()))
            .stdout(Stdio::null())
            .stderr(said)
            .spawn()
            .unwrap();
        Backup { child, program: program.to_owned(), dir, log }
    }

    /// Waits until it has said so.
    #[track_caller]
    pub(crate) fn wait_for(&mut self, words: &str) {
        let begun = Instant::now();
        while !self.said(words) {
            assert!(self.is_running() && begun.elapsed() < PATIENCE, "{}", self.text());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits for its end.
    #[track_caller]
    pub(crate) fn finish(&mut self) {
        assert!(self.child.wait().unwrap().success(), "{}", self.text());
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(&self.log).unwrap()).into_owned()
    }

    fn said(&self, words: &str) -> bool {
        self.text().contains(words)
    }

    fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// Waits for its end and makes it fit for a server.
    fn prepare(&mut self) {
        self.finish();
        self.prepare_with(&[]);
    }

    /// Makes it fit for a server, with what these incremental ones add to it.
    #[track_caller]
    pub(crate) fn prepare_with(&self, incremental: &[&Backup]) {
        let adds = incremental.iter().map(|one| format!("--incremental-dir={}", one.dir.display()));
        for add in std::iter::once(None).chain(adds.map(Some)) {
            let prepared = Command::new(&self.program)
                .args(["--no-defaults", "--prepare"])
                .arg(format!("--target-dir={}", self.dir.display()))
                .args(add)
                .output()
                .unwrap();
            assert!(prepared.status.success(), "{}", String::from_utf8_lossy(&prepared.stderr));
        }
    }
}

/// The result of a backup that began while a load went on.
struct Restored {
    /// True if its table is the new one.
    is_new: bool,
    /// True if the load was through before the backup blocked changes of tables.
    was_first: bool,
}

/// Restores a backup that began at `place` of a load.
fn restored(place: &str) -> Option<Restored> {
    let durable = TestServerOptions { durable: true, ..TestServerOptions::default() };
    let server = TestServer::start_with(&durable)?;
    let program = TestServer::backup_program()?;
    let mut scene = Scene::new(&server, Mode::Replace, 60_000);
    // Stamping waits for the end of a backup.
    scene.more = vec!["--stamp", "no"];
    let mut load = start(&mut scene.load_with(&format!("{place}=pause")));
    wait_paused(&mut load);
    let mut backup = Backup::begin(&program, &server);
    resume(&load);
    finish(load).done();
    let was_first = !backup.said("BACKUP STAGE BLOCK_DDL");
    assert!(scene.is_new());
    scene.clean("the server that was backed up");
    backup.prepare();
    let options =
        TestServerOptions { restored: Some(backup.dir.clone()), ..TestServerOptions::default() };
    let other = TestServer::start_with(&options)?;
    let mut session = other.connect().unwrap();
    let seen = contents(&mut session, &scene.table);
    check_table(&mut session, &scene.table);
    assert!(seen == scene.old || seen == scene.new, "{place}: {seen:?}");
    // What the load was about is no hindrance to the next one, on the restored server.
    let mut again = scene.home.load(&other, &scene.table, &scene.file);
    finish(start(again.args(["--mode", "replace"]))).done();
    assert_eq!(contents(&mut session, &scene.table), scene.new, "{place}");
    Some(Restored { is_new: seen == scene.new, was_first })
}

/// A backup that begins at `place` has the new rows. One that is faster than the load may have the old
/// ones, and is made again.
fn has_the_new_rows(place: &str) {
    for _ in 0..5 {
        let Some(restored) = restored(place) else { return };
        if restored.was_first {
            return assert!(restored.is_new);
        }
    }
    panic!("no load was through before its backup");
}

#[test]
fn a_load_waits_for_a_backup_that_has_begun_before_it() {
    let Some(restored) = restored("staging.begin") else { return };
    assert!(!restored.is_new);
}

#[test]
#[ignore = "takes long, for `make soak`"]
fn a_backup_that_begins_while_rows_are_built_has_the_old_ones() {
    let Some(restored) = restored("verify.begin") else { return };
    assert!(!restored.is_new);
}

#[test]
fn a_backup_that_begins_before_the_import_has_the_new_rows() {
    has_the_new_rows("import.placed");
}

#[test]
#[ignore = "takes long, for `make soak`"]
fn a_backup_that_begins_after_the_import_has_the_new_rows() {
    has_the_new_rows("publish.begin");
}

#[test]
fn a_lock_for_backups_that_nobody_lets_go_is_given_up() {
    let Some(server) = TestServer::start() else { return };
    let mut scene = Scene::new(&server, Mode::Replace, 500);
    let mut forgotten = server.connect().unwrap();
    forgotten.exec("BACKUP STAGE START").unwrap();
    let outcome = finish(start(scene.command().args(["--lock-wait", "1"])));
    outcome.refused(1, &["no lock on", "within 1 s"]);
    assert!(!scene.is_new());
    forgotten.exec("BACKUP STAGE END").unwrap();
    scene.again("the lock for backups is free again");
}
