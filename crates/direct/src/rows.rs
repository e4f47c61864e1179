//! First stage: input to the clustered index, and to sorted runs of every other index.
//!
//! Each worker takes a chunk under the source's lock and carries it through scan, conversion, encoding and
//! page building while it is in cache. Work that must be in input order, numbering pages and counting
//! rejects, waits at a turnstile; the pages are sealed and written after it.
//!
//! Rows are taken to come in key order until one does not. Then the stage stops
//! with [`Stop::Unsorted`], and begins again with the clustered index sorted as
//! the others are.

use std::path::PathBuf;
use std::sync::atomic::AtomicU64;

use encode::binding::Binding;
use encode::encoder::{BLOCK_ROWS, Encoder};
use encode::entries::Entries;
use encode::entry::pack;
use encode::explicit::Explicit;
use encode::fault::RowFault;
use encode::left_out::LeftOut;
use encode::long_records::LongRecords;
use encode::numbering::Numbering;
use encode::reading::{Reading, Sink};
use encode::rejects::{Also, Reject, Rejects};
use encode::sequence::Sequence;
use innodb::leaf::LeafBatch;
use innodb::tree::IndexBuilder;
use job::error::Error;
use job::failpoint;
use job::memory::Memory;
use job::options::OnDuplicate;
use job::position::PositionCursor;
use job::stop::Stop;
use job::turn::Turnstile;
use sort::RunStore;
use sources::{Chunk, Row, Rows};

use crate::digest::Digest;
use crate::duplicates::gate::RowGate;
use crate::duplicates::log::DuplicateLog;
use crate::key_taps::{KeyLog, KeyTap, Tapped};
use crate::off_page;
use crate::order::{Order, entry_shapes, partition_prefix};
use crate::pages::PageSink;

/// Rows after which a worker looks at how much it holds.
const ROWS_PER_LOOK: u32 = 64;
/// Bytes of a record after which it looks at once.
const LONG_RECORD_BYTES: usize = 1024;
/// Refused rows that a worker holds before it hands them on.
const REJECTS_HELD_MAX: usize = 1000;

/// The inputs of the stage, shared by its workers.
pub(crate) struct RowsStage<'a, 'l> {
    pub(crate) binding: &'a Binding,
    pub(crate) order: Order,
    pub(crate) memory: &'a Memory,
    pub(crate) reading: Reading<'a>,
    /// The input's files, by their number.
    pub(crate) files: &'a [PathBuf],
    pub(crate) sequence: &'a Sequence,
    /// True if a 0 in the AUTO_INCREMENT column is a value.
    pub(crate) zero_is_value: bool,
    /// One a secondary index; with [`Order::Sorted`] the clustered index's comes first.
    pub(crate) stores: &'a [RunStore],
    /// One, or one a partition.
    pub(crate) sinks: &'a [PageSink<'a>],
    /// For chunks that are one record, too long for a worker's share.
    pub(crate) large: LongRecords,
    /// Tells which rows are left out, if some are.
    pub(crate) gate: Option<RowGate<'l>>,
    pub(crate) on_duplicate: OnDuplicate,
    pub(crate) commit: Turnstile<Commit<'l>>,
    pub(crate) rejects_max: u64,
    /// True if the digest of all rows is made.
    pub(crate) digests: bool,
    /// Number of the next sorted run.
    pub(crate) next_run: AtomicU64,
    /// Keys of the clustered index that are taken down, with [`Order::AsRead`].
    pub(crate) taps: Vec<KeyTap>,
}

/// State that is passed from chunk to chunk.
pub(crate) struct Commit<'l> {
    /// The clustered index, with [`Order::AsRead`].
    pub(crate) builder: Option<IndexBuilder>,
    pub(crate) rejects: Rejects,
    pub(crate) duplicates: DuplicateLog<'l>,
    pub(crate) rows: u64,
    /// Digest of these rows, if they are compared with the adopted table.
    pub(crate) digest: Digest,
    /// Rows of each partition, for a table with partitions.
    pub(crate) partition_rows: Vec<u64>,
    /// Key of the last row; empty before the first.
    pub(crate) last_key: Vec<u8>,
    pub(crate) keys: KeyLog,
}

impl RowsStage<'_, '_> {
    /// Runs one worker to the end of the input, or to the first failure of any.
    pub(crate) fn work(&self) -> Result<(), Stop> {
        failpoint::hit("thread.rows");
        self.reading.work(&self.large, self.stores, || Ok(Worker::new(self)))
    }

    /// Lets no worker begin or wait any more.
    pub(crate) fn close(&self) {
        self.reading.close();
        if let Some(gate) = &self.gate {
            gate.close();
        }
        self.sequence.close();
        self.commit.close();
    }

    /// True if it is still unknown which rows are to be skipped.
    fn may_be_duplicates(&self) -> bool {
        self.on_duplicate == OnDuplicate::Skip && self.gate.is_none()
    }
}

