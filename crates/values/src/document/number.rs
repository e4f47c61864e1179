//! Numbers of JSON texts, as MySQL reads them.
//!
//! Whole numbers of 64 bits stay whole, all others become the nearest double. Source: MySQL 9.7,
//! extra/rapidjson `GenericReader::ParseNumber` and `StrtodFullPrecision`, whose doubles the server
//! gives; sql-common/json_dom.cc `Rapid_json_handler`.

use super::tree::Value;

/// Digits of a double's text that the server looks at.
const DIGITS_MAX: usize = 768;
/// Largest exponent that is accepted of a zero, less the digits of its fraction.
const EXPONENT_MAX: usize = 308;

/// The parts of a number's text.
struct Parts<'t> {
    is_negative: bool,
    whole: &'t [u8],
    fraction: &'t [u8],
    exponent_is_negative: bool,
    exponent: &'t [u8],
    is_real: bool,
    bytes: usize,
}

/// The number at the start of `text`, and its bytes. None if the server refuses it.
pub(super) fn number(text: &[u8]) -> Option<(Value, usize)> {
    let parts = Parts::of(text)?;
    let whole = if parts.is_real { None } else { parts.whole_number() };
    let value = match whole {
        Some(value) => value,
        None => Value::Double(parts.double(&text[..parts.bytes])?),
    };
    Some((value, parts.bytes))
}

fn digits(text: &[u8]) -> &[u8] {
    let end = text.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    &text[..end]
}

impl<'t> Parts<'t> {
    fn of(text: &'t [u8]) -> Option<Parts<'t>> {
        let is_negative = text.first() == Some(&b'-');
        let mut at = usize::from(is_negative);
        let whole = match text.get(at)? {
            b'0' => &text[at..=at],
            _ => digits(&text[at..]),
        };
        at += whole.len();
        if whole.is_empty() {
            return None;
        }
        let mut parts = Parts {
            is_negative,
            whole,
            fraction: &[],
            exponent_is_negative: false,
            exponent: &[],
            is_real: false,
            bytes: 0,
        };
        if text.get(at) == Some(&b'.') {
            parts.fraction = digits(&text[at + 1..]);
            at += 1 + parts.fraction.len();
            parts.is_real = true;
            if parts.fraction.is_empty() {
                return None;
            }
        }
        if matches!(text.get(at), Some(b'e' | b'E')) {
            at += 1;
            parts.exponent_is_negative = text.get(at) == Some(&b'-');
            at += usize::from(matches!(text.get(at), Some(b'+' | b'-')));
            parts.exponent = digits(&text[at..]);
            at += parts.exponent.len();
            parts.is_real = true;
            if parts.exponent.is_empty() {
                return None;
            }
        }
        parts.bytes = at;
        Some(parts)
    }

    /// The number, if it has neither point nor exponent and 64 bits can have it.
    fn whole_number(&self) -> Option<Value> {
        let magnitude = self.whole.iter().try_fold(0_u64, |number, digit| {
            number.checked_mul(10)?.checked_add(u64::from(digit - b'0'))
        })?;
        match self.is_negative {
            true => 0_i64.checked_sub_unsigned(magnitude).map(Value::Integer),
            false if magnitude > u64::from(u32::MAX) => Some(Value::Unsigned(magnitude)),
            false => i64::try_from(magnitude).ok().map(Value::Integer),
        }
    }

    /// The double nearest to the number with this text.
    fn double(&self, text: &[u8]) -> Option<f64> {
        let significant = self.significant_digits();
        if significant == 0 && self.exponent() > (EXPONENT_MAX + self.fraction.len()) as i64 {
            return None;
        }
        let number = match significant {
            ..=DIGITS_MAX => std::str::from_utf8(text).ok()?.parse().ok()?,
            _ => self.cut_double()?,
        };
        f64::is_finite(number).then_some(number)
    }

    /// Digits from the first one that is not 0.
    fn significant_digits(&self) -> usize {
        let all = self.whole.iter().chain(self.fraction);
        self.whole.len() + self.fraction.len() - all.take_while(|digit| **digit == b'0').count()
    }

    /// The exponent, cut to what no text of digits makes up for.
    fn exponent(&self) -> i64 {
        let limit = i64::from(i32::MAX);
        let number = self
            .exponent
            .iter()
            .fold(0_i64, |number, digit| (number * 10 + i64::from(digit - b'0')).min(limit));
        if self.exponent_is_negative { -number } else { number }
    }

    /// The double of the digits that the server looks at, of a number with more.
    #[cold]
    fn cut_double(&self) -> Option<f64> {
        let zeros = self.whole.len() + self.fraction.len() - self.significant_digits();
        let all = self.whole.iter().chain(self.fraction).skip(zeros);
        let mut cut = String::with_capacity(DIGITS_MAX + 32);
        if self.is_negative {
            cut.push('-');
        }
        cut.extend(all.take(DIGITS_MAX).map(|digit| char::from(*digit)));
        let left_out = self.significant_digits() - DIGITS_MAX;
        let scale = left_out as i64 - self.fraction.len() as i64;
        cut.push_str(&format!("e{}", self.exponent().saturating_add(scale)));
        cut.parse().ok()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[track_caller]
    fn shown(text: &str) -> String {
        match number(text.as_bytes()) {
            Some((value, bytes)) => format!("{value:?} {bytes}"),
            None => "refused".to_owned(),
        }
    }

    /// As MySQL 9.7.4 stores them.
    #[test]
    fn numbers_have_the_type_that_the_server_gives_them() {
        for (text, expected) in [
            ("0", "Integer(0) 1"),
            ("-0", "Integer(0) 2"),
            ("-0.0", "Double(-0.0) 4"),
            ("12,", "Integer(12) 2"),
            ("4294967295", "Integer(4294967295) 10"),
            ("4294967296", "Unsigned(4294967296) 10"),
            ("18446744073709551615", "Unsigned(18446744073709551615) 20"),
            ("18446744073709551616", "Double(1.8446744073709552e19) 20"),
            ("-9223372036854775808", "Integer(-9223372036854775808) 20"),
            ("-9223372036854775809", "Double(-9.223372036854776e18) 20"),
            ("1.0", "Double(1.0) 3"),
            ("1.5E+3", "Double(1500.0) 6"),
            ("1e-400", "Double(0.0) 6"),
            ("0e308", "Double(0.0) 5"),
            ("0.0e309", "Double(0.0) 7"),
            ("01", "Integer(0) 1"),
            ("1-", "Integer(1) 1"),
        ] {
            assert_eq!(shown(text), expected, "{text}");
        }
        for text in ["", "-", ".5", "1.", "1.e5", "1e", "1e+", "1e309", "0e309", "0.0e310", "+1"] {
            assert_eq!(shown(text), "refused", "{text}");
        }
    }

    #[test]
    fn exponents_and_digits_have_no_limit() {
        let zeros = "0".repeat(400);
        assert_eq!(shown(&format!("1{zeros}e-300")), "Double(1e100) 406");
        assert_eq!(shown(&format!("0.{zeros}1e401")), "Double(1.0) 407");
        assert_eq!(shown("1e-99999999999999999999"), "Double(0.0) 23");
        assert_eq!(shown("1e99999999999999999999"), "refused");
        let long = "12".repeat(1000);
        assert_eq!(shown(&format!("{long}e-1999")), "Double(1.2121212121212122) 2006");
        assert_eq!(shown(&format!("-0.{long}")), "Double(-0.12121212121212122) 2003");
        let nines = "9".repeat(310);
        assert_eq!(shown(&nines), "refused");
    }
}
