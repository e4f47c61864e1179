//! The parts of a date or time as MySQL reads them.
//!
//! Its own rules: several delimiters between parts, a displacement from UTC at the end, no leading `+`,
//! and other forms without delimiters. Source: MySQL 9.7, mysys/my_time.cc `str_to_datetime`, `str_to_time`,
//! `time_zone_displacement_to_seconds`.

use std::ops::RangeInclusive;

use super::{CENTURY_TURN, HOUR_MAX, Moment, check_date, half_unit};
use crate::civil::{self, days_since_1970};
use crate::ctype::is_ascii_space;
use crate::reason::Reason;
use crate::sql_mode::SqlMode;
use crate::zone::Zone;

/// Largest number of a part.
const PART_MAX: u32 = 999_999;
/// Largest displacement from UTC, in minutes.
const OFFSET_MAX: i32 = 14 * 60;
/// Parts of a datetime: year to second, and the fraction.
const PARTS: usize = 7;
const DAY: usize = 2;
const SECOND: usize = 5;
const FRACTION: usize = 6;
const DAY_SECONDS: i64 = 86_400;
/// Seconds since 1970 of a text with a displacement: until 3001-01-18 23:59:59.
const MOMENTS: RangeInclusive<i64> = 1..=32_536_771_199;
/// Shortest text that may be a datetime where a time is expected.
const DATETIME_MIN: usize = 12;

/// A text that was read.
pub(super) struct Read {
    pub(super) moment: Moment,
    /// Seconds east of UTC, if the text has them.
    pub(super) offset: Option<i32>,
    /// 1 when the digits after the sixth of the fraction round up.
    pub(super) round_up_micros: u32,
}

impl Read {
    /// Midnight, which MySQL stores for texts that it cannot read and has no warning for, such as the
    /// empty one.
    fn zero(text: &[u8]) -> Result<Read, Reason> {
        // It refuses some of other characters earlier.
        if !text.is_ascii() {
            return Err(Reason::NotATime);
        }
        let moment = Moment { is_time: true, ..Moment::default() };
        Ok(Read { moment, offset: None, round_up_micros: 0 })
    }

    /// Refuses a text with a displacement that is rounded to the next second: MySQL rounds some before
    /// it changes the zone, and forgets the displacement of others.
    pub(super) fn check_rounding(&self, mode: SqlMode, digits: u8) -> Result<(), Reason> {
        let is_rounded = mode.contains(SqlMode::TIME_ROUND_FRACTIONAL)
            && self.moment.micro + self.round_up_micros + half_unit(digits) >= 1_000_000;
        match is_rounded && self.offset.is_some() {
            true => Err(Reason::NotATime),
            false => Ok(()),
        }
    }

    /// The local time of `zone` at the moment that is meant.
    pub(super) fn local(&self, zone: Option<&Zone>) -> Result<Moment, Reason> {
        let (moment, Some(offset)) = (self.moment, self.offset) else { return Ok(self.moment) };
        let zone = zone.ok_or(Reason::NotATime)?;
        if moment.month == 0 || moment.day == 0 {
            return Err(Reason::ZeroDate);
        }
        let days = days_since_1970(moment.year, moment.month, moment.day);
        let of_day = i64::from(moment.hour * 3600 + moment.minute * 60 + moment.second);
        let utc = days * DAY_SECONDS + of_day - i64::from(offset);
        if !MOMENTS.contains(&utc) {
            return Err(Reason::OutOfRange);
        }
        let local = zone.local_of(utc);
        let (year, month, day) = civil::date(local.div_euclid(DAY_SECONDS));
        let of_day = local.rem_euclid(DAY_SECONDS) as u32;
        let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
        let year = u32::try_from(year).map_err(|_| Reason::OutOfRange)?;
        Ok(Moment { year, month, day, hour, minute, second, ..moment })
    }
}

/// Why a text is no date.
enum Stop {
    /// It may be something else.
    OtherForm,
    Refused(Reason),
}

