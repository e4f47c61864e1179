//! Rows written as Parquet, read back by this crate, with the statistics that other programs read.

use std::fs::File;
use std::path::Path;

use columnar::{Kind, Packing, TableFormat, WriteOptions, WrittenColumn};
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData};
use parquet::file::reader::{FileReader, SerializedFileReader};
use values::{Charset, SqlType, TextType};

use crate::writing::{Texts, read};

const OPTIONS: WriteOptions = WriteOptions {
    kind: Kind::Parquet,
    is_stream: false,
    packing: Packing::Zstd,
    group_bytes: 8 << 20,
    group_rows: WriteOptions::GROUP_ROWS,
    value_bytes: u64::MAX,
};

fn text(charset: Charset) -> SqlType {
    let text = TextType { charset, collation: String::new() };
    SqlType::VarChar { chars: 100, text }
}

/// Columns of a test.
fn columns() -> Vec<SqlType> {
    vec![
        SqlType::Integer { bytes: 4, unsigned: false },
        SqlType::Integer { bytes: 8, unsigned: true },
        SqlType::Decimal { precision: 15, scale: 2, unsigned: false },
        SqlType::Date,
        SqlType::Double { unsigned: false, digits: None },
        text(Charset::Utf8mb4),
        text(Charset::Binary),
    ]
}

/// The row of this number as the server sends it. Values repeat after `different` rows.
fn row(number: u64, different: u64, nulls: u64) -> Texts {
    let n = number % different;
    let value = |column: u64, text: String| {
        // Pages of only NULLs too: nulls come in runs.
        let is_null = nulls > 0
            && ((number / 3_000 + column).is_multiple_of(3) || (n + column).is_multiple_of(nulls));
        (!is_null).then_some(text)
    };
    let spread = n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    vec![
        value(0, (spread as i32).to_string()),
        value(1, spread.to_string()),
        value(2, format!("{}.{:02}", (spread % 1_000_000) as i64 - 500_000, n % 100)),
        value(3, format!("{:04}-{:02}-{:02}", 1 + n % 9999, 1 + n % 12, 1 + n % 28)),
        value(4, format!("{n}.5")),
        value(5, format!("{}ü{n}", "wörter ".repeat((spread % 9) as usize))),
        value(6, format!("{}{spread}", "b".repeat((n % 80) as usize))),
    ]
}

fn write(path: &Path, rows: &[Texts], is_nullable: bool, options: WriteOptions) {
    let types = columns();
    let named: Vec<String> = (0..types.len()).map(|at| format!("c{at}")).collect();
    let columns = types.iter().zip(&named);
    let columns =
        columns.map(|(sql_type, name)| WrittenColumn { name, sql_type, is_nullable, srid: 0 });
    let format = TableFormat::new(&columns.collect::<Vec<_>>(), options).unwrap();
    let (mut encoder, mut writer) = (format.encoder().unwrap(), format.file().unwrap());
    let mut file = File::create(path).unwrap();
    writer.begin(&mut file).unwrap();
    for row in rows {
        for (column, value) in row.iter().enumerate() {
            encoder.sent(column, value.as_ref().map(String::as_bytes)).unwrap();
        }
        if encoder.end_rows(1).unwrap() {
            let mut group = encoder.take().unwrap().unwrap();
            writer.group(&mut group, &mut file).unwrap();
            encoder.reuse(group);
        }
    }
    if let Some(mut group) = encoder.take().unwrap() {
        writer.group(&mut group, &mut file).unwrap();
    }
    writer.finish(&mut file).unwrap();
}

fn described(path: &Path) -> ParquetMetaData {
    SerializedFileReader::new(File::open(path).unwrap()).unwrap().metadata().clone()
}

