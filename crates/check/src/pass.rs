//! A pass over the input, by many workers or alone: each row comes with its place.

use encode::long_records::LongRecords;
use encode::reading::{self, Reading, Sink};
use job::failpoint;
use job::memory::Memory;
use job::pool;
use job::position::PositionCursor;
use job::stop::Stop;
use server::Interrupt;
use sort::RunStore;
use sources::{Chunk, Row, Rows, Source, SourceExt as _, Visit};

use crate::place::Here;

/// Takes rows one by one.
pub(crate) trait Take {
    /// Takes a row.
    fn take<R: Row>(&mut self, row: R, here: Here<'_>) -> Result<(), Stop>;

    /// True if no row of the chunk is needed.
    fn skips(&self, _chunk: &Chunk) -> bool {
        false
    }

    /// True if no more chunks are needed.
    fn is_done(&self) -> bool {
        false
    }
}

/// Gives the rows of a chunk to `taker`.
pub(crate) fn each<R: Rows>(chunk: &Chunk, rows: R, taker: &mut impl Take) -> Result<(), Stop> {
    let mut cursor = PositionCursor::of(chunk);
    for row in rows.iter() {
        taker.take(row, Here::new(chunk, &mut cursor, row.start()))?;
    }
    Ok(())
}

/// Has a worker a thread take all rows from where the input stands, or until the reading is paused. A test
/// has a worker panic at `failpoint`. `stores` make room for a record that is far longer than a worker's share.
pub(crate) fn by_many<S: Sink>(
    failpoint: &'static str,
    reading: &Reading<'_>,
    memory: &Memory,
    stores: &[RunStore],
    worker: impl Fn() -> Result<S, Stop> + Sync,
) -> Result<(), Stop> {
    let large = LongRecords::new(memory);
    let work = || {
        failpoint::hit(failpoint);
        reading.work(&large, stores, || Ok(Counted { reading, sink: worker()? }))
    };
    pool::run(memory.threads, work, || reading.close())?;
    Ok(reading.tally().check()?)
}

/// Counts what a worker has done.
struct Counted<'r, 'a, S> {
    reading: &'r Reading<'a>,
    sink: S,
}

impl<S: Sink> Sink for Counted<'_, '_, S> {
    fn take<R: Rows>(&mut self, chunk: &Chunk, rows: R) -> Result<(), Stop> {
        self.sink.take(chunk, rows)?;
        let (tally, count) = (self.reading.tally(), rows.len() as u64);
        tally.done(count);
        tally.end_chunk();
        self.reading.add_rows(count);
        Ok(())
    }

    fn hand_on(&mut self) -> Result<(), Stop> {
        self.sink.hand_on()
    }
}

/// Has `taker` take the rows of the input from its beginning.
pub(crate) fn again(
    source: &mut dyn Source,
    interrupt: &Interrupt,
    taker: &mut impl Take,
) -> Result<(), Stop> {
    source.restart()?;
    reading::read_alone(source, interrupt, |chunk, batch| {
        if !taker.skips(chunk) {
            batch.visit(chunk, Each { chunk, taker })?;
        }
        Ok(!taker.is_done())
    })
}

struct Each<'t, T> {
    chunk: &'t Chunk,
    taker: &'t mut T,
}

impl<T: Take> Visit for Each<'_, T> {
    type Output = Result<(), Stop>;

    fn rows<R: Rows>(self, rows: R) -> Result<(), Stop> {
        each(self.chunk, rows, self.taker)
    }
}
