//! Disks that are full: seen beforehand where that can be, survived where it cannot.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use testkit::TestServer;

use crate::scene::{Mode, Scene};
use crate::support::{Desk, Home, finish, lines, names, resume, run, start, wait_paused};

/// A small file system in memory over a folder, for as long as it lives.
struct SmallDisk {
    folder: PathBuf,
}

impl SmallDisk {
    /// None, with a line, where mounting is not permitted.
    fn over(folder: &Path, size: &str) -> Option<SmallDisk> {
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &format!("size={size},mode=0777"), "inrush-test"]);
        match mount.arg(folder).output() {
            Ok(output) if output.status.success() => Some(SmallDisk { folder: folder.to_owned() }),
            _ => {
                println!("skipped: no file system can be mounted here");
                None
            }
        }
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.folder).output();
    }
}

#[test]
fn a_temporary_folder_that_fills_up_fails_the_load() {
    let Some(server) = TestServer::shared() else { return };
    let mut scene = Scene::new(server, Mode::Replace, 60_000);
    let Some(small) = SmallDisk::over(&scene.home.temp_dir(), "512k") else { return };
    let outcome = run(&mut scene.command());
    let said = [
        "nothing was loaded: writing spill run",
        "tmp: No space left on device",
        "; free some space there",
    ];
    outcome.refused(1, &said);
    assert!(!scene.is_new());
    scene.clean("a full temporary folder");
    drop(small);
    scene.again("a full temporary folder");
}

/// The load has seen that there is room, and then there is none.
#[test]
fn a_datadir_that_fills_up_fails_the_load() {
    let Some(server) = TestServer::shared() else { return };
    let mut scene = Scene::new(server, Mode::Insert, 30_000);
    let folder = server.datadir().join(&scene.database);
    scene.session.exec(&format!("DROP TABLE {}", scene.table)).unwrap();
    let Some(_small) = SmallDisk::over(&folder, "20M") else { return };
    scene.reset();
    for filler in [8 << 20, 17 << 20, 19 << 20] {
        let mut child = start(&mut scene.load_with("rows.begin=pause"));
        wait_paused(&mut child);
        let path = folder.join("filler");
        fs::write(&path, vec![1; filler]).unwrap();
        resume(&child);
        let outcome = finish(child);
        fs::remove_file(path).unwrap();
        if filler > 16 << 20 {
            outcome.refused(1, &[".build: No space left on device", "; free some space there"]);
            assert!(!scene.is_new());
            assert_eq!(names(&folder), server.table_files(&["t"]));
        } else {
            outcome.done();
            scene.reset();
        }
    }
    run(&mut scene.command()).done();
    assert!(scene.is_new());
    scene.session.exec(&format!("DROP DATABASE `{}`", scene.database)).ok();
}

#[test]
fn a_load_that_cannot_fit_is_refused_before_anything_is_done() {
    let Some(server) = TestServer::shared() else { return };
    let mut scene = Scene::new(server, Mode::Insert, 60_000);
    let folder = server.datadir().join(&scene.database);
    scene.session.exec(&format!("DROP TABLE {}", scene.table)).unwrap();
    let Some(_small) = SmallDisk::over(&folder, "6M") else { return };
    scene.reset();
    let kept = " kB stay free for the server; the load needs about ";
    let said = ["MB free, of which ", kept, " for the table, 0 B for sorted runs): free"];
    run(&mut scene.command()).refused(2, &said);
    assert_eq!(names(&folder), server.table_files(&["t"]));
    let mut plan = scene.home.inrush(["plan"]);
    plan.args(scene.command().get_args().skip(1));
    let planned = run(&mut plan);
    assert_eq!(planned.code(), 2, "{planned:?}");
    assert!(planned.out.contains("the load needs about"), "{planned:?}");
    scene.session.exec(&format!("DROP DATABASE `{}`", scene.database)).ok();
}

