//! Consecutive rows of a text that have as many fields each: a field is found by its number in all of
//! them, without making each row first.

use std::ops::Range;

use simd::POSITION_MAX;

use super::text::{Mark, Meaning, QUOTED, TextIndex};

/// Rows of a text, as many fields in each.
#[derive(Clone, Copy, Debug)]
pub struct EvenRows<'a> {
    text: &'a [u8],
    index: &'a TextIndex,
    /// Field ends of all these rows.
    ends: &'a [u32],
    /// Ends a row.
    stride: usize,
    /// Fields a row: without what a separator before the line's end leaves behind it.
    fields: usize,
    rows: (usize, usize),
}

/// Where a field of some rows is, row by row: its first byte, and the byte behind it.
pub type Places = [(u32, u32); EvenRows::ROWS_MAX];

impl<'a> EvenRows<'a> {
    /// Most rows that are taken together: a bit of a word for each.
    pub const ROWS_MAX: usize = 64;

    /// Rows of a text; none if they differ in their number of fields, or there are too many.
    pub(super) fn of(
        text: &'a [u8],
        index: &'a TextIndex,
        rows: Range<usize>,
    ) -> Option<EvenRows<'a>> {
        let marks = index.marks.get(rows.clone())?;
        let first = rows.start.checked_sub(1).map_or(0, |before| index.marks[before].fields);
        let stride = marks.first()?.fields - first;
        let mut fields = first;
        let is_even = |mark: &Mark| {
            fields += stride;
            mark.fields == fields
        };
        if stride == 0 || marks.len() > EvenRows::ROWS_MAX || !marks.iter().all(is_even) {
            return None;
        }
        let (first, stride) = (first as usize, stride as usize);
        let ends = &index.ends[first..first + stride * marks.len()];
        let trailing = match index.shape.trailing_separator && stride > 1 {
            true => is_trailing(ends, stride, index.shape.separator_size)?,
            false => false,
        };
        let fields = stride - usize::from(trailing);
        Some(EvenRows { text, index, ends, stride, fields, rows: (rows.start, rows.end) })
    }

    /// Number of rows.
    #[inline]
    pub fn len(self) -> usize {
        self.rows.1 - self.rows.0
    }

    /// True if there are none.
    #[inline]
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// Fields of each row.
    #[inline]
    pub fn field_count(self) -> usize {
        self.fields
    }

    /// The text from the first of these rows to the end of the last.
    pub fn span(self) -> &'a [u8] {
        let end = self.index.marks[self.rows.1 - 1].end as usize;
        &self.text[self.row_start(0) as usize..end.min(self.text.len())]
    }

    /// Finds, in [`Rows::bytes_of`](super::Rows::bytes_of), what each row has in field `field`, below
    /// [`EvenRows::field_count`]. Gives a bit for each row: whether it has a place; none where that is
    /// NULL, or has escapes that are to be undone.
    pub fn find(self, field: usize, places: &mut Places) -> u64 {
        assert!(field < self.stride, "the rows have the field");
        let shape = &self.index.shape;
        let rows = self.ends.chunks_exact(self.stride).zip(places.iter_mut());
        let mut flags = 0;
        match field.checked_sub(1) {
            None => {
                for (row, (ends, place)) in rows.enumerate() {
                    *place = (self.row_start(row) + shape.prefix_size, ends[0]);
                    flags |= ends[0];
                }
            }
            Some(before) => {
                for (ends, place) in rows {
                    *place = ((ends[before] & POSITION_MAX) + shape.separator_size, ends[field]);
                    flags |= ends[field];
                }
            }
        }
        match flags <= POSITION_MAX && !shape.has_null_text {
            true if shape.is_null_if_empty(field) => find_filled(&places[..self.len()]),
            true => u64::MAX >> (EvenRows::ROWS_MAX - self.len()),
            false => self.find_special(field, &mut places[..self.len()]),
        }
    }

    /// As [`EvenRows::find`], of places whose ends still have their flags.
    #[inline(never)]
    fn find_special(self, field: usize, places: &mut [(u32, u32)]) -> u64 {
        let shape = &self.index.shape;
        let is_delimited = matches!(shape.meaning, Meaning::Delimited(_));
        let (mut are_found, mut scratch) = (0, Vec::new());
        for (row, place) in places.iter_mut().enumerate() {
            let (start, end) = (place.0, place.1 & POSITION_MAX);
            let found = match place.1 & !POSITION_MAX {
                QUOTED if !shape.null_in_quotes => Some((start + 1, end - 1)),
                QUOTED => {
                    let raw = &self.text[start as usize..end as usize];
                    let value = self.index.special(raw, field, QUOTED, &mut scratch);
                    value.map(|_| (start + 1, end - 1))
                }
                0 if start == end && shape.is_null_if_empty(field) => None,
                0 if !shape.has_null_text => Some((start, end)),
                0 if is_delimited => {
                    // Without flags it is itself or NULL.
                    let raw = &self.text[start as usize..end as usize];
                    let value = self.index.special(raw, field, 0, &mut scratch);
                    value.map(|_| (start, end))
                }
                _ => None,
            };
            are_found |= u64::from(found.is_some()) << row;
            *place = found.unwrap_or_default();
        }
        are_found
    }

    /// Where a row starts.
    #[inline]
    fn row_start(self, row: usize) -> u32 {
        let row = self.rows.0 + row;
        match (self.index.starts.get(row), row.checked_sub(1)) {
            (Some(stated), _) => *stated,
            (None, Some(before)) => self.index.marks[before].end,
            (None, None) => 0,
        }
    }
}

