//! TINYINT to BIGINT: big-endian, sign bit flipped, so that bytes order as numbers do.
//!
//! Source: MariaDB 10.11, sql/field.cc `Field_num::get_int`, strings/ctype-simple.c
//! `my_strntoull10rnd_8bit`; storage/innobase/row/row0mysql.cc `row_mysql_store_col_in_innobase_format`.

use crate::ctype::{is_latin1_space, is_space};
use crate::digits::{self, POW10};
use crate::reason::Reason;
use crate::sql_type::Charset;
use crate::text_end::{Narrow, TextEnd};

/// Exponents beyond which the server stops reading digits.
const EXPONENT_MAX: i64 = 20;

/// Converts text to one integer type.
#[derive(Clone, Debug)]
pub(crate) struct Integer {
    /// Largest magnitude of a number without and with a minus sign.
    limits: [u64; 2],
    /// 1, 2, 3, 4 or 8.
    bytes: usize,
    unsigned: bool,
    /// The bit that inverts the sign of the stored form.
    flip: u64,
    file_charset: Charset,
}

impl Integer {
    pub(crate) fn new(bytes: u8, unsigned: bool, file_charset: Charset) -> Integer {
        let bits = 8 * u32::from(bytes);
        let (plus, minus, flip) = match unsigned {
            true => (u64::MAX >> (64 - bits), 0, 0),
            false => ((1 << (bits - 1)) - 1, 1 << (bits - 1), 1 << (bits - 1)),
        };
        Integer { limits: [plus, minus], bytes: usize::from(bytes), unsigned, flip, file_charset }
    }

    #[inline]
    pub(crate) fn convert(&self, text: &[u8], out: &mut Vec<u8>) -> Result<(), Reason> {
        match self.narrow(TextEnd::new(text)) {
            Some(stored) => {
                push_be(stored, self.bytes, out);
                Ok(())
            }
            None => self.convert_relaxed(text, out),
        }
    }

    /// Bytes that are stored.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The stored form of a number in range.
    #[inline(always)]
    fn stored(&self, negative: bool, magnitude: u64) -> Option<u64> {
        let value = if negative { magnitude.wrapping_neg() } else { magnitude };
        (magnitude <= self.limits[usize::from(negative)]).then_some(value ^ self.flip)
    }

    /// Stores a number.
    #[inline]
    pub(crate) fn push(
        &self,
        negative: bool,
        magnitude: u64,
        out: &mut Vec<u8>,
    ) -> Result<(), Reason> {
        let stored = self.stored(negative, magnitude).ok_or(Reason::OutOfRange)?;
        push_be(stored, self.bytes, out);
        Ok(())
    }

    #[cold]
    fn convert_relaxed(&self, text: &[u8], out: &mut Vec<u8>) -> Result<(), Reason> {
        let number = parse_rounded(text, self.unsigned);
        // The range is looked at before what follows the number.
        match number.outcome {
            Outcome::TooBig => return Err(Reason::OutOfRange),
            Outcome::NoDigits => return Err(Reason::NotANumber),
            Outcome::Number => {}
        }
        if number.magnitude > self.limits[usize::from(number.negative)] {
            return Err(Reason::OutOfRange);
        }
        if !number.rest.iter().all(|&byte| is_space(self.file_charset, byte)) {
            return Err(Reason::NotANumber);
        }
        self.push(number.negative, number.magnitude, out)
    }
}

impl Narrow for Integer {
    /// The stored number of a text of up to 18 digits, perhaps with a minus sign, that is in range.
    #[inline(always)]
    fn narrow(&self, text: TextEnd<'_>) -> Option<u64> {
        let negative = text.is_negative();
        let count = text.len() - usize::from(negative);
        let magnitude = match count {
            1..=8 => {
                digits::eight_low(digits::keep_last(text.last_eight() ^ digits::ZEROS, count))?
            }
            _ => digits::up_to_18(&text.text()[usize::from(negative)..])?,
        };
        self.stored(negative, magnitude)
    }
}

