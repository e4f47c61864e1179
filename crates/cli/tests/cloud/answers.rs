//! Stores that refuse, change and die.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::{KEY, SECRET, load, with_store};
use crate::support::{Desk, Outcome, run};
use crate::web::{Reply, Request, Web, value};

const TABLE: &str = "CREATE TABLE t (id INT PRIMARY KEY, word VARCHAR(20))";

fn text() -> String {
    (0..60_000).map(|id| format!("{id},word number {id}\n")).collect()
}

/// A range as a store sends it.
fn ranged(request: &Request, body: &[u8], tag: &str) -> Reply {
    Reply::ranged(request, body, tag).with("Last-Modified: Mon, 01 Jan 2024 00:00:00 GMT")
}

/// A refusal with its code.
fn refused(status: &'static str, code: &str) -> Reply {
    let body = format!("<Error><Code>{code}</Code><Message>no</Message></Error>");
    Reply { status, ..Reply::whole(body.as_bytes()) }
}

fn endpoint(web: &Web) -> String {
    format!("http://{}", web.address())
}

#[test]
fn a_replaced_object_is_an_error_and_no_mixture() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec(TABLE);
    for honours in [true, false] {
        let (old, new) = (text(), text().replace("word", "text"));
        let web = Web::new(move |request| {
            let (body, tag) = if request.number < 2 { (&old, "\"a\"") } else { (&new, "\"b\"") };
            let head = if honours { request.head.clone() } else { String::new() };
            let request = Request { target: String::new(), head, ..*request };
            ranged(&request, body.as_bytes(), tag)
        });
        let outcome = load(&desk, &endpoint(&web), "s3://shop/a.csv", &[]);
        outcome.refused(1, &["s3://shop/a.csv", "it was replaced while it was read"]);
        assert_eq!(desk.rows("SELECT COUNT(*) FROM t"), ["0"]);
        assert!(web.seen().iter().skip(1).all(|head| value(head, "if-match") == Some("\"a\"")));
    }
}

#[test]
fn a_broken_transfer_goes_on_and_a_dead_store_ends_the_load() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec(TABLE);
    let body = text();
    let broken = Web::new(move |request| {
        let cut = (request.number % 3 == 1).then_some(70_001);
        Reply { cut, ..ranged(request, body.as_bytes(), "\"a\"") }
    });
    load(&desk, &endpoint(&broken), "s3://shop/a.csv", &[]).done();
    assert_eq!(desk.rows("SELECT COUNT(*) FROM t"), ["60000"]);
    desk.exec("TRUNCATE t");
    let body = text();
    let dead = Web::new(move |request| match request.number {
        0 | 1 => ranged(request, body.as_bytes(), "\"a\""),
        _ => Reply { cut: Some(0), ..ranged(request, body.as_bytes(), "\"a\"") },
    });
    load(&desk, &endpoint(&dead), "s3://shop/a.csv", &[]).refused(1, &["5 tries in a row"]);
    assert_eq!(desk.rows("SELECT COUNT(*) FROM t"), ["0"]);
    assert_eq!(desk.home.temp_files(), [""; 0]);
}

/// An object of six bytes in a store's list.
fn entry(key: &str) -> String {
    format!(
        "<Contents><Key>{key}</Key><LastModified>2024-01-01T00:00:00.000Z</LastModified>\
         <ETag>\"a\"</ETag><Size>6</Size></Contents>"
    )
}

/// A pattern listed everything below its folder, and failed because of names that cannot match.
#[test]
fn a_pattern_without_folders_lists_its_folder_alone() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec(TABLE);
    let direct = [entry("p/a.csv"), entry("p/b.csv")].concat();
    let below = format!("{direct}{}", entry("p/deep//odd.csv"));
    let list = |entries: &str| format!("<ListBucketResult>{entries}</ListBucketResult>");
    let (direct, below) = (list(&direct), list(&below));
    let web = Web::new(move |request| {
        let target = &request.target;
        match (target.contains("list-type=2"), target.contains("delimiter=")) {
            (true, true) => Reply::whole(direct.as_bytes()),
            (true, false) => Reply::whole(below.as_bytes()),
            _ if target.contains("a.csv") => ranged(request, b"1,one\n", "\"a\""),
            _ => ranged(request, b"2,two\n", "\"a\""),
        }
    });
    load(&desk, &endpoint(&web), "s3://shop/p/*.csv", &[]).done();
    assert_eq!(desk.rows("SELECT word FROM t ORDER BY id"), ["one", "two"]);
    load(&desk, &endpoint(&web), "s3://shop/**/*.csv", &[])
        .refused(2, &["empty path segment", "name the objects one by one"]);
}

