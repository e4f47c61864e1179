//! First stage: input to the clustered index, and to sorted runs of every other index.
//!
//! Each worker takes a chunk under the source's lock and carries it through scan,
//! conversion, encoding and page building while it is in cache. What must be in
//! input order, numbering pages and counting rejects, waits at a turnstile; the
//! pages are sealed and written after it.
//!
//! Rows are taken to come in key order until one does not. Then the stage stops
//! with [`Stop::Unsorted`], and begins again with the clustered index sorted as
//! the others are.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use encode::binding::Binding;
use encode::encoder::{Encoder, Line};
use encode::entry::pack;
use encode::explicit::Explicit;
use encode::fault::RowFault;
use encode::input;
use encode::left_out::LeftOut;
use encode::long_records::{self, Large, Pass};
use encode::rejects::{Reject, Rejects};
use encode::sequence::{ChunkNumbers, Sequence};
use innodb::leaf::LeafBatch;
use innodb::tree::IndexBuilder;
use job::memory::Memory;
use job::options::OnDuplicate;
use job::position::Places;
use job::progress::{Progress, Snapshot, Stage};
use job::stop::Stop;
use job::turn::Turnstile;
use server::Interrupt;
use sort::{RunStore, SortBuffer};
use sources::{Chunk, Rows, Scanner, Source};

use crate::duplicates::gate::RowGate;
use crate::duplicates::log::{CutChunk, DuplicateLog};
use crate::off_page;
use crate::order::{Order, entry_shapes};
use crate::pages::PageSink;

/// Rows after which a worker looks at how much it holds.
const ROWS_PER_LOOK: u32 = 64;
/// Bytes of a record after which it looks at once.
const LONG_RECORD_BYTES: usize = 1024;
/// Bytes that an entry takes in a sort buffer besides its own.
const ENTRY_BYTES: usize = 16;
/// Refused rows that a worker holds before it hands them on.
const REJECTS_HELD_MAX: usize = 1000;

/// What the stage works on, shared by its workers.
pub(crate) struct RowsStage<'a, 'l> {
    pub(crate) binding: &'a Binding,
    pub(crate) order: Order,
    pub(crate) memory: &'a Memory,
    pub(crate) source: &'a Mutex<Box<dyn Source>>,
    /// Its files, by their number.
    pub(crate) files: &'a [PathBuf],
    /// Ends waiting for the source.
    pub(crate) given_up: Arc<AtomicBool>,
    pub(crate) scanner: &'a Scanner,
    pub(crate) sequence: &'a Sequence,
    /// Whether a 0 in the AUTO_INCREMENT column is a value.
    pub(crate) zero_is_value: bool,
    /// One a secondary index; with [`Order::Sorted`] the clustered index's comes first.
    pub(crate) stores: &'a [RunStore],
    pub(crate) sink: &'a PageSink<'a>,
    /// For chunks that are one record, too long for a worker's share.
    pub(crate) large: Large,
    /// Tells which rows are left out, if some are.
    pub(crate) gate: Option<RowGate<'l>>,
    pub(crate) on_duplicate: OnDuplicate,
    pub(crate) commit: Turnstile<Commit<'l>>,
    pub(crate) progress: &'a dyn Progress,
    /// Ends the stage early.
    pub(crate) interrupt: &'a Interrupt,
    pub(crate) bytes_total: Option<u64>,
    pub(crate) rejects_max: u64,
    pub(crate) rows: AtomicU64,
    /// Number of the next sorted run.
    pub(crate) next_run: AtomicU64,
    pub(crate) stop: AtomicBool,
}

/// What is passed from chunk to chunk.
pub(crate) struct Commit<'l> {
    /// The clustered index, with [`Order::AsRead`].
    pub(crate) builder: Option<IndexBuilder>,
    pub(crate) rejects: Rejects,
    pub(crate) duplicates: DuplicateLog<'l>,
    pub(crate) rows: u64,
    /// Key of the last row; empty before the first.
    pub(crate) last_key: Vec<u8>,
}

