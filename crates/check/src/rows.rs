//! One worker of a check: it takes down the faults of rows, and their keys.

use locks::Mutex;

use encode::entries::Entries;
use encode::rejects::FaultCounts;
use encode::row_keys::{KeyReader, NoKey};
use job::stop::Stop;
use sources::{Chunk, Row, Rows};

use crate::findings::{self, What};
use crate::judge::{Judge, Rules};
use crate::key_lookups::KeyLookups;
use crate::pass::{self, Take};
use crate::place::{Here, Place};

/// Rows after which a worker looks at how much it holds.
const ROWS_PER_LOOK: u64 = 64;

/// Counts of one worker, or of all.
pub(crate) struct Counts {
    /// Rows at fault.
    pub(crate) faults: FaultCounts,
    /// One a look: rows whose key cannot be made.
    pub(crate) keyless: Vec<u64>,
    /// Rows of which it is not known whether a partition takes them.
    pub(crate) unplaced: u64,
}

impl Counts {
    pub(crate) fn new(looks: &KeyLookups) -> Counts {
        let faults = FaultCounts::default();
        Counts { faults, keyless: vec![0; looks.looks.len()], unplaced: 0 }
    }
}

pub(crate) struct Worker<'a> {
    rules: &'a Rules,
    looks: &'a KeyLookups,
    judge: Judge<'a>,
    reader: KeyReader,
    entries: Entries<'a>,
    entry: Vec<u8>,
    rows: u64,
    counts: Counts,
    all: &'a Mutex<Counts>,
}

impl<'a> Worker<'a> {
    /// `entries` takes those of each look, and behind them what is found.
    pub(crate) fn new(
        rules: &'a Rules,
        looks: &'a KeyLookups,
        entries: Entries<'a>,
        all: &'a Mutex<Counts>,
    ) -> Worker<'a> {
        Worker {
            judge: Judge::new(rules),
            reader: KeyReader::new(looks.plan.clone()),
            entries,
            entry: Vec::new(),
            rows: 0,
            counts: Counts::new(looks),
            rules,
            looks,
            all,
        }
    }

    #[inline]
    fn push_keys(&mut self, place: Place) {
        for (at, look) in self.looks.looks.iter().enumerate() {
            self.entry.clear();
            match self.reader.push(look.key, &mut self.entry) {
                Ok(()) => {
                    self.entry.extend_from_slice(&place.to_bytes());
                    self.entries.push(at, &self.entry, &[]);
                }
                Err(NoKey::Null) => {}
                // A number that is generated is nobody else's.
                Err(NoKey::Unknown) if self.reader.is_generated(look.key) => {}
                Err(NoKey::Unknown) => self.counts.keyless[at] += 1,
            }
        }
    }
}

impl Take for Worker<'_> {
    #[inline]
    fn take<R: Row>(&mut self, row: R, mut here: Here<'_>) -> Result<(), Stop> {
        let (mut is_good, mut has_keys) = (true, true);
        let (faults, columns) = (&mut self.counts.faults, &self.rules.columns);
        self.judge.judge(row, |fault| {
            is_good = false;
            has_keys &= fault.has_fields();
            let column = fault.column.and_then(|at| columns.get(at));
            faults.add(column.map(|of| of.column.name.clone()), fault.kind.class(), 1);
        });
        let place = here.place();
        if !is_good {
            let found = self.looks.looks.len();
            self.entries.push(found, &findings::key(place, What::Fields), &[]);
        }
        // A row that is refused for another column may have a key nevertheless, as it will when it
        // is mended.
        if has_keys && self.reader.read(row) {
            self.push_keys(place);
        }
        self.rows += 1;
        if self.rows.is_multiple_of(ROWS_PER_LOOK) { self.entries.relieve() } else { Ok(()) }
    }
}

impl encode::reading::Sink for Worker<'_> {
    fn take<R: Rows>(&mut self, chunk: &Chunk, rows: R) -> Result<(), Stop> {
        pass::each(chunk, rows, self)?;
        self.entries.relieve()
    }

    fn hand_on(&mut self) -> Result<(), Stop> {
        let mut all = self.all.lock();
        all.faults.add_all(std::mem::take(&mut self.counts.faults));
        for (all, own) in all.keyless.iter_mut().zip(&mut self.counts.keyless) {
            *all += std::mem::take(own);
        }
        all.unplaced += self.judge.take_unplaced();
        drop(all);
        self.entries.sort()
    }
}
