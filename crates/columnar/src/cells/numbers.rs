//! Numbers of Arrow arrays to cells.

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef};
use arrow_buffer::i256;
use arrow_schema::DataType;
use sources::batch::Cells;
use values::{Reason, SqlType};

use super::{CheckedCells, refused};
use crate::exact::keeps_digits;

/// The first number that 64 bits do not hold.
const TWO_TO_64: f64 = 18_446_744_073_709_551_616.0;
/// Digits behind the point that typed values have at most.
const SCALE_MAX: i8 = 38;

/// Whole numbers and truth values.
pub(super) fn integers(array: &ArrayRef) -> Cells {
    macro_rules! cells {
        ($cells:ident, $number:ty, $type:ty) => {
            Cells::$cells(
                array
                    .as_primitive::<$type>()
                    .values()
                    .iter()
                    .map(|n| <$number>::from(*n))
                    .collect(),
            )
        };
    }
    match array.data_type() {
        DataType::Boolean => {
            Cells::Integer(array.as_boolean().values().iter().map(i64::from).collect())
        }
        DataType::Int8 => cells!(Integer, i64, Int8Type),
        DataType::Int16 => cells!(Integer, i64, Int16Type),
        DataType::Int32 => cells!(Integer, i64, Int32Type),
        DataType::Int64 => Cells::Integer(array.as_primitive::<Int64Type>().values().to_vec()),
        DataType::UInt8 => cells!(Unsigned, u64, UInt8Type),
        DataType::UInt16 => cells!(Unsigned, u64, UInt16Type),
        DataType::UInt32 => cells!(Unsigned, u64, UInt32Type),
        _ => Cells::Unsigned(array.as_primitive::<UInt64Type>().values().to_vec()),
    }
}

/// Numbers as the bytes that a column of bits takes.
pub(super) fn bits(cells: Cells) -> CheckedCells {
    let (mut ends, mut bytes, mut out) = (Vec::new(), Vec::new(), Vec::new());
    let mut push = |number: u64| {
        let all = number.to_be_bytes();
        let zeros = all.iter().take(7).take_while(|byte| **byte == 0).count();
        bytes.extend_from_slice(&all[zeros..]);
        ends.push(bytes.len());
    };
    match cells {
        Cells::Integer(numbers) => {
            for (row, number) in numbers.into_iter().enumerate() {
                if number < 0 {
                    out.push(refused(row, number.to_string(), Reason::OutOfRange));
                }
                push(number.unsigned_abs());
            }
        }
        Cells::Unsigned(numbers) => numbers.into_iter().for_each(push),
        Cells::Double(numbers) => {
            for (row, number) in numbers.into_iter().enumerate() {
                let is_whole = number.fract() == 0.0 && (0.0..TWO_TO_64).contains(&number);
                if !is_whole {
                    out.push(refused(row, number.to_string(), Reason::OutOfRange));
                }
                push(if is_whole { number as u64 } else { 0 });
            }
        }
        other => return other.into(),
    }
    CheckedCells { cells: Cells::Bytes { ends, bytes }, refused: out }
}

/// Numbers as years: 0 is the year 0000, which the server reads from four digits only.
pub(super) fn years(cells: Cells) -> CheckedCells {
    let years: Vec<i64> = match &cells {
        Cells::Integer(years) => years.clone(),
        Cells::Unsigned(years) => {
            years.iter().map(|year| i64::try_from(*year).unwrap_or(i64::MAX)).collect()
        }
        _ => return cells.into(),
    };
    if !years.contains(&0) {
        return cells.into();
    }
    let (mut ends, mut bytes, mut out) = (Vec::new(), Vec::new(), Vec::new());
    for (row, year) in years.into_iter().enumerate() {
        // Years of two digits would become others.
        if (1..100).contains(&year) {
            out.push(refused(row, year.to_string(), Reason::Inexact));
        }
        bytes.extend_from_slice(format!("{year:04}").as_bytes());
        ends.push(bytes.len());
    }
    CheckedCells { cells: Cells::Bytes { ends, bytes }, refused: out }
}

/// Real numbers.
pub(super) fn reals(array: &ArrayRef) -> CheckedCells {
    match array.data_type() {
        DataType::Float64 => {
            let numbers = array.as_primitive::<Float64Type>().values().to_vec();
            let is_bad = |number: &f64| !number.is_finite();
            let out = bad(&numbers, is_bad, |number| *number);
            CheckedCells { cells: Cells::Double(numbers), refused: out }
        }
        other => {
            let numbers: Vec<f32> = match other {
                DataType::Float16 => array
                    .as_primitive::<Float16Type>()
                    .values()
                    .iter()
                    .map(|n| n.to_f32())
                    .collect(),
                _ => array.as_primitive::<Float32Type>().values().to_vec(),
            };
            let out = bad(&numbers, |number| !number.is_finite(), |number| f64::from(*number));
            CheckedCells { cells: Cells::Float(numbers), refused: out }
        }
    }
}

