//! Rows of a text of which a table gets some, and of each the fields that it wants.
//!
//! ```text
//! text     1|ann|x|7\n2|bob|y|8\n3|cy|x|9\n
//! rows     0, 2                          the first and the third
//! fields   3, made 0, 1                  7 and 9; what was made of each row; ann and cy
//! ```
//!
//! Where a row is, and its bytes, are those of the line that it is of.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use values::Value;

use super::{Formats, Row, Rows, TextRow, TextRows, TypedColumn};

/// Where the value of a field is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PickedField {
    /// In this field of the line.
    Field(usize),
    /// In this column of what was made.
    Made(usize),
    /// In this column of what was made, as a text that is written as its field is.
    Text(usize),
    /// The value of this number for a column, of a field of a line that was made of a typed row.
    Typed {
        /// The field.
        field: usize,
        /// The number of the value.
        value: usize,
    },
    /// Nowhere: it is NULL.
    Nothing,
}

/// The shape that all picked rows share.
#[derive(Clone, Debug, Default)]
pub struct PickShape {
    /// The fields of a row in order.
    pub fields: Vec<PickedField>,
    /// How those are written that are fields of the line.
    pub formats: Arc<Formats>,
}

/// Which rows are picked of a batch, and what was made of them.
#[derive(Clone, Debug, Default)]
pub struct Picked {
    /// The same for all batches of a source.
    pub shape: Arc<PickShape>,
    /// Their indexes among the rows of the text, ascending.
    pub rows: Vec<u32>,
    /// A value a picked row in each column.
    pub made: Vec<TypedColumn>,
    /// Of each column of texts, the values that are not written as their field is, such as a number of JSON. Empty
    /// where no field is written in a format.
    pub literals: Vec<Vec<bool>>,
    /// Picked rows whose fields are not known, ascending, and why.
    pub broken: Vec<(u32, String)>,
}

/// Rows that were picked.
#[derive(Clone, Copy, Debug)]
pub struct PickedRows<'a> {
    text: TextRows<'a>,
    picked: &'a Picked,
}

impl<'a> PickedRows<'a> {
    /// The picked rows of a text.
    pub fn new(text: TextRows<'a>, picked: &'a Picked) -> PickedRows<'a> {
        PickedRows { text, picked }
    }
}

/// One of them.
#[derive(Clone, Copy, Debug)]
pub struct PickedRow<'a> {
    line: TextRow<'a>,
    picked: &'a Picked,
    index: usize,
}

impl<'a> Rows for PickedRows<'a> {
    type Row = PickedRow<'a>;

    #[inline]
    fn len(self) -> usize {
        self.picked.rows.len()
    }

    #[inline]
    fn row(self, index: usize) -> PickedRow<'a> {
        let line = self.text.row(self.picked.rows[index] as usize);
        PickedRow { line, picked: self.picked, index }
    }
}

impl Row for PickedRow<'_> {
    #[inline]
    fn field_count(self) -> usize {
        self.picked.shape.fields.len()
    }

    /// Who picks a row has counted the fields of its line.
    #[inline]
    fn has_fields_for(self, _needed: usize, columns: usize) -> bool {
        self.field_count() == columns && (self.picked.broken.is_empty() || self.broken().is_none())
    }

    #[cold]
    fn broken<'v>(self) -> Option<&'v str>
    where
        Self: 'v,
    {
        let broken = &self.picked.broken;
        let at = broken.binary_search_by_key(&(self.index as u32), |(row, _)| *row).ok()?;
        Some(&broken[at].1)
    }

    #[inline]
    fn value<'v>(self, field: usize, scratch: &'v mut Vec<u8>) -> Value<'v>
    where
        Self: 'v,
    {
        match self.picked.shape.fields[field] {
            PickedField::Field(of_line) => {
                self.picked.shape.formats.value(field, self.line, of_line, scratch)
            }
            PickedField::Made(column) => self.picked.made[column].value(self.index),
            PickedField::Typed { value, .. } => self.line.made_value(value),
            PickedField::Text(column) => {
                let value = self.picked.made[column].value(self.index);
                let formats = &self.picked.shape.formats;
                match self.picked.literals.get(column).map(|literals| literals[self.index]) {
                    Some(false) => formats.meaning(field, value, scratch),
                    Some(true) => formats.literal(field, value),
                    None => value,
                }
            }
            PickedField::Nothing => Value::Null,
        }
    }

    fn format<'v>(self, field: usize) -> Option<&'v str>
    where
        Self: 'v,
    {
        self.picked.shape.formats.text(field)
    }

    fn written<'v>(self, field: usize, scratch: &'v mut Vec<u8>) -> Value<'v>
    where
        Self: 'v,
    {
        match self.picked.shape.fields[field] {
            PickedField::Field(of_line) => self.line.value(of_line, scratch),
            PickedField::Text(column) => self.picked.made[column].value(self.index),
            PickedField::Made(_) | PickedField::Typed { .. } | PickedField::Nothing => {
                self.value(field, scratch)
            }
        }
    }

    #[inline]
    fn line_field(self, field: usize) -> Option<usize> {
        match self.picked.shape.fields[field] {
            PickedField::Field(of_line) | PickedField::Typed { field: of_line, .. } => {
                Some(of_line)
            }
            PickedField::Text(_) | PickedField::Made(_) | PickedField::Nothing => None,
        }
    }

    #[inline]
    fn start(self) -> usize {
        self.line.start()
    }

    #[inline]
    fn span(self) -> Range<usize> {
        self.line.span()
    }

    fn raw<'v>(self) -> Cow<'v, [u8]>
    where
        Self: 'v,
    {
        self.line.raw()
    }
}
