//! The benchmark of one file into several tables, small: all its ways leave the same rows.

use std::process::Command;

use testkit::TestServer;

use crate::support::{Home, on_shared, run};

#[test]
fn every_way_of_splitting_a_file_leaves_the_same_rows() {
    let Some(server) = TestServer::shared() else { return };
    let home = Home::new();
    let python = Command::new("python3").arg("--version").output();
    let expected: &[&str] = match python.is_ok_and(|output| output.status.success()) {
        true => &["script", "staging", "inrush"],
        false => &["staging", "inrush"],
    };
    let mut bench = home.bench_json("split --lines 3000");
    bench.arg("--ways").arg(expected.join(","));
    let _alone = on_shared(&mut bench, server);
    let report = run(&mut bench).report();
    let files = report["files"].as_array().unwrap();
    assert_eq!(files.len(), 2, "{report}");
    for (file, lines) in files.iter().zip(["3000 order_lines", "2997 order_lines"]) {
        assert!(file["rows"].as_str().unwrap().contains(lines), "{file}");
        let ways = file["ways"].as_array().unwrap();
        assert_eq!(ways.len(), expected.len(), "{file}");
        assert!(ways.iter().all(|way| way["seconds"][0].as_f64().unwrap() > 0.0), "{file}");
    }
}
