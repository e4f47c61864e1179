//! Exports into a bucket.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::moto::Bucket;
use super::{load, with_store};
use crate::support::{Desk, Outcome, finish, resume, run, signal, start, wait_paused};
use crate::web::{Reply, Web};

/// Rows for several parts of 5 MiB, which are the least that stores take.
const MANY: &str = "INSERT INTO t SELECT seq, REPEAT(MD5(seq), 4) FROM seq_1_to_100000";
const SUM: &str = "SELECT COUNT(*), SUM(id), SUM(CRC32(word)) FROM t";

fn table(desk: &mut Desk) -> Vec<String> {
    desk.exec("CREATE TABLE t (id INT PRIMARY KEY, word VARCHAR(200))");
    desk.exec(MANY);
    desk.rows(SUM)
}

fn command(desk: &Desk, bucket: &Bucket, from: &str, url: &str) -> std::process::Command {
    let mut export = desk.home.inrush(["export", from, "-o", url, "--memory", "64M", "--socket"]);
    export.arg(desk.server.socket());
    with_store(&mut export, &bucket.endpoint());
    export
}

fn export(desk: &Desk, bucket: &Bucket, key: &str, more: &[&str]) -> Outcome {
    let table = desk.table("t");
    run(command(desk, bucket, &table, &bucket.url(key)).args(more))
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
    let missing = run(&mut command(&desk, &bucket, &table, "s3://nowhere/t.csv"));
    missing.refused(1, &["s3://nowhere/t.csv", "there is no such bucket"]);
    run(&mut command(&desk, &bucket, &table, "s3://nowhere")).refused(2, &["names no object"]);
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
    run(command(&desk, &bucket, &database, &folder).args(["--dialect", "csv"])).done();
    assert_eq!(bucket.keys(), ["all/a.csv", "all/empty.csv"]);
    desk.exec("TRUNCATE a");
    let mut load = desk.home.inrush(["load", &folder, "--into", &database, "--socket"]);
    let load = load.arg(desk.server.socket()).arg("--allow-empty");
    run(with_store(load, &bucket.endpoint())).done();
    assert_eq!(desk.rows("SELECT SUM(id) FROM a"), ["55"]);
    // Fewer files than before, and none of those that are left.
    let cut = |rows: &str, more: &[&str]| {
        let table = desk.table("a");
        let mut export = command(&desk, &bucket, &table, &bucket.url("cut/"));
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
        let mut export = command(desk, &bucket, &table, &bucket.url("t.csv"));
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
    let mut export = command(&desk, &bucket, &table, &bucket.url("t.csv"));
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
    let mut export = command(&desk, &bucket, &table, &bucket.url("t.csv"));
    let mut child = start(export.env("INRUSH_FAILPOINT", "thread.upload=pause"));
    wait_paused(&mut child);
    bucket.put("t.csv", "of another one");
    resume(&child);
    finish(child).refused(1, &["the object exists already; --force overwrites it"]);
    assert!(!bucket.has_uploads());
    assert_eq!(bucket.keys(), ["t.csv"]);
}

/// The bytes of an export of `t`.
const BYTES: usize = 4;

/// A store that puts an object together in its own way.
#[derive(Clone, Copy)]
struct Odd {
    /// Bytes and ETag of the object before.
    before: Option<(usize, &'static str)>,
    /// The same behind the upload.
    after: Option<(usize, &'static str)>,
    /// Answers to the requests to put it together; the connection breaks where none is left.
    answers: &'static [&'static str],
    /// The first of those requests that does it.
    made_by: usize,
    may_read: bool,
}

/// Exports to such a store; also true if an object was removed.
fn export_to(desk: &Desk, odd: Odd, more: &[&str]) -> (Outcome, bool) {
    let completed = AtomicUsize::new(0);
    let web = Web::new(move |request| {
        let xml = |text: String| Reply::whole(text.as_bytes()).with("ETag: \"p\"");
        let is_upload = request.target.contains("uploadId=");
        match request.head.split(' ').next().unwrap() {
            "POST" if is_upload => {
                let number = completed.fetch_add(1, Ordering::SeqCst);
                match odd.answers.get(number) {
                    Some(&"") => xml(
                        "<CompleteMultipartUploadResult><ETag>\"new\"</ETag></CompleteMultipartUploadResult>"
                            .to_owned(),
                    ),
                    Some(&"404") => Reply {
                        status: "404 Not Found",
                        ..xml("<Error><Code>NoSuchUpload</Code></Error>".to_owned())
                    },
                    Some(status) => Reply::status(status),
                    None => Reply { cut: Some(0), ..Reply::whole(b"cut") },
                }
            }
            "POST" if request.target.contains("delete") => {
                xml("<DeleteResult><Deleted><Key>t.csv</Key></Deleted></DeleteResult>".to_owned())
            }
            "POST" => xml("<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>".to_owned()),
            "HEAD" if !odd.may_read => Reply::status("403 Forbidden"),
            "HEAD" => {
                let is_made = completed.load(Ordering::SeqCst) > odd.made_by;
                match if is_made { odd.after } else { odd.before } {
                    None => Reply::status("404 Not Found"),
                    Some((bytes, tag)) => Reply {
                        headers: vec![format!("Content-Length: {bytes}"), format!("ETag: \"{tag}\"")],
                        ..Reply::whole(b"")
                    }
                    .with("Last-Modified: Mon, 01 Jan 2024 00:00:00 GMT"),
                }
            }
            _ => Reply::status("200 OK").with("ETag: \"p\""),
        }
    });
    let mut export = desk.home.inrush(["export", &desk.table("t"), "-o", "s3://shop/t.csv"]);
    export.arg("--socket").arg(desk.server.socket()).args(more);
    let outcome = run(with_store(&mut export, &format!("http://{}", web.address())));
    let is_removal = |head: &String| {
        head.starts_with("POST /shop?delete") || head.starts_with("DELETE /shop/t.csv HTTP")
    };
    (outcome, web.seen().iter().any(is_removal))
}

/// An object that is there, although its answer was lost, is no failure, and another one is no success.
#[test]
fn an_object_is_told_as_there_if_it_is_there() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec("CREATE TABLE t (id INT PRIMARY KEY)");
    desk.exec("INSERT INTO t VALUES (1), (2)");
    let made = Odd {
        before: None,
        after: Some((BYTES, "new")),
        answers: &[""],
        made_by: 0,
        may_read: true,
    };
    for odd in [
        made,
        // The answer is lost, of the first request or of the second one.
        Odd { answers: &[], ..made },
        Odd { answers: &["500 Internal Server Error", ""], made_by: 1, ..made },
        Odd { answers: &["404"], ..made },
        Odd { may_read: false, ..made },
        // Somebody moved it at once.
        Odd { after: None, ..made },
    ] {
        let (outcome, is_removed) = export_to(&desk, odd, &[]);
        outcome.done();
        assert!(!is_removed, "{outcome:?}");
    }
    let force = ["--force"];
    let old = Odd { before: Some((BYTES, "old")), ..made };
    export_to(&desk, Odd { answers: &[], ..old }, &force).0.done();
    for (odd, more, words) in [
        (Odd { answers: &["412 Precondition Failed"], ..made }, &[][..], "exists already"),
        // The old object has the same size.
        (Odd { answers: &[], made_by: 99, ..old }, &force, "5 tries in a row"),
        (Odd { answers: &["500 Error", "404"], made_by: 99, ..old }, &force, "NoSuchUpload"),
        (Odd { after: Some((3, "other")), ..made }, &[], "3 bytes of the object, of 4; somebody"),
    ] {
        let (outcome, is_removed) = export_to(&desk, odd, more);
        outcome.refused(1, &[words]);
        assert!(!is_removed, "{outcome:?}");
    }
    let (outcome, is_removed) = export_to(&desk, Odd { after: Some((3, "new")), ..made }, &[]);
    outcome.refused(1, &["3 bytes of the object, of 4; the object was removed"]);
    assert!(is_removed);
}
