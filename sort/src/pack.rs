//! Keys of constant length as integers of the bits that differ.
//!
//! Keys met together (a chunk, a range, a block) agree in most of their bits: NULL markers, high
//! bytes of numbers, the leading part of a narrow range. What is left of
//! (partkey, suppkey, orderkey, linenumber), 16 to 22 bytes, is about 58 bits. Those, in order,
//! make an integer that compares as the keys do; it is sorted, and spread out again, without the
//! key being looked at.
//!
//! ```text
//! key bits   0000ppppp 000sssss 00ooooooo 0000lll
//! packed                  pppppsssssooooooolll
//! ```

/// An integer that holds packed keys.
pub(crate) trait Word: Copy + Ord + Default {
    /// Bits it has.
    const BITS: u32;
    /// Moves the bits up by `width` and puts `bits` below.
    fn append(self, width: u32, bits: u64) -> Self;
    /// The 64 bits starting at `low`.
    fn bits(self, low: u32) -> u64;
}

impl Word for u64 {
    const BITS: u32 = 64;
    #[inline(always)]
    fn append(self, width: u32, bits: u64) -> u64 {
        // A span as wide as the word can only be the first: nothing is lost.
        self.checked_shl(width).unwrap_or(0) | bits
    }
    #[inline(always)]
    fn bits(self, low: u32) -> u64 {
        self >> (low & 63)
    }
}

impl Word for u128 {
    const BITS: u32 = 128;
    #[inline(always)]
    fn append(self, width: u32, bits: u64) -> u128 {
        (self << (width & 127)) | u128::from(bits)
    }
    #[inline(always)]
    fn bits(self, low: u32) -> u64 {
        (self >> (low & 127)) as u64
    }
}

/// A stretch of differing bits within one big-endian 8-byte word of the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    /// Offset of the word in the key.
    pub(crate) offset: usize,
    /// Bits of the word to the right of the stretch.
    pub(crate) shift: u32,
    /// Bits of the stretch, 1 to 64.
    pub(crate) width: u32,
}

impl Span {
    fn mask(&self) -> u64 {
        u64::MAX >> (64 - self.width)
    }
}

/// Collects which bits differ among keys.
pub(crate) struct Observer {
    key_len: usize,
    first: Vec<u8>,
    /// Differing bits, one word for each of `word_offsets`.
    differing: Vec<u64>,
}

impl Observer {
    pub(crate) fn new(key_len: usize) -> Observer {
        assert!(key_len > 0, "a key has at least one byte");
        Observer { key_len, first: Vec::new(), differing: vec![0; key_len.div_ceil(8)] }
    }

    /// Forgets all keys.
    pub(crate) fn clear(&mut self) {
        self.first.clear();
        self.differing.fill(0);
    }

    /// Takes note of an array of keys. One pass per 8 bytes of key.
    pub(crate) fn observe(&mut self, keys: &[u8]) {
        let key_len = self.key_len;
        if keys.is_empty() {
            return;
        }
        if self.first.is_empty() {
            self.first.extend_from_slice(&keys[..key_len]);
        }
        for (word, differing) in self.differing.iter_mut().enumerate() {
            let offset = word_offset(word, key_len);
            let first = load(&self.first, offset);
            let mut bits = 0;
            for key in keys.chunks_exact(key_len) {
                bits |= load(key, offset) ^ first;
            }
            *differing |= bits;
        }
    }

    /// The packing of the keys seen.
    pub(crate) fn packing(&self) -> Packing {
        let mut spans = Vec::new();
        let mut fixed_bits = Vec::new();
        for (word, &differing) in self.differing.iter().enumerate() {
            let offset = word_offset(word, self.key_len);
            // The last word overlaps the one before: what that one holds is cut off here.
            let own = u64::MAX >> (8 * (8 * word - offset)) as u32;
            push_spans(offset, differing & own, &mut spans);
            fixed_bits.push(load(&self.first, offset) & !differing);
        }
        Packing::new(self.key_len, spans, fixed_bits)
    }
}

/// Offset of the `word`th 8-byte word; the last one ends with the key and may overlap.
fn word_offset(word: usize, key_len: usize) -> usize {
    (8 * word).min(key_len.saturating_sub(8))
}

/// Big-endian word at `offset`; a key shorter than 8 bytes is filled up with zeros.
#[inline(always)]
pub(crate) fn load(key: &[u8], offset: usize) -> u64 {
    match key.get(offset..offset + 8).and_then(|bytes| bytes.try_into().ok()) {
        Some(bytes) => u64::from_be_bytes(bytes),
        None => load_short(key),
    }
}

fn load_short(key: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    let len = key.len().min(8);
    bytes[..len].copy_from_slice(&key[..len]);
    u64::from_be_bytes(bytes)
}

