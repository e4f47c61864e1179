//! FLOAT and DOUBLE: IEEE 754, little-endian.
//!
//! Source: MariaDB 10.11, sql/field.cc `Field_real::get_double`, `truncate_double`;
//! strings/dtoa.c `my_strtod`, which like Rust's parser rounds to the nearest double.

use crate::ctype::{is_ascii_space, is_space};
use crate::habits::Habits;
use crate::reason::Reason;
use crate::sql_type::Charset;

/// Converts text to FLOAT or DOUBLE.
#[derive(Clone, Debug)]
pub(crate) struct Real {
    /// Stored in 4 bytes, not 8.
    single: bool,
    unsigned: bool,
    /// 10^d and the largest value, of a column declared (m,d).
    fixed: Option<(f64, f64)>,
    file_charset: Charset,
    /// Added last: 0 makes a negative zero positive, as most servers do; -0 leaves it.
    zero: f64,
    mysql_reals: bool,
}

impl Real {
    pub(crate) fn new(
        single: bool,
        unsigned: bool,
        digits: Option<(u8, u8)>,
        file_charset: Charset,
    ) -> Real {
        let fixed = digits.map(|(m, d)| {
            let scale = pow10(d);
            (scale, pow10(m.saturating_sub(d)) - 1.0 / scale)
        });
        Real { single, unsigned, fixed, file_charset, zero: 0.0, mysql_reals: false }
    }

    /// As the server does.
    pub(crate) fn with_habits(mut self, habits: Habits) -> Real {
        self.zero = if habits.negative_zero { -0.0 } else { 0.0 };
        self.mysql_reals = habits.mysql_reals;
        self
    }

    #[inline]
    pub(crate) fn convert(&self, text: &[u8], out: &mut Vec<u8>) -> Result<(), Reason> {
        self.store(self.parse(text)?, out)
    }

    /// Stores a number.
    #[inline]
    pub(crate) fn store(&self, mut value: f64, out: &mut Vec<u8>) -> Result<(), Reason> {
        if self.unsigned && value < 0.0 {
            return Err(Reason::OutOfRange);
        }
        let mut limit = if self.single { f64::from(f32::MAX) } else { f64::MAX };
        if let Some((scale, declared)) = self.fixed {
            limit = declared;
            if value.is_finite() {
                let whole = value.floor();
                value = whole + ((value - whole) * scale).round_ties_even() / scale;
            }
        }
        if !(-limit..=limit).contains(&value) {
            return Err(Reason::OutOfRange);
        }
        value += self.zero;
        if self.single {
            // Rounded twice, text to double to float, as the server does.
            out.extend_from_slice(&(value as f32).to_le_bytes());
        } else {
            out.extend_from_slice(&value.to_le_bytes());
        }
        Ok(())
    }

    #[inline]
    fn parse(&self, text: &[u8]) -> Result<f64, Reason> {
        let number = &text[..number_len(text)];
        if number.len() < text.len() || number.is_empty() {
            return self.parse_relaxed(text);
        }
        self.parse_number(number)
    }

    #[inline]
    fn parse_number(&self, number: &[u8]) -> Result<f64, Reason> {
        if self.mysql_reals && number.len() >= EXPONENT_DIGITS && has_long_exponent(number) {
            return Err(Reason::NotANumber);
        }
        std::str::from_utf8(number).ok().and_then(|n| n.parse().ok()).ok_or(Reason::NotANumber)
    }

    /// White space before and after the number.
    #[cold]
    fn parse_relaxed(&self, text: &[u8]) -> Result<f64, Reason> {
        let start = text.iter().take_while(|byte| is_ascii_space(**byte)).count();
        let (number, rest) = text[start..].split_at(number_len(&text[start..]));
        let is_binary = self.file_charset == Charset::Binary;
        let is_space = |byte: &u8| match self.mysql_reals && is_binary {
            true => is_ascii_space(*byte),
            false => is_space(self.file_charset, *byte),
        };
        if number.is_empty() || !rest.iter().all(is_space) {
            return Err(Reason::NotANumber);
        }
        self.parse_number(number)
    }
}

/// Digits of an exponent that may be too long for MySQL.
const EXPONENT_DIGITS: usize = 10;
/// Largest exponent of MySQL.
const EXPONENT_MAX: u64 = 2_147_483_389;

