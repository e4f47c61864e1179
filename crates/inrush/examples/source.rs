//! Loads the squares of some numbers, which are in no file: `source SOCKET DATABASE TABLE`.
//!
//! A source hands out chunks under a lock, and its readers make rows of them, each thread with one of its own.

use std::path::PathBuf;
use std::sync::atomic::Ordering;

use inrush::source::{
    Batch, Cells, Chunk, InputFacts, InputFile, ReadAs, Reader, Result, Source, TypedColumn,
};
use inrush::{ConnectOptions, LoadOptions, load_from};

const ROWS: u64 = 100_000;

struct Squares {
    facts: InputFacts,
    next: u64,
    ordinal: u64,
}

impl Squares {
    fn new() -> Squares {
        // Its size is counted in rows, and so is what was read.
        let file = InputFile { path: PathBuf::from("squares"), bytes: Some(ROWS) };
        Squares { facts: InputFacts::new(vec![file], "squares"), next: 0, ordinal: 0 }
    }
}

impl Source for Squares {
    fn facts(&self) -> &InputFacts {
        &self.facts
    }

    fn begin(&mut self, read_as: ReadAs) -> Result<()> {
        self.facts.begin(read_as);
        (self.next, self.ordinal) = (0, 0);
        Ok(())
    }

    /// A chunk says which rows it has: its first by number, and how many by its bytes.
    fn next_chunk(&mut self, chunk: &mut Chunk) -> Result<bool> {
        chunk.clear();
        let rows_max = (self.facts.read_as.chunk_bytes as u64 / 16).clamp(1, 10_000);
        let rows = rows_max.min(ROWS - self.next);
        if rows == 0 {
            return Ok(false);
        }
        chunk.ordinal = self.ordinal;
        chunk.first_record = Some(self.next);
        chunk.bytes.extend_from_slice(&rows.to_le_bytes());
        self.next += rows;
        self.ordinal += 1;
        self.facts.bytes_read.store(self.next, Ordering::Relaxed);
        Ok(true)
    }

    fn reader(&self) -> Box<dyn Reader> {
        Box::new(Squarer)
    }
}

struct Squarer;

impl Reader for Squarer {
    fn read(&mut self, chunk: &Chunk, batch: &mut Batch) -> Result<()> {
        let first = chunk.first_record.unwrap_or(0);
        let rows = chunk.bytes.first_chunk::<8>().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        let numbers = first..first + rows;
        let column = |cells| TypedColumn::from(cells);
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
    let server = ConnectOptions::for_socket(socket);
    let options = LoadOptions::new(Vec::new(), database, table);
    let report = load_from(&server, &options, Box::new(Squares::new()), &())?;
    println!("{}: {} rows by the {} path", report.target, report.rows, report.path);
    Ok(())
}
