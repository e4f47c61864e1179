//! Waits of threads for each other, in every order in which they can come: the turnstile, the gate of chunks,
//! and the budgets of memory.
//!
//! The files are the product's own, with loom's locks in place of the standard library's. Each model
//! is a few threads; loom runs it once for every order that makes a difference, and fails where
//! nobody can go on.
#![allow(dead_code, unused_imports, unreachable_pub, clippy::unwrap_used, clippy::expect_used)]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use job::memory::{ConnectionShares, Memory};
use job::options::LoadPath;
use loom::sync::Arc;
use loom::thread;

/// Imports of the files below: loom's locks, with the functions of those in crate `locks`.
mod sync {
    pub(crate) use loom::sync::MutexGuard;

    #[derive(Debug, Default)]
    pub(crate) struct Mutex<T>(loom::sync::Mutex<T>);

    impl<T> Mutex<T> {
        pub(crate) fn new(value: T) -> Mutex<T> {
            Mutex(loom::sync::Mutex::new(value))
        }

        pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
            self.0.lock().unwrap()
        }

        pub(crate) fn into_inner(self) -> T {
            self.0.into_inner().unwrap()
        }
    }

    #[derive(Debug, Default)]
    pub(crate) struct Condvar(loom::sync::Condvar);

    impl Condvar {
        pub(crate) fn new() -> Condvar {
            Condvar(loom::sync::Condvar::new())
        }

        pub(crate) fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
            self.0.wait(guard).unwrap()
        }

        pub(crate) fn notify_one(&self) {
            self.0.notify_one();
        }

        pub(crate) fn notify_all(&self) {
            self.0.notify_all();
        }
    }
}

/// Keys of a chunk, instead of the product's: those with a bit in common may meet.
mod order {
    #[derive(Debug)]
    pub(crate) struct ChunkKeys(pub(crate) u8);

    impl ChunkKeys {
        pub(crate) fn may_meet(&self, other: &ChunkKeys) -> bool {
            self.0 & other.0 != 0
        }
    }
}

#[path = "../../../send/src/budget.rs"]
mod budget;
#[path = "../../../send/src/order/gate.rs"]
mod gate;
#[path = "../../../encode/src/long_records.rs"]
mod long_records;
#[path = "../../../job/src/turn.rs"]
mod turn;

use order::ChunkKeys;

const MODELS: [(&str, fn()); 7] = [
    ("tickets pass in order", tickets_pass_in_order),
    ("a closed turnstile turns all away", a_closed_turnstile_turns_all_away),
    ("chunks of one key go in order", chunks_of_one_key_go_in_order),
    ("a chunk passed over holds up nobody", a_chunk_passed_over_holds_up_nobody),
    ("a closed gate turns all away", a_closed_gate_turns_all_away),
    ("connections keep to their budget", connections_keep_to_their_budget),
    ("long records keep to theirs", long_records_keep_to_theirs),
];

fn main() {
    for (name, model) in MODELS {
        let begun = Instant::now();
        let orders = std::sync::Arc::new(AtomicUsize::new(0));
        let counted = std::sync::Arc::clone(&orders);
        let mut builder = loom::model::Builder::new();
        // Mistakes need few threads that are stopped in mid-work. LOOM_MAX_PREEMPTIONS=3 has more.
        builder.preemption_bound.get_or_insert(2);
        builder.check(move || {
            counted.fetch_add(1, Ordering::Relaxed);
            model();
        });
        let orders = orders.load(Ordering::Relaxed);
        assert!(orders > 1, "{name}: only one order was tried");
        println!("{name}: {orders} orders, {:.1} s", begun.elapsed().as_secs_f64());
    }
}

/// Runs `work` in a thread for each of `shares`, and waits for all.
fn threads<T: 'static, S: 'static>(
    with: &Arc<T>,
    shares: Vec<S>,
    work: impl Fn(&T, S) + Clone + 'static,
) {
    let begin = |share| {
        let (with, work) = (Arc::clone(with), work.clone());
        thread::spawn(move || work(&with, share))
    };
    let all: Vec<_> = shares.into_iter().map(begin).collect();
    all.into_iter().for_each(|thread| thread.join().unwrap());
}

