//! A digest of rows in any order, and of parts of them, so that it can be told which rows differ.

/// Parts that rows are shared out to, by their hash.
const PARTS: usize = 1 << 16;

/// Rows of which each has a hash of all its values.
#[derive(Clone, Debug)]
pub(crate) struct Digest {
    parts: Vec<Part>,
}

/// The rows of a part: how many, and the sum of their hashes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Part {
    rows: u64,
    sum: u128,
}

impl Default for Digest {
    fn default() -> Digest {
        Digest { parts: vec![Part::default(); PARTS] }
    }
}

impl Digest {
    /// The hash of a row.
    #[inline]
    pub(crate) fn hash(row: &[u8]) -> u128 {
        twox_hash::XxHash3_128::oneshot(row)
    }

    /// The part that a row of this hash belongs to.
    #[inline]
    pub(crate) fn part(hash: u128) -> usize {
        (hash >> 112) as usize
    }

    /// Takes a row in.
    #[inline]
    pub(crate) fn add(&mut self, hash: u128) {
        let part = &mut self.parts[Digest::part(hash)];
        part.rows += 1;
        part.sum = part.sum.wrapping_add(hash);
    }

    /// Takes all rows of another in.
    pub(crate) fn add_all(&mut self, other: &Digest) {
        for (own, other) in self.parts.iter_mut().zip(&other.parts) {
            own.rows += other.rows;
            own.sum = own.sum.wrapping_add(other.sum);
        }
    }

    pub(crate) fn rows(&self) -> u64 {
        self.parts.iter().map(|part| part.rows).sum()
    }

    /// The parts whose rows are not the same, and how many rows they have in both.
    pub(crate) fn differing(&self, other: &Digest) -> Vec<(usize, u64)> {
        let parts = self.parts.iter().zip(&other.parts).enumerate();
        let differing = parts.filter(|(_, (own, other))| own != other);
        differing.map(|(at, (own, other))| (at, own.rows + other.rows)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(rows: &[&[u8]]) -> Digest {
        let mut digest = Digest::default();
        rows.iter().for_each(|row| digest.add(Digest::hash(row)));
        digest
    }

    #[test]
    fn the_same_rows_in_any_order_have_one_digest() {
        let mut parts = of(&[b"a", b"b"]);
        parts.add_all(&of(&[b"a"]));
        assert!(parts.differing(&of(&[b"b", b"a", b"a"])).is_empty());
        assert_eq!(parts.rows(), 3);
    }

    #[test]
    fn a_row_more_or_another_one_shows_where_it_is() {
        let rows = of(&[b"a", b"b"]);
        let part = Digest::part(Digest::hash(b"b"));
        assert_eq!(rows.differing(&of(&[b"a"])), [(part, 1)]);
        assert_eq!(rows.differing(&of(&[b"a", b"b", b"b"])), [(part, 3)]);
        assert_eq!(rows.differing(&of(&[b"a", b"c"])).len(), 2);
    }
}
