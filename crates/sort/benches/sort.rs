//! Nanoseconds an entry, of CPU time of the one thread that works: push and sort in chunks, merge
//! of 95 runs in memory, spill and merge of spilled runs.
//!
//! `cargo bench -p inrush-sort` runs all; a word after `--` picks the rows whose name holds it.
//! Keys as of TPC-H lineitem at SF1: 6 M entries in 95 chunks.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a benchmark fails by panicking")]

use std::hint::black_box;
use std::time::Duration;

use sort::{EntryShape, RunStore, Runs, SortBuffer, StoreOptions};

const CHUNKS: u64 = 95;
const ENTRIES_PER_CHUNK: u64 = 63_000;
const AMPLE: usize = 4 << 30;

/// Makes the key and payload of the `i`th entry.
type Make = fn(i: u64, noise: &mut dyn FnMut() -> u64, key: &mut Vec<u8>, payload: &mut Vec<u8>);

struct Case {
    name: &'static str,
    shape: EntryShape,
    chunks: u64,
    /// Budget that makes it spill.
    memory: usize,
    make: Make,
}

fn order(i: u64) -> (u32, u32) {
    ((i / 4 * 4) as u32, (i % 4 + 1) as u32)
}

fn cases() -> Vec<Case> {
    let fixed = |name, len, make| Case {
        name,
        shape: EntryShape::fixed(len),
        chunks: CHUNKS,
        memory: 48 << 20,
        make,
    };
    vec![
        fixed("11 date,order,line", 11, |i, noise, key, _| {
            key.extend_from_slice(&(noise() % 2526 + 0x8f_9000).to_be_bytes()[5..]);
            key.extend_from_slice(&order(i).0.to_be_bytes());
            key.extend_from_slice(&order(i).1.to_be_bytes());
        }),
        fixed("16 part,supp,order,line", 16, |i, noise, key, _| {
            key.extend_from_slice(&((noise() % 200_000) as u32 | 1 << 31).to_be_bytes());
            key.extend_from_slice(&((noise() % 10_000) as u32 | 1 << 31).to_be_bytes());
            key.extend_from_slice(&order(i).0.to_be_bytes());
            key.extend_from_slice(&order(i).1.to_be_bytes());
        }),
        fixed("20 part,supp,big order,line", 20, |i, noise, key, _| {
            key.extend_from_slice(&((noise() % 200_000) as u32 | 1 << 31).to_be_bytes());
            key.extend_from_slice(&((noise() % 10_000) as u32 | 1 << 31).to_be_bytes());
            key.extend_from_slice(&u64::from(order(i).0).to_be_bytes());
            key.extend_from_slice(&order(i).1.to_be_bytes());
        }),
        fixed("28 noise", 28, |_, noise, key, _| {
            (0..4).for_each(|_| key.extend_from_slice(&noise().to_be_bytes()));
            key.truncate(28);
        }),
        fixed("16 ascending", 16, |i, _, key, _| {
            key.extend_from_slice(&u128::from(i).to_be_bytes());
        }),
        Case {
            name: "12 + 130 payload",
            shape: EntryShape { key_len: Some(12), tail_len: 0, payload: true },
            chunks: 60,
            memory: 128 << 20,
            make: |i, noise, key, payload| {
                key.extend_from_slice(&noise().to_be_bytes());
                key.extend_from_slice(&(i as u32).to_be_bytes());
                record(i, noise, payload);
            },
        },
        Case {
            name: "text + 130 payload",
            shape: EntryShape { key_len: None, tail_len: 0, payload: true },
            chunks: 60,
            memory: 128 << 20,
            make: |i, noise, key, payload| {
                key.extend_from_slice(
                    format!("CUSTOMER#{:09}", noise() % 1_000_000_000).as_bytes(),
                );
                key.push(0);
                record(i, noise, payload);
            },
        },
    ]
}

