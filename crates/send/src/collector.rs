//! Results of connections for their chunks, in input order again: rejected rows, and numbers of loaded rows.

use std::collections::BTreeMap;
use std::path::PathBuf;

use encode::rejects::{Reject, Rejects};
use job::error::Error;
use job::position::Position;
use job::report::RejectTally;
use job::stop::Stop;
use locks::{Condvar, Mutex};

/// Bytes of refused rows that may wait for chunks before theirs.
const HELD_BYTES_MAX: usize = 8 << 20;
/// Bytes of a refused row beside its text: position, reason, and a file's path.
const REJECT_BYTES: usize = 512;

/// The result of all chunks.
#[derive(Debug, Default)]
pub(crate) struct Collected {
    pub(crate) rows: u64,
    pub(crate) duplicates: u64,
    pub(crate) rejects: u64,
    pub(crate) rejects_by_reason: Vec<RejectTally>,
    pub(crate) chunks: u64,
}

/// Takes what connections tell, in any order.
#[derive(Debug)]
pub(crate) struct Collector {
    inner: Mutex<Inner>,
    moved: Condvar,
}

#[derive(Debug)]
struct Inner {
    /// The chunk whose turn it is.
    next: u64,
    held: BTreeMap<u64, Vec<Reject>>,
    held_bytes: usize,
    rejects: Rejects,
    /// Where chunks are not in input order.
    unordered: Option<Unordered>,
    /// Refused rows, those that wait included.
    refused: u64,
    loaded: LoadedRows,
    closed: bool,
}

/// Counts of the loaded rows of one chunk, or of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LoadedRows {
    pub(crate) rows: u64,
    /// Rows that were left out, replaced or changed for others with the same key.
    pub(crate) duplicates: u64,
}

/// Refused rows that wait for the end, to be put in input order.
#[derive(Debug)]
struct Unordered {
    files: Vec<PathBuf>,
    rejects: Vec<Reject>,
}

impl Unordered {
    /// Number of its file, and where it is there.
    fn place(&self, reject: &Reject) -> (Option<usize>, Option<u64>, u64) {
        let Position { file, offset, line, .. } = &reject.row.position;
        (self.files.iter().position(|known| known == file), *offset, *line)
    }
}

impl Collector {
    pub(crate) fn new(rejects: Rejects) -> Collector {
        let inner = Inner {
            unordered: None,
            next: 0,
            held: BTreeMap::new(),
            held_bytes: 0,
            rejects,
            refused: 0,
            loaded: LoadedRows::default(),
            closed: false,
        };
        Collector { inner: Mutex::new(inner), moved: Condvar::new() }
    }

    /// For chunks whose rows, of these files, were sorted. Refused ones are written in input order
    /// all the same, as long as they are not very many.
    pub(crate) fn of_sorted(mut self, files: &[PathBuf]) -> Collector {
        let inner = self.inner.get_mut();
        inner.unordered = Some(Unordered { files: files.to_vec(), rejects: Vec::new() });
        self
    }

    /// Takes what came of chunk `ordinal`. Waits where too many refused rows already wait for
    /// their turn.
    ///
    /// Errors: one more row was refused than is tolerated.
    pub(crate) fn take(
        &self,
        ordinal: u64,
        loaded: LoadedRows,
        rejects: Vec<Reject>,
    ) -> Result<(), Stop> {
        let mut inner = self.inner.lock();
        inner.loaded.rows += loaded.rows;
        inner.loaded.duplicates += loaded.duplicates;
        inner.refused += rejects.len() as u64;
        let bytes: usize = rejects.iter().map(held_bytes).sum();
        while ordinal != inner.next && inner.held_bytes + bytes > HELD_BYTES_MAX && !inner.closed {
            inner = self.moved.wait(inner);
        }
        if inner.closed {
            return Err(Stop::Abandoned);
        }
        inner.held_bytes += bytes;
        inner.held.insert(ordinal, rejects);
        let written = inner.write_down();
        self.moved.notify_all();
        Ok(written?)
    }

