//! Stored dates, times and decimals as numbers: days, microseconds, units of the last digit.

use super::number::{DecimalForm, big_endian};
use crate::civil::{MICROS_OF_DAY, days_since_1970};

/// Microseconds of a unit of a stored fraction, by its bytes.
const FRACTION_MICROS: [i64; 4] = [0, 10_000, 100, 1];
/// Units of a stored fraction are fewer, by its bytes.
const FRACTION_END: [u64; 4] = [1, 100, 10_000, 1_000_000];
const MICROS_OF_SECOND: i64 = 1_000_000;
/// Years and days after which the calendar repeats itself.
const YEARS_OF_ERA: u32 = 400;
const DAYS_OF_ERA: i64 = 146_097;
/// Days of each month, and of none.
const DAYS_OF_MONTH: [u32; 13] = [0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/// Why stored bytes are no number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoUnits {
    /// No value of the type has them.
    NotStored,
    /// The date is in no calendar: 0000-00-00, 2024-02-31.
    NoDay,
}

/// Days from 1970-01-01 to a day of the years 0 to 9999; none of a date that is in no calendar.
#[inline]
pub fn days_of(year: u32, month: u32, day: u32) -> Option<i32> {
    let of_month = *DAYS_OF_MONTH.get(month as usize)?;
    let is_leap_year =
        year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(YEARS_OF_ERA));
    let is_leap = month == 2 && is_leap_year;
    let is_day = day.wrapping_sub(1) < of_month + u32::from(is_leap) && month > 0 && year <= 9999;
    is_day.then(|| (days_since_1970(year + YEARS_OF_ERA, month, day) - DAYS_OF_ERA) as i32)
}

/// A stored DATE as days since 1970-01-01.
#[inline]
pub fn date(stored: &[u8]) -> Result<i32, NoUnits> {
    let stored: [u8; 3] = stored.try_into().map_err(|_| NoUnits::NotStored)?;
    let packed = u32::from_be_bytes([0, stored[0], stored[1], stored[2]]) ^ 1 << 23;
    days_of(packed >> 9, packed >> 5 & 15, packed & 31).ok_or(NoUnits::NoDay)
}

/// A stored TIME as microseconds.
#[inline]
pub fn time(stored: &[u8], digits: u8) -> Result<i64, NoUnits> {
    let bytes = fraction_bytes(digits);
    if stored.len() != 3 + bytes {
        return Err(NoUnits::NotStored);
    }
    let number = big_endian(stored) as i64 - (1i64 << (23 + 8 * bytes));
    let magnitude = number.unsigned_abs();
    let fraction = fraction(magnitude & ((1 << (8 * bytes)) - 1), bytes)?;
    let micros = seconds(magnitude >> (8 * bytes)) * MICROS_OF_SECOND + fraction;
    Ok(if number < 0 { -micros } else { micros })
}

/// A stored DATETIME as microseconds since 1970-01-01 00:00:00 of the same clock.
#[inline]
pub fn datetime(stored: &[u8], digits: u8) -> Result<i64, NoUnits> {
    let bytes = fraction_bytes(digits);
    if stored.len() != 5 + bytes {
        return Err(NoUnits::NotStored);
    }
    let (moment, rest) = stored.split_at(5);
    let packed = big_endian(moment) ^ 1 << 39;
    let months = (packed >> 22) as u32;
    let day = (packed >> 17) as u32 & 31;
    let days = days_of(months / 13, months % 13, day).ok_or(NoUnits::NoDay)?;
    let of_day = seconds(packed & 0x1_ffff) * MICROS_OF_SECOND + fraction(big_endian(rest), bytes)?;
    Ok(i64::from(days) * MICROS_OF_DAY + of_day)
}

