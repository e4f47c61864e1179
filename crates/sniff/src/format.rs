//! Formats other than delimited text, which would be taken for rows of one long field.

use serde::de::IgnoredAny;
use serde_json::Deserializer;

/// How files begin that have their own ways to be read.
const MAGICS: [(&[u8], &str, &str); 6] = [
    (b"SQLite format 3\0", "an SQLite database", "sqlite3 -csv -header FILE 'SELECT ..'"),
    (b"PAR1", "a Parquet file", "a program that reads it"),
    (
        b"PK\x03\x04",
        "a zip archive (spreadsheets are zip archives, too)",
        "unzip, or the spreadsheet's export",
    ),
    (b"ORC", "an ORC file", "a program that reads it"),
    (b"Obj\x01", "an Avro file", "a program that reads it"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old spreadsheet", "its export"),
];
const JSON: (&str, &str) = ("JSON", "jq -r '[.a, .b] | @csv'");

/// The format of a file that begins so, if it is no delimited text, and a program that converts it
/// to text.
pub(super) fn other_than_text(start: &[u8]) -> Option<(&'static str, &'static str)> {
    let known = MAGICS.iter().find(|(magic, ..)| start.starts_with(magic));
    known.map(|&(_, what, how)| (what, how))
}

/// The same where nobody has said that it is delimited text.
pub(super) fn json(start: &[u8]) -> Option<(&'static str, &'static str)> {
    let first = start.iter().find(|byte| !byte.is_ascii_whitespace())?;
    if !b"{[".contains(first) {
        return None;
    }
    // One value, or one behind the other; the last may be cut.
    let mut values = Deserializer::from_slice(start).into_iter::<IgnoredAny>();
    let mut is_json = || match values.next() {
        Some(Err(error)) => error.is_eof(),
        Some(Ok(_)) | None => true,
    };
    (is_json() && is_json()).then_some(JSON)
}
