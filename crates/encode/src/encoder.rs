//! One row at a time: fields to the clustered record, its key, and the secondary entries.
//!
//! Nothing here allocates once the buffers are warm. A record is assembled once,
//! in its final bytes; keys of fixed-width columns are its bytes as they stand.

use innodb::record::{RecordWriter, SystemColumn};
use sources::{Row, Rows};
use values::{Converter, Reason, Value};

use crate::binding::{Binding, Entry, SecondaryBinding, Step, system_bytes};
use crate::block::{Block, Source};
use crate::column_source::Input;
use crate::entry::pack;
use crate::fault::{FaultKind, RowFault};
use crate::field;

pub use crate::block::BLOCK_ROWS;

/// Numbers that a row gets from its place in the input.
#[derive(Clone, Copy, Debug, Default)]
pub struct RowNumbers {
    /// Value of the AUTO_INCREMENT column.
    pub auto_increment: AutoValue,
    /// Hidden row id, for tables without a key.
    pub row_id: u64,
}

/// Where a row's AUTO_INCREMENT value comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AutoValue {
    /// The input.
    #[default]
    Given,
    /// The counter.
    Generated(u64),
    /// The counter, which has none left.
    Exhausted,
    /// The input, but it is none that the server can count.
    Uncountable,
}

/// Encodes rows for one worker.
#[derive(Debug)]
pub struct Encoder<'a> {
    binding: &'a Binding,
    ops: Vec<Op>,
    /// The same for rows that are in the block.
    block_sources: Vec<Source>,
    block: Block,
    converters: Vec<Converter>,
    clustered: RecordWriter,
    secondaries: Vec<SecondaryEncoder>,
    key: Vec<u8>,
    partition: usize,
    scratch: Vec<u8>,
    aside: Vec<Aside>,
}

/// A [`Step`] as the loop over a row wants it: what nearly all fields are, or anything else.
#[derive(Clone, Copy, Debug)]
enum Op {
    /// Convert a field of the line.
    Field { column: u32, field: u32, nullable: bool },
    /// DB_TRX_ID or DB_ROLL_PTR.
    System(SystemColumn),
    /// Whatever the step says.
    Other(Step),
}

impl Op {
    fn of(binding: &Binding, step: Step) -> Op {
        match step {
            Step::Convert(column) => match binding.columns[column].input {
                Input::Field(field) => Op::Field {
                    column: column as u32,
                    field: field as u32,
                    nullable: binding.columns[column].column.nullable,
                },
                _ => Op::Other(step),
            },
            Step::System(system) => Op::System(system),
            _ => Op::Other(step),
        }
    }
}

/// The runs of at most eight bytes of the clustered record that make the keys of an index; none where
/// keys are not made of such.
fn copies(binding: &Binding, index: &SecondaryBinding) -> Vec<(usize, usize)> {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    let mut next = None;
    for field in &index.fields {
        let at = field.clustered_field;
        let shape = &binding.clustered.shape.fields[at];
        let bytes = shape.fixed_len as usize;
        let is_plain = index.entry == Entry::KeyIsData && field.cut.is_none() && !shape.nullable;
        if !is_plain || !(1..=8).contains(&bytes) {
            return Vec::new();
        }
        match runs.last_mut() {
            Some((_, run)) if next == Some(at) && *run + bytes <= 8 => *run += bytes,
            _ => runs.push((at, bytes)),
        }
        next = Some(at + 1);
    }
    runs
}

/// A value converted before its turn, because a prefix of it comes first.
#[derive(Debug)]
struct Aside {
    column: usize,
    stored: Vec<u8>,
    is_null: bool,
}

#[derive(Debug)]
struct SecondaryEncoder {
    /// Where the key is nothing but short runs of the clustered record: the field that each starts with,
    /// and its bytes.
    copies: Vec<(usize, usize)>,
    writer: RecordWriter,
    key: Vec<u8>,
    /// Bytes behind the key.
    room: usize,
    payload: Vec<u8>,
}

/// Bytes behind a key that is copied together, for what is copied too much.
const KEY_ROOM: usize = 8;

