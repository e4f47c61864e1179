//! Rows to text: a chunk becomes a portion.
//!
//! Every field is converted as the direct path does, for the verdict alone; what is written is the
//! field's own text. Nothing allocates per row once the buffers are warm.

use std::path::PathBuf;

use encode::encoder::{AutoValue, Line, decimal};
use encode::explicit::{Explicit, Given};
use encode::fault::{FaultKind, RowFault};
use encode::input;
use encode::left_out::LeftOut;
use encode::sequence::{ChunkNumbers, Sequence};
use job::error::Error;
use job::position::Places;
use job::stop::Stop;
use sources::{Chunk, Rows, Scanner, Value};
use values::Converter;

use crate::columns::{Columns, OnNull, Origin, SentColumn};
use crate::portion::{Form, Portion, PortionRow};
use crate::sender::parameters;
use crate::text::{Literals, SEPARATOR, TERMINATOR, push_field};

/// What all encoders of a load share.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shared<'a> {
    pub(crate) columns: &'a Columns,
    /// Made of the dialect that knows the table.
    pub(crate) scanner: &'a Scanner,
    /// The input's files, by their number.
    pub(crate) files: &'a [PathBuf],
    /// Refused rows that are tolerated: with one more, the rest of a portion is not looked at.
    pub(crate) rejects_max: u64,
    /// Counts AUTO_INCREMENT values; without it the server does.
    pub(crate) numbers: Option<&'a Numbers>,
}

/// AUTO_INCREMENT values of a load into a table that is empty, as one LOAD DATA would give them.
///
/// A number is taken in the order of chunks and before the server sees the row: chunks must come in
/// input order, and a row that the server then leaves out as a duplicate, or refuses, leaves a gap
/// where LOAD DATA gives its number to the next row.
#[derive(Debug)]
pub(crate) struct Numbers {
    sequence: Sequence,
    zero_is_value: bool,
}

impl Numbers {
    /// None for a table without such a column, or with one that we cannot read.
    pub(crate) fn new(columns: &Columns, series: encode::counter::Series) -> Option<Numbers> {
        let column = &columns.columns[columns.auto_increment?];
        column.converter.as_ref()?;
        Some(Numbers {
            sequence: Sequence::of_column(Some(&column.column), false, series, true),
            zero_is_value: series.zero_is_value,
        })
    }

    /// The table's AUTO_INCREMENT after all rows.
    pub(crate) fn next(&self) -> u64 {
        self.sequence.next_auto_increment()
    }

    /// Turns away whoever waits for numbers, after a failure.
    pub(crate) fn close(&self) {
        self.sequence.close();
    }
}

/// Writes the rows of one lane.
#[derive(Debug)]
pub(crate) struct Encoder<'a> {
    shared: Shared<'a>,
    scanner: Scanner,
    rows: Rows,
    writer: Writer<'a>,
    numbers: ChunkNumbers,
    explicit: Explicit,
    /// The chunk that `rows`, `numbers` and `accepted` are of.
    ordinal: Option<u64>,
    /// Its accepted rows, by their place among all.
    accepted: Vec<u32>,
}