struct Worker<'a, 'l> {
    stage: &'a RowsStage<'a, 'l>,
    encoder: Encoder<'a>,
    left_out: LeftOut,
    numbering: Numbering<'a>,
    batch: LeafBatch,
    off_page: off_page::Writer,
    entries: Entries<'a>,
    payload: Vec<u8>,
    rejects: Vec<Reject>,
    /// Rows taken since the last hand-over.
    accepted: u64,
    /// Digest of the rows, if requested.
    digest: Option<Digest>,
    /// Rows of each partition, for a table with partitions.
    partition_rows: Vec<u64>,
    /// A key behind its partition.
    key: Vec<u8>,
    /// Rows since the last look at what is held.
    unseen: u32,
    /// Where refused rows are.
    places: PositionCursor,
    first_key: Vec<u8>,
    last_key: Vec<u8>,
    tapped: Tapped,
}

impl<'a, 'l> Worker<'a, 'l> {
    fn new(stage: &'a RowsStage<'a, 'l>) -> Worker<'a, 'l> {
        let batch_bytes = match stage.order {
            Order::AsRead => stage.memory.batch_bytes,
            Order::Sorted => 0,
        };
        Worker {
            encoder: Encoder::new(stage.binding),
            left_out: LeftOut::default(),
            numbering: Numbering::new(
                stage.sequence,
                Explicit::new(stage.binding, stage.zero_is_value),
            ),
            batch: stage.sinks[0].batch(0, batch_bytes),
            off_page: off_page::Writer::new(stage.sinks[0].template()),
            entries: Entries::new(
                entry_shapes(stage.binding, stage.order),
                stage.stores,
                &stage.next_run,
                stage.memory.entry_bytes,
            ),
            payload: Vec::new(),
            rejects: Vec::new(),
            accepted: 0,
            digest: stage.digests.then(Digest::default),
            partition_rows: vec![0; stage.binding.partitions.as_ref().map_or(0, |by| by.count())],
            key: Vec::new(),
            unseen: 0,
            places: PositionCursor::default(),
            first_key: Vec::new(),
            last_key: Vec::new(),
            tapped: Tapped::new(stage.taps.len()),
            stage,
        }
    }

    fn rows<R: Rows>(&mut self, chunk: &Chunk, rows: R) -> Result<(), Stop> {
        if failpoint::drops_batch(chunk.ordinal) {
            return Ok(());
        }
        for index in 0..rows.len() {
            if index % BLOCK_ROWS == 0 {
                self.encoder.begin_block(rows, index);
            }
            if self.left_out.has(index) {
                continue;
            }
            if let Err(fault) = self.encode(rows, index)? {
                self.numbering.refuse(index)?;
                self.reject(chunk, rows.row(index), &fault)?;
                continue;
            }
            self.keep(chunk.ordinal)?;
        }
        Ok(())
    }

    /// Writes down the rows that are left out.
    fn log_left_out<R: Rows>(&mut self, chunk: &Chunk, rows: R) -> Result<(), Stop> {
        if self.left_out.is_empty() {
            return Ok(());
        }
        let stage = self.stage;
        let mut turn = stage.commit.wait(chunk.ordinal)?;
        let left_out = &self.left_out;
        turn.state().duplicates.write(chunk, rows, left_out, stage.binding, stage.files)
    }

    /// Everything that can refuse a row, before any of it is kept.
    #[inline]
    fn encode<R: Rows>(&mut self, rows: R, index: usize) -> Result<Result<(), RowFault>, Stop> {
        if let Err(fault) = self.encoder.encode_at(rows, index, self.numbering.of(index)) {
            return Ok(Err(fault));
        }
        let sink = &self.stage.sinks[self.encoder.partition()];
        Ok(self.off_page.fit(self.encoder.clustered(), sink)?)
    }

    /// Puts an encoded row where it belongs.
    #[inline]
    fn keep(&mut self, ordinal: u64) -> Result<(), Stop> {
        let record = self.off_page.record(self.encoder.clustered());
        let record_bytes = record.bytes.len();
        if let Some(digest) = &mut self.digest {
            digest.add_row(record.bytes);
        }
        if !self.partition_rows.is_empty() {
            self.keep_in_partition();
            return self.kept(ordinal, record_bytes);
        }
        let sorted = usize::from(self.stage.order == Order::Sorted);
        let key = self.encoder.clustered_key();
        if sorted == 1 {
            self.payload.clear();
            pack(&mut self.payload, 0, record);
            self.entries.push(0, key, &self.payload);
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
            if !self.stage.taps.is_empty() {
                self.tapped.push(&self.stage.taps, key);
            }
            self.batch.push(record.bytes, record.origin)?;
        }
        for index in 0..self.stage.binding.secondaries.len() {
            let (key, payload) = self.encoder.secondary(index);
            self.entries.push(sorted + index, key, payload);
        }
        self.kept(ordinal, record_bytes)
    }

