//! A column of a result: text of the server to values of Arrow.

mod moment;

use std::str::FromStr;
use std::sync::Arc;

use arrow_array::builder::{BinaryBuilder, NullBuilder, PrimitiveBuilder, StringBuilder};
use arrow_array::types as arrow;
use arrow_array::{ArrayRef, ArrowPrimitiveType};
use arrow_buffer::i256;
use arrow_schema::{DataType, Field, TimeUnit};

use crate::result_set::{ResultColumn, ResultKind};

/// Most digits of a decimal in 128 bits.
const DIGITS_128: u8 = 38;
/// Most digits of DECIMAL.
const DIGITS_MAX: u8 = 65;

/// The field of a column. Moments of TIMESTAMP have no time zone yet.
pub(crate) fn field(column: &ResultColumn) -> Field {
    Field::new(&column.name, data_type(column), column.is_nullable)
}

fn data_type(column: &ResultColumn) -> DataType {
    match (column.kind, column.is_unsigned) {
        (ResultKind::Integer(1), false) => DataType::Int8,
        (ResultKind::Integer(2), false) => DataType::Int16,
        (ResultKind::Integer(4), false) => DataType::Int32,
        (ResultKind::Integer(_), false) => DataType::Int64,
        (ResultKind::Integer(1), true) => DataType::UInt8,
        (ResultKind::Integer(2), true) => DataType::UInt16,
        (ResultKind::Integer(4), true) => DataType::UInt32,
        (ResultKind::Integer(_), true) => DataType::UInt64,
        (ResultKind::Decimal, _) => match digits(column) {
            (precision, scale) if precision <= DIGITS_128 => DataType::Decimal128(precision, scale),
            (precision, scale) => DataType::Decimal256(precision, scale),
        },
        (ResultKind::Float, _) => DataType::Float32,
        (ResultKind::Double, _) => DataType::Float64,
        (ResultKind::Year, _) => DataType::UInt16,
        (ResultKind::Date, _) => DataType::Date32,
        (ResultKind::Time, _) => DataType::Duration(TimeUnit::Microsecond),
        (ResultKind::DateTime | ResultKind::Timestamp, _) => {
            DataType::Timestamp(TimeUnit::Microsecond, None)
        }
        (ResultKind::Text, _) => DataType::Utf8,
        (ResultKind::Bytes, _) => DataType::Binary,
        (ResultKind::Null, _) => DataType::Null,
    }
}

/// Digits of a decimal, and those behind the point, from the length that the server declares.
///
/// Source: MariaDB 10.11, sql/my_decimal.h, `my_decimal_precision_to_length_no_truncation`.
fn digits(column: &ResultColumn) -> (u8, i8) {
    let more = u32::from(column.decimals > 0) + u32::from(!column.is_unsigned);
    let precision = column.length.saturating_sub(more).clamp(1, u32::from(DIGITS_MAX)) as u8;
    let precision = precision.max(column.decimals.min(DIGITS_MAX));
    (precision, column.decimals.min(precision) as i8)
}

/// The values of a column.
pub(crate) trait Values: Send {
    /// Adds a value, or NULL. Errors: a value that the type does not have.
    fn push(&mut self, text: Option<&[u8]>) -> Result<(), ()>;
    /// The values so far, and begins anew.
    fn finish(&mut self) -> ArrayRef;
}

/// The empty values of a column.
pub(crate) fn values(column: &ResultColumn) -> Box<dyn Values> {
    let data_type = data_type(column);
    match &data_type {
        DataType::Int8 => parsed::<arrow::Int8Type>(),
        DataType::Int16 => parsed::<arrow::Int16Type>(),
        DataType::Int32 => parsed::<arrow::Int32Type>(),
        DataType::Int64 => parsed::<arrow::Int64Type>(),
        DataType::UInt8 => parsed::<arrow::UInt8Type>(),
        DataType::UInt16 => parsed::<arrow::UInt16Type>(),
        DataType::UInt32 => parsed::<arrow::UInt32Type>(),
        DataType::UInt64 => parsed::<arrow::UInt64Type>(),
        DataType::Float32 => parsed::<arrow::Float32Type>(),
        DataType::Float64 => parsed::<arrow::Float64Type>(),
        DataType::Decimal128(precision, scale) => {
            let (precision, scale) = (*precision, *scale);
            let read = move |text: &str| unscaled(text, precision, scale)?.parse().ok();
            numbers::<arrow::Decimal128Type>(data_type, read)
        }
        DataType::Decimal256(precision, scale) => {
            let (precision, scale) = (*precision, *scale);
            let read = move |text: &str| i256::from_string(&unscaled(text, precision, scale)?);
            numbers::<arrow::Decimal256Type>(data_type, read)
        }
        DataType::Date32 => numbers::<arrow::Date32Type>(data_type, moment::days),
        DataType::Duration(_) => {
            numbers::<arrow::DurationMicrosecondType>(data_type, moment::duration)
        }
        DataType::Timestamp(..) => {
            numbers::<arrow::TimestampMicrosecondType>(data_type, moment::microseconds)
        }
        DataType::Null => Box::new(NullBuilder::new()),
        DataType::Utf8 => Box::new(StringBuilder::new()),
        _ => Box::new(BinaryBuilder::new()),
    }
}

struct Numbers<T: ArrowPrimitiveType, F> {
    builder: PrimitiveBuilder<T>,
    read: F,
}

fn numbers<T: ArrowPrimitiveType>(
    data_type: DataType,
    read: impl Fn(&str) -> Option<T::Native> + Send + 'static,
) -> Box<dyn Values> {
    let builder = PrimitiveBuilder::<T>::new().with_data_type(data_type);
    Box::new(Numbers { builder, read })
}

