//! Rows of text, some of whose fields are written as people write them.
//!
//! A representation of its own, so that rows without such fields pay nothing for it: whoever takes
//! rows is compiled for these too, and meets values in the server's own words.

use std::borrow::Cow;
use std::ops::Range;

use values::{Reason, Value};
use written::Format;

use super::{EvenRows, Row, Rows, TextRow, TextRows};

/// How the fields of a row are written, in order; none for those that are as the server reads them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Formats {
    by_field: Vec<Option<Format>>,
}

impl Formats {
    /// One a field; those behind the last have none.
    pub fn new(by_field: Vec<Option<Format>>) -> Formats {
        Formats { by_field }
    }

    /// True if values of some field may be moments, for which a time zone gives the clock's time.
    pub fn have_moments(&self) -> bool {
        self.by_field.iter().flatten().any(Format::has_moments)
    }

    /// True if no field has one.
    pub fn is_empty(&self) -> bool {
        self.by_field.iter().all(Option::is_none)
    }

    /// The words of a field's format, if it has one.
    pub fn text(&self, field: usize) -> Option<&str> {
        self.by_field.get(field)?.as_ref().map(Format::text)
    }

    /// The value of a text that is written as field `field` is.
    #[inline]
    pub(super) fn meaning<'v>(
        &self,
        field: usize,
        written: Value<'v>,
        scratch: &'v mut Vec<u8>,
    ) -> Value<'v> {
        match (self.by_field.get(field), written) {
            (Some(Some(format)), Value::Bytes(text)) => format.read(text, scratch).value(scratch),
            _ => written,
        }
    }

    /// The value of a literal in field `field`, which a format may refuse, and never reads.
    #[inline]
    pub(super) fn literal<'v>(&self, field: usize, literal: Value<'v>) -> Value<'v> {
        match (self.by_field.get(field), literal) {
            (Some(Some(format)), Value::Bytes(text)) if format.refuses(text) => {
                Value::Refused { text, reason: Reason::Inexact }
            }
            _ => literal,
        }
    }

    /// The value of field `of_line` of a line, written as field `field` is.
    #[inline]
    pub(super) fn value<'v>(
        &self,
        field: usize,
        line: TextRow<'v>,
        of_line: usize,
        scratch: &'v mut Vec<u8>,
    ) -> Value<'v> {
        let Some(Some(format)) = self.by_field.get(field) else {
            return line.value(of_line, scratch);
        };
        // Only for a field with escapes or doubled quotes.
        let mut unescaped = Vec::new();
        match line.value(of_line, &mut unescaped) {
            Value::Bytes(text) => {
                let trimmed = text.trim_ascii();
                let is_trimmed = trimmed.len() < text.len() && format.ignores_blanks();
                if is_trimmed && line.is_null_text(of_line, trimmed) {
                    return Value::Null;
                }
                let meaning = format.read(text, scratch);
                meaning.value(scratch)
            }
            _ => Value::Null,
        }
    }
}

/// Rows of a text.
#[derive(Clone, Copy, Debug)]
pub struct FormattedRows<'a> {
    rows: TextRows<'a>,
    formats: &'a Formats,
}

impl<'a> FormattedRows<'a> {
    pub(super) fn new(rows: TextRows<'a>, formats: &'a Formats) -> FormattedRows<'a> {
        FormattedRows { rows, formats }
    }
}

/// One of them.
#[derive(Clone, Copy, Debug)]
pub struct FormattedRow<'a> {
    row: TextRow<'a>,
    formats: &'a Formats,
}

impl<'a> Rows for FormattedRows<'a> {
    type Row = FormattedRow<'a>;

    #[inline]
    fn len(self) -> usize {
        self.rows.len()
    }

    #[inline]
    fn row(self, index: usize) -> FormattedRow<'a> {
        FormattedRow { row: self.rows.row(index), formats: self.formats }
    }

    #[inline]
    fn bytes_of<'v>(self, field: usize) -> &'v [u8]
    where
        Self: 'v,
    {
        self.rows.bytes_of(field)
    }

    fn even<'v>(self, rows: Range<usize>) -> Option<EvenRows<'v>>
    where
        Self: 'v,
    {
        self.rows.even(rows)
    }

    #[inline]
    fn format_of<'v>(self, field: usize) -> Option<&'v Format>
    where
        Self: 'v,
    {
        self.formats.by_field.get(field)?.as_ref()
    }
}