impl RowsStage<'_, '_> {
    /// Runs one worker to the end of the input, or to the first failure of any.
    pub(crate) fn work(&self) -> Result<(), Stop> {
        let mut worker = Worker::new(self);
        let mut chunk = Chunk::default();
        while !self.stop.load(Ordering::Relaxed) {
            let Some(large) = self.next_chunk(&mut chunk)? else {
                return worker.sort_buffers();
            };
            let Some(pass) = large else {
                worker.take(&chunk)?;
                continue;
            };
            let loans = long_records::borrow(self.stores, chunk.bytes.len())?;
            worker.take(&chunk)?;
            // Its buffers have grown with the record: give them back before the loans.
            worker.sort_buffers()?;
            chunk = Chunk::default();
            worker = Worker::new(self);
            drop(loans);
            drop(pass);
        }
        Err(Stop::Abandoned)
    }

    /// Lets no worker begin or wait any more.
    pub(crate) fn close(&self) {
        self.stop.store(true, Ordering::Relaxed);
        self.given_up.store(true, Ordering::Relaxed);
        if let Some(gate) = &self.gate {
            gate.close();
        }
        self.sequence.close();
        self.commit.close();
    }

    /// Whether it is still to be found out if rows are to be skipped.
    fn may_be_duplicates(&self) -> bool {
        self.on_duplicate == OnDuplicate::Skip && self.gate.is_none()
    }

    /// Takes the next chunk, if there is one. With it comes the right to work on a
    /// record that is far longer than a worker's share, if it is one.
    fn next_chunk(&self, chunk: &mut Chunk) -> Result<Option<Option<Pass<'_>>>, Stop> {
        self.interrupt.check()?;
        let mut source = self.source.lock().unwrap_or_else(PoisonError::into_inner);
        let more = source.next_chunk(chunk)?;
        self.progress.update(Snapshot {
            stage: Stage::Rows,
            rows: self.rows.load(Ordering::Relaxed),
            done_bytes: source.bytes_read(),
            total_bytes: self.bytes_total,
        });
        if !more {
            return Ok(None);
        }
        // Waited for with the source locked, so that nobody reads another meanwhile.
        Ok(Some(self.large.enter_if_large(chunk.bytes.len())))
    }
}

struct Worker<'a, 'l> {
    stage: &'a RowsStage<'a, 'l>,
    encoder: Encoder<'a>,
    scanner: Scanner,
    rows: Rows,
    left_out: LeftOut,
    numbers: ChunkNumbers,
    explicit: Explicit,
    batch: LeafBatch,
    off_page: off_page::Writer<'a>,
    buffers: Vec<SortBuffer>,
    payload: Vec<u8>,
    rejects: Vec<Reject>,
    /// Rows taken since the last hand-over.
    accepted: u64,
    /// Rows since the last look at what is held.
    unseen: u32,
    /// Where refused rows are.
    places: Places,
    first_key: Vec<u8>,
    last_key: Vec<u8>,
}

impl<'a, 'l> Worker<'a, 'l> {
    fn new(stage: &'a RowsStage<'a, 'l>) -> Worker<'a, 'l> {
        let batch_bytes = match stage.order {
            Order::AsRead => stage.memory.batch_bytes,
            Order::Sorted => 0,
        };
        Worker {
            encoder: Encoder::new(stage.binding),
            scanner: stage.scanner.clone(),
            rows: Rows::new(),
            left_out: LeftOut::default(),
            numbers: ChunkNumbers::new(),
            explicit: Explicit::new(stage.binding, stage.zero_is_value),
            batch: stage.sink.batch(0, batch_bytes),
            off_page: off_page::Writer::new(stage.sink),
            buffers: entry_shapes(stage.binding, stage.order)
                .into_iter()
                .map(SortBuffer::new)
                .collect(),
            payload: Vec::new(),
            rejects: Vec::new(),
            accepted: 0,
            unseen: 0,
            places: Places::default(),
            first_key: Vec::new(),
            last_key: Vec::new(),
            stage,
        }
    }

