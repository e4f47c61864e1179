//! The rows of a chunk, as text or as typed values.
//!
//! ```text
//! Chunk --Reader--> Batch --visit--> TextRows       field ends over the chunk's bytes
//!                                    FormattedRows  the same, some fields as people write them
//!                                    TypedRows      columns of values
//! ```
//!
//! There may be any number of [`crate::Source`]s, but there are two ways to hold rows, one of which may be
//! read in three. A consumer is written for any [`Rows`], and compiled once for each: the representation is
//! examined once a batch ([`Batch::visit`]).
//!
//! In reading order: `text` the index of a text's fields, `even` many rows of it at once, `text_rows` both,
//! `decode` what a field of delimited text means, `formatted` one that is written as people do, `picked` what
//! a table gets of the lines, `typed` columns, `made_lines` lines of those.

pub(crate) mod decode;
mod even;
mod formatted;
mod made_lines;
mod picked;
pub(crate) mod text;
mod text_rows;
mod typed;

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use values::Value;
use written::Format;

use crate::chunk::Chunk;
use crate::error::Result;
pub use even::{EvenRows, Places};
pub use formatted::{Formats, FormattedRow, FormattedRows};
pub use picked::{PickShape, Picked, PickedField, PickedRow, PickedRows};
pub use text::{TextIndex, TextRow};
pub use text_rows::TextRows;
pub use typed::{Cells, LineForm, RefusedCell, TypedColumn, TypedColumns, TypedRow, TypedRows};

/// Rows in order.
pub trait Rows: Copy {
    /// One of them.
    type Row: Row;

    /// Number of rows.
    fn len(self) -> usize;

    /// True if there are none.
    #[inline]
    fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The row of this index, below `len`.
    fn row(self, index: usize) -> Self::Row;

    /// The bytes that the places of a field are in: those of [`EvenRows::find`], or of [`TypedColumn::find`].
    #[inline]
    fn bytes_of<'v>(self, field: usize) -> &'v [u8]
    where
        Self: 'v,
    {
        let _ = field;
        &[]
    }

    /// The values of a field of all rows, if they are typed.
    #[inline]
    fn column<'v>(self, field: usize) -> Option<&'v TypedColumn>
    where
        Self: 'v,
    {
        let _ = field;
        None
    }

    /// All of them as lines of a text, if they are that.
    #[inline]
    fn lines<'v>(self) -> Option<TextRows<'v>>
    where
        Self: 'v,
    {
        None
    }

    /// Some of the rows, if they are text and have as many fields each.
    #[inline]
    fn even<'v>(self, rows: Range<usize>) -> Option<EvenRows<'v>>
    where
        Self: 'v,
    {
        let _ = rows;
        None
    }

    /// The format by which the texts of a field are read, if there is one.
    #[inline]
    fn format_of<'v>(self, field: usize) -> Option<&'v Format>
    where
        Self: 'v,
    {
        let _ = field;
        None
    }

    /// All rows in order.
    #[inline]
    fn iter(self) -> impl ExactSizeIterator<Item = Self::Row> {
        (0..self.len()).map(move |index| self.row(index))
    }
}

/// One row: its fields, and where it is.
pub trait Row: Copy {
    /// Number of fields.
    fn field_count(self) -> usize;

    /// True if the row is one for `columns` columns as LOAD DATA counts, of which the last ones
    /// after `needed` may be missing.
    fn has_fields_for(self, needed: usize, columns: usize) -> bool;

    /// The value of the field of this index, below `field_count`; `scratch` holds bytes that are
    /// nowhere else (overwritten then).
    fn value<'v>(self, field: usize, scratch: &'v mut Vec<u8>) -> Value<'v>
    where
        Self: 'v;

    /// The same as the file has it, and not as its format reads it: for messages.
    fn written<'v>(self, field: usize, scratch: &'v mut Vec<u8>) -> Value<'v>
    where
        Self: 'v,
    {
        self.value(field, scratch)
    }

    /// The words of a field's format, if it has one.
    fn format<'v>(self, field: usize) -> Option<&'v str>
    where
        Self: 'v,
    {
        let _ = field;
        None
    }

    /// Where it begins in its chunk: what [`Chunk::line_at`] and the like take.
    fn start(self) -> usize;

    /// The field of the line that a field is; none of one that was made.
    #[inline]
    fn line_field(self, field: usize) -> Option<usize> {
        Some(field)
    }

    /// From where it begins in its chunk to where the next one may.
    fn span(self) -> Range<usize>;

    /// True if it has an unclosed quote, and so no field.
    #[inline]
    fn is_unclosed(self) -> bool {
        false
    }

    /// Why its fields are not known, where that is not a quote.
    #[cold]
    fn broken<'v>(self) -> Option<&'v str>
    where
        Self: 'v,
    {
        None
    }

    /// The row as it is in the file, with what ends it; where it is no text there, as an object of JSON or a line
    /// of LOAD DATA: what a file of rejects gets.
    fn raw<'v>(self) -> Cow<'v, [u8]>
    where
        Self: 'v;

    /// True for a blank line: there is nothing in the file but the end of the row.
    #[cold]
    fn is_blank(self) -> bool {
        self.raw().iter().all(|byte| b"\r\n".contains(byte))
    }
}

