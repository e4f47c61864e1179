//! DEFAULT expressions as the values that one statement gives all rows.
//!
//! The server evaluates them itself: a row is put into a temporary staging table of the table, at the
//! moment that counts for the whole load, and read back.

use std::borrow::Cow;

use schema::{Column, DefaultValue, Table, TableName};
use values::SqlType;

use super::constant::{current_timestamp_digits, variable_part};
use super::defaults::{blank, is_blank, lenient, make_copy, names};
use server::error::{Error, Result};
use server::identifier::quote_name;
use server::session::Session;

/// Name of the temporary staging table. Temporary tables are visible to their session alone.
const COPY: &str = "_inrush_defaults";
/// The mode in which errors of strict mode are warnings.
const LENIENT_MODE: &str = "ERROR_FOR_DIVISION_BY_ZERO";
/// Warnings of columns that are not asked about: no DEFAULT.
const ER_NO_DEFAULT: u16 = 1364;
const ER_DIVISION_BY_ZERO: u16 = 1365;

/// The moment that a load is one statement at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moment {
    /// Seconds since 1970 with six digits behind the point: `@@timestamp`.
    unix: String,
    /// `YYYY-MM-DD hh:mm:ss.ffffff` in UTC.
    utc: String,
    /// The same in the session's time zone.
    local: String,
    /// True if `local` means this moment alone: not in the hour that clocks go through twice.
    is_plain: bool,
}

impl Moment {
    /// Now, by the server's clock.
    pub fn now(session: &mut Session) -> Result<Moment> {
        let row = session.query_row(
            "SELECT @@timestamp, UTC_TIMESTAMP(6), NOW(6), \
             ABS(UNIX_TIMESTAMP(CONCAT('', NOW(6))) - @@timestamp) < 1",
        )?;
        Ok(Moment {
            unix: row.text(0)?,
            utc: row.text(1)?,
            local: row.text(2)?,
            is_plain: row.text_or_null(3)?.as_deref() == Some("1"),
        })
    }

    /// Its text in UTC.
    pub fn utc(&self) -> &str {
        &self.utc
    }

    /// Its text in the session's time zone, with `digits` (0 to 6) of the fraction; None where that text means another moment too.
    pub fn local(&self, digits: u8) -> Option<Vec<u8>> {
        self.is_plain.then(|| cut_fraction(&self.local, digits))
    }
}

/// Digits of the fraction, where the DEFAULT of a column is the moment of the statement and nothing else.
pub fn default_moment_digits(column: &Column) -> Option<u8> {
    let is_moment = matches!(column.sql_type, SqlType::Timestamp { .. } | SqlType::DateTime { .. });
    match &column.default {
        DefaultValue::Expression(text) if is_moment => current_timestamp_digits(text),
        _ => None,
    }
}

/// Values of the DEFAULT expressions of columns `wanted` (positions) of a table, at `moment`.
///
/// Makes and drops a temporary table unless all are CURRENT_TIMESTAMP. Errors: [`Error::Default`] for an expression that can differ from
/// row to row, or whose value strict mode would refuse.
pub fn evaluate_defaults(
    table: &Table,
    session: &mut Session,
    wanted: &[usize],
    moment: &Moment,
) -> Result<Vec<(usize, DefaultValue)>> {
    let mut values = Vec::new();
    let mut asked = Vec::new();
    for &position in wanted {
        let column = &table.columns[position];
        let DefaultValue::Expression(text) = &column.default else { continue };
        if let Some(part) = variable_part(text) {
            let reason = format!("{part} can differ from row to row");
            return Err(default_error(table, position, reason));
        }
        if column.sql_type == SqlType::Document && !is_empty_document(text) {
            let reason = "a JSON document may have values that no JSON text has".to_owned();
            return Err(default_error(table, position, reason));
        }
        match (current_timestamp_digits(text), &column.sql_type) {
            (Some(digits), SqlType::Timestamp { .. }) => {
                let utc = cut_fraction(&moment.utc, digits);
                values.push((position, DefaultValue::ConstantUtc(utc)));
            }
            (Some(digits), SqlType::DateTime { .. }) => {
                let local = cut_fraction(&moment.local, digits);
                values.push((position, DefaultValue::Constant(local)));
            }
            _ => asked.push(position),
        }
    }
    if !asked.is_empty() {
        values.extend(ask_copy(table, session, &asked, moment)?);
    }
    Ok(values)
}

