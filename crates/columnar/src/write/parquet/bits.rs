//! Numbers of a few bits: levels and indices of a dictionary, in runs.
//!
//! ```text
//! | count * 2, value | groups of 8 * 2 + 1, bits of each |  ..
//! ```
//!
//! Source: apache/parquet-format, Encodings.md, RLE.

/// Values of a packed group.
const GROUP: usize = 8;
/// Fewest equal values that become a run.
const RUN_MIN: usize = 2 * GROUP;

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
}
