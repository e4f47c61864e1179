//! Sort keys: stored values of an index's columns to bytes that memcmp orders as InnoDB does.
//!
//! ```text
//! part = [null marker: 00 NULL, 01 value; only if nullable] value key
//! key  = parts one after the other; a descending part has every byte inverted
//! ```
//! Every value key is self-delimiting (fixed width, or it never is the beginning of another), so
//! memcmp of whole keys compares column by column. NULL sorts first.
//! Source of the orders: MariaDB 10.11, storage/innobase/rem/rem0cmp.cc, `cmp_data`.

use std::cmp::Ordering;
use std::sync::Arc;

use crate::Reason;
use crate::collation::{Collation, bytewise};
use crate::inet::{INET4_BYTES, INET6_BYTES};
use crate::sql_type::SqlType;
use crate::uuid::UUID_BYTES;

/// How stored values of a column compare.
#[derive(Clone, Debug)]
pub enum KeyKind {
    /// Fixed width, by memcmp: integers, DECIMAL, temporal types, BIT, ENUM, SET, BINARY, UUID,
    /// INET4, INET6.
    Bytes,
    /// By memcmp, a beginning before its continuation: VARBINARY, BLOB.
    VarBytes,
    /// Little-endian IEEE, 4 bytes; -0 equals 0.
    Float,
    /// Little-endian IEEE, 8 bytes; -0 equals 0.
    Double,
    /// By a collation.
    Text(Arc<Collation>),
}

/// One column of an index.
///
/// ```
/// use values::{KeyPart, SqlType};
///
/// // An INT that may be NULL, in descending order: stored with its sign bit inverted.
/// let column = SqlType::Integer { bytes: 4, unsigned: false };
/// let part = KeyPart::new(&column, None, true, true);
/// let key = |stored: Option<i32>| {
///     let mut key = Vec::new();
///     let stored = stored.map(|number| (number as u32 ^ 1 << 31).to_be_bytes());
///     part.push(stored.as_ref().map(|stored| &stored[..]), &mut key).map(|()| key)
/// };
/// assert!(key(Some(7))? < key(Some(-1))?);
/// assert!(key(Some(-1))? < key(None)?);
/// # Ok::<(), values::Reason>(())
/// ```
#[derive(Clone, Debug)]
pub struct KeyPart {
    /// How its values compare.
    pub kind: KeyKind,
    /// True if it may be NULL.
    pub nullable: bool,
    /// True if the index has it in descending order.
    pub descending: bool,
    /// Stored bytes of every value, where they are constant; 0 for the variable kinds.
    width: usize,
    /// True if values lack spaces at their end that count: CHAR of a multi-byte set.
    trimmed: bool,
}

#[cfg(test)]
mod tests;

const NULL: u8 = 0;
const VALUE: u8 = 1;

impl KeyPart {
    /// The part of a whole column. `collation` is that of a CHAR, VARCHAR or TEXT column; without
    /// one the text compares by bytes, PAD SPACE.
    pub fn new(
        column: &SqlType,
        collation: Option<Arc<Collation>>,
        nullable: bool,
        descending: bool,
    ) -> KeyPart {
        let text = |charset| {
            let bytewise = || Arc::new(Collation::bytewise(charset, true));
            KeyKind::Text(collation.unwrap_or_else(bytewise))
        };
        let kind = match column {
            SqlType::Float { .. } => KeyKind::Float,
            SqlType::Double { .. } => KeyKind::Double,
            SqlType::Char { text: t, .. }
            | SqlType::VarChar { text: t, .. }
            | SqlType::Text { text: t, .. }
            | SqlType::Json(t) => text(t.charset),
            SqlType::VarBinary { .. } | SqlType::Blob { .. } => KeyKind::VarBytes,
            // No B-tree has them.
            SqlType::Geometry { .. } | SqlType::Vector { .. } => KeyKind::VarBytes,
            SqlType::Integer { .. }
            | SqlType::Decimal { .. }
            | SqlType::Date
            | SqlType::Time { .. }
            | SqlType::DateTime { .. }
            | SqlType::Timestamp { .. }
            | SqlType::Year
            | SqlType::Bit { .. }
            | SqlType::Enum { .. }
            | SqlType::Set { .. }
            | SqlType::Binary { .. }
            | SqlType::Uuid
            | SqlType::Inet4
            | SqlType::Inet6
            | SqlType::Document
            | SqlType::Opaque { .. } => KeyKind::Bytes,
        };
        let width = fixed_width(column).unwrap_or(0);
        let trimmed =
            matches!(column, SqlType::Char { text, .. } if !text.charset.is_single_byte());
        KeyPart { kind, nullable, descending, width, trimmed }
    }

