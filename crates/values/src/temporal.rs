//! DATE, TIME, DATETIME and TIMESTAMP: packed big-endian, with the fraction of a second behind.
//!
//! ```text
//! DATE       3 bytes  year * 512 + month * 32 + day, as a signed integer
//! TIME       3 bytes  0x800000 + (hour << 12 | minute << 6 | second), then the fraction; a
//!                     negative time is subtracted together with its fraction, as one number
//! DATETIME   5 bytes  0x8000000000 + ((year * 13 + month) << 5 | day) << 17 | time of day
//! TIMESTAMP  4 bytes  seconds since 1970 in UTC, 0 for 0000-00-00
//! fraction   (n + 1) / 2 bytes: two digits each
//! ```
//! Source: MariaDB 10.11, sql/compat56.cc; sql/field.cc `Field_newdate::store_TIME`,
//! `Field_timestamp::store_TIME_with_warning`. The straight path takes `YYYY-MM-DD`, `HH:MM:SS`
//! and both with a space between; `clock_text.rs` has everything else.

use std::ops::RangeInclusive;

use crate::civil::{self, Clock, MICROS_OF_DAY, days_since_1970};
use crate::clock_text::{self, Dialect, Moment, days_in_month};
use crate::digits;
use crate::habits::Habits;
use crate::integer::push_be;
use crate::reason::Reason;
use crate::sql_mode::SqlMode;
use crate::text_end::{Narrow, TextEnd};
use crate::value::Value;
use crate::zone::{LocalClock, Zone};

/// Six digits `YYMMDD` or `hhmmss` in the low bytes, two zeros behind.
const TWO_ZEROS: u64 = 0x3030_0000_0000_0000;
/// The dashes of `YYYY-MM-`, and where they are.
const DASHES: u64 = 0x2D00_002D_0000_0000;
const DASHES_AT: u64 = 0xFF00_00FF_0000_0000;
/// Last second of a TIMESTAMP: of old servers, and of new ones, in 2106.
const STAMP_END: i64 = 0x7fff_ffff;
const STAMP_END_2106: i64 = 0xffff_ffff;
/// Microseconds from which a second is rounded up.
const HALF_SECOND: u32 = 500_000;

/// `YYYY-MM-DD` of an existing day, year 1 or later.
#[inline(always)]
fn parse_canonical_date(text: &[u8; 10]) -> Option<(u32, u32, u32)> {
    // "YYYY-MM-" and "YY-MM-DD".
    let (first, last) =
        (u64::from_le_bytes(*text.first_chunk()?), u64::from_le_bytes(*text.last_chunk()?));
    if (first ^ DASHES) & DASHES_AT != 0 {
        return None;
    }
    let digits = first & 0xFFFF_FFFF | first >> 8 & 0xFFFF << 32 | last & 0xFFFF << 48;
    let [century, _, year, _, month, _, day, _] = digits::pairs(digits)?.map(u32::from);
    let year = century * 100 + year;
    let exists = year >= 1
        && (1..=12).contains(&month)
        && day >= 1
        && (day <= 28 || day <= days_in_month(year, month));
    exists.then_some((year, month, day))
}

/// `HH:MM:SS` as hour << 12 | minute << 6 | second; hours up to 99.
#[inline(always)]
fn parse_canonical_time(text: &[u8; 8]) -> Option<u32> {
    let bytes = u64::from_le_bytes(*text);
    let [h0, h1, colon1, m0, m1, colon2, s0, s1] = bytes.to_le_bytes();
    if colon1 != b':' || colon2 != b':' {
        return None;
    }
    let six = u64::from_le_bytes([h0, h1, m0, m1, s0, s1, 0, 0]);
    let number = digits::eight(six | TWO_ZEROS)? as u32 / 100;
    let (hour, minute, second) = (number / 10_000, number / 100 % 100, number % 100);
    (minute <= 59 && second <= 59).then_some(hour << 12 | minute << 6 | second)
}

/// Microseconds of `.` and 1 to 6 digits, or of nothing.
#[inline(always)]
fn parse_canonical_fraction(text: &[u8]) -> Option<u32> {
    match text {
        [] => Some(0),
        [b'.', tail @ ..] if tail.len() <= 6 => {
            Some((digits::up_to_18(tail)? * digits::POW10[6 - tail.len()]) as u32)
        }
        _ => None,
    }
}

