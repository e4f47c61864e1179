//! The benchmark of an application's tables, small: all its ways leave the same rows.

use testkit::TestServer;

use crate::support::{Home, on_shared, run};

#[test]
fn every_way_of_loading_an_application_leaves_the_same_rows() {
    let Some(server) = TestServer::shared() else { return };
    let home = Home::new();
    let ways = ["load_data", "import", "load", "client", "my_loader", "replay"];
    let mut bench = home.bench_json("folder --tables 6,9 --repeat 1");
    let _alone = on_shared(&mut bench, server);
    let report = run(&mut bench).report();
    let applications = report["applications"].as_array().unwrap();
    assert_eq!(applications.len(), 2, "{report}");
    for (application, tables) in applications.iter().zip([6, 9]) {
        assert_eq!(application["tables"], tables, "{application}");
        assert!(application["planned_seconds"].as_f64().unwrap() > 0.0, "{application}");
        let seen = application["ways"].as_array().unwrap();
        let names: Vec<&str> = seen.iter().map(|way| way["way"].as_str().unwrap()).collect();
        assert_eq!(names, ways, "{application}");
        assert!(seen.iter().all(|way| way["runs"][0]["seconds"].as_f64().unwrap() > 0.0));
    }
}
