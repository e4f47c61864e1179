//! The records of a part of a file, for who guesses what a table for them needs.

use super::Json;
use super::fault::Fault;
use super::field_place::{FieldPlace, each_field};
use super::objects::find_records;
use super::pointer::resolve;
use super::token::{Cursor, Token, plain};
use crate::bytes::sample::Part;
use crate::key::Pointer;

/// U+FEFF in UTF-8, which programs of Windows write before the first record.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

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

/// Why a record has no fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadRecord {
    /// It is no object of JSON.
    NoObject,
    /// It has more than 100 arrays and objects in each other.
    TooDeep,
}

/// Gives the fields of each whole record of a part, or why one has none. Names with a pointer are fields,
/// and the fields that pointers lead through are none.
pub fn sampled(
    json: Json,
    part: &Part,
    pointers: &[(String, Pointer)],
    mut take: impl FnMut(Result<&[SampledField], BadRecord>),
) {
    let text = whole_records(json, part);
    let mut records = Vec::new();
    find_records(json, text, &mut records);
    for (start, end, _) in records {
        let record = &text[start..end];
        let mut places = Vec::new();
        let mut cursor = Cursor { text: record, at: 0 };
        let read = each_field(&mut cursor, |name, is_escaped, place| {
            places.push((plain(name, is_escaped), place));
            Ok(())
        });
        let fields: Vec<SampledField> = with_pointers(record, places, pointers)
            .into_iter()
            .map(|(name, place)| field(record, name, place))
            .collect();
        take(match read {
            Ok(_) => Ok(&fields),
            Err(Fault::TooDeep(_)) => Err(BadRecord::TooDeep),
            Err(_) => Err(BadRecord::NoObject),
        });
    }
}

/// The fields of a record, with those of pointers in place of those that they lead through.
fn with_pointers(
    record: &[u8],
    fields: Vec<(Vec<u8>, FieldPlace)>,
    pointers: &[(String, Pointer)],
) -> Vec<(Vec<u8>, FieldPlace)> {
    if pointers.is_empty() {
        return fields;
    }
    let value = |(name, pointer): &(String, Pointer)| {
        let (_, place) = fields.iter().find(|(field, _)| *field == pointer.field)?;
        let place = resolve(record, *place, &pointer.rest).ok()??;
        Some((name.clone().into_bytes(), place))
    };
    let inner: Vec<_> = pointers.iter().filter_map(value).collect();
    let is_other = |(field, _): &(Vec<u8>, FieldPlace)| {
        let mut pointers = pointers.iter();
        !pointers.any(|(name, pointer)| *field == pointer.field || field == name.as_bytes())
    };
    fields.iter().filter(|field| is_other(field)).cloned().chain(inner).collect()
}

fn field(record: &[u8], name: Vec<u8>, place: FieldPlace) -> SampledField {
    let FieldPlace { token, start, end } = place;
    SampledField {
        name,
        kind: match token {
            Token::Null => SampledKind::Null,
            Token::Boolean(_) => SampledKind::Boolean,
            Token::Number => SampledKind::Number,
            Token::Text | Token::Escaped => SampledKind::Text,
            Token::Nested => SampledKind::Nested,
        },
        text: plain(&record[start..end], token == Token::Escaped),
    }
}

/// The text of a part without what it begins or ends in the middle of. Where records have no lines of their own,
/// only the start of a file tells where they begin.
fn whole_records(json: Json, part: &Part) -> &[u8] {
    let text = part.bytes.as_slice();
    let text = text.strip_prefix(BYTE_ORDER_MARK).filter(|_| part.is_start).unwrap_or(text);
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
