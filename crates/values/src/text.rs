//! CHAR, VARCHAR, TEXT: characters of the file's charset to those of the column's.
//!
//! When both charsets are the same, or one is binary, bytes are copied and checked; otherwise each character
//! is converted. ASCII is the same in all of them, so a field that is all ASCII and short enough is one check
//! and one copy. Where it is not (ucs2, swe7) every character is converted. Source: MariaDB 10.11,
//! sql/field.cc `Field_longstr`, `Field_string::store`; strings/ctype-latin1.c `cs_to_uni`; InnoDB's padding
//! of CHAR: storage/innobase/row/row0mysql.cc `row_mysql_store_col_in_innobase_format`.

use crate::ctype::is_space;
use crate::habits::Habits;
use crate::reason::Reason;
use crate::sql_type::Charset;

/// The limit of a value's length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Limit {
    /// So many characters; of the rest only white space may be cut off.
    Chars(usize),
    /// So many bytes as stored; likewise.
    Bytes(usize),
}

/// The filling of a short value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pad {
    /// Stored as it is.
    Nothing,
    /// Filled with `byte` to this many bytes; longer values lose trailing ones down to it.
    To { bytes: usize, byte: u8 },
    /// Filled with the spaces of a character set of more than one byte each to this many bytes.
    Wide { bytes: usize },
}

/// Converts text to a character or byte string.
#[derive(Clone, Debug)]
pub(crate) struct Text {
    file: Charset,
    pub(crate) column: Charset,
    limit: Limit,
    pub(crate) pad: Pad,
    /// A field of fewer bytes than this cannot break the limit if it is ASCII; 0 if ASCII is
    /// not the same in both character sets.
    pub(crate) short_end: usize,
    /// True if the file is UTF-8 by MySQL's rules: without surrogates, also where a value is cut.
    strict_utf8: bool,
    /// True if the column is ASCII and takes no other byte: MariaDB copies all to it.
    pub(crate) strict_ascii: bool,
}

impl Text {
    pub(crate) fn new(file: Charset, column: Charset, limit: Limit, pad: Pad) -> Text {
        let short_end = match limit {
            _ if !same_ascii(file, column) => 0,
            Limit::Chars(n) | Limit::Bytes(n) => n.saturating_add(1),
        };
        Text { file, column, limit, pad, short_end, strict_utf8: false, strict_ascii: false }
    }

    /// As the server does.
    pub(crate) fn with_habits(mut self, habits: Habits) -> Text {
        let is_utf8 = |charset| matches!(charset, Charset::Utf8mb4 | Charset::Utf8mb3);
        let is_checked = match self.file {
            Charset::Binary => is_utf8(self.column),
            file => is_utf8(file) && self.column != Charset::Binary,
        };
        self.strict_ascii = habits.strict_characters && self.column == Charset::Ascii;
        self.strict_utf8 = habits.strict_characters && is_checked;
        self
    }

    #[inline]
    pub(crate) fn convert(&self, text: &[u8], out: &mut Vec<u8>) -> Result<(), Reason> {
        let start = out.len();
        if text.len() >= self.short_end || !(push(text, out) || self.column == Charset::Binary) {
            out.truncate(start);
            return self.convert_relaxed(text, out);
        }
        if let Pad::To { bytes, byte } = self.pad {
            pad(start + bytes, byte, out);
        }
        Ok(())
    }

    /// Not ASCII, or longer than the column.
    #[cold]
    fn convert_relaxed(&self, text: &[u8], out: &mut Vec<u8>) -> Result<(), Reason> {
        if self.strict_ascii
            && let Some(at) = text.iter().position(|byte| !byte.is_ascii())
        {
            return Err(Reason::InvalidCharacter { offset: offset(at) });
        }
        if self.strict_utf8
            && let Some(at) = text.windows(2).position(|pair| pair[0] == 0xed && pair[1] >= 0xa0)
        {
            return Err(Reason::InvalidCharacter { offset: offset(at) });
        }
        let start = out.len();
        let result = if self.copies() { self.copy(text, out) } else { self.recode(text, out) };
        let result = result.and_then(|taken| self.check_rest(&text[taken..]));
        match result {
            Ok(()) => match self.pad {
                Pad::Nothing => (),
                Pad::To { bytes, byte } => pad(start + bytes, byte, out),
                Pad::Wide { bytes } => {
                    while out.len() < start + bytes {
                        out.extend_from_slice(self.column.space());
                    }
                }
            },
            Err(_) => out.truncate(start),
        }
        result
    }

    /// True if bytes go over as they are.
    pub(crate) fn copies(&self) -> bool {
        self.file == self.column || self.file == Charset::Binary || self.column == Charset::Binary
    }

