//! Bytes written as text: hexadecimal digits and base64.

/// Prefixes that programs write before hexadecimal digits. The last one is left of `\x` where a backslash escapes.
const HEX_PREFIXES: [&[u8]; 3] = [b"\\x", b"0x", b"x"];
/// Characters of base64 that stand for three bytes.
const GROUP: usize = 4;

/// Writes the bytes of hexadecimal digits, perhaps behind a prefix; false if the text is other.
pub(super) fn read_hex(text: &[u8], out: &mut Vec<u8>) -> bool {
    let has = |prefix: &&[u8]| {
        text.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix))
    };
    let prefix = HEX_PREFIXES.iter().find(|prefix| has(prefix)).map_or(0, |prefix| prefix.len());
    let (pairs, rest) = text[prefix..].as_chunks::<2>();
    out.reserve(pairs.len());
    let digit = |byte: u8| char::from(byte).to_digit(16);
    for [high, low] in pairs {
        let (Some(high), Some(low)) = (digit(*high), digit(*low)) else { return false };
        out.push((high << 4 | low) as u8);
    }
    rest.is_empty()
}

/// Writes the bytes of base64, of the standard alphabet or that of URLs, with or without padding and with any
/// line ends; false if the text is other.
pub(super) fn read_base64(text: &[u8], out: &mut Vec<u8>) -> bool {
    out.reserve(text.len() / GROUP * 3);
    let (mut bits, mut count, mut padding) = (0u32, 0usize, 0usize);
    for &byte in text {
        let digit = match byte {
            b'\r' | b'\n' => continue,
            b'=' => {
                padding += 1;
                continue;
            }
            _ if padding > 0 => return false,
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return false,
        };
        bits = bits << 6 | u32::from(digit);
        count += 1;
        if count.is_multiple_of(GROUP) {
            out.extend_from_slice(&bits.to_be_bytes()[1..]);
            bits = 0;
        }
    }
    // Bits of the last character that belong to no byte are 0, as every program writes them.
    let is_rest_whole = match count % GROUP {
        0 => true,
        2 => {
            out.push((bits >> 4) as u8);
            bits & 0xf == 0
        }
        3 => {
            out.extend_from_slice(&((bits >> 2) as u16).to_be_bytes());
            bits & 3 == 0
        }
        _ => false,
    };
    let is_padded = padding == (GROUP - count % GROUP) % GROUP;
    is_rest_whole && (padding == 0 || is_padded)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use values::push_base64;

    use super::*;

    fn hex(text: &str) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        read_hex(text.as_bytes(), &mut out).then_some(out)
    }

    fn base64(text: &str) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        read_base64(text.as_bytes(), &mut out).then_some(out)
    }

    #[test]
    fn hexadecimal_digits_are_pairs_behind_a_prefix() {
        for text in ["4aFf", "\\x4aFf", "\\X4AFF", "0x4aff", "0X4AFF", "x4aff"] {
            assert_eq!(hex(text), Some(vec![0x4a, 0xff]), "{text}");
        }
        assert_eq!(hex("\\x"), Some(Vec::new()));
        for text in ["4", "0x123", "\\x4g", "\\\\x41", "4a ff", "0x0x41", "x'41'", "\u{e9}1"] {
            assert_eq!(hex(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn written_base64_is_read_back(bytes: Vec<u8>) {
            let (mut text, mut out) = (Vec::new(), Vec::new());
            push_base64(&bytes, &mut text);
            prop_assert!(read_base64(&text, &mut out));
            prop_assert_eq!(out, bytes);
        }
    }

    #[test]
    fn base64_has_two_alphabets_and_may_lack_its_padding() {
        for (text, bytes) in [
            ("", &b""[..]),
            ("Zg==", b"f"),
            ("Zg", b"f"),
            ("Zm8=", b"fo"),
            ("Zm8", b"fo"),
            ("Zm9v", b"foo"),
            ("Zm9v\r\nYmFy\n", b"foobar"),
            ("+/+/", b"\xfb\xff\xbf"),
            ("-_-_", b"\xfb\xff\xbf"),
        ] {
            assert_eq!(base64(text).as_deref(), Some(bytes), "{text}");
        }
        for text in ["Z", "Zg=", "Zh==", "Zm9=", "Zm9v=", "====", "Zg==Zg==", "Zm 9v", "Zm9v*"] {
            assert_eq!(base64(text), None, "{text}");
        }
    }

    /// Base64 by the definition: 6 bits at a time.
    fn encode(bytes: &[u8], alphabet: &[u8; 64], is_padded: bool) -> String {
        let bit = |at: usize| bytes.get(at / 8).map_or(0, |byte| byte >> (7 - at % 8) & 1);
        let digit = |at: usize| (0..6).fold(0, |digit, of| digit << 1 | bit(at * 6 + of));
        let count = (bytes.len() * 8).div_ceil(6);
        let text = (0..count).map(|at| char::from(alphabet[usize::from(digit(at))]));
        let padding = if is_padded { (4 - count % 4) % 4 } else { 0 };
        text.chain(std::iter::repeat_n('=', padding)).collect()
    }

    proptest! {
        #[test]
        fn bytes_come_back(bytes in prop::collection::vec(any::<u8>(), 0..100), is_padded: bool) {
            let standard = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
            let urls = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
            for alphabet in [standard, urls] {
                let text = encode(&bytes, alphabet, is_padded);
                prop_assert_eq!(base64(&text), Some(bytes.clone()));
            }
            let digits: String = bytes.iter().map(|byte| format!("{byte:02X}")).collect();
            prop_assert_eq!(hex(&format!("0x{digits}")), Some(bytes.clone()));
            prop_assert_eq!(hex(&digits.to_lowercase()), Some(bytes));
        }

        #[test]
        fn any_text_is_read_or_refused(text: String) {
            let _ = (hex(&text), base64(&text));
        }
    }
}
