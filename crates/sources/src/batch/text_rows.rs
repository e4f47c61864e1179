//! The rows of a text: one by one, or some that are alike together.

use std::ops::Range;

use simd::POSITION_MAX;

use super::text::{TextIndex, TextRow};
use super::{EvenRows, Rows};

impl TextIndex {
    /// The rows. `text` is what was scanned.
    #[inline]
    pub fn rows<'a>(&'a self, text: &'a [u8]) -> TextRows<'a> {
        TextRows { text: self.made.as_ref().map_or(text, |made| made.text()), index: self }
    }
}

/// Rows of a text.
#[derive(Clone, Copy, Debug)]
pub struct TextRows<'a> {
    text: &'a [u8],
    index: &'a TextIndex,
}

impl<'a> Rows for TextRows<'a> {
    type Row = TextRow<'a>;

    #[inline]
    fn bytes_of<'v>(self, _field: usize) -> &'v [u8]
    where
        Self: 'v,
    {
        self.text
    }

    #[inline]
    fn lines<'v>(self) -> Option<TextRows<'v>>
    where
        Self: 'v,
    {
        Some(self)
    }

    fn even<'v>(self, rows: Range<usize>) -> Option<EvenRows<'v>>
    where
        Self: 'v,
    {
        EvenRows::of(self.text, self.index, rows)
    }

    #[inline]
    fn len(self) -> usize {
        self.index.len()
    }

    #[inline]
    fn row(self, index: usize) -> TextRow<'a> {
        let TextRows { text, index: rows } = self;
        let mark = rows.marks[index];
        let (first, mut start) = match index.checked_sub(1) {
            Some(before) => (rows.marks[before].fields, rows.marks[before].end),
            None => (0, 0),
        };
        if let Some(&stated) = rows.starts.get(index) {
            start = stated;
        }
        let mut ends = &rows.ends[first as usize..mark.fields as usize];
        if rows.shape.trailing_separator
            && let [.., before, last] = ends
            && *last == (before & POSITION_MAX) + rows.shape.separator_size
        {
            ends = &ends[..ends.len() - 1];
        }
        TextRow { text, index: rows, ends, start, end: mark.end, row: index as u32 }
    }
}