/// Takes the rows of a batch, however they are held.
pub trait Visit {
    /// The result.
    type Output;

    /// Takes them.
    fn rows<R: Rows>(self, rows: R) -> Self::Output;
}

/// The rows of a chunk, made by a [`crate::Reader`]; reused from chunk to chunk.
#[derive(Debug, Default)]
pub struct Batch {
    held: Held,
    /// How fields of text are written, if not as the server reads them.
    formats: Option<Arc<Formats>>,
    /// Which rows of the text there are, if not all as they are.
    picked: Option<Picked>,
    /// Lines that were made of what is held, in place of it.
    lines: TextIndex,
    has_lines: bool,
}

#[derive(Debug)]
enum Held {
    Text(TextIndex),
    Typed(TypedColumns),
}

impl Default for Held {
    fn default() -> Held {
        Held::Text(TextIndex::default())
    }
}

impl Batch {
    /// Without rows.
    pub fn new() -> Batch {
        Batch::default()
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        match (self.lines(), &self.picked) {
            (Ok(_), Some(picked)) => picked.rows.len(),
            (Ok(index), None) => index.len(),
            (Err(columns), _) => columns.len(),
        }
    }

    /// The index of the rows that are lines, of a file or made; else the columns that are held.
    #[inline]
    fn lines(&self) -> std::result::Result<&TextIndex, &TypedColumns> {
        match &self.held {
            _ if self.has_lines => Ok(&self.lines),
            Held::Text(index) => Ok(index),
            Held::Typed(columns) => Err(columns),
        }
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// True if rows are held as text: [`Row::raw`] is then the text that a reader reads.
    pub fn is_text(&self) -> bool {
        matches!(self.held, Held::Text(_)) && self.picked.is_none() && !self.has_lines
    }

    /// To be filled with typed rows: columns as they were left, or none if there was text.
    pub fn typed(&mut self) -> &mut TypedColumns {
        self.has_lines = false;
        if let Held::Text(_) = self.held {
            self.held = Held::Typed(TypedColumns::default());
        }
        match &mut self.held {
            Held::Typed(columns) => columns,
            Held::Text(_) => unreachable!("it was made one of columns"),
        }
    }

    /// To be filled with rows of text.
    pub(crate) fn text(&mut self) -> &mut TextIndex {
        if let Held::Typed(_) = self.held {
            self.held = Held::default();
        }
        self.picked = None;
        self.has_lines = false;
        match &mut self.held {
            Held::Text(index) => index,
            Held::Typed(_) => unreachable!("it was made one of text"),
        }
    }

    /// Says how the fields of rows of text are written.
    pub(crate) fn set_formats(&mut self, formats: Option<&Arc<Formats>>) {
        self.formats = formats.cloned();
    }

    /// Takes back what was picked, so that what it has allocated can be filled again: all rows of the
    /// text are there then.
    pub fn unpick(&mut self) -> Option<Picked> {
        self.picked.take()
    }

    /// Leaves only the picked ones of rows of text.
    pub fn pick(&mut self, picked: Picked) {
        self.picked = Some(picked);
    }

    /// Makes lines of typed rows, of which the first `width` columns are fields with texts and the others values.
    ///
    /// Errors: texts that are too long for one chunk.
    pub fn make_lines(&mut self, width: usize) -> Result<()> {
        if let Held::Typed(columns) = &mut self.held {
            self.lines.make_typed(columns, width)?;
            self.has_lines = true;
        }
        Ok(())
    }

    /// The same of the records of JSON that are held, in a chunk of which it is told if they are lines. Takes their
    /// values, and the kinds of those that have texts, row by row.
    pub(crate) fn make_record_lines(
        &mut self,
        picked: &mut Picked,
        chunk: &[u8],
        are_lines: bool,
        kinds: &[u8],
    ) -> Result<()> {
        if let Held::Text(records) = &self.held {
            self.lines.make_records(picked, records, chunk, are_lines, kinds)?;
            self.has_lines = true;
        }
        Ok(())
    }

    /// The rows of the text, if they are held as one. `chunk` is what they were read from.
    pub fn text_rows<'a>(&'a self, chunk: &'a Chunk) -> Option<TextRows<'a>> {
        self.lines().ok().map(|index| index.rows(&chunk.bytes))
    }

    /// Gives the rows to `visitor`. `chunk` is what they were read from.
    #[inline]
    pub fn visit<V: Visit>(&self, chunk: &Chunk, visitor: V) -> V::Output {
        let rows = match self.lines() {
            Ok(index) => index.rows(&chunk.bytes),
            Err(columns) => return visitor.rows(columns.rows()),
        };
        match (&self.picked, &self.formats) {
            (Some(picked), _) => visitor.rows(PickedRows::new(rows, picked)),
            // Lines that were made have values of their own for what is formatted.
            (None, Some(formats)) if !self.has_lines => {
                visitor.rows(FormattedRows::new(rows, formats))
            }
            (None, _) => visitor.rows(rows),
        }
    }
}