impl<'a> Encoder<'a> {
    /// For rows bound as `binding` says.
    pub fn new(binding: &'a Binding) -> Encoder<'a> {
        let aside = |&column: &usize| Aside { column, stored: Vec::new(), is_null: false };
        let (block, block_sources) = Block::new(binding);
        Encoder {
            converters: binding.columns.iter().map(|column| column.converter.clone()).collect(),
            clustered: RecordWriter::new(&binding.clustered.shape),
            secondaries: binding
                .secondaries
                .iter()
                .map(|index| SecondaryEncoder::new(binding, index))
                .collect(),
            key: Vec::new(),
            partition: 0,
            scratch: Vec::new(),
            aside: binding.clustered.aside.iter().map(aside).collect(),
            ops: binding.clustered.steps.iter().map(|step| Op::of(binding, *step)).collect(),
            block_sources,
            block,
            binding,
        }
    }

    /// Converts what can be converted together of the rows from `first` on, for
    /// [`Encoder::encode_at`]. They are those of a chunk until the next call.
    pub fn begin_block<R: Rows>(&mut self, rows: R, first: usize) {
        self.block.take(self.binding, &mut self.converters, rows, first);
    }

    /// As [`Encoder::encode`], of row `index` of the chunk that [`Encoder::begin_block`] has seen.
    #[inline]
    pub fn encode_at<R: Rows>(
        &mut self,
        rows: R,
        index: usize,
        numbers: RowNumbers,
    ) -> Result<(), RowFault> {
        let Some(place) = self.block.find(index) else {
            return self.encode(rows.row(index), numbers);
        };
        let encoded = self.encode_placed(rows, index, place, numbers);
        let is_checked = cfg!(debug_assertions) && index.is_multiple_of(8) && encoded.is_ok();
        assert!(
            !is_checked || self.is_same(rows.row(index), numbers),
            "both ways give the same record"
        );
        encoded
    }

    /// True if a row has the same result when its fields are converted one by one.
    fn is_same<R: Row>(&mut self, row: R, numbers: RowNumbers) -> bool {
        let keys = |encoder: &Encoder<'_>| -> Vec<Vec<u8>> {
            let entries = (0..=encoder.secondaries.len()).flat_map(|at| {
                let (key, payload) = encoder.entry(at);
                [key.to_vec(), payload.to_vec()]
            });
            entries.collect()
        };
        let (record, before) = (self.clustered.finish().bytes.to_vec(), keys(self));
        let is_encoded = self.encode(row, numbers).is_ok();
        is_encoded && self.clustered.finish().bytes == record && keys(self) == before
    }

    fn encode_placed<R: Rows>(
        &mut self,
        rows: R,
        index: usize,
        place: usize,
        numbers: RowNumbers,
    ) -> Result<(), RowFault> {
        let binding = self.binding;
        if !self.aside.is_empty() {
            self.convert_aside(binding, rows.row(index), numbers)?;
        }
        self.clustered.begin();
        for source in 0..self.block_sources.len() {
            let step = match self.block_sources[source] {
                Source::Part(part) => {
                    let is_counted = numbers.auto_increment != AutoValue::Given;
                    let put = self.block.put(part, place, rows, is_counted, &mut self.clustered);
                    let Err(column) = put else { continue };
                    Step::Convert(column)
                }
                Source::Step(step) => step,
            };
            self.apply(Op::of(binding, step), rows.row(index), numbers)?;
        }
        self.encode_keys()
    }

    /// Encodes a row: clustered record, its key, secondary entries. The other calls speak of this
    /// row until the next.
    pub fn encode<R: Row>(&mut self, row: R, numbers: RowNumbers) -> Result<(), RowFault> {
        let binding = self.binding;
        if !row.has_fields_for(binding.fields_needed, binding.fields_per_row) {
            let fields = binding.columns.iter().map(|column| column.input.field());
            let (needed, expected) = (binding.fields_needed, binding.fields_per_row);
            return Err(RowFault::field_count(row, needed, expected, fields));
        }
        self.convert_aside(binding, row, numbers)?;
        self.clustered.begin();
        for index in 0..self.ops.len() {
            self.apply(self.ops[index], row, numbers)?;
        }
        self.encode_keys()
    }

    #[inline(always)]
    fn apply<R: Row>(&mut self, op: Op, row: R, numbers: RowNumbers) -> Result<(), RowFault> {
        match op {
            Op::Field { column, field, nullable } => {
                self.append_field(row, column as usize, field as usize, nullable)
            }
            Op::System(system) => {
                self.clustered.data().extend_from_slice(system_bytes(system));
                self.clustered.end_field(false, false);
                Ok(())
            }
            Op::Other(step) => self.append(self.binding, step, row, numbers),
        }
    }

