//! The losers, against a model that goes through the rows one by one as the server does.

use std::collections::HashMap;

use job::memory::Memory;
use job::options::OnDuplicate;
use proptest::prelude::*;
use server::Interrupt;
use sort::{EntryShape, RunStore, Runs, SortBuffer, StoreOptions};

use crate::duplicates::loser::Loser;
use crate::duplicates::losers::Losers;
use crate::duplicates::resolve::{Resolved, Resolver};
use crate::duplicates::row_position::Place;

/// Keys of a row in each unique index; none where a part is NULL.
type Row = Vec<Option<u16>>;

/// Rows of each file; `lines` in one row.
#[derive(Clone, Debug)]
struct Input {
    files: Vec<Vec<Row>>,
    lines: u64,
    /// Entries of a run.
    run_rows: usize,
    /// True if the keys of an index have one length.
    fixed: Vec<bool>,
}

impl Input {
    fn rows(&self) -> impl Iterator<Item = (Place, &Row)> {
        self.files.iter().enumerate().flat_map(move |(file, rows)| {
            let place =
                move |row: usize| Place::new(file as u32, row as u64, 2 + row as u64 * self.lines);
            rows.iter().enumerate().map(move |(row, keys)| (place(row), keys))
        })
    }

    /// The sorted keys of an index, in runs that were filled in turns.
    fn runs(&self, index: usize, memory: &Memory, temp_dir: &std::path::Path) -> Runs {
        let key_len = self.fixed[index].then_some(2 + Place::BYTES);
        let shape = EntryShape { key_len, tail_len: Place::BYTES, payload: false };
        let options = StoreOptions {
            memory_bytes_max: RunStore::memory_bytes_min(&shape, memory.threads) + (64 << 10),
            temp_dir: temp_dir.to_owned(),
            threads: memory.threads,
            stop: Interrupt::default().flag(),
        };
        let store = RunStore::with_options(shape, options).unwrap();
        let mut buffers = [SortBuffer::new(shape), SortBuffer::new(shape)];
        let mut ordinal = 0;
        for (number, (place, keys)) in self.rows().enumerate() {
            let buffer = &mut buffers[number / 3 % 2];
            let Some(key) = keys[index] else { continue };
            // Of several lengths, none the beginning of another.
            let mut bytes = key.to_be_bytes().to_vec();
            if !self.fixed[index] {
                bytes.extend(std::iter::repeat_n(b'x', usize::from(key % 5) * 7));
                bytes.push(0);
            }
            bytes.extend_from_slice(&place.to_bytes());
            buffer.push(&bytes, &[]);
            if buffer.len() >= self.run_rows {
                ordinal += 1;
                store.add(buffer.sort(ordinal)).unwrap();
            }
        }
        for mut buffer in buffers {
            ordinal += 1;
            store.add(buffer.sort(ordinal)).unwrap();
        }
        store.finish().unwrap()
    }

    /// True if the keys of the first index ascend in the rows that stay.
    fn is_in_order_without(&self, losers: &Losers) -> bool {
        let gone: Vec<Place> = all_of(losers).iter().map(|loser| loser.place).collect();
        let kept = self.rows().filter(|(place, _)| !gone.contains(place));
        // With NULLs it is no clustered index, and they are not looked at.
        kept.filter_map(|(_, keys)| keys[0]).is_sorted()
    }

    /// The server's result.
    fn model(&self, on_duplicate: OnDuplicate) -> Vec<Loser> {
        let mut present: Vec<HashMap<u16, (Place, &Row)>> = vec![HashMap::new(); self.fixed.len()];
        let mut losers = Vec::new();
        for (place, row) in self.rows() {
            let keys = || row.iter().enumerate().filter_map(|(index, key)| Some((index, (*key)?)));
            let mut is_kept = true;
            for (index, key) in keys() {
                let Some(&(other, other_row)) = present[index].get(&key) else { continue };
                let index = index as u16;
                if on_duplicate == OnDuplicate::Skip {
                    losers.push(Loser { place, index, winner: other });
                    is_kept = false;
                    break;
                }
                losers.push(Loser { place: other, index, winner: place });
                for (index, key) in other_row.iter().enumerate() {
                    key.and_then(|key| present[index].remove(&key));
                }
            }
            if is_kept {
                for (index, key) in keys() {
                    present[index].insert(key, (place, row));
                }
            }
        }
        losers.sort_by_key(|loser| loser.place);
        losers
    }
}

