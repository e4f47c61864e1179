//! Runs that the sort did not make, merged with those that it did.

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;

use proptest::prelude::*;
use sort::{EntryBlock, EntryShape, KeyRange, OrderedRun, RunError, RunReader, RunStore};

use crate::model::{AMPLE, Entry, TINY, collect, noise, run, shape, store};

/// Entries in a list.
#[derive(Debug)]
struct Listed {
    entries: Vec<Entry>,
    /// Index at which reading fails.
    fails_at: Option<usize>,
}

struct ListReader<'a> {
    list: &'a Listed,
    at: usize,
}

impl OrderedRun for Listed {
    /// Keeps no index: begins a little before the start and ends with the list.
    fn reader<'a>(&'a self, start: &[u8], _: Option<&[u8]>) -> Box<dyn RunReader + 'a> {
        let at = self.entries.partition_point(|(key, _)| key.as_slice() < start);
        Box::new(ListReader { list: self, at: at.saturating_sub(3) })
    }

    fn sample(&self, step: usize, take: &mut dyn FnMut(&[u8], u64)) {
        let mut rest = self.entries.as_slice();
        while let Some((key, _)) = rest.first() {
            let mut bytes = 0;
            let size = |(key, payload): &Entry| key.len() + payload.len();
            let count = rest.iter().take_while(|entry| {
                let more = bytes < step;
                bytes += if more { size(entry) } else { 0 };
                more
            });
            let count = count.count();
            take(key, bytes as u64);
            rest = &rest[count..];
        }
    }

    fn entry_bytes_max(&self) -> usize {
        self.entries.iter().map(|(key, payload)| key.len() + payload.len() + 20).max().unwrap_or(0)
    }
}

impl RunReader for ListReader<'_> {
    fn fill(&mut self, block: &mut EntryBlock) -> Result<(), RunError> {
        while !block.is_full() {
            if Some(self.at) == self.list.fails_at {
                return Err("the list is torn".into());
            }
            let Some((key, payload)) = self.list.entries.get(self.at) else { break };
            block.push(key, payload);
            self.at += 1;
        }
        Ok(())
    }

    fn left(&self) -> usize {
        self.list.entries.len() - self.at
    }
}

/// Keys of 8 bytes in a file, as an index that exists would be: read by pieces, found by halving.
#[derive(Debug)]
struct Filed {
    file: File,
    keys: u64,
}

impl Filed {
    fn new(keys: &[[u8; 8]]) -> Filed {
        let path = std::env::temp_dir().join(format!("sort-ordered-{}", std::process::id()));
        let mut file = File::options().read(true).write(true).create_new(true).open(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        file.write_all(keys.as_flattened()).unwrap();
        Filed { file, keys: keys.len() as u64 }
    }

    fn key(&self, index: u64) -> [u8; 8] {
        let mut key = [0; 8];
        self.file.read_exact_at(&mut key, 8 * index).unwrap();
        key
    }

    fn lower_bound(&self, bound: &[u8]) -> u64 {
        let (mut low, mut high) = (0, self.keys);
        while low < high {
            let middle = low.midpoint(high);
            if &self.key(middle)[..] < bound { low = middle + 1 } else { high = middle }
        }
        low
    }
}

struct FileReader<'a> {
    run: &'a Filed,
    at: u64,
    end: u64,
}

impl OrderedRun for Filed {
    fn reader<'a>(&'a self, start: &[u8], end: Option<&[u8]>) -> Box<dyn RunReader + 'a> {
        let end = end.map_or(self.keys, |end| self.lower_bound(end));
        Box::new(FileReader { run: self, at: self.lower_bound(start), end })
    }

    fn sample(&self, step: usize, take: &mut dyn FnMut(&[u8], u64)) {
        let step = (step / 8).max(1);
        for index in (0..self.keys).step_by(step) {
            take(&self.key(index), 8 * (self.keys - index).min(step as u64));
        }
    }

    fn entry_bytes_max(&self) -> usize {
        8
    }
}

impl RunReader for FileReader<'_> {
    fn fill(&mut self, block: &mut EntryBlock) -> Result<(), RunError> {
        while self.at < self.end && !block.is_full() {
            let mut keys = [0; 8 * 50];
            let count = (self.end - self.at).min(50) as usize;
            self.run.file.read_exact_at(&mut keys[..8 * count], 8 * self.at)?;
            keys[..8 * count].chunks(8).for_each(|key| block.push(key, &[]));
            self.at += count as u64;
        }
        Ok(())
    }

    fn left(&self) -> usize {
        (self.end - self.at) as usize
    }
}

