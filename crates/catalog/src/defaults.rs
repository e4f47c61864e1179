//! Constant defaults as values, and labels the server cannot spell.
//!
//! information_schema shows a default as SQL text in 3-byte UTF-8: `'it''s'`, `b'101'`, `7`, `uuid()`.
//! Literals are given back to the server, which knows its own quoting. Values that this text loses (bytes of
//! a BINARY, characters beyond U+FFFF: both become `?`) are read from a temporary copy of the table instead.

use std::borrow::Cow;

use schema::{Column, DefaultValue, Table, TableName};
use values::{Charset, Family, ShapeKind, SqlType};

use super::column_type::parse_literal;
use server::error::{Error, Result};
use server::identifier::quote_name;
use server::session::Session;
use server::version::Flavor;

/// Server errors of a temporary staging table that the account may not make: it lacks the right, or the server insists on a primary key.
const ER_NO_COPY: [u16; 3] = [1044, 1142, 3750];

/// Name of the temporary staging table. Temporary tables are visible to their session alone.
const COPY: &str = "_inrush_twin";

/// Variables under which the server copies any table of its own: strict mode would refuse zero dates as defaults, and
/// MySQL may refuse tables without a primary key.
pub fn for_copies(flavor: Flavor) -> impl Iterator<Item = (&'static str, &'static str)> {
    let keyless = (flavor == Flavor::MySql).then_some(("sql_require_primary_key", "0"));
    [("sql_mode", "ALLOW_INVALID_DATES")].into_iter().chain(keyless)
}

/// Makes the temporary staging table under this name.
pub(super) fn make_copy(session: &mut Session, table: &TableName, copy: &str) -> Result<()> {
    session.exec(&format!("DROP TEMPORARY TABLE IF EXISTS {copy}"))?;
    let variables: Vec<_> = for_copies(session.version().flavor).collect();
    let like = format!("CREATE TEMPORARY TABLE {copy} LIKE {}", table.quoted());
    session.exec_under(&variables, &like).map(drop)
}

/// Digits a FLOAT is worded in.
const FLOAT_DIGITS: usize = 6;

/// Turns [`DefaultValue::Expression`] into a constant where it is one, and restores lost labels.
pub(super) fn complete(session: &mut Session, table: &mut Table) -> Result<()> {
    let mut literals = Vec::new();
    let mut lost = Vec::new();
    let mut floats = Vec::new();
    let has_lost_labels = table.columns.iter().any(|column| lost_labels(&column.sql_type));
    for (i, column) in table.columns.iter().enumerate() {
        let DefaultValue::Expression(text) = &column.default else { continue };
        match literal(text) {
            Literal::No => {}
            Literal::Number => {
                if matches!(column.sql_type, SqlType::Float { digits: None, .. }) {
                    floats.push((i, text.clone()));
                }
                literals.push((i, format!("'{text}'")));
            }
            Literal::Exact => literals.push((i, text.clone())),
            Literal::Text => {
                if lost_text(text, &column.sql_type) {
                    lost.push((i, text.clone()));
                }
                literals.push((i, text.clone()));
            }
        }
    }
    if !literals.is_empty() {
        let list: Vec<&str> = literals.iter().map(|(_, text)| text.as_str()).collect();
        let row = session.query_row(&format!("SELECT {}", list.join(", ")))?;
        for (at, (i, _)) in literals.iter().enumerate() {
            let value = row.bytes(at).unwrap_or_default().to_vec();
            table.columns[*i].default = DefaultValue::Constant(value);
        }
    }
    let is_built = table.not_built().is_empty();
    if !floats.is_empty() && is_built {
        find_rounded(session, table, &floats)?;
    }
    if (has_lost_labels || !lost.is_empty()) && is_built {
        let constants: Vec<usize> = literals.into_iter().map(|(i, _)| i).collect();
        match ask_copy(session, table, &constants) {
            // A load that leaves such a column out asks for its value, and names the right that this takes.
            Err(error) if is_no_copy(&error) && !has_lost_labels => {
                for (i, text) in lost {
                    table.columns[i].default = DefaultValue::Expression(text);
                }
            }
            asked => asked?,
        }
    }
    for column in &mut table.columns {
        // An ENUM that must not be NULL falls back to its first label, also under strict mode.
        let SqlType::Enum { labels, .. } = &column.sql_type else { continue };
        if let (DefaultValue::None, Some(first)) = (&column.default, labels.first()) {
            column.default = DefaultValue::Constant(first.clone().into_bytes());
        }
    }
    Ok(())
}

fn is_no_copy(error: &Error) -> bool {
    error.errno().is_some_and(|errno| ER_NO_COPY.contains(&errno))
}

