//! The server's relaxed reading of dates and times: any punctuation between the parts, none at
//! all, two-digit years, `T`, fractions, day counts before a time.
//!
//! Only texts that the straight paths of `temporal.rs` do not know come here. Warnings of the server are
//! errors, because strict mode makes them so; its notes (a fraction cut off, a date's time of day left out)
//! are not. Source: MariaDB 10.11, sql-common/my_time.c `str_to_datetime_or_date`,
//! `str_to_datetime_or_date_or_time`, `str_to_DDhhmmssff_internal`; sql/sql_type.cc
//! `Temporal::datetime_round_or_invalidate`.

mod body;
mod mysql;

use crate::civil::{self, days_since_1970};
use crate::habits::Habits;
use crate::reason::Reason;
use crate::sql_mode::SqlMode;
use crate::zone::Zone;
use body::{find_body, parse_date_body, parse_time_body};

/// A date with a time of day, or a time alone (hours to 838).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Moment {
    pub(crate) year: u32,
    pub(crate) month: u32,
    pub(crate) day: u32,
    pub(crate) hour: u32,
    pub(crate) minute: u32,
    pub(crate) second: u32,
    pub(crate) micro: u32,
    /// True for a negative time; dates are never negative.
    pub(crate) negative: bool,
    /// Not read as a date.
    is_time: bool,
}

/// Largest hour of a TIME.
const HOUR_MAX: u64 = 838;
/// Two-digit years from here on belong to the 20th century.
const CENTURY_TURN: u32 = 70;

/// Whose rules a text is read by.
#[derive(Clone, Debug, Default)]
pub(crate) enum Dialect {
    #[default]
    MariaDb,
    /// A text may end in a displacement from UTC, and is then a local time of this zone. None: the zone
    /// is unknown.
    MySql(Option<Zone>),
}

impl Dialect {
    pub(crate) fn new(habits: Habits, zone: &Zone) -> Dialect {
        match habits.mysql_clocks {
            true => Dialect::MySql(habits.reads_displacements.then(|| zone.clone())),
            false => Dialect::MariaDb,
        }
    }
}

/// Reads a DATE or DATETIME. `digits` of the fraction are kept.
pub(crate) fn parse_datetime(
    text: &[u8],
    mode: SqlMode,
    digits: u8,
    dialect: &Dialect,
) -> Result<Moment, Reason> {
    let (mut moment, round_up_micros) = match dialect {
        Dialect::MariaDb => {
            let (negative, body) = find_body(text)?;
            let date = parse_date_body(body, mode, true);
            let moment = date.result?;
            if negative || !date.whole {
                return Err(Reason::NotATime);
            }
            (moment, date.round_up_micros)
        }
        Dialect::MySql(zone) => {
            let read = mysql::parse_datetime(text, mode)?;
            read.check_rounding(mode, digits)?;
            (read.local(zone.as_ref())?, read.round_up_micros)
        }
    };
    if mode.contains(SqlMode::TIME_ROUND_FRACTIONAL) {
        // Twice: the seventh digit to microseconds, then these to the column's digits.
        for micros in [round_up_micros, half_unit(digits)] {
            let is_mysql = matches!(dialect, Dialect::MySql(_));
            if is_mysql && moment.micro + micros >= 1_000_000 {
                moment.normalize()?;
            }
            if moment.add_micros(micros) {
                if moment.year == 0 && !is_mysql {
                    return Err(Reason::ZeroDate);
                }
                add_hour(&mut moment)?;
            }
        }
    }
    moment.cut(digits);
    Ok(moment)
}

/// Reads a TIME, which may also be given as the time of day of a DATETIME.
pub(crate) fn parse_time(
    text: &[u8],
    mode: SqlMode,
    digits: u8,
    dialect: &Dialect,
) -> Result<Moment, Reason> {
    let rounds = mode.contains(SqlMode::TIME_ROUND_FRACTIONAL);
    let (mut moment, round_up_micros) = match dialect {
        Dialect::MariaDb => {
            let (negative, body) = find_body(text)?;
            parse_time_body(body, mode, negative)?
        }
        Dialect::MySql(zone) => {
            let read = mysql::parse_time(text, mode)?;
            read.check_rounding(mode, digits)?;
            // The date goes before the time is rounded: to 24:00:00 at the end of a day.
            let local = read.local(zone.as_ref())?;
            let time = Moment { year: 0, month: 0, day: 0, is_time: true, ..local };
            (time, read.round_up_micros)
        }
    };
    if rounds && moment.add_micros(round_up_micros) {
        match moment.is_time {
            true => add_hour_of_time(&mut moment)?,
            false if moment.year == 0 => return Err(Reason::ZeroDate),
            false => add_hour(&mut moment)?,
        }
    }
    // Of a date the time of day is taken, and its day as well if there is no year and month.
    if moment.year == 0 && moment.month == 0 {
        moment.hour += 24 * moment.day;
    }
    (moment.year, moment.month, moment.day) = (0, 0, 0);
    if rounds && moment.add_micros(half_unit(digits)) {
        add_hour_of_time(&mut moment)?;
    }
    moment.cut(digits);
    Ok(moment)
}

fn add_hour_of_time(moment: &mut Moment) -> Result<(), Reason> {
    moment.hour += 1;
    if u64::from(moment.hour) > HOUR_MAX {
        return Err(Reason::OutOfRange);
    }
    Ok(())
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

    /// Makes an invalid date, such as February 31, the day that it counts as: MySQL does before it adds
    /// a second.
    fn normalize(&mut self) -> Result<(), Reason> {
        if self.month == 0 || self.day == 0 {
            return Err(Reason::ZeroDate);
        }
        if self.day <= days_in_month(self.year, self.month) {
            return Ok(());
        }
        let days = days_since_1970(self.year, self.month, self.day);
        let (year, month, day) = civil::date(days);
        // The year 0 is counted otherwise there.
        self.year = u32::try_from(year).ok().filter(|&year| year > 0).ok_or(Reason::NotATime)?;
        (self.month, self.day) = (month, day);
        Ok(())
    }

    fn is_zero(&self) -> bool {
        *self == Moment::default()
    }
}

/// The next hour of a date that rounding reached: only of one that exists, whatever `sql_mode`
/// lets pass otherwise.
fn add_hour(moment: &mut Moment) -> Result<(), Reason> {
    if moment.month == 0 || moment.day == 0 {
        return Err(Reason::ZeroDate);
    }
    let last = days_in_month(moment.year, moment.month);
    if moment.day > last {
        return Err(Reason::NotATime);
    }
    moment.hour += 1;
    if moment.hour < 24 {
        return Ok(());
    }
    moment.hour = 0;
    moment.day += 1;
    if moment.day > last {
        (moment.day, moment.month) = (1, moment.month + 1);
    }
    if moment.month > 12 {
        (moment.month, moment.year) = (1, moment.year + 1);
    }
    if moment.year > 9999 {
        return Err(Reason::OutOfRange);
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

/// Checks that the parts may stand together in a date, given that each is in its range.
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
