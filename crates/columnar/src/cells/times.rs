//! Dates and times of Arrow arrays to cells.

use arrow_array::ArrayRef;
use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_schema::{DataType, TimeUnit};
use sources::batch::{Cells, RefusedCell};
use values::{Reason, SqlType, Value};

use super::{CheckedCells, refused};

const MILLIS_OF_DAY: i64 = 86_400_000;
/// 1582-10-15, the first day of our calendar, and 1900-01-01, from which on clocks of all zones agree with it.
const CALENDAR_DAY: i32 = -141_427;
const CALENDAR_TIME: i64 = -2_208_988_800_000_000;

/// Days.
pub(super) fn dates(array: &ArrayRef) -> CheckedCells {
    if *array.data_type() == DataType::Date32 {
        return Cells::Date(array.as_primitive::<Date32Type>().values().to_vec()).into();
    }
    let (mut days, mut out) = (Vec::with_capacity(array.len()), Vec::new());
    for (row, millis) in array.as_primitive::<Date64Type>().values().iter().enumerate() {
        let day = i32::try_from(millis.div_euclid(MILLIS_OF_DAY));
        match day {
            Ok(_) if millis % MILLIS_OF_DAY == 0 => {}
            Ok(_) => {
                out.push(refused(row, moment_text(millis.saturating_mul(1000)), Reason::Inexact));
            }
            Err(_) => out.push(refused(row, format!("{millis} ms"), Reason::OutOfRange)),
        }
        days.push(day.unwrap_or_default());
    }
    CheckedCells { cells: Cells::Date(days), refused: out }
}

/// Times of a day, and durations.
pub(super) fn times(array: &ArrayRef) -> CheckedCells {
    use TimeUnit::*;
    let of_32 = |values: &[i32]| values.iter().map(|value| i64::from(*value)).collect::<Vec<_>>();
    let (values, unit) = match array.data_type() {
        DataType::Time32(Second) => {
            (of_32(array.as_primitive::<Time32SecondType>().values()), Second)
        }
        DataType::Time32(_) => {
            (of_32(array.as_primitive::<Time32MillisecondType>().values()), Millisecond)
        }
        DataType::Time64(Nanosecond) => {
            (array.as_primitive::<Time64NanosecondType>().values().to_vec(), Nanosecond)
        }
        DataType::Time64(_) => {
            (array.as_primitive::<Time64MicrosecondType>().values().to_vec(), Microsecond)
        }
        DataType::Duration(Second) => {
            (array.as_primitive::<DurationSecondType>().values().to_vec(), Second)
        }
        DataType::Duration(Millisecond) => {
            (array.as_primitive::<DurationMillisecondType>().values().to_vec(), Millisecond)
        }
        DataType::Duration(Nanosecond) => {
            (array.as_primitive::<DurationNanosecondType>().values().to_vec(), Nanosecond)
        }
        _ => (array.as_primitive::<DurationMicrosecondType>().values().to_vec(), Microsecond),
    };
    let (micros, refused) = micros(values, unit, Value::Time);
    CheckedCells { cells: Cells::Time(micros), refused }
}

/// Dates with times, and moments. A DATETIME gets a moment as a clock in UTC shows it.
pub(super) fn timestamps(array: &ArrayRef, sql_type: Option<&SqlType>) -> CheckedCells {
    use TimeUnit::*;
    let DataType::Timestamp(unit, zone) = array.data_type() else {
        return Cells::Null(array.len()).into();
    };
    let values = match unit {
        Second => array.as_primitive::<TimestampSecondType>().values().to_vec(),
        Millisecond => array.as_primitive::<TimestampMillisecondType>().values().to_vec(),
        Microsecond => array.as_primitive::<TimestampMicrosecondType>().values().to_vec(),
        Nanosecond => array.as_primitive::<TimestampNanosecondType>().values().to_vec(),
    };
    let (micros, refused) = micros(values, *unit, Value::DateTime);
    let cells = match (zone, sql_type) {
        (None, _) | (Some(_), Some(SqlType::DateTime { .. })) => Cells::DateTime(micros),
        (Some(_), _) => Cells::Timestamp(micros),
    };
    CheckedCells { cells, refused }
}

/// Refuses days and times that are others in the old calendar.
pub(super) fn refuse_old(made: &mut CheckedCells) {
    let old = |row: usize, value: Value<'_>| {
        let mut scratch = Vec::new();
        let text = value.text(&mut scratch).unwrap_or_default().to_vec();
        RefusedCell { row, text, reason: Reason::OldCalendar }
    };
    match &made.cells {
        Cells::Date(days) => {
            let early = days.iter().enumerate().filter(|(_, day)| **day < CALENDAR_DAY);
            made.refused.extend(early.map(|(row, day)| old(row, Value::Date(*day))));
        }
        Cells::DateTime(times) | Cells::Timestamp(times) => {
            let early = times.iter().enumerate().filter(|(_, time)| **time < CALENDAR_TIME);
            made.refused.extend(early.map(|(row, time)| old(row, Value::DateTime(*time))));
        }
        _ => {}
    }
    made.refused.sort_by_key(|cell| cell.row);
    made.refused.dedup_by_key(|cell| cell.row);
}

/// Microseconds of values in a unit, and those of them that are no microseconds.
fn micros(
    mut values: Vec<i64>,
    unit: TimeUnit,
    value: impl Fn(i64) -> Value<'static>,
) -> (Vec<i64>, Vec<RefusedCell>) {
    let mut out = Vec::new();
    let factor = match unit {
        TimeUnit::Microsecond => return (values, out),
        TimeUnit::Second => 1_000_000,
        TimeUnit::Millisecond => 1_000,
        TimeUnit::Nanosecond => {
            for (row, nanos) in values.iter_mut().enumerate() {
                let (micros, left) = (nanos.div_euclid(1_000), nanos.rem_euclid(1_000));
                if left != 0 {
                    out.push(refused(row, nanos_text(value(micros), left), Reason::Inexact));
                }
                *nanos = micros;
            }
            return (values, out);
        }
    };
    for (row, number) in values.iter_mut().enumerate() {
        match number.checked_mul(factor) {
            Some(micros) => *number = micros,
            None => {
                out.push(refused(row, number.to_string(), Reason::OutOfRange));
                *number = 0;
            }
        }
    }
    (values, out)
}

/// A time, and its digits behind those of a microsecond.
fn nanos_text(value: Value<'_>, left: i64) -> String {
    let mut scratch = Vec::new();
    let text = value.text(&mut scratch).unwrap_or_default();
    let text = String::from_utf8_lossy(text);
    match text.contains('.') {
        true => format!("{text}{left:03}"),
        false => format!("{text}.000000{left:03}"),
    }
}

fn moment_text(micros: i64) -> Vec<u8> {
    let mut scratch = Vec::new();
    Value::DateTime(micros).text(&mut scratch).unwrap_or_default().to_vec()
}
