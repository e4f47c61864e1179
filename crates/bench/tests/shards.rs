//! The benchmark of shards, small: every way leaves all rows, each where it belongs, and says what it took.

use crate::support::{Home, run};

#[test]
fn every_way_to_the_shards_leaves_all_rows() {
    let plugin = testkit::TestServer::plugin("ha_spider");
    let home = Home::new();
    let mut bench = home.bench_json(
        "batch --shards 1,2 --rows 2000 --batches 100 --threads 1 --at-batch 500 --at-threads 3 --memory 200M",
    );
    if let Some(folder) = plugin.iter().find_map(|option| option.strip_prefix("--plugin-dir=")) {
        bench.env("INRUSH_PLUGIN_DIR", folder);
    }
    let outcome = run(&mut bench);
    if outcome.err.contains("mariadb-plugin-spider") || outcome.err.contains("no mariadbd") {
        println!("not run: {}", outcome.err);
        return;
    }
    let report = outcome.report();
    let ways = report["ways"].as_array().unwrap();
    // Three cells of either way, LOAD DATA, two of Inrush.
    assert_eq!(ways.len(), 2 * (3 + 3 + 3), "{report}");
    for way in ways {
        let (run, shards) = (&way["runs"][0], way["shards"].as_u64().unwrap() as usize);
        assert_eq!(run["rows"], 2_000, "{way}");
        let times = |name: &str| run[name].as_array().unwrap().len();
        assert_eq!(times("shards_cpu_seconds"), shards, "{way}");
        let name = way["way"].as_str().unwrap();
        let is_divided = name.contains("through Spider");
        assert_eq!(times("finished_seconds"), if is_divided { 0 } else { shards }, "{way}");
        let tells = name.starts_with("Inrush");
        assert_eq!(times("waited_seconds"), if tells { shards } else { 0 }, "{way}");
    }
    assert!(!home.path().join("bench/shards-2").exists(), "its servers are gone");
}