fn tickets_pass_in_order() {
    let gate = Arc::new(turn::Turnstile::new(Vec::new()));
    threads(&gate, vec![2, 1, 0], |gate, ticket| {
        let mut turn = gate.wait(ticket).unwrap();
        turn.state().push(ticket);
        turn.pass();
    });
    assert_eq!(Arc::try_unwrap(gate).unwrap().into_state(), [0, 1, 2]);
}

/// Ticket 0 fails: the others are turned away, wherever they are.
fn a_closed_turnstile_turns_all_away() {
    let gate = Arc::new(turn::Turnstile::new(()));
    threads(&gate, vec![0, 1, 2], |gate, ticket| match ticket {
        0 => gate.close(),
        _ => assert!(gate.wait(ticket).is_err()),
    });
}

/// The second waits for the first, whose key it shares; the third for nobody's key.
fn chunks_of_one_key_go_in_order() {
    let all = Arc::new((gate::OrderGate::new(), sync::Mutex::new(Vec::new())));
    threads(&all, vec![(1, 0b01), (2, 0b10), (0, 0b01)], |(gate, done), (ordinal, keys)| {
        let pass = gate.enter(ordinal, ChunkKeys(keys)).unwrap();
        done.lock().push(ordinal);
        pass.done();
    });
    let done = all.1.lock().clone();
    let at = |ordinal| done.iter().position(|&other| other == ordinal).unwrap();
    assert!(at(0) < at(1), "{done:?}");
}

fn a_chunk_passed_over_holds_up_nobody() {
    let gate = Arc::new(gate::OrderGate::new());
    threads(&gate, vec![2, 1, 0], |gate, ordinal| match ordinal {
        1 => gate.pass_over(1),
        _ => gate.enter(ordinal, ChunkKeys(1)).unwrap().done(),
    });
}

/// The first has failed with its keys at hand, and closes the gate.
fn a_closed_gate_turns_all_away() {
    let gate = Arc::new(gate::OrderGate::new());
    threads(&gate, vec![0, 1, 3], |gate, ordinal| match ordinal {
        0 => {
            let pass = gate.enter(0, ChunkKeys(1));
            drop(pass);
            gate.close();
        }
        // One of the same key, one behind a chunk that never comes.
        _ => assert!(gate.enter(ordinal, ChunkKeys(1)).is_err()),
    });
}

/// A long record and two short ones, which are read by one connection at a time.
fn connections_keep_to_their_budget() {
    let shares = ConnectionShares::of(64 << 20, 0, LoadPath::Stream, None, None).unwrap();
    let budget = budget::Budget::new(&ConnectionShares { bytes: 10, copies: 2, ..shares });
    let all = Arc::new((budget, sync::Mutex::new(()), sync::Mutex::new(0)));
    threads(&all, vec![2, 100, 3], |(budget, reading, used), chunk_bytes| {
        let turn = reading.lock();
        let loan = budget.borrow(chunk_bytes);
        drop(turn);
        let bytes = (2 * chunk_bytes).min(10);
        let mut inside = used.lock();
        *inside += bytes;
        assert!(*inside <= 10, "{} bytes are in use", *inside);
        drop(inside);
        *used.lock() -= bytes;
        drop(loan);
    });
}

/// Two that fit together, and one longer than all may be, which goes alone.
fn long_records_keep_to_theirs() {
    let memory = Memory::split(64 << 20, 2).unwrap();
    let memory = Memory { chunk_bytes: 1, record_bytes_max: 100, ..memory };
    let all = Arc::new((long_records::LongRecords::new(&memory), sync::Mutex::new(0)));
    threads(&all, vec![40, 120, 60], |(large, used), bytes| {
        let pass = large.enter_if_large(bytes).unwrap();
        let mut inside = used.lock();
        *inside += bytes;
        assert!(*inside <= 100 || *inside == bytes, "{} bytes are in use", *inside);
        drop(inside);
        *used.lock() -= bytes;
        drop(pass);
    });
}
