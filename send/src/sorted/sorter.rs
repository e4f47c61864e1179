//! One reading of the input: every row into sorted runs.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use encode::encoder::Line;
use encode::input;
use encode::long_records::{self, Large, Pass};
use job::error::Error;
use job::pool;
use job::progress::{Snapshot, Stage};
use job::stop::Stop;
use sort::{EntryShape, RunStore, SortBuffer, StoreOptions};
use sources::{Chunk, Rows, Scanner, Source, Unit};

use super::row_origin::{Origin, RowHead, RowPlace};
use super::source::{SortedRows, SortedSource};
use super::{Sorted, Sorting};
use crate::row_keys::{KeyReader, NoKey};

/// Rows after which a worker looks at how much it holds.
const ROWS_PER_LOOK: usize = 64;
/// Bytes that an entry takes in a sort buffer besides its own.
const ENTRY_BYTES: usize = 16;
/// Bytes that few rows exceed. A merge keeps a row of each of its sources.
const LONG_ROW_BYTES: usize = 16 << 10;

/// First byte of a key: rows without one come first; they are refused when they are loaded.
const WITHOUT_KEY: u8 = 0;
const WITH_KEY: u8 = 1;

/// Reads and sorts the input.
pub(super) fn sort(sorting: &Sorting<'_>, mut source: Box<dyn Source>) -> Result<Sorted, Error> {
    source.restart()?;
    let files = source.files().to_vec();
    let given_up = source.given_up();
    let bytes_total = source.bytes_total();
    let (key_len, shape) = shape(sorting);
    let options = StoreOptions {
        memory_bytes_max: sorting.store_bytes,
        temp_dir: sorting.temp_dir.to_owned(),
        threads: sorting.memory.threads,
        stop: sorting.interrupt.flag(),
    };
    let stage = SortStage {
        sorting,
        source: Mutex::new(source),
        given_up,
        bytes_total,
        scanner: Scanner::new(sorting.dialect),
        large: Large::new(sorting.memory),
        shape,
        key_len,
        stores: [RunStore::with_options(shape, options)?],
        origins: Mutex::default(),
        rows: AtomicU64::new(0),
        bytes: AtomicU64::new(0),
        next_run: AtomicU64::new(0),
        is_numbered: AtomicBool::new(false),
        stop: AtomicBool::new(false),
    };
    let outcome = pool::run(sorting.memory.threads, || stage.work(), || stage.close());
    let mut source = stage.source.into_inner().unwrap_or_else(PoisonError::into_inner);
    if stage.is_numbered.into_inner() {
        source.restart()?;
        return Ok(Sorted::NotSorted(source));
    }
    match outcome {
        Ok(()) => {}
        Err(Stop::Failed(error)) => return Err(error),
        Err(_) => return Err(Error::Internal("sorting stopped without a reason".to_owned())),
    }
    let [store] = stage.stores;
    let runs = store.finish()?;
    let rows = SortedRows {
        spilled_bytes: runs.stats().spilled_file_bytes,
        runs,
        origins: stage.origins.into_inner().unwrap_or_else(PoisonError::into_inner),
        chunk_bytes: sorting.memory.chunk_bytes,
    };
    let sorted =
        SortedSource::new(Arc::new(rows), files, sorting.dialect, stage.bytes.into_inner())
            .of_input(source.bytes_read());
    Ok(Sorted::Rows(Box::new(sorted)))
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

/// What the workers share.
struct SortStage<'a> {
    sorting: &'a Sorting<'a>,
    source: Mutex<Box<dyn Source>>,
    given_up: Arc<AtomicBool>,
    bytes_total: Option<u64>,
    scanner: Scanner,
    large: Large,
    shape: EntryShape,
    key_len: Option<usize>,
    stores: [RunStore; 1],
    /// One a chunk.
    origins: Mutex<Vec<Origin>>,
    rows: AtomicU64,
    /// Bytes of all rows.
    bytes: AtomicU64,
    next_run: AtomicU64,
    /// Whether a row gets a number that depends on the input's order.
    is_numbered: AtomicBool,
    stop: AtomicBool,
}