    /// Puts an encoded row where it belongs, in a table that has partitions: they are a sort's ranges.
    fn keep_in_partition(&mut self) {
        let partition = self.encoder.partition();
        let prefix = partition_prefix(partition);
        self.key.clear();
        self.key.extend_from_slice(&prefix);
        self.key.extend_from_slice(self.encoder.clustered_key());
        self.payload.clear();
        pack(&mut self.payload, 0, self.off_page.record(self.encoder.clustered()));
        self.entries.push(0, &self.key, &self.payload);
        for index in 0..self.stage.binding.secondaries.len() {
            let (index_key, payload) = self.encoder.secondary(index);
            self.key.truncate(prefix.len());
            self.key.extend_from_slice(index_key);
            self.entries.push(1 + index, &self.key, payload);
        }
        self.partition_rows[partition] += 1;
    }

    /// Counts a row that was put where it belongs.
    #[inline]
    fn kept(&mut self, ordinal: u64, record_bytes: usize) -> Result<(), Stop> {
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
        self.entries.relieve()
    }

    /// Numbers the pages built so far and writes them; at the end of a chunk, lets the next pass.
    fn hand_over(&mut self, ordinal: u64, last: bool) -> Result<(), Stop> {
        let mut turn = self.stage.commit.wait(ordinal)?;
        let state = turn.state();
        let tally = self.stage.reading.tally();
        tally.done(self.accepted + self.rejects.len() as u64);
        if last {
            tally.done(self.left_out.count());
            tally.end_chunk();
        }
        take_rejects(state, &mut self.rejects)?;
        state.rows += self.accepted;
        if let Some(digest) = &mut self.digest {
            digest.take(self.off_page.digest());
            state.digest.take(digest);
        }
        for (all, own) in state.partition_rows.iter_mut().zip(&mut self.partition_rows) {
            *all += std::mem::take(own);
        }
        self.stage.reading.set_rows(state.rows);
        self.accepted = 0;
        let mut appended = None;
        if let (Some(builder), false) = (&mut state.builder, self.batch.is_empty()) {
            if !state.last_key.is_empty() && !self.first_key.is_empty() {
                check_order(&state.last_key, &self.first_key)?;
            }
            state.last_key.clone_from(&self.last_key);
            state.keys.take(0, &mut self.tapped)?;
            appended = Some(self.stage.sinks[0].number(0, builder, &mut self.batch, last)?);
        }
        self.first_key.clear();
        if last {
            turn.pass();
        } else {
            drop(turn);
        }
        if let Some(appended) = appended {
            self.stage.sinks[0].write(appended)?;
        }
        Ok(())
    }

    /// Takes down a row that cannot be loaded.
    #[cold]
    fn reject<R: Row>(&mut self, chunk: &Chunk, row: R, fault: &RowFault) -> Result<(), Stop> {
        let binding = self.stage.binding;
        if self.stage.may_be_duplicates() && fault.is_generated(binding) {
            // Rows that are skipped give their numbers back: there may be enough.
            return Err(Stop::duplicate(0, &[]));
        }
        let position = self.places.find(chunk, self.stage.files, row.start());
        let column = fault.column.map(|column| &binding.columns[column].column);
        let mut reject = Reject::new(fault, row, column, position);
        if fault.is_unordered() {
            return Err(Error::NoOrder(Box::new(reject.row)).into());
        }
        reject.also = Also::all(binding, fault, row);
        self.rejects.push(reject);
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

impl Sink for Worker<'_, '_> {
    /// Carries a chunk through.
    fn take<R: Rows>(&mut self, chunk: &Chunk, rows: R) -> Result<(), Stop> {
        self.places = PositionCursor::of(chunk);
        let stage = self.stage;
        if let Some(gate) = &stage.gate {
            gate.take(chunk, rows.len(), &mut self.left_out)?;
        }
        let (encoder, off_page) = (&mut self.encoder, &mut self.off_page);
        let is_good = |row: R::Row, numbers| {
            let is_encoded = encoder.encode(row, numbers).is_ok();
            Ok(is_encoded && off_page.would_fit(encoder.clustered())?)
        };
        let left_out = self.left_out.without_numbers(stage.on_duplicate);
        self.numbering.take(chunk.ordinal, rows, left_out, is_good)?;
        match self.rows(chunk, rows).and_then(|()| self.log_left_out(chunk, rows)) {
            Ok(()) => self.hand_over(chunk.ordinal, true),
            Err(error) => {
                // Whatever comes first in the input is what is reported.
                let mut turn = stage.commit.wait(chunk.ordinal)?;
                take_rejects(turn.state(), &mut self.rejects)?;
                Err(error)
            }
        }
    }

    fn hand_on(&mut self) -> Result<(), Stop> {
        self.entries.sort()
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