    /// Only white space may be left over.
    fn check_rest(&self, rest: &[u8]) -> Result<(), Reason> {
        // These are the file's bytes, but the server looks at them in the column's charset.
        let are_spaces = match self.column.char_bytes_min() {
            1 => rest.iter().all(|&byte| is_space(self.column, byte)),
            _ => self.column.trimmed_len(rest) == 0,
        };
        match are_spaces && (rest.is_ascii() || !self.strict_utf8) {
            true => Ok(()),
            false => Err(Reason::TooLong),
        }
    }

    /// Appends what fits, and tells how many bytes that was.
    fn copy(&self, text: &[u8], out: &mut Vec<u8>) -> Result<usize, Reason> {
        let charset = self.column;
        if !text.len().is_multiple_of(charset.char_bytes_min()) {
            return self.copy_aligned(text, out);
        }
        let fits = match self.limit {
            Limit::Chars(chars) => charset.prefix_bytes(text, chars),
            Limit::Bytes(bytes) => text.len().min(bytes),
        };
        let checked = match charset {
            // A byte beyond 0x7f is no ASCII, but copying does not look.
            _ if charset.is_single_byte() => fits,
            Charset::Utf8mb4 if std::str::from_utf8(&text[..fits]).is_ok() => fits,
            _ => self.check_chars(text, fits)?,
        };
        out.extend_from_slice(&text[..checked]);
        Ok(checked)
    }

    /// Bytes of a binary file that are no whole number of units: the server puts zeros before them.
    ///
    /// Source: MariaDB 10.11, strings/ctype-ucs2.c, `my_copy_fix_mb2_or_mb4`.
    #[cold]
    fn copy_aligned(&self, text: &[u8], out: &mut Vec<u8>) -> Result<usize, Reason> {
        let unit = self.column.char_bytes_min();
        let zeros = unit - text.len() % unit;
        let start = out.len();
        out.resize(start + zeros, 0);
        out.extend_from_slice(text);
        let aligned = out.split_off(start);
        let taken = self.copy(&aligned, out)?;
        Ok(taken.saturating_sub(zeros))
    }

    /// Bytes of the whole characters within the first `fits` bytes.
    fn check_chars(&self, text: &[u8], fits: usize) -> Result<usize, Reason> {
        let mut at = 0;
        while at < fits {
            match self.column.next_char(&text[at..]) {
                Some((_, bytes)) if at + bytes <= fits => at += bytes,
                Some(_) => break,
                None => return Err(Reason::InvalidCharacter { offset: offset(at) }),
            }
        }
        Ok(at)
    }

    /// As [`Text::copy`], character by character.
    fn recode(&self, text: &[u8], out: &mut Vec<u8>) -> Result<usize, Reason> {
        let start = out.len();
        let (chars_max, bytes_max) = match self.limit {
            Limit::Chars(chars) => (chars, usize::MAX),
            Limit::Bytes(bytes) => (usize::MAX, bytes),
        };
        let (mut at, mut chars) = (0, 0);
        while at < text.len() && chars < chars_max {
            let (code, bytes) = self
                .file
                .next_point(&text[at..])
                .ok_or(Reason::InvalidCharacter { offset: offset(at) })?;
            let before = out.len();
            if !self.column.push_unicode(code, out) {
                return Err(Reason::Unconvertible { offset: offset(at) });
            }
            if out.len() - start > bytes_max {
                out.truncate(before);
                break;
            }
            at += bytes;
            chars += 1;
        }
        Ok(at)
    }
}

/// Bytes up to which a value is copied in chunks.
const CHUNKED_MAX: usize = 256;

/// Appends `text`, and tells whether all of it is ASCII.
///
/// A short one goes in chunks of a fixed size, the last one overlapping: quicker than a copy of
/// unknown size.
#[inline(always)]
fn push(text: &[u8], out: &mut Vec<u8>) -> bool {
    let end = out.len() + text.len();
    if text.len() > CHUNKED_MAX {
        out.extend_from_slice(text);
        text.is_ascii()
    } else if let Some(last) = text.last_chunk::<16>() {
        let mut bits = u128::from_ne_bytes(*last);
        let (chunks, _) = text.as_chunks::<16>();
        for chunk in chunks {
            out.extend_from_slice(chunk);
            bits |= u128::from_ne_bytes(*chunk);
        }
        out.truncate(end - 16);
        out.extend_from_slice(last);
        bits & u128::from_ne_bytes([0x80; 16]) == 0
    } else if let (Some(first), Some(last)) = (text.first_chunk::<8>(), text.last_chunk::<8>()) {
        out.extend_from_slice(first);
        out.truncate(end - 8);
        out.extend_from_slice(last);
        (u64::from_ne_bytes(*first) | u64::from_ne_bytes(*last)) & 0x8080_8080_8080_8080 == 0
    } else {
        let mut bits = 0;
        for &byte in text {
            out.push(byte);
            bits |= byte;
        }
        bits < 0x80
    }
}

