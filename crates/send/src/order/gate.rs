//! The gate itself: who has arrived, whose keys are not done, and who waits for them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use job::stop::Stop;

use crate::order::ChunkKeys;
use crate::sync::{Condvar, Mutex, MutexGuard};

/// Lets chunks through, in input order where they share keys.
#[derive(Debug, Default)]
pub(crate) struct OrderGate {
    inner: Mutex<Inner>,
    moved: Condvar,
}

#[derive(Debug, Default)]
struct Inner {
    /// All chunks before this one have arrived.
    frontier: u64,
    /// Those that have arrived from there on: some before them have not.
    early: BTreeSet<u64>,
    /// The keys of chunks that are not done.
    present: BTreeMap<u64, Arc<ChunkKeys>>,
    closed: bool,
}

/// The right to load a chunk. Dropping it without [`Pass::done`] keeps those that share keys with
/// the chunk waiting.
#[derive(Debug)]
#[must_use]
pub(crate) struct Pass<'a> {
    gate: &'a OrderGate,
    ordinal: u64,
}

impl OrderGate {
    /// A gate that chunk 0 has yet to reach.
    pub(crate) fn new() -> OrderGate {
        OrderGate::default()
    }

    /// Waits until no earlier chunk that is not done may share a key with this one. Each ordinal
    /// must come once, here or to [`OrderGate::pass_over`].
    ///
    /// Errors: [`Stop::Abandoned`] if the gate was closed.
    pub(crate) fn enter(&self, ordinal: u64, keys: ChunkKeys) -> Result<Pass<'_>, Stop> {
        let keys = Arc::new(keys);
        let mut inner = self.inner.lock();
        inner.present.insert(ordinal, Arc::clone(&keys));
        self.arrive(&mut inner, ordinal);
        // From here on a return without a pass leaves a chunk that is never done.
        while inner.frontier < ordinal && !inner.closed {
            inner = self.wait(inner);
        }
        let earlier: Vec<(u64, Arc<ChunkKeys>)> =
            inner.present.range(..ordinal).map(|(&at, keys)| (at, Arc::clone(keys))).collect();
        drop(inner);
        // No more can come before this one, and comparing takes a while.
        let met = earlier.iter().filter(|(_, theirs)| theirs.may_meet(&keys)).map(|(at, _)| *at);
        let met: Vec<u64> = met.collect();
        let mut inner = self.inner.lock();
        while !inner.closed && met.iter().any(|at| inner.present.contains_key(at)) {
            inner = self.wait(inner);
        }
        if inner.closed {
            return Err(Stop::Abandoned);
        }
        Ok(Pass { gate: self, ordinal })
    }

    /// Tells that a chunk has nothing to load: all its rows were refused, or an earlier run of
    /// the load has committed it. Does not wait.
    pub(crate) fn pass_over(&self, ordinal: u64) {
        let mut inner = self.inner.lock();
        self.arrive(&mut inner, ordinal);
    }

    /// Turns everybody away from now on.
    pub(crate) fn close(&self) {
        self.inner.lock().closed = true;
        self.moved.notify_all();
    }

    fn arrive(&self, inner: &mut Inner, ordinal: u64) {
        inner.early.insert(ordinal);
        while inner.early.remove(&inner.frontier) {
            inner.frontier += 1;
        }
        self.moved.notify_all();
    }

    fn wait<'a>(&self, inner: MutexGuard<'a, Inner>) -> MutexGuard<'a, Inner> {
        self.moved.wait(inner)
    }
}

impl Pass<'_> {
    /// The chunk is committed.
    pub(crate) fn done(self) {
        self.gate.inner.lock().present.remove(&self.ordinal);
        self.gate.moved.notify_all();
    }
}
