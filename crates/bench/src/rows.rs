//! TPC-H rows as `.tbl` files: fields separated by `|`, and a `|` at each line's end.
//!
//! A table is cut into parts of about [`ROWS_PER_PART`] rows. Threads take part numbers from a
//! counter, format a part in memory, and write it when its turn has come, so the file has
//! dbgen's order and memory is one part a thread. A file that is already there is kept when the
//! note beside it (`lineitem.tbl.json`) says that it is whole and of the same scale.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI32, Ordering};

use locks::{Condvar, Mutex};
use serde::{Deserialize, Serialize};
use tpchgen::generators::{
    CustomerGenerator, LineItemGenerator, NationGenerator, OrderGenerator, PartGenerator,
    PartSuppGenerator, RegionGenerator, SupplierGenerator,
};

use crate::error::Error;
use crate::tpch::Table;

/// Rows a thread formats before it writes: 5 to 10 MB of text.
const ROWS_PER_PART: f64 = 60_000.0;
/// Changes whenever the same scale would give other bytes.
const GENERATOR: &str = "tpchgen 4";

/// A generated file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TableFile {
    /// Where it is.
    #[serde(skip)]
    pub path: PathBuf,
    /// TPC-H scale factor of its rows.
    pub scale: f64,
    /// Lines.
    pub rows: u64,
    /// Bytes.
    pub bytes: u64,
    /// Who made it: [`GENERATOR`].
    generator: String,
}

/// Makes `dir/<table>.tbl`, or finds it there already.
///
/// `threads` format at the same time. Errors: a scale that is not above 0, and writing to `dir`.
pub fn generate(table: Table, scale: f64, dir: &Path, threads: usize) -> Result<TableFile, Error> {
    if !(scale.is_finite() && scale > 0.0 && scale <= 100_000.0) {
        return Err(Error::Option(format!("scale {scale} is not above 0 and up to 100000")));
    }
    let path = dir.join(format!("{table}.tbl"));
    if let Some(found) = existing(&path, scale) {
        return Ok(found);
    }
    fs::create_dir_all(dir).map_err(Error::io("making", dir))?;
    let unfinished = dir.join(format!("{table}.tbl.part"));
    let (rows, bytes) = write_parts(table, scale, &unfinished, threads.max(1))?;
    fs::rename(&unfinished, &path).map_err(Error::io("renaming", &unfinished))?;
    let made = TableFile { path, scale, rows, bytes, generator: GENERATOR.to_owned() };
    let note = note_path(&made.path);
    let text = serde_json::to_string_pretty(&made).map_err(std::io::Error::from);
    text.and_then(|text| fs::write(&note, text + "\n")).map_err(Error::io("writing", &note))?;
    Ok(made)
}

/// The file at `path` if its note says that it holds these rows; an unreadable note says no.
fn existing(path: &Path, scale: f64) -> Option<TableFile> {
    let note = fs::read(note_path(path)).ok()?;
    let found: TableFile = serde_json::from_slice(&note).ok()?;
    let bytes = fs::metadata(path).ok()?.len();
    let same = found.scale == scale && found.bytes == bytes && found.generator == GENERATOR;
    same.then(|| TableFile { path: path.to_path_buf(), ..found })
}

fn note_path(path: &Path) -> PathBuf {
    path.with_extension("tbl.json")
}

/// Writes all parts of a table in order; gives rows and bytes.
fn write_parts(table: Table, scale: f64, path: &Path, threads: usize) -> Result<(u64, u64), Error> {
    let parts = part_count(table, scale);
    let taken = AtomicI32::new(0);
    let output = Output {
        state: Mutex::new(State {
            file: File::create(path).map_err(Error::io("making", path))?,
            next_part: 1,
            rows: 0,
            bytes: 0,
            failed: None,
        }),
        turn: Condvar::new(),
    };
    std::thread::scope(|scope| {
        for _ in 0..threads.min(parts as usize) {
            scope.spawn(|| {
                let mut text = Vec::new();
                loop {
                    let part = taken.fetch_add(1, Ordering::Relaxed) + 1;
                    if part > parts {
                        return;
                    }
                    text.clear();
                    let rows = format_part(table, scale, part, parts, &mut text);
                    if !output.write_in_turn(part, rows, &text) {
                        return;
                    }
                }
            });
        }
    });
    let state = output.state.into_inner();
    match state.failed {
        Some(error) => Err(Error::io("writing", path)(error)),
        None => Ok((state.rows, state.bytes)),
    }
}

/// The one file all threads write, part after part.
struct Output {
    state: Mutex<State>,
    /// Signalled whenever `next_part` or `failed` changes.
    turn: Condvar,
}

struct State {
    file: File,
    /// Part that may be written now, from 1.
    next_part: i32,
    rows: u64,
    bytes: u64,
    failed: Option<std::io::Error>,
}

