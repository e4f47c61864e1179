//! Decoded text converts to the same bytes again.

use proptest::prelude::*;

use super::*;
use crate::charset::Charset;
use crate::sql_type::TextType;
use crate::{ConvertOptions, Converter};

fn decoded(sql_type: &SqlType, stored: &[u8]) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    Decoder::new(sql_type)?.decode(stored, &mut text).ok()?;
    Some(text)
}

fn converted(sql_type: &SqlType, text: &[u8]) -> Option<Vec<u8>> {
    let mut converter = Converter::new("c", sql_type, &ConvertOptions::default()).unwrap();
    let mut stored = Vec::new();
    converter.convert(text, &mut stored).ok()?;
    Some(stored)
}

/// Whatever a text converts to is decoded to a text that converts to the same.
fn comes_back(sql_type: &SqlType, text: &[u8]) {
    let Some(stored) = converted(sql_type, text) else { return };
    let back = decoded(sql_type, &stored).unwrap_or_else(|| panic!("{sql_type}: {stored:x?}"));
    assert_eq!(
        converted(sql_type, &back),
        Some(stored),
        "{sql_type}: {:?} became {:?}",
        String::from_utf8_lossy(text),
        String::from_utf8_lossy(&back)
    );
}

fn text_type(charset: Charset) -> TextType {
    TextType { charset, collation: format!("{}_bin", charset.name()) }
}

#[test]
fn texts_are_those_of_a_select() {
    let labels = || ["a", "b c", "ü"].map(str::to_owned).to_vec();
    for (sql_type, text, shown) in [
        (SqlType::Integer { bytes: 3, unsigned: false }, "-8388608", "-8388608"),
        (
            SqlType::Integer { bytes: 8, unsigned: true },
            "18446744073709551615",
            "18446744073709551615",
        ),
        (
            SqlType::Decimal { precision: 12, scale: 2, unsigned: false },
            "-1234567890.5",
            "-1234567890.50",
        ),
        (
            SqlType::Decimal { precision: 20, scale: 0, unsigned: false },
            "10000000000000000001",
            "10000000000000000001",
        ),
        (SqlType::Decimal { precision: 5, scale: 5, unsigned: false }, "-.00012", "-0.00012"),
        (
            SqlType::Decimal { precision: 65, scale: 30, unsigned: false },
            "1e-30",
            "0.000000000000000000000000000001",
        ),
        (SqlType::Year, "0000", "0000"),
        (SqlType::Year, "2155", "2155"),
        (SqlType::Date, "2024-2-3", "2024-02-03"),
        (SqlType::Time { digits: 3 }, "-838:59:59.123", "-838:59:59.123"),
        (SqlType::Time { digits: 0 }, "-0:00:01", "-00:00:01"),
        (SqlType::DateTime { digits: 5 }, "9999-12-31 23:59:59.98765", "9999-12-31 23:59:59.98765"),
        (SqlType::Timestamp { digits: 1 }, "2038-01-19 03:14:07.9", "2038-01-19 03:14:07.9"),
        (SqlType::Timestamp { digits: 0 }, "1970-01-01 00:00:01", "1970-01-01 00:00:01"),
        (SqlType::Enum { labels: labels(), text: text_type(Charset::Utf8mb4) }, "ü", "ü"),
        (SqlType::Set { labels: labels(), text: text_type(Charset::Utf8mb4) }, "b c,a", "a,b c"),
        (SqlType::Char { chars: 5, text: text_type(Charset::Latin1) }, "ü ", "ü"),
        (SqlType::Char { chars: 5, text: text_type(Charset::Utf16) }, "😀 ", "😀"),
        (SqlType::VarChar { chars: 5, text: text_type(Charset::Ucs2) }, "ü ", "ü "),
        (
            SqlType::Uuid,
            "123E4567-e89b-12d3-a456-426614174000",
            "123e4567-e89b-12d3-a456-426614174000",
        ),
        (
            SqlType::Uuid,
            "0189f6a8-0000-7000-8000-000000000001",
            "0189f6a8-0000-7000-8000-000000000001",
        ),
        (SqlType::Inet4, "10.0.0.1", "10.0.0.1"),
        (SqlType::Inet6, "2001:DB8:0:0::1", "2001:db8::1"),
        (SqlType::Inet6, "::ffff:1.2.3.4", "::ffff:1.2.3.4"),
    ] {
        let stored = converted(&sql_type, text.as_bytes()).unwrap_or_else(|| panic!("{text}"));
        let back = decoded(&sql_type, &stored).unwrap_or_else(|| panic!("{text}"));
        assert_eq!(String::from_utf8(back).unwrap(), shown);
        comes_back(&sql_type, text.as_bytes());
    }
    assert_eq!(
        decoded(&SqlType::Timestamp { digits: 2 }, &[0; 5]).unwrap(),
        b"0000-00-00 00:00:00.00"
    );
    assert_eq!(decoded(&SqlType::Date, &[0x80, 0, 0]).unwrap(), b"0000-00-00");
}

