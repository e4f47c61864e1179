//! The records of a part of a file, for who guesses what a table for them needs.

use super::Json;
use super::objects::find_records;
use super::record::each_field;
use super::token::{Cursor, Token, plain};
use crate::bytes::sample::Part;

/// A field of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SampledField {
    /// Its name.
    pub name: Vec<u8>,
    /// The kind of its value.
    pub kind: SampledKind,
    /// Its value: digits, the text of a string, JSON text.
    pub text: Vec<u8>,
}

/// The kind of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SampledKind {
    /// `null`.
    Null,
    /// `true` or `false`.
    Boolean,
    /// A number.
    Number,
    /// A string.
    Text,
    /// An array or an object.
    Nested,
}

/// Gives the fields of each whole record of a part, or none for one that is no record.
pub fn sampled(json: Json, part: &Part, mut take: impl FnMut(Option<&[SampledField]>)) {
    let text = whole_records(json, part);
    let mut records = Vec::new();
    find_records(json, text, &mut records);
    for (start, end, _) in records {
        let record = &text[start..end];
        let mut cursor = Cursor { text: record, at: 0 };
        let mut fields = Vec::new();
        let read = each_field(&mut cursor, |name, is_escaped, found| {
            let value = &record[found.start..found.end];
            fields.push(SampledField {
                name: plain(name, is_escaped),
                kind: match found.token {
                    Token::Null => SampledKind::Null,
                    Token::Boolean(_) => SampledKind::Boolean,
                    Token::Number => SampledKind::Number,
                    Token::Text | Token::Escaped => SampledKind::Text,
                    Token::Nested => SampledKind::Nested,
                },
                text: plain(value, found.token == Token::Escaped),
            });
            Ok(())
        });
        take(read.is_ok().then_some(fields.as_slice()));
    }
}

/// The text of a part without what it begins or ends in the middle of. Where records have no lines of their own,
/// only the start of a file tells where they begin.
fn whole_records(json: Json, part: &Part) -> &[u8] {
    let text = part.bytes.as_slice();
    match (json.is_lines, part.is_start) {
        (false, true) => text,
        (false, false) => &[],
        (true, is_start) => {
            let first = match is_start {
                true => 0,
                false => memchr::memchr(b'\n', text).map_or(text.len(), |end| end + 1),
            };
            let last = match part.is_end {
                true => text.len(),
                false => memchr::memrchr(b'\n', text).map_or(first, |end| end + 1),
            };
            &text[first..last.max(first)]
        }
    }
}
