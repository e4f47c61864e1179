//! Functions of a date or a time, as expressions that tables are partitioned by use them.
//!
//! Source: MariaDB 10.11, sql/item_timefunc.cc.

use values::stored::Shown;

/// Why an expression has no value for a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoValue {
    /// The server refuses the row: 64 bits do not hold it.
    OutOfRange,
    /// The server's result is unknown here.
    Unknown,
}

/// A function of a date or a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TimePart {
    Year,
    Month,
    Day,
    Quarter,
    Hour,
    Minute,
    Second,
    Days,
    Seconds,
    DayOfYear,
    DayOfWeek,
    Weekday,
}

impl TimePart {
    /// By its name in SQL, in any case.
    pub(super) fn named(name: &[u8]) -> Option<TimePart> {
        Some(match name.to_ascii_lowercase().as_slice() {
            b"year" => TimePart::Year,
            b"month" => TimePart::Month,
            b"dayofmonth" | b"day" => TimePart::Day,
            b"quarter" => TimePart::Quarter,
            b"hour" => TimePart::Hour,
            b"minute" => TimePart::Minute,
            b"second" => TimePart::Second,
            b"to_days" => TimePart::Days,
            b"to_seconds" => TimePart::Seconds,
            b"dayofyear" => TimePart::DayOfYear,
            b"dayofweek" => TimePart::DayOfWeek,
            b"weekday" => TimePart::Weekday,
            _ => return None,
        })
    }

    /// Its value; None is NULL.
    pub(super) fn of(self, shown: Shown) -> Result<Option<i128>, NoValue> {
        let part = match self {
            TimePart::Year => i64::from(shown.year),
            TimePart::Month => i64::from(shown.month),
            TimePart::Day => i64::from(shown.day),
            TimePart::Quarter => i64::from(shown.month.div_ceil(3)),
            TimePart::Hour => i64::from(shown.hour),
            TimePart::Minute => i64::from(shown.minute),
            TimePart::Second => i64::from(shown.second),
            _ if shown.is_zero() => return Ok(None),
            // A part of it is 0: each function has its own idea.
            _ if !shown.is_day() => return Err(NoValue::Unknown),
            TimePart::Days => shown.days(),
            TimePart::Seconds => shown.seconds(),
            TimePart::DayOfYear => shown.day_of_year(),
            TimePart::DayOfWeek => (shown.weekday() + 1) % 7 + 1,
            TimePart::Weekday => shown.weekday(),
        };
        Ok(Some(i128::from(part)))
    }
}