/// How a column keeps fractions of a second.
#[derive(Clone, Copy, Debug)]
struct Fraction {
    digits: u8,
    /// Bytes stored.
    bytes: usize,
    /// Microseconds of the last digit kept: what is below is cut off.
    unit: u32,
    /// Microseconds of one in the stored number.
    stored_unit: u32,
    mode: SqlMode,
}

impl Fraction {
    fn new(digits: u8, mode: SqlMode) -> Fraction {
        let bytes = usize::from(digits).div_ceil(2);
        Fraction {
            digits,
            bytes,
            unit: 10u32.pow(6 - u32::from(digits)),
            stored_unit: 10u32.pow(6 - 2 * bytes as u32),
            mode,
        }
    }

    /// True if the straight path may take these microseconds.
    #[inline(always)]
    fn is_cut(&self, micro: u32) -> bool {
        micro.is_multiple_of(self.unit) || !self.mode.contains(SqlMode::TIME_ROUND_FRACTIONAL)
    }

    /// The stored fraction behind a number: one number to write.
    #[inline(always)]
    fn join(&self, number: u64, micro: u32) -> u64 {
        let kept = micro - micro % self.unit;
        number << (8 * self.bytes) | u64::from(kept / self.stored_unit)
    }
}

/// Converts text to DATE.
#[derive(Clone, Debug)]
pub(crate) struct Date {
    mode: SqlMode,
    dialect: Dialect,
}

impl Date {
    /// Bytes that are stored.
    pub(crate) const BYTES: usize = 3;

    /// MariaDB's DATE never rounds: the time of day is left out, whatever its fraction.
    pub(crate) fn new(mode: SqlMode) -> Date {
        let mode = mode.without(SqlMode::TIME_ROUND_FRACTIONAL);
        Date { mode, dialect: Dialect::default() }
    }

    /// Reads texts as this server does. MySQL's DATE rounds as a DATETIME does: a fraction may begin
    /// the next day.
    pub(crate) fn with_dialect(self, dialect: Dialect, mode: SqlMode) -> Date {
        match dialect {
            Dialect::MariaDb => Date { dialect, ..self },
            Dialect::MySql(_) => Date { dialect, mode },
        }
    }

    #[inline]
    pub(crate) fn convert(&self, text: &[u8], out: &mut Vec<u8>) -> Result<(), Reason> {
        match self.narrow(TextEnd::new(text)) {
            Some(stored) => push_be(stored, Date::BYTES, out),
            None => {
                let date = self.parse_relaxed(text)?;
                self.store(date, out);
            }
        }
        Ok(())
    }

    #[inline(always)]
    fn stored((year, month, day): (u32, u32, u32)) -> u64 {
        u64::from((year * 512 + month * 32 + day) ^ 0x80_0000)
    }

    /// True if a clock is rounded to the next second.
    #[inline(always)]
    pub(crate) fn rounds_up(&self, clock: Clock) -> bool {
        clock.micro >= HALF_SECOND && self.mode.contains(SqlMode::TIME_ROUND_FRACTIONAL)
    }

    /// Stores a day.
    #[inline(always)]
    pub(crate) fn store(&self, date: (u32, u32, u32), out: &mut Vec<u8>) {
        push_be(Date::stored(date), Date::BYTES, out);
    }

    #[cold]
    fn parse_relaxed(&self, text: &[u8]) -> Result<(u32, u32, u32), Reason> {
        let moment = clock_text::parse_datetime(text, self.mode, 0, &self.dialect)?;
        Ok((moment.year, moment.month, moment.day))
    }
}

impl Narrow for Date {
    /// The stored number of a text `YYYY-MM-DD` of a day that exists.
    #[inline(always)]
    fn narrow(&self, text: TextEnd<'_>) -> Option<u64> {
        text.text().try_into().ok().and_then(parse_canonical_date).map(Date::stored)
    }

    /// The stored number of a day, perhaps as its midnight.
    #[inline(always)]
    fn narrow_value(&self, value: Value<'_>) -> Option<u64> {
        let (date, micros) = day_of(value).ok()?;
        (micros == 0).then(|| Date::stored(date))
    }
}

/// Converts text to TIME(n).
#[derive(Clone, Debug)]
pub(crate) struct Time {
    fraction: Fraction,
    dialect: Dialect,
}

impl Time {
    pub(crate) fn new(digits: u8, mode: SqlMode) -> Time {
        Time { fraction: Fraction::new(digits, mode), dialect: Dialect::default() }
    }

    /// Reads texts as this server does.
    pub(crate) fn with_dialect(self, dialect: Dialect) -> Time {
        Time { dialect, ..self }
    }

