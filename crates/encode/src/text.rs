//! Values as text: fields of LOAD DATA's lines, and literals of INSERT.
//!
//! A literal is what LOAD DATA would have read of the file: the server converts
//! `_latin1 x'e9'` as it does a field of a file in latin1. Text in UTF-8 and all ASCII goes between
//! quotes, everything else as hexadecimal digits after the name of its character set, so that a
//! statement is UTF-8 whatever the file is.

use values::{Charset, Family, SqlType};

/// Between the fields of a line.
pub const SEPARATOR: u8 = b'\t';
/// After a line.
pub const TERMINATOR: u8 = b'\n';

/// Bytes that are looked at together.
const BLOCK: usize = 16;

/// The escape of lines in a character set.
///
/// Not a backslash where that may be the second byte of a character (big5, gbk, gb18030, sjis, cp932): a
/// control character is none anywhere.
pub fn escape(file: Charset) -> u8 {
    match file.name() {
        "big5" | "gbk" | "gb18030" | "sjis" | "cp932" => 0x01,
        _ => b'\\',
    }
}

/// Appends a field of a line.
#[inline]
pub fn push_field(text: &[u8], escape: u8, out: &mut Vec<u8>) {
    let is_special = |byte: u8| byte == SEPARATOR || byte == TERMINATOR || byte == escape;
    push(text, is_special, out, |byte, out| {
        out.push(escape);
        out.push(match byte {
            SEPARATOR => b't',
            TERMINATOR => b'n',
            byte => byte,
        });
    });
}

/// How the values of a column are written as literals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Literal {
    /// An integer without quotes where it is nothing but digits, else as `Text`.
    Number,
    /// Text in the character set of the file.
    Text,
    /// Bytes.
    Bytes,
    /// Bytes that must not be text in a character set.
    Hex,
}

impl Literal {
    /// For columns of a type.
    pub fn of(sql_type: &SqlType) -> Literal {
        use Family::*;
        match sql_type.family() {
            Integer => Literal::Number,
            CheckedBytes => Literal::Hex,
            Bits | Bytes | OpaqueBytes => Literal::Bytes,
            Decimal | Real | Year | Temporal | Moment => Literal::Text,
            Labels(_) | Text(_) | Json(_) | Document | Formatted | OpaqueText => Literal::Text,
        }
    }
}

/// Writes literals of values from a file in one character set.
#[derive(Clone, Copy, Debug)]
pub struct Literals {
    /// `_latin1`, before texts that are not ASCII or UTF-8.
    file: &'static str,
    /// True if ASCII of the file is ASCII.
    is_ascii_superset: bool,
    is_utf8: bool,
    is_binary: bool,
}

impl Literals {
    /// Literals of text in the character set of a file.
    pub fn new(file: Charset) -> Literals {
        Literals {
            file: file.name(),
            is_ascii_superset: file.is_ascii_superset(),
            is_utf8: matches!(file, Charset::Utf8mb4 | Charset::Utf8mb3),
            is_binary: file == Charset::Binary,
        }
    }

    /// Appends the literal of a value.
    #[inline]
    pub fn push(&self, text: &[u8], literal: Literal, out: &mut Vec<u8>) {
        match literal {
            Literal::Number if is_plain_integer(text) => out.extend_from_slice(text),
            Literal::Number | Literal::Text => self.push_text(text, out),
            Literal::Bytes if text.is_ascii() => push_quoted(text, out),
            Literal::Bytes | Literal::Hex => push_hex("binary", text, out),
        }
    }

    #[inline]
    fn push_text(&self, text: &[u8], out: &mut Vec<u8>) {
        if text.is_ascii() && self.is_ascii_superset {
            if self.is_binary {
                // Bytes become no text of another character set: those of ucs2 stay as they are.
                out.extend_from_slice(b"_binary");
            }
            push_quoted(text, out);
        } else if self.is_utf8 && std::str::from_utf8(text).is_ok() {
            push_quoted(text, out);
        } else {
            push_hex(self.file, text, out);
        }
    }
}

