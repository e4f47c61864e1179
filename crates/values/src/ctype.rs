//! White space and punctuation as the server's character tables have them.
//!
//! Before a number and anywhere in a date the server asks latin1, whatever the file's charset is;
//! behind a number or string it asks the charset at hand.
//! Source: MariaDB 10.11, strings/ctype-latin1.c `ctype_latin1`, ctype-bin.c `ctype_bin`,
//! ctype-utf8.c `ctype_utf8mb4`; every byte of each was tried on a server by `tests/`.

use crate::sql_type::Charset;

/// Space, tab, line feed, vertical tab, form feed, carriage return.
#[inline]
pub(crate) fn is_ascii_space(byte: u8) -> bool {
    matches!(byte, b' ' | 9..=13)
}

/// White space in the server's latin1: as ASCII, and the no-break space.
#[inline]
pub(crate) fn is_latin1_space(byte: u8) -> bool {
    is_ascii_space(byte) || byte == 0xa0
}

/// White space that may be cut off the end of a value: none in a binary one.
#[inline]
pub(crate) fn is_space(charset: Charset, byte: u8) -> bool {
    match charset {
        Charset::Binary => false,
        Charset::Latin1 => is_latin1_space(byte),
        Charset::Learned(table) => table.is_space(byte),
        _ => is_ascii_space(byte),
    }
}

/// Punctuation in the server's latin1: what may stand between the parts of a date.
#[inline]
pub(crate) fn is_latin1_punct(byte: u8) -> bool {
    matches!(byte,
        0x21..=0x2f | 0x3a..=0x40 | 0x5b..=0x60 | 0x7b..=0x7e
        | 0x80 | 0x82 | 0x84..=0x89 | 0x8b | 0x91..=0x99 | 0x9b
        | 0xa1..=0xbf | 0xd7 | 0xf7
    )
}