/// A record as lineitem's: numbers, dates, flags, some words of text.
fn record(i: u64, noise: &mut dyn FnMut() -> u64, payload: &mut Vec<u8>) {
    const WORDS: [&str; 16] = [
        "furiously ",
        "carefully ",
        "quickly ",
        "ironic ",
        "final ",
        "deposits ",
        "packages ",
        "requests ",
        "accounts ",
        "sleep ",
        "above ",
        "the ",
        "blithely ",
        "regular ",
        "express ",
        "pending ",
    ];
    payload.extend_from_slice(&(i as u32).to_be_bytes());
    for digits in [200_000, 10_000, 50, 9_000_000, 10, 8, 2526, 2526, 2526] {
        payload.extend_from_slice(&((noise() % digits) as u32).to_be_bytes());
    }
    payload.extend_from_slice(b"N\x4fDELIVER IN PERSON        TRUCK     ");
    while payload.len() < 120 {
        payload.extend_from_slice(WORDS[(noise() % 16) as usize].as_bytes());
    }
    payload.truncate(130);
}

/// CPU time of this thread so far.
fn cpu() -> Duration {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    Duration::from_nanos(stat.split(' ').next().unwrap().parse().unwrap())
}

fn noise() -> impl FnMut() -> u64 {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    }
}

/// Pushes, sorts and adds every chunk. CPU times of pushing, sorting and adding.
fn fill(case: &Case, memory_bytes_max: usize) -> (Runs, [Duration; 3]) {
    let temp_dir = std::env::temp_dir();
    let options = StoreOptions { memory_bytes_max, temp_dir, threads: 2, stop: Default::default() };
    let store = RunStore::with_options(case.shape, options).unwrap();
    let mut buffer = SortBuffer::new(case.shape);
    let mut noise = noise();
    let mut times = [Duration::ZERO; 3];
    let (mut bytes, mut ends) = (Vec::new(), Vec::new());
    for chunk in 0..case.chunks {
        bytes.clear();
        ends.clear();
        for i in 0..ENTRIES_PER_CHUNK {
            let (mut key, mut payload) = (Vec::new(), Vec::new());
            (case.make)(chunk * ENTRIES_PER_CHUNK + i, &mut noise, &mut key, &mut payload);
            bytes.extend_from_slice(&key);
            bytes.extend_from_slice(&payload);
            ends.push((bytes.len() - payload.len(), bytes.len()));
        }
        let start = cpu();
        let mut at = 0;
        for &(key_end, end) in &ends {
            buffer.push(&bytes[at..key_end], &bytes[key_end..end]);
            at = end;
        }
        let pushed = cpu();
        let run = buffer.sort(chunk);
        let sorted = cpu();
        store.add(run).unwrap();
        let added = cpu();
        let spans = [pushed - start, sorted - pushed, added - sorted];
        times.iter_mut().zip(spans).for_each(|(time, span)| *time += span);
    }
    let start = cpu();
    let runs = store.finish().unwrap();
    times[2] += cpu() - start;
    (runs, times)
}

fn merge(runs: &Runs) -> Duration {
    let start = cpu();
    let mut count = 0;
    for range in runs.ranges(8 << 20) {
        let mut merge = runs.merge(&range).unwrap();
        while let Some(entry) = merge.next().unwrap() {
            black_box(entry);
            count += 1;
        }
    }
    let time = cpu() - start;
    assert_eq!(count, runs.entries());
    time
}

fn main() {
    let pick = std::env::args().skip(1).find(|arg| !arg.starts_with("--")).unwrap_or_default();
    println!(
        "{:28} {:>7} {:>7} {:>7} | {:>7} {:>7} {:>5} {:>7}",
        "ns/entry", "push", "sort", "merge", "spill", "merge", "runs", "bytes"
    );
    for case in cases().iter().filter(|case| case.name.contains(&pick)) {
        let entries = (case.chunks * ENTRIES_PER_CHUNK) as f64;
        let per_entry = |time: Duration| time.as_nanos() as f64 / entries;
        let (runs, [push, sort, _]) = fill(case, AMPLE);
        let merged = merge(&runs).min(merge(&runs));
        drop(runs);
        let (runs, [_, _, spill]) = fill(case, case.memory);
        let from_disk = merge(&runs);
        let stats = runs.stats();
        println!(
            "{:28} {:7.1} {:7.1} {:7.1} | {:7.1} {:7.1} {:5} {:7.1}",
            case.name,
            per_entry(push),
            per_entry(sort),
            per_entry(merged),
            per_entry(spill),
            per_entry(from_disk),
            stats.spilled_runs,
            stats.spilled_file_bytes as f64
                / (stats.spilled_entry_bytes as f64 / stats.entry_bytes as f64).max(0.01)
                / entries,
        );
    }
}
