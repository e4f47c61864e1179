//! Values of all types that files have, those next to limits among them, and types of columns.

use std::sync::Arc;

use arrow_array::builder::{Int32Builder, MapBuilder, StringBuilder};
use arrow_array::types::{Float16Type, Int8Type, Int32Type};
use arrow_array::*;
use arrow_buffer::i256;

/// Types of columns.
pub(crate) const COLUMNS: [&str; 37] = [
    "TINYINT",
    "SMALLINT UNSIGNED",
    "MEDIUMINT",
    "INT",
    "BIGINT",
    "BIGINT UNSIGNED",
    "DECIMAL(10,2)",
    "DECIMAL(65,10)",
    "FLOAT",
    "DOUBLE",
    "DOUBLE(12,2)",
    "DATE",
    "TIME",
    "TIME(6)",
    "DATETIME",
    "DATETIME(3)",
    "DATETIME(6)",
    "TIMESTAMP",
    "TIMESTAMP(3)",
    "TIMESTAMP(6)",
    "YEAR",
    "BIT(8)",
    "BIT(64)",
    "CHAR(10) CHARACTER SET utf8mb4",
    "VARCHAR(40) CHARACTER SET utf8mb4",
    "VARCHAR(40) CHARACTER SET latin1",
    "TEXT CHARACTER SET utf8mb4",
    "BINARY(16)",
    "VARBINARY(40)",
    "BLOB",
    "ENUM('a', '12', '1.5') CHARACTER SET utf8mb4",
    "SET('a', '12', '1.5') CHARACTER SET utf8mb4",
    "JSON",
    "INET4",
    "INET6",
    "UUID",
    "GEOMETRY",
];

const DAY: i64 = 86_400;

/// Columns of a file, each with a name for messages.
pub(crate) fn arrays() -> Vec<(&'static str, ArrayRef)> {
    let mut arrays = numbers();
    arrays.extend(other_numbers());
    arrays.extend(times());
    arrays.extend(other_times());
    arrays.extend(texts());
    arrays.extend(other_texts());
    arrays.extend(nested());
    arrays
}

fn numbers() -> Vec<(&'static str, ArrayRef)> {
    let decimals = vec![0, 1_000, 1_500, -99_999, 123_456_789_012, 999_999_999_990, 1];
    let decimals = Decimal128Array::from(decimals).with_precision_and_scale(12, 3).unwrap();
    let wide = i256::from_i128(i128::MAX).wrapping_mul(i256::from_i128(100_000));
    let wide = Decimal256Array::from(vec![i256::ZERO, i256::from_i128(15_000_000_000), wide]);
    vec![
        ("int8", Arc::new(Int8Array::from(vec![Some(-128), Some(-1), Some(0), Some(127), None]))),
        (
            "int64",
            Arc::new(Int64Array::from(vec![
                i64::MIN,
                -2_147_483_649,
                -1,
                0,
                1,
                24,
                70,
                1901,
                2024,
                2155,
                65_536,
                1 << 31,
                (1 << 53) + 1,
                i64::MAX,
            ])),
        ),
        ("uint64", Arc::new(UInt64Array::from(vec![0, 1, 12, 255, 256, 1 << 63, u64::MAX]))),
        ("bool", Arc::new(BooleanArray::from(vec![Some(true), Some(false), None]))),
        (
            "float",
            Arc::new(Float32Array::from(vec![
                0.0,
                1.5,
                -2.0,
                0.1,
                16_777_216.0,
                3e38,
                f32::NAN,
                f32::INFINITY,
            ])),
        ),
        (
            "double",
            Arc::new(Float64Array::from(vec![
                0.0,
                0.1,
                1.5,
                2.0,
                -12.25,
                123_456.789,
                1e15,
                1e300,
                0.125,
                1e-7,
                f64::NAN,
                f64::NEG_INFINITY,
            ])),
        ),
        ("decimal(12,3)", Arc::new(decimals)),
        ("decimal(60,10)", Arc::new(wide.with_precision_and_scale(60, 10).unwrap())),
    ]
}

