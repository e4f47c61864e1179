//! The server's relaxed reading of dates and times: any punctuation between the parts, none at
//! all, two-digit years, `T`, fractions, day counts before a time.
//!
//! Only texts the straight paths of `temporal.rs` do not know come here. What the server merely
//! warns about is an error, because strict mode makes it one; what it notes (a fraction cut off, a
//! date's time of day left out) is not. Source: MariaDB 10.11, sql-common/my_time.c
//! `str_to_datetime_or_date`, `str_to_datetime_or_date_or_time`, `str_to_DDhhmmssff_internal`;
//! sql/sql_type.cc `Temporal::datetime_round_or_invalidate`.

use crate::ctype::{is_latin1_punct, is_latin1_space};
use crate::reason::Reason;
use crate::sql_mode::SqlMode;

/// A date with a time of day, or a time alone (`days` parts zero, `hour` to 838).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Moment {
    pub(crate) year: u32,
    pub(crate) month: u32,
    pub(crate) day: u32,
    pub(crate) hour: u32,
    pub(crate) minute: u32,
    pub(crate) second: u32,
    pub(crate) micro: u32,
    /// Of a time alone.
    pub(crate) negative: bool,
}

/// Largest hour of a TIME.
const HOUR_MAX: u64 = 838;
/// Two-digit years from here on belong to the 20th century.
const CENTURY_TURN: u32 = 70;

/// Reads a DATE or DATETIME. `digits` of the fraction are kept.
pub(crate) fn parse_datetime(text: &[u8], mode: SqlMode, digits: u8) -> Result<Moment, Reason> {
    let (negative, body) = find_body(text)?;
    let date = parse_date_body(body, mode, true);
    let mut moment = date.result?;
    if negative || !date.whole {
        return Err(Reason::NotATime);
    }
    if mode.contains(SqlMode::TIME_ROUND_FRACTIONAL) {
        // Twice: the seventh digit to microseconds, then these to the column's digits.
        for micros in [date.round_up_micros, half_unit(digits)] {
            if moment.add_micros(micros) {
                add_hour(&mut moment, mode)?;
            }
        }
    }
    moment.cut(digits);
    Ok(moment)
}

/// Reads a TIME, which may also be given as the time of day of a DATETIME.
pub(crate) fn parse_time(text: &[u8], mode: SqlMode, digits: u8) -> Result<Moment, Reason> {
    let (negative, body) = find_body(text)?;
    let (mut moment, round_up_micros) = parse_time_body(body, mode, negative)?;
    if mode.contains(SqlMode::TIME_ROUND_FRACTIONAL) {
        for micros in [round_up_micros, half_unit(digits)] {
            if moment.add_micros(micros) {
                moment.hour += 1;
                if u64::from(moment.hour) > HOUR_MAX {
                    return Err(Reason::OutOfRange);
                }
            }
        }
    }
    moment.cut(digits);
    Ok(moment)
}

/// Half of the last digit kept, in microseconds.
fn half_unit(digits: u8) -> u32 {
    [500_000, 50_000, 5_000, 500, 50, 5, 0][usize::from(digits.min(6))]
}

impl Moment {
    /// Adds less than a second; true if that begins another hour, which is left to the caller.
    fn add_micros(&mut self, micros: u32) -> bool {
        self.micro += micros;
        if self.micro < 1_000_000 {
            return false;
        }
        self.micro -= 1_000_000;
        self.second += 1;
        if self.second < 60 {
            return false;
        }
        self.second = 0;
        self.minute += 1;
        if self.minute < 60 {
            return false;
        }
        self.minute = 0;
        true
    }

    fn cut(&mut self, digits: u8) {
        let unit = 10u32.pow(6 - u32::from(digits.min(6)));
        self.micro -= self.micro % unit;
    }

    fn is_zero(&self) -> bool {
        *self == Moment::default()
    }
}

/// The next hour of a date that rounding reached.
fn add_hour(moment: &mut Moment, mode: SqlMode) -> Result<(), Reason> {
    if moment.hour < 23 && moment.year != 0 && moment.month != 0 && moment.day != 0 {
        moment.hour += 1;
        return Ok(());
    }
    let last = days_in_month(moment.year, moment.month);
    if moment.year == 0 || moment.month == 0 || moment.day == 0 {
        return Err(Reason::ZeroDate);
    }
    if (moment.year, moment.month, moment.day) == (9999, 12, 31) {
        return Err(Reason::OutOfRange);
    }
    if moment.day > last && !mode.contains(SqlMode::ALLOW_INVALID_DATES) {
        return Err(Reason::NotATime);
    }
    moment.hour = 0;
    // 2024-02-31 under ALLOW_INVALID_DATES is the second of March.
    moment.day += 1;
    if moment.day > last {
        moment.day -= last;
        moment.month += 1;
        if moment.month > 12 {
            (moment.month, moment.year) = (1, moment.year + 1);
        }
    }
    Ok(())
}

/// Days of a month, 1 to 12.
pub(crate) fn days_in_month(year: u32, month: u32) -> u32 {
    match month {
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => {
            // Year 0 counts as no leap year.
            if year == 0 { 28 } else { 29 }
        }
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Whether the parts may stand together in a date, given that each is in its range.
fn check_date(moment: &Moment, mode: SqlMode) -> Result<(), Reason> {
    if moment.is_zero() {
        return match mode.contains(SqlMode::NO_ZERO_DATE) {
            true => Err(Reason::ZeroDate),
            false => Ok(()),
        };
    }
    if mode.contains(SqlMode::NO_ZERO_IN_DATE) && (moment.month == 0 || moment.day == 0) {
        return Err(Reason::ZeroDate);
    }
    let invalid = moment.month != 0 && moment.day > days_in_month(moment.year, moment.month);
    match invalid && !mode.contains(SqlMode::ALLOW_INVALID_DATES) {
        true => Err(Reason::NotATime),
        false => Ok(()),
    }
}

/// Sign, and what is left between white space; it begins with a digit.
fn find_body(text: &[u8]) -> Result<(bool, &[u8]), Reason> {
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

/// What became of a text read as a date.
struct DateBody {
    result: Result<Moment, Reason>,
    /// No more than a date: year, month, day.
    fields: u32,
    /// Read to the end without doubt.
    whole: bool,
    /// Bytes read.
    end: usize,
    /// 1 when the seventh digit of the fraction rounds up.
    round_up_micros: u32,
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

fn parse_date_body(text: &[u8], mode: SqlMode, punct_allowed: bool) -> DateBody {
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

/// A time, or what is left of a datetime; and 1 if the seventh digit rounds up.
fn parse_time_body(text: &[u8], mode: SqlMode, negative: bool) -> Result<(Moment, u32), Reason> {
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
                return Ok((Moment { year: 0, month: 0, day: 0, ..moment }, date.round_up_micros));
            }
            Err(reason) if date.fields > 3 || (date.fields == 3 && !is_time) => return Err(reason),
            _ => {}
        }
    }
    parse_days_and_time(text, negative)
}

/// Whether a text is long or punctuated enough to be tried as a datetime first.
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
