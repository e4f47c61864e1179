//! DECIMAL(p,s): the server's packed decimal.
//!
//! ```text
//! DECIMAL(14,4)  1234567890.1234
//!                  1 | 234567890 . 1234
//!                3 B |    4 B    |  2 B      digits in a group: 1-2  3-4  5-6  7-9
//!                                            bytes it takes:      1    2    3    4
//! ```
//! Groups of nine digits count from the point outwards; the first bit is flipped, and every bit of
//! a negative number is inverted. Up to 18 digits on either side of the point the groups are cut
//! from two 64-bit numbers; the relaxed path works on single digits, with the limits of the
//! server's 81-digit buffer.
//!
//! Source: MariaDB 10.11, strings/decimal.c `internal_str2dec`, `decimal_shift`, `decimal2bin`;
//! sql/field.cc `Field_new_decimal::store`.

mod number;
mod usual;

use crate::digits::{self, POW10};
use crate::habits::Habits;
use crate::integer::push_be;
use crate::reason::Reason;
use crate::sql_type::Charset;
use crate::value::Value;
use number::Number;

/// Bytes of a group of 0 to 9 digits.
const GROUP_BYTES: [u32; 10] = [0, 1, 1, 2, 2, 3, 3, 4, 4, 4];
/// Digits of a full group.
const GROUP: usize = 9;
/// Digits after the point a column may have.
const SCALE_MAX: usize = 38;
/// Bytes of DECIMAL(65,s) at most.
const BYTES_MAX: usize = 32;

/// Digits before or after the point up to which two 64-bit numbers will do.
const NARROW: usize = 18;

/// Converts text to DECIMAL(precision, scale).
#[derive(Clone, Debug)]
pub(crate) struct Decimal {
    integral: usize,
    scale: usize,
    bytes: usize,
    unsigned: bool,
    /// True if the groups of the narrow path take 8 bytes at most, two before and one after the
    /// point.
    compact: bool,
    /// Bytes of groups before the two that the narrow path fills.
    zero_bytes: usize,
    /// Bytes of the last group before the point.
    ones_bytes: usize,
    /// Bytes of the first and second group after the point.
    fraction_bytes: [usize; 2],
    /// 10 to the digits of the second group after the point.
    fraction_cut: u64,
    integral_limit: u64,
    /// 2^64 divided by ten to the scale, rounded up: multiplying by it divides, exactly up to
    /// [`usual::ONE_NUMBER`] digits. For scales from 1 to 6.
    unit_inverse: u64,
    file_charset: Charset,
    habits: Habits,
}

impl Decimal {
    pub(crate) fn new(precision: u8, scale: u8, unsigned: bool, file_charset: Charset) -> Decimal {
        let (precision, scale) = (usize::from(precision), usize::from(scale));
        let integral = precision - scale;
        let size = |digits: usize| GROUP_BYTES[digits.min(GROUP)] as usize;
        let part = |digits: usize| 4 * (digits / GROUP) + size(digits % GROUP);
        let narrow = part(integral.min(NARROW));
        Decimal {
            integral,
            scale,
            bytes: part(integral) + part(scale),
            unsigned,
            compact: scale <= GROUP && narrow + part(scale) <= 8 && integral <= NARROW,
            zero_bytes: part(integral) - narrow,
            ones_bytes: size(integral),
            fraction_bytes: [size(scale), size(scale.saturating_sub(GROUP))],
            fraction_cut: POW10[scale.saturating_sub(GROUP).min(GROUP)],
            integral_limit: POW10[integral.min(NARROW)] - 1,
            unit_inverse: u64::MAX / POW10[scale.clamp(1, 6)] + 1,
            file_charset,
            habits: Habits::default(),
        }
    }

    /// As the server does.
    pub(crate) fn with_habits(self, habits: Habits) -> Decimal {
        Decimal { habits, ..self }
    }

    #[inline]
    pub(crate) fn convert(&self, text: &[u8], out: &mut Vec<u8>) -> Result<(), Reason> {
        let (negative, digits) = match text {
            [b'-', digits @ ..] => (true, digits),
            digits => (false, digits),
        };
        if let Some((integral, fraction)) = self.parse_full_scale(digits)
            && integral <= self.integral_limit
            && !(self.unsigned && negative)
        {
            self.push_narrow(negative, integral, fraction, out);
            return Ok(());
        }
        self.convert_less_usual(negative, digits, text, out)
    }

    /// Bytes that are stored, if they are eight at most and [`Decimal::narrow`] can tell them.
    pub(crate) fn narrow_bytes(&self) -> Option<usize> {
        self.compact.then_some(self.bytes)
    }

    /// The stored number, of a column of at most eight bytes.
    #[inline(always)]
    fn pack_compact(&self, negative: bool, integral: u64, fraction: u64) -> u64 {
        debug_assert!(self.compact);
        // Most numbers have no second group.
        let (upper, ones) = match integral < POW10[GROUP] {
            true => (0, integral),
            false => (integral / POW10[GROUP], integral % POW10[GROUP]),
        };
        let packed =
            (upper << (8 * self.ones_bytes) | ones) << (8 * self.fraction_bytes[0]) | fraction;
        // -0 is 0.
        let invert = negative && (integral | fraction) != 0;
        let packed = if invert { !packed } else { packed };
        packed ^ 1 << (8 * self.bytes - 1)
    }

