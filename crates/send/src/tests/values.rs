//! Every type, in both forms, from files in many character sets.

use super::{Bench, Row};

/// Rows of a table of two columns: a number that counts them, and each of `values`.
fn counted(values: &[&[u8]]) -> Vec<Row> {
    let row = |(number, value): (usize, &&[u8])| {
        vec![Some(number.to_string().into_bytes()), Some(value.to_vec())]
    };
    let mut rows: Vec<Row> = values.iter().enumerate().map(row).collect();
    rows.push(vec![Some(values.len().to_string().into_bytes()), None]);
    rows
}

/// Each of `types` as the one column of a table, and each of `values` in it.
fn each_type(charset: &str, types: &[&str], values: &[&[u8]]) {
    for sql_type in types {
        for null in ["NULL", "NOT NULL"] {
            println!("{charset}: {sql_type} {null}");
            let table = format!("(id INT, v {sql_type} {null})");
            let Some(mut bench) = Bench::new(charset, &table) else { return };
            bench.compare(&counted(values));
        }
    }
}

#[test]
fn numbers_go_over_in_both_forms() {
    let types = [
        "TINYINT",
        "BIGINT",
        "BIGINT UNSIGNED",
        "INT ZEROFILL",
        "DECIMAL(10,2)",
        "FLOAT",
        "DOUBLE(7,3)",
        "YEAR",
        "BIT(12)",
        "BOOL",
    ];
    let values: [&[u8]; 24] = [
        b"0",
        b"-0",
        b"1",
        b"007",
        b" 5",
        b"5 ",
        b"-128",
        b"127",
        b"128",
        b"1.5",
        b"1e2",
        b"2.5e-1",
        b"18446744073709551615",
        b"9223372036854775807",
        b"99",
        b"1999",
        b"",
        b"abc",
        b"1a",
        b"\t7",
        b"12345678901.5",
        b"\x01",
        b"'",
        b"\\",
    ];
    each_type("utf8mb4", &types, &values);
    each_type("latin1", &types[..3], &[b"1\xa0", b"12", b"\xe9"]);
}

#[test]
fn times_go_over_in_both_forms() {
    let types =
        ["DATE", "TIME(3)", "DATETIME", "DATETIME(6)", "TIMESTAMP NULL", "TIMESTAMP(2) NULL"];
    let values: [&[u8]; 16] = [
        b"2024-02-29",
        b"2023-02-29",
        b"2024-01-02 03:04:05.678901",
        b"0000-00-00",
        b"2024-00-10",
        b"20240102030405",
        b"10:11:12.9999",
        b"-838:59:59",
        b"24/1/2",
        b"",
        b"x",
        b"2024-01-02T03:04:05",
        b"1970-01-01 00:00:00",
        b"2024-01-02 03:04:05 ",
        b"12",
        b"2024-06-31",
    ];
    for sql_type in types {
        println!("{sql_type}");
        let Some(mut bench) = Bench::new("utf8mb4", &format!("(id INT, v {sql_type})")) else {
            return;
        };
        bench.compare(&counted(&values));
    }
}

#[test]
fn bytes_and_text_go_over_in_both_forms() {
    let types = [
        "VARCHAR(9) CHARACTER SET utf8mb4",
        "CHAR(5) CHARACTER SET latin1",
        "TEXT CHARACTER SET ucs2",
        "VARCHAR(9) CHARACTER SET utf16",
        "VARCHAR(9) CHARACTER SET utf32",
        "VARCHAR(9) CHARACTER SET sjis",
        "VARBINARY(6)",
        "BINARY(4)",
        "BLOB",
        "TINYTEXT",
        "JSON",
        "ENUM('a','b''c','\u{e9}','7') CHARACTER SET utf8mb4",
        "SET('a','b') CHARACTER SET latin1",
        "UUID",
        "INET6",
        "INET4",
        "BIT(24)",
    ];
    let values: [&[u8]; 27] = [
        b"",
        b"a",
        b"A",
        b"a'b\\c",
        b"\t\n\r\0\x1a",
        b"\\N",
        b"NULL",
        b"'",
        b"b'c",
        b"2",
        b"a,b",
        b"3",
        "\u{e9}".as_bytes(),
        "\u{20ac}x".as_bytes(),
        "\u{1f600}".as_bytes(),
        b"\xff\xfe",
        b"\xe2\x82",
        b"abcdefghij",
        b"abcdefghi   ",
        b"{\"a\": [1, \"\\u00e9\"]}",
        b"{",
        b"\xed\xa0\x80",
        b"::1",
        b"127.0.0.1",
        b"123e4567-e89b-12d3-a456-426655440000",
        "\u{8868}\u{7533}".as_bytes(),
        b"\x01N",
    ];
    for charset in ["utf8mb4", "latin1", "binary"] {
        each_type(charset, &types, &values);
    }
}

/// Characters whose second byte is a backslash or a bar.
#[test]
fn characters_of_several_bytes_go_over_in_both_forms() {
    let types = [
        "VARCHAR(9) CHARACTER SET utf8mb4",
        "VARCHAR(9) CHARACTER SET sjis",
        "TEXT CHARACTER SET gbk",
        "CHAR(5) CHARACTER SET ucs2",
        "VARBINARY(6)",
        "INT",
        "ENUM('a','\u{8868}') CHARACTER SET sjis",
        "GEOMETRY",
        "JSON",
    ];
    let values: [&[u8]; 15] = [
        b"",
        b"a\\b",
        b"\x95\x5c",
        b"\x95\x5c\x95\x5c",
        b"\x81\x7c",
        b"\x95",
        b"x\x95",
        b"7",
        b"\x5c\x95",
        b"\xb1\xb2",
        b"a\t\n\x01",
        b"\x01N",
        b"\xff",
        b"\"\x95\x5c\"",
        b"\0\0\0\0\x01\x01\0\0\0\0\0\0\0\0\0\xf0\x3f\0\0\0\0\0\0\xf0\x3f",
    ];
    for charset in ["sjis", "cp932", "gbk", "big5", "euckr", "ujis", "swe7", "koi8r"] {
        let strict: Vec<&str> = types.iter().copied().filter(|&name| name != "GEOMETRY").collect();
        each_type(charset, &strict, &values);
    }
}

/// Values that cannot be converted here are handed over as they are.
#[test]
fn geometry_is_passed_on() {
    let point: &[u8] = b"\0\0\0\0\x01\x01\0\0\0\0\0\0\0\0\0\xf0\x3f\x09\x0a\x5c\x27\0\0\xf0\x3f";
    for charset in ["utf8mb4", "latin1", "gbk", "binary"] {
        let Some(mut bench) = Bench::new(charset, "(id INT, v GEOMETRY, w POINT)") else { return };
        let row = |number: &str, v: Option<&[u8]>, w: Option<&[u8]>| {
            vec![Some(number.into()), v.map(<[u8]>::to_vec), w.map(<[u8]>::to_vec)]
        };
        bench.compare(&[
            row("0", Some(point), None),
            row("1", None, Some(point)),
            row("2", Some(point), Some(point)),
        ]);
    }
}
