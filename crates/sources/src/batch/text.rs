//! Rows of text: where each field ends, and what it means.
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

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use simd::POSITION_MAX;
use sql::StringRules;
use values::Value;

use super::Row;
use super::decode::{self, Rules};

/// Flag of a field end: the bytes are not the value; escapes or quotes in it must be undone.
pub(crate) const DECODE: u32 = simd::FLAGS[0];
/// Flag of a field end: the field begins with an opening quote.
pub(crate) const QUOTED: u32 = simd::FLAGS[1];

/// Bytes before the text of a field, in lines that were made: the kind of its value, and its size.
pub(super) const HEAD_BYTES: u32 = 5;

/// Rows that lines were made of.
pub(super) trait SourceRows: fmt::Debug + Send + Sync {
    /// The text of the lines.
    fn text(&self) -> &[u8];

    /// Where a row begins and ends in its chunk.
    fn place(&self, row: u32) -> (u32, u32);

    /// True if that is a text there, and no number of a row.
    fn are_in_text(&self) -> bool;

    /// The value of this number in a row.
    fn value(&self, row: u32, value: usize) -> Value<'_>;

    /// Why the fields of a row are not known.
    fn broken(&self, row: u32) -> Option<&str>;

    /// A row as a file of rejects gets it; `behind` is what is behind the texts of its fields.
    fn raw<'a>(&'a self, row: u32, behind: &'a [u8]) -> Cow<'a, [u8]>;
}

/// Where the rows and fields of a text are.
#[derive(Clone, Debug, Default)]
pub struct TextIndex {
    /// Field ends; only the first `fields` are valid. Longer, so that SIMD stores need no check.
    pub(crate) ends: Vec<u32>,
    pub(crate) fields: usize,
    pub(crate) marks: Vec<Mark>,
    /// Start of each row, only for SQL tuples and dialects with LINES STARTING BY; else empty.
    pub(crate) starts: Vec<u32>,
    pub(crate) shape: Shape,
    /// The text is one row without fields, for they cannot be told.
    pub(crate) is_unclosed: bool,
    /// The rows that the lines were made of, if they are no lines of a file.
    pub(super) made: Option<Arc<dyn SourceRows>>,
}

/// The facts about the text that reading the index needs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shape {
    pub(crate) separator_size: u32,
    pub(crate) prefix_size: u32,
    pub(crate) trailing_separator: bool,
    /// Plain text may be NULL: the bare word where there are quotes, or a token.
    pub(crate) has_null_text: bool,
    pub(crate) null_tokens: Arc<[Vec<u8>]>,
    /// Text in quotes may be NULL: a token, or nothing.
    pub(crate) null_in_quotes: bool,
    /// For each field, whether it is NULL if it is empty; behind the last none is.
    pub(crate) empty_nulls: Arc<[bool]>,
    pub(crate) meaning: Meaning,
}

impl Shape {
    /// True if a field is NULL if it is empty.
    #[inline]
    pub(crate) fn is_null_if_empty(&self, field: usize) -> bool {
        self.empty_nulls.get(field).is_some_and(|is_null| *is_null)
    }

    /// True if a text without quotes is a token of NULL.
    #[inline]
    fn is_token(&self, text: &[u8]) -> bool {
        self.null_tokens.iter().any(|token| token == text)
    }

    /// True if this text of a field is NULL by the options, where it is in quotes or not.
    fn is_null(&self, field: usize, is_quoted: bool, text: &[u8]) -> bool {
        (!is_quoted || self.null_in_quotes)
            && (self.is_token(text) || (text.is_empty() && self.is_null_if_empty(field)))
    }
}

/// How fields are undone.
#[derive(Clone, Debug)]
pub(crate) enum Meaning {
    /// As LOAD DATA does.
    Delimited(Rules),
    /// They are SQL literals.
    Literals(StringRules),
    /// They are values, of which those to be undone are NULL.
    Made,
}

impl Default for Meaning {
    fn default() -> Meaning {
        Meaning::Delimited(Rules::default())
    }
}

/// End of a row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark {
    /// Fields of the text up to and with this row.
    pub(crate) fields: u32,
    /// First byte after the terminator.
    pub(crate) end: u32,
}

impl TextIndex {
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

    /// Without rows, for a text of this shape.
    pub(crate) fn begin(&mut self, shape: &Shape) {
        self.fields = 0;
        self.marks.clear();
        self.starts.clear();
        self.shape.clone_from(shape);
        self.is_unclosed = false;
    }

    /// Adds a row of one field, whose terminator ends at `next`.
    pub(crate) fn push_row(&mut self, start: usize, end: usize, next: usize) {
        self.ends.truncate(self.fields);
        self.ends.push(end as u32);
        self.fields += 1;
        self.starts.push(start as u32);
        self.marks.push(Mark { fields: self.fields as u32, end: next as u32 });
    }

