//! Characters of a character set: how many bytes one takes, where the next begins.
//!
//! The server's UTF-8 accepts the code points of surrogates (U+D800 to U+DFFF) and stores them, so
//! they count as characters here. Source: MariaDB 10.11, strings/ctype-utf8.c, `my_utf8mb4_uni`.

mod table;
mod wide;

pub use table::{CharsetData, CharsetTable};

/// Names of all character sets a MariaDB server may have, in its order.
#[rustfmt::skip]
pub const NAMES: [&str; 40] = [
    "armscii8", "ascii", "big5", "binary", "cp1250", "cp1251", "cp1256", "cp1257", "cp850",
    "cp852", "cp866", "cp932", "dec8", "eucjpms", "euckr", "gb2312", "gbk", "geostd8", "greek",
    "hebrew", "hp8", "keybcs2", "koi8r", "koi8u", "latin1", "latin2", "latin5", "latin7", "macce",
    "macroman", "sjis", "swe7", "tis620", "ucs2", "ujis", "utf16", "utf16le", "utf32", "utf8mb3",
    "utf8mb4",
];

/// A character set of the server's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Charset {
    /// Bytes without characters.
    Binary,
    /// 7-bit.
    Ascii,
    /// The server's latin1: windows-1252.
    Latin1,
    /// UTF-8 up to 3 bytes a character.
    Utf8mb3,
    /// UTF-8.
    Utf8mb4,
    /// 2 bytes a character.
    Ucs2,
    /// UTF-16, big-endian.
    Utf16,
    /// UTF-16, little-endian.
    Utf16le,
    /// UTF-32, big-endian.
    Utf32,
    /// Any other, by the server's own tables.
    Learned(&'static CharsetTable),
}

impl Charset {
    /// The character set of this name, unless it has to be learned from the server.
    ///
    /// `utf8` is the server's old name of utf8mb3.
    pub fn built_in(name: &str) -> Option<Charset> {
        match name {
            "binary" => Some(Charset::Binary),
            "ascii" => Some(Charset::Ascii),
            "latin1" => Some(Charset::Latin1),
            "utf8mb3" | "utf8" => Some(Charset::Utf8mb3),
            "utf8mb4" => Some(Charset::Utf8mb4),
            "ucs2" => Some(Charset::Ucs2),
            "utf16" => Some(Charset::Utf16),
            "utf16le" => Some(Charset::Utf16le),
            "utf32" => Some(Charset::Utf32),
            _ => None,
        }
    }

    /// Name of the character set of a collation: the part before the first `_`.
    pub fn name_of_collation(collation: &str) -> &str {
        match collation.split('_').next().unwrap_or_default() {
            "utf8" => "utf8mb3",
            name => name,
        }
    }

    /// Character set of a collation, unless it has to be learned from the server.
    pub fn of_collation(collation: &str) -> Option<Charset> {
        Charset::built_in(Charset::name_of_collation(collation))
    }

