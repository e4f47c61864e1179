//! Loads the squares of some numbers, which are in no file: `source SOCKET DATABASE TABLE`.
//!
//! A source hands out chunks under a lock, and its readers make rows of them, each thread with one of its own.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use inrush::source::{
    Batch, Cells, Chunk, FieldKind, InputFile, Reader, Result, Source, TypedColumn,
};
use inrush::{ConnectOptions, LoadOptions, load_from};

const ROWS: u64 = 100_000;

struct Squares {
    files: [InputFile; 1],
    chunk_rows: u64,
    next: u64,
    ordinal: u64,
    given_up: Arc<AtomicBool>,
}

impl Source for Squares {
    /// A chunk says which rows it has: its first by number, and how many by its bytes.
    fn next_chunk(&mut self, chunk: &mut Chunk) -> Result<bool> {
        chunk.clear();
        let rows = self.chunk_rows.min(ROWS - self.next);
        chunk.ordinal = self.ordinal;
        chunk.first_record = Some(self.next);
        chunk.bytes.extend_from_slice(&rows.to_le_bytes());
        self.next += rows;
        self.ordinal += 1;
        if rows == 0 {
            chunk.clear();
        }
        Ok(rows > 0)
    }

    fn files(&self) -> &[InputFile] {
        &self.files
    }

    fn reader(&self) -> Box<dyn Reader> {
        Box::new(Squarer)
    }

    fn set_fields(&mut self, _: Vec<FieldKind>) -> Result<()> {
        Ok(())
    }

    fn set_chunks(&mut self, chunk_bytes: usize, _: usize) -> Result<()> {
        self.chunk_rows = (chunk_bytes as u64 / 16).clamp(1, 10_000);
        self.restart()
    }

    fn words(&self) -> String {
        "squares".to_owned()
    }

    fn bytes_total(&self) -> Option<u64> {
        Some(ROWS)
    }

    fn bytes_read(&self) -> u64 {
        self.next
    }

    fn given_up(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.given_up)
    }

    fn restart(&mut self) -> Result<()> {
        self.given_up.store(false, Ordering::Relaxed);
        (self.next, self.ordinal) = (0, 0);
        Ok(())
    }
}

struct Squarer;

impl Reader for Squarer {
    fn read(&mut self, chunk: &Chunk, batch: &mut Batch) -> Result<()> {
        let first = chunk.first_record.unwrap_or(0);
        let rows = chunk.bytes.first_chunk::<8>().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        let numbers = first..first + rows;
        let column = |cells| TypedColumn { cells, is_valid: Vec::new() };
        let columns = vec![
            column(Cells::Unsigned(numbers.clone().collect())),
            column(Cells::Unsigned(numbers.map(|number| number * number).collect())),
        ];
        batch.typed().replace(rows as usize, columns);
        Ok(())
    }
}

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [socket, database, table] = arguments.as_slice() else {
        return Err("usage: source SOCKET DATABASE TABLE".into());
    };
    let squares = Squares {
        files: [InputFile { path: PathBuf::from("squares"), bytes: Some(ROWS) }],
        chunk_rows: 1,
        next: 0,
        ordinal: 0,
        given_up: Arc::default(),
    };
    let server = ConnectOptions::for_socket(socket);
    let options = LoadOptions::new(Vec::new(), database, table);
    let report = load_from(&server, &options, Box::new(squares), &())?;
    println!("{}: {} rows by the {} path", report.target, report.rows, report.path);
    Ok(())
}