fn listed(entries: &[Entry]) -> Box<Listed> {
    Box::new(Listed { entries: entries.to_vec(), fails_at: None })
}

#[test]
fn a_file_of_others_is_merged_with_runs_in_memory_and_on_disk() {
    let shape = EntryShape::fixed(8);
    let store = store(shape, TINY, 1);
    let mut theirs: Vec<[u8; 8]> = noise(9).take(20_000).map(u64::to_be_bytes).collect();
    theirs.sort_unstable();
    store.add_ordered(Box::new(Filed::new(&theirs)), 0);
    let mut expected: Vec<Vec<u8>> = theirs.iter().map(|key| key.to_vec()).collect();
    for ordinal in 1..40 {
        let keys = noise(ordinal).take(700).map(|key| key.to_be_bytes().to_vec());
        let chunk: Vec<Entry> = keys.map(|key| (key, Vec::new())).collect();
        store.add(run(shape, &chunk, ordinal)).unwrap();
        expected.extend(chunk.into_iter().map(|(key, _)| key));
    }
    expected.sort_unstable();
    let runs = store.finish().unwrap();
    assert!(runs.stats().spilled_runs > 0 && runs.stats().memory_bytes_peak <= TINY);
    let ranges = runs.ranges(20_000);
    assert!((17..=21).contains(&ranges.len()), "{} ranges of 47,300 keys", ranges.len());
    let merged = ranges.iter().flat_map(|range| collect(&runs, range)).map(|(key, _)| key);
    assert!(merged.eq(expected));
}

/// Merges three kinds of runs: the parts of `chunks` by turns pushed, and in order elsewhere.
fn check(shape: EntryShape, chunks: &[Vec<Entry>], memory: usize) -> Result<(), TestCaseError> {
    let store: RunStore = store(shape, memory, 1);
    for (ordinal, chunk) in chunks.iter().enumerate() {
        if ordinal % 3 == 1 {
            let mut sorted = chunk.clone();
            sorted.sort_by(|a, b| a.0.cmp(&b.0));
            store.add_ordered(listed(&sorted), ordinal as u64);
        } else {
            store.add(run(shape, chunk, ordinal as u64)).unwrap();
        }
    }
    let runs = store.finish().unwrap();
    let mut expected: Vec<Entry> = chunks.iter().flatten().cloned().collect();
    expected.sort_by(|a, b| a.0.cmp(&b.0));
    prop_assert!(collect(&runs, &KeyRange::all()) == expected);
    let ranges = runs.ranges(3_000);
    let merged: Vec<Entry> = ranges.iter().flat_map(|range| collect(&runs, range)).collect();
    prop_assert!(merged == expected);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn entries_come_in_order_of_key_and_ordinal_wherever_they_are(
        seeds in prop::collection::vec(prop::collection::vec((0_u16..300, 0_usize..300), 0..200), 1..10),
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
        check(shape, &chunks, if tiny { 2 * TINY } else { AMPLE })?;
    }
}

fn error_of(shape: EntryShape, run: Listed) -> String {
    let store = store(shape, AMPLE, 1);
    store.add_ordered(Box::new(run), 7);
    let runs = store.finish().unwrap();
    let all = KeyRange::all();
    let mut merge = runs.merge(&all).unwrap();
    loop {
        match merge.next() {
            Ok(entry) => assert!(entry.is_some(), "the failure went unnoticed"),
            Err(error) => break error.to_string(),
        }
    }
}

#[test]
fn a_run_out_of_order_or_not_readable_ends_the_merge() {
    for payload in [false, true] {
        let shape = shape(Some(8), payload);
        let entry = |key: u64| (key.to_be_bytes().to_vec(), Vec::new());
        let mut entries: Vec<Entry> = (0..50_000).map(entry).collect();
        entries.swap(40_000, 40_001);
        let unordered = Listed { entries: entries.clone(), fails_at: None };
        assert_eq!(error_of(shape, unordered), "run 7 is not in order");
        let torn = Listed { entries, fails_at: Some(30_000) };
        assert_eq!(error_of(shape, torn), "reading run 7: the list is torn");
    }
}

#[test]
fn memory_for_ordered_runs_is_counted() {
    let shape = shape(Some(8), true);
    let large = || Listed { entries: vec![(vec![1; 8], vec![2; 60_000])], fails_at: None };
    let store = store(shape, TINY, 1);
    store.add_ordered(Box::new(large()), 0);
    store.add_ordered(Box::new(large()), 1);
    let error = store.finish().err().map(|error| error.to_string()).unwrap_or_default();
    assert!(error.contains("bytes of memory, but the limit is 131072 bytes"), "{error}");
}
