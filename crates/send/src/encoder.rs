//! Rows to text: a chunk becomes a chunk.
//!
//! Every field is converted as the direct path does, for the verdict alone; what is written is the
//! field's own text. Nothing allocates per row once the buffers are warm.

use std::path::PathBuf;

use encode::encoder::AutoValue;
use encode::explicit::Explicit;
use encode::fault::{FaultKind, RowFault};
use encode::left_out::LeftOut;
use encode::numbering::Numbering;
use encode::rejects::{Also, Reject};
use encode::sequence::Sequence;
use encode::text::{Literals, SEPARATOR, TERMINATOR, push_field};
use job::error::Error;
use job::position::PositionCursor;
use job::stop::Stop;
use sources::{Chunk, Reader, Row, Rows, Visit};
use values::{Converter, Reason, SqlType, Value, Zone};

use crate::columns::{Columns, OnNull, Origin, SentColumn};
use crate::sender::parameters;
use crate::sent_chunk::{Form, SentChunk, SentRow};

/// The byte order mark in UTF-8.
const MARK: &[u8] = b"\xef\xbb\xbf";
/// Rejected rows that are in memory at once: each has its reason, position and bytes.
const REJECTS_HELD_MAX: usize = 1000;

/// State shared by all encoders of a load.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shared<'a> {
    pub(crate) columns: &'a Columns,
    /// The input's files, by their number.
    pub(crate) files: &'a [PathBuf],
    /// Refused rows that are tolerated: with one more, the rest of a chunk is not looked at.
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

/// Writes the rows of one connection.
pub(crate) struct Encoder<'a> {
    shared: Shared<'a>,
    reader: Box<dyn Reader>,
    rows: RowEncoder<'a>,
}

impl<'a> Encoder<'a> {
    /// `reader` is one of the source that chunks come from.
    pub(crate) fn new(shared: Shared<'a>, reader: Box<dyn Reader>) -> Encoder<'a> {
        Encoder { shared, reader, rows: RowEncoder::new(shared) }
    }

    /// Gives back buffers that have grown.
    pub(crate) fn begin_anew(&mut self) {
        self.rows = RowEncoder::new(self.shared);
    }

    /// Overwrites `chunk` with the rows of its chunk, in `form`. Where values are counted, waits
    /// for the encoders of the chunks before.
    ///
    /// After one rejected row more than is tolerated, the rest of the chunk is left out.
    pub(crate) fn encode(&mut self, chunk: &mut SentChunk, form: Form) -> Result<(), Stop> {
        chunk.ordinal = chunk.input.ordinal;
        chunk.form = form;
        self.reader.read(&chunk.input, &mut chunk.batch)?;
        let SentChunk { input: chunk, batch, text, rows, rejected, .. } = chunk;
        let encoder = &mut self.rows;
        batch.visit(chunk, Encoding { encoder, form, chunk, text, rows, rejected })
    }

    /// Writes the rows of the chunk that was encoded last again, in another form: the same rows
    /// with the same numbers.
    pub(crate) fn encode_as(&mut self, chunk: &mut SentChunk, form: Form) -> Result<(), Error> {
        let is_last = self.rows.ordinal == Some(chunk.ordinal);
        if !is_last || self.rows.accepted.len() != chunk.rows.len() {
            return Err(not_last());
        }
        chunk.form = form;
        let SentChunk { input: chunk, batch, text, rows, .. } = chunk;
        let encoder = &mut self.rows;
        batch.visit(chunk, EncodingAgain { encoder, form, text, rows });
        Ok(())
    }

    /// The rejected rows of the chunk that was encoded last, and those that the server refused, with their first
    /// bytes, in input order.
    /// Gives the last ones; `hand_on` gets those before, [`REJECTS_HELD_MAX`] at a time.
    pub(crate) fn rejects(
        &mut self,
        chunk: &SentChunk,
        refused: Vec<(usize, Reject)>,
        hand_on: &mut dyn FnMut(Vec<Reject>) -> Result<(), Stop>,
    ) -> Result<Vec<Reject>, Stop> {
        if chunk.rejected.is_empty() {
            return Ok(refused.into_iter().map(|(_, reject)| reject).collect());
        }
        if self.rows.ordinal != Some(chunk.ordinal) {
            return Err(not_last().into());
        }
        let SentChunk { input, batch, rejected, .. } = chunk;
        let encoder = &mut self.rows;
        batch.visit(input, Rejecting { encoder, chunk: input, rejected, refused, hand_on })
    }
}

fn not_last() -> Error {
    Error::Internal("another chunk of the input was encoded before".to_owned())
}

/// Numbers and writes the rows of one chunk after the other.
#[derive(Debug)]
struct RowEncoder<'a> {
    shared: Shared<'a>,
    writer: Writer<'a>,
    /// None where the server counts.
    numbering: Option<Numbering<'a>>,
    /// The chunk that `numbering` and `accepted` are of.
    ordinal: Option<u64>,
    /// Its accepted rows, by their place among all.
    accepted: Vec<u32>,
}

