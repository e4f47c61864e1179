//! JSON: an object a line, or objects in arrays or one behind the other, to rows by the names of their fields.
//!
//! ```text
//! {"id": 1, "name": "ann", "tags": ["a", "b"]}    keys id, name, tags, note: 1, ann, ["a", "b"], absent
//! {"id": 2, "name": null, "note": "x\ty"}         2, NULL, absent, x<tab>y
//! ```
//!
//! - A number is the text of its digits, so that no column gets it by way of a double. A string is its text.
//!   `true` and `false` are 1 and 0, and words in columns of text. `null` is NULL. An array or an object is
//!   its JSON text. A BIT column gets the bits of a number, a YEAR column 0000 for 0. A column of JSON gets any
//!   value as JSON text, but NULL for `null`.
//! - A column may have a pointer (RFC 6901) to a value inside of a field. The field need not be a column then.
//! - A field that a record lacks has its column's DEFAULT ([`crate::MissingValue`]).
//! - A record that is no object of JSON (RFC 8259), or names one column twice, or has a field that nobody
//!   wants, is a row without known fields: it is refused, and not the records behind it.
//! - Records of lines end with their line, whatever is in it. Those of arrays end where their braces say, so
//!   that only a file whose braces or brackets are not closed cannot be read.
//!
//! In reading order: `token` one value, `fault` what is wrong with one, `field_place` and `record` one object, `pointer`
//! values inside of it, `objects` where they are, `reader` the rows of a chunk, `sampled` those of a part of a file;
//! `row_object` typed rows as objects.

mod fault;
mod field_place;
mod objects;
mod pointer;
mod reader;
mod record;
mod row_object;
mod sampled;
mod token;

pub(crate) use objects::Objects;
pub(crate) use reader::{JsonReader, names};
pub use row_object::{FieldValues, ObjectForm};
pub use sampled::{BadRecord, SampledField, SampledKind, sampled};

/// How the records of a JSON file are laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Json {
    /// True if each line has one, else they are in arrays or one behind the other.
    pub is_lines: bool,
    /// True if fields that nobody wants are left out; else their records are refused.
    pub ignores_unknown: bool,
}

/// True if a text is one value of JSON.
pub fn is_json(text: &[u8]) -> bool {
    let mut cursor = token::Cursor { text, at: 0 };
    let is_value = std::str::from_utf8(text).is_ok() && cursor.value().is_ok();
    cursor.skip_blanks();
    is_value && cursor.at == text.len()
}
