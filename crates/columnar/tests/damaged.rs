//! Damaged files: an error or rows, never a panic or a claim that is believed.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::types::Int8Type;
use arrow_array::{ArrayRef, DictionaryArray, RecordBatch};
use arrow_ipc::CompressionType;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
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
    let (large, _) = tables::flat(tables::random(random, 10 * ROWS));
    arrow_file(&paths[4], &[large], None);
    assert!(std::fs::metadata(&paths[4]).unwrap().len() > 70 << 10);
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
        for _ in 0..DAMAGES {
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
