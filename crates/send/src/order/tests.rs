//! The gate against a model: whatever connections do, rows of one key are loaded in input order.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use locks::Mutex;
use proptest::prelude::*;

use super::*;

/// Keys of a chunk in each of two indexes; none if they are unknown.
type Keys = [Option<Vec<u8>>; 2];

fn chunk_keys(keys: &Keys) -> ChunkKeys {
    let index = |keys: &Option<Vec<u8>>| match keys {
        None => IndexKeys::Any,
        Some(keys) => {
            let mut set = KeySet::default();
            keys.iter().for_each(|key| set.push(&[*key]));
            IndexKeys::These(set.finish())
        }
    };
    ChunkKeys::of(keys.iter().map(index).collect())
}

/// Loads the chunks in so many connections, and gives who came to each key, in the order they came.
/// Key 256 is touched by chunks whose keys are unknown.
fn load(chunks: &[Keys], connections: usize) -> HashMap<(usize, u16), Vec<u64>> {
    let gate = OrderGate::new();
    let next = AtomicU64::new(0);
    let table = Mutex::new(HashMap::<(usize, u16), Vec<u64>>::new());
    let connection = || loop {
        let ordinal = next.fetch_add(1, Ordering::SeqCst);
        let Some(keys) = chunks.get(ordinal as usize) else { return };
        // Encoding takes longer for some.
        std::thread::sleep(Duration::from_micros(u64::from(ordinal.is_multiple_of(3)) * 50));
        if ordinal % 7 == 6 {
            gate.pass_over(ordinal);
            continue;
        }
        let pass = gate.enter(ordinal, chunk_keys(keys)).unwrap();
        for (index, keys) in keys.iter().enumerate() {
            let keys = keys.as_ref().map_or(vec![256], |keys| {
                keys.iter().map(|key| u16::from(*key)).collect::<Vec<_>>()
            });
            for key in keys {
                table.lock().entry((index, key)).or_default().push(ordinal);
                std::thread::yield_now();
            }
        }
        pass.done();
    };
    std::thread::scope(|scope| {
        (0..connections).for_each(|_| drop(scope.spawn(connection)));
    });
    table.into_inner()
}

fn keys() -> impl Strategy<Value = Keys> {
    let index = || {
        prop_oneof![
            9 => prop::collection::vec(0_u8..40, 0..4).prop_map(Some),
            1 => Just(None)
        ]
    };
    (index(), index()).prop_map(|(a, b)| [a, b])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn rows_of_one_key_are_loaded_in_input_order(
        chunks in prop::collection::vec(keys(), 0..40),
        connections in 1_usize..9,
    ) {
        let loaded = load(&chunks, connections);
        for ((index, key), ordinals) in &loaded {
            prop_assert!(ordinals.is_sorted(), "index {}, key {}: {:?}", index, key, ordinals);
        }
        let touches: usize = chunks
            .iter()
            .enumerate()
            .filter(|(ordinal, _)| ordinal % 7 != 6)
            .flat_map(|(_, keys)| keys.iter())
            .map(|keys| keys.as_ref().map_or(1, Vec::len))
            .sum();
        prop_assert_eq!(loaded.values().map(Vec::len).sum::<usize>(), touches);
    }
}

#[test]
fn chunks_that_share_no_key_run_side_by_side() {
    let gate = OrderGate::new();
    let of = |key: u8| chunk_keys(&[Some(vec![key]), Some(vec![])]);
    let first = gate.enter(0, of(1)).unwrap();
    let second = gate.enter(1, of(2)).unwrap();
    let entered = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // Shares a key with the first: waits for it, but not for the second.
            let third = gate.enter(2, of(1)).unwrap();
            entered.store(1, Ordering::SeqCst);
            third.done();
        });
        std::thread::sleep(Duration::from_millis(20));
        assert_eq!(entered.load(Ordering::SeqCst), 0);
        first.done();
    });
    assert_eq!(entered.into_inner(), 1);
    second.done();
}

#[test]
fn whoever_waits_for_a_chunk_that_fails_is_turned_away_by_the_closed_gate() {
    let gate = OrderGate::new();
    let of = |key: u8| chunk_keys(&[Some(vec![key]), None]);
    let first = gate.enter(0, of(1)).unwrap();
    std::thread::scope(|scope| {
        // One waits for the first, one for a chunk that never comes.
        let waiting = scope.spawn(|| gate.enter(1, of(1)).is_err());
        let early = scope.spawn(|| gate.enter(3, of(9)).is_err());
        drop(first);
        std::thread::sleep(Duration::from_millis(20));
        assert!(!waiting.is_finished() && !early.is_finished());
        gate.close();
        assert!(waiting.join().unwrap() && early.join().unwrap());
    });
    assert!(gate.enter(2, of(5)).is_err());
}