    /// Carries a chunk through.
    fn take(&mut self, chunk: &Chunk) -> Result<(), Stop> {
        self.places = Places::of(chunk);
        let mut rows = std::mem::take(&mut self.rows);
        input::scan(&mut self.scanner, chunk, self.stage.files, &mut rows)?;
        if let Some(gate) = &self.stage.gate {
            gate.take(chunk, rows.len(), &mut self.left_out)?;
        }
        let sequence = self.stage.sequence;
        self.explicit.collect(&chunk.bytes, &rows, &mut self.numbers.given);
        if sequence.is_careful() {
            self.leave_out_refused(chunk, &rows)?;
        }
        let left_out = self.left_out.without_numbers(self.stage.on_duplicate);
        sequence.take(chunk.ordinal, rows.len(), left_out, &mut self.numbers)?;
        let outcome = self.rows(chunk, &rows).and_then(|()| self.log_left_out(chunk, &rows));
        self.rows = rows;
        match outcome {
            Ok(()) => self.hand_over(chunk.ordinal, true),
            Err(error) => {
                // Whatever comes first in the input is what is reported.
                let mut turn = self.stage.commit.wait(chunk.ordinal)?;
                take_rejects(turn.state(), &mut self.rejects)?;
                Err(error)
            }
        }
    }

    /// Converts every row once, to see which are not to be numbered.
    #[cold]
    fn leave_out_refused(&mut self, chunk: &Chunk, rows: &Rows) -> Result<(), Stop> {
        self.numbers.try_on();
        for (index, row) in rows.iter().enumerate() {
            let line = Line { chunk: &chunk.bytes, rows, row };
            let encoded = self.encoder.encode(&line, self.numbers.of(index));
            if encoded.is_err() || !self.off_page.would_fit(self.encoder.clustered())? {
                self.numbers.leave_out(index);
            }
        }
        Ok(())
    }

    fn rows(&mut self, chunk: &Chunk, rows: &Rows) -> Result<(), Stop> {
        for (index, row) in rows.iter().enumerate() {
            if self.left_out.has(index) {
                continue;
            }
            let line = Line { chunk: &chunk.bytes, rows, row };
            if let Err(fault) = self.encode(&line, index)? {
                self.stage.sequence.refuse(index, &self.numbers)?;
                self.reject(chunk, &line, fault)?;
                continue;
            }
            self.keep(chunk.ordinal)?;
        }
        Ok(())
    }

    /// Writes down the rows that are left out.
    fn log_left_out(&mut self, chunk: &Chunk, rows: &Rows) -> Result<(), Stop> {
        if self.left_out.is_empty() {
            return Ok(());
        }
        let stage = self.stage;
        let cut = CutChunk { chunk, rows, left_out: &self.left_out };
        let mut turn = stage.commit.wait(chunk.ordinal)?;
        turn.state().duplicates.write(&cut, stage.binding, stage.files)
    }

    /// Everything that can refuse a row, before any of it is kept.
    #[inline]
    fn encode(&mut self, line: &Line<'_>, index: usize) -> Result<Result<(), RowFault>, Stop> {
        if let Err(fault) = self.encoder.encode(line, self.numbers.of(index)) {
            return Ok(Err(fault));
        }
        Ok(self.off_page.fit(self.encoder.clustered())?)
    }

    /// Puts an encoded row where it belongs.
    #[inline]
    fn keep(&mut self, ordinal: u64) -> Result<(), Stop> {
        let record = self.off_page.record(self.encoder.clustered());
        let record_bytes = record.bytes.len();
        let sorted = usize::from(self.stage.order == Order::Sorted);
        let key = self.encoder.clustered_key();
        if sorted == 1 {
            self.payload.clear();
            pack(&mut self.payload, 0, record);
            self.buffers[0].push(key, &self.payload);
        } else {
            // Empty only before the first row of a chunk: its order against the chunk before shows
            // when that one has been handed over.
            if self.batch.is_empty() {
                self.first_key.extend_from_slice(key);
            } else {
                check_order(&self.last_key, key)?;
            }
            self.last_key.clear();
            self.last_key.extend_from_slice(key);
            self.batch.push(record.bytes, record.origin)?;
        }
        for (index, buffer) in self.buffers[sorted..].iter_mut().enumerate() {
            let (key, payload) = self.encoder.secondary(index);
            buffer.push(key, payload);
        }
        self.accepted += 1;
        self.unseen += 1;
        // Looked at now and then: most rows change little.
        if self.unseen >= ROWS_PER_LOOK || record_bytes > LONG_RECORD_BYTES {
            self.relieve(ordinal)?;
        }
        Ok(())
    }

