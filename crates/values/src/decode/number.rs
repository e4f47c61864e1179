//! Integers and decimals.
//!
//! Eight digits at a time: a number is halved into fours, twos and single digits, all parts at once by a
//! multiplication for each halving, and lands in the bytes of an integer, the first digit in the lowest:
//!
//! ```text
//! 12345678  ->  1234 | 5678  ->  12 | 34 | 56 | 78  ->  1 2 3 4 5 6 7 8
//! ```

use crate::digits::{POW10, ZEROS};

/// Bytes of a group of 0 to 9 digits of a DECIMAL.
const GROUP_BYTES: [usize; 10] = [0, 1, 1, 2, 2, 3, 3, 4, 4, 4];
/// Digits of a full group, its bytes, and what is more than it holds.
const GROUP: usize = 9;
const FULL_BYTES: usize = 4;
const FULL_END: u64 = 1_000_000_000;
/// Bytes of DECIMAL(65,s) at most.
const BYTES_MAX: usize = 32;
/// The first number with more than eight digits.
const EIGHT_END: u64 = 100_000_000;

/// The two digits of each number below 100.
pub(super) const PAIRS: [[u8; 2]; 100] = {
    let mut pairs = [[0; 2]; 100];
    let mut number = 0;
    while number < 100 {
        pairs[number] = [b'0' + number as u8 / 10, b'0' + number as u8 % 10];
        number += 1;
    }
    pairs
};

/// A big-endian number of 8 bytes at most.
#[inline(always)]
pub fn big_endian(stored: &[u8]) -> u64 {
    match *stored {
        [a] => u64::from(a),
        [a, b] => u64::from(u16::from_be_bytes([a, b])),
        [a, b, c] => u64::from(u32::from_be_bytes([0, a, b, c])),
        [a, b, c, d] => u64::from(u32::from_be_bytes([a, b, c, d])),
        [a, b, c, d, e] => u64::from_be_bytes([0, 0, 0, a, b, c, d, e]),
        [a, b, c, d, e, f] => u64::from_be_bytes([0, 0, a, b, c, d, e, f]),
        [a, b, c, d, e, f, g] => u64::from_be_bytes([0, a, b, c, d, e, f, g]),
        _ => stored.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)),
    }
}

/// Appends the first `len` of some bytes. All are written, which takes less than to write so many.
#[inline(always)]
pub(super) fn push_first<const N: usize>(bytes: [u8; N], len: usize, out: &mut Vec<u8>) {
    let end = out.len() + len;
    out.extend_from_slice(&bytes);
    out.truncate(end);
}

/// The same as a function that is not inlined: the compiler merges inlined calls in one function into one copy of
/// varying length.
#[inline(never)]
pub(super) fn append_first<const N: usize>(bytes: [u8; N], len: usize, out: &mut Vec<u8>) {
    push_first(bytes, len, out);
}

/// The eight digits of a number below [`EIGHT_END`], 0 to 9, the first in the lowest byte.
#[inline(always)]
fn digits_of(number: u64) -> u64 {
    debug_assert!(number < EIGHT_END, "eight digits");
    let fours = (number / 10_000) | ((number % 10_000) << 32);
    // What is below 10,000, by 100; what is below 100, by 10. Lower parts do not reach what is kept of higher ones.
    let hundreds = ((fours * 10_486) >> 20) & 0x7f_0000_007f;
    let twos = hundreds | (fours - hundreds * 100) << 16;
    let tens = ((twos * 103) >> 10) & 0x000f_000f_000f_000f;
    tens | (twos - tens * 10) << 8
}

/// Eight digits of a number below [`EIGHT_END`] as text.
#[inline(always)]
pub(super) fn eight(number: u64) -> [u8; 8] {
    (digits_of(number) | ZEROS).to_le_bytes()
}

/// Appends an integer of 1 to 8 bytes, the sign of which is turned round.
#[inline(always)]
pub(super) fn push_integer(stored: &[u8], unsigned: bool, out: &mut Vec<u8>) {
    let number = big_endian(stored);
    if unsigned {
        return push_number(number, out);
    }
    let bits = 64 - 8 * stored.len() as u32;
    // The sign goes to the highest bit, and the number down again with it.
    let signed = ((number << bits) ^ 1 << 63) as i64 >> bits;
    if signed < 0 {
        out.push(b'-');
    }
    push_number(signed.unsigned_abs(), out);
}

#[inline(always)]
pub(super) fn push_number(number: u64, out: &mut Vec<u8>) {
    match number {
        0..100 => {
            let [tens, ones] = PAIRS[number as usize];
            if number >= 10 {
                out.push(tens);
            }
            out.push(ones);
        }
        100..EIGHT_END => push_short(number, out),
        _ => push_long(number, out),
    }
}

