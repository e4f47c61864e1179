//! Which leaves of an old index have which keys.

use std::ops::Range;

use innodb::ids::{PAGE_SIZE, PageNo};
use innodb::leaves::LeafPointers;
use innodb::record::RecordShape;
use innodb::source::PageSource;
use job::error::Error;
use sort::KeyRange;

use super::keys::{OldKey, OldKeys, unreadable};

/// Leaves that are read at once by a worker.
pub(crate) const READ_PAGES: usize = 64;
/// Keys of leaves that are kept take no more, in all files of a table, so that few leaves are read in
/// vain.
const MARK_BYTES_MAX: usize = 256 << 10;
/// More than most keys take: InnoDB allows 3,072 bytes, and sort keys of texts are longer. Keys can
/// be 27 times as long, of letters with 18 weights: new rows are then read again behind the lock.
const MARK_BYTES_LONGEST: usize = 16 << 10;

/// The leaves of one index, in order of key.
#[derive(Debug)]
pub(crate) struct OldIndex {
    /// Their page numbers.
    pub(crate) leaves: Vec<u32>,
    /// First keys of some, ascending.
    marks: Vec<Mark>,
}

/// No record of leaf `leaf` has a lesser key, and none of the leaf before an equal or greater one.
#[derive(Debug)]
struct Mark {
    leaf: usize,
    key: Vec<u8>,
}

impl OldIndex {
    /// Goes through the level above the leaves, whose node pointers are of shape `node`. `pages` is how
    /// many the file has, which is one of `files`.
    pub(crate) fn read(
        source: &dyn PageSource,
        root: PageNo,
        node: RecordShape,
        keys: &OldKeys<'_>,
        pages: u32,
        files: usize,
    ) -> Result<OldIndex, Error> {
        let mut index = OldIndex { leaves: Vec::new(), marks: Vec::new() };
        let (mut step, mut mark_bytes, mut key) = (1, 0, OldKey::default());
        let mut pointers =
            LeafPointers::with_node(source, root, node, pages).map_err(unreadable)?;
        while let Some(pointer) = pointers.advance().map_err(unreadable)? {
            let leaf = index.leaves.len();
            if let Some((page, fields)) = pointer.key.filter(|_| leaf.is_multiple_of(step)) {
                keys.make_of(page, fields, &mut key)?;
                mark_bytes += key.bytes.len() + size_of::<Mark>();
                index.marks.push(Mark { leaf, key: key.bytes.clone() });
            }
            index.leaves.push(pointer.leaf);
            while mark_bytes > MARK_BYTES_MAX / files && index.marks.len() > 1 {
                step *= 2;
                index.marks.retain(|mark| mark.leaf.is_multiple_of(step));
                let of = |mark: &Mark| mark.key.len() + size_of::<Mark>();
                mark_bytes = index.marks.iter().map(of).sum();
            }
        }
        index.leaves.shrink_to_fit();
        index.marks.shrink_to_fit();
        Ok(index)
    }

    /// Bytes of memory that it takes.
    pub(crate) fn bytes(&self) -> usize {
        let keys: usize = self.marks.iter().map(|mark| mark.key.capacity()).sum();
        self.leaves.capacity() * size_of::<u32>() + self.marks.capacity() * size_of::<Mark>() + keys
    }

    /// The same of one with so many leaves in all of so many files, at most.
    pub(crate) fn bytes_at_most(leaves: usize, files: usize) -> usize {
        let marks = 2 * MARK_BYTES_MAX + (files - 1) * MARK_BYTES_LONGEST;
        leaves * size_of::<u32>() + (leaves * MARK_BYTES_LONGEST).min(marks)
    }

