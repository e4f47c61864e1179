//! DECIMAL(p,s): the server's packed decimal.
//!
//! ```text
//! DECIMAL(14,4)  1234567890.1234
//!                  1 | 234567890 . 1234
//!                3 B |    4 B    |  2 B      digits in a group: 1-2  3-4  5-6  7-9
//!                                            bytes it takes:      1    2    3    4
//! ```
//! Groups of nine digits count from the point outwards; the first bit is flipped, and every bit of
//! a negative number is inverted. Up to 18 digits the groups are cut from two 64-bit numbers; the
//! relaxed path works on single digits, with the limits of the server's 81-digit buffer.
//!
//! Source: MariaDB 10.11, strings/decimal.c `internal_str2dec`, `decimal_shift`, `decimal2bin`;
//! sql/field.cc `Field_new_decimal::store`.

use crate::column::Charset;
use crate::ctype::{is_latin1_space, is_space};
use crate::digits::{self, POW10};
use crate::reason::Reason;

/// Bytes of a group of 0 to 9 digits.
const GROUP_BYTES: [u32; 10] = [0, 1, 1, 2, 2, 3, 3, 4, 4, 4];
/// Digits of a full group.
const GROUP: usize = 9;
/// Groups in the server's buffer.
const BUFFER_GROUPS: usize = 9;
/// Digits in the server's buffer.
const BUFFER: usize = GROUP * BUFFER_GROUPS;
/// Digits after the point a column may have.
const SCALE_MAX: usize = 38;
/// Bytes of DECIMAL(65,s) at most.
const BYTES_MAX: usize = 32;

/// Converts text to DECIMAL(precision, scale).
#[derive(Clone, Debug)]
pub(crate) struct Decimal {
    integral: usize,
    scale: usize,
    bytes: usize,
    unsigned: bool,
    /// Whether all digits fit the two-number path.
    narrow: bool,
    /// Bytes of the groups of a narrow column, first to last: up to two before the point, up to
    /// two after it.
    groups: [u32; 4],
    /// What cuts a number into its two groups: before the point 10^9, after it 10^(scale - 9).
    cut: [u64; 2],
    integral_limit: u64,
    file_charset: Charset,
}

impl Decimal {
    pub(crate) fn new(precision: u8, scale: u8, unsigned: bool, file_charset: Charset) -> Decimal {
        let (precision, scale) = (usize::from(precision), usize::from(scale));
        let integral = precision - scale;
        let narrow = precision <= 18;
        let size = |digits: usize| GROUP_BYTES[digits];
        let groups = if narrow {
            [
                size(integral.saturating_sub(GROUP)),
                size(integral.min(GROUP)),
                size(scale.min(GROUP)),
                size(scale.saturating_sub(GROUP)),
            ]
        } else {
            [0; 4]
        };
        let part = |digits: usize| 4 * (digits / GROUP) + size(digits % GROUP) as usize;
        Decimal {
            integral,
            scale,
            bytes: part(integral) + part(scale),
            unsigned,
            narrow,
            groups,
            cut: [POW10[GROUP], POW10[scale.saturating_sub(GROUP).min(GROUP)]],
            integral_limit: if narrow { POW10[integral] - 1 } else { 0 },
            file_charset,
        }
    }

    #[inline]
    pub(crate) fn convert(&self, text: &[u8], out: &mut Vec<u8>) -> Result<(), Reason> {
        if self.narrow {
            let (negative, digits) = match text {
                [b'-', digits @ ..] => (true, digits),
                digits => (false, digits),
            };
            if let Some((integral, fraction)) = self.parse_narrow(digits)
                && integral <= self.integral_limit
                && !(self.unsigned && negative)
            {
                self.push_narrow(negative, integral, fraction, out);
                return Ok(());
            }
        }
        self.convert_relaxed(text, out)
    }

