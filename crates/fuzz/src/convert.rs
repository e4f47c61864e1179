//! Converters: any text becomes stored bytes of the right size, or is refused and leaves nothing.

use values::decode::Decoder;
use values::habits::Habits;
use values::key::fixed_width;
use values::{Charset, ConvertOptions, Converter, SqlMode, SqlType, TextType, Zone};

const CHARSETS: [Charset; 5] =
    [Charset::Utf8mb4, Charset::Utf8mb3, Charset::Latin1, Charset::Ascii, Charset::Binary];
const MODES: [&str; 4] =
    ["", "NO_ZERO_DATE,NO_ZERO_IN_DATE", "ALLOW_INVALID_DATES", "TIME_ROUND_FRACTIONAL"];

pub(crate) fn run(bytes: &[u8]) {
    let ([kind, size, charset, more], text) = crate::choices(bytes);
    let Some(sql_type) = sql_type(kind, size, CHARSETS[usize::from(charset & 7) % 5]) else {
        return;
    };
    let is_new = more & 4 != 0;
    let options = ConvertOptions {
        file_charset: CHARSETS[usize::from(charset >> 3) % 5],
        sql_mode: SqlMode::parse(MODES[usize::from(more & 3)]),
        time_zone: Zone::fixed((i32::from(more >> 4) - 8) * 3600),
        habits: match more & 8 != 0 {
            true => Habits::MYSQL,
            false => Habits {
                negative_zero: is_new,
                enum_zero: is_new,
                timestamp_to_2106: is_new,
                inet6_takes_inet4: is_new,
                ..Habits::default()
            },
        },
    };
    let Ok(mut converter) = Converter::new("c", &sql_type, &options) else { return };
    let width = fixed_width(&sql_type);
    let mut out = b"before".to_vec();
    let first = converter.convert(text, &mut out);
    let stored = out.split_off(6);
    assert_eq!(out, b"before");
    match &first {
        Ok(()) => assert!(width.is_none_or(|width| width == stored.len()), "{stored:?}"),
        Err(_) => assert!(stored.is_empty(), "a refused value left {stored:?}"),
    }
    if sql_type == SqlType::Document {
        let decoder = Decoder::new(&sql_type).unwrap();
        assert!(first.is_err() || decoder.decode(&stored, &mut Vec::new()).is_ok());
        let _ = decoder.decode(text, &mut Vec::new());
    }
    // Converters keep buffers: they must not remember.
    assert_eq!(converter.convert(text, &mut out), first);
    assert_eq!(out[6..], stored);
}

fn sql_type(kind: u8, size: u8, charset: Charset) -> Option<SqlType> {
    let text = || {
        let name = if charset == Charset::Binary { "" } else { "_general_ci" };
        TextType { charset, collation: format!("{}{name}", charset.name()) }
    };
    let labels = || (0..1 + size % 64).map(|n| format!("l{n}\u{e9}")).collect();
    let unsigned = size & 128 != 0;
    let digits = size % 7;
    Some(match kind % 27 {
        0 => SqlType::Integer { bytes: [1, 2, 3, 4, 8][usize::from(size % 5)], unsigned },
        1 => SqlType::Decimal { precision: 1 + size % 65, scale: (size / 2) % 39, unsigned },
        2 => SqlType::Float { unsigned, digits: None },
        3 => SqlType::Float { unsigned, digits: Some((1 + size % 60, size % 31)) },
        4 => SqlType::Double { unsigned, digits: None },
        5 => SqlType::Double { unsigned, digits: Some((1 + size % 60, size % 31)) },
        6 => SqlType::Date,
        7 => SqlType::Time { digits },
        8 => SqlType::DateTime { digits },
        9 => SqlType::Timestamp { digits },
        10 => SqlType::Year,
        11 => SqlType::Bit { bits: 1 + size % 64 },
        12 => SqlType::Enum { labels: labels(), text: text() },
        13 => SqlType::Set { labels: labels(), text: text() },
        14 => SqlType::Char { chars: u32::from(size), text: text() },
        15 => SqlType::VarChar { chars: u32::from(size), text: text() },
        16 => SqlType::Binary { bytes: u32::from(size) },
        17 => SqlType::VarBinary { bytes: u32::from(size) },
        18 => SqlType::Text { bytes_max: u64::from(size), text: text() },
        19 => SqlType::Blob { bytes_max: u64::from(size) },
        20 => SqlType::Uuid,
        21 => SqlType::Inet4,
        22 => SqlType::Inet6,
        23 => SqlType::json(),
        24 => SqlType::Document,
        25 => SqlType::Geometry { kind: None, srid: unsigned.then_some(0) },
        26 => SqlType::Vector { dimensions: u32::from(size) },
        _ => return None,
    })
}
