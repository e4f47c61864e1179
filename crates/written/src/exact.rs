//! Texts that a column stores without loss: strict LOAD DATA rounds numbers and cuts off times without an error.
//!
//! Codes such as `007` and `1E5` are no numbers here, because a number does not show them again.

use values::sql_type::SqlType;

/// Significant digits that a DOUBLE keeps of any number, those that programs write of one, and those of a FLOAT.
const DIGITS_KEPT: usize = 15;
const DIGITS_WRITTEN: usize = 17;
const FLOAT_DIGITS: usize = 6;
/// Bytes of `YYYY-MM-DD`.
const DAY_BYTES: usize = 10;

/// The texts that a column of a type stores without loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ExactRule {
    /// Whole numbers.
    Integer,
    /// Numbers with so many digits behind the point.
    Decimal {
        scale: usize,
    },
    Double,
    Float,
    /// Days.
    Date,
    /// Days and times with so many digits behind the seconds.
    DateTime {
        digits: usize,
    },
    /// Times with so many digits behind the seconds.
    Time {
        digits: usize,
    },
}

impl ExactRule {
    /// The rule for columns of this type; none for those that store all of any text, or refuse it.
    pub(super) fn of(sql_type: &SqlType) -> Option<ExactRule> {
        Some(match sql_type {
            SqlType::Integer { .. } => ExactRule::Integer,
            SqlType::Decimal { scale, .. } => ExactRule::Decimal { scale: usize::from(*scale) },
            SqlType::Double { digits: None, .. } => ExactRule::Double,
            SqlType::Float { digits: None, .. } => ExactRule::Float,
            SqlType::Double { digits: Some((_, scale)), .. }
            | SqlType::Float { digits: Some((_, scale)), .. } => {
                ExactRule::Decimal { scale: usize::from(*scale) }
            }
            SqlType::Date => ExactRule::Date,
            SqlType::DateTime { digits } | SqlType::Timestamp { digits } => {
                ExactRule::DateTime { digits: usize::from(*digits) }
            }
            SqlType::Time { digits } => ExactRule::Time { digits: usize::from(*digits) },
            _ => return None,
        })
    }

    /// True for a value that the column stores without loss, if it stores it.
    pub(super) fn keeps(self, text: &[u8]) -> bool {
        match self {
            ExactRule::Integer => {
                let (whole, _) = split_at(text, b'.');
                whole != b"-0" && has_scale(text, 0)
            }
            ExactRule::Decimal { scale } => has_scale(text, scale),
            ExactRule::Double => is_number(text) && is_exact_double(text),
            ExactRule::Float => is_number(text) && significant_digits(text) <= FLOAT_DIGITS,
            ExactRule::Date => text.len() == DAY_BYTES && is_day(text),
            ExactRule::DateTime { digits } => {
                let (day, clock) = text.split_at(text.len().min(DAY_BYTES));
                let clock = clock.strip_prefix(b" ").or(clock.strip_prefix(b"T")).unwrap_or(clock);
                is_day(day) && (text.len() == DAY_BYTES || is_clock(clock, digits))
            }
            ExactRule::Time { digits } => is_clock(text.strip_prefix(b"-").unwrap_or(text), digits),
        }
    }

    /// True for a text that the column may store, but with a loss. Other texts are left to the column.
    pub(super) fn refuses(self, text: &[u8]) -> bool {
        let is_clock =
            matches!(self, ExactRule::Date | ExactRule::DateTime { .. } | ExactRule::Time { .. });
        let may_be = |byte: &u8| {
            let others: &[u8] = if is_clock { b"+-.:/ TZ" } else { b"+-.eE" };
            byte.is_ascii_digit() || others.contains(byte)
        };
        text.iter().any(u8::is_ascii_digit) && text.iter().all(may_be) && !self.keeps(text)
    }
}

/// The bytes before the first one of these, and those behind it.
fn split_at(text: &[u8], byte: u8) -> (&[u8], &[u8]) {
    match text.iter().position(|found| *found == byte) {
        Some(at) => (&text[..at], &text[at + 1..]),
        None => (text, &[]),
    }
}

/// Digits before and behind the point of a number `[-+]?(0|[1-9][0-9]*)?(.[0-9]*)?` with at least one digit.
pub fn decimal_digits(text: &[u8], point: u8) -> Option<(usize, usize)> {
    let digits = text.strip_prefix(b"-").or(text.strip_prefix(b"+")).unwrap_or(text);
    let (whole, fraction) = split_at(digits, point);
    let all_digits = |part: &[u8]| part.iter().all(u8::is_ascii_digit);
    let has_zeros = whole.len() > 1 && whole[0] == b'0';
    let has_digits = !(whole.is_empty() && fraction.is_empty());
    (has_digits && !has_zeros && all_digits(whole) && all_digits(fraction))
        .then_some((whole.len(), fraction.len()))
}