/// The kind of a default's text.
#[derive(Debug, PartialEq, Eq)]
enum Literal {
    /// An expression.
    No,
    /// Digits: the text is the value.
    Number,
    /// Bits or hexadecimal digits.
    Exact,
    /// A quoted string, in which `?` may stand for something else.
    Text,
}

fn literal(text: &str) -> Literal {
    if let Some((_, rest)) = parse_literal(text) {
        return if rest.is_empty() { Literal::Text } else { Literal::No };
    }
    let lower = text.to_ascii_lowercase();
    for (prefix, digits) in [("b'", "01"), ("x'", "0123456789abcdef")] {
        let inner = lower.strip_prefix(prefix).and_then(|rest| rest.strip_suffix('\''));
        if inner.is_some_and(|inner| inner.chars().all(|c| digits.contains(c))) {
            return Literal::Exact;
        }
    }
    let number = lower.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c))
        && lower.chars().all(|c| c.is_ascii_digit() || "+-.e".contains(c))
        && lower.parse::<f64>().is_ok();
    if number { Literal::Number } else { Literal::No }
}

/// Finds FLOAT columns whose default is not what its text says.
///
/// The server words a FLOAT in 6 digits, and CREATE TABLE .. LIKE makes the copy's default from
/// that wording (sql/field.cc, `Column_definition`; seen on 10.11.19): `DEFAULT 16777216` becomes
/// 16777200. The staging table would have another default than the target, and so would a staging table.
///
/// The exact default of a NOT NULL column cannot be asked for without a row: there a wording of
/// all 6 digits is taken for rounded, and one of fewer digits believed.
fn find_rounded(
    session: &mut Session,
    table: &mut Table,
    floats: &[(usize, String)],
) -> Result<()> {
    let list: Vec<String> = floats
        .iter()
        .map(|(i, _)| format!("DEFAULT(t.{}) + 0e0", quote_name(&table.columns[*i].name)))
        .collect();
    // One row, and none of the table's.
    let row = session.query_row(&format!(
        "SELECT {} FROM (SELECT 1) AS one LEFT JOIN {base} ON FALSE",
        list.join(", "),
        base = table.name.base_as("t")
    ))?;
    for (at, (i, text)) in floats.iter().enumerate() {
        let exact = row.text_or_null(at)?;
        let value = |text: &str| text.parse::<f64>().ok().map(|value| value as f32);
        let rounded = match &exact {
            Some(exact) => value(exact) != value(text),
            None => significant_digits(text) >= FLOAT_DIGITS,
        };
        if rounded {
            table.columns[*i].rounded_default = Some(exact.unwrap_or_else(|| text.clone()));
        }
    }
    Ok(())
}

/// Digits of a number without the zeros around them.
fn significant_digits(number: &str) -> usize {
    let mantissa = number.split(['e', 'E']).next().unwrap_or_default();
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    digits.trim_matches('0').len()
}

/// True if a quoted default may have lost something on its way here.
fn lost_text(text: &str, sql_type: &SqlType) -> bool {
    let labels = || sql_type.label_text().map(|text| text.charset);
    let charset = sql_type.charset().or_else(labels);
    sql_type.family() == Family::Bytes
        || text.contains('?') && charset.is_some_and(|charset| charset.char_bytes_max() == 4)
}

fn lost_labels(sql_type: &SqlType) -> bool {
    match sql_type {
        SqlType::Enum { labels, text } | SqlType::Set { labels, text } => {
            let is_wider = text.charset.char_bytes_max() == 4 || text.charset == Charset::Binary;
            is_wider && labels.iter().any(|label| label.contains('?'))
        }
        _ => false,
    }
}

/// Variables under which a row without values is accepted. Tables with CHECK constraints are none of MySQL's that are asked about.
pub(super) fn lenient(flavor: Flavor, sql_mode: &str) -> Vec<(&'static str, &str)> {
    let mode = ("sql_mode", sql_mode);
    match flavor {
        Flavor::MariaDb => vec![mode, ("check_constraint_checks", "0")],
        Flavor::MySql => vec![mode],
    }
}

/// True if a row without a value for a column needs one of [`blank`]: the expression of its default is not to be
/// evaluated, or there is no value that the server makes up.
pub(super) fn is_blank(column: &Column) -> bool {
    match &column.default {
        DefaultValue::Expression(_) => true,
        DefaultValue::None => {
            column.sql_type.family() == Family::CheckedBytes && column.generated.is_none()
        }
        _ => false,
    }
}

