//! Keys of constant length as integers of the bits that differ.
//!
//! Keys met together (a chunk, a range, a block) agree in most of their bits: NULL markers, high bytes of
//! numbers, the leading part of a narrow range. The rest of (partkey, suppkey, orderkey, linenumber), 16 to
//! 22 bytes, is about 58 bits. Those, in order, make an integer that compares as the keys do; it is sorted,
//! stored and merged in place of the key, and spread out again at the end.
//!
//! ```text
//! key bits   0000ppppp 000sssss 00ooooooo 0000lll
//! packed                  pppppsssssooooooolll
//! ```
//!
//! A key is read as big-endian 8-byte words; the last word ends with the key and so overlaps the
//! one before. A key shorter than 8 bytes is one word, filled up with zeros on the right.

/// An integer that holds packed keys.
pub(crate) trait Word: Copy + Ord + Default {
    /// Bits it has.
    const BITS: u32;
    /// Moves the bits up by `width` and puts `bits` below. Loses what is moved out.
    fn append(self, width: u32, bits: u64) -> Self;
    /// The 64 bits starting at `low`.
    fn bits(self, low: u32) -> u64;
    /// All bits from `low` on; `low` is less than `BITS`.
    fn leading(self, low: u32) -> Self;
    /// `bits` from `low` on.
    fn placed(bits: u64, low: u32) -> Self;
    /// Bits of both.
    fn union(self, other: Self) -> Self;
    /// Bits that differ.
    fn difference(self, other: Self) -> Self;
}

macro_rules! word {
    ($type:ty) => {
        impl Word for $type {
            const BITS: u32 = <$type>::BITS;
            #[inline(always)]
            fn append(self, width: u32, bits: u64) -> $type {
                self.wrapping_shl(width) | <$type>::from(bits)
            }
            #[inline(always)]
            fn bits(self, low: u32) -> u64 {
                self.wrapping_shr(low) as u64
            }
            #[inline(always)]
            fn leading(self, low: u32) -> $type {
                self.wrapping_shr(low)
            }
            #[inline(always)]
            fn placed(bits: u64, low: u32) -> $type {
                <$type>::from(bits).wrapping_shl(low)
            }
            #[inline(always)]
            fn union(self, other: $type) -> $type {
                self | other
            }
            #[inline(always)]
            fn difference(self, other: $type) -> $type {
                self ^ other
            }
        }
    };
}
word!(u64);
word!(u128);

/// A stretch of differing bits within one word of the key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Span {
    /// Which word of the key.
    pub(crate) word: usize,
    /// Bits of the word to the right of the stretch.
    pub(crate) shift: u32,
    /// Bits of the stretch, 1 to 64.
    pub(crate) width: u32,
}

impl Span {
    #[inline(always)]
    pub(crate) fn mask(&self) -> u64 {
        u64::MAX >> (64 - self.width)
    }
}

/// 8-byte words of a key.
pub(crate) fn word_count(key_len: usize) -> usize {
    key_len.div_ceil(8)
}

/// Offset of a word in the key.
#[inline(always)]
fn word_offset(word: usize, key_len: usize) -> usize {
    (8 * word).min(key_len.saturating_sub(8))
}

/// A word of a key, which is 8 bytes long or longer.
#[inline(always)]
fn load(key: &[u8], offset: usize) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&key[offset..offset + 8]);
    u64::from_be_bytes(bytes)
}

/// The only word of a key of less than 8 bytes.
fn load_short(key: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    bytes[..key.len()].copy_from_slice(key);
    u64::from_be_bytes(bytes)
}

/// Any word of any key.
pub(crate) fn load_word(key: &[u8], word: usize) -> u64 {
    if key.len() < 8 { load_short(key) } else { load(key, word_offset(word, key.len())) }
}

/// Which bits differ among keys.
#[derive(Debug)]
pub(crate) struct Observer {
    key_len: usize,
    /// Words of the first key seen; none yet if empty.
    first: Vec<u64>,
    differing: Vec<u64>,
}

impl Observer {
    pub(crate) fn new(key_len: usize) -> Observer {
        assert!(key_len > 0, "a key has at least one byte");
        Observer { key_len, first: Vec::new(), differing: vec![0; word_count(key_len)] }
    }

    /// Forgets all keys.
    pub(crate) fn clear(&mut self) {
        self.first.clear();
        self.differing.fill(0);
    }

