//! Writes record batches to files of every kind, and reads files as the texts of their values.

use std::fs::File;
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use columnar::{ColumnarOptions, Kind};
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;
use sources::{Batch, Chunk, ReadAs, Result, Row, Rows, Source, Value, Visit};
use values::SqlType;

pub(crate) use testkit::arrow_tables::Texts;

pub(crate) fn parquet(path: &Path, batches: &[RecordBatch], properties: WriterProperties) {
    let schema = batches[0].schema();
    let mut writer =
        ArrowWriter::try_new(File::create(path).unwrap(), schema, Some(properties)).unwrap();
    batches.iter().for_each(|batch| writer.write(batch).unwrap());
    writer.close().unwrap();
}

pub(crate) fn arrow_file(path: &Path, batches: &[RecordBatch], packed: Option<CompressionType>) {
    let options = IpcWriteOptions::default().try_with_compression(packed).unwrap();
    let schema = batches[0].schema();
    let file = File::create(path).unwrap();
    let mut writer = FileWriter::try_new_with_options(file, &schema, options).unwrap();
    batches.iter().for_each(|batch| writer.write(batch).unwrap());
    writer.finish().unwrap();
}

pub(crate) fn arrow_stream(path: &Path, batches: &[RecordBatch], packed: Option<CompressionType>) {
    let options = IpcWriteOptions::default().try_with_compression(packed).unwrap();
    let schema = batches[0].schema();
    let file = File::create(path).unwrap();
    let mut writer = StreamWriter::try_new_with_options(file, &schema, options).unwrap();
    batches.iter().for_each(|batch| writer.write(batch).unwrap());
    writer.finish().unwrap();
}

/// A source of files, recognised by their first bytes.
pub(crate) fn open(paths: &[PathBuf]) -> Result<Box<dyn Source>> {
    let kind = Kind::of_files(paths)?.expect("a file of typed columns");
    columnar::open(kind, paths, ColumnarOptions::default())
}

/// All rows of files, for columns of these types; of any where they are not known.
pub(crate) fn read(paths: &[PathBuf], columns: &[Option<SqlType>]) -> Result<Vec<Texts>> {
    read_in_chunks(paths, columns, 4 << 10)
}

pub(crate) fn read_in_chunks(
    paths: &[PathBuf],
    columns: &[Option<SqlType>],
    chunk_bytes: usize,
) -> Result<Vec<Texts>> {
    rows_of(open(paths)?, columns, chunk_bytes)
}

pub(crate) fn rows_of(
    mut source: Box<dyn Source>,
    columns: &[Option<SqlType>],
    chunk_bytes: usize,
) -> Result<Vec<Texts>> {
    source.begin(ReadAs { columns: columns.to_vec(), chunk_bytes, ..ReadAs::default() })?;
    let (mut reader, mut chunk, mut batch) = (source.reader(), Chunk::default(), Batch::new());
    let mut rows = Vec::new();
    while source.next_chunk(&mut chunk)? {
        reader.read(&chunk, &mut batch)?;
        rows.extend(batch.visit(&chunk, All));
    }
    Ok(rows)
}

/// Gives the texts of all rows.
pub(crate) struct All;

impl Visit for All {
    type Output = Vec<Texts>;

    fn rows<R: Rows>(self, rows: R) -> Vec<Texts> {
        rows.iter().map(texts).collect()
    }
}

fn texts<R: Row>(row: R) -> Texts {
    let field = |field| {
        let (mut scratch, mut text) = (Vec::new(), Vec::new());
        let value = row.value(field, &mut scratch);
        let mark = if matches!(value, Value::Refused { .. }) { "!" } else { "" };
        value.text(&mut text).map(|text| format!("{mark}{}", String::from_utf8_lossy(text)))
    };
    (0..row.field_count()).map(field).collect()
}
