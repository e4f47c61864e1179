//! Bytes of a file, from its text and the names of changes.

use std::io::Write as _;

/// The bytes of a text after changes, in their order.
pub(crate) fn of(text: &str, changes: &[&str]) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    for change in changes {
        bytes = match change.split_once('=') {
            Some(("columns", count)) => columns(&bytes, count.parse().unwrap()),
            Some(("rows", count)) => rows(&bytes, count.parse().unwrap()),
            None => changed(&bytes, change),
            Some(_) => panic!("no such change: {change}"),
        };
    }
    bytes
}

fn changed(bytes: &[u8], change: &str) -> Vec<u8> {
    let text = || std::str::from_utf8(bytes).unwrap();
    match change {
        "escapes" => unescaped(text()),
        "no-end" => bytes.strip_suffix(b"\n").unwrap().to_vec(),
        "crlf" => text().replace('\n', "\r\n").into_bytes(),
        "cr" => text().replace('\n', "\r").into_bytes(),
        "bom" => [b"\xef\xbb\xbf", bytes].concat(),
        "latin1" => text().chars().map(|c| u8::try_from(u32::from(c)).unwrap()).collect(),
        "utf16le" => [&[0xff, 0xfe], &utf16(text(), u16::to_le_bytes)[..]].concat(),
        "utf16be" => [&[0xfe, 0xff], &utf16(text(), u16::to_be_bytes)[..]].concat(),
        "utf16le-without-mark" => utf16(text(), u16::to_le_bytes),
        "gzip" => {
            let mut packer =
                flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
            packer.write_all(bytes).unwrap();
            packer.finish().unwrap()
        }
        _ => panic!("no such change: {change}"),
    }
}

fn utf16(text: &str, to_bytes: impl Fn(u16) -> [u8; 2]) -> Vec<u8> {
    text.encode_utf16().flat_map(to_bytes).collect()
}

/// `\t`, `\r`, `\n`, `\\` and `\x80` are the bytes that they mean.
fn unescaped(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'\\' => match rest.next() {
                Some(b't') => b'\t',
                Some(b'r') => b'\r',
                Some(b'n') => b'\n',
                Some(b'\\') => b'\\',
                Some(b'x') => {
                    let digits = String::from_utf8(rest.by_ref().take(2).collect()).unwrap();
                    u8::from_str_radix(&digits, 16).unwrap()
                }
                other => panic!("no such escape: {other:?}"),
            },
            other => other,
        });
    }
    bytes
}

/// Each line so many times beside itself; `#` is the number of the column.
fn columns(bytes: &[u8], count: usize) -> Vec<u8> {
    let text = std::str::from_utf8(bytes).unwrap();
    let line = |line: &str| {
        let fields: Vec<String> =
            (1..=count).map(|number| line.replace('#', &number.to_string())).collect();
        fields.join(",") + "\n"
    };
    text.lines().map(line).collect::<String>().into_bytes()
}

/// The last line so many times below itself; `#` is the number of the row.
fn rows(bytes: &[u8], count: usize) -> Vec<u8> {
    let text = std::str::from_utf8(bytes).unwrap().trim_end_matches('\n');
    let (above, last) = text.rsplit_once('\n').unwrap();
    let rows: String =
        (1..=count).map(|number| last.replace('#', &number.to_string()) + "\n").collect();
    format!("{above}\n{rows}").into_bytes()
}

#[test]
fn changes_are_made_in_their_order() {
    assert_eq!(of("a\n1\n", &["crlf", "bom"]), b"\xef\xbb\xbfa\r\n1\r\n");
    assert_eq!(of("é\\x00\n", &["latin1", "no-end"]), b"\xe9\\x00");
    assert_eq!(of("a\\x00\\t\n", &["escapes"]), b"a\0\t\n");
    assert_eq!(of("c#\n#\n", &["columns=3"]), b"c1,c2,c3\n1,2,3\n");
    assert_eq!(of("n\n#\n", &["rows=2"]), b"n\n1\n2\n");
    assert_eq!(of("a\n", &["utf16be"]), b"\xfe\xff\0a\0\n");
}