    /// All of a text as one row whose fields cannot be told.
    pub(crate) fn leave_unclosed(&mut self, text: &[u8], shape: &Shape) {
        self.begin(shape);
        self.marks.push(Mark { fields: 0, end: text.len() as u32 });
        self.is_unclosed = true;
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

    /// The value of a field that may be NULL by its text, or has quotes or escapes. Out of line:
    /// most files have no such fields, and the loop over theirs is to stay small.
    #[inline(never)]
    pub(super) fn special<'v>(
        &self,
        raw: &'v [u8],
        field: usize,
        flags: u32,
        scratch: &'v mut Vec<u8>,
    ) -> Option<&'v [u8]> {
        if flags == QUOTED {
            let text = &raw[1..raw.len() - 1];
            let is_null = self.shape.null_in_quotes && self.shape.is_null(field, true, text);
            return (!is_null).then_some(text);
        }
        let rules = match &self.shape.meaning {
            Meaning::Literals(strings) => {
                return strings.decode(raw, flags & QUOTED != 0, scratch);
            }
            Meaning::Made => return None,
            Meaning::Delimited(rules) => rules,
        };
        match flags {
            0 if rules.quote.is_some() && raw == b"NULL" => None,
            0 | DECODE if self.shape.is_token(raw) => None,
            0 if raw.is_empty() && self.shape.is_null_if_empty(field) => None,
            0 => Some(raw),
            flags => {
                let is_quoted = flags & QUOTED != 0;
                let text = decode::decode(raw, is_quoted, field, rules, scratch);
                text.filter(|text| !is_quoted || !self.shape.is_null(field, true, text))
            }
        }
    }
}

/// One record of a text.
#[derive(Clone, Copy, Debug)]
pub struct TextRow<'a> {
    pub(super) text: &'a [u8],
    pub(super) index: &'a TextIndex,
    pub(super) ends: &'a [u32],
    pub(super) start: u32,
    pub(super) end: u32,
    /// Its number in the text.
    pub(super) row: u32,
}

impl<'a> TextRow<'a> {
    /// The field of this index as it stands in the text, quotes and escapes included.
    #[inline]
    pub fn raw_field(self, field: usize) -> &'a [u8] {
        &self.text[self.field_start(field)..(self.ends[field] & POSITION_MAX) as usize]
    }

    /// Fields from one to another as they stand in the text, with what separates them.
    #[inline]
    pub fn raw_fields(self, first: usize, last: usize) -> &'a [u8] {
        let size = if self.index.made.is_some() { HEAD_BYTES } else { 0 };
        let start = self.field_start(first) - size as usize;
        &self.text[start..(self.ends[last] & POSITION_MAX) as usize]
    }

    /// Bytes of the line in its file; of its fields' texts where the file has no lines.
    #[inline]
    pub fn line_bytes(self) -> u32 {
        match &self.index.made {
            Some(made) if !made.are_in_text() => self.end - self.start,
            _ => self.span().len() as u32,
        }
    }

    /// The value of this number for a column, of a line that was made of a typed row.
    #[inline]
    pub(super) fn made_value(self, value: usize) -> Value<'a> {
        self.index.made.as_ref().map_or(Value::Null, |made| made.value(self.row, value))
    }

    /// True if a field would be NULL if its value were this text.
    pub(super) fn is_null_text(self, field: usize, text: &[u8]) -> bool {
        let is_quoted = self.ends[field] & QUOTED != 0;
        self.index.shape.is_null(field, is_quoted, text)
    }

    #[inline]
    fn field_start(self, field: usize) -> usize {
        let shape = &self.index.shape;
        let start = match field.checked_sub(1) {
            Some(before) => (self.ends[before] & POSITION_MAX) + shape.separator_size,
            None => self.start + shape.prefix_size,
        };
        start as usize
    }
}

impl<'a> Row for TextRow<'a> {
    /// At least 1 but in an empty line of a file with rows of fixed size, and where a quote is not closed.
    #[inline]
    fn field_count(self) -> usize {
        self.ends.len()
    }

    /// One field more may be there that is empty, because a separator may stand before a line end.
    #[inline]
    fn has_fields_for(self, needed: usize, columns: usize) -> bool {
        let count = self.ends.len();
        if let Some(made) = &self.index.made {
            return count == columns && made.broken(self.row).is_none();
        }
        count == columns
            || ((needed..columns).contains(&count) && !self.index.is_unclosed)
            || (count == columns + 1 && self.raw_field(columns).is_empty())
    }

    #[inline]
    fn value<'v>(self, field: usize, scratch: &'v mut Vec<u8>) -> Value<'v>
    where
        Self: 'v,
    {
        let raw = self.raw_field(field);
        let flags = self.ends[field] & !POSITION_MAX;
        let shape = &self.index.shape;
        if flags == 0 && !shape.has_null_text {
            return match raw.is_empty() && shape.is_null_if_empty(field) {
                true => Value::Null,
                false => Value::Bytes(raw),
            };
        }
        match self.index.special(raw, field, flags, scratch) {
            Some(bytes) => Value::Bytes(bytes),
            None => Value::Null,
        }
    }

    #[inline]
    fn start(self) -> usize {
        match &self.index.made {
            Some(made) => made.place(self.row).0 as usize,
            None => self.start as usize,
        }
    }

    #[inline]
    fn span(self) -> Range<usize> {
        let (start, end) = match &self.index.made {
            Some(made) => made.place(self.row),
            None => (self.start, self.end),
        };
        start as usize..end as usize
    }

    #[cold]
    fn broken<'v>(self) -> Option<&'v str>
    where
        Self: 'v,
    {
        self.index.made.as_ref()?.broken(self.row)
    }

    fn raw<'v>(self) -> Cow<'v, [u8]>
    where
        Self: 'v,
    {
        let Some(made) = &self.index.made else { return Cow::Borrowed(&self.text[self.span()]) };
        let fields_end = self.ends.last().map_or(self.start, |end| end & POSITION_MAX);
        made.raw(self.row, &self.text[fields_end as usize..self.end as usize])
    }

    #[inline]
    fn is_unclosed(self) -> bool {
        self.index.is_unclosed
    }
}
