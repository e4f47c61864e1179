//! Blocks in eight ordinary registers: for every processor, without `unsafe`.

use crate::block::{Block, FLAGS};

/// Eight words of eight bytes, the first byte lowest.
#[derive(Clone, Copy)]
pub(crate) struct Words([u64; 8]);

const LOW_SEVEN: u64 = 0x7f7f_7f7f_7f7f_7f7f;
const ONES: u64 = 0x0101_0101_0101_0101;

impl Block for Words {
    #[inline(always)]
    fn load(bytes: &[u8; 64]) -> Words {
        let mut words = [0; 8];
        for (word, eight) in words.iter_mut().zip(bytes.as_chunks::<8>().0) {
            *word = u64::from_le_bytes(*eight);
        }
        Words(words)
    }

    #[inline(always)]
    fn equal(self, byte: u8) -> u64 {
        let wanted = ONES * u64::from(byte);
        let mut mask = 0;
        for (index, word) in self.0.iter().enumerate() {
            let differs = word ^ wanted;
            // The top bit of each byte is set exactly where the byte is zero.
            let zero = !(((differs & LOW_SEVEN) + LOW_SEVEN) | differs | LOW_SEVEN);
            // Multiplying moves the eight top bits next to each other.
            mask |= ((zero >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56) << (8 * index);
        }
        mask
    }

    #[inline(always)]
    fn within(self, low: u8, high: u8) -> u64 {
        debug_assert!(low <= high && high < 0x80, "seven bits leave room for a carry");
        let mut mask = 0;
        for (index, word) in self.0.iter().enumerate() {
            let seven = word & LOW_SEVEN;
            // Adding makes the top bit where a byte is at least `low`, or more than `high`.
            let from_low = seven + ONES * u64::from(0x80 - low);
            let above_high = seven + ONES * u64::from(0x7f - high);
            let inside = from_low & !above_high & !word & !LOW_SEVEN;
            mask |= ((inside >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56) << (8 * index);
        }
        mask
    }

    #[inline(always)]
    fn prefix_parity(bits: u64) -> u64 {
        let mut parity = bits;
        for shift in [1, 2, 4, 8, 16, 32] {
            parity ^= parity << shift;
        }
        parity
    }

    #[inline(always)]
    fn store(base: u32, ends: u64, first: u64, second: u64, out: &mut [u32; 64]) {
        let mut left = ends;
        for slot in out.iter_mut() {
            if left == 0 {
                break;
            }
            let bit = left.trailing_zeros();
            *slot = (base + bit) | flags(first, second, bit);
            left &= left - 1;
        }
    }
}

/// The flags of the position of this bit.
#[inline(always)]
pub(crate) fn flags(first: u64, second: u64, bit: u32) -> u32 {
    const { assert!(FLAGS[0] == 1 << 31 && FLAGS[1] == 1 << 30) }
    ((first >> bit) as u32 & 1) << 31 | ((second >> bit) as u32 & 1) << 30
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_found_at_every_place() {
        for byte in [0u8, 1, b'"', b'\n', 0x7f, 0x80, 0x81, 0xff] {
            for at in 0..64 {
                let mut bytes = [byte ^ 1; 64];
                bytes[at] = byte;
                assert_eq!(Words::load(&bytes).equal(byte), 1 << at);
                assert_eq!(Words::load(&bytes).equal(byte ^ 1), !(1 << at));
            }
        }
    }

    #[test]
    fn every_byte_of_a_range_is_found() {
        for first in 0..=255u8 {
            let bytes = [first; 64];
            for (low, high) in [(b'.', b'9'), (0, 0x7f), (b'a', b'a'), (1, 0x7e)] {
                let expected = if (low..=high).contains(&first) { !0 } else { 0 };
                assert_eq!(Words::load(&bytes).within(low, high), expected, "{first} {low} {high}");
            }
        }
    }

    #[test]
    fn parity_counts_bits_from_the_bottom() {
        for bits in [0, 1, 0b1001_0100, !0, 1 << 63, 0x8000_1234_5678_9abc] {
            assert_eq!(Words::prefix_parity(bits), parity_slow(bits));
        }
    }

    fn parity_slow(bits: u64) -> u64 {
        (0..64).fold(0, |mask, bit| {
            let below = bits << (63 - bit);
            mask | u64::from(below.count_ones() & 1) << bit
        })
    }
}
