//! One row at a time: fields to the clustered record, its key, and the secondary entries.
//!
//! Nothing here allocates once the buffers are warm. A record is assembled once,
//! in its final bytes; keys of fixed-width columns are its bytes as they stand.

use innodb::record::{RecordWriter, SystemColumn, TRX_ID_AND_ROLL_PTR, TRX_ID_BYTES};
use sources::Row;
use values::{Converter, Reason, Value};

use crate::binding::{Binding, Entry, SecondaryBinding, Step};
use crate::column_source::Input;
use crate::entry::pack;
use crate::fault::{FaultKind, RowFault};
use crate::field;

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
    converters: Vec<Converter>,
    clustered: RecordWriter,
    secondaries: Vec<SecondaryEncoder>,
    key: Vec<u8>,
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

/// A value converted before its turn, because a prefix of it comes first.
#[derive(Debug)]
struct Aside {
    column: usize,
    stored: Vec<u8>,
    is_null: bool,
}

#[derive(Debug)]
struct SecondaryEncoder {
    writer: RecordWriter,
    key: Vec<u8>,
    payload: Vec<u8>,
}

impl<'a> Encoder<'a> {
    /// For rows bound as `binding` says.
    pub fn new(binding: &'a Binding) -> Encoder<'a> {
        let aside = |&column: &usize| Aside { column, stored: Vec::new(), is_null: false };
        let secondary = |index: &SecondaryBinding| SecondaryEncoder {
            writer: RecordWriter::new(&index.shape),
            key: Vec::new(),
            payload: Vec::new(),
        };
        Encoder {
            converters: binding.columns.iter().map(|column| column.converter.clone()).collect(),
            clustered: RecordWriter::new(&binding.clustered.shape),
            secondaries: binding.secondaries.iter().map(secondary).collect(),
            key: Vec::new(),
            scratch: Vec::new(),
            aside: binding.clustered.aside.iter().map(aside).collect(),
            ops: binding.clustered.steps.iter().map(|step| Op::of(binding, *step)).collect(),
            binding,
        }
    }

    /// Encodes a row: clustered record, its key, secondary entries. The other calls speak of this
    /// row until the next.
    pub fn encode<R: Row>(&mut self, row: R, numbers: RowNumbers) -> Result<(), RowFault> {
        let binding = self.binding;
        if !row.has_fields_for(binding.fields_needed, binding.fields_per_row) {
            let fields = binding.columns.iter().map(|column| column.input.field());
            let right = (binding.fields_needed, binding.fields_per_row);
            return Err(RowFault::field_count(row.field_count(), right, fields));
        }
        self.convert_aside(binding, row, numbers)?;
        self.clustered.begin();
        for index in 0..self.ops.len() {
            match self.ops[index] {
                Op::Field { column, field, nullable } => {
                    self.append_field(row, column as usize, field as usize, nullable)?;
                }
                Op::System(system) => {
                    self.clustered.data().extend_from_slice(system_bytes(system));
                    self.clustered.end_field(false, false);
                }
                Op::Other(step) => self.append(binding, step, row, numbers)?,
            }
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
        (&encoder.key, &encoder.payload)
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

/// What a system column holds in every record.
fn system_bytes(system: SystemColumn) -> &'static [u8] {
    let (trx_id, roll_ptr) = TRX_ID_AND_ROLL_PTR.split_at(TRX_ID_BYTES);
    match system {
        SystemColumn::TrxId => trx_id,
        SystemColumn::RollPtr => roll_ptr,
        SystemColumn::RowId => &[],
    }
}

impl SecondaryEncoder {
    /// Takes key and record of the entry from the fields of the clustered record.
    #[inline]
    fn encode(
        &mut self,
        table: &Binding,
        index: &SecondaryBinding,
        clustered: &RecordWriter,
    ) -> Result<(), RowFault> {
        let with_record = index.entry == Entry::WithRecord;
        self.key.clear();
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
