//! A JSON object a line: numbers as numbers, with all their digits; text, dates and times as strings, bytes
//! as strings in base64, bits as a number, JSON as it is, NULL as null.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use sources::json::is_json;

use super::{Field, Kind, without_zerofill};
use crate::error::no_text_reason;

/// One object a row.
#[derive(Debug)]
pub(crate) struct JsonLines {
    /// `"name":`, with the comma before it.
    names: Vec<Vec<u8>>,
    kinds: Vec<Kind>,
}

impl JsonLines {
    pub(crate) fn new(fields: &[Field]) -> JsonLines {
        let name = |(at, field): (usize, &Field)| {
            let mut name = if at > 0 { vec![b','] } else { Vec::new() };
            push_string(&field.name, &mut name);
            name.push(b':');
            name
        };
        JsonLines {
            names: fields.iter().enumerate().map(name).collect(),
            kinds: fields.iter().map(|field| field.kind).collect(),
        }
    }

    /// Errors: why the value is no text in JSON.
    #[inline]
    pub(crate) fn value(
        &self,
        field: usize,
        value: Option<&[u8]>,
        out: &mut Vec<u8>,
    ) -> Result<(), Box<str>> {
        out.extend_from_slice(&self.names[field]);
        let Some(value) = value else {
            out.extend_from_slice(b"null");
            return Ok(());
        };
        match self.kinds[field] {
            Kind::Number => out.extend_from_slice(without_zerofill(value)),
            Kind::Clock => {
                out.push(b'"');
                out.extend_from_slice(value);
                out.push(b'"');
            }
            Kind::Json if is_json(value) => {
                // Line ends are blanks between values: strings have none.
                let blank = |&byte: &u8| if matches!(byte, b'\n' | b'\r') { b' ' } else { byte };
                out.extend(value.iter().map(blank));
            }
            // The server stores halves of pairs of UTF-16 (ED A0..BF xx), which are no text.
            Kind::Text | Kind::Json => match str::from_utf8(value) {
                Ok(text) => push_string(text, out),
                Err(_) => return Err(no_text_reason().into()),
            },
            Kind::Bytes => push_base64(value, out),
            Kind::Bits => {
                let number = value.iter().fold(0u64, |sum, byte| sum << 8 | u64::from(*byte));
                out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
            }
        }
        Ok(())
    }
}

fn push_string(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    text.bytes().for_each(|byte| push_byte(byte, out));
    out.push(b'"');
}

#[inline]
fn push_byte(byte: u8, out: &mut Vec<u8>) {
    let letter = match byte {
        b'"' | b'\\' => byte,
        b'\n' => b'n',
        b'\r' => b'r',
        b'\t' => b't',
        0..0x20 => {
            push_unit(byte.into(), out);
            return;
        }
        _ => {
            out.push(byte);
            return;
        }
    };
    out.extend_from_slice(&[b'\\', letter]);
}

fn push_unit(unit: u16, out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |shift: u32| DIGITS[usize::from(unit >> shift & 15)];
    out.extend_from_slice(&[b'\\', b'u', digit(12), digit(8), digit(4), digit(0)]);
}

fn push_base64(bytes: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    let start = out.len();
    out.resize(start + bytes.len().div_ceil(3) * 4, 0);
    // The room is just what it takes.
    let written = STANDARD.encode_slice(bytes, &mut out[start..]).unwrap_or(0);
    out.truncate(start + written);
    out.push(b'"');
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn value(kind: Kind, value: Option<&[u8]>) -> String {
        let json = JsonLines::new(&[Field { name: "a\"".to_owned(), kind }]);
        let mut out = Vec::new();
        json.value(0, value, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn half_of_a_surrogate_pair_is_refused() {
        for kind in [Kind::Text, Kind::Json] {
            let json = JsonLines::new(&[Field { name: "a".to_owned(), kind }]);
            let why = json.value(0, Some(b"x\xed\xa0\x80"), &mut Vec::new()).unwrap_err();
            assert!(why.contains("UTF-8"), "{why}");
        }
    }

    #[test]
    fn values_are_json() {
        assert_eq!(
            value(Kind::Number, Some(b"18446744073709551615")),
            r#""a\"":18446744073709551615"#
        );
        assert_eq!(value(Kind::Clock, Some(b"12:00:00")), r#""a\"":"12:00:00""#);
        assert_eq!(value(Kind::Text, None), r#""a\"":null"#);
        assert_eq!(
            value(Kind::Text, Some("\"\\\n\x01 wörd 😀".as_bytes())),
            "\"a\\\"\":\"\\\"\\\\\\n\\u0001 wörd 😀\""
        );
        assert_eq!(value(Kind::Json, Some(b"{\"k\":\n[1]}")), r#""a\"":{"k": [1]}"#);
        assert_eq!(
            value(Kind::Json, Some(b"{")),
            r#""a\"":"{""#,
            "of a table whose checks were off"
        );
        assert_eq!(value(Kind::Bits, Some(&[1, 2])), r#""a\"":258"#);
        for (bytes, text) in [("", ""), ("M", "TQ=="), ("Ma", "TWE="), ("Man", "TWFu")] {
            assert_eq!(value(Kind::Bytes, Some(bytes.as_bytes())), format!("\"a\\\"\":\"{text}\""));
        }
    }
}
