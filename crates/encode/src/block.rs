//! Many rows of a table, converted column by column.
//!
//! Most fields of most tables are whole numbers, decimals, dates and texts that are stored as they stand.
//! One after the other of one column they are converted in a loop that knows what it converts; the
//! record of a row is then put together from parts: runs of fields that are always as long, copied at
//! once, numbers that may be NULL, and places of texts. A row with a field in a run that is not in its
//! usual form is left to the encoder, which takes any, or says why not.

mod number;
mod rows;
mod run;
mod text;

use innodb::record::{FieldShape, RecordWriter, SystemColumn};
use sources::{EvenRows, Rows};
use values::Converter;

use crate::binding::{Binding, Step, system_bytes};
use crate::column_source::Input;
use number::NumberColumn;
use rows::BlockRows;
use run::{Content, Run};
use text::TextColumn;

/// Rows that are converted at once: their columns stay in the fastest caches.
pub const BLOCK_ROWS: usize = EvenRows::ROWS_MAX;

/// Bytes of a row in all runs together: columns beyond go field by field.
const RUN_BYTES_MAX: usize = 1024;

/// Rows of a chunk, from `first` on, converted as far as that is done for many at once.
#[derive(Debug)]
pub(crate) struct Block {
    parts: Vec<Part>,
    first: usize,
    /// A bit for each row: whether its parts are there.
    is_ready: u64,
    looks_at_bytes: bool,
    scratch: [Vec<u8>; 2],
}

/// Consecutive fields of the clustered record.
#[derive(Debug)]
enum Part {
    Run(Run),
    Number(NumberColumn),
    Text(TextColumn),
}

/// The source of a field of the clustered record, for a row in the block.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Source {
    /// This part of the block, together with the fields behind it that are not listed.
    Part(usize),
    /// A step for each row alone.
    Step(Step),
}

/// How a field can be part of a block.
enum Kind {
    Run(Content),
    Number(NumberColumn),
    Text(TextColumn),
}

impl Block {
    /// For rows bound as `binding` says; with it what the clustered record is made of.
    pub(crate) fn new(binding: &Binding) -> (Block, Vec<Source>) {
        let mut parts: Vec<Part> = Vec::new();
        let mut sources = Vec::new();
        let mut run_bytes = 0;
        let mut is_open = false;
        for (shape, &step) in binding.clustered.shape.fields.iter().zip(&binding.clustered.steps) {
            let width = shape.fixed_len as usize;
            let kind = Kind::of(binding, step, shape);
            let has_room = run_bytes + width <= RUN_BYTES_MAX;
            let was_open = std::mem::replace(&mut is_open, false);
            let part = match (kind, parts.last_mut()) {
                (Some(Kind::Run(from)), Some(Part::Run(run))) if was_open && has_room => {
                    run.push(from, width);
                    run_bytes += width;
                    is_open = true;
                    continue;
                }
                (Some(Kind::Run(from)), _) if has_room => {
                    let mut run = Run::new();
                    run.push(from, width);
                    run_bytes += width;
                    is_open = true;
                    Part::Run(run)
                }
                (None | Some(Kind::Run(_)), _) => {
                    sources.push(Source::Step(step));
                    continue;
                }
                (Some(Kind::Number(column)), _) => Part::Number(column),
                (Some(Kind::Text(column)), _) => Part::Text(column),
            };
            sources.push(Source::Part(parts.len()));
            parts.push(part);
        }
        let looks_at_bytes = parts.iter().any(|part| match part {
            Part::Run(run) => run.looks_at_bytes(),
            Part::Number(_) => false,
            Part::Text(column) => column.looks_at_bytes(),
        });
        let scratch = Default::default();
        (Block { parts, first: 0, is_ready: 0, looks_at_bytes, scratch }, sources)
    }

    /// Converts rows from `first` on.
    pub(crate) fn take<R: Rows>(
        &mut self,
        binding: &Binding,
        converters: &mut [Converter],
        rows: R,
        first: usize,
    ) {
        self.first = first;
        if self.parts.is_empty() {
            return;
        }
        let (rows, are_right) = BlockRows::new(binding, rows, first);
        self.is_ready = are_right;
        let is_ascii = self.looks_at_bytes && rows.are_ascii();
        for part in &mut self.parts {
            match part {
                Part::Run(run) => {
                    self.is_ready &= !run.take(rows, converters, is_ascii, &mut self.scratch);
                }
                Part::Number(column) => {
                    column.take(rows, &converters[column.column], &mut self.scratch[0]);
                }
                Part::Text(column) => column.take(rows, is_ascii),
            }
            if self.is_ready == 0 {
                return;
            }
        }
    }

    /// Which of the rows it is that the chunk's row `index` is, if its runs are all there.
    #[inline]
    pub(crate) fn find(&self, index: usize) -> Option<usize> {
        let row = index.wrapping_sub(self.first);
        (row < BLOCK_ROWS && self.is_ready >> row & 1 == 1).then_some(row)
    }

    /// Puts the fields of a part into a row's record; `is_counted` says that an AUTO_INCREMENT value is not the
    /// input's. Or gives the column whose value is not here.
    #[inline]
    pub(crate) fn put<R: Rows>(
        &self,
        part: usize,
        row: usize,
        rows: R,
        is_counted: bool,
        record: &mut RecordWriter,
    ) -> Result<(), usize> {
        match &self.parts[part] {
            Part::Run(run) => record.put_run(run.bytes(row), run.fields()),
            Part::Number(column) => {
                record.put_number(column.value(row, is_counted).ok_or(column.column)?);
            }
            Part::Text(column) => {
                let (start, len) = column.place(row).ok_or(column.column)?;
                let (least, pad) = column.pad();
                record.put_text(&rows.bytes_of(column.field)[start..], len, least, pad);
            }
        }
        Ok(())
    }
}

impl Kind {
    fn of(binding: &Binding, step: Step, shape: &FieldShape) -> Option<Kind> {
        let column = match step {
            Step::System(SystemColumn::TrxId | SystemColumn::RollPtr) => {
                return constant(step).map(|number| Kind::Run(Content::Constant(number)));
            }
            Step::Convert(column) => column,
            _ => return None,
        };
        let bound = &binding.columns[column];
        let (field, may_count) = match bound.input {
            Input::Field(field) => (field, false),
            Input::AutoIncrement(Some(field)) => (field, true),
            _ => return None,
        };
        let width = shape.fixed_len as usize;
        if bound.converter.narrow_bytes() == Some(width) {
            let may_lack = shape.nullable || may_count;
            return Some(match may_lack {
                true => Kind::Number(NumberColumn::new(column, field, shape.nullable, may_count)),
                false => Kind::Run(Content::Number { column, field }),
            });
        }
        let plain = bound.converter.plain_text().filter(|_| !may_count)?;
        if width == 0 {
            return Some(Kind::Text(TextColumn::new(column, field, plain)));
        }
        let is_run = !shape.nullable && width == plain.padded_bytes && width <= plain.bytes_max;
        is_run.then_some(Kind::Run(Content::Text { column, field, plain }))
    }
}

/// The constant bytes of a system column, as the first bytes of a big-endian number.
fn constant(step: Step) -> Option<u64> {
    let Step::System(system) = step else { return None };
    let bytes = system_bytes(system);
    let mut number = [0; 8];
    number.get_mut(..bytes.len())?.copy_from_slice(bytes);
    Some(u64::from_be_bytes(number))
}