    /// Takes a part of the refused rows of chunk `ordinal`, before the others, when it has its turn. Waits for that.
    ///
    /// Errors: as [`Collector::take`].
    pub(crate) fn push(&self, ordinal: u64, rejects: Vec<Reject>) -> Result<(), Stop> {
        let mut inner = self.inner.lock();
        inner.refused += rejects.len() as u64;
        while ordinal != inner.next && !inner.closed {
            inner = self.moved.wait(inner);
        }
        if inner.closed {
            return Err(Stop::Abandoned);
        }
        inner.held_bytes += rejects.iter().map(held_bytes).sum::<usize>();
        inner.write(rejects)?;
        Ok(inner.limit_held()?)
    }

    /// True if more rows were rejected than are tolerated: no chunk need be begun any more. The row
    /// that was one too many is known when those before are through.
    pub(crate) fn is_full(&self) -> bool {
        let inner = self.inner.lock();
        inner.refused > inner.rejects.max()
    }

    /// Rows that went in so far.
    pub(crate) fn rows(&self) -> u64 {
        self.inner.lock().loaded.rows
    }

    /// Turns away whoever waits.
    pub(crate) fn close(&self) {
        self.inner.lock().closed = true;
        self.moved.notify_all();
    }

    /// After all chunks.
    pub(crate) fn finish(self) -> Result<Collected, Error> {
        let mut inner = self.inner.into_inner();
        inner.write_in_order()?;
        inner.rejects.flush()?;
        let LoadedRows { rows, duplicates } = inner.loaded;
        Ok(Collected {
            rows,
            duplicates,
            rejects: inner.rejects.count(),
            rejects_by_reason: inner.rejects.tally(),
            chunks: inner.next,
        })
    }
}

impl Inner {
    /// Writes down what has its turn.
    fn write_down(&mut self) -> Result<(), Error> {
        while let Some(rejects) = self.held.remove(&self.next) {
            self.next += 1;
            self.write(rejects)?;
        }
        self.limit_held()
    }

    /// Writes down rows that have their turn; of sorted chunks, they wait for the others.
    fn write(&mut self, rejects: Vec<Reject>) -> Result<(), Error> {
        if let Some(unordered) = &mut self.unordered {
            unordered.rejects.extend(rejects);
            return Ok(());
        }
        for reject in rejects {
            self.held_bytes -= held_bytes(&reject);
            self.rejects.push(&reject)?;
        }
        Ok(())
    }

    /// Lets rows of sorted chunks wait no longer when they are too many.
    fn limit_held(&mut self) -> Result<(), Error> {
        let waiting = self.unordered.as_ref().map_or(0, |of| of.rejects.len() as u64);
        let is_full = self.rejects.count() + waiting > self.rejects.max();
        match is_full || self.held_bytes > HELD_BYTES_MAX {
            true => self.write_in_order(),
            false => Ok(()),
        }
    }

    /// Writes down refused rows of sorted chunks, in input order.
    fn write_in_order(&mut self) -> Result<(), Error> {
        let Some(unordered) = &mut self.unordered else { return Ok(()) };
        let mut rejects = std::mem::take(&mut unordered.rejects);
        rejects.sort_by_cached_key(|reject| unordered.place(reject));
        for reject in rejects {
            self.held_bytes -= held_bytes(&reject);
            self.rejects.push(&reject)?;
        }
        Ok(())
    }
}

