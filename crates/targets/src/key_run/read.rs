//! Keys of a table that is there, as the server shows them, to the bytes that those of a built one have.

use schema::{Reference, TableName};
use server::error::{Error, Result};
use server::identifier::quote_name;
use server::session::{Row, Session};

use values::{Charset, ConvertOptions, Converter, KeyPart, SqlMode, SqlType};

use crate::key_run::shape::{KeyColumn, KeyShape};

/// Reads keys of a table that others are compared with: a parent, or one that rows are added to.
pub struct KeyRows {
    columns: Vec<Shown>,
    stored: Vec<u8>,
}

/// A column as the server shows it.
struct Shown {
    /// The selected expression.
    expression: String,
    /// The column that orders it.
    name: String,
    how: How,
}

/// How what is shown becomes bytes.
enum How {
    /// A number of so many bytes, the highest first, the sign inverted.
    Number { bytes: u8, unsigned: bool },
    /// As a field of a file would.
    Field(Box<Converter>, KeyPart),
}

impl KeyRows {
    /// Those of the columns that a key refers to, to compare with keys of this shape; none where what
    /// the server shows of one of them does not tell its bytes.
    pub fn new(
        session: &mut Session,
        child: &KeyShape,
        reference: &Reference,
        parent: &TableName,
    ) -> Result<Option<KeyRows>> {
        let is_number = |column: &KeyColumn| matches!(column.sql_type(), SqlType::Integer { .. });
        let types = if child.columns().iter().all(is_number) {
            // A number that is none of the child's is nothing that it refers to.
            child.columns().iter().map(|column| column.sql_type().clone()).collect()
        } else {
            match types(session, &reference.parent_columns, parent)? {
                Some(types) => types,
                None => return Ok(None),
            }
        };
        let columns = child.columns().iter().zip(&reference.parent_columns).zip(&types);
        let columns = columns.map(|((column, name), sql_type)| Shown::new(column, name, sql_type));
        let columns: Option<Vec<Shown>> = columns.collect();
        Ok(columns.map(|columns| KeyRows { columns, stored: Vec::new() }))
    }

    /// All of them, in order. Nobody writes to the table, nor has begun to: it is held
    /// ([`Guard`](super::guard)).
    pub fn statement(&self, parent: &TableName) -> String {
        let join = |one: fn(&Shown) -> &str| {
            self.columns.iter().map(one).collect::<Vec<&str>>().join(", ")
        };
        format!(
            "SELECT {} FROM {base} ORDER BY {}",
            join(|column| &column.expression),
            join(|column| &column.name),
            base = parent.base()
        )
    }

    /// The key of a row into `key`; false where there is none that a child could have.
    pub fn read(&mut self, row: &Row, key: &mut Vec<u8>) -> bool {
        key.clear();
        let KeyRows { columns, stored } = self;
        columns
            .iter_mut()
            .enumerate()
            .all(|(at, column)| row.bytes(at).is_some_and(|shown| column.push(shown, stored, key)))
    }
}

