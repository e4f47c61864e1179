//! Refused rows: where they are, why, and that they can be mended and loaded by the same command.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::support::{Desk, names, run};

const PATHS: [&str; 3] = ["direct", "stream", "insert"];

#[test]
fn refused_rows_are_mended_and_loaded_by_the_same_command() {
    let Some(mut desk) = Desk::new() else { return };
    let bad = desk.home.path().join("bad.csv");
    let cases: [(&str, &[&str], &str); 2] = [
        // In another order than the table's.
        ("b,a\nx,1\nten,two\ny,3\n", &["--header"], "b,a\nten,two\n"),
        ("of May\na;b\n1,x\ntwo,ten\n3,y", &["--skip-lines", "2"], "of May\na;b\ntwo,ten\n"),
    ];
    for path in PATHS {
        for (text, more, kept) in cases {
            desk.exec("CREATE OR REPLACE TABLE t (a INT PRIMARY KEY, b VARCHAR(9))");
            let file = desk.home.file("in.csv", text);
            let more = [more, &["--path", path]].concat();
            let log = ["--rejects", bad.to_str().unwrap(), "--rejects-max", "1"];
            let load = desk.load("t", &file, &[&more[..], &log].concat());
            assert_eq!(load.code(), 3, "{load:?}");
            assert_eq!(fs::read_to_string(&bad).unwrap(), kept, "{path}");
            fs::write(&bad, kept.replace("two", "2")).unwrap();
            desk.load("t", &bad, &[&more[..], &["--mode", "append", "--path", "stream"]].concat())
                .done();
            assert_eq!(desk.rows("SELECT * FROM t"), ["1|x", "2|ten", "3|y"]);
        }
    }
}

/// Rejected rows of Parquet are objects of JSON, which are loaded when they are mended.
#[test]
fn refused_rows_of_parquet_are_mended_as_json_lines() {
    let Some(mut desk) = Desk::new() else { return };
    let file =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../columnar/testdata/pyarrow-snappy.parquet");
    let bad = desk.home.path().join("bad.jsonl");
    desk.load("whole", &file, &["--create"]).done();
    for path in PATHS {
        desk.exec("DROP TABLE IF EXISTS t");
        desk.exec("CREATE TABLE t LIKE whole");
        desk.exec("ALTER TABLE t MODIFY st VARCHAR(15), MODIFY i TINYINT UNSIGNED");
        let log = ["--path", path, "--rejects", bad.to_str().unwrap(), "--rejects-max", "99"];
        let load = desk.load("t", &file, &log);
        assert_eq!(load.code(), 3, "{load:?}");
        let text = fs::read_to_string(&bad).unwrap();
        let lines: Vec<Value> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        // Only a row whose `i` is NULL has both small enough.
        assert_eq!((lines.len(), desk.rows("SELECT COUNT(*) FROM t")), (19, vec!["1".to_owned()]));
        assert_eq!((&lines[0]["i"], &lines[0]["b"]), (&Value::from(-10), &Value::from(1)));
        assert_eq!(lines[0]["u"], "18446744073709551615");
        assert_eq!(lines[1]["d"].as_f64(), Some(0.07));
        assert_eq!((&lines[0]["l"], &lines[0]["st"]["y"]), (&Value::Array(vec![]), &"0".into()));
        let reasons = fs::read_to_string(bad.with_extension("jsonl.reasons.jsonl")).unwrap();
        assert!(reasons.contains("\"line\":1,") && reasons.contains("\"column\":\"i\""));
        desk.exec("ALTER TABLE t MODIFY st JSON, MODIFY i INT");
        let append = ["--mode", "append", "--path", "stream", "--format", "jsonl"];
        desk.load("t", &bad, &append).done();
        let rows = desk.rows("SELECT * FROM t ORDER BY u");
        assert_eq!(rows, desk.rows("SELECT * FROM whole ORDER BY u"), "{path}");
    }
}

