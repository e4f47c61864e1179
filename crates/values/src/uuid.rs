//! UUID: 16 bytes, as InnoDB orders them.
//!
//! ```text
//! text     llllllll-mmmm-Vhhh-vsss-nnnnnnnnnnnn   V version, v variant
//! stored   nnnnnnnnnnnn vsss Vhhh mmmm llllllll   versions below 6 of the usual variant
//!          llllllll mmmm Vhhh vsss nnnnnnnnnnnn   all others
//! ```
//! Version 1 has the time's lowest digits first, so the server turns the parts round to keep UUIDs
//! of one node together; versions 6 and 7 ascend as they are. Servers before 10.11.5 turned all of
//! them. Source: MariaDB 10.11, plugin/type_uuid/sql_type_uuid.h.

use crate::reason::Reason;
use crate::sql_type::Charset;

/// Bytes of a UUID.
pub(crate) const UUID_BYTES: usize = 16;
/// A text shorter than its digits is none.
const DIGITS: usize = 2 * UUID_BYTES;
/// Places of the hyphens in the usual text.
const USUAL_HYPHENS: [usize; 4] = [8, 13, 18, 23];

/// Converts text to UUID.
#[derive(Clone, Debug)]
pub(crate) struct Uuid {
    /// A field without characters is the 16 bytes themselves.
    is_binary: bool,
}

impl Uuid {
    pub(crate) fn new(file: Charset) -> Uuid {
        Uuid { is_binary: file == Charset::Binary }
    }

    #[inline]
    pub(crate) fn convert(&self, text: &[u8], out: &mut Vec<u8>) -> Result<(), Reason> {
        let bytes = if self.is_binary { text.try_into().ok() } else { parse(text) };
        let bytes = bytes.ok_or(Reason::Malformed)?;
        if is_turned(&bytes) {
            let [l0, l1, l2, l3, m0, m1, h0, h1, s0, s1, node @ ..] = bytes;
            out.extend_from_slice(&node);
            out.extend_from_slice(&[s0, s1, h0, h1, m0, m1, l0, l1, l2, l3]);
        } else {
            out.extend_from_slice(&bytes);
        }
        Ok(())
    }
}

/// Versions up to 5 of the variant that all have; the version is the upper half of byte 6.
fn is_turned(bytes: &[u8; UUID_BYTES]) -> bool {
    matches!(bytes[6], 0x01..=0x5f) && bytes[8] & 0x80 != 0
}

#[inline]
fn parse(text: &[u8]) -> Option<[u8; UUID_BYTES]> {
    let bytes = match <&[u8; DIGITS + 4]>::try_from(text) {
        Ok(text) if USUAL_HYPHENS.iter().all(|&at| text[at] == b'-') => parse_usual(text)?,
        _ => parse_relaxed(text)?,
    };
    // Stored, they could not be told from turned ones.
    let is_ambiguous = bytes[6] & 0x80 != 0 && matches!(bytes[8], 0x01..=0x80);
    (!is_ambiguous).then_some(bytes)
}

fn parse_usual(text: &[u8; DIGITS + 4]) -> Option<[u8; UUID_BYTES]> {
    const PLACES: [usize; UUID_BYTES] = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34];
    let mut bytes = [0; UUID_BYTES];
    let mut seen = 0u8;
    for (byte, at) in bytes.iter_mut().zip(PLACES) {
        let (high, low) = (DIGIT[usize::from(text[at])], DIGIT[usize::from(text[at + 1])]);
        seen |= high | low;
        *byte = high << 4 | low & 15;
    }
    // Whatever is no digit set all bits.
    (seen < 16).then_some(bytes)
}

/// Any number of hyphens between any two digits, none before the first or behind the last.
#[cold]
fn parse_relaxed(text: &[u8]) -> Option<[u8; UUID_BYTES]> {
    let is_edge = |byte: Option<&u8>| byte == Some(&b'-');
    if is_edge(text.first()) || is_edge(text.last()) {
        return None;
    }
    let mut bytes = [0; UUID_BYTES];
    let mut count = 0;
    for &byte in text.iter().filter(|&&byte| byte != b'-') {
        let digit = DIGIT[usize::from(byte)];
        if digit == NO_DIGIT || count == DIGITS {
            return None;
        }
        bytes[count / 2] = bytes[count / 2] << 4 | digit;
        count += 1;
    }
    (count == DIGITS).then_some(bytes)
}