/// The rows are seen to come in no order, so they have to be sorted, for which there is no room.
#[test]
fn a_temporary_folder_that_is_too_small_is_told_beforehand() {
    let Some(mut desk) = Desk::new() else { return };
    let row = |id: u32| format!("{id}\t{}\n", "text ".repeat(40));
    let rows = |ids: &dyn Fn(u32) -> u32| (0..200_000).map(|at| row(ids(at))).collect::<String>();
    desk.exec("CREATE TABLE t (id INT PRIMARY KEY, t VARCHAR(300))");
    let file = desk.home.file("rows", rows(&|at| at * 7_919 % 200_000));
    let Some(_small) = SmallDisk::over(&desk.home.temp_dir(), "12M") else { return };
    let outcome = desk.load("t", &file, &[]);
    outcome.refused(2, &["tmp has 12.6 MB free; the load needs about ", " (0 B for the table, "]);
    assert!(!desk.home.journal().iter().any(|step| step.starts_with("staging")), "{outcome:?}");
    let load = desk.home.load(desk.server, &desk.table("t"), &file);
    let arguments: Vec<_> = load.get_args().skip(1).map(ToOwned::to_owned).collect();
    let planned = run(desk.home.inrush(["plan"]).args(arguments));
    assert_eq!(planned.code(), 2, "{planned:?}");
    assert!(planned.out.contains("tmp has 12.6 MB free"), "{planned:?}");
    // Other ways do without, and so do rows in order.
    desk.load("t", &file, &["--path", "stream"]).done();
    let file = desk.home.file("rows", rows(&|at| at));
    desk.load("t", &file, &["--mode", "replace"]).done();
    assert_eq!(desk.rows("SELECT COUNT(*) FROM t"), ["200000"]);
}

/// A limit of file sizes would end the process by a signal if it did not ask for an error.
#[test]
fn a_limit_of_file_sizes_fails_the_load() {
    let Some(server) = TestServer::shared() else { return };
    let mut scene = Scene::new(server, Mode::Insert, 30_000);
    let load = scene.command();
    let mut shell = Command::new("sh");
    shell.args(["-c", "ulimit -f 4096; exec \"$@\"", "sh"]).arg(load.get_program());
    shell.args(load.get_args()).current_dir(scene.home.path());
    shell.envs(load.get_envs().filter_map(|(name, value)| Some((name, value?))));
    run(&mut shell).refused(1, &[".build: File too large", "ulimit -f"]);
    assert!(!scene.is_new());
    scene.clean("a limit of file sizes");
    scene.again("a limit of file sizes");
}

#[test]
fn a_temporary_folder_that_disappears_fails_the_load() {
    let Some(server) = TestServer::shared() else { return };
    let mut scene = Scene::new(server, Mode::Replace, 60_000);
    let mut child = start(&mut scene.load_with("rows.begin=pause"));
    wait_paused(&mut child);
    fs::remove_dir(scene.home.temp_dir()).unwrap();
    resume(&child);
    finish(child).refused(1, &["creating spill run", "No such file or directory"]);
    run(&mut scene.command()).refused(2, &["--temp-dir", "does not exist"]);
    fs::create_dir(scene.home.temp_dir()).unwrap();
    scene.clean("no temporary folder");
    scene.again("no temporary folder");
}

#[test]
fn a_state_folder_that_cannot_be_written_is_named() {
    let Some(server) = TestServer::shared() else { return };
    let mut scene = Scene::new(server, Mode::Insert, 100);
    let home = Home::new();
    let file = home.file("no-folder", "");
    let outcome = run(scene.command().env("XDG_STATE_HOME", &file));
    outcome.refused(1, &["creating the journal in", "no-folder/inrush", "XDG_STATE_HOME"]);
    scene.clean("no state folder");
    scene.again("no state folder");
}

