//! The report of a load: figures, rejected rows, duplicates.

use std::fs;
use std::time::Instant;

use serde_json::Value;
use testkit::TestServer;

use crate::support::{COLUMNS, Desk, Home, contents, lines, reference, run};

#[test]
fn a_load_reports_what_it_did() {
    let Some(mut desk) = Desk::new() else { return };
    let file = desk.home.file("rows.txt", lines(3_000));
    let (mut other, database) = (desk.server.connect().unwrap(), desk.database.clone());
    let expected = reference(&mut other, &database, &file);
    desk.exec(&format!("CREATE TABLE t {COLUMNS}"));
    let outcome = desk.load("t", &file, &["--verbose"]);
    outcome.done();
    let first = format!("{database}.t: 3,000 rows loaded, 0 rejected, ");
    assert!(outcome.out.starts_with(&first), "{outcome:?}");
    let server = format!("({})\n", desk.server.socket().display());
    for part in [
        server.as_str(),
        "rows/s",
        "MB/s",
        "stages: inspect ",
        "peak memory ",
        "path direct: ",
        "index n:",
    ] {
        assert!(outcome.out.contains(part), "{part}: {outcome:?}");
    }
    // Progress, and nothing else, is on stderr: but for the word about a collation that is learned the first time.
    let lines = outcome.err.lines().filter(|line| !line.contains("is learned from the server"));
    let lines = lines.map(|line| line.split_once(" s  ").unwrap().1);
    let stages: Vec<&str> = lines.map(|line| line.split(", about ").next().unwrap()).collect();
    assert!(stages.starts_with(&["inspect", "staging"]) && stages.ends_with(&["publish"]));
    assert_eq!(contents(&mut desk.session, "t"), expected);
}

#[test]
fn a_load_prints_one_line_and_the_note_about_backups_once_a_server() {
    // A server of its own: a load that waits for locks of other tests says so.
    let Some(server) = TestServer::start() else { return };
    let mut session = server.connect().unwrap();
    session.exec("CREATE DATABASE d").unwrap();
    session.exec("CREATE TABLE d.t (a INT PRIMARY KEY)").unwrap();
    let home = Home::new();
    let file = home.file("rows.csv", "1\n2\n");
    let load = |more: &[&str]| run(home.load(&server, "d.t", &file).args(more));
    let begun = Instant::now();
    let first = load(&[]);
    let lines: Vec<&str> = first.done().out.lines().collect();
    let start = "d.t: 2 rows loaded, 0 rejected, ";
    assert!(lines[0].starts_with(start), "{first:?}");
    let end = format!(" s, direct build, on {}", server.socket().display());
    assert!(lines[0].ends_with(&end), "{first:?}");
    assert_eq!(
        lines[1..],
        ["  note: Take a full backup: incremental backups do not contain this table, except with \
              --stamp yes."]
    );
    // A load that takes less than ten seconds has no line of progress.
    assert!(first.err.is_empty() || begun.elapsed().as_secs() > 9, "{first:?}");
    let again = load(&["--mode", "replace"]);
    assert_eq!(again.done().out.lines().count(), 1, "{again:?}");
    assert!(again.out.starts_with(start), "{again:?}");
    let json = load(&["--mode", "replace", "--json"]);
    assert!(json.done().out.contains("Take a full backup"), "{json:?}");
}

#[test]
fn quiet_prints_nothing() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec("CREATE TABLE t (a INT PRIMARY KEY)");
    let file = desk.home.file("rows.txt", "1\n2\n");
    let outcome = desk.load("t", &file, &["--quiet"]);
    assert_eq!((outcome.code(), outcome.out.as_str(), outcome.err.as_str()), (0, "", ""));
    let again = desk.load("t", &file, &["--quiet"]);
    again.refused(2, &["the table is not empty; --mode append adds"]);
    assert_eq!((again.out.as_str(), again.err.lines().count()), ("", 1));
}

