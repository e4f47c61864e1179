//! The form of a delimited file: the field and line options of LOAD DATA, and presets.
//!
//! The server's rules, which the scanner follows byte for byte:
//! - A quote opens a field only as its first byte; elsewhere it is text.
//! - In quotes, two quotes are one; one quote closes the field if a separator, a line terminator
//!   or the end of the file follows, else it is text. Separators and line ends are text.
//! - The escape character makes the next byte text, also a separator, line end or quote;
//!   `\0 \b \n \r \t \Z` are NUL, backspace, newline, carriage return, tab, Control-Z.
//! - `\N` alone in a field is NULL, also in quotes; so is the bare word NULL, not in quotes, when
//!   quotes are set. An empty field is an empty string, never NULL.
//! - A separator right before the end of the file opens no further field (it does before a line
//!   end); a line end right before the end of the file opens no further record. An empty line is a
//!   record of one empty field.
//!
//! - The end of the file ends a record like a line end. Text beyond the fields of columns is then not
//!   examined, though after a line end it would be refused. A dialect that ends lines with LF or CRLF has
//!   it refused in both places.
//! - Where the escape character is the quote, a quote that is the very last byte of the file does
//!   not close: both quotes are text.
//! - Where lines have no terminator, or the same as fields, a record is as many fields as there are
//!   columns ([`Dialect::is_counted`]). Where fields have neither terminator nor quote, it is as
//!   many bytes as the columns are wide ([`Dialect::is_fixed`]).
//! - Fields of columns of text are read by characters of the file's character set: a byte of a
//!   longer character is no separator, quote or escape ([`crate::MultiByte`]).
//! - IGNORE n LINES ends lines at terminators, quotes or not; where records are counted because
//!   lines have no terminator it counts records, and where it is that of fields it does nothing.
//! - With an empty field or line terminator the server adds a NUL to each byte 0xff that is not
//!   escaped, because it compares bytes with an end mark of that value. So do we.
//!
//! A dialect that ends lines with LF or CRLF has no rows in blank lines at the end of a file
//! ([`Dialect::blank_end`]).
//!
//! We differ in four places: a quote that is never closed is an error (the server takes the rest of
//! the file as one field); a record with too many fields ends where its quotes say (the server looks
//! for the next terminator, and with IGNORE goes on in mid-field); the escaped parts of a damaged
//! UTF-8 character are undone before it is looked at; and a line terminator that begins with a byte
//! above 0x7f, of which the server warns and which it does not find where it skips, is one.
//!
//! Source: `sql/sql_load.cc` of MariaDB 10.11, `READ_INFO::read_field`, `next_line`,
//! `read_sep_field` and `read_fixed_length`.

use values::MultiByte;

use crate::error::{Error, Result};
use crate::field::{FieldKind, Layout};
use crate::json::Json;

/// Field and line options of a delimited file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dialect {
    /// FIELDS TERMINATED BY: between two fields. One byte is fast, more are exact but slower.
    pub fields_terminated_by: Vec<u8>,
    /// FIELDS ENCLOSED BY: the quote, if fields may be quoted.
    pub enclosed_by: Option<u8>,
    /// OPTIONALLY ENCLOSED: only matters for writing; reading takes both either way.
    pub optionally_enclosed: bool,
    /// FIELDS ESCAPED BY, if anything is.
    pub escaped_by: Option<u8>,
    /// LINES TERMINATED BY: after each record. `\n` and `\r\n` are fast.
    pub lines_terminated_by: Vec<u8>,
    /// LINES STARTING BY: text before it, over lines too, is skipped. Usually empty.
    pub lines_starting_by: Vec<u8>,
    /// The separator may also stand at the end of each line, after the last field: an empty last
    /// field is dropped.
    pub trailing_separator: bool,
    /// Each line ends with LF or CRLF, whichever it has; a separator before the end of the file
    /// does open a last, empty field; fields too many in a last line without end stay; a UTF-8 byte order
    /// mark at the start of a file is skipped.
    /// LOAD DATA knows none of these; every CSV reader does. `lines_terminated_by` must be `\n`.
    pub any_newline: bool,
    /// How the file's bytes make characters. Default: one byte each.
    pub charset: MultiByte,
    /// A field that is just one of these in the file, not in quotes, is NULL, besides what the rules
    /// above say. One may be empty.
    pub null_tokens: Vec<Vec<u8>>,
    /// True if a field in quotes is NULL, too, if it is one of these, or empty where that is NULL.
    pub null_in_quotes: bool,
    /// The records are objects of JSON, whose fields have names: of the rest only `any_newline` counts.
    pub json: Option<Json>,
    /// Where the fields of a record go, in order; empty while the table is not known. See
    /// [`Dialect::needs_fields`].
    pub fields: Vec<FieldKind>,
}