impl<'a> Encoder<'a> {
    pub(crate) fn new(shared: Shared<'a>) -> Encoder<'a> {
        let columns = shared.columns;
        let counted = columns.auto_increment.map(|column| &columns.columns[column]);
        let counted = counted.filter(|_| shared.numbers.is_some());
        let typed =
            |column: &'a SentColumn| Some((&column.column.sql_type, column.converter.as_ref()?));
        Encoder {
            scanner: shared.scanner.clone(),
            rows: Rows::new(),
            writer: Writer::new(columns),
            numbers: ChunkNumbers::new(),
            explicit: Explicit::of_column(
                counted.and_then(typed),
                counted.and_then(|column| column.origin.field()),
                shared.numbers.is_some_and(|numbers| numbers.zero_is_value),
            ),
            ordinal: None,
            accepted: Vec::new(),
            shared,
        }
    }

    /// Overwrites `portion` with the rows of its chunk, in `form`. Where values are counted, waits
    /// for the encoders of the chunks before.
    ///
    /// After one refused row more than is tolerated, the rest of the chunk is left out.
    pub(crate) fn encode(&mut self, portion: &mut Portion, form: Form) -> Result<(), Stop> {
        portion.ordinal = portion.chunk.ordinal;
        self.ordinal = Some(portion.ordinal);
        let mut rows = std::mem::take(&mut self.rows);
        input::scan(&mut self.scanner, &portion.chunk, self.shared.files, &mut rows)?;
        let numbered = self.number(&portion.chunk, &rows);
        if numbered.is_ok() {
            self.write(portion, &rows, form);
        }
        self.rows = rows;
        numbered
    }

    /// Writes the rows of the portion that was encoded last again, in another form: the same rows
    /// with the same numbers.
    pub(crate) fn encode_as(&mut self, portion: &mut Portion, form: Form) -> Result<(), Error> {
        if self.ordinal != Some(portion.ordinal) || self.accepted.len() != portion.rows.len() {
            return Err(Error::Internal("another portion was encoded before".to_owned()));
        }
        let rows = std::mem::take(&mut self.rows);
        portion.form = form;
        portion.text.clear();
        for (at, &index) in portion.rows.iter_mut().zip(&self.accepted) {
            let index = index as usize;
            let line = Line { chunk: &portion.chunk.bytes, rows: &rows, row: rows.row(index) };
            let number = self.number_of(index);
            // It was good before, and is the same.
            let _ = self.writer.row::<false, true>(&line, number, form, &mut portion.text);
            at.end = portion.text.len();
        }
        self.rows = rows;
        Ok(())
    }

    /// Where the rows and fields of the chunk are that was encoded last.
    pub(crate) fn scanned(&self) -> &Rows {
        &self.rows
    }

    fn number_of(&self, row: usize) -> AutoValue {
        match self.shared.numbers {
            Some(_) => self.numbers.of(row).auto_increment,
            None => AutoValue::Given,
        }
    }

    /// Takes the numbers of the chunk's good rows.
    fn number(&mut self, chunk: &Chunk, rows: &Rows) -> Result<(), Stop> {
        let Some(numbers) = self.shared.numbers else { return Ok(()) };
        self.explicit.collect(&chunk.bytes, rows, &mut self.numbers.given);
        let mut nothing = Vec::new();
        for (index, row) in rows.iter().enumerate() {
            let line = Line { chunk: &chunk.bytes, rows, row };
            let number = match self.numbers.given.get(index) {
                Some(Given::Nothing) => AutoValue::Generated(1),
                Some(Given::Overflow) => AutoValue::Uncountable,
                _ => AutoValue::Given,
            };
            if self.writer.row::<true, false>(&line, number, Form::Lines, &mut nothing).is_err() {
                self.numbers.leave_out(index);
            }
        }
        numbers.sequence.take(chunk.ordinal, rows.len(), LeftOut::none(), &mut self.numbers)
    }

    fn write(&mut self, portion: &mut Portion, rows: &Rows, form: Form) {
        let chunk = &portion.chunk;
        let columns = self.shared.columns;
        let mut places = Places::of(chunk);
        portion.form = form;
        portion.text.clear();
        portion.rows.clear();
        portion.rejects.clear();
        self.accepted.clear();
        for (index, row) in rows.iter().enumerate() {
            let line = Line { chunk: &chunk.bytes, rows, row };
            let number = self.number_of(index);
            let before = portion.text.len();
            let written = self.writer.row::<true, true>(&line, number, form, &mut portion.text);
            let (start, end) = row.raw();
            match written {
                Ok(()) => {
                    portion.rows.push(PortionRow { end: portion.text.len(), raw: start..end });
                    self.accepted.push(index as u32);
                }
                Err(fault) => {
                    portion.text.truncate(before);
                    let position = places.find(chunk, self.shared.files, start);
                    let column = fault.column.map(|column| &columns.columns[column].column);
                    portion.rejects.push(fault.reject(&line, column, position));
                    if portion.rejects.len() as u64 > self.shared.rejects_max {
                        return;
                    }
                }
            }
        }
    }
}

/// Checks and writes one row at a time.
#[derive(Debug)]
struct Writer<'a> {
    columns: &'a Columns,
    converters: Vec<Option<Converter>>,
    literals: Literals,
    /// Whether no column is sent.
    is_bare: bool,
    /// The stored form, which nobody wants.
    stored: Vec<u8>,
    scratch: Vec<u8>,
}

