//! Keys of rows, each with a number.
//!
//! ```text
//! places   [hash|12] [       ] [hash|0]       a word each: a part of a hash, and where the key stands
//! keys     0 3 ann 1 5 carol 2 3 bob          number, size, key; one behind the other
//! starts   0 12                               where each number's stands, for who goes through them
//! ```
//!
//! A key that is there costs one look at a place and one at the key, each of them mostly a wait for memory;
//! nothing is allocated for it alone.

use std::hash::{BuildHasher, RandomState};
use std::sync::OnceLock;

use twox_hash::XxHash3_64;

/// Places of a table that has its first key.
const PLACES_MIN: usize = 16;

/// How keys are hashed. Each program has a beginning of its own, so that nobody can make a file whose keys
/// all have one hash.
#[derive(Clone, Copy, Debug)]
pub(super) struct KeyHash {
    seed: u64,
}

impl Default for KeyHash {
    fn default() -> KeyHash {
        static SEED: OnceLock<u64> = OnceLock::new();
        KeyHash { seed: *SEED.get_or_init(|| RandomState::new().hash_one(0)) }
    }
}

impl KeyHash {
    /// The hash of a key.
    #[inline]
    pub(super) fn of(self, key: &[u8]) -> u64 {
        XxHash3_64::oneshot_with_seed(self.seed, key)
    }
}

/// Bits of a place that say where a key stands, plus 1; the others are of its hash.
const START_BITS: u32 = 40;
/// Bytes before each key.
const HEAD_BYTES: usize = 8;

/// Distinct keys, numbered from 0 in the order in which they came.
#[derive(Debug, Default)]
pub(super) struct KeyTable {
    places: Vec<u64>,
    keys: Vec<u8>,
    starts: Vec<usize>,
}

impl KeyTable {
    pub(super) fn len(&self) -> usize {
        self.starts.len()
    }

    /// The memory that it takes.
    pub(super) fn bytes(&self) -> usize {
        8 * (self.places.len() + self.starts.len()) + self.keys.len()
    }

    /// The key of a number below [`KeyTable::len`].
    pub(super) fn key(&self, number: usize) -> &[u8] {
        self.entry(self.starts[number]).1
    }

    /// The number of a key, if it is there; `hash` is [`KeyHash::of`] it.
    #[inline]
    pub(super) fn find(&self, hash: u64, key: &[u8]) -> Option<usize> {
        self.place_of(hash, key).ok()
    }

    /// The word in the first place for keys of a hash; 0 if that is free.
    #[inline]
    pub(super) fn place(&self, hash: u64) -> u64 {
        let Some(mask) = self.places.len().checked_sub(1) else { return 0 };
        self.places[hash as usize & mask]
    }

    /// A byte of what that place leads to.
    #[inline]
    pub(super) fn first(&self, hash: u64) -> u64 {
        let start = start_of(self.place(hash));
        start.and_then(|start| self.keys.get(start)).map_or(0, |byte| u64::from(*byte))
    }

    /// Has what is looked at for keys of these hashes at hand: all waits for memory are one.
    #[inline]
    pub(super) fn expect<I: Iterator<Item = u64>>(&self, hashes: impl Fn() -> I) {
        std::hint::black_box(hashes().fold(0, |all, hash| all ^ self.place(hash)));
        std::hint::black_box(hashes().fold(0, |all, hash| all ^ self.first(hash)));
    }

    /// The number of a key, and whether it is new; `hash` is [`KeyHash::of`] it.
    #[inline]
    pub(super) fn insert(&mut self, hash: u64, key: &[u8]) -> (usize, bool) {
        let free = match self.place_of(hash, key) {
            Ok(number) => return (number, false),
            Err(free) => free,
        };
        let (number, start) = (self.len(), self.keys.len());
        assert!(
            number < u32::MAX as usize && start < 1 << START_BITS,
            "memory ends before numbers do"
        );
        self.keys.extend_from_slice(&(number as u32).to_le_bytes());
        self.keys.extend_from_slice(&(key.len() as u32).to_le_bytes());
        self.keys.extend_from_slice(key);
        self.starts.push(start);
        // A quarter of the places stays free, so that those are near who look in vain.
        if self.len() * 4 > self.places.len() * 3 {
            self.grow();
        } else {
            self.places[free] = word(hash, start);
        }
        (number, true)
    }

