//! Delimited rows some of whose fields stand in hexadecimal digits or base64, as rows of their bytes.
//!
//! The output is in LOAD DATA's default dialect, whatever the input, with the place of each record in its
//! file. A field that is no such text is NULL, as `SET c = UNHEX(@c)` and `SET c = FROM_BASE64(@c)` make it.

use sources::{
    Batch, Chunk, Dialect, FileSource, InputFacts, Layout, ReadAs, Reader, RecordPlace, Result,
    Row, Rows, Source, TextRow, Value,
};

use crate::dump::Coding;

/// The rows of files, with fields decoded.
pub(super) struct Decoded {
    source: FileSource,
    facts: InputFacts,
    codings: Vec<Coding>,
    /// Dialect of the output.
    dialect: Dialect,
    /// Reader of the files.
    reader: Box<dyn Reader>,
    batch: Batch,
    read: Chunk,
    buffers: Buffers,
}

impl Decoded {
    /// `codings` are those of a record's fields, in order.
    pub(super) fn new(source: FileSource, codings: Vec<Coding>) -> Decoded {
        let dialect = Dialect { charset: source.dialect().charset, ..Dialect::mysql() };
        // It is one reading: how far it is, and whether it is given up, are those of the files.
        let facts = InputFacts {
            words: format!("{} decoded {codings:?}", source.facts().words),
            layout: Layout::Separated,
            row_end: b"\n".to_vec(),
            has_header: false,
            ..source.facts().clone()
        };
        Decoded {
            reader: source.reader(),
            source,
            facts,
            codings,
            dialect,
            batch: Batch::new(),
            read: Chunk::default(),
            buffers: Buffers::default(),
        }
    }

    /// The dialect of the output.
    pub(super) fn dialect(&self) -> &Dialect {
        &self.dialect
    }
}

/// Buffers to decode a row.
#[derive(Default)]
struct Buffers {
    field: Vec<u8>,
    scratch: Vec<u8>,
}

impl Buffers {
    /// Writes a row out as a line.
    fn write_row(&mut self, row: TextRow<'_>, codings: &[Coding], out: &mut Vec<u8>) {
        for field in 0..row.field_count() {
            if field > 0 {
                out.push(b'\t');
            }
            let value = match row.value(field, &mut self.scratch) {
                Value::Bytes(bytes) => {
                    let coding = codings.get(field).copied().unwrap_or_default();
                    decode(coding, bytes, &mut self.field)
                }
                _ => None,
            };
            match value {
                Some(value) => escape(value, out),
                None => out.extend_from_slice(b"\\N"),
            }
        }
        out.push(b'\n');
    }
}

impl Source for Decoded {
    fn facts(&self) -> &InputFacts {
        &self.facts
    }

    /// The output is at most half as long again: four digits of base64 become three bytes that each
    /// need an escape.
    fn begin(&mut self, read_as: ReadAs) -> Result<()> {
        read_as.check_no_formats()?;
        self.source.begin(ReadAs {
            fields: read_as.fields.clone(),
            time_zone: read_as.time_zone.clone(),
            chunk_bytes: (read_as.chunk_bytes / 3 * 2).max(1),
            record_bytes_max: (read_as.record_bytes_max / 3 * 2).max(1),
            ..ReadAs::default()
        })?;
        self.dialect.fields.clone_from(&read_as.fields);
        self.facts.begin(read_as);
        self.reader = self.source.reader();
        Ok(())
    }

    fn next_chunk(&mut self, chunk: &mut Chunk) -> Result<bool> {
        chunk.clear();
        if !self.source.next_chunk(&mut self.read)? {
            return Ok(false);
        }
        self.reader.read(&self.read, &mut self.batch)?;
        let (mut before, mut line) = (0, self.read.line_at(0));
        for row in self.batch.text_rows(&self.read).into_iter().flat_map(Rows::iter) {
            let start = row.start();
            line += self.read.lines_between(before, start);
            before = start;
            chunk.places.push(RecordPlace {
                at: chunk.bytes.len(),
                file: self.read.file_at(start),
                offset: self.read.offset_at(start),
                line,
            });
            self.buffers.write_row(row, &self.codings, &mut chunk.bytes);
        }
        chunk.ordinal = self.read.ordinal;
        chunk.file = self.read.file;
        chunk.offset = self.read.offset;
        chunk.unit = self.read.unit;
        chunk.first_line = self.read.first_line;
        Ok(true)
    }

    fn reader(&self) -> Box<dyn Reader> {
        self.dialect.reader()
    }
}

