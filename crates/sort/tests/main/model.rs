//! Entries pushed in chunks come out as a stable sort of all of them.

use proptest::prelude::*;
use sort::{EntryShape, KeyRange, MemoryRun, RunStore, Runs, SortBuffer, StoreOptions};

pub(crate) type Entry = (Vec<u8>, Vec<u8>);

/// The least budget the tests use: a few blocks of 4 KiB.
pub(crate) const TINY: usize = 128 << 10;
pub(crate) const AMPLE: usize = 64 << 20;

pub(crate) fn shape(key_len: Option<usize>, payload: bool) -> EntryShape {
    EntryShape { key_len, tail_len: 0, payload }
}

pub(crate) fn run(shape: EntryShape, chunk: &[Entry], ordinal: u64) -> MemoryRun {
    let mut buffer = SortBuffer::new(shape);
    chunk.iter().for_each(|(key, payload)| buffer.push(key, payload));
    assert_eq!(buffer.len(), chunk.len());
    buffer.sort(ordinal)
}

pub(crate) fn store(shape: EntryShape, memory_bytes_max: usize, threads: usize) -> RunStore {
    let temp_dir = std::env::temp_dir();
    RunStore::with_options(
        shape,
        StoreOptions { memory_bytes_max, temp_dir, threads, stop: Default::default() },
    )
    .unwrap()
}

pub(crate) fn collect(runs: &Runs, range: &KeyRange) -> Vec<Entry> {
    let mut merge = runs.merge(range).unwrap();
    let mut entries = Vec::new();
    while let Some((key, payload)) = merge.next().unwrap() {
        entries.push((key.to_vec(), payload.to_vec()));
    }
    entries
}

/// Adds the chunks in an order of their own, as workers do, and merges everything.
fn sorted(shape: EntryShape, chunks: &[Vec<Entry>], memory: usize, swap: usize) -> Vec<Entry> {
    let store = store(shape, memory, 1);
    let mut order: Vec<usize> = (0..chunks.len()).collect();
    order.chunks_mut(swap.max(1)).for_each(<[usize]>::reverse);
    for chunk in order {
        store.add(run(shape, &chunks[chunk], chunk as u64)).unwrap();
    }
    let runs = store.finish().unwrap();
    assert_eq!(runs.entries(), chunks.iter().map(|chunk| chunk.len() as u64).sum::<u64>());
    assert!(runs.stats().memory_bytes_peak <= memory);
    collect(&runs, &KeyRange::all())
}

/// Keys of one length, few of them distinct in most bytes, with payloads that tell them apart.
fn fixed_chunks(payload: bool) -> impl Strategy<Value = (usize, Vec<Vec<Entry>>)> {
    (1_usize..45, prop::collection::vec(prop::sample::select(vec![0_u8, 0, 1, 3, 0xff]), 45))
        .prop_flat_map(move |(len, mask)| {
            let entry = (any::<[u8; 45]>(), any::<u32>(), 0_usize..400).prop_map(
                move |(seed, tag, payload_len)| {
                    let key = (0..len).map(|i| seed[i] & mask[i]).collect();
                    let tag = tag.to_be_bytes().repeat(payload_len / 4);
                    (key, if payload { tag } else { Vec::new() })
                },
            );
            let chunk = prop::collection::vec(entry, 0..120);
            (Just(len), prop::collection::vec(chunk, 0..12))
        })
}

/// Self-delimiting keys of several lengths: no byte but the last is 0.
fn variable_chunks(payload: bool) -> impl Strategy<Value = Vec<Vec<Entry>>> {
    let entry = (prop::collection::vec(1_u8..4, 0..30), 0_usize..3000, any::<u8>()).prop_map(
        move |(mut key, payload_len, tag)| {
            key.push(0);
            (key, if payload { vec![tag; payload_len] } else { Vec::new() })
        },
    );
    prop::collection::vec(prop::collection::vec(entry, 0..60), 0..12)
}

