//! Damaged files: an error or rows, never a panic or a claim that is believed.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::types::Int8Type;
use arrow_array::{ArrayRef, DictionaryArray, Int64Array, RecordBatch, StringArray};
use arrow_ipc::CompressionType;
use arrow_schema::{Field, Schema};
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::metadata::{
    FileMetaData, ParquetMetaData, ParquetMetaDataReader, ParquetMetaDataWriter,
};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use testkit::random::Random;

use crate::tables;
use crate::writing::{arrow_file, arrow_stream, parquet, read};

const ROWS: usize = 60;
/// Damages of each file.
const DAMAGES: usize = 400;

fn small(folder: &Path, random: &mut Random) -> Vec<PathBuf> {
    let (batch, _) = tables::random(random, ROWS);
    let names = ["a.parquet", "b.parquet", "c.arrow", "d.arrow", "e.arrow"];
    let paths = names.map(|name| folder.join(name));
    let packed = Compression::ZSTD(ZstdLevel::default());
    let packed = WriterProperties::builder().set_compression(packed).build();
    parquet(&paths[0], std::slice::from_ref(&batch), WriterProperties::default());
    parquet(&paths[1], std::slice::from_ref(&batch), packed);
    arrow_file(&paths[2], std::slice::from_ref(&batch), None);
    arrow_stream(&paths[3], &[batch], Some(CompressionType::LZ4_FRAME));
    // Rows of a larger batch are read alone.
    let (large, _) = tables::flat(tables::random(random, 50 * ROWS));
    arrow_file(&paths[4], &[large], None);
    assert!(std::fs::metadata(&paths[4]).unwrap().len() > 300 << 10);
    paths.into()
}

#[test]
fn a_file_that_is_cut_off_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let mut random = Random::new(Random::seed_of_run());
    let cut = folder.path().join("cut");
    for path in small(folder.path(), &mut random) {
        let bytes = std::fs::read(&path).unwrap();
        // The end of a stream may be missing, if whole batches are there.
        let is_stream = bytes.starts_with(&[0xff; 4]);
        let last = if is_stream { bytes.len() - 8 } else { bytes.len() };
        for _ in 0..60 {
            let end = random.between(8, last - 1);
            std::fs::write(&cut, &bytes[..end]).unwrap();
            let rows = read(std::slice::from_ref(&cut), &[]);
            let is_empty_stream = is_stream && rows.as_ref().is_ok_and(Vec::is_empty);
            assert!(rows.is_err() || is_empty_stream, "{}, {end} bytes", path.display());
        }
    }
}

#[test]
fn damaged_bytes_never_end_the_program() {
    let folder = tempfile::tempdir().unwrap();
    let mut random = Random::new(Random::seed_of_run());
    let damaged = folder.path().join("damaged");
    let mut errors = 0;
    for path in small(folder.path(), &mut random) {
        let bytes = std::fs::read(&path).unwrap();
        let damages = if bytes.len() < 200 << 10 { DAMAGES } else { DAMAGES / 10 };
        for _ in 0..damages {
            let mut bytes = bytes.clone();
            for _ in 0..random.between(1, 4) {
                // Most claims are in headers and footers.
                let at = random.between(8, bytes.len() - 1);
                let any = random.next_u64() as u8;
                bytes[at] = random.pick(&[0, 1, 0x7f, 0x80, 0xff, any]);
            }
            std::fs::write(&damaged, &bytes).unwrap();
            errors += usize::from(read(std::slice::from_ref(&damaged), &[]).is_err());
        }
    }
    assert!(errors > DAMAGES / 2, "{errors} errors");
}

#[test]
fn an_index_that_a_dictionary_lacks_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.arrow");
    let colours: DictionaryArray<Int8Type> = ["red", "green", "red"].into_iter().collect();
    let batch = RecordBatch::try_from_iter([("c", Arc::new(colours) as ArrayRef)]).unwrap();
    arrow_file(&path, &[batch], None);
    assert_eq!(read(std::slice::from_ref(&path), &[]).unwrap().len(), 3);
    let mut bytes = std::fs::read(&path).unwrap();
    // The keys are the last buffer before the mark of the end, and filled up.
    let end = [0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0];
    let end = bytes.windows(8).rposition(|mark| mark == end).unwrap();
    let at = bytes[..end].windows(8).rposition(|keys| keys == [0, 1, 0, 0, 0, 0, 0, 0]).unwrap();
    bytes[at + 1] = 9;
    std::fs::write(&path, bytes).unwrap();
    let error = read(&[path], &[]).unwrap_err().to_string();
    assert!(error.contains("a.arrow, record batch 1"), "{error}");
}

/// Asserts that a file is refused, and how.
#[track_caller]
fn refused(path: &Path, bytes: &[u8], said: &str) {
    std::fs::write(path, bytes).unwrap();
    let error = read(&[path.to_owned()], &[]).unwrap_err().to_string();
    assert!(error.contains("a.parquet") && error.contains(said), "{error}");
}

