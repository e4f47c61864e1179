//! Every thread of the product has a place at which a test has it panic, and such a test.

use std::collections::BTreeSet;
use std::fs;

use super::{LAYERS, root, sources};

/// What begins something and is no thread of a load's.
const OTHERS: [(&str, usize); 4] = [
    // The server is a process.
    ("server/src/sandbox.rs", 1),
    // The end of the process that a test asks for.
    ("disk/src/faults.rs", 1),
    // A test.
    ("sort/src/faults.rs", 1),
    // The threads of whoever uses the pool, below.
    ("job/src/pool.rs", 2),
];
/// Who uses the pool, and the places of the work that each gives to it.
const POOLS: [(&str, &[&str]); 12] = [
    ("check/src/lines/reading.rs", &["thread.lines"]),
    ("check/src/run.rs", &["thread.judge"]),
    ("check/src/verify/input_rows.rs", &["thread.compare"]),
    ("direct/src/adopted.rs", &["thread.adopted"]),
    ("direct/src/attempt.rs", &["thread.rows", "thread.indexes"]),
    ("direct/src/duplicates/resolve.rs", &["thread.groups"]),
    ("direct/src/duplicates/rounds.rs", &["thread.collect"]),
    ("load/src/several/lines_read.rs", &["thread.entities"]),
    ("load/src/several/shares.rs", &["thread.ids"]),
    ("load/src/shards/filled.rs", &["thread.shard"]),
    ("send/src/lanes.rs", &["thread.lane"]),
    ("send/src/sorted/sorter.rs", &["thread.sort"]),
];

/// Names of places in a text: `thread.rows`.
fn places(text: &str) -> Vec<String> {
    let parts = text.split("\"thread.").skip(1);
    parts.map(|part| format!("thread.{}", part.split('"').next().unwrap_or_default())).collect()
}

#[test]
fn every_thread_has_a_place_for_a_panic_and_a_test_of_it() {
    let tests = fs::read_to_string(root().join("cli/tests/panics.rs")).unwrap();
    let tested: BTreeSet<String> = places(&tests).into_iter().collect();
    let mut known = BTreeSet::new();
    // Benchmarks are no loads.
    for name in LAYERS.into_iter().filter(|name| *name != "bench") {
        for (file, text) in sources(name) {
            let path = format!("{name}/src/{file}");
            let count = |word: &str| text.matches(word).count();
            let of_pools = POOLS.iter().find(|(pool, _)| *pool == path).map_or(0, |(_, p)| p.len());
            let pools = ["pool::run(", "pool::map("].map(count).iter().sum::<usize>();
            assert_eq!(pools, of_pools, "{path}: what of it runs in a pool (POOLS)?");
            let others = OTHERS.iter().find(|(other, _)| *other == path).map_or(0, |(_, n)| *n);
            let begun = [".spawn(", "::spawn(", "spawn_scoped("].map(count).iter().sum::<usize>();
            let here = places(&text);
            assert!(
                begun <= here.len() + others,
                "{path} begins a thread without disk::failpoint::hit(\"thread.<its work>\")"
            );
            known.extend(here);
        }
    }
    for place in POOLS.iter().flat_map(|(_, places)| *places) {
        assert!(known.contains(*place), "{place} is nowhere");
    }
    assert_eq!(known, tested, "left: places of threads; right: those of cli/tests/panics.rs");
}