fn other_numbers() -> Vec<(&'static str, ArrayRef)> {
    type Half = <Float16Type as ArrowPrimitiveType>::Native;
    let halves = [0.0, 0.5, -2.0, 0.1, 2_048.0, 65_504.0].map(Half::from_f32);
    let decimals = Decimal32Array::from(vec![0, 150, 100, -9_999, 999_999_999, 1]);
    let longer = Decimal64Array::from(vec![0, 15, 10, -99_999, 999_999_999_999_999_999, 1]);
    vec![
        ("int16", Arc::new(Int16Array::from(vec![i16::MIN, -1, 0, 1, 69, 1901, 2155, i16::MAX]))),
        ("int32", Arc::new(Int32Array::from(vec![i32::MIN, -1, 0, 1, 99, 1900, 2156, i32::MAX]))),
        ("uint8", Arc::new(UInt8Array::from(vec![0, 1, 99, 127, 128, 255]))),
        ("uint16", Arc::new(UInt16Array::from(vec![0, 1, 99, 100, 2024, 32_768, u16::MAX]))),
        ("uint32", Arc::new(UInt32Array::from(vec![0, 1, 2024, 8_388_608, 1 << 31, u32::MAX]))),
        ("half", Arc::new(PrimitiveArray::<Float16Type>::from_iter_values(halves))),
        ("decimal(9,2)", Arc::new(decimals.with_precision_and_scale(9, 2).unwrap())),
        ("decimal(18,1)", Arc::new(longer.with_precision_and_scale(18, 1).unwrap())),
    ]
}

fn times() -> Vec<(&'static str, ArrayRef)> {
    let seconds = [0, 1, 1_700_000_000, -1, DAY * 10_957, 253_402_300_799, 253_402_300_800];
    let micros = [0, 1, 1_000, 500_000, 1_700_000_000_000_000, 1_700_000_000_123_456, -1];
    let moments = [1_000_000, 1_700_000_000_000_000, 1_700_000_000_250_000, 2_000_000_000_000_000];
    let seconds = seconds.to_vec();
    vec![
        ("date32", Arc::new(Date32Array::from(vec![0, 19_782, -354_285, 2_932_896, 2_932_897]))),
        ("date64", Arc::new(Date64Array::from(vec![0, 86_400_000, 86_400_001, 1_709_164_800_000]))),
        (
            "time32(ms)",
            Arc::new(Time32MillisecondArray::from(vec![0, 1, 1_000, 3_723_500, 86_399_999])),
        ),
        (
            "time64(ns)",
            Arc::new(Time64NanosecondArray::from(vec![
                0,
                1,
                1_000,
                1_000_000_000,
                86_399_999_999_000,
            ])),
        ),
        (
            "duration(s)",
            Arc::new(DurationSecondArray::from(vec![0, -1, 838 * 3_600, 839 * 3_600, -3_020_399])),
        ),
        ("timestamp(s)", Arc::new(TimestampSecondArray::from(seconds))),
        ("timestamp(us)", Arc::new(TimestampMicrosecondArray::from(micros.to_vec()))),
        (
            "timestamp(ns)",
            Arc::new(TimestampNanosecondArray::from(vec![
                0,
                1_000,
                1_500,
                1_700_000_000_000_000_000,
            ])),
        ),
        (
            "timestamp(us, zone)",
            Arc::new(TimestampMicrosecondArray::from(moments.to_vec()).with_timezone("+01:00")),
        ),
    ]
}

