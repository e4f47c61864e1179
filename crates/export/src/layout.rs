//! How rows are written: delimited text, INSERT statements, a JSON object a line.
//!
//! ```text
//! file   prelude | row row row ..           prelude: header, SET of a session
//! SQL    prelude | INSERT .. VALUES\n (..),\n (..);\n INSERT ..
//! ```

mod delimited;
mod insert;
mod json;
mod plain;

use schema::TableName;
use sources::Dialect;
use values::decode::Decoder;
use values::{Charset, Family, SqlType};

use crate::error::Error;
pub(crate) use delimited::Delimited;
pub(crate) use insert::Insert;
pub(crate) use json::JsonLines;

/// The properties of a value that are needed to write it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Digits, point, sign, exponent.
    Number,
    /// Digits and what stands between them in dates and times.
    Clock,
    /// UTF-8.
    Text,
    /// A document of JSON, as its text.
    Json,
    /// Any bytes.
    Bytes,
    /// A number of so many bits, as big-endian bytes.
    Bits,
}

impl Kind {
    /// The kind of a type's values.
    pub(crate) fn of(sql_type: &SqlType) -> Kind {
        match sql_type.family() {
            Family::Integer | Family::Decimal | Family::Real | Family::Year => Kind::Number,
            Family::Temporal | Family::Moment => Kind::Clock,
            Family::Bits => Kind::Bits,
            Family::Text(text) | Family::Labels(text) if text.charset == Charset::Binary => {
                Kind::Bytes
            }
            Family::Json(_) | Family::Document => Kind::Json,
            Family::Text(_) | Family::Labels(_) => Kind::Text,
            Family::Formatted | Family::OpaqueText => Kind::Text,
            Family::Bytes | Family::CheckedBytes | Family::OpaqueBytes => Kind::Bytes,
        }
    }
}

/// A column of the output.
#[derive(Clone, Debug)]
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) kind: Kind,
}

/// How rows are written.
#[derive(Debug)]
pub(crate) enum Layout {
    Delimited(Box<Delimited>),
    Insert(Insert),
    JsonLines(JsonLines),
}

/// A value that a dialect has no text for.
#[derive(Debug)]
pub(crate) struct Unwritable {
    pub(crate) field: usize,
    pub(crate) why: Box<str>,
}

/// The result of writing a stored value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stored {
    Written,
    /// Nothing is written: its text has to be known first.
    Unknown,
    /// The bytes are no value of the type.
    NoValue,
    /// The bytes are no text that comes back.
    NoText,
}

/// The contents of a file, by the options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Format {
    /// Fields between separators, as LOAD DATA reads them.
    Delimited {
        /// How they are cut.
        dialect: Box<Dialect>,
        /// True if the first line of each file names the columns.
        header: bool,
    },
    /// INSERT statements.
    Sql,
    /// A JSON object a line.
    JsonLines,
    /// Typed columns: Parquet or Arrow.
    Columnar(columnar::Kind),
}

impl Format {
    /// True of files that are no text.
    pub(crate) fn is_typed(&self) -> bool {
        matches!(self, Format::Columnar(_))
    }
}

impl Layout {
    /// Errors: a dialect in which rows cannot be told apart.
    pub(crate) fn new(
        format: &Format,
        table: &TableName,
        fields: &[Field],
        time_zone: &str,
    ) -> Result<Layout, Error> {
        Ok(match format {
            Format::Delimited { dialect, header } => {
                Layout::Delimited(Box::new(Delimited::new(dialect, fields, *header)?))
            }
            Format::Sql => Layout::Insert(Insert::new(table, fields, time_zone)),
            Format::JsonLines => Layout::JsonLines(JsonLines::new(fields)),
            Format::Columnar(kind) => {
                return Err(Error::Internal(format!("{} files are no text", kind.name())));
            }
        })
    }

    /// The beginning of each file.
    pub(crate) fn prelude(&self) -> &[u8] {
        match self {
            Layout::Delimited(delimited) => &delimited.prelude,
            Layout::Insert(insert) => &insert.prelude,
            Layout::JsonLines(_) => &[],
        }
    }

    /// Writes the text before the first of some rows, if they are together in a statement.
    pub(crate) fn begin_rows(&self, out: &mut Vec<u8>) {
        if let Layout::Insert(insert) = self {
            out.extend_from_slice(&insert.head);
        }
    }

    /// And behind the last, in place of what stands between two.
    pub(crate) fn end_rows(&self, out: &mut Vec<u8>) {
        if let Layout::Insert(_) = self {
            out.truncate(out.len() - 2);
            out.extend_from_slice(b";\n");
        }
    }

    /// True if some rows are a statement, which cannot be cut.
    pub(crate) fn has_statements(&self) -> bool {
        matches!(self, Layout::Insert(_))
    }

    #[inline]
    pub(crate) fn begin_row(&self, out: &mut Vec<u8>) {
        match self {
            Layout::Delimited(delimited) => delimited.begin_row(out),
            Layout::Insert(_) => out.push(b'('),
            Layout::JsonLines(_) => out.push(b'{'),
        }
    }

    /// The next value of the row at hand, the `field`th.
    #[inline]
    pub(crate) fn value(
        &self,
        field: usize,
        value: Option<&[u8]>,
        out: &mut Vec<u8>,
    ) -> Result<(), Unwritable> {
        let written = match self {
            Layout::Delimited(delimited) => delimited.value(field, value, out),
            Layout::Insert(insert) => {
                insert.value(field, value, out);
                Ok(())
            }
            Layout::JsonLines(json) => json.value(field, value, out),
        };
        written.map_err(|why| Unwritable { field, why })
    }

    /// The same, of a value as it is stored.
    #[inline(always)]
    pub(crate) fn stored(
        &self,
        field: usize,
        decoder: &Decoder,
        stored: &[u8],
        out: &mut Vec<u8>,
    ) -> Stored {
        match self {
            Layout::Delimited(delimited) => delimited.stored(field, decoder, stored, out),
            Layout::Insert(_) | Layout::JsonLines(_) => Stored::Unknown,
        }
    }

    #[inline]
    pub(crate) fn end_row(&self, out: &mut Vec<u8>) {
        match self {
            Layout::Delimited(delimited) => delimited.end_row(out),
            Layout::Insert(_) => out.extend_from_slice(b"),\n"),
            Layout::JsonLines(_) => out.extend_from_slice(b"}\n"),
        }
    }
}

/// A number as short as it can be said, without the zeros before it that ZEROFILL prints.
pub(crate) fn without_zerofill(number: &[u8]) -> &[u8] {
    let zeros = number.iter().take_while(|&&byte| byte == b'0').count();
    match number.get(zeros) {
        Some(byte) if byte.is_ascii_digit() => &number[zeros..],
        _ => &number[zeros.saturating_sub(1)..],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_before_a_number_are_left_out() {
        for (text, expected) in
            [("00042", "42"), ("0", "0"), ("000", "0"), ("00.50", "0.50"), ("-3", "-3"), ("", "")]
        {
            assert_eq!(without_zerofill(text.as_bytes()), expected.as_bytes(), "{text}");
        }
    }
}
