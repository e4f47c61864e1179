//! SQL dumps: statements are the same however they are read, and rows end where statements do.

use std::path::Path;

use sources::dump::{SqlOptions, SqlReader};
use sources::{Batch, Chunk, Error, Isa, MultiByte, ReadAs, Source};
use sql::{StatementKind, Syntax};

/// Kind, text or what is wrong with it, and where.
type Read = (Option<StatementKind>, Vec<u8>, u64, u64);

pub(crate) fn run(bytes: &[u8]) {
    let ([mode, piece], text) = crate::choices(bytes);
    let (_folder, path) = crate::file(text);
    let options = options(mode);
    let whole = statements(&path, &options, Isa::best());
    check_pieces(&path, &options, usize::from(piece).max(1), &whole);
    if whole.iter().all(|(kind, ..)| kind.is_some()) {
        let others = whole.into_iter().filter(|(kind, ..)| !is_insert(kind));
        let others: Vec<Read> = others.collect();
        assert_eq!(by_runs(&path, &options), others, "what is between runs of rows differs");
    }
}

/// Reads a dump in pieces of every size: each place of it is the end of a piece.
///
/// # Panics
///
/// When its statements are others than those of the dump read at once.
pub fn read_dump_in_pieces(bytes: &[u8]) {
    let ([mode, _], text) = crate::choices(bytes);
    let (_folder, path) = crate::file(text);
    let options = options(mode);
    let whole = statements(&path, &options, Isa::best());
    for piece_bytes in 1..=text.len() {
        check_pieces(&path, &options, piece_bytes, &whole);
    }
}

fn options(mode: u8) -> SqlOptions {
    let characters = [MultiByte::Utf8mb4, MultiByte::None, MultiByte::Gbk, MultiByte::Sjis];
    SqlOptions {
        statement_bytes_max: if mode & 1 == 0 { 64 << 20 } else { 256 },
        syntax: Syntax {
            no_backslash_escapes: mode & 2 != 0,
            ansi_quotes: mode & 4 != 0,
            characters: characters[usize::from(mode >> 3 & 3)],
        },
        ..SqlOptions::default()
    }
}

/// Statements are the same, read in pieces of this size with any instructions.
fn check_pieces(path: &Path, options: &SqlOptions, piece_bytes: usize, whole: &[Read]) {
    let pieces = SqlOptions { piece_bytes, ..options.clone() };
    for isa in Isa::available() {
        let read = statements(path, &pieces, isa);
        assert_eq!(read, whole, "{}, reads of {piece_bytes} bytes", isa.name());
    }
}

fn is_insert(kind: &Option<StatementKind>) -> bool {
    matches!(kind, Some(StatementKind::Insert(_)))
}

/// All statements, INSERTs whole.
fn statements(path: &Path, options: &SqlOptions, isa: Isa) -> Vec<Read> {
    let Ok(reader) = SqlReader::open(&[path.to_owned()], options.clone()) else {
        return Vec::new();
    };
    let mut reader = reader.with_isa(isa);
    let mut read = Vec::new();
    loop {
        let statement = match reader.next() {
            Ok(None) => return read,
            Ok(Some(mut statement)) if is_insert(&Some(statement.kind.clone())) => {
                reader.whole().map(|text| {
                    statement.text = text;
                    statement
                })
            }
            Ok(Some(statement)) => Ok(statement),
            Err(error) => Err(error),
        };
        match statement {
            Ok(it) => read.push((Some(it.kind), it.text, it.offset, it.line)),
            Err(Error::Sql { at, problem, statement }) => {
                let words = format!("{problem}: {statement}").into_bytes();
                read.push((None, words, at.offset.unwrap_or_default(), at.line));
            }
            // What is no SQL at all.
            Err(error) => {
                read.push((None, error.to_string().into_bytes(), 0, 0));
                return read;
            }
        }
    }
}

/// The statements that are no rows; these are read as chunks and scanned.
fn by_runs(path: &Path, options: &SqlOptions) -> Vec<Read> {
    let mut reader = SqlReader::open(&[path.to_owned()], options.clone()).unwrap();
    let mut read = Vec::new();
    while let Some(statement) = reader.next().unwrap() {
        if !is_insert(&Some(statement.kind.clone())) {
            read.push((Some(statement.kind), statement.text, statement.offset, statement.line));
        } else if reader.stands_before_rows() {
            let run_options = ReadAs { chunk_bytes: 100, ..ReadAs::default() };
            let (mut run, handback) = reader.into_run(run_options).unwrap();
            let (mut chunk, mut batch) = (Chunk::default(), Batch::new());
            let mut rows = run.reader();
            while let Ok(true) = run.next_chunk(&mut chunk) {
                let _ = rows.read(&chunk, &mut batch);
            }
            drop(run);
            reader = handback.wait().unwrap();
        }
    }
    read
}
