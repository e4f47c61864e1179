//! Values that a column would store with a loss: strict LOAD DATA rounds numbers and cuts off times without an error,
//! and typed values are refused instead.

use sources::batch::{Cells, RefusedCell, TypedColumn};
use values::{Decimal, Reason, SqlType, Value};

/// Microseconds of a day.
const DAY: i64 = 86_400_000_000;
/// Powers of ten that 128 bits have.
const POWER_MAX: u32 = 38;
/// Digits that a double keeps of any number, and those that a float keeps.
const DOUBLE_DIGITS: u32 = 15;
const FLOAT_DIGITS: u32 = 6;
/// Years below this are written with two digits: they would become a year of this century or of the last, and
/// 0 the year 2000.
const SHORT_YEARS_END: i64 = 100;

/// Adds the values to those that are refused which a column of this type would change.
pub(crate) fn refuse(column: &mut TypedColumn, sql_type: &SqlType) {
    let found = found(column, sql_type);
    if found.is_empty() {
        return;
    }
    column.refused.extend(found);
    // The first one of a row stays.
    column.refused.sort_by_key(|cell| cell.row);
    column.refused.dedup_by_key(|cell| cell.row);
}

fn found(column: &TypedColumn, sql_type: &SqlType) -> Vec<RefusedCell> {
    let refused = |is_changed: &dyn Fn(usize) -> Option<Value<'static>>, rows: usize| {
        let is_valid = |row: &usize| column.is_valid.get(*row).is_none_or(|valid| *valid);
        let rows = (0..rows).filter(|row| is_changed(*row).is_some()).filter(is_valid);
        rows.filter_map(|row| Some(cell(row, is_changed(row)?))).collect()
    };
    match (&column.cells, sql_type) {
        (Cells::Decimal { scale, .. }, SqlType::Decimal { scale: kept, .. }) if scale <= kept => {
            Vec::new()
        }
        (Cells::Time(_) | Cells::DateTime(_) | Cells::Timestamp(_), _)
            if clock_unit(sql_type) == 1 =>
        {
            Vec::new()
        }
        (Cells::Decimal { units, scale }, _) => {
            let number = |at: usize| Decimal { units: units[at], scale: *scale };
            let is_kept = decimal_rule(*scale, sql_type);
            refused(&|at| (!is_kept(units[at])).then(|| Value::Decimal(number(at))), units.len())
        }
        (Cells::Integer(cells), SqlType::Year) => {
            let is_short = |at: usize| (0..SHORT_YEARS_END).contains(&cells[at]);
            refused(&|at| is_short(at).then(|| Value::Integer(cells[at])), cells.len())
        }
        (Cells::Integer(cells), SqlType::Double { .. } | SqlType::Float { .. }) => {
            let is_kept = |at: usize| keeps(cells[at].unsigned_abs(), sql_type);
            refused(&|at| (!is_kept(at)).then(|| Value::Integer(cells[at])), cells.len())
        }
        (Cells::Unsigned(cells), SqlType::Year) => {
            let is_short = |at: usize| cells[at] < SHORT_YEARS_END as u64;
            refused(&|at| is_short(at).then(|| Value::Unsigned(cells[at])), cells.len())
        }
        (Cells::Unsigned(cells), SqlType::Double { .. } | SqlType::Float { .. }) => {
            let is_kept = |at: usize| keeps(cells[at], sql_type);
            refused(&|at| (!is_kept(at)).then(|| Value::Unsigned(cells[at])), cells.len())
        }
        (Cells::Float(cells), _) => {
            let is_kept = |at: usize| keeps_real(f64::from(cells[at]), true, sql_type);
            let number = |at: usize| Value::Double(f64::from(cells[at]));
            refused(&|at| (!is_kept(at)).then(|| number(at)), cells.len())
        }
        (Cells::Double(cells), _) => {
            let is_kept = |at: usize| keeps_real(cells[at], false, sql_type);
            refused(&|at| (!is_kept(at)).then(|| Value::Double(cells[at])), cells.len())
        }
        (Cells::Time(cells), _) => {
            let unit = clock_unit(sql_type);
            refused(&|at| (cells[at] % unit != 0).then(|| Value::Time(cells[at])), cells.len())
        }
        (Cells::DateTime(cells), _) => {
            let unit = clock_unit(sql_type);
            refused(&|at| (cells[at] % unit != 0).then(|| Value::DateTime(cells[at])), cells.len())
        }
        (Cells::Timestamp(cells), _) => {
            let unit = clock_unit(sql_type);
            refused(&|at| (cells[at] % unit != 0).then(|| Value::Timestamp(cells[at])), cells.len())
        }
        _ => Vec::new(),
    }
}

