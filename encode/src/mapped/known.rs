//! Rows by their keys: gathered from lines by many workers, then known.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::LinePlace;
use super::key_table::{KeyHash, KeyTable};

/// Parts of what is gathered, so that workers seldom wait for each other.
const PARTS: usize = 64;
/// About what a row takes besides its key, while it is gathered and afterwards.
const ROW_BYTES: u64 = 112;
/// What is kept besides of a row that lines say different things of.
const OTHER_BYTES: u64 = 64;

/// A line, as it is told to people.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LineAt {
    /// Index of its file.
    pub file: u32,
    /// The byte of that at which it begins.
    pub offset: u64,
    /// Its number in the file, from 1.
    pub line: u64,
    /// How long it is, with what ends it, as the source that reads it has it.
    pub bytes: u32,
}

impl LineAt {
    /// Where it begins.
    #[inline]
    pub fn place(&self) -> LinePlace {
        (self.file, self.offset)
    }
}

/// What lines say of one entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Said {
    /// The first that has it.
    pub first: LineAt,
    /// Digest of what that says.
    pub digest: u64,
}

/// The entities of lines, while those are read.
#[derive(Debug)]
pub struct Gathering {
    parts: Vec<Mutex<Part>>,
    hash: KeyHash,
    bytes: AtomicU64,
    has_last: bool,
}

/// Some of the entities, with numbers of their own.
#[derive(Debug, Default)]
struct Part {
    keys: KeyTable,
    /// One a key.
    said: Vec<Said>,
    /// The last line of each, where that counts.
    last: Vec<LineAt>,
    others: Others,
}

/// Lines that say something else of an entity than the first, by its number: of each the first such.
type Others = HashMap<usize, LineAt>;

impl Gathering {
    /// Of nothing yet; `has_last` where last lines are asked for, too.
    pub fn new(has_last: bool) -> Gathering {
        Gathering {
            parts: (0..PARTS).map(|_| Mutex::default()).collect(),
            hash: KeyHash::default(),
            bytes: AtomicU64::new(0),
            has_last,
        }
    }

    /// A line says something, of which this is the digest, of the entity with this key. In any order.
    pub fn take(&self, key: &[u8], at: LineAt, digest: u64) {
        let hash = self.hash.of(key);
        let mut part = lock(&self.parts[part_of(hash, PARTS)]);
        let Part { keys, said, last, others } = &mut *part;
        let (number, is_new) = keys.insert(hash, key);
        let mut this = Said { first: at, digest };
        if is_new {
            self.bytes.fetch_add(key.len() as u64 + ROW_BYTES, Ordering::Relaxed);
            said.push(this);
            last.extend(self.has_last.then_some(at));
            return;
        }
        if let Some(last) = last.get_mut(number) {
            *last = at.max(*last);
        }
        let first = &mut said[number];
        if this.first < first.first {
            std::mem::swap(first, &mut this);
        }
        if this.digest != first.digest {
            let other = others.entry(number).or_insert_with(|| {
                self.bytes.fetch_add(OTHER_BYTES, Ordering::Relaxed);
                this.first
            });
            *other = this.first.min(*other);
        }
    }

    /// About the memory that all of it takes.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// All of it.
    pub fn finish(self) -> Entities {
        let parts = self.parts.into_iter();
        let parts = parts.map(|part| part.into_inner().unwrap_or_else(PoisonError::into_inner));
        let (mut tables, mut said, mut last) = (Vec::new(), Vec::new(), Vec::new());
        let mut others = Others::new();
        for part in parts {
            let first = said.len();
            others.extend(part.others.into_iter().map(|(number, at)| (first + number, at)));
            said.extend(part.said);
            last.extend(part.last);
            tables.push(part.keys);
        }
        let place = |(number, said): (usize, &Said)| (said.first.place(), number);
        let mut order: Vec<(LinePlace, usize)> = said.iter().enumerate().map(place).collect();
        order.sort_unstable();
        let order = order.into_iter().map(|(_, number)| number).collect();
        Entities { keys: Keys::new(tables, self.hash), said, last, others, order }
    }
}

/// Keys that are found by what they are, whose numbers go from 0 to their count.
#[derive(Debug, Default)]
struct Keys {
    tables: Vec<KeyTable>,
    /// The number of the first key of each table.
    firsts: Vec<usize>,
    hash: KeyHash,
}

impl Keys {
    fn new(tables: Vec<KeyTable>, hash: KeyHash) -> Keys {
        let first = |next: &mut usize, table: &KeyTable| {
            let first = *next;
            *next += table.len();
            Some(first)
        };
        let firsts = tables.iter().scan(0, first).collect();
        Keys { tables, firsts, hash }
    }

    #[inline]
    fn find(&self, key: &[u8]) -> Option<usize> {
        self.find_hashed(self.hash.of(key), key)
    }

    /// What stands in the place at which keys of a hash are looked for first.
    #[inline]
    fn place(&self, hash: u64) -> u64 {
        self.tables.get(part_of(hash, self.tables.len())).map_or(0, |table| table.place(hash))
    }

    /// What stands where that place says.
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

    fn key(&self, number: usize) -> &[u8] {
        let part = self.firsts.partition_point(|first| *first <= number) - 1;
        self.tables[part].key(number - self.firsts[part])
    }
}

/// Entities by their keys, and what lines say of them.
#[derive(Debug)]
pub struct Entities {
    keys: Keys,
    /// One a number.
    said: Vec<Said>,
    last: Vec<LineAt>,
    others: Others,
    /// Their numbers, in the order of the first lines.
    order: Vec<usize>,
}