    #[inline]
    pub(crate) fn convert(&self, text: &[u8], out: &mut Vec<u8>) -> Result<(), Reason> {
        if let Some((clock, tail)) = text.split_first_chunk::<8>()
            && let Some(time) = parse_canonical_time(clock)
            && let Some(micro) = parse_canonical_fraction(tail)
            && self.fraction.is_cut(micro)
        {
            self.push(false, time, micro, out);
            return Ok(());
        }
        self.convert_relaxed(text, out)
    }

    /// Stores what a clock shows, of hours below the limit; false if it is to be rounded.
    #[inline]
    pub(crate) fn store(&self, negative: bool, clock: Clock, out: &mut Vec<u8>) -> bool {
        let is_cut = self.fraction.is_cut(clock.micro);
        if is_cut {
            self.push(negative, packed(clock), clock.micro, out);
        }
        is_cut
    }

    #[cold]
    fn convert_relaxed(&self, text: &[u8], out: &mut Vec<u8>) -> Result<(), Reason> {
        let Fraction { mode, digits, .. } = self.fraction;
        let moment = clock_text::parse_time(text, mode, digits, &self.dialect)?;
        let time = moment.hour << 12 | moment.minute << 6 | moment.second;
        self.push(moment.negative, time, moment.micro, out);
        Ok(())
    }

    #[inline(always)]
    fn push(&self, negative: bool, time: u32, micro: u32, out: &mut Vec<u8>) {
        let bytes = 3 + self.fraction.bytes;
        let zero = 0x80_0000 << (8 * self.fraction.bytes);
        let magnitude = self.fraction.join(u64::from(time), micro);
        push_be(if negative { zero - magnitude } else { zero + magnitude }, bytes, out);
    }
}

/// Year, month and day of a value, and the microseconds of that day.
///
/// Errors: the year, of one before year 1 or after 9999; 0 of a value that is no day.
#[inline(always)]
pub(crate) fn day_of(value: Value<'_>) -> Result<((u32, u32, u32), u64), i64> {
    let (days, micros) = match value {
        Value::Date(days) => (i64::from(days), 0),
        Value::DateTime(micros) => {
            let of_day = micros.rem_euclid(MICROS_OF_DAY) as u64;
            (micros.div_euclid(MICROS_OF_DAY), of_day)
        }
        _ => return Err(0),
    };
    let (year, month, day) = civil::date(days);
    match year {
        1..=9999 => Ok(((year as u32, month, day), micros)),
        year => Err(year),
    }
}

/// Hour << 12 | minute << 6 | second.
#[inline(always)]
fn packed(clock: Clock) -> u32 {
    (clock.hour as u32) << 12 | clock.minute << 6 | clock.second
}

/// Date and time of day before any zone: what DATETIME and TIMESTAMP share.
#[inline(always)]
fn parse_canonical(text: &[u8], fraction: &Fraction) -> Option<((u32, u32, u32), u32, u32)> {
    let (date, rest) = text.split_first_chunk::<10>()?;
    let ([b' ' | b'T'], rest) = rest.split_first_chunk::<1>()? else { return None };
    let (clock, tail) = rest.split_first_chunk::<8>()?;
    let date = parse_canonical_date(date)?;
    let time = parse_canonical_time(clock).filter(|time| time >> 12 <= 23)?;
    let micro = parse_canonical_fraction(tail)?;
    fraction.is_cut(micro).then_some((date, time, micro))
}

/// Converts text to DATETIME(n).
#[derive(Clone, Debug)]
pub(crate) struct DateTime {
    fraction: Fraction,
    dialect: Dialect,
}

impl DateTime {
    pub(crate) fn new(digits: u8, mode: SqlMode) -> DateTime {
        DateTime { fraction: Fraction::new(digits, mode), dialect: Dialect::default() }
    }

    /// Reads texts as this server does.
    pub(crate) fn with_dialect(self, dialect: Dialect) -> DateTime {
        DateTime { dialect, ..self }
    }

    #[inline]
    pub(crate) fn convert(&self, text: &[u8], out: &mut Vec<u8>) -> Result<(), Reason> {
        match self.narrow(TextEnd::new(text)) {
            Some(stored) => push_be(stored, self.bytes(), out),
            None => self.convert_relaxed(text, out)?,
        }
        Ok(())
    }

    /// Bytes that are stored.
    pub(crate) fn bytes(&self) -> usize {
        5 + self.fraction.bytes
    }