    /// Hands on in mid-chunk what has reached its share of memory.
    fn relieve(&mut self, ordinal: u64) -> Result<(), Stop> {
        self.unseen = 0;
        if self.batch.bytes() > self.stage.memory.batch_bytes {
            self.hand_over(ordinal, false)?;
        }
        let entries: usize =
            self.buffers.iter().map(|buffer| buffer.bytes() + ENTRY_BYTES * buffer.len()).sum();
        if entries > self.stage.memory.entry_bytes {
            self.sort_buffers()?;
        }
        Ok(())
    }

    /// Sorts what was collected, over as many chunks as fit, into one run an index: every run
    /// costs the merge a little for each of its batches.
    fn sort_buffers(&mut self) -> Result<(), Stop> {
        let run = self.stage.next_run.fetch_add(1, Ordering::Relaxed);
        for (buffer, store) in self.buffers.iter_mut().zip(self.stage.stores) {
            if !buffer.is_empty() {
                store.add(buffer.sort(run))?;
            }
        }
        Ok(())
    }

    /// Numbers the pages built so far and writes them; at the end of a chunk, lets the next pass.
    fn hand_over(&mut self, ordinal: u64, last: bool) -> Result<(), Stop> {
        let mut turn = self.stage.commit.wait(ordinal)?;
        let state = turn.state();
        take_rejects(state, &mut self.rejects)?;
        state.rows += self.accepted;
        self.stage.rows.store(state.rows, Ordering::Relaxed);
        self.accepted = 0;
        let mut appended = None;
        if let (Some(builder), false) = (&mut state.builder, self.batch.is_empty()) {
            if !state.last_key.is_empty() && !self.first_key.is_empty() {
                check_order(&state.last_key, &self.first_key)?;
            }
            state.last_key.clone_from(&self.last_key);
            appended = Some(self.stage.sink.number(0, builder, &mut self.batch, last)?);
        }
        self.first_key.clear();
        if last {
            turn.pass();
        } else {
            drop(turn);
        }
        if let Some(appended) = appended {
            self.stage.sink.write(appended)?;
        }
        Ok(())
    }

    /// Takes down a row that cannot be loaded.
    #[cold]
    fn reject(&mut self, chunk: &Chunk, line: &Line<'_>, fault: RowFault) -> Result<(), Stop> {
        let binding = self.stage.binding;
        if self.stage.may_be_duplicates() && fault.is_generated(binding) {
            // Rows that are skipped give their numbers back: there may be enough.
            return Err(Stop::duplicate(0, &[]));
        }
        let position = self.places.find(chunk, self.stage.files, line.row.raw().0);
        let column = fault.column.map(|column| &binding.columns[column].column);
        self.rejects.push(fault.reject(line, column, position));
        // One more than allowed ends the load anyway: go no further.
        if self.rejects.len() as u64 > self.stage.rejects_max {
            return Err(Stop::Abandoned);
        }
        if self.rejects.len() >= REJECTS_HELD_MAX {
            self.hand_over(chunk.ordinal, false)?;
        }
        Ok(())
    }
}

/// Writes down the rows refused so far, in their turn.
fn take_rejects(state: &mut Commit<'_>, rejects: &mut Vec<Reject>) -> Result<(), Stop> {
    for reject in rejects.drain(..) {
        state.rejects.push(&reject)?;
    }
    Ok(())
}

/// Checks that `key` comes after `last`.
#[inline]
fn check_order(last: &[u8], key: &[u8]) -> Result<(), Stop> {
    match last.cmp(key) {
        std::cmp::Ordering::Less => Ok(()),
        std::cmp::Ordering::Equal => Err(Stop::duplicate(0, key)),
        std::cmp::Ordering::Greater => Err(Stop::Unsorted),
    }
}