    /// The server's name, as in `CONVERT(x USING name)` and introducers (`_name`).
    pub fn name(self) -> &'static str {
        match self {
            Charset::Binary => "binary",
            Charset::Ascii => "ascii",
            Charset::Latin1 => "latin1",
            Charset::Utf8mb3 => "utf8mb3",
            Charset::Utf8mb4 => "utf8mb4",
            Charset::Ucs2 => "ucs2",
            Charset::Utf16 => "utf16",
            Charset::Utf16le => "utf16le",
            Charset::Utf32 => "utf32",
            Charset::Learned(table) => table.name(),
        }
    }

    /// Bytes of the longest character (the server's `mbmaxlen`).
    pub fn char_bytes_max(self) -> usize {
        match self {
            Charset::Binary | Charset::Ascii | Charset::Latin1 => 1,
            Charset::Ucs2 => 2,
            Charset::Utf8mb3 => 3,
            Charset::Utf8mb4 | Charset::Utf16 | Charset::Utf16le | Charset::Utf32 => 4,
            Charset::Learned(table) => table.bytes_max(),
        }
    }

    /// Bytes of the shortest character (the server's `mbminlen`).
    pub fn char_bytes_min(self) -> usize {
        match self {
            Charset::Ucs2 | Charset::Utf16 | Charset::Utf16le => 2,
            Charset::Utf32 => 4,
            _ => 1,
        }
    }

    /// The space, as it is stored.
    pub fn space(self) -> &'static [u8] {
        match self {
            Charset::Ucs2 | Charset::Utf16 => b"\0 ",
            Charset::Utf16le => b" \0",
            Charset::Utf32 => b"\0\0\0 ",
            _ => b" ",
        }
    }

    /// True if every character is one byte.
    #[inline]
    pub fn is_single_byte(self) -> bool {
        self.char_bytes_max() == 1
    }

    /// True if the code of a character is its code point.
    pub fn is_unicode(self) -> bool {
        self.char_bytes_min() > 1 || matches!(self, Charset::Utf8mb3 | Charset::Utf8mb4)
    }

    /// True if bytes below 0x80 are ASCII characters, and the other way round.
    pub fn is_ascii_superset(self) -> bool {
        match self {
            Charset::Learned(table) => table.is_ascii_superset(),
            _ => self.char_bytes_min() == 1,
        }
    }

    /// Bytes of the first `chars` characters of `stored`; all of it when it has no more than that.
    ///
    /// In malformed text every byte (every unit of ucs2, utf16, utf32) that starts no character
    /// counts as one.
    pub fn prefix_bytes(self, stored: &[u8], chars: usize) -> usize {
        if self.is_single_byte() || stored.len() <= chars {
            return stored.len().min(chars);
        }
        let mut at = 0;
        for _ in 0..chars {
            if at >= stored.len() {
                break;
            }
            at += self.step(&stored[at..]);
        }
        at
    }

    /// Characters in `stored`, counted as [`Charset::prefix_bytes`] does.
    pub(crate) fn count_chars(self, stored: &[u8]) -> usize {
        if self.is_single_byte() {
            return stored.len();
        }
        let (mut at, mut count) = (0, 0);
        while at < stored.len() {
            at += self.step(&stored[at..]);
            count += 1;
        }
        count
    }

    /// Bytes of the first character of `bytes`, which is not empty.
    #[inline]
    fn step(self, bytes: &[u8]) -> usize {
        match self.next_char(bytes) {
            Some((_, bytes)) => bytes,
            None => self.char_bytes_min().min(bytes.len()),
        }
    }

    /// First character of `bytes`: its code (the code point in Unicode sets, in others the bytes
    /// as one big-endian number) and its size in bytes. None when `bytes` is empty or starts with
    /// no character of this set.
    #[inline]
    pub fn next_char(self, bytes: &[u8]) -> Option<(u32, usize)> {
        let first = *bytes.first()?;
        match self {
            Charset::Binary | Charset::Latin1 => Some((u32::from(first), 1)),
            Charset::Ascii => (first < 0x80).then_some((u32::from(first), 1)),
            Charset::Utf8mb3 => decode_utf8(bytes, 3),
            Charset::Utf8mb4 => decode_utf8(bytes, 4),
            Charset::Ucs2 => wide::ucs2(bytes),
            Charset::Utf16 => wide::utf16(bytes, u16::from_be_bytes),
            Charset::Utf16le => wide::utf16(bytes, u16::from_le_bytes),
            Charset::Utf32 => wide::utf32(bytes),
            Charset::Learned(table) => table.next_char(bytes),
        }
    }

    /// Appends the character with this code.
    pub fn push_char(self, code: u32, out: &mut Vec<u8>) {
        match self {
            Charset::Binary | Charset::Ascii | Charset::Latin1 | Charset::Learned(_) => {
                table::push_code(code, out);
            }
            // Half a pair of utf16 is no character; nothing is appended for it.
            _ => {
                self.push_unicode(code, out);
            }
        }
    }

    /// Code point of the character with this code, as [`Charset::next_char`] gives it.
    #[inline]
    pub fn to_unicode(self, code: u32) -> Option<u32> {
        match self {
            Charset::Learned(table) => table.to_unicode(code),
            Charset::Latin1 if matches!(code, 0x80..=0x9f) => {
                Some(LATIN1[code as usize - 0x80].into())
            }
            _ => Some(code),
        }
    }

    /// First character as a code point, and its size in bytes.
    #[inline]
    pub(crate) fn next_point(self, bytes: &[u8]) -> Option<(u32, usize)> {
        let (code, size) = self.next_char(bytes)?;
        self.to_unicode(code).map(|point| (point, size))
    }

    /// Appends a code point; false if the set lacks it, and nothing is appended.
    pub fn push_unicode(self, code: u32, out: &mut Vec<u8>) -> bool {
        let byte = match self {
            Charset::Utf8mb4 => None,
            Charset::Utf8mb3 if code < 0x1_0000 => None,
            Charset::Ascii if code < 0x80 => Some(code as u8),
            Charset::Latin1 => match code {
                0..0x80 | 0xa0..=0xff => Some(code as u8),
                _ => match LATIN1.iter().position(|&known| u32::from(known) == code) {
                    Some(index) => Some(0x80 + index as u8),
                    None => return false,
                },
            },
            Charset::Learned(table) => return table.push(code, out),
            Charset::Ucs2 | Charset::Utf16 | Charset::Utf16le | Charset::Utf32 => {
                return self.push_wide(code, out);
            }
            _ => return false,
        };
        match byte {
            Some(byte) => out.push(byte),
            None => push_utf8(code, out),
        }
        true
    }

    fn push_wide(self, code: u32, out: &mut Vec<u8>) -> bool {
        match self {
            Charset::Utf32 => out.extend(code.to_be_bytes()),
            Charset::Ucs2 => match u16::try_from(code) {
                Ok(unit) => out.extend(unit.to_be_bytes()),
                Err(_) => return false,
            },
            _ => match wide::utf16_units(code) {
                Some((units, count)) => units[..count].iter().for_each(|unit| {
                    out.extend(match self {
                        Charset::Utf16le => unit.to_le_bytes(),
                        _ => unit.to_be_bytes(),
                    });
                }),
                None => return false,
            },
        }
        true
    }

    /// Bytes of `text` less the spaces (U+0020 only) at its end.
    #[inline]
    pub fn trimmed_len(self, text: &[u8]) -> usize {
        let space = self.space();
        if space.len() == 1 {
            return without_spaces(text);
        }
        let mut rest = text;
        while let Some(shorter) = rest.strip_suffix(space) {
            rest = shorter;
        }
        rest.len()
    }
}

