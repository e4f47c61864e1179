//! The start of a file: a byte order mark, lines to skip, the header with the columns' names.

use sql::Literals;
use values::Value;

use super::SourceOptions;
use super::open::{OpenFile, PIECE_BYTES};
use crate::batch::{Row, Rows, TextRow};
use crate::chunk::newlines;
use crate::delimited::dialect::Dialect;
use crate::delimited::lexer::Lexer;
use crate::error::{Error, Position, Result};
use crate::field::FieldKind;
use crate::json::{self, Json};

/// U+FEFF in UTF-8, which some editors and spreadsheets put at the start of a file.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Bytes of JSON that are looked at for the names of fields.
const JSON_BYTES: usize = 256 << 10;

/// Bytes of the first read where there is a header: files are opened several times for that alone.
const HEADER_PIECE_BYTES: usize = 16 << 10;

impl OpenFile {
    /// Takes a byte order mark, the lines to skip and the header off the start of the file;
    /// returns the header's names, if there is to be one.
    pub(super) fn skip_start(
        &mut self,
        dialect: &Dialect,
        options: &SourceOptions,
    ) -> Result<Option<Vec<Vec<u8>>>> {
        let piece = |seen: &[u8]| {
            seen.len().clamp(HEADER_PIECE_BYTES, PIECE_BYTES).min(options.chunk_bytes)
        };
        let (mut bytes, mut at) = (Vec::new(), 0);
        let dialect = &of_header(dialect, options);
        if dialect.any_newline {
            while bytes.len() < BYTE_ORDER_MARK.len() && !self.ended {
                let size = piece(&bytes);
                self.read(&mut bytes, size)?;
            }
            at = if bytes.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
        }
        let mark_bytes = at;
        let lexer = Lexer::new(dialect);
        let skipped_size = |bytes: &[u8], ended: bool| match dialect.skips_records() {
            true => lexer.record_size(bytes, ended),
            false => lexer.line_size(bytes, ended),
        };
        // The server looks for a line terminator, and has dropped it as that of fields.
        let is_same = dialect.is_counted() && !dialect.skips_records();
        let mut lines_left = if is_same { 0 } else { options.skip_lines };
        let names = loop {
            if lines_left == 0
                && let Some(json) = dialect.json
                && let Some(names) = self.json_names(json, &bytes[at..], options)
            {
                break Some(names);
            }
            if lines_left == 0 && !options.header && dialect.json.is_none() {
                break None;
            }
            let size = piece(&bytes);
            self.read(&mut bytes, size)?;
            while lines_left > 0
                && let Some(size) = skipped_size(&bytes[at..], self.ended)
            {
                at += size;
                lines_left -= 1;
                self.lines_skipped += u64::from(size > 0);
            }
            if lines_left == 0
                && options.header
                && let Some(size) = lexer.record_size(&bytes[at..], self.ended)
            {
                let names = names(dialect, &bytes[at..at + size]);
                at += size;
                break Some(names);
            }
            if self.ended {
                break dialect.json.and_then(|json| self.json_names(json, &bytes[at..], options));
            }
            if bytes.len() - at > options.record_bytes_max {
                let offset = self.offset + self.unit.file_bytes(&bytes[..at]);
                let line = self.line + newlines(&bytes[..at]);
                let at = Position::in_text(&self.path, line, offset);
                let bytes_max = options.record_bytes_max;
                return Err(Error::RecordTooLong { at, bytes_max, quote: None });
            }
        };
        if options.header && names.is_none() && (options.needs_rows || !bytes.is_empty()) {
            return Err(Error::no_header(&self.path, bytes.is_empty()));
        }
        self.line += newlines(&bytes[..at]);
        self.offset += self.unit.file_bytes(&bytes[..at]);
        self.preamble = bytes[mark_bytes..at].to_vec();
        bytes.drain(..at);
        self.rest = bytes;
        Ok(names)
    }
}

impl OpenFile {
    /// The names of the fields of the first records, once enough of these were read. A record that is too long is
    /// an error when its turn comes.
    fn json_names(&self, json: Json, text: &[u8], options: &SourceOptions) -> Option<Vec<Vec<u8>>> {
        if text.len() < JSON_BYTES.min(options.chunk_bytes) && !self.ended {
            return None;
        }
        let names = json::names(json, text, self.ended);
        let is_enough = !names.is_empty() || self.ended || text.len() > options.record_bytes_max;
        is_enough.then_some(names)
    }
}

/// A header's fields are text, as many as there are.
fn of_header(dialect: &Dialect, options: &SourceOptions) -> Dialect {
    const FIELDS_MAX: usize = 4096;
    let text = FieldKind { is_text: true, ..FieldKind::of_literals(Literals::default()) };
    match options.header {
        true => Dialect { fields: vec![text; FIELDS_MAX], ..dialect.clone() },
        false => dialect.clone(),
    }
}

/// The fields of a header record. A column may be called what means NULL in the rows.
fn names(dialect: &Dialect, record: &[u8]) -> Vec<Vec<u8>> {
    let bare = Dialect { null_tokens: Vec::new(), null_in_quotes: false, ..dialect.clone() };
    let index = bare.index(record);
    let mut scratch = Vec::new();
    let rows = index.rows(record);
    let fields = rows.iter().flat_map(|row| (0..row.field_count()).map(move |at| (row, at)));
    let name = |(row, at): (TextRow<'_>, usize)| match row.value(at, &mut scratch) {
        Value::Bytes(bytes) => bytes.to_vec(),
        _ => b"NULL".to_vec(),
    };
    fields.map(name).collect()
}