/// A key like `logs//odd.csv` anywhere in a bucket failed patterns for other folders.
#[test]
fn names_elsewhere_that_cannot_be_listed_do_not_matter() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec(TABLE);
    let folder = |name: &str| format!("<CommonPrefixes><Prefix>{name}/</Prefix></CommonPrefixes>");
    let list = |entries: String| format!("<ListBucketResult>{entries}</ListBucketResult>");
    let top = list(["logs", "year=1", "year=2"].map(folder).concat());
    let all = list([entry("logs//odd.csv"), entry("year=1/a.csv")].concat());
    let years = [1, 2].map(|year| list(entry(&format!("year={year}/{year}.csv"))));
    let web = Web::new(move |request| {
        let target = &request.target;
        match (target.contains("list-type=2"), target.contains("delimiter=")) {
            (true, true) if target.contains("year%3D1") => Reply::whole(years[0].as_bytes()),
            (true, true) if target.contains("year%3D2") => Reply::whole(years[1].as_bytes()),
            (true, true) => Reply::whole(top.as_bytes()),
            (true, false) => Reply::whole(all.as_bytes()),
            _ if target.contains("1.csv") => ranged(request, b"1,one\n", "\"a\""),
            _ => ranged(request, b"2,two\n", "\"a\""),
        }
    });
    load(&desk, &endpoint(&web), "s3://shop/year=*/*.csv", &[]).done();
    assert_eq!(desk.rows("SELECT word FROM t ORDER BY id"), ["one", "two"]);
}

/// Each of 20,000 objects waited for the answer about the one before.
#[test]
fn objects_of_a_pattern_or_a_list_are_opened_several_at_a_time() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec(TABLE);
    let objects: String = (10..40).map(|number| entry(&format!("p/{number}.csv"))).collect();
    let list = format!("<ListBucketResult>{objects}</ListBucketResult>");
    let (open, most) = (AtomicUsize::new(0), Arc::new(AtomicUsize::new(0)));
    let seen = Arc::clone(&most);
    let web = Web::new(move |request| {
        if request.target.contains("list-type=2") {
            return Reply::whole(list.as_bytes());
        }
        let number = &request.target[request.target.len() - 6..][..2];
        seen.fetch_max(open.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        std::thread::sleep(Duration::from_millis(50));
        open.fetch_sub(1, Ordering::SeqCst);
        ranged(request, format!("{number},a\n").as_bytes(), "\"a\"")
    });
    let mut panics = desk.home.load(desk.server, &desk.table("t"), Path::new("s3://shop/p/*.csv"));
    panics.env("INRUSH_FAILPOINT", "thread.objects=panic");
    run(with_store(&mut panics, &endpoint(&web))).refused(2, &["a thread has failed"]);
    load(&desk, &endpoint(&web), "s3://shop/p/*.csv", &[]).done();
    let names = |start: &str| (10..40).map(|number| format!("{start}p/{number}.csv")).collect();
    let lists: [Vec<String>; 2] = [names("s3://shop/"), names(&web.url(""))];
    for (at, list) in [&[][..], &lists[0][..], &lists[1][..]].into_iter().enumerate() {
        if let [first, others @ ..] = list {
            most.store(0, Ordering::SeqCst);
            let mut load = desk.home.load(desk.server, &desk.table("t"), Path::new(first));
            load.args(others).args(["--mode", "replace"]);
            run(with_store(&mut load, &endpoint(&web))).done();
        }
        assert_eq!(desk.rows("SELECT COUNT(*), SUM(id) FROM t"), ["30|735"]);
        assert!(most.load(Ordering::SeqCst) >= 4, "{at}: {most:?}");
    }
}

