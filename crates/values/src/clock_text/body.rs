//! The parts of a date or time, in the order of the text.
//!
//! Source: MariaDB 10.11, sql-common/my_time.c `find_body`, `str_to_datetime_or_date_body`,
//! `str_to_datetime_or_date_or_time_body`, `str_to_DDhhmmssff_internal`.

use super::{CENTURY_TURN, HOUR_MAX, Moment, check_date};
use crate::ctype::{is_latin1_punct, is_latin1_space};
use crate::reason::Reason;
use crate::sql_mode::SqlMode;

/// Sign, and what is left between white space; it begins with a digit.
pub(super) fn find_body(text: &[u8]) -> Result<(bool, &[u8]), Reason> {
    let skip = |text: &[u8]| text.iter().take_while(|&&byte| is_latin1_space(byte)).count();
    let mut body = &text[skip(text)..];
    let negative = body.first() == Some(&b'-');
    if matches!(body.first(), Some(b'-' | b'+')) {
        body = &body[1..];
    }
    body = &body[skip(body)..];
    while let [rest @ .., last] = body {
        let after_digit = rest.last().is_some_and(u8::is_ascii_digit);
        if last.is_ascii_digit() || is_latin1_punct(*last) || (*last == b'T' && after_digit) {
            break;
        }
        if !is_latin1_space(*last) {
            return Err(Reason::NotATime);
        }
        body = rest;
    }
    match body.first() {
        Some(first) if first.is_ascii_digit() => Ok((negative, body)),
        _ => Err(Reason::NotATime),
    }
}

/// The result of a text read as a date.
pub(super) struct DateBody {
    pub(super) result: Result<Moment, Reason>,
    /// No more than a date: year, month, day.
    fields: u32,
    /// Read to the end without doubt.
    pub(super) whole: bool,
    /// Bytes read.
    end: usize,
    /// 1 when the seventh digit of the fraction rounds up.
    pub(super) round_up_micros: u32,
}

/// A cursor over the bytes of a date or time.
struct Cursor<'a> {
    text: &'a [u8],
    at: usize,
    /// Numbers read so far.
    fields: u32,
}

impl Cursor<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    /// Reads at most `digits_max` digits into `value`; at the end of the text there is nothing to
    /// read and nothing wrong. False at any other character.
    fn number(&mut self, value: &mut u32, digits_max: usize) -> bool {
        let start = self.at;
        let mut number = 0u32;
        while let Some(byte) = self.peek().filter(u8::is_ascii_digit) {
            if self.at - start == digits_max {
                break;
            }
            // Wraps like the server's unsigned arithmetic.
            number = number.wrapping_mul(10).wrapping_add(u32::from(byte - b'0'));
            self.at += 1;
        }
        if self.at > start {
            *value = number;
            self.fields += 1;
        }
        self.at > start || self.at == self.text.len()
    }

    fn punct(&mut self) -> bool {
        match self.peek() {
            None => true,
            Some(byte) if is_latin1_punct(byte) => {
                self.at += 1;
                true
            }
            Some(_) => false,
        }
    }

    /// Between date and time: `T`, white space, or one punctuation character if allowed.
    fn separator(&mut self, punct_allowed: bool) -> bool {
        match self.peek() {
            None => true,
            Some(b'T') => {
                self.at += 1;
                true
            }
            Some(byte) if is_latin1_punct(byte) => {
                if !punct_allowed {
                    self.fields = 0;
                    return false;
                }
                self.at += 1;
                true
            }
            Some(byte) if is_latin1_space(byte) => {
                while self.peek().is_some_and(is_latin1_space) {
                    self.at += 1;
                }
                true
            }
            Some(_) => false,
        }
    }

    /// Digits after the point: microseconds, and 1 more if the seventh digit is 5 or above. False
    /// when something else than a digit follows the point.
    fn fraction(&mut self, micro: &mut u32, round_up: &mut u32) -> bool {
        let start = self.at;
        let mut value = 0;
        let good = self.number(&mut value, 6);
        *micro = value * 10u32.pow(6 - (self.at - start) as u32);
        *round_up = u32::from(self.peek().is_some_and(|byte| (b'5'..=b'9').contains(&byte)));
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        good
    }
}

