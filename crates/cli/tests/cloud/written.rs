//! Exports into a bucket.

use super::moto::Bucket;
use super::{load, with_store};
use crate::support::{Desk, Outcome, finish, resume, run, signal, start, wait_paused};

/// Rows for several parts of 5 MiB, which are the least that stores take.
const MANY: &str = "INSERT INTO t SELECT seq, REPEAT(MD5(seq), 4) FROM seq_1_to_100000";
const SUM: &str = "SELECT COUNT(*), SUM(id), SUM(CRC32(word)) FROM t";

fn table(desk: &mut Desk) -> Vec<String> {
    desk.exec("CREATE TABLE t (id INT PRIMARY KEY, word VARCHAR(200))");
    desk.exec(MANY);
    desk.rows(SUM)
}

fn command(desk: &Desk, bucket: &Bucket, (from, url): (&str, &str)) -> std::process::Command {
    let mut export = desk.home.inrush(["export", from, "-o", url, "--memory", "64M", "--socket"]);
    export.arg(desk.server.socket());
    with_store(&mut export, &bucket.endpoint());
    export
}

fn export(desk: &Desk, bucket: &Bucket, key: &str, more: &[&str]) -> Outcome {
    let table = desk.table("t");
    run(command(desk, bucket, (&table, &bucket.url(key))).args(more))
}

#[test]
fn exports_are_read_back_and_do_not_replace_others() {
    let Some(bucket) = Bucket::new("exports") else { return };
    let Some(mut desk) = Desk::new() else { return };
    let sum = table(&mut desk);
    for key in ["a/t.csv", "t.csv.gz", "a/b/t.parquet"] {
        let outcome = export(&desk, &bucket, key, &[]);
        assert!(outcome.done().out.contains(&format!("file {}", bucket.url(key))), "{outcome:?}");
        let again = export(&desk, &bucket, key, &[]);
        again.refused(2, &[&bucket.url(key), "exists already; --force overwrites it"]);
        desk.exec("TRUNCATE t");
        load(&desk, &bucket.endpoint(), &bucket.url(key), &[]).done();
        assert_eq!(desk.rows(SUM), sum, "{key}");
    }
    desk.exec("DELETE FROM t WHERE id > 3");
    export(&desk, &bucket, "a/t.csv", &["--force"]).done();
    let replace = ["--mode", "replace"];
    load(&desk, &bucket.endpoint(), &bucket.url("a/t.csv"), &replace).done();
    assert_eq!(desk.rows("SELECT COUNT(*) FROM t"), ["3"]);
    assert_eq!(bucket.keys(), ["a/b/t.parquet", "a/t.csv", "t.csv.gz"]);
    assert!(!bucket.has_uploads());
    let wrong = export(&desk, &Bucket::new("exports").unwrap(), "x//t.csv", &[]);
    wrong.refused(2, &["cannot have an empty part"]);
    let table = desk.table("t");
    let missing = run(&mut command(&desk, &bucket, (&table, "s3://nowhere/t.csv")));
    missing.refused(1, &["s3://nowhere/t.csv", "there is no such bucket"]);
    run(&mut command(&desk, &bucket, (&table, "s3://nowhere"))).refused(2, &["names no object"]);
}