/// Appends a number below [`EIGHT_END`]. In a function of its own, in which the compiler sees how many bytes
/// are written.
#[inline(never)]
fn push_short(number: u64, out: &mut Vec<u8>) {
    let digits = digits_of(number);
    // The last is written, be it 0.
    let zeros = (digits | 1 << 56).trailing_zeros() / 8;
    let text = (digits | ZEROS) >> (8 * zeros);
    push_first(text.to_le_bytes(), 8 - zeros as usize, out);
}

#[inline(never)]
fn push_long(number: u64, out: &mut Vec<u8>) {
    let (high, low) = (number / EIGHT_END, number % EIGHT_END);
    if high < EIGHT_END {
        push_short(high, out);
    } else {
        push_short(high / EIGHT_END, out);
        out.extend_from_slice(&eight(high % EIGHT_END));
    }
    out.extend_from_slice(&eight(low));
}

/// Appends a number of so many digits, 9 at most, with zeros before it; false of one that has more.
#[inline(never)]
pub(super) fn push_padded(number: u64, digits: usize, out: &mut Vec<u8>) -> bool {
    if number >= POW10[digits] {
        return false;
    }
    if digits > 8 {
        out.push(b'0' + (number / EIGHT_END) as u8);
        out.extend_from_slice(&eight(number % EIGHT_END));
    } else if digits > 0 {
        let text = u64::from_le_bytes(eight(number)) >> (64 - 8 * digits);
        push_first(text.to_le_bytes(), digits, out);
    }
    true
}

/// How the digits of a DECIMAL are stored.
///
/// ```text
/// DECIMAL(20,4)   | 7 digits | 9 digits | . 4 digits |     4 + 4 + 2 bytes
/// ```
#[derive(Clone, Copy, Debug)]
pub(super) struct DecimalForm {
    integral: usize,
    scale: usize,
    /// Digits of the first group, if it is not a full one.
    lead: usize,
    bytes: usize,
}

impl DecimalForm {
    /// The form of a number with so many digits before and after the point; none for more than
    /// there are.
    pub(super) fn new(integral: usize, scale: usize) -> Option<DecimalForm> {
        let lead = integral % GROUP;
        let bytes = GROUP_BYTES[lead]
            + (integral / GROUP + scale / GROUP) * FULL_BYTES
            + GROUP_BYTES[scale % GROUP];
        let is_stored = (1..=BYTES_MAX).contains(&bytes);
        is_stored.then_some(DecimalForm { integral, scale, lead, bytes })
    }

    /// Appends a value; false if the bytes are none of this form.
    #[inline(always)]
    pub(super) fn push(&self, stored: &[u8], out: &mut Vec<u8>) -> bool {
        if stored.len() != self.bytes {
            return false;
        }
        match self.bytes {
            0..=8 if self.scale <= GROUP => self.push_short(stored, out),
            _ => self.push_long(stored, out),
        }
    }

    /// Up to two groups before the point and one after it, in an integer.
    #[inline(always)]
    fn push_short(&self, stored: &[u8], out: &mut Vec<u8>) -> bool {
        let spare = 64 - 8 * self.bytes as u32;
        let number = big_endian(stored) << spare;
        let is_negative = number >> 63 == 0;
        let flip = if is_negative { u64::MAX >> 1 } else { 1 << 63 };
        let number = (number ^ flip) >> spare;
        if is_negative {
            out.push(b'-');
        }
        let fraction_bits = 8 * GROUP_BYTES[self.scale] as u32;
        let fraction = number & ((1 << fraction_bits) - 1);
        let mut integral = number >> fraction_bits;
        if self.integral >= GROUP {
            let (high, low) = (integral >> 32, integral & u64::from(u32::MAX));
            if low >= FULL_END {
                return false;
            }
            integral = high * FULL_END + low;
        }
        if integral >= POW10[self.integral] {
            return false;
        }
        push_number(integral, out);
        match (self.scale, PAIRS.get(fraction as usize)) {
            (0, _) => true,
            (2, Some(&[a, b])) => {
                append_first([b'.', a, b, 0], 3, out);
                true
            }
            _ => {
                out.push(b'.');
                push_padded(fraction, self.scale, out)
            }
        }
    }

    /// The value in units of its last digit, of 38 digits at most; none if the bytes are none of this form.
    #[inline(always)]
    pub(super) fn units(&self, stored: &[u8]) -> Option<i128> {
        if stored.len() != self.bytes {
            return None;
        }
        match self.bytes {
            0..=8 if self.scale <= GROUP => self.short_units(stored).map(i128::from),
            _ => self.long_units(stored),
        }
    }