    /// Whether a number is below 0, its whole part, and its fraction in units of the column's last digit; `None` if
    /// it has more digits than the column, is out of range, or is no number for two times 64 bits.
    #[inline(always)]
    fn parts(&self, value: Value<'_>) -> Option<(bool, u64, u64)> {
        let (negative, integral, fraction) = match value {
            Value::Integer(number) => (number < 0, number.unsigned_abs(), 0),
            Value::Unsigned(number) => (false, number, 0),
            Value::Decimal(number) => {
                let missing = self.scale.checked_sub(usize::from(number.scale))?;
                let (negative, integral, fraction) = number.parts()?;
                (negative, integral, fraction.checked_mul(*POW10.get(missing)?)?)
            }
            _ => return None,
        };
        let fits = self.scale <= NARROW && integral <= self.integral_limit;
        (fits && !(self.unsigned && negative)).then_some((negative, integral, fraction))
    }

    /// Stores a whole or exact number; `None` if [`Decimal::parts`] cannot.
    #[inline]
    pub(crate) fn store(&self, value: Value<'_>, out: &mut Vec<u8>) -> Option<Result<(), Reason>> {
        let (negative, integral, fraction) = self.parts(value)?;
        self.push_narrow(negative, integral, fraction, out);
        Some(Ok(()))
    }

    /// Digits before and after the point of a text that, as most files do, writes every digit of
    /// the scale, up to 16 bytes in all. The point is then at a known place in the last eight.
    #[inline(always)]
    fn parse_full_scale(&self, text: &[u8]) -> Option<(u64, u64)> {
        let scale = self.scale as u32;
        if !(1..=6).contains(&scale) || text.len() > 16 {
            return None;
        }
        let (head, tail) = digits::split_last_eight(text);
        if tail >> (56 - 8 * scale) & 0xff != u64::from(b'.') {
            return None;
        }
        let integral = digits::first(7 - scale, tail)?;
        let fraction = digits::last(scale, tail)?;
        let head = if head.is_empty() { 0 } else { digits::up_to_eight(head)? };
        Some((head * POW10[7 - self.scale] + integral, fraction))
    }

    /// Another number of digits after the point, or no point.
    #[inline(never)]
    fn convert_less_usual(
        &self,
        negative: bool,
        digits: &[u8],
        text: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), Reason> {
        if let Some((integral, fraction)) = self.parse_short(digits)
            && integral <= self.integral_limit
            && !(self.unsigned && negative)
        {
            self.push_narrow(negative, integral, fraction, out);
            return Ok(());
        }
        self.convert_relaxed(text, out)
    }

    /// Another text of digits, perhaps with a point.
    #[inline(never)]
    fn parse_less_usual(&self, digits: &[u8]) -> Option<(u64, u64)> {
        self.parse_full_scale(digits).or_else(|| self.parse_short(digits))
    }

    /// Digits before and after the point, the latter filled up to the scale; None when the text
    /// has any other shape, more digits after the point than the column, or too many for this path.
    fn parse_short(&self, text: &[u8]) -> Option<(u64, u64)> {
        if self.scale > NARROW {
            return None;
        }
        match text.iter().position(|&byte| byte == b'.') {
            None => Some((digits::up_to_18(text)?, 0)),
            Some(point) => {
                let tail = &text[point + 1..];
                let missing = self.scale.checked_sub(tail.len())?;
                let fraction = digits::up_to_18(tail)? * POW10[missing];
                Some((digits::up_to_18(&text[..point])?, fraction))
            }
        }
    }

    #[inline(always)]
    fn push_narrow(&self, negative: bool, integral: u64, fraction: u64, out: &mut Vec<u8>) {
        if self.compact {
            return push_be(self.pack_compact(negative, integral, fraction), self.bytes, out);
        }
        let (upper, ones) = (integral / POW10[GROUP], integral % POW10[GROUP]);
        // -0 is 0.
        let invert = negative && (integral | fraction) != 0;
        let [first, second] = self.fraction_bytes;
        let mut packed = u128::from(upper) << (8 * self.ones_bytes) | u128::from(ones);
        packed = packed << (8 * first) | u128::from(fraction / self.fraction_cut);
        packed = packed << (8 * second) | u128::from(fraction % self.fraction_cut);
        let packed = if invert { !packed } else { packed };
        let start = out.len();
        out.resize(start + self.zero_bytes, if invert { 0xff } else { 0 });
        let bytes = self.bytes - self.zero_bytes;
        out.extend_from_slice(&(packed << (128 - 8 * bytes)).to_be_bytes());
        out.truncate(start + self.bytes);
        out[start] ^= 0x80;
    }

