//! ucs2, utf16, utf16le, utf32: characters of 2 or 4 bytes, none of them ASCII's.
//!
//! Only columns have them: LOAD DATA refuses them for a file. Source: MariaDB 10.11,
//! strings/ctype-ucs2.c, `my_ucs2_uni`, `my_utf16_uni`, `my_utf32_uni` and their inverses: ucs2 and
//! utf32 keep surrogates as they are, utf16 takes them in pairs only.

/// First character of UCS-2.
#[inline]
pub(super) fn ucs2(bytes: &[u8]) -> Option<(u32, usize)> {
    bytes.first_chunk().map(|unit| (u32::from(u16::from_be_bytes(*unit)), 2))
}

/// First character of UTF-16 whose units `unit` reads.
#[inline]
pub(super) fn utf16(bytes: &[u8], unit: impl Fn([u8; 2]) -> u16) -> Option<(u32, usize)> {
    let first = u32::from(unit(*bytes.first_chunk()?));
    match first {
        0xd800..=0xdbff => {
            let second = u32::from(unit(*bytes[2..].first_chunk()?));
            let pair = 0x1_0000 + ((first & 0x3ff) << 10) + (second & 0x3ff);
            matches!(second, 0xdc00..=0xdfff).then_some((pair, 4))
        }
        0xdc00..=0xdfff => None,
        _ => Some((first, 2)),
    }
}

/// First character of UTF-32.
#[inline]
pub(super) fn utf32(bytes: &[u8]) -> Option<(u32, usize)> {
    let code = u32::from_be_bytes(*bytes.first_chunk()?);
    (code <= 0x10_ffff).then_some((code, 4))
}

/// Units of UTF-16; None for surrogates.
pub(super) fn utf16_units(code: u32) -> Option<([u16; 2], usize)> {
    match code {
        0xd800..=0xdfff => None,
        0..0x1_0000 => Some(([code as u16, 0], 1)),
        _ => {
            let rest = code - 0x1_0000;
            Some(([0xd800 | (rest >> 10) as u16, 0xdc00 | (rest & 0x3ff) as u16], 2))
        }
    }
}