/// A bit for each place that is not empty.
fn find_filled(places: &[(u32, u32)]) -> u64 {
    let bits = places.iter().enumerate();
    bits.fold(0, |are_found, (row, (start, end))| are_found | u64::from(start != end) << row)
}

/// True if a separator stands before the end of every row; false if before none; None if they differ.
fn is_trailing(ends: &[u32], stride: usize, separator_size: u32) -> Option<bool> {
    let is_trailing =
        |ends: &&[u32]| ends[stride - 1] == (ends[stride - 2] & POSITION_MAX) + separator_size;
    let trailing = ends.chunks_exact(stride).filter(is_trailing).count();
    let rows = ends.len() / stride;
    (trailing == 0 || trailing == rows).then_some(trailing == rows)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::batch::{Row, Rows};
    use crate::{Batch, Chunk, Dialect, FileSource, Source, SourceOptions};
    use values::Value;

    /// Checks every block of some rows of a text against the rows one by one; gives the fields found.
    fn found(text: &str, dialect: &Dialect) -> usize {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        let paths = [file.path().to_path_buf()];
        let mut source = FileSource::new(&paths, dialect, SourceOptions::default()).unwrap();
        let (mut reader, mut chunk, mut batch) = (source.reader(), Chunk::default(), Batch::new());
        assert!(source.next_chunk(&mut chunk).unwrap());
        reader.read(&chunk, &mut batch).unwrap();
        let rows = batch.text_rows(&chunk).unwrap();
        let mut count = 0;
        for first in 0..rows.len() {
            for end in first + 1..rows.len().min(first + 3) + 1 {
                let Some(even) = rows.even(first..end) else { continue };
                let mut places = [(0, 0); EvenRows::ROWS_MAX];
                for field in 0..even.field_count() {
                    let are_found = even.find(field, &mut places);
                    for index in first..end {
                        let row = rows.row(index);
                        assert_eq!(row.field_count(), even.field_count(), "{text:?}");
                        if are_found >> (index - first) & 1 == 1 {
                            let (start, end) = places[index - first];
                            let seen = &rows.bytes_of(field)[start as usize..end as usize];
                            let mut scratch = Vec::new();
                            assert_eq!(row.value(field, &mut scratch), Value::Bytes(seen));
                            count += 1;
                        }
                    }
                }
                let span = even.span();
                assert!(chunk.bytes[rows.row(first).start()..].starts_with(span));
                assert!(span.len() <= rows.row(end - 1).span().end);
            }
        }
        count
    }

    #[test]
    fn fields_of_many_rows_are_those_of_each() {
        let tbl = Dialect::tbl();
        assert_eq!(found("a|bc|\nd||\n|e|\n", &tbl), 20);
        // Rows that differ are not taken together: in what they have, or by a last separator.
        assert_eq!(found("a|b|\nc|d\ne|f|\n", &tbl), 6);
        assert_eq!(found("a|b|\nc|\nd|e|\n", &tbl), 5);
        assert_eq!(found("a||\nb|c|d\n", &tbl), 5);
        // NULL and what is to be undone have no place, other quoted fields have.
        assert_eq!(found("1,\"x\"\n2,NULL\n3,\"a\"\"b\"\n4,\"NULL\"\n", &Dialect::csv()), 22);
        assert_eq!(found("1\t\\N\n2\tx\\ty\n3\tz\n", &Dialect::default()), 13);
    }
}
