//! The types that one value can have, by its text.

use written::{decimal_digits, is_exponential};

/// Forms of values; a value may have several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Forms {
    /// A whole number without needless zeros: what comes back from an integer column unchanged.
    pub(super) integer: bool,
    /// Digits before and after the point.
    pub(super) decimal: Option<(usize, usize)>,
    /// Any number a DOUBLE takes.
    pub(super) double: bool,
    pub(super) date: bool,
    /// Digits behind the seconds.
    pub(super) datetime: Option<usize>,
    pub(super) time: Option<usize>,
    /// A time of day without seconds.
    pub(super) short_time: bool,
    /// A number with a decimal comma.
    pub(super) decimal_comma: bool,
}

impl Forms {
    pub(super) fn of(text: &[u8]) -> Forms {
        let Some(&first) = text.first() else { return Forms::default() };
        if text.len() > 80 || !(first.is_ascii_digit() || b"-+.".contains(&first)) {
            return Forms::default();
        }
        let decimal = decimal_digits(text, b'.');
        let (date, datetime) = (date(text), datetime(text));
        Forms {
            integer: decimal.is_some_and(|(_, scale)| scale == 0) && integer(text).is_some(),
            decimal,
            double: decimal.is_some() || is_exponential(text),
            date,
            datetime,
            time: time(text),
            short_time: is_clock(text),
            decimal_comma: decimal.is_none() && decimal_digits(text, b',').is_some(),
        }
    }
}

/// The value of a whole number.
pub(super) fn integer(text: &[u8]) -> Option<i128> {
    if text.len() > 30 || text == b"-0" {
        return None;
    }
    std::str::from_utf8(text).ok()?.parse().ok()
}

fn number(text: &[u8]) -> Option<u32> {
    match text.iter().all(u8::is_ascii_digit) && !text.is_empty() && text.len() < 9 {
        true => std::str::from_utf8(text).ok()?.parse().ok(),
        false => None,
    }
}

/// `YYYY-MM-DD`, a day that there is.
fn date(text: &[u8]) -> bool {
    let &[_, _, _, _, b'-', _, _, b'-', _, _] = text else { return false };
    let (Some(year), Some(month), Some(day)) =
        (number(&text[..4]), number(&text[5..7]), number(&text[8..]))
    else {
        return false;
    };
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        _ => 0,
    };
    year >= 1 && (1..=days).contains(&day)
}

/// A date, a space or `T`, and a time of day, perhaps without seconds.
fn datetime(text: &[u8]) -> Option<usize> {
    let (day, rest) = text.split_at_checked(10)?;
    let (&between, clock) = rest.split_first()?;
    if !date(day) || !matches!(between, b' ' | b'T') || !is_clock(clock.get(..5)?) {
        return None;
    }
    if clock.len() == 5 { Some(0) } else { time(clock) }
}

/// `HH:MM`, of a day.
fn is_clock(text: &[u8]) -> bool {
    let &[_, _, b':', _, _] = text else { return false };
    let is_below = |digits: &[u8], end: u32| number(digits).is_some_and(|value| value < end);
    is_below(&text[..2], 24) && is_below(&text[3..], 60)
}

/// `H:MM:SS`, up to 838 hours, and digits behind.
fn time(text: &[u8]) -> Option<usize> {
    let clock = text.strip_prefix(b"-").unwrap_or(text);
    let mut parts = clock.splitn(3, |&byte| byte == b':');
    let (hours, minutes, rest) = (parts.next()?, parts.next()?, parts.next()?);
    let mut seconds = rest.splitn(2, |&byte| byte == b'.');
    let (whole, fraction) = (seconds.next()?, seconds.next());
    let fits = (1..=3).contains(&hours.len())
        && number(hours)? < 838
        && minutes.len() == 2
        && number(minutes)? < 60
        && whole.len() == 2
        && number(whole)? < 60;
    match fraction {
        None => fits.then_some(0),
        Some(digits) => {
            (fits && digits.len() <= 6 && number(digits).is_some()).then_some(digits.len())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<&'static str> {
        let forms = Forms::of(text.as_bytes());
        let all = [
            ("integer", forms.integer),
            ("decimal", forms.decimal.is_some()),
            ("double", forms.double),
            ("date", forms.date),
            ("datetime", forms.datetime.is_some()),
            ("time", forms.time.is_some()),
            ("short time", forms.short_time),
        ];
        all.into_iter().filter(|(_, is)| *is).map(|(name, _)| name).collect()
    }

    #[test]
    fn values_are_what_comes_back_unchanged() {
        let number = vec!["integer", "decimal", "double"];
        let fraction = vec!["decimal", "double"];
        let text: Vec<&str> = Vec::new();
        for (value, expected) in [
            ("0", &number),
            ("-17", &number),
            ("99999999999999999999", &number),
            ("007", &text),
            ("-0", &fraction),
            ("1.50", &fraction),
            ("0.5", &fraction),
            (".5", &fraction),
            ("-.5", &fraction),
            ("1.", &fraction),
            ("+3", &number),
            (".", &text),
            ("+", &text),
            ("1.5.2", &text),
            ("1e5", &vec!["double"]),
            ("1.5E-3", &vec!["double"]),
            ("1e999", &text),
            ("e5", &text),
            ("12,50", &text),
            ("2024-02-29", &vec!["date"]),
            ("2023-02-29", &text),
            ("0000-00-00", &text),
            ("2024-01-01 10:00:00", &vec!["datetime"]),
            ("2024-01-01T10:00:00.123456", &vec!["datetime"]),
            ("2024-01-01 24:00:00", &text),
            ("2024-01-01 01:15", &vec!["datetime"]),
            ("2024-01-01 1:15", &text),
            ("2024-01-01 01:60", &text),
            ("2024-01-01T10:00:00Z", &text),
            ("10:30:00", &vec!["time"]),
            ("-837:59:59.5", &vec!["time"]),
            ("1:05:09", &vec!["time"]),
            ("10:30", &vec!["short time"]),
            ("24:30", &text),
            ("1:30", &text),
            ("", &text),
            ("-", &text),
            ("1 000", &text),
        ] {
            assert_eq!(&names(value), expected, "{value}");
        }
        assert!(Forms::of(b"12,50").decimal_comma);
        assert_eq!(Forms::of(b"2024-01-01 10:00:00.25").datetime, Some(2));
    }
}