fn cell(row: usize, value: Value<'_>) -> RefusedCell {
    let mut scratch = Vec::new();
    let text = value.text(&mut scratch).unwrap_or_default().to_vec();
    RefusedCell { row, text, reason: Reason::Inexact }
}

/// Microseconds that a column counts by.
fn clock_unit(sql_type: &SqlType) -> i64 {
    match sql_type {
        SqlType::Time { digits } | SqlType::DateTime { digits } | SqlType::Timestamp { digits } => {
            10i64.pow(6u32.saturating_sub(u32::from(*digits)))
        }
        SqlType::Date => DAY,
        _ => 1,
    }
}

/// Digits behind the point that a column of numbers keeps; None of one that keeps all.
fn scale_of(sql_type: &SqlType) -> Option<u8> {
    match sql_type {
        SqlType::Integer { .. } | SqlType::Year | SqlType::Bit { .. } => Some(0),
        SqlType::Decimal { scale, .. } => Some(*scale),
        SqlType::Double { digits, .. } | SqlType::Float { digits, .. } => {
            digits.map(|(_, scale)| scale)
        }
        _ => None,
    }
}

/// Tells whether a column keeps units of a decimal with so many digits behind the point.
fn decimal_rule(scale: u8, sql_type: &SqlType) -> impl Fn(i128) -> bool {
    let dropped = scale_of(sql_type).map_or(0, |kept| scale.saturating_sub(kept));
    let unit = 10i128.checked_pow(u32::from(dropped).min(POWER_MAX)).unwrap_or(i128::MAX);
    let significant = match sql_type {
        SqlType::Double { .. } => DOUBLE_DIGITS,
        SqlType::Float { .. } => FLOAT_DIGITS,
        _ => POWER_MAX,
    };
    let most = 10u128.pow(significant);
    let one = 10i128.checked_pow(u32::from(scale).min(POWER_MAX)).unwrap_or(i128::MAX);
    let short_end =
        if *sql_type == SqlType::Year { one.saturating_mul(SHORT_YEARS_END.into()) } else { 0 };
    move |units| {
        !(0..short_end).contains(&units)
            && (unit == 1 || units % unit == 0)
            && (significant == POWER_MAX || significant_units(units.unsigned_abs(), most) < most)
    }
}

/// Units without zeros at their end, which a real number keeps by its exponent.
fn significant_units(mut units: u128, most: u128) -> u128 {
    while units >= most && units.is_multiple_of(10) {
        units /= 10;
    }
    units
}

/// True if a column has all digits of a decimal's text.
pub(crate) fn keeps_digits(text: &str, sql_type: &SqlType) -> bool {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let fraction = fraction.trim_end_matches('0');
    let significant = match sql_type {
        SqlType::Double { .. } => DOUBLE_DIGITS,
        SqlType::Float { .. } => FLOAT_DIGITS,
        _ => return scale_of(sql_type).is_none_or(|scale| fraction.len() <= usize::from(scale)),
    };
    let digits = format!("{whole}{fraction}");
    let digits = digits.trim_start_matches(['-', '0']).trim_end_matches('0');
    digits.len() <= significant as usize
        && scale_of(sql_type).is_none_or(|scale| fraction.len() <= usize::from(scale))
}

/// True if a column of real numbers has a whole number exactly.
fn keeps(number: u64, sql_type: &SqlType) -> bool {
    match sql_type {
        SqlType::Float { .. } => (number as f32) as u128 == u128::from(number),
        _ => (number as f64) as u128 == u128::from(number),
    }
}

