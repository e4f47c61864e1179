//! The command line of the benchmarks, and what it refuses.

use crate::support::{Home, run};

#[test]
fn help_explains_every_option_of_every_benchmark() {
    let home = Home::new();
    let benchmarks = [
        "",
        "tproch",
        "batch",
        "replay",
        "insert",
        "split",
        "export",
        "tune",
        "writes",
        "first-day",
    ];
    for benchmark in benchmarks {
        let help = run(&mut home.bench(&format!("{benchmark} --help")));
        assert_eq!((help.code, help.err.as_str()), (Some(0), ""), "{benchmark}");
        testkit::program::check_help(&help.out);
        let usage = format!("Usage: inrush bench {benchmark}");
        assert!(help.out.contains(usage.trim_end()), "{}", help.out);
    }
    let version = run(&mut home.bench("--version"));
    assert!(version.out.starts_with("inrush bench "), "{}", version.out);
    assert_eq!(run(&mut home.bench("")).code, Some(2));
}

#[test]
fn what_is_wrong_is_one_sentence_and_nothing_is_run() {
    let home = Home::new();
    for (words, part) in [
        ("tproch --scale", "--scale"),
        ("tproch --tables parts", "TPC-H has no table \"parts\""),
        ("split --ways magic", "--ways: \"magic\" is none of script, staging, inrush"),
        ("export --sandbox here", "bench runs a server of its own"),
        ("batch --shards 1 --chart x.svg", "--shards has no --chart"),
        ("tproch -psesame", "-p takes no value"),
    ] {
        let outcome = run(&mut home.bench(words));
        assert_eq!((outcome.code, outcome.out.as_str()), (Some(2), ""), "{words}");
        assert!(
            outcome.err.starts_with("inrush: ") && outcome.err.contains(part),
            "{}",
            outcome.err
        );
        assert_eq!(outcome.err.lines().count(), 1, "{}", outcome.err);
    }
    let json = run(&mut home.bench_json("split --ways magic"));
    let report: serde_json::Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!(report["status"], 2, "{report}");
    assert!(!home.path().join("bench").exists());
}
