//! The sandbox: starts, survives, recovers, stays private.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use sandbox::mariadbd::{Binary, Place, Wrapper};
use sandbox::{Lifetime, Sandbox, SandboxOptions, ShardSandbox, Status, TemporaryServer};
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
fn the_last_user_stops_a_server_that_runs_for_users_alone() {
    let dir = tempfile::tempdir().unwrap();
    let Some(guard) = sandbox(&dir.path().join("box")) else { return };
    let sandbox = &guard.0;
    let enter = |lifetime| sandbox.enter(&small(), lifetime).unwrap();
    let is_running = || matches!(sandbox.status(), Status::Running { .. });
    // The test has started it.
    drop(enter(Lifetime::UntilLastUser));
    assert!(is_running());
    sandbox.stop().unwrap();

    let first = enter(Lifetime::UntilLastUser);
    let second = enter(Lifetime::UntilStopped);
    drop(first);
    Session::connect(&sandbox.connect_options()).unwrap();
    drop(second);
    assert_eq!(sandbox.status(), Status::Stopped);

    let first = enter(Lifetime::UntilLastUser);
    sandbox.start(&small()).unwrap();
    drop(first);
    assert!(is_running());
    sandbox.stop().unwrap();

    drop(enter(Lifetime::UntilStopped));
    assert!(is_running());
}

#[test]
fn a_folder_is_one_sandbox_by_each_of_its_paths() {
    let dir = tempfile::tempdir().unwrap();
    let real = dir.path().canonicalize().unwrap();
    std::fs::create_dir_all(real.join("a/sub")).unwrap();
    std::os::unix::fs::symlink(real.join("a"), real.join("link")).unwrap();
    let plain = real.join("a/box");
    let others = [real.join("a/sub/../box"), real.join("link/box"), real.join("a/box/sub/..")];
    for path in [&others[0], &others[1], &plain] {
        assert_eq!(Sandbox::at(path).unwrap().dir(), plain);
    }
    let Some(guard) = sandbox(&others[0]) else { return };
    let Status::Running { pid } = guard.0.status() else { panic!("not running") };
    std::fs::create_dir(real.join("a/box/sub")).unwrap();
    for path in [&others[1], &others[2], &plain] {
        let sandbox = Sandbox::at(path).unwrap();
        assert_eq!(sandbox.status(), Status::Running { pid }, "{}", path.display());
        sandbox.start(&small()).unwrap();
    }
    assert!(Session::connect(&guard.0.connect_options()).is_ok());
}

/// Its start may have had another XDG_RUNTIME_DIR.
#[test]
fn a_running_server_is_reached_by_the_socket_that_it_has() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("box");
    let Some(guard) = sandbox(&path) else { return };
    guard.0.stop().unwrap();
    let place = Place {
        datadir: guard.0.datadir().to_owned(),
        socket: dir.path().join("other.sock"),
        pid_file: path.join("server.pid"),
        error_log: guard.0.error_log().to_owned(),
        tmpdir: path.join("tmp"),
        wrapper: Wrapper::DiesWithUs,
    };
    let binary = Binary::find(sandbox::BINARY_VARIABLE).unwrap();
    let arguments = vec!["--innodb-buffer-pool-size=32M".to_owned()];
    let server = TemporaryServer::new(binary, place, arguments, Duration::from_secs(60));
    server.start().unwrap();
    let found = Sandbox::at(&path).unwrap();
    assert_eq!(found.socket(), dir.path().join("other.sock"));
    found.start(&small()).unwrap();
    Session::connect(&found.connect_options()).unwrap();
}

/// A full disk would empty a file that is written in place, and the folder would be no sandbox.
#[test]
fn the_file_of_the_version_is_replaced_and_not_written_in_place() {
    let dir = tempfile::tempdir().unwrap();
    let Some(guard) = sandbox(&dir.path().join("box")) else { return };
    let (version, before) = (guard.0.dir().join("version"), dir.path().join("before"));
    let content = std::fs::read(&version).unwrap();
    std::fs::hard_link(&version, &before).unwrap();
    std::fs::write(guard.0.dir().join("version.new"), "").unwrap();
    guard.0.stop().unwrap();
    guard.0.start(&small()).unwrap();
    let inode = |path: &Path| std::fs::metadata(path).unwrap().ino();
    assert_ne!(inode(&version), inode(&before));
    assert_eq!(std::fs::read(&version).unwrap(), content);
}

/// Variable of the process that starts a sandbox and is killed.
const KILLED_START: &str = "INRUSH_TEST_KILLED_START";