/// A file with a column of values that are not NULL.
fn one_page(path: &Path, values: ArrayRef, has_dictionary: bool) -> Vec<u8> {
    let field = Field::new("c", values.data_type().clone(), false);
    let batch = RecordBatch::try_new(Arc::new(Schema::new(vec![field])), vec![values]).unwrap();
    let properties = WriterProperties::builder()
        .set_dictionary_enabled(has_dictionary)
        .set_statistics_enabled(EnabledStatistics::None)
        .set_offset_index_disabled(true)
        .build();
    parquet(path, &[batch], properties);
    assert_eq!(read(&[path.to_owned()], &[]).unwrap().len(), 3);
    std::fs::read(path).unwrap()
}

/// The place of bytes that are in a file once.
#[track_caller]
fn place(bytes: &[u8], searched: &[u8]) -> usize {
    let found = bytes.windows(searched.len()).enumerate().filter(|(_, it)| *it == searched);
    let found: Vec<usize> = found.map(|(at, _)| at).collect();
    assert_eq!(found.len(), 1, "{searched:02x?}");
    found[0]
}

#[test]
fn a_page_with_another_checksum_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/other/checksums.parquet");
    let mut bytes = std::fs::read(&fixture).unwrap();
    assert_eq!(read(&[fixture], &[]).unwrap().len(), 3);
    // The page is not compressed, so that nothing but its checksum tells that a value is another.
    let at = place(&bytes, &7_002_i64.to_le_bytes());
    bytes[at] ^= 1;
    refused(&folder.path().join("a.parquet"), &bytes, "row group 1: column `id`: ");
}

/// The file with other numbers of values and of rows in its footer.
fn with_numbers(path: &Path, bytes: &[u8], values: i64, rows: i64) -> Vec<u8> {
    std::fs::write(path, bytes).unwrap();
    let file = File::open(path).unwrap();
    let metadata = ParquetMetaDataReader::new().parse_and_finish(&file).unwrap();
    let group = metadata.row_group(0).clone();
    let column = group.column(0).clone().into_builder().set_num_values(values).build().unwrap();
    let group = group.into_builder().set_num_rows(rows).set_column_metadata(vec![column]);
    let file = metadata.file_metadata();
    let schema = file.schema_descr_ptr();
    let file = FileMetaData::new(file.version(), rows, None, None, schema, None);
    let metadata = ParquetMetaData::new(file, vec![group.build().unwrap()]);
    let footer_bytes: [u8; 4] = bytes[bytes.len() - 8..bytes.len() - 4].try_into().unwrap();
    let mut out = bytes[..bytes.len() - 8 - u32::from_le_bytes(footer_bytes) as usize].to_vec();
    ParquetMetaDataWriter::new(&mut out, &metadata).finish().unwrap();
    out
}

#[test]
fn a_page_of_parquet_that_claims_billions_of_values_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.parquet");
    let values = [5, 6, 7_i64];
    let bytes = one_page(&path, Arc::new(Int64Array::from(values.to_vec())), false);
    // Kind, both sizes, and the number of values; numbers are doubled.
    let head = [0x15, 0, 0x15, 48, 0x15, 48, 0x2c, 0x15, 6];
    // Four bytes less, for the longer number.
    let claim = [0x15, 0, 0x15, 40, 0x15, 40, 0x2c, 0x15, 0xfe, 0xff, 0xff, 0xff, 0x0f];
    let body: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    let (start, at) = (place(&bytes, &head), place(&bytes, &body));
    let rest = &bytes[start + head.len()..at + body.len() - 4];
    let damaged = [&bytes[..start], &claim, rest, &bytes[at + body.len()..]].concat();
    assert_eq!(damaged.len(), bytes.len());
    refused(&path, &damaged, "its pages have other numbers of values than its column");
    // The footer says the same as the page, of the values alone and of the rows too.
    let claimed = i64::from(i32::MAX);
    refused(&path, &with_numbers(&path, &damaged, claimed, 3), "column `c`");
    refused(&path, &with_numbers(&path, &damaged, claimed, claimed), "column `c`");
}

#[test]
fn an_index_that_a_dictionary_of_parquet_lacks_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.parquet");
    let colours = StringArray::from(vec!["red", "green", "blue"]);
    let mut bytes = one_page(&path, Arc::new(colours), true);
    // Two bits for each index, and eight of them: 0, 1, 2 and nothing more.
    let at = place(&bytes, &[2, 3, 0b10_01_00, 0]);
    bytes[at + 2] = 0b11_01_00;
    refused(
        &path,
        &bytes,
        "row group 1: column `c`: Parquet argument error: Parquet error: invalid key=3",
    );
}

/// The bit of a value that is NULL, in a batch that is read as a whole and in one whose rows are read alone.
#[test]
fn a_null_more_or_less_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.arrow");
    for rows in [1_000, 100_000] {
        let values: Int64Array = (0..rows).map(|row| (row % 2 == 0).then_some(row)).collect();
        let batch = RecordBatch::try_from_iter([("c", Arc::new(values) as ArrayRef)]).unwrap();
        arrow_file(&path, &[batch], None);
        assert_eq!(read(std::slice::from_ref(&path), &[]).unwrap().len() as i64, rows);
        let mut bytes = std::fs::read(&path).unwrap();
        let at = bytes.windows(9).position(|bits| bits == [0x55; 9]).unwrap();
        bytes[at + 8] ^= 4;
        std::fs::write(&path, bytes).unwrap();
        let error = read(std::slice::from_ref(&path), &[]).unwrap_err().to_string();
        assert!(error.contains("a.arrow, record batch 1"), "{error}");
    }
}