/// Bytes as a field of LOAD DATA's own dialect.
fn escape(value: &[u8], out: &mut Vec<u8>) {
    let mut rest = value;
    while let Some(place) = memchr::memchr3(b'\\', b'\t', b'\n', rest) {
        out.extend_from_slice(&rest[..place]);
        out.push(b'\\');
        out.push(match rest[place] {
            b'\t' => b't',
            b'\n' => b'n',
            other => other,
        });
        rest = &rest[place + 1..];
    }
    out.extend_from_slice(rest);
}

/// The value of a text; None for NULL.
fn decode<'a>(coding: Coding, text: &'a [u8], value: &'a mut Vec<u8>) -> Option<&'a [u8]> {
    value.clear();
    match coding {
        Coding::Plain => return Some(text),
        Coding::Hex => unhex(text, value)?,
        Coding::Base64 => from_base64(text, value)?,
    }
    Some(value)
}

/// UNHEX: a digit without a second is the lower half of the first byte.
fn unhex(text: &[u8], value: &mut Vec<u8>) -> Option<()> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let (odd, pairs) = text.split_at(text.len() % 2);
    for &byte in odd {
        value.push(digit(byte)?);
    }
    for pair in pairs.chunks_exact(2) {
        value.push(digit(pair[0])? << 4 | digit(pair[1])?);
    }
    Some(())
}

/// FROM_BASE64: space anywhere, `=` only where the last four digits end.
fn from_base64(text: &[u8], value: &mut Vec<u8>) -> Option<()> {
    let (mut bits, mut digits, mut padding) = (0_u32, 0, 0);
    for &byte in text {
        let digit = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            b'=' => 0,
            b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c => continue,
            _ => return None,
        };
        match byte {
            b'=' if digits < 2 => return None,
            b'=' => padding += 1,
            // Nothing follows padding.
            _ if padding > 0 => return None,
            _ => {}
        }
        bits = bits << 6 | u32::from(digit);
        digits += 1;
        if digits == 4 {
            let bytes = bits.to_be_bytes();
            value.extend_from_slice(bytes[1..].get(..3_usize.checked_sub(padding)?)?);
            (bits, digits) = (0, 0);
        }
    }
    (digits == 0).then_some(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use sources::{FileSource, SourceExt as _, SourceOptions};

    #[test]
    fn fields_are_decoded_and_keep_the_places_of_their_records() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("t.tsv");
        std::fs::write(&path, "1\tCQoNXA==\ta\\tb\n2\t\\N\t\\N\n3\tAA\\\nAA\tx\n4\t*\t\n").unwrap();
        let source = FileSource::new(&[path], &Dialect::mysql(), SourceOptions::default()).unwrap();
        let codings = vec![Coding::Plain, Coding::Base64, Coding::Plain];
        let mut decoded = Decoded::new(source, codings);
        let mut chunk = Chunk::default();
        assert!(decoded.next_chunk(&mut chunk).unwrap());
        let text = b"1\t\\t\\n\r\\\\\ta\\tb\n2\t\\N\t\\N\n3\t\0\0\0\tx\n4\t\\N\t\n";
        assert_eq!(chunk.bytes, text);
        let lines: Vec<_> = chunk.places.iter().map(|one| (one.line, one.offset)).collect();
        assert_eq!(lines, [(1, 0), (2, 16), (3, 24), (5, 35)]);
        assert!(!decoded.next_chunk(&mut chunk).unwrap());
        decoded.restart().unwrap();
        assert!(decoded.next_chunk(&mut chunk).unwrap());
        assert_eq!(chunk.bytes, text);
    }

    #[test]
    fn digits_are_read_as_the_servers_functions_read_them() {
        let hex =
            |text: &str| decode(Coding::Hex, text.as_bytes(), &mut Vec::new()).map(<[u8]>::to_vec);
        assert_eq!(hex("00fF"), Some(vec![0, 255]));
        assert_eq!(hex("abc"), Some(vec![0xa, 0xbc]));
        assert_eq!((hex(""), hex("0g")), (Some(vec![]), None));
        let base64 = |text: &str| {
            decode(Coding::Base64, text.as_bytes(), &mut Vec::new()).map(<[u8]>::to_vec)
        };
        assert_eq!(base64("YWJj\nZA=="), Some(b"abcd".to_vec()));
        assert_eq!(base64("YWI="), Some(b"ab".to_vec()));
        for wrong in ["YWJ", "=AAA", "YW=j", "Y===", "YWI=YWI=", "*"] {
            assert_eq!(base64(wrong), None, "{wrong}");
        }
        assert_eq!(base64(""), Some(vec![]));
    }
}
