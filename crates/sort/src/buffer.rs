//! Sorts entries in memory, as many as a worker may hold.
//!
//! Bare keys of one length are packed into integers (see [`crate::pack`]) and radix-sorted: no key
//! is compared and none is moved, and the run is those integers. Entries with payload or of several lengths are
//! sorted as (10 key bytes, offset) in 16 bytes and gathered once.

use crate::entry::EntryShape;
use crate::keys::{Keys, Words};
use crate::pack::{Packing, Word, sort_references};
use crate::radix;
use crate::run::{EncodedRun, Entries, MARK_EVERY, MemoryRun};

/// Bits of a reference that hold the entry's offset in the arena: 256 TiB.
const OFFSET_BITS: u32 = 48;
/// Leading key bytes in a reference.
const PREFIX_LEN: usize = 10;
const _: () = assert!(8 * PREFIX_LEN as u32 + OFFSET_BITS == u128::BITS);

/// From so many common bytes on it pays to make the references again.
const COMMON_LEN_MIN: usize = 3;

/// Takes entries in any order and gives them back as a sorted run; reusable.
#[derive(Debug)]
pub struct SortBuffer {
    shape: EntryShape,
    /// Entries as pushed, encoded as in [`crate::entry`].
    bytes: Vec<u8>,
    count: usize,
    /// Key prefix and offset of each entry; unused for bare keys of one length.
    references: Vec<u128>,
    /// True if no key pushed was less than the one before it.
    ascending: bool,
    /// Where the first key pushed and the last one lie in `bytes`.
    first_key: (usize, usize),
    last_key: (usize, usize),
    /// Leading bytes in which no key differs from the first; unused as `references` is.
    common_len: usize,
    entry_bytes_max: usize,
    words: (Vec<u64>, Vec<u64>),
    wide_words: (Vec<u128>, Vec<u128>),
}

impl SortBuffer {
    /// An empty buffer. Allocates as entries come and keeps what it allocated.
    pub fn new(shape: EntryShape) -> SortBuffer {
        SortBuffer {
            shape,
            bytes: Vec::new(),
            count: 0,
            references: Vec::new(),
            ascending: true,
            first_key: (0, 0),
            last_key: (0, 0),
            common_len: 0,
            entry_bytes_max: 0,
            words: Default::default(),
            wide_words: Default::default(),
        }
    }

    /// Adds an entry. Keys of one sort are prefix-free and compare by memcmp.
    ///
    /// `key` has the length the shape says, and `payload` is empty if the shape has none: anything
    /// else is a fault of the caller's.
    #[inline]
    pub fn push(&mut self, key: &[u8], payload: &[u8]) {
        let start = self.bytes.len();
        if self.ascending {
            let (last, last_end) = self.last_key;
            self.ascending = self.count == 0 || is_ascending(&self.bytes[last..last_end], key);
        }
        if let Some(stride) = self.shape.stride() {
            assert!(key.len() == stride && payload.is_empty(), "the entry has the sort's shape");
            self.bytes.extend_from_slice(key);
            self.last_key = (start, start + stride);
        } else {
            self.push_encoded(key, payload);
        }
        self.count += 1;
    }

    fn push_encoded(&mut self, key: &[u8], payload: &[u8]) {
        assert!(self.shape.key_len.is_none_or(|len| len == key.len()), "keys are of one length");
        assert!(self.shape.payload || payload.is_empty(), "the sort has no payloads");
        let start = self.bytes.len();
        self.shape.encode(None, key, payload, &mut self.bytes);
        debug_assert!(start >> OFFSET_BITS == 0, "an offset fits its reference");
        let end = self.bytes.len();
        self.last_key = (end - payload.len() - key.len(), end - payload.len());
        if self.count == 0 {
            self.first_key = self.last_key;
            self.common_len = key.len();
        } else {
            self.common_len = common_len(&self.bytes[self.first_key.0..][..self.common_len], key);
        }
        self.entry_bytes_max = self.entry_bytes_max.max(end - start);
        self.references.push(prefix(key) << OFFSET_BITS | start as u128);
    }

    /// Number of entries pushed since the last sort.
    pub fn len(&self) -> usize {
        self.count
    }

    /// True if nothing was pushed since the last sort.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Bytes of the entries pushed since the last sort.
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Memory the buffer holds now, in bytes.
    ///
    /// [`SortBuffer::sort`] allocates the run it gives away: the entries' bytes again, or for bare
    /// keys 8 (up to 64 differing bits), 16 (up to 128) or all bytes of each. For bare keys it
    /// also allocates 16 or 32 bytes an entry and keeps them for the next time.
    pub fn memory_bytes(&self) -> usize {
        self.bytes.capacity()
            + 8 * (self.words.0.capacity() + self.words.1.capacity())
            + 16 * (self.wide_words.0.capacity() + self.wide_words.1.capacity())
            + 16 * self.references.capacity()
    }

    /// Sorts what was pushed into a run and empties the buffer.
    ///
    /// `ordinal` tells the run from all others: entries of equal keys come out of the merge in the
    /// order of their runs' ordinals, and within a run in the order they were pushed.
    pub fn sort(&mut self, ordinal: u64) -> MemoryRun {
        let (entries, entry_bytes_max) = match self.shape.stride() {
            Some(stride) => (Entries::Keys(self.sort_keys(stride)), stride),
            None => (Entries::Encoded(self.sort_encoded()), self.entry_bytes_max),
        };
        let (shape, count) = (self.shape, self.count);
        self.clear();
        debug_assert!(entries.is_ascending(), "a run is sorted");
        MemoryRun { shape, ordinal, count, entry_bytes_max, entries }
    }