    /// Stores a day and what a clock shows on it; false if that is to be rounded.
    #[inline]
    pub(crate) fn store(&self, date: (u32, u32, u32), clock: Clock, out: &mut Vec<u8>) -> bool {
        let is_cut = self.fraction.is_cut(clock.micro);
        if is_cut {
            self.push(date, packed(clock), clock.micro, out);
        }
        is_cut
    }

    #[cold]
    fn convert_relaxed(&self, text: &[u8], out: &mut Vec<u8>) -> Result<(), Reason> {
        let Fraction { mode, digits, .. } = self.fraction;
        let moment = clock_text::parse_datetime(text, mode, digits, &self.dialect)?;
        let time = moment.hour << 12 | moment.minute << 6 | moment.second;
        self.push((moment.year, moment.month, moment.day), time, moment.micro, out);
        Ok(())
    }

    #[inline(always)]
    fn push(&self, date: (u32, u32, u32), time: u32, micro: u32, out: &mut Vec<u8>) {
        push_be(self.stored(date, time, micro), self.bytes(), out);
    }

    #[inline(always)]
    fn stored(&self, (year, month, day): (u32, u32, u32), time: u32, micro: u32) -> u64 {
        let days = u64::from((year * 13 + month) << 5 | day);
        let packed = 0x80_0000_0000 + (days << 17 | u64::from(time));
        self.fraction.join(packed, micro)
    }
}

impl Narrow for DateTime {
    /// The stored number of a text `YYYY-MM-DD HH:MM:SS`, perhaps with a fraction that needs no rounding.
    #[inline(always)]
    fn narrow(&self, text: TextEnd<'_>) -> Option<u64> {
        let (date, time, micro) = parse_canonical(text.text(), &self.fraction)?;
        Some(self.stored(date, time, micro))
    }

    /// The stored number of a day or of a date with a time that needs no rounding.
    #[inline(always)]
    fn narrow_value(&self, value: Value<'_>) -> Option<u64> {
        let (date, micros) = day_of(value).ok()?;
        let clock = Clock::of(micros);
        self.fraction.is_cut(clock.micro).then(|| self.stored(date, packed(clock), clock.micro))
    }
}

/// Converts text to TIMESTAMP(n).
#[derive(Clone, Debug)]
pub(crate) struct Stamp {
    fraction: Fraction,
    clock: LocalClock,
    /// True if a fraction of second 0 is stored.
    has_second_0: bool,
    /// Last second since 1970.
    end: i64,
    /// Local times outside these years are never in range: the zone's rules need no look.
    years: RangeInclusive<u32>,
    dialect: Dialect,
}

impl Stamp {
    pub(crate) fn new(digits: u8, mode: SqlMode, zone: &Zone) -> Stamp {
        // Whatever sql_mode says, a TIMESTAMP has no zero or invalid parts; a zero date as a
        // whole is up to sql_mode.
        let mode = mode.without(SqlMode::ALLOW_INVALID_DATES) | SqlMode::NO_ZERO_IN_DATE;
        Stamp {
            fraction: Fraction::new(digits, mode),
            clock: LocalClock::new(zone),
            has_second_0: true,
            end: STAMP_END,
            years: 1969..=2038,
            dialect: Dialect::default(),
        }
    }

    /// Reads texts as this server does.
    pub(crate) fn with_dialect(self, dialect: Dialect) -> Stamp {
        Stamp { dialect, ..self }
    }

    /// As the server does.
    pub(crate) fn with_habits(mut self, habits: Habits) -> Stamp {
        self.has_second_0 = !habits.timestamp_from_1;
        if habits.timestamp_to_2106 {
            self.end = STAMP_END_2106;
            // These servers refuse the evening west of Greenwich, but only by their zone tables.
            self.years = if self.clock.is_of_tables() { 1970..=2106 } else { 1969..=2106 };
        }
        self
    }

    #[inline]
    pub(crate) fn convert(&mut self, text: &[u8], out: &mut Vec<u8>) -> Result<(), Reason> {
        match parse_canonical(text, &self.fraction) {
            Some(((year, month, day), time, micro)) => {
                let clock = (time >> 12) * 3600 + (time >> 6 & 63) * 60 + (time & 63);
                self.push(year, month, day, clock, micro, out)
            }
            None => self.convert_relaxed(text, out),
        }
    }