    /// Digits before and after the point, the latter filled up to the scale; None when the
    /// text has any other shape or more digits after the point than the column.
    #[inline(always)]
    fn parse_narrow(&self, text: &[u8]) -> Option<(u64, u64)> {
        // Most files write every digit of the scale: try the point there before searching it.
        let expected = text.len().wrapping_sub(self.scale + 1);
        if self.scale > 0 && text.get(expected) == Some(&b'.') {
            let fraction = digits::up_to_18(&text[expected + 1..])?;
            return Some((digits::up_to_18(&text[..expected])?, fraction));
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
        let [a, b, c, d] = self.groups;
        // At most 10 bytes: 18 digits split 9.9 take 8, the worst splits two more.
        let mut packed = u128::from(integral / self.cut[0]);
        debug_assert!(packed < 1 << (8 * a));
        packed = packed << (8 * b) | u128::from(integral % self.cut[0]);
        packed = packed << (8 * c) | u128::from(fraction / self.cut[1]);
        packed = packed << (8 * d) | u128::from(fraction % self.cut[1]);
        // -0 is 0.
        if negative && (integral | fraction) != 0 {
            packed = !packed;
        }
        let bits = 8 * self.bytes as u32;
        let aligned = (packed ^ 1 << (bits - 1)) << (128 - bits);
        let len = out.len();
        out.extend_from_slice(&aligned.to_be_bytes());
        out.truncate(len + self.bytes);
    }

    #[cold]
    fn convert_relaxed(&self, text: &[u8], out: &mut Vec<u8>) -> Result<(), Reason> {
        let mut number = Number::parse(text, self.file_charset)?;
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

/// A number as its significant digits, the first and last of them not zero.
struct Number {
    negative: bool,
    /// One place before them for a carry.
    digits: [u8; BUFFER + 1],
    start: usize,
    end: usize,
    /// Index in `digits` of the first digit after the point; may lie outside.
    point: i64,
}

impl Number {
    /// Reads `[space] [sign] digits [. digits] [e [space] [sign] digits] [space]`.
    fn parse(text: &[u8], charset: Charset) -> Result<Number, Reason> {
        let skip = |from: usize, wanted: fn(u8) -> bool| {
            text[from..].iter().position(|&byte| !wanted(byte)).map_or(text.len(), |n| from + n)
        };
        let is_digit = |byte: u8| byte.is_ascii_digit();
        let mut at = skip(0, is_latin1_space);
        let negative = text.get(at) == Some(&b'-');
        if matches!(text.get(at), Some(b'-' | b'+')) {
            at += 1;
        }
        let mut integral = at..skip(at, is_digit);
        at = integral.end;
        let mut fraction = at..at;
        if text.get(at) == Some(&b'.') {
            fraction = at + 1..skip(at + 1, is_digit);
            at = fraction.end;
        }
        if integral.is_empty() && fraction.is_empty() {
            return Err(Reason::NotANumber);
        }
        if integral.len() > GROUP && text[integral.clone()].starts_with(b"00") {
            integral.start = skip_zeros(text, integral.start, integral.end - 1);
        }
        let groups = integral.len().div_ceil(GROUP);
        let overflow = groups > BUFFER_GROUPS;
        if !overflow {
            // What the buffer has no group for is dropped, not rounded.
            let room = (BUFFER_GROUPS - groups) * GROUP;
            fraction.end = fraction.end.min(fraction.start + room);
        }
        let zero = text[integral.clone()].iter().chain(&text[fraction.clone()]).all(|&b| b == b'0');

        let (exponent, at) = parse_exponent(text, at);
        if !text[at..].iter().all(|&byte| is_space(charset, byte)) {
            // Too many digits come before rubbish in the server's order; both are refused.
            return Err(if overflow { Reason::OutOfRange } else { Reason::NotANumber });
        }
        if overflow {
            return Err(Reason::OutOfRange);
        }
        let mut number = Number { negative, digits: [0; BUFFER + 1], start: 1, end: 1, point: 1 };
        if zero {
            number.negative = false;
            return Ok(number);
        }
        for &byte in text[integral.clone()].iter().chain(&text[fraction]) {
            number.digits[number.end] = byte - b'0';
            number.end += 1;
        }
        number.point = 1 + integral.len() as i64;
        number.trim();
        number.shift(exponent)?;
        Ok(number)
    }

    /// Digits before the point; 0 or less when the number is below one.
    fn integral(&self) -> i64 {
        if self.start == self.end { 0 } else { self.point - self.start as i64 }
    }

    /// Digit at a position counted from the point: -1 is the ones, 0 the tenths.
    fn digit(&self, position: i64) -> u8 {
        let index = self.point + position;
        let inside = index >= self.start as i64 && index < self.end as i64;
        if inside { self.digits[index as usize] } else { 0 }
    }

    fn trim(&mut self) {
        while self.start < self.end && self.digits[self.start] == 0 {
            self.start += 1;
        }
        while self.start < self.end && self.digits[self.end - 1] == 0 {
            self.end -= 1;
        }
        if self.start == self.end {
            self.negative = false;
        }
    }

    /// Multiplies by 10^exponent. Digits that the server's buffer has no room for are rounded
    /// off behind the point, and refused before it.
    fn shift(&mut self, exponent: i64) -> Result<(), Reason> {
        if exponent == 0 {
            return Ok(());
        }
        self.point = self.point.saturating_add(exponent);
        let integral = self.integral().max(0);
        let fraction = (self.end as i64 - self.point).max(0);
        let groups = |digits: i64| digits.saturating_add(GROUP as i64 - 1) / GROUP as i64;
        let lack = groups(integral).saturating_add(groups(fraction)) - BUFFER_GROUPS as i64;
        if lack > 0 {
            if groups(fraction) < lack {
                return Err(Reason::OutOfRange);
            }
            self.round((groups(fraction) - lack) * GROUP as i64);
        }
        Ok(())
    }

    /// Rounds half away from zero to `scale` digits after the point.
    fn round(&mut self, scale: i64) {
        let keep = self.point.saturating_add(scale);
        if keep >= self.end as i64 {
            return;
        }
        if keep < self.start as i64 {
            // The digit at the cut is a zero before the number.
            self.end = self.start;
            self.negative = false;
            return;
        }
        let keep = keep as usize;
        let up = self.digits[keep] >= 5;
        self.end = keep;
        if up {
            let mut at = keep - 1;
            while at >= self.start && self.digits[at] == 9 {
                self.digits[at] = 0;
                at -= 1;
            }
            self.digits[at] += 1;
            self.start = self.start.min(at);
            self.end = self.end.max(at + 1);
        }
        self.trim();
    }
}

/// First place from `start` on that holds no zero, at most `end`.
fn skip_zeros(text: &[u8], start: usize, end: usize) -> usize {
    text[start..end].iter().position(|&byte| byte != b'0').map_or(end, |n| start + n)
}

/// Exponent at `at`, and where the text goes on; 0 and `at` when there is none.
fn parse_exponent(text: &[u8], at: usize) -> (i64, usize) {
    if !matches!(text.get(at), Some(b'e' | b'E')) {
        return (0, at);
    }
    let mut cursor = at + 1;
    // The server's integer reader skips spaces and tabs here too.
    while matches!(text.get(cursor), Some(b' ' | b'\t')) {
        cursor += 1;
    }
    let down = text.get(cursor) == Some(&b'-');
    if matches!(text.get(cursor), Some(b'-' | b'+')) {
        cursor += 1;
    }
    let start = cursor;
    let mut exponent: i64 = 0;
    while let Some(byte) = text.get(cursor).filter(|byte| byte.is_ascii_digit()) {
        // Far beyond any buffer: saturates there.
        exponent = (exponent * 10 + i64::from(byte - b'0')).min(i64::from(i32::MAX));
        cursor += 1;
    }
    if cursor == start {
        return (0, at);
    }
    (if down { -exponent } else { exponent }, cursor)
}

const _: () = assert!(SCALE_MAX < BUFFER);

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
    fn the_narrow_path_equals_the_relaxed_one() {
        for p in 1..=18u8 {
            for s in 0..=p {
                let decimal = Decimal::new(p, s, false, Charset::Utf8mb4);
                for text in ["0", "-0.0", "1", "-9.5", "0.1", "12.34", "-123456789.123456789", "9"]
                {
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
