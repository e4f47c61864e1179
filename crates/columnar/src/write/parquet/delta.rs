//! Numbers as differences of a few bits: integers, days, and lengths of texts.
//!
//! ```text
//! | 128 | 4 | count | first |  block block ..
//! block   | least difference | 4 widths | 4 times 32 differences, less the least one |
//! ```
//!
//! Source: apache/parquet-format, Encodings.md, DELTA_BINARY_PACKED.

use super::bits::{push_varint, push_zigzag};

/// Differences of a block, its parts, and differences of a part.
const BLOCK: usize = 128;
const PARTS: usize = 4;
const PART: usize = BLOCK / PARTS;

/// Appends so many numbers; of narrow ones the lowest 32 bits count.
pub(super) fn push_deltas(
    count: usize,
    number: impl Fn(usize) -> i64,
    is_narrow: bool,
    out: &mut Vec<u8>,
) {
    let number = |at: usize| if is_narrow { i64::from(number(at) as i32) } else { number(at) };
    push_varint(BLOCK as u64, out);
    push_varint(PARTS as u64, out);
    push_varint(count as u64, out);
    push_zigzag(if count > 0 { number(0) } else { 0 }, out);
    for start in (1..count).step_by(BLOCK) {
        let end = count.min(start + BLOCK);
        let mut numbers = [0; BLOCK + 1];
        numbers.iter_mut().zip(start - 1..end).for_each(|(to, at)| *to = number(at));
        let mut deltas = [0; BLOCK];
        let pairs = numbers.iter().zip(&numbers[1..]);
        deltas.iter_mut().zip(pairs).for_each(|(to, (before, after))| {
            let delta = after.wrapping_sub(*before);
            *to = if is_narrow { i64::from(delta as i32) } else { delta };
        });
        push_block(&deltas, end - start, out);
    }
}

/// Appends a block, of which so many differences count.
fn push_block(deltas: &[i64; BLOCK], count: usize, out: &mut Vec<u8>) {
    let least = deltas[..count].iter().copied().min().unwrap_or_default();
    let mut packed = [0; BLOCK];
    let counted = packed.iter_mut().zip(&deltas[..count]);
    counted.for_each(|(to, delta)| *to = delta.wrapping_sub(least) as u64);
    push_zigzag(least, out);
    let (parts, _) = packed.as_chunks::<PART>();
    let widths = out.len();
    for part in parts {
        let all = part.iter().fold(0, |all, delta| all | delta);
        out.push((u64::BITS - all.leading_zeros()) as u8);
    }
    // A part behind the last difference has a width and no more.
    for (at, part) in parts[..count.div_ceil(PART)].iter().enumerate() {
        push_part(part, u32::from(out[widths + at]), out);
    }
}

/// Appends differences of `width` bits each.
#[inline(always)]
fn push_part(part: &[u64; PART], width: u32, out: &mut Vec<u8>) {
    let (mut word, mut bits) = (0, 0);
    for delta in part {
        word |= delta << bits;
        bits += width;
        if bits >= u64::BITS {
            out.extend_from_slice(&word.to_le_bytes());
            bits -= u64::BITS;
            // The bits that the word had no room for.
            word = delta.checked_shr(width - bits).unwrap_or(0);
        }
    }
    // 32 differences fill words, or half of one more.
    if bits > 0 {
        out.extend_from_slice(&(word as u32).to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pushed(numbers: &[i64], is_narrow: bool) -> Vec<u8> {
        let mut out = Vec::new();
        push_deltas(numbers.len(), |at| numbers[at], is_narrow, &mut out);
        out
    }

    fn varint(bytes: &mut &[u8]) -> u64 {
        let len = 1 + bytes.iter().take_while(|byte| **byte & 0x80 != 0).count();
        let (first, rest) = bytes.split_at(len);
        *bytes = rest;
        first.iter().rev().fold(0, |number, byte| number << 7 | u64::from(byte & 0x7f))
    }

    fn zigzag(bytes: &mut &[u8]) -> i64 {
        let number = varint(bytes);
        (number >> 1) as i64 ^ -((number & 1) as i64)
    }

    /// The numbers, by the description of the encoding.
    fn read(mut bytes: &[u8], is_narrow: bool) -> Vec<i64> {
        let bytes = &mut bytes;
        assert_eq!((varint(bytes), varint(bytes)), (128, 4));
        let count = varint(bytes) as usize;
        let mut numbers = vec![zigzag(bytes)];
        while numbers.len() < count {
            let least = zigzag(bytes);
            let (widths, rest) = bytes.split_at(PARTS);
            *bytes = rest;
            for width in widths.iter().map(|width| usize::from(*width)) {
                let (part, rest) = bytes.split_at(PART / 8 * width);
                *bytes = rest;
                let bit = |bit: usize| u64::from(part[bit / 8] >> (bit % 8) & 1);
                for at in 0..PART {
                    let delta = (0..width).fold(0, |all, b| all | bit(at * width + b) << b);
                    let before = numbers[numbers.len() - 1].wrapping_add(least);
                    let number = before.wrapping_add(delta as i64);
                    numbers.push(if is_narrow { i64::from(number as i32) } else { number });
                }
            }
        }
        assert!(bytes.is_empty(), "{} bytes are left", bytes.len());
        numbers.truncate(count.max(1));
        numbers
    }

    #[test]
    fn numbers_come_back() {
        let mut seed = 7u64;
        let mut random = move |bits: u32| {
            seed = seed.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            (seed as i64) >> (63 - bits)
        };
        for count in [1, 2, 32, 33, 34, 128, 129, 130, 161, 257, 1000] {
            for bits in [0, 1, 7, 8, 13, 31, 32, 33, 47, 62, 63] {
                let numbers: Vec<i64> = (0..count).map(|_| random(bits)).collect();
                assert_eq!(read(&pushed(&numbers, false), false), numbers, "{count}, {bits} bits");
                let narrow: Vec<i64> = numbers.iter().map(|n| i64::from(*n as i32)).collect();
                assert_eq!(read(&pushed(&numbers, true), true), narrow, "{count}, {bits} bits");
            }
        }
        let ends = [i64::MIN, i64::MAX, 0, i64::MAX, i64::MIN, -1];
        assert_eq!(read(&pushed(&ends, false), false), ends);
    }

    #[test]
    fn few_bits_are_taken_of_numbers_that_are_near_each_other() {
        assert_eq!(pushed(&[7, 5, 3, 1, 2, 3, 4, 5], false)[..6], [0x80, 1, 4, 8, 14, 3]);
        let days: Vec<i64> = (0..1000).map(|at| 9000 + at / 4).collect();
        assert!(pushed(&days, true).len() < 200);
        assert_eq!(pushed(&[], true), [0x80, 1, 4, 0, 0]);
    }
}
