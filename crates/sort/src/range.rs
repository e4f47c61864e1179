//! Cuts the keys of all runs into ranges of about equal size.
//!
//! The runs are sorted, so a key every so many bytes of a run tells exactly how much of it lies
//! below. The samples of all runs, in order, are a table of how many bytes lie below each key; its
//! rows at the multiples of the wanted size are the boundaries.

use std::borrow::Cow;

use crate::entry::EntryShape;
use crate::file::RunFile;
use crate::merge::MergeRuns;

/// Samples for each range. The more, the more equal the ranges.
const SAMPLES_PER_RANGE: usize = 64;

/// Keys from one on and before another. Ranges of [`crate::Runs::ranges`] are disjoint and, together,
/// hold every entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRange {
    /// Least key, or a lower bound of it; empty before all keys.
    pub start: Vec<u8>,
    /// Keys of the range are less than this; None after all keys.
    pub end: Option<Vec<u8>>,
    /// Bytes of the entries in the range, an estimate.
    pub bytes: u64,
}

impl KeyRange {
    /// All keys.
    pub fn all() -> KeyRange {
        KeyRange { start: Vec::new(), end: None, bytes: 0 }
    }
}

/// Cuts the keys of runs into ranges: see [`crate::Runs::ranges`].
pub(crate) fn cut(shape: EntryShape, runs: MergeRuns<'_>, bytes_per_range: usize) -> Vec<KeyRange> {
    let step = (bytes_per_range / SAMPLES_PER_RANGE).max(1);
    let mut samples: Vec<(Cow<'_, [u8]>, u64)> =
        runs.memory.iter().flat_map(|run| run.samples(step)).collect();
    samples.extend(runs.files.iter().flat_map(RunFile::samples));
    samples.sort_unstable();
    let boundary = |key: &[u8]| key.len().saturating_sub(shape.tail_len);
    let mut ranges = Vec::new();
    let mut range = KeyRange::all();
    // Samples that would make the same boundary stay together, right of it.
    for equals in samples.chunk_by(|(a, _), (b, _)| a[..boundary(a)] == b[..boundary(b)]) {
        if range.bytes >= bytes_per_range as u64 {
            let (key, _) = &equals[0];
            let start = key[..boundary(key)].to_vec();
            range.end = Some(start.clone());
            ranges.push(std::mem::replace(&mut range, KeyRange { start, end: None, bytes: 0 }));
        }
        range.bytes += equals.iter().map(|(_, bytes)| bytes).sum::<u64>();
    }
    ranges.push(range);
    debug_assert!(ranges.is_sorted_by(|a, b| a.end.as_ref() == Some(&b.start)));
    ranges
}
