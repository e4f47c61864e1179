//! One reading of the input for the unique keys of its rows, and nothing else.
//!
//! Rows are encoded in full, because one that is refused for its values takes part in no conflict.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use encode::binding::Binding;
use encode::encoder::{Encoder, Line};
use encode::explicit::Explicit;
use encode::input;
use encode::left_out::LeftOut;
use encode::long_records::{self, Large, Pass};
use encode::sequence::{ChunkNumbers, Sequence};
use innodb::blob::{OffPage, needs_off_page};
use innodb::template::Template;
use job::error::Error;
use job::memory::Memory;
use job::options::OnDuplicate;
use job::progress::{Progress, Snapshot, Stage};
use job::stop::Stop;
use server::Interrupt;
use sort::{EntryShape, RunStore, SortBuffer};
use sources::{Chunk, Rows, Scanner, Source};

use crate::duplicates::gate::RowGate;
use crate::duplicates::row_position::Place;
use crate::unique_part::UniquePart;

/// Rows after which a worker looks at how much it holds.
const ROWS_PER_LOOK: usize = 64;
/// Bytes that an entry takes in a sort buffer besides its own.
const ENTRY_BYTES: usize = 16;

/// An index no two rows may have an equal key in.
#[derive(Clone, Debug)]
pub(crate) struct UniqueIndex {
    /// 0 is the clustered index, then the secondary ones.
    pub(crate) index: usize,
    part: UniquePart,
    /// Shape of its keys with a place behind each.
    pub(crate) shape: EntryShape,
}

impl UniqueIndex {
    /// All of a table, in order.
    pub(crate) fn of_table(binding: &Binding) -> Vec<UniqueIndex> {
        let new = |index: usize, part: UniquePart, key_len: Option<usize>| UniqueIndex {
            index,
            part,
            shape: EntryShape {
                key_len: key_len.map(|len| len + Place::BYTES),
                tail_len: Place::BYTES,
                payload: false,
            },
        };
        let clustered = (!binding.clustered.has_row_id)
            .then(|| new(0, UniquePart::Whole, binding.clustered.key_is_data));
        let secondaries = binding.secondaries.iter().enumerate();
        let secondaries = secondaries.filter(|(_, index)| index.unique_fields > 0);
        let secondaries = secondaries.map(|(position, index)| {
            let part = UniquePart::of(index);
            let key_len = part.fixed_len();
            new(position + 1, part, key_len)
        });
        clustered.into_iter().chain(secondaries).collect()
    }
}

impl UniqueIndex {
    /// Whether its keys have a part of this column.
    pub(crate) fn has(&self, binding: &Binding, column: usize) -> bool {
        let is_part = |field| binding.column_of_clustered_field(field) == Some(column);
        match self.index.checked_sub(1) {
            None => (0..binding.clustered.shape.key_fields).any(is_part),
            Some(position) => {
                let index = &binding.secondaries[position];
                index.fields[..index.unique_fields].iter().any(|f| is_part(f.clustered_field))
            }
        }
    }
}

/// What the workers share.
pub(crate) struct CollectStage<'a, 'l> {
    pub(crate) binding: &'a Binding,
    pub(crate) template: &'a Template,
    pub(crate) memory: &'a Memory,
    pub(crate) source: &'a Mutex<Box<dyn Source>>,
    /// Its files, by their number.
    pub(crate) files: &'a [PathBuf],
    /// Ends waiting for the source.
    pub(crate) given_up: Arc<AtomicBool>,
    pub(crate) scanner: &'a Scanner,
    /// For chunks that are one record, too long for a worker's share.
    pub(crate) large: Large,
    pub(crate) gate: RowGate<'l>,
    pub(crate) on_duplicate: OnDuplicate,
    pub(crate) sequence: Sequence,
    /// Whether a 0 in the AUTO_INCREMENT column is a value.
    pub(crate) zero_is_value: bool,
    pub(crate) indexes: &'a [UniqueIndex],
    /// One a unique index.
    pub(crate) stores: &'a [RunStore],
    pub(crate) progress: &'a dyn Progress,
    pub(crate) interrupt: &'a Interrupt,
    pub(crate) bytes_total: Option<u64>,
    pub(crate) rows: AtomicU64,
    pub(crate) next_run: AtomicU64,
    /// Whether a generated number was more than its column holds.
    pub(crate) ran_out: AtomicBool,
    pub(crate) stop: AtomicBool,
}

impl CollectStage<'_, '_> {
    /// Runs one worker to the end of the input.
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
        self.gate.close();
        self.sequence.close();
    }

    /// Takes the next chunk, if there is one, with the right to work on it if it is a long record.
    fn next_chunk(&self, chunk: &mut Chunk) -> Result<Option<Option<Pass<'_>>>, Stop> {
        self.interrupt.check()?;
        let mut source = self.source.lock().unwrap_or_else(PoisonError::into_inner);
        let more = source.next_chunk(chunk)?;
        self.progress.update(Snapshot {
            stage: Stage::Duplicates,
            rows: self.rows.load(Ordering::Relaxed),
            done_bytes: source.bytes_read(),
            total_bytes: self.bytes_total,
        });
        // Waited for with the source locked, so that nobody reads another meanwhile.
        Ok(more.then(|| self.large.enter_if_large(chunk.bytes.len())))
    }
}

