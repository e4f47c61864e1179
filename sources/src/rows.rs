//! The fields of a chunk: where each ends, and what it means.
//!
//! ```text
//! bytes   1|ab|c\|d\n22|x|\n
//! ends     1  4    9   12 14 15      one u32 per field: position of its end, two flags on top
//! marks              (3, 10)   (6, 16)   one per row: fields so far, end with the terminator
//! ```
//!
//! A field starts one separator after the end of the field before it, the first one of a row where
//! the row before it ended; fields of fixed size have no separator. Nothing is allocated per row
//! once the vectors have grown.

use std::sync::Arc;

use simd::POSITION_MAX;
use values::Value;

use crate::decode::{self, Rules};
use sql::StringRules;

/// Flag of a field end: the bytes are not the value; escapes or quotes in it must be undone.
pub(crate) const DECODE: u32 = simd::FLAGS[0];
/// Flag of a field end: the field begins with an opening quote.
pub(crate) const QUOTED: u32 = simd::FLAGS[1];

/// Rows of one chunk, made by [`crate::Scanner::scan`]; reused from chunk to chunk.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    /// Field ends; only the first `fields` are valid. Longer, so that SIMD stores need no check.
    pub(crate) ends: Vec<u32>,
    pub(crate) fields: usize,
    pub(crate) marks: Vec<Mark>,
    /// Start of each row, only for SQL tuples and dialects with LINES STARTING BY; else empty.
    pub(crate) starts: Vec<u32>,
    pub(crate) shape: Shape,
    /// Where the rows end because no plain row follows; only of SQL tuples.
    pub(crate) not_plain: Option<NotPlain>,
}

/// Text in the rows of an INSERT that is no plain literal; rows before it were found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotPlain {
    /// Its first byte in the chunk.
    pub at: usize,
    /// What it is: a noun with its article.
    pub what: &'static str,
}

/// What reading the index needs to know of the dialect.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shape {
    pub(crate) separator_size: u32,
    pub(crate) prefix_size: u32,
    pub(crate) trailing_separator: bool,
    /// Plain text may be NULL: the bare word where there are quotes, or the token.
    pub(crate) has_null_text: bool,
    pub(crate) null_token: Option<Arc<[u8]>>,
    pub(crate) rules: Rules,
    /// How values are undone that are SQL literals.
    pub(crate) strings: Option<StringRules>,
}

/// End of a row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark {
    /// Fields of the chunk up to and with this row.
    pub(crate) fields: u32,
    /// First byte after the terminator.
    pub(crate) end: u32,
}

impl Rows {
    /// An empty index.
    pub fn new() -> Rows {
        Rows::default()
    }

    /// Number of rows.
    #[inline]
    pub fn len(&self) -> usize {
        self.marks.len()
    }

    /// True if there are no rows.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.marks.is_empty()
    }

    /// What keeps the rest of the chunk from being rows, as only SQL tuples have it: the rows must
    /// not be used then.
    #[inline]
    pub fn not_plain(&self) -> Option<NotPlain> {
        self.not_plain
    }

    /// Room for the fields of one more block.
    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let size = (self.ends.len() * 2).max(1024);
        self.ends.resize(size, 0);
    }

    #[inline(always)]
    pub(crate) fn reserve_block(&mut self) {
        if self.ends.len() - self.fields < 64 {
            self.grow();
        }
    }

    /// The row of this index, below `len`.
    #[inline]
    pub fn row(&self, index: usize) -> Row<'_> {
        let mark = self.marks[index];
        let (first, mut start) = match index.checked_sub(1) {
            Some(before) => (self.marks[before].fields, self.marks[before].end),
            None => (0, 0),
        };
        if let Some(&stated) = self.starts.get(index) {
            start = stated;
        }
        let mut ends = &self.ends[first as usize..mark.fields as usize];
        if self.shape.trailing_separator
            && let [.., before, last] = ends
            && *last == (before & POSITION_MAX) + self.shape.separator_size
        {
            ends = &ends[..ends.len() - 1];
        }
        let body = start + self.shape.prefix_size;
        Row { ends, start, end: mark.end, body, separator_size: self.shape.separator_size }
    }

    /// All rows in order.
    #[inline]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Row<'_>> {
        (0..self.len()).map(|index| self.row(index))
    }

    /// What the field holds: NULL, or bytes borrowed from the chunk or, when escapes had to be
    /// undone, from `scratch` (overwritten then). `chunk` is what was scanned.
    #[inline]
    pub fn value<'a>(&self, chunk: &'a [u8], field: Field, scratch: &'a mut Vec<u8>) -> Value<'a> {
        let raw = field.raw(chunk);
        if field.flags == 0 && !self.shape.has_null_text {
            return Value::Bytes(raw);
        }
        self.special(raw, field, scratch)
    }

    /// What a field holds that may be NULL by its text, or has quotes or escapes. Out of line: most
    /// files have no such fields, and the loop over theirs is to stay small.
    #[inline(never)]
    fn special<'a>(&self, raw: &'a [u8], field: Field, scratch: &'a mut Vec<u8>) -> Value<'a> {
        match field.flags {
            QUOTED => Value::Bytes(&raw[1..raw.len() - 1]),
            flags if let Some(strings) = &self.shape.strings => {
                strings.decode(raw, flags & QUOTED != 0, scratch)
            }
            0 if self.shape.rules.quote.is_some() && raw == b"NULL" => Value::Null,
            0 | DECODE if self.is_token(raw) => Value::Null,
            0 => Value::Bytes(raw),
            flags => {
                let index = field.index as usize;
                decode::decode(raw, flags & QUOTED != 0, index, &self.shape.rules, scratch)
            }
        }
    }

    /// Whether a field not in quotes is the token for NULL.
    fn is_token(&self, raw: &[u8]) -> bool {
        self.shape.null_token.as_deref() == Some(raw)
    }
}