impl Default for Dialect {
    fn default() -> Dialect {
        Dialect::mysql()
    }
}

impl Dialect {
    /// LOAD DATA's default: tab between fields, backslash escapes, `\N` is NULL, LF ends a line.
    /// `SELECT ... INTO OUTFILE`, `mariadb-dump --tab` and mydumper write it.
    pub fn mysql() -> Dialect {
        Dialect {
            fields_terminated_by: b"\t".to_vec(),
            enclosed_by: None,
            optionally_enclosed: false,
            escaped_by: Some(b'\\'),
            lines_terminated_by: b"\n".to_vec(),
            lines_starting_by: Vec::new(),
            trailing_separator: false,
            any_newline: false,
            charset: MultiByte::None,
            null_tokens: Vec::new(),
            null_in_quotes: false,
            json: None,
            fields: Vec::new(),
        }
    }

    /// RFC 4180: comma, double quotes, doubled inside quotes, no escape character, LF or CRLF.
    /// NULL is the bare word NULL (the server's rule when quotes are set); an empty field is an
    /// empty string.
    pub fn csv() -> Dialect {
        Dialect {
            fields_terminated_by: b",".to_vec(),
            enclosed_by: Some(b'"'),
            optionally_enclosed: true,
            escaped_by: None,
            any_newline: true,
            ..Dialect::mysql()
        }
    }

    /// IANA text/tab-separated-values: tab, no quotes, no escapes, LF or CRLF. A field cannot hold
    /// a tab or a newline, and there is no NULL. Files with `\N` and `\t` are [`Dialect::mysql`].
    pub fn tsv() -> Dialect {
        Dialect { escaped_by: None, any_newline: true, ..Dialect::mysql() }
    }

    /// The dialect of the TPC's dbgen: `|` between fields and after the last one, no quotes, no
    /// escapes, LF or CRLF.
    pub fn tbl() -> Dialect {
        Dialect { fields_terminated_by: b"|".to_vec(), trailing_separator: true, ..Dialect::tsv() }
    }

    /// JSON: an object a line, or objects in arrays or one behind the other.
    pub fn json(is_lines: bool) -> Dialect {
        let json = Json { is_lines, ignores_unknown: false };
        Dialect { json: Some(json), ..Dialect::tsv() }
    }

    /// True if rows are of fixed size, each field as wide as its column: neither a field
    /// terminator nor a quote.
    pub fn is_fixed(&self) -> bool {
        self.fields_terminated_by.is_empty() && self.enclosed_by.is_none()
    }

    /// How fields lie in a row.
    pub fn layout(&self) -> Layout {
        match self.is_fixed() {
            true => Layout::Fixed { has_line_ends: !self.lines_terminated_by.is_empty() },
            false => Layout::Separated,
        }
    }

    /// True if nothing ends a line, so that records are told by counting fields.
    pub fn is_counted(&self) -> bool {
        let is_same = self.lines_terminated_by == self.fields_terminated_by;
        !self.is_fixed() && (is_same || self.lines_terminated_by.is_empty())
    }

    /// True if a special byte may be part of a longer character.
    pub(crate) fn is_read_by_character(&self) -> bool {
        !self.is_fixed() && self.special_bytes().any(|byte| self.charset.may_hold(byte))
    }

    /// True if `fields` must be set before the file can be read.
    pub fn needs_fields(&self) -> bool {
        self.is_fixed() || self.is_counted() || self.is_read_by_character()
    }

    /// Bytes of blank lines at the end of `text`, which ends where a row does: they are no rows, as for every CSV
    /// reader. A blank line that may be the value of a table's only column is a row.
    pub(crate) fn blank_end(&self, text: &[u8]) -> usize {
        if let Some(json) = self.json {
            let between: &[u8] = if json.is_lines { b" \t\r\n" } else { b" \t\r\n,[]" };
            return text.iter().rev().take_while(|byte| between.contains(byte)).count();
        }
        let may_be_value = |field: &FieldKind| field.is_text || field.empty_is_null;
        let has_no_blank_rows = match self.fields.as_slice() {
            [] => false,
            [field] => !may_be_value(field),
            _ => true,
        };
        if !self.any_newline || !has_no_blank_rows {
            return 0;
        }
        let mut end = text.len();
        while let Some(line) = text[..end].strip_suffix(b"\n") {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            let is_escaped = |before: &[u8]| {
                let before = before.strip_suffix(b"\r").unwrap_or(before);
                self.escaped_by.is_some() && before.last().copied() == self.escaped_by
            };
            let is_blank = line.strip_suffix(b"\n").map_or(line.is_empty(), |it| !is_escaped(it));
            if !is_blank {
                break;
            }
            end = line.len();
        }
        text.len() - end
    }