    /// Takes note of an array of keys. One pass per 8 bytes of key.
    pub(crate) fn observe(&mut self, keys: &[u8]) {
        let key_len = self.key_len;
        let Some(key) = keys.get(..key_len) else { return };
        self.observe_word(|word| load_word(key, word), |_| 0);
        for word in 0..word_count(key_len) {
            let first = load_word(key, word);
            let keys = keys.chunks_exact(key_len);
            self.differing[word] |= if key_len < 8 {
                keys.fold(0, |bits, key| bits | (load_short(key) ^ first))
            } else {
                let offset = word_offset(word, key_len);
                keys.fold(0, |bits, key| bits | (load(key, offset) ^ first))
            };
        }
    }

    /// Takes note of keys by the words of one of them and the bits in which they differ.
    pub(crate) fn observe_word(
        &mut self,
        key: impl Fn(usize) -> u64,
        differing: impl Fn(usize) -> u64,
    ) {
        let words = word_count(self.key_len);
        if self.first.is_empty() {
            self.first.extend((0..words).map(&key));
        }
        for word in 0..words {
            self.differing[word] |= differing(word) | (key(word) ^ self.first[word]);
        }
    }

    /// Takes note of packed keys by one of them and the bits in which they differ.
    pub(crate) fn observe_packed<W: Word>(&mut self, packing: &Packing, first: W, differing: W) {
        self.observe_word(
            |word| packing.fixed[word] | packing.spread(first, word),
            |word| packing.spread(differing, word),
        );
    }

    /// The packing of the keys seen.
    pub(crate) fn packing(&self) -> Packing {
        let mut spans = Vec::new();
        let mut fixed = Vec::new();
        for (word, &differing) in self.differing.iter().enumerate() {
            // What the word shares with the one before is left to that one.
            let shared = 8 * word - word_offset(word, self.key_len);
            push_spans(word, differing & (u64::MAX >> (8 * shared)), &mut spans);
            let first = self.first.get(word).copied().unwrap_or(0);
            fixed.push(first & !differing);
        }
        Packing::new(self.key_len, spans, fixed)
    }
}

/// Cuts the differing bits of a word into spans, from the left. Gaps of up to 3 equal bits stay
/// inside a span: a span costs more than they do.
fn push_spans(word: usize, differing: u64, spans: &mut Vec<Span>) {
    const GAP_BITS_MAX: u32 = 3;
    let mut rest = differing;
    while rest != 0 {
        let top = 64 - rest.leading_zeros();
        let mut shift = top;
        // Extend to the right while the next differing bit is near.
        loop {
            let below = if shift == 0 { 0 } else { rest & (u64::MAX >> (64 - shift)) };
            let next = 64 - below.leading_zeros();
            if below == 0 || shift - next > GAP_BITS_MAX {
                rest = below;
                break;
            }
            shift = next - 1;
        }
        spans.push(Span { word, shift, width: top - shift });
    }
}

/// How keys that agree in all but some bits become integers and back.
#[derive(Clone, Debug)]
pub(crate) struct Packing {
    pub(crate) key_len: usize,
    /// From the left of the key to its right.
    pub(crate) spans: Vec<Span>,
    /// Bits of all spans together.
    pub(crate) bits: u32,
    /// The bits all keys share, by word of the key.
    pub(crate) fixed: Vec<u64>,
}

impl Packing {
    pub(crate) fn new(key_len: usize, spans: Vec<Span>, fixed: Vec<u64>) -> Packing {
        debug_assert!(fixed.len() == word_count(key_len));
        debug_assert!(spans.iter().all(|span| span.width >= 1 && span.shift + span.width <= 64));
        let bits = spans.iter().map(|span| span.width).sum();
        Packing { key_len, spans, bits, fixed }
    }

    /// The packing of an array of keys.
    pub(crate) fn of(keys: &[u8], key_len: usize) -> Packing {
        let mut observer = Observer::new(key_len);
        observer.observe(keys);
        observer.packing()
    }

