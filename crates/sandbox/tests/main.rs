//! The sandbox: starts, survives, recovers, stays private.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use sandbox::{Sandbox, SandboxOptions, Status};
use server::{Error, Session};

/// Stops the sandbox when a test ends, however it ends.
struct Guard(Sandbox);

impl Drop for Guard {
    fn drop(&mut self) {
        let _ = self.0.stop();
    }
}

fn sandbox(dir: &Path) -> Option<Guard> {
    let guard = Guard(Sandbox::at(dir).unwrap());
    match guard.0.start(&small()) {
        Err(Error::NoServer(..)) => {
            println!("skipped: no mariadbd");
            None
        }
        started => {
            started.unwrap();
            Some(guard)
        }
    }
}

fn small() -> SandboxOptions {
    SandboxOptions { buffer_pool_bytes: Some(32 << 20), ..SandboxOptions::default() }
}

#[test]
fn it_keeps_data_over_stop_and_kill() {
    let dir = tempfile::tempdir().unwrap();
    let Some(guard) = sandbox(&dir.path().join("box")) else { return };
    let sandbox = &guard.0;
    let mut session = Session::connect(&sandbox.connect_options()).unwrap();
    session.exec("CREATE DATABASE d").unwrap();
    session.exec("CREATE TABLE d.t (a INT) ENGINE=InnoDB").unwrap();
    session.exec("INSERT INTO d.t VALUES (1)").unwrap();
    let mode = std::fs::metadata(sandbox.dir()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);

    sandbox.stop().unwrap();
    assert_eq!(sandbox.status(), Status::Stopped);
    sandbox.stop().unwrap();
    sandbox.start(&small()).unwrap();

    // A crash: pid file and socket stay behind.
    let Status::Running { pid } = sandbox.status() else { panic!("not running") };
    assert!(Command::new("kill").args(["-9", &pid.to_string()]).status().unwrap().success());
    while sandbox.status() != Status::Stopped {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    assert!(sandbox.socket().exists());
    sandbox.start(&small()).unwrap();
    let mut session = Session::connect(&sandbox.connect_options()).unwrap();
    assert_eq!(session.query_text("SELECT a FROM d.t").unwrap().as_deref(), Some("1"));
    let networking = session.query_text("SELECT @@skip_networking").unwrap();
    assert_eq!(networking.as_deref(), Some("1"));
}

#[test]
fn two_starts_at_once_make_one_server() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("box");
    let results: Vec<_> = std::thread::scope(|scope| {
        let start = || Sandbox::at(&path).unwrap().start(&small());
        let threads: Vec<_> = (0..3).map(|_| scope.spawn(start)).collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    });
    let guard = Guard(Sandbox::at(&path).unwrap());
    if matches!(results[0], Err(Error::NoServer(..))) {
        return;
    }
    assert!(results.iter().all(Result::is_ok), "{results:?}");
    assert!(matches!(guard.0.status(), Status::Running { .. }));
}

#[test]
fn a_long_path_gets_a_socket_elsewhere() {
    let dir = tempfile::tempdir().unwrap();
    let Some(guard) = sandbox(&dir.path().join("x".repeat(110))) else { return };
    assert!(!guard.0.socket().starts_with(dir.path()));
    assert!(Session::connect(&guard.0.connect_options()).is_ok());
    guard.0.stop().unwrap();
}

#[test]
fn a_newer_servers_data_is_refused_and_a_bad_option_shows_the_log() {
    let dir = tempfile::tempdir().unwrap();
    let Some(guard) = sandbox(&dir.path().join("box")) else { return };
    let sandbox = &guard.0;
    sandbox.stop().unwrap();
    let bad = SandboxOptions { extra: vec!["--no-such-option=1".to_owned()], ..small() };
    let error = sandbox.start(&bad).unwrap_err().to_string();
    assert!(error.contains("no-such-option"), "{error}");
    std::fs::write(sandbox.dir().join("version"), "99.1.0-MariaDB\n").unwrap();
    assert!(matches!(sandbox.start(&small()), Err(Error::Downgrade { .. })));
}
