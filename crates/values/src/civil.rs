//! Days and microseconds to what calendars and clocks show.

use std::ops::Range;

/// Microseconds of a day.
pub const MICROS_OF_DAY: i64 = 86_400_000_000;

/// Days from 0000-03-01 to 1970-01-01.
const DAYS_TO_1970: i64 = 719_468;
/// Days of which four times as many fit 32 bits.
const DAYS_MAX: u32 = 1 << 29;
/// Days of 400 years.
const DAYS_OF_ERA: i64 = 146_097;

/// Days from 1970-01-01 in the Gregorian calendar; years 1 and later.
#[inline(always)]
pub fn days_since_1970(year: u32, month: u32, day: u32) -> i64 {
    // Years begin in March, so that the leap day is the last of its year.
    let year = i64::from(year) - i64::from(month <= 2);
    let month = i64::from((month + 9) % 12);
    let of_year = (153 * month + 2) / 5 + i64::from(day) - 1;
    year * 365 + year / 4 - year / 100 + year / 400 + of_year - DAYS_TO_1970
}

/// Year, month and day of a day that is so many after 1970-01-01.
#[inline]
pub fn date(days: i64) -> (i64, u32, u32) {
    let days = days + DAYS_TO_1970;
    if let Ok(days) = u32::try_from(days)
        && days < DAYS_MAX
    {
        return date_since_0000(days);
    }
    let (era, of_era) = (days.div_euclid(DAYS_OF_ERA), days.rem_euclid(DAYS_OF_ERA));
    let (year, month, day) = date_since_0000(of_era as u32);
    (era * 400 + year, month, day)
}

/// The same of a day after 0000-03-01, below [`DAYS_MAX`], by multiplications of 32 bits.
///
/// Source: C. Neri, L. Schneider, "Euclidean affine functions and their application to calendar algorithms", 2022.
#[inline]
fn date_since_0000(days: u32) -> (i64, u32, u32) {
    let of_centuries = 4 * days + 3;
    let (century, of_century) = (of_centuries / 146_097, of_centuries % 146_097 / 4);
    let of_years = 2_939_745 * u64::from(4 * of_century + 3);
    let (year, of_year) = ((of_years >> 32) as u32, of_years as u32 / 2_939_745 / 4);
    let of_months = 2_141 * of_year + 197_913;
    let (month, day) = (of_months >> 16, (of_months & 0xffff) / 2_141 + 1);
    // Years begin in March: its last two months are those of the next year.
    let later = u32::from(of_year >= 306);
    (i64::from(100 * century + year + later), month - 12 * later, day)
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

    #[test]
    fn days_of_every_age_have_a_date() {
        assert_eq!(date(-DAYS_TO_1970), (0, 3, 1));
        assert_eq!(date(-DAYS_TO_1970 - 1), (0, 2, 29));
        assert_eq!(date(-DAYS_TO_1970 - 400 * 365 - 97), (-400, 3, 1));
        // The calendar repeats itself after 400 years.
        for eras in [-1_000_000, -1, 1, 3_000, 4_000, 1_000_000] {
            for days in [0, 11_016, 11_017, 24_855] {
                let (year, month, day) = date(days);
                assert_eq!(date(days + eras * DAYS_OF_ERA), (year + 400 * eras, month, day));
            }
        }
    }
}
