//! SQL dumps: how fast statements are told apart, and rows cut and scanned.

use std::fs;
use std::hint::black_box;
use std::path::{Path, PathBuf};

use sources::dump::{RowRun, SqlOptions, SqlReader};
use sources::{Batch, Chunk, ReadAs, Reader, Source};
use sql::StatementKind;

use crate::{TakeValues, best, lines, read};

/// Names a dump to take instead of made ones.
const DUMP_VARIABLE: &str = "INRUSH_BENCH_DUMP";

/// The rest of an INSERT.
#[derive(Clone, Copy)]
enum Rest {
    Skipped,
    Whole,
}

pub(crate) fn run(folder: &Path) {
    println!("\n{:<34}{:>8}{:>8}{:>8}{:>8}{:>8}", "GB/s", "read", "skip", "whole", "cut", "scan");
    let made = folder.join("dump.sql");
    for (name, text) in dumps() {
        let path = match std::env::var_os(DUMP_VARIABLE) {
            Some(path) => PathBuf::from(path),
            None => {
                fs::write(&made, text).unwrap();
                made.clone()
            }
        };
        let bytes = fs::metadata(&path).unwrap().len() as usize;
        let floor = best(bytes, || read(&path));
        let skip = best(bytes, || statements(&path, Rest::Skipped));
        let whole = best(bytes, || statements(&path, Rest::Whole));
        let cut = best(bytes, || runs(&path, |_, chunk| _ = black_box(chunk.bytes.len())));
        let mut batch = Batch::new();
        let scan = best(bytes, || {
            runs(&path, |reader, chunk| {
                reader.read(chunk, &mut batch).unwrap();
                black_box(batch.visit(chunk, TakeValues));
            });
        });
        println!("{name:<34}{floor:>8.1}{skip:>8.1}{whole:>8.1}{cut:>8.1}{scan:>8.1}");
    }
}

/// Lines like TPC-H's lineitem as mariadb-dump writes them, and a row a statement.
fn dumps() -> Vec<(&'static str, Vec<u8>)> {
    let quote = |field: &str| match field.bytes().all(|byte| byte.is_ascii_digit()) {
        true => field.to_owned(),
        false => format!("'{}'", field.replace('y', "\\'")),
    };
    let rows = lines(",", "\n", quote);
    let rows: Vec<&[u8]> =
        rows.split(|&byte| byte == b'\n').filter(|row| !row.is_empty()).collect();
    let joined = |rows_max: usize| {
        let mut dump = Vec::new();
        for rows in rows.chunks(rows_max) {
            dump.extend_from_slice(b"INSERT INTO `lineitem` VALUES\n(");
            dump.extend(rows.join(&b"),\n("[..]));
            dump.extend_from_slice(b");\n");
        }
        dump
    };
    vec![("INSERTs of 1 MB", joined(7_000)), ("INSERTs of a row", joined(1))]
}

fn open(path: &Path) -> SqlReader {
    SqlReader::open(&[path.to_owned()], SqlOptions::default()).unwrap()
}

fn statements(path: &Path, rest: Rest) {
    let mut reader = open(path);
    while let Some(statement) = reader.next().unwrap() {
        if matches!((&statement.kind, rest), (StatementKind::Insert(_), Rest::Whole)) {
            black_box(reader.whole().unwrap().len());
        }
    }
}

fn runs(path: &Path, mut take: impl FnMut(&mut dyn Reader, &Chunk)) {
    let mut reader = open(path);
    let mut chunk = Chunk::default();
    while let Some(statement) = reader.next().unwrap() {
        if !matches!(statement.kind, StatementKind::Insert(_)) {
            continue;
        }
        let (mut run, back) = reader.into_run(ReadAs::default()).unwrap();
        let mut reader_of_rows = run.reader();
        while run.next_chunk(&mut chunk).unwrap() {
            take(&mut *reader_of_rows, &chunk);
        }
        drop::<RowRun>(run);
        reader = back.wait().unwrap();
    }
}
