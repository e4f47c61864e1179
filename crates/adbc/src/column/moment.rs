//! Dates, times and moments, from the text of the server.

use values::decode::units::days_of;

const SECONDS_PER_DAY: i64 = 86_400;
const MICROSECONDS: i64 = 1_000_000;

/// Days since 1970-01-01; None for dates that no calendar has, such as 0000-00-00.
pub(super) fn days(text: &str) -> Option<i32> {
    let mut parts = text.split('-');
    let year = number(parts.next()?, 4)?;
    let month = number(parts.next()?, 2)?;
    let day = number(parts.next()?, 2)?;
    if parts.next().is_some() { None } else { days_of(year, month, day) }
}

/// Microseconds since 1970-01-01 00:00:00.
pub(super) fn microseconds(text: &str) -> Option<i64> {
    let (date, clock) = text.split_once(' ').unwrap_or((text, "00:00:00"));
    let clock = duration(clock)?;
    let is_clock = (0..SECONDS_PER_DAY * MICROSECONDS).contains(&clock);
    is_clock.then_some(i64::from(days(date)?) * SECONDS_PER_DAY * MICROSECONDS + clock)
}

/// Microseconds of a TIME: `-838:59:59.000000`.
pub(super) fn duration(text: &str) -> Option<i64> {
    let (sign, text) = text.strip_prefix('-').map_or((1, text), |text| (-1, text));
    let (clock, fraction) = text.split_once('.').unwrap_or((text, ""));
    let mut parts = clock.split(':');
    let hours = parts.next()?;
    let hours = number(hours, hours.len().clamp(2, 3))?;
    let minutes = number(parts.next()?, 2)?;
    let seconds = number(parts.next()?, 2)?;
    if parts.next().is_some() || minutes > 59 || seconds > 59 || fraction.len() > 6 {
        return None;
    }
    let fraction = if fraction.is_empty() { 0 } else { number(&format!("{fraction:0<6}"), 6)? };
    let seconds = i64::from(hours) * 3600 + i64::from(minutes) * 60 + i64::from(seconds);
    Some(sign * (seconds * MICROSECONDS + i64::from(fraction)))
}

/// A number of so many digits.
fn number(text: &str, digits: usize) -> Option<u32> {
    let is_number = text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit());
    if is_number { text.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_days() {
        for (text, expected) in [
            ("1970-01-01", Some(0)),
            ("1969-12-31", Some(-1)),
            ("2000-02-29", Some(11_016)),
            ("2026-11-28", Some(20_785)),
            ("9999-12-31", Some(2_932_896)),
            ("0000-01-01", Some(-719_528)),
            ("1900-02-29", None),
            ("2026-00-10", None),
            ("2026-13-01", None),
            ("2026-1-1", None),
            ("2026-01-01-01", None),
        ] {
            assert_eq!(days(text), expected, "{text}");
        }
    }

    #[test]
    fn moments_are_microseconds() {
        for (text, expected) in [
            ("1970-01-01 00:00:00.000001", Some(1)),
            ("1969-12-31 23:59:59", Some(-1_000_000)),
            ("1970-01-02", Some(86_400_000_000)),
            ("1970-01-01 00:00:00.1", Some(100_000)),
            ("1970-01-01 24:00:00", None),
            ("1970-01-01 00:00:00.1234567", None),
        ] {
            assert_eq!(microseconds(text), expected, "{text}");
        }
        assert_eq!(duration("-01:00:00.5"), Some(-3_600_500_000));
        assert_eq!(duration("838:59:59"), Some(3_020_399_000_000));
        assert_eq!(duration("1:00"), None);
        assert_eq!(duration("-01:00:00.-5"), None);
    }
}