impl Entities {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.said.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.said.is_empty()
    }

    /// Their numbers, below [`Entities::len`], with what is said of each; in the order of the first lines.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &Said)> {
        self.order.iter().map(|&number| (number, &self.said[number]))
    }

    /// The last line of one; none where they were not asked for.
    pub fn last(&self, number: usize) -> Option<LineAt> {
        self.last.get(number).copied()
    }

    /// Those that lines say different things of, with the first line that says something else than the very
    /// first; in any order.
    pub fn contradicted(&self) -> impl Iterator<Item = (usize, &Said, LineAt)> {
        self.others.iter().map(|(&number, &other)| (number, &self.said[number], other))
    }

    /// The key of one.
    pub fn key(&self, number: usize) -> &[u8] {
        self.keys.key(number)
    }

    /// The number of the one with this key.
    pub fn find(&self, key: &[u8]) -> Option<usize> {
        self.keys.find(key)
    }

    /// Them as rows that have these ids, one a number.
    pub fn identified(self, ids: Vec<u64>) -> Known {
        assert_eq!(ids.len(), self.said.len(), "each entity has an id");
        Known { keys: self.keys, ids, texts: None }
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
    /// What a lookup takes, one a row, if it is one; none is NULL.
    texts: Option<Vec<Option<Vec<u8>>>>,
}

/// What a column takes from a row that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken<'a> {
    /// Its id.
    Id(u64),
    /// What a lookup takes.
    Text(&'a [u8]),
}

impl Known {
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

    /// What is taken from the row of a number that was found; none is NULL.
    #[inline]
    pub fn taken(&self, number: usize) -> Option<Taken<'_>> {
        match &self.texts {
            None => self.ids.get(number).copied().map(Taken::Id),
            Some(texts) => texts.get(number)?.as_deref().map(Taken::Text),
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
    /// A row with this key has this in the column that is taken; whether no other had the key.
    pub fn push(&mut self, key: &[u8], text: Option<&[u8]>) -> bool {
        let (_, is_new) = self.keys.insert(self.hash.of(key), key);
        if is_new {
            self.texts.push(text.map(<[u8]>::to_vec));
        }
        is_new
    }

    /// All of them.
    pub fn finish(self) -> Known {
        let keys = Keys::new(vec![self.keys], self.hash);
        Known { keys, ids: Vec::new(), texts: Some(self.texts) }
    }
}

/// The part of so many that keys of a hash are in.
#[inline]
fn part_of(hash: u64, parts: usize) -> usize {
    ((u128::from(hash) * parts as u128) >> 64) as usize
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn at(line: u64) -> LineAt {
        LineAt { file: 0, offset: line * 10, line, bytes: 10 }
    }

    #[test]
    fn lines_in_any_order_come_to_the_same() {
        let lines = [(1, "a", 7), (2, "b", 1), (3, "a", 7), (4, "b", 2), (5, "a", 7)];
        for turn in 0..lines.len() {
            let gathering = Gathering::new(true);
            for index in 0..lines.len() {
                let (line, key, digest) = lines[(index * 2 + turn) % lines.len()];
                gathering.take(key.as_bytes(), at(line), digest);
            }
            let all = gathering.finish();
            let seen = |(number, said): (usize, &Said)| {
                let key = String::from_utf8_lossy(all.key(number)).into_owned();
                (key, said.first.line, all.last(number).map(|last| last.line), said.digest)
            };
            let seen: Vec<_> = all.iter().map(seen).collect();
            assert_eq!(seen, [("a".to_owned(), 1, Some(5), 7), ("b".to_owned(), 2, Some(4), 1)]);
            let others: Vec<_> = all.contradicted().collect();
            let b = all.find(b"b").unwrap();
            assert_eq!(others, [(b, &Said { first: at(2), digest: 1 }, at(4))]);
        }
    }

    #[test]
    fn entities_keep_their_keys_and_get_their_ids() {
        let gathering = Gathering::new(false);
        let keys: Vec<String> = (0..1000).map(|key| format!("key {}", key * 7 % 1000)).collect();
        for (line, key) in keys.iter().enumerate() {
            gathering.take(key.as_bytes(), at(line as u64), 0);
        }
        let all = gathering.finish();
        assert!(
            all.iter().map(|(number, _)| all.key(number)).eq(keys.iter().map(|key| key.as_bytes()))
        );
        assert!(
            keys.iter().all(|key| all.key(all.find(key.as_bytes()).unwrap()) == key.as_bytes())
        );
        let mut ids = vec![0; all.len()];
        all.iter().zip(1..).for_each(|((number, _), id)| ids[number] = id);
        let known = all.identified(ids);
        for (key, id) in keys.iter().zip(1..) {
            assert_eq!(
                known.find(key.as_bytes()).and_then(|row| known.taken(row)),
                Some(Taken::Id(id))
            );
        }
        assert_eq!(known.find(b"none"), None);
        let mut block = KeyBlock::default();
        let some = ["key 7", "none", "key 0", "key 7"];
        some.iter().for_each(|key| block.push(key.as_bytes()));
        let one_by_one: Vec<_> = some.iter().map(|key| known.find(key.as_bytes())).collect();
        assert_eq!(known.find_all(&block).collect::<Vec<_>>(), one_by_one);
        assert_eq!(Known::default().find_all(&block).flatten().count(), 0);
    }

    #[test]
    fn what_is_looked_up_may_be_null_and_is_there_once() {
        let mut rows = LookedUpRows::default();
        assert!(rows.push(b"a", Some(b"one")) && rows.push(b"b", None) && !rows.push(b"a", None));
        let known = rows.finish();
        let taken = |key: &[u8]| known.find(key).map(|row| known.taken(row));
        assert_eq!(taken(b"a"), Some(Some(Taken::Text(b"one"))));
        assert_eq!((taken(b"b"), taken(b"c")), (Some(None), None));
    }
}