#[test]
fn rows_come_back_with_and_without_dictionaries_and_nulls() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.parquet");
    let types: Vec<_> = columns().into_iter().map(Some).collect();
    // Each row count is beside one at which a page or the trial of a dictionary ends.
    for count in [0, 1, 9, 4095, 4097, 20_479, 20_481, 70_000] {
        for (different, nulls) in [(1, 0), (7, 0), (7, 2), (3000, 5), (60_000, 0), (60_000, 3)] {
            let rows: Vec<Texts> = (0..count).map(|n| row(n, different, nulls)).collect();
            write(&path, &rows, nulls > 0, OPTIONS);
            let back = read(std::slice::from_ref(&path), &types).unwrap();
            let first = rows.iter().zip(&back).position(|(row, back)| row != back);
            assert_eq!((back.len(), first), (rows.len(), None), "{count} {different} {nulls}");
        }
    }
}

#[test]
fn rows_come_back_by_every_compression_and_in_small_groups() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.parquet");
    let types: Vec<_> = columns().into_iter().map(Some).collect();
    let rows: Vec<Texts> = (0..30_000).map(|n| row(n, 9_000, 11)).collect();
    for packing in [Packing::None, Packing::Gzip, Packing::Zstd] {
        for (group_bytes, group_rows, value_bytes) in
            [(64 << 10, 1 << 20, u64::MAX), (8 << 20, 777, u64::MAX), (8 << 20, 1 << 20, 99_999)]
        {
            let options = WriteOptions { packing, group_bytes, group_rows, value_bytes, ..OPTIONS };
            write(&path, &rows, true, options);
            assert!(read(std::slice::from_ref(&path), &types).unwrap() == rows, "{options:?}");
            let groups = described(&path);
            assert!((4..400).contains(&groups.num_row_groups()), "{options:?}");
            let is_short = |group: &parquet::file::metadata::RowGroupMetaData| {
                group.num_rows() as usize <= group_rows
            };
            assert!(groups.row_groups().iter().all(is_short), "{options:?}");
        }
    }
}

#[test]
fn chunks_have_the_least_and_the_greatest_value_and_the_number_of_nulls() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.parquet");
    for different in [50, 50_000] {
        let rows: Vec<Texts> = (0..50_000).map(|n| row(n, different, 7)).collect();
        write(&path, &rows, true, OPTIONS);
        let described = described(&path);
        assert_eq!(described.num_row_groups(), 1);
        let chunk = |column: usize| described.row_group(0).column(column);
        let values = |column: usize| rows.iter().filter_map(move |row| row[column].as_ref());
        let nulls = |column: usize| 50_000 - values(column).count() as u64;
        for column in 0..7 {
            let seen = chunk(column).statistics().unwrap().null_count_opt();
            assert_eq!(seen, Some(nulls(column)), "{column}");
        }
        let bounds = |chunk: &ColumnChunkMetaData| {
            let statistics = chunk.statistics().unwrap();
            let bytes = |bytes: Option<&[u8]>| bytes.unwrap().to_vec();
            (bytes(statistics.min_bytes_opt()), bytes(statistics.max_bytes_opt()))
        };
        let numbers = |column: usize| values(column).map(|text| text.parse::<i32>().unwrap());
        let expected = (numbers(0).min().unwrap(), numbers(0).max().unwrap());
        let expected = (expected.0.to_le_bytes().to_vec(), expected.1.to_le_bytes().to_vec());
        assert_eq!(bounds(chunk(0)), expected);
        let numbers = |column: usize| values(column).map(|text| text.parse::<u64>().unwrap());
        let expected = (numbers(1).min().unwrap(), numbers(1).max().unwrap());
        let expected = (expected.0.to_le_bytes().to_vec(), expected.1.to_le_bytes().to_vec());
        assert_eq!(bounds(chunk(1)), expected);
        for column in [5, 6] {
            let (least, greatest) = bounds(chunk(column));
            assert!(least.as_slice() <= values(column).min().unwrap().as_bytes());
            assert!(greatest.as_slice() >= values(column).max().unwrap().as_bytes());
            assert!(least.len().max(greatest.len()) <= 64);
        }
    }
}
