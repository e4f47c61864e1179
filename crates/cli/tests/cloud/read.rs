//! Objects as inputs.

use std::io::Write;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::moto::Bucket;
use super::{KEY, load, with_store};
use crate::support::{Desk, run};

const TABLE: &str = "CREATE TABLE t (id INT PRIMARY KEY, word VARCHAR(20))";
/// More than the first request asks for, and several blocks.
const ROWS: u32 = 60_000;
const SUM: &str = "SELECT COUNT(*), SUM(id), SUM(CRC32(word)) FROM t";

fn text(from: u32, to: u32) -> String {
    (from..to).map(|id| format!("{id},word number {id}\n")).collect()
}

/// The sum of the rows of [`text`] in a file.
fn expected(desk: &mut Desk) -> Vec<String> {
    desk.exec(TABLE);
    let file = desk.home.file("all.csv", text(0, ROWS));
    desk.load("t", &file, &[]).done();
    let sum = desk.rows(SUM);
    desk.exec("TRUNCATE t");
    sum
}

#[test]
fn text_is_loaded_by_ranges_however_it_is_packed() {
    let Some(bucket) = Bucket::new("texts") else { return };
    let Some(mut desk) = Desk::new() else { return };
    let sum = expected(&mut desk);
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(text(0, ROWS).as_bytes()).unwrap();
    bucket.put("a/all.csv", text(0, ROWS));
    bucket.put("a/all.csv.gz", packed.finish().unwrap());
    bucket.put("a/empty.csv", "");
    for (key, path) in [("all.csv", "direct"), ("all.csv", "stream"), ("all.csv.gz", "direct")] {
        let url = bucket.url(&format!("a/{key}"));
        load(&desk, &bucket.endpoint(), &url, &["--path", path]).done();
        assert_eq!(desk.rows(SUM), sum, "{key} {path}");
        let mut verify = desk.home.inrush(["verify", &url, "--into", &desk.table("t"), "--socket"]);
        let verify = verify.arg(desk.server.socket()).args(["--dialect", "csv"]);
        run(with_store(verify, &bucket.endpoint())).done();
        desk.exec("TRUNCATE t");
    }
    load(&desk, &bucket.endpoint(), &bucket.url("a/empty.csv"), &["--allow-empty"]).done();
    let sniffed = run(with_store(
        &mut desk.home.inrush(["sniff", &bucket.url("a/all.csv")]),
        &bucket.endpoint(),
    ));
    assert!(sniffed.done().out.contains("CREATE TABLE `all`"), "{sniffed:?}");
}

#[test]
fn columns_of_parquet_come_by_ranges() {
    let Some(bucket) = Bucket::new("columns") else { return };
    let Some(mut desk) = Desk::new() else { return };
    let file =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../columnar/testdata/pyarrow-snappy.parquet");
    bucket.put("t.parquet", std::fs::read(&file).unwrap());
    let sum = "SELECT COUNT(*), SUM(CRC32(CONCAT_WS(',', i, u, f, d, day, ts, s, b))) FROM t";
    desk.load("t", &file, &["--create"]).done();
    let expected = desk.rows(sum);
    desk.exec("TRUNCATE t");
    load(&desk, &bucket.endpoint(), &bucket.url("t.parquet"), &[]).done();
    assert_eq!(desk.rows(sum), expected);
    desk.exec("CREATE OR REPLACE TABLE t (s TEXT, i INT)");
    desk.load("t", &file, &["--ignore-unknown-columns"]).done();
    let some = "SELECT COUNT(*), SUM(CRC32(CONCAT_WS(',', i, s))) FROM t";
    let expected = desk.rows(some);
    desk.exec("TRUNCATE t");
    let url = bucket.url("t.parquet");
    load(&desk, &bucket.endpoint(), &url, &["--ignore-unknown-columns"]).done();
    assert_eq!(desk.rows(some), expected);
}

#[test]
fn patterns_name_objects_in_the_order_of_their_names() {
    let Some(bucket) = Bucket::new("patterns") else { return };
    let Some(mut desk) = Desk::new() else { return };
    desk.exec("CREATE TABLE t (n INT AUTO_INCREMENT PRIMARY KEY, word VARCHAR(9))");
    for (key, word) in [("p/b.csv", "b"), ("p/a.csv", "a"), ("p/10.csv", "10"), ("p/x/c.csv", "c")]
    {
        bucket.put(key, format!("{word}\n"));
    }
    bucket.put("p/.hidden.csv", "no\n");
    bucket.put("p/x%5B1%5D.csv", "itself\n");
    bucket.put("p/x1.csv", "other\n");
    let mut rows = |pattern: &str| {
        load(&desk, &bucket.endpoint(), &bucket.url(pattern), &["--columns", "word"]).done();
        let rows = desk.rows("SELECT word FROM t ORDER BY n");
        desk.exec("TRUNCATE t");
        rows.join(",")
    };
    assert_eq!(rows("p/?.csv"), "a,b");
    assert_eq!(rows("p/*.csv"), "10,a,b,other,itself");
    assert_eq!(rows("p/x[1].csv"), "itself");
    assert_eq!(rows("*/x/*"), "c");
    // A console makes an empty object of a new folder. It made the folder impossible to load.
    for marker in ["p/", "p/new/", "p/x/", "p/x/deep/", "q/r/"] {
        bucket.put(marker, "");
    }
    bucket.put("p/x/empty.csv", "");
    assert_eq!(rows("p/*"), "10,a,b,other,itself");
    assert_eq!(rows("*/x/*"), "c");
    assert_eq!(rows("p/**/*"), "10,a,b,c,other,itself");
    let none = load(&desk, &bucket.endpoint(), &bucket.url("q/**/*"), &[]);
    none.refused(2, &["no object has this name or matches it as a pattern"]);
    let none = load(&desk, &bucket.endpoint(), &bucket.url("p/*.tsv"), &[]);
    none.refused(2, &["no object has this name or matches it as a pattern", "p/*.tsv"]);
    let folder = load(&desk, &bucket.endpoint(), &bucket.url("p/"), &[]);
    folder.refused(2, &["names no object", "p/* names all that are directly in it"]);
}