/// A stored TIMESTAMP as microseconds since 1970-01-01 00:00:00 UTC.
#[inline]
pub fn timestamp(stored: &[u8], digits: u8) -> Result<i64, NoUnits> {
    let bytes = fraction_bytes(digits);
    if stored.len() != 4 + bytes {
        return Err(NoUnits::NotStored);
    }
    let (seconds, rest) = stored.split_at(4);
    let micros = big_endian(seconds) as i64 * MICROS_OF_SECOND + fraction(big_endian(rest), bytes)?;
    // The server's 0000-00-00.
    if micros == 0 { Err(NoUnits::NoDay) } else { Ok(micros) }
}

/// A stored YEAR.
#[inline]
pub fn year(stored: &[u8]) -> Result<u16, NoUnits> {
    match *stored {
        [0] => Ok(0),
        [years] => Ok(1900 + u16::from(years)),
        _ => Err(NoUnits::NotStored),
    }
}

/// A stored integer, as its bits: of an unsigned column those of a u64.
#[inline(always)]
pub fn integer<const BYTES: usize>(stored: &[u8], unsigned: bool) -> Result<i64, NoUnits> {
    let stored: &[u8; BYTES] = stored.try_into().map_err(|_| NoUnits::NotStored)?;
    let number = big_endian(stored);
    Ok(if unsigned { number as i64 } else { number.wrapping_sub(1 << (8 * BYTES - 1)) as i64 })
}

#[inline(always)]
fn fraction_bytes(digits: u8) -> usize {
    usize::from(digits.min(6)).div_ceil(2)
}

#[inline(always)]
fn fraction(units: u64, bytes: usize) -> Result<i64, NoUnits> {
    match units < FRACTION_END[bytes] {
        true => Ok(units as i64 * FRACTION_MICROS[bytes]),
        false => Err(NoUnits::NotStored),
    }
}

/// Seconds of hour << 12 | minute << 6 | second.
#[inline(always)]
fn seconds(packed: u64) -> i64 {
    ((packed >> 12) * 3600 + (packed >> 6 & 63) * 60 + (packed & 63)) as i64
}

/// Reads stored DECIMALs of up to 38 digits.
#[derive(Clone, Copy, Debug)]
pub struct DecimalUnits(DecimalForm);

impl DecimalUnits {
    /// None of more digits.
    pub fn new(precision: u8, scale: u8) -> Option<DecimalUnits> {
        let integral = usize::from(precision.checked_sub(scale)?);
        let form = DecimalForm::new(integral, usize::from(scale))?;
        (precision <= 38).then_some(DecimalUnits(form))
    }

