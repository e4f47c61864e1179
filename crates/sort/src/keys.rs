//! An ascending array of keys of one length, packed where the differing bits fit a word.

use std::ops::Range;

use crate::pack::{Observer, Packing, Word};

/// Keys as [`crate::pack`] integers, or as they are.
#[derive(Debug)]
pub(crate) struct Keys {
    pub(crate) packing: Packing,
    pub(crate) words: Words,
}

/// The packed form of keys, by how many bits of them differ.
#[derive(Debug)]
pub(crate) enum Words {
    /// Up to 64.
    Narrow(Vec<u64>),
    /// Up to 128.
    Wide(Vec<u128>),
    /// More: the keys themselves.
    Plain(Vec<u8>),
}

/// Most memory a key of `key_len` bytes can take in [`Keys`].
pub(crate) fn key_bytes_max(key_len: usize) -> usize {
    key_len.max(16)
}

impl Keys {
    /// No keys.
    pub(crate) fn empty(key_len: usize) -> Keys {
        Keys { packing: Observer::new(key_len).packing(), words: Words::Plain(Vec::new()) }
    }

    pub(crate) fn len(&self) -> usize {
        match &self.words {
            Words::Narrow(words) => words.len(),
            Words::Wide(words) => words.len(),
            Words::Plain(bytes) => bytes.len() / self.packing.key_len,
        }
    }

    /// Takes out the memory of plain keys, if they are, to be filled again.
    pub(crate) fn take_plain(&mut self) -> Vec<u8> {
        match std::mem::replace(&mut self.words, Words::Plain(Vec::new())) {
            Words::Plain(bytes) => bytes,
            _ => Vec::new(),
        }
    }

    /// Memory held besides the struct, in bytes.
    pub(crate) fn memory_bytes(&self) -> usize {
        let words = match &self.words {
            Words::Narrow(words) => 8 * words.capacity(),
            Words::Wide(words) => 16 * words.capacity(),
            Words::Plain(bytes) => bytes.capacity(),
        };
        words + self.packing.memory_bytes()
    }

    /// True if every key is not less than the one before.
    pub(crate) fn is_ascending(&self) -> bool {
        match &self.words {
            Words::Narrow(words) => words.is_sorted(),
            Words::Wide(words) => words.is_sorted(),
            Words::Plain(bytes) => bytes.chunks_exact(self.packing.key_len).is_sorted(),
        }
    }

    /// Writes a key to `key`, which has its length.
    pub(crate) fn key(&self, index: usize, key: &mut [u8]) {
        let len = self.packing.key_len;
        debug_assert!(key.len() == len && index < self.len());
        match &self.words {
            Words::Narrow(words) => self.packing.unpack_one(words[index], key),
            Words::Wide(words) => self.packing.unpack_one(words[index], key),
            Words::Plain(bytes) => key.copy_from_slice(&bytes[index * len..][..len]),
        }
    }

    /// Appends keys.
    pub(crate) fn unpack(&self, range: Range<usize>, out: &mut Vec<u8>) {
        let len = self.packing.key_len;
        match &self.words {
            Words::Narrow(words) => self.packing.unpack(&words[range], out),
            Words::Wide(words) => self.packing.unpack(&words[range], out),
            Words::Plain(bytes) => {
                out.extend_from_slice(&bytes[range.start * len..range.end * len]);
            }
        }
    }

    /// Index in `range` of the first key that is not less than `bound`; its end if there is none.
    pub(crate) fn lower_bound(&self, range: Range<usize>, bound: &[u8]) -> usize {
        self.partition_point(range, |key| key < bound)
    }

    /// Index in `range` of the first key that is greater than `bound`; its end if there is none.
    pub(crate) fn upper_bound(&self, range: Range<usize>, bound: &[u8]) -> usize {
        self.partition_point(range, |key| key <= bound)
    }

    fn partition_point(&self, range: Range<usize>, before: impl Fn(&[u8]) -> bool) -> usize {
        let mut key = vec![0; self.packing.key_len];
        let (mut low, mut high) = (range.start, range.end);
        while low < high {
            let middle = low.midpoint(high);
            self.key(middle, &mut key);
            if before(&key) { low = middle + 1 } else { high = middle }
        }
        low
    }

    /// Takes note of the keys in `range`.
    pub(crate) fn observe(&self, range: Range<usize>, observer: &mut Observer) {
        let len = self.packing.key_len;
        match &self.words {
            Words::Narrow(words) => self.observe_words(&words[range], observer),
            Words::Wide(words) => self.observe_words(&words[range], observer),
            Words::Plain(bytes) => observer.observe(&bytes[range.start * len..range.end * len]),
        }
    }

    fn observe_words<W: Word>(&self, words: &[W], observer: &mut Observer) {
        let Some(&first) = words.first() else { return };
        let differing =
            words.iter().fold(W::default(), |bits, &word| bits.union(word.difference(first)));
        observer.observe_packed(&self.packing, first, differing);
    }

    /// Appends the keys in `range` in the form of another packing, which covers all bits in which
    /// they differ from other keys of that form.
    pub(crate) fn repack<W: Word>(&self, range: Range<usize>, to: &Packing, out: &mut Vec<W>) {
        let len = self.packing.key_len;
        match &self.words {
            Words::Narrow(words) => Repacking::new(&self.packing, to).apply(&words[range], out),
            Words::Wide(words) => Repacking::new(&self.packing, to).apply(&words[range], out),
            Words::Plain(bytes) => to.pack(&bytes[range.start * len..range.end * len], out),
        }
    }
}

