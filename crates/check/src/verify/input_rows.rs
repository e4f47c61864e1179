//! The reading of the input: its digest.

use locks::Mutex;

use encode::reading::{Reading, Sink};
use job::memory::Memory;
use job::progress::{Progress, Stage};
use job::stop::Stop;
use server::Interrupt;
use sources::{Chunk, Rows, Source};

use super::columns::{Columns, InputRows, Read, RowBytes};
use super::digest::Digest;
use crate::pass;

/// The counts of an input.
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
    let reading = Reading::new(source, Stage::Rows, progress, interrupt);
    let all = Mutex::default();
    let worker = || {
        let (rows, bytes) = (InputRows::new(columns), RowBytes::default());
        Ok(Worker { rows, bytes, own: Counted::default(), all: &all })
    };
    pass::by_many("thread.compare", &reading, memory, &[], worker)?;
    Ok(all.into_inner())
}

struct Worker<'a> {
    rows: InputRows<'a>,
    bytes: RowBytes,
    own: Counted,
    all: &'a Mutex<Counted>,
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
        Ok(())
    }

    fn hand_on(&mut self) -> Result<(), Stop> {
        let own = std::mem::take(&mut self.own);
        let mut all = self.all.lock();
        all.digest.add_all(&own.digest);
        all.refused += own.refused;
        all.numbered += own.numbered;
        Ok(())
    }
}
