//! The encoder of JSON documents: the bytes that MySQL stores.
//!
//! Source: MySQL 9.7, sql-common/json_binary.cc: `serialize_json_value`, `serialize_json_array`,
//! `serialize_json_object`, `attempt_inline_value`. The server tries the small format of each
//! container first and gives it up where an offset or a size is too large; the parser adds up the
//! sizes, which leads to the same formats without a second attempt.

use super::tree::{Container, Entry, Tree, Value};
use crate::reason::Reason;

/// Type of a small object. The large one has the next number.
pub(super) const OBJECT: u8 = 0;
/// Type of a small array. The large one has the next number.
pub(super) const ARRAY: u8 = 2;
pub(super) const LITERAL: u8 = 4;
pub(super) const INT16: u8 = 5;
pub(super) const INT32: u8 = 7;
pub(super) const INT64: u8 = 9;
pub(super) const UINT64: u8 = 10;
pub(super) const DOUBLE: u8 = 11;
pub(super) const STRING: u8 = 12;

pub(super) const NULL: u8 = 0;
pub(super) const TRUE: u8 = 1;
pub(super) const FALSE: u8 = 2;

/// The widths of a container's numbers.
#[derive(Clone, Copy, Debug)]
struct Format {
    /// Bytes of counts, sizes and offsets.
    offset_bytes: usize,
}

impl Format {
    const SMALL: Format = Format { offset_bytes: 2 };
    const LARGE: Format = Format { offset_bytes: 4 };

    /// Bytes of a key's entry: its offset and its length.
    fn key_entry(self) -> usize {
        self.offset_bytes + 2
    }

    /// Bytes of a value's entry: its type, and its offset or the value.
    fn value_entry(self) -> usize {
        1 + self.offset_bytes
    }

    /// Bytes before the first entry: count and size.
    fn head(self) -> usize {
        2 * self.offset_bytes
    }

    /// Bytes of the entries of one value.
    fn entries(self, is_object: bool) -> usize {
        self.value_entry() + if is_object { self.key_entry() } else { 0 }
    }
}

/// Bytes of a container in the small format; None if that format cannot have it.
pub(super) fn small_bytes(entries: &[Entry], is_object: bool) -> Option<u16> {
    let head = Format::SMALL.head() + entries.len() * Format::SMALL.entries(is_object);
    let bytes = entries.iter().try_fold(head, |bytes, entry| {
        if bytes > usize::from(u16::MAX) {
            return None;
        }
        Some(bytes + entry.key.len as usize + small_value_bytes(entry.value)?)
    })?;
    u16::try_from(bytes).ok()
}

/// Bytes of a value outside of its entry in the small format.
fn small_value_bytes(value: Value) -> Option<usize> {
    Some(match value {
        Value::Null | Value::Boolean(_) => 0,
        Value::Integer(number) => match integer_type(number) {
            INT16 => 0,
            INT32 => 4,
            _ => 8,
        },
        Value::Unsigned(_) | Value::Double(_) => 8,
        Value::String(span) => length_bytes(span.len) + span.len as usize,
        Value::Container(container) => usize::from(container.small_bytes?),
    })
}

/// Bytes of a length of seven bits each.
fn length_bytes(len: u32) -> usize {
    (u32::BITS - (len | 1).leading_zeros()).div_ceil(7) as usize
}

fn integer_type(number: i64) -> u8 {
    match (i16::try_from(number), i32::try_from(number)) {
        (Ok(_), _) => INT16,
        (_, Ok(_)) => INT32,
        _ => INT64,
    }
}

/// Writes the documents of one text.
pub(super) struct Encoder<'t> {
    pub(super) tree: &'t Tree,
    pub(super) text: &'t [u8],
}

