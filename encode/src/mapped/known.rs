//! Rows by their keys: gathered from lines by many workers, then known.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::LinePlace;
use super::key_hash::{ByKey, KeyHash};

/// Parts of what is gathered, so that workers seldom wait for each other.
const PARTS: usize = 64;
/// About what a row takes besides its key.
const ROW_BYTES: u64 = 112;

/// A line, as it is told to people.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LineAt {
    /// Where it begins.
    pub place: LinePlace,
    /// Its number in the file, from 1.
    pub line: u64,
}

/// What lines say of one entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Said {
    /// The first that has it.
    pub first: LineAt,
    /// The last.
    pub last: LineAt,
    /// Digest of what the first says.
    pub digest: u64,
    /// A line that says something else.
    pub other: Option<LineAt>,
}

/// Entities by their keys.
pub type Entities = Vec<(Box<[u8]>, Said)>;

/// The entities of lines, while those are read.
#[derive(Debug)]
pub struct Gathering {
    parts: Vec<Mutex<ByKey<Said>>>,
    hash: KeyHash,
    bytes: AtomicU64,
}

impl Default for Gathering {
    fn default() -> Gathering {
        Gathering {
            parts: (0..PARTS).map(|_| Mutex::default()).collect(),
            hash: KeyHash::default(),
            bytes: AtomicU64::new(0),
        }
    }
}

impl Gathering {
    /// A line says something, of which this is the digest, of the entity with this key. In any order.
    pub fn take(&self, key: &[u8], at: LineAt, digest: u64) {
        let mut part = lock(&self.parts[(self.hash.of(key) >> 32) as usize % PARTS]);
        match part.get_mut(key) {
            Some(said) => said.take(at, digest),
            None => {
                self.bytes.fetch_add(key.len() as u64 + ROW_BYTES, Ordering::Relaxed);
                part.insert(key.into(), Said { first: at, last: at, digest, other: None });
            }
        }
    }

    /// About the memory that all of it takes.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// All of it, in the order of the first lines.
    pub fn finish(self) -> Entities {
        let parts = self.parts.into_iter();
        let parts = parts.map(|part| part.into_inner().unwrap_or_else(PoisonError::into_inner));
        let mut all: Entities = parts.flatten().collect();
        all.sort_unstable_by_key(|(_, said)| said.first);
        all
    }
}

impl Said {
    fn take(&mut self, at: LineAt, digest: u64) {
        self.last = self.last.max(at);
        if at < self.first {
            let before = std::mem::replace(&mut self.first, at);
            if digest != self.digest {
                self.digest = digest;
                self.other = Some(before);
            }
        } else if digest != self.digest {
            self.other = Some(self.other.map_or(at, |other| other.min(at)));
        }
    }
}

/// Rows by their keys.
#[derive(Debug, Default)]
pub struct Known {
    /// By keys as indexes order them: the id of each; of a lookup, where among the texts that is which is
    /// taken.
    pub rows: ByKey<u64>,
    /// What a lookup takes, if it is one; none is NULL.
    pub texts: Option<Vec<Option<Vec<u8>>>>,
}

impl Known {
    /// The id of the row with this key.
    #[inline]
    pub fn find(&self, key: &[u8]) -> Option<u64> {
        self.rows.get(key).copied()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(line: u64) -> LineAt {
        LineAt { place: (0, line * 10), line }
    }

    #[test]
    fn lines_in_any_order_come_to_the_same() {
        let lines = [(1, "a", 7), (2, "b", 1), (3, "a", 7), (4, "b", 2), (5, "a", 7)];
        for turn in 0..lines.len() {
            let gathering = Gathering::default();
            for index in 0..lines.len() {
                let (line, key, digest) = lines[(index * 2 + turn) % lines.len()];
                gathering.take(key.as_bytes(), at(line), digest);
            }
            let all = gathering.finish();
            let of = |index: usize| {
                (all[index].1.first.line, all[index].1.last.line, all[index].1.digest)
            };
            assert_eq!((all.len(), of(0), of(1)), (2, (1, 5, 7), (2, 4, 1)));
            assert_eq!((all[0].1.other, all[1].1.other), (None, Some(at(4))));
        }
    }
}