/// A line with an unclosed quote is refused, and those behind it are read as lines.
#[test]
fn one_quote_that_is_not_closed_is_one_refused_row() {
    let Some(mut desk) = Desk::new() else { return };
    let bad = desk.home.path().join("bad.csv");
    let many: String = (10..5_000).map(|row| format!("{row},\"of {row}\"\n")).collect();
    let text = format!("a,b\n1,x\n{many}2,\"ten\n3,y\n4,z");
    let log = ["--header", "--rejects", bad.to_str().unwrap()];
    let told = "the line has an unclosed quote, so its fields are unknown";
    for (path, most) in PATHS.into_iter().zip(["1", "9", "1%"]) {
        desk.exec("CREATE OR REPLACE TABLE t (a INT PRIMARY KEY, b VARCHAR(9))");
        let file = desk.home.file("in.csv", &text);
        let none = desk.load("t", &file, &["--header", "--path", path]);
        none.refused(1, &["line 4993", "a quote opens here and is never closed"]);
        let more = [&log[..], &["--path", path, "--rejects-max", most]].concat();
        let load = desk.load("t", &file, &more);
        assert_eq!(load.code(), 3, "{load:?}");
        assert!(load.out.contains(&format!("  rejected 1 row: {told}")), "{load:?}");
        assert_eq!(fs::read_to_string(&bad).unwrap(), "a,b\n2,\"ten\n");
        assert_eq!(desk.rows("SELECT COUNT(*), SUM(a = 3), SUM(a = 4) FROM t"), ["4993|1|1"]);
        fs::write(&bad, "a,b\n2,ten\n").unwrap();
        let append = ["--header", "--mode", "append", "--path", "stream"];
        desk.load("t", &bad, &append).done();
        assert_eq!(desk.rows("SELECT b FROM t WHERE a = 2"), ["ten"]);
        let checked = desk.load("t", &file, &["--header", "--dry-run", "--mode", "replace"]);
        assert_eq!(checked.code(), 3, "{checked:?}");
        assert!(checked.out.contains("1 of them bad") && checked.out.contains(told), "{checked:?}");
    }
    let job = format!(
        "into = \"{}\"\n[input]\nfiles = \"in.csv\"\nheader = true\n[[table]]\nname = \"t\"\n[[table]]\nname = \"u\"\n",
        desk.database
    );
    let job = desk.home.file("job.toml", job);
    desk.exec("CREATE TABLE u LIKE t");
    desk.exec("TRUNCATE t");
    let mut load = desk.home.inrush(["load", "--rejects-max", "1", "--socket"]);
    load.arg(desk.server.socket()).arg("-c").arg(job);
    let load = run(&mut load);
    assert_eq!(load.code(), 3, "{load:?}");
    assert!(load.out.contains(told), "{load:?}");
    assert_eq!(desk.rows("SELECT COUNT(*) FROM t UNION ALL SELECT COUNT(*) FROM u"), ["4993"; 2]);
}

/// The file and the reasons that a report or an error names.
fn named(said: &str) -> (String, Vec<Value>) {
    let word = said.split_whitespace().find(|word| word.contains("/jobs/")).unwrap();
    let file = word.trim_end_matches(',');
    let reasons = fs::read_to_string(format!("{file}.reasons.jsonl")).unwrap();
    let reasons = reasons.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    (fs::read_to_string(file).unwrap(), reasons)
}

#[test]
fn refused_rows_that_are_tolerated_are_kept_without_being_asked_for() {
    let Some(mut desk) = Desk::new() else { return };
    for path in PATHS {
        desk.exec("CREATE OR REPLACE TABLE t (a INT PRIMARY KEY)");
        let file = desk.home.file("in", "1\nx\n2\n\ny\n");
        let load = desk.load("t", &file, &["--path", path, "--rejects-max", "3"]);
        assert_eq!(load.code(), 3, "{load:?}");
        let (rows, reasons) = named(&load.out);
        assert_eq!((rows.as_str(), reasons.len()), ("x\n\ny\n", 3));
        let many =
            desk.load("t", &file, &["--mode", "replace", "--path", path, "--rejects-max", "1"]);
        many.refused(1, &["2 rows rejected", " "]);
        assert_eq!(named(&many.err).0, "x\n\n");
        let good = desk.home.file("good", "7\n");
        let jobs = desk.home.path().join("state/inrush/jobs");
        let before = names(&jobs).len();
        desk.load("t", &good, &["--mode", "replace", "--path", path, "--rejects-max", "1"]).done();
        assert_eq!(names(&jobs).len(), before + 1, "only the journal");
    }
}

