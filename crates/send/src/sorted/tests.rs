//! The output, compared with a plain sort of the same rows.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use encode::column_source::Input as From;
use job::progress::Snapshot;
use proptest::prelude::*;
use schema::{Index, IndexColumn, IndexKind};
use sources::{
    Chunk, Dialect, FileSource, RecordPlace, Row as _, Rows, SourceExt as _, SourceOptions, TextRow,
};
use values::{ConvertOptions, Converter, SqlType};

use super::*;

/// A row, where it is, and its key.
#[derive(Clone, Debug, PartialEq)]
struct Row {
    key: Option<i32>,
    file: u32,
    offset: u64,
    line: u64,
    bytes: Vec<u8>,
}

struct Silent;

impl Progress for Silent {
    fn update(&self, _: Snapshot) {}
}

/// Files as they are written, and their rows.
struct Input {
    _folder: tempfile::TempDir,
    paths: Vec<PathBuf>,
    rows: Vec<Row>,
}

/// A row's key, bytes of its text, lines in its text. A key below 0 does not convert.
type InputRow = (i32, usize, usize);

impl Input {
    /// The last row of each file lacks its line end.
    fn new(files: &[Vec<InputRow>]) -> Input {
        let folder = tempfile::tempdir().unwrap();
        let (mut paths, mut all) = (Vec::new(), Vec::new());
        for (number, given) in files.iter().enumerate() {
            let mut written = Vec::new();
            for (row, &(key, size, lines)) in given.iter().enumerate() {
                let offset = written.len() as u64;
                let line = 1 + written.iter().filter(|byte| **byte == b'\n').count() as u64;
                let key_text = if key < 0 { "x".to_owned() } else { key.to_string() };
                let body = format!("{}{}", "\\\n".repeat(lines), "y".repeat(size));
                let mut bytes = format!("{row}\t{key_text}\t{body}\n").into_bytes();
                if row + 1 == given.len() {
                    bytes.pop();
                    // Would take the row after it along.
                    bytes.push(b'\\');
                }
                written.extend_from_slice(&bytes);
                let key = (key >= 0).then_some(key);
                all.push(Row { key, file: number as u32, offset, line, bytes });
            }
            let path = folder.path().join(format!("{number}"));
            std::fs::write(&path, written).unwrap();
            paths.push(path);
        }
        Input { _folder: folder, paths, rows: all }
    }

    fn source(&self, chunk_bytes: usize) -> Box<dyn Source> {
        let options =
            SourceOptions { chunk_bytes, record_bytes_max: 1 << 20, ..SourceOptions::default() };
        Box::new(FileSource::new(&self.paths, &Dialect::mysql(), options).unwrap())
    }
}

fn sort_plan(is_numbered: bool) -> SortPlan {
    let input = match is_numbered {
        true => From::AutoIncrement(Some(1)),
        false => From::Field(1),
    };
    let sql_type = SqlType::Integer { bytes: 4, unsigned: false };
    let converter = Converter::new("k", &sql_type, &ConvertOptions::default()).unwrap();
    let column = Column { auto_increment: is_numbered, ..Column::new("k", sql_type) };
    let bound = BoundColumn { column, input, on_null: None, converter };
    let of_index = IndexColumn { name: "k".to_owned(), prefix: None, descending: false };
    let index = Index {
        name: PRIMARY.to_owned(),
        unique: true,
        kind: IndexKind::BTree,
        columns: vec![of_index],
        without_overlaps: None,
    };
    SortPlan { keys: KeyPlan::new(&[&index], &[&bound], &HashMap::new(), false) }
}

fn memory(threads: usize, chunk_bytes: usize) -> Memory {
    Memory {
        threads,
        chunk_bytes,
        record_bytes_max: 1 << 20,
        batch_bytes: 0,
        entry_bytes: 2000,
        run_bytes: 1 << 20,
    }
}

fn sort(input: &Input, plan: &SortPlan, memory: &Memory, store_bytes: usize) -> Sorted {
    let folder = tempfile::tempdir().unwrap();
    let interrupt = Interrupt::default();
    let sorting = Sorting {
        plan,
        memory,
        store_bytes,
        temp_dir: folder.path(),
        progress: &Silent,
        interrupt: &interrupt,
    };
    sorting.sort(input.source(memory.chunk_bytes)).unwrap()
}

fn sorted(input: &Input, memory: &Memory, store_bytes: usize) -> SortedSource {
    match sort(input, &sort_plan(false), memory, store_bytes) {
        Sorted::Rows(source) => *source,
        Sorted::NotSorted(_) => panic!("numbers are given"),
    }
}