impl Output {
    /// Waits until every earlier part is written, then writes. False: a write failed, stop.
    fn write_in_turn(&self, part: i32, rows: u64, text: &[u8]) -> bool {
        let mut state = self.state.lock();
        while state.next_part != part && state.failed.is_none() {
            state = self.turn.wait(state);
        }
        if state.failed.is_some() {
            return false;
        }
        match state.file.write_all(text) {
            Ok(()) => {
                state.next_part += 1;
                state.rows += rows;
                state.bytes += text.len() as u64;
            }
            Err(error) => state.failed = Some(error),
        }
        self.turn.notify_all();
        state.failed.is_none()
    }
}

/// Parts a table is cut into; the generators cut by parent rows, hence the factors.
fn part_count(table: Table, scale: f64) -> i32 {
    let rows = match table {
        Table::Region | Table::Nation => 0.0,
        Table::Supplier => 10_000.0 * scale,
        Table::Customer => 150_000.0 * scale,
        Table::Part => 200_000.0 * scale,
        Table::PartSupp => 800_000.0 * scale,
        Table::Orders => 1_500_000.0 * scale,
        Table::LineItem => 6_000_000.0 * scale,
    };
    ((rows / ROWS_PER_PART).floor() as i32).max(1)
}

/// Appends the lines of one part (counted from 1) to `text`; gives their number.
fn format_part(table: Table, scale: f64, part: i32, parts: i32, text: &mut Vec<u8>) -> u64 {
    match table {
        Table::Region => lines(RegionGenerator::new(scale, part, parts).iter(), text),
        Table::Nation => lines(NationGenerator::new(scale, part, parts).iter(), text),
        Table::Supplier => lines(SupplierGenerator::new(scale, part, parts).iter(), text),
        Table::Customer => lines(CustomerGenerator::new(scale, part, parts).iter(), text),
        Table::Part => lines(PartGenerator::new(scale, part, parts).iter(), text),
        Table::PartSupp => lines(PartSuppGenerator::new(scale, part, parts).iter(), text),
        Table::Orders => lines(OrderGenerator::new(scale, part, parts).iter(), text),
        Table::LineItem => lines(LineItemGenerator::new(scale, part, parts).iter(), text),
    }
}

fn lines(rows: impl Iterator<Item: std::fmt::Display>, text: &mut Vec<u8>) -> u64 {
    let mut count = 0;
    for row in rows {
        // Writing to memory cannot fail, and the generator's Display does not.
        let _ = writeln!(text, "{row}");
        count += 1;
    }
    count
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Folder {
            let path =
                std::env::temp_dir().join(format!("inrush-rows-{}-{name}", std::process::id()));
            fs::create_dir_all(&path).unwrap();
            Folder(path)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn parts_written_by_many_threads_are_dbgens_file() {
        let folder = Folder::new("parts");
        let scale = 0.03;
        assert!(part_count(Table::LineItem, scale) >= 3);
        let made = generate(Table::LineItem, scale, &folder.0, 3).unwrap();
        let mut whole = Vec::new();
        let rows = format_part(Table::LineItem, scale, 1, 1, &mut whole);
        assert_eq!(made.rows, rows);
        assert!(fs::read(&made.path).unwrap() == whole);
        assert_eq!(made.bytes, whole.len() as u64);
    }

    #[test]
    fn every_table_has_as_many_fields_as_columns() {
        let folder = Folder::new("fields");
        for table in Table::ALL {
            let made = generate(table, 0.001, &folder.0, 2).unwrap();
            let text = fs::read_to_string(&made.path).unwrap();
            let first = text.lines().next().unwrap();
            assert_eq!(first.matches('|').count(), table.file_columns().len(), "{table}");
            assert!(first.ends_with('|'));
            assert_eq!(text.lines().count() as u64, made.rows);
        }
    }

    #[test]
    fn a_whole_file_of_the_same_scale_is_kept_and_any_other_made_again() {
        let folder = Folder::new("kept");
        let made = generate(Table::Supplier, 0.01, &folder.0, 1).unwrap();
        assert_eq!(existing(&made.path, 0.01), Some(made.clone()));
        assert_eq!(existing(&made.path, 0.02), None);
        fs::write(&made.path, "1|cut").unwrap();
        assert_eq!(existing(&made.path, 0.01), None);
        assert_eq!(generate(Table::Supplier, 0.01, &folder.0, 1).unwrap(), made);
        assert_eq!(fs::metadata(&made.path).unwrap().len(), made.bytes);
    }

    #[test]
    fn a_scale_without_rows_is_an_error() {
        for scale in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(generate(Table::Region, scale, Path::new("unused"), 1).is_err());
        }
    }
}