/// From one packed form to another, without the key between.
///
/// A stretch of bits that spans of both packings cover moves as one; bits that differ in the new
/// form but are the same in all keys of the old one are put in as they are.
struct Repacking<W> {
    parts: Vec<Part>,
    fixed: W,
}

#[derive(Clone, Copy)]
struct Part {
    from: u32,
    mask: u64,
    to: u32,
}

impl<W: Word> Repacking<W> {
    fn new(from: &Packing, to: &Packing) -> Repacking<W> {
        let mut parts = Vec::with_capacity(from.spans.len() + to.spans.len());
        for (target, target_low) in to.lows() {
            for (source, source_low) in from.lows().filter(|(span, _)| span.word == target.word) {
                let start = target.shift.max(source.shift);
                let end = (target.shift + target.width).min(source.shift + source.width);
                if start < end {
                    parts.push(Part {
                        from: source_low + start - source.shift,
                        mask: u64::MAX >> (64 - (end - start)),
                        to: target_low + start - target.shift,
                    });
                }
            }
        }
        Repacking { parts, fixed: to.pack_words(|word| from.fixed[word]) }
    }

    fn apply<V: Word>(&self, words: &[V], out: &mut Vec<W>) {
        match self.parts.len() {
            0 => out.extend(words.iter().map(|_| self.fixed)),
            1 => self.apply_unrolled::<V, 1>(words, out),
            2 => self.apply_unrolled::<V, 2>(words, out),
            3 => self.apply_unrolled::<V, 3>(words, out),
            4 => self.apply_unrolled::<V, 4>(words, out),
            5 => self.apply_unrolled::<V, 5>(words, out),
            6 => self.apply_unrolled::<V, 6>(words, out),
            _ => out.extend(words.iter().map(|&word| {
                self.parts.iter().fold(self.fixed, |packed, part| packed.union(part.moved(word)))
            })),
        }
    }

    fn apply_unrolled<V: Word, const N: usize>(&self, words: &[V], out: &mut Vec<W>) {
        let Ok(parts) = <[Part; N]>::try_from(self.parts.as_slice()) else { return };
        let fixed = self.fixed;
        out.extend(
            words.iter().map(|&word| {
                parts.iter().fold(fixed, |packed, part| packed.union(part.moved(word)))
            }),
        );
    }
}

impl Part {
    #[inline(always)]
    fn moved<V: Word, W: Word>(&self, word: V) -> W {
        W::placed(word.bits(self.from) & self.mask, self.to)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn keys(bytes: &[u8], key_len: usize) -> Keys {
        let packing = Packing::of(bytes, key_len);
        let words = match packing.bits {
            0..=64 => Words::Narrow(packed(&packing, bytes)),
            65..=128 => Words::Wide(packed(&packing, bytes)),
            _ => Words::Plain(bytes.to_vec()),
        };
        Keys { packing, words }
    }

    fn packed<W: Word>(packing: &Packing, bytes: &[u8]) -> Vec<W> {
        let mut words = Vec::new();
        packing.pack(bytes, &mut words);
        words
    }

    proptest! {
        /// Two arrays, each packed its own way, brought into one form: as if packed together.
        #[test]
        fn repacking_equals_packing_the_keys(
            key_len in 1_usize..30,
            masks in prop::collection::vec(prop::sample::select(vec![0_u8, 0, 0, 1, 0x18, 0xff]), 60),
            seeds in prop::collection::vec(any::<[u8; 30]>(), 2..30),
            split in 1_usize..29,
        ) {
            let key = |(i, seed): (usize, &[u8; 30])| {
                let mask = if i < split { &masks[..30] } else { &masks[30..] };
                (0..key_len).map(|j| seed[j] & mask[j]).collect::<Vec<u8>>()
            };
            let mut all: Vec<Vec<u8>> = seeds.iter().enumerate().map(key).collect();
            let split = split.min(all.len());
            all[..split].sort();
            all[split..].sort();
            let (left, right) = (keys(&all[..split].concat(), key_len), keys(&all[split..].concat(), key_len));
            let mut observer = Observer::new(key_len);
            left.observe(0..left.len(), &mut observer);
            right.observe(0..right.len(), &mut observer);
            let packing = observer.packing();
            prop_assert_eq!(&packing.spans, &Packing::of(&all.concat(), key_len).spans);
            if packing.bits <= 128 {
                let mut words: Vec<u128> = Vec::new();
                left.repack(0..left.len(), &packing, &mut words);
                right.repack(0..right.len(), &packing, &mut words);
                prop_assert_eq!(words, packed::<u128>(&packing, &all.concat()));
            }
            let mut unpacked = Vec::new();
            left.unpack(0..left.len(), &mut unpacked);
            right.unpack(0..right.len(), &mut unpacked);
            prop_assert_eq!(&unpacked, &all.concat());
            for bound in &all {
                let expected = all[..split].partition_point(|key| key < bound);
                prop_assert_eq!(left.lower_bound(0..left.len(), bound), expected);
                let expected = all[..split].partition_point(|key| key <= bound);
                prop_assert_eq!(left.upper_bound(0..left.len(), bound), expected);
            }
        }
    }
}
