//! Rows of the table that new ones replace.

use std::collections::HashSet;

use face::option::MEMORY;
use job::error::Error;
use locks::Mutex;

/// Bytes that a key takes besides its own: its place in the set, and what the allocator rounds up.
const BYTES_BESIDES: usize = 56;

/// The keys in the clustered index of all rows that are replaced, as they are found.
#[derive(Debug)]
pub(crate) struct Replacing {
    found: Mutex<Replaced>,
    bytes_max: usize,
}

/// The same, once all are found.
#[derive(Debug, Default)]
pub(crate) struct Replaced {
    keys: HashSet<Box<[u8]>>,
    bytes: usize,
}

impl Replacing {
    /// They take `bytes_max` bytes of memory at most.
    pub(crate) fn new(bytes_max: usize) -> Replacing {
        Replacing { found: Mutex::default(), bytes_max }
    }

    /// The row with this key is replaced.
    ///
    /// Errors: there are more of them than memory has room for.
    pub(crate) fn add(&self, key: &[u8]) -> Result<(), Error> {
        let mut found = self.found.lock();
        if found.keys.contains(key) {
            return Ok(());
        }
        found.bytes += key.len() + BYTES_BESIDES;
        if found.bytes > self.bytes_max {
            let (rows, bytes) = (found.keys.len(), disk::size::show(self.bytes_max as u64));
            return Err(Error::NotMerged(format!(
                "more than {rows} rows of the table are replaced, and their keys need more than \
                 the {bytes} that {MEMORY} has for them"
            )));
        }
        found.keys.insert(key.into());
        Ok(())
    }

    /// After the last.
    pub(crate) fn finish(self) -> Replaced {
        self.found.into_inner()
    }
}

impl Replaced {
    /// How many rows.
    pub(crate) fn count(&self) -> u64 {
        self.keys.len() as u64
    }

    /// Memory that they take.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// True if the row with this key is replaced.
    #[inline]
    pub(crate) fn has(&self, key: &[u8]) -> bool {
        self.keys.contains(key)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn rows_count_once_and_have_to_fit_their_memory() {
        let replacing = Replacing::new(2 * (BYTES_BESIDES + 1));
        for key in [b"a", b"b", b"a"] {
            replacing.add(key).unwrap();
        }
        let error = replacing.add(b"c").unwrap_err().to_string();
        assert!(error.contains("more than 2 rows of the table are replaced"), "{error}");
        let replaced = replacing.finish();
        assert_eq!(replaced.count(), 2);
        assert!(replaced.has(b"a") && !replaced.has(b"c"));
    }
}