impl Row for FormattedRow<'_> {
    #[inline]
    fn field_count(self) -> usize {
        self.row.field_count()
    }

    #[inline]
    fn has_fields_for(self, needed: usize, columns: usize) -> bool {
        self.row.has_fields_for(needed, columns)
    }

    #[inline]
    fn is_unclosed(self) -> bool {
        self.row.is_unclosed()
    }

    #[inline]
    fn value<'v>(self, field: usize, scratch: &'v mut Vec<u8>) -> Value<'v>
    where
        Self: 'v,
    {
        self.formats.value(field, self.row, field, scratch)
    }

    fn format<'v>(self, field: usize) -> Option<&'v str>
    where
        Self: 'v,
    {
        self.formats.text(field)
    }

    fn written<'v>(self, field: usize, scratch: &'v mut Vec<u8>) -> Value<'v>
    where
        Self: 'v,
    {
        self.row.value(field, scratch)
    }

    #[inline]
    fn start(self) -> usize {
        self.row.start()
    }

    #[inline]
    fn span(self) -> Range<usize> {
        self.row.span()
    }

    fn raw<'v>(self) -> Cow<'v, [u8]>
    where
        Self: 'v,
    {
        self.row.raw()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::delimited::Dialect;

    /// Texts that a format reads have no place among the rows that are converted together, unless they stay.
    #[test]
    fn texts_that_a_column_would_change_are_refused() {
        let text = b"1,0\n2,007\n3,0.15\n4,x\n";
        let int = values::SqlType::Integer { bytes: 4, unsigned: false };
        let format = Format::of_column("exact", &int, values::Charset::Utf8mb4).unwrap();
        let formats = Formats::new(vec![None, Some(format)]);
        let index = Dialect::csv().index(text);
        let rows = FormattedRows::new(index.rows(text), &formats);
        let mut scratch = Vec::new();
        let is_refused = |row: FormattedRow<'_>| {
            matches!(row.value(1, &mut scratch), Value::Refused { reason: Reason::Inexact, .. })
        };
        assert_eq!(rows.iter().map(is_refused).collect::<Vec<_>>(), [false, true, true, false]);
        let stays = [&b"0"[..], b"007", b"0.15", b"x"]
            .map(|text| rows.format_of(1).is_some_and(|format| format.is_as_written(text)));
        assert_eq!((stays, rows.format_of(0)), ([true, false, false, false], None));
        let literal = |text| formats.literal(1, Value::Bytes(text));
        assert_eq!(literal(b"12"), Value::Bytes(b"12"));
        assert!(matches!(literal(b"1.5"), Value::Refused { text: b"1.5", .. }));
    }

    #[test]
    fn fields_with_a_format_are_read_by_it_and_others_stay() {
        let text = b"1,\"2,50\",\"yes\"\n1,NULL, no \nx,\"a \"\"b\"\"\",,\n";
        let formats = Formats::new(vec![
            None,
            Some(Format::parse("decimal-comma").unwrap()),
            Some(Format::parse("yes-no").unwrap()),
        ]);
        let index = Dialect::csv().index(text);
        let rows = FormattedRows::new(index.rows(text), &formats);
        let mut scratch = Vec::new();
        let mut seen = Vec::new();
        for row in rows.iter() {
            for field in 0..3 {
                seen.push(match row.value(field, &mut scratch) {
                    Value::Null => "NULL".to_owned(),
                    Value::Malformed(text) | Value::Refused { text, .. } => {
                        format!("!{}", String::from_utf8_lossy(text))
                    }
                    Value::Bytes(text) => String::from_utf8_lossy(text).into_owned(),
                    other => format!("{other:?}"),
                });
            }
        }
        assert_eq!(seen, ["1", "2.50", "1", "1", "NULL", "0", "x", "!a \"b\"", ""]);
        assert_eq!(rows.row(0).written(1, &mut scratch), Value::Bytes(b"2,50"));
        assert_eq!(rows.row(0).raw(), &b"1,\"2,50\",\"yes\"\n"[..]);
        assert!(formats != Formats::default() && Formats::default().is_empty());
    }
}