fn check(shape: EntryShape, chunks: &[Vec<Entry>], swap: usize) -> Result<(), TestCaseError> {
    let mut expected: Vec<Entry> = chunks.iter().flatten().cloned().collect();
    expected.sort_by(|a, b| a.0.cmp(&b.0));
    prop_assert_eq!(&sorted(shape, chunks, AMPLE, swap), &expected);
    prop_assert_eq!(&sorted(shape, chunks, TINY, swap), &expected);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn bare_keys_of_one_length((len, chunks) in fixed_chunks(false), swap in 1_usize..5) {
        check(shape(Some(len), false), &chunks, swap)?;
    }

    #[test]
    fn keys_of_one_length_with_payload((len, chunks) in fixed_chunks(true), swap in 1_usize..5) {
        check(shape(Some(len), true), &chunks, swap)?;
    }

    #[test]
    fn keys_of_several_lengths(chunks in variable_chunks(false), swap in 1_usize..5) {
        check(shape(None, false), &chunks, swap)?;
    }

    #[test]
    fn keys_of_several_lengths_with_payload(chunks in variable_chunks(true), swap in 1_usize..5) {
        check(shape(None, true), &chunks, swap)?;
    }
}

/// A sequence that looks random and is the same every time.
pub(crate) fn noise(seed: u64) -> impl Iterator<Item = u64> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    std::iter::repeat_with(move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    })
}

#[test]
fn spilled_runs_too_many_for_one_pass_are_merged_before() {
    let shape = shape(Some(8), true);
    let store = store(shape, TINY, 1);
    let mut expected = Vec::new();
    for ordinal in 0..400 {
        let chunk: Vec<Entry> = noise(ordinal + 1)
            .take(300)
            .map(|key| ((key % 5000).to_be_bytes().to_vec(), ordinal.to_be_bytes().repeat(6)))
            .collect();
        store.add(run(shape, &chunk, ordinal)).unwrap();
        expected.extend(chunk);
    }
    expected.sort_by(|a, b| a.0.cmp(&b.0));
    let runs = store.finish().unwrap();
    let stats = *runs.stats();
    assert!(stats.premerges > 0, "{stats:?}");
    assert!(stats.memory_bytes_peak <= TINY, "{stats:?}");
    assert!(collect(&runs, &KeyRange::all()) == expected);
}

/// Adds so many chunks of 500 bare keys of 8 bytes.
pub(crate) fn add_keys(store: &RunStore, chunks: std::ops::Range<u64>) {
    let shape = shape(Some(8), false);
    for ordinal in chunks {
        let mut buffer = SortBuffer::new(shape);
        noise(ordinal + 1).take(500).for_each(|key| buffer.push(&key.to_be_bytes(), &[]));
        store.add(buffer.sort(ordinal)).unwrap();
    }
}

/// Goes through all entries, which ascend.
pub(crate) fn count(runs: &Runs) -> u64 {
    let (all, mut before, mut count) = (KeyRange::all(), Vec::new(), 0);
    let mut merge = runs.merge(&all).unwrap();
    while let Some((key, _)) = merge.next().unwrap() {
        assert!(before.as_slice() <= key);
        before.clear();
        before.extend_from_slice(key);
        count += 1;
    }
    count
}

/// The large run of all merges before was written once more with each merge.
#[test]
fn merges_of_spilled_runs_write_each_entry_a_few_times() {
    let store = store(shape(Some(8), false), TINY, 1);
    add_keys(&store, 0..2_000);
    let runs = store.finish().unwrap();
    let stats = *runs.stats();
    assert!(stats.premerges > 20, "{stats:?}");
    assert!(stats.spilled_entry_bytes < 8 * stats.entry_bytes, "{stats:?}");
    assert_eq!(count(&runs), 1_000_000);
}

/// The places of all blocks were kept, so a long input was refused when all of it had been read.
#[test]
fn a_long_input_needs_no_more_memory_than_a_short_one() {
    let shape = shape(Some(8), false);
    let memory = RunStore::memory_bytes_min(&shape, 1);
    let store = store(shape, memory, 1);
    add_keys(&store, 0..3_000);
    let runs = store.finish().unwrap();
    let peak = runs.stats().memory_bytes_peak;
    assert!(peak <= memory, "{peak} of {memory}");
    assert_eq!(count(&runs), 1_500_000);
}