impl<'a> RowEncoder<'a> {
    fn new(shared: Shared<'a>) -> RowEncoder<'a> {
        let columns = shared.columns;
        let counted = columns.auto_increment.map(|column| &columns.columns[column]);
        let typed =
            |column: &'a SentColumn| Some((&column.column.sql_type, column.converter.as_ref()?));
        let numbering = shared.numbers.map(|numbers| {
            let explicit = Explicit::of_column(
                counted.and_then(typed),
                counted.and_then(|column| column.origin.field()),
                numbers.zero_is_value,
            );
            Numbering::new(&numbers.sequence, explicit)
        });
        RowEncoder {
            writer: Writer::new(columns),
            numbering,
            ordinal: None,
            accepted: Vec::new(),
            shared,
        }
    }

    fn number_of(&self, row: usize) -> AutoValue {
        match &self.numbering {
            Some(numbering) => numbering.of(row).auto_increment,
            None => AutoValue::Given,
        }
    }

    /// Takes the numbers of the chunk's good rows.
    fn number<R: Rows>(&mut self, ordinal: u64, rows: R) -> Result<(), Stop> {
        self.ordinal = Some(ordinal);
        let Some(numbering) = &mut self.numbering else { return Ok(()) };
        let (writer, mut nothing) = (&mut self.writer, Vec::new());
        numbering.take(ordinal, rows, LeftOut::none(), |row, numbers| {
            let number = numbers.auto_increment;
            Ok(writer.row::<R::Row, true, false>(row, number, Form::Lines, &mut nothing).is_ok())
        })
    }
}

/// A chunk being written for the first time.
struct Encoding<'p, 'a> {
    encoder: &'p mut RowEncoder<'a>,
    form: Form,
    chunk: &'p Chunk,
    text: &'p mut Vec<u8>,
    rows: &'p mut Vec<SentRow>,
    rejected: &'p mut Vec<u32>,
}

impl Visit for Encoding<'_, '_> {
    type Output = Result<(), Stop>;

    fn rows<R: Rows>(self, rows: R) -> Result<(), Stop> {
        self.encoder.number(self.chunk.ordinal, rows)?;
        self.write(rows);
        Ok(())
    }
}

impl Encoding<'_, '_> {
    fn write<R: Rows>(self, rows: R) {
        let Encoding { encoder, form, text, rows: written, rejected, .. } = self;
        let rejects_max = encoder.shared.rejects_max;
        text.clear();
        written.clear();
        rejected.clear();
        encoder.accepted.clear();
        for (index, row) in rows.iter().enumerate() {
            let number = encoder.number_of(index);
            let before = text.len();
            match encoder.writer.row::<R::Row, true, true>(row, number, form, text) {
                Ok(()) => {
                    written.push(SentRow { end: text.len(), raw: row.span() });
                    encoder.accepted.push(index as u32);
                }
                Err(_) => {
                    text.truncate(before);
                    rejected.push(index as u32);
                    if rejected.len() as u64 > rejects_max {
                        return;
                    }
                }
            }
        }
    }
}

/// The rejected rows of the same chunk, judged once more.
struct Rejecting<'p, 'a> {
    encoder: &'p mut RowEncoder<'a>,
    chunk: &'p Chunk,
    rejected: &'p [u32],
    /// Rows that the server refused.
    refused: Vec<(usize, Reject)>,
    hand_on: &'p mut dyn FnMut(Vec<Reject>) -> Result<(), Stop>,
}

impl Visit for Rejecting<'_, '_> {
    type Output = Result<Vec<Reject>, Stop>;

