//! One reading of the input: every row into sorted runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use encode::entries::Entries;
use encode::long_records::LongRecords;
use encode::reading::{Reading, Sink};
use encode::row_keys::{KeyReader, NoKey};
use job::error::Error;
use job::failpoint;
use job::pool;
use job::position::PositionCursor;
use job::progress::Stage;
use job::stop::Stop;
use job::tally;
use locks::Mutex;
use sort::{EntryShape, RunStore, StoreOptions};
use sources::{Chunk, Row, Rows, Source, SourceExt as _};

use super::row_origin::{Origin, RowHead, RowPlace};
use super::source::{SortedRows, SortedSource};
use super::{Sorted, Sorting};

/// Rows after which a worker looks at how much it holds.
const ROWS_PER_LOOK: usize = 64;
/// Bytes that few rows exceed. A merge keeps a row of each of its sources.
const LONG_ROW_BYTES: usize = 16 << 10;

/// First byte of a key: rows without one come first; they are refused when they are loaded.
const WITHOUT_KEY: u8 = 0;
const WITH_KEY: u8 = 1;

/// Reads and sorts the input.
pub(super) fn sort(sorting: &Sorting<'_>, mut source: Box<dyn Source>) -> Result<Sorted, Error> {
    source.restart()?;
    let source = Mutex::new(source);
    let (key_len, shape) = shape(sorting);
    let options = StoreOptions {
        memory_bytes_max: sorting.store_bytes,
        temp_dir: sorting.temp_dir.to_owned(),
        threads: sorting.memory.threads,
        stop: sorting.interrupt.flag(),
    };
    let stage = SortStage {
        sorting,
        reading: Reading::new(&source, Stage::Sort, sorting.progress, sorting.interrupt),
        large: LongRecords::new(sorting.memory),
        shape,
        key_len,
        stores: [RunStore::with_options(shape, options)?],
        origins: Mutex::default(),
        bytes: AtomicU64::new(0),
        next_run: AtomicU64::new(0),
        is_numbered: AtomicBool::new(false),
    };
    let outcome = pool::run(sorting.memory.threads, || stage.work(), || stage.reading.close());
    let SortStage { stores: [store], origins, bytes, is_numbered, reading, .. } = stage;
    let rows_read = reading.tally().rows_read();
    let mut source = source.into_inner();
    if is_numbered.into_inner() {
        source.restart()?;
        return Ok(Sorted::NotSorted(source));
    }
    outcome.map_err(|stop| stop.into_error("sorting"))?;
    let runs = store.finish()?;
    let count = runs.stats().entries;
    tally::check(rows_read, count, 0)?;
    let rows = SortedRows {
        count,
        spilled_bytes: runs.stats().spilled_file_bytes,
        runs,
        origins: origins.into_inner(),
        chunk_bytes: sorting.memory.chunk_bytes,
    };
    Ok(Sorted::Rows(Box::new(SortedSource::new(Arc::new(rows), source, bytes.into_inner()))))
}

/// Bytes of a key without marker and place, if constant, and what is sorted.
fn shape(sorting: &Sorting<'_>) -> (Option<usize>, EntryShape) {
    let key_len = sorting.plan.keys.fixed_len(0);
    let whole = key_len.map(|len| 1 + len + RowPlace::BYTES);
    (key_len, EntryShape { key_len: whole, tail_len: RowPlace::BYTES, payload: true })
}

/// The least that runs and merges need, with room for some long rows.
pub(super) fn memory_bytes_min(sorting: &Sorting<'_>) -> usize {
    let threads = sorting.memory.threads;
    let (_, shape) = shape(sorting);
    RunStore::memory_bytes_min(&shape, threads) + 4 * threads.max(2) * LONG_ROW_BYTES
}