    /// Memory it holds besides itself, in bytes.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.spans.capacity() * size_of::<Span>() + self.fixed.capacity() * 8
    }

    /// Where the last bit of each span lies in the packed word.
    pub(crate) fn lows(&self) -> impl Iterator<Item = (Span, u32)> {
        let mut low = self.bits;
        self.spans.iter().map(move |&span| {
            low -= span.width;
            (span, low)
        })
    }

    /// The packing without the bits to the right of the first `bits_max`. Keys it makes equal may
    /// differ.
    fn cut(&self, bits_max: u32) -> Packing {
        let mut spans = Vec::new();
        let mut left = bits_max;
        for span in &self.spans {
            let width = span.width.min(left);
            if width == 0 {
                break;
            }
            spans.push(Span { shift: span.shift + span.width - width, width, ..*span });
            left -= width;
        }
        Packing::new(self.key_len, spans, self.fixed.clone())
    }

    /// Appends the packed form of each key; all spans fit the word.
    pub(crate) fn pack<W: Word>(&self, keys: &[u8], out: &mut Vec<W>) {
        debug_assert!(self.bits <= W::BITS, "the packed key fits the word");
        match self.spans.len() {
            _ if self.key_len < 8 => self.pack_short(keys, out),
            1 => self.pack_unrolled::<W, 1>(keys, out),
            2 => self.pack_unrolled::<W, 2>(keys, out),
            3 => self.pack_unrolled::<W, 3>(keys, out),
            4 => self.pack_unrolled::<W, 4>(keys, out),
            5 => self.pack_unrolled::<W, 5>(keys, out),
            6 => self.pack_unrolled::<W, 6>(keys, out),
            _ => out.extend(keys.chunks_exact(self.key_len).map(|key| {
                self.pack_words::<W>(|word| load(key, word_offset(word, self.key_len)))
            })),
        }
    }

    /// The spans in registers: 4 ns a key, a third of the loop over `spans`.
    fn pack_unrolled<W: Word, const N: usize>(&self, keys: &[u8], out: &mut Vec<W>) {
        let Ok(spans) = <[Span; N]>::try_from(self.spans.as_slice()) else { return };
        let parts = spans.map(|span| {
            let offset = word_offset(span.word, self.key_len);
            (offset, span.width, 64 - span.width - span.shift, 64 - span.width)
        });
        out.extend(keys.chunks_exact(self.key_len).map(|key| {
            let mut packed = W::default();
            for (offset, width, left, right) in parts {
                let bits = load(key, offset).wrapping_shl(left).wrapping_shr(right);
                packed = packed.append(width, bits);
            }
            packed
        }));
    }

    fn pack_short<W: Word>(&self, keys: &[u8], out: &mut Vec<W>) {
        let keys = keys.chunks_exact(self.key_len);
        out.extend(keys.map(|key| self.pack_words::<W>(|_| load_short(key))));
    }

    /// The packed form of a key given by its words.
    pub(crate) fn pack_words<W: Word>(&self, key: impl Fn(usize) -> u64) -> W {
        self.spans.iter().fold(W::default(), |packed, span| {
            packed.append(span.width, (key(span.word) >> span.shift) & span.mask())
        })
    }

    /// One word of the key whose packed form is `packed`, without the bits all keys share and
    /// those that the word before owns.
    pub(crate) fn spread<W: Word>(&self, packed: W, word: usize) -> u64 {
        let own = self.lows().filter(|(span, _)| span.word == word);
        own.fold(0, |bits, (span, low)| bits | (packed.bits(low) & span.mask()) << span.shift)
    }

    /// Writes the key whose packed form is `packed` to `key`, `key_len` bytes.
    pub(crate) fn unpack_one<W: Word>(&self, packed: W, key: &mut [u8]) {
        // From the right, so that what the last word shares with the one before is overwritten.
        for (word, &fixed) in self.fixed.iter().enumerate().rev() {
            let bytes = (fixed | self.spread(packed, word)).to_be_bytes();
            if self.key_len < 8 {
                key.copy_from_slice(&bytes[..self.key_len]);
            } else {
                key[word_offset(word, self.key_len)..][..8].copy_from_slice(&bytes);
            }
        }
    }

    /// Appends the keys of packed forms.
    pub(crate) fn unpack<W: Word>(&self, packed: &[W], out: &mut Vec<u8>) {
        match (self.spans.len(), self.fixed.len()) {
            _ if self.key_len < 8 => self.unpack_slowly(packed, out),
            (0..=3, 1..=2) => self.unpack_unrolled::<W, 3, 2>(packed, out),
            (0..=5, 1..=2) => self.unpack_unrolled::<W, 5, 2>(packed, out),
            (0..=4, 3) => self.unpack_unrolled::<W, 4, 3>(packed, out),
            (0..=6, 3) => self.unpack_unrolled::<W, 6, 3>(packed, out),
            (0..=6, 4..=5) => self.unpack_unrolled::<W, 6, 5>(packed, out),
            _ => self.unpack_slowly(packed, out),
        }
    }

    /// For up to `N` spans and `K` words; missing spans are given a mask of 0, missing words are
    /// written first, below the first.
    fn unpack_unrolled<W: Word, const N: usize, const K: usize>(
        &self,
        packed: &[W],
        out: &mut Vec<u8>,
    ) {
        let mut parts = [(0, 0, 0, 0); N];
        for (part, (span, low)) in parts.iter_mut().zip(self.lows()) {
            *part = (span.word, low, span.mask(), span.shift);
        }
        let mut fixed = [0; K];
        fixed[..self.fixed.len()].copy_from_slice(&self.fixed);
        let mut offsets = [0; K];
        for (word, offset) in offsets.iter_mut().enumerate().take(self.fixed.len()) {
            *offset = word_offset(word, self.key_len);
        }
        let start = out.len();
        out.resize(start + packed.len() * self.key_len, 0);
        for (&packed, key) in packed.iter().zip(out[start..].chunks_exact_mut(self.key_len)) {
            let mut words = fixed;
            for (word, low, mask, shift) in parts {
                // `K` words are there: the remainder only tells the compiler.
                words[word % K] |= (packed.bits(low) & mask).wrapping_shl(shift);
            }
            for (word, offset) in words.iter().zip(offsets).rev() {
                key[offset..offset + 8].copy_from_slice(&word.to_be_bytes());
            }
        }
    }

    fn unpack_slowly<W: Word>(&self, packed: &[W], out: &mut Vec<u8>) {
        let start = out.len();
        out.resize(start + packed.len() * self.key_len, 0);
        for (&packed, key) in packed.iter().zip(out[start..].chunks_exact_mut(self.key_len)) {
            self.unpack_one(packed, key);
        }
    }
}

