//! The AUTO_INCREMENT values that the input itself gives.

use sources::Rows;
use values::{Converter, SqlType};

use crate::binding::Binding;
use crate::encoder::AutoValue;
use crate::field;

/// Largest values that InnoDB counts of FLOAT and DOUBLE: from there on not every integer is one.
const FLOAT_COUNTED_MAX: u64 = 1 << 24;
const DOUBLE_COUNTED_MAX: u64 = 1 << 53;
/// A DOUBLE beyond this is no number the server can count: 2^63.
const DOUBLE_INTEGER_MAX: f64 = 9_223_372_036_854_775_808.0;

/// A row's AUTO_INCREMENT value in the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputNumber {
    /// NULL or 0, or it has no field for it: a value is generated.
    Nothing,
    /// This value above 0, which later ones must exceed.
    Value(u64),
    /// A negative value, or a 0 that is to be 0: later ones do not depend on it.
    Low,
    /// The row will be refused, by what it was tried with: its value does not convert, or something else.
    Refused(AutoValue),
    /// A DOUBLE that is no integer of 64 bits, which only AUTO_INCREMENT refuses.
    Overflow,
}

/// How the stored form of the column is read as an integer.
#[derive(Clone, Copy, Debug)]
enum Stored {
    /// Big-endian; of so many bits with the sign bit inverted, if signed.
    Integer {
        signed_bits: Option<u32>,
    },
    /// Little-endian IEEE, rounded half to even as the server's `val_int`.
    Float,
    Double,
}

/// Finds the AUTO_INCREMENT values that the input itself gives.
#[derive(Debug)]
pub struct Explicit {
    field: Option<usize>,
    converter: Option<Converter>,
    stored_as: Stored,
    zero_is_value: bool,
    stored: Vec<u8>,
    scratch: Vec<u8>,
}

impl Explicit {
    /// A reader of the table's AUTO_INCREMENT column, if it has one.
    pub fn new(binding: &Binding, zero_is_value: bool) -> Explicit {
        let bound = binding.auto_increment.map(|column| &binding.columns[column]);
        let field = bound.and_then(|bound| bound.input.field());
        let column = bound.map(|bound| (&bound.column.sql_type, &bound.converter));
        Explicit::of_column(column, field, zero_is_value)
    }

    /// For the AUTO_INCREMENT column, if there is one, with its type and converter.
    pub fn of_column(
        column: Option<(&SqlType, &Converter)>,
        field: Option<usize>,
        zero_is_value: bool,
    ) -> Explicit {
        let stored_as = match column.map(|(sql_type, _)| sql_type) {
            Some(SqlType::Float { .. }) => Stored::Float,
            Some(SqlType::Double { .. }) => Stored::Double,
            Some(SqlType::Integer { bytes, unsigned: false }) => {
                Stored::Integer { signed_bits: Some(u32::from(*bytes) * 8) }
            }
            _ => Stored::Integer { signed_bits: None },
        };
        Explicit {
            field,
            converter: column.map(|(_, converter)| converter.clone()),
            stored_as,
            zero_is_value,
            stored: Vec::new(),
            scratch: Vec::new(),
        }
    }

    /// Collects the values of the input, row by row; nothing for a table without such a column.
    pub fn collect<R: Rows>(&mut self, rows: R, given: &mut Vec<InputNumber>) {
        given.clear();
        let Some(converter) = &mut self.converter else { return };
        for row in rows.iter() {
            self.stored.clear();
            let value = field::value(row, self.field, &mut self.scratch);
            given.push(match converter.convert_value(value, &mut self.stored) {
                Ok(true) => read(&self.stored, self.stored_as, self.zero_is_value),
                Ok(false) => InputNumber::Nothing,
                Err(_) => InputNumber::Refused(AutoValue::Given),
            });
        }
    }
}

/// Largest value of a type that InnoDB counts, and the largest that the type takes.
pub fn limits(sql_type: &SqlType) -> (u64, u64) {
    match sql_type {
        SqlType::Integer { bytes, unsigned } => {
            let max = u64::MAX >> (64 - u32::from(*bytes) * 8) >> u32::from(!unsigned);
            (max, max)
        }
        SqlType::Float { .. } => (FLOAT_COUNTED_MAX, u64::MAX),
        _ => (DOUBLE_COUNTED_MAX, u64::MAX),
    }
}

fn read(stored: &[u8], stored_as: Stored, zero_is_value: bool) -> InputNumber {
    let value = match stored_as {
        Stored::Integer { signed_bits } => {
            let number = stored.iter().fold(0u64, |number, &byte| number << 8 | u64::from(byte));
            i128::from(number) - signed_bits.map_or(0, |bits| 1i128 << (bits - 1))
        }
        Stored::Float => {
            let bits = stored.iter().rev().fold(0u32, |bits, &byte| bits << 8 | u32::from(byte));
            // Beyond 64 bits it is the last integer of them.
            i128::from(f32::from_bits(bits).round_ties_even() as i64)
        }
        Stored::Double => {
            let bits = stored.iter().rev().fold(0u64, |bits, &byte| bits << 8 | u64::from(byte));
            let value = f64::from_bits(bits).round_ties_even();
            if value.abs() > DOUBLE_INTEGER_MAX {
                return InputNumber::Overflow;
            }
            i128::from(value as i64)
        }
    };
    match u64::try_from(value) {
        Ok(0) if !zero_is_value => InputNumber::Nothing,
        Ok(0) | Err(_) => InputNumber::Low,
        Ok(value) => InputNumber::Value(value),
    }
}