#[test]
fn tables_of_a_database_go_into_a_folder() {
    let Some(bucket) = Bucket::new("folders") else { return };
    let Some(mut desk) = Desk::new() else { return };
    desk.exec("CREATE TABLE a (id INT PRIMARY KEY)");
    desk.exec("INSERT INTO a SELECT seq FROM seq_1_to_10");
    desk.exec("CREATE TABLE empty (id INT PRIMARY KEY)");
    let database = desk.database.clone();
    let folder = bucket.url("all/");
    run(command(&desk, &bucket, (&database, &folder)).args(["--dialect", "csv"])).done();
    assert_eq!(bucket.keys(), ["all/a.csv", "all/empty.csv"]);
    desk.exec("TRUNCATE a");
    let mut load = desk.home.inrush(["load", &folder, "--into", &database, "--socket"]);
    let load = load.arg(desk.server.socket()).arg("--allow-empty");
    run(with_store(load, &bucket.endpoint())).done();
    assert_eq!(desk.rows("SELECT SUM(id) FROM a"), ["55"]);
    // Fewer files than before, and none of those that are left.
    let cut = |rows: &str, more: &[&str]| {
        let table = desk.table("a");
        let mut export = command(&desk, &bucket, (&table, &bucket.url("cut/")));
        run(export.args(["--split-rows", rows, "--dialect", "csv"]).args(more))
    };
    cut("3", &[]).done();
    assert_eq!(bucket.keys().len(), 6);
    cut("5", &[]).refused(2, &["cut/a.0001.csv exists already"]);
    cut("5", &["--force"]).done();
    assert_eq!(bucket.keys()[2..], ["cut/a.0001.csv", "cut/a.0002.csv"]);
    assert!(!bucket.has_uploads());
}

/// A part that is on its way when the export ends is not left behind.
#[test]
fn an_export_that_ends_early_leaves_nothing() {
    let Some(bucket) = Bucket::new("ended") else { return };
    let Some(mut desk) = Desk::new() else { return };
    table(&mut desk);
    let table = desk.table("t");
    let paused = |desk: &Desk, action: &str| {
        let mut export = command(desk, &bucket, (&table, &bucket.url("t.csv")));
        start(export.env("INRUSH_FAILPOINT", format!("thread.upload={action}")))
    };
    let mut child = paused(&desk, "pause");
    wait_paused(&mut child);
    signal(child.id(), "-INT");
    // Each part pauses it again.
    let pid = child.id();
    let resumed = std::thread::spawn(move || {
        while std::path::Path::new(&format!("/proc/{pid}")).exists() {
            let _ = std::process::Command::new("kill").args(["-CONT", &pid.to_string()]).output();
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    });
    finish(child).refused(1, &["stopped by SIGINT; no file is left"]);
    resumed.join().unwrap();
    assert_eq!((bucket.keys().len(), bucket.has_uploads()), (0, false));

    // Nobody is left to end the upload, which is not visible.
    let mut child = paused(&desk, "pause");
    wait_paused(&mut child);
    signal(child.id(), "-KILL");
    child.wait().unwrap();
    assert_eq!(bucket.keys().len(), 0);
}

/// A thread that panics while it sends a part ends the export, and nothing is left.
pub(crate) fn panic_at(place: &str) {
    let Some(bucket) = Bucket::new("panics") else { return };
    let Some(mut desk) = Desk::new() else { return };
    table(&mut desk);
    let table = desk.table("t");
    let mut export = command(&desk, &bucket, (&table, &bucket.url("t.csv")));
    let panicked = run(export.env("INRUSH_FAILPOINT", format!("{place}=panic")));
    panicked.refused(1, &["the thread that sends a part has ended"]);
    assert_eq!((bucket.keys().len(), bucket.has_uploads()), (0, false));
}

/// An object that comes into being during the export is not replaced.
#[test]
fn an_object_that_somebody_else_writes_meanwhile_is_kept() {
    let Some(bucket) = Bucket::new("meanwhile") else { return };
    let Some(mut desk) = Desk::new() else { return };
    desk.exec("CREATE TABLE t (id INT PRIMARY KEY, word VARCHAR(200))");
    desk.exec("INSERT INTO t VALUES (1, 'a')");
    let table = desk.table("t");
    let mut export = command(&desk, &bucket, (&table, &bucket.url("t.csv")));
    let mut child = start(export.env("INRUSH_FAILPOINT", "thread.upload=pause"));
    wait_paused(&mut child);
    bucket.put("t.csv", "of another one");
    resume(&child);
    finish(child).refused(1, &["the object exists already; --force overwrites it"]);
    assert!(!bucket.has_uploads());
    assert_eq!(bucket.keys(), ["t.csv"]);
}
