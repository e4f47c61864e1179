//! Every thread of the product has a place at which a test has it panic, and such a test.

use std::collections::BTreeSet;
use std::fs;

use super::{LAYERS, root, sources};

/// Calls that begin something and are no thread of a load's.
const OTHERS: [(&str, usize); 10] = [
    // A thread for whoever has something beside a statement (`crates/targets/src/waiting.rs`), and a test.
    ("crates/targets/src/lasting.rs", 2),
    // The program is a process.
    ("crates/adbc/src/program.rs", 1),
    // The thread of a result, which loads nothing; a test has it end by a panic.
    ("crates/adbc/src/result.rs", 1),
    // The server is a process.
    ("crates/sandbox/src/lib.rs", 1),
    // Two processes, and the thread that starts one of them, which does nothing else.
    ("crates/sandbox/src/temporary.rs", 3),
    // ssh is a process.
    ("crates/ssh/src/client.rs", 1),
    // The clock of a proof, which kills its private server.
    ("crates/prove/src/lib.rs", 1),
    // The end of the process that a test asks for.
    ("crates/disk/src/faults.rs", 1),
    // A test.
    ("crates/sort/src/faults.rs", 1),
    // The threads of whoever uses the pool, below.
    ("crates/job/src/pool.rs", 2),
];
/// Who uses the pool, and the places of the work that each gives to it.
const POOLS: [(&str, &[&str]); 10] = [
    // Also "thread.lines" and "thread.compare", which those that use the pass give it.
    ("crates/check/src/pass.rs", &["thread.judge"]),
    ("crates/direct/src/attempt.rs", &["thread.rows", "thread.indexes"]),
    ("crates/direct/src/duplicates/resolve.rs", &["thread.groups"]),
    ("crates/direct/src/duplicates/rounds.rs", &["thread.collect"]),
    // Also "thread.stamp".
    ("crates/direct/src/page_pass.rs", &["thread.adopted"]),
    ("crates/load/src/several/lines_read.rs", &["thread.entities"]),
    ("crates/load/src/several/shares.rs", &["thread.ids"]),
    ("crates/send/src/connections.rs", &["thread.connection"]),
    ("crates/send/src/sorted/sorter.rs", &["thread.sort"]),
    ("crates/spider/src/shards/filled.rs", &["thread.shard"]),
];

/// Names of places in a text: `thread.rows`.
fn places(text: &str) -> Vec<String> {
    let parts = text.split("\"thread.").skip(1);
    parts.map(|part| format!("thread.{}", part.split('"').next().unwrap_or_default())).collect()
}

#[test]
fn every_thread_has_a_place_for_a_panic_and_a_test_of_it() {
    let tests = fs::read_to_string(root().join("crates/cli/tests/crashes/panics.rs")).unwrap();
    let tested: BTreeSet<String> = places(&tests).into_iter().collect();
    let mut known = BTreeSet::new();
    // Benchmarks are no loads.
    for name in LAYERS.into_iter().filter(|name| *name != "bench") {
        for (file, text) in sources(name) {
            let path = format!("crates/{name}/src/{file}");
            let count = |word: &str| text.matches(word).count();
            let of_pools = POOLS.iter().find(|(pool, _)| *pool == path).map_or(0, |(_, p)| p.len());
            let pools =
                ["pool::run(", "pool::run_growing(", "pool::map("].map(count).iter().sum::<usize>();
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
    assert_eq!(
        known, tested,
        "left: places of threads; right: those of crates/cli/tests/crashes/panics.rs"
    );
}
