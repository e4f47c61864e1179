//! Files: rows written in a dialect, where each row is, and the LOAD DATA that reads them.

use std::ops::Range;
use std::path::Path;

use sources::Dialect;
use values::Charset;

use crate::Random;
use crate::tables::value::Field;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// How a file is written, and read.
#[derive(Clone, Debug)]
pub struct Format {
    /// Its separators.
    pub dialect: Dialect,
    /// Its character set.
    pub charset: Charset,
    /// Line end that is written: `\n` or `\r\n` where the dialect takes both.
    pub newline: &'static [u8],
    /// Lines above the header.
    pub skip_lines: u64,
    /// True if a line of names stands above the rows.
    pub header: bool,
}

/// A written file.
#[derive(Clone, Debug, Default)]
pub struct Written {
    /// All of it.
    pub bytes: Vec<u8>,
    /// Bytes of each row, terminator included.
    pub rows: Vec<Range<usize>>,
}

impl Written {
    /// Line of the file on which a row begins, from 1.
    pub fn line_of(&self, row: usize) -> u64 {
        let before = &self.bytes[..self.rows[row].start];
        1 + memchr::memchr_iter(b'\n', before).count() as u64
    }

    /// The bytes of a row, terminator included.
    pub fn raw(&self, row: usize) -> &[u8] {
        &self.bytes[self.rows[row].clone()]
    }
}

impl Format {
    /// One of those that are common, or one that is not.
    pub fn random(random: &mut Random) -> Format {
        let (dialect, newline): (Dialect, &[u8]) = match random.below(9) {
            0 | 1 => (Dialect::csv(), random.pick(&[b"\n".as_slice(), b"\r\n"])),
            2 => (Dialect::tsv(), random.pick(&[b"\n".as_slice(), b"\r\n"])),
            3 => (Dialect::tbl(), random.pick(&[b"\n".as_slice(), b"\r\n"])),
            4 => (custom(b";", Some(b'\''), b"\r\n"), b"\r\n"),
            5 => (custom(b"||", None, b"#\n"), b"#\n"),
            _ => (Dialect::mysql(), b"\n"),
        };
        let charset = random.pick(&[
            Charset::Utf8mb4,
            Charset::Utf8mb4,
            Charset::Utf8mb4,
            Charset::Latin1,
            Charset::Binary,
            Charset::Utf8mb3,
            Charset::Ascii,
        ]);
        let header = random.chance(4);
        let skip_lines = random.pick(&[0, 0, 0, 1, 3]);
        Format { dialect, charset, newline, skip_lines, header }
    }

    /// True if a field can be NULL.
    pub fn has_null(&self) -> bool {
        self.dialect.escaped_by.is_some() || self.dialect.enclosed_by.is_some()
    }

    /// Removes bytes that must not be in a field, because nothing can escape them.
    pub fn tame(&self, field: &mut Vec<u8>) {
        if !self.has_null() {
            field.retain(|byte| !matches!(byte, b'\t' | b'|' | b'\n' | b'\r'));
        }
        // At the start of the file we skip it, as every CSV reader does, and LOAD DATA reads it.
        while self.dialect.any_newline && field.starts_with(BYTE_ORDER_MARK) {
            field.drain(..BYTE_ORDER_MARK.len());
        }
    }

    /// Writes rows below the lines to skip and the header.
    pub fn write(&self, random: &mut Random, names: &[&str], rows: &[&Vec<Field>]) -> Written {
        let mut written = Written::default();
        for number in 0..self.skip_lines {
            written.bytes.extend_from_slice(format!("line {number} is not read").as_bytes());
            written.bytes.extend_from_slice(self.newline);
        }
        if self.header {
            let names: Vec<Field> =
                names.iter().map(|name| Some(name.as_bytes().to_vec())).collect();
            self.row(random, &names, &mut written.bytes);
        }
        for row in rows {
            let start = written.bytes.len();
            self.row(random, row, &mut written.bytes);
            written.rows.push(start..written.bytes.len());
        }
        if rows.last().is_some_and(|row| row.len() == names.len()) {
            self.perhaps_end_early(random, rows, &mut written);
        }
        written
    }

    /// The terminator of the last row may be missing. Not where the server then takes what it
    /// refuses elsewhere: a separator as the last byte, or one field more than there are columns.
    fn perhaps_end_early(&self, random: &mut Random, rows: &[&Vec<Field>], written: &mut Written) {
        let last = rows.last().and_then(|row| row.last());
        let is_plain = matches!(last, Some(Some(field)) if field.last().is_some_and(u8::is_ascii_alphanumeric));
        if is_plain && !self.dialect.trailing_separator && random.chance(3) {
            written.bytes.truncate(written.bytes.len() - self.newline.len());
            if let Some(row) = written.rows.last_mut() {
                row.end = written.bytes.len();
            }
        }
    }

