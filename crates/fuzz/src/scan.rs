//! The field scanner: rows tile their chunk, and every instruction set finds the same.

use std::ops::Range;

use sources::{Batch, Chunk, Dialect, Isa, Row, Rows, Value};

type Table = Vec<(usize, Vec<Option<Vec<u8>>>)>;

pub(crate) fn run(bytes: &[u8]) {
    let (choices, text) = crate::choices(bytes);
    let dialect = dialect(choices);
    if dialect.check().is_err() || dialect.needs_fields() {
        return;
    }
    let tables: Vec<Table> =
        Isa::available().into_iter().map(|isa| scan(&dialect, text, isa)).collect();
    assert!(tables.windows(2).all(|pair| pair[0] == pair[1]), "instruction sets differ");
}

pub(crate) fn dialect([preset, special, separator, end]: [u8; 4]) -> Dialect {
    let presets = [Dialect::mysql, Dialect::csv, Dialect::tsv, Dialect::tbl];
    let mut dialect = presets[usize::from(preset & 3)]();
    if preset & 4 != 0 {
        let quotes = [None, Some(b'"'), Some(b'\''), Some(b'|')];
        dialect.enclosed_by = quotes[usize::from(special & 3)];
        let escapes = [None, Some(b'\\'), Some(b'"'), Some(b'^')];
        dialect.escaped_by = escapes[usize::from(special >> 2 & 3)];
        let separators: [&[u8]; 8] = [b",", b"\t", b"|", b"||", b",,", b",|", b"aab", b"\n"];
        dialect.fields_terminated_by = separators[usize::from(separator & 7)].to_vec();
        dialect.any_newline = special & 16 != 0;
        dialect.trailing_separator = special & 32 != 0;
        let ends: [&[u8]; 8] = [b"\n", b"\r\n", b"|", b"|\n", b"\n\n", b"aac", b",", b"\0"];
        dialect.lines_terminated_by = match dialect.any_newline {
            true => b"\n".to_vec(),
            false => ends[usize::from(end & 7)].to_vec(),
        };
        let starts: [&[u8]; 4] = [b"", b"", b">", b">>"];
        dialect.lines_starting_by = starts[usize::from(end >> 3 & 3)].to_vec();
    }
    if preset & 8 != 0 {
        dialect.null_tokens = vec![b"NA".to_vec()];
        dialect.null_in_quotes = preset & 64 != 0;
    }
    dialect
}

fn scan(dialect: &Dialect, bytes: &[u8], isa: Isa) -> Table {
    let chunk = Chunk { bytes: bytes.to_vec(), ..Chunk::default() };
    let mut batch = Batch::new();
    dialect.reader_with(isa).read(&chunk, &mut batch).unwrap();
    let (mut end_before, mut scratch) = (0, Vec::new());
    let mut table = Table::new();
    for row in batch.text_rows(&chunk).unwrap().iter() {
        let Range { start, end } = row.span();
        assert!(start <= end && end <= bytes.len());
        assert!(start == end_before || !dialect.lines_starting_by.is_empty());
        end_before = end;
        let value = |field| match row.value(field, &mut scratch) {
            Value::Bytes(value) => Some(value.to_vec()),
            _ => None,
        };
        table.push((start, (0..row.field_count()).map(value).collect()));
    }
    assert!(end_before == bytes.len() || !dialect.lines_starting_by.is_empty());
    table
}