/// Mark of a byte that is no hexadecimal digit.
const NO_DIGIT: u8 = 0xff;

/// Value of each hexadecimal digit.
const DIGIT: [u8; 256] = {
    let mut table = [NO_DIGIT; 256];
    let mut value = 0;
    while value < 16 {
        let digit = b"0123456789abcdef"[value as usize];
        table[digit as usize] = value;
        table[digit.to_ascii_uppercase() as usize] = value;
        value += 1;
    }
    table
};

/// Value of a hexadecimal digit.
pub(crate) fn hex_digit(byte: u8) -> Option<u8> {
    Some(DIGIT[usize::from(byte)]).filter(|&digit| digit != NO_DIGIT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn hex(text: &[u8], file: Charset) -> Result<String, Reason> {
        let mut out = Vec::new();
        Uuid::new(file).convert(text, &mut out)?;
        Ok(out.iter().map(|byte| format!("{byte:02x}")).collect())
    }

    #[test]
    fn parts_of_old_versions_are_turned_round() {
        for (text, expected) in [
            ("123e4567-e89b-12d3-a456-426614174000", "426614174000a45612d3e89b123e4567"),
            ("123E4567E89B52D3A456426614174000", "426614174000a45652d3e89b123e4567"),
            ("1-23e4567-e89b12d3---a4564266141740-00", "426614174000a45612d3e89b123e4567"),
            ("0190163d-8694-739b-aea5-966c26f8ad91", "0190163d8694739baea5966c26f8ad91"),
            ("00000000-0000-0000-0000-000000000000", "00000000000000000000000000000000"),
            // Of another variant.
            ("123e4567-e89b-12d3-0456-426614174000", "123e4567e89b12d30456426614174000"),
            ("ffffffff-ffff-ffff-ffff-ffffffffffff", "ffffffffffffffffffffffffffffffff"),
        ] {
            assert_eq!(hex(text.as_bytes(), Charset::Utf8mb4).as_deref(), Ok(expected), "{text}");
        }
        let bytes = b"\x12\x3e\x45\x67\xe8\x9b\x12\xd3\xa4\x56Bf\x14\x17@\0";
        let expected = Ok("426614174000a45612d3e89b123e4567");
        assert_eq!(hex(bytes, Charset::Binary).as_deref(), expected);
    }

    #[test]
    fn what_is_no_uuid() {
        for text in [
            "",
            "123e4567-e89b-12d3-a456-42661417400",
            "123e4567-e89b-12d3-a456-4266141740000",
            "-123e4567e89b12d3a456426614174000",
            "123e4567e89b12d3a456426614174000-",
            "123e4567-e89b-12d3-a456-42661417400g",
            " 23e4567-e89b-12d3-a456-426614174000",
            "123e4567-e89b-12d3-a456-426614174000 ",
            "{23e4567-e89b-12d3-a456-42661417400}",
            // Version 8 and above with a variant of zero.
            "123e4567-e89b-82d3-0456-426614174000",
        ] {
            assert_eq!(hex(text.as_bytes(), Charset::Utf8mb4), Err(Reason::Malformed), "{text}");
        }
        let text = b"123e4567-e89b-12d3-a456-426614174000";
        assert_eq!(hex(text, Charset::Binary), Err(Reason::Malformed));
    }

    proptest! {
        /// The usual text, read straight and as any other text, is the same bytes; these, put
        /// back in the order of the text, are the text.
        #[test]
        fn the_straight_path_reads_what_the_relaxed_one_does(bytes: [u8; 16], damage in 0..80usize) {
            let hex: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            let parts = [&hex[..4], &hex[4..6], &hex[6..8], &hex[8..10], &hex[10..]];
            let mut text = parts.map(|part| part.concat()).join("-").into_bytes();
            prop_assert_eq!(parse_relaxed(&text), Some(bytes));
            if damage < text.len() {
                text[damage] = b"g-\0A"[damage % 4];
            }
            if let Ok(text) = <&[u8; 36]>::try_from(text.as_slice())
                && USUAL_HYPHENS.iter().all(|&at| text[at] == b'-')
            {
                let has_digits = !text.iter().enumerate().any(|(at, &byte)| {
                    byte == b'-' && !USUAL_HYPHENS.contains(&at)
                });
                if has_digits {
                    prop_assert_eq!(parse_usual(text), parse_relaxed(text));
                } else {
                    prop_assert_eq!(parse_usual(text), None);
                }
            }
        }
    }
}
