//! A sorted run in memory.

use std::borrow::Cow;

use crate::entry::{EntryAt, EntryShape};
use crate::keys::Keys;

/// Bytes counted for a run besides its entries: its struct, and its place in merges.
const RUN_OVERHEAD_BYTES: usize = 512;

/// Entries between two marks of a run whose entries differ in length.
pub(crate) const MARK_EVERY: usize = 64;

/// Entries in ascending order of key, equal keys in the order they were pushed.
#[derive(Debug)]
pub struct MemoryRun {
    pub(crate) shape: EntryShape,
    pub(crate) ordinal: u64,
    pub(crate) count: usize,
    /// Bytes of the longest entry.
    pub(crate) entry_bytes_max: usize,
    pub(crate) entries: Entries,
}

/// The entries of a run, by shape.
#[derive(Debug)]
pub(crate) enum Entries {
    /// Bare keys of one length.
    Keys(Keys),
    /// All others.
    Encoded(EncodedRun),
}

impl MemoryRun {
    /// Number of the chunk the run was made from; equal keys of several runs follow it.
    pub fn ordinal(&self) -> u64 {
        self.ordinal
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.count
    }

    /// True if the run has no entries.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Memory the run holds, in bytes: capacities, not lengths.
    pub fn memory_bytes(&self) -> usize {
        RUN_OVERHEAD_BYTES
            + match &self.entries {
                Entries::Keys(keys) => keys.memory_bytes(),
                Entries::Encoded(run) => run.bytes.capacity() + 8 * run.marks.capacity(),
            }
    }

    /// Bytes of the entries as they were pushed; bare keys take fewer in memory.
    pub fn entry_bytes(&self) -> usize {
        match &self.entries {
            Entries::Keys(keys) => keys.len() * keys.packing.key_len,
            Entries::Encoded(run) => run.bytes.len(),
        }
    }

    /// Keys about `step` bytes of entries apart, each with the bytes it stands for.
    pub(crate) fn samples(&self, step: usize) -> Vec<(Cow<'_, [u8]>, u64)> {
        match &self.entries {
            Entries::Keys(keys) => {
                let len = keys.packing.key_len;
                let step = (step / len).max(1);
                let sample = |start: usize| {
                    let mut key = vec![0; len];
                    keys.key(start, &mut key);
                    (key.into(), (step.min(keys.len() - start) * len) as u64)
                };
                (0..keys.len()).step_by(step).map(sample).collect()
            }
            Entries::Encoded(run) => run.samples(step as u64),
        }
    }
}

impl Entries {
    /// True if every key is not less than the one before.
    pub(crate) fn is_ascending(&self) -> bool {
        match self {
            Entries::Keys(keys) => keys.is_ascending(),
            Entries::Encoded(run) => run.keys().is_sorted(),
        }
    }
}

/// Entries one after the other, encoded as in [`crate::entry`].
#[derive(Debug)]
pub(crate) struct EncodedRun {
    pub(crate) shape: EntryShape,
    pub(crate) bytes: Vec<u8>,
    /// Offset of every [`MARK_EVERY`]th entry.
    pub(crate) marks: Vec<u64>,
}

impl EncodedRun {
    /// Offset of the first entry whose key is not less than `bound`.
    pub(crate) fn lower_bound(&self, bound: &[u8]) -> usize {
        let after = self.marks.partition_point(|&mark| {
            self.entry(mark).is_some_and(|entry| &self.bytes[entry.key..entry.key_end] < bound)
        });
        let start = after.checked_sub(1).map_or(0, |mark| self.marks[mark] as usize);
        lower_bound(&self.shape, &self.bytes, start, false, bound)
    }

    /// All keys.
    fn keys(&self) -> impl Iterator<Item = &[u8]> {
        let mut at = 0;
        std::iter::from_fn(move || {
            let entry = self.entry(at)?;
            at = entry.end as u64;
            Some(&self.bytes[entry.key..entry.key_end])
        })
    }

    fn samples(&self, step: u64) -> Vec<(Cow<'_, [u8]>, u64)> {
        let mut samples = Vec::new();
        let len = self.bytes.len() as u64;
        let mut start = 0;
        for &mark in self.marks.iter().skip(1).chain(&[len]) {
            if mark - start < step && mark < len {
                continue;
            }
            if let Some(entry) = self.entry(start) {
                samples.push((self.bytes[entry.key..entry.key_end].into(), mark - start));
            }
            start = mark;
        }
        samples
    }

    fn entry(&self, at: u64) -> Option<EntryAt> {
        self.shape.decode(&self.bytes, at as usize, false)
    }
}

/// Offset of the first entry from `start` on whose key is not less than `bound`.
pub(crate) fn lower_bound(
    shape: &EntryShape,
    bytes: &[u8],
    start: usize,
    on_disk: bool,
    bound: &[u8],
) -> usize {
    let mut at = start;
    while at < bytes.len() {
        match shape.decode(bytes, at, on_disk) {
            Some(entry) if &bytes[entry.key..entry.key_end] < bound => at = entry.end,
            _ => break,
        }
    }
    at
}
