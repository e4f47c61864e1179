//! How keys of rows are hashed: several times as fast as by the standard library, which the many lookups of
//! lines feel.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::OnceLock;

use twox_hash::XxHash3_64;

/// Rows by their keys.
pub type ByKey<T> = HashMap<Box<[u8]>, T, KeyHash>;

/// Begins a hash of a key. Each program has a beginning of its own, so that nobody can make a file whose
/// keys all have one hash.
#[derive(Clone, Copy, Debug)]
pub struct KeyHash {
    seed: u64,
}

/// The hash of one key.
#[derive(Clone, Copy, Debug)]
pub struct KeyHasher(u64);

impl KeyHash {
    /// The hash of a key by itself.
    #[inline]
    pub(super) fn of(self, key: &[u8]) -> u64 {
        XxHash3_64::oneshot_with_seed(self.seed, key)
    }
}

impl Default for KeyHash {
    fn default() -> KeyHash {
        static SEED: OnceLock<u64> = OnceLock::new();
        KeyHash { seed: *SEED.get_or_init(|| RandomState::new().hash_one(0)) }
    }
}

impl BuildHasher for KeyHash {
    type Hasher = KeyHasher;

    #[inline]
    fn build_hasher(&self) -> KeyHasher {
        KeyHasher(self.seed)
    }
}

impl Hasher for KeyHasher {
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        self.0 = XxHash3_64::oneshot_with_seed(self.0, bytes);
    }

    /// The length of what follows, which that hash has in it.
    #[inline]
    fn write_usize(&mut self, _: usize) {}

    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }
}