#[test]
fn refusals_are_told_in_words() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec(TABLE);
    let web = Web::new(|request| match request.target.as_str() {
        "/shop/bucket.csv" => refused("404 Not Found", "NoSuchBucket"),
        "/shop/key.csv" => refused("404 Not Found", "NoSuchKey"),
        "/shop/id.csv" => refused("403 Forbidden", "InvalidAccessKeyId"),
        "/shop/secret.csv" => refused("403 Forbidden", "SignatureDoesNotMatch"),
        "/shop/old.csv" => refused("400 Bad Request", "ExpiredToken"),
        "/shop/far.csv" => refused("301 Moved Permanently", "PermanentRedirect"),
        "/shop/busy.csv" => refused("503 Slow Down", "SlowDown"),
        target if target.contains("list-type") => refused("403 Forbidden", "AccessDenied"),
        _ => refused("403 Forbidden", "AccessDenied"),
    });
    for (key, words) in [
        ("bucket.csv", "there is no such bucket (HTTP status 404, NoSuchBucket)"),
        ("key.csv", "the bucket has no such object"),
        ("id.csv", "the store does not know the access key"),
        ("secret.csv", "the secret key does not belong to the access key"),
        ("old.csv", "the credentials have expired"),
        ("far.csv", "the bucket is in another region; set AWS_REGION"),
        (
            "busy.csv",
            "the store has too many requests (HTTP status 503, SlowDown) (5 tries in a row, for ",
        ),
        ("denied.csv", "the credentials lack the right to read the object"),
        ("*.csv", "the credentials lack the right to list the objects"),
        ("a//b.csv", "cannot have an empty part"),
    ] {
        let outcome = load(&desk, &endpoint(&web), &format!("s3://shop/{key}"), &[]);
        outcome.refused(2, &[words, key]);
        assert!(!outcome.err.contains(KEY) && !outcome.err.contains(SECRET), "{outcome:?}");
    }
    let mut nobody = desk.home.inrush(["sniff", "s3://shop/a.csv"]);
    with_store(&mut nobody, &endpoint(&web)).env_remove("AWS_ACCESS_KEY_ID");
    run(nobody.env_remove("AWS_SECRET_ACCESS_KEY")).refused(
        2,
        &["no credentials are found; set AWS_ACCESS_KEY_ID", "AWS_SKIP_SIGNATURE=true"],
    );
    let mut nobody = desk.home.inrush(["sniff", "az://shop/a.csv"]);
    run(with_store(&mut nobody, "")).refused(2, &["set AZURE_STORAGE_ACCOUNT_NAME"]);
    let unknown = load(&desk, &endpoint(&web), "ftp://shop/a.csv", &[]);
    unknown.refused(2, &["URLs of ftp:// cannot be read"]);
}

/// Buckets are asked in their own region, whatever region is named.
#[test]
fn a_bucket_in_another_region_is_asked_there() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec(TABLE);
    let body = text();
    let web = Web::new(move |request| {
        let login = value(&request.head, "authorization").unwrap_or_default();
        match login.contains("/eu-west-3/s3/") {
            true => ranged(request, body.as_bytes(), "\"a\""),
            false => refused("301 Moved Permanently", "PermanentRedirect")
                .with("x-amz-bucket-region: eu-west-3"),
        }
    });
    load(&desk, &endpoint(&web), "s3://shop/a.csv", &[]).done();
    assert_eq!(desk.rows("SELECT COUNT(*) FROM t"), ["60000"]);
}

/// Requests without a signature, as public buckets take them, to each kind of store.
#[test]
fn public_objects_of_each_kind_of_store_are_loaded() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec(TABLE);
    let body = text();
    let web = Web::new(move |request| match value(&request.head, "authorization") {
        // Google's client encodes the dot.
        None if request.target.replace("%2E", ".").ends_with("/shop/a.csv") => {
            ranged(request, body.as_bytes(), "\"a\"")
        }
        _ => refused("403 Forbidden", "AccessDenied"),
    });
    let load = |desk: &Desk, scheme: &str| -> Outcome {
        let url = format!("{scheme}://shop/a.csv");
        let mut load = desk.home.load(desk.server, &desk.table("t"), url.as_ref());
        let load = with_store(&mut load, &endpoint(&web));
        load.env_remove("AWS_ACCESS_KEY_ID").env_remove("AWS_SECRET_ACCESS_KEY");
        load.env("AWS_SKIP_SIGNATURE", "true");
        load.env("GOOGLE_SKIP_SIGNATURE", "true").env("GOOGLE_BASE_URL", endpoint(&web));
        load.env("AZURE_SKIP_SIGNATURE", "true").env("AZURE_STORAGE_ACCOUNT_NAME", "account");
        run(load.env("AZURE_STORAGE_ENDPOINT", endpoint(&web)))
    };
    for scheme in ["s3", "gs", "az"] {
        load(&desk, scheme).done();
        assert_eq!(desk.rows("SELECT COUNT(*) FROM t"), ["60000"], "{scheme}");
        desk.exec("TRUNCATE t");
    }
}