/// True if a number, as [`number_len`] has it, has an exponent that MySQL takes for no number.
///
/// Source: MySQL 9.7, strings/dtoa.cc `my_strtod_int`.
#[cold]
fn has_long_exponent(number: &[u8]) -> bool {
    let Some(at) = number.iter().position(|byte| matches!(byte, b'e' | b'E')) else {
        return false;
    };
    let digits = number[at + 1..].iter().filter(|byte| byte.is_ascii_digit());
    let exponent = digits
        .fold(0u64, |sum, digit| sum.saturating_mul(10).saturating_add(u64::from(digit - b'0')));
    exponent > EXPONENT_MAX
}

/// Bytes of the number at the start of `text`: `[sign] digits [. digits] [e [sign] digits]`
/// with a digit before or after the point. 0 when there is none.
#[inline]
fn number_len(text: &[u8]) -> usize {
    let digits = |from: usize| {
        text[from..].iter().position(|byte| !byte.is_ascii_digit()).map_or(text.len(), |n| from + n)
    };
    let start = usize::from(matches!(text.first(), Some(b'-' | b'+')));
    let mut end = digits(start);
    let mut any = end > start;
    if text.get(end) == Some(&b'.') {
        let fraction = end + 1;
        end = digits(fraction);
        any |= end > fraction;
    }
    if !any {
        return 0;
    }
    if matches!(text.get(end), Some(b'e' | b'E')) {
        let exponent = end + 1 + usize::from(matches!(text.get(end + 1), Some(b'-' | b'+')));
        if text.get(exponent).is_some_and(u8::is_ascii_digit) {
            end = digits(exponent);
        }
    }
    end
}

/// 10^n as the double nearest to it.
fn pow10(n: u8) -> f64 {
    // The parser rounds correctly; powi may not.
    format!("1e{n}").parse().unwrap_or(f64::INFINITY)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    fn double(real: &Real, text: &str) -> Result<f64, Reason> {
        let mut out = Vec::new();
        real.convert(text.as_bytes(), &mut out)?;
        Ok(match out.len() {
            4 => f64::from(f32::from_le_bytes(out.try_into().unwrap())),
            _ => f64::from_le_bytes(out.try_into().unwrap()),
        })
    }

    #[test]
    fn numbers() {
        let real = Real::new(false, false, None, Charset::Utf8mb4);
        for (text, expected) in [
            ("1.5", 1.5),
            ("-1e3", -1000.0),
            ("+.5", 0.5),
            ("5.", 5.0),
            ("1e-400", 0.0),
            (" 2.5 ", 2.5),
            ("0e999999999", 0.0),
        ] {
            assert_eq!(double(&real, text), Ok(expected), "{text}");
        }
        for text in ["", ".", "e5", "1e", "inf", "nan", "0x10", "1.5x", "1,5"] {
            assert_eq!(double(&real, text), Err(Reason::NotANumber), "{text}");
        }
        assert_eq!(double(&real, "1e309"), Err(Reason::OutOfRange));
    }

    #[test]
    fn zeros_keep_their_sign_where_the_server_lets_them() {
        let bits = |habits, digits, text| {
            let real = Real::new(false, false, digits, Charset::Utf8mb4).with_habits(habits);
            double(&real, text).map(f64::to_bits)
        };
        let keeps = Habits { negative_zero: true, ..Habits::default() };
        for text in ["-0", "-0.0", "-1e-400"] {
            assert_eq!(bits(Habits::default(), None, text), Ok(0), "{text}");
            assert_eq!(bits(keeps, None, text), Ok(1 << 63), "{text}");
            assert_eq!(bits(keeps, Some((5, 2)), text), Ok(0), "rounded: {text}");
        }
        assert_eq!(bits(keeps, None, "0"), Ok(0));
    }

    #[test]
    fn declared_digits_round_and_limit() {
        let real = Real::new(true, true, Some((5, 2)), Charset::Utf8mb4);
        assert_eq!(double(&real, "1.256"), Ok(f64::from(1.26f32)));
        assert_eq!(double(&real, "999.99"), Ok(f64::from(999.99f32)));
        assert_eq!(double(&real, "1000"), Err(Reason::OutOfRange));
        assert_eq!(double(&real, "-1"), Err(Reason::OutOfRange));
    }
}