/// The estimate of the plan is near the room that the load takes.
#[test]
fn the_estimate_is_near_what_the_load_takes() {
    let Some(mut desk) = Desk::new() else { return };
    let cases = [
        ("plain", crate::support::COLUMNS, lines(60_000)),
        (
            "numbers",
            "(a BIGINT PRIMARY KEY, b DECIMAL(15,2), c DATE, d CHAR(10), KEY (c), KEY (b, d))",
            (0..40_000).map(|n| format!("{n}\t{n}.25\t2024-02-03\tabc\n")).collect(),
        ),
        (
            "blobs",
            "(a INT PRIMARY KEY, b LONGBLOB)",
            (0..300).map(|n| format!("{n}\t{}\n", "x".repeat(60_000))).collect(),
        ),
        (
            "no_key",
            "(a INT, b VARCHAR(300), KEY (b(20)))",
            (0..30_000).map(|n| format!("{n}\t{}\n", "yz".repeat(n % 60))).collect(),
        ),
    ];
    for (name, columns, text) in cases {
        let file = desk.home.file(name, text);
        let load = desk.home.load(desk.server, &desk.table(name), &file);
        let arguments: Vec<_> = load.get_args().skip(1).map(ToOwned::to_owned).collect();
        // The same of a table that is still to be made.
        let ddl = desk.home.file("ddl.sql", format!("CREATE TABLE {name} {columns}"));
        let mut missing = desk.home.inrush(["plan", "--json", "--ddl"]);
        let missing = run(missing.arg(ddl).args(&arguments));
        let missing: serde_json::Value = serde_json::from_str(&missing.done().out).unwrap();
        assert_eq!(desk.rows(&format!("SHOW TABLES LIKE '{name}'")).len(), 0);
        desk.exec(&format!("CREATE TABLE {name} {columns}"));
        let text = run(desk.home.inrush(["plan"]).args(&arguments)).done().out.clone();
        for said in [" rows, estimated from", "  table: about ", "temporary: about ", "time: "] {
            assert!(text.contains(said), "{text}");
        }
        let planned = run(desk.home.inrush(["plan", "--json"]).args(arguments));
        let plan: serde_json::Value = serde_json::from_str(&planned.done().out).unwrap();
        let loaded = desk.load(name, &file, &["--json"]);
        let report: serde_json::Value = serde_json::from_str(&loaded.done().out).unwrap();
        let number = |value: &serde_json::Value| value.as_f64().unwrap();
        let estimate = &plan["estimate"];
        for (guess, seen) in [
            (number(&estimate["rows"]), number(&report["rows"])),
            (number(&estimate["table_bytes"]), number(&report["file_bytes"])),
        ] {
            assert!((0.7..1.4).contains(&(guess / seen)), "{name}: {plan} for {report}");
        }
        for of in ["rows", "table_bytes", "seconds"] {
            let ratio = number(&missing["estimate"][of]) / number(&estimate[of]);
            assert!((0.7..1.4).contains(&ratio), "{name}: {missing} for {plan}");
        }
        assert_eq!(missing["memory_bytes"][0], plan["memory_bytes"][0]);
    }
}

/// The server writes the description of a table (.cfg) on a disk that is full, and tells it by a warning.
#[test]
fn a_description_that_the_server_cannot_write_is_told_as_a_full_disk() {
    let Some(server) = TestServer::shared() else { return };
    let mut scene = Scene::new(server, Mode::Replace, 1_000);
    let folder = server.datadir().join(&scene.database);
    scene.session.exec(&format!("DROP TABLE {}", scene.table)).unwrap();
    let Some(_small) = SmallDisk::over(&folder, "8M") else { return };
    scene.reset();
    let filler = folder.join("filler");
    let fill = || {
        let mut bytes = 8 << 20;
        while fs::write(&filler, vec![1; bytes]).is_err() {
            bytes -= 4096;
        }
    };
    let full = [".cfg", "No space left on device", "; free some space there"];
    let mut child = start(&mut scene.load_with("staging.created=pause"));
    wait_paused(&mut child);
    fill();
    resume(&child);
    let outcome = finish(child);
    fs::remove_file(&filler).unwrap();
    outcome.refused(1, &full);
    assert_eq!(names(&folder), server.table_files(&["t"]), "{outcome:?}");
    fill();
    let mut export = scene.home.inrush(["export", &scene.table, "-o", "-", "--path", "direct"]);
    let outcome = run(export.arg("--socket").arg(server.socket()));
    outcome.refused(1, &full);
    fs::remove_file(&filler).unwrap();
    run(&mut scene.command()).done();
    scene.session.exec(&format!("DROP DATABASE `{}`", scene.database)).ok();
}