fn chunks(source: &mut dyn Source) -> Vec<Chunk> {
    let mut chunks = Vec::new();
    let mut chunk = Chunk::default();
    while source.next_chunk(&mut chunk).unwrap() {
        assert_eq!(chunk.ordinal, chunks.len() as u64);
        chunks.push(chunk.clone());
    }
    assert!(!source.next_chunk(&mut chunk).unwrap());
    chunks
}

/// The rows of a chunk as a connection finds them.
fn rows_of(chunk: &Chunk) -> Vec<Row> {
    let index = Dialect::mysql().index(&chunk.bytes);
    let row = |row: TextRow<'_>| {
        let start = row.start();
        let key = std::str::from_utf8(row.raw_field(1)).unwrap();
        Row {
            key: key.parse().ok(),
            file: chunk.file_at(start),
            offset: chunk.offset_at(start),
            line: chunk.line_at(start),
            bytes: row.raw().into_owned(),
        }
    };
    index.rows(&chunk.bytes).iter().map(row).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn rows_come_in_key_order_and_know_where_they_are_from(
        files in prop::collection::vec(
            prop::collection::vec((-1_i32..40, 0_usize..40, 0_usize..3), 0..60), 1..4),
        threads in 1_usize..4,
        chunk_bytes in 50_usize..3000,
    ) {
        let input = Input::new(&files);
        let mut expected = input.rows.clone();
        expected.sort_by_key(|row| row.key);
        let mut source = sorted(&input, &memory(threads, chunk_bytes), 8 << 20);
        let first = chunks(&mut source);
        let rows: Vec<Row> = first.iter().flat_map(rows_of).collect();
        prop_assert_eq!(rows, expected);
        prop_assert_eq!(source.bytes_read(), source.facts().bytes_total.unwrap());
        source.restart().unwrap();
        prop_assert_eq!(&chunks(&mut source), &first, "the same once more");
        drop(source);
        let mut other = sorted(&input, &memory(1, chunk_bytes), 8 << 20);
        prop_assert_eq!(&chunks(&mut other), &first, "whoever sorted");
    }
}

#[test]
fn rows_that_do_not_fit_are_spilled() {
    let row = |row: i32| (row.wrapping_mul(7919) % 10_007, 200, 0);
    let files = vec![(0..10_000).map(row).collect(), vec![(5, 100_000, 2), (3, 1, 1)]];
    let input = Input::new(&files);
    let memory = Memory { chunk_bytes: 20_000, entry_bytes: 50_000, ..memory(2, 0) };
    let mut source = sorted(&input, &memory, 1500 << 10);
    assert!(source.spilled_bytes() > 0);
    let chunks = chunks(&mut source);
    let mut expected = input.rows.clone();
    expected.sort_by_key(|row| row.key);
    assert!(chunks.iter().flat_map(rows_of).eq(expected));
    let size = |chunk: &Chunk| chunk.bytes.len() + chunk.places.len() * size_of::<RecordPlace>();
    assert!(chunks.iter().all(|chunk| size(chunk) <= 20_000 || chunk.places.len() == 1));
    assert!(chunks.len() < 200);
}

#[test]
fn rows_that_get_numbers_stay_as_they_are() {
    let input = Input::new(&[vec![(5, 3, 0), (0, 4, 0), (2, 1, 0)]]);
    let Sorted::NotSorted(mut source) = sort(&input, &sort_plan(true), &memory(2, 50), 8 << 20)
    else {
        panic!("the second row gets a number");
    };
    let rows: Vec<Row> = chunks(&mut *source).iter().flat_map(rows_of).collect();
    assert_eq!(rows, input.rows);
    let given = Input::new(&[vec![(5, 3, 0), (1, 4, 0)]]);
    let sorted = sort(&given, &sort_plan(true), &memory(2, 50), 8 << 20);
    assert!(matches!(sorted, Sorted::Rows(_)));
}

#[test]
fn a_source_that_is_left_early_ends_its_thread() {
    let files = vec![(0..5000).map(|row| (row % 100, 50, 0)).collect()];
    let input = Input::new(&files);
    let mut source = sorted(&input, &memory(2, 1000), 8 << 20);
    let rows = Arc::downgrade(source.rows());
    let mut chunk = Chunk::default();
    assert!(source.next_chunk(&mut chunk).unwrap());
    drop(source);
    assert!(rows.upgrade().is_none(), "nobody holds the runs any more");
}
