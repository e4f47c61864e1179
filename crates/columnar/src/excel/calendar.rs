//! Dates and times of worksheets: numbers of days, and texts of ISO 8601.

use super::cell::Cell;
use super::number_format::ShownParts;

const DAY_MILLIS: i64 = 86_400_000;
/// Days from 1899-12-30 and from 1904-01-01 to 1970-01-01.
const EPOCH_1900: i64 = 25_569;
const EPOCH_1904: i64 = 24_107;
/// The day of 1900 that Excel counts and no calendar has: February 29.
const NO_DAY: i64 = 60;
/// The last day that Excel has: 9999-12-31.
const DAY_MAX: i64 = 2_958_466;

/// The cell of a number of days that is shown as a date, a time or both; None where it is neither.
///
/// Times have milliseconds, as Excel shows them. Where the format says nothing, the number does: a time is less than a
/// day, a date has no time.
pub(super) fn of_serial(serial: f64, parts: Option<ShownParts>, is_1904: bool) -> Option<Cell> {
    if !serial.is_finite() || serial.abs() >= DAY_MAX as f64 {
        return None;
    }
    let millis = (serial * DAY_MILLIS as f64).round() as i64;
    let (day, clock) = (millis.div_euclid(DAY_MILLIS), millis.rem_euclid(DAY_MILLIS));
    let is_short = day == 0;
    let parts = parts.unwrap_or(match (is_short, clock) {
        (true, _) if !is_1904 => ShownParts::Time,
        (_, 0) => ShownParts::Date,
        _ => ShownParts::Both,
    });
    if parts == ShownParts::Time && is_short {
        return Some(Cell::Time(millis * 1_000));
    }
    let days = i32::try_from(days_since_1970(day, is_1904)?).ok()?;
    match (parts, clock) {
        (ShownParts::Date, 0) => Some(Cell::Date(days)),
        _ => Some(Cell::DateTime((i64::from(days) * DAY_MILLIS + clock) * 1_000)),
    }
}

/// The cell of a number of days that is shown as a duration.
pub(super) fn of_duration(serial: f64) -> Option<Cell> {
    let is_short = serial.is_finite() && serial.abs() < DAY_MAX as f64;
    is_short.then(|| Cell::Time((serial * DAY_MILLIS as f64).round() as i64 * 1_000))
}

fn days_since_1970(day: i64, is_1904: bool) -> Option<i64> {
    match (is_1904, day) {
        (true, 0..) => Some(day - EPOCH_1904),
        (true, _) => None,
        // Days before that which does not exist are one too early.
        (false, 1..NO_DAY) => Some(day + 1 - EPOCH_1900),
        (false, NO_DAY) => None,
        (false, 1..) => Some(day - EPOCH_1900),
        (false, _) => None,
    }
}

/// The cell of a date, a date and time, or a time of ISO 8601; None of another text.
pub(super) fn of_iso(text: &str) -> Option<Cell> {
    let text = text.strip_suffix('Z').unwrap_or(text);
    if let Some(duration) = text.strip_prefix("-P") {
        return Some(Cell::Time(-duration_micros(duration)?));
    }
    if let Some(duration) = text.strip_prefix('P') {
        return Some(Cell::Time(duration_micros(duration)?));
    }
    let Some((date, time)) = text.split_once(['T', ' ']) else {
        return match text.contains(':') {
            true => Some(Cell::Time(clock(text)?)),
            false => Some(Cell::Date(date(text)?)),
        };
    };
    let micros = i64::from(self::date(date)?) * DAY_MILLIS * 1_000 + clock(time)?;
    Some(Cell::DateTime(micros))
}

/// Days of YYYY-MM-DD since 1970-01-01.
fn date(text: &str) -> Option<i32> {
    let mut parts = text.splitn(3, '-');
    let mut part = || parts.next()?.parse::<u32>().ok();
    let (year, month, day) = (part()?, part()?, part()?);
    values::decode::units::days_of(year, month, day)
}

/// Microseconds of HH:MM[:SS[.fffffffff]].
fn clock(text: &str) -> Option<i64> {
    let mut parts = text.splitn(3, ':');
    let hours: i64 = parts.next()?.parse().ok()?;
    let minutes: i64 = parts.next()?.parse().ok()?;
    let (seconds, micros) = parts.next().map_or(Some((0, 0)), seconds)?;
    let fits = (0..24).contains(&hours) && (0..60).contains(&minutes) && seconds < 60;
    fits.then_some(((hours * 60 + minutes) * 60 + seconds) * 1_000_000 + micros)
}

