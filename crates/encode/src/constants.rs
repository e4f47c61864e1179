//! Columns whose value is the same for all rows, because an option gives it.

use face::option::{COLUMNS, SET, SET_SQL};
use face::statement::{self, HIDDEN};
use job::error::Error;
use job::options::RowOptions;
use schema::{Column, DefaultValue, Table};
use values::{Charset, ConvertOptions, Converter};

use crate::fields::InputFields;
use crate::formats::is_named;

/// A column with one value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Constant {
    /// Its place in the table.
    pub column: usize,
    /// In UTF-8.
    pub text: Vec<u8>,
    /// The option as messages show it.
    setting: String,
}

/// Values of expressions are the server's, and may be keys.
fn setting(name: &str, text: &str, is_evaluated: bool) -> String {
    match is_evaluated {
        true => SET_SQL.with(format!("{name}={HIDDEN}")),
        false => SET.with(statement::shown_argument(&format!("{name}={text}"))),
    }
}

/// The columns that options give a value.
///
/// Errors are the user's: no such column, or one that gets its values otherwise; an expression that the
/// server was not asked for the value of.
pub(crate) fn constants(options: &RowOptions, table: &Table) -> Result<Vec<Constant>, Error> {
    if let Some((column, expression)) = options.expressions.first() {
        return Err(Error::Usage(format!(
            "column {column}: the value of {} was not evaluated before the load",
            statement::shown(expression, 80)
        )));
    }
    let constant = |(name, text): &(String, String)| {
        let is_evaluated = options.evaluated.iter().any(|(column, _)| column == name);
        let setting = setting(name, text, is_evaluated);
        let wrong = |why: &str| Error::Usage(format!("{setting}: {why}"));
        let at = table.columns.iter().position(|column| is_named(column, name));
        let column = at.ok_or_else(|| wrong("the table has no such column"))?;
        let of = &table.columns[column];
        if of.auto_increment || of.generated.is_some() {
            return Err(wrong("the server generates the values of this column"));
        }
        Ok(Constant { column, text: text.clone().into_bytes(), setting })
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
    for Constant { column, text, setting } in constants {
        let column_of = &mut table.columns[*column];
        if fields.field_of(*column).is_some() {
            return Err(Error::Usage(format!(
                "{setting}: the input has this column too; {} skips its field",
                COLUMNS.with("a,@x,b")
            )));
        }
        // Where rows are sent it goes among the file's own text.
        if !text.is_ascii() && !matches!(convert.file_charset, Charset::Utf8mb4 | Charset::Utf8mb3)
        {
            let charset = convert.file_charset.name();
            return Err(Error::Usage(format!(
                "{setting} must be ASCII, because the file is in {charset}"
            )));
        }
        let Column { name, sql_type, .. } = &*column_of;
        let mut converter = Converter::new(name, sql_type, convert)?;
        if let Err(reason) = converter.convert(text, &mut Vec::new()) {
            return Err(Error::Usage(format!("{setting}: the value {reason}: {sql_type}")));
        }
        column_of.default = DefaultValue::Constant(text.clone());
    }
    Ok(table)
}
