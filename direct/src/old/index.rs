//! Which leaves of an old index have which keys.

use std::ops::Range;

use innodb::ids::{PAGE_SIZE, PageNo};
use innodb::leaves::LeafPointers;
use innodb::record::RecordShape;
use innodb::source::PageSource;
use job::error::Error;
use sort::{KeyRange, Runs};

use super::keys::{OldKey, OldKeys, unreadable};

/// Leaves that are read at once by a worker.
pub(crate) const READ_PAGES: usize = 64;
/// Keys of leaves that are kept take no more, so that few leaves are read in vain.
const MARK_BYTES_MAX: usize = 2 << 20;

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
    /// Goes through the level above the leaves. `pages` is how many the file has.
    pub(crate) fn read(
        source: &dyn PageSource,
        (root, shape): (PageNo, &RecordShape),
        keys: &OldKeys<'_>,
        pages: u32,
    ) -> Result<OldIndex, Error> {
        let mut index = OldIndex { leaves: Vec::new(), marks: Vec::new() };
        let (mut step, mut mark_bytes, mut key) = (1, 0, OldKey::default());
        let mut pointers = LeafPointers::new(source, root, shape, pages).map_err(unreadable)?;
        while let Some(pointer) = pointers.advance().map_err(unreadable)? {
            let leaf = index.leaves.len();
            if let Some((page, fields)) = pointer.key.filter(|_| leaf.is_multiple_of(step)) {
                keys.make_of(page, fields, &mut key)?;
                mark_bytes += key.bytes.len() + size_of::<Mark>();
                index.marks.push(Mark { leaf, key: key.bytes.clone() });
            }
            index.leaves.push(pointer.leaf);
            while mark_bytes > MARK_BYTES_MAX && index.marks.len() > 1 {
                step *= 2;
                index.marks.retain(|mark| mark.leaf.is_multiple_of(step));
                let of = |mark: &Mark| mark.key.len() + size_of::<Mark>();
                mark_bytes = index.marks.iter().map(of).sum();
            }
        }
        Ok(index)
    }

    /// Bytes of memory that it takes at most, for so many leaves.
    pub(crate) fn bytes_max(leaves: usize) -> usize {
        // A vector may have twice the room that is used.
        2 * leaves * size_of::<u32>() + 2 * MARK_BYTES_MAX
    }

    /// Cuts old and new entries into ranges of about `range_bytes`, each with the leaves that have
    /// keys of it.
    pub(crate) fn ranges(&self, new: &Runs, range_bytes: usize) -> Vec<(KeyRange, Range<usize>)> {
        let (old_bytes, new_bytes) =
            ((self.leaves.len() * PAGE_SIZE) as u64, new.stats().entry_bytes);
        if new_bytes > old_bytes {
            let ranges = new.ranges(range_bytes).into_iter();
            return ranges.map(|range| (self.leaves_of(&range), range)).map(swap).collect();
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

    /// The leaves that may have keys of a range.
    fn leaves_of(&self, range: &KeyRange) -> Range<usize> {
        let before = self.marks.partition_point(|mark| mark.key <= range.start);
        let start = before.checked_sub(1).map_or(0, |at| self.marks[at].leaf);
        let end = range.end.as_ref().and_then(|end| {
            let at = self.marks.partition_point(|mark| mark.key < *end);
            self.marks.get(at).map(|mark| mark.leaf)
        });
        start..end.unwrap_or(self.leaves.len())
    }
}

fn swap<A, B>((a, b): (A, B)) -> (B, A) {
    (b, a)
}
