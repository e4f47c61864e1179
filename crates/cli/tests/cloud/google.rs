//! Google Cloud Storage: its XML API has the requests of S3, so the server of S3 answers them.

use std::path::Path;
use std::process::Command;

use super::moto::Bucket;
use super::with_store;
use crate::support::{Desk, Outcome, run};

fn run_with(bucket: &Bucket, command: &mut Command) -> Outcome {
    let command = with_store(command, "").env("GOOGLE_BASE_URL", bucket.endpoint());
    run(command.env("GOOGLE_BEARER_TOKEN", "hunter5"))
}

#[test]
fn exports_to_google_are_read_back_by_ranges_and_patterns() {
    let Some(bucket) = Bucket::new("google") else { return };
    let Some(mut desk) = Desk::new() else { return };
    desk.exec("CREATE TABLE t (id INT PRIMARY KEY, word VARCHAR(200))");
    // Several parts of 5 MiB.
    desk.exec("INSERT INTO t SELECT seq, REPEAT(MD5(seq), 4) FROM seq_1_to_100000");
    let sum = desk.rows("CHECKSUM TABLE t");
    for (key, pattern) in
        [("a/t.csv", "a/*.csv"), ("t.parquet", "t.parquet"), ("b/c/t.arrow", "b/*/*")]
    {
        let [url, pattern] = [key, pattern].map(|key| format!("gs://google/{key}"));
        let mut export = desk.home.inrush(["export", &desk.table("t"), "-o", &url, "--memory"]);
        run_with(&bucket, export.args(["64M", "--socket"]).arg(desk.server.socket())).done();
        desk.exec("TRUNCATE t");
        let mut load = desk.home.load(desk.server, &desk.table("t"), Path::new(&pattern));
        run_with(&bucket, &mut load).done();
        assert_eq!(desk.rows("CHECKSUM TABLE t"), sum, "{key}");
    }
    assert_eq!(bucket.keys(), ["a/t.csv", "b/c/t.arrow", "t.parquet"]);
    assert!(!bucket.has_uploads());
    let mut load = desk.home.load(desk.server, &desk.table("t"), Path::new("gs://google/no.csv"));
    let missing = run_with(&bucket, &mut load);
    missing.refused(2, &["gs://google/no.csv: the bucket has no such object"]);
}
