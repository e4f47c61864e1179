//! Sorts the entries of one chunk in memory.
//!
//! Bare keys of one length are packed into integers (see [`crate::pack`]), radix-sorted and spread
//! out again: no key is compared and none is moved. Entries with payload or of several lengths are
//! sorted as (10 key bytes, offset) in 16 bytes and gathered once.

use crate::entry::EntryShape;
use crate::pack::{Observer, Packing, Word, sort_references};
use crate::radix;
use crate::run::{MARK_EVERY, MemoryRun};

/// Bits of a reference that hold the entry's offset in the arena: 256 TiB.
const OFFSET_BITS: u32 = 48;
/// Leading key bytes in a reference.
const PREFIX_LEN: usize = 10;

/// Takes entries in any order and gives them back as a sorted run; reusable.
#[derive(Debug)]
pub struct SortBuffer {
    shape: EntryShape,
    /// Entries as pushed, encoded as in [`crate::entry`].
    bytes: Vec<u8>,
    count: usize,
    /// Key prefix and offset of each entry; unused for bare keys of one length.
    references: Vec<u128>,
    /// Whether no key pushed was less than the one before it.
    ascending: bool,
    /// Where the key pushed last lies in `bytes`.
    last_key: (usize, usize),
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
            last_key: (0, 0),
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
            self.ascending = self.count == 0 || self.bytes[last..last_end] <= *key;
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
        let end = self.bytes.len();
        self.last_key = (end - payload.len() - key.len(), end - payload.len());
        self.entry_bytes_max = self.entry_bytes_max.max(end - start);
        self.references.push(prefix(key) << OFFSET_BITS | start as u128);
    }

    /// Number of entries pushed since the last sort.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether nothing was pushed since the last sort.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Bytes of the entries pushed since the last sort.
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Memory the buffer holds now, in bytes. [`SortBuffer::sort`] allocates as many bytes again
    /// as there are entry bytes for the run it gives away, and 16 (keys whose differing bits fit
    /// in 64) or 32 per entry, kept for the next time.
    pub fn memory_bytes(&self) -> usize {
        self.bytes.capacity()
            + 8 * (self.words.0.capacity() + self.words.1.capacity())
            + 16 * (self.wide_words.0.capacity() + self.wide_words.1.capacity())
            + 16 * self.references.capacity()
    }

    /// Sorts what was pushed into a run and empties the buffer.
    ///
    /// `ordinal` is the chunk's number: entries of equal keys come out of the merge in the order
    /// of their runs' ordinals, and within a run in the order they were pushed.
    pub fn sort(&mut self, ordinal: u64) -> MemoryRun {
        let mut run = MemoryRun {
            shape: self.shape,
            ordinal,
            count: self.count,
            bytes: Vec::with_capacity(self.bytes.len()),
            marks: Vec::new(),
            entry_bytes_max: self.entry_bytes_max,
        };
        match self.shape.stride() {
            Some(stride) => {
                run.entry_bytes_max = stride;
                if self.ascending {
                    run.bytes.extend_from_slice(&self.bytes);
                } else {
                    self.sort_fixed(stride, &mut run.bytes);
                }
            }
            None => self.sort_encoded(&mut run),
        }
        self.clear();
        run
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

    fn sort_fixed(&mut self, stride: usize, sorted: &mut Vec<u8>) {
        let mut observer = Observer::new(stride);
        observer.observe(&self.bytes);
        let packing = observer.packing();
        if packing.bits <= u64::BITS {
            sort_packed(&packing, &self.bytes, &mut self.words, sorted);
        } else if packing.bits <= u128::BITS {
            sort_packed(&packing, &self.bytes, &mut self.wide_words, sorted);
        } else {
            sort_by_prefix(&packing, &self.bytes, &mut self.wide_words.0, sorted);
        }
    }

    fn sort_encoded(&mut self, run: &mut MemoryRun) {
        if !self.ascending {
            self.references.sort_unstable();
            self.sort_ties();
        }
        run.marks.reserve_exact(self.count.div_ceil(MARK_EVERY));
        for (i, &reference) in self.references.iter().enumerate() {
            if i % MARK_EVERY == 0 {
                run.marks.push(run.bytes.len() as u64);
            }
            let start = offset(reference);
            if let Some(entry) = self.shape.decode(&self.bytes, start, false) {
                run.bytes.extend_from_slice(&self.bytes[start..entry.end]);
            }
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

fn offset(reference: u128) -> usize {
    (reference & ((1 << OFFSET_BITS) - 1)) as usize
}

fn sort_packed<W: Word>(
    packing: &Packing,
    keys: &[u8],
    (words, scratch): &mut (Vec<W>, Vec<W>),
    sorted: &mut Vec<u8>,
) {
    words.clear();
    packing.pack(keys, words);
    radix::sort(words, scratch, packing.bits);
    sorted.resize(keys.len(), 0);
    for (&word, key) in words.iter().zip(sorted.chunks_exact_mut(packing.key_len)) {
        packing.unpack(word, key);
    }
}

/// Sorts keys with more than 128 differing bits: by the first 96 of them, ties by memcmp.
fn sort_by_prefix(packing: &Packing, keys: &[u8], words: &mut Vec<u128>, sorted: &mut Vec<u8>) {
    let len = packing.key_len;
    sort_references(packing, keys, words);
    for &word in words.iter() {
        let index = word as u32 as usize;
        sorted.extend_from_slice(&keys[index * len..][..len]);
    }
}
