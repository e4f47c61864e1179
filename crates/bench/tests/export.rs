//! The benchmark of exports, small: what every way writes is loaded again, and gives an equal table.

use testkit::TestServer;

use crate::support::{Home, on_shared, run};

#[test]
fn what_every_way_exports_gives_an_equal_table() {
    let Some(server) = TestServer::shared() else { return };
    let home = Home::new();
    let mut bench = home.bench_json("export --scale 0.002 --repeat 1 --log-size 64M");
    let _alone = on_shared(&mut bench, server);
    let report = run(&mut bench).report();
    let ways = report["ways"].as_array().unwrap();
    let names: Vec<&str> = ways.iter().map(|way| way["way"].as_str().unwrap()).collect();
    let peers = ["client", "quick", "dump"];
    let own = ["select", "direct", "csv", "tsv", "parquet", "gzip", "zstd"];
    assert_eq!(names, [&peers[..], &own[..]].concat());
    for way in ways {
        assert_eq!(way["is_verified"], way["way"] != "dump", "{way}");
        assert!(way["runs"][0]["seconds"].as_f64().unwrap() > 0.0, "{way}");
    }
    let bytes = |name: &str| {
        let at = names.iter().position(|way| *way == name).unwrap();
        ways[at]["bytes"].as_u64().unwrap()
    };
    assert!(report["rows"].as_u64().unwrap() > 10_000, "{report}");
    // The client prints a header; the same text else.
    assert_eq!(bytes("client"), bytes("quick"), "{report}");
    assert!(bytes("client") > bytes("select"), "{report}");
    assert_eq!(bytes("select"), bytes("direct"), "{report}");
    assert!(bytes("direct") > 2 * bytes("zstd").max(bytes("parquet")), "{report}");
}
