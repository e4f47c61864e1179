//! The benchmark of formats, small: every file gives the table that the CSV file gives.

use testkit::TestServer;

use crate::support::{Home, on_shared, run};

#[test]
fn every_format_gives_an_equal_table() {
    let Some(server) = TestServer::shared() else { return };
    let home = Home::new();
    // An interpreter that is not there: other libraries are left out with a note.
    let mut bench =
        home.bench_json("formats --scale 0.002 --repeat 1 --log-size 64M --python no-such-python");
    let _alone = on_shared(&mut bench, server);
    let report = run(&mut bench).report();
    let ways = report["ways"].as_array().unwrap();
    let names: Vec<&str> = ways.iter().map(|way| way["way"].as_str().unwrap()).collect();
    let plain = ["csv", "parquet", "arrow", "json_lines", "http", "s3"];
    let jobs = ["job_csv", "job_parquet", "job_arrow", "job_json_lines"];
    assert_eq!(names, [&plain[..], &jobs, &["wide_csv", "wide_parquet"]].concat());
    for way in ways {
        assert!(way["runs"][0]["seconds"].as_f64().unwrap() > 0.0, "{way}");
        assert_eq!(way["reports"][0]["rows"], way["rows"], "{way}");
    }
    let bytes = |at: usize| ways[at]["bytes"].as_u64().unwrap();
    assert!(bytes(0) > 2 * bytes(1) && bytes(3) > bytes(0), "{report}");
    let notes = report["notes"].to_string();
    assert!(notes.contains("duckdb is left out"), "{notes}");
}