    /// The value in units of its last digit.
    #[inline(always)]
    pub fn read(&self, stored: &[u8]) -> Result<i128, NoUnits> {
        self.0.units(stored).ok_or(NoUnits::NotStored)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::decode::Decoder;
    use crate::{ConvertOptions, Converter, SqlMode, SqlType, Value};

    fn stored(sql_type: &SqlType, text: &str) -> Vec<u8> {
        let options = ConvertOptions {
            sql_mode: SqlMode::parse("ALLOW_INVALID_DATES"),
            ..ConvertOptions::default()
        };
        let mut converter = Converter::new("c", sql_type, &options).unwrap();
        let mut stored = Vec::new();
        converter.convert(text.as_bytes(), &mut stored).unwrap();
        stored
    }

    /// Asserts that a value has the same text as what is stored of it.
    #[track_caller]
    fn same(sql_type: &SqlType, stored: &[u8], value: Value<'_>) {
        let (mut text, mut again) = (Vec::new(), Vec::new());
        Decoder::new(sql_type).unwrap().decode(stored, &mut text).unwrap();
        let value = value.text(&mut again).unwrap();
        let short = |text: &[u8]| {
            let text = String::from_utf8_lossy(text).into_owned();
            match text.contains(':') && text.contains('.') {
                true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
                false => text,
            }
        };
        assert_eq!(short(&text), short(value));
    }

    #[test]
    fn times_are_the_microseconds_of_their_text() {
        for digits in 0..=6 {
            for text in
                ["-838:59:59", "838:59:59", "00:00:00", "-00:00:00.100000", "12:34:56.987654"]
            {
                let sql_type = SqlType::Time { digits };
                let stored = stored(&sql_type, text);
                same(&sql_type, &stored, Value::Time(time(&stored, digits).unwrap()));
            }
            for text in
                ["0001-01-01", "9999-12-31 23:59:59", "1969-12-31 23:59:59.12", "2024-02-29"]
            {
                let sql_type = SqlType::DateTime { digits };
                let stored = stored(&sql_type, text);
                same(&sql_type, &stored, Value::DateTime(datetime(&stored, digits).unwrap()));
            }
            for text in
                ["1970-01-01 00:00:01", "2038-01-19 03:14:07.99", "2024-02-29 00:00:00.123456"]
            {
                let sql_type = SqlType::Timestamp { digits };
                let stored = stored(&sql_type, text);
                same(&sql_type, &stored, Value::Timestamp(timestamp(&stored, digits).unwrap()));
            }
        }
    }

    #[test]
    fn only_days_of_a_calendar_are_days() {
        for text in ["0000-01-01", "0001-01-01", "1600-02-29", "1969-12-31", "9999-12-31"] {
            let stored = stored(&SqlType::Date, text);
            same(&SqlType::Date, &stored, Value::Date(date(&stored).unwrap()));
        }
        for text in
            ["0000-00-00", "2024-00-10", "2024-02-00", "2023-02-29", "1900-02-29", "2024-02-31"]
        {
            assert_eq!(date(&stored(&SqlType::Date, text)), Err(NoUnits::NoDay), "{text}");
            let sql_type = SqlType::DateTime { digits: 3 };
            assert_eq!(datetime(&stored(&sql_type, text), 3), Err(NoUnits::NoDay), "{text}");
        }
        assert_eq!(timestamp(&[0; 7], 6), Err(NoUnits::NoDay));
        assert_eq!(date(&[0; 4]), Err(NoUnits::NotStored));
    }

    #[test]
    fn decimals_are_units_of_their_last_digit() {
        for (precision, scale) in
            [(1, 0), (5, 2), (9, 9), (15, 2), (18, 9), (20, 4), (38, 0), (38, 38), (38, 19)]
        {
            let sql_type = SqlType::Decimal { precision, scale, unsigned: false };
            let units = DecimalUnits::new(precision, scale).unwrap();
            let most = 10i128.pow(u32::from(precision)) - 1;
            for number in [0, 1, -1, most, -most, most / 7, -most / 3] {
                let decimal = crate::Decimal { units: number, scale };
                let mut text = Vec::new();
                let text = Value::Decimal(decimal).text(&mut text).unwrap().to_vec();
                let stored = stored(&sql_type, &String::from_utf8(text).unwrap());
                assert_eq!(units.read(&stored), Ok(number), "{sql_type}");
            }
        }
        assert!(DecimalUnits::new(39, 0).is_none());
        assert!(DecimalUnits::new(5, 2).unwrap().read(&[0; 2]).is_err());
    }

    #[test]
    fn integers_and_years_are_their_numbers() {
        let sql_type = SqlType::Integer { bytes: 3, unsigned: false };
        assert_eq!(integer::<3>(&stored(&sql_type, "-8388608"), false), Ok(-8_388_608));
        let sql_type = SqlType::Integer { bytes: 8, unsigned: true };
        assert_eq!(integer::<8>(&stored(&sql_type, "18446744073709551615"), true), Ok(-1));
        let sql_type = SqlType::Integer { bytes: 8, unsigned: false };
        assert_eq!(integer::<8>(&stored(&sql_type, "-9223372036854775808"), false), Ok(i64::MIN));
        assert_eq!(year(&stored(&SqlType::Year, "2155")), Ok(2155));
        assert_eq!(year(&[0]), Ok(0));
        assert!(integer::<4>(&[0; 3], true).is_err());
    }
}