/// The types of these columns, where the table is there and has them all.
fn types(
    session: &mut Session,
    columns: &[String],
    parent: &TableName,
) -> Result<Option<Vec<SqlType>>> {
    match catalog::read(session, parent) {
        Ok(table) => Ok(table.types_of(columns).into_iter().collect()),
        Err(Error::NoTable(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

impl Shown {
    fn new(child: &KeyColumn, name: &str, sql_type: &SqlType) -> Option<Shown> {
        if !child.is_like(sql_type) {
            return None;
        }
        let name = quote_name(name);
        let number = |bytes: u8| How::Number { bytes, unsigned: true };
        let width =
            || values::key::fixed_width(sql_type).and_then(|width| u8::try_from(width).ok());
        let (expression, how) = match sql_type {
            SqlType::Integer { bytes, unsigned } => {
                (name.clone(), How::Number { bytes: *bytes, unsigned: *unsigned })
            }
            SqlType::Enum { .. } | SqlType::Set { .. } | SqlType::Bit { .. } => {
                (format!("CAST({name} AS UNSIGNED)"), number(width()?))
            }
            // As it is stored: some characters cannot be shown in another set.
            SqlType::Char { text, .. } | SqlType::VarChar { text, .. } => {
                (format!("CAST({name} AS BINARY)"), field(child, sql_type, text.charset)?)
            }
            SqlType::Binary { .. } | SqlType::VarBinary { .. } => {
                (name.clone(), field(child, sql_type, Charset::Binary)?)
            }
            SqlType::Decimal { .. }
            | SqlType::Date
            | SqlType::Time { .. }
            | SqlType::DateTime { .. }
            | SqlType::Uuid
            | SqlType::Inet4
            | SqlType::Inet6 => (name.clone(), field(child, sql_type, Charset::Utf8mb4)?),
            // Shown with fewer digits, in a time zone whose hours may come twice, or with two digits.
            SqlType::Float { .. }
            | SqlType::Double { .. }
            | SqlType::Timestamp { .. }
            | SqlType::Year => return None,
            SqlType::Text { .. }
            | SqlType::Blob { .. }
            | SqlType::Json(_)
            | SqlType::Document
            | SqlType::Geometry { .. }
            | SqlType::Vector { .. }
            | SqlType::Opaque { .. } => return None,
        };
        Some(Shown { expression, name, how })
    }

    /// Appends the value to a key; false where the child can have none like it.
    fn push(&mut self, shown: &[u8], stored: &mut Vec<u8>, key: &mut Vec<u8>) -> bool {
        match &mut self.how {
            How::Number { bytes, unsigned } => push_number(shown, *bytes, *unsigned, key),
            How::Field(converter, part) => {
                stored.clear();
                converter.convert(shown, stored).is_ok() && part.push(Some(stored), key).is_ok()
            }
        }
    }
}

fn field(child: &KeyColumn, sql_type: &SqlType, file_charset: Charset) -> Option<How> {
    // Whatever a server has stored is a value.
    let options = ConvertOptions {
        file_charset,
        sql_mode: SqlMode::ALLOW_INVALID_DATES,
        ..ConvertOptions::default()
    };
    let converter = Converter::new("", sql_type, &options).ok()?;
    Some(How::Field(Box::new(converter), child.part().clone()))
}

/// Appends a number as InnoDB stores it; false where the column has no such.
fn push_number(text: &[u8], bytes: u8, unsigned: bool, key: &mut Vec<u8>) -> bool {
    let bits = u32::from(bytes) * 8;
    let Some(value) = std::str::from_utf8(text).ok().and_then(|text| text.parse().ok()) else {
        return false;
    };
    let value: i128 = value;
    let shifted = if unsigned { value } else { value + (1 << (bits - 1)) };
    if shifted < 0 || shifted >> bits != 0 {
        return false;
    }
    let all = (shifted as u64).to_be_bytes();
    key.extend_from_slice(&all[all.len() - usize::from(bytes)..]);
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_the_bytes_that_innodb_stores() {
        for (bytes, unsigned, text, expected) in [
            (1, false, "-128", Some(vec![0])),
            (1, false, "127", Some(vec![255])),
            (1, false, "128", None),
            (1, false, "x", None),
            (3, true, "16777215", Some(vec![255, 255, 255])),
            (3, true, "-1", None),
            (8, true, "18446744073709551615", Some(vec![255; 8])),
            (8, false, "-9223372036854775808", Some(vec![0; 8])),
            (8, false, "0", Some(vec![128, 0, 0, 0, 0, 0, 0, 0])),
        ] {
            let mut key = Vec::new();
            let is_value = push_number(text.as_bytes(), bytes, unsigned, &mut key);
            assert_eq!(is_value.then_some(key), expected, "{text}");
        }
    }
}