fn input() -> impl Strategy<Value = Input> {
    (1_usize..5, 1_u16..60).prop_flat_map(|(indexes, values)| {
        let key = move |index: usize| {
            // The first is a primary key now and then: never NULL.
            let null = if index == 0 && values % 2 == 0 { 0 } else { 1 };
            prop_oneof![8 => (0..values).prop_map(Some), null => Just(None)]
        };
        let row = (0..indexes).map(key).collect::<Vec<_>>();
        let rows = prop::collection::vec(row, 0..120);
        (
            prop::collection::vec(rows, 1..4),
            0_u64..3,
            1_usize..50,
            prop::collection::vec(any::<bool>(), indexes),
        )
            .prop_map(|(files, lines, run_rows, fixed)| Input {
                files,
                lines,
                run_rows,
                fixed,
            })
    })
}

fn memory(threads: usize, run_bytes: usize) -> Memory {
    Memory {
        threads,
        chunk_bytes: 0,
        record_bytes_max: 0,
        batch_bytes: 300,
        entry_bytes: 500,
        run_bytes,
    }
}

fn resolve(input: &Input, on_duplicate: OnDuplicate, memory: &Memory) -> Resolved {
    let folder = tempfile::tempdir().unwrap();
    let interrupt = Interrupt::default();
    let resolver = Resolver {
        on_duplicate,
        memory,
        temp_dir: folder.path().to_owned(),
        interrupt: &interrupt,
        indexes: (0..input.fixed.len() as u16).collect(),
        old: None,
    };
    let runs = (0..input.fixed.len()).map(|index| input.runs(index, memory, folder.path()));
    let resolved = resolver.resolve(runs.collect()).unwrap();
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "files have no names");
    resolved
}

fn all_of(losers: &Losers) -> Vec<Loser> {
    let mut stream = losers.stream().unwrap();
    let mut all = Vec::new();
    while let Some(loser) = stream.next_before(u32::MAX, u64::MAX).unwrap() {
        all.push(loser);
    }
    assert_eq!(all.len() as u64, losers.count());
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn losers_are_those_of_a_server(input in input(), threads in 1_usize..4, spill: bool) {
        for on_duplicate in [OnDuplicate::Skip, OnDuplicate::Replace] {
            let memory = memory(threads, if spill { 100 << 10 } else { 1 << 20 });
            let Resolved { losers, is_in_order, .. } = resolve(&input, on_duplicate, &memory);
            prop_assert_eq!(all_of(&losers), input.model(on_duplicate), "{:?}", on_duplicate);
            prop_assert!(losers.are_rows_of(&losers).unwrap());
            if input.fixed.len() == 1 {
                prop_assert_eq!(is_in_order, input.is_in_order_without(&losers));
            }
        }
    }
}

/// Many losers in little memory: runs are spilled, and the tables of a replay and the list of
/// losers are files.
#[test]
fn many_losers_spill() {
    let rows = |file: u16| {
        (0..20_000_u16)
            .map(|row| vec![Some(row), Some((row % 9_000 * 7 + file) % 19_000), None])
            .collect()
    };
    let input = Input {
        files: vec![rows(0), rows(1), rows(2)],
        lines: 1,
        run_rows: 2000,
        fixed: vec![true, false, true],
    };
    let memory = Memory { entry_bytes: 50_000, batch_bytes: 100_000, ..memory(2, 1 << 20) };
    for on_duplicate in [OnDuplicate::Skip, OnDuplicate::Replace] {
        let Resolved { losers, .. } = resolve(&input, on_duplicate, &memory);
        assert_eq!(all_of(&losers), input.model(on_duplicate));
        assert!(losers.count() > 10_000);
        assert!(losers.count() as usize * Loser::BYTES > memory.run_bytes);
    }
}
