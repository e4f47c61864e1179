//! TINYINT to BIGINT: big-endian, sign bit flipped, so that bytes order as numbers do.
//!
//! Source: MariaDB 10.11, sql/field.cc `Field_num::get_int`; storage/innobase/row/row0mysql.cc `row_mysql_store_col_in_innobase_format`.

use crate::ctype::is_space;
use crate::digits;
use crate::habits::Habits;
use crate::reason::Reason;
use crate::rounded::{Outcome, parse_rounded};
use crate::sql_type::Charset;
use crate::text_end::{Narrow, TextEnd};
use crate::value::Value;

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
    habits: Habits,
}

impl Integer {
    pub(crate) fn new(bytes: u8, unsigned: bool, file_charset: Charset) -> Integer {
        let bits = 8 * u32::from(bytes);
        let (plus, minus, flip) = match unsigned {
            true => (u64::MAX >> (64 - bits), 0, 0),
            false => ((1 << (bits - 1)) - 1, 1 << (bits - 1), 1 << (bits - 1)),
        };
        let (limits, bytes) = ([plus, minus], usize::from(bytes));
        Integer { limits, bytes, unsigned, flip, file_charset, habits: Habits::default() }
    }

    /// As the server does.
    pub(crate) fn with_habits(self, habits: Habits) -> Integer {
        Integer { habits, ..self }
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

    /// Stores a whole number, or an exact one, which is rounded.
    #[inline]
    pub(crate) fn store(&self, value: Value<'_>, out: &mut Vec<u8>) -> Result<(), Reason> {
        let stored = self.narrow_value(value).ok_or(Reason::OutOfRange)?;
        push_be(stored, self.bytes, out);
        Ok(())
    }

    /// Stores a number.
    #[inline]
    fn push(&self, negative: bool, magnitude: u64, out: &mut Vec<u8>) -> Result<(), Reason> {
        let stored = self.stored(negative, magnitude).ok_or(Reason::OutOfRange)?;
        push_be(stored, self.bytes, out);
        Ok(())
    }

    #[cold]
    fn convert_relaxed(&self, text: &[u8], out: &mut Vec<u8>) -> Result<(), Reason> {
        let number = parse_rounded(text, self.unsigned, self.habits);
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

    /// The stored number of a whole number, or of an exact one, which is rounded.
    #[inline(always)]
    fn narrow_value(&self, value: Value<'_>) -> Option<u64> {
        match value {
            Value::Integer(number) => self.stored(number < 0, number.unsigned_abs()),
            Value::Unsigned(number) => self.stored(false, number),
            Value::Decimal(number) => {
                let (negative, whole, fraction) = number.parts()?;
                // Half is rounded away from zero.
                let half = digits::POW10[usize::from(number.scale)] / 2;
                let up = u64::from(number.scale > 0 && fraction >= half);
                self.stored(negative, whole.checked_add(up)?)
            }
            _ => None,
        }
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
