//! Text in character sets, labels, and what has a form of its own.

use std::fmt::Display;
use std::io::Write;

use super::AsText;
use super::number::big_endian;
use crate::charset::{Charset, recode_exact};
use crate::uuid::UUID_BYTES;

/// Text of a character set that UTF-8 has to be made of, or CHAR, which is stored with spaces behind it.
#[derive(Clone, Debug)]
pub(super) struct Text {
    charset: Charset,
    is_padded: bool,
    /// True if the stored bytes are UTF-8.
    is_utf8: bool,
    /// True if stored bytes of ASCII are.
    is_ascii_superset: bool,
}

impl Text {
    fn of_charset(charset: Charset, is_padded: bool) -> Text {
        let is_utf8 = matches!(charset, Charset::Utf8mb3 | Charset::Utf8mb4);
        Text { charset, is_padded, is_utf8, is_ascii_superset: charset.is_ascii_superset() }
    }

    /// The decoder of VARCHAR and TEXT; none if the stored bytes are the text.
    pub(super) fn new(charset: Charset) -> Option<Text> {
        let text = Text::of_charset(charset, false);
        (!text.is_utf8 && charset != Charset::Binary).then_some(text)
    }

    /// The decoder of CHAR; none for bytes.
    pub(super) fn padded(charset: Charset) -> Option<Text> {
        (charset != Charset::Binary).then(|| Text::of_charset(charset, true))
    }

    #[inline(always)]
    fn trimmed<'s>(&self, stored: &'s [u8]) -> &'s [u8] {
        match self.is_padded {
            true => &stored[..self.charset.trimmed_len(stored)],
            false => stored,
        }
    }

    /// The stored bytes, where they are the text or would be if they were ASCII.
    #[inline(always)]
    pub(super) fn of<'s>(&self, stored: &'s [u8]) -> Option<AsText<'s>> {
        let text = || AsText { bytes: self.trimmed(stored), is_utf8: self.is_utf8 };
        self.is_ascii_superset.then(text)
    }

    /// Appends the text; true if it would become the same bytes again.
    #[inline]
    pub(super) fn push(&self, stored: &[u8], out: &mut Vec<u8>) -> bool {
        let text = self.trimmed(stored);
        if self.is_utf8 || (self.is_ascii_superset && text.is_ascii()) {
            out.extend_from_slice(text);
            return true;
        }
        recode_exact(text, self.charset, Charset::Utf8mb4, out)
    }
}

/// Appends the label of an ENUM, nothing of its error value.
pub(super) fn push_label(stored: &[u8], labels: &[String], out: &mut Vec<u8>) -> bool {
    if !matches!(stored.len(), 1 | 2) {
        return false;
    }
    match big_endian(stored).checked_sub(1) {
        None => true,
        Some(place) => labels.get(place as usize).is_some_and(|label| {
            out.extend_from_slice(label.as_bytes());
            true
        }),
    }
}

/// Appends the labels of a SET.
pub(super) fn push_labels(stored: &[u8], labels: &[String], out: &mut Vec<u8>) -> bool {
    if !(1..=8).contains(&stored.len()) {
        return false;
    }
    let bits = big_endian(stored);
    let start = out.len();
    for (place, label) in labels.iter().enumerate().take(64) {
        if bits >> place & 1 == 1 {
            if out.len() > start {
                out.push(b',');
            }
            out.extend_from_slice(label.as_bytes());
        }
    }
    labels.len() >= 64 || bits >> labels.len() == 0
}

/// Appends a UUID, of which the parts of most are stored turned round: see `uuid.rs`.
pub(super) fn push_uuid(stored: &[u8; UUID_BYTES], out: &mut Vec<u8>) -> bool {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let is_turned = stored[6] & 0x80 != 0 && matches!(stored[8], 0x01..=0x5f);
    let order: [usize; UUID_BYTES] = match is_turned {
        true => [12, 13, 14, 15, 10, 11, 8, 9, 6, 7, 0, 1, 2, 3, 4, 5],
        false => [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
    };
    for (at, from) in order.into_iter().enumerate() {
        if matches!(at, 4 | 6 | 8 | 10) {
            out.push(b'-');
        }
        let byte = usize::from(stored[from]);
        out.extend_from_slice(&[DIGITS[byte >> 4], DIGITS[byte & 15]]);
    }
    true
}

/// Appends what has a text.
pub(super) fn push_shown(value: impl Display, out: &mut Vec<u8>) -> bool {
    write!(out, "{value}").is_ok()
}