#[test]
fn rows_that_are_left_out_are_named_also_in_quiet() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec("CREATE TABLE t (a INT PRIMARY KEY)");
    let file = desk.home.file("rows.txt", "1\nx\n2\n2\n");
    let bad = desk.home.path().join("bad.txt");
    let more = ["--quiet", "--rejects-max", "1", "--on-duplicate", "skip", "--rejects"];
    let outcome = desk.load("t", &file, &[&more[..], &[bad.to_str().unwrap()]].concat());
    assert_eq!((outcome.code(), outcome.out.as_str()), (3, ""), "{outcome:?}");
    let expected = format!(
        "inrush: warning: {}: 1 row rejected (in {}), 1 row skipped as duplicates\n",
        desk.table("t"),
        bad.display()
    );
    assert_eq!(outcome.err, expected);
}

#[test]
fn the_json_report_has_every_field() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec("CREATE TABLE t (a INT PRIMARY KEY, b INT, KEY b (b))");
    let file = desk.home.file("rows.txt", "2\t1\n1\t2\nx\t3\n");
    let outcome = desk.load("t", &file, &["--json", "--rejects-max", "1"]);
    assert_eq!(outcome.code(), 3, "{outcome:?}");
    let report: Value = serde_json::from_str(&outcome.out).unwrap();
    assert_eq!(report["target"], desk.table("t"));
    assert_eq!((&report["rows"], &report["rejects"]), (&2.into(), &1.into()));
    assert_eq!((&report["bytes"], &report["sorted_input"]), (&12.into(), &false.into()));
    assert_eq!(report["path"], "direct");
    let stages: Vec<&str> =
        report["stages"].as_array().unwrap().iter().map(|s| s["name"].as_str().unwrap()).collect();
    let expected =
        ["inspect", "staging", "rows", "indexes", "verify", "import", "compare", "publish"];
    assert_eq!(stages, expected);
    let index = &report["indexes"][1];
    assert_eq!((&index["name"], &index["records"]), (&"b".into(), &2.into()));
    assert_eq!((&index["leaf_pages"], &index["height"]), (&1.into(), &1.into()));
    for number in ["seconds", "rows_per_second", "megabytes_per_second", "memory_peak_bytes"] {
        assert!(report[number].as_f64().unwrap() > 0.0, "{number}");
    }
    for text in ["job", "why", "server", "server_address"] {
        assert!(!report[text].as_str().unwrap().is_empty(), "{text}");
    }
    assert_eq!(report["spilled_bytes"], 0);
    assert!(report["file_bytes"].as_u64().unwrap() >= 5 * 16_384);
    assert!(report["threads"].as_u64().unwrap() >= 1);
    assert!(report["notes"].is_array() && report["warnings"].is_array());

    let failed = desk.load("t", &file, &["--json", "--mode", "replace"]);
    failed.refused(1, &["later rows were not checked"]);
    let error: Value = serde_json::from_str(&failed.out).unwrap();
    assert_eq!((&error["status"], &error["kind"]), (&1.into(), &"rows".into()));
    assert!(failed.err.contains(error["error"].as_str().unwrap()));
}

