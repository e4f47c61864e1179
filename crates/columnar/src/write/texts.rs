//! Values as the server sends them, to numbers.

use arrow_buffer::i256;
use values::decode::units::days_of;

use crate::written::BadCell;

const MICROS_OF_SECOND: i64 = 1_000_000;
const MICROS_OF_DAY: i64 = 86_400 * MICROS_OF_SECOND;

/// Any number that Rust reads as the server writes it.
pub(super) fn number<T: std::str::FromStr>(text: &[u8]) -> Result<T, BadCell> {
    let text = std::str::from_utf8(text).map_err(|_| BadCell::NotStored)?;
    text.parse().map_err(|_| BadCell::NotStored)
}

/// Digits without anything else.
fn digits(text: &[u8]) -> Result<u32, BadCell> {
    let is_digits = matches!(text.len(), 1..=9) && text.iter().all(u8::is_ascii_digit);
    let number = text.iter().fold(0u32, |sum, byte| sum.wrapping_mul(10) + u32::from(byte & 15));
    if is_digits { Ok(number) } else { Err(BadCell::NotStored) }
}

/// `YYYY-MM-DD`.
pub(super) fn date(text: &[u8]) -> Result<i32, BadCell> {
    let [y0, y1, y2, y3, b'-', m0, m1, b'-', d0, d1] = *text else {
        return Err(BadCell::NotStored);
    };
    let (year, month, day) = (digits(&[y0, y1, y2, y3])?, digits(&[m0, m1])?, digits(&[d0, d1])?);
    days_of(year, month, day).ok_or(BadCell::NoDay)
}

/// `YYYY-MM-DD hh:mm:ss`, with or without a fraction.
pub(super) fn moment(text: &[u8]) -> Result<i64, BadCell> {
    let (day, clock) = text.split_at_checked(10).ok_or(BadCell::NotStored)?;
    let clock = clock.strip_prefix(b" ").ok_or(BadCell::NotStored)?;
    Ok(i64::from(date(day)?) * MICROS_OF_DAY + time(clock)?)
}

/// `hh:mm:ss` or `hhh:mm:ss`, with or without a sign and a fraction.
pub(super) fn time(text: &[u8]) -> Result<i64, BadCell> {
    let (is_negative, text) = match text.strip_prefix(b"-") {
        Some(text) => (true, text),
        None => (false, text),
    };
    let (clock, fraction) = match text.iter().position(|byte| *byte == b'.') {
        Some(at) => (&text[..at], &text[at + 1..]),
        None => (text, &b"0"[..]),
    };
    let mut parts = clock.split(|byte| *byte == b':');
    let mut part = || parts.next().ok_or(BadCell::NotStored).and_then(digits);
    let seconds = i64::from(part()?) * 3600 + i64::from(part()?) * 60 + i64::from(part()?);
    let missing = 6u32.checked_sub(fraction.len() as u32).ok_or(BadCell::NotStored)?;
    let micros = i64::from(digits(fraction)?) * 10i64.pow(missing);
    let micros = seconds * MICROS_OF_SECOND + micros;
    Ok(if is_negative { -micros } else { micros })
}

/// A number with just so many digits behind the point, as its digits without the point.
fn decimal_digits(text: &[u8], scale: u8, out: &mut [u8; 80]) -> Result<usize, BadCell> {
    let point = text.iter().position(|byte| *byte == b'.');
    let has_scale = match point {
        Some(at) => text.len() - at - 1 == usize::from(scale),
        None => scale == 0,
    };
    let digits = text.iter().filter(|byte| **byte != b'.');
    if !has_scale || text.len() > out.len() {
        return Err(BadCell::NotStored);
    }
    Ok(out.iter_mut().zip(digits).map(|(to, digit)| *to = *digit).count())
}

/// A decimal of up to 38 digits.
pub(super) fn decimal(text: &[u8], scale: u8) -> Result<i128, BadCell> {
    let mut all = [0; 80];
    let len = decimal_digits(text, scale, &mut all)?;
    number(&all[..len])
}

/// A decimal of up to 76 digits.
pub(super) fn wide_decimal(text: &[u8], scale: u8) -> Result<i256, BadCell> {
    let mut all = [0; 80];
    let len = decimal_digits(text, scale, &mut all)?;
    let text = std::str::from_utf8(&all[..len]).map_err(|_| BadCell::NotStored)?;
    i256::from_string(text).ok_or(BadCell::NotStored)
}

/// A UUID in hexadecimal digits with hyphens.
pub(super) fn uuid(text: &[u8]) -> Result<[u8; 16], BadCell> {
    let mut uuid = [0; 16];
    let mut digits = text.iter().filter(|byte| **byte != b'-');
    for byte in &mut uuid {
        for _ in 0..2 {
            let digit = digits.next().and_then(|digit| char::from(*digit).to_digit(16));
            *byte = *byte << 4 | digit.ok_or(BadCell::NotStored)? as u8;
        }
    }
    if digits.next().is_some() { Err(BadCell::NotStored) } else { Ok(uuid) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_the_server_are_numbers() {
        assert_eq!(date(b"1970-01-02"), Ok(1));
        assert_eq!(date(b"0000-00-00"), Err(BadCell::NoDay));
        assert_eq!(date(b"1970-01-0x"), Err(BadCell::NotStored));
        assert_eq!(moment(b"1969-12-31 23:59:59.5"), Ok(-500_000));
        assert_eq!(moment(b"1970-01-01"), Err(BadCell::NotStored));
        assert_eq!(time(b"-838:59:59.000001"), Ok(-3_020_399_000_001));
        assert_eq!(time(b"00:00:01.25"), Ok(1_250_000));
        assert_eq!(time(b"00:00:01.1234567"), Err(BadCell::NotStored));
        assert_eq!(decimal(b"-0.05", 2), Ok(-5));
        assert_eq!(decimal(b"12", 0), Ok(12));
        assert_eq!(decimal(b"1.5", 2), Err(BadCell::NotStored));
        let nines = "9".repeat(65);
        assert_eq!(wide_decimal(nines.as_bytes(), 0).map(|n| n.to_string()), Ok(nines));
        assert_eq!(uuid(b"00000000-0000-0000-0000-00000000000f").map(|id| id[15]), Ok(15));
        assert_eq!(uuid(b"0"), Err(BadCell::NotStored));
        assert_eq!(number::<u32>(b"00042"), Ok(42));
    }
}
