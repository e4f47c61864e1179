//! Settings that are fixed by options or found while loading, as the program reports them.

use std::time::Instant;

use serde_json::Value;

use crate::support::{COLUMNS, Desk, Outcome, lines, run};

/// Loads `rows` rows into table `t` by INSERTs, with more options.
fn load(desk: &Desk, rows: u32, more: &[&str]) -> Outcome {
    let file = desk.home.file("rows.txt", lines(rows));
    let mut command = desk.home.load(desk.server, &desk.table("t"), &file);
    run(command.args(["--path", "insert", "--mode", "replace"]).args(more))
}

#[test]
fn connections_and_batches_that_are_fixed_are_used_and_told() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec(&format!("CREATE TABLE t {COLUMNS}"));
    let fixed = ["--connections", "3", "--batch-rows", "100"];
    let text = load(&desk, 20_000, &[&fixed[..], &["--verbose"]].concat());
    assert!(text.done().out.contains("\n  3 connections, 100 rows or "), "{text:?}");
    let json = load(&desk, 20_000, &[&fixed[..], &["--json"]].concat());
    let json: Value = serde_json::from_str(&json.done().out).unwrap();
    let of = |name: &str| json["logical"][name].as_u64();
    assert_eq!((of("connections"), of("batch_rows")), (Some(3), Some(100)));
    let held = json["logical"]["held_back"].as_array().unwrap();
    // Tests beside this one ask the server, too.
    let is_others = |held: &Value| held["cause"] == "other statements on the server";
    assert!(held.iter().all(is_others), "{json}");
    assert!(of("chunks") > Some(1) && json["logical"]["redo_log_max"].is_number(), "{json}");
    assert_eq!(desk.rows("SELECT COUNT(*) FROM t"), ["20000"]);
}

#[test]
fn a_rate_is_not_exceeded() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec(&format!("CREATE TABLE t {COLUMNS}"));
    let bytes = lines(40_000).len();
    let began = Instant::now();
    load(&desk, 40_000, &["--max-rate", &(bytes / 3).to_string()]).done();
    // The first chunks need not wait.
    assert!(began.elapsed().as_secs_f64() > 2.5, "{:?}", began.elapsed());
}

#[test]
fn a_replica_that_cannot_be_asked_is_refused_before_anything_is_done() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec(&format!("CREATE TABLE t {COLUMNS}"));
    desk.exec("INSERT INTO t VALUES (7, 7, '', NULL)");
    for (address, why) in
        [("127.0.0.1:1", "does not report its lag"), ("db2:x", "the port is not a port number")]
    {
        load(&desk, 10, &["--replica", address]).refused(2, &[address, why]);
        assert_eq!(desk.rows("SHOW TABLES"), ["t"]);
        assert_eq!(desk.rows("SELECT id FROM t"), ["7"]);
    }
    load(&desk, 10, &["--replica", "127.0.0.1:1", "--max-lag", "0"]).done();
}
