//! The rows of sysbench's table `sbtest1`, once as a file and once as the tuples of an INSERT.
//!
//! `id` counts from 1, `k` is any number up to the number of rows, `c` ten and `pad` five groups of
//! eleven digits: 190 bytes of text a row. The same number of rows is always the same rows.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{BufWriter, Write as _};
use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::error::Error;

/// CREATE TABLE of `sbtest1`.
pub const DDL: &str = include_str!("../schema/sbtest1.sql");
/// Bytes of a row as a line or a tuple: an id and k of 7 digits, 179 of text, quotes and commas.
pub const ROW_BYTES: u64 = 205;
/// Bytes of a row in the table, both indexes; estimated, for room on disk and in the buffer pool.
pub(crate) const TABLE_ROW_BYTES: u64 = 320;
/// Most rows: ids are INT, and the tuples of all of them are held in memory.
pub const ROWS_MAX: u64 = 50_000_000;
/// Groups of digits in `c` and `pad`.
const C_GROUPS: usize = 10;
const PAD_GROUPS: usize = 5;

/// Rows in memory, each as `(id,k,'c','pad')`.
#[derive(Clone, Debug)]
pub struct Tuples {
    /// All tuples with a comma behind each.
    text: String,
    /// One more than there are rows: where each begins, and where the last one ends.
    bounds: Vec<usize>,
}

impl Tuples {
    /// The tuples of `count` rows.
    pub fn new(count: u64) -> Tuples {
        let mut text = String::with_capacity((count * ROW_BYTES) as usize);
        let mut bounds = vec![0];
        for row in rows(count) {
            // Writing to memory cannot fail.
            let _ = write!(text, "({},{},'{}','{}'),", row.id, row.k, row.c, row.pad);
            bounds.push(text.len());
        }
        Tuples { text, bounds }
    }

    /// Those whose ids leave `rest` when divided by `by`.
    pub fn every(&self, by: usize, rest: usize) -> Tuples {
        let (mut text, mut bounds) = (String::new(), vec![0]);
        for row in (0..self.len()).filter(|row| (row + 1) % by == rest) {
            text.push_str(self.values(row..row + 1));
            text.push(',');
            bounds.push(text.len());
        }
        Tuples { text, bounds }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.bounds.len() - 1
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Some rows as VALUES wants them, without the last comma; empty where there are no such rows.
    pub fn values(&self, rows: Range<usize>) -> &str {
        let bound = |index: usize| self.bounds.get(index).copied().unwrap_or(self.text.len());
        let text = &self.text[bound(rows.start)..bound(rows.end)];
        text.strip_suffix(',').unwrap_or(text)
    }
}

/// Makes `dir/sbtest1-<count>.tsv`, as LOAD DATA's defaults read it, or finds it there already.
pub fn file(count: u64, dir: &Path) -> Result<PathBuf, Error> {
    let path = dir.join(format!("sbtest1-{count}.tsv"));
    // Renamed when it was whole, so a file of this name is.
    if path.exists() {
        return Ok(path);
    }
    let unfinished = path.with_extension("tsv.part");
    write_file(count, &unfinished).map_err(Error::io("writing", &unfinished))?;
    fs::rename(&unfinished, &path).map_err(Error::io("renaming", &unfinished))?;
    Ok(path)
}

fn write_file(count: u64, path: &Path) -> std::io::Result<()> {
    let mut file = BufWriter::with_capacity(1 << 20, File::create(path)?);
    for row in rows(count) {
        writeln!(file, "{}\t{}\t{}\t{}", row.id, row.k, row.c, row.pad)?;
    }
    file.into_inner().map_err(|error| error.into_error())?.sync_all()
}

struct SbtestRow {
    id: u64,
    k: u64,
    c: String,
    pad: String,
}

fn rows(count: u64) -> impl Iterator<Item = SbtestRow> {
    let mut noise = Noise(0x9E37_79B9_7F4A_7C15);
    (1..=count).map(move |id| SbtestRow {
        id,
        k: noise.below(count) + 1,
        c: noise.groups(C_GROUPS),
        pad: noise.groups(PAD_GROUPS),
    })
}

/// xorshift64*: the same numbers on every machine.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    fn below(&mut self, limit: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(limit)) >> 64) as u64
    }

    /// Groups of eleven digits, joined by dashes.
    fn groups(&mut self, count: usize) -> String {
        let mut text = String::with_capacity(count * 12);
        for index in 0..count {
            let dash = if index > 0 { "-" } else { "" };
            let _ = write!(text, "{dash}{:011}", self.below(100_000_000_000));
        }
        text
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    #[test]
    fn file_and_tuples_hold_the_same_rows() {
        let dir = std::env::temp_dir().join(format!("inrush-sbtest-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        let path = file(50, &dir).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        let tuples = Tuples::new(50);
        assert_eq!(tuples.len(), 50);
        for (index, line) in text.lines().enumerate() {
            let fields: Vec<&str> = line.split('\t').collect();
            let [id, k, c, pad] = fields[..] else { panic!("{line}") };
            assert_eq!(tuples.values(index..index + 1), format!("({id},{k},'{c}','{pad}')"));
            assert!(c.len() == 119 && pad.len() == 59, "{line}");
            assert!((1..=50).contains(&k.parse::<u64>().unwrap()), "{line}");
            assert_eq!(id.parse::<usize>().unwrap(), index + 1);
        }
        assert_eq!(text.lines().count(), 50);
        fs::remove_dir_all(&dir).unwrap();
    }

    #[test]
    fn tuples_are_divided_by_their_ids() {
        let all = Tuples::new(10);
        let third = all.every(4, 3);
        assert_eq!(third.len(), 2);
        let both = format!("{},{}", all.values(2..3), all.values(6..7));
        assert_eq!(third.values(0..2), both);
        assert_eq!((0..4).map(|rest| all.every(4, rest).len()).sum::<usize>(), 10);
    }

    #[test]
    fn the_last_batch_ends_with_the_rows() {
        let tuples = Tuples::new(5);
        assert_eq!(tuples.values(3..9), tuples.values(3..5));
        assert_eq!(tuples.values(3..5).matches("),(").count(), 1);
        assert_eq!(tuples.values(5..8), "");
    }
}