    /// Cuts old and new entries into ranges of about `range_bytes`, each with the leaves that have
    /// keys of it. `new` are such ranges of the new ones alone.
    pub(crate) fn ranges(
        &self,
        new: Vec<KeyRange>,
        range_bytes: usize,
    ) -> Vec<(KeyRange, Range<usize>)> {
        let old_bytes = (self.leaves.len() * PAGE_SIZE) as u64;
        let new_bytes: u64 = new.iter().map(|range| range.bytes).sum();
        if new_bytes > old_bytes {
            let with_leaves = |range: KeyRange| {
                let leaves = self.leaves_of(&range);
                (range, leaves)
            };
            return new.into_iter().map(with_leaves).collect();
        }
        let share = old_bytes as f64 / (old_bytes + new_bytes).max(1) as f64;
        let leaves = ((range_bytes as f64 * share) as usize / PAGE_SIZE).max(1);
        let mut ranges = vec![(KeyRange::all(), 0..self.leaves.len())];
        for mark in &self.marks {
            let Some((range, of_range)) = ranges.last_mut() else { break };
            if mark.leaf >= of_range.start + leaves {
                range.end = Some(mark.key.clone());
                of_range.end = mark.leaf;
                let rest = KeyRange { start: mark.key.clone(), end: None, bytes: 0 };
                ranges.push((rest, mark.leaf..self.leaves.len()));
            }
        }
        ranges
    }

    /// The first leaf that may have keys that begin with these bytes, or greater ones.
    pub(crate) fn from(&self, key: &[u8]) -> usize {
        let before = self.marks.partition_point(|mark| mark.key.as_slice() <= key);
        before.checked_sub(1).map_or(0, |at| self.marks[at].leaf)
    }

    /// The leaves that may have keys of a range.
    fn leaves_of(&self, range: &KeyRange) -> Range<usize> {
        let start = self.from(&range.start);
        let end = range.end.as_ref().and_then(|end| {
            let at = self.marks.partition_point(|mark| mark.key < *end);
            self.marks.get(at).map(|mark| mark.leaf)
        });
        start..end.unwrap_or(self.leaves.len())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use sort::{EntryShape, RunStore, Runs, SortBuffer};

    use super::*;

    /// An index of so many leaves, every `step`th of which is marked; leaf n has keys from 10 n on.
    fn index(leaves: u32, step: usize) -> OldIndex {
        let mark = |leaf: usize| Mark { leaf, key: key(leaf as u32 * 10) };
        let marks = (1..leaves as usize).filter(|leaf| leaf.is_multiple_of(step)).map(mark);
        OldIndex { leaves: (0..leaves).collect(), marks: marks.collect() }
    }

    fn key(number: u32) -> Vec<u8> {
        number.to_be_bytes().to_vec()
    }

    fn runs(keys: impl Iterator<Item = u32>) -> Runs {
        let shape = EntryShape::fixed(4);
        let store = RunStore::new(shape, 64 << 20, std::env::temp_dir()).unwrap();
        let mut buffer = SortBuffer::new(shape);
        keys.for_each(|number| buffer.push(&key(number), &[]));
        if !buffer.is_empty() {
            store.add(buffer.sort(0)).unwrap();
        }
        store.finish().unwrap()
    }

    /// Ranges follow each other from the first key to the last, and each has all leaves with keys of it.
    fn check(index: &OldIndex, new: &Runs, range_bytes: usize) -> usize {
        let ranges = index.ranges(new.ranges(range_bytes), range_bytes);
        assert!(ranges[0].0.start.is_empty() && ranges.last().unwrap().0.end.is_none());
        for two in ranges.windows(2) {
            assert_eq!(two[0].0.end.as_ref(), Some(&two[1].0.start));
        }
        for (leaf, first) in (0..index.leaves.len()).map(|leaf| (leaf, leaf as u32 * 10)) {
            for number in [first, first + 9].map(key) {
                let (_, leaves) = ranges
                    .iter()
                    .find(|(range, _)| range.end.as_ref().is_none_or(|end| number < *end))
                    .unwrap();
                assert!(leaves.contains(&leaf), "leaf {leaf} is not among {leaves:?}");
            }
        }
        ranges.len()
    }

    #[test]
    fn every_range_has_the_leaves_with_its_keys() {
        for (leaves, step) in [(1, 1), (2, 1), (100, 1), (100, 7), (1000, 16)] {
            let index = index(leaves, step);
            for new in [0, 1, 50, 20_000] {
                let new = runs((0..new).map(|number| number * 37 % 11_000));
                for range_bytes in [1, 16 << 10, 300 << 10, 1 << 30] {
                    check(&index, &new, range_bytes);
                }
            }
        }
        assert!(check(&index(1000, 1), &runs(0..0), 10 * PAGE_SIZE) >= 100);
        assert!(check(&index(3, 1), &runs(0..100_000), PAGE_SIZE) > 10);
        assert_eq!(check(&index(0, 1), &runs(0..0), PAGE_SIZE), 1);
    }
}
