//! Columns whose stored values are numbers of at most eight bytes, for whoever converts many of their
//! values one after the other: which kind of column it is, is asked once.

use crate::convert::{Converter, Kind};
use crate::temporal::Date;
use crate::text_end::Narrow;

/// Takes the straight conversion of a column.
pub trait VisitNarrow {
    /// The result.
    type Output;

    /// Takes it; the last `bytes` bytes of its numbers are stored, big-endian.
    fn narrow(self, bytes: usize, convert: &impl Narrow) -> Self::Output;
}

impl Converter {
    /// Bytes of every stored value, if they are numbers of at most eight bytes.
    pub fn narrow_bytes(&self) -> Option<usize> {
        match &self.kind {
            Kind::Integer(integer) => Some(integer.bytes()),
            Kind::Decimal(decimal) => decimal.narrow_bytes(),
            Kind::Date(_) => Some(Date::BYTES),
            Kind::DateTime(datetime) => Some(datetime.bytes()),
            _ => None,
        }
    }

    /// Gives the straight conversion to `visit`; `None` if [`Converter::narrow_bytes`] says that
    /// there is none.
    pub fn visit_narrow<V: VisitNarrow>(&self, visit: V) -> Option<V::Output> {
        let bytes = self.narrow_bytes()?;
        match &self.kind {
            Kind::Integer(integer) => Some(visit.narrow(bytes, integer)),
            Kind::Decimal(decimal) => Some(visit.narrow(bytes, decimal)),
            Kind::Date(date) => Some(visit.narrow(bytes, date)),
            Kind::DateTime(datetime) => Some(visit.narrow(bytes, datetime)),
            _ => None,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::{ConvertOptions, Decimal, SqlType, TextEnd, Value};
    use proptest::prelude::*;

    struct Straight<'t>(&'t [u8]);

    struct Typed(Value<'static>);

    impl VisitNarrow for Typed {
        type Output = Option<Vec<u8>>;

        fn narrow(self, bytes: usize, convert: &impl Narrow) -> Option<Vec<u8>> {
            Some(convert.narrow_value(self.0)?.to_be_bytes()[8 - bytes..].to_vec())
        }
    }

    impl VisitNarrow for Straight<'_> {
        type Output = Option<Vec<u8>>;

        fn narrow(self, bytes: usize, convert: &impl Narrow) -> Option<Vec<u8>> {
            let alone = convert.narrow(TextEnd::new(self.0));
            // What comes before changes nothing, be it digits, points or a sign.
            for before in [&b"-"[..], b".", b"1.", b"12345678", b"|1234.67", b"-999999999999999999"]
            {
                let bytes = [before, self.0].concat();
                let seen = convert.narrow(TextEnd::within(&bytes, self.0.len()));
                assert_eq!(seen, alone, "{:?} after {before:?}", self.0);
            }
            Some(alone?.to_be_bytes()[8 - bytes..].to_vec())
        }
    }

    fn types() -> Vec<SqlType> {
        let mut types = vec![SqlType::Date];
        types.extend((0..=6).map(|digits| SqlType::DateTime { digits }));
        for unsigned in [false, true] {
            types.extend([1, 2, 3, 4, 8].map(|bytes| SqlType::Integer { bytes, unsigned }));
            for precision in 1..=20 {
                let scales = 0..=precision;
                types.extend(scales.map(|scale| SqlType::Decimal { precision, scale, unsigned }));
            }
        }
        types
    }

    #[test]
    fn what_is_converted_straight_is_what_any_conversion_gives() {
        let texts = [
            "0",
            "-0",
            "7",
            "-128",
            "127",
            "255",
            "256",
            "65535",
            "8388607",
            "2147483648",
            "-2147483649",
            "9223372036854775807",
            "123456789012345678",
            "-1",
            "+1",
            " 1",
            "1 ",
            "1.5",
            "-1.5",
            "0.004",
            "12.34",
            "-12.34",
            ".5",
            "5.",
            "99999.99",
            "0.00",
            "-0.00",
            "1e3",
            "",
            "x",
            "NULL",
            "2024-02-29",
            "2023-02-29",
            "0000-00-00",
            "1999-12-31 23:59:59",
            "1999-12-31T23:59:59.5",
            "1999-12-31 23:59:59.999999",
            "1999-12-31 24:00:00",
            "19991231",
        ];
        let (mut straight, mut all) = (0, 0);
        for sql_type in types() {
            let mut converter = Converter::new("c", &sql_type, &ConvertOptions::default()).unwrap();
            for text in texts.map(str::as_bytes) {
                let mut stored = Vec::new();
                let converted = converter.convert(text, &mut stored);
                all += 1;
                if let Some(Some(narrow)) = converter.visit_narrow(Straight(text)) {
                    assert_eq!((converted, &narrow), (Ok(()), &stored), "{sql_type} {text:?}");
                    straight += 1;
                }
            }
        }
        assert!(straight * 8 > all, "{straight} of {all}");
    }

    /// Typed values, small ones and those next to limits among them.
    fn values() -> impl Strategy<Value = Value<'static>> {
        let near = (0u32..63, -2i64..=2).prop_map(|(bits, by)| (1i64 << bits).wrapping_add(by));
        let integers = prop_oneof![-300i64..300, near.clone(), near.prop_map(i64::wrapping_neg)];
        let units = prop_oneof![3 => integers.clone().prop_map(i128::from), 1 => any::<i128>()];
        prop_oneof![
            2 => integers.prop_map(Value::Integer),
            1 => any::<u64>().prop_map(Value::Unsigned),
            4 => (units, 0u8..=20)
                .prop_map(|(units, scale)| Value::Decimal(Decimal { units, scale })),
            1 => (-800_000i32..3_000_000).prop_map(Value::Date),
            1 => (-70_000_000_000_000_000i64..260_000_000_000_000_000).prop_map(Value::DateTime),
            1 => (-70_000_000_000i64..260_000_000_000)
                .prop_map(|second| Value::DateTime(second * 1_000_000)),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]
        #[test]
        fn a_typed_value_is_converted_straight_as_any_conversion_does(
            sql_type in prop::sample::select(types()), value in values(),
        ) {
            let mut converter = Converter::new("c", &sql_type, &ConvertOptions::default()).unwrap();
            let mut stored = Vec::new();
            let converted = converter.convert_value(value, &mut stored);
            if let Some(Some(narrow)) = converter.visit_narrow(Typed(value)) {
                prop_assert_eq!((converted, narrow), (Ok(true), stored), "{} {:?}", sql_type, value);
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]
        #[test]
        fn numbers_of_all_lengths_too(
            text in "-?[0-9]{0,19}(\\.[0-9]{0,7})?",
            odd in "[-0-9.: ]{0,20}",
            date in "[0-9]{4}[-/][0-9]{2}-[0-3][0-9]",
        ) {
            let types = types();
            for (sql_type, text) in types.iter().flat_map(|t| [(t, &text), (t, &odd), (t, &date)]) {
                let mut converter = Converter::new("c", sql_type, &ConvertOptions::default()).unwrap();
                let mut stored = Vec::new();
                let converted = converter.convert(text.as_bytes(), &mut stored);
                if let Some(Some(narrow)) = converter.visit_narrow(Straight(text.as_bytes())) {
                    prop_assert_eq!((converted, &narrow), (Ok(()), &stored), "{} {:?}", sql_type, text);
                }
            }
        }
    }
}
