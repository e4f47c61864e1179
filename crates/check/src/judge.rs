//! Every fault of one row, by the converters that loads use.

use encode::binding::BoundColumn;
use encode::column_source::Input;
use encode::fault::RowFault;
use encode::field;
use sources::Row;
use values::{Converter, Value};

use crate::partitions::{Partitions, Placer};

/// The rules for rows.
#[derive(Clone, Debug)]
pub(crate) struct Rules {
    /// Columns whose values the input gives.
    pub(crate) columns: Vec<BoundColumn>,
    /// Fields of a whole line, and those that it must have.
    pub(crate) fields_per_row: usize,
    pub(crate) fields_needed: usize,
    /// Which partition takes a row, of a table that has any and where that is known.
    pub(crate) partitions: Option<Partitions>,
}

/// Judges rows, for one worker.
#[derive(Debug)]
pub(crate) struct Judge<'a> {
    rules: &'a Rules,
    converters: Vec<Converter>,
    placer: Option<Placer<'a>>,
    stored: Vec<u8>,
    scratch: Vec<u8>,
}

impl<'a> Judge<'a> {
    pub(crate) fn new(rules: &'a Rules) -> Judge<'a> {
        let converters = rules.columns.iter().map(|bound| bound.converter.clone());
        let partitions = rules.partitions.as_ref();
        Judge {
            converters: converters.collect(),
            placer: partitions.map(Placer::new),
            rules,
            stored: Vec::new(),
            scratch: Vec::new(),
        }
    }

    /// Rows so far of which it is not known whether a partition takes them; counted anew from here.
    pub(crate) fn take_unplaced(&mut self) -> u64 {
        self.placer.as_mut().map_or(0, |placer| std::mem::take(&mut placer.unknown))
    }

    /// Reports each fault of a row, in the order of the table's columns. A line with too few or too
    /// many fields has that fault alone: its fields belong to no columns. A row without a partition
    /// is reported last.
    #[inline]
    pub(crate) fn judge<R: Row>(&mut self, row: R, mut told: impl FnMut(RowFault)) {
        let Rules { columns, fields_per_row, fields_needed, .. } = self.rules;
        if !row.has_fields_for(*fields_needed, *fields_per_row) {
            let fields = columns.iter().map(|bound| bound.input.field());
            let (needed, expected) = (*fields_needed, *fields_per_row);
            return told(RowFault::field_count(row, needed, expected, fields));
        }
        for (at, (bound, converter)) in columns.iter().zip(&mut self.converters).enumerate() {
            let Some(field) = bound.input.field() else { continue };
            self.stored.clear();
            let value = field::value(row, Some(field), &mut self.scratch);
            let is_numbered = matches!(bound.input, Input::AutoIncrement(_));
            if is_numbered && value == Value::Null {
                continue;
            }
            let on_null = || bound.on_null.as_deref();
            let nullable = bound.column.nullable;
            if let Err(kind) = field::store(value, converter, nullable, on_null, &mut self.stored) {
                told(RowFault { field: Some(field), column: Some(at), kind });
            }
        }
        if let Some(fault) = self.placer.as_mut().and_then(|placer| placer.fault(row)) {
            told(fault);
        }
    }
}
