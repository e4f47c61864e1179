//! The reading of the input: its digest.

use std::sync::{Mutex, PoisonError};

use encode::long_records::Large;
use encode::reading::{Reading, Sink};
use job::failpoint;
use job::memory::Memory;
use job::pool;
use job::progress::{Progress, Stage};
use job::stop::Stop;
use server::Interrupt;
use sources::{Chunk, Rows, Source};

use super::columns::{Columns, InputRows, Read, RowBytes};
use super::digest::Digest;

/// What an input holds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counted {
    pub(crate) digest: Digest,
    /// Rows that the table would refuse.
    pub(crate) refused: u64,
    /// Rows whose AUTO_INCREMENT value the server is to give.
    pub(crate) numbered: u64,
}

/// Reads an input from where it stands to its end.
pub(crate) fn count(
    columns: &Columns,
    memory: &Memory,
    source: &Mutex<Box<dyn Source>>,
    progress: &dyn Progress,
    interrupt: &Interrupt,
) -> Result<Counted, Stop> {
    let stage = Counting {
        columns,
        reading: Reading::new(source, Stage::Rows, progress, interrupt),
        large: Large::new(memory),
        all: Mutex::default(),
    };
    pool::run(memory.threads, || stage.work(), || stage.reading.close())?;
    stage.reading.tally().check()?;
    Ok(stage.all.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// What the workers share.
struct Counting<'a> {
    columns: &'a Columns,
    reading: Reading<'a>,
    /// For chunks that are one record, too long for a worker's share.
    large: Large,
    all: Mutex<Counted>,
}

impl Counting<'_> {
    /// Runs one worker to the end of the input.
    fn work(&self) -> Result<(), Stop> {
        failpoint::hit("thread.compare");
        self.reading.work(&self.large, &[], || Worker {
            stage: self,
            rows: InputRows::new(self.columns),
            bytes: RowBytes::default(),
            own: Counted::default(),
        })
    }
}

struct Worker<'a> {
    stage: &'a Counting<'a>,
    rows: InputRows<'a>,
    bytes: RowBytes,
    own: Counted,
}

impl Sink for Worker<'_> {
    fn take<R: Rows>(&mut self, _: &Chunk, rows: R) -> Result<(), Stop> {
        for row in rows.iter() {
            match self.rows.read(row, &mut self.bytes) {
                Read::Row => self.own.digest.add(Digest::hash(&self.bytes.bytes)),
                Read::Refused => self.own.refused += 1,
                Read::Numbered => self.own.numbered += 1,
            }
        }
        let tally = self.stage.reading.tally();
        tally.done(rows.len() as u64);
        tally.end_chunk();
        self.stage.reading.add_rows(rows.len() as u64);
        Ok(())
    }

    fn hand_on(&mut self) -> Result<(), Stop> {
        let own = std::mem::take(&mut self.own);
        let mut all = self.stage.all.lock().unwrap_or_else(PoisonError::into_inner);
        all.digest.add_all(&own.digest);
        all.refused += own.refused;
        all.numbered += own.numbered;
        Ok(())
    }
}
