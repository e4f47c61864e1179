//! Ranges of sorted runs, which workers take one after the other.

use std::ops::Range;

use job::memory::Memory;
use sort::{KeyRange, Runs};

use crate::old::{OldFile, OldTable};
use crate::order::partition_prefix;

/// One range of one index.
#[derive(Debug)]
pub(crate) struct Task {
    /// Index into the runs.
    pub(crate) slot: usize,
    /// The tablespace that it is for.
    pub(crate) space: usize,
    pub(crate) range: KeyRange,
    /// Its range in the old index, if the table has rows.
    pub(crate) old: Option<OldRange>,
    /// True for the last range of its index.
    pub(crate) is_last: bool,
}

/// A range of an old index, whose keys have no partition before them.
#[derive(Debug)]
pub(crate) struct OldRange {
    pub(crate) range: KeyRange,
    /// Leaves that have keys of it.
    pub(crate) leaves: Range<usize>,
}

/// Where the entries of one tablespace are.
struct Place<'a> {
    /// The prefix of their keys, and of those behind them; empty in a table without partitions.
    prefix: Vec<u8>,
    behind: Option<Vec<u8>>,
    /// The file that it takes over.
    old: Option<&'a OldFile>,
}

/// Ranges for each worker, so that all of them end at about one time.
const RANGES_OF_WORKER: u64 = 4;

/// How large ranges are to be of so many bytes of entries: what a worker builds before it hands it on, and
/// down to a quarter of that where some workers would have nothing to do. Where a range ends, a page is not
/// filled.
pub(crate) fn range_bytes(total_bytes: u64, memory: &Memory) -> usize {
    let most = memory.batch_bytes as u64;
    (total_bytes / (memory.threads as u64 * RANGES_OF_WORKER)).clamp(most / 4, most) as usize
}

/// Cuts all runs into ranges of about `range_bytes`, index by index, with the part of the old table
/// in each. An index without entries still has one range, so that it is finished. With keys of so
/// many `partitions`, each of these has its own ranges, all indexes of one before those of the
/// next, unless old rows are merged of one only.
pub(crate) fn tasks(
    runs: &[Runs],
    old: Option<&OldTable>,
    range_bytes: usize,
    partitions: Option<usize>,
) -> Vec<Task> {
    let all: Vec<Vec<KeyRange>> = runs.iter().map(|runs| runs.ranges(range_bytes)).collect();
    let mut tasks = Vec::new();
    for (space, place) in places(old, partitions).iter().enumerate() {
        for (slot, ranges) in all.iter().enumerate() {
            let task = |(range, old)| Task { slot, space, range, old, is_last: false };
            tasks.extend(place.ranges(ranges, slot, range_bytes).into_iter().map(task));
            if let Some(task) = tasks.last_mut() {
                task.is_last = true;
            }
        }
    }
    tasks
}

/// The tablespaces that are built.
fn places(old: Option<&OldTable>, partitions: Option<usize>) -> Vec<Place<'_>> {
    let file = |at: usize| old.and_then(|old| old.files.get(at));
    match (partitions, old.and_then(|old| old.partition)) {
        (None, _) => vec![Place { prefix: Vec::new(), behind: None, old: file(0) }],
        (Some(_), Some(partition)) => vec![Place::of(partition, file(0))],
        (Some(count), None) => (0..count).map(|at| Place::of(at, file(at))).collect(),
    }
}