#[test]
fn every_fault_of_a_row_is_told_and_the_rows_are_counted_by_reason() {
    let Some(mut desk) = Desk::new() else { return };
    let columns = "a INT PRIMARY KEY, b DATE NOT NULL, c VARCHAR(3)";
    let text = "1,2024-02-30,long\ntwo,never,ok\n3,2024-01-01,long\n4,2024-01-01,longer\n5\n";
    for path in PATHS {
        desk.exec(&format!("CREATE OR REPLACE TABLE t ({columns})"));
        let file = desk.home.file("in.csv", text);
        let more = ["--path", path, "--rejects-max", "9", "--mode", "replace", "--allow-empty"];
        let load = desk.load("t", &file, &more);
        assert_eq!(load.code(), 3, "{load:?}");
        assert!(load.out.contains("  rejected 2 rows: `c` is too long\n"), "{load:?}");
        assert!(load.out.contains("the line has too few fields\n"), "{load:?}");
        let (_, reasons) = named(&load.out);
        let columns: Vec<String> = reasons
            .iter()
            .map(|reason| {
                let also = reason["also"].as_array().cloned().unwrap_or_default();
                let all = std::iter::once(reason).chain(&also);
                all.map(|one| one["column"].as_str().unwrap().to_owned()).collect()
            })
            .collect();
        assert_eq!(columns, ["bc", "ab", "c", "c", "b"], "{path}");
        assert_eq!(reasons[0]["also"][0]["value"], "long");
        let json = desk.load("t", &file, &[&more[..], &["--json"]].concat());
        let report: Value = serde_json::from_str(&json.out).unwrap();
        let tally = report["rejects_by_reason"].as_array().unwrap();
        assert_eq!(tally[0]["rows"], 2, "{tally:?}");
        assert_eq!(tally.iter().map(|one| one["rows"].as_u64().unwrap()).sum::<u64>(), 5);
        assert!(Path::new(report["rejects_file"].as_str().unwrap()).exists());
    }
}

#[test]
fn errors_are_json_too_with_their_place() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec("CREATE TABLE t (a INT PRIMARY KEY, b DATE)");
    let json = |out: &str| -> Value { serde_json::from_str(out).unwrap() };
    let file = desk.home.file("in.csv", "1,2024-01-01\n2,soon\n");
    let failed = desk.load("t", &file, &["--json"]);
    failed.refused(1, &["later rows were not checked"]);
    let error = json(&failed.out);
    assert_eq!(error["file"], file.to_str().unwrap());
    assert_eq!(
        (&error["line"], &error["byte"], &error["field"]),
        (&2.into(), &13.into(), &2.into())
    );
    assert_eq!((&error["column"], &error["value"]), (&"b".into(), &"soon".into()));
    assert!(error["reason"].as_str().unwrap().contains("is not DATE"), "{error}");
    let twice = desk.home.file("twice.csv", "1,2024-01-01\n1,2024-01-02\n");
    let error = json(&desk.load("t", &twice, &["--json"]).out);
    assert_eq!((&error["status"], &error["line"]), (&1.into(), &2.into()));
    // Nothing was started.
    let missing = desk.load("t", "no.csv".as_ref(), &["--json"]);
    missing.refused(2, &["opening no.csv"]);
    assert_eq!(json(&missing.out)["status"], 2);
    let typed = run(&mut desk.home.inrush(["load", "x", "--json", "--mode", "all"]));
    assert!(json(&typed.out)["error"].as_str().unwrap().contains("invalid value"), "{typed:?}");
    let plan = run(&mut desk.home.inrush(["plan", "no.csv", "--into", "d.t", "--json"]));
    assert_eq!(json(&plan.out)["status"], 2, "{plan:?}");
}

#[test]
fn a_part_of_the_rows_may_be_refused_and_with_more_nothing_is_published() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec("CREATE TABLE t (id INT PRIMARY KEY, a INT)");
    let row = |id: u32| if id % 50 == 7 { format!("{id}\tx\n") } else { format!("{id}\t1\n") };
    let text: String = (0..200).map(row).collect();
    let file = desk.home.file("rows.txt", &text);
    for path in ["direct", "stream", "insert"] {
        for mode in ["replace", "append"] {
            desk.exec("TRUNCATE t");
            desk.exec("INSERT INTO t VALUES (1000, 1)");
            let load = |part: &str| {
                desk.load("t", &file, &["--path", path, "--mode", mode, "--rejects-max", part])
            };
            let more = load("1.9%");
            more.refused(1, &["4 of 200 rows (2.00 %) were rejected, and --rejects-max is 1.9%"]);
            let before = desk.session.query_text("SELECT GROUP_CONCAT(id) FROM t").unwrap();
            assert_eq!(before.as_deref(), Some("1000"), "{path} {mode}");
            let loaded =
                desk.load("t", &file, &["--path", path, "--mode", mode, "--rejects-max", "2%"]);
            assert_eq!(loaded.code(), 3, "{path} {mode}: {loaded:?}");
            let rows = desk.session.query_text("SELECT COUNT(*) FROM t WHERE id<1000").unwrap();
            assert_eq!(rows.as_deref(), Some("196"), "{path} {mode}");
        }
    }
    for wrong in ["1.5", "%", "-1%", "101%", "x%"] {
        desk.load("t", &file, &[&format!("--rejects-max={wrong}")]).refused(2, &["--rejects-max"]);
    }
    let none = ["--mode", "replace", "--rejects-max", "0%"];
    desk.load("t", &file, &none).refused(1, &["--rejects-max N skips up to N"]);
}
