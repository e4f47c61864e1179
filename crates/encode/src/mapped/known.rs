//! Rows by their keys.

use super::key_table::{KeyHash, KeyTable};

/// Keys that are found by what they are, whose numbers go from 0 to their count.
#[derive(Debug, Default)]
pub(super) struct Keys {
    tables: Vec<KeyTable>,
    /// The number of the first key of each table.
    firsts: Vec<usize>,
    hash: KeyHash,
}

impl Keys {
    pub(super) fn new(tables: Vec<KeyTable>, hash: KeyHash) -> Keys {
        let first = |next: &mut usize, table: &KeyTable| {
            let first = *next;
            *next += table.len();
            Some(first)
        };
        let firsts = tables.iter().scan(0, first).collect();
        Keys { tables, firsts, hash }
    }

    #[inline]
    pub(super) fn find(&self, key: &[u8]) -> Option<usize> {
        self.find_hashed(self.hash.of(key), key)
    }

    /// The first place for keys of a hash.
    #[inline]
    fn place(&self, hash: u64) -> u64 {
        self.tables.get(part_of(hash, self.tables.len())).map_or(0, |table| table.place(hash))
    }

    /// The entry that this place refers to.
    #[inline]
    fn entry(&self, hash: u64) -> u64 {
        self.tables.get(part_of(hash, self.tables.len())).map_or(0, |table| table.first(hash))
    }

    #[inline]
    fn find_hashed(&self, hash: u64, key: &[u8]) -> Option<usize> {
        let part = part_of(hash, self.tables.len());
        let number = self.tables.get(part)?.find(hash, key)?;
        Some(self.firsts[part] + number)
    }

    pub(super) fn key(&self, number: usize) -> &[u8] {
        let (part, at) = self.place_of(number);
        self.tables[part].key(at)
    }

    /// The table of a number, and its number there.
    pub(super) fn place_of(&self, number: usize) -> (usize, usize) {
        let part = self.firsts.partition_point(|first| *first <= number) - 1;
        (part, number - self.firsts[part])
    }

    /// The number of one of a table.
    #[inline]
    pub(super) fn number(&self, part: usize, at: usize) -> usize {
        self.firsts[part] + at
    }
}

/// Some keys that are looked for together.
#[derive(Debug, Default)]
pub struct KeyBlock {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    hashes: Vec<u64>,
}

impl KeyBlock {
    /// Without keys.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
        self.hashes.clear();
    }

    /// One more.
    #[inline]
    pub fn push(&mut self, key: &[u8]) {
        self.bytes.extend_from_slice(key);
        self.ends.push(self.bytes.len());
        self.hashes.push(KeyHash::default().of(key));
    }

    fn len(&self) -> usize {
        self.ends.len()
    }

    #[inline]
    fn key(&self, at: usize) -> &[u8] {
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start..self.ends[at]]
    }
}

/// Rows by their keys.
#[derive(Debug, Default)]
pub struct Known {
    keys: Keys,
    /// One a row; none of a lookup.
    ids: Vec<u64>,
    /// The values of a lookup, one for each row, if it is one; none is NULL.
    texts: Option<Vec<Option<Vec<u8>>>>,
}

/// The value that a column takes from a known row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KnownValue<'a> {
    /// Its id.
    Id(u64),
    /// The value of a lookup.
    Text(&'a [u8]),
}

impl Known {
    /// Those that have these ids, one a number.
    pub(super) fn of_ids(keys: Keys, ids: Vec<u64>) -> Known {
        Known { keys, ids, texts: None }
    }

    /// The number of the row with this key.
    #[inline]
    pub fn find(&self, key: &[u8]) -> Option<usize> {
        self.keys.find(key)
    }

    /// The numbers of the rows with some keys. All are found together: where they are in memory, none waits
    /// for another.
    pub fn find_all<'k>(&'k self, block: &'k KeyBlock) -> impl Iterator<Item = Option<usize>> + 'k {
        let hashes = || block.hashes.iter().copied();
        let place = |all, hash| all ^ self.keys.place(hash);
        std::hint::black_box(hashes().fold(0, place));
        let entry = |all, hash| all ^ self.keys.entry(hash);
        std::hint::black_box(hashes().fold(0, entry));
        (0..block.len()).map(|at| self.keys.find_hashed(block.hashes[at], block.key(at)))
    }

    /// The value from the row of a number that was found; none is NULL.
    #[inline]
    pub fn taken(&self, number: usize) -> Option<KnownValue<'_>> {
        match &self.texts {
            None => self.ids.get(number).copied().map(KnownValue::Id),
            Some(texts) => texts.get(number)?.as_deref().map(KnownValue::Text),
        }
    }

    /// About the memory that it takes.
    pub fn bytes(&self) -> u64 {
        let keys: usize = self.keys.tables.iter().map(KeyTable::bytes).sum();
        let texts = self.texts.iter().flatten().map(|text| 24 + text.as_ref().map_or(0, Vec::len));
        (keys + 8 * self.ids.len() + texts.sum::<usize>()) as u64
    }
}

/// The rows of a table that something is looked up in, while they are read.
#[derive(Debug, Default)]
pub struct LookedUpRows {
    keys: KeyTable,
    hash: KeyHash,
    texts: Vec<Option<Vec<u8>>>,
}

impl LookedUpRows {
    /// A row with this key has this in the column that is taken. Returns the number of the row; none if another
    /// has the key.
    pub fn push(&mut self, key: &[u8], text: Option<&[u8]>) -> Option<usize> {
        let (number, is_new) = self.keys.insert(self.hash.of(key), key);
        if is_new {
            self.texts.push(text.map(<[u8]>::to_vec));
        }
        is_new.then_some(number)
    }

    /// All of them.
    pub fn finish(self) -> Known {
        let keys = Keys::new(vec![self.keys], self.hash);
        Known { keys, ids: Vec::new(), texts: Some(self.texts) }
    }
}

/// The part of so many that keys of a hash are in.
#[inline]
pub(super) fn part_of(hash: u64, parts: usize) -> usize {
    ((u128::from(hash) * parts as u128) >> 64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_looked_up_may_be_null_and_is_there_once() {
        let mut rows = LookedUpRows::default();
        let pushed = [rows.push(b"a", Some(b"one")), rows.push(b"b", None), rows.push(b"a", None)];
        assert_eq!(pushed, [Some(0), Some(1), None]);
        let known = rows.finish();
        let taken = |key: &[u8]| known.find(key).map(|row| known.taken(row));
        assert_eq!(taken(b"a"), Some(Some(KnownValue::Text(b"one"))));
        assert_eq!((taken(b"b"), taken(b"c")), (Some(None), None));
    }

    #[test]
    fn keys_that_are_looked_for_together_are_found_as_one_by_one() {
        let mut rows = LookedUpRows::default();
        for key in 0..1000 {
            rows.push(format!("key {key}").as_bytes(), None);
        }
        let (known, mut block) = (rows.finish(), KeyBlock::default());
        let some = ["key 7", "none", "key 0", "key 7"];
        some.iter().for_each(|key| block.push(key.as_bytes()));
        let one_by_one: Vec<_> = some.iter().map(|key| known.find(key.as_bytes())).collect();
        assert_eq!(one_by_one, [Some(7), None, Some(0), Some(7)]);
        assert_eq!(known.find_all(&block).collect::<Vec<_>>(), one_by_one);
        assert_eq!(Known::default().find_all(&block).flatten().count(), 0);
    }
}
