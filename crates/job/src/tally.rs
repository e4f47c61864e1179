//! Counts of rows that were read, and of their fates.
//!
//! A taken chunk is counted under the source's lock, its rows when they are found, and its loaded rows at the
//! end of all its work. The three are counted in different places, so that a batch that is lost in between,
//! by whatever mistake, shows before anything is published.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::Error;

/// Counts chunks and rows as they go in and as they come out.
#[derive(Debug, Default)]
pub struct Tally {
    chunks_taken: AtomicU64,
    chunks_done: AtomicU64,
    rows_read: AtomicU64,
    rows_done: AtomicU64,
}

impl Tally {
    /// Nothing read yet.
    pub fn new() -> Tally {
        Tally::default()
    }

    /// A chunk was taken from the source.
    pub fn take_chunk(&self) {
        self.chunks_taken.fetch_add(1, Ordering::Relaxed);
    }

    /// So many rows were found in what was taken.
    pub fn read(&self, rows: u64) {
        self.rows_read.fetch_add(rows, Ordering::Relaxed);
    }

    /// So many of the rows are in, refused or left out.
    pub fn done(&self, rows: u64) {
        self.rows_done.fetch_add(rows, Ordering::Relaxed);
    }

    /// A chunk is through, with all its rows.
    pub fn end_chunk(&self) {
        self.chunks_done.fetch_add(1, Ordering::Relaxed);
    }

    /// Rows that were found so far.
    pub fn rows_read(&self) -> u64 {
        self.rows_read.load(Ordering::Relaxed)
    }

    /// Asserts, when all is through, that nothing was lost on the way.
    ///
    /// Errors: [`Error::Miscounted`].
    pub fn check(&self) -> Result<(), Error> {
        let taken = self.chunks_taken.load(Ordering::Relaxed);
        let lost = taken.abs_diff(self.chunks_done.load(Ordering::Relaxed));
        check(self.rows_read(), self.rows_done.load(Ordering::Relaxed), lost)
    }
}

/// Asserts that as many rows are `done` as were `read`, and that no chunk got lost.
///
/// Errors: [`Error::Miscounted`].
pub fn check(read: u64, done: u64, lost: u64) -> Result<(), Error> {
    match read == done && lost == 0 {
        true => Ok(()),
        false => Err(Error::Miscounted { read, done, lost }),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn rows_and_chunks_that_get_lost_are_told() {
        let tally = Tally::new();
        tally.check().unwrap();
        for rows in [3, 0, 4] {
            tally.take_chunk();
            tally.read(rows);
            tally.done(rows);
            tally.end_chunk();
        }
        tally.check().unwrap();
        tally.read(2);
        assert!(matches!(tally.check(), Err(Error::Miscounted { read: 9, done: 7, lost: 0 })));
        tally.done(2);
        tally.take_chunk();
        let error = tally.check().unwrap_err();
        assert!(matches!(error, Error::Miscounted { read: 9, done: 9, lost: 1 }), "{error}");
    }
}
