//! Dates and times that were read part by part.

use super::Meaning;
use values::civil::{MICROS_OF_DAY, date, days_since_1970};

/// Digits of a fraction that a moment has.
const FRACTION_DIGITS: usize = 6;

/// The parts of a date and a time.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Parts<'t> {
    pub(super) year: u32,
    pub(super) month: u32,
    pub(super) day: u32,
    pub(super) hour: u32,
    pub(super) minute: u32,
    pub(super) second: u32,
    /// Digits of the fraction.
    pub(super) fraction: &'t [u8],
}

impl Parts<'_> {
    /// Writes `2026-12-31`.
    pub(super) fn write_date(&self, out: &mut Vec<u8>) {
        push(self.year, 4, out);
        for part in [self.month, self.day] {
            out.push(b'-');
            push(part, 2, out);
        }
    }

    /// Writes `23:59:58.5`.
    pub(super) fn write_time(&self, out: &mut Vec<u8>) {
        push(self.hour, 2, out);
        for part in [self.minute, self.second] {
            out.push(b':');
            push(part, 2, out);
        }
        if !self.fraction.is_empty() {
            // All of it: the column says how many digits count, and sql_mode whether they are rounded.
            out.push(b'.');
            out.extend_from_slice(self.fraction);
        }
    }

    /// Microseconds since 1970 on a clock of UTC; none of what no calendar and no clock shows.
    fn micros(&self) -> Option<i64> {
        let Parts { year, month, day, hour, minute, second, .. } = *self;
        if year == 0 || !(1..=12).contains(&month) || hour > 23 || minute > 59 || second > 59 {
            return None;
        }
        let days = days_since_1970(year, month, day);
        // A day that its month does not have is one of the next.
        if date(days) != (i64::from(year), month, day) {
            return None;
        }
        let mut micros = 0;
        for at in 0..FRACTION_DIGITS {
            let digit = self.fraction.get(at).map_or(0, |digit| digit - b'0');
            micros = micros * 10 + i64::from(digit);
        }
        let seconds = i64::from(hour * 3600 + minute * 60 + second);
        Some(days * MICROS_OF_DAY + seconds * 1_000_000 + micros)
    }
}

/// Appends a number of so many digits, at most four.
fn push(number: u32, width: usize, out: &mut Vec<u8>) {
    let digits = [1000, 100, 10, 1].map(|unit| b'0' + (number / unit % 10) as u8);
    out.extend_from_slice(&digits[digits.len() - width..]);
}

/// Takes from `least` to `most` digits off a text.
pub(super) fn take_number(text: &mut &[u8], least: usize, most: usize) -> Option<u32> {
    let digits = take_digits(text, most);
    if digits.len() < least {
        return None;
    }
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// Takes all digits off a text, at most so many.
pub(super) fn take_digits<'t>(text: &mut &'t [u8], most: usize) -> &'t [u8] {
    let count = text.iter().take(most).take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, rest) = text.split_at(count);
    *text = rest;
    digits
}

/// Takes one of these bytes off a text.
fn take_any(text: &mut &[u8], bytes: &[u8]) -> Option<u8> {
    let (&first, rest) = text.split_first()?;
    if !bytes.contains(&first) {
        return None;
    }
    *text = rest;
    Some(first)
}

/// Reads `2026-12-31`, `2026-12-31T10:00:00.5+02:00`; without an offset from UTC it is written to `out`.
pub(super) fn read_iso(text: &[u8], out: &mut Vec<u8>) -> Option<Meaning> {
    let mut rest = text;
    let mut parts = Parts { year: take_number(&mut rest, 4, 4)?, ..Parts::default() };
    for part in [&mut parts.month, &mut parts.day] {
        take_any(&mut rest, b"-")?;
        *part = take_number(&mut rest, 2, 2)?;
    }
    if rest.is_empty() {
        parts.write_date(out);
        return Some(Meaning::Text);
    }
    take_any(&mut rest, b"Tt ")?;
    parts.hour = take_number(&mut rest, 2, 2)?;
    take_any(&mut rest, b":")?;
    parts.minute = take_number(&mut rest, 2, 2)?;
    if take_any(&mut rest, b":").is_some() {
        parts.second = take_number(&mut rest, 2, 2)?;
        if take_any(&mut rest, b".,").is_some() {
            parts.fraction = take_digits(&mut rest, usize::MAX);
            if parts.fraction.is_empty() {
                return None;
            }
        }
    }
    if rest.is_empty() {
        parts.write_date(out);
        out.push(b' ');
        parts.write_time(out);
        return Some(Meaning::Text);
    }
    let offset_seconds = take_offset(&mut rest)?;
    let micros = parts.micros()? - offset_seconds * 1_000_000;
    rest.is_empty().then_some(Meaning::Moment(micros))
}

/// Takes `Z`, `+02:00`, `-0530` or `+02` off a text, in seconds.
fn take_offset(text: &mut &[u8]) -> Option<i64> {
    let sign = match take_any(text, b"Zz+-")? {
        b'+' => 1,
        b'-' => -1,
        _ => return Some(0),
    };
    let hours = take_number(text, 2, 2)?;
    let has_colon = take_any(text, b":").is_some();
    let minutes = match text.is_empty() && !has_colon {
        true => 0,
        false => take_number(text, 2, 2)?,
    };
    (hours <= 14 && minutes <= 59).then(|| sign * i64::from(hours * 3600 + minutes * 60))
}