    /// Forgets what was pushed.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.references.clear();
        self.count = 0;
        self.ascending = true;
        self.last_key = (0, 0);
        self.entry_bytes_max = 0;
    }

    fn sort_keys(&mut self, stride: usize) -> Keys {
        let packing = Packing::of(&self.bytes, stride);
        let words = if packing.bits <= u64::BITS {
            Words::Narrow(sort_packed(&packing, &self.bytes, self.ascending, &mut self.words))
        } else if packing.bits <= u128::BITS {
            Words::Wide(sort_packed(&packing, &self.bytes, self.ascending, &mut self.wide_words))
        } else if self.ascending {
            Words::Plain(self.bytes.clone())
        } else {
            Words::Plain(sort_plain(&packing, &self.bytes, &mut self.wide_words.0))
        };
        Keys { packing, words }
    }

    fn sort_encoded(&mut self) -> EncodedRun {
        if !self.ascending {
            if self.common_len >= COMMON_LEN_MIN {
                self.skip_common();
            }
            self.references.sort_unstable();
            self.sort_ties();
        }
        let mut bytes = Vec::with_capacity(self.bytes.len());
        let mut marks = Vec::with_capacity(self.count.div_ceil(MARK_EVERY));
        for (i, &reference) in self.references.iter().enumerate() {
            if i % MARK_EVERY == 0 {
                marks.push(bytes.len() as u64);
            }
            let start = offset(reference);
            if let Some(entry) = self.shape.decode(&self.bytes, start, false) {
                bytes.extend_from_slice(&self.bytes[start..entry.end]);
            }
        }
        EncodedRun { shape: self.shape, bytes, marks }
    }

    /// Has the references begin after what all keys have in common.
    fn skip_common(&mut self) {
        for reference in &mut self.references {
            let start = offset(*reference);
            let entry = self.shape.decode(&self.bytes, start, false).unwrap_or_default();
            let key = &self.bytes[entry.key..entry.key_end];
            *reference = prefix(&key[self.common_len..]) << OFFSET_BITS | start as u128;
        }
    }

    /// Orders references of equal prefix by their whole keys, then by offset: as pushed.
    fn sort_ties(&mut self) {
        let (shape, bytes) = (self.shape, &self.bytes);
        if shape.key_len.is_some_and(|len| len <= PREFIX_LEN) {
            return;
        }
        let key = |reference: u128| {
            let entry = shape.decode(bytes, offset(reference), false).unwrap_or_default();
            &bytes[entry.key..entry.key_end]
        };
        for ties in self.references.chunk_by_mut(|a, b| a >> OFFSET_BITS == b >> OFFSET_BITS) {
            if ties.len() > 1 {
                ties.sort_unstable_by(|&a, &b| key(a).cmp(key(b)).then(a.cmp(&b)));
            }
        }
    }
}

/// The first [`PREFIX_LEN`] bytes of a key as a number; a shorter key is filled up with zeros.
#[inline]
fn prefix(key: &[u8]) -> u128 {
    let mut bytes = [0; 16];
    let len = key.len().min(PREFIX_LEN);
    bytes[16 - PREFIX_LEN..][..len].copy_from_slice(&key[..len]);
    u128::from_be_bytes(bytes)
}

/// True if `key` is not less than `last`. Mostly decided, without a call, by their first 16 bytes.
#[inline]
fn is_ascending(last: &[u8], key: &[u8]) -> bool {
    match (last.first_chunk::<16>(), key.first_chunk::<16>()) {
        (Some(last_start), Some(key_start)) => {
            let (a, b) = (u128::from_be_bytes(*last_start), u128::from_be_bytes(*key_start));
            a < b || (a == b && last <= key)
        }
        _ => last <= key,
    }
}

/// Leading bytes of `start` that `key` has too.
#[inline]
pub(crate) fn common_len(start: &[u8], key: &[u8]) -> usize {
    if key.starts_with(start) {
        return start.len();
    }
    start.iter().zip(key).take_while(|(a, b)| a == b).count()
}

fn offset(reference: u128) -> usize {
    (reference & ((1 << OFFSET_BITS) - 1)) as usize
}

fn sort_packed<W: Word>(
    packing: &Packing,
    keys: &[u8],
    ascending: bool,
    (words, scratch): &mut (Vec<W>, Vec<W>),
) -> Vec<W> {
    words.clear();
    packing.pack(keys, words);
    if !ascending {
        radix::sort(words, scratch, packing.bits);
    }
    // The run gets exactly what it needs, the buffer keeps its capacity.
    words.clone()
}

/// Sorts keys with more than 128 differing bits.
fn sort_plain(packing: &Packing, keys: &[u8], references: &mut Vec<u128>) -> Vec<u8> {
    let len = packing.key_len;
    sort_references(packing, keys, references);
    let mut sorted = Vec::with_capacity(keys.len());
    for &reference in references.iter() {
        sorted.extend_from_slice(&keys[reference as u32 as usize * len..][..len]);
    }
    sorted
}