/// One record: its span in the chunk and its fields.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    ends: &'a [u32],
    start: u32,
    end: u32,
    body: u32,
    separator_size: u32,
}

impl<'a> Row<'a> {
    /// Span of the record in the chunk, terminator included: what a reject file gets.
    #[inline]
    pub fn raw(&self) -> (usize, usize) {
        (self.start as usize, self.end as usize)
    }

    /// Number of fields, at least 1 but in an empty line of a file with rows of fixed size.
    #[inline]
    pub fn field_count(&self) -> usize {
        self.ends.len()
    }

    /// True if the row is one for `columns` columns as LOAD DATA counts, of which the last ones
    /// after `needed` may be missing: this many fields, or one more that is empty, because a
    /// separator may stand before a line end.
    #[inline]
    pub fn has_fields_for(&self, needed: usize, columns: usize) -> bool {
        let count = self.ends.len();
        count == columns
            || (needed..columns).contains(&count)
            || (count == columns + 1 && self.field(columns).is_empty())
    }

    /// The field of this index, below `field_count`.
    #[inline]
    pub fn field(&self, index: usize) -> Field {
        let start = match index.checked_sub(1) {
            Some(before) => (self.ends[before] & POSITION_MAX) + self.separator_size,
            None => self.body,
        };
        Field::new(start, self.ends[index], index as u32)
    }

    /// All fields in order; a little cheaper than `field` one by one.
    #[inline]
    pub fn fields(&self) -> Fields<'a> {
        Fields {
            ends: self.ends.iter(),
            start: self.body,
            separator_size: self.separator_size,
            index: 0,
        }
    }
}

/// The fields of a row in order.
#[derive(Clone, Debug)]
pub struct Fields<'a> {
    ends: std::slice::Iter<'a, u32>,
    start: u32,
    separator_size: u32,
    index: u32,
}

impl Iterator for Fields<'_> {
    type Item = Field;

    #[inline]
    fn next(&mut self) -> Option<Field> {
        let &end = self.ends.next()?;
        let field = Field::new(self.start, end, self.index);
        self.index += 1;
        self.start = field.end + self.separator_size;
        Some(field)
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.ends.size_hint()
    }
}

impl ExactSizeIterator for Fields<'_> {}

/// A field: its span in the chunk, quotes and escapes included. [`Rows::value`] undoes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    start: u32,
    end: u32,
    flags: u32,
    /// Its place in the record.
    index: u32,
}

impl Field {
    #[inline]
    fn new(start: u32, end: u32, index: u32) -> Field {
        Field { start, end: end & POSITION_MAX, flags: end & !POSITION_MAX, index }
    }

    /// Bytes of the field as they stand in the chunk.
    #[inline]
    pub fn raw<'a>(&self, chunk: &'a [u8]) -> &'a [u8] {
        &chunk[self.start as usize..self.end as usize]
    }

    /// Span in the chunk.
    #[inline]
    pub fn span(&self) -> (usize, usize) {
        (self.start as usize, self.end as usize)
    }

    /// True if there is nothing between the separators, not even quotes.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// True if the raw bytes are not the value: quotes or escapes in it must be undone.
    #[inline]
    pub fn needs_decoding(&self) -> bool {
        self.flags != 0
    }
}
