//! A sorted run in memory.

use crate::entry::{EntryAt, EntryShape};

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
    /// The entries, one after the other, encoded as in [`crate::entry`].
    pub(crate) bytes: Vec<u8>,
    /// Offset of every [`MARK_EVERY`]th entry; empty where offsets are multiples of the stride.
    pub(crate) marks: Vec<u64>,
    /// Bytes of the longest entry.
    pub(crate) entry_bytes_max: usize,
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

    /// Whether the run has no entries.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Memory the run holds, in bytes: capacities, not lengths.
    pub fn memory_bytes(&self) -> usize {
        self.bytes.capacity() + self.marks.capacity() * size_of::<u64>() + RUN_OVERHEAD_BYTES
    }

    /// Offset of the first entry whose key is not less than `bound`.
    pub(crate) fn lower_bound(&self, bound: &[u8]) -> usize {
        if let Some(stride) = self.shape.stride() {
            return lower_bound_fixed(&self.bytes, stride, bound);
        }
        let after = self.marks.partition_point(|&mark| {
            self.entry(mark as usize).is_some_and(|entry| self.key(&entry) < bound)
        });
        let start = after.checked_sub(1).map_or(0, |mark| self.marks[mark] as usize);
        lower_bound_scan(&self.shape, &self.bytes, start, false, bound)
    }

    /// Keys about `step` bytes of entries apart, each with the bytes it stands for.
    pub(crate) fn samples(&self, step: usize) -> Vec<(&[u8], u64)> {
        let mut samples = Vec::new();
        if let Some(stride) = self.shape.stride() {
            let step = (step / stride).max(1) * stride;
            for start in (0..self.bytes.len()).step_by(step) {
                let bytes = step.min(self.bytes.len() - start);
                samples.push((&self.bytes[start..start + stride], bytes as u64));
            }
            return samples;
        }
        let mut taken = None;
        for &mark in self.marks.iter().chain(&[self.bytes.len() as u64]) {
            if let Some(start) = taken {
                if mark - start < step as u64 && mark < self.bytes.len() as u64 {
                    continue;
                }
                if let Some(entry) = self.entry(start as usize) {
                    samples.push((self.key(&entry), mark - start));
                }
            }
            taken = Some(mark);
        }
        samples
    }

    fn entry(&self, at: usize) -> Option<EntryAt> {
        self.shape.decode(&self.bytes, at, false)
    }

    fn key(&self, entry: &EntryAt) -> &[u8] {
        &self.bytes[entry.key..entry.key_end]
    }
}

/// Offset of the first key of an ascending array that is not less than `bound`.
pub(crate) fn lower_bound_fixed(keys: &[u8], stride: usize, bound: &[u8]) -> usize {
    let (mut low, mut high) = (0, keys.len() / stride);
    while low < high {
        let middle = low.midpoint(high);
        if &keys[middle * stride..][..stride] < bound {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low * stride
}

/// The same among encoded entries, looking at each from `start` on.
pub(crate) fn lower_bound_scan(
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