    #[inline]
    fn encode_keys(&mut self) -> Result<(), RowFault> {
        let binding = self.binding;
        if let Some(partitions) = &binding.partitions {
            let place = partitions.place(&self.clustered, &mut self.scratch);
            self.partition = place.map_err(RowFault::unplaced)?;
        }
        self.encode_key(binding)?;
        for (encoder, index) in self.secondaries.iter_mut().zip(&binding.secondaries) {
            encoder.encode(binding, index, &self.clustered)?;
        }
        Ok(())
    }

    /// The clustered record, whole: nothing is off page yet.
    pub fn clustered(&self) -> &RecordWriter {
        &self.clustered
    }

    /// The partition that takes the row; 0 of a table without any.
    #[inline]
    pub fn partition(&self) -> usize {
        self.partition
    }

    /// Key of the clustered record: orders rows by memcmp.
    #[inline]
    pub fn clustered_key(&self) -> &[u8] {
        match self.binding.clustered.key_is_data {
            Some(bytes) => {
                let record = self.clustered.finish();
                &record.bytes[record.origin..record.origin + bytes]
            }
            None => &self.key,
        }
    }

    /// Key and payload of the row's entry in secondary index `index`.
    #[inline]
    pub fn secondary(&self, index: usize) -> (&[u8], &[u8]) {
        let encoder = &self.secondaries[index];
        (&encoder.key[..encoder.key.len() - encoder.room], &encoder.payload)
    }

    /// Key and payload of the row's entry in index `index`: 0 is the clustered one, which has no payload.
    #[inline]
    pub fn entry(&self, index: usize) -> (&[u8], &[u8]) {
        match index.checked_sub(1) {
            None => (self.clustered_key(), &[]),
            Some(secondary) => self.secondary(secondary),
        }
    }

    fn convert_aside<R: Row>(
        &mut self,
        binding: &Binding,
        row: R,
        numbers: RowNumbers,
    ) -> Result<(), RowFault> {
        for aside in &mut self.aside {
            aside.stored.clear();
            let converter = &mut self.converters[aside.column];
            aside.is_null = convert(
                binding,
                aside.column,
                converter,
                row,
                numbers,
                &mut self.scratch,
                &mut aside.stored,
            )?;
        }
        Ok(())
    }

    #[inline]
    fn append_field<R: Row>(
        &mut self,
        row: R,
        column: usize,
        field: usize,
        nullable: bool,
    ) -> Result<(), RowFault> {
        let value = row.value(field, &mut self.scratch);
        let on_null = || self.binding.columns[column].on_null.as_deref();
        let (converter, out) = (&mut self.converters[column], self.clustered.data());
        let is_null = field::store(value, converter, nullable, on_null, out)
            .map_err(|kind| RowFault { field: Some(field), column: Some(column), kind })?;
        self.clustered.end_field(is_null, false);
        Ok(())
    }

    #[cold]
    fn append<R: Row>(
        &mut self,
        binding: &Binding,
        step: Step,
        row: R,
        numbers: RowNumbers,
    ) -> Result<(), RowFault> {
        let out = self.clustered.data();
        let is_null = match step {
            Step::Convert(column) => convert(
                binding,
                column,
                &mut self.converters[column],
                row,
                numbers,
                &mut self.scratch,
                out,
            )?,
            Step::System(system) => {
                out.extend_from_slice(system_bytes(system));
                false
            }
            Step::RowId => {
                out.extend_from_slice(&numbers.row_id.to_be_bytes()[2..]);
                false
            }
            Step::Prefix(column, cut) => {
                let aside = find_aside(&self.aside, column);
                out.extend_from_slice(cut.of(&aside.stored));
                aside.is_null
            }
            Step::Copy(column) => {
                let aside = find_aside(&self.aside, column);
                out.extend_from_slice(&aside.stored);
                aside.is_null
            }
        };
        self.clustered.end_field(is_null, false);
        Ok(())
    }