fn other_times() -> Vec<(&'static str, ArrayRef)> {
    let millis = [0, 1, 1_000, 1_700_000_000_123, -1, DAY * 1_000];
    let micros = [0, 1, 1_000, 3_723_000_000, 86_399_999_999];
    let lengths = [0, -1, 1_000_000, 3_600_000_001, -3_020_399_000_000, 3_020_400_000_000];
    let moments = [1_000, 1_700_000_000, 2_147_483_647, 4_294_967_296];
    let zoned = TimestampSecondArray::from(moments.to_vec()).with_timezone("Europe/Paris");
    vec![
        ("time32(s)", Arc::new(Time32SecondArray::from(vec![0, 1, 3_723, 86_399]))),
        ("time64(us)", Arc::new(Time64MicrosecondArray::from(micros.to_vec()))),
        ("duration(us)", Arc::new(DurationMicrosecondArray::from(lengths.to_vec()))),
        ("timestamp(ms)", Arc::new(TimestampMillisecondArray::from(millis.to_vec()))),
        ("timestamp(s, zone)", Arc::new(zoned)),
    ]
}

fn texts() -> Vec<(&'static str, ArrayRef)> {
    let words = vec![
        Some("a"),
        Some(""),
        Some("12"),
        Some("2024-02-29"),
        Some("10:20:30"),
        Some("é"),
        Some("tab\tand\\line\n"),
        Some("{\"a\": [1, 2]}"),
        Some("a text of more than forty characters, which is long"),
        None,
    ];
    let bytes: Vec<&[u8]> = vec![b"abc", b"", b"\x00\xff", b"12"];
    let dictionary: DictionaryArray<Int8Type> = ["a", "12", "a"].into_iter().collect();
    let lists = vec![Some(vec![Some(1), None]), None, Some(vec![])];
    let lists = ListArray::from_iter_primitive::<arrow_array::types::Int32Type, _, _>(lists);
    vec![
        ("text", Arc::new(StringArray::from(words))),
        ("bytes", Arc::new(BinaryArray::from(bytes))),
        ("dictionary", Arc::new(dictionary)),
        ("list", Arc::new(lists)),
    ]
}

fn other_texts() -> Vec<(&'static str, ArrayRef)> {
    let words = ["a", "1.5", "-7", "1.2.3.4", "::1", "a,12", "2024", "00:00:00.5", "é€😀"];
    let bytes: [&[u8]; 5] = [b"", b"12", b"\xff\xfe", b"a\0b", b"0123456789012345"];
    let uuids: [&[u8]; 2] = [&[0; 16], b"0123456789abcdef"];
    let point = b"\x01\x01\0\0\0\0\0\0\0\0\0\xf0\x3f\0\0\0\0\0\0\0\x40";
    vec![
        ("large text", Arc::new(LargeStringArray::from_iter_values(words))),
        ("text view", Arc::new(StringViewArray::from_iter_values(words))),
        ("large bytes", Arc::new(LargeBinaryArray::from_iter_values(bytes))),
        ("bytes view", Arc::new(BinaryViewArray::from_iter_values(bytes))),
        ("16 bytes", Arc::new(FixedSizeBinaryArray::try_from_iter(uuids.into_iter()).unwrap())),
        ("a point", Arc::new(BinaryArray::from_iter_values([&point[..], b"no point"]))),
        ("nothing", Arc::new(NullArray::new(3))),
    ]
}

fn nested() -> Vec<(&'static str, ArrayRef)> {
    let number: ArrayRef = Arc::new(Int32Array::from(vec![Some(1), None]));
    let text: ArrayRef = Arc::new(StringArray::from(vec!["a \"b\"", "\t"]));
    let mut map = MapBuilder::new(None, StringBuilder::new(), Int32Builder::new());
    map.keys().append_value("k");
    map.values().append_value(-1);
    map.append(true).unwrap();
    map.append(true).unwrap();
    let pairs = vec![Some(vec![Some(1), Some(2)]), None];
    let pairs = FixedSizeListArray::from_iter_primitive::<Int32Type, _, _>(pairs, 2);
    let long = vec![Some(vec![Some(-1)]), Some(vec![])];
    let long = LargeListArray::from_iter_primitive::<Int32Type, _, _>(long);
    vec![
        ("struct", Arc::new(StructArray::try_from(vec![("n", number), ("t", text)]).unwrap())),
        ("map", Arc::new(map.finish())),
        ("list of two", Arc::new(pairs)),
        ("large list", Arc::new(long)),
    ]
}
