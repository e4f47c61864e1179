//! Days and microseconds to what calendars and clocks show.

use std::ops::Range;

/// Microseconds of a day.
pub(crate) const MICROS_OF_DAY: i64 = 86_400_000_000;

/// Days from 0000-03-01 to 1970-01-01.
const DAYS_TO_1970: i64 = 719_468;
/// Days of 400 years.
const DAYS_OF_ERA: i64 = 146_097;

/// Days from 1970-01-01 in the Gregorian calendar; years 1 and later.
#[inline(always)]
pub(crate) fn days_since_1970(year: u32, month: u32, day: u32) -> i64 {
    // Years begin in March, so that the leap day is the last of its year.
    let year = i64::from(year) - i64::from(month <= 2);
    let month = i64::from((month + 9) % 12);
    let of_year = (153 * month + 2) / 5 + i64::from(day) - 1;
    year * 365 + year / 4 - year / 100 + year / 400 + of_year - DAYS_TO_1970
}

/// Year, month and day of a day that is so many after 1970-01-01.
#[inline]
pub(crate) fn date(days: i64) -> (i64, u32, u32) {
    let days = days + DAYS_TO_1970;
    let (era, of_era) = (days.div_euclid(DAYS_OF_ERA), days.rem_euclid(DAYS_OF_ERA));
    // Leap days before it within its 400 years left out: those of 4, 100 and 400 years.
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (month, later) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    (era * 400 + year + later, month as u32, day as u32)
}

/// Microseconds since 1970 of `YYYY-MM-DD hh:mm:ss`, with or without a fraction.
pub(crate) fn micros_of(text: &[u8]) -> Option<i64> {
    let (clock, fraction) = text.split_at_checked(19)?;
    let number = |at: Range<usize>| std::str::from_utf8(&clock[at]).ok()?.parse::<u32>().ok();
    let days = days_since_1970(number(0..4)?, number(5..7)?, number(8..10)?);
    let seconds = number(11..13)? * 3600 + number(14..16)? * 60 + number(17..19)?;
    let digits = match fraction {
        [] => String::from("0"),
        [b'.', digits @ ..] if digits.len() <= 6 => {
            format!("{:0<6}", std::str::from_utf8(digits).ok()?)
        }
        _ => return None,
    };
    Some(days * MICROS_OF_DAY + i64::from(seconds) * 1_000_000 + digits.parse::<i64>().ok()?)
}

/// The time that a clock shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Clock {
    pub(crate) hour: u64,
    pub(crate) minute: u32,
    pub(crate) second: u32,
    pub(crate) micro: u32,
}

impl Clock {
    /// So many microseconds after it began to count.
    #[inline]
    pub(crate) fn of(micros: u64) -> Clock {
        let (seconds, micro) = (micros / 1_000_000, (micros % 1_000_000) as u32);
        let (minutes, second) = (seconds / 60, (seconds % 60) as u32);
        Clock { hour: minutes / 60, minute: (minutes % 60) as u32, second, micro }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_of_a_moment_is_read_back() {
        assert_eq!(micros_of(b"1970-01-02 00:00:01"), Some(MICROS_OF_DAY + 1_000_000));
        assert_eq!(micros_of(b"1970-01-01 00:00:00.5"), Some(500_000));
        assert_eq!(micros_of(b"1970-01-01 00:00"), None);
    }

    #[test]
    fn days_count_from_1970() {
        assert_eq!(days_since_1970(1970, 1, 1), 0);
        assert_eq!(days_since_1970(1969, 12, 31), -1);
        assert_eq!(days_since_1970(2000, 2, 29), 11_016);
        assert_eq!(days_since_1970(2038, 1, 19), 24_855);
    }

    #[test]
    fn every_day_of_ten_thousand_years_is_found_again() {
        let (first, last) = (days_since_1970(1, 1, 1), days_since_1970(9999, 12, 31));
        let mut before = (0, 12, 31);
        for days in first..=last {
            let (year, month, day) = date(days);
            assert!((year, month, day) > before);
            assert_eq!(days_since_1970(year as u32, month, day), days);
            before = (year, month, day);
        }
        assert_eq!(before, (9999, 12, 31));
    }
}
