//! The room of a row: the server's limit of a row's definition, and InnoDB's limit of a row in its page.

use face::option::{COLUMNS, DDL, TYPES};
use job::error::Error;

use super::SniffedColumn;

/// Bytes of a row in which VARCHAR columns count in full: the server's limit less some room.
const ROW_BYTES_MAX: usize = 65_000;
/// Bytes that a column of any other type counts for at most: a DECIMAL of 65 digits.
const OTHER_BYTES: usize = 30;
/// Bytes that a TEXT counts for, and the length of a VARCHAR.
const TEXT_BYTES: usize = 12;
const LENGTH_BYTES: usize = 2;
/// Bytes of a row that InnoDB keeps in its page, and those that a column of text takes of them at least: its
/// length and the address of its value.
const PAGE_ROW_BYTES: usize = 8126;
const PAGE_TEXT_BYTES: usize = 21;
/// Header and hidden columns of a record, besides a bit for each column that may be NULL.
const PAGE_HEADER_BYTES: usize = 25;
/// Bytes of the longest UTF-8 character.
const CHARACTER_BYTES: usize = 4;

/// True if the server takes the definition of a row with VARCHAR columns of these characters.
pub(super) fn fits_server(columns: &[SniffedColumn], widths: &[Option<usize>]) -> bool {
    let bytes = |(width, column): (&Option<usize>, &SniffedColumn)| match width {
        Some(width) => width * CHARACTER_BYTES + LENGTH_BYTES,
        None if is_text(&column.sql_type) => TEXT_BYTES,
        None => OTHER_BYTES,
    };
    widths.iter().zip(columns).map(bytes).sum::<usize>() <= ROW_BYTES_MAX
}

/// True for the types of texts that are guessed.
fn is_text(sql_type: &str) -> bool {
    sql_type.contains("CHAR") || sql_type.contains("TEXT")
}

/// Refuses a table whose rows do not fit into a page even if all texts are outside of it.
pub(super) fn check(columns: &[SniffedColumn]) -> Result<(), Error> {
    let values: usize = columns.iter().map(|column| page_bytes(&column.sql_type)).sum();
    let bytes = values + columns.len() / 8 + PAGE_HEADER_BYTES;
    if bytes <= PAGE_ROW_BYTES {
        return Ok(());
    }
    let texts = columns.iter().filter(|column| is_text(&column.sql_type)).count();
    Err(Error::Usage(format!(
        "a new table of {} columns, {texts} of them text, needs {bytes} bytes of a row, and a row of InnoDB \
         has {PAGE_ROW_BYTES}: {} makes a column of short texts smaller; {DDL} and {} load some of the columns",
        columns.len(),
        TYPES.with("COLUMN='VARCHAR(4)'"),
        COLUMNS.with("A,@x,..")
    )))
}

/// Bytes of a value that InnoDB keeps in the page of its row at least.
fn page_bytes(sql_type: &str) -> usize {
    let upper = sql_type.to_uppercase();
    let (name, size) = upper.split_once('(').unwrap_or((&upper, ""));
    let size = size.split([')', ',']).next().and_then(|size| size.trim().parse::<usize>().ok());
    match name {
        "VARCHAR" => match size.map(|chars| chars * CHARACTER_BYTES) {
            Some(bytes) if bytes <= 255 => bytes + 1,
            _ => PAGE_TEXT_BYTES,
        },
        "TEXT" | "MEDIUMTEXT" | "LONGTEXT" => PAGE_TEXT_BYTES,
        "BIGINT" | "BIGINT UNSIGNED" | "DOUBLE" => 8,
        "DECIMAL" => size.unwrap_or(0) * 4 / 9,
        "INT" | "TIMESTAMP" => 4,
        "DATETIME" => 5,
        "DATE" | "TIME" => 3,
        _ => 1,
    }
}
