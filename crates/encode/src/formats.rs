//! How the fields of a line are written, by what was said of columns and of the file; and columns
//! whose value is said instead.

use face::option::{COLUMNS, FORMAT_OF, SET};
use job::error::Error;
use job::options::{RowOptions, Written};
use schema::{Column, DefaultValue, Table};
use sources::Formats;
use values::format::Format;
use values::{Charset, ConvertOptions, Converter, Family, SqlType};

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
fn is_named(column: &Column, name: &str) -> bool {
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
        Family::Bits | Family::Bytes | Family::OpaqueBytes => None,
        _ => trim(),
    }
}

/// BOOLEAN is a TINYINT.
fn is_small(sql_type: &SqlType) -> bool {
    matches!(sql_type, SqlType::Integer { bytes: 1, .. })
}

/// A column whose value is the same for all rows, because it was said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Constant {
    /// Its place in the table.
    pub column: usize,
    /// In UTF-8.
    pub text: Vec<u8>,
}

/// The columns that `--set` gives a value.
///
/// Errors are the user's: no such column, or one that gets its values otherwise; an expression that the
/// server was not asked for the value of.
pub fn constants(options: &RowOptions, table: &Table) -> Result<Vec<Constant>, Error> {
    if let Some((column, expression)) = options.expressions.first() {
        return Err(Error::Usage(format!(
            "column {column}: the value of {} was not evaluated before the load",
            face::statement::shown(expression, 80)
        )));
    }
    let constant = |(name, text): &(String, String)| {
        let wrong = |why: &str| {
            let setting = face::statement::shown_argument(&format!("{name}={text}"));
            Error::Usage(format!("{}: {why}", SET.with(setting)))
        };
        let at = table.columns.iter().position(|column| is_named(column, name));
        let column = at.ok_or_else(|| wrong("the table has no such column"))?;
        let of = &table.columns[column];
        if of.auto_increment || of.generated.is_some() {
            return Err(wrong("the server generates the values of this column"));
        }
        Ok(Constant { column, text: text.clone().into_bytes() })
    };
    let constants: Vec<Constant> =
        options.constants.iter().map(constant).collect::<Result<_, _>>()?;
    for (at, Constant { column, .. }) in constants.iter().enumerate() {
        if constants[..at].iter().any(|before| before.column == *column) {
            let name = &table.columns[*column].name;
            return Err(Error::Usage(format!("{SET} gives column `{name}` two values")));
        }
    }
    Ok(constants)
}

/// The table as if these were the defaults of their columns, which the input must not have then.
///
/// Errors are the user's: values that their columns do not take.
pub(crate) fn with_constants(
    table: &Table,
    constants: &[Constant],
    fields: &InputFields,
    convert: &ConvertOptions,
) -> Result<Table, Error> {
    let mut table = table.clone();
    for Constant { column, text } in constants {
        let column_of = &mut table.columns[*column];
        let said = SET.with(format!("{}={}", column_of.name, String::from_utf8_lossy(text)));
        if fields.field_of(*column).is_some() {
            return Err(Error::Usage(format!(
                "{said}: the input has this column too; {} skips its field",
                COLUMNS.with("a,@x,b")
            )));
        }
        // Where rows are sent it goes among the file's own text.
        if !text.is_ascii() && !matches!(convert.file_charset, Charset::Utf8mb4 | Charset::Utf8mb3)
        {
            let charset = convert.file_charset.name();
            return Err(Error::Usage(format!(
                "{said} must be ASCII, because the file is in {charset}"
            )));
        }
        let Column { name, sql_type, .. } = &*column_of;
        let mut converter = Converter::new(name, sql_type, convert)?;
        if let Err(reason) = converter.convert(text, &mut Vec::new()) {
            return Err(Error::Usage(format!("{said}: {}", reason.explain(text, sql_type))));
        }
        column_of.default = DefaultValue::Constant(text.clone());
    }
    Ok(table)
}
