//! Columns whose value is the same for all rows, because an option gives it.

use face::option::{COLUMNS, SET, SET_SQL};
use face::statement::{self, HIDDEN};
use job::error::Error;
use job::options::{Constant, ConstantValue, RowOptions};
use schema::{Column, DefaultValue, Table};
use values::{Charset, ConvertOptions, Converter, Family, Reason, SqlType};

use crate::fields::InputFields;
use crate::formats::is_named;
use crate::partition::Collations;

/// A constant that is bound to its column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoundConstant {
    /// Its place in the table.
    pub column: usize,
    /// In UTF-8; of a BIT column the bytes of its number.
    pub text: Vec<u8>,
    /// True if an expression gave it.
    pub is_evaluated: bool,
    /// The option as messages show it.
    setting: String,
}

/// The columns that options give a value.
///
/// Errors are the user's: no such column, or one that gets its values otherwise; an expression that the
/// server was not asked for the value of.
pub(crate) fn constants(options: &RowOptions, table: &Table) -> Result<Vec<BoundConstant>, Error> {
    let constants = options.constants.iter().map(|constant| bind(constant, table));
    let constants = constants.collect::<Result<Vec<BoundConstant>, Error>>()?;
    for (at, BoundConstant { column, .. }) in constants.iter().enumerate() {
        if constants[..at].iter().any(|before| before.column == *column) {
            let name = &table.columns[*column].name;
            return Err(Error::Usage(format!("{SET} gives column `{name}` two values")));
        }
    }
    Ok(constants)
}

fn bind(constant: &Constant, table: &Table) -> Result<BoundConstant, Error> {
    let name = &constant.column;
    let (text, setting) = match &constant.value {
        ConstantValue::Text(text) => {
            (text, SET.with(statement::shown_argument(&format!("{name}={text}"))))
        }
        // Values of expressions are the server's, and may be keys.
        ConstantValue::Evaluated { text, .. } => (text, SET_SQL.with(format!("{name}={HIDDEN}"))),
        ConstantValue::Expression(expression) => {
            return Err(Error::Usage(format!(
                "column {name}: the value of {} was not evaluated before the load",
                statement::shown(expression, 80)
            )));
        }
    };
    let setting = setting.to_string();
    let wrong = |why: &str| Error::Usage(format!("{setting}: {why}"));
    let at = table.columns.iter().position(|column| is_named(column, name));
    let column = at.ok_or_else(|| wrong("the table has no such column"))?;
    let Column { sql_type, auto_increment, generated, .. } = &table.columns[column];
    if *auto_increment || generated.is_some() {
        return Err(wrong("the server generates the values of this column"));
    }
    let is_number = match &constant.value {
        ConstantValue::Evaluated { is_number, .. } => *is_number,
        // An option cannot tell a number from its digits, which are seldom meant for bytes of a BIT.
        _ => {
            let is_digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            is_digits && sql_type.family() == Family::Bits
        }
    };
    let text = match is_number {
        true => text_of_number(text, sql_type)
            .ok_or_else(|| wrong(&format!("the number is no value of {sql_type}")))?,
        false => text.clone().into_bytes(),
    };
    let is_evaluated = constant.value.is_evaluated();
    Ok(BoundConstant { column, text, is_evaluated, setting })
}

/// The text that a column reads as it stores a number: of BIT the bytes, of ENUM and SET the labels. None for a
/// number that the column does not take.
fn text_of_number(number: &str, sql_type: &SqlType) -> Option<Vec<u8>> {
    let whole = || number.parse::<u64>().ok();
    match sql_type {
        SqlType::Bit { .. } => {
            let bytes = whole()?.to_be_bytes();
            let zeros = bytes.iter().take_while(|&&byte| byte == 0).count();
            Some(bytes[zeros.min(bytes.len() - 1)..].to_vec())
        }
        // The text `0` is the year 2000.
        SqlType::Year if number.parse() == Ok(0.0) => Some(b"0000".to_vec()),
        SqlType::Enum { labels, .. } => {
            let at = usize::try_from(whole()?).ok()?.checked_sub(1)?;
            Some(labels.get(at)?.clone().into_bytes())
        }
        SqlType::Set { labels, .. } => {
            let bits = whole()?;
            let has = |at: &usize| bits >> at & 1 == 1;
            let set: Vec<usize> = (0..u64::BITS as usize).filter(has).collect();
            let set: Option<Vec<&str>> =
                set.iter().map(|&at| labels.get(at).map(String::as_str)).collect();
            Some(set?.join(",").into_bytes())
        }
        _ => Some(number.as_bytes().to_vec()),
    }
}

