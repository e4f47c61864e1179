//! The keys that the rows of a chunk have, as far as two chunks must be told apart.
//!
//! Rows of two chunks meet if they share a key of any unique index. Mostly the least and the
//! greatest key of each tell that they do not: input in key order. Else hashes of all keys do. Two
//! keys of one hash make chunks wait for each other that need not, nothing worse.

use std::cmp::Ordering;
use std::hash::{DefaultHasher, Hasher};

/// Bytes of the least and the greatest key that are kept.
const BOUND_BYTES: usize = 64;

/// The keys of a chunk: an element a unique index of the table, in an order all chunks share.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ChunkKeys {
    indexes: Vec<IndexKeys>,
}

/// The keys in one index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum IndexKeys {
    /// These and no others; perhaps none.
    These(KeySet),
    /// Nobody knows: some key cannot be computed here.
    Any,
}

/// Keys that are known. Keys that end up equal in the server are equal here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct KeySet {
    /// Beginnings of the least and of the greatest key.
    least: Vec<u8>,
    greatest: Vec<u8>,
    /// A hash each; ascending and without doubles once [`KeySet::finish`] was called.
    hashes: Vec<u64>,
}

impl ChunkKeys {
    /// No key at all: a chunk that meets nobody.
    #[cfg(test)]
    pub(crate) fn none() -> ChunkKeys {
        ChunkKeys::default()
    }

    /// Those of the indexes, in order.
    pub(crate) fn of(indexes: Vec<IndexKeys>) -> ChunkKeys {
        ChunkKeys { indexes }
    }

    /// True if rows of the two may share a key.
    pub(crate) fn may_meet(&self, other: &ChunkKeys) -> bool {
        self.indexes.iter().zip(&other.indexes).any(|(a, b)| a.may_meet(b))
    }
}

impl IndexKeys {
    fn may_meet(&self, other: &IndexKeys) -> bool {
        match (self, other) {
            (IndexKeys::These(a), IndexKeys::These(b)) => a.may_meet(b),
            (IndexKeys::These(keys), IndexKeys::Any) | (IndexKeys::Any, IndexKeys::These(keys)) => {
                !keys.hashes.is_empty()
            }
            (IndexKeys::Any, IndexKeys::Any) => true,
        }
    }
}

impl KeySet {
    /// Takes a key, memcmp-ordered.
    #[inline]
    pub(crate) fn push(&mut self, key: &[u8]) {
        let bound = &key[..key.len().min(BOUND_BYTES)];
        let is_first = self.hashes.is_empty();
        for (kept, wanted) in
            [(&mut self.least, Ordering::Less), (&mut self.greatest, Ordering::Greater)]
        {
            if is_first || bound.cmp(kept.as_slice()) == wanted {
                kept.clear();
                kept.extend_from_slice(bound);
            }
        }
        let mut hasher = DefaultHasher::new();
        hasher.write(key);
        self.hashes.push(hasher.finish());
    }

    /// After the last key.
    pub(crate) fn finish(mut self) -> KeySet {
        self.hashes.sort_unstable();
        self.hashes.dedup();
        self.hashes.shrink_to_fit();
        self
    }

    fn may_meet(&self, other: &KeySet) -> bool {
        if self.hashes.is_empty() || other.hashes.is_empty() {
            return false;
        }
        // Beginnings in order are of keys in order; equal ones say nothing.
        if self.greatest < other.least || other.greatest < self.least {
            return false;
        }
        let (mut ours, mut theirs) = (self.hashes.iter(), other.hashes.iter());
        let (mut a, mut b) = (ours.next(), theirs.next());
        while let (Some(our), Some(their)) = (a, b) {
            match our.cmp(their) {
                Ordering::Less => a = ours.next(),
                Ordering::Greater => b = theirs.next(),
                Ordering::Equal => return true,
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn these(keys: &[Vec<u8>]) -> ChunkKeys {
        let mut set = KeySet::default();
        keys.iter().for_each(|key| set.push(key));
        ChunkKeys::of(vec![IndexKeys::These(set.finish())])
    }

    #[test]
    fn keys_not_known_meet_all_but_none() {
        let any = ChunkKeys::of(vec![IndexKeys::Any]);
        assert!(any.may_meet(&any));
        assert!(any.may_meet(&these(&[vec![1]])) && these(&[vec![1]]).may_meet(&any));
        assert!(!any.may_meet(&these(&[])) && !these(&[]).may_meet(&any));
        assert!(!any.may_meet(&ChunkKeys::none()) && !ChunkKeys::none().may_meet(&any));
    }

    #[test]
    fn keys_meet_within_an_index_only() {
        let both = |a: u8, b: u8| {
            let set = |key| {
                let mut set = KeySet::default();
                set.push(&[key]);
                IndexKeys::These(set.finish())
            };
            ChunkKeys::of(vec![set(a), set(b)])
        };
        assert!(!both(1, 2).may_meet(&both(2, 1)));
        assert!(both(1, 2).may_meet(&both(3, 2)));
    }

    fn keys() -> impl Strategy<Value = Vec<Vec<u8>>> {
        // Short ones, and long ones that differ behind the bounds.
        let key = (0_usize..3, 0_u8..60).prop_map(|(long, last)| {
            let mut key = vec![7; long * (BOUND_BYTES - 1)];
            key.push(last);
            key
        });
        prop::collection::vec(key, 0..6)
    }

    proptest! {
        #[test]
        fn sets_meet_if_they_share_a_key(a in keys(), b in keys()) {
            let share = a.iter().any(|key| b.contains(key));
            prop_assert_eq!(these(&a).may_meet(&these(&b)), share);
            prop_assert_eq!(these(&b).may_meet(&these(&a)), share);
        }
    }
}
