//! Faults of rows: found in any order, reported in that of the input.
//!
//! ```text
//! entry = place of the row (20), what (2)    payload: the other row, or the server's words
//! ```

use std::sync::atomic::AtomicU64;

use encode::entries::Entries;
use job::stop::Stop;
use sort::{EntryShape, RunStore};
use values::decode::big_endian;

use crate::place::Place;

/// A fault of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// Its fields: judged again, they say so.
    Fields,
    /// A key that a row before it in the input has; the number of the look, and that row's place.
    Shared(u16),
    /// A key that a row of the table has, or that no row has to which it refers.
    Table(u16),
    /// A CHECK constraint, by its number.
    Condition(u16),
    /// The server cannot judge its values, for a reason that it says.
    Refused,
}

impl What {
    /// Bytes of [`What::to_bytes`].
    const BYTES: usize = 3;

    fn to_bytes(self) -> [u8; What::BYTES] {
        let (kind, at) = match self {
            What::Fields => (0, 0),
            What::Shared(at) => (1, at),
            What::Table(at) => (2, at),
            What::Condition(at) => (3, at),
            What::Refused => (4, 0),
        };
        let [high, low] = at.to_be_bytes();
        [kind, high, low]
    }

    fn from_bytes(bytes: &[u8]) -> What {
        let at = big_endian(&bytes[1..What::BYTES]) as u16;
        match bytes[0] {
            0 => What::Fields,
            1 => What::Shared(at),
            2 => What::Table(at),
            3 => What::Condition(at),
            _ => What::Refused,
        }
    }
}

/// One thing that is wrong with a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(crate) place: Place,
    pub(crate) what: What,
    /// The place of another row, or words; mostly nothing.
    pub(crate) more: Vec<u8>,
}

const KEY_BYTES: usize = Place::BYTES + What::BYTES;

/// Shape of what findings are sorted as.
pub(crate) const SHAPE: EntryShape =
    EntryShape { key_len: Some(KEY_BYTES), tail_len: 0, payload: true };

/// The key that a finding is sorted by.
pub(crate) fn key(place: Place, what: What) -> [u8; KEY_BYTES] {
    let mut key = [0; KEY_BYTES];
    key[..Place::BYTES].copy_from_slice(&place.to_bytes());
    key[Place::BYTES..].copy_from_slice(&what.to_bytes());
    key
}

impl Finding {
    pub(crate) fn of_entry(key: &[u8], payload: &[u8]) -> Finding {
        Finding {
            place: Place::from_bytes(key),
            what: What::from_bytes(&key[Place::BYTES..]),
            more: payload.to_vec(),
        }
    }
}

/// Takes down findings of one thread.
pub(crate) struct Findings<'a>(Entries<'a>);

impl<'a> Findings<'a> {
    /// Into a store, whose runs are numbered by `next_run`.
    pub(crate) fn new(
        store: &'a RunStore,
        next_run: &'a AtomicU64,
        bytes_max: usize,
    ) -> Findings<'a> {
        Findings(Entries::new([SHAPE], std::slice::from_ref(store), next_run, bytes_max))
    }

    /// Takes one down.
    pub(crate) fn push(&mut self, place: Place, what: What, more: &[u8]) -> Result<(), Stop> {
        self.0.push(0, &key(place, what), more);
        self.0.relieve()
    }

    /// After the last.
    pub(crate) fn finish(mut self) -> Result<(), Stop> {
        self.0.sort()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_keep_what_was_found() {
        let place = Place { file: 1, offset: 99, line: 7 };
        let all = [
            What::Fields,
            What::Shared(3),
            What::Table(300),
            What::Condition(65_535),
            What::Refused,
        ];
        for what in all {
            let found = Finding::of_entry(&key(place, what), b"more");
            assert_eq!(found, Finding { place, what, more: b"more".to_vec() });
        }
        assert!(all.map(|what| key(place, what)).is_sorted());
    }
}
