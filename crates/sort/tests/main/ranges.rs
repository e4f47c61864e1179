//! Ranges hold every entry once, are about equal, and never part equals.

use proptest::prelude::*;
use sort::{EntryShape, KeyRange, Runs};

use crate::model::{AMPLE, Entry, TINY, collect, noise, run, shape, store};

fn runs_of(shape: EntryShape, memory: usize, chunks: &[Vec<Entry>]) -> Runs {
    let store = store(shape, memory, 1);
    for (ordinal, chunk) in chunks.iter().enumerate() {
        store.add(run(shape, chunk, ordinal as u64)).unwrap();
    }
    store.finish().unwrap()
}

fn concatenated(runs: &Runs, ranges: &[KeyRange]) -> Vec<Entry> {
    ranges.iter().flat_map(|range| collect(runs, range)).collect()
}

#[test]
fn ranges_of_even_keys_are_even() {
    let shape = shape(Some(16), false);
    let chunks: Vec<Vec<Entry>> = (0..20)
        .map(|chunk| {
            let keys = noise(chunk + 1).take(5000);
            keys.map(|key| (u128::from(key).to_be_bytes().to_vec(), Vec::new())).collect()
        })
        .collect();
    for memory in [AMPLE, 512 << 10] {
        let runs = runs_of(shape, memory, &chunks);
        let ranges = runs.ranges(100_000);
        assert!((14..=17).contains(&ranges.len()), "{}", ranges.len());
        for range in &ranges[..ranges.len() - 1] {
            let bytes = collect(&runs, range).len() * 16;
            assert!((80_000..=125_000).contains(&bytes), "{bytes} of {}", range.bytes);
        }
        assert!(concatenated(&runs, &ranges) == collect(&runs, &KeyRange::all()));
    }
}

#[test]
fn entries_that_differ_in_their_tail_are_in_one_range() {
    for key_len in [Some(12), None] {
        entries_of_one_key_are_in_one_range(EntryShape { key_len, tail_len: 8, payload: false });
    }
}

fn entries_of_one_key_are_in_one_range(shape: EntryShape) {
    let chunks: Vec<Vec<Entry>> = (0..8)
        .map(|chunk| {
            let keys = noise(chunk + 1).take(2000);
            keys.map(|key| {
                let unique = (key % 40) as u32;
                ([&unique.to_be_bytes()[..], &key.to_be_bytes()].concat(), Vec::new())
            })
            .collect()
        })
        .collect();
    let runs = runs_of(shape, AMPLE, &chunks);
    let ranges = runs.ranges(3000);
    assert!(ranges.len() > 10);
    for pair in ranges.windows(2) {
        let (left, right) = (collect(&runs, &pair[0]), collect(&runs, &pair[1]));
        assert!(left.last().unwrap().0[..4] < right[0].0[..4]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn ranges_hold_every_entry_once_and_part_no_equals(
        seeds in prop::collection::vec(prop::collection::vec((0_u16..300, 0_usize..300), 0..200), 1..10),
        bytes_per_range in 1_usize..20_000,
        fixed: bool,
        payload: bool,
        tiny: bool,
    ) {
        let shape = shape(fixed.then_some(3), payload);
        let chunks: Vec<Vec<Entry>> = seeds
            .iter()
            .map(|chunk| chunk.iter().map(|&(key, len)| {
                let key = [&key.to_be_bytes()[..], b"\0"].concat();
                (key, if payload { vec![len as u8; len] } else { Vec::new() })
            }).collect())
            .collect();
        let runs = runs_of(shape, if tiny { TINY } else { AMPLE }, &chunks);
        let ranges = runs.ranges(bytes_per_range);
        prop_assert!(ranges[0].start.is_empty());
        prop_assert!(ranges[ranges.len() - 1].end.is_none());
        for pair in ranges.windows(2) {
            prop_assert_eq!(pair[0].end.as_ref(), Some(&pair[1].start));
            let (left, right) = (collect(&runs, &pair[0]), collect(&runs, &pair[1]));
            if let (Some(left), Some(right)) = (left.last(), right.first()) {
                prop_assert!(left.0 < right.0);
            }
        }
        prop_assert_eq!(concatenated(&runs, &ranges), collect(&runs, &KeyRange::all()));
    }
}
