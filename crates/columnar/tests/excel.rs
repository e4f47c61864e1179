//! Workbooks of other programs: values by the types of their cells, and damaged files.

use std::path::{Path, PathBuf};

use columnar::{ColumnarOptions, Kind, SheetOptions};
use sources::{Batch, Chunk, ReadAs, Result, SourceExt as _};
use testkit::random::Random;
use values::{Charset, SqlType, TextType};

use crate::writing::{All, Texts};

const NAMES: [&str; 10] =
    ["id", "name", "price", "day", "at", "clock", "spent", "ok", "big", "twice"];
/// Damages of each file.
const DAMAGES: usize = 150;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/other").join(name)
}

pub(crate) fn text() -> SqlType {
    let text = TextType { charset: Charset::Utf8mb4, collation: "utf8mb4_general_ci".to_owned() };
    SqlType::VarChar { chars: 40, text }
}

fn types() -> Vec<Option<SqlType>> {
    let integer = |bytes| SqlType::Integer { bytes, unsigned: false };
    let decimal = |scale| SqlType::Decimal { precision: 12, scale, unsigned: false };
    vec![
        Some(integer(4)),
        Some(text()),
        Some(decimal(2)),
        Some(SqlType::Date),
        Some(SqlType::DateTime { digits: 3 }),
        Some(SqlType::Time { digits: 0 }),
        Some(SqlType::Time { digits: 0 }),
        Some(integer(1)),
        Some(SqlType::Double { unsigned: false, digits: None }),
        Some(decimal(1)),
    ]
}

/// Rows, each with its number in the sheet.
pub(crate) type NumberedRows = Vec<(u64, Texts)>;

/// The names of a sheet, and its rows.
pub(crate) fn rows(
    path: &Path,
    sheet: SheetOptions,
    columns: &[Option<SqlType>],
) -> Result<(Vec<String>, NumberedRows)> {
    let paths = [path.to_owned()];
    let options = ColumnarOptions { sheet, memory_bytes: 64 << 20, ..ColumnarOptions::default() };
    let mut source = columnar::open(Kind::Excel, &paths, options)?;
    let names = source.column_names()?.unwrap();
    let names = names.into_iter().map(|name| String::from_utf8(name).unwrap()).collect();
    source.begin(ReadAs { columns: columns.to_vec(), chunk_bytes: 64, ..ReadAs::default() })?;
    let (mut reader, mut chunk, mut batch) = (source.reader(), Chunk::default(), Batch::new());
    let mut rows = Vec::new();
    while source.next_chunk(&mut chunk)? {
        reader.read(&chunk, &mut batch)?;
        let texts = batch.visit(&chunk, All).into_iter().enumerate();
        rows.extend(texts.map(|(at, texts)| (chunk.line_at(at), texts)));
    }
    Ok((names, rows))
}

fn sheet(name: &str) -> SheetOptions {
    SheetOptions { sheet: Some(name.to_owned()), ..SheetOptions::default() }
}

pub(crate) fn joined(texts: &Texts) -> String {
    let field = |text: &Option<String>| text.clone().unwrap_or_else(|| "NULL".to_owned());
    texts.iter().map(field).collect::<Vec<_>>().join("|")
}

#[test]
fn cells_have_the_values_of_their_types() {
    let expected = [
        "1|one|0.1|2024-02-29|2024-02-29 12:34:56|12:34:56|36:00:00|1|1e15|0.2",
        "2|two & <three>|0.3|1970-01-01|1970-01-01 00:00:00|00:00:00|00:01:00|0|9.007199254740991e15|0.6",
        "3|NULL|NULL|NULL|NULL|NULL|NULL|NULL|NULL|NULL",
        "4|Ünïcode|-12.5|9999-12-31|2024-01-01 00:00:00.25|23:59:59|00:00:00|1|-1|-25",
    ];
    let plain = |line: &str| line.replace(".250000", ".25").replace(".250", ".25");
    for (file, numbers) in
        [("book.xlsx", [2, 3, 5, 6]), ("book-1904.xlsx", [2, 3, 5, 6]), ("book.ods", [2, 3, 4, 5])]
    {
        let (names, rows) = rows(&fixture(file), SheetOptions::default(), &types()).unwrap();
        assert_eq!(names, NAMES, "{file}");
        let seen: Vec<u64> = rows.iter().map(|(number, _)| *number).collect();
        assert_eq!(seen, numbers, "{file}");
        for ((_, row), expected) in rows.iter().zip(expected) {
            let numbers =
                [("1000000000000000", "1e15"), ("9007199254740991", "9.007199254740991e15")];
            let row = numbers
                .iter()
                .fold(plain(&joined(row)), |row, (plain, real)| row.replace(plain, real));
            assert_eq!(row, expected, "{file}");
        }
    }
}