    /// Stores a day and what a clock in the session's zone shows on it; None if that is to be
    /// rounded.
    #[inline]
    pub(crate) fn store(
        &mut self,
        (year, month, day): (u32, u32, u32),
        clock: Clock,
        out: &mut Vec<u8>,
    ) -> Option<Result<(), Reason>> {
        let of_day = clock.hour as u32 * 3600 + clock.minute * 60 + clock.second;
        let is_cut = self.fraction.is_cut(clock.micro);
        is_cut.then(|| self.push(year, month, day, of_day, clock.micro, out))
    }

    /// Stores a moment, in microseconds since 1970 in UTC. It never becomes a local time, which may occur twice.
    #[inline]
    pub(crate) fn store_moment(&self, micros: i64, out: &mut Vec<u8>) -> Result<(), Reason> {
        let is_cut = self.fraction.is_cut(micros.rem_euclid(1_000_000) as u32);
        let half = if is_cut { 0 } else { i64::from(self.fraction.unit / 2) };
        let rounded = micros.saturating_add(half);
        let (utc, micro) = (rounded.div_euclid(1_000_000), rounded.rem_euclid(1_000_000) as u32);
        self.push_utc(utc, micro, out)
    }

    #[cold]
    fn convert_relaxed(&mut self, text: &[u8], out: &mut Vec<u8>) -> Result<(), Reason> {
        let Fraction { mode, digits, .. } = self.fraction;
        let m: Moment = clock_text::parse_datetime(text, mode, digits, &self.dialect)?;
        if m.month == 0 {
            push_be(0, 4 + self.fraction.bytes, out);
            return Ok(());
        }
        self.push(m.year, m.month, m.day, m.hour * 3600 + m.minute * 60 + m.second, m.micro, out)
    }

    #[inline(always)]
    fn push(
        &mut self,
        year: u32,
        month: u32,
        day: u32,
        second_of_day: u32,
        micro: u32,
        out: &mut Vec<u8>,
    ) -> Result<(), Reason> {
        if !self.years.contains(&year) {
            return Err(Reason::OutOfRange);
        }
        let local = days_since_1970(year, month, day) * 86_400 + i64::from(second_of_day);
        let utc = self.clock.utc_of(local)?;
        self.push_utc(utc, micro, out)
    }

