//! `--progress json` and `--metrics`.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;
use testkit::TestServer;

use crate::support::{Desk, Home, Outcome, finish, run, start};

/// Lines of progress on stderr.
fn progress(outcome: &Outcome) -> Vec<Value> {
    let lines = outcome.err.lines().filter(|line| line.starts_with('{'));
    lines.map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[track_caller]
fn begins_and_ends(outcome: &Outcome, command: &str, end: &str, status: u8) -> Value {
    let lines = progress(outcome);
    assert!(lines.len() >= 2, "{outcome:?}");
    let (first, last) = (&lines[0], &lines[lines.len() - 1]);
    for line in &lines {
        assert_eq!((&line["inrush_progress"], &line["command"]), (&1.into(), &command.into()));
    }
    assert_eq!((&first["phase"], &first["status"]), (&"start".into(), &Value::Null), "{first}");
    assert_eq!((&last["phase"], &last["status"]), (&end.into(), &status.into()), "{last}");
    last.clone()
}

fn metric(path: &Path, name: &str) -> Option<String> {
    let text = fs::read_to_string(path).unwrap();
    let start = format!("inrush_{name}{{");
    let line = text.lines().find(|line| line.starts_with(&start))?;
    Some(line.rsplit_once(' ').unwrap().1.to_owned())
}

#[test]
fn every_command_says_how_far_it_is_as_json() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec("CREATE TABLE t (a INT PRIMARY KEY)");
    let file = desk.home.file("rows.csv", "1\n2\nx\n");
    let json = ["--progress", "json"];
    let failed = desk.load("t", &file, &json);
    assert_eq!(failed.code(), 1, "{failed:?}");
    begins_and_ends(&failed, "load", "failed", 1);
    let loaded = desk.load("t", &file, &["--progress", "json", "--rejects-max", "1", "--quiet"]);
    assert_eq!(loaded.code(), 3, "{loaded:?}");
    let last = begins_and_ends(&loaded, "load", "done", 3);
    assert_eq!(last["table"], desk.table("t"));
    assert_eq!((&last["rows"], &last["rejected"]), (&2.into(), &1.into()), "{last}");
    assert_eq!((&last["bytes"], &last["percent"]), (&6.into(), &100.0.into()), "{last}");

    let file = desk.home.file("same.csv", "1\n2\n");
    let last = begins_and_ends(desk.verify("t", &file, &json).done(), "verify", "done", 0);
    assert_eq!((&last["rows"], &last["percent"]), (&2.into(), &100.0.into()), "{last}");
    let checked = desk.load("t", &file, &["--progress", "json", "--dry-run", "--mode", "replace"]);
    begins_and_ends(checked.done(), "check", "done", 0);

    let dump = desk.home.path().join("t.sql");
    let mut export = desk.home.inrush(["export", &desk.table("t"), "-o"]);
    export.arg(&dump).args(["--progress", "json", "--socket"]).arg(desk.server.socket());
    let last = begins_and_ends(run(&mut export).done(), "export", "done", 0);
    assert_eq!(last["rows"], 2);
    assert_eq!(last["bytes"], fs::metadata(&dump).unwrap().len());

    desk.exec("DROP TABLE t");
    let mut replay = desk.home.inrush(["replay", "--into", &desk.database]);
    replay.arg(&dump).args(["--progress", "json", "--socket"]).arg(desk.server.socket());
    let last = begins_and_ends(run(&mut replay).done(), "replay", "done", 0);
    assert_eq!((&last["rows"], &last["tables_done"]), (&2.into(), &1.into()), "{last}");
    // The last statement of the dump is of no interest.
    assert_eq!(last["table"], desk.database.as_str());
}

/// Lines come while the command waits for its input, too.
#[test]
fn a_line_comes_every_second() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec("CREATE TABLE t (a INT PRIMARY KEY)");
    let metrics = desk.home.path().join("inrush.prom");
    let mut load = desk.home.load(desk.server, &desk.table("t"), Path::new("-"));
    load.args(["--dialect", "csv", "--progress", "json", "--metrics"]).arg(&metrics);
    let mut child = start(load.stdin(Stdio::piped()));
    let mut input = child.stdin.take().unwrap();
    input.write_all(b"1\n").unwrap();
    std::thread::sleep(Duration::from_millis(3_500));
    assert_eq!(metric(&metrics, "running").as_deref(), Some("1"));
    drop(input);
    let loaded = finish(child);
    let lines = progress(loaded.done());
    assert!((4..20).contains(&lines.len()), "{loaded:?}");
    let seconds = |line: &Value| line["seconds"].as_f64().unwrap();
    assert!(lines.windows(2).all(|pair| seconds(&pair[0]) <= seconds(&pair[1])), "{lines:?}");
    assert_eq!(metric(&metrics, "success").as_deref(), Some("1"));
}

