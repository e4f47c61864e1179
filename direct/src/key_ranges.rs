//! Ranges of sorted runs, which workers take one after the other.

use std::ops::Range;

use sort::{KeyRange, Runs};

use crate::old::{OldIndex, OldTable};
use crate::order::partition_prefix;

/// One range of one index.
#[derive(Debug)]
pub(crate) struct Task {
    /// Index into the runs.
    pub(crate) slot: usize,
    /// The tablespace that it is for.
    pub(crate) space: usize,
    pub(crate) range: KeyRange,
    /// What an old index has of it, in a table that has rows already.
    pub(crate) old: Option<OldRange>,
    /// Whether it is the last of its index.
    pub(crate) is_last: bool,
}

/// A range of an old index, whose keys have no partition before them.
#[derive(Debug)]
pub(crate) struct OldRange {
    pub(crate) range: KeyRange,
    /// Leaves that have keys of it.
    pub(crate) leaves: Range<usize>,
}

/// Cuts all runs into ranges of about `range_bytes`, index by index, with what an old table has of each.
/// An index without entries still has one range, so that somebody finishes it. Of keys of so many
/// `partitions`, each of these has its own, all indexes of one before those of the next; of old rows
/// there is the one that they are of.
pub(crate) fn tasks(
    runs: &[Runs],
    old: Option<&OldTable>,
    range_bytes: usize,
    partitions: Option<usize>,
) -> Vec<Task> {
    match (old, partitions) {
        (None, Some(count)) => tasks_of_each(runs, range_bytes, count),
        (Some(old), Some(_)) => {
            let prefix = partition_prefix(old.partition.unwrap_or(0));
            tasks_of_one(runs, Some((&old.indexes, &prefix)), range_bytes)
        }
        (old, None) => tasks_of_one(runs, old.map(|old| (&old.indexes[..], &[][..])), range_bytes),
    }
}

fn tasks_of_each(runs: &[Runs], range_bytes: usize, partitions: usize) -> Vec<Task> {
    let all: Vec<Vec<KeyRange>> = runs.iter().map(|runs| runs.ranges(range_bytes)).collect();
    let mut tasks: Vec<Task> = Vec::new();
    for space in 0..partitions {
        for (slot, ranges) in all.iter().enumerate() {
            let task = |range| Task { slot, space, range, old: None, is_last: false };
            tasks.extend(of_partition(ranges, space).map(task));
            if let Some(task) = tasks.last_mut() {
                task.is_last = true;
            }
        }
    }
    tasks
}

/// The parts of ranges, which hold all keys, that keys of a partition lie in; at least one.
fn of_partition(ranges: &[KeyRange], partition: usize) -> impl Iterator<Item = KeyRange> {
    let (first, behind) = (partition_prefix(partition), partition_prefix(partition + 1));
    let is_in = move |range: &&KeyRange| {
        range.start.as_slice() < &behind[..]
            && range.end.as_ref().is_none_or(|end| end.as_slice() > &first[..])
    };
    ranges.iter().filter(is_in).map(move |range| KeyRange {
        start: range.start.clone().max(first.to_vec()),
        end: Some(range.end.clone().map_or(behind.to_vec(), |end| end.min(behind.to_vec()))),
        bytes: range.bytes,
    })
}

/// Of one tablespace; with the old indexes, and what keys of new entries have before those of old ones.
fn tasks_of_one(runs: &[Runs], old: Option<(&[OldIndex], &[u8])>, range_bytes: usize) -> Vec<Task> {
    let mut tasks = Vec::new();
    for (slot, runs) in runs.iter().enumerate() {
        let task = |range, old| Task { slot, space: 0, range, old, is_last: false };
        match old.map(|(indexes, prefix)| (&indexes[slot], prefix)) {
            None => {
                let ranges = runs.ranges(range_bytes).into_iter();
                tasks.extend(ranges.map(|range| task(range, None)));
            }
            Some((old, prefix)) => {
                let ranges = old.ranges(runs, prefix, range_bytes).into_iter();
                tasks.extend(ranges.map(|(range, leaves)| {
                    task(behind(prefix, &range), Some(OldRange { range, leaves }))
                }));
            }
        }
        if let Some(task) = tasks.last_mut() {
            task.is_last = true;
        }
    }
    tasks
}

/// The range of the keys that have `prefix` before those of a range.
fn behind(prefix: &[u8], range: &KeyRange) -> KeyRange {
    let whole = |key: &Vec<u8>| [prefix, key].concat();
    KeyRange { start: whole(&range.start), end: range.end.as_ref().map(whole), bytes: range.bytes }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partitions_ranges_are_those_of_its_keys() {
        let range = KeyRange { start: Vec::new(), end: Some(vec![7]), bytes: 5 };
        assert_eq!(behind(&[], &range), range);
        let of_three = behind(&partition_prefix(3), &range);
        assert_eq!((of_three.start, of_three.end), (vec![0, 3], Some(vec![0, 3, 7])));
    }

    #[test]
    fn each_partition_has_its_part_of_the_ranges() {
        let range = |start: &[u8], end: Option<&[u8]>| KeyRange {
            start: start.to_vec(),
            end: end.map(<[u8]>::to_vec),
            bytes: 7,
        };
        let ranges =
            [range(&[], Some(&[0, 1, 5])), range(&[0, 1, 5], Some(&[0, 2])), range(&[0, 2], None)];
        let of = |partition| of_partition(&ranges, partition).collect::<Vec<_>>();
        assert_eq!(of(0), [range(&[0, 0], Some(&[0, 1]))]);
        assert_eq!(of(1), [range(&[0, 1], Some(&[0, 1, 5])), range(&[0, 1, 5], Some(&[0, 2]))]);
        assert_eq!(of(2), [range(&[0, 2], Some(&[0, 3]))]);
        assert_eq!(of(255), [range(&[0, 255], Some(&[1, 0]))]);
    }
}
