//! Files of records in, values out, by every way there is.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use sources::{
    Batch, Chunk, Dialect, Error, FileSource, Isa, Reader, Row, Rows, Source, SourceExt as _,
    SourceOptions, TextRow, Value,
};

/// Rows of values; None is NULL.
pub(crate) type Table = Vec<Vec<Option<Vec<u8>>>>;

/// Backslash escapes and optional double quotes around comma-separated fields.
pub(crate) fn quoted_mysql() -> Dialect {
    Dialect {
        fields_terminated_by: b",".to_vec(),
        enclosed_by: Some(b'"'),
        optionally_enclosed: true,
        ..Dialect::mysql()
    }
}

/// Every kind of dialect: with and without quotes and escapes, lone and long terminators.
pub(crate) fn dialects() -> Vec<(&'static str, Dialect)> {
    let quoted = quoted_mysql();
    let plain = Dialect { escaped_by: None, ..Dialect::mysql() };
    vec![
        ("mysql", Dialect::mysql()),
        ("csv", Dialect::csv()),
        ("tsv", Dialect::tsv()),
        ("tbl", Dialect::tbl()),
        ("plain", plain.clone()),
        ("quoted", quoted.clone()),
        ("crlf", Dialect { lines_terminated_by: b"\r\n".to_vec(), ..Dialect::mysql() }),
        ("crlf plain", Dialect { lines_terminated_by: b"\r\n".to_vec(), ..plain.clone() }),
        ("crlf quoted", Dialect { lines_terminated_by: b"\r\n".to_vec(), ..quoted.clone() }),
        (
            "crlf quoted, no escape",
            Dialect { lines_terminated_by: b"\r\n".to_vec(), escaped_by: None, ..quoted.clone() },
        ),
        ("no escape", Dialect { escaped_by: None, ..quoted.clone() }),
        ("escape is quote", Dialect { escaped_by: Some(b'"'), ..quoted.clone() }),
        ("any newline, escape", Dialect { any_newline: true, ..Dialect::mysql() }),
        ("any newline, quoted", Dialect { any_newline: true, ..quoted.clone() }),
        (
            "long",
            Dialect {
                fields_terminated_by: b",|".to_vec(),
                lines_terminated_by: b"|\n".to_vec(),
                ..quoted.clone()
            },
        ),
        (
            "overlapping",
            Dialect {
                fields_terminated_by: b",,".to_vec(),
                lines_terminated_by: b",\n".to_vec(),
                ..plain.clone()
            },
        ),
        (
            "repeated",
            Dialect {
                fields_terminated_by: b"|".to_vec(),
                lines_terminated_by: b"\n\n".to_vec(),
                ..plain.clone()
            },
        ),
        ("prefix", Dialect { lines_starting_by: b"N|".to_vec(), ..quoted.clone() }),
        (
            "newline separator",
            Dialect {
                fields_terminated_by: b"\n".to_vec(),
                lines_terminated_by: b"|".to_vec(),
                ..quoted
            },
        ),
    ]
}

/// The rows of `bytes` by the given instructions. Checks that rows tile them.
pub(crate) fn scan(dialect: &Dialect, bytes: &[u8], isa: Isa) -> Table {
    let chunk = Chunk { bytes: bytes.to_vec(), ..Chunk::default() };
    scan_chunk(dialect, &chunk, isa)
}

fn scan_chunk(dialect: &Dialect, chunk: &Chunk, isa: Isa) -> Table {
    let mut batch = Batch::new();
    dialect.reader_with(isa).read(chunk, &mut batch).unwrap();
    let mut end_before = 0;
    let mut table = Vec::new();
    for row in batch.text_rows(chunk).unwrap().iter() {
        let Range { start, end } = row.span();
        assert!(start == end_before || !dialect.lines_starting_by.is_empty());
        assert_eq!((row.start(), &*row.raw()), (start, &chunk.bytes[start..end]));
        end_before = end;
        table.push(values(row));
    }
    assert!(end_before == chunk.bytes.len() || !dialect.lines_starting_by.is_empty());
    table
}

/// The values of a row; None is NULL.
pub(crate) fn values(row: TextRow<'_>) -> Vec<Option<Vec<u8>>> {
    let mut scratch = Vec::new();
    let value = |field| match row.value(field, &mut scratch) {
        Value::Bytes(value) => Some(value.to_vec()),
        _ => None,
    };
    (0..row.field_count()).map(value).collect()
}

/// The rows of a chunk.
pub(crate) fn rows(reader: &mut dyn Reader, chunk: &Chunk) -> Result<Table, Error> {
    let mut batch = Batch::new();
    reader.read(chunk, &mut batch)?;
    Ok(batch.text_rows(chunk).unwrap().iter().map(values).collect())
}

/// The rows of a file with these bytes that is read in chunks of `chunk_bytes`.
pub(crate) fn read(
    dialect: &Dialect,
    bytes: &[u8],
    chunk_bytes: usize,
    isa: Isa,
) -> Result<Table, Error> {
    let folder = tempfile::tempdir().unwrap();
    let path = write(&folder, "input", bytes);
    let options = SourceOptions { chunk_bytes, ..SourceOptions::default() };
    let mut source = FileSource::new(&[path], dialect, options)?.with_isa(isa);
    let mut chunk = Chunk::default();
    let mut table = Vec::new();
    let mut offset = 0;
    let mut ordinal = 0;
    while source.next_chunk(&mut chunk)? {
        assert_eq!((chunk.ordinal, chunk.file, chunk.offset), (ordinal, 0, offset));
        assert!(!chunk.bytes.is_empty());
        let at = offset as usize;
        assert_eq!(chunk.bytes, bytes[at..at + chunk.bytes.len()]);
        let line = 1 + bytes[..at].iter().filter(|&&byte| byte == b'\n').count() as u64;
        assert_eq!(chunk.first_line, line);
        offset += chunk.bytes.len() as u64;
        ordinal += 1;
        assert_eq!(source.bytes_read(), offset);
        table.extend(scan_chunk(dialect, &chunk, isa));
    }
    assert_eq!(offset, bytes.len() as u64);
    assert_eq!(source.facts().bytes_total, Some(offset));
    Ok(table)
}

/// The rows of this file after skipping lines, read at once.
pub(crate) fn read_from(path: &Path, dialect: &Dialect, skip_lines: u64) -> Result<Table, Error> {
    let options = SourceOptions { skip_lines, ..SourceOptions::default() };
    let mut source = FileSource::new(&[path.to_owned()], dialect, options)?;
    let mut chunk = Chunk::default();
    let mut table = Vec::new();
    while source.next_chunk(&mut chunk)? {
        table.extend(scan_chunk(dialect, &chunk, Isa::best()));
    }
    Ok(table)
}

/// A file in the folder.
pub(crate) fn write(folder: &tempfile::TempDir, name: &str, bytes: &[u8]) -> PathBuf {
    let path = folder.path().join(name);
    fs::write(&path, bytes).unwrap();
    path
}
