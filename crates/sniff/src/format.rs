//! Formats other than delimited text, which would be taken for rows of one long field.

use face::option::{CHARSET, FORMAT};
use serde::de::IgnoredAny;
use serde_json::Deserializer;

/// How files begin that have their own ways to be read.
const MAGICS: [(&[u8], &str, &str); 10] = [
    (b"SQLite format 3\0", "an SQLite database", "sqlite3 -csv -header FILE 'SELECT ..'"),
    (b"PAR1", "a Parquet file", "a program that reads it"),
    (b"ARROW1", "an Arrow file", "a program that reads it"),
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
const ROWLESS: [(&[u8], &str); 8] = [
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
    let known = MAGICS.iter().find(|(magic, ..)| start.starts_with(magic));
    let rowless = || ROWLESS.iter().find(|(magic, _)| start.starts_with(magic));
    match known {
        Some((_, what, how)) => Some(unsupported(what, how)),
        None => rowless().map(|&(_, what)| what.to_owned()),
    }
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