#[test]
fn a_run_larger_than_the_budget_goes_to_disk() {
    let shape = shape(Some(8), false);
    let store = store(shape, TINY, 1);
    let chunk: Vec<Entry> =
        noise(1).take(50_000).map(|key| (key.to_be_bytes().to_vec(), Vec::new())).collect();
    store.add(run(shape, &chunk, 0)).unwrap();
    let runs = store.finish().unwrap();
    assert_eq!(runs.stats().spilled_runs, 1);
    let mut expected = chunk;
    expected.sort();
    assert!(collect(&runs, &KeyRange::all()) == expected);
}

#[test]
fn an_entry_larger_than_a_block_passes() {
    let shape = shape(None, true);
    let store = store(shape, 512 << 10, 1);
    let mut expected = Vec::new();
    for ordinal in 0..60_u64 {
        let chunk: Vec<Entry> = (0..3_u8)
            .map(|i| (vec![((ordinal * 7) % 50) as u8 + 1, i + 1, 0], vec![i; 20_000]))
            .collect();
        store.add(run(shape, &chunk, ordinal)).unwrap();
        expected.extend(chunk);
    }
    expected.sort_by(|a, b| a.0.cmp(&b.0));
    let runs = store.finish().unwrap();
    assert!(runs.stats().spilled_runs > 0);
    assert!(collect(&runs, &KeyRange::all()) == expected);
}

#[test]
fn a_buffer_is_empty_and_usable_after_a_sort() {
    let shape = shape(Some(2), false);
    let mut buffer = SortBuffer::new(shape);
    buffer.push(b"bb", b"");
    buffer.push(b"aa", b"");
    assert_eq!(buffer.sort(0).len(), 2);
    assert!(buffer.is_empty());
    assert_eq!(buffer.bytes(), 0);
    buffer.push(b"cc", b"");
    assert_eq!(buffer.sort(1).len(), 1);
    assert!(buffer.sort(2).is_empty());
}

#[test]
fn nothing_in_gives_nothing_out() {
    let runs = store(shape(None, true), TINY, 2).finish().unwrap();
    assert_eq!(runs.ranges(1000), [KeyRange::all()]);
    assert!(collect(&runs, &KeyRange::all()).is_empty());
}

#[test]
fn a_hopeless_budget_is_refused() {
    let temp_dir = std::env::temp_dir();
    let options =
        StoreOptions { memory_bytes_max: 10_000, temp_dir, threads: 1, stop: Default::default() };
    let refused = RunStore::with_options(shape(Some(8), false), options);
    assert!(refused.unwrap_err().to_string().contains("the limit is 10000 bytes"));
}

/// Keys that are nearly as long as a block, and the same but for their ends: what a spilled run keeps
/// of them does not grow with it.
#[test]
fn long_keys_take_no_more_memory_than_the_budget() {
    let key = |number: u64| {
        let mut key = vec![b'k'; 2_000];
        key.extend_from_slice(&number.to_be_bytes());
        key
    };
    let (memory, count) = (1 << 20, 20_000_u64);
    for payload in [false, true] {
        let shape = shape(None, payload);
        let store = store(shape, memory, 1);
        let numbers = |chunk: u64| (0..50).map(move |at| (chunk * 50 + at) * 7_919 % count);
        for chunk in 0..count / 50 {
            let entries: Vec<Entry> =
                numbers(chunk).map(|number| (key(number), Vec::new())).collect();
            store.add(run(shape, &entries, chunk)).unwrap();
        }
        let runs = store.finish().unwrap();
        let peak = runs.stats().memory_bytes_peak;
        assert!(peak <= memory, "{peak} bytes of {memory}");
        assert!(runs.stats().spilled_runs > 40);
        let mut next = 0;
        for range in runs.ranges(1 << 20) {
            for (found, _) in collect(&runs, &range) {
                assert!(found == key(next), "{next}");
                next += 1;
            }
        }
        assert_eq!(next, count);
    }
}
