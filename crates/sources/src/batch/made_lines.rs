//! Rows that are no lines, as lines: the texts of their fields one behind the other, and typed values beside them.
//!
//! ```text
//! text    kind size a kind size b record | kind size c ..   kind and size before each text, the record of JSON behind
//! ```
//!
//! Kinds and sizes make the texts of several fields together those of no other values: `true`, 1 and "1" of JSON have one
//! text, and columns may take them for different values.

use std::borrow::Cow;
use std::sync::Arc;

use simd::POSITION_MAX;
use values::Value;

use super::text::{DECODE, HEAD_BYTES, Mark, Meaning, Shape, SourceRows, TextIndex};
use super::{Cells, Picked, Row as _, Rows as _, TypedColumn, TypedColumns};
use crate::error::{Error, Result};

/// In place of a size: NULL.
const NULL_SIZE: u32 = u32::MAX;

/// The rows of a chunk and the text of the lines that are made of them.
#[derive(Debug, Default)]
struct MadeLines {
    text: Vec<u8>,
    /// Where each row begins and ends in its chunk.
    places: Vec<(u32, u32)>,
    /// Fields, and behind them values for columns.
    columns: TypedColumns,
    /// Number of fields.
    width: usize,
    /// Rows whose fields are not known, ascending, and why.
    broken: Vec<(u32, String)>,
    /// True if the rows are records of JSON, whose texts are behind those of their fields.
    has_records: bool,
}

impl SourceRows for MadeLines {
    fn text(&self) -> &[u8] {
        &self.text
    }

    #[inline]
    fn place(&self, row: u32) -> (u32, u32) {
        self.places[row as usize]
    }

    #[inline]
    fn are_in_text(&self) -> bool {
        self.has_records
    }

    #[inline]
    fn value(&self, row: u32, value: usize) -> Value<'_> {
        self.columns.columns()[self.width + value].value(row as usize)
    }

    #[inline]
    fn broken(&self, row: u32) -> Option<&str> {
        if self.broken.is_empty() {
            return None;
        }
        let at = self.broken.binary_search_by_key(&row, |(row, _)| *row).ok()?;
        Some(&self.broken[at].1)
    }

    fn raw<'a>(&'a self, row: u32, behind: &'a [u8]) -> Cow<'a, [u8]> {
        match self.has_records {
            true => Cow::Borrowed(behind),
            false => self.columns.rows().row(row as usize).raw(),
        }
    }
}

impl TextIndex {
    /// Lines of typed rows, whose columns it takes; `width` fields have texts.
    ///
    /// Errors: texts that are too long for one chunk.
    pub(super) fn make_typed(&mut self, columns: &mut TypedColumns, width: usize) -> Result<()> {
        let mut made = self.begin_made(width);
        made.columns = std::mem::take(columns);
        for row in 0..made.columns.len() {
            made.places.push((row as u32, row as u32 + 1));
            self.push_fields(&mut made, row, &[]);
            self.end_row(&made)?;
        }
        self.made = Some(Arc::new(made));
        Ok(())
    }

    /// The same of records of JSON, of which `picked` has the values, `records` the places in the chunk, and `kinds` the kinds
    /// of the fields that have texts. A line counts with its end, which the last one of a chunk may lack.
    pub(super) fn make_records(
        &mut self,
        picked: &mut Picked,
        records: &TextIndex,
        chunk: &[u8],
        are_lines: bool,
        kinds: &[u8],
    ) -> Result<()> {
        let width = kinds.len() / records.len().max(1);
        let mut made = self.begin_made(width);
        made.columns.replace(records.len(), std::mem::take(&mut picked.made));
        made.broken = std::mem::take(&mut picked.broken);
        made.has_records = true;
        for row in 0..records.len() {
            let span = records.rows(chunk).row(row).span();
            let is_cut = are_lines && chunk.get(span.end - 1) != Some(&b'\n');
            made.places.push((span.start as u32, span.end as u32 + u32::from(is_cut)));
            self.push_fields(&mut made, row, &kinds[row * width..(row + 1) * width]);
            made.text.extend_from_slice(&chunk[span]);
            self.end_row(&made)?;
        }
        self.made = Some(Arc::new(made));
        Ok(())
    }

    fn begin_made(&mut self, width: usize) -> MadeLines {
        self.begin(&Shape {
            separator_size: HEAD_BYTES,
            prefix_size: HEAD_BYTES,
            meaning: Meaning::Made,
            ..Shape::default()
        });
        self.ends.clear();
        MadeLines { width, ..MadeLines::default() }
    }

