//! Text that has no byte that means something, found out while it is copied: 16 bytes at a time.
//!
//! ```text
//! DELIVER IN PERSON      |DELIVER IN PERSO|        and the last 16: |ELIVER IN PERSON|
//! TRUCK                  |TRUC| and |RUCK|
//! ```
//!
//! Size of a block; shorter text is copied from both its ends, so that no copy has a length that varies.

/// Bytes looked at together.
const BLOCK: usize = 16;
/// Most bytes that mean something, and how many do in most dialects.
const SPECIAL_MAX: usize = 6;
const SPECIAL_FEW: usize = 4;

/// A bit of each byte of a word.
const LOW: u64 = u64::from_ne_bytes([1; 8]);
const HIGH: u64 = LOW << 7;

/// Which bytes mean something.
#[derive(Clone, Debug)]
pub(crate) struct Special {
    bytes: [bool; 256],
    /// Each in all places of a word, some more than once, and how many there are.
    words: [u64; SPECIAL_MAX],
    count: usize,
}

impl Special {
    /// A set of these bytes, [`SPECIAL_MAX`] at most and one at least.
    pub(crate) fn new(special: &[u8]) -> Special {
        assert!((1..=SPECIAL_MAX).contains(&special.len()), "some bytes that mean something");
        let mut bytes = [false; 256];
        special.iter().for_each(|byte| bytes[usize::from(*byte)] = true);
        let byte = |at: usize| special[at.min(special.len() - 1)];
        Special {
            bytes,
            words: std::array::from_fn(|at| u64::from(byte(at)) * LOW),
            count: special.len(),
        }
    }

    /// True if this is one.
    #[inline]
    pub(crate) fn has(&self, byte: u8) -> bool {
        self.bytes[usize::from(byte)]
    }

    /// Appends `text`; false if it has a special byte, or one beyond ASCII that is not to be there: then what
    /// was appended is of no use.
    #[inline(always)]
    pub(crate) fn push_plain(&self, text: &[u8], only_ascii: bool, out: &mut Vec<u8>) -> bool {
        let high = if only_ascii { 0x80 } else { 0 };
        let end = out.len() + text.len();
        if let Some(last) = text.last_chunk::<BLOCK>() {
            let (blocks, _) = text.as_chunks::<BLOCK>();
            let mut found = self.found_in(words(last), high);
            for block in blocks {
                found |= self.found_in(words(block), high);
                out.extend_from_slice(block);
            }
            out.truncate(end - BLOCK);
            out.extend_from_slice(last);
            return found == 0;
        }
        if let (Some(first), Some(last)) = (text.first_chunk::<8>(), text.last_chunk::<8>()) {
            out.extend_from_slice(first);
            out.truncate(end - 8);
            out.extend_from_slice(last);
            let (first, last) = (u64::from_ne_bytes(*first), u64::from_ne_bytes(*last));
            return self.found_in([first, last], high) == 0;
        }
        if let (Some(first), Some(last)) = (text.first_chunk::<4>(), text.last_chunk::<4>()) {
            out.extend_from_slice(first);
            out.truncate(end - 4);
            out.extend_from_slice(last);
            let (first, last) = (u32::from_ne_bytes(*first), u32::from_ne_bytes(*last));
            return self.found_in([u64::from(first) << 32 | u64::from(last)], high) == 0;
        }
        let mut is_plain = true;
        for byte in text {
            is_plain &= !self.has(*byte) && byte & high == 0;
            out.push(*byte);
        }
        is_plain
    }

    /// 0 if no byte of these words is special or has a bit of `high`.
    ///
    /// Words, for the compiler makes SIMD of a loop over bytes in some surroundings only.
    #[inline(always)]
    fn found_in<const N: usize>(&self, words: [u64; N], high: u8) -> u64 {
        let mut found = words.iter().fold(0, |all, word| all | word) & (u64::from(high) * LOW);
        let mut mark = |special: &u64| {
            for word in words {
                // A byte that is the same is 0 now, and the first such loses its highest bit to the subtraction.
                let other = word ^ special;
                found |= other.wrapping_sub(LOW) & !other & HIGH;
            }
        };
        let (few, more) = self.words.split_at(SPECIAL_FEW);
        few.iter().for_each(&mut mark);
        if self.count > SPECIAL_FEW {
            more.iter().for_each(mark);
        }
        found
    }
}

/// The words of a block.
#[inline(always)]
fn words(block: &[u8; BLOCK]) -> [u64; 2] {
    let word = |at: usize| u64::from_ne_bytes(std::array::from_fn(|byte| block[at + byte]));
    [word(0), word(8)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_length_and_every_place_of_a_special_byte() {
        for special in [&b",\n\"\\"[..], b"\n\\\",|\0"] {
            every_length(&Special::new(special));
        }
    }

    fn every_length(special: &Special) {
        for len in 0..70 {
            let text: Vec<u8> = (0..len).map(|at| b'a' + (at % 26) as u8).collect();
            let pushed = |text: &[u8], only_ascii| {
                let mut out = b"before".to_vec();
                let is_plain = special.push_plain(text, only_ascii, &mut out);
                is_plain.then_some(out)
            };
            let expected = [b"before", text.as_slice()].concat();
            assert_eq!(pushed(&text, true).as_ref(), Some(&expected), "{len}");
            for at in 0..len {
                for byte in [b',', b'\n', b'"', b'\\'] {
                    let mut text = text.clone();
                    text[at] = byte;
                    assert_eq!(pushed(&text, false), None, "{byte} at {at} of {len}");
                }
                let mut text = text.clone();
                text[at] = 0xfc;
                assert_eq!(pushed(&text, true), None, "{at} of {len}");
                assert_eq!(pushed(&text, false), Some([b"before", text.as_slice()].concat()));
            }
        }
    }
}