/// Cuts the differing bits of a word into spans, from the left. Gaps of up to 3 equal bits stay
/// inside a span: a span costs more than they do.
fn push_spans(offset: usize, differing: u64, spans: &mut Vec<Span>) {
    const GAP_BITS_MAX: u32 = 3;
    let mut rest = differing;
    while rest != 0 {
        let top = 64 - rest.leading_zeros();
        let mut low = top;
        // Extend to the right while the next differing bit is near.
        loop {
            let below = if low == 0 { 0 } else { rest & (u64::MAX >> (64 - low)) };
            let next = 64 - below.leading_zeros();
            if below == 0 || low - next > GAP_BITS_MAX {
                rest = below;
                break;
            }
            low = next - 1;
        }
        spans.push(Span { offset, shift: low, width: top - low });
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
    /// Per 8-byte word of the key, the bits all keys share.
    pub(crate) fixed_bits: Vec<u64>,
}

impl Packing {
    pub(crate) fn new(key_len: usize, spans: Vec<Span>, fixed_bits: Vec<u64>) -> Packing {
        let bits = spans.iter().map(|span| span.width).sum();
        Packing { key_len, spans, bits, fixed_bits }
    }

    /// The packing of an array of keys.
    pub(crate) fn of(keys: &[u8], key_len: usize) -> Packing {
        let mut observer = Observer::new(key_len);
        observer.observe(keys);
        observer.packing()
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
        Packing::new(self.key_len, spans, self.fixed_bits.clone())
    }

    /// Appends the packed form of each key, which must fit the word.
    pub(crate) fn pack<W: Word>(&self, keys: &[u8], out: &mut Vec<W>) {
        debug_assert!(self.bits <= W::BITS, "the packed key fits the word");
        match self.spans.len() {
            1 => self.pack_unrolled::<W, 1>(keys, out),
            2 => self.pack_unrolled::<W, 2>(keys, out),
            3 => self.pack_unrolled::<W, 3>(keys, out),
            4 => self.pack_unrolled::<W, 4>(keys, out),
            5 => self.pack_unrolled::<W, 5>(keys, out),
            6 => self.pack_unrolled::<W, 6>(keys, out),
            _ => out.extend(keys.chunks_exact(self.key_len).map(|key| self.pack_one::<W>(key))),
        }
    }

    fn pack_unrolled<W: Word, const N: usize>(&self, keys: &[u8], out: &mut Vec<W>) {
        let Ok(spans) = <[Span; N]>::try_from(self.spans.as_slice()) else { return };
        out.extend(keys.chunks_exact(self.key_len).map(|key| {
            let mut packed = W::default();
            for span in &spans {
                let bits = (load(key, span.offset) >> span.shift) & span.mask();
                packed = packed.append(span.width, bits);
            }
            packed
        }));
    }

    /// The packed form of one key.
    pub(crate) fn pack_one<W: Word>(&self, key: &[u8]) -> W {
        self.spans.iter().fold(W::default(), |packed, span| {
            packed.append(span.width, (load(key, span.offset) >> span.shift) & span.mask())
        })
    }

    /// Writes the key whose packed form is `packed` to `key`, `key_len` bytes.
    #[inline]
    pub(crate) fn unpack<W: Word>(&self, packed: W, key: &mut [u8]) {
        let mut low = 0;
        let mut spans = self.spans.iter().rev().peekable();
        // From the right, so that the part the last word shares with the one before is
        // overwritten by the word that owns it.
        for (word, &fixed) in self.fixed_bits.iter().enumerate().rev() {
            let offset = word_offset(word, self.key_len);
            let mut bits = fixed;
            while let Some(span) = spans.next_if(|span| span.offset == offset) {
                bits |= (packed.bits(low) & span.mask()) << span.shift;
                low += span.width;
            }
            match key.get_mut(offset..offset + 8) {
                Some(bytes) => bytes.copy_from_slice(&bits.to_be_bytes()),
                None => key.copy_from_slice(&bits.to_be_bytes()[..key.len()]),
            }
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
        let mut key = vec![0; key_len];
        for (i, original) in keys.chunks_exact(key_len).enumerate() {
            assert_eq!(packing.pack_one::<W>(original), packed[i]);
            packing.unpack(packed[i], &mut key);
            assert_eq!(key, original);
            let previous = &keys[i.saturating_sub(1) * key_len..][..key_len];
            assert_eq!(
                packed[i.saturating_sub(1)].cmp(&packed[i]),
                previous.cmp(original),
                "packed keys compare as keys"
            );
        }
    }

    #[test]
    fn equal_keys_have_no_bits_left() {
        let packing = Packing::of(b"abcdeabcde", 5);
        assert_eq!(packing.bits, 0);
        let mut key = [0; 5];
        packing.unpack(0_u64, &mut key);
        assert_eq!(&key, b"abcde");
    }

    #[test]
    fn a_word_that_differs_everywhere_is_one_span() {
        let packing = Packing::of(&[[0; 8], [0xff; 8]].concat(), 8);
        assert_eq!(packing.spans, [Span { offset: 0, shift: 0, width: 64 }]);
        check::<u64>(&[[0; 8], [0xff; 8]].concat(), 8);
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