/// As Ctrl-C and the command again: there must not be a second server.
#[test]
fn a_start_that_was_killed_is_waited_for() {
    if let Some(path) = std::env::var_os(KILLED_START) {
        let _ = Sandbox::at(path).unwrap().start(&small());
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().canonicalize().unwrap().join("box");
    let Some(guard) = sandbox(&path) else { return };
    guard.0.stop().unwrap();
    // A server that takes its time.
    let script = dir.path().join("server.sh");
    let program = Binary::find(sandbox::BINARY_VARIABLE).unwrap().path;
    let program = program.display();
    let lines = format!(
        "#!/bin/sh\ncase \"$*\" in *--version*) ;; *) sleep 3 ;; esac\nexec {program} \"$@\"\n"
    );
    std::fs::write(&script, lines).unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut killed = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "a_start_that_was_killed_is_waited_for"])
        .envs([(KILLED_START, &path), (sandbox::BINARY_VARIABLE, &script)])
        .spawn()
        .unwrap();
    let begun = Instant::now();
    while !somebody_runs(&path) {
        assert!(begun.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(20));
    }
    std::thread::sleep(Duration::from_millis(500));
    killed.kill().unwrap();
    killed.wait().unwrap();
    let Status::Running { pid } = guard.0.status() else { panic!("not running") };
    guard.0.start(&small()).unwrap();
    assert_eq!(guard.0.status(), Status::Running { pid });
    guard.0.stop().unwrap();
    assert!(nobody_left(&path));
}

#[test]
fn a_folder_of_somebody_else_is_refused_and_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    for name in ["empty", "project/data", "versioned/data", "killed/data.new"] {
        std::fs::create_dir_all(dir.join(name)).unwrap();
    }
    std::fs::write(dir.join("project/data/orders.csv"), "1\n").unwrap();
    std::fs::write(dir.join("versioned/version"), "1.2.3\n").unwrap();
    std::fs::write(dir.join("killed/lock"), "").unwrap();
    let open = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(dir.join("project"), open).unwrap();
    for name in ["missing", "empty", "killed"] {
        assert_eq!(Sandbox::at(dir.join(name)).unwrap().status(), Status::Absent, "{name}");
    }
    for name in ["project", "versioned"] {
        let error = Sandbox::at(dir.join(name)).unwrap_err().to_string();
        assert!(error.contains("has files and is no sandbox"), "{error}");
    }
    let mode = std::fs::metadata(dir.join("project")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o755);
    let Some(guard) = sandbox(&dir.join("killed")) else { return };
    guard.0.stop().unwrap();
    assert_eq!(Sandbox::at(dir.join("killed")).unwrap().status(), Status::Stopped);
}

#[test]
fn shards_that_were_not_joined_are_joined_by_the_next_start_or_fail_again() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().canonicalize().unwrap().join("box");
    let shards = ShardSandbox::of(&Sandbox::at(&path).unwrap());
    match shards.start(1) {
        Err(Error::NoServer(..)) => println!("skipped: no mariadbd"),
        Err(error) => {
            assert!(error.to_string().contains("Spider"), "{error}");
            assert!(nobody_left(&path));
            let again = shards.start(1).map(drop).unwrap_err();
            assert_eq!(again.to_string(), error.to_string());
            assert!(nobody_left(&path));
        }
        // As a kill before the file is written.
        Ok(_) => {
            std::fs::remove_file(shards.client_file()).unwrap();
            let again = shards.start(1).map(drop);
            let is_joined = shards.client_file().exists();
            shards.stop().unwrap();
            again.unwrap();
            assert!(is_joined);
        }
    }
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

/// A server of a data directory of its own, whose program is a script that has the server as a process of its own.
fn scripted(dir: &Path) -> Option<TemporaryServer> {
    let mut binary = Binary::find(sandbox::BINARY_VARIABLE).ok()?;
    let datadir = dir.join("data");
    binary.install(&datadir, &[]).unwrap();
    let script = dir.join("server.sh");
    let program = binary.path.display();
    std::fs::write(&script, format!("#!/bin/sh\n{program} \"$@\"\nexit 1\n")).unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    binary.path = script;
    std::fs::create_dir(dir.join("tmp")).unwrap();
    let place = Place {
        datadir,
        socket: dir.join("s"),
        pid_file: dir.join("server.pid"),
        error_log: dir.join("error.log"),
        tmpdir: dir.join("tmp"),
        wrapper: Wrapper::DiesWithUs,
    };
    let arguments = vec!["--innodb-buffer-pool-size=32M".to_owned()];
    Some(TemporaryServer::new(binary, place, arguments, Duration::from_secs(60)))
}

/// True if a process runs on a folder.
fn somebody_runs(dir: &Path) -> bool {
    let dir = dir.to_str().unwrap();
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let mut lines = processes.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    lines.any(|line| String::from_utf8_lossy(&line).contains(dir))
}

/// True once no process runs on a folder, within a time.
fn nobody_left(dir: &Path) -> bool {
    let begun = Instant::now();
    while somebody_runs(dir) {
        if begun.elapsed() > Duration::from_secs(30) {
            return false;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    true
}

#[test]
fn a_kill_reaches_a_server_behind_a_script_also_while_it_starts() {
    let dir = tempfile::tempdir().unwrap();
    let Some(server) = scripted(dir.path()) else { return };
    server.start().unwrap();
    server.kill_9().unwrap();
    assert!(nobody_left(dir.path()));
    let begun = Instant::now();
    std::thread::scope(|scope| {
        let started = scope.spawn(|| server.start());
        while !started.is_finished() {
            server.kill_9().unwrap();
            assert!(begun.elapsed() < Duration::from_secs(30));
        }
        let error = started.join().unwrap().unwrap_err().to_string();
        assert!(error.contains("killed at its start"), "{error}");
    });
    assert!(nobody_left(dir.path()));
}
