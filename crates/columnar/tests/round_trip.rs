//! Tables of all types, written in every way and read back.

use std::path::PathBuf;

use arrow_array::RecordBatch;
use arrow_ipc::CompressionType;
use parquet::basic::{Compression, Encoding, GzipLevel, ZstdLevel};
use parquet::file::properties::{WriterProperties, WriterVersion};
use parquet::schema::types::ColumnPath;
use testkit::random::Random;

use crate::tables;
use crate::writing::{Texts, arrow_file, arrow_stream, parquet, read, read_in_chunks};

const ROWS: usize = 700;

/// Compares a file with the rows that were written to it, column by column.
#[track_caller]
fn check(path: &PathBuf, batch: &RecordBatch, expected: &[Texts], how: &str) {
    let seen = read(std::slice::from_ref(path), &[]).unwrap();
    assert_eq!(seen.len(), expected.len(), "{how}");
    for (at, (seen, expected)) in seen.iter().zip(expected).enumerate() {
        for (field, (seen, expected)) in seen.iter().zip(expected).enumerate() {
            let name = batch.schema_ref().field(field).name().clone();
            assert_eq!(seen, expected, "{how}, row {at}, {name}");
        }
    }
}

/// A compression, a version of pages, and whether there are dictionaries.
type Combination = (Compression, WriterVersion, bool);

/// All ways to write Parquet.
fn ways() -> Vec<Combination> {
    let compressions = [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::ZSTD(ZstdLevel::default()),
        Compression::LZ4_RAW,
        Compression::GZIP(GzipLevel::default()),
    ];
    let versions = [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0];
    let with = |compression| {
        versions.into_iter().flat_map(move |version| {
            [false, true].map(|dictionary| (compression, version, dictionary))
        })
    };
    compressions.into_iter().flat_map(with).collect()
}

/// One of them, with row groups and pages of any size.
fn properties(
    random: &mut Random,
    (compression, version, dictionary): Combination,
) -> (WriterProperties, String) {
    let group = random.between(50, 2 * ROWS);
    let mut builder = WriterProperties::builder()
        .set_compression(compression)
        .set_writer_version(version)
        .set_dictionary_enabled(dictionary)
        .set_max_row_group_row_count(Some(group))
        .set_data_page_row_count_limit(random.between(10, ROWS))
        .set_write_batch_size(random.between(1, 300));
    if !dictionary {
        let encodings = [
            (&["i32", "i64", "u32", "u64", "micros"][..], Encoding::DELTA_BINARY_PACKED),
            (&["text", "bytes"], Encoding::DELTA_BYTE_ARRAY),
            (&["large text", "text view"], Encoding::DELTA_LENGTH_BYTE_ARRAY),
            (&["f32", "f64", "day"], Encoding::BYTE_STREAM_SPLIT),
        ];
        for (names, encoding) in encodings {
            for name in names {
                let path = ColumnPath::from((*name).to_owned());
                builder = builder.set_column_encoding(path, encoding);
            }
        }
    }
    (builder.build(), format!("{compression:?} {version:?} {dictionary} {group}"))
}

#[test]
fn parquet_of_every_encoding_gives_its_values_back() {
    let folder = tempfile::tempdir().unwrap();
    let mut random = Random::new(Random::seed_of_run());
    for way in ways() {
        let (batch, expected) = tables::random(&mut random, ROWS);
        let (properties, how) = properties(&mut random, way);
        let path = folder.path().join("t.parquet");
        parquet(&path, &[batch.slice(0, 300), batch.slice(300, ROWS - 300)], properties);
        check(&path, &batch, &expected, &how);
    }
}

#[test]
fn arrow_files_and_streams_give_their_values_back() {
    let folder = tempfile::tempdir().unwrap();
    let mut random = Random::new(Random::seed_of_run());
    for packed in [None, Some(CompressionType::LZ4_FRAME), Some(CompressionType::ZSTD)] {
        let (batch, expected) = tables::random(&mut random, ROWS);
        let batches = [batch.slice(0, 1), batch.slice(1, 500), batch.slice(501, ROWS - 501)];
        let path = folder.path().join("t.arrow");
        arrow_file(&path, &batches[..1], packed);
        check(&path, &batch, &expected[..1], "a file of a batch");
        // A file has one dictionary, a stream one for each batch.
        arrow_file(&path, std::slice::from_ref(&batch), packed);
        check(&path, &batch, &expected, "a file");
        arrow_stream(&path, &batches, packed);
        check(&path, &batch, &expected, "a stream");
    }
}

/// Rows of batches that are large and not compressed are read without those beside them.
#[test]
fn rows_of_large_arrow_batches_are_those_that_were_written() {
    let folder = tempfile::tempdir().unwrap();
    let mut random = Random::new(Random::seed_of_run());
    let (batch, expected) = tables::flat(tables::random(&mut random, 6 * ROWS));
    let path = folder.path().join("t.arrow");
    let batches = [batch.slice(0, ROWS), batch.slice(ROWS, 3), batch.slice(ROWS + 3, 5 * ROWS - 3)];
    for chunk_bytes in [1_000, 20_000, 4 << 20] {
        arrow_file(&path, &batches, None);
        assert!(std::fs::metadata(&path).unwrap().len() > 400 << 10);
        let seen = read_in_chunks(std::slice::from_ref(&path), &[], chunk_bytes).unwrap();
        assert!(seen == expected, "a file, {chunk_bytes} bytes");
        arrow_stream(&path, &batches, None);
        let seen = read_in_chunks(std::slice::from_ref(&path), &[], chunk_bytes).unwrap();
        assert!(seen == expected, "a stream, {chunk_bytes} bytes");
    }
}

#[test]
fn chunks_of_any_size_have_the_same_rows() {
    let folder = tempfile::tempdir().unwrap();
    let mut random = Random::new(Random::seed_of_run());
    let (batch, expected) = tables::random(&mut random, ROWS);
    let way = random.pick(&ways());
    let (properties, how) = properties(&mut random, way);
    let path = folder.path().join("t.parquet");
    parquet(&path, &[batch], properties);
    for chunk_bytes in [1, 1_000, 20_000, 4 << 20] {
        let seen = read_in_chunks(std::slice::from_ref(&path), &[], chunk_bytes).unwrap();
        assert!(seen == expected, "{how}, {chunk_bytes} bytes");
    }
}