    /// The number of a key, or else the place that it would get.
    #[inline]
    fn place_of(&self, hash: u64, key: &[u8]) -> Result<usize, usize> {
        let Some(mask) = self.places.len().checked_sub(1) else { return Err(0) };
        let wanted = word(hash, 0) >> START_BITS;
        let mut place = hash as usize & mask;
        loop {
            let seen = self.places[place];
            let Some(start) = start_of(seen) else { return Err(place) };
            if seen >> START_BITS == wanted {
                let (number, there) = self.entry(start);
                if there == key {
                    return Ok(number);
                }
            }
            place = (place + 1) & mask;
        }
    }

    /// The number and the key that stand there.
    #[inline]
    fn entry(&self, start: usize) -> (usize, &[u8]) {
        let word = |at: usize| {
            let bytes = self.keys[at..].first_chunk().copied().unwrap_or_default();
            u32::from_le_bytes(bytes) as usize
        };
        let key = start + HEAD_BYTES;
        (word(start), &self.keys[key..key + word(start + 4)])
    }

    #[cold]
    fn grow(&mut self) {
        let hashes = KeyHash::default();
        let count = (self.places.len() * 2).max(PLACES_MIN);
        let (mut places, mask) = (vec![0; count], count - 1);
        for &start in &self.starts {
            let hash = hashes.of(self.entry(start).1);
            let mut place = hash as usize & mask;
            while places[place] != 0 {
                place = (place + 1) & mask;
            }
            places[place] = word(hash, start);
        }
        self.places = places;
    }
}

/// Where the key stands that a place is of; none if it is free.
#[inline]
fn start_of(place: u64) -> Option<usize> {
    (place & ((1 << START_BITS) - 1)).checked_sub(1).map(|start| start as usize)
}

/// The word in the place of a key. The bits of the hash are those that neither select the place
/// nor, on top, the part that [`super::known`] has the key in.
#[inline]
fn word(hash: u64, start: usize) -> u64 {
    hash >> 32 << START_BITS | (start as u64 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_found_by_their_numbers_whatever_their_hashes() {
        // Hashes that all begin at one place, and some that are the same.
        for hash_of in [|key: &[u8]| KeyHash::default().of(key), |_: &[u8]| 7 << 32] {
            let mut table = KeyTable::default();
            let keys: Vec<Vec<u8>> =
                (0..500u32).map(|key| key.to_be_bytes()[2..].to_vec()).collect();
            if hash_of(b"a") == hash_of(b"b") {
                // Growing hashes them anew, which would tell them apart.
                table.places = vec![0; 1024];
            }
            for (number, key) in keys.iter().enumerate() {
                assert_eq!(table.find(hash_of(key), key), None);
                assert_eq!(table.insert(hash_of(key), key), (number, true));
                assert_eq!(table.insert(hash_of(key), key), (number, false));
            }
            for (number, key) in keys.iter().enumerate() {
                assert_eq!(table.find(hash_of(key), key), Some(number));
                assert_eq!(table.key(number), key);
            }
            assert_eq!(table.find(hash_of(b"none"), b"none"), None);
            assert_eq!(table.len(), 500);
        }
    }

    #[test]
    fn a_key_may_be_empty() {
        let mut table = KeyTable::default();
        let hash = KeyHash::default().of(b"");
        assert_eq!(table.insert(hash, b""), (0, true));
        assert_eq!(table.insert(hash, b""), (0, false));
        assert_eq!(table.key(0), b"");
    }
}