    /// True if skipped lines are records: nothing ends a line.
    pub(crate) fn skips_records(&self) -> bool {
        self.lines_terminated_by.is_empty()
    }

    /// True if 0xff brings a NUL along: see the module.
    pub(crate) fn has_ghosts(&self) -> bool {
        let (fields, lines) = (&self.fields_terminated_by, &self.lines_terminated_by);
        !self.is_fixed() && (fields.is_empty() || lines.is_empty())
    }

    /// Bytes that mean something in a field.
    fn special_bytes(&self) -> impl Iterator<Item = u8> {
        let terminators = self.fields_terminated_by.iter().chain(&self.lines_terminated_by);
        terminators.chain(&self.enclosed_by).chain(&self.escaped_by).copied()
    }

    /// Refuses options that contradict each other.
    pub fn check(&self) -> Result<()> {
        let refuse = |text: &str| Err(Error::Dialect(text.to_owned()));
        if self.trailing_separator && (self.is_fixed() || self.is_counted()) {
            return refuse(
                "the dialect has a separator at the end of each line, so fields-terminated-by and \
                 lines-terminated-by must be different and not empty",
            );
        }
        let both = self.escaped_by.filter(|_| self.escaped_by == self.enclosed_by);
        let mut terminators = self.fields_terminated_by.iter().chain(&self.lines_terminated_by);
        if terminators.any(|&byte| Some(byte) == both) {
            return refuse(
                "a character that is both quote and escape cannot also be part of \
                 fields-terminated-by or lines-terminated-by",
            );
        }
        if self.is_fixed() && !self.fields.is_empty() {
            let row_bytes: u64 = self.fields.iter().map(|field| u64::from(field.row_bytes)).sum();
            if row_bytes == 0 {
                return refuse("the columns have no width, so rows of fixed width would be empty");
            }
        }
        if self.any_newline {
            if self.lines_terminated_by != b"\n" {
                return refuse("LF-or-CRLF line ends need lines-terminated-by '\\n'");
            }
            let special = self.fields_terminated_by.iter().chain(&self.lines_starting_by);
            if special.chain(&self.enclosed_by).chain(&self.escaped_by).any(|&byte| byte == b'\r') {
                return refuse("a carriage return cannot be a separator where CRLF ends a line");
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    #[test]
    fn what_lacks_a_terminator_needs_the_columns() {
        let fixed = Dialect { fields_terminated_by: vec![], ..Dialect::mysql() };
        assert!(fixed.is_fixed() && fixed.needs_fields());
        let endless = Dialect { lines_terminated_by: vec![], ..Dialect::mysql() };
        assert!(endless.is_counted() && endless.needs_fields());
        let same = Dialect { fields_terminated_by: b"\n".to_vec(), ..Dialect::mysql() };
        assert!(same.is_counted());
        let gbk = Dialect { charset: MultiByte::Gbk, ..Dialect::mysql() };
        assert!(gbk.needs_fields());
        assert!(!Dialect { escaped_by: None, ..gbk }.needs_fields());
        assert!(!Dialect { charset: MultiByte::Utf8mb4, ..Dialect::mysql() }.needs_fields());
    }

    #[test]
    fn blank_lines_at_the_end_are_counted() {
        let field =
            |is_text| FieldKind { is_text, ..FieldKind::of_literals(sql::Literals::default()) };
        let csv = Dialect { fields: vec![field(true), field(true)], ..Dialect::csv() };
        for (text, bytes) in [
            (&b"1,a\n\n"[..], 1),
            (b"1,a\r\n\r\n\n", 3),
            (b"1,a\n", 0),
            (b"1,a", 0),
            (b"\n\n", 2),
            (b"", 0),
            (b"1,\r\n", 0),
            (b"\n1,a\n", 0),
        ] {
            assert_eq!(csv.blank_end(text), bytes, "{text:?}");
        }
        let escaped = Dialect { escaped_by: Some(b'\\'), ..csv.clone() };
        assert_eq!(escaped.blank_end(b"1,a\\\n\n\n"), 1);
        let only = |is_text| Dialect { fields: vec![field(is_text)], ..Dialect::csv() };
        assert_eq!(only(true).blank_end(b"a\n\n"), 0);
        assert_eq!(only(false).blank_end(b"1\n\n"), 1);
        let mysql = Dialect { any_newline: false, ..csv };
        assert_eq!(mysql.blank_end(b"1,a\n\n"), 0);
    }

    #[test]
    fn contradictions_are_refused() {
        let endless = Dialect { lines_terminated_by: vec![], ..Dialect::tbl() };
        assert!(endless.check().is_err());
        let return_separator = Dialect { fields_terminated_by: b"\r".to_vec(), ..Dialect::csv() };
        assert!(return_separator.check().is_err());
    }
}
