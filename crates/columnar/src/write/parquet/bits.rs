//! Numbers of a few bits: levels, indices of a dictionary in runs, and differences.
//!
//! ```text
//! runs         | count * 2, value | groups of 8 * 2 + 1, bits of each |  ..
//! differences  | 128, 4, count, first | least, 4 widths, bits of 4 * 32 |  ..
//! ```
//!
//! Source: apache/parquet-format, Encodings.md, RLE and DELTA_BINARY_PACKED.

/// Values of a packed group.
const GROUP: usize = 8;
/// Fewest equal values that become a run.
const RUN_MIN: usize = 2 * GROUP;
/// Differences of a block, and of a part of it with a width of its own.
const BLOCK: usize = 128;
const MINIBLOCK: usize = 32;

/// Appends a number in groups of seven bits.
pub(super) fn push_varint(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Appends a number with a sign in groups of seven bits.
pub(super) fn push_zigzag(number: i64, out: &mut Vec<u8>) {
    push_varint((number << 1 ^ number >> 63) as u64, out);
}

/// Bits of the indices of so many values: one at least, which every reader knows.
pub(super) fn index_width(values: usize) -> u32 {
    (usize::BITS - values.saturating_sub(1).leading_zeros()).max(1)
}

/// Appends numbers of at most `width` bits, 16 at most, as runs and packed groups.
pub(super) fn push_runs(numbers: &[u16], width: u32, out: &mut Vec<u8>) {
    let (mut start, mut at) = (0, 0);
    while at < numbers.len() {
        let run = run_at(&numbers[at..]);
        if run < RUN_MIN {
            at = numbers.len().min(at + GROUP);
            continue;
        }
        push_groups(&numbers[start..at], width, out);
        push_varint((run as u64) << 1, out);
        out.extend_from_slice(&numbers[at].to_le_bytes()[..width.div_ceil(8) as usize]);
        at += run;
        start = at;
    }
    push_groups(&numbers[start..], width, out);
}

/// How many numbers are equal to the first.
#[inline]
fn run_at(numbers: &[u16]) -> usize {
    match numbers.first_chunk::<GROUP>() {
        Some(group) if group.iter().all(|number| *number == group[0]) => {
            numbers.iter().take_while(|number| **number == group[0]).count()
        }
        _ => 0,
    }
}

/// Appends packed groups; the last may be filled up with zeros.
fn push_groups(numbers: &[u16], width: u32, out: &mut Vec<u8>) {
    if numbers.is_empty() {
        return;
    }
    let (groups, rest) = numbers.as_chunks::<GROUP>();
    push_varint((numbers.len().div_ceil(GROUP) as u64) << 1 | 1, out);
    for group in groups {
        push_group(group, width, out);
    }
    if !rest.is_empty() {
        let mut last = [0; GROUP];
        last[..rest.len()].copy_from_slice(rest);
        push_group(&last, width, out);
    }
}

#[inline(always)]
fn push_group(group: &[u16; GROUP], width: u32, out: &mut Vec<u8>) {
    let word = |four: &[u16]| four.iter().rev().fold(0, |word, n| word << width | u128::from(*n));
    let bits = word(&group[..4]) | word(&group[4..]) << (4 * width);
    // 16 bytes are copied faster than a number of bytes that varies.
    let end = out.len() + width as usize;
    out.extend_from_slice(&bits.to_le_bytes());
    out.truncate(end);
}

/// Appends whole numbers, of 32 bits if they are `narrow`, by their differences.
pub(super) fn push_differences(numbers: &[i64], narrow: bool, out: &mut Vec<u8>) {
    let cut = |number: i64| if narrow { i64::from(number as i32) } else { number };
    let first = numbers.first().map_or(0, |first| cut(*first));
    push_varint(BLOCK as u64, out);
    push_varint((BLOCK / MINIBLOCK) as u64, out);
    push_varint(numbers.len() as u64, out);
    push_zigzag(first, out);
    let (mut before, mut differences) = (first, [0; BLOCK]);
    for block in numbers.get(1..).unwrap_or_default().chunks(BLOCK) {
        let differences = &mut differences[..block.len()];
        for (difference, number) in differences.iter_mut().zip(block) {
            *difference = cut(number.wrapping_sub(before));
            before = *number;
        }
        let least = differences.iter().copied().min().unwrap_or(0);
        push_zigzag(least, out);
        let widths = out.len();
        out.extend_from_slice(&[0; BLOCK / MINIBLOCK]);
        let mask = if narrow { u64::from(u32::MAX) } else { u64::MAX };
        for (at, differences) in differences.chunks(MINIBLOCK).enumerate() {
            let mut words = [0; MINIBLOCK];
            for (word, difference) in words.iter_mut().zip(differences) {
                *word = difference.wrapping_sub(least) as u64 & mask;
            }
            let all = words.iter().fold(0, |all, word| all | word);
            let width = u64::BITS - all.leading_zeros();
            out[widths + at] = width as u8;
            push_words(&words, width, out);
        }
    }
}

/// Appends words of so many bits each.
fn push_words(words: &[u64; MINIBLOCK], width: u32, out: &mut Vec<u8>) {
    let (mut bits, mut filled) = (0, 0);
    for word in words {
        bits |= word << filled;
        filled += width;
        if filled >= u64::BITS {
            out.extend_from_slice(&bits.to_le_bytes());
            filled -= u64::BITS;
            bits = if filled == 0 { 0 } else { word >> (width - filled) };
        }
    }
    out.extend_from_slice(&bits.to_le_bytes()[..filled as usize / 8]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(numbers: &[u16], width: u32) -> Vec<u8> {
        let mut out = Vec::new();
        push_runs(numbers, width, &mut out);
        out
    }

    #[test]
    fn indices_are_runs_and_packed_groups() {
        // The example of Encodings.md: 0 to 7 in three bits.
        let numbers: Vec<u16> = (0..8).collect();
        assert_eq!(runs(&numbers, 3), [3, 0b1000_1000, 0b1100_0110, 0b1111_1010]);
        assert_eq!(runs(&[5; 40], 3), [80, 5]);
        assert_eq!(runs(&[1, 0, 1], 1), [3, 0b101]);
        let mixed = [&[1, 0, 1, 0, 1, 0, 1, 0][..], &[300; 16]].concat();
        assert_eq!(runs(&mixed, 9)[..4], [3, 1, 0, 0b100]);
        assert_eq!(runs(&mixed, 9)[10..], [32, 44, 1]);
        assert_eq!(runs(&[u16::MAX; 8], 16).len(), 17);
        assert_eq!([0, 1, 2, 3, 256, 257].map(index_width), [1, 1, 1, 2, 8, 9]);
    }

    #[test]
    fn numbers_are_differences() {
        let differences = |numbers: &[i64], narrow| {
            let mut out = Vec::new();
            push_differences(numbers, narrow, &mut out);
            out
        };
        let head = |count: u8, first: u8| [128, 1, 4, count, first];
        assert_eq!(differences(&[], false), head(0, 0));
        assert_eq!(differences(&[3], false), head(1, 6));
        // The first example of Encodings.md, with the block of this writer: each is one more.
        let expected = [&head(5, 2)[..], &[2, 0, 0, 0, 0]].concat();
        assert_eq!(differences(&[1, 2, 3, 4, 5], false), expected);
        // Its second: the least difference is -2, the others are 0 to 3 above.
        let expected = [&head(6, 14)[..], &[3, 2, 0, 0, 0, 0b1100_0000, 0b11]].concat();
        let bytes = differences(&[7, 5, 3, 1, 2, 3], false);
        assert_eq!((&bytes[..12], bytes.len()), (&expected[..], 18));
        // Differences of 32 bits wrap, so that none is wider.
        let bytes = differences(&[i64::from(i32::MIN), i64::from(i32::MAX), 0], true);
        assert_eq!(bytes[14..18], [31, 0, 0, 0], "{bytes:?}");
    }
}