impl<'a> Place<'a> {
    fn of(partition: usize, old: Option<&'a OldFile>) -> Place<'a> {
        let prefix = |partition| partition_prefix(partition).to_vec();
        Place { prefix: prefix(partition), behind: Some(prefix(partition + 1)), old }
    }

    /// Its part of the ranges of an index, which hold all new keys, or such a part by the leaves of the
    /// old one; at least one.
    fn ranges(
        &self,
        new: &[KeyRange],
        slot: usize,
        range_bytes: usize,
    ) -> Vec<(KeyRange, Option<OldRange>)> {
        let new = new.iter().filter(|range| self.has(range)).map(|range| self.without(range));
        let Some(old) = self.old else {
            return new.map(|range| (self.with(&range), None)).collect();
        };
        let ranges = old.indexes[slot].ranges(new.collect(), range_bytes).into_iter();
        let both = |(range, leaves)| (self.with(&range), Some(OldRange { range, leaves }));
        ranges.map(both).collect()
    }

    fn has(&self, range: &KeyRange) -> bool {
        let begins = self.behind.as_ref().is_none_or(|behind| range.start < *behind);
        begins && range.end.as_ref().is_none_or(|end| *end > self.prefix)
    }

    /// Its part of a range, of what keys have behind their prefix.
    fn without(&self, range: &KeyRange) -> KeyRange {
        let rest = |key: &Vec<u8>| key.strip_prefix(&self.prefix[..]).map(<[u8]>::to_vec);
        KeyRange {
            start: rest(&range.start).unwrap_or_default(),
            end: range.end.as_ref().and_then(rest),
            bytes: range.bytes,
        }
    }

    /// The whole keys of such a range.
    fn with(&self, range: &KeyRange) -> KeyRange {
        let whole = |key: &Vec<u8>| [&self.prefix[..], key].concat();
        KeyRange {
            start: whole(&range.start),
            end: range.end.as_ref().map(whole).or_else(|| self.behind.clone()),
            bytes: range.bytes,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn range(start: &[u8], end: Option<&[u8]>) -> KeyRange {
        KeyRange { start: start.to_vec(), end: end.map(<[u8]>::to_vec), bytes: 7 }
    }

    /// The ranges of one partition, or of a table without any.
    fn parts(partition: Option<usize>, ranges: &[KeyRange]) -> Vec<KeyRange> {
        let whole = || Place { prefix: Vec::new(), behind: None, old: None };
        let place = partition.map_or_else(whole, |at| Place::of(at, None));
        place.ranges(ranges, 0, 1).into_iter().map(|(range, _)| range).collect()
    }

    #[test]
    fn each_worker_has_a_range_where_there_are_entries_enough() {
        let memory = Memory::split(1 << 30, 2).unwrap();
        let ranges = |total: u64| total.div_ceil(range_bytes(total, &memory) as u64);
        assert_eq!(memory.batch_bytes, 12 << 20);
        assert_eq!([100, 3 << 20, 15 << 20, 64 << 20].map(ranges), [1, 1, 5, 8]);
        assert_eq!(range_bytes(1 << 40, &memory), memory.batch_bytes);
    }

    #[test]
    fn each_partition_has_its_part_of_the_ranges() {
        let ranges =
            [range(&[], Some(&[0, 1, 5])), range(&[0, 1, 5], Some(&[0, 2])), range(&[0, 2], None)];
        let of = |partition| parts(Some(partition), &ranges);
        assert_eq!(of(0), [range(&[0, 0], Some(&[0, 1]))]);
        assert_eq!(of(1), [range(&[0, 1], Some(&[0, 1, 5])), range(&[0, 1, 5], Some(&[0, 2]))]);
        assert_eq!(of(2), [range(&[0, 2], Some(&[0, 3]))]);
        assert_eq!(of(255), [range(&[0, 255], Some(&[1, 0]))]);
        assert_eq!(parts(None, &ranges), ranges);
    }

    #[test]
    fn ranges_have_the_same_keys_without_their_prefix() {
        let place = Place::of(3, None);
        let whole = range(&[0, 3, 7], Some(&[0, 3, 9]));
        assert_eq!(place.without(&whole), range(&[7], Some(&[9])));
        assert_eq!(place.with(&place.without(&whole)), whole);
        let wider = range(&[0, 2], Some(&[0, 9]));
        assert_eq!(place.without(&wider), range(&[], None));
        assert_eq!(place.with(&range(&[], None)), range(&[0, 3], Some(&[0, 4])));
    }
}