impl SortStage<'_> {
    /// Runs one worker to the end of the input.
    fn work(&self) -> Result<(), Stop> {
        let mut worker = Worker::new(self);
        let mut chunk = Chunk::default();
        while !self.stop.load(Ordering::Relaxed) {
            let Some(large) = self.next_chunk(&mut chunk)? else {
                return worker.sort_buffer();
            };
            let Some(pass) = large else {
                worker.take(&chunk)?;
                continue;
            };
            let loans = long_records::borrow(&self.stores, chunk.bytes.len())?;
            worker.take(&chunk)?;
            // Its buffers have grown with the record: give them back before the loans.
            worker.sort_buffer()?;
            chunk = Chunk::default();
            worker = Worker::new(self);
            drop(loans);
            drop(pass);
        }
        Err(Stop::Abandoned)
    }

    /// Lets no worker begin or wait any more.
    fn close(&self) {
        self.stop.store(true, Ordering::Relaxed);
        self.given_up.store(true, Ordering::Relaxed);
    }

    /// Takes the next chunk, if there is one, with the right to work on it if it is a long record.
    fn next_chunk(&self, chunk: &mut Chunk) -> Result<Option<Option<Pass<'_>>>, Stop> {
        self.sorting.interrupt.check()?;
        let mut source = self.source.lock().unwrap_or_else(PoisonError::into_inner);
        let more = source.next_chunk(chunk)?;
        self.sorting.progress.update(Snapshot {
            stage: Stage::Sort,
            rows: self.rows.load(Ordering::Relaxed),
            done_bytes: source.bytes_read(),
            total_bytes: self.bytes_total,
        });
        Ok(more.then(|| self.large.enter_if_large(chunk.bytes.len())))
    }

    fn note(&self, ordinal: u64, origin: Origin) {
        let mut origins = self.origins.lock().unwrap_or_else(PoisonError::into_inner);
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
    scanner: Scanner,
    rows: Rows,
    buffer: SortBuffer,
    key: Vec<u8>,
    payload: Vec<u8>,
}

impl<'a> Worker<'a> {
    fn new(stage: &'a SortStage<'a>) -> Worker<'a> {
        Worker {
            reader: KeyReader::new(stage.sorting.plan.keys.clone()),
            scanner: stage.scanner.clone(),
            rows: Rows::new(),
            buffer: SortBuffer::new(stage.shape),
            key: Vec::new(),
            payload: Vec::new(),
            stage,
        }
    }

    fn take(&mut self, chunk: &Chunk) -> Result<(), Stop> {
        let mut rows = std::mem::take(&mut self.rows);
        input::scan(&mut self.scanner, chunk, self.stage.sorting.files, &mut rows)?;
        let (mut counted, mut lines, mut file_bytes, mut bytes) = (0, 0, 0, 0);
        for (index, row) in rows.iter().enumerate() {
            let (start, end) = row.raw();
            lines += chunk.lines_between(counted, start);
            file_bytes += match chunk.unit {
                Unit::Byte => (start - counted) as u64,
                unit => unit.file_bytes(&chunk.bytes[counted..start]),
            };
            counted = start;
            self.read_key(&Line { chunk: &chunk.bytes, rows: &rows, row })?;
            let place = RowPlace { chunk: chunk.ordinal, start: start as u32 };
            self.key.extend_from_slice(&place.to_bytes());
            self.payload.clear();
            RowHead { lines: lines as u32, file_bytes: file_bytes as u32 }.push(&mut self.payload);
            self.payload.extend_from_slice(&chunk.bytes[start..end]);
            self.buffer.push(&self.key, &self.payload);
            bytes += end - start;
            if index % ROWS_PER_LOOK == 0 {
                self.relieve()?;
            }
        }
        let last_start = rows.len().checked_sub(1).map_or(0, |last| rows.row(last).raw().0);
        self.stage.note(
            chunk.ordinal,
            Origin {
                file: chunk.file,
                offset: chunk.offset,
                first_line: chunk.first_line,
                last_start: last_start as u32,
            },
        );
        self.stage.rows.fetch_add(rows.len() as u64, Ordering::Relaxed);
        self.stage.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        self.rows = rows;
        self.relieve()
    }

    /// The key of a row, without its place.
    #[inline]
    fn read_key(&mut self, line: &Line<'_>) -> Result<(), Stop> {
        self.key.clear();
        self.key.push(WITH_KEY);
        let pushed = match self.reader.read(line) {
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

    /// Sorts what was collected once it has reached its share of memory.
    fn relieve(&mut self) -> Result<(), Stop> {
        let bytes = self.buffer.bytes() + ENTRY_BYTES * self.buffer.len();
        if bytes > self.stage.sorting.memory.entry_bytes { self.sort_buffer() } else { Ok(()) }
    }

    fn sort_buffer(&mut self) -> Result<(), Stop> {
        if !self.buffer.is_empty() {
            let run = self.stage.next_run.fetch_add(1, Ordering::Relaxed);
            self.stage.stores[0].add(self.buffer.sort(run))?;
        }
        Ok(())
    }
}
