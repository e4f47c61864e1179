//! Several threads add, several merge.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crate::model::{AMPLE, Entry, collect, noise, run, shape, store};

fn chunk(ordinal: u64, payload: bool) -> Vec<Entry> {
    noise(ordinal + 1)
        .take(400)
        .map(|key| {
            let payload =
                if payload { ordinal.to_be_bytes().repeat((key % 9) as usize) } else { Vec::new() };
            ((key % 20_000).to_be_bytes().to_vec(), payload)
        })
        .collect()
}

fn check(memory: usize, threads: usize, payload: bool, expect_spills: bool) {
    const CHUNKS: u64 = 300;
    let shape = shape(Some(8), payload);
    let store = store(shape, memory, threads);
    let next = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let ordinal = next.fetch_add(1, Ordering::Relaxed);
                    if ordinal >= CHUNKS {
                        break;
                    }
                    store.add(run(shape, &chunk(ordinal, payload), ordinal)).unwrap();
                }
            });
        }
    });
    let runs = store.finish().unwrap();
    let stats = runs.stats();
    assert_eq!(stats.spilled_runs > 0, expect_spills, "{stats:?}");
    assert!(stats.memory_bytes_peak <= memory, "{stats:?}");

    let ranges = runs.ranges(100_000);
    let next = AtomicUsize::new(0);
    let mut parts = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|_| {
                scope.spawn(|| {
                    let mut parts = Vec::new();
                    loop {
                        let index = next.fetch_add(1, Ordering::Relaxed);
                        let Some(range) = ranges.get(index) else { break parts };
                        parts.push((index, collect(&runs, range)));
                    }
                })
            })
            .collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect::<Vec<_>>()
    });
    parts.sort_by_key(|part| part.0);
    let mut expected: Vec<Entry> = (0..CHUNKS).flat_map(|i| chunk(i, payload)).collect();
    expected.sort_by(|a, b| a.0.cmp(&b.0));
    assert!(parts.into_iter().flat_map(|part| part.1).eq(expected));
}

#[test]
fn several_threads_with_memory_to_spare() {
    check(AMPLE, 4, false, false);
    check(AMPLE, 4, true, false);
}

#[test]
fn several_threads_with_little_memory() {
    check(512 << 10, 3, false, true);
    check(512 << 10, 3, true, true);
}

#[test]
fn more_spills_at_once_than_one() {
    check(1 << 20, 8, true, true);
}

#[test]
fn one_merge_more_than_threads_is_an_error() {
    let runs = store(shape(Some(8), false), AMPLE, 1).finish().unwrap();
    let all = sort::KeyRange::all();
    let first = runs.merge(&all).unwrap();
    assert!(runs.merge(&all).is_err());
    drop(first);
    assert!(runs.merge(&all).is_ok());
}
