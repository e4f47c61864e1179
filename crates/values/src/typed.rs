//! Typed values to stored form: straight where a value is of its column's kind, by its text where
//! the column makes something else of it.
//!
//! | value | straight to |
//! | --- | --- |
//! | integer | integers, DECIMAL, FLOAT, DOUBLE |
//! | double | FLOAT, DOUBLE |
//! | decimal | DECIMAL, integers, FLOAT, DOUBLE |
//! | date | DATE, DATETIME, TIMESTAMP |
//! | time | TIME |
//! | date and time | DATETIME, DATE, TIMESTAMP |
//! | moment | TIMESTAMP, and what a date and time of the session's zone goes to |

use crate::civil::Clock;
use crate::convert::{Converter, Kind};
use crate::reason::Reason;
use crate::temporal::day_of;
use crate::value::{Decimal, Value};

/// Integers up to this, and powers of ten up to the other, are doubles exactly.
const DOUBLE_EXACT: u128 = 1 << 53;
const POW10_EXACT: u8 = 22;
/// Hours up to which a TIME needs no look at its limit.
const HOURS_PLAIN: u64 = 838;

impl Converter {
    /// Appends the stored form of a value to `out`, as [`Converter::convert`] does with its text;
    /// whether it has one: NULL has none.
    ///
    /// Errors: what LOAD DATA would refuse of its text; then nothing was appended.
    #[inline]
    pub fn convert_value(&mut self, value: Value<'_>, out: &mut Vec<u8>) -> Result<bool, Reason> {
        match value {
            Value::Null => Ok(false),
            Value::Bytes(text) => self.convert(text, out).map(|()| true),
            typed => self.convert_typed(typed, out).map(|()| true),
        }
    }

    fn convert_typed(&mut self, value: Value<'_>, out: &mut Vec<u8>) -> Result<(), Reason> {
        let stored = match value {
            Value::Integer(_) | Value::Unsigned(_) => self.integer(value, out),
            Value::Double(number) => self.double(number, out),
            Value::Decimal(decimal) => self.decimal(decimal, out),
            Value::Date(_) | Value::DateTime(_) => self.moment(value, out),
            Value::Time(micros) => self.time(micros, out),
            Value::Timestamp(micros) => match &mut self.kind {
                Kind::Stamp(stamp) => Some(stamp.store_moment(micros, out)),
                _ => return self.convert_typed(value.in_zone(&self.zone), out),
            },
            Value::Malformed(_) => return Err(Reason::NotInFormat),
            Value::Refused { reason, .. } => return Err(reason),
            Value::Null | Value::Bytes(_) => None,
        };
        stored.unwrap_or_else(|| self.convert_text_of(value, out))
    }

    /// The long way, which every value can go.
    fn convert_text_of(&mut self, value: Value<'_>, out: &mut Vec<u8>) -> Result<(), Reason> {
        let mut scratch = std::mem::take(&mut self.scratch);
        let text = value.in_zone(&self.zone).text(&mut scratch).unwrap_or_default();
        let converted = self.convert(text, out);
        self.scratch = scratch;
        converted
    }

    /// None: this goes the long way; so in what follows.
    #[inline]
    fn integer(&mut self, value: Value<'_>, out: &mut Vec<u8>) -> Option<Result<(), Reason>> {
        match &self.kind {
            Kind::Integer(integer) => Some(integer.store(value, out)),
            Kind::Decimal(decimal) => decimal.store(value, out),
            Kind::Real(real) => {
                let number = match value {
                    Value::Integer(number) => number as f64,
                    Value::Unsigned(number) => number as f64,
                    _ => return None,
                };
                Some(real.store(number, out))
            }
            _ => None,
        }
    }

    #[inline]
    fn double(&mut self, number: f64, out: &mut Vec<u8>) -> Option<Result<(), Reason>> {
        match &self.kind {
            Kind::Real(real) if number.is_finite() => Some(real.store(number, out)),
            _ => None,
        }
    }

    #[inline]
    fn decimal(&mut self, number: Decimal, out: &mut Vec<u8>) -> Option<Result<(), Reason>> {
        let (negative, units) = (number.units < 0, number.units.unsigned_abs());
        if let Kind::Real(real) = &self.kind {
            // One division of exact numbers rounds as reading the digits does.
            if units > DOUBLE_EXACT || number.scale > POW10_EXACT {
                return None;
            }
            let size = units as f64 / 10f64.powi(i32::from(number.scale));
            return Some(real.store(if negative { -size } else { size }, out));
        }
        match &self.kind {
            // A number that is out of range only by its rounding goes the long way as well.
            Kind::Integer(integer) => {
                integer.store(Value::Decimal(number), out).is_ok().then_some(Ok(()))
            }
            Kind::Decimal(decimal) => decimal.store(Value::Decimal(number), out),
            _ => None,
        }
    }

