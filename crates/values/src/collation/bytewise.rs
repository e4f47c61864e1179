//! Order of bytes: `binary` and every `*_bin` collation.
//!
//! UTF-8 bytes order as code points do, and the space is one byte in every character set here,
//! so `*_bin` of UTF-8 needs no code points either.

use std::cmp::Ordering;

use super::key_writer::{self, KeyWriter, Rule};

const SPACE: u8 = b' ';

/// Appends the key of `stored`.
pub(super) fn push_key(stored: &[u8], pad_space: bool, out: &mut Vec<u8>) {
    out.reserve(stored.len() + 2);
    if !pad_space {
        return push_no_pad(stored, out);
    }
    let mut writer = KeyWriter::<1>::new(out, u32::from(SPACE), Rule::Pad);
    let mut rest = trim_spaces(stored);
    while let Some(&first) = rest.first() {
        if first == SPACE {
            writer.push(u32::from(SPACE));
            rest = &rest[1..];
            continue;
        }
        let run = rest.iter().position(|&byte| byte == SPACE).unwrap_or(rest.len());
        writer.push_plain(u32::from(first), &rest[..run]);
        rest = &rest[run..];
    }
    writer.finish();
}

/// Appends the key of bytes that compare by memcmp, a beginning before its continuation: zero is
/// escaped as 00 01, the end is 00 00.
pub(crate) fn push_no_pad(stored: &[u8], out: &mut Vec<u8>) {
    for (i, run) in stored.split(|&byte| byte == 0).enumerate() {
        if i > 0 {
            out.extend_from_slice(&[0, 1]);
        }
        out.extend_from_slice(run);
    }
    out.extend_from_slice(&[0, 0]);
}

/// Bytes of the key at the start of `key`.
pub(crate) fn key_bytes(key: &[u8], pad_space: bool) -> usize {
    let rule = if pad_space { Rule::Pad } else { Rule::NoPadEscaped };
    key_writer::key_bytes::<1>(key, u32::from(SPACE), rule)
}

/// Compares as [`push_key`] orders. PAD SPACE: as if spaces followed the shorter for ever.
pub(super) fn compare(a: &[u8], b: &[u8], pad_space: bool) -> Ordering {
    if !pad_space {
        return a.cmp(b);
    }
    let common = a.len().min(b.len());
    let against_spaces = |tail: &[u8]| {
        tail.iter().find(|&&byte| byte != SPACE).map_or(Ordering::Equal, |byte| byte.cmp(&SPACE))
    };
    a[..common]
        .cmp(&b[..common])
        .then_with(|| against_spaces(&a[common..]))
        .then_with(|| against_spaces(&b[common..]).reverse())
}

/// `text` without the spaces (U+0020 only) at its end.
fn trim_spaces(text: &[u8]) -> &[u8] {
    let end = text.iter().rposition(|&byte| byte != SPACE).map_or(0, |last| last + 1);
    &text[..end]
}
