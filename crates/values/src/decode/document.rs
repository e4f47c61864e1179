//! JSON documents of MySQL, to the text that the server shows.
//!
//! Source: MySQL 9.7, sql-common/json_binary.cc `Value`, `parse_scalar`; sql-common/json_dom.cc
//! `Json_wrapper::to_string`, `double_quote`, `Json_datetime::from_packed`; strings/dtoa.cc
//! `my_gcvt`.

use std::io::Write;

use super::number::DecimalForm;
use crate::base64::push_base64;

/// Arrays and objects in each other at most.
const DEPTH_MAX: usize = 100;
/// Types of MySQL's fields that documents have.
const TIMESTAMP: u8 = 7;
const DATE: u8 = 10;
const TIME: u8 = 11;
const DATETIME: u8 = 12;
const DECIMAL: u8 = 246;
/// The decimal exponents of doubles that are shown without one.
const POINT_MIN: i32 = -14;
const POINT_MAX: i32 = 15;
/// Fewest digits of a double that can be exactly between two texts of as many.
const DIGITS_OF_HALVES: usize = 15;
/// Characters of a line in base64.
const BASE64_LINE: usize = 76;

/// Appends the text of a document; false if there is none.
pub(super) fn push_document(stored: &[u8], out: &mut Vec<u8>) -> bool {
    match stored.split_first() {
        // The server stores it in place of NULL, with INSERT IGNORE, and shows this.
        None => out.extend_from_slice(b"null"),
        Some((kind, value)) => {
            return Writer { out, left: stored.len() }.push_value(*kind, value, 0).is_some();
        }
    }
    true
}

/// Writes the text of one document.
struct Writer<'o> {
    out: &'o mut Vec<u8>,
    /// Bytes of entries and strings that the document can still have. Those of a damaged one may lie on each
    /// other.
    left: usize,
}

impl Writer<'_> {
    fn charge(&mut self, bytes: usize) -> Option<()> {
        self.left = self.left.checked_sub(bytes)?;
        Some(())
    }

    /// Appends a value that begins where `data` does. Calls itself at most [`DEPTH_MAX`] times.
    fn push_value(&mut self, kind: u8, data: &[u8], depth: usize) -> Option<()> {
        match kind {
            0..=3 => self.push_container(kind, data, depth)?,
            4 => self.out.extend_from_slice(match data.first()? {
                0 => b"null",
                1 => b"true",
                2 => b"false",
                _ => return None,
            }),
            5 => push_shown(i16::from_le_bytes(*data.first_chunk()?), self.out),
            6 => push_shown(u16::from_le_bytes(*data.first_chunk()?), self.out),
            7 => push_shown(i32::from_le_bytes(*data.first_chunk()?), self.out),
            8 => push_shown(u32::from_le_bytes(*data.first_chunk()?), self.out),
            9 => push_shown(i64::from_le_bytes(*data.first_chunk()?), self.out),
            10 => push_shown(u64::from_le_bytes(*data.first_chunk()?), self.out),
            11 => push_double(f64::from_le_bytes(*data.first_chunk()?), self.out)?,
            12 => {
                let text = string(data)?;
                self.charge(text.len())?;
                push_quoted(text, self.out);
            }
            15 => {
                let value = string(data.get(1..)?)?;
                self.charge(value.len())?;
                push_opaque(*data.first()?, value, self.out)?;
            }
            _ => return None,
        }
        Some(())
    }

    fn push_container(&mut self, kind: u8, data: &[u8], depth: usize) -> Option<()> {
        if depth == DEPTH_MAX {
            return None;
        }
        let format = Format { offset_bytes: if kind & 1 == 0 { 2 } else { 4 } };
        let is_object = kind < 2;
        let count = format.number(data, 0)?;
        let data = data.get(..format.number(data, format.offset_bytes)?)?;
        let keys = 2 * format.offset_bytes;
        let key_bytes = if is_object { format.offset_bytes + 2 } else { 0 };
        let value_bytes = 1 + format.offset_bytes;
        let values = count.checked_mul(key_bytes)?.checked_add(keys)?;
        let end = count.checked_mul(value_bytes)?.checked_add(values)?;
        if end > data.len() {
            return None;
        }
        self.charge(end)?;
        self.out.push(if is_object { b'{' } else { b'[' });
        for place in 0..count {
            if place > 0 {
                self.out.extend_from_slice(b", ");
            }
            if is_object {
                let at = keys + place * key_bytes;
                let len = u16::from_le_bytes(*data[at + format.offset_bytes..].first_chunk()?);
                let key = data.get(format.number(data, at)?..)?.get(..usize::from(len))?;
                self.charge(key.len())?;
                push_quoted(key, self.out);
                self.out.extend_from_slice(b": ");
            }
            let at = values + place * value_bytes;
            let kind = data[at];
            let start = match format.is_inlined(kind) {
                true => at + 1,
                false => format.number(data, at + 1)?,
            };
            self.push_value(kind, data.get(start..)?, depth + 1)?;
        }
        self.out.push(if is_object { b'}' } else { b']' });
        Some(())
    }
}

