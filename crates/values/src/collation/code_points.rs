//! Order of code points: `*_bin` of ucs2, utf16, utf16le and utf32.
//!
//! Bytes would do for ucs2 and utf32 but for the space, which has several; in utf16 they would put
//! U+10000 before U+E000. Source: MariaDB 10.11, strings/ctype-ucs2.c, `my_strnncollsp_utf16_bin`.

use std::cmp::Ordering;

use super::key_writer::{self, KeyWriter, Rule};
use crate::Reason;
use crate::charset::Charset;

const SPACE: u32 = 0x20;

/// Appends the key of `stored`.
///
/// Errors: text that is malformed.
pub(super) fn push_key(
    charset: Charset,
    stored: &[u8],
    pad_space: bool,
    out: &mut Vec<u8>,
) -> Result<(), Reason> {
    out.reserve(stored.len() / charset.char_bytes_min() * 3 + 4);
    let rule = if pad_space { Rule::Pad } else { Rule::NoPadEscaped };
    let mut writer = KeyWriter::<3>::new(out, SPACE, rule);
    let mut at = 0;
    while at < stored.len() {
        let (code, bytes) = charset
            .next_char(&stored[at..])
            .ok_or(Reason::InvalidCharacter { offset: at as u32 })?;
        writer.push(code);
        at += bytes;
    }
    writer.finish();
    Ok(())
}

/// Bytes of the key at the start of `key`.
pub(super) fn key_bytes(key: &[u8], pad_space: bool) -> usize {
    let rule = if pad_space { Rule::Pad } else { Rule::NoPadEscaped };
    key_writer::key_bytes::<3>(key, SPACE, rule)
}

/// Compares as [`push_key`] orders. Malformed text comes last.
pub(super) fn compare(charset: Charset, a: &[u8], b: &[u8], pad_space: bool) -> Ordering {
    let (mut a, mut b) = (a, b);
    let end = pad_space.then_some(SPACE);
    loop {
        let (x, y) = (next(charset, &mut a), next(charset, &mut b));
        if x.is_none() && y.is_none() {
            return Ordering::Equal;
        }
        match x.or(end).cmp(&y.or(end)) {
            Ordering::Equal => (),
            unequal => return unequal,
        }
    }
}

#[inline]
fn next(charset: Charset, rest: &mut &[u8]) -> Option<u32> {
    let first = rest.first()?;
    let (code, bytes) = charset
        .next_char(rest)
        .unwrap_or((u32::MAX - u32::from(u8::MAX - first), charset.char_bytes_min()));
    *rest = rest.get(bytes..).unwrap_or_default();
    Some(code)
}

/// Appends the bytes of `WEIGHT_STRING`: ucs2 its units, the others 3 bytes a code point.
pub(super) fn push_weights(
    charset: Charset,
    stored: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), Reason> {
    let skipped = if charset == Charset::Ucs2 { 2 } else { 1 };
    let mut at = 0;
    while at < stored.len() {
        let (code, bytes) = charset
            .next_char(&stored[at..])
            .ok_or(Reason::InvalidCharacter { offset: at as u32 })?;
        out.extend_from_slice(&code.to_be_bytes()[skipped..]);
        at += bytes;
    }
    Ok(())
}
