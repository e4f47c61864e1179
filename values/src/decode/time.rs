//! Dates and times; what is stored is in `temporal.rs`.

use super::number::{big_endian, push_padded};
use crate::civil;

const SECONDS_OF_DAY: i64 = 86_400;

/// Appends a YEAR.
pub(super) fn push_year(stored: u8, out: &mut Vec<u8>) -> bool {
    let year = if stored == 0 { 0 } else { 1900 + u64::from(stored) };
    push_padded(year, 4, out);
    true
}

#[inline]
fn push_day(year: u64, month: u64, day: u64, out: &mut Vec<u8>) {
    push_padded(year, 4, out);
    out.push(b'-');
    push_padded(month, 2, out);
    out.push(b'-');
    push_padded(day, 2, out);
}

/// Appends a time of day, or of more hours; packed as hour << 12 | minute << 6 | second.
#[inline]
fn push_clock(packed: u64, out: &mut Vec<u8>) {
    let hour = packed >> 12;
    push_padded(hour, if hour > 99 { 3 } else { 2 }, out);
    out.push(b':');
    push_padded(packed >> 6 & 63, 2, out);
    out.push(b':');
    push_padded(packed & 63, 2, out);
}

/// Appends so many digits of a fraction, of which two are stored in a byte.
#[inline]
fn push_fraction(stored: u64, digits: usize, out: &mut Vec<u8>) {
    if digits > 0 {
        out.push(b'.');
        push_padded(if digits % 2 == 1 { stored / 10 } else { stored }, digits, out);
    }
}

/// Appends a DATE.
#[inline]
pub(super) fn push_date(stored: &[u8], out: &mut Vec<u8>) -> bool {
    if stored.len() != 3 {
        return false;
    }
    let date = big_endian(stored) ^ 1 << 23;
    push_day(date >> 9, date >> 5 & 15, date & 31, out);
    true
}

/// Appends a TIME with so many digits of the second.
pub(super) fn push_time(stored: &[u8], digits: usize, out: &mut Vec<u8>) -> bool {
    let bytes = digits.div_ceil(2);
    if stored.len() != 3 + bytes {
        return false;
    }
    let number = big_endian(stored) as i64 - (1i64 << (23 + 8 * bytes));
    if number < 0 {
        out.push(b'-');
    }
    let magnitude = number.unsigned_abs();
    push_clock(magnitude >> (8 * bytes), out);
    push_fraction(magnitude & ((1 << (8 * bytes)) - 1), digits, out);
    true
}

/// Appends a DATETIME with so many digits of the second.
#[inline]
pub(super) fn push_datetime(stored: &[u8], digits: usize, out: &mut Vec<u8>) -> bool {
    let bytes = digits.div_ceil(2);
    if stored.len() != 5 + bytes {
        return false;
    }
    let (moment, fraction) = stored.split_at(5);
    let packed = big_endian(moment) ^ 1 << 39;
    let months = packed >> 22;
    push_day(months / 13, months % 13, packed >> 17 & 31, out);
    out.push(b' ');
    push_clock(packed & 0x1_ffff, out);
    push_fraction(big_endian(fraction), digits, out);
    true
}

/// Appends a TIMESTAMP, in UTC, with so many digits of the second.
pub(super) fn push_timestamp(stored: &[u8], digits: usize, out: &mut Vec<u8>) -> bool {
    let bytes = digits.div_ceil(2);
    if stored.len() != 4 + bytes {
        return false;
    }
    let (seconds, fraction) = stored.split_at(4);
    let (seconds, fraction) = (big_endian(seconds), big_endian(fraction));
    if seconds == 0 && fraction == 0 {
        push_day(0, 0, 0, out);
    } else {
        let (year, month, day) = civil::date(seconds as i64 / SECONDS_OF_DAY);
        push_day(year as u64, month.into(), day.into(), out);
    }
    let of_day = seconds % SECONDS_OF_DAY as u64;
    out.push(b' ');
    let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    push_clock(hour << 12 | minute << 6 | second, out);
    push_fraction(fraction, digits, out);
    true
}