/// True if the server reads the same number from `text` with quotes and without: digits without
/// leading zeros, few enough for a BIGINT.
fn is_plain_integer(text: &[u8]) -> bool {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    match digits {
        [b'0'] => digits.len() == text.len(),
        [b'1'..=b'9', rest @ ..] => rest.len() < 18 && rest.iter().all(u8::is_ascii_digit),
        _ => false,
    }
}

/// Appends ASCII or UTF-8 between quotes, for a session in utf8mb4 without NO_BACKSLASH_ESCAPES.
#[inline]
fn push_quoted(text: &[u8], out: &mut Vec<u8>) {
    out.push(b'\'');
    let is_special = |byte: u8| byte == b'\'' || byte == b'\\';
    push(text, is_special, out, |byte, out| out.extend_from_slice(&[byte, byte]));
    out.push(b'\'');
}

fn push_hex(charset: &str, bytes: &[u8], out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    out.push(b'_');
    out.extend_from_slice(charset.as_bytes());
    out.extend_from_slice(b" x'");
    out.reserve(2 * bytes.len() + 1);
    for byte in bytes {
        let (high, low) = (usize::from(byte >> 4), usize::from(byte & 15));
        out.extend_from_slice(&[DIGITS[high], DIGITS[low]]);
    }
    out.push(b'\'');
}