    #[inline]
    fn time(&mut self, micros: i64, out: &mut Vec<u8>) -> Option<Result<(), Reason>> {
        let clock = Clock::of(micros.unsigned_abs());
        match &self.kind {
            Kind::Time(time) if clock.hour < HOURS_PLAIN => {
                time.store(micros < 0, clock, out).then_some(Ok(()))
            }
            _ => None,
        }
    }

    /// A day, with or without the time on it.
    #[inline]
    fn moment(&mut self, value: Value<'_>, out: &mut Vec<u8>) -> Option<Result<(), Reason>> {
        if !matches!(self.kind, Kind::Date(_) | Kind::DateTime(_) | Kind::Stamp(_)) {
            return None;
        }
        let (date, micros) = match day_of(value) {
            Ok(day) => day,
            Err(0) => return None,
            Err(_) => return Some(Err(Reason::NotATime)),
        };
        match &mut self.kind {
            // The next day may begin.
            Kind::Date(column) if column.rounds_up(Clock::of(micros)) => None,
            Kind::Date(column) => {
                column.store(date, out);
                Some(Ok(()))
            }
            Kind::DateTime(column) => column.store(date, Clock::of(micros), out).then_some(Ok(())),
            Kind::Stamp(column) => column.store(date, Clock::of(micros), out),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;

    use super::*;
    use crate::civil::MICROS_OF_DAY;
    use crate::habits::Habits;
    use crate::{Charset, ConvertOptions, SqlMode, SqlType, TextType, Zone};

    fn types() -> impl Strategy<Value = SqlType> {
        let text =
            || TextType { charset: Charset::Utf8mb4, collation: "utf8mb4_general_ci".to_owned() };
        let digits = prop::option::of((1u8..20).prop_flat_map(|m| (Just(m), 0..=m)));
        prop_oneof![
            4 => (prop::sample::select(vec![1u8, 2, 3, 4, 8]), any::<bool>())
                .prop_map(|(bytes, unsigned)| SqlType::Integer { bytes, unsigned }),
            4 => ((1u8..=65).prop_flat_map(|p| (Just(p), 0..=p.min(38))), any::<bool>()).prop_map(
                |((precision, scale), unsigned)| SqlType::Decimal { precision, scale, unsigned }
            ),
            2 => (any::<bool>(), digits.clone())
                .prop_map(|(unsigned, digits)| SqlType::Float { unsigned, digits }),
            2 => (any::<bool>(), digits)
                .prop_map(|(unsigned, digits)| SqlType::Double { unsigned, digits }),
            2 => Just(SqlType::Date),
            2 => (0u8..=6).prop_map(|digits| SqlType::Time { digits }),
            2 => (0u8..=6).prop_map(|digits| SqlType::DateTime { digits }),
            2 => (0u8..=6).prop_map(|digits| SqlType::Timestamp { digits }),
            1 => Just(SqlType::Year),
            1 => (1u8..=64).prop_map(|bits| SqlType::Bit { bits }),
            1 => Just(SqlType::VarChar { chars: 12, text: text() }),
            1 => Just(SqlType::Enum { labels: vec!["1".to_owned(), "b".to_owned()], text: text() }),
            1 => Just(SqlType::json()),
        ]
    }

    /// Numbers of every size, small ones and those next to limits among them.
    fn integers() -> impl Strategy<Value = i64> {
        let near = (0u32..63, -2i64..=2).prop_map(|(bits, by)| (1i64 << bits).wrapping_add(by));
        prop_oneof![any::<i64>(), -200i64..200, near.clone(), near.prop_map(i64::wrapping_neg)]
    }

    fn values() -> impl Strategy<Value = Value<'static>> {
        const YEARS: std::ops::Range<i64> = -719_528..2_932_897;
        let scale = prop_oneof![3 => 0u8..6, 1 => 0u8..=38];
        let units = prop_oneof![3 => integers().prop_map(i128::from), 1 => any::<i128>().prop_map(|n| n >> 1)];
        let days = prop_oneof![YEARS, 0i64..25_000];
        let of_day = prop_oneof![
            0..MICROS_OF_DAY,
            (0i64..86_400).prop_map(|second| second * 1_000_000),
            (0i64..86_400_000).prop_map(|milli| milli * 1_000),
        ];
        let moments = (days.clone(), of_day.clone()).prop_map(|(day, of)| day * MICROS_OF_DAY + of);
        prop_oneof![
            3 => integers().prop_map(Value::Integer),
            1 => any::<u64>().prop_map(Value::Unsigned),
            1 => any::<f64>().prop_map(Value::Double),
            1 => (-1e6f64..1e6).prop_map(Value::Double),
            1 => any::<f32>().prop_map(|number| Value::Double(f64::from(number))),
            3 => (units, scale)
                .prop_map(|(units, scale)| Value::Decimal(Decimal { units, scale })),
            2 => days.prop_map(|days| Value::Date(days as i32)),
            1 => of_day.prop_map(Value::Time),
            1 => (-4_000_000_000_000i64..4_000_000_000_000).prop_map(Value::Time),
            2 => moments.clone().prop_map(Value::DateTime),
            2 => moments.prop_map(Value::Timestamp),
        ]
    }

    fn modes() -> impl Strategy<Value = SqlMode> {
        let modes = vec![
            SqlMode::default(),
            SqlMode::TIME_ROUND_FRACTIONAL,
            SqlMode::NO_ZERO_DATE,
            SqlMode::NO_ZERO_IN_DATE,
        ];
        prop::sample::select(modes)
    }

    #[test]
    fn a_rounded_moment_keeps_its_hour() {
        let micros = |seconds: i64, micro: i64| seconds * 1_000_000 + micro;
        // Clocks of Berlin go through this hour twice: 00:30 and 01:30 in UTC.
        let (first, second) = (1_792_888_200, 1_792_891_800);
        let zone = Zone::parse("Europe/Berlin").unwrap();
        let options = ConvertOptions {
            sql_mode: SqlMode::TIME_ROUND_FRACTIONAL,
            time_zone: zone,
            ..ConvertOptions::default()
        };
        for (digits, moment, expected) in [
            (0, micros(first, 700_000), micros(first + 1, 0)),
            (0, micros(second, 700_000), micros(second + 1, 0)),
            (0, micros(second, 499_999), micros(second, 0)),
            (0, micros(second + 59, 500_000), micros(second + 60, 0)),
            (2, micros(second, 125_000), micros(second, 130_000)),
            (4, micros(second, 999_950), micros(second + 1, 0)),
        ] {
            let sql_type = SqlType::Timestamp { digits };
            let mut converter = Converter::new("c", &sql_type, &options).unwrap();
            let (mut stored, mut of_expected) = (Vec::new(), Vec::new());
            converter.convert_value(Value::Timestamp(moment), &mut stored).unwrap();
            converter.convert_value(Value::Timestamp(expected), &mut of_expected).unwrap();
            assert_eq!(stored, of_expected, "{moment} with {digits} digits");
            let seconds = u32::from_be_bytes(*stored.first_chunk().unwrap());
            assert_eq!(i64::from(seconds), expected / 1_000_000);
        }
    }

    #[test]
    fn a_rounded_moment_begins_the_next_day_of_mysql_alone() {
        let day = |days: i64| days * MICROS_OF_DAY;
        for (habits, value, expected) in [
            (Habits::MYSQL, Value::DateTime(day(20_000) - 500_000), 20_000),
            (Habits::MYSQL, Value::Timestamp(day(20_000) - 1), 20_000),
            (Habits::MYSQL, Value::DateTime(day(20_000) - 500_001), 19_999),
            (Habits::MYSQL, Value::DateTime(day(20_000) - 1_500_000), 19_999),
            (Habits::default(), Value::DateTime(day(20_000) - 500_000), 19_999),
        ] {
            let options =
                ConvertOptions { habits, time_zone: Zone::UTC, ..ConvertOptions::default() };
            let mut converter = Converter::new("c", &SqlType::Date, &options).unwrap();
            let (mut stored, mut of_expected) = (Vec::new(), Vec::new());
            converter.convert_value(value, &mut stored).unwrap();
            converter.convert_value(Value::Date(expected), &mut of_expected).unwrap();
            assert_eq!(stored, of_expected, "{value:?}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4_000))]
        #[test]
        fn a_typed_value_is_stored_or_refused_as_its_text_is(
            sql_type in types(), value in values(), sql_mode in modes(), east in -12i32..=12, is_mysql: bool,
        ) {
            let zone = Zone::fixed(east * 3600);
            let habits = if is_mysql { Habits::MYSQL } else { Habits::default() };
            let options = ConvertOptions {
                sql_mode,
                time_zone: zone.clone(),
                habits,
                ..ConvertOptions::default()
            };
            let mut converter = Converter::new("c", &sql_type, &options).unwrap();
            let (mut typed, mut by_text, mut scratch) = (b"x".to_vec(), b"x".to_vec(), Vec::new());
            let stored = converter.convert_value(value, &mut typed);
            let text = value.in_zone(&zone).text(&mut scratch).unwrap().to_vec();
            let of_text = converter.convert(&text, &mut by_text);
            let shown = String::from_utf8_lossy(&text).into_owned();
            prop_assert_eq!(stored.is_ok(), of_text.is_ok(), "{}: {:?} {:?}", shown, stored, of_text);
            prop_assert_eq!(typed, by_text, "{}", shown);
        }
    }
}
