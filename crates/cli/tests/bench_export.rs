//! The benchmark of exports, small: what every way writes is loaded again, and gives an equal table.

use serde_json::Value;

use crate::support::{Desk, benchmark, run};

#[test]
fn what_every_way_exports_gives_an_equal_table() {
    let Some(desk) = Desk::new() else { return };
    let _alone = benchmark();
    let mut bench = desk.home.inrush(["bench", "export", "--scale", "0.002", "--repeat", "1"]);
    bench.args(["--json", "--log-size", "64M", "--data-dir"]).arg(desk.home.path().join("bench"));
    bench.arg("--socket").arg(desk.server.socket());
    if let Some(user) = desk.server.options().user {
        bench.args(["--user", &user]);
    }
    let outcome = run(&mut bench);
    let report: Value = serde_json::from_str(&outcome.done().out).unwrap();
    let ways = report["ways"].as_array().unwrap();
    let names: Vec<&str> = ways.iter().map(|way| way["way"].as_str().unwrap()).collect();
    assert_eq!(names, ["client", "dump", "select", "direct", "gzip", "zstd"]);
    for way in ways {
        assert_eq!(way["is_verified"], way["way"] != "dump", "{way}");
        assert!(way["runs"][0]["seconds"].as_f64().unwrap() > 0.0, "{way}");
    }
    let bytes = |at: usize| ways[at]["bytes"].as_u64().unwrap();
    assert!(report["rows"].as_u64().unwrap() > 10_000, "{report}");
    // The client prints a header; the same text else.
    assert!(bytes(0) > bytes(2) && bytes(2) == bytes(3) && bytes(3) > 2 * bytes(5), "{report}");
}
