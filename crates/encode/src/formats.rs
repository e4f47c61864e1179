//! How the fields of a line are written, by what was said of columns and of the file.

use face::option::FORMAT_OF;
use job::error::Error;
use job::options::Written;
use schema::{Column, Table};
use sources::Formats;
use values::{Charset, Family, SqlType};
use written::Format;

use crate::fields::InputFields;

/// The format of each field. A format of a column counts more than one of all columns.
///
/// Errors are the user's: columns that are not in the input, formats that are none.
pub fn formats(
    written: &Written,
    table: &Table,
    fields: &InputFields,
    file: Charset,
) -> Result<Formats, Error> {
    if written.is_plain() {
        return Ok(Formats::default());
    }
    if !file.is_ascii_superset() {
        return Err(Error::Usage(format!(
            "formats of values do not work for a file in {}: its digits are not ASCII",
            file.name()
        )));
    }
    for (name, _) in &written.columns {
        let of_field = |column: &Option<usize>| {
            column.is_some_and(|column| is_named(&table.columns[column], name))
        };
        if !fields.columns.iter().any(of_field) {
            return Err(Error::Usage(format!(
                "{}: the input has no such column of {}",
                FORMAT_OF.with(name),
                table.name
            )));
        }
    }
    let format = |column: &Option<usize>| {
        let Some(column) = column.map(|column| &table.columns[column]) else { return Ok(None) };
        let said = written.format_of(|name| is_named(column, name)).map(str::to_owned);
        let Some(said) = said.or_else(|| of_all(written, &column.sql_type)) else {
            return Ok(None);
        };
        let format = Format::of_column(&said, &column.sql_type, file).map_err(|reason| {
            Error::Usage(format!("the format {said:?} of column `{}`: {reason}", column.name))
        })?;
        Ok(Some(format))
    };
    Ok(Formats::new(fields.columns.iter().map(format).collect::<Result<_, Error>>()?))
}

/// Names of columns have no case.
pub(crate) fn is_named(column: &Column, name: &str) -> bool {
    column.name.to_lowercase() == name.to_lowercase()
}

/// The format of all columns of a type.
fn of_all(written: &Written, sql_type: &SqlType) -> Option<String> {
    let trim = || written.trim.then(|| "trim".to_owned());
    match sql_type.family() {
        Family::Integer if written.yes_no && is_small(sql_type) => Some("yes-no".to_owned()),
        Family::Bits if written.yes_no => Some("yes-no".to_owned()),
        Family::Integer | Family::Decimal | Family::Real if written.decimal_comma => {
            Some("decimal-comma".to_owned())
        }
        // A time of day is no date.
        Family::Temporal | Family::Moment if !matches!(sql_type, SqlType::Time { .. }) => {
            written.dates.clone().or_else(trim)
        }
        Family::Bits | Family::Bytes | Family::CheckedBytes | Family::OpaqueBytes => None,
        _ => trim(),
    }
}

/// BOOLEAN is a TINYINT.
fn is_small(sql_type: &SqlType) -> bool {
    matches!(sql_type, SqlType::Integer { bytes: 1, .. })
}