/// The table as if these were the defaults of their columns, which the input must not have then. ENUM and SET find
/// their labels by `labels`.
///
/// Errors are the user's: values that their columns do not take.
pub(crate) fn with_constants(
    table: &Table,
    constants: &mut [BoundConstant],
    fields: &InputFields,
    convert: &ConvertOptions,
    labels: &Collations,
) -> Result<Table, Error> {
    let mut table = table.clone();
    for constant in constants {
        let column = &mut table.columns[constant.column];
        let setting = &constant.setting;
        if fields.field_of(constant.column).is_some() {
            return Err(Error::Usage(format!(
                "{setting}: the input has this column too; {} skips its field",
                COLUMNS.with("a,@x,b")
            )));
        }
        let sql_type = &column.sql_type;
        // Where rows are sent it goes among the file's own text.
        let is_text = !constant.text.is_ascii() && sql_type.family() != Family::Bits;
        if is_text && !matches!(convert.file_charset, Charset::Utf8mb4 | Charset::Utf8mb3) {
            let charset = convert.file_charset.name();
            return Err(Error::Usage(format!(
                "{setting} must be ASCII, because the file is in {charset}"
            )));
        }
        let stored = stored(constant, column, convert, labels)?;
        if convert.file_charset == Charset::Binary {
            constant.text = bytes_in_binary(&constant.text, &stored, sql_type);
        }
        column.default = DefaultValue::Stored(stored);
    }
    Ok(table)
}

/// The stored form of a constant.
fn stored(
    constant: &BoundConstant,
    column: &Column,
    convert: &ConvertOptions,
    labels: &Collations,
) -> Result<Vec<u8>, Error> {
    let Column { name, sql_type, .. } = column;
    let file_charset = match is_read_as_bytes(sql_type) {
        true => Charset::Utf8mb4,
        false => convert.file_charset,
    };
    let options = ConvertOptions { file_charset, ..convert.clone() };
    let label_text = sql_type.label_text();
    let collation = label_text.and_then(|text| labels.get(&text.collation).cloned());
    let mut converter = Converter::with_collation(name, sql_type, &options, collation)?;
    let mut stored = Vec::new();
    let mut outcome = converter.convert(&constant.text, &mut stored);
    if outcome.is_ok() && constant.is_evaluated && is_shown_twice(&stored, sql_type, convert) {
        outcome = Err(Reason::ShownTwice);
    }
    let refused =
        |reason| Error::Usage(format!("{}: the value {reason}: {sql_type}", constant.setting));
    outcome.map(|()| stored).map_err(refused)
}

/// True for types whose fields are bytes in a file without a character set, and texts in all others.
fn is_read_as_bytes(sql_type: &SqlType) -> bool {
    matches!(sql_type, SqlType::Uuid | SqlType::Inet4 | SqlType::Inet6)
}

/// The field of a constant in a file without a character set.
fn bytes_in_binary(text: &[u8], stored: &[u8], sql_type: &SqlType) -> Vec<u8> {
    let digits = || String::from_utf8_lossy(text).replace('-', "");
    match sql_type {
        SqlType::Inet4 | SqlType::Inet6 => stored.to_vec(),
        // The parts of a stored UUID may have another order.
        SqlType::Uuid => {
            u128::from_str_radix(&digits(), 16).unwrap_or_default().to_be_bytes().to_vec()
        }
        _ => text.to_vec(),
    }
}

/// True for a moment of a TIMESTAMP whose text, which is all that an expression leaves of it, means another one too.
fn is_shown_twice(stored: &[u8], sql_type: &SqlType, convert: &ConvertOptions) -> bool {
    let seconds = stored.first_chunk().map_or(0, |seconds| u32::from_be_bytes(*seconds));
    matches!(sql_type, SqlType::Timestamp { .. }) && convert.time_zone.shows_twice(seconds.into())
}