    /// The same part of a prefix index: `length` is bytes, for text characters. Values given to
    /// [`KeyPart::push`] are cut to it by the caller.
    pub fn with_prefix(mut self, length: usize) -> KeyPart {
        self.width = self.width.min(length);
        self
    }

    /// Appends the key of a stored value, already cut to the index prefix; None is NULL.
    ///
    /// Errors: as [`Collation::push_key`]; `out` is then as before.
    #[inline]
    pub fn push(&self, stored: Option<&[u8]>, out: &mut Vec<u8>) -> Result<(), Reason> {
        let start = out.len();
        match stored {
            None => {
                out.push(NULL);
                out.resize(out.len() + self.width, 0);
            }
            Some(stored) => {
                if self.nullable {
                    out.push(VALUE);
                }
                if let Err(reason) = self.push_value(stored, out) {
                    out.truncate(start);
                    return Err(reason);
                }
            }
        }
        if self.descending {
            out[start..].iter_mut().for_each(|byte| *byte = !*byte);
        }
        Ok(())
    }

    #[inline]
    fn push_value(&self, stored: &[u8], out: &mut Vec<u8>) -> Result<(), Reason> {
        match &self.kind {
            KeyKind::Bytes => out.extend_from_slice(stored),
            KeyKind::VarBytes => bytewise::push_no_pad(stored, out),
            KeyKind::Float => out.extend_from_slice(&float_key(stored).to_be_bytes()),
            KeyKind::Double => out.extend_from_slice(&double_key(stored).to_be_bytes()),
            KeyKind::Text(collation) if self.trimmed => {
                return collation.push_trimmed_key(stored, out);
            }
            KeyKind::Text(collation) => return collation.push_key(stored, out),
        }
        Ok(())
    }

    /// Compares two stored values as their keys compare. Does not allocate.
    pub fn compare(&self, a: Option<&[u8]>, b: Option<&[u8]>) -> Ordering {
        let order = match (a, b) {
            (Some(a), Some(b)) => self.compare_values(a, b),
            _ => a.is_some().cmp(&b.is_some()),
        };
        if self.descending { order.reverse() } else { order }
    }

    fn compare_values(&self, a: &[u8], b: &[u8]) -> Ordering {
        match &self.kind {
            KeyKind::Bytes | KeyKind::VarBytes => a.cmp(b),
            KeyKind::Float => float_key(a).cmp(&float_key(b)),
            KeyKind::Double => double_key(a).cmp(&double_key(b)),
            KeyKind::Text(collation) if self.trimmed => collation.compare_trimmed(a, b),
            KeyKind::Text(collation) => collation.compare(a, b),
        }
    }

    /// Bytes of the key where they are the same for all values, the null marker included.
    ///
    /// `stored_len` is the constant size of stored values; None takes the column's own.
    pub fn fixed_len(&self, stored_len: Option<usize>) -> Option<usize> {
        let value = match self.kind {
            KeyKind::Bytes => stored_len.unwrap_or(self.width),
            KeyKind::Float => 4,
            KeyKind::Double => 8,
            KeyKind::VarBytes | KeyKind::Text(_) => return None,
        };
        Some(value + usize::from(self.nullable))
    }

    /// Bytes of the part at the start of `key`, which [`KeyPart::push`] of a part in ascending order
    /// wrote, the null marker included.
    pub fn len_in(&self, key: &[u8]) -> usize {
        assert!(
            !self.descending,
            "the end of a key is only known from bytes that are not inverted"
        );
        if let Some(bytes) = self.fixed_len(None) {
            return bytes;
        }
        let marker = usize::from(self.nullable);
        if self.nullable && key[0] == NULL {
            return marker;
        }
        let value = &key[marker..];
        marker
            + match &self.kind {
                KeyKind::Text(collation) => collation.key_bytes(value, self.trimmed),
                _ => bytewise::key_bytes(value, false),
            }
    }