/// True if the expression is a document without values: others may have those of SQL types.
fn is_empty_document(expression: &str) -> bool {
    matches!(expression, "json_array()" | "json_object()")
}

fn default_error(table: &Table, position: usize, reason: String) -> Error {
    let column = &table.columns[position];
    let expression = match &column.default {
        DefaultValue::Expression(text) => text.clone(),
        _ => String::new(),
    };
    Error::Default { column: column.name.clone(), expression, reason }
}

fn ask_copy(
    table: &Table,
    session: &mut Session,
    asked: &[usize],
    moment: &Moment,
) -> Result<Vec<(usize, DefaultValue)>> {
    let copy = TableName::new(table.name.database.clone(), COPY).quoted();
    make_copy(session, &table.name, &copy)?;
    let zone = session.query_row("SELECT @@session.time_zone")?.text(0)?;
    let lenient = lenient(session.version().flavor, LENIENT_MODE);
    session.set(&lenient)?;
    // Not where the server forbids it (secure_timestamp); then a moment later has to do.
    let _ = session.set(&[("timestamp", &moment.unix.to_string())]);
    let answer = read_copy(table, session, asked, &copy);
    let _ = session.reset(&["timestamp"]);
    session.reset(&names(&lenient))?;
    session.set(&[("time_zone", &zone)])?;
    session.exec(&format!("DROP TEMPORARY TABLE IF EXISTS {copy}"))?;
    answer
}

fn read_copy(
    table: &Table,
    session: &mut Session,
    asked: &[usize],
    copy: &str,
) -> Result<Vec<(usize, DefaultValue)>> {
    // Others are not evaluated: NEXTVAL would move a sequence.
    let others = (0..table.columns.len())
        .filter(|position| !asked.contains(position))
        .map(|position| &table.columns[position])
        .filter(|column| is_blank(column));
    let (names, blanks): (Vec<String>, Vec<Cow<'_, str>>) =
        others.map(|column| (quote_name(&column.name), blank(column))).unzip();
    let (names, blanks) = (names.join(","), blanks.join(","));
    session.exec(&format!("INSERT INTO {copy} ({names}) VALUES ({blanks})"))?;
    for warning in session.warnings()? {
        let about = |&&position: &&usize| {
            let name = &table.columns[position].name;
            warning.message.contains(&quote_name(name))
                || warning.message.contains(&format!("'{name}'"))
        };
        let about = asked.iter().find(about).copied();
        let is_ours = about.is_some() || warning.errno == ER_DIVISION_BY_ZERO;
        if is_ours && warning.errno != ER_NO_DEFAULT && warning.level != "Note" {
            return Err(default_error(table, about.unwrap_or(asked[0]), warning.message));
        }
    }
    // Local times of a TIMESTAMP can mean two moments.
    session.set(&[("time_zone", "+00:00")])?;
    let list: Vec<String> =
        asked.iter().map(|&position| readable(&table.columns[position])).collect();
    let row = session.query_row(&format!("SELECT {} FROM {copy}", list.join(",")))?;
    Ok(asked
        .iter()
        .enumerate()
        .map(|(at, &position)| {
            let value = match (row.bytes(at), &table.columns[position].sql_type) {
                (None, _) => DefaultValue::Null,
                (Some(text), SqlType::Timestamp { .. }) => DefaultValue::ConstantUtc(text.to_vec()),
                (Some(text), _) => DefaultValue::Constant(text.to_vec()),
            };
            (position, value)
        })
        .collect())
}

/// The column in an SQL expression whose text LOAD DATA would read back as the same value.
fn readable(column: &Column) -> String {
    let name = quote_name(&column.name);
    match column.sql_type {
        // Worded in 6 digits only.
        SqlType::Float { .. } => format!("{name} + 0e0"),
        _ => name,
    }
}

/// The first `digits` digits of the six behind the point.
fn cut_fraction(text: &str, digits: u8) -> Vec<u8> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let kept = fraction.get(..usize::from(digits)).unwrap_or(fraction);
    let point = if kept.is_empty() { "" } else { "." };
    format!("{whole}{point}{kept}").into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_cut_to_its_digits() {
        let text = "2024-02-03 04:05:06.789012";
        assert_eq!(cut_fraction(text, 0), b"2024-02-03 04:05:06");
        assert_eq!(cut_fraction(text, 3), b"2024-02-03 04:05:06.789");
        assert_eq!(cut_fraction(text, 6), text.as_bytes());
    }
}
