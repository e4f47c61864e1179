//! Rows of files that are taken apart, against the rows one by one.

use std::collections::HashMap;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::Duration;

use proptest::prelude::*;
use schema::{
    Column, Engine, Partition, PartitionBound, PartitionMethod, Partitioning, RowFormat, Table,
    TableKind, TableName,
};
use server::Interrupt;
use sources::{Batch, Chunk, Dialect, FileSource, Row, Rows, SourceExt as _, SourceOptions, Visit};
use values::{ConvertOptions, Converter, SqlType};

use super::piece::Piece;
use super::queue::{Next, Queue};
use super::*;

/// A row and its position: file, line, byte, and the row itself.
type PlacedRowText = (u32, u64, u64, Vec<u8>);

fn shares(piece_bytes: usize, kept_bytes: usize) -> Shares {
    Shares { piece_bytes, queue_bytes: 2 * piece_bytes, kept_bytes, held_bytes: 0 }
}

/// By HASH (id), `id` being the first field of two.
fn router(count: usize) -> Arc<RowRouter> {
    let integer = SqlType::Integer { bytes: 4, unsigned: false };
    let column = Column::new("id", integer.clone());
    let partition = |at| Partition { name: format!("p{at}"), bound: PartitionBound::Hash };
    let partitioning = Partitioning {
        method: Some(PartitionMethod::Hash),
        by_columns: false,
        is_linear: false,
        expression: "`id`".to_owned(),
        partitions: (0..count).map(partition).collect(),
        oddity: None,
    };
    let table = Table {
        name: TableName::new("d", "t"),
        kind: TableKind::Base,
        engine: Engine::InnoDb,
        row_format: RowFormat::Dynamic,
        options: Vec::new(),
        partitioning: None,
        auto_increment: None,
        columns: vec![column.clone()],
        period: None,
        indexes: Vec::new(),
        foreign_keys: Vec::new(),
        references: Vec::new(),
        triggers: Vec::new(),
        checks: Vec::new(),
        old_uuids: None,
        definition: String::new(),
    };
    let convert = ConvertOptions::default();
    let router = Router::new(&table, &partitioning, &convert, &HashMap::new()).unwrap();
    let converter = Converter::new("id", &integer, &convert).unwrap();
    let bound = BoundColumn { column, input: Input::Field(0), on_null: None, converter };
    Arc::new(RowRouter::new(&router, &["id".to_owned()], &[bound], false).unwrap())
}

/// Files of these rows; the last one lacks its end.
fn files(rows: &[Vec<(i32, String)>]) -> (tempfile::TempDir, Vec<PathBuf>) {
    let folder = tempfile::tempdir().unwrap();
    let write = |(at, rows): (usize, &Vec<(i32, String)>)| {
        let path = folder.path().join(at.to_string());
        let lines: Vec<String> = rows.iter().map(|(id, text)| format!("{id},\"{text}\"")).collect();
        std::fs::write(&path, lines.join("\n")).unwrap();
        path
    };
    let paths = rows.iter().enumerate().map(write).collect();
    (folder, paths)
}

fn source(paths: &[PathBuf], chunk_bytes: usize) -> Box<dyn Source> {
    let options = SourceOptions { chunk_bytes, ..SourceOptions::default() };
    Box::new(FileSource::new(paths, &Dialect::csv(), options).unwrap())
}

/// The expected rows of each partition.
fn expected(rows: &[Vec<(i32, String)>], count: usize) -> Vec<Vec<PlacedRowText>> {
    let mut all = vec![Vec::new(); count];
    for (file, rows) in rows.iter().enumerate() {
        let (mut line, mut offset) = (1, 0);
        for (at, (id, text)) in rows.iter().enumerate() {
            let end = if at + 1 < rows.len() { "\n" } else { "" };
            let row = format!("{id},\"{text}\"{end}").into_bytes();
            let (lines, bytes) = (text.matches('\n').count() as u64 + 1, row.len() as u64);
            all[id.unsigned_abs() as usize % count].push((file as u32, line, offset, row));
            (line, offset) = (line + lines, offset + bytes);
        }
    }
    all
}

struct ChunkView<'c>(&'c Chunk);

impl Visit for ChunkView<'_> {
    type Output = Vec<PlacedRowText>;

    fn rows<R: Rows>(self, rows: R) -> Vec<PlacedRowText> {
        let chunk = self.0;
        let see = |row: R::Row| {
            let at = row.start();
            (chunk.file_at(at), chunk.line_at(at), chunk.offset_at(at), row.raw().into_owned())
        };
        rows.iter().map(see).collect()
    }
}