/// Fills up to a length of `least` with `byte`, or takes spaces off the end down to it.
#[inline(always)]
fn pad(least: usize, byte: u8, out: &mut Vec<u8>) {
    if out.len() < least {
        while out.len() < least {
            out.extend_from_slice(&[byte; 16]);
        }
        out.truncate(least);
    } else if byte == b' ' {
        while out.len() > least && out.last() == Some(&b' ') {
            out.pop();
        }
    }
}

fn offset(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

/// True if text of bytes below 0x80 is the same in both.
pub(crate) fn same_ascii(file: Charset, column: Charset) -> bool {
    let copied = column.char_bytes_min() == 1
        && (file == column || file == Charset::Binary || column == Charset::Binary);
    copied || file.is_ascii_superset() && column.is_ascii_superset()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;
    use Charset::{Ascii, Binary, Latin1, Utf8mb3, Utf8mb4};

    fn convert(text: &Text, value: &[u8]) -> Result<Vec<u8>, Reason> {
        let mut out = b"before".to_vec();
        let result = text.convert(value, &mut out);
        assert!(out.starts_with(b"before"));
        let stored = out.split_off(6);
        assert!(result.is_ok() || stored.is_empty(), "a refused value appends nothing");
        result.map(|()| stored)
    }

    #[test]
    fn a_varchar_counts_characters_and_forgives_trailing_space() {
        let text = Text::new(Utf8mb4, Utf8mb4, Limit::Chars(3), Pad::Nothing);
        assert_eq!(convert(&text, b"abc").unwrap(), b"abc");
        assert_eq!(convert(&text, b"abc  \t").unwrap(), b"abc");
        assert_eq!(convert(&text, b"abcd"), Err(Reason::TooLong));
        let euros = "\u{20ac}\u{20ac}\u{20ac}".as_bytes();
        assert_eq!(convert(&text, euros).unwrap(), euros);
        assert_eq!(convert(&text, b"a\xff"), Err(Reason::InvalidCharacter { offset: 1 }));
        assert_eq!(convert(&text, b"a\xe2\x82"), Err(Reason::InvalidCharacter { offset: 1 }));
    }

    #[test]
    fn characters_go_over_between_charsets() {
        let to = |file, column| Text::new(file, column, Limit::Chars(9), Pad::Nothing);
        assert_eq!(
            convert(&to(Utf8mb4, Latin1), "\u{e9}\u{20ac}".as_bytes()).unwrap(),
            b"\xe9\x80"
        );
        assert_eq!(
            convert(&to(Latin1, Utf8mb4), b"\xe9\x80").unwrap(),
            "\u{e9}\u{20ac}".as_bytes()
        );
        let lacks = Err(Reason::Unconvertible { offset: 1 });
        assert_eq!(convert(&to(Utf8mb4, Latin1), "a\u{3b1}".as_bytes()), lacks);
        assert_eq!(convert(&to(Utf8mb4, Utf8mb3), "a\u{1f600}".as_bytes()), lacks);
        assert_eq!(convert(&to(Utf8mb4, Ascii), "a\u{e9}".as_bytes()), lacks);
        assert_eq!(convert(&to(Utf8mb4, Binary), b"\xff\x00").unwrap(), b"\xff\x00");
        assert!(convert(&to(Binary, Utf8mb4), b"\xff").is_err());
    }

    #[test]
    fn a_char_is_padded_to_its_least_bytes() {
        let char3 =
            |column| Text::new(Utf8mb4, column, Limit::Chars(3), Pad::To { bytes: 3, byte: b' ' });
        assert_eq!(convert(&char3(Latin1), b"a").unwrap(), b"a  ");
        assert_eq!(convert(&char3(Utf8mb4), b"a").unwrap(), b"a  ");
        let text = "\u{20ac} ".as_bytes();
        assert_eq!(convert(&char3(Utf8mb4), text).unwrap(), "\u{20ac}".as_bytes());
        let binary = Text::new(Utf8mb4, Binary, Limit::Bytes(3), Pad::To { bytes: 3, byte: 0 });
        assert_eq!(convert(&binary, b"a").unwrap(), b"a\0\0");
        assert_eq!(convert(&binary, b"a   "), Err(Reason::TooLong));
    }

    #[test]
    fn a_text_is_cut_at_a_whole_character() {
        let text = Text::new(Latin1, Utf8mb4, Limit::Bytes(4), Pad::Nothing);
        assert_eq!(convert(&text, b"\xe9\xe9").unwrap(), "\u{e9}\u{e9}".as_bytes());
        assert_eq!(convert(&text, b"\xe9\xe9\xe9"), Err(Reason::TooLong));
    }
}