    #[inline(always)]
    fn push_utc(&self, utc: i64, micro: u32, out: &mut Vec<u8>) -> Result<(), Reason> {
        // Second 0 is the zero date, unless a fraction that is kept says otherwise.
        let is_zero = utc == 0 && !(self.has_second_0 && micro >= self.fraction.unit);
        if is_zero || !(0..=self.end).contains(&utc) {
            return Err(Reason::OutOfRange);
        }
        push_be(self.fraction.join(utc as u64, micro), 4 + self.fraction.bytes, out);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    fn hex(result: Result<(), Reason>, out: &[u8]) -> Result<String, Reason> {
        result.map(|()| out.iter().map(|b| format!("{b:02x}")).collect())
    }

    fn date(text: &str, mode: SqlMode) -> Result<String, Reason> {
        let mut out = Vec::new();
        hex(Date::new(mode).convert(text.as_bytes(), &mut out), &out)
    }

    fn datetime(text: &str, digits: u8, mode: SqlMode) -> Result<String, Reason> {
        let mut out = Vec::new();
        hex(DateTime::new(digits, mode).convert(text.as_bytes(), &mut out), &out)
    }

    fn time(text: &str, digits: u8) -> Result<String, Reason> {
        let mut out = Vec::new();
        hex(Time::new(digits, SqlMode::default()).convert(text.as_bytes(), &mut out), &out)
    }

    fn stamp(text: &str, zone: &str) -> Result<String, Reason> {
        let mut out = Vec::new();
        let mut stamp = Stamp::new(0, SqlMode::default(), &Zone::parse(zone).unwrap());
        hex(stamp.convert(text.as_bytes(), &mut out), &out)
    }

    #[test]
    fn one_date_in_many_forms() {
        for text in [
            "2024-02-29",
            "2024-2-29",
            "24-02-29",
            "2024/02/29",
            "2024.2.29",
            "20240229",
            "240229",
            " 2024-02-29 ",
            "2024-02-29 10:20:30",
            "2024-02-29T10:20:30.5",
            "20240229102030",
        ] {
            assert_eq!(date(text, SqlMode::default()).as_deref(), Ok("8fd05d"), "{text}");
        }
    }

    #[test]
    fn dates_that_do_not_exist() {
        let plain = SqlMode::default();
        for text in ["2023-02-29", "2024-13-01", "2024-01-32", "10000-01-01"] {
            assert_eq!(date(text, plain), Err(Reason::NotATime), "{text}");
        }
        for text in ["", "abc", "2024-01", "2024-01-01x", "-2024-01-01"] {
            assert_eq!(date(text, plain), Err(Reason::NotATime), "{text}");
        }
        assert_eq!(date("2023-02-31", SqlMode::ALLOW_INVALID_DATES).as_deref(), Ok("8fce5f"));
        assert_eq!(date("0000-00-00", plain).as_deref(), Ok("800000"));
        assert_eq!(date("0000-00-00", SqlMode::NO_ZERO_DATE), Err(Reason::ZeroDate));
        assert_eq!(date("2024-00-00", plain).as_deref(), Ok("8fd000"));
        assert_eq!(date("2024-00-00", SqlMode::NO_ZERO_IN_DATE), Err(Reason::ZeroDate));
    }

    #[test]
    fn fractions_are_cut_or_rounded() {
        let (cut, round) = (SqlMode::default(), SqlMode::TIME_ROUND_FRACTIONAL);
        let text = "2023-12-31 23:59:59.995";
        assert_eq!(datetime(text, 0, cut).as_deref(), Ok("99b1ff7efb"));
        assert_eq!(datetime(text, 2, cut).as_deref(), Ok("99b1ff7efb63"));
        assert_eq!(datetime(text, 0, round), datetime("2024-01-01 00:00:00", 0, cut));
        assert_eq!(datetime(text, 3, round), datetime(text, 3, cut));
    }

    #[test]
    fn times() {
        for (text, expected) in [
            ("10:20:30", "80a51e"),
            ("10:20", "80a500"),
            ("102030", "80a51e"),
            ("30", "80001e"),
            ("1 00:00:00", "818000"),
            ("-10:20:30", "7f5ae2"),
            ("838:59:59", "b46efb"),
            ("2024-01-01 10:20:30", "80a51e"),
        ] {
            assert_eq!(time(text, 0).as_deref(), Ok(expected), "{text}");
        }
        assert_eq!(time("839:00:00", 0), Err(Reason::OutOfRange));
        assert_eq!(time("10:60:00", 0), Err(Reason::NotATime));
        assert_eq!(time("", 0), Err(Reason::NotATime));
        assert_eq!(time("-00:00:00.5", 1).as_deref(), Ok("7fffffce"));
        assert_eq!(time("00:00:00.5", 1).as_deref(), Ok("80000032"));
    }

    #[test]
    fn timestamps_know_their_zone() {
        assert_eq!(stamp("1970-01-01 00:00:01", "+00:00").as_deref(), Ok("00000001"));
        assert_eq!(stamp("1970-01-01 00:00:00", "+00:00"), Err(Reason::OutOfRange));
        assert_eq!(stamp("2038-01-19 03:14:07", "+00:00").as_deref(), Ok("7fffffff"));
        assert_eq!(stamp("2038-01-19 03:14:08", "+00:00"), Err(Reason::OutOfRange));
        let mut late = Stamp::new(0, SqlMode::default(), &Zone::parse("+01:00").unwrap())
            .with_habits(Habits { timestamp_to_2106: true, ..Habits::default() });
        for (text, expected) in [
            ("2038-01-19 04:14:08", Ok("80000000")),
            ("2106-02-07 07:28:15", Ok("ffffffff")),
            ("2106-02-07 07:28:16", Err(Reason::OutOfRange)),
            ("2107-01-01 00:00:00", Err(Reason::OutOfRange)),
        ] {
            let mut out = Vec::new();
            let stored = hex(late.convert(text.as_bytes(), &mut out), &out);
            assert_eq!(stored.as_deref(), expected.as_ref().copied(), "{text}");
        }
        assert_eq!(stamp("0000-00-00", "+00:00").as_deref(), Ok("00000000"));
        assert_eq!(stamp("2024-00-01", "+00:00"), Err(Reason::ZeroDate));
        assert_eq!(stamp("2024-07-01 12:00:00", "Europe/Berlin").as_deref(), Ok("66827e20"));
        assert_eq!(stamp("2024-03-31 02:30:00", "Europe/Berlin"), Err(Reason::SkippedTime));
        assert_eq!(
            stamp("2024-10-27 02:30:00", "Europe/Berlin"),
            stamp("2024-10-27 00:30:00", "+00:00")
        );
    }
}