#[test]
fn what_no_value_is_stored_as_is_refused() {
    let labels = vec!["a".to_owned()];
    let text = text_type(Charset::Utf8mb4);
    for (sql_type, stored) in [
        (SqlType::Integer { bytes: 4, unsigned: false }, &[0; 3][..]),
        (SqlType::Decimal { precision: 10, scale: 2, unsigned: false }, &[0; 4]),
        (SqlType::Double { unsigned: false, digits: None }, &[0; 4]),
        (SqlType::Date, &[0; 4]),
        (SqlType::Time { digits: 6 }, &[0; 3]),
        (SqlType::DateTime { digits: 0 }, &[0; 8]),
        (SqlType::Timestamp { digits: 0 }, &[]),
        (SqlType::Enum { labels: labels.clone(), text: text.clone() }, &[2]),
        (SqlType::Set { labels, text }, &[2]),
        (SqlType::Uuid, &[0; 4]),
        (SqlType::Inet4, &[0; 16]),
    ] {
        assert_eq!(decoded(&sql_type, stored), None, "{sql_type}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_integer_comes_back(number: i64, bytes in prop::sample::select(vec![1u8, 2, 3, 4, 8]), unsigned: bool) {
        let shifted = number >> (64 - 8 * u32::from(bytes));
        comes_back(&SqlType::Integer { bytes, unsigned }, shifted.to_string().as_bytes());
        comes_back(&SqlType::Integer { bytes, unsigned }, shifted.unsigned_abs().to_string().as_bytes());
    }

    #[test]
    fn any_decimal_comes_back(precision in 1u8..=65, scale in 0u8..=38, digits in "-?[0-9]{1,65}(\\.[0-9]{0,38})?") {
        let scale = scale.min(precision);
        comes_back(&SqlType::Decimal { precision, scale, unsigned: false }, digits.as_bytes());
        // One that fits.
        let point = digits.find('.').unwrap_or(digits.len());
        let fitting = format!("-{}.{}", &"9".repeat((precision - scale).into()), &digits[point..].trim_start_matches('.'));
        comes_back(&SqlType::Decimal { precision, scale, unsigned: false }, fitting.as_bytes());
    }

    #[test]
    fn any_real_comes_back(bits: u64) {
        let double = f64::from_bits(bits);
        let float = f32::from_bits(bits as u32);
        comes_back(&SqlType::Double { unsigned: false, digits: None }, format!("{double:e}").as_bytes());
        comes_back(&SqlType::Float { unsigned: false, digits: None }, format!("{float:e}").as_bytes());
    }

    #[test]
    fn any_moment_comes_back(
        (year, month, day) in (1u32..=9999, 1u32..=12, 1u32..=28),
        (hour, minute, second) in (0u32..=23, 0u32..=59, 0u32..=59),
        micro in 0u32..1_000_000, digits in 0u8..=6, negative: bool, hours in 0u32..=838,
    ) {
        let date = format!("{year:04}-{month:02}-{day:02}");
        let clock = format!("{hour:02}:{minute:02}:{second:02}.{micro:06}");
        let stamp = format!("{:04}-{month:02}-{day:02} {clock}", 1971 + year % 66);
        comes_back(&SqlType::Date, date.as_bytes());
        comes_back(&SqlType::DateTime { digits }, format!("{date} {clock}").as_bytes());
        comes_back(&SqlType::Timestamp { digits }, stamp.as_bytes());
        let sign = if negative { "-" } else { "" };
        let time = format!("{sign}{hours}:{minute:02}:{second:02}.{micro:06}");
        comes_back(&SqlType::Time { digits }, time.as_bytes());
    }

    #[test]
    fn any_text_and_bytes_come_back(text in "\\PC{0,40}", bytes: Vec<u8>, uuid: [u8; 16]) {
        for charset in [Charset::Utf8mb4, Charset::Latin1, Charset::Ucs2, Charset::Utf16, Charset::Utf16le, Charset::Utf32, Charset::Ascii] {
            comes_back(&SqlType::VarChar { chars: 100, text: text_type(charset) }, text.as_bytes());
            comes_back(&SqlType::Char { chars: 40, text: text_type(charset) }, text.as_bytes());
        }
        comes_back(&SqlType::Blob { bytes_max: 65_535 }, &bytes);
        comes_back(&SqlType::Bit { bits: 64 }, &bytes);
        comes_back(&SqlType::Inet6, std::net::Ipv6Addr::from(uuid).to_string().as_bytes());
        comes_back(&SqlType::Inet4, std::net::Ipv4Addr::new(uuid[0], uuid[1], uuid[2], uuid[3]).to_string().as_bytes());
        let digits: String = uuid.iter().map(|byte| format!("{byte:02x}")).collect();
        comes_back(&SqlType::Uuid, digits.as_bytes());
    }
}