/// Appends `text`, its special bytes by `escape`. Blocks without any are copied whole: nearly all.
#[inline(always)]
fn push(
    text: &[u8],
    is_special: impl Fn(u8) -> bool + Copy,
    out: &mut Vec<u8>,
    escape: impl Fn(u8, &mut Vec<u8>) + Copy,
) {
    let one_by_one = |bytes: &[u8], out: &mut Vec<u8>| {
        for &byte in bytes {
            match is_special(byte) {
                true => escape(byte, out),
                false => out.push(byte),
            }
        }
    };
    let (blocks, rest) = text.as_chunks::<BLOCK>();
    for block in blocks {
        match block.iter().fold(false, |any, &byte| any | is_special(byte)) {
            true => one_by_one(block, out),
            false => out.extend_from_slice(block),
        }
    }
    match rest.iter().fold(false, |any, &byte| any | is_special(byte)) {
        true => one_by_one(rest, out),
        false => out.extend_from_slice(rest),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use sources::{Dialect, MultiByte, Row, Rows, Value};

    use super::*;

    /// The fields of a line, as LOAD DATA would read them with this escape.
    fn read(line: &[u8], escape: u8) -> Vec<Option<Vec<u8>>> {
        let dialect =
            Dialect { escaped_by: Some(escape), charset: MultiByte::None, ..Dialect::mysql() };
        let index = dialect.index(line);
        let rows = index.rows(line);
        assert_eq!(rows.len(), 1, "one line is one row");
        let (row, mut scratch) = (rows.row(0), Vec::new());
        let value = |field| match row.value(field, &mut scratch) {
            Value::Bytes(bytes) => Some(bytes.to_vec()),
            _ => None,
        };
        (0..row.field_count()).map(value).collect()
    }

    /// The bytes that a literal stands for.
    fn literal_bytes(literal: &str) -> Vec<u8> {
        let (head, rest) = literal.split_once('\'').unwrap_or((literal, ""));
        let inner = rest.strip_suffix('\'').unwrap_or(rest);
        match head {
            digits if rest.is_empty() => digits.as_bytes().to_vec(),
            "" | "_binary" => inner.replace("''", "'").replace("\\\\", "\\").into_bytes(),
            _ => {
                let digit = |at: usize| u8::from_str_radix(&inner[at..at + 2], 16).unwrap_or(0);
                (0..inner.len()).step_by(2).map(digit).collect()
            }
        }
    }

    /// Bytes among which those that mean something are common.
    fn values() -> impl Strategy<Value = Vec<u8>> {
        let special = prop::sample::select(b"\\'\t\n\x01N\0".to_vec());
        prop::collection::vec(prop_oneof![any::<u8>(), special], 0..50)
    }

    proptest! {
        #[test]
        fn fields_are_read_back_as_they_were(
            row in prop::collection::vec(values(), 1..5),
            escape in prop::sample::select(vec![b'\\', 1]),
        ) {
            let mut line = Vec::new();
            for value in &row {
                push_field(value, escape, &mut line);
                line.push(SEPARATOR);
            }
            line.pop();
            line.push(TERMINATOR);
            let wanted: Vec<_> = row.into_iter().map(Some).collect();
            prop_assert_eq!(read(&line, escape), wanted);
        }

        #[test]
        fn literals_stand_for_their_bytes(
            value in values(),
            kind in prop::sample::select(
                vec![Literal::Number, Literal::Text, Literal::Bytes, Literal::Hex]
            ),
            file in prop::sample::select(vec![Charset::Utf8mb4, Charset::Latin1, Charset::Binary]),
        ) {
            prop_assert_eq!(literal_bytes(&literal(file, kind, &value)), value);
        }
    }

    fn literal(file: Charset, literal: Literal, text: &[u8]) -> String {
        let mut out = Vec::new();
        Literals::new(file).push(text, literal, &mut out);
        String::from_utf8(out).unwrap_or_default()
    }

    #[test]
    fn fields_are_escaped_in_blocks_and_at_their_ends() {
        let mut out = Vec::new();
        push_field(b"a\tb\nc\\d\0'", b'\\', &mut out);
        assert_eq!(out, b"a\\tb\\nc\\\\d\0'");
        for at in 0..40 {
            let mut text = vec![b'x'; 40];
            text[at] = b'\n';
            let mut out = Vec::new();
            push_field(&text, 1, &mut out);
            let expected = [&text[..at], b"\x01n", &text[at + 1..]].concat();
            assert_eq!(out, expected);
        }
    }

    #[test]
    fn the_escape_is_no_part_of_a_character() {
        assert_eq!(escape(Charset::Utf8mb4), b'\\');
        assert_eq!(escape(Charset::Latin1), b'\\');
    }

    #[test]
    fn integers_go_without_quotes_where_that_is_the_same() {
        for text in ["0", "-1", "17", "123456789012345678"] {
            assert_eq!(literal(Charset::Latin1, Literal::Number, text.as_bytes()), text);
        }
        for text in ["", "-", "-0", "01", "1 ", "1e3", "+5", "1234567890123456789", "0x10"] {
            let expected = format!("'{text}'");
            assert_eq!(literal(Charset::Latin1, Literal::Number, text.as_bytes()), expected);
        }
    }

    #[test]
    fn literals_are_utf8_whatever_the_file_is() {
        use Charset::{Binary, Latin1, Utf8mb3, Utf8mb4};
        for (file, kind, text, expected) in [
            (Utf8mb4, Literal::Text, "it's \\ \u{e9}".as_bytes(), "'it''s \\\\ \u{e9}'"),
            (Utf8mb3, Literal::Text, b"\xed\xa0\x80", "_utf8mb3 x'EDA080'"),
            (Latin1, Literal::Text, b"abc", "'abc'"),
            (Latin1, Literal::Text, b"\xe9a", "_latin1 x'E961'"),
            (Binary, Literal::Text, b"abc", "_binary'abc'"),
            (Binary, Literal::Text, b"\xff", "_binary x'FF'"),
            (Utf8mb4, Literal::Bytes, b"a\0\n", "'a\0\n'"),
            (Utf8mb4, Literal::Bytes, "\u{e9}".as_bytes(), "_binary x'C3A9'"),
            (Utf8mb4, Literal::Hex, b"abcd", "_binary x'61626364'"),
        ] {
            assert_eq!(literal(file, kind, text), expected);
        }
    }
}