    /// The same part of a column that is never NULL, in ascending order.
    pub fn plain(&self) -> KeyPart {
        KeyPart { nullable: false, descending: false, ..self.clone() }
    }

    /// True if the stored value can be read back from its key.
    pub fn invertible(&self) -> bool {
        matches!(self.kind, KeyKind::Bytes)
    }

    /// Reads the part at the start of `key`, which [`KeyPart::push`] of an invertible part wrote,
    /// and appends the stored value of `stored_len` bytes to `out` (nothing if NULL).
    /// Returns the bytes read and whether the value is NULL.
    #[inline]
    pub fn read_back(&self, key: &[u8], stored_len: usize, out: &mut Vec<u8>) -> (usize, bool) {
        assert!(self.invertible(), "only keys of fixed-width bytes can be read back");
        let mask = if self.descending { 0xff } else { 0 };
        let marker = usize::from(self.nullable);
        let read = marker + stored_len;
        if self.nullable && key[0] ^ mask == NULL {
            return (read, true);
        }
        out.extend(key[marker..read].iter().map(|byte| byte ^ mask));
        (read, false)
    }
}

/// Maps a FLOAT to a number of the same order: negative ones inverted, the sign bit of others set.
fn float_key(stored: &[u8]) -> u32 {
    let mut bytes = [0; 4];
    bytes.copy_from_slice(stored);
    match u32::from_le_bytes(bytes) {
        bits if bits == 1 << 31 => 1 << 31,
        bits if bits >> 31 == 1 => !bits,
        bits => bits | 1 << 31,
    }
}

/// As [`float_key`], for DOUBLE.
fn double_key(stored: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(stored);
    match u64::from_le_bytes(bytes) {
        bits if bits == 1 << 63 => 1 << 63,
        bits if bits >> 63 == 1 => !bits,
        bits => bits | 1 << 63,
    }
}

/// Stored bytes of a type whose values all take the same; None for text and variable binary.
pub fn fixed_width(column: &SqlType) -> Option<usize> {
    let fraction = |digits: u8| usize::from(digits.div_ceil(2));
    Some(match column {
        SqlType::Integer { bytes, .. } => usize::from(*bytes),
        SqlType::Decimal { precision, scale, .. } => {
            decimal_digits_bytes(precision - scale) + decimal_digits_bytes(*scale)
        }
        SqlType::Float { .. } => 4,
        SqlType::Double { .. } => 8,
        SqlType::Date => 3,
        SqlType::Time { digits } => 3 + fraction(*digits),
        SqlType::DateTime { digits } => 5 + fraction(*digits),
        SqlType::Timestamp { digits } => 4 + fraction(*digits),
        SqlType::Year => 1,
        SqlType::Bit { bits } => usize::from(bits.div_ceil(8)),
        SqlType::Enum { labels, .. } => 1 + usize::from(labels.len() > 255),
        SqlType::Set { labels, .. } => match labels.len().div_ceil(8) {
            bytes @ 0..=4 => bytes.max(1),
            _ => 8,
        },
        SqlType::Binary { bytes } => *bytes as usize,
        SqlType::Uuid => UUID_BYTES,
        SqlType::Inet4 => INET4_BYTES,
        SqlType::Inet6 => INET6_BYTES,
        SqlType::Char { .. }
        | SqlType::VarChar { .. }
        | SqlType::VarBinary { .. }
        | SqlType::Text { .. }
        | SqlType::Blob { .. }
        | SqlType::Json(_)
        | SqlType::Document
        | SqlType::Geometry { .. }
        | SqlType::Vector { .. }
        | SqlType::Opaque { .. } => return None,
    })
}

/// Bytes of `digits` decimal digits: 9 in 4 bytes, the rest as few as they need.
fn decimal_digits_bytes(digits: u8) -> usize {
    let rest = [0, 1, 1, 2, 2, 3, 3, 4, 4][usize::from(digits % 9)];
    usize::from(digits / 9) * 4 + rest
}