    #[cold]
    fn convert_relaxed(&self, text: &[u8], out: &mut Vec<u8>) -> Result<(), Reason> {
        let mut number = Number::parse(text, self.file_charset, self.habits)?;
        // The sign counts before rounding: -0.001 is refused by an unsigned column.
        if self.unsigned && number.negative {
            return Err(Reason::OutOfRange);
        }
        number.round(self.scale as i64);
        if number.integral() > self.integral as i64 {
            return Err(Reason::OutOfRange);
        }
        self.push_wide(&number, out);
        Ok(())
    }

    fn push_wide(&self, number: &Number, out: &mut Vec<u8>) {
        let mut packed = [0u8; BYTES_MAX];
        let mut at = 0;
        let mut group = |first: i64, digits: usize| {
            let value =
                (0..digits as i64).fold(0, |v, i| v * 10 + u32::from(number.digit(first + i)));
            let size = GROUP_BYTES[digits] as usize;
            packed[at..at + size].copy_from_slice(&value.to_be_bytes()[4 - size..]);
            at += size;
        };
        let mut position = -(self.integral as i64);
        let lead = self.integral % GROUP;
        group(position, lead);
        position += lead as i64;
        for _ in 0..self.integral / GROUP + self.scale / GROUP {
            group(position, GROUP);
            position += GROUP as i64;
        }
        group(position, self.scale % GROUP);
        if number.negative {
            packed.iter_mut().for_each(|byte| *byte = !*byte);
        }
        packed[0] ^= 0x80;
        out.extend_from_slice(&packed[..self.bytes]);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    fn hex(p: u8, s: u8, unsigned: bool, text: &str) -> Result<String, Reason> {
        let mut out = Vec::new();
        Decimal::new(p, s, unsigned, Charset::Utf8mb4).convert(text.as_bytes(), &mut out)?;
        Ok(out.iter().map(|b| format!("{b:02x}")).collect())
    }

    #[test]
    fn the_servers_own_example() {
        assert_eq!(hex(14, 4, false, "1234567890.1234").as_deref(), Ok("810dfb38d204d2"));
        assert_eq!(hex(14, 4, false, "-1234567890.1234").as_deref(), Ok("7ef204c72dfb2d"));
    }

    #[test]
    fn every_path_gives_the_same_bytes() {
        let texts = [
            "0",
            "-0.0",
            "1",
            "-9.5",
            "0.1",
            "12.34",
            "-123456789.123456789",
            "9",
            "0.50",
            ".25",
            "1234567890123.45",
            "-12345.67",
            "-0.01",
            "999999.999999",
            "1234567.8",
            "123456789012345678",
            "-1.000000000000000001",
            "12345678.90",
            "123456789.01",
        ];
        for p in 1..=65u8 {
            for s in 0..=p.min(38) {
                let decimal = Decimal::new(p, s, false, Charset::Utf8mb4);
                for text in texts {
                    let (mut narrow, mut wide) = (Vec::new(), Vec::new());
                    let a = decimal.convert(text.as_bytes(), &mut narrow);
                    let b = decimal.convert_relaxed(text.as_bytes(), &mut wide);
                    assert_eq!((a, narrow), (b, wide), "DECIMAL({p},{s}) {text}");
                }
            }
        }
    }

    #[test]
    fn digits_beyond_the_scale_round_half_away_from_zero() {
        for (text, expected) in [
            ("1.005", "8101"),
            ("1.004", "8100"),
            ("-1.005", "7efe"),
            ("9.995", "8a00"),
            ("0.004", "8000"),
            ("-0.004", "8000"),
            (" +1e1 ", "8a00"),
            ("1e-1", "800a"),
            ("0.0000001e7", "8100"),
            ("00000000000000000000000001", "8100"),
            ("1.", "8100"),
            (".5", "8032"),
        ] {
            assert_eq!(hex(4, 2, false, text).as_deref(), Ok(expected), "{text}");
        }
        for text in ["99.995", "100", "1e2", "1e99999999999999999999"] {
            assert_eq!(hex(4, 2, false, text), Err(Reason::OutOfRange), "{text}");
        }
        for text in ["", ".", "-", "e1", "1e", "1,5", "1 2", "abc", "1.2.3"] {
            assert_eq!(hex(4, 2, false, text), Err(Reason::NotANumber), "{text}");
        }
        assert_eq!(hex(4, 2, true, "-0.001"), Err(Reason::OutOfRange));
        assert_eq!(hex(4, 2, true, "-0.00").as_deref(), Ok("8000"));
    }

    #[test]
    fn sixty_five_digits() {
        let text = "9".repeat(65);
        assert_eq!(hex(65, 0, false, &text).map(|h| h.len()), Ok(2 * 29));
        assert_eq!(hex(65, 0, false, &(text + "9")), Err(Reason::OutOfRange));
        let text = format!("-{}.{}", "9".repeat(27), "9".repeat(38));
        assert_eq!(hex(65, 38, false, &text).map(|h| h.len()), Ok(2 * 29));
    }
}