#[test]
fn refused_rows_go_to_a_file_with_their_reasons() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec("CREATE TABLE t (a INT PRIMARY KEY, b DECIMAL(4,2) NOT NULL)");
    let file = desk.home.file("in.csv", "1,1.50\ntwo,2\n3,\"12,50\"\n4\n5,5.5\n6,\"x");
    let file_name = file.to_str().unwrap().to_owned();
    let rejects = desk.home.path().join("bad.csv");
    let rejects_name = rejects.to_str().unwrap();
    let reasons = desk.home.path().join("bad.csv.reasons.jsonl");
    // Where no row may be refused, a quote that is never closed stops the reading.
    desk.load("t", &file, &[]).refused(1, &["line 6", "a quote opens here and is never closed"]);
    let file = desk.home.file("in.csv", "1,1.50\ntwo,2\n3,\"12,50\"\n4\n5,5.5\n6,x");

    let one_too_many = desk.load("t", &file, &["--rejects", rejects_name, "--rejects-max", "3"]);
    one_too_many.refused(
        1,
        &["nothing was loaded: ", "in.csv line 6", "4 rows rejected, and --rejects-max is 3"],
    );
    assert_eq!(desk.rows("SELECT COUNT(*) FROM t"), ["0"]);

    let loaded = desk.load("t", &file, &["--rejects", rejects_name, "--rejects-max", "4"]);
    assert_eq!(loaded.code(), 3, "{loaded:?}");
    assert!(loaded.out.contains("2 rows loaded, 4 rejected"), "{loaded:?}");
    assert_eq!(desk.rows("SELECT * FROM t"), ["1|1.50", "5|5.50"]);
    assert_eq!(fs::read_to_string(&rejects).unwrap(), "two,2\n3,\"12,50\"\n4\n6,x\n");
    let reasons: Vec<Value> = fs::read_to_string(reasons)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let place = |reason: &Value| {
        let number = |field: &str| reason[field].as_u64();
        (number("line"), number("byte"), number("field"))
    };
    let places: Vec<_> = reasons.iter().map(place).collect();
    let (one, two) = (Some(1), Some(2));
    assert_eq!(places[0], (Some(2), Some(7), one));
    assert_eq!(places[1], (Some(3), Some(13), two));
    assert_eq!((places[2].0, places[2].1), (Some(4), Some(23)));
    assert_eq!(places[3], (Some(6), Some(31), two));
    assert_eq!(reasons[1]["value"], "12,50");
    assert_eq!(reasons[1]["column"], "b");
    assert!(reasons[1]["reason"].as_str().unwrap().contains("\"12,50\" is not DECIMAL(4,2)"));
    assert!(reasons.iter().all(|reason| reason["file"] == file_name.as_str()));
}

#[test]
fn duplicates_are_left_out_on_request_and_are_no_failure() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec("CREATE TABLE t (a INT PRIMARY KEY, b VARCHAR(9), UNIQUE KEY b (b))");
    let file = desk.home.file("rows.txt", "1\tx\n2\ty\n1\tz\n3\tX \n");
    let log = desk.home.path().join("left_out");
    let log_name = log.to_str().unwrap();
    let left_out = |on_duplicate, rest: &[&'static str]| {
        let options = ["--mode", "replace", "--on-duplicate", on_duplicate, "--duplicates"];
        [&options, &[log_name][..], rest].concat()
    };
    let skipped = desk.load("t", &file, &left_out("skip", &["--verbose"]));
    assert_eq!(skipped.code(), 0, "{skipped:?}");
    assert!(skipped.out.contains("2 rows loaded, 0 rejected, 2 skipped as duplicates"));
    assert!(skipped.out.contains("duplicates "), "{skipped:?}");
    assert_eq!(desk.rows("SELECT * FROM t ORDER BY a"), ["1|x", "2|y"]);
    assert_eq!(fs::read_to_string(&log).unwrap(), "1\tz\n3\tX \n");
    let replaced = desk.load("t", &file, &left_out("replace", &["--json"]));
    assert_eq!(replaced.code(), 0, "{replaced:?}");
    let report: Value = serde_json::from_str(&replaced.out).unwrap();
    assert_eq!((&report["rows"], &report["duplicates"]), (&3.into(), &1.into()));
    assert_eq!(desk.rows("SELECT * FROM t ORDER BY a"), ["1|z", "2|y", "3|X "]);
    assert_eq!(fs::read_to_string(&log).unwrap(), "1\tx\n");
    let reason = fs::read_to_string(desk.home.path().join("left_out.reasons.jsonl")).unwrap();
    let reason: Value = serde_json::from_str(&reason).unwrap();
    assert_eq!((&reason["key"], &reason["values"][0]), (&"PRIMARY".into(), &"1".into()));
    assert_eq!(reason["lost_to"]["line"], 3);

    // A refused row is told by the exit status all the same.
    let file = desk.home.file("rows.txt", "1\tx\nbad\tx\n1\ty\n");
    let both = desk.load("t", &file, &left_out("skip", &["--rejects-max", "1"]));
    assert_eq!(both.code(), 3, "{both:?}");
    assert!(both.out.contains("1 row loaded, 1 rejected, 1 skipped"), "{both:?}");
}