    fn rows<R: Rows>(self, rows: R) -> Result<Vec<Reject>, Stop> {
        let Rejecting { encoder, chunk, rejected, refused, hand_on } = self;
        let Shared { columns, files, .. } = encoder.shared;
        let mut places = PositionCursor::of(chunk);
        let mut refused = refused.into_iter().peekable();
        let mut held = Vec::new();
        for &index in rejected {
            let (index, mut nothing) = (index as usize, Vec::new());
            let (row, number) = (rows.row(index), encoder.number_of(index));
            let judged =
                encoder.writer.row::<R::Row, true, false>(row, number, Form::Lines, &mut nothing);
            let Err(fault) = judged else {
                return Err(Error::Internal("a rejected row was judged twice".to_owned()).into());
            };
            let position = places.find(chunk, files, row.start());
            let column = fault.column.map(|column| &columns.columns[column].column);
            let mut reject = Reject::new(&fault, row, column, position);
            reject.also = encoder.writer.more_faults(&fault, row);
            while let Some((_, before)) = refused.next_if(|(begin, _)| *begin < row.start()) {
                held.push(before);
            }
            held.push(reject);
            if held.len() >= REJECTS_HELD_MAX {
                hand_on(std::mem::take(&mut held))?;
            }
        }
        held.extend(refused.map(|(_, reject)| reject));
        Ok(held)
    }
}

/// The same chunk in another form.
struct EncodingAgain<'p, 'a> {
    encoder: &'p mut RowEncoder<'a>,
    form: Form,
    text: &'p mut Vec<u8>,
    rows: &'p mut Vec<SentRow>,
}

impl Visit for EncodingAgain<'_, '_> {
    type Output = ();