/// A reader learns of a fault before the server is asked, too.
#[test]
fn a_command_that_does_not_begin_also_ends_its_progress() {
    let Some(desk) = Desk::new() else { return };
    let missing = desk.home.path().join("missing.csv");
    let outcome = desk.load("t", &missing, &["--progress", "json"]);
    begins_and_ends(&outcome, "load", "failed", 2);
    let silent = desk.load("t", &missing, &["--progress", "none"]);
    assert_eq!((silent.code(), silent.err.lines().count()), (2, 1), "{silent:?}");
}

#[test]
fn metrics_are_a_file_that_others_may_read() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec("CREATE TABLE t (a INT PRIMARY KEY)");
    let (file, folder) = (desk.home.file("rows.csv", "1\n2\nx\n"), desk.home.path().join("node"));
    fs::create_dir(&folder).unwrap();
    let path = folder.join("inrush.prom");
    let metrics = path.to_str().unwrap();
    let failed = desk.load("t", &file, &["--metrics", metrics]);
    assert_eq!(failed.code(), 1, "{failed:?}");
    for (name, value) in [("success", "0"), ("exit_status", "1"), ("running", "0")] {
        assert_eq!(metric(&path, name).as_deref(), Some(value), "{name}");
    }
    let loaded = desk.load("t", &file, &["--metrics", metrics, "--rejects-max", "1"]);
    assert_eq!(loaded.code(), 3, "{loaded:?}");
    for (name, value) in [("success", "1"), ("exit_status", "3"), ("rows", "2"), ("bytes", "6")] {
        assert_eq!(metric(&path, name).as_deref(), Some(value), "{name}");
    }
    assert_eq!(metric(&path, "rejected_rows").as_deref(), Some("1"));
    let labels = format!("inrush_rows{{command=\"load\",table=\"{}\"}} 2\n", desk.table("t"));
    assert!(fs::read_to_string(&path).unwrap().contains(&labels));
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o644);
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
}

#[test]
fn metrics_take_the_name_of_no_other_file() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec("CREATE TABLE t (a INT PRIMARY KEY)");
    let file = desk.home.file("rows.csv", "1\n");
    let at = |name: &str| desk.home.path().join(name);
    symlink(&file, at("link.prom")).unwrap();
    fs::create_dir(at("folder.prom")).unwrap();
    for (path, words) in [
        (file.clone(), "not one of metrics"),
        (at("link.prom"), "a symbolic link"),
        (at("folder.prom"), "a directory"),
        (at("missing/a.prom"), "No such file"),
        ("/dev/null".into(), "not a file"),
        ("/dev/stdout".into(), "name a file"),
    ] {
        let refused = desk.load("t", &file, &["--metrics", path.to_str().unwrap()]);
        refused.refused(2, &["--metrics", words]);
    }
    assert_eq!(fs::read_to_string(&file).unwrap(), "1\n");
    assert_eq!(desk.rows("SELECT COUNT(*) FROM t"), ["0"]);
}

/// The text of a statement, as SHOW PROCESSLIST has it while the statement runs.
#[test]
fn statements_with_rows_name_the_work() {
    let Some(server) = TestServer::start() else { return };
    let mut session = server.connect().unwrap();
    session.exec("SET GLOBAL log_output='TABLE'").unwrap();
    session.exec("SET GLOBAL general_log=1").unwrap();
    session.exec("CREATE DATABASE d").unwrap();
    session.exec("CREATE TABLE d.t (a INT PRIMARY KEY)").unwrap();
    session.exec("CREATE TABLE d.`ü*/;x` LIKE d.t").unwrap();
    let home = Home::new();
    let file = home.file("rows.csv", "1\n2\n");
    for (table, label) in [("d.t", "d.t"), ("d.ü*/;x", "d.ü___x")] {
        for (path, verb) in [("stream", "LOAD DATA"), ("insert", "INSERT INTO")] {
            let more = ["--path", path, "--mode", "replace"];
            run(home.load(&server, table, &file).args(more)).done();
            let sql = format!(
                "SELECT CONVERT(argument USING utf8mb4) FROM mysql.general_log WHERE argument LIKE \
                 '/* inrush load {label}, %*/ {verb}%'"
            );
            assert!(session.query_text(&sql).unwrap().is_some(), "{path} {label}");
            let rows = format!("SELECT COUNT(*) FROM {}", table.replace("d.", "d.`") + "`");
            assert_eq!(session.query_text(&rows).unwrap().as_deref(), Some("2"));
        }
    }
}