/// Appends the last `bytes` (1 to 8) bytes of `value`, big-endian.
#[inline(always)]
pub(crate) fn push_be(value: u64, bytes: usize, out: &mut Vec<u8>) {
    // Eight bytes always, then the surplus off again: two stores beat a memcpy of unknown size.
    let len = out.len();
    out.extend_from_slice(&(value << (64 - 8 * bytes)).to_be_bytes());
    out.truncate(len + bytes);
}

/// The result of [`parse_rounded`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Number,
    /// Beyond 64 bits.
    TooBig,
    NoDigits,
}

/// A number at the start of a text, rounded half away from zero to an integer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rounded<'a> {
    pub(crate) outcome: Outcome,
    pub(crate) negative: bool,
    pub(crate) magnitude: u64,
    /// The text after the number.
    pub(crate) rest: &'a [u8],
}

/// Reads `[space] [sign] digits [. digits] [e [sign] digits]` the way the server's
/// `strntoull10rnd` does, its oddities included: `12e ` is 12, and from 20 digits on only the
/// digit at the cut decides the rounding.
pub(crate) fn parse_rounded(text: &[u8], unsigned: bool) -> Rounded<'_> {
    let mut at = 0;
    let byte = |at: usize| text.get(at).copied().unwrap_or(0);
    let digit = |at: usize| text.get(at).map(|b| b.wrapping_sub(b'0')).filter(|d| *d < 10);
    let found = |outcome, negative, magnitude, at: usize| Rounded {
        outcome,
        negative,
        magnitude,
        rest: text.get(at..).unwrap_or_default(),
    };

    while at < text.len() && is_latin1_space(text[at]) {
        at += 1;
    }
    let negative = byte(at) == b'-';
    if negative || byte(at) == b'+' {
        at += 1;
    }
    if at >= text.len() {
        return found(Outcome::NoDigits, negative, 0, at);
    }
    let start = at;

    let mut value: u64 = 0;
    let mut any_digit = false;
    let mut dot: Option<usize> = None;
    let mut overflowed = false;
    // Whether the first digit that did not fit rounds up.
    let mut round_up = false;
    let mut shift: i64 = 0;
    while at < text.len() {
        if let Some(d) = digit(at) {
            match value.checked_mul(10).and_then(|v| v.checked_add(u64::from(d))) {
                Some(more) => {
                    value = more;
                    any_digit = true;
                    at += 1;
                    continue;
                }
                None if value == u64::MAX / 10 => {
                    value = u64::MAX;
                    round_up = true;
                    at += 1;
                }
                None => round_up = d >= 5,
            }
            overflowed = true;
            match dot {
                None => {
                    while digit(at).is_some() {
                        shift += 1;
                        at += 1;
                    }
                    if byte(at) == b'.' {
                        at += 1;
                    }
                }
                Some(dot) => shift = dot as i64 - at as i64,
            }
            while digit(at).is_some() {
                at += 1;
            }
            break;
        }
        if byte(at) != b'.' || dot.is_some() {
            break;
        }
        at += 1;
        dot = Some(at);
    }
    if !overflowed {
        shift = dot.map_or(0, |dot| dot as i64 - at as i64);
    }
    if !any_digit {
        return found(Outcome::NoDigits, negative, 0, start);
    }

    if matches!(byte(at), b'e' | b'E') {
        let down = byte(at + 1) == b'-';
        let digits = at + 1 + usize::from(down || byte(at + 1) == b'+');
        if digits >= text.len() {
            // Nothing after the e: it is no part of the number.
            return found(Outcome::Number, negative, value, at);
        }
        at = digits;
        if shift > 0 && !down {
            return found(Outcome::TooBig, negative, 0, at);
        }
        let mut exponent: i64 = 0;
        while let Some(d) = digit(at) {
            // Given up before the last digit is read: small numbers are then followed by
            // rubbish, and 0e99999 is too big.
            if down && exponent - shift > EXPONENT_MAX {
                return found(Outcome::Number, negative, 0, at);
            }
            if !down && exponent + shift > EXPONENT_MAX {
                return found(Outcome::TooBig, negative, 0, at);
            }
            exponent = exponent * 10 + i64::from(d);
            at += 1;
        }
        shift += if down { -exponent } else { exponent };
    }

    let magnitude = match shift {
        0 => value.checked_add(u64::from(round_up)),
        ..0 => Some(match POW10.get(shift.unsigned_abs() as usize) {
            // Twice a remainder of 19 digits wraps in the server, which then rounds down.
            Some(power) => value / power + u64::from((value % power).wrapping_mul(2) >= *power),
            None => 0,
        }),
        1.. if value == 0 => Some(0),
        1.. => POW10.get(shift as usize).and_then(|power| value.checked_mul(*power)),
    };
    let limit = match (unsigned, negative) {
        (true, false) => u64::MAX,
        (true, true) => 0,
        (false, false) => i64::MAX as u64,
        (false, true) => i64::MIN.unsigned_abs(),
    };
    match magnitude.filter(|m| *m <= limit) {
        Some(magnitude) => found(Outcome::Number, negative, magnitude, at),
        None => found(Outcome::TooBig, negative, 0, at),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    fn hex(bytes: u8, unsigned: bool, text: &str) -> Result<String, Reason> {
        let mut out = Vec::new();
        Integer::new(bytes, unsigned, Charset::Utf8mb4).convert(text.as_bytes(), &mut out)?;
        Ok(out.iter().map(|b| format!("{b:02x}")).collect())
    }

    #[test]
    fn canonical_numbers() {
        for (bytes, unsigned, text, expected) in [
            (1, false, "-128", "00"),
            (1, false, "127", "ff"),
            (1, true, "255", "ff"),
            (2, false, "1", "8001"),
            (3, false, "-1", "7fffff"),
            (3, true, "16777215", "ffffff"),
            (4, false, "0", "80000000"),
            (4, false, "-0", "80000000"),
            (4, true, "-0", "00000000"),
            (8, false, "-9223372036854775808", "0000000000000000"),
            (8, false, "9223372036854775807", "ffffffffffffffff"),
            (8, true, "18446744073709551615", "ffffffffffffffff"),
        ] {
            assert_eq!(hex(bytes, unsigned, text).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_the_server_also_reads_as_an_integer() {
        for (text, expected) in [
            (" 12", "8000000c"),
            ("12 \t", "8000000c"),
            ("+12", "8000000c"),
            ("012", "8000000c"),
            ("12.5", "8000000d"),
            ("-12.5", "7ffffff3"),
            ("12.49999", "8000000c"),
            ("1e3", "800003e8"),
            ("1.5E1", "8000000f"),
            ("15e-1", "80000002"),
            ("1e-100", "80000000"),
            ("0e200", "80000000"),
            ("12e ", "8000000c"),
            (".5", "80000001"),
            ("5.", "80000005"),
        ] {
            assert_eq!(hex(4, false, text).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_the_server_refuses() {
        for (text, expected) in [
            ("", Reason::NotANumber),
            (" ", Reason::NotANumber),
            ("-", Reason::NotANumber),
            (".", Reason::NotANumber),
            ("abc", Reason::NotANumber),
            ("12a", Reason::NotANumber),
            ("1.2.3", Reason::NotANumber),
            ("0x1f", Reason::NotANumber),
            ("--1", Reason::NotANumber),
            ("1e", Reason::NotANumber),
            ("1e+", Reason::NotANumber),
            ("1e-300", Reason::NotANumber),
            ("0e300", Reason::OutOfRange),
            ("2147483648", Reason::OutOfRange),
            ("2147483647.5", Reason::OutOfRange),
            ("-2147483649", Reason::OutOfRange),
            ("1e10", Reason::OutOfRange),
            ("99999999999999999999999", Reason::OutOfRange),
        ] {
            assert_eq!(hex(4, false, text), Err(expected), "{text}");
        }
        assert_eq!(hex(4, true, "-1"), Err(Reason::OutOfRange));
    }
}
