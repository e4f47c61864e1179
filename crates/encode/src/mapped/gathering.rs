//! Entities that lines have, gathered by many workers.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

use locks::Mutex;

use super::LinePlace;
use super::key_table::{KeyHash, KeyTable};
use super::known::{Keys, Known, part_of};

/// Parts of what is gathered, so that workers seldom wait for each other.
const PARTS: usize = 64;
/// About what a row takes besides its key, while it is gathered and afterwards.
const ROW_BYTES: u64 = 112;
/// Further bytes for a row that lines contradict each other about.
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

/// The values that lines give one entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntityValues {
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
    said: Vec<EntityValues>,
    /// The last line of each, where that counts.
    last: Vec<LineAt>,
    others: Others,
}

/// Lines that say something else of an entity than the first, by its number: of each the first such.
type Others = HashMap<usize, LineAt>;

impl Gathering {
    /// An empty gathering; `has_last` if last lines are needed, too.
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
        self.take_in(&mut self.parts[part_of(hash, PARTS)].lock(), hash, key, at, digest);
    }

    /// True if a line at this place would stand for the entity with this key, beside the lines taken so far.
    pub fn would_stand(&self, key: &[u8], place: LinePlace) -> bool {
        let hash = self.hash.of(key);
        let part = self.parts[part_of(hash, PARTS)].lock();
        let Some(number) = part.keys.find(hash, key) else { return true };
        match self.has_last {
            true => part.last[number].place() < place,
            false => place < part.said[number].first.place(),
        }
    }

    /// True if the last line of an entity stands for it, and not the first.
    pub fn has_last(&self) -> bool {
        self.has_last
    }

    /// The same of many lines, which are gone then. Those of one part are taken together: the part is in
    /// the processor's caches then, and where it is not, their waits for memory are one.
    pub fn take_all(&self, lines: &mut LinesSaid) {
        lines.sort_by_part();
        for (part, bounds) in self.parts.iter().zip(lines.starts.windows(2)) {
            let of_part = &lines.order[bounds[0]..bounds[1]];
            if of_part.is_empty() {
                continue;
            }
            let mut part = part.lock();
            let hashes = || of_part.iter().map(|&at| lines.said[at as usize].hash);
            part.keys.expect(hashes);
            for &at in of_part {
                let LineSaid { hash, at: line, digest, .. } = lines.said[at as usize];
                self.take_in(&mut part, hash, lines.key(at as usize), line, digest);
            }
        }
        lines.clear();
    }

    fn take_in(&self, part: &mut Part, hash: u64, key: &[u8], at: LineAt, digest: u64) {
        let Part { keys, said, last, others } = part;
        let (number, is_new) = keys.insert(hash, key);
        let mut this = EntityValues { first: at, digest };
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
        let (mut tables, mut parts) = (Vec::new(), Vec::new());
        for part in self.parts {
            let Part { keys, said, last, others } = part.into_inner();
            tables.push(keys);
            parts.push(PartSaid { said, last, others });
        }
        let mut order = Vec::with_capacity(parts.iter().map(|part| part.said.len()).sum());
        for (part, of) in parts.iter().enumerate() {
            let place = |(at, said): (usize, &EntityValues)| Ordered::new(said.first, part, at);
            order.extend(of.said.iter().enumerate().map(place));
        }
        order.sort_unstable();
        Entities { keys: Keys::new(tables, self.hash), parts, order }
    }
}

/// The values that many lines give entities, before they are gathered.
#[derive(Debug, Default)]
pub struct LinesSaid {
    /// The keys, one behind the other.
    keys: Vec<u8>,
    said: Vec<LineSaid>,
    /// Their numbers, by the parts of the keys, and where those of each part begin, then their end.
    order: Vec<u32>,
    starts: Vec<usize>,
}

/// The values of a line.
#[derive(Clone, Copy, Debug)]
struct LineSaid {
    hash: u64,
    /// The end of its key.
    end: usize,
    at: LineAt,
    digest: u64,
}

impl LinesSaid {
    /// A line says something, of which this is the digest, of the entity with this key.
    #[inline]
    pub fn push(&mut self, key: &[u8], at: LineAt, digest: u64) {
        self.keys.extend_from_slice(key);
        let hash = KeyHash::default().of(key);
        self.said.push(LineSaid { hash, end: self.keys.len(), at, digest });
    }

    /// About the memory that it takes.
    pub fn bytes(&self) -> usize {
        self.keys.len() + self.said.len() * (size_of::<LineSaid>() + size_of::<u32>())
    }

    fn key(&self, at: usize) -> &[u8] {
        let start = at.checked_sub(1).map_or(0, |before| self.said[before].end);
        &self.keys[start..self.said[at].end]
    }