#[test]
fn duplicates_fail_the_load_and_name_both_rows() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec("CREATE TABLE t (a INT PRIMARY KEY, b VARCHAR(9), UNIQUE KEY b (b))");
    let (first, second) = (desk.home.file("1.txt", "1\tx\n3\tb\n"), desk.home.path().join("2.txt"));
    for (text, index, key) in [("2\ty\n3\tc\n", "PRIMARY", "(3)"), ("2\ty\n4\tB \n", "b", "(B )")] {
        fs::write(&second, text).unwrap();
        let outcome = desk.load("t", &first, &[second.to_str().unwrap()]);
        outcome.refused(1, &["2.txt line 2", "1.txt line 2", index, key]);
        assert_eq!(desk.rows("SELECT COUNT(*) FROM t"), ["0"]);
        assert_eq!(desk.files(), desk.server.database_files(&["t"]));
    }
}

#[test]
fn a_page_tells_of_a_load_that_worked_and_of_one_that_failed() {
    let Some(server) = TestServer::shared() else { return };
    let home = Home::new();
    let database = server.database().unwrap();
    let mut session = server.connect().unwrap();
    session.exec(&format!("CREATE TABLE {database}.t (id INT PRIMARY KEY, n TINYINT)")).unwrap();
    let rows: String = (0..5_000).map(|id| format!("{id}\t{}\n", id % 100)).collect();
    let table = format!("{database}.t");
    let page = home.path().join("page.html");
    let load = |rows: String, more: &[&str]| {
        let file = home.file("rows.txt", rows);
        let mut command = home.load(server, &table, &file);
        let outcome = run(command.args(["--mode", "replace", "--report"]).arg(&page).args(more));
        (outcome, fs::read_to_string(&page).unwrap_or_default())
    };
    let place = format!("<h1>{table} on {}, 20", server.socket().display());
    let title = ": 5,000 rows loaded, 2 rejected, ".to_owned();
    let bad = format!("{rows}9000\t<b>\n9001\t1000\n");
    let (outcome, html) = load(bad.clone(), &["--rejects-max", "2"]);
    assert_eq!(outcome.code(), 3, "{outcome:?}");
    for part in [&*title, "<h2>Stages</h2>", "import: ", "PRIMARY", "out of range", "inrush load"] {
        assert!(html.contains(part), "{part}: {html}");
    }
    assert!(html.contains(&place) && html.contains("initial-scale=1"), "{html}");
    assert!(html.ends_with("</html>\n") && !html.contains("<b>") && !html.contains("<script"));
    // The page of a killed load is replaced, too, and a file of others is not.
    for (found, code) in [(&html[..90], 1), ("", 1), ("<!DOCTYPE html>\n<p>", 2)] {
        fs::write(&page, found).unwrap();
        let (outcome, html) = load(bad.clone(), &[]);
        assert_eq!((outcome.code(), html == found), (code, code == 2), "{outcome:?}");
    }
    fs::remove_file(&page).unwrap();
    let (outcome, html) = load(bad, &[]);
    assert_eq!(outcome.code(), 1, "{outcome:?}");
    let failed = ": load failed, and everything is as before</h1>";
    assert!(html.contains(failed) && html.contains("line 5001"), "{html}");
    let (outcome, html) = load(rows, &["--dry-run"]);
    outcome.refused(2, &["--report names a file that this command does not write; --json prints"]);
    assert!(html.contains(failed), "the page before it stays");
    let file = home.path().join("rows.txt");
    for (command, options) in [
        ("plan", &["report", "metrics"][..]),
        ("check", &["report", "duplicates"]),
        ("verify", &["report", "rejects", "duplicates"]),
    ] {
        for option in options {
            let refused =
                |typed: &str| run(home.inrush([command, "--into", &table, typed]).arg(&file));
            let words = format!("--{option} names a file that this command does not write");
            refused(&format!("--{option}={}", home.path().join("x").display()))
                .refused(2, &[&words]);
        }
    }
    assert!(!home.path().join("x").exists());
    fs::remove_file(&page).unwrap();
    fs::create_dir(&page).unwrap();
    let (outcome, _) = load(String::new(), &[]);
    outcome.refused(2, &["--report", "page.html"]);
}