/// Reads a source to its end, or up to so many chunks.
fn read(source: &mut dyn Source, chunks_max: u64) -> Vec<PlacedRowText> {
    let (mut reader, mut chunk, mut batch) = (source.reader(), Chunk::default(), Batch::new());
    let (mut seen, mut ordinal) = (Vec::new(), 0);
    while ordinal < chunks_max && source.next_chunk(&mut chunk).unwrap() {
        assert_eq!(chunk.ordinal, ordinal);
        assert!(!chunk.bytes.is_empty());
        ordinal += 1;
        reader.read(&chunk, &mut batch).unwrap();
        let rows = batch.visit(&chunk, ChunkView(&chunk));
        assert!(rows.iter().all(|row| row.0 == chunk.file));
        seen.extend(rows);
    }
    seen
}

/// Has `take` do with the rows of each partition what its load would, beside one reading.
fn shared<T: Send>(
    source: Box<dyn Source>,
    partitions: Range<usize>,
    count: usize,
    shares: Shares,
    threads: usize,
    take: impl Fn(usize, Box<dyn Source>) -> T + Sync,
) -> (Vec<T>, SharedReading) {
    let router = router(count);
    let interrupt = Interrupt::default();
    let reading =
        SharedReading::new(source, &router, partitions.clone(), shares, threads, &interrupt);
    let taken = std::thread::scope(|scope| {
        let (take, reading) = (&take, &reading);
        let loads: Vec<_> = partitions
            .map(|at| {
                let rows = reading.rows_of(at).unwrap();
                scope.spawn(move || take(at, rows))
            })
            .collect();
        for reader in (0..threads).map(|_| scope.spawn(|| reading.work())).collect::<Vec<_>>() {
            reader.join().unwrap().unwrap();
        }
        loads.into_iter().map(|load| load.join().unwrap()).collect()
    });
    (taken, reading)
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z ]{0,12}", "[a-z]{0,5}\n[a-z\n]{0,9}", "[a-z]{100,300}"]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn each_partition_gets_its_rows_in_order_with_their_places(
        rows in prop::collection::vec(
            prop::collection::vec((-500i32..500, text()), 1..120),
            1..4,
        ),
        count in 1usize..6,
        (piece_bytes, kept_bytes) in (1usize..2_000, 0usize..4_000),
        (read_bytes, chunk_bytes) in (1usize..3_000, 1usize..2_000),
        (threads, again_at) in (1usize..4, 0u64..6),
    ) {
        let (_folder, paths) = files(&rows);
        let expected = expected(&rows, count);
        let sizes = (shares(piece_bytes, kept_bytes), threads);
        let (taken, reading) =
            shared(source(&paths, read_bytes), 0..count, count, sizes.0, sizes.1, |at, mut rows| {
                rows.begin_with(chunk_bytes, 1 << 20).unwrap();
                // As who looks at the first rows before, or begins again.
                let first = read(&mut *rows, again_at);
                assert!(expected[at].starts_with(&first));
                rows.restart().unwrap();
                let all = read(&mut *rows, u64::MAX);
                rows.restart().unwrap();
                assert_eq!(read(&mut *rows, u64::MAX), all);
                all
            });
        prop_assert_eq!(&taken, &expected);
        for (at, expected) in expected.iter().enumerate() {
            prop_assert_eq!(reading.rows(at), expected.len() as u64);
            prop_assert!(!reading.was_left(at));
        }
        // The same for one that reads by itself, chunk by chunk.
        let rows = RowsOfPartition { router: router(count), partition: 0, shares: sizes.0 };
        let mut alone = rows.select(source(&paths, 77)).unwrap();
        prop_assert_eq!(&read(&mut *alone, u64::MAX), &expected[0]);
        // And for some of the partitions after others.
        let mut source = reading.into_source();
        source.restart().unwrap();
        let (taken, _) = shared(
            source,
            count / 2..count,
            count,
            sizes.0,
            sizes.1,
            |_, mut rows| read(&mut *rows, u64::MAX),
        );
        prop_assert_eq!(&taken[..], &expected[count / 2..]);
    }
}