fn bad<N>(
    numbers: &[N],
    is_bad: impl Fn(&N) -> bool,
    double: impl Fn(&N) -> f64,
) -> Vec<sources::batch::RefusedCell> {
    let bad = numbers.iter().enumerate().filter(|(_, number)| is_bad(number));
    let cell = |(row, number)| {
        let number: f64 = double(number);
        let reason = if number.is_nan() { Reason::NotANumber } else { Reason::OutOfRange };
        refused(row, number.to_string(), reason)
    };
    bad.map(cell).collect()
}

/// Exact numbers.
pub(super) fn decimals(array: &ArrayRef, sql_type: Option<&SqlType>) -> CheckedCells {
    let (units, scale): (Vec<i128>, i8) = match array.data_type() {
        DataType::Decimal32(_, scale) => {
            let units = array.as_primitive::<Decimal32Type>().values().iter();
            (units.map(|units| i128::from(*units)).collect(), *scale)
        }
        DataType::Decimal64(_, scale) => {
            let units = array.as_primitive::<Decimal64Type>().values().iter();
            (units.map(|units| i128::from(*units)).collect(), *scale)
        }
        DataType::Decimal128(_, scale) => {
            (array.as_primitive::<Decimal128Type>().values().to_vec(), *scale)
        }
        DataType::Decimal256(_, scale) => return wide(array, *scale, sql_type),
        _ => (Vec::new(), 0),
    };
    match u8::try_from(scale) {
        Ok(scale) if scale <= SCALE_MAX as u8 => Cells::Decimal { units, scale }.into(),
        _ => texts(array.len(), sql_type, |row| digits(&units[row].to_string(), scale)),
    }
}

/// Decimals of up to 76 digits: numbers where 128 bits have all of them, else texts.
fn wide(array: &ArrayRef, scale: i8, sql_type: Option<&SqlType>) -> CheckedCells {
    let all = array.as_primitive::<Decimal256Type>();
    let is_valid = |row: usize| all.is_valid(row);
    let unit = |(row, units): (usize, &i256)| match units.to_i128() {
        Some(units) => Some(units),
        None => (!is_valid(row)).then_some(0),
    };
    let units: Option<Vec<i128>> = all.values().iter().enumerate().map(unit).collect();
    match (units, u8::try_from(scale)) {
        (Some(units), Ok(scale)) if scale <= SCALE_MAX as u8 => {
            Cells::Decimal { units, scale }.into()
        }
        _ => texts(all.len(), sql_type, |row| digits(&all.value(row).to_string(), scale)),
    }
}

/// Texts of decimals, of which a column of this type has all digits or none.
fn texts(rows: usize, sql_type: Option<&SqlType>, text: impl Fn(usize) -> String) -> CheckedCells {
    let (mut ends, mut bytes, mut out) = (Vec::with_capacity(rows), Vec::new(), Vec::new());
    for row in 0..rows {
        let text = text(row);
        bytes.extend_from_slice(text.as_bytes());
        ends.push(bytes.len());
        if sql_type.is_some_and(|sql_type| !keeps_digits(&text, sql_type)) {
            out.push(refused(row, text, Reason::Inexact));
        }
    }
    CheckedCells { cells: Cells::Bytes { ends, bytes }, refused: out }
}

/// The text of a number of so many units of 10^-`scale`.
fn digits(units: &str, scale: i8) -> String {
    let (sign, digits) = match units.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", units),
    };
    match usize::try_from(scale) {
        Ok(0) => units.to_owned(),
        Ok(scale) => {
            let digits = format!("{digits:0>width$}", width = scale + 1);
            let (whole, fraction) = digits.split_at(digits.len() - scale);
            format!("{sign}{whole}.{fraction}")
        }
        Err(_) if digits == "0" => units.to_owned(),
        Err(_) => format!("{units}{}", "0".repeat(usize::from(scale.unsigned_abs()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_have_their_point() {
        for (units, scale, text) in [
            ("12345", 2, "123.45"),
            ("-5", 3, "-0.005"),
            ("12", 0, "12"),
            ("-12", -3, "-12000"),
            ("0", -3, "0"),
        ] {
            assert_eq!(digits(units, scale), text);
        }
    }

    #[test]
    fn bits_are_the_bytes_of_a_number() {
        let Cells::Bytes { ends, bytes } = bits(Cells::Unsigned(vec![0, 5, 0x1234])).cells else {
            panic!("no bytes")
        };
        assert_eq!((ends, bytes), (vec![1, 2, 4], vec![0, 5, 0x12, 0x34]));
        let made = bits(Cells::Double(vec![1.0, 2.5, -1.0, 258.0]));
        let Cells::Bytes { ends, bytes } = made.cells else { panic!("no bytes") };
        assert_eq!((ends, bytes), (vec![1, 2, 3, 5], vec![1, 0, 0, 1, 2]));
        assert_eq!(made.refused.iter().map(|cell| cell.row).collect::<Vec<_>>(), [1, 2]);
    }
}
