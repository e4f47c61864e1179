//! Where the values of a column come from: a field, its DEFAULT where the input leaves it out, or the
//! counter; and what NULL becomes.

use catalog::Moment;
use job::error::Error;
use schema::{Column, DefaultValue};
use values::{Charset, ConvertOptions, Converter, SqlMode, SqlType, Zone};

use crate::fields::InputFields;

/// Where a column's value comes from.
#[derive(Clone, Debug)]
pub enum Input {
    /// Field of the line, from 0.
    Field(usize),
    /// The column is not in the input: its default in stored form; `None` is NULL.
    Constant(Option<Vec<u8>>),
    /// AUTO_INCREMENT: the field, if the input has it, else always assigned.
    AutoIncrement(Option<usize>),
}

impl Input {
    /// Field of the line that the value is taken from.
    pub fn field(&self) -> Option<usize> {
        match self {
            Input::Field(field) | Input::AutoIncrement(Some(field)) => Some(*field),
            _ => None,
        }
    }
}

/// Names all columns at once that the input should have.
pub fn check(columns: &[Column], fields: &InputFields) -> Result<(), Error> {
    let left_out_columns: Vec<&Column> = columns
        .iter()
        .enumerate()
        .filter(|(position, column)| {
            let is_needed = column.default == DefaultValue::None && !column.auto_increment;
            is_needed && fields.field_of(*position).is_none()
        })
        .map(|(_, column)| column)
        .collect();
    match left_out_columns.as_slice() {
        [] => Ok(()),
        columns => Err(Error::Usage(left_out(columns))),
    }
}

fn left_out(columns: &[&Column]) -> String {
    let names: Vec<String> = columns.iter().map(|column| format!("`{}`", column.name)).collect();
    let (noun, verb) = if names.len() == 1 { ("column", "is") } else { ("columns", "are") };
    format!("{noun} {} {verb} not in the input, and NOT NULL without a DEFAULT", names.join(", "))
}

/// Where the values of a column come from, `field` being its field of the line.
pub fn input(
    convert: &ConvertOptions,
    column: &Column,
    field: Option<usize>,
) -> Result<Input, Error> {
    if column.auto_increment {
        return Ok(Input::AutoIncrement(field));
    }
    if let Some(field) = field {
        return Ok(Input::Field(field));
    }
    match &column.default {
        DefaultValue::Null => Ok(Input::Constant(None)),
        DefaultValue::Constant(text) => Ok(Input::Constant(Some(stored(convert, column, text)?))),
        DefaultValue::ConstantUtc(text) => {
            let convert = ConvertOptions { time_zone: Zone::UTC, ..convert.clone() };
            Ok(Input::Constant(Some(stored(&convert, column, text)?)))
        }
        DefaultValue::Stored(stored) => Ok(Input::Constant(Some(stored.clone()))),
        DefaultValue::None => Err(Error::Usage(left_out(&[column]))),
        DefaultValue::Expression(sql) => Err(Error::Usage(format!(
            "column `{}` is not in the input, and its DEFAULT {sql} is not a constant",
            column.name
        ))),
    }
}

/// The stored form of a text that is no field: of these the server minds zero dates as `sql_mode`
/// says, but not days that do not exist, and nothing is rounded.
fn stored(convert: &ConvertOptions, column: &Column, text: &[u8]) -> Result<Vec<u8>, Error> {
    let options = ConvertOptions {
        file_charset: Charset::Utf8mb4,
        sql_mode: convert.sql_mode.without(SqlMode::TIME_ROUND_FRACTIONAL)
            | SqlMode::ALLOW_INVALID_DATES,
        ..convert.clone()
    };
    let mut stored = Vec::new();
    Converter::new(&column.name, &column.sql_type, &options)?.convert(text, &mut stored).map_err(
        |reason| {
            Error::Usage(format!(
                "the DEFAULT of column `{}` cannot be stored: {reason}",
                column.name
            ))
        },
    )?;
    Ok(stored)
}

/// The value in place of NULL in a column that is NOT NULL. LOAD DATA gives a TIMESTAMP the current
/// time.
pub fn on_null(
    convert: &ConvertOptions,
    column: &Column,
    moment: Option<&Moment>,
) -> Result<Option<Vec<u8>>, Error> {
    let is_timestamp = matches!(column.sql_type, SqlType::Timestamp { .. });
    let Some(moment) = moment.filter(|_| is_timestamp && !column.nullable) else {
        return Ok(None);
    };
    let convert = ConvertOptions { time_zone: Zone::UTC, ..convert.clone() };
    stored(&convert, column, moment.utc().as_bytes()).map(Some)
}
