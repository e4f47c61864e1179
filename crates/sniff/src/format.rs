//! Formats other than delimited text, which would be taken for rows of one long field.

use face::option::{CHARSET, FORMAT};
use serde::de::IgnoredAny;
use serde_json::Deserializer;

/// How files begin that have their own ways to be read.
const MAGICS: [(&[u8], &str, &str); 8] = [
    (b"SQLite format 3\0", "an SQLite database", "sqlite3 -csv -header FILE 'SELECT ..'"),
    (b"FEA1", "a Feather file", "a program that reads it"),
    (
        b"PK\x03\x04",
        "a zip archive (spreadsheets are zip archives, too)",
        "unzip, or the spreadsheet's export",
    ),
    (b"ORC", "an ORC file", "a program that reads it"),
    (b"Obj\x01", "an Avro file", "a program that reads it"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old spreadsheet", "its export"),
    (b"PGDMP", "an archive of pg_dump", "psql's \\copy"),
    (b"%PDF-", "a PDF document", "a program that reads its tables"),
];
/// How files begin that hold no rows, and what to do.
const ROWLESS: [(&[u8], &str); 10] = [
    (b"PAR1", "a Parquet file that does not begin with a page; encrypted files are not supported"),
    (b"ARROW1", "an Arrow file whose first bytes are damaged"),
    (b"\x89PNG\r\n", "a PNG image, which has no rows"),
    (b"\xff\xd8\xff", "a JPEG image, which has no rows"),
    (b"GIF8", "a GIF image, which has no rows"),
    (b"\x7fELF", "a program, which has no rows"),
    (b"\x1f\x8b", "compressed twice, by gzip inside: unpack it once"),
    (b"\x28\xb5\x2f\xfd", "compressed twice, by zstd inside: unpack it once"),
    (b"\xfd7zXZ\0", "compressed twice, by xz inside: unpack it once"),
    (
        b"version https://git-lfs.github.com/spec/",
        "a pointer of Git LFS in place of the file: git lfs pull fetches the file",
    ),
];
/// Bytes behind letters that tell a file of bytes from a text that begins with the letters.
const BINARY_BYTES: usize = 64;
/// How marked-up texts begin, in small letters.
const MARKUP: [(&str, &str); 3] =
    [("<!doctype html", "an HTML page"), ("<html", "an HTML page"), ("<?xml", "an XML document")];
/// How lines of dumps begin, in small letters: comments of the programs that write them, and statements.
const DUMPS: [&str; 12] = [
    "-- mariadb dump",
    "-- mysql dump",
    "-- phpmyadmin sql dump",
    "-- adminer ",
    "-- host: ",
    "/*m!999999",
    "/*!40101 set",
    "create table ",
    "create database ",
    "drop table ",
    "insert into ",
    "set foreign_key_checks",
];

/// The reason why a file that begins so is no delimited text, whatever anybody says of it: the end of a sentence
/// that begins with its name and "is".
pub(super) fn other_than_text(start: &[u8]) -> Option<String> {
    let begins = |magic: &[u8]| {
        let is_word = magic.iter().all(u8::is_ascii_alphanumeric);
        let rest = start.strip_prefix(magic)?;
        (!is_word || is_binary(&rest[..rest.len().min(BINARY_BYTES)])).then_some(())
    };
    let known = MAGICS.iter().find(|(magic, ..)| begins(magic).is_some());
    let rowless = || ROWLESS.iter().find(|(magic, _)| begins(magic).is_some());
    match known {
        Some((_, what, how)) => Some(unsupported(what, how)),
        None => rowless().map(|&(_, what)| what.to_owned()),
    }
}

/// True of bytes that no text has.
fn is_binary(bytes: &[u8]) -> bool {
    bytes.iter().any(|byte| byte.is_ascii_control() && !b"\t\r\n".contains(byte))
}

/// The same where nobody has said that it is delimited text.
pub(super) fn other_than_rows(start: &[u8]) -> Option<String> {
    if is_json(start) {
        let format = if has_a_line_each(start) { "jsonl" } else { "json" };
        return Some(format!("JSON: {} reads it", FORMAT.with(format)));
    }
    if let Some(other) = notation(start) {
        return Some(other);
    }
    let head = lower_head(start);
    let mut lines = lines(&head);
    let first = lines.next()?;
    // A dump may begin with any comment.
    let mut all = std::iter::once(first).chain(lines);
    let is_of_dump = |line: &&str| DUMPS.iter().any(|word| line.starts_with(word));
    let is_comment = |line: &str| ["--", "#", "/*"].iter().any(|sign| line.starts_with(sign));
    if all.find(|line| is_of_dump(line) || !is_comment(line)).is_some_and(|line| is_of_dump(&line))
    {
        return Some("a dump of SQL statements: inrush replay loads it".to_owned());
    }
    let nul = start.iter().position(|&byte| byte == 0)?;
    Some(format!(
        "no text: byte {nul} is NUL; a file in UTF-16 without a byte order mark needs {}",
        CHARSET.with("utf16le")
    ))
}

/// The reason why a file that begins so is no dump of MariaDB or MySQL: the end of a sentence that begins with
/// its name and "is".
pub fn other_than_sql(start: &[u8]) -> Option<String> {
    let head = lower_head(start);
    let is_of_postgres = |line: &str| {
        (line.starts_with("--") && line.contains("postgresql database dump"))
            || (line.starts_with("copy ") && line.trim_end().ends_with(" from stdin;"))
    };
    if lines(&head).any(is_of_postgres) {
        let what = "a dump of PostgreSQL, whose SQL MariaDB and MySQL do not run: export its tables \
                    with psql's \\copy .. CSV HEADER, and load these files with inrush load";
        return Some(what.to_owned());
    }
    if is_json(start) {
        return Some("JSON, not SQL: inrush load reads it".to_owned());
    }
    other_than_text(start).or_else(|| notation(start))
}

/// HTML or XML.
fn notation(start: &[u8]) -> Option<String> {
    let head = lower_head(start);
    let first = lines(&head).next()?;
    let (_, what) = MARKUP.iter().find(|(word, _)| first.starts_with(word))?;
    Some(unsupported(what, "a program that reads its tables"))
}

fn lower_head(start: &[u8]) -> String {
    String::from_utf8_lossy(&start[..start.len().min(4096)]).to_ascii_lowercase()
}

/// The lines that are not blank.
fn lines(head: &str) -> impl Iterator<Item = &str> {
    head.lines().map(str::trim_start).filter(|line| !line.is_empty())
}

fn unsupported(what: &str, how: &str) -> String {
    format!("{what}, which is not supported yet: convert it to delimited text, with {how}")
}

/// True if the first line is an object, and so is what follows.
fn has_a_line_each(start: &[u8]) -> bool {
    let line = start.split(|&byte| byte == b'\n').find(|line| !line.trim_ascii().is_empty());
    let line = line.unwrap_or_default().trim_ascii();
    line.starts_with(b"{") && serde_json::from_slice::<IgnoredAny>(line).is_ok()
}

/// True of JSON: one value, or one behind the other.
fn is_json(start: &[u8]) -> bool {
    let first = start.iter().find(|byte| !byte.is_ascii_whitespace());
    if !first.is_some_and(|first| b"{[".contains(first)) {
        return false;
    }
    // One value, or one behind the other; the last may be cut.
    let mut values = Deserializer::from_slice(start).into_iter::<IgnoredAny>();
    let mut is_json = || match values.next() {
        Some(Err(error)) => error.is_eof(),
        Some(Ok(_)) | None => true,
    };
    is_json() && is_json()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_columns_that_begin_like_a_file_of_bytes_are_text() {
        let texts =
            ["ORCID,Name\n1,Ann\n", "PAR1,PAR2\n", "FEA1", "GIF8;x\n", "PGDMP\tx\r\n", "ARROW1"];
        texts.iter().for_each(|text| assert_eq!(other_than_text(text.as_bytes()), None, "{text}"));
        for (bytes, what) in [
            (&b"ORC\x11\0\0\x0a\x06"[..], "an ORC file"),
            (b"PAR1\x02\0\0\0", "encrypted files are not supported"),
            (b"ARROW1\0\x01", "an Arrow file whose first bytes are damaged"),
            (b"GIF89a\x10\0\x10\0", "a GIF image"),
        ] {
            let found = other_than_text(bytes).unwrap_or_default();
            assert!(found.contains(what), "{found}");
        }
    }
}