/// A value that a column accepts when errors are warnings. MySQL refuses other texts in every mode.
pub(super) fn blank(column: &Column) -> Cow<'static, str> {
    match &column.sql_type {
        SqlType::Document => "'null'".into(),
        SqlType::Vector { .. } => "x'00000000'".into(),
        SqlType::Geometry { kind, srid } => {
            let shape = match kind {
                None | Some(ShapeKind::Point) => "POINT(0 0)",
                Some(ShapeKind::LineString) => "LINESTRING(0 0,0 1)",
                Some(ShapeKind::Polygon) => "POLYGON((0 0,0 1,1 1,0 0))",
                Some(ShapeKind::MultiPoint) => "MULTIPOINT((0 0))",
                Some(ShapeKind::MultiLineString) => "MULTILINESTRING((0 0,0 1))",
                Some(ShapeKind::MultiPolygon) => "MULTIPOLYGON(((0 0,0 1,1 1,0 0)))",
                Some(ShapeKind::Collection) => "GEOMETRYCOLLECTION EMPTY",
            };
            format!("ST_GeomFromText('{shape}',{})", srid.unwrap_or(0)).into()
        }
        _ => "''".into(),
    }
}

/// The names of variables.
pub(super) fn names<'n>(variables: &[(&'n str, &str)]) -> Vec<&'n str> {
    variables.iter().map(|(name, _)| *name).collect()
}

/// Reads the defaults of columns `constants`, and lost labels, from a temporary staging table.
fn ask_copy(session: &mut Session, table: &mut Table, constants: &[usize]) -> Result<()> {
    let copy = TableName::new(table.name.database.clone(), COPY).quoted();
    make_copy(session, &table.name, &copy)?;
    // Not strict: columns without default get zeros here. The session's mode is restored below.
    let lenient = lenient(session.version().flavor, "");
    session.set(&lenient)?;
    let answer = read_copy(session, table, constants, &copy);
    session.reset(&names(&lenient))?;
    session.exec(&format!("DROP TEMPORARY TABLE IF EXISTS {copy}"))?;
    answer
}

fn read_copy(
    session: &mut Session,
    table: &mut Table,
    constants: &[usize],
    copy: &str,
) -> Result<()> {
    // Expressions are not evaluated: NEXTVAL would move a sequence.
    let expressions = table.columns.iter().filter(|column| is_blank(column));
    let (names, blanks): (Vec<String>, Vec<Cow<'_, str>>) =
        expressions.map(|column| (quote_name(&column.name), blank(column))).unzip();
    let (names, blanks) = (names.join(","), blanks.join(","));
    session.exec(&format!("INSERT INTO {copy} ({names}) VALUES ({blanks})"))?;
    if !constants.is_empty() {
        let list: Vec<String> = constants
            .iter()
            .map(|&i| format!("DEFAULT({})", quote_name(&table.columns[i].name)))
            .collect();
        let row = session.query_row(&format!("SELECT {} FROM {copy}", list.join(",")))?;
        for (at, &i) in constants.iter().enumerate() {
            let value = row.bytes(at).unwrap_or_default().to_vec();
            table.columns[i].default = DefaultValue::Constant(value);
        }
    }
    for column in &mut table.columns {
        if !lost_labels(&column.sql_type) {
            continue;
        }
        let name = quote_name(&column.name);
        let is_set = matches!(column.sql_type, SqlType::Set { .. });
        let (SqlType::Enum { labels, .. } | SqlType::Set { labels, .. }) = &mut column.sql_type
        else {
            continue;
        };
        for (i, label) in labels.iter_mut().enumerate() {
            let number = if is_set { 1u64 << i } else { i as u64 + 1 };
            session.exec(&format!("UPDATE {copy} SET {name}={number}"))?;
            *label = session.query_row(&format!("SELECT {name} FROM {copy}"))?.text(0)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_of_a_float() {
        for (text, count) in [("-0.00120", 2), ("16777200", 6), ("1.23457e38", 6), ("0", 0)] {
            assert_eq!(significant_digits(text), count, "{text}");
        }
    }

    #[test]
    fn literals_and_expressions() {
        for (text, want) in [
            ("'a'", Literal::Text),
            ("'it''s \\\\'", Literal::Text),
            ("'a' + 1", Literal::No),
            ("b'101'", Literal::Exact),
            ("X'004142'", Literal::Exact),
            ("-1.5", Literal::Number),
            ("1e30", Literal::Number),
            ("000005.0000", Literal::Number),
            ("(1 + 2)", Literal::No),
            ("1 + 2", Literal::No),
            ("current_timestamp(3)", Literal::No),
            ("uuid()", Literal::No),
            ("e", Literal::No),
        ] {
            assert_eq!(literal(text), want, "{text}");
        }
    }
}