/// True if a column has a real number as its shortest text says it.
fn keeps_real(number: f64, is_float: bool, sql_type: &SqlType) -> bool {
    if *sql_type == SqlType::Year && (0.0..SHORT_YEARS_END as f64).contains(&number) {
        return false;
    }
    let keeps_whole = scale_of(sql_type).is_some() && !matches!(sql_type, SqlType::Float { .. });
    if !number.is_finite() || (number.fract() == 0.0 && keeps_whole) {
        return true;
    }
    if let (true, SqlType::Float { digits: Some((_, scale)), .. }) = (is_float, sql_type) {
        // The server rounds the double, and then has the same float again.
        let unit = 10f64.powi(i32::from(*scale));
        let rounded = number.trunc() + (number.fract() * unit).round_ties_even() / unit;
        return rounded as f32 == number as f32;
    }
    let is_short = match sql_type {
        SqlType::Float { .. } if !is_float => {
            let short = number as f32;
            f64::from(short) == number || format!("{short}") == format!("{number}")
        }
        _ => true,
    };
    is_short && scale_of(sql_type).is_none_or(|scale| decimals(number) <= usize::from(scale))
}

/// Digits behind the point of a number's shortest text.
fn decimals(number: f64) -> usize {
    let text = format!("{number}");
    text.split_once('.').map_or(0, |(_, fraction)| fraction.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_refused(cells: Cells, sql_type: &SqlType) -> bool {
        let mut column = TypedColumn::from(cells);
        refuse(&mut column, sql_type);
        !column.refused.is_empty()
    }

    #[test]
    fn values_that_would_change_are_refused() {
        let decimal = |scale| SqlType::Decimal { precision: 20, scale, unsigned: false };
        let int = SqlType::Integer { bytes: 4, unsigned: false };
        let double = SqlType::Double { unsigned: false, digits: None };
        let float = SqlType::Float { unsigned: false, digits: None };
        let float_of = |scale| SqlType::Float { unsigned: false, digits: Some((8, scale)) };
        let units = |units, scale| Cells::Decimal { units: vec![units], scale };
        let times = |micros| Cells::DateTime(vec![micros]);
        for (cells, sql_type, refused) in [
            (units(12_345, 3), decimal(2), true),
            (units(12_340, 3), decimal(2), false),
            (units(1_000, 3), int.clone(), false),
            (units(1_001, 3), int.clone(), true),
            (units(12_345, 3), double.clone(), false),
            (units(1_234_567, 3), float.clone(), true),
            (Cells::Double(vec![1.5]), int.clone(), true),
            (Cells::Double(vec![2.0]), int, false),
            (Cells::Double(vec![0.125]), decimal(2), true),
            (Cells::Double(vec![0.1]), decimal(2), false),
            (Cells::Double(vec![0.1]), float.clone(), false),
            (Cells::Float(vec![-9_999.999, 0.001]), float_of(3), false),
            (Cells::Float(vec![0.1234]), float_of(3), true),
            (Cells::Float(vec![16_777_216.0, 1e7]), float_of(0), false),
            (Cells::Double(vec![16_777_217.0]), float_of(0), true),
            (Cells::Double(vec![16_777_216.0]), float_of(0), false),
            (Cells::Double(vec![0.123_456_789_01]), float.clone(), true),
            (Cells::Integer(vec![(1 << 53) + 1]), double, true),
            (Cells::Integer(vec![(1 << 24) + 1]), float, true),
            (Cells::Integer(vec![24]), SqlType::Year, true),
            (Cells::Integer(vec![2024]), SqlType::Year, false),
            (Cells::Unsigned(vec![99]), SqlType::Year, true),
            (Cells::Unsigned(vec![1999]), SqlType::Year, false),
            (Cells::Double(vec![24.0]), SqlType::Year, true),
            (Cells::Double(vec![0.0]), SqlType::Year, true),
            (Cells::Double(vec![2024.0]), SqlType::Year, false),
            (Cells::Float(vec![99.0]), SqlType::Year, true),
            (units(240, 1), SqlType::Year, true),
            (units(20_240, 1), SqlType::Year, false),
            (times(1), SqlType::DateTime { digits: 0 }, true),
            (times(1_000), SqlType::DateTime { digits: 3 }, false),
            (times(DAY), SqlType::Date, false),
            (times(DAY + 1), SqlType::Date, true),
        ] {
            let text = format!("{cells:?} {sql_type}");
            assert_eq!(is_refused(cells, &sql_type), refused, "{text}");
        }
    }

    #[test]
    fn null_is_never_refused() {
        let mut column = TypedColumn {
            is_valid: vec![false, true],
            ..TypedColumn::from(Cells::Double(vec![0.5, 0.5]))
        };
        refuse(&mut column, &SqlType::Integer { bytes: 4, unsigned: false });
        assert_eq!(column.refused.iter().map(|cell| cell.row).collect::<Vec<_>>(), [1]);
    }
}
