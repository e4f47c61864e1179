//! The reading of the input: faults of rows, and their keys.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use encode::binding::BoundColumn;
use encode::entries::Entries;
use encode::long_records::Large;
use encode::reading::{Reading, Sink};
use encode::row_keys::{KeyReader, NoKey};
use job::failpoint;
use job::memory::Memory;
use job::position::PositionCursor;
use job::stop::Stop;
use sort::RunStore;
use sources::{Chunk, Row, Rows};

use crate::findings::{self, What};
use crate::judge::{Judge, Rules};
use crate::looks::Looks;
use crate::place::Place;

/// Rows after which a worker looks at how much it holds.
const ROWS_PER_LOOK: usize = 64;

/// How many rows are at fault, by column and reason.
pub(crate) type Tally = BTreeMap<(Option<String>, String), u64>;

/// What the workers share.
pub(crate) struct RowsStage<'a> {
    pub(crate) rules: &'a Rules,
    pub(crate) looks: &'a Looks,
    pub(crate) memory: &'a Memory,
    pub(crate) reading: Reading<'a>,
    /// For chunks that are one record, too long for a worker's share.
    pub(crate) large: Large,
    /// One a look, and that of what is found.
    pub(crate) stores: &'a [RunStore],
    pub(crate) next_run: &'a AtomicU64,
    pub(crate) tally: Mutex<Tally>,
    /// One a look: rows whose key cannot be made.
    pub(crate) keyless: Vec<AtomicU64>,
    /// Rows of which it is not known whether a partition takes them.
    pub(crate) unplaced: AtomicU64,
}

impl RowsStage<'_> {
    /// Runs one worker to the end of the input.
    pub(crate) fn work(&self) -> Result<(), Stop> {
        failpoint::hit("thread.judge");
        self.reading.work(&self.large, self.stores, || Worker::new(self))
    }
}

struct Worker<'a> {
    stage: &'a RowsStage<'a>,
    judge: Judge<'a>,
    reader: KeyReader,
    entries: Entries<'a>,
    entry: Vec<u8>,
    tally: Tally,
}

impl<'a> Worker<'a> {
    fn new(stage: &'a RowsStage<'a>) -> Worker<'a> {
        let shapes = stage.looks.looks.iter().map(|look| look.shape).chain([findings::SHAPE]);
        Worker {
            judge: Judge::new(stage.rules),
            reader: KeyReader::new(stage.looks.plan.clone()),
            entries: Entries::new(shapes, stage.stores, stage.next_run, stage.memory.entry_bytes),
            entry: Vec::new(),
            tally: Tally::new(),
            stage,
        }
    }

    #[inline]
    fn take_row<R: Row>(&mut self, row: R, place: Place) {
        let (mut is_good, mut has_keys) = (true, true);
        let (tally, columns) = (&mut self.tally, &self.stage.rules.columns);
        self.judge.judge(row, |fault| {
            is_good = false;
            has_keys &= fault.has_fields();
            let named = |at: usize| columns.get(at).map(|b: &BoundColumn| b.column.name.clone());
            *tally.entry((fault.column.and_then(named), fault.kind.class())).or_default() += 1;
        });
        if !is_good {
            let found = self.stage.looks.looks.len();
            self.entries.push(found, &findings::key(place, What::Fields), &[]);
        }
        // A row that is refused for another column may have a key nevertheless, as it will when it
        // is mended.
        if has_keys && self.reader.read(row) {
            self.push_keys(place);
        }
    }

    #[inline]
    fn push_keys(&mut self, place: Place) {
        for (at, look) in self.stage.looks.looks.iter().enumerate() {
            self.entry.clear();
            match self.reader.push(look.key, &mut self.entry) {
                Ok(()) => {
                    self.entry.extend_from_slice(&place.to_bytes());
                    self.entries.push(at, &self.entry, &[]);
                }
                Err(NoKey::Null) => {}
                // A number that is generated is nobody else's.
                Err(NoKey::Unknown) if self.reader.is_generated(look.key) => {}
                Err(NoKey::Unknown) => {
                    self.stage.keyless[at].fetch_add(1, Ordering::Relaxed);
                }
            }
        }
    }
}

impl Sink for Worker<'_> {
    fn take<R: Rows>(&mut self, chunk: &Chunk, rows: R) -> Result<(), Stop> {
        let mut places = PositionCursor::of(chunk);
        for (index, row) in rows.iter().enumerate() {
            let (line, offset) = places.advance(chunk, row.start());
            self.take_row(row, Place { file: chunk.file, offset, line });
            if index % ROWS_PER_LOOK == 0 {
                self.entries.relieve()?;
            }
        }
        let tally = self.stage.reading.tally();
        tally.done(rows.len() as u64);
        tally.end_chunk();
        self.stage.reading.add_rows(rows.len() as u64);
        self.entries.relieve()
    }

    fn hand_on(&mut self) -> Result<(), Stop> {
        let mut all = self.stage.tally.lock().unwrap_or_else(PoisonError::into_inner);
        for (what, rows) in std::mem::take(&mut self.tally) {
            *all.entry(what).or_default() += rows;
        }
        drop(all);
        self.stage.unplaced.fetch_add(self.judge.take_unplaced(), Ordering::Relaxed);
        self.entries.sort()
    }
}