/// The widths of a container's numbers.
#[derive(Clone, Copy)]
struct Format {
    offset_bytes: usize,
}

impl Format {
    fn number(self, data: &[u8], at: usize) -> Option<usize> {
        let bytes = data.get(at..)?;
        match self.offset_bytes {
            2 => Some(u16::from_le_bytes(*bytes.first_chunk()?).into()),
            _ => usize::try_from(u32::from_le_bytes(*bytes.first_chunk()?)).ok(),
        }
    }

    /// True if the entry has the value itself: literals, and integers as wide as an offset.
    fn is_inlined(self, kind: u8) -> bool {
        matches!(kind, 4..=6) || (self.offset_bytes == 4 && matches!(kind, 7 | 8))
    }
}

/// The string behind its length of seven bits a byte.
fn string(data: &[u8]) -> Option<&[u8]> {
    let mut len = 0_u64;
    for (place, byte) in data.iter().enumerate().take(5) {
        len |= u64::from(byte & 0x7f) << (7 * place);
        if byte & 0x80 == 0 {
            return data[place + 1..].get(..usize::try_from(len).ok()?);
        }
    }
    None
}

fn push_shown(value: impl std::fmt::Display, out: &mut Vec<u8>) {
    // Writing to memory does not fail.
    let _ = write!(out, "{value}");
}