pub(super) fn parse_date_body(text: &[u8], mode: SqlMode, punct_allowed: bool) -> DateBody {
    let mut moment = Moment::default();
    let mut cursor = Cursor { text, at: 0, fields: 0 };
    let (good, year_digits) = match undelimited_digits(text) {
        Some(digits) => {
            let year_digits = if digits == 4 || digits == 8 || digits >= 14 { 4 } else { 2 };
            let good = cursor.number(&mut moment.year, year_digits)
                && cursor.number(&mut moment.month, 2)
                && cursor.number(&mut moment.day, 2)
                && {
                    cursor.at += usize::from(cursor.peek() == Some(b'T'));
                    cursor.number(&mut moment.hour, 2)
                }
                && cursor.number(&mut moment.minute, 2)
                && cursor.number(&mut moment.second, 2);
            (good, year_digits)
        }
        None => {
            let mut good = cursor.number(&mut moment.year, usize::MAX);
            let year_digits = cursor.at;
            good = good
                && cursor.punct()
                && cursor.number(&mut moment.month, usize::MAX)
                && cursor.punct()
                && cursor.number(&mut moment.day, usize::MAX)
                && cursor.separator(punct_allowed)
                && cursor.number(&mut moment.hour, usize::MAX)
                && cursor.punct()
                && cursor.number(&mut moment.minute, usize::MAX)
                && cursor.punct()
                && cursor.number(&mut moment.second, usize::MAX);
            (good, year_digits)
        }
    };
    let mut body = DateBody {
        result: Err(Reason::NotATime),
        fields: cursor.fields,
        whole: good,
        end: cursor.at,
        round_up_micros: 0,
    };
    if cursor.fields < 3 {
        return body;
    }
    if good && cursor.peek() == Some(b'.') {
        cursor.at += 1;
        body.whole = cursor.fraction(&mut moment.micro, &mut body.round_up_micros);
        body.end = cursor.at;
        body.fields = cursor.fields;
    }
    body.whole &= cursor.at == text.len();
    if year_digits == 2 && !moment.is_zero() {
        moment.year += if moment.year < CENTURY_TURN { 2000 } else { 1900 };
    }
    let in_range = moment.year <= 9999
        && moment.month <= 12
        && moment.day <= 31
        && moment.hour <= 23
        && moment.minute <= 59
        && moment.second <= 59;
    body.result = match in_range {
        true => check_date(&moment, mode).map(|()| moment),
        false => Err(Reason::NotATime),
    };
    body
}