/// Bytes of `text` less the spaces at its end, looked at eight at a time.
#[inline]
fn without_spaces(text: &[u8]) -> usize {
    let mut rest = text;
    while let Some((before, last)) = rest.split_last_chunk::<8>() {
        // The last byte is the highest.
        let others = u64::from_le_bytes(*last) ^ u64::from_le_bytes([b' '; 8]);
        if others != 0 {
            return rest.len() - others.leading_zeros() as usize / 8;
        }
        rest = before;
    }
    while let [before @ .., b' '] = rest {
        rest = before;
    }
    rest.len()
}

/// Code points of the server's latin1 from 0x80 to 0x9f: windows-1252, with the five bytes that
/// are free there standing for the control characters of the same number.
#[rustfmt::skip]
const LATIN1: [u16; 32] = [
    0x20ac, 0x0081, 0x201a, 0x0192, 0x201e, 0x2026, 0x2020, 0x2021,
    0x02c6, 0x2030, 0x0160, 0x2039, 0x0152, 0x008d, 0x017d, 0x008f,
    0x0090, 0x2018, 0x2019, 0x201c, 0x201d, 0x2022, 0x2013, 0x2014,
    0x02dc, 0x2122, 0x0161, 0x203a, 0x0153, 0x009d, 0x017e, 0x0178,
];

/// Appends a short text, such as a label, in another character set; what has no counterpart there
/// becomes `?`, as the server's CONVERT has it.
pub fn recode_lossy(text: &[u8], from: Charset, to: Charset, out: &mut Vec<u8>) {
    if from == to || from == Charset::Binary || to == Charset::Binary {
        out.extend_from_slice(text);
        return;
    }
    let mut at = 0;
    while at < text.len() {
        let point = from.next_point(&text[at..]).map(|(point, _)| point);
        if !point.is_some_and(|point| to.push_unicode(point, out)) {
            to.push_unicode(u32::from(b'?'), out);
        }
        at += from.step(&text[at..]);
    }
}

/// Recodes a text that is to come back: false if the way back gives other bytes, as for characters
/// without a counterpart, or with a shared one. The appended bytes are then of no use.
pub(crate) fn recode_exact(text: &[u8], from: Charset, to: Charset, out: &mut Vec<u8>) -> bool {
    if from == to || from == Charset::Binary || to == Charset::Binary {
        out.extend_from_slice(text);
        return true;
    }
    let (mut at, mut back) = (0, Vec::new());
    while at < text.len() {
        let Some((point, size)) = from.next_point(&text[at..]) else { return false };
        back.clear();
        let is_same = to.push_unicode(point, out)
            && from.push_unicode(point, &mut back)
            && back == text[at..at + size];
        if !is_same {
            return false;
        }
        at += size;
    }
    true
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
pub(crate) fn push_utf8(code: u32, out: &mut Vec<u8>) {
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

    #[test]
    fn wide_characters_go_both_ways() {
        use Charset::{Ucs2, Utf16, Utf16le, Utf32};
        for charset in [Ucs2, Utf16, Utf16le, Utf32] {
            for code in (0..0x10_ffff).step_by(7) {
                let mut bytes = Vec::new();
                let lacks = match charset {
                    Ucs2 => code > 0xffff,
                    Utf32 => false,
                    _ => matches!(code, 0xd800..=0xdfff),
                };
                assert_eq!(charset.push_unicode(code, &mut bytes), !lacks);
                if !lacks {
                    assert_eq!(charset.next_char(&bytes), Some((code, bytes.len())));
                    assert_eq!(charset.next_char(&bytes[..bytes.len() - 1]), None);
                }
            }
        }
        assert_eq!(Utf16.next_char(b"\xdc\x00\xd8\x00"), None);
        assert_eq!(Utf16.next_char(b"\xd8\x00\x00a"), None);
        assert_eq!(Utf32.next_char(b"\0\x11\0\0"), None);
        assert_eq!(Utf16.trimmed_len(b"\0a\0 \0 "), 2);
        assert_eq!(Utf16le.trimmed_len(b"a\0 \0"), 2);
        assert_eq!(Ucs2.trimmed_len(b"\x20\x20"), 2);
        for (text, spaces) in (0..40).flat_map(|text| (0..40).map(move |spaces| (text, spaces))) {
            let padded = format!(" {}{}", "x".repeat(text), " ".repeat(spaces));
            let expected = if text == 0 { 0 } else { text + 1 };
            assert_eq!(Charset::Latin1.trimmed_len(padded.as_bytes()), expected, "{padded:?}");
        }
        assert_eq!(Utf16.count_chars(b"\xd8\x3d\xde\x00\0a"), 2);
    }
}