/// Appends a string in quotes.
fn push_quoted(text: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    let mut rest = text;
    let is_special = |byte: &u8| matches!(byte, 0..0x20 | b'"' | b'\\');
    while let Some(at) = rest.iter().position(is_special) {
        out.extend_from_slice(&rest[..at]);
        match rest[at] {
            byte @ (b'"' | b'\\') => out.extend_from_slice(&[b'\\', byte]),
            8 => out.extend_from_slice(b"\\b"),
            12 => out.extend_from_slice(b"\\f"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            byte => push_shown(format_args!("\\u{byte:04x}"), out),
        }
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
    out.push(b'"');
}

/// Appends a double: the shortest digits, with a point or an exponent always.
fn push_double(number: f64, out: &mut Vec<u8>) -> Option<()> {
    if !number.is_finite() {
        return None;
    }
    let mut short = [0; 32];
    let mut unused = &mut short[..];
    write!(unused, "{:e}", number.abs()).ok()?;
    let left = unused.len();
    let end = short.len() - left;
    round_half_to_even(number.abs(), &mut short[..end]);
    let text = &short[..end];
    let exponent_at = text.iter().position(|byte| *byte == b'e')?;
    let exponent: i32 = str::from_utf8(&text[exponent_at + 1..]).ok()?.parse().ok()?;
    let digits = || text[..exponent_at].iter().copied().filter(u8::is_ascii_digit);
    let (count, point) = (digits().count() as i32, exponent + 1);
    if number.is_sign_negative() {
        out.push(b'-');
    }
    if point < POINT_MIN || (point > POINT_MAX && count <= point) {
        out.extend_from_slice(text);
        return Some(());
    }
    if point <= 0 {
        out.extend_from_slice(b"0.");
        out.extend(std::iter::repeat_n(b'0', point.unsigned_abs() as usize));
        out.extend(digits());
        return Some(());
    }
    let zeros = std::iter::repeat_n(b'0', (point - count).max(0) as usize);
    for (place, digit) in (0..).zip(digits().chain(zeros)) {
        if place == point {
            out.push(b'.');
        }
        out.push(digit);
    }
    if count <= point {
        out.extend_from_slice(b".0");
    }
    Some(())
}

/// Makes the last digit even where the number is exactly between two texts of so many digits: Rust takes the
/// upper one.
fn round_half_to_even(number: f64, text: &mut [u8]) {
    let Some(end) = text.iter().position(|byte| *byte == b'e') else { return };
    let count = text[..end].iter().filter(|byte| byte.is_ascii_digit()).count();
    // All numbers that end in a 5 behind their shortest text are exact within these digits.
    if text[end - 1] & 1 == 0 || count < DIGITS_OF_HALVES {
        return;
    }
    let exact = format!("{number:.30e}");
    let mut rest = exact.bytes().filter(u8::is_ascii_digit).skip(count);
    if rest.next() == Some(b'5') && rest.take(30 - count).all(|digit| digit == b'0') {
        text[end - 1] -= 1;
    }
}

/// Appends a value of a type that JSON has not.
fn push_opaque(field_type: u8, data: &[u8], out: &mut Vec<u8>) -> Option<()> {
    match field_type {
        DECIMAL => {
            let (&[precision, scale], digits) = data.split_first_chunk()?;
            let integral = usize::from(precision.checked_sub(scale)?);
            let form = DecimalForm::new(integral, scale.into())?;
            form.push(digits, out).then_some(())
        }
        DATE | TIME | DATETIME | TIMESTAMP => {
            let packed = i64::from_le_bytes(data.try_into().ok()?);
            out.push(b'"');
            push_packed(field_type, packed, out);
            out.push(b'"');
            Some(())
        }
        _ => {
            push_shown(format_args!("\"base64:type{field_type}:"), out);
            push_base64_lines(data, out);
            out.push(b'"');
            Some(())
        }
    }
}

/// Appends a date, a time or both.
fn push_packed(field_type: u8, packed: i64, out: &mut Vec<u8>) {
    if packed < 0 {
        out.push(b'-');
    }
    let (whole, micros) = (packed.unsigned_abs() >> 24, packed.unsigned_abs() & 0xff_ffff);
    let (day, clock) = (whole >> 17, whole & 0x1_ffff);
    let (year, month, day) = ((day >> 5) / 13 % 10_000, (day >> 5) % 13, day & 31);
    let (hour, minute, second) = (clock >> 12, clock >> 6 & 63, clock & 63);
    match field_type {
        DATE => push_shown(format_args!("{year:04}-{month:02}-{day:02}"), out),
        TIME => {
            let hour = whole >> 12 & 0x3ff;
            push_shown(format_args!("{hour:02}:{minute:02}:{second:02}.{micros:06}"), out);
        }
        _ => push_shown(
            format_args!(
                "{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}.{micros:06}"
            ),
            out,
        ),
    }
}

/// Appends bytes in base64, with the ends of lines that the server puts there.
fn push_base64_lines(bytes: &[u8], out: &mut Vec<u8>) {
    for (number, line) in bytes.chunks(BASE64_LINE / 4 * 3).enumerate() {
        if number > 0 {
            out.extend_from_slice(b"\\n");
        }
        push_base64(line, out);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::{ConvertOptions, Converter, SqlType};

    fn shown(stored: &[u8]) -> Option<String> {
        let mut out = Vec::new();
        push_document(stored, &mut out).then(|| String::from_utf8(out).unwrap())
    }

    fn document(text: &str) -> Vec<u8> {
        let options = ConvertOptions::default();
        let mut stored = Vec::new();
        let mut converter = Converter::new("j", &SqlType::Document, &options).unwrap();
        converter.convert(text.as_bytes(), &mut stored).unwrap();
        stored
    }

    /// As MySQL 9.7.4 shows them.
    #[test]
    fn documents_have_the_text_of_the_server() {
        for (text, expected) in [
            ("{\"bb\":1,\"a\":[ ],\"\":{}}", "{\"\": {}, \"a\": [], \"bb\": 1}"),
            ("[null,true,false,-1,70000,9007199254740993,18446744073709551615]", ""),
            ("[1e14,1e15,1e22,1.0,-0.0,0.1]", "[100000000000000.0, 1e15, 1e22, 1.0, -0.0, 0.1]"),
            (
                "[1234567890123456.8,9.999999999999998e15,123456789012345.67]",
                "[1234567890123456.8, 9.999999999999998e15, 123456789012345.67]",
            ),
            (
                "[1030096775190333.25,-699999999999999.25,4000000000000.78125]",
                "[1030096775190333.2, -699999999999999.2, 4000000000000.7812]",
            ),
            (
                "[1.2e-15,1.2e-16,1e-5,5e-324,1.7976931348623157e308,15e1]",
                "[0.0000000000000012, 1.2e-16, 0.00001, 5e-324, 1.7976931348623157e308, 150.0]",
            ),
            (
                r#""\u0000\u001f\u007f/\"\\\b\f\n\r\t""#,
                "\"\\u0000\\u001f\u{7f}/\\\"\\\\\\b\\f\\n\\r\\t\"",
            ),
        ] {
            let expected =
                if expected.is_empty() { text.replace(',', ", ") } else { expected.to_owned() };
            assert_eq!(shown(&document(text)), Some(expected), "{text}");
        }
        let large = format!("[70000, -70000, [\"{}\"], {{\"a\": 1}}]", "x".repeat(70_000));
        assert_eq!(shown(&document(&large)), Some(large));
        assert_eq!(shown(b""), Some("null".to_owned()));
    }

    #[test]
    fn values_of_sql_types() {
        let opaque =
            |field_type: u8, bytes: &[u8]| [&[15, field_type, bytes.len() as u8], bytes].concat();
        let decimal = opaque(DECIMAL, &[3, 2, 0x81, 0x0a]);
        assert_eq!(shown(&decimal).as_deref(), Some("1.10"));
        let time = (838_u64 << 12 | 59 << 6 | 59) << 24 | 5;
        assert_eq!(
            shown(&opaque(TIME, &time.to_le_bytes())).as_deref(),
            Some("\"838:59:59.000005\"")
        );
        let day = (2020 * 13 + 1) << 5 | 2_u64;
        let moment = (day << 17 | 3 << 12 | 4 << 6 | 5) << 24 | 123_000;
        assert_eq!(
            shown(&opaque(DATETIME, &moment.to_le_bytes())).as_deref(),
            Some("\"2020-01-02 03:04:05.123000\"")
        );
        let date = (day << 41).to_le_bytes();
        assert_eq!(shown(&opaque(DATE, &date)).as_deref(), Some("\"2020-01-02\""));
        let bytes = [0xca, 0xfe].repeat(30);
        let text = shown(&opaque(15, &bytes)).unwrap();
        assert!(text.starts_with("\"base64:type15:yv7K/sr+") && text.ends_with("sr+yv7K\\n/sr+\""));
        assert_eq!(shown(&opaque(15, &bytes[..1])).as_deref(), Some("\"base64:type15:yg==\""));
    }

    #[test]
    fn containers_on_each_other_are_no_document() {
        // Both values of each array are the next array.
        let mut stored = vec![2];
        for _ in 0..99 {
            stored.extend_from_slice(&[2, 0, 0xff, 0, 2, 10, 0, 2, 10, 0]);
        }
        stored.resize(2000, 0);
        assert_eq!(shown(&stored), None);
    }

    #[test]
    fn damaged_documents_have_no_text() {
        let stored = document("{\"a\":[1,\"b\",{\"c\":70000}],\"d\":1.5}");
        for len in 1..stored.len() {
            assert_eq!(shown(&stored[..len]), None, "{len}");
        }
        for at in 0..stored.len() {
            for bits in [1, 0x80, 0xff] {
                let mut damaged = stored.clone();
                damaged[at] ^= bits;
                push_document(&damaged, &mut Vec::new());
            }
        }
    }
}