fn parsed<T: ArrowPrimitiveType>() -> Box<dyn Values>
where
    T::Native: FromStr,
{
    numbers::<T>(T::DATA_TYPE, |text| text.parse().ok())
}

impl<T: ArrowPrimitiveType, F: Fn(&str) -> Option<T::Native> + Send> Values for Numbers<T, F> {
    fn push(&mut self, text: Option<&[u8]>) -> Result<(), ()> {
        let Some(text) = text else {
            self.builder.append_null();
            return Ok(());
        };
        let value = std::str::from_utf8(text).ok().and_then(&self.read).ok_or(())?;
        self.builder.append_value(value);
        Ok(())
    }

    fn finish(&mut self) -> ArrayRef {
        Arc::new(self.builder.finish())
    }
}

impl Values for NullBuilder {
    fn push(&mut self, text: Option<&[u8]>) -> Result<(), ()> {
        if text.is_some() {
            return Err(());
        }
        self.append_null();
        Ok(())
    }

    fn finish(&mut self) -> ArrayRef {
        Arc::new(NullBuilder::finish(self))
    }
}

impl Values for StringBuilder {
    fn push(&mut self, text: Option<&[u8]>) -> Result<(), ()> {
        let text = text.map(std::str::from_utf8).transpose().map_err(drop)?;
        self.append_option(text);
        Ok(())
    }

    fn finish(&mut self) -> ArrayRef {
        Arc::new(StringBuilder::finish(self))
    }
}

impl Values for BinaryBuilder {
    fn push(&mut self, text: Option<&[u8]>) -> Result<(), ()> {
        self.append_option(text);
        Ok(())
    }

    fn finish(&mut self) -> ArrayRef {
        Arc::new(BinaryBuilder::finish(self))
    }
}

/// The digits of a decimal without its point, with as many behind the point as the scale says.
fn unscaled(text: &str, precision: u8, scale: i8) -> Option<String> {
    let (sign, digits) = text.strip_prefix('-').map_or(("", text), |digits| ("-", digits));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let scale = usize::try_from(scale).ok()?;
    let missing = scale.checked_sub(fraction.len())?;
    let digits = format!("{whole}{fraction}{:0<missing$}", "");
    let is_number = !whole.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let significant = digits.trim_start_matches('0').len();
    (is_number && significant <= usize::from(precision)).then(|| format!("{sign}{digits}"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use arrow_array::Array;
    use arrow_array::cast::AsArray;

    use super::*;

    fn column(kind: ResultKind, is_unsigned: bool, length: u32, decimals: u8) -> ResultColumn {
        ResultColumn {
            name: "c".to_owned(),
            kind,
            is_unsigned,
            is_nullable: true,
            length,
            decimals,
            is_rounded: false,
        }
    }

    #[test]
    fn values_beyond_a_type_are_errors() {
        for (kind, is_unsigned, good, bad) in [
            (ResultKind::Integer(1), false, "-128", "128"),
            (ResultKind::Integer(8), true, "18446744073709551615", "-1"),
            (ResultKind::Year, false, "2155", "x"),
            (ResultKind::Date, false, "9999-12-31", "0000-00-00"),
            (ResultKind::DateTime, false, "2026-01-02 03:04:05.000006", "2026-02-30 00:00:00"),
            (ResultKind::Time, false, "-838:59:59", "12:60:00"),
            (ResultKind::Float, false, "3.4028235e38", "x"),
        ] {
            let mut values = values(&column(kind, is_unsigned, 20, 0));
            assert_eq!(values.push(Some(good.as_bytes())), Ok(()), "{good}");
            assert_eq!(values.push(None), Ok(()));
            assert_eq!(values.push(Some(bad.as_bytes())), Err(()), "{bad}");
            let array = values.finish();
            assert_eq!((array.len(), array.null_count()), (2, 1));
        }
        let mut text = values(&column(ResultKind::Text, false, 4, 0));
        assert_eq!(text.push(Some(b"\xff")), Err(()));
        let mut bytes = values(&column(ResultKind::Bytes, false, 4, 0));
        assert_eq!(bytes.push(Some(b"\xff")), Ok(()));
    }

    #[test]
    fn decimals_keep_all_digits() {
        // DECIMAL(12,2), DECIMAL(2,2) UNSIGNED, DECIMAL(65,30).
        let small = column(ResultKind::Decimal, false, 14, 2);
        assert_eq!(data_type(&small), DataType::Decimal128(12, 2));
        let fraction = column(ResultKind::Decimal, true, 3, 2);
        assert_eq!(data_type(&fraction), DataType::Decimal128(2, 2));
        let large = column(ResultKind::Decimal, false, 67, 30);
        assert_eq!(data_type(&large), DataType::Decimal256(65, 30));

        let mut values_of_small = values(&small);
        for text in ["-1.50", "9999999999.99", "7"] {
            assert_eq!(values_of_small.push(Some(text.as_bytes())), Ok(()), "{text}");
        }
        for text in ["10000000000.00", "1.234", "", ".5", "1e5"] {
            assert_eq!(values_of_small.push(Some(text.as_bytes())), Err(()), "{text}");
        }
        let array = values_of_small.finish();
        let array = array.as_primitive::<arrow::Decimal128Type>();
        assert_eq!(array.values().to_vec(), [-150, 999_999_999_999, 700]);

        let mut values_of_large = values(&large);
        let text = format!("-{}.{}", "9".repeat(35), "9".repeat(30));
        assert_eq!(values_of_large.push(Some(text.as_bytes())), Ok(()));
        let array = values_of_large.finish();
        let array = array.as_primitive::<arrow::Decimal256Type>();
        assert_eq!(array.value_as_string(0), text);
    }
}