/// Sorts keys with too many differing bits for a word: the low 32 bits of each word of `references`
/// are the index of a key, and the words stand in the order of the keys.
pub(crate) fn sort_references(packing: &Packing, keys: &[u8], references: &mut Vec<u128>) {
    const INDEX_BITS: u32 = 32;
    let len = packing.key_len;
    assert!(u32::try_from(keys.len() / len).is_ok(), "an index is 32 bits");
    let prefix = packing.cut(u128::BITS - INDEX_BITS);
    references.clear();
    prefix.pack(keys, references);
    for (index, reference) in references.iter_mut().enumerate() {
        *reference = (*reference << INDEX_BITS) | index as u128;
    }
    references.sort_unstable();
    let key = |reference: u128| &keys[reference as u32 as usize * len..][..len];
    for ties in references.chunk_by_mut(|a, b| a >> INDEX_BITS == b >> INDEX_BITS) {
        if ties.len() > 1 {
            ties.sort_unstable_by(|&a, &b| key(a).cmp(key(b)));
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check<W: Word + std::fmt::Debug>(keys: &[u8], key_len: usize) {
        let packing = Packing::of(keys, key_len);
        if packing.bits > W::BITS {
            return;
        }
        let mut packed: Vec<W> = Vec::new();
        packing.pack(keys, &mut packed);
        let mut unpacked = Vec::new();
        packing.unpack(&packed, &mut unpacked);
        assert_eq!(unpacked, keys);
        let mut key = vec![0; key_len];
        for (i, original) in keys.chunks_exact(key_len).enumerate() {
            packing.unpack_one(packed[i], &mut key);
            assert_eq!(key, original);
            let before = i.saturating_sub(1);
            let order = keys[before * key_len..][..key_len].cmp(original);
            assert_eq!(packed[before].cmp(&packed[i]), order, "packed keys compare as keys");
        }
    }

    #[test]
    fn equal_keys_have_no_bits_left() {
        let packing = Packing::of(b"abcdeabcde", 5);
        assert_eq!(packing.bits, 0);
        let mut keys = Vec::new();
        packing.unpack(&[0_u64, 0], &mut keys);
        assert_eq!(keys, b"abcdeabcde");
    }

    #[test]
    fn a_word_that_differs_everywhere_is_one_span() {
        let keys = [[0; 8], [0xff; 8]].concat();
        assert_eq!(Packing::of(&keys, 8).spans, [Span { word: 0, shift: 0, width: 64 }]);
        check::<u64>(&keys, 8);
    }

    #[test]
    fn two_words_that_differ_everywhere_make_a_wide_word() {
        let keys = [[0; 16], [0xff; 16], [7; 16]].concat();
        assert_eq!(Packing::of(&keys, 16).bits, 128);
        check::<u128>(&keys, 16);
    }

    proptest! {
        #[test]
        fn packing_keeps_keys_and_their_order(
            key_len in 1_usize..45,
            mask in prop::collection::vec(prop::sample::select(vec![0_u8, 0, 0, 1, 7, 0x81, 0xff]), 45),
            seeds in prop::collection::vec(any::<[u8; 45]>(), 1..40),
        ) {
            let keys: Vec<u8> = seeds
                .iter()
                .flat_map(|seed| (0..key_len).map(|i| 0x20 ^ (seed[i] & mask[i])))
                .collect();
            check::<u64>(&keys, key_len);
            check::<u128>(&keys, key_len);
        }
    }
}
