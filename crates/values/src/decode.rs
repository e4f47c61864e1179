//! Stored values back to text: for each type what LOAD DATA reads as that value, and a SELECT prints.
//!
//! The inverse of [`crate::Converter`], and tested as that. A FLOAT has all of its digits, where the server
//! prints six.

mod document;
mod number;
mod real;
mod text;
mod time;
pub mod units;

use crate::inet::{INET4_BYTES, INET6_BYTES};
use crate::sql_type::SqlType;
use crate::uuid::UUID_BYTES;
use number::DecimalForm;
pub use number::big_endian;
pub use real::{push_double, push_float};
use text::Text;

/// Why stored bytes have no text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Undecoded {
    /// No value of the type has them.
    NotStored,
    /// UTF-8 has no text that would become the same bytes of their character set again.
    NoText,
}

/// Stored bytes that are text as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AsText<'s> {
    /// Them, less the spaces behind CHAR.
    pub bytes: &'s [u8],
    /// True if all bytes are UTF-8; else only bytes of ASCII are.
    pub is_utf8: bool,
}

/// Turns stored values of one type into text, in UTF-8; what is bytes stays these bytes.
#[derive(Clone, Debug)]
pub struct Decoder {
    how: How,
}

#[derive(Clone, Debug)]
enum How {
    AsItIs,
    Integer {
        bytes: usize,
        unsigned: bool,
    },
    Decimal(DecimalForm),
    Float,
    Double,
    Year,
    Date,
    Time(usize),
    DateTime(usize),
    /// In UTC.
    Timestamp(usize),
    Text(Text),
    Enum(Vec<String>),
    Set(Vec<String>),
    Uuid,
    Inet4,
    Inet6,
    Document,
}

impl Decoder {
    /// The decoder of a type; none if its stored form is not known. A TIMESTAMP comes in UTC.
    pub fn new(sql_type: &SqlType) -> Option<Decoder> {
        let how = match sql_type {
            SqlType::Integer { bytes, unsigned } => {
                How::Integer { bytes: usize::from(*bytes), unsigned: *unsigned }
            }
            SqlType::Decimal { precision, scale, .. } => {
                let scale = usize::from(*scale);
                let integral = usize::from(*precision).checked_sub(scale)?;
                How::Decimal(DecimalForm::new(integral, scale)?)
            }
            SqlType::Float { .. } => How::Float,
            SqlType::Double { .. } => How::Double,
            SqlType::Year => How::Year,
            SqlType::Date => How::Date,
            SqlType::Time { digits } => How::Time(usize::from(*digits)),
            SqlType::DateTime { digits } => How::DateTime(usize::from(*digits)),
            SqlType::Timestamp { digits } => How::Timestamp(usize::from(*digits)),
            SqlType::Bit { .. } => How::AsItIs,
            SqlType::Enum { labels, .. } => How::Enum(labels.clone()),
            SqlType::Set { labels, .. } => How::Set(labels.clone()),
            SqlType::Char { text, .. } => Text::padded(text.charset).map_or(How::AsItIs, How::Text),
            SqlType::VarChar { text, .. } | SqlType::Text { text, .. } | SqlType::Json(text) => {
                Text::new(text.charset).map_or(How::AsItIs, How::Text)
            }
            SqlType::Binary { .. } | SqlType::VarBinary { .. } | SqlType::Blob { .. } => {
                How::AsItIs
            }
            SqlType::Geometry { .. } | SqlType::Vector { .. } => How::AsItIs,
            SqlType::Uuid => How::Uuid,
            SqlType::Inet4 => How::Inet4,
            SqlType::Inet6 => How::Inet6,
            SqlType::Document => How::Document,
            SqlType::Opaque { .. } => return None,
        };
        Some(Decoder { how })
    }

    /// True if the text is the stored bytes.
    pub fn is_as_stored(&self) -> bool {
        matches!(self.how, How::AsItIs)
    }

    /// The part of the stored bytes that is the text as it is, at least where all are ASCII; none of types
    /// whose text is another.
    #[inline(always)]
    pub fn as_text<'s>(&self, stored: &'s [u8]) -> Option<AsText<'s>> {
        match &self.how {
            How::AsItIs => Some(AsText { bytes: stored, is_utf8: true }),
            How::Text(text) => text.of(stored),
            _ => None,
        }
    }

    /// Appends the text of a value.
    ///
    /// Errors: what was appended is then of no use.
    #[inline]
    pub fn decode(&self, stored: &[u8], out: &mut Vec<u8>) -> Result<(), Undecoded> {
        let is_decoded = match &self.how {
            How::AsItIs => {
                out.extend_from_slice(stored);
                true
            }
            How::Integer { bytes, unsigned } => {
                stored.len() == *bytes && {
                    number::push_integer(stored, *unsigned, out);
                    true
                }
            }
            How::Decimal(form) => form.push(stored, out),
            How::Float => stored.try_into().is_ok_and(|bytes| {
                push_float(f32::from_bits(u32::from_le_bytes(bytes)), out);
                true
            }),
            How::Double => stored.try_into().is_ok_and(|bytes| {
                push_double(f64::from_bits(u64::from_le_bytes(bytes)), out);
                true
            }),
            How::Year => stored.len() == 1 && time::push_year(stored[0], out),
            How::Date => time::push_date(stored, out),
            How::Time(digits) => time::push_time(stored, *digits, out),
            How::DateTime(digits) => time::push_datetime(stored, *digits, out),
            How::Timestamp(digits) => time::push_timestamp(stored, *digits, out),
            How::Text(text) if text.push(stored, out) => true,
            How::Text(_) => return Err(Undecoded::NoText),
            How::Enum(labels) => text::push_label(stored, labels, out),
            How::Set(labels) => text::push_labels(stored, labels, out),
            How::Uuid => {
                <&[u8; UUID_BYTES]>::try_from(stored).is_ok_and(|bytes| text::push_uuid(bytes, out))
            }
            How::Inet4 => <[u8; INET4_BYTES]>::try_from(stored)
                .is_ok_and(|bytes| text::push_shown(std::net::Ipv4Addr::from(bytes), out)),
            How::Inet6 => <[u8; INET6_BYTES]>::try_from(stored)
                .is_ok_and(|bytes| text::push_shown(std::net::Ipv6Addr::from(bytes), out)),
            How::Document => {
                let start = out.len();
                let is_decoded = document::push_document(stored, out);
                // The server stores such documents, and shows NULL.
                if is_decoded && str::from_utf8(&out[start..]).is_err() {
                    return Err(Undecoded::NoText);
                }
                is_decoded
            }
        };
        if is_decoded { Ok(()) } else { Err(Undecoded::NotStored) }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