/// Digits of `YYMMDD`, `YYYYMMDD`, `YYYYMMDDhhmmss` and the like when the text is nothing but
/// them, with a `T` before the time and a fraction after it.
fn undelimited_digits(text: &[u8]) -> Option<usize> {
    let run = |from: usize| text[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let mut digits = run(0);
    let mut at = digits;
    if text.get(at) == Some(&b'T') {
        at += 1;
        let more = run(at);
        digits += more;
        at += more;
    }
    if text.get(at) == Some(&b'.') && digits >= 12 {
        at += 1;
        at += run(at);
    }
    (at == text.len()).then_some(digits)
}

/// A time or a datetime; and 1 if the seventh digit of the fraction rounds up.
pub(super) fn parse_time_body(
    text: &[u8],
    mode: SqlMode,
    negative: bool,
) -> Result<(Moment, u32), Reason> {
    if may_be_datetime(text) {
        let date = parse_date_body(text, mode, false);
        let used = &text[..date.end];
        // 24:02:03 was read as a date of three parts, but its colons say that it is a time.
        let is_time = !used.contains(&b'T') && used.contains(&b':');
        match date.result {
            Ok(moment) if date.fields > 3 || !is_time => {
                if negative || !date.whole {
                    return Err(Reason::NotATime);
                }
                return Ok((moment, date.round_up_micros));
            }
            Err(reason) if date.fields > 3 || (date.fields == 3 && !is_time) => return Err(reason),
            _ => {}
        }
    }
    parse_days_and_time(text, negative)
}

/// True if a text is long or punctuated enough to be tried as a datetime first.
fn may_be_datetime(text: &[u8]) -> bool {
    if text.len() >= 12 {
        return true;
    }
    // 1-1-1 and a separator.
    if text.len() < 6 {
        return false;
    }
    let mut puncts = 0;
    for &byte in text {
        match byte {
            b'T' => return true,
            b' ' => return puncts > 0,
            _ => puncts += u32::from(is_latin1_punct(byte)),
        }
    }
    false
}

/// `[DD ]hh:mm:ss.ffffff`, or hhmmss without colons.
fn parse_days_and_time(text: &[u8], negative: bool) -> Result<(Moment, u32), Reason> {
    // UINT_MAX32 : 59 : 59
    const NUMBER_MAX: u64 = 42_949_672_955_959;
    let mut cursor = Cursor { text, at: 0, fields: 0 };
    let mut first = 0u64;
    while let Some(byte) = cursor.peek().filter(u8::is_ascii_digit) {
        first = first * 10 + u64::from(byte - b'0');
        if first >= NUMBER_MAX {
            return Err(Reason::OutOfRange);
        }
        cursor.at += 1;
    }
    let end_of_days = cursor.at;
    while cursor.peek().is_some_and(is_latin1_space) {
        cursor.at += 1;
    }
    let next_is_digit = |at: usize| text.get(at).is_some_and(u8::is_ascii_digit);
    // Days, hours, minutes, seconds.
    let mut parts = [0u64; 4];
    if cursor.at + 1 < text.len() && cursor.at != end_of_days && next_is_digit(cursor.at) {
        parts[0] = first;
        read_clock(&mut cursor, &mut parts, 1);
    } else if cursor.peek() == Some(b':') && next_is_digit(cursor.at + 1) {
        parts[1] = first;
        cursor.at += 1;
        read_clock(&mut cursor, &mut parts, 2);
    } else {
        parts = [0, first / 10_000, first / 100 % 100, first % 100];
    }
    let (mut micro, mut round_up, mut good) = (0, 0, true);
    if cursor.peek() == Some(b'.') {
        cursor.at += 1;
        good = cursor.fraction(&mut micro, &mut round_up);
    }
    let [days, hours, minutes, seconds] = parts;
    let hour = days.saturating_mul(24).saturating_add(hours);
    if !good || cursor.at != text.len() || minutes > 59 || seconds > 59 {
        return Err(Reason::NotATime);
    }
    if hour > HOUR_MAX {
        return Err(Reason::OutOfRange);
    }
    let moment = Moment {
        hour: hour as u32,
        minute: minutes as u32,
        second: seconds as u32,
        micro,
        negative,
        is_time: true,
        ..Moment::default()
    };
    Ok((moment, round_up))
}

/// Numbers parted by colons into `parts` from `index` on.
fn read_clock(cursor: &mut Cursor<'_>, parts: &mut [u64; 4], index: usize) {
    for part in &mut parts[index..] {
        while let Some(byte) = cursor.peek().filter(u8::is_ascii_digit) {
            *part = part.saturating_mul(10).saturating_add(u64::from(byte - b'0'));
            cursor.at += 1;
        }
        let more = cursor.text.get(cursor.at + 1).is_some_and(u8::is_ascii_digit);
        if cursor.peek() != Some(b':') || !more {
            return;
        }
        cursor.at += 1;
    }
    // A fourth colon is rubbish: put it back where the caller finds it.
    cursor.at -= 1;
}
