use super::*;

fn document(text: &str) -> Result<Vec<u8>, Reason> {
    let mut out = b"before".to_vec();
    let converted = Document::new(Charset::Utf8mb4).convert(text.as_bytes(), &mut out);
    assert!(out.starts_with(b"before") && (converted.is_ok() || out.len() == 6));
    converted.map(|()| out.split_off(6))
}

/// As MySQL 9.7.4 stores them.
#[test]
fn documents_have_the_bytes_of_the_server() {
    for (text, expected) in [
        ("null", b"\x04\x00".as_slice()),
        (" true\t", b"\x04\x01"),
        ("-2", b"\x05\xfe\xff"),
        ("32768", b"\x07\x00\x80\x00\x00"),
        ("2147483648", b"\x09\x00\x00\x00\x80\x00\x00\x00\x00"),
        ("4294967296", b"\x0a\x00\x00\x00\x00\x01\x00\x00\x00"),
        ("1.0", b"\x0b\x00\x00\x00\x00\x00\x00\xf0\x3f"),
        ("\"ab\"", b"\x0c\x02ab"),
        ("[]", b"\x02\x00\x00\x04\x00"),
        ("{}", b"\x00\x00\x00\x04\x00"),
        (
            "[1,\"a\",70000]",
            b"\x02\x03\x00\x13\x00\x05\x01\x00\x0c\x0d\x00\x07\x0f\x00\x01a\x70\x11\x01\x00",
        ),
        (
            r#"{"bb":1,"a":[false],"bb":null}"#,
            b"\x00\x02\x00\x1c\x00\x12\x00\x01\x00\x13\x00\x02\x00\x02\x15\x00\x04\x00\x00abb\
              \x01\x00\x07\x00\x04\x02\x00",
        ),
    ] {
        assert_eq!(document(text).as_deref(), Ok(expected), "{text}");
    }
}

#[test]
fn what_the_server_refuses_is_refused() {
    for text in [
        "",
        " ",
        "a",
        "tru",
        "truex",
        "[",
        "]",
        "[1",
        "[1,]",
        "[,1]",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "{a:1}",
        "'a'",
        "01",
        "-",
        "1 2",
        "[1}",
        "{]",
        "{}{}",
        "+1",
        "\u{feff}1",
        "\u{b}1",
        "/**/1",
        "NaN",
        "\0 1",
        "[1\0]",
        "{\"a\" 1}",
    ] {
        assert_eq!(document(text), Err(Reason::NotJson), "{text}");
    }
    assert_eq!(document("1\0garbage"), document("1"), "a NUL ends the text");
    let nested = |depth| ["[".repeat(depth), "]".repeat(depth)].concat();
    assert!(document(&nested(100)).is_ok());
    assert_eq!(document(&nested(101)), Err(Reason::TooDeep));
    let key = |bytes| format!("{{\"{}\":1}}", "k".repeat(bytes));
    assert!(document(&key(65_535)).is_ok());
    assert_eq!(document(&key(65_536)), Err(Reason::KeyTooLong));
    // A value that another one replaces is not stored, whatever is in it.
    assert_eq!(document(&format!("{{\"a\":{},\"a\":2}}", key(65_536))), document("{\"a\":2}"));
}

#[test]
fn texts_are_read_in_the_charset_of_the_file() {
    let convert = |file, text: &[u8]| {
        let mut out = Vec::new();
        Document::new(file).convert(text, &mut out).map(|()| out)
    };
    let expected = document("\"\u{e9}\"");
    assert_eq!(convert(Charset::Latin1, b"\"\xe9\""), expected);
    assert_eq!(convert(Charset::Utf16, b"\0\"\0\xe9\0\""), expected);
    assert_eq!(convert(Charset::Binary, b"1"), Err(Reason::BinaryJson));
    let invalid = Err(Reason::InvalidCharacter { offset: 1 });
    assert_eq!(convert(Charset::Utf8mb4, b"\"\xc3\""), invalid);
}

/// 64 KiB is the end of the small format, whose 32-bit numbers are not inlined.
#[test]
fn containers_grow_with_their_values() {
    let array = |bytes: usize| document(&format!("[70000,[\"{}\"]]", "x".repeat(bytes))).unwrap();
    // Outer: 4 + 2 * 3 + 4; inner: 4 + 3 + 3 + the string.
    let small = array(65_535 - 24);
    assert_eq!((small[0], small.len()), (2, 65_536));
    let large = array(65_535 - 23);
    assert_eq!((large[0], large[9]), (3, 7), "{:?}", &large[..20]);
    assert_eq!(large[10..14], 70_000_u32.to_le_bytes());
    assert_eq!(large[14], 2, "the inner one still is small");
}
