//! What a delimited file looks like: the field and line options of LOAD DATA, and presets.
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
//! We differ in two places, both at the end of a damaged file: a quote that is never closed is an
//! error (the server takes the rest of the file as one field), and when the escape character is
//! the quote, a closing quote that is the very last byte closes (the server keeps both quotes).
//!
//! Source: `sql/sql_load.cc` of MariaDB 10.11, `READ_INFO::read_field` and `read_sep_field`.

use crate::error::{Error, Result};

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
    /// does open a last, empty field; a UTF-8 byte order mark at the start of a file is skipped.
    /// LOAD DATA knows none of these; every CSV reader does. `lines_terminated_by` must be `\n`.
    pub any_newline: bool,
}

impl Default for Dialect {
    fn default() -> Dialect {
        Dialect::mysql()
    }
}

impl Dialect {
    /// LOAD DATA's default: tab between fields, backslash escapes, `\N` is NULL, LF ends a line.
    /// What `SELECT ... INTO OUTFILE`, `mariadb-dump --tab` and mydumper write.
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

    /// What the TPC's dbgen writes: `|` between fields and after the last one, no quotes, no
    /// escapes, LF or CRLF.
    pub fn tbl() -> Dialect {
        Dialect { fields_terminated_by: b"|".to_vec(), trailing_separator: true, ..Dialect::tsv() }
    }

    /// The preset of this name: `mysql`, `csv`, `tsv` or `tbl`.
    pub fn preset(name: &str) -> Option<Dialect> {
        match name {
            "mysql" => Some(Dialect::mysql()),
            "csv" => Some(Dialect::csv()),
            "tsv" => Some(Dialect::tsv()),
            "tbl" => Some(Dialect::tbl()),
            _ => None,
        }
    }

    /// Refuses options that LOAD DATA takes as something else than delimited records, and options
    /// that contradict each other.
    pub fn check(&self) -> Result<()> {
        let refuse = |text: &str| Err(Error::Dialect(text.to_owned()));
        if self.fields_terminated_by.is_empty() && self.enclosed_by.is_none() {
            return refuse(
                "fields-terminated-by and enclosed-by are both empty, which means fixed-size \
                 rows; these are not supported yet",
            );
        }
        if self.lines_terminated_by.is_empty() {
            return refuse("lines-terminated-by is empty; records must end with a terminator");
        }
        if self.lines_terminated_by == self.fields_terminated_by {
            return refuse(
                "fields-terminated-by and lines-terminated-by are the same, so that records \
                 could only be told by counting fields; this is not supported",
            );
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
    fn presets_pass_their_own_check() {
        for name in ["mysql", "csv", "tsv", "tbl"] {
            Dialect::preset(name).unwrap().check().unwrap();
        }
        assert_eq!(Dialect::preset("xml"), None);
    }

    #[test]
    fn what_is_not_delimited_is_refused() {
        let fixed = Dialect { fields_terminated_by: vec![], ..Dialect::mysql() };
        assert!(fixed.check().unwrap_err().to_string().contains("fixed-size"));
        let endless = Dialect { lines_terminated_by: vec![], ..Dialect::mysql() };
        assert!(endless.check().is_err());
        let same = Dialect { fields_terminated_by: b"\n".to_vec(), ..Dialect::mysql() };
        assert!(same.check().is_err());
        let return_separator = Dialect { fields_terminated_by: b"\r".to_vec(), ..Dialect::csv() };
        assert!(return_separator.check().is_err());
    }
}