    fn encode_key(&mut self, binding: &Binding) -> Result<(), RowFault> {
        if binding.clustered.key_is_data.is_some() {
            return Ok(());
        }
        self.key.clear();
        for (field, part) in binding.clustered.key.iter().enumerate() {
            part.push(self.clustered.field(field), &mut self.key)
                .map_err(|reason| binding.fault(field, reason))?;
        }
        Ok(())
    }
}

impl SecondaryEncoder {
    fn new(binding: &Binding, index: &SecondaryBinding) -> SecondaryEncoder {
        let copies = copies(binding, index);
        let key_bytes: usize = copies.iter().map(|(_, bytes)| bytes).sum();
        let room = if copies.is_empty() { 0 } else { KEY_ROOM };
        SecondaryEncoder {
            copies,
            writer: RecordWriter::new(&index.shape),
            key: vec![0; key_bytes + room],
            room,
            payload: Vec::new(),
        }
    }

    /// Takes key and record of the entry from the fields of the clustered record.
    #[inline]
    fn encode(
        &mut self,
        table: &Binding,
        index: &SecondaryBinding,
        clustered: &RecordWriter,
    ) -> Result<(), RowFault> {
        if !self.copies.is_empty() {
            // Eight bytes always: the next ones go over what is too much, and the last room takes the rest.
            let mut at = 0;
            for &(field, bytes) in &self.copies {
                self.key[at..at + 8].copy_from_slice(&clustered.eight_from(field));
                at += bytes;
            }
            return Ok(());
        }
        self.key.clear();
        let with_record = index.entry == Entry::WithRecord;
        if with_record {
            self.writer.begin();
        }
        let mut unique_len = 0;
        let mut has_null = false;
        for (position, (field, part)) in index.fields.iter().zip(&index.key).enumerate() {
            let whole = clustered.field(field.clustered_field);
            let stored = match field.cut {
                Some(cut) => whole.map(|value| cut.of(value)),
                None => whole,
            };
            part.push(stored, &mut self.key)
                .map_err(|reason| table.fault(field.clustered_field, reason))?;
            has_null |= stored.is_none();
            if position + 1 == index.unique_fields && !has_null {
                unique_len = self.key.len();
            }
            if with_record {
                self.writer.data().extend_from_slice(stored.unwrap_or_default());
                self.writer.end_field(stored.is_none(), false);
            }
        }
        if with_record {
            self.payload.clear();
            pack(&mut self.payload, unique_len, self.writer.finish());
        }
        Ok(())
    }
}

fn find_aside(aside: &[Aside], column: usize) -> &Aside {
    // The binding lists every column that a Prefix or Copy step names.
    aside
        .iter()
        .find(|value| value.column == column)
        .unwrap_or_else(|| unreachable!("column {column} is not aside"))
}

/// Appends the stored form of a column to `out`; whether it is NULL.
#[inline]
fn convert<R: Row>(
    binding: &Binding,
    column: usize,
    converter: &mut Converter,
    row: R,
    numbers: RowNumbers,
    scratch: &mut Vec<u8>,
    out: &mut Vec<u8>,
) -> Result<bool, RowFault> {
    let bound = &binding.columns[column];
    let fault = |field, kind| RowFault { field, column: Some(column), kind };
    let field = match &bound.input {
        Input::Field(field) => *field,
        Input::Constant(Some(stored)) => {
            out.extend_from_slice(stored);
            return Ok(false);
        }
        Input::Constant(None) => return Ok(true),
        Input::AutoIncrement(given) => match (numbers.auto_increment, given) {
            (AutoValue::Given, Some(field)) => *field,
            (AutoValue::Generated(number), _) => {
                let stored = converter.convert_value(Value::Unsigned(number), out);
                return stored.map(|_| false).map_err(|_| fault(None, FaultKind::NoNumber));
            }
            (AutoValue::Uncountable, field) => return Err(fault(*field, FaultKind::NoNumber)),
            _ => return Err(fault(None, FaultKind::NoNumber)),
        },
    };
    let (nullable, on_null) = (bound.column.nullable, || bound.on_null.as_deref());
    field::store(row.value(field, scratch), converter, nullable, on_null, out)
        .map_err(|kind| fault(Some(field), kind))
}

impl Binding {
    fn fault(&self, clustered_field: usize, reason: Reason) -> RowFault {
        let column = self.column_of_clustered_field(clustered_field);
        RowFault { field: None, column, kind: FaultKind::Value(reason) }
    }
}