#[test]
fn texts_of_cells_are_those_that_excel_shows() {
    let all = vec![Some(text()); NAMES.len()];
    let (_, rows) = rows(&fixture("book.xlsx"), SheetOptions::default(), &all).unwrap();
    let texts: Vec<String> = rows.iter().map(|(_, row)| joined(row)).collect();
    assert_eq!(
        texts[0],
        "1|one|0.1|2024-02-29|2024-02-29 12:34:56|12:34:56|36:00:00|TRUE|1000000000000000|0.2"
    );
    assert_eq!(
        texts[1].split('|').skip(7).collect::<Vec<_>>(),
        ["FALSE", "9007199254740991", "0.6"]
    );
}

#[test]
fn options_name_the_sheet_and_the_rows() {
    let book = fixture("book.xlsx");
    let titled = SheetOptions { skip_rows: 2, ..sheet("Titled") };
    let (names, titled) = rows(&book, titled, &types()).unwrap();
    assert_eq!((names.len(), titled.len(), titled[0].0), (10, 4, 4));
    let hidden = SheetOptions { has_names: false, ..sheet("Hidden") };
    let (names, rows_of_hidden) = rows(&book, hidden, &[Some(text())]).unwrap();
    assert_eq!((names, joined(&rows_of_hidden[0].1)), (vec!["A".to_owned()], "secret".to_owned()));
    let error = rows(&book, sheet("Other"), &[]).unwrap_err().to_string();
    assert!(error.contains("no sheet `Other`; --sheet names one of `Hidden`, `Orders`"), "{error}");
    // The title has no names for the other columns.
    let error = rows(&book, sheet("Titled"), &[]).unwrap_err().to_string();
    assert!(error.contains("column B has values and no name in row 1"), "{error}");
}

#[test]
fn workbooks_that_cannot_be_read_are_errors() {
    let folder = tempfile::tempdir().unwrap();
    let damaged = folder.path().join("damaged");
    let read = |bytes: &[u8]| {
        std::fs::write(&damaged, bytes).unwrap();
        rows(&damaged, SheetOptions::default(), &types())
    };
    let error = read(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\0\0").unwrap_err().to_string();
    assert!(error.contains("old workbook (.xls), or one with a password; save it as"), "{error}");
    let mut random = Random::new(Random::seed_of_run());
    for file in ["book.xlsx", "book.ods"] {
        let bytes = std::fs::read(fixture(file)).unwrap();
        for _ in 0..20 {
            let end = random.between(8, bytes.len() - 1);
            assert!(read(&bytes[..end]).is_err(), "{file}, {end} bytes");
        }
        for _ in 0..DAMAGES {
            let mut bytes = bytes.clone();
            for _ in 0..random.between(1, 4) {
                let at = random.below(bytes.len());
                bytes[at] = random.below(256) as u8;
            }
            // An error, or rows: never a panic.
            drop(read(&bytes));
        }
    }
}

/// Rows of the first workbook were left out without a word.
#[test]
fn workbooks_one_behind_the_other_are_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.xlsx");
    for file in ["book.xlsx", "book.ods"] {
        let bytes = std::fs::read(fixture(file)).unwrap();
        std::fs::write(&path, [&bytes[..], &bytes].concat()).unwrap();
        let error = rows(&path, SheetOptions::default(), &types()).unwrap_err().to_string();
        let words = format!("another workbook begins at byte {}", bytes.len());
        assert!(error.contains(&words), "{error}");
    }
}
