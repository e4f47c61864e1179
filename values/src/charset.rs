//! Characters of a character set: how many bytes one takes, where the next begins.
//!
//! The server's UTF-8 accepts the code points of surrogates (U+D800 to U+DFFF) and stores them, so
//! they count as characters here. Source: MariaDB 10.11, strings/ctype-utf8.c, `my_utf8mb4_uni`.

use crate::column::Charset;

impl Charset {
    /// Character set of a collation by its name: the part before the first `_`.
    ///
    /// `utf8` is the server's old name of utf8mb3. None for character sets Inrush cannot cut.
    pub fn of_collation(name: &str) -> Option<Charset> {
        match name.split('_').next() {
            Some("binary") => Some(Charset::Binary),
            Some("ascii") => Some(Charset::Ascii),
            Some("latin1") => Some(Charset::Latin1),
            Some("utf8mb3" | "utf8") => Some(Charset::Utf8mb3),
            Some("utf8mb4") => Some(Charset::Utf8mb4),
            _ => None,
        }
    }

    /// The server's name, as in `CONVERT(x USING name)` and introducers (`_name`).
    pub fn name(self) -> &'static str {
        match self {
            Charset::Binary => "binary",
            Charset::Ascii => "ascii",
            Charset::Latin1 => "latin1",
            Charset::Utf8mb3 => "utf8mb3",
            Charset::Utf8mb4 => "utf8mb4",
        }
    }

    /// Bytes of the longest character (the server's `mbmaxlen`).
    pub fn char_bytes_max(self) -> usize {
        match self {
            Charset::Binary | Charset::Ascii | Charset::Latin1 => 1,
            Charset::Utf8mb3 => 3,
            Charset::Utf8mb4 => 4,
        }
    }

    /// Whether every character is one byte.
    pub fn is_single_byte(self) -> bool {
        self.char_bytes_max() == 1
    }

    /// Bytes of the first `chars` characters of `stored`; all of it when it has no more than that.
    ///
    /// In malformed text every byte that starts no character counts as one.
    pub fn prefix_bytes(self, stored: &[u8], chars: usize) -> usize {
        if self.is_single_byte() || stored.len() <= chars {
            return stored.len().min(chars);
        }
        let mut at = 0;
        for _ in 0..chars {
            if at >= stored.len() {
                break;
            }
            at += self.next_char(&stored[at..]).map_or(1, |(_, bytes)| bytes);
        }
        at
    }

    /// Characters in `stored`, counted as [`Charset::prefix_bytes`] does.
    pub fn count_chars(self, stored: &[u8]) -> usize {
        if self.is_single_byte() {
            return stored.len();
        }
        let (mut at, mut count) = (0, 0);
        while at < stored.len() {
            at += self.next_char(&stored[at..]).map_or(1, |(_, bytes)| bytes);
            count += 1;
        }
        count
    }

    /// First character of `bytes`: its code (the byte in 8-bit sets, the code point in UTF-8) and
    /// its size in bytes. None when `bytes` is empty or starts with no character of this set.
    #[inline]
    pub fn next_char(self, bytes: &[u8]) -> Option<(u32, usize)> {
        let first = *bytes.first()?;
        match self {
            Charset::Binary | Charset::Latin1 => Some((u32::from(first), 1)),
            Charset::Ascii => (first < 0x80).then_some((u32::from(first), 1)),
            Charset::Utf8mb3 => decode_utf8(bytes, 3),
            Charset::Utf8mb4 => decode_utf8(bytes, 4),
        }
    }
}

/// Code point and size of the first character; `bytes` is not empty.
#[inline]
fn decode_utf8(bytes: &[u8], bytes_max: usize) -> Option<(u32, usize)> {
    let first = u32::from(bytes[0]);
    let tail = |i: usize| {
        bytes.get(i).filter(|&&byte| byte & 0xc0 == 0x80).map(|&byte| u32::from(byte & 0x3f))
    };
    match bytes[0] {
        0..=0x7f => Some((first, 1)),
        0xc2..=0xdf => Some((((first & 0x1f) << 6) | tail(1)?, 2)),
        0xe0..=0xef => {
            let code = ((first & 0x0f) << 12) | (tail(1)? << 6) | tail(2)?;
            (code >= 0x800).then_some((code, 3))
        }
        0xf0..=0xf4 if bytes_max == 4 => {
            let code = ((first & 7) << 18) | (tail(1)? << 12) | (tail(2)? << 6) | tail(3)?;
            (0x1_0000..=0x10_ffff).contains(&code).then_some((code, 4))
        }
        _ => None,
    }
}

/// Appends `code` in UTF-8, surrogates included (the server stores them).
pub fn push_utf8(code: u32, out: &mut Vec<u8>) {
    let tail = |shift: u32| 0x80 | ((code >> shift) & 0x3f) as u8;
    match code {
        0..0x80 => out.push(code as u8),
        0x80..0x800 => out.extend_from_slice(&[0xc0 | (code >> 6) as u8, tail(0)]),
        0x800..0x1_0000 => out.extend_from_slice(&[0xe0 | (code >> 12) as u8, tail(6), tail(0)]),
        _ => out.extend_from_slice(&[0xf0 | (code >> 18) as u8, tail(12), tail(6), tail(0)]),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    #[test]
    fn every_code_point_decodes_to_itself() {
        let mut bytes = Vec::new();
        for code in 0..=0x10_ffff {
            bytes.clear();
            push_utf8(code, &mut bytes);
            assert_eq!(Charset::Utf8mb4.next_char(&bytes), Some((code, bytes.len())));
            assert_eq!(Charset::Utf8mb3.next_char(&bytes).is_some(), code < 0x1_0000);
            if bytes.len() > 1 {
                assert_eq!(Charset::Utf8mb4.next_char(&bytes[..bytes.len() - 1]), None);
            }
        }
    }

    #[test]
    fn malformed_utf8_is_no_character() {
        for bytes in [
            &b"\x80"[..],
            b"\xc0\x80",
            b"\xc1\xbf",
            b"\xe0\x9f\xbf",
            b"\xf0\x8f\xbf\xbf",
            b"\xf4\x90\x80\x80",
            b"\xf5\x80\x80\x80",
            b"\xffa",
            b"",
        ] {
            assert_eq!(Charset::Utf8mb4.next_char(bytes), None, "{bytes:x?}");
        }
        assert_eq!(Charset::Ascii.next_char(b"\x80"), None);
    }

    #[test]
    fn a_prefix_counts_characters() {
        let text = "a\u{e4}\u{20ac}\u{1f600}z".as_bytes();
        for (chars, bytes) in [(0, 0), (1, 1), (2, 3), (3, 6), (4, 10), (5, 11), (9, 11)] {
            assert_eq!(Charset::Utf8mb4.prefix_bytes(text, chars), bytes);
        }
        assert_eq!(Charset::Latin1.prefix_bytes(text, 4), 4);
        assert_eq!(Charset::Utf8mb4.count_chars(text), 5);
    }
}
