//! One reading of the input for the unique keys of its rows, and nothing else.
//!
//! Rows are encoded in full, because one that is refused for its values takes part in no conflict.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use encode::binding::Binding;
use encode::encoder::{Encoder, RowNumbers};
use encode::entries::Entries;
use encode::explicit::Explicit;
use encode::left_out::LeftOut;
use encode::long_records::LongRecords;
use encode::numbering::Numbering;
use encode::reading::{Reading, Sink};
use encode::sequence::Sequence;
use innodb::blob::{OffPage, needs_off_page};
use innodb::template::Template;
use job::error::Error;
use job::failpoint;
use job::memory::Memory;
use job::options::OnDuplicate;
use job::position::PositionCursor;
use job::stop::Stop;
use sort::{EntryShape, RunStore};
use sources::{Chunk, Row, Rows};

use crate::duplicates::gate::RowGate;
use crate::duplicates::row_position::Place;
use crate::unique_part::UniquePart;

/// Rows after which a worker looks at how much it holds.
const ROWS_PER_LOOK: usize = 64;

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
        let is_unique = |&index: &usize| match binding.secondary(index) {
            None => !binding.clustered.has_row_id,
            Some(secondary) => secondary.unique_fields > 0,
        };
        let indexes = (0..=binding.secondaries.len()).filter(is_unique);
        let indexes = indexes.map(|index| {
            let part = UniquePart::of(binding, index);
            let key_len = match index {
                0 => binding.clustered.key_is_data,
                _ => part.fixed_len(),
            };
            let key_len = key_len.map(|len| len + Place::BYTES);
            let shape = EntryShape { key_len, tail_len: Place::BYTES, payload: false };
            UniqueIndex { index, part, shape }
        });
        indexes.collect()
    }
}

impl UniqueIndex {
    /// True if its keys have a part of this column.
    pub(crate) fn has(&self, binding: &Binding, column: usize) -> bool {
        let is_part = |field| binding.column_of_clustered_field(field) == Some(column);
        binding.unique_fields(self.index).any(is_part)
    }
}

/// State shared by the workers.
pub(crate) struct CollectStage<'a, 'l> {
    pub(crate) binding: &'a Binding,
    pub(crate) template: &'a Template,
    pub(crate) memory: &'a Memory,
    pub(crate) reading: Reading<'a>,
    /// For chunks that are one record, too long for a worker's share.
    pub(crate) large: LongRecords,
    pub(crate) gate: RowGate<'l>,
    pub(crate) on_duplicate: OnDuplicate,
    pub(crate) sequence: Sequence,
    /// True if a 0 in the AUTO_INCREMENT column is a value.
    pub(crate) zero_is_value: bool,
    pub(crate) indexes: &'a [UniqueIndex],
    /// One a unique index.
    pub(crate) stores: &'a [RunStore],
    pub(crate) next_run: AtomicU64,
    /// True if a generated number exceeded its column.
    pub(crate) ran_out: AtomicBool,
}

impl CollectStage<'_, '_> {
    /// Runs one worker to the end of the input.
    pub(crate) fn work(&self) -> Result<(), Stop> {
        failpoint::hit("thread.collect");
        self.reading.work(&self.large, self.stores, || Ok(Worker::new(self)))
    }

    /// Lets no worker begin or wait any more.
    pub(crate) fn close(&self) {
        self.reading.close();
        self.gate.close();
        self.sequence.close();
    }
}

struct Worker<'a, 'l> {
    stage: &'a CollectStage<'a, 'l>,
    encoder: Encoder<'a>,
    mover: OffPage,
    left_out: LeftOut,
    numbering: Numbering<'a>,
    entries: Entries<'a>,
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
            left_out: LeftOut::default(),
            numbering: Numbering::new(
                &stage.sequence,
                Explicit::new(stage.binding, stage.zero_is_value),
            ),
            entries: Entries::new(
                stage.indexes.iter().map(|index| index.shape),
                stage.stores,
                &stage.next_run,
                stage.memory.entry_bytes,
            ),
            entry: Vec::new(),
            stage,
        }
    }

    fn push(&mut self, place: Place) {
        for (at, unique) in self.stage.indexes.iter().enumerate() {
            let (key, payload) = self.encoder.entry(unique.index);
            let key = unique.part.cut(key, payload);
            if !key.is_empty() {
                self.entry.clear();
                self.entry.extend_from_slice(key);
                self.entry.extend_from_slice(&place.to_bytes());
                self.entries.push(at, &self.entry, &[]);
            }
        }
    }
}

impl Sink for Worker<'_, '_> {
    fn take<R: Rows>(&mut self, chunk: &Chunk, rows: R) -> Result<(), Stop> {
        let stage = self.stage;
        let first_row = stage.gate.take(chunk, rows.len(), &mut self.left_out)?;
        let (encoder, mover) = (&mut self.encoder, &mut self.mover);
        let left_out = self.left_out.without_numbers(stage.on_duplicate);
        self.numbering.take(chunk.ordinal, rows, left_out, |row, numbers| {
            encode(stage, encoder, mover, row, numbers)
        })?;
        let mut places = PositionCursor::of(chunk);
        for (index, row) in rows.iter().enumerate() {
            let (line, _) = places.advance(chunk, row.start());
            let numbers = self.numbering.of(index);
            if encode(stage, &mut self.encoder, &mut self.mover, row, numbers)? {
                self.push(Place::new(chunk.file, first_row + index as u64, line));
            }
            if index % ROWS_PER_LOOK == 0 {
                self.entries.relieve()?;
            }
        }
        stage.reading.add_rows(rows.len() as u64);
        self.entries.relieve()
    }

    fn hand_on(&mut self) -> Result<(), Stop> {
        self.entries.sort()
    }
}

/// Encodes a row; whether it is one that is loaded if no other has its keys.
fn encode<R: Row>(
    stage: &CollectStage<'_, '_>,
    encoder: &mut Encoder<'_>,
    mover: &mut OffPage,
    row: R,
    numbers: RowNumbers,
) -> Result<bool, Stop> {
    if let Err(fault) = encoder.encode(row, numbers) {
        if fault.is_generated(stage.binding) {
            stage.ran_out.store(true, Ordering::Relaxed);
        }
        return Ok(false);
    }
    let record = encoder.clustered();
    if !needs_off_page(record.finish().bytes.len()) {
        return Ok(true);
    }
    match mover.plan(record) {
        Ok(_) => Ok(true),
        Err(innodb::error::Error::RecordTooLarge { .. }) => Ok(false),
        Err(error) => Err(Error::from(error).into()),
    }
}