#[test]
fn rows_of_an_object_are_added_exactly_once() {
    let Some(bucket) = Bucket::new("added") else { return };
    let Some(mut desk) = Desk::new() else { return };
    let sum = expected(&mut desk);
    bucket.put("all.csv", text(0, ROWS));
    let (endpoint, url) = (bucket.endpoint(), bucket.url("all.csv"));
    let append = ["--mode", "append", "--path", "insert"];
    let mut killed = desk.home.load(desk.server, &desk.table("t"), Path::new(&url));
    let killed = with_store(&mut killed, &endpoint).args(append);
    let outcome = run(killed.env("INRUSH_FAILPOINT", "rows.begin=kill"));
    assert!(outcome.status.code().is_none(), "{outcome:?}");
    load(&desk, &endpoint, &url, &append).done();
    assert_eq!(desk.rows(SUM), sum);
}

#[test]
fn profiles_name_credentials_and_servers_and_no_secret_is_kept() {
    let Some(bucket) = Bucket::new("profiles") else { return };
    let Some(mut desk) = Desk::new() else { return };
    let sum = expected(&mut desk);
    bucket.put("all.csv", text(0, ROWS));
    let url = bucket.url("all.csv");
    let told = |outcome: &crate::support::Outcome| {
        let text = format!("{}{}", outcome.out, outcome.err);
        assert!(!text.contains("hunter"), "{text}");
    };
    let outcome = load(&desk, &bucket.endpoint(), &url, &["--report", "report.html", "--verbose"]);
    told(outcome.done());
    let with_profile = |desk: &Desk, profile: &str, url: &str| {
        let mut load = desk.home.load(desk.server, &desk.table("t"), Path::new(url));
        let load = with_store(&mut load, "").env_remove("AWS_ACCESS_KEY_ID");
        run(load.env_remove("AWS_SECRET_ACCESS_KEY").env("AWS_PROFILE", profile))
    };
    let folder = desk.home.path().join("home/.aws");
    std::fs::create_dir(&folder).unwrap();
    let credentials = format!("[work]\naws_access_key_id={KEY}\naws_secret_access_key = hunter3\n");
    std::fs::write(folder.join("credentials"), credentials).unwrap();
    let config = format!(
        "[profile work]\nregion = eu-west-1\nendpoint_url = {}\n[profile sso]\nsso_session = x\n",
        bucket.endpoint()
    );
    std::fs::write(folder.join("config"), config).unwrap();
    desk.exec("TRUNCATE t");
    told(with_profile(&desk, "work", &url).done());
    assert_eq!(desk.rows(SUM), sum);
    with_profile(&desk, "none", &url).refused(2, &["AWS_PROFILE=none", "no such profile"]);
    with_profile(&desk, "sso", &url)
        .refused(2, &["by sso_session", "aws configure export-credentials"]);
    let typed = load(&desk, &bucket.endpoint(), "s3://AKIA:hunter4@profiles/all.csv", &[]);
    typed.refused(2, &["a URL with a password"]);
    told(&typed);
    let mut grep = std::process::Command::new("grep");
    let kept = grep.args(["-rliE", "--exclude-dir=.aws", "hunter"]).arg(desk.home.path());
    assert_eq!(String::from_utf8_lossy(&kept.output().unwrap().stdout), "");
}

#[test]
fn job_files_name_objects() {
    let Some(bucket) = Bucket::new("jobs") else { return };
    let Some(mut desk) = Desk::new() else { return };
    bucket.put("a%20b.csv", "id,word\n1,a\n2,b\n");
    let job = format!(
        "into = \"{}\"\n[input]\nfiles = [\"{}\"]\nheader = true\n[[table]]\nname = \"t\"\n\
         create = \"CREATE TABLE t (id INT, word TEXT)\"\ncolumns = {{ id = \"id\", word = \"word\" }}\n",
        desk.database,
        bucket.url("a b.csv")
    );
    desk.home.file("job.toml", job);
    let mut command = desk.home.inrush(["load", "-c", "job.toml", "--quiet", "--socket"]);
    run(with_store(command.arg(desk.server.socket()), &bucket.endpoint())).done();
    assert_eq!(desk.rows("SELECT COUNT(*) FROM t"), ["2"]);
}