struct Scan<'a> {
    text: &'a [u8],
    at: usize,
    parts: [u32; PARTS],
    /// Digits of each.
    sizes: [usize; PARTS],
    /// Parts read.
    count: usize,
    /// Digits of the year in a text without delimiters.
    packed_year: Option<usize>,
    offset: Option<i32>,
    has_delimiter: bool,
    has_space: bool,
}

/// A date, perhaps with a time of day and a displacement.
pub(super) fn parse_datetime(text: &[u8], mode: SqlMode) -> Result<Read, Reason> {
    match read_datetime(text, mode, false) {
        Ok(read) => Ok(read),
        Err(Stop::OtherForm) => Err(Reason::NotATime),
        Err(Stop::Refused(reason)) => Err(reason),
    }
}

fn read_datetime(text: &[u8], mode: SqlMode, needs_time: bool) -> Result<Read, Stop> {
    let mut scan = Scan::new(text).ok_or(Stop::OtherForm)?;
    scan.read_parts().ok_or(Stop::OtherForm)?;
    if needs_time && scan.has_delimiter && !scan.has_space {
        return Err(Stop::OtherForm);
    }
    let moment = scan.moment().map_err(Stop::Refused)?;
    check_date(&moment, mode).map_err(Stop::Refused)?;
    let round_up_micros = scan.skip_digits_after_fraction();
    if matches!(scan.peek(), Some(b'+' | b'-')) {
        scan.offset = Some(parse_offset(scan.rest()).ok_or(Stop::OtherForm)?);
        scan.at = text.len();
    }
    match scan.rest().iter().all(|&byte| is_ascii_space(byte)) {
        true => Ok(Read { moment, offset: scan.offset, round_up_micros }),
        false => Err(Stop::Refused(Reason::NotATime)),
    }
}

