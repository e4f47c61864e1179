//! One value of a row, on its way to a column.

use std::io::Write;

use crate::civil::{self, Clock, MICROS_OF_DAY};
use crate::digits::POW10;
use crate::reason::Reason;
use crate::zone::Zone;

/// The value of a field: text, or a value whose type its source knows.
///
/// A typed value means what its text means ([`Value::text`]): it is stored, or refused, as LOAD DATA
/// would do with that. Dates are of the Gregorian calendar.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// SQL NULL.
    Null,
    /// The bytes, in the file's character set.
    Bytes(&'a [u8]),
    /// Bytes that are not written as the values of their field were said to be: no column takes them.
    Malformed(&'a [u8]),
    /// A value that its source cannot give without loss, as text: no column takes it.
    Refused {
        /// The value in words.
        text: &'a [u8],
        /// Why no column takes it.
        reason: Reason,
    },
    /// A whole number.
    Integer(i64),
    /// A whole number from 0 on.
    Unsigned(u64),
    /// A real number; one of four bytes is the same number of eight.
    Double(f64),
    /// An exact number.
    Decimal(Decimal),
    /// Days since 1970-01-01.
    Date(i32),
    /// Microseconds, which may be below 0 and more than a day.
    Time(i64),
    /// Microseconds since 1970-01-01 00:00:00 of a clock on the wall, in no zone.
    DateTime(i64),
    /// Microseconds since 1970-01-01 00:00:00 UTC: a moment. Its text is that of UTC; a column gets
    /// it in the session's zone ([`Value::in_zone`]).
    Timestamp(i64),
}

/// An exact number: `units` times 10^-`scale`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decimal {
    /// How many units.
    pub units: i128,
    /// Digits after the point, at most 38.
    pub scale: u8,
}

impl<'a> Value<'a> {
    /// The value as LOAD DATA would read it, in `out` (overwritten) unless it is text; None is NULL.
    pub fn text<'v>(&self, out: &'v mut Vec<u8>) -> Option<&'v [u8]>
    where
        'a: 'v,
    {
        match *self {
            Value::Null => return None,
            Value::Bytes(bytes) | Value::Malformed(bytes) => return Some(bytes),
            Value::Refused { text, .. } => return Some(text),
            _ => {}
        }
        out.clear();
        self.push_text(out);
        Some(out)
    }

    /// The text of a moment as a clock in this zone shows it, from its text in UTC; none of a text that is none.
    pub fn local_text(utc: &[u8], zone: &Zone) -> Option<Vec<u8>> {
        let local = Value::Timestamp(civil::micros_of(utc)?).in_zone(zone);
        let mut text = Vec::new();
        local.text(&mut text).map(<[u8]>::to_vec)
    }

    /// A moment as a clock in this zone shows it; everything else as it is.
    pub fn in_zone(self, zone: &Zone) -> Value<'a> {
        match self {
            Value::Timestamp(micros) => {
                let seconds = micros.div_euclid(1_000_000);
                let local = zone.local_of(seconds);
                Value::DateTime(micros.saturating_add((local - seconds).saturating_mul(1_000_000)))
            }
            other => other,
        }
    }

    /// Appends its text; nothing of NULL.
    pub fn push_text(&self, out: &mut Vec<u8>) {
        // Writing to memory does not fail.
        let _ = match *self {
            Value::Null => Ok(()),
            Value::Bytes(bytes) | Value::Malformed(bytes) => out.write_all(bytes),
            Value::Refused { text, .. } => out.write_all(text),
            Value::Integer(number) => write!(out, "{number}"),
            Value::Unsigned(number) => write!(out, "{number}"),
            Value::Double(number) => write_double(number, out),
            Value::Decimal(decimal) => decimal.write(out),
            Value::Date(days) => write_date(i64::from(days), out),
            Value::Time(micros) => write_time(micros, out),
            Value::DateTime(micros) | Value::Timestamp(micros) => write_moment(micros, out),
        };
    }
}

/// Numbers that are written out, not with an exponent.
const PLAIN_FROM: f64 = 1e-5;
const PLAIN_TO: f64 = 1e15;

