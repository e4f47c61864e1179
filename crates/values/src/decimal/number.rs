//! A decimal number digit by digit, with the limits of the server's buffer of 81.
//!
//! Source: MariaDB 10.11, strings/decimal.c `internal_str2dec`, `decimal_shift`, `decimal_round`.

use super::{GROUP, SCALE_MAX};
use crate::ctype::{is_latin1_space, is_space};
use crate::habits::Habits;
use crate::reason::Reason;
use crate::sql_type::Charset;

/// Groups in the server's buffer.
const BUFFER_GROUPS: usize = 9;
/// Digits in the server's buffer.
const BUFFER: usize = GROUP * BUFFER_GROUPS;

/// Largest exponent of MySQL, whatever the digits are.
const EXPONENT_MAX: i64 = i32::MAX as i64 / 2;

const _: () = assert!(SCALE_MAX < BUFFER);

/// A number as its significant digits, the first and last of them not zero.
pub(super) struct Number {
    pub(super) negative: bool,
    /// One place before them for a carry.
    digits: [u8; BUFFER + 1],
    start: usize,
    end: usize,
    /// Index in `digits` of the first digit after the point; may lie outside.
    point: i64,
}

impl Number {
    /// Reads `[space] [sign] digits [. digits] [e [space] [sign] digits] [space]`.
    ///
    /// `habits` says whether digits beyond the server's buffer are an error.
    pub(super) fn parse(text: &[u8], charset: Charset, habits: Habits) -> Result<Number, Reason> {
        // The no-break space of latin1 begins no character of these.
        let is_utf8 = matches!(charset, Charset::Utf8mb4 | Charset::Utf8mb3);
        if habits.mysql_decimals && is_utf8 && !text.is_ascii() {
            return Err(Reason::NotANumber);
        }
        let skip = |from: usize, wanted: fn(u8) -> bool| {
            text[from..].iter().position(|&byte| !wanted(byte)).map_or(text.len(), |n| from + n)
        };
        let is_digit = |byte: u8| byte.is_ascii_digit();
        let mut at = skip(0, is_latin1_space);
        let negative = text.get(at) == Some(&b'-');
        if matches!(text.get(at), Some(b'-' | b'+')) {
            at += 1;
        }
        let mut integral = at..skip(at, is_digit);
        at = integral.end;
        let mut fraction = at..at;
        if text.get(at) == Some(&b'.') {
            fraction = at + 1..skip(at + 1, is_digit);
            at = fraction.end;
        }
        if integral.is_empty() && fraction.is_empty() {
            return Err(Reason::NotANumber);
        }
        // MySQL gives leading zeros room in its buffer.
        if !habits.mysql_decimals
            && integral.len() > GROUP
            && text[integral.clone()].starts_with(b"00")
        {
            integral.start = skip_zeros(text, integral.start, integral.end - 1);
        }
        let groups = integral.len().div_ceil(GROUP);
        let overflow = groups > BUFFER_GROUPS;
        if !overflow {
            // What the buffer has no group for is dropped, not rounded.
            let room = (BUFFER_GROUPS - groups) * GROUP;
            let end = fraction.end.min(fraction.start + room);
            if habits.mysql_decimals && end < fraction.end {
                return Err(Reason::OutOfRange);
            }
            fraction.end = end;
        }
        let zero = text[integral.clone()].iter().chain(&text[fraction.clone()]).all(|&b| b == b'0');

        let (exponent, at) = parse_exponent(text, at, habits);
        // MySQL asks latin1 behind the number as well.
        let is_blank = |byte: u8| match habits.mysql_decimals {
            true => is_latin1_space(byte),
            false => is_space(charset, byte),
        };
        if !text[at..].iter().all(|&byte| is_blank(byte)) {
            // Too many digits come before rubbish in the server's order; both are refused.
            return Err(if overflow { Reason::OutOfRange } else { Reason::NotANumber });
        }
        let is_far = !(-EXPONENT_MAX - 1..=EXPONENT_MAX).contains(&exponent);
        if overflow || (habits.mysql_decimals && is_far) {
            return Err(Reason::OutOfRange);
        }
        let mut number = Number { negative, digits: [0; BUFFER + 1], start: 1, end: 1, point: 1 };
        if zero {
            number.negative = false;
            return Ok(number);
        }
        for &byte in text[integral.clone()].iter().chain(&text[fraction]) {
            number.digits[number.end] = byte - b'0';
            number.end += 1;
        }
        number.point = 1 + integral.len() as i64;
        number.trim();
        number.shift(exponent, habits)?;
        Ok(number)
    }