/// Microseconds of [dD][T[hH][mM][s[.fffffffff]S]], as durations have them behind their P.
fn duration_micros(text: &str) -> Option<i64> {
    let (days, time) = text.split_once('T').unwrap_or((text, ""));
    let number = |text: &str| text.parse().ok().filter(|it| (0..10_000_000i64).contains(it));
    let mut total = match days.strip_suffix('D') {
        Some(days) => number(days)? * DAY_MILLIS * 1_000,
        None if days.is_empty() && text.contains('T') => 0,
        None => return None,
    };
    let mut left = time;
    for (unit, seconds) in [('H', 3_600), ('M', 60)] {
        if let Some((count, rest)) = left.split_once(unit) {
            (total, left) = (total + number(count)? * seconds * 1_000_000, rest);
        }
    }
    if let Some(text) = left.strip_suffix('S') {
        let (seconds, micros) = seconds(&text.replace(',', "."))?;
        (total, left) = (total + seconds * 1_000_000 + micros, "");
    }
    left.is_empty().then_some(total)
}

/// Seconds, and microseconds of their fraction: of at most 9 digits, rounded to milliseconds.
fn seconds(text: &str) -> Option<(i64, i64)> {
    let (seconds, fraction) = text.split_once('.').unwrap_or((text, ""));
    let seconds: i64 = seconds.parse().ok().filter(|it| (0..1_000_000_000).contains(it))?;
    let is_number = fraction.len() <= 9 && fraction.bytes().all(|digit| digit.is_ascii_digit());
    let nanos = is_number.then(|| format!("{fraction:0<9}").parse::<i64>().ok())??;
    Some((seconds, (nanos + 500_000) / 1_000_000 * 1_000))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: i64 = 86_400_000_000;

    #[test]
    fn numbers_of_days_are_dates_and_times() {
        use ShownParts::*;
        for (serial, parts, is_1904, cell) in [
            (25_569.0, Some(Date), false, Some(Cell::Date(0))),
            (24_107.0, Some(Date), true, Some(Cell::Date(0))),
            (1.0, Some(Date), false, Some(Cell::Date(-25_567))),
            (59.0, Some(Date), false, Some(Cell::Date(-25_509))),
            (60.0, Some(Date), false, None),
            (61.0, Some(Date), false, Some(Cell::Date(-25_508))),
            (0.0, Some(Date), false, None),
            (0.0, Some(Date), true, Some(Cell::Date(-24_107))),
            (-1.0, Some(Date), true, None),
            (25_570.5, Some(Date), false, Some(Cell::DateTime(DAY * 3 / 2))),
            (25_570.0, Some(Both), false, Some(Cell::DateTime(DAY))),
            (25_570.0, None, false, Some(Cell::Date(1))),
            (0.25, Some(Time), false, Some(Cell::Time(DAY / 4))),
            (0.25, None, false, Some(Cell::Time(DAY / 4))),
            (0.25, Some(Both), false, None),
            (0.524_259_259_259_259_3, Some(Time), false, Some(Cell::Time(45_296_000_000))),
            (f64::NAN, Some(Date), false, None),
            (3e6, Some(Date), false, None),
        ] {
            assert_eq!(of_serial(serial, parts, is_1904), cell, "{serial} {parts:?}");
        }
        assert_eq!(of_duration(1.5), Some(Cell::Time(DAY * 3 / 2)));
        assert_eq!(of_duration(-0.5), Some(Cell::Time(-DAY / 2)));
    }

    #[test]
    fn texts_of_iso_are_dates_and_times() {
        for (text, cell) in [
            ("1970-01-02", Some(Cell::Date(1))),
            ("1970-01-02T12:00:00", Some(Cell::DateTime(DAY * 3 / 2))),
            ("1970-01-01T00:00:00.25Z", Some(Cell::DateTime(250_000))),
            ("06:00", Some(Cell::Time(DAY / 4))),
            ("PT36H00M00S", Some(Cell::Time(DAY * 3 / 2))),
            ("PT00H00M01.5S", Some(Cell::Time(1_500_000))),
            ("-PT01H30M00S", Some(Cell::Time(-DAY / 16))),
            ("P1DT12H", Some(Cell::Time(DAY * 3 / 2))),
            ("P1D", Some(Cell::Time(DAY))),
            ("1970-01-01T00:00:00.789123", Some(Cell::DateTime(789_000))),
            ("1970-01-01T23:59:59.999999999", Some(Cell::DateTime(DAY))),
            ("00:00:00.0000000001", None),
            ("00:00:60", None),
            ("P1M", None),
            ("1970-02-30", None),
            ("25:00", None),
            ("PT", Some(Cell::Time(0))),
            ("tomorrow", None),
        ] {
            assert_eq!(of_iso(text), cell, "{text}");
        }
    }
}
