//! A row that gives way to another.

use sort::{EntryShape, SortBuffer};
use values::decode::big_endian;

use crate::duplicates::row_position::Place;

/// A row that is left out, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Loser {
    pub(crate) place: Place,
    /// The index whose key both rows have: 0 is the clustered one, then the secondary ones.
    pub(crate) index: u16,
    /// The row that is loaded instead, or was to be before it gave way itself.
    pub(crate) winner: Place,
}

impl Loser {
    /// Bytes of an entry.
    pub(crate) const BYTES: usize = 2 * Place::BYTES + 2;

    /// Shape of the entries that losers are sorted as.
    pub(crate) const SHAPE: EntryShape =
        EntryShape { key_len: Some(Loser::BYTES), tail_len: 0, payload: false };

    /// Adds it to a sort.
    pub(crate) fn push(&self, buffer: &mut SortBuffer) {
        let mut bytes = [0; Loser::BYTES];
        bytes[..Place::BYTES].copy_from_slice(&self.place.to_bytes());
        bytes[Place::BYTES..][..2].copy_from_slice(&self.index.to_be_bytes());
        bytes[Place::BYTES + 2..].copy_from_slice(&self.winner.to_bytes());
        buffer.push(&bytes, &[]);
    }

    /// Reads the bytes of [`Loser::push`].
    pub(crate) fn from_bytes(bytes: &[u8]) -> Loser {
        let (place, rest) = bytes.split_at(Place::BYTES);
        Loser {
            place: Place::from_bytes(place),
            index: big_endian(&rest[..2]) as u16,
            winner: Place::from_bytes(&rest[2..]),
        }
    }
}