    /// Digits before the point; 0 or less when the number is below one.
    pub(super) fn integral(&self) -> i64 {
        if self.start == self.end { 0 } else { self.point - self.start as i64 }
    }

    /// Digit at a position counted from the point: -1 is the ones, 0 the tenths.
    pub(super) fn digit(&self, position: i64) -> u8 {
        let index = self.point + position;
        let inside = index >= self.start as i64 && index < self.end as i64;
        if inside { self.digits[index as usize] } else { 0 }
    }

    fn trim(&mut self) {
        while self.start < self.end && self.digits[self.start] == 0 {
            self.start += 1;
        }
        while self.start < self.end && self.digits[self.end - 1] == 0 {
            self.end -= 1;
        }
        if self.start == self.end {
            self.negative = false;
        }
    }

    /// Multiplies by 10^exponent. Digits that the server's buffer has no room for are rounded
    /// off behind the point, and refused before it.
    fn shift(&mut self, exponent: i64, habits: Habits) -> Result<(), Reason> {
        if exponent == 0 {
            return Ok(());
        }
        self.point = self.point.saturating_add(exponent);
        let integral = self.integral().max(0);
        let fraction = (self.end as i64 - self.point).max(0);
        let groups = |digits: i64| digits.saturating_add(GROUP as i64 - 1) / GROUP as i64;
        let lack = groups(integral).saturating_add(groups(fraction)) - BUFFER_GROUPS as i64;
        if lack > 0 {
            if groups(fraction) < lack || habits.mysql_decimals {
                return Err(Reason::OutOfRange);
            }
            let scale = (groups(fraction) - lack) * GROUP as i64;
            if self.point + scale <= self.start as i64 {
                // Nothing of it is left; the server does not look whether it rounds up.
                self.end = self.start;
                self.negative = false;
                return Ok(());
            }
            let start = self.start;
            self.round(scale);
            if self.start < start && self.integral() > -(SCALE_MAX as i64) {
                // 81 nines and more: the server's shift misplaces the carry and stores a wrong
                // number, often 0. The one place where a refusal is better than its bytes.
                return Err(Reason::OutOfRange);
            }
        }
        Ok(())
    }

    /// Rounds half away from zero to `scale` digits after the point.
    pub(super) fn round(&mut self, scale: i64) {
        let keep = self.point.saturating_add(scale);
        if keep >= self.end as i64 {
            return;
        }
        if keep < self.start as i64 {
            // The digit at the cut is a zero before the number.
            self.end = self.start;
            self.negative = false;
            return;
        }
        let keep = keep as usize;
        let up = self.digits[keep] >= 5;
        self.end = keep;
        if up {
            let mut at = keep - 1;
            while at >= self.start && self.digits[at] == 9 {
                self.digits[at] = 0;
                at -= 1;
            }
            self.digits[at] += 1;
            self.start = self.start.min(at);
            self.end = self.end.max(at + 1);
        }
        self.trim();
    }
}

/// First place from `start` on that holds no zero, at most `end`.
fn skip_zeros(text: &[u8], start: usize, end: usize) -> usize {
    text[start..end].iter().position(|&byte| byte != b'0').map_or(end, |n| start + n)
}

/// Exponent at `at`, and where the text goes on; 0 and `at` when there is none.
fn parse_exponent(text: &[u8], at: usize, habits: Habits) -> (i64, usize) {
    if !matches!(text.get(at), Some(b'e' | b'E')) {
        return (0, at);
    }
    let mut cursor = at + 1;
    // The server's integer reader skips white space here too, that of MySQL only spaces and tabs.
    let is_blank = |byte: u8| match habits.mysql_integers {
        true => matches!(byte, b' ' | b'\t'),
        false => is_latin1_space(byte),
    };
    while text.get(cursor).is_some_and(|&byte| is_blank(byte)) {
        cursor += 1;
    }
    let down = text.get(cursor) == Some(&b'-');
    if matches!(text.get(cursor), Some(b'-' | b'+')) {
        cursor += 1;
    }
    let start = cursor;
    let mut exponent: i64 = 0;
    while let Some(byte) = text.get(cursor).filter(|byte| byte.is_ascii_digit()) {
        // Far beyond any buffer: saturates there.
        exponent = (exponent * 10 + i64::from(byte - b'0')).min(i64::from(i32::MAX));
        cursor += 1;
    }
    if cursor == start {
        return (0, at);
    }
    (if down { -exponent } else { exponent }, cursor)
}