fn held_bytes(reject: &Reject) -> usize {
    reject.raw.len() + REJECT_BYTES
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::path::Path;

    use job::position::RefusedRow;
    use job::row_log::LogForm;

    use super::*;

    fn reject(line: u64, bytes: usize) -> Reject {
        Reject {
            row: RefusedRow {
                position: Position::in_text(Path::new("f"), line, 0),
                field: None,
                column: None,
                value: None,
                reason: "no".to_owned(),
            },
            class: "no".to_owned(),
            also: Vec::new(),
            raw: vec![b'x'; bytes],
        }
    }

    fn collector(max: u64) -> Collector {
        Collector::new(Rejects::create(None, max, &LogForm::default()).unwrap())
    }

    fn rows(rows: u64) -> LoadedRows {
        LoadedRows { rows, duplicates: 0 }
    }

    #[test]
    fn the_row_that_is_one_too_many_is_that_of_the_input_whoever_comes_first() {
        let collector = collector(1);
        collector.take(2, rows(5), vec![reject(9, 1), reject(10, 1)]).unwrap();
        assert!(collector.is_full());
        collector.take(1, rows(5), vec![reject(5, 1)]).unwrap();
        let error = match collector.take(0, rows(5), vec![reject(3, 1)]) {
            Err(Stop::Failed(error)) => error.to_string(),
            other => panic!("{other:?}"),
        };
        assert!(error.contains("f line 5 "), "{error}");
    }

    #[test]
    fn many_refused_rows_wait_for_their_turn_outside() {
        let collector = collector(100);
        std::thread::scope(|scope| {
            let late = scope.spawn(|| {
                for ordinal in 1..20 {
                    collector.take(ordinal, rows(1), vec![reject(ordinal, 1 << 20)]).unwrap();
                }
            });
            while collector.inner.lock().held_bytes < 4 << 20 {
                std::thread::yield_now();
            }
            assert!(!late.is_finished());
            collector.take(0, rows(1), Vec::new()).unwrap();
            late.join().unwrap();
        });
        let collected = collector.finish().unwrap();
        assert_eq!((collected.rows, collected.rejects, collected.chunks), (20, 19, 20));
    }

    #[test]
    fn parts_of_a_chunk_wait_for_their_turn() {
        let collector = collector(100);
        std::thread::scope(|scope| {
            let late = scope.spawn(|| {
                collector.push(1, vec![reject(3, 1), reject(4, 1)]).unwrap();
                collector.push(1, vec![reject(5, 1)]).unwrap();
                collector.take(1, rows(1), vec![reject(6, 1)]).unwrap();
            });
            while collector.inner.lock().refused < 2 {
                std::thread::yield_now();
            }
            assert!(!late.is_finished());
            collector.take(0, rows(1), vec![reject(1, 1)]).unwrap();
            late.join().unwrap();
        });
        assert_eq!(collector.inner.lock().held_bytes, 0);
        let collected = collector.finish().unwrap();
        assert_eq!((collected.rows, collected.rejects, collected.chunks), (2, 5, 2));
    }

    #[test]
    fn whoever_waits_is_turned_away() {
        let collector = collector(100);
        std::thread::scope(|scope| {
            let late = scope.spawn(|| {
                collector.take(1, rows(0), vec![reject(1, 4 << 20)]).unwrap();
                collector.take(2, rows(0), vec![reject(2, 4 << 20)])
            });
            while collector.inner.lock().held_bytes == 0 {
                std::thread::yield_now();
            }
            collector.close();
            assert!(matches!(late.join().unwrap(), Err(Stop::Abandoned)));
        });
    }

    #[test]
    fn refused_rows_of_sorted_chunks_are_written_in_input_order() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rejects");
        let rejects = Rejects::create(Some(&path), 10, &LogForm::default()).unwrap();
        let files = ["b", "a"].map(PathBuf::from);
        let collector = Collector::new(rejects).of_sorted(&files);
        let reject = |file: &str, offset| {
            let mut reject = reject(1, 0);
            reject.row.position = Position::in_text(Path::new(file), 1, offset);
            Reject { raw: format!("{file}{offset}\n").into_bytes(), ..reject }
        };
        let none = LoadedRows::default();
        collector.take(1, none, vec![reject("a", 3), reject("b", 7)]).unwrap();
        collector.take(0, none, vec![reject("a", 1), reject("b", 20)]).unwrap();
        collector.take(2, none, vec![reject("b", 9)]).unwrap();
        assert_eq!(collector.finish().unwrap().rejects, 5);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "b7\nb9\nb20\na1\na3\n");
    }
}
