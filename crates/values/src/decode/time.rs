//! Dates and times; what is stored is in `temporal.rs`.

use super::number::{PAIRS, append_first, big_endian, eight, push_first, push_padded};
use crate::civil;

const SECONDS_OF_DAY: i64 = 86_400;
/// The bound of the digits of a stored fraction, by its bytes.
const FRACTION_END: [u64; 4] = [1, 100, 10_000, 1_000_000];

/// `-07-31` of each month << 5 | day, as a DATE has them, with room behind it.
static DAYS: [[u8; 8]; 1 << 9] = {
    let mut days = [[0; 8]; 1 << 9];
    let mut packed = 0;
    while packed < days.len() {
        let ([a, b], [c, d]) = (PAIRS[packed >> 5], PAIRS[packed & 31]);
        days[packed] = [b'-', a, b, b'-', c, d, 0, 0];
        packed += 1;
    }
    days
};

/// Appends a YEAR.
pub(super) fn push_year(stored: u8, out: &mut Vec<u8>) -> bool {
    let year = if stored == 0 { 0 } else { 1900 + u64::from(stored) };
    push_padded(year, 4, out)
}

/// Appends a day, the month << 5 | day of which are of two digits each. False of a year that has more than
/// four.
#[inline(always)]
fn push_day(year: u64, month_day: u64, out: &mut Vec<u8>) -> bool {
    let Some(&[a, b]) = PAIRS.get(year as usize / 100) else { return false };
    let [c, d] = PAIRS[year as usize % 100];
    let [e, f, g, h, i, j, ..] = DAYS[month_day as usize % DAYS.len()];
    append_first([a, b, c, d, e, f, g, h, i, j], 10, out);
    true
}

/// Appends a time of day, or of more hours; packed as hour << 12 | minute << 6 | second.
#[inline(always)]
fn push_clock(packed: u64, out: &mut Vec<u8>) {
    let (hour, minute, second) = (packed >> 12, packed >> 6 & 63, packed & 63);
    if hour > 99 {
        out.push(b'0' + (hour / 100) as u8);
    }
    let [_, _, a, b, c, d, e, f] = eight(hour % 100 * 10_000 + minute * 100 + second);
    push_first([a, b, b':', c, d, b':', e, f], 8, out);
}

/// Appends so many digits of a fraction, of which two are stored in a byte.
#[inline]
fn push_fraction(stored: u64, digits: usize, out: &mut Vec<u8>) -> bool {
    if digits == 0 {
        return true;
    }
    out.push(b'.');
    stored < FRACTION_END[digits.div_ceil(2)]
        && push_padded(if digits % 2 == 1 { stored / 10 } else { stored }, digits, out)
}

/// Appends a DATE.
#[inline]
pub(super) fn push_date(stored: &[u8], out: &mut Vec<u8>) -> bool {
    if stored.len() != 3 {
        return false;
    }
    let date = big_endian(stored) ^ 1 << 23;
    push_day(date >> 9, date & 0x1ff, out)
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
    push_fraction(magnitude & ((1 << (8 * bytes)) - 1), digits, out)
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
    let is_day = push_day(months / 13, (months % 13) << 5 | packed >> 17 & 31, out);
    out.push(b' ');
    push_clock(packed & 0x1_ffff, out);
    is_day && push_fraction(big_endian(fraction), digits, out)
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
        push_day(0, 0, out);
    } else {
        let (year, month, day) = civil::date(seconds as i64 / SECONDS_OF_DAY);
        push_day(year as u64, u64::from(month) << 5 | u64::from(day), out);
    }
    let of_day = seconds % SECONDS_OF_DAY as u64;
    out.push(b' ');
    let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    push_clock(hour << 12 | minute << 6 | second, out);
    push_fraction(fraction, digits, out)
}