impl<'a> Scan<'a> {
    /// None: the text does not begin with a digit.
    fn new(text: &'a [u8]) -> Option<Scan<'a>> {
        let at = text.iter().take_while(|&&byte| is_ascii_space(byte)).count();
        let first = &text[at..];
        first.first().filter(|byte| byte.is_ascii_digit())?;
        let run = first.iter().take_while(|&&byte| byte.is_ascii_digit() || byte == b'T').count();
        let is_packed = first.get(run).is_none_or(|&byte| byte == b'.');
        let year = if matches!(run, 4 | 8 | 14..) { 4 } else { 2 };
        Some(Scan {
            text,
            at,
            parts: [0; PARTS],
            sizes: [0; PARTS],
            count: 0,
            packed_year: is_packed.then_some(year),
            offset: None,
            has_delimiter: false,
            has_space: false,
        })
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn rest(&self) -> &'a [u8] {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// Reads all parts; None: a form that is no date. What follows the last part that has an end is
    /// left.
    fn read_parts(&mut self) -> Option<()> {
        let mut last = self.at;
        while self.count < PARTS && self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            let part = self.count;
            self.count += 1;
            self.read_number(part)?;
            last = self.at;
            let Some(next) = self.peek() else { break };
            match (part, next) {
                (DAY, b'T') => {
                    self.at += 1;
                    continue;
                }
                (SECOND, b'.') => {
                    self.at += 1;
                    last = self.at;
                    continue;
                }
                (SECOND, b'0'..=b'9') => break,
                (SECOND | FRACTION, b'+' | b'-') => {
                    self.offset = Some(parse_offset(self.rest())?);
                    last = self.text.len();
                    break;
                }
                // Nothing but a fraction or a displacement belongs to a time from here on.
                (SECOND, _) => break,
                _ => {}
            }
            self.skip_delimiters(part)?;
            last = self.at;
        }
        self.at = last;
        Some(())
    }

    fn read_number(&mut self, part: usize) -> Option<()> {
        let most = match (part, self.packed_year) {
            (FRACTION, _) => 6,
            (_, None) => usize::MAX,
            (0, Some(year)) => year,
            (_, Some(_)) => 2,
        };
        let start = self.at;
        let mut number = 0;
        while let Some(byte) = self.peek().filter(u8::is_ascii_digit) {
            if self.at - start == most {
                break;
            }
            number = number * 10 + u32::from(byte - b'0');
            if number > PART_MAX {
                return None;
            }
            self.at += 1;
        }
        self.parts[part] = number;
        self.sizes[part] = self.at - start;
        Some(())
    }

    fn skip_delimiters(&mut self, part: usize) -> Option<()> {
        while let Some(byte) = self.peek() {
            if is_ascii_space(byte) {
                if !matches!(part, DAY | FRACTION) {
                    return None;
                }
                self.has_space = true;
            } else if !byte.is_ascii_punctuation() {
                break;
            }
            self.has_delimiter = true;
            self.at += 1;
        }
        Some(())
    }

    fn moment(&self) -> Result<Moment, Reason> {
        let [mut year, month, day, hour, minute, second, fraction] = self.parts;
        let has_century = self.packed_year.unwrap_or(self.sizes[0]) != 2;
        if !has_century && self.parts.iter().any(|&part| part != 0) {
            year += if year < CENTURY_TURN { 2000 } else { 1900 };
        }
        let in_range = self.count > DAY
            && year <= 9999
            && month <= 12
            && day <= 31
            && hour <= 23
            && minute <= 59
            && second <= 59;
        let micro = fraction * 10u32.pow(6 - self.sizes[FRACTION] as u32);
        match in_range {
            true => {
                Ok(Moment { year, month, day, hour, minute, second, micro, ..Moment::default() })
            }
            false => Err(Reason::NotATime),
        }
    }

    /// Passes digits that a fraction has too many; 1 if they round up.
    fn skip_digits_after_fraction(&mut self) -> u32 {
        if self.sizes[FRACTION] != 6 {
            return 0;
        }
        let round_up = self.peek().is_some_and(|byte| (b'5'..=b'9').contains(&byte));
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        u32::from(round_up)
    }
}

/// `+hh:mm` and white space, in seconds; `-00:00` is none.
fn parse_offset(text: &[u8]) -> Option<i32> {
    let (&[sign, h0, h1, colon, m0, m1], rest) = text.split_first_chunk::<6>()?;
    let digits = [h0, h1, m0, m1];
    let is_written = matches!(sign, b'+' | b'-')
        && colon == b':'
        && digits.iter().all(u8::is_ascii_digit)
        && rest.iter().all(|&byte| is_ascii_space(byte));
    let [h0, h1, m0, m1] = digits.map(|digit| i32::from(digit) - i32::from(b'0'));
    let (hours, minutes) = (h0 * 10 + h1, m0 * 10 + m1);
    let all = hours * 60 + minutes;
    let is_valid = is_written && minutes < 60 && all <= OFFSET_MAX && !(sign == b'-' && all == 0);
    is_valid.then_some(if sign == b'-' { -60 * all } else { 60 * all })
}

/// A time, or a datetime of which the time of day is taken.
pub(super) fn parse_time(text: &[u8], mode: SqlMode) -> Result<Read, Reason> {
    let blank = text.iter().take_while(|&&byte| is_ascii_space(byte)).count();
    let negative = text.get(blank) == Some(&b'-');
    let body = &text[blank + usize::from(negative)..];
    if body.len() >= DATETIME_MIN {
        // Only the time of day counts: any date will do.
        let lenient = mode.without(SqlMode::NO_ZERO_DATE | SqlMode::NO_ZERO_IN_DATE);
        match read_datetime(body, lenient | SqlMode::ALLOW_INVALID_DATES, true) {
            Ok(_) if negative => return Err(Reason::NotATime),
            Ok(read) => return Ok(read),
            Err(Stop::Refused(reason)) => return Err(reason),
            Err(Stop::OtherForm) => {}
        }
    }
    read_time(body, negative)
}

/// Digits at `at`, and where they end. Wraps as the server's numbers do.
fn number(text: &[u8], mut at: usize) -> (u64, usize) {
    let mut value = 0u64;
    while let Some(byte) = text.get(at).filter(|byte| byte.is_ascii_digit()) {
        value = value.wrapping_mul(10).wrapping_add(u64::from(byte - b'0'));
        at += 1;
    }
    (value, at)
}

/// `[DD ]hh:mm:ss.ffffff`, or hhmmss without colons.
fn read_time(text: &[u8], negative: bool) -> Result<Read, Reason> {
    let number_max = u64::from(u32::MAX);
    let (first, end_of_first) = number(text, 0);
    if text.is_empty() || first > number_max {
        return Read::zero(text);
    }
    let is_digit = |at: usize| text.get(at).is_some_and(u8::is_ascii_digit);
    let blanks = text[end_of_first..].iter().take_while(|&&byte| is_ascii_space(byte)).count();
    let mut at = end_of_first + blanks;
    let mut parts = [0u64; 4];
    // Days, hours, minutes, seconds.
    let mut part = match text.get(at) {
        Some(_) if blanks > 0 && at + 1 < text.len() && is_digit(at) => {
            parts[0] = first;
            1
        }
        Some(b':') if is_digit(at + 1) => {
            parts[1] = first;
            at += 1;
            2
        }
        _ => {
            parts = [0, first / 10_000, first / 100 % 100, first % 100];
            4
        }
    };
    while part < 4 {
        (parts[part], at) = number(text, at);
        part += 1;
        if part == 4 || text.get(at) != Some(&b':') || !is_digit(at + 1) {
            break;
        }
        at += 1;
    }
    let (micro, round_up_micros, at) = read_fraction(text, at);
    let [days, hours, minutes, seconds] = parts;
    let rest = text.get(at..).unwrap_or_default();
    if is_exponent(rest) || parts.iter().any(|&part| part > number_max) {
        return Read::zero(text);
    }
    let is_read = at > 0 && rest.iter().all(|&byte| is_ascii_space(byte));
    if !is_read || minutes > 59 || seconds > 59 {
        return Err(Reason::NotATime);
    }
    // The server's sum has 32 bits.
    let hour = (days * 24 + hours) as u32;
    let is_last = u64::from(hour) == HOUR_MAX && (minutes, seconds) == (59, 59);
    if u64::from(hour) > HOUR_MAX || (is_last && micro > 0) {
        return Err(Reason::OutOfRange);
    }
    let (minute, second) = (minutes as u32, seconds as u32);
    let moment =
        Moment { hour, minute, second, micro, negative, is_time: true, ..Moment::default() };
    Ok(Read { moment, offset: None, round_up_micros })
}

/// True of `e5`, `E+5`.
fn is_exponent(text: &[u8]) -> bool {
    let ([b'e' | b'E', b'+' | b'-', digit, ..] | [b'e' | b'E', digit, ..]) = text else {
        return false;
    };
    digit.is_ascii_digit()
}

/// Microseconds, 1 if the digits after them round up, and where the text goes on.
fn read_fraction(text: &[u8], at: usize) -> (u32, u32, usize) {
    if text.get(at) != Some(&b'.') {
        return (0, 0, at);
    }
    let digits = text[at + 1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let end = at + 1 + digits;
    if digits == 0 {
        // A point at the end is passed over; any other is left.
        return (0, 0, if end == text.len() { end } else { at });
    }
    let kept = &text[at + 1..at + 1 + digits.min(6)];
    let number = kept.iter().fold(0, |sum, byte| sum * 10 + u32::from(byte - b'0'));
    let micro = number * 10u32.pow(6 - kept.len() as u32);
    // The last digit rounds, not the seventh.
    let round_up = digits > 6 && text[end - 1] >= b'5';
    (micro, u32::from(round_up), end)
}