/// True for a finite number with an exponent.
pub fn is_exponential(text: &[u8]) -> bool {
    let Some(at) = text.iter().position(|byte| matches!(byte, b'e' | b'E')) else { return false };
    let (number, exponent) = (&text[..at], &text[at + 1..]);
    let exponent = exponent.strip_prefix(b"-").or(exponent.strip_prefix(b"+")).unwrap_or(exponent);
    let value = std::str::from_utf8(text).ok().and_then(|text| text.parse::<f64>().ok());
    decimal_digits(number, b'.').is_some()
        && !exponent.is_empty()
        && exponent.iter().all(u8::is_ascii_digit)
        && value.is_some_and(f64::is_finite)
}

/// True if a DOUBLE shows a number again with all its digits.
pub fn is_exact_double(text: &[u8]) -> bool {
    let significant = significant_digits(text);
    let mantissa = mantissa(text);
    // Programs write 17, of which a DOUBLE keeps all that they mean.
    let has_exponent = mantissa.len() < text.len();
    if significant <= DIGITS_KEPT || (has_exponent && significant <= DIGITS_WRITTEN) {
        return true;
    }
    let scale = split_at(mantissa, b'.').1.len();
    let text = std::str::from_utf8(text).unwrap_or_default();
    let value: f64 = text.parse().unwrap_or(f64::NAN);
    !has_exponent && format!("{value:.scale$}") == text
}

fn mantissa(text: &[u8]) -> &[u8] {
    text.split(|byte| matches!(byte, b'e' | b'E')).next().unwrap_or_default()
}

/// Digits of a number from the first one that is not 0.
fn significant_digits(text: &[u8]) -> usize {
    let digits = mantissa(text).iter().filter(|byte| byte.is_ascii_digit());
    digits.skip_while(|digit| **digit == b'0').count()
}

fn is_number(text: &[u8]) -> bool {
    decimal_digits(text, b'.').is_some() || is_exponential(text)
}

/// True for a number that has so many digits behind the point, or more that are 0.
fn has_scale(text: &[u8], scale: usize) -> bool {
    let (_, fraction) = split_at(text, b'.');
    decimal_digits(text, b'.').is_some() && fraction.iter().skip(scale).all(|digit| *digit == b'0')
}

/// True for what begins as a day does: `YYYY-`.
fn is_day(text: &[u8]) -> bool {
    let is_between = |byte: &u8| b"-/.".contains(byte);
    text.len() >= 5
        && text[..4].iter().all(u8::is_ascii_digit)
        && is_between(&text[4])
        && text[5..].iter().all(|byte| byte.is_ascii_digit() || is_between(byte))
}

/// True for `H:MM` and `H:MM:SS`, with at most so many digits behind the seconds, or more that are 0.
fn is_clock(text: &[u8], digits: usize) -> bool {
    let (clock, fraction) = split_at(text, b'.');
    let colons = clock.iter().filter(|byte| **byte == b':').count();
    clock.first().is_some_and(u8::is_ascii_digit)
        && clock.iter().all(|byte| byte.is_ascii_digit() || *byte == b':')
        && (1..=2).contains(&colons)
        && fraction.iter().all(u8::is_ascii_digit)
        && fraction.iter().skip(digits).all(|digit| *digit == b'0')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_a_column_would_change_are_refused() {
        let decimal = ExactRule::Decimal { scale: 2 };
        let datetime = ExactRule::DateTime { digits: 3 };
        let time = ExactRule::Time { digits: 0 };
        for (rule, kept, refused, left) in [
            (
                ExactRule::Integer,
                &["0", "-17", "+3", "12.0", "12."][..],
                &["0.15", "2.5", "007", "1E5", "-0", "-007", "1.5.2"][..],
                &["", "x", "12 EUR", "-", "e"][..],
            ),
            (decimal, &["1.25", ".5", "-0", "1.500"], &["1.255", "007.5", "1e2"], &["1,5", ""]),
            (
                ExactRule::Double,
                &["0.1", "1e5", "0.1234567890123456"],
                &["007", "1234567890.123456789", "1e999"],
                &["NaN"],
            ),
            (ExactRule::Float, &["0.1", "123456"], &["1234567", "0.12345678"], &["inf"]),
            (
                ExactRule::Date,
                &["2026-01-02", "2026/01/02", "2026-99-99"],
                &["2026-01-02 10:00:00", "10:11:12", "260102", "26-01-02", "20260102100000"],
                &["", "yesterday", "3 May 2026"],
            ),
            (
                datetime,
                &["2026-01-02", "2026-01-02 10:00", "2026-01-02T10:00:00.1230"],
                &["2026-01-02 10:00:00.1234", "10:11:12", "2026-01-02T10:00:00Z"],
                &["now"],
            ),
            (
                time,
                &["10:30", "-837:59:59", "1:05:09.0"],
                &["1:05:09.5", "2026-01-02 10:00:00", "1005", "1 10:00:00"],
                &["noon"],
            ),
        ] {
            let outcome =
                |text: &&str| (rule.keeps(text.as_bytes()), rule.refuses(text.as_bytes()));
            for (texts, expected) in [(kept, (true, false)), (refused, (false, true))] {
                texts
                    .iter()
                    .for_each(|text| assert_eq!(outcome(text), expected, "{rule:?} {text}"));
            }
            left.iter()
                .for_each(|text| assert_eq!(outcome(text), (false, false), "{rule:?} {text}"));
        }
        assert_eq!(ExactRule::of(&SqlType::Year), None);
    }
}