    fn rows<R: Rows>(self, rows: R) {
        let EncodingAgain { encoder, form, text, rows: written } = self;
        text.clear();
        for (place, at) in written.iter_mut().enumerate() {
            let index = encoder.accepted[place] as usize;
            let number = encoder.number_of(index);
            // It was good before, and is the same.
            let row = rows.row(index);
            let _ = encoder.writer.row::<R::Row, false, true>(row, number, form, text);
            at.end = text.len();
        }
    }
}

/// Checks and writes one row at a time.
#[derive(Debug)]
struct Writer<'a> {
    columns: &'a Columns,
    converters: Vec<Option<Converter>>,
    literals: Literals,
    /// True if no column is sent.
    is_bare: bool,
    /// The stored form, which nobody wants.
    stored: Vec<u8>,
    scratch: Vec<u8>,
    /// The text of a value that has none of its own.
    text: Vec<u8>,
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
            text: Vec::new(),
        }
    }

    /// Judges a row (`CHECK`) and appends it to `out` (`WRITE`). The caller takes back the appended
    /// part of a rejected row.
    #[inline]
    fn row<R: Row, const CHECK: bool, const WRITE: bool>(
        &mut self,
        row: R,
        number: AutoValue,
        form: Form,
        out: &mut Vec<u8>,
    ) -> Result<(), RowFault> {
        let columns = self.columns;
        if CHECK && !row.has_fields_for(columns.fields_needed, columns.fields_per_row) {
            let fields = columns.columns.iter().map(|column| column.origin.field());
            let (needed, expected) = (columns.fields_needed, columns.fields_per_row);
            return Err(RowFault::field_count(row, needed, expected, fields));
        }
        if WRITE && form == Form::Tuples {
            out.push(b'(');
        }
        let begin = out.len();
        for index in 0..columns.columns.len() {
            self.column::<R, CHECK, WRITE>(index, row, number, form, out)?;
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
    fn column<R: Row, const CHECK: bool, const WRITE: bool>(
        &mut self,
        index: usize,
        row: R,
        number: AutoValue,
        form: Form,
        out: &mut Vec<u8>,
    ) -> Result<(), RowFault> {
        let sent = &self.columns.columns[index];
        let fault = |field, kind| RowFault { field, column: Some(index), kind };
        let field = match &sent.origin {
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
                        self.push_typed(sent, Value::Unsigned(number), form, out);
                    }
                    return Ok(());
                }
                AutoValue::Exhausted => return Err(fault(None, FaultKind::NoNumber)),
                AutoValue::Uncountable => return Err(fault(*field, FaultKind::NoNumber)),
            },
        };
        let mut scratch = std::mem::take(&mut self.scratch);
        let value = field.map_or(Value::Null, |field| row.value(field, &mut scratch));
        let outcome = match value {
            Value::Null if CHECK && sent.on_null == OnNull::Refused && sent.is_sent => {
                Err(fault(field, FaultKind::Null))
            }
            Value::Null => {
                if WRITE && sent.is_sent {
                    self.push_null(sent, form, out);
                }
                Ok(())
            }
            value => {
                let checked = match (value, &mut self.converters[index]) {
                    _ if !CHECK => Ok(()),
                    (Value::Malformed(_), _) => Err(Reason::NotInFormat),
                    (Value::Refused { reason, .. }, _) => Err(reason),
                    (Value::Timestamp(micros), _)
                        if has_no_text(sent, micros, &self.columns.zone) =>
                    {
                        Err(Reason::MomentShownTwice)
                    }
                    (value, Some(converter)) => {
                        self.stored.clear();
                        converter.convert_value(value, &mut self.stored).map(drop)
                    }
                    (_, None) => Ok(()),
                };
                if WRITE && checked.is_ok() && sent.is_sent {
                    match value {
                        Value::Bytes(text) => self.push(sent, text, form, out),
                        typed => self.push_typed(sent, typed, form, out),
                    }
                }
                checked.map_err(|reason| fault(field, FaultKind::Value(reason)))
            }
        };
        self.scratch = scratch;
        outcome
    }

    /// Other faults of a row that is rejected for `fault`.
    #[cold]
    fn more_faults<R: Row>(&mut self, fault: &RowFault, row: R) -> Vec<Also> {
        let mut also = Vec::new();
        if !fault.has_fields() {
            return also;
        }
        for (index, sent) in self.columns.columns.iter().enumerate() {
            let is_known = fault.column == Some(index) || !matches!(sent.origin, Origin::Field(_));
            if is_known || sent.origin.field().is_none_or(|field| field >= row.field_count()) {
                continue;
            }
            let (number, mut nothing) = (AutoValue::Given, Vec::new());
            let outcome =
                self.column::<R, true, false>(index, row, number, Form::Lines, &mut nothing);
            if let Err(more) = outcome {
                also.push(Also::new(&more, row, Some(&sent.column)));
            }
        }
        also
    }

    /// Appends a value that has no text of its own, and a separator.
    #[inline(never)]
    fn push_typed(&mut self, sent: &SentColumn, value: Value<'_>, form: Form, out: &mut Vec<u8>) {
        let mut text = std::mem::take(&mut self.text);
        if let Some(text) = value.in_zone(&self.columns.zone).text(&mut text) {
            self.push(sent, text, form, out);
        }
        self.text = text;
    }

    /// Appends a value and a separator.
    #[inline]
    fn push(&self, sent: &SentColumn, text: &[u8], form: Form, out: &mut Vec<u8>) {
        match form {
            Form::Lines => {
                if out.is_empty() && self.columns.escapes_mark && text.starts_with(MARK) {
                    out.push(self.columns.escape);
                }
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

/// True if a moment would become another one once the server has read it as the clocks of `zone`
/// show it.
fn has_no_text(sent: &SentColumn, micros: i64, zone: &Zone) -> bool {
    let is_moment = matches!(sent.column.sql_type, SqlType::Timestamp { .. });
    is_moment && zone.shows_twice(micros.div_euclid(1_000_000))
}
