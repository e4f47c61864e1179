//! Strings of JSON texts, as MySQL reads them.
//!
//! Source: MySQL 9.7, extra/rapidjson `GenericReader::ParseStringToStream` and `ParseHex4`.

use super::tree::Span;

/// Reads the string whose opening quote is before `at`; a string with escapes is appended to
/// `unescaped` without them. The span, and the place behind the closing quote; None if the server
/// refuses the string.
#[inline]
pub(super) fn string(text: &[u8], at: usize, unescaped: &mut Vec<u8>) -> Option<(Span, usize)> {
    let len = plain_bytes(&text[at..]);
    match text.get(at + len)? {
        b'"' => Some((span(at, len, false)?, at + len + 1)),
        b'\\' => string_with_escapes(text, at, unescaped),
        _ => None,
    }
}

/// Bytes up to a quote, a backslash or a control character.
#[inline]
fn plain_bytes(text: &[u8]) -> usize {
    let is_plain = |byte: &u8| *byte >= b' ' && *byte != b'"' && *byte != b'\\';
    text.iter().position(|byte| !is_plain(byte)).unwrap_or(text.len())
}

fn span(start: usize, len: usize, is_unescaped: bool) -> Option<Span> {
    Some(Span { start: start.try_into().ok()?, len: len.try_into().ok()?, is_unescaped })
}

fn string_with_escapes(
    text: &[u8],
    mut at: usize,
    unescaped: &mut Vec<u8>,
) -> Option<(Span, usize)> {
    let start = unescaped.len();
    loop {
        let len = plain_bytes(&text[at..]);
        unescaped.extend_from_slice(&text[at..at + len]);
        at += len;
        match text.get(at)? {
            b'"' => return Some((span(start, unescaped.len() - start, true)?, at + 1)),
            b'\\' => at = escape(text, at + 1, unescaped)?,
            _ => return None,
        }
    }
}

/// Appends the character of the escape whose backslash is before `at`; the place behind it.
fn escape(text: &[u8], at: usize, unescaped: &mut Vec<u8>) -> Option<usize> {
    let byte = match text.get(at)? {
        byte @ (b'"' | b'\\' | b'/') => *byte,
        b'b' => 8,
        b'f' => 12,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'u' => return code_point(text, at + 1, unescaped),
        _ => return None,
    };
    unescaped.push(byte);
    Some(at + 1)
}

/// Appends the character of `\u` with its digits at `at`; the place behind it.
fn code_point(text: &[u8], mut at: usize, unescaped: &mut Vec<u8>) -> Option<usize> {
    let mut code = four_hex_digits(text, at)?;
    at += 4;
    if (0xd800..0xdc00).contains(&code) {
        let low = four_hex_digits(text, at + 2).filter(|low| (0xdc00..0xe000).contains(low))?;
        if text[at..at + 2] != *b"\\u" {
            return None;
        }
        code = 0x1_0000 + ((code - 0xd800) << 10) + (low - 0xdc00);
        at += 6;
    }
    let character = char::from_u32(code)?;
    unescaped.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
    Some(at)
}

fn four_hex_digits(text: &[u8], at: usize) -> Option<u32> {
    let digits = text.get(at..at + 4)?;
    digits.iter().try_fold(0, |n, &digit| Some(n << 4 | char::from(digit).to_digit(16)?))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<Vec<u8>> {
        let mut unescaped = b"before".to_vec();
        let (span, end) = string(text.as_bytes(), 1, &mut unescaped)?;
        assert_eq!(end, text.len());
        let bytes = if span.is_unescaped { unescaped.as_slice() } else { text.as_bytes() };
        Some(bytes[span.start as usize..][..span.len as usize].to_vec())
    }

    /// As MySQL 9.7.4 reads them.
    #[test]
    fn strings() {
        for (text, expected) in [
            ("\"\"", ""),
            ("\"a\u{e9}\u{7f}\"", "a\u{e9}\u{7f}"),
            (r#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{c}\n\r\t"),
            (r#""x\u00e9\u0000\ud83d\ude00y\uFfFf""#, "x\u{e9}\0\u{1f600}y\u{ffff}"),
        ] {
            assert_eq!(read(text).as_deref(), Some(expected.as_bytes()), "{text}");
        }
        for text in [
            "\"",
            "\"a",
            "\"\n\"",
            "\"\\n\n\"",
            "\"\0\"",
            "\"\\",
            r#""\'""#,
            r#""\a""#,
            r#""\u12""#,
            r#""\u12g4""#,
            r#""\ud800""#,
            r#""\ud83dx""#,
            r#""\udc00""#,
            r#""\ud83d\u0041""#,
            r#""\ud83d\ndc00""#,
            r#""\ud83d"#,
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
