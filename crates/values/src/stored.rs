//! Numbers and times read back from what is stored of them, for the server's functions of them.
//!
//! Source: MariaDB 10.11, sql/item_timefunc.cc; sql-common/my_time.c, `calc_daynr`.

use crate::civil::days_since_1970;
use crate::sql_type::SqlType;

/// Days from the year 0 to 1970, as TO_DAYS counts them.
const DAYS_TO_1970: i64 = 719_528;
const SECONDS_OF_DAY: i64 = 86_400;

/// The number that is stored of a value of an integer type, of YEAR or, in seconds, of TIMESTAMP; none
/// of other types.
pub fn number(sql_type: &SqlType, stored: &[u8]) -> Option<i128> {
    let plain = |stored: &[u8]| stored.iter().fold(0, |sum, &byte| sum << 8 | i128::from(byte));
    Some(match sql_type {
        SqlType::Integer { unsigned: true, .. } => plain(stored),
        SqlType::Integer { bytes, unsigned: false } => plain(stored) - (1 << (8 * bytes - 1)),
        SqlType::Year => match plain(stored) {
            0 => 0,
            years => 1900 + years,
        },
        SqlType::Timestamp { .. } => plain(stored.get(..4)?),
        _ => return None,
    })
}

/// The parts of a DATE or DATETIME. Any part may be 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shown {
    /// 0 to 9999.
    pub year: u32,
    /// 0 to 12.
    pub month: u32,
    /// 0 to 31.
    pub day: u32,
    /// 0 to 23.
    pub hour: u32,
    /// 0 to 59.
    pub minute: u32,
    /// 0 to 59.
    pub second: u32,
}

impl Shown {
    /// The parts of a stored DATE or DATETIME; none of other types.
    pub fn of(sql_type: &SqlType, stored: &[u8]) -> Option<Shown> {
        let number = |stored: &[u8]| stored.iter().fold(0, |sum, &byte| sum << 8 | u64::from(byte));
        match sql_type {
            SqlType::Date => {
                let date = number(stored) ^ 1 << 23;
                let (year, month, day) = (date >> 9, date >> 5 & 15, date & 31);
                let [year, month, day] = [year, month, day].map(|part| part as u32);
                Some(Shown { year, month, day, hour: 0, minute: 0, second: 0 })
            }
            SqlType::DateTime { .. } => {
                let packed = number(stored.get(..5)?) ^ 1 << 39;
                let (months, day) = (packed >> 22, packed >> 17 & 31);
                let parts = [months / 13, months % 13, day];
                let clock = [packed >> 12 & 31, packed >> 6 & 63, packed & 63];
                let [year, month, day] = parts.map(|part| part as u32);
                let [hour, minute, second] = clock.map(|part| part as u32);
                Some(Shown { year, month, day, hour, minute, second })
            }
            _ => None,
        }
    }

    /// True if it is no day at all: all parts of the date are 0.
    pub fn is_zero(self) -> bool {
        self.year == 0 && self.month == 0 && self.day == 0
    }

    /// True if it is a day of a calendar.
    pub fn is_day(self) -> bool {
        self.year > 0 && self.month > 0 && self.day > 0
    }

    /// TO_DAYS of a day.
    pub fn days(self) -> i64 {
        days_since_1970(self.year, self.month, self.day) + DAYS_TO_1970
    }

    /// TO_SECONDS of a day with its time.
    pub fn seconds(self) -> i64 {
        let of_day = self.hour * 3_600 + self.minute * 60 + self.second;
        self.days() * SECONDS_OF_DAY + i64::from(of_day)
    }

    /// DAYOFYEAR of a day.
    pub fn day_of_year(self) -> i64 {
        self.days() - Shown { month: 1, day: 1, ..self }.days() + 1
    }

    /// WEEKDAY of a day: 0 is Monday.
    pub fn weekday(self) -> i64 {
        (self.days() + 5).rem_euclid(7)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::{ConvertOptions, Converter};

    fn stored(sql_type: &SqlType, text: &str) -> Vec<u8> {
        let mut converter = Converter::new("c", sql_type, &ConvertOptions::default()).unwrap();
        let mut stored = Vec::new();
        converter.convert(text.as_bytes(), &mut stored).unwrap();
        stored
    }

    #[test]
    fn numbers_come_back() {
        for (bytes, unsigned, text) in [
            (1, false, "-128"),
            (4, false, "-1"),
            (8, false, "-9223372036854775808"),
            (8, true, "18446744073709551615"),
            (3, true, "70000"),
        ] {
            let sql_type = SqlType::Integer { bytes, unsigned };
            let number = number(&sql_type, &stored(&sql_type, text));
            assert_eq!(number, text.parse().ok(), "{text}");
        }
        assert_eq!(number(&SqlType::Year, &stored(&SqlType::Year, "1970")), Some(1970));
        let stamp = SqlType::Timestamp { digits: 3 };
        assert_eq!(number(&stamp, &stored(&stamp, "1970-01-02 00:00:01.5")), Some(86_401));
        assert_eq!(number(&SqlType::Date, &stored(&SqlType::Date, "1970-01-02")), None);
    }

    #[test]
    fn times_come_back() {
        let of = |text: &str, sql_type| Shown::of(&sql_type, &stored(&sql_type, text)).unwrap();
        let shown = of("2024-02-29 23:58:59.75", SqlType::DateTime { digits: 2 });
        let expected = Shown { year: 2024, month: 2, day: 29, hour: 23, minute: 58, second: 59 };
        assert_eq!(shown, expected);
        // As the server says.
        assert_eq!((shown.days(), shown.day_of_year(), shown.weekday()), (739_310, 60, 3));
        assert_eq!(shown.seconds(), 63_876_470_339);
        let day = of("0001-01-01", SqlType::Date);
        assert_eq!((day.days(), day.is_day(), day.is_zero()), (366, true, false));
        assert_eq!(of("9999-12-31", SqlType::Date).days(), 3_652_424);
    }
}