/// State shared by the workers.
struct SortStage<'a> {
    sorting: &'a Sorting<'a>,
    reading: Reading<'a>,
    large: LongRecords,
    shape: EntryShape,
    key_len: Option<usize>,
    stores: [RunStore; 1],
    /// One a chunk.
    origins: Mutex<Vec<Origin>>,
    /// Bytes of all rows.
    bytes: AtomicU64,
    next_run: AtomicU64,
    /// True if a row gets a number that depends on the input's order.
    is_numbered: AtomicBool,
}

impl SortStage<'_> {
    /// Runs one worker to the end of the input.
    fn work(&self) -> Result<(), Stop> {
        failpoint::hit("thread.sort");
        self.reading.work(&self.large, &self.stores, || Ok(Worker::new(self)))
    }

    fn note(&self, ordinal: u64, origin: Origin) {
        let mut origins = self.origins.lock();
        let at = ordinal as usize;
        if origins.len() <= at {
            origins.resize(at + 1, Origin::default());
        }
        origins[at] = origin;
    }
}

struct Worker<'a> {
    stage: &'a SortStage<'a>,
    reader: KeyReader,
    entries: Entries<'a>,
    key: Vec<u8>,
    payload: Vec<u8>,
}

impl<'a> Worker<'a> {
    fn new(stage: &'a SortStage<'a>) -> Worker<'a> {
        Worker {
            reader: KeyReader::new(stage.sorting.plan.keys.clone()),
            entries: Entries::new(
                [stage.shape],
                &stage.stores,
                &stage.next_run,
                stage.sorting.memory.entry_bytes,
            ),
            key: Vec::new(),
            payload: Vec::new(),
            stage,
        }
    }

    /// The key of a row, without its place.
    #[inline]
    fn read_key<R: Row>(&mut self, row: R) -> Result<(), Stop> {
        self.key.clear();
        self.key.push(WITH_KEY);
        let pushed = match self.reader.read(row) {
            true => self.reader.push(0, &mut self.key),
            false => Err(NoKey::Null),
        };
        match pushed {
            Ok(()) => Ok(()),
            Err(NoKey::Unknown) if self.reader.is_generated(0) => {
                self.stage.is_numbered.store(true, Ordering::Relaxed);
                Err(Stop::Abandoned)
            }
            Err(_) => {
                self.key.clear();
                self.key.push(WITHOUT_KEY);
                self.key.resize(1 + self.stage.key_len.unwrap_or(0), 0);
                Ok(())
            }
        }
    }
}

impl Sink for Worker<'_> {
    fn take<R: Rows>(&mut self, chunk: &Chunk, rows: R) -> Result<(), Stop> {
        let (mut places, mut bytes) = (PositionCursor::of(chunk), 0);
        for (index, row) in rows.iter().enumerate() {
            let (line, offset) = places.advance(chunk, row.start());
            let head = RowHead {
                lines: (line - chunk.first_line) as u32,
                file_bytes: (offset - chunk.offset) as u32,
            };
            self.read_key(row)?;
            let place = RowPlace { chunk: chunk.ordinal, start: row.start() as u32 };
            self.key.extend_from_slice(&place.to_bytes());
            self.payload.clear();
            head.push(&mut self.payload);
            let raw = row.raw();
            self.payload.extend_from_slice(&raw);
            self.entries.push(0, &self.key, &self.payload);
            bytes += raw.len();
            if index % ROWS_PER_LOOK == 0 {
                self.entries.relieve()?;
            }
        }
        let last_start = rows.len().checked_sub(1).map_or(0, |last| rows.row(last).start());
        self.stage.note(
            chunk.ordinal,
            Origin {
                file: chunk.file,
                offset: chunk.offset,
                first_line: chunk.first_line,
                last_start: last_start as u32,
            },
        );
        self.stage.reading.add_rows(rows.len() as u64);
        self.stage.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        self.entries.relieve()
    }

    fn hand_on(&mut self) -> Result<(), Stop> {
        self.entries.sort()
    }
}
