//! The rows of a table as the server shows them, to the same bytes as those of the input.

use encode::rejects::Reject;
use schema::TableName;
use server::identifier::quote_name;
use server::session::Row;
use values::habits::Habits;
use values::{Charset, ConvertOptions, Converter, SqlMode, SqlType};

use super::columns::{Columns, RowBytes};

/// Stands before what is no value of the column here: no row of the input has such bytes.
const NO_VALUE: &[u8] = b"\0no value of this type: ";

/// Bytes of the text of a key after which no column is added: of very many rows it is kept.
const KEY_TEXT_BYTES: usize = 300;

/// Reads rows of a table.
pub(crate) struct TableRows {
    columns: Vec<Shown>,
    key: Vec<usize>,
    stored: Vec<u8>,
}

/// A column as the server shows it, in a session whose time zone is UTC.
struct Shown {
    /// The selected expression.
    expression: String,
    how: How,
}

/// How what is shown becomes bytes.
enum How {
    /// A number of so many bytes, the highest first.
    Number(usize),
    /// As a field of a file would.
    Field(Box<Converter>),
}

impl TableRows {
    /// Those of the columns that are compared. The error is a column that cannot be.
    pub(crate) fn new(columns: &Columns) -> Result<TableRows, values::Error> {
        let shown = columns
            .bound
            .iter()
            .map(|bound| Shown::new(&bound.column.name, &bound.column.sql_type));
        let shown = shown.collect::<Result<Vec<Shown>, _>>()?;
        Ok(TableRows { columns: shown, key: columns.key.clone(), stored: Vec::new() })
    }

    /// All of them, in any order.
    pub(crate) fn statement(&self, table: &TableName) -> String {
        let shown: Vec<&str> =
            self.columns.iter().map(|column| column.expression.as_str()).collect();
        format!("SELECT {} FROM {base}", shown.join(", "), base = table.base())
    }

    /// Reads one.
    #[inline]
    pub(crate) fn read(&mut self, row: &Row, out: &mut RowBytes) {
        out.clear();
        for (at, column) in self.columns.iter_mut().enumerate() {
            let Some(shown) = row.bytes(at) else {
                out.push(None);
                continue;
            };
            self.stored.clear();
            if !column.store(shown, &mut self.stored) {
                self.stored.clear();
                self.stored.extend_from_slice(NO_VALUE);
                self.stored.extend_from_slice(shown);
            }
            out.push(Some(&self.stored));
        }
    }

    /// The key of a row as the server shows it, cut if it has many columns.
    pub(crate) fn key_text(&self, row: &Row) -> String {
        let mut text = String::from("(");
        for (place, &at) in self.key.iter().enumerate() {
            text.push_str(if place > 0 { ", " } else { "" });
            if text.len() > KEY_TEXT_BYTES {
                text.push_str("...");
                break;
            }
            text.push_str(&row.bytes(at).map_or_else(|| "NULL".to_owned(), Reject::cut));
        }
        text.push(')');
        text.shrink_to_fit();
        text
    }
}

impl Shown {
    fn new(name: &str, sql_type: &SqlType) -> Result<Shown, values::Error> {
        let quoted = quote_name(name);
        let field = |expression: String, file_charset: Charset| -> Result<Shown, values::Error> {
            // Whatever a server has stored is a value, and -0 is not 0 where it shows it.
            let habits =
                Habits { negative_zero: true, timestamp_to_2106: true, ..Habits::default() };
            let options = ConvertOptions {
                file_charset,
                sql_mode: SqlMode::ALLOW_INVALID_DATES,
                habits,
                ..ConvertOptions::default()
            };
            // A FLOAT(m,d) is rounded already, and may be larger than its digits: FLOAT(10,2) has 99999999.99 as 1e8.
            let sql_type = match sql_type {
                SqlType::Float { unsigned, .. } => {
                    &SqlType::Float { unsigned: *unsigned, digits: None }
                }
                other => other,
            };
            let converter = Box::new(Converter::new(name, sql_type, &options)?);
            Ok(Shown { expression, how: How::Field(converter) })
        };
        let width = values::key::fixed_width(sql_type).unwrap_or(8);
        match sql_type {
            // By number, since a label may be a number too.
            SqlType::Enum { .. } | SqlType::Set { .. } | SqlType::Bit { .. } => Ok(Shown {
                expression: format!("CAST({quoted} AS UNSIGNED)"),
                how: How::Number(width),
            }),
            // As it is stored: some characters cannot be shown in another set.
            SqlType::Char { text, .. }
            | SqlType::VarChar { text, .. }
            | SqlType::Text { text, .. }
            | SqlType::Json(text) => field(format!("CAST({quoted} AS BINARY)"), text.charset),
            SqlType::Binary { .. } | SqlType::VarBinary { .. } | SqlType::Blob { .. } => {
                field(quoted, Charset::Binary)
            }
            // A FLOAT is shown with six digits, its value as a DOUBLE with all.
            SqlType::Float { .. } => field(format!("CAST({quoted} AS DOUBLE)"), Charset::Utf8mb4),
            _ => field(quoted, Charset::Utf8mb4),
        }
    }

    /// Appends the stored form of what is shown; false where that is no value of the column here.
    #[inline]
    fn store(&mut self, shown: &[u8], stored: &mut Vec<u8>) -> bool {
        match &mut self.how {
            How::Field(converter) => converter.convert(shown, stored).is_ok(),
            How::Number(bytes) => {
                let number =
                    std::str::from_utf8(shown).ok().and_then(|text| text.parse::<u64>().ok());
                let Some(number) = number else { return false };
                let all = number.to_be_bytes();
                stored.extend_from_slice(&all[all.len().saturating_sub(*bytes)..]);
                true
            }
        }
    }
}