impl<'a> Writer<'a> {
    fn new(columns: &'a Columns) -> Writer<'a> {
        Writer {
            columns,
            converters: columns.columns.iter().map(|column| column.converter.clone()).collect(),
            literals: Literals::new(columns.file),
            is_bare: !columns.columns.iter().any(|column| column.is_sent),
            stored: Vec::new(),
            scratch: Vec::new(),
        }
    }

    /// Looks at a row (`CHECK`) and appends it to `out` (`WRITE`). What was appended of a refused
    /// row is to be taken back.
    #[inline]
    fn row<const CHECK: bool, const WRITE: bool>(
        &mut self,
        line: &Line<'_>,
        number: AutoValue,
        form: Form,
        out: &mut Vec<u8>,
    ) -> Result<(), RowFault> {
        let columns = self.columns;
        if CHECK && !line.row.has_fields_for(columns.fields_needed, columns.fields_per_row) {
            let fields = columns.columns.iter().map(|column| column.origin.field());
            let right = (columns.fields_needed, columns.fields_per_row);
            return Err(RowFault::field_count(line.row.field_count(), right, fields));
        }
        if WRITE && form == Form::Tuples {
            out.push(b'(');
        }
        let begin = out.len();
        for index in 0..columns.columns.len() {
            self.column::<CHECK, WRITE>(index, line, number, form, out)?;
        }
        if WRITE {
            // Over the separator after the last column.
            if !self.is_bare && form != Form::Values {
                debug_assert!(out.len() > begin);
                out.pop();
            }
            match form {
                Form::Lines => out.push(TERMINATOR),
                Form::Tuples => out.extend_from_slice(b"),"),
                Form::Values => {}
            }
        }
        Ok(())
    }

    #[inline]
    fn column<const CHECK: bool, const WRITE: bool>(
        &mut self,
        index: usize,
        line: &Line<'_>,
        number: AutoValue,
        form: Form,
        out: &mut Vec<u8>,
    ) -> Result<(), RowFault> {
        let sent = &self.columns.columns[index];
        let mut digits = [0; 20];
        let fault = |field, kind| RowFault { field, column: Some(index), kind };
        let value = match &sent.origin {
            Origin::Field(field) => Some(*field),
            Origin::Constant(text) => {
                if WRITE {
                    self.push(sent, text, form, out);
                }
                return Ok(());
            }
            Origin::AutoIncrement(field) => match number {
                AutoValue::Given => *field,
                AutoValue::Generated(number) => {
                    if WRITE {
                        self.push(sent, decimal(number, &mut digits), form, out);
                    }
                    return Ok(());
                }
                AutoValue::Exhausted => return Err(fault(None, FaultKind::NoNumber)),
                AutoValue::Uncountable => return Err(fault(*field, FaultKind::NoNumber)),
            },
        };
        let mut scratch = std::mem::take(&mut self.scratch);
        let value_of = value.map(|field| line.value(field, &mut scratch));
        let outcome = match value_of {
            Some(Value::Bytes(text)) => {
                let checked = match (&mut self.converters[index], CHECK) {
                    (Some(converter), true) => {
                        self.stored.clear();
                        converter.convert(text, &mut self.stored)
                    }
                    _ => Ok(()),
                };
                if WRITE && checked.is_ok() && sent.is_sent {
                    self.push(sent, text, form, out);
                }
                checked.map_err(|reason| fault(value, FaultKind::Value(reason)))
            }
            None | Some(Value::Null) => {
                if CHECK && sent.on_null == OnNull::Refused && sent.is_sent {
                    Err(fault(value, FaultKind::Null))
                } else {
                    if WRITE && sent.is_sent {
                        self.push_null(sent, form, out);
                    }
                    Ok(())
                }
            }
        };
        self.scratch = scratch;
        outcome
    }

    /// Appends a value and a separator.
    #[inline]
    fn push(&self, sent: &SentColumn, text: &[u8], form: Form, out: &mut Vec<u8>) {
        match form {
            Form::Lines => {
                push_field(text, self.columns.escape, out);
                out.push(SEPARATOR);
            }
            Form::Tuples => {
                self.literals.push(text, sent.literal, out);
                out.push(b',');
            }
            Form::Values => parameters::push(Some(text), out),
        }
    }

    /// Appends what stands for NULL, and a separator.
    fn push_null(&self, sent: &SentColumn, form: Form, out: &mut Vec<u8>) {
        match (&sent.on_null, form) {
            (OnNull::Text(text), _) => self.push(sent, text, form, out),
            (_, Form::Lines) => out.extend_from_slice(&[self.columns.escape, b'N', SEPARATOR]),
            (OnNull::Moment(digits), Form::Tuples) => {
                out.extend_from_slice(b"CURRENT_TIMESTAMP(");
                out.extend_from_slice(&[b'0' + digits, b')', b',']);
            }
            (_, Form::Tuples) => out.extend_from_slice(b"NULL,"),
            (_, Form::Values) => parameters::push(None, out),
        }
    }
}