#[test]
fn who_leaves_early_keeps_nobody_waiting_and_is_noticed() {
    let rows: Vec<(i32, String)> = (0..4_000).map(|id| (id, "x".repeat(50))).collect();
    let (_folder, paths) = files(&[rows]);
    let sizes = shares(500, 0);
    let (taken, reading) = shared(source(&paths, 5_000), 0..4, 4, sizes, 2, |at, mut rows| {
        read(&mut *rows, if at == 1 { 3 } else { u64::MAX }).len()
    });
    assert_eq!((taken[0], taken[2], taken[3]), (1_000, 1_000, 1_000));
    assert!(taken[1] < 100);
    assert_eq!([0, 1, 2, 3].map(|at| reading.was_left(at)), [false, true, false, false]);
}

#[test]
fn a_reading_that_is_closed_turns_everybody_away() {
    let rows: Vec<(i32, String)> = (0..4_000).map(|id| (id * 2, "x".repeat(50))).collect();
    let (_folder, paths) = files(&[rows]);
    let router = router(2);
    let (shares, interrupt) = (shares(500, 0), Interrupt::default());
    let reading = SharedReading::new(source(&paths, 5_000), &router, 0..2, shares, 2, &interrupt);
    let (full, mut starved) = (reading.rows_of(0).unwrap(), reading.rows_of(1).unwrap());
    std::thread::scope(|scope| {
        // Nobody takes the rows of the one, and there are none of the other.
        let readers: Vec<_> = (0..2).map(|_| scope.spawn(|| reading.work())).collect();
        let waiting = scope.spawn(move || starved.next_chunk(&mut Chunk::default()).is_err());
        let is_waited_for = || {
            let least = Duration::from_millis(50);
            reading.waits(0).for_room >= least && reading.waits(1).for_rows >= least
        };
        while !is_waited_for() {
            assert!(readers.iter().all(|reader| !reader.is_finished()) && !waiting.is_finished());
            std::thread::sleep(Duration::from_millis(5));
        }
        reading.close();
        assert!(readers.into_iter().all(|reader| reader.join().unwrap().is_err()));
        assert!(waiting.join().unwrap());
    });
    drop(full);
}

#[test]
fn who_gives_up_stops_waiting_for_rows() {
    let (_folder, paths) = files(&[vec![(1, String::new())]]);
    let router = router(1);
    let (shares, interrupt) = (shares(500, 0), Interrupt::default());
    let reading = SharedReading::new(source(&paths, 5_000), &router, 0..1, shares, 1, &interrupt);
    let mut rows = reading.rows_of(0).unwrap();
    let given_up = Arc::clone(&rows.facts().given_up);
    std::thread::scope(|scope| {
        let waiting = scope.spawn(move || rows.next_chunk(&mut Chunk::default()));
        given_up.store(true, Ordering::Relaxed);
        assert!(matches!(waiting.join().unwrap(), Err(sources::Error::Stopped { .. })));
    });
}

#[test]
fn a_queue_holds_what_it_may_and_any_piece_alone() {
    let piece = |bytes: usize| {
        let chunk = Chunk { bytes: vec![0; bytes], ..Chunk::default() };
        Piece { chunk, bytes_read: 0 }
    };
    let queue = Queue::new(100);
    std::thread::scope(|scope| {
        assert!(queue.push(piece(60)) && queue.push(piece(40)));
        let late = scope.spawn(|| queue.push(piece(500)) && queue.push(piece(1)));
        std::thread::sleep(Duration::from_millis(30));
        assert!(!late.is_finished());
        let given_up = false.into();
        let sizes: Vec<usize> = (0..4)
            .map(|_| match queue.next(&given_up) {
                Next::Piece(piece) => piece.bytes(),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(sizes, [60, 40, 500, 1]);
        assert!(late.join().unwrap());
        queue.end();
        assert!(matches!(queue.next(&given_up), Next::End));
        assert!(!queue.was_left());
    });
}

#[test]
fn rows_that_will_be_refused_are_those_of_the_first_partition() {
    let (_folder, paths) = files(&[vec![(1, "a\nb".to_owned()), (2, String::new())]]);
    std::fs::write(&paths[0], "1,\"a\nb\"\n99999999999999999999,x\nx,y\n").unwrap();
    let (taken, _) = shared(source(&paths, 100), 0..2, 2, shares(500, 0), 1, |_, mut rows| {
        read(&mut *rows, u64::MAX).len()
    });
    assert_eq!(taken, [2, 1]);
}
