//! A text with what comes before it: numbers are read from their last digit backwards, eight bytes at a
//! time, and what does not belong to them is taken off again.

use crate::digits;
use crate::value::Value;

/// A text at the end of some bytes.
#[derive(Clone, Copy, Debug)]
pub struct TextEnd<'a> {
    bytes: &'a [u8],
    len: usize,
}

/// The straight conversion of a column.
pub trait Narrow {
    /// The stored number of a text in its usual form, which is in its last bytes; `None` for any
    /// other text, which [`Converter::convert`](crate::Converter::convert) may take or refuse.
    fn narrow(&self, text: TextEnd<'_>) -> Option<u64>;

    /// The stored number of a typed value; `None` for one that
    /// [`Converter::convert_value`](crate::Converter::convert_value) takes another way, or refuses.
    fn narrow_value(&self, value: Value<'_>) -> Option<u64>;
}

impl<'a> TextEnd<'a> {
    /// A text alone.
    #[inline(always)]
    pub fn new(text: &'a [u8]) -> TextEnd<'a> {
        TextEnd { bytes: text, len: text.len() }
    }

    /// The last `len` bytes of `bytes`.
    ///
    /// # Panics
    /// Later, if there are fewer.
    #[inline(always)]
    pub fn within(bytes: &'a [u8], len: usize) -> TextEnd<'a> {
        TextEnd { bytes, len }
    }

    /// The text alone.
    #[inline(always)]
    pub fn text(self) -> &'a [u8] {
        &self.bytes[self.bytes.len() - self.len..]
    }

    /// Its bytes.
    #[inline(always)]
    pub(crate) fn len(self) -> usize {
        self.len
    }

    /// True if it begins with a minus sign.
    #[inline(always)]
    pub(crate) fn is_negative(self) -> bool {
        self.bytes.get(self.bytes.len().wrapping_sub(self.len)) == Some(&b'-')
    }

    /// The last eight bytes, last one highest, whatever is in those before the text.
    #[inline(always)]
    pub(crate) fn last_eight(self) -> u64 {
        match self.bytes.last_chunk::<8>() {
            Some(chunk) => u64::from_le_bytes(*chunk),
            None => digits::split_last_eight(self.text()).1,
        }
    }

    /// The eight bytes before the last eight of a text of more than eight.
    #[inline(always)]
    pub(crate) fn eight_before(self) -> u64 {
        let before = &self.bytes[..self.bytes.len() - 8];
        TextEnd { bytes: before, len: self.len - 8 }.last_eight()
    }
}