impl Encoder<'_> {
    /// Appends the document of a value.
    ///
    /// Errors: a document that is too large, or a key; `out` then has a part of it.
    pub(super) fn document(&self, root: Value, out: &mut Vec<u8>) -> Result<(), Reason> {
        let start = out.len();
        out.push(type_of(root));
        self.value(root, out)?;
        u32::try_from(out.len() - start).map_or(Err(Reason::TooLong), |_| Ok(()))
    }

    /// Appends a value without its type. Calls itself at most as often as containers are nested.
    fn value(&self, value: Value, out: &mut Vec<u8>) -> Result<(), Reason> {
        match value {
            Value::Null => out.push(NULL),
            Value::Boolean(is_true) => out.push(if is_true { TRUE } else { FALSE }),
            Value::Integer(number) => {
                let bytes = number.to_le_bytes();
                out.extend_from_slice(match integer_type(number) {
                    INT16 => &bytes[..2],
                    INT32 => &bytes[..4],
                    _ => &bytes,
                });
            }
            Value::Unsigned(number) => out.extend_from_slice(&number.to_le_bytes()),
            Value::Double(number) => out.extend_from_slice(&number.to_le_bytes()),
            Value::String(span) => {
                push_length(span.len, out);
                out.extend_from_slice(self.tree.bytes(self.text, span));
            }
            Value::Container(container) => self.container(container, out)?,
        }
        Ok(())
    }

    fn container(&self, container: Container, out: &mut Vec<u8>) -> Result<(), Reason> {
        let format = if container.small_bytes.is_some() { Format::SMALL } else { Format::LARGE };
        let entries = self.tree.entries_of(container);
        let start = out.len();
        let value_entries = match container.is_object {
            true => start + format.head() + entries.len() * format.key_entry(),
            false => start + format.head(),
        };
        let mut end = value_entries + entries.len() * format.value_entry();
        out.resize(end, 0);
        set_number(out, start, entries.len(), format)?;
        if container.is_object {
            for (member, entry) in entries.iter().enumerate() {
                let at = start + format.head() + member * format.key_entry();
                let key = self.tree.bytes(self.text, entry.key);
                let len = u16::try_from(key.len()).map_err(|_| Reason::KeyTooLong)?;
                set_number(out, at, end - start, format)?;
                out[at + format.offset_bytes..][..2].copy_from_slice(&len.to_le_bytes());
                out.extend_from_slice(key);
                end = out.len();
            }
        }
        for (member, entry) in entries.iter().enumerate() {
            let at = value_entries + member * format.value_entry();
            out[at] = type_of(entry.value);
            match inlined(entry.value, format) {
                Some(bytes) => {
                    out[at + 1..][..format.offset_bytes]
                        .copy_from_slice(&bytes[..format.offset_bytes]);
                }
                None => {
                    let offset = out.len() - start;
                    set_number(out, at + 1, offset, format)?;
                    self.value(entry.value, out)?;
                }
            }
        }
        let bytes = out.len() - start;
        set_number(out, start + format.offset_bytes, bytes, format)
    }
}

fn type_of(value: Value) -> u8 {
    match value {
        Value::Null | Value::Boolean(_) => LITERAL,
        Value::Integer(number) => integer_type(number),
        Value::Unsigned(_) => UINT64,
        Value::Double(_) => DOUBLE,
        Value::String(_) => STRING,
        Value::Container(Container { is_object, small_bytes, .. }) => {
            (if is_object { OBJECT } else { ARRAY }) + u8::from(small_bytes.is_none())
        }
    }
}

/// The value in place of an offset, if it fits there.
fn inlined(value: Value, format: Format) -> Option<[u8; 4]> {
    match value {
        Value::Null => Some([NULL, 0, 0, 0]),
        Value::Boolean(is_true) => Some([if is_true { TRUE } else { FALSE }, 0, 0, 0]),
        Value::Integer(number) => {
            let number = i32::try_from(number).ok()?;
            let fits = format.offset_bytes == 4 || i16::try_from(number).is_ok();
            fits.then(|| number.to_le_bytes())
        }
        Value::Unsigned(_) | Value::Double(_) | Value::String(_) | Value::Container(_) => None,
    }
}

/// Writes a count, size or offset.
fn set_number(out: &mut [u8], at: usize, number: usize, format: Format) -> Result<(), Reason> {
    let number = u32::try_from(number).map_err(|_| Reason::TooLong)?;
    out[at..][..format.offset_bytes].copy_from_slice(&number.to_le_bytes()[..format.offset_bytes]);
    Ok(())
}

/// Appends a length: seven bits a byte, lowest first, the high bit set in all but the last.
fn push_length(mut len: u32, out: &mut Vec<u8>) {
    while len >= 0x80 {
        out.push(len as u8 | 0x80);
        len >>= 7;
    }
    out.push(len as u8);
}