struct Worker<'a, 'l> {
    stage: &'a CollectStage<'a, 'l>,
    encoder: Encoder<'a>,
    mover: OffPage,
    scanner: Scanner,
    rows: Rows,
    left_out: LeftOut,
    numbers: ChunkNumbers,
    explicit: Explicit,
    buffers: Vec<SortBuffer>,
    entry: Vec<u8>,
}

impl<'a, 'l> Worker<'a, 'l> {
    fn new(stage: &'a CollectStage<'a, 'l>) -> Worker<'a, 'l> {
        let template = stage.template;
        Worker {
            encoder: Encoder::new(stage.binding),
            mover: OffPage::new(
                &template.clustered().shape,
                template.row_format,
                template.space_id,
            ),
            scanner: stage.scanner.clone(),
            rows: Rows::new(),
            left_out: LeftOut::default(),
            numbers: ChunkNumbers::new(),
            explicit: Explicit::new(stage.binding, stage.zero_is_value),
            buffers: stage.indexes.iter().map(|index| SortBuffer::new(index.shape)).collect(),
            entry: Vec::new(),
            stage,
        }
    }

    fn take(&mut self, chunk: &Chunk) -> Result<(), Stop> {
        let stage = self.stage;
        let mut rows = std::mem::take(&mut self.rows);
        input::scan(&mut self.scanner, chunk, self.stage.files, &mut rows)?;
        let first_row = stage.gate.take(chunk, rows.len(), &mut self.left_out)?;
        self.explicit.collect(&chunk.bytes, &rows, &mut self.numbers.given);
        if stage.sequence.is_careful() {
            self.leave_out_refused(chunk, &rows)?;
        }
        let left_out = self.left_out.without_numbers(stage.on_duplicate);
        stage.sequence.take(chunk.ordinal, rows.len(), left_out, &mut self.numbers)?;
        let mut counted = 0;
        let mut line = chunk.first_line;
        for (index, row) in rows.iter().enumerate() {
            let (start, _) = row.raw();
            line += chunk.lines_between(counted, start);
            counted = start;
            if self.encode(&Line { chunk: &chunk.bytes, rows: &rows, row }, index)? {
                self.push(Place::new(chunk.file, first_row + index as u64, line));
            }
            if index % ROWS_PER_LOOK == 0 {
                self.relieve()?;
            }
        }
        stage.rows.fetch_add(rows.len() as u64, Ordering::Relaxed);
        self.rows = rows;
        self.relieve()
    }

    /// Refused rows have no number.
    fn leave_out_refused(&mut self, chunk: &Chunk, rows: &Rows) -> Result<(), Stop> {
        self.numbers.try_on();
        for (index, row) in rows.iter().enumerate() {
            if !self.encode(&Line { chunk: &chunk.bytes, rows, row }, index)? {
                self.numbers.leave_out(index);
            }
        }
        Ok(())
    }

    /// Whether the row is one that is loaded if no other has its keys.
    fn encode(&mut self, line: &Line<'_>, index: usize) -> Result<bool, Stop> {
        let numbers = self.numbers.of(index);
        if let Err(fault) = self.encoder.encode(line, numbers) {
            if fault.is_generated(self.stage.binding) {
                self.stage.ran_out.store(true, Ordering::Relaxed);
            }
            return Ok(false);
        }
        let record = self.encoder.clustered();
        if !needs_off_page(record.finish().bytes.len()) {
            return Ok(true);
        }
        match self.mover.plan(record) {
            Ok(_) => Ok(true),
            Err(innodb::error::Error::RecordTooLarge { .. }) => Ok(false),
            Err(error) => Err(Error::from(error).into()),
        }
    }

    fn push(&mut self, place: Place) {
        for (unique, buffer) in self.stage.indexes.iter().zip(&mut self.buffers) {
            let (key, payload) = match unique.index.checked_sub(1) {
                None => (self.encoder.clustered_key(), &[][..]),
                Some(position) => self.encoder.secondary(position),
            };
            let key = unique.part.cut(key, payload);
            if !key.is_empty() {
                self.entry.clear();
                self.entry.extend_from_slice(key);
                self.entry.extend_from_slice(&place.to_bytes());
                buffer.push(&self.entry, &[]);
            }
        }
    }

    /// Sorts what was collected once it has reached its share of memory.
    fn relieve(&mut self) -> Result<(), Stop> {
        let bytes: usize =
            self.buffers.iter().map(|buffer| buffer.bytes() + ENTRY_BYTES * buffer.len()).sum();
        if bytes > self.stage.memory.entry_bytes { self.sort_buffers() } else { Ok(()) }
    }

    fn sort_buffers(&mut self) -> Result<(), Stop> {
        let run = self.stage.next_run.fetch_add(1, Ordering::Relaxed);
        for (buffer, store) in self.buffers.iter_mut().zip(self.stage.stores) {
            if !buffer.is_empty() {
                store.add(buffer.sort(run))?;
            }
        }
        Ok(())
    }
}