/// The shortest text that is read as this number again.
fn write_double(number: f64, out: &mut Vec<u8>) -> std::io::Result<()> {
    match number.abs() {
        size if size == 0.0 || (PLAIN_FROM..PLAIN_TO).contains(&size) => write!(out, "{number}"),
        _ => write!(out, "{number:e}"),
    }
}

impl Decimal {
    /// Whether it is below 0, its whole part, and its fraction in units of the last digit; `None` if one of both is
    /// beyond 64 bits.
    #[inline(always)]
    pub(crate) fn parts(self) -> Option<(bool, u64, u64)> {
        let unit = *POW10.get(usize::from(self.scale))?;
        let units = self.units.unsigned_abs();
        let (whole, fraction) = match u64::try_from(units) {
            Ok(units) => (units / unit, units % unit),
            Err(_) => {
                let unit = u128::from(unit);
                (u64::try_from(units / unit).ok()?, (units % unit) as u64)
            }
        };
        Some((self.units < 0, whole, fraction))
    }

    fn write(self, out: &mut Vec<u8>) -> std::io::Result<()> {
        let sign = if self.units < 0 { "-" } else { "" };
        let digits = self.units.unsigned_abs();
        match self.scale {
            0 => write!(out, "{sign}{digits}"),
            scale => {
                let scale = usize::from(scale);
                let digits = format!("{digits:0>width$}", width = scale + 1);
                let (whole, fraction) = digits.split_at(digits.len() - scale);
                write!(out, "{sign}{whole}.{fraction}")
            }
        }
    }
}

fn write_date(days: i64, out: &mut Vec<u8>) -> std::io::Result<()> {
    let (year, month, day) = civil::date(days);
    write!(out, "{year:04}-{month:02}-{day:02}")
}

fn write_time(micros: i64, out: &mut Vec<u8>) -> std::io::Result<()> {
    let sign = if micros < 0 { "-" } else { "" };
    write!(out, "{sign}")?;
    write_clock(Clock::of(micros.unsigned_abs()), out)
}

fn write_moment(micros: i64, out: &mut Vec<u8>) -> std::io::Result<()> {
    write_date(micros.div_euclid(MICROS_OF_DAY), out)?;
    out.push(b' ');
    write_clock(Clock::of(micros.rem_euclid(MICROS_OF_DAY) as u64), out)
}

fn write_clock(clock: Clock, out: &mut Vec<u8>) -> std::io::Result<()> {
    let Clock { hour, minute, second, micro } = clock;
    write!(out, "{hour:02}:{minute:02}:{second:02}")?;
    if micro == 0 { Ok(()) } else { write!(out, ".{micro:06}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(value: Value<'_>) -> String {
        let mut out = Vec::new();
        String::from_utf8_lossy(value.text(&mut out).unwrap_or(b"NULL")).into_owned()
    }

    #[test]
    fn values_have_the_text_that_means_them() {
        let decimal = |units, scale| Value::Decimal(Decimal { units, scale });
        for (value, expected) in [
            (Value::Null, "NULL"),
            (Value::Bytes(b"a\tb"), "a\tb"),
            (Value::Integer(i64::MIN), "-9223372036854775808"),
            (Value::Unsigned(u64::MAX), "18446744073709551615"),
            (Value::Double(0.1), "0.1"),
            (Value::Double(-0.0), "-0"),
            (Value::Double(1e300), "1e300"),
            (Value::Double(1.5e-7), "1.5e-7"),
            (decimal(-5, 3), "-0.005"),
            (decimal(12_345, 2), "123.45"),
            (decimal(12_345, 0), "12345"),
            (Value::Date(0), "1970-01-01"),
            (Value::Date(-719_468 + 59), "0000-04-29"),
            (Value::Date(19_782), "2024-02-29"),
            (Value::Time(-1), "-00:00:00.000001"),
            (Value::Time(838 * 3_600_000_000), "838:00:00"),
            (Value::DateTime(-1), "1969-12-31 23:59:59.999999"),
            (Value::Timestamp(86_400_000_000), "1970-01-02 00:00:00"),
        ] {
            assert_eq!(text(value), expected, "{value:?}");
        }
        let noon = Value::Timestamp(43_200_000_000);
        assert_eq!(text(noon.in_zone(&Zone::fixed(-3600))), "1970-01-01 11:00:00");
    }
}