    /// Adds the texts of a row's fields; of kind 0 without `kinds`.
    fn push_fields(&mut self, made: &mut MadeLines, row: usize, kinds: &[u8]) {
        let MadeLines { text, columns, width, .. } = made;
        for (field, column) in columns.columns()[..*width].iter().enumerate() {
            text.push(kinds.get(field).copied().unwrap_or_default());
            let size_at = text.len();
            text.extend_from_slice(&NULL_SIZE.to_le_bytes());
            let start = text.len();
            let is_null = !push_text(column, row, text);
            if !is_null {
                let size = (text.len() - start) as u32;
                text[size_at..start].copy_from_slice(&size.to_le_bytes());
            }
            self.ends.push(text.len() as u32 | if is_null { DECODE } else { 0 });
        }
        self.fields = self.ends.len();
    }

    fn end_row(&mut self, made: &MadeLines) -> Result<()> {
        if made.text.len() > POSITION_MAX as usize {
            let message = match made.places.len() {
                1 => "a row has more than 1 GiB of text, and a job file divides shorter rows only"
                    .to_owned(),
                rows => format!(
                    "{rows} rows that are read together have more than 1 GiB of text; with less memory \
                     fewer are read together"
                ),
            };
            return Err(Error::Dialect(message));
        }
        self.marks.push(Mark { fields: self.fields as u32, end: made.text.len() as u32 });
        Ok(())
    }
}

/// Appends the exact text of a value; false if it is NULL.
fn push_text(column: &TypedColumn, row: usize, text: &mut Vec<u8>) -> bool {
    let value = match (&column.cells, column.value(row)) {
        (_, Value::Null) => return false,
        // As short as four bytes need it.
        (Cells::Float(cells), Value::Double(number)) => {
            Value::Double(cells[row].to_string().parse().unwrap_or(number))
        }
        (_, value) => value,
    };
    value.push_text(text);
    true
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use crate::{Batch, Chunk};

    use super::*;

    fn texts(texts: &[Option<&str>]) -> TypedColumn {
        let (mut ends, mut bytes) = (Vec::new(), Vec::new());
        for text in texts {
            bytes.extend_from_slice(text.unwrap_or_default().as_bytes());
            ends.push(bytes.len());
        }
        let is_valid = texts.iter().map(Option::is_some).collect();
        TypedColumn { is_valid, ..TypedColumn::from(Cells::Bytes { ends, bytes }) }
    }

    #[test]
    fn typed_rows_are_lines_with_texts_and_values() {
        let columns = vec![
            texts(&[Some("a,\n"), None, Some("")]),
            TypedColumn::from(Cells::Float(vec![0.1, 1e20, -0.0])),
            TypedColumn::from(Cells::Decimal { units: vec![-5, 10, 0], scale: 2 }),
        ];
        let chunk = Chunk { first_record: Some(40), ..Chunk::default() };
        let mut batch = Batch::new();
        for _ in 0..2 {
            batch.typed().replace(3, columns.clone());
            batch.make_lines(2).unwrap();
            assert_eq!((batch.len(), batch.is_text()), (3, false));
            let (rows, mut scratch) = (batch.text_rows(&chunk).unwrap(), Vec::new());
            let mut seen = Vec::new();
            for row in rows.iter() {
                assert!(row.has_fields_for(2, 2) && !row.has_fields_for(3, 3));
                let mut text = |field| match row.value(field, &mut scratch) {
                    Value::Bytes(text) => String::from_utf8_lossy(text).into_owned(),
                    other => format!("{other:?}"),
                };
                seen.push((chunk.line_at(row.start()), text(0), text(1)));
            }
            let line = |line, one: &str, other: &str| (line, one.to_owned(), other.to_owned());
            assert_eq!(
                seen,
                [line(41, "a,\n", "0.1"), line(42, "Null", "1e20"), line(43, "", "-0")]
            );
            let decimal = values::Decimal { units: -5, scale: 2 };
            assert_eq!(rows.row(0).made_value(0), Value::Decimal(decimal));
            assert_eq!(rows.row(0).line_bytes(), 5 + 3 + 5 + 3);
            assert_eq!(rows.row(0).raw().as_ref(), b"a,\\n\t0.10000000149011612\t-0.05\n");
        }
    }

    #[test]
    fn texts_together_are_those_of_no_other_values() {
        let mut batch = Batch::new();
        let one = [Some("ab"), Some("a"), None, Some(""), Some("a")];
        let other = [Some("c"), Some("bc"), Some("x"), Some("x"), None];
        batch.typed().replace(5, vec![texts(&one), texts(&other)]);
        batch.make_lines(2).unwrap();
        let rows = batch
            .text_rows(&Chunk::default())
            .map(|rows| rows.iter().map(|row| row.raw_fields(0, 1).to_vec()).collect::<Vec<_>>());
        let mut rows = rows.unwrap();
        rows.sort();
        rows.dedup();
        assert_eq!(rows.len(), 5);
    }
}