    /// Up to two groups before the point and one after it: less than 10^19.
    #[inline(always)]
    fn short_units(&self, stored: &[u8]) -> Option<i64> {
        let spare = 64 - 8 * self.bytes as u32;
        let number = big_endian(stored) << spare;
        let is_negative = number >> 63 == 0;
        let flip = if is_negative { u64::MAX >> 1 } else { 1 << 63 };
        let number = (number ^ flip) >> spare;
        let fraction_bits = 8 * GROUP_BYTES[self.scale] as u32;
        let fraction = number & ((1 << fraction_bits) - 1);
        let mut integral = number >> fraction_bits;
        if self.integral >= GROUP {
            let (high, low) = (integral >> 32, integral & u64::from(u32::MAX));
            if low >= FULL_END {
                return None;
            }
            integral = high * FULL_END + low;
        }
        if integral >= POW10[self.integral] || fraction >= POW10[self.scale] {
            return None;
        }
        let units = i64::try_from(integral * POW10[self.scale] + fraction).ok()?;
        Some(if is_negative { -units } else { units })
    }

    fn long_units(&self, stored: &[u8]) -> Option<i128> {
        let is_negative = stored[0] & 0x80 == 0;
        let flip = if is_negative { 0xff } else { 0 };
        let mut bytes = [0; BYTES_MAX];
        for (byte, stored) in bytes.iter_mut().zip(stored) {
            *byte = stored ^ flip;
        }
        bytes[0] ^= 0x80;
        let mut rest = &bytes[..self.bytes];
        let mut units = 0i128;
        let whole = std::iter::repeat_n(GROUP, self.integral / GROUP);
        let fraction = std::iter::repeat_n(GROUP, self.scale / GROUP);
        let groups = std::iter::once(self.lead).chain(whole).chain(fraction);
        for digits in groups.chain([self.scale % GROUP]) {
            let (group, after) = rest.split_at(GROUP_BYTES[digits]);
            let number = Some(big_endian(group)).filter(|number| *number < POW10[digits])?;
            units = units.checked_mul(POW10[digits].into())?.checked_add(number.into())?;
            rest = after;
        }
        Some(if is_negative { -units } else { units })
    }

    fn push_long(&self, stored: &[u8], out: &mut Vec<u8>) -> bool {
        let is_negative = stored[0] & 0x80 == 0;
        let flip = if is_negative { 0xff } else { 0 };
        let mut bytes = [0; BYTES_MAX];
        for (byte, stored) in bytes.iter_mut().zip(stored) {
            *byte = stored ^ flip;
        }
        bytes[0] ^= 0x80;
        if is_negative {
            out.push(b'-');
        }
        let mut rest = &bytes[..self.bytes];
        let mut group = |digits: usize| {
            let (group, after) = rest.split_at(GROUP_BYTES[digits]);
            rest = after;
            Some(big_endian(group)).filter(|number| *number < POW10[digits])
        };
        let mut is_begun = false;
        let full = std::iter::repeat_n(GROUP, self.integral / GROUP);
        for digits in std::iter::once(self.lead).chain(full) {
            match group(digits) {
                None => return false,
                Some(number) if is_begun => {
                    push_padded(number, digits, out);
                }
                Some(0) => {}
                Some(number) => {
                    push_number(number, out);
                    is_begun = true;
                }
            }
        }
        if !is_begun {
            out.push(b'0');
        }
        if self.scale > 0 {
            out.push(b'.');
        }
        let full = std::iter::repeat_n(GROUP, self.scale / GROUP);
        full.chain([self.scale % GROUP])
            .all(|digits| group(digits).is_some_and(|number| push_padded(number, digits, out)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_every_length_are_their_digits() {
        let shown = |number| {
            let mut out = Vec::new();
            push_number(number, &mut out);
            String::from_utf8_lossy(&out).into_owned()
        };
        for power in POW10 {
            for number in [power - 1, power, power + 1, power / 2 * 3, power / 7] {
                assert_eq!(shown(number), number.to_string());
            }
        }
        assert_eq!(shown(u64::MAX), u64::MAX.to_string());
        for number in (0..EIGHT_END).step_by(9_973) {
            assert_eq!(shown(number), number.to_string());
            assert_eq!(eight(number).as_slice(), format!("{number:08}").as_bytes());
        }
        let mut out = Vec::new();
        for (digits, end) in POW10.iter().enumerate().take(10) {
            assert!(push_padded(end / 9, digits, &mut out));
            assert!(!push_padded(*end, digits, &mut out));
        }
        assert_eq!(String::from_utf8_lossy(&out), "1".repeat((1..=9).sum()));
    }
}