    fn row(&self, random: &mut Random, row: &[Field], out: &mut Vec<u8>) {
        for (position, field) in row.iter().enumerate() {
            if position > 0 {
                out.extend_from_slice(&self.dialect.fields_terminated_by);
            }
            self.field(random, field.as_deref(), out);
        }
        if self.dialect.trailing_separator {
            out.extend_from_slice(&self.dialect.fields_terminated_by);
        }
        out.extend_from_slice(self.newline);
    }

    fn field(&self, random: &mut Random, field: Option<&[u8]>, out: &mut Vec<u8>) {
        let dialect = &self.dialect;
        let Some(field) = field else {
            out.extend_from_slice(if dialect.escaped_by.is_some() { b"\\N" } else { b"NULL" });
            return;
        };
        let Some(quote) = dialect.enclosed_by else {
            return self.escape(field, None, out);
        };
        let is_special = |byte: &u8| {
            *byte == quote
                || matches!(*byte, b'\r' | b'\n')
                || dialect.fields_terminated_by.contains(byte)
                || dialect.lines_terminated_by.contains(byte)
        };
        let must = field == b"NULL" || field.is_empty() || field.iter().any(is_special);
        if !must && !random.chance(3) {
            return self.escape(field, None, out);
        }
        out.push(quote);
        self.escape(field, Some(quote), out);
        out.push(quote);
    }

    fn escape(&self, field: &[u8], quote: Option<u8>, out: &mut Vec<u8>) {
        let dialect = &self.dialect;
        // A byte that begins a character swallows the next one in the server's reader, so bytes
        // that are no text of the file's character set are escaped one by one.
        let is_multi = matches!(self.charset, Charset::Utf8mb3 | Charset::Utf8mb4);
        let is_text = !is_multi || std::str::from_utf8(field).is_ok();
        for &byte in field {
            if Some(byte) == quote {
                out.extend_from_slice(&[byte, byte]);
                continue;
            }
            let Some(escape) = dialect.escaped_by else {
                out.push(byte);
                continue;
            };
            let is_syntax = byte == escape
                || Some(byte) == dialect.enclosed_by
                || dialect.fields_terminated_by.contains(&byte)
                || dialect.lines_terminated_by.contains(&byte);
            match byte {
                b'\n' => out.extend_from_slice(&[escape, b'n']),
                0 => out.extend_from_slice(&[escape, b'0']),
                0x80.. if !is_text => out.extend_from_slice(&[escape, byte]),
                _ if is_syntax => out.extend_from_slice(&[escape, byte]),
                _ => out.push(byte),
            }
        }
    }

    /// The server's statement for a file of ours. `how` is nothing, IGNORE or REPLACE.
    pub fn load_data(&self, path: &Path, how: &str, table: &str, columns: &[&str]) -> String {
        let byte = |byte: Option<u8>| byte.map_or("''".to_owned(), |byte| format!("x'{byte:02x}'"));
        let hex =
            |bytes: &[u8]| -> String { bytes.iter().map(|byte| format!("{byte:02x}")).collect() };
        let mut list: Vec<String> = columns.iter().map(|name| format!("`{name}`")).collect();
        if self.dialect.trailing_separator {
            // To the server the separator at the line end opens one more field.
            list.push("@rest".to_owned());
        }
        format!(
            "LOAD DATA INFILE '{}' {how} INTO TABLE `{table}` CHARACTER SET {} \
             FIELDS TERMINATED BY x'{}' OPTIONALLY ENCLOSED BY {} ESCAPED BY {} \
             LINES TERMINATED BY x'{}' IGNORE {} LINES ({})",
            path.display(),
            self.charset.name(),
            hex(&self.dialect.fields_terminated_by),
            byte(self.dialect.enclosed_by),
            byte(self.dialect.escaped_by),
            hex(self.newline),
            self.skip_lines + u64::from(self.header),
            list.join(","),
        )
    }
}

fn custom(separator: &[u8], quote: Option<u8>, newline: &[u8]) -> Dialect {
    Dialect {
        fields_terminated_by: separator.to_vec(),
        enclosed_by: quote,
        optionally_enclosed: true,
        lines_terminated_by: newline.to_vec(),
        ..Dialect::mysql()
    }
}