    fn sort_by_part(&mut self) {
        let LinesSaid { said, order, starts, .. } = self;
        starts.clear();
        starts.resize(PARTS + 1, 0);
        for said in said.iter() {
            starts[part_of(said.hash, PARTS) + 1] += 1;
        }
        let mut before = 0;
        for start in starts.iter_mut() {
            before += *start;
            *start = before;
        }
        order.clear();
        order.resize(said.len(), 0);
        let mut next: [usize; PARTS] = std::array::from_fn(|part| starts[part]);
        for (at, said) in (0u32..).zip(said.iter()) {
            let next = &mut next[part_of(said.hash, PARTS)];
            order[*next] = at;
            *next += 1;
        }
    }

    fn clear(&mut self) {
        self.keys.clear();
        self.said.clear();
    }
}

/// The values for some of the entities, one number for each of these.
#[derive(Debug)]
struct PartSaid {
    said: Vec<EntityValues>,
    /// The last line of each, where that counts.
    last: Vec<LineAt>,
    others: Others,
}

/// An entity in the order of the first lines: where that is, then its part and its number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Ordered {
    file: u32,
    offset: u64,
    part: u32,
    at: u32,
}

impl Ordered {
    fn new(first: LineAt, part: usize, at: usize) -> Ordered {
        // A table has no more keys than that.
        Ordered { file: first.file, offset: first.offset, part: part as u32, at: at as u32 }
    }
}

/// Entities by their keys, and what lines say of them.
#[derive(Debug)]
pub struct Entities {
    keys: Keys,
    parts: Vec<PartSaid>,
    order: Vec<Ordered>,
}

impl Entities {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// Their numbers, below [`Entities::len`], with what is said of each; in the order of the first lines.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &EntityValues)> {
        self.order.iter().map(|of| {
            let (part, at) = (of.part as usize, of.at as usize);
            (self.keys.number(part, at), &self.parts[part].said[at])
        })
    }

    /// The last line of one; none where they were not asked for.
    pub fn last(&self, number: usize) -> Option<LineAt> {
        let (part, at) = self.keys.place_of(number);
        self.parts[part].last.get(at).copied()
    }

    /// Those that lines say different things of, with the first line that says something else than the very
    /// first; in any order.
    pub fn contradicted(&self) -> impl Iterator<Item = (usize, &EntityValues, LineAt)> {
        self.parts.iter().enumerate().flat_map(move |(part, of)| {
            let one = move |(&at, &other)| (self.keys.number(part, at), &of.said[at], other);
            of.others.iter().map(one)
        })
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
        assert_eq!(ids.len(), self.len(), "each entity has an id");
        Known::of_ids(self.keys, ids)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::known::KnownValue;
    use super::*;

    fn at(line: u64) -> LineAt {
        LineAt { file: 0, offset: line * 10, line, bytes: 10 }
    }

    #[test]
    fn lines_in_any_order_come_to_the_same() {
        let lines = [(1, "a", 7), (2, "b", 1), (3, "a", 7), (4, "b", 2), (5, "a", 7)];
        for turn in 0..lines.len() {
            let (gathering, mut together) = (Gathering::new(true), LinesSaid::default());
            for index in 0..lines.len() {
                let (line, key, digest) = lines[(index * 2 + turn) % lines.len()];
                if index < turn {
                    together.push(key.as_bytes(), at(line), digest);
                } else {
                    gathering.take(key.as_bytes(), at(line), digest);
                }
            }
            gathering.take_all(&mut together);
            assert_eq!(together.bytes(), 0);
            let all = gathering.finish();
            let seen = |(number, said): (usize, &EntityValues)| {
                let key = String::from_utf8_lossy(all.key(number)).into_owned();
                (key, said.first.line, all.last(number).map(|last| last.line), said.digest)
            };
            let seen: Vec<_> = all.iter().map(seen).collect();
            assert_eq!(seen, [("a".to_owned(), 1, Some(5), 7), ("b".to_owned(), 2, Some(4), 1)]);
            let others: Vec<_> = all.contradicted().collect();
            let b = all.find(b"b").unwrap();
            assert_eq!(others, [(b, &EntityValues { first: at(2), digest: 1 }, at(4))]);
        }
    }

    #[test]
    fn entities_keep_their_keys_and_get_their_ids() {
        let (gathering, mut lines) = (Gathering::new(false), LinesSaid::default());
        let keys: Vec<String> = (0..1000).map(|key| format!("key {}", key * 7 % 1000)).collect();
        for (line, key) in keys.iter().enumerate() {
            lines.push(key.as_bytes(), at(line as u64), 0);
            if line % 300 == 299 {
                gathering.take_all(&mut lines);
            }
        }
        gathering.take_all(&mut lines);
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
                Some(KnownValue::Id(id))
            );
        }
        assert_eq!(known.find(b"none"), None);
    }
}
