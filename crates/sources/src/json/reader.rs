//! The rows of chunks of JSON: values are copied into columns, and rows keep the place and text of their records.

use std::sync::Arc;

use super::Json;
use super::fault::Fault;
use super::field_place::{FieldPlace, each_field};
use super::objects::find_records;
use super::record::Fields;
use super::token::{Cursor, Token, plain, unescape};
use crate::batch::text::Shape;
use crate::batch::{Batch, Cells, PickShape, Picked, PickedField, RefusedCell, TypedColumn};
use crate::chunk::Chunk;
use crate::error::Result;
use crate::key::{ColumnKind, Key, MissingValue};
use crate::line_fields::LineFields;
use crate::source::{ReadAs, Reader};
use values::Reason;

/// Finds the records of chunks, and in them the fields of keys.
pub(crate) struct JsonReader {
    json: Json,
    keys: Arc<[Key]>,
    fields: Fields,
    shape: Arc<PickShape>,
    /// Where records begin and end, and where what follows may begin.
    records: Vec<(usize, usize, usize)>,
    /// The fields of lines, if records are read as such, and room for the values of these.
    lines: Option<Arc<LineFields>>,
    room: Picked,
    /// Kinds of the fields of these lines, row by row.
    kinds: Vec<u8>,
}

impl JsonReader {
    /// For records with these fields.
    pub(crate) fn new(json: Json, keys: Arc<[Key]>, read_as: &ReadAs) -> JsonReader {
        let lines = read_as.lines.clone();
        let ignores_unknown =
            lines.as_ref().map_or(json.ignores_unknown, |lines| lines.ignores_unknown);
        let json = Json { ignores_unknown, ..json };
        let fields = (0..keys.len()).map(PickedField::Text).collect();
        JsonReader {
            json,
            fields: Fields::new(Arc::clone(&keys), &read_as.late_names, json),
            shape: Arc::new(PickShape { fields, formats: Arc::clone(&read_as.formats) }),
            keys,
            records: Vec::new(),
            lines,
            room: Picked::default(),
            kinds: Vec::new(),
        }
    }

    /// Adds the values of the record that was read last.
    fn store(&self, text: &[u8], made: &mut [TypedColumn]) -> std::result::Result<(), Fault> {
        // A line may be no row of the table whose column does not take a value.
        for (key, found) in self.keys.iter().zip(&self.fields.found) {
            if self.lines.is_none() {
                check(key, found.as_ref(), text)?;
            }
        }
        for ((key, found), column) in self.keys.iter().zip(&self.fields.found).zip(made) {
            push(column, |bytes| match (found, &key.absent) {
                _ if key.takes == ColumnKind::Nothing => false,
                (Some(found), _) => push_value(text, *found, key.takes, bytes),
                (None, MissingValue::Text(absent)) => {
                    bytes.extend_from_slice(absent);
                    true
                }
                (None, MissingValue::Null | MissingValue::Unknown) => false,
            });
        }
        Ok(())
    }

    /// Refuses values of the record that was read last, for columns that do not take them.
    fn refuse(&self, text: &[u8], made: &mut [TypedColumn]) {
        for ((key, found), column) in self.keys.iter().zip(&self.fields.found).zip(made) {
            let Err(fault) = check(key, found.as_ref(), text) else { continue };
            let (text, reason) = match (fault, found) {
                (Fault::NotBits(_), Some(found)) => {
                    (text[found.start..found.end].to_vec(), Reason::OutOfRange)
                }
                _ => (Vec::new(), Reason::NoDefault),
            };
            let row = column.is_valid.len() - 1;
            column.is_valid[row] = true;
            column.refused.push(RefusedCell { row, text, reason });
        }
    }
}

/// The kind of a field's value: values of one kind are other ones if their texts are.
fn kind(found: Option<&FieldPlace>) -> u8 {
    match found.map(|found| found.token) {
        None => 0,
        Some(Token::Null) => 1,
        Some(Token::Boolean(_)) => 2,
        Some(Token::Number) => 3,
        Some(Token::Text | Token::Escaped) => 4,
        Some(Token::Nested) => 5,
    }
}

/// Refuses a value that its column does not take.
fn check(key: &Key, found: Option<&FieldPlace>, text: &[u8]) -> std::result::Result<(), Fault> {
    match found {
        None if key.absent == MissingValue::Unknown => Err(Fault::NoDefault(key.name.clone())),
        Some(FieldPlace { token: Token::Number, start, end })
            if key.takes == ColumnKind::Bits && bits(&text[*start..*end]).is_none() =>
        {
            Err(Fault::NotBits(key.name.clone()))
        }
        _ => Ok(()),
    }
}

impl Reader for JsonReader {
    fn read(&mut self, chunk: &Chunk, batch: &mut Batch) -> Result<()> {
        let text = chunk.bytes.as_slice();
        let mut picked = match self.lines {
            Some(_) => std::mem::take(&mut self.room),
            None => batch.unpick().unwrap_or_default(),
        };
        begin(&mut picked, &self.shape);
        self.kinds.clear();
        let index = batch.text();
        index.begin(&Shape::default());
        find_records(self.json, text, &mut self.records);
        for (row, &(start, end, next)) in self.records.iter().enumerate() {
            index.push_row(start, end, next);
            picked.rows.push(row as u32);
            let record = &text[start..end];
            let stored = self.fields.read(record);
            let stored = stored.map_err(|fault| match fault {
                Fault::Unknown(name) if self.lines.is_some() => Fault::LateField(name),
                fault => fault,
            });
            if let Err(fault) = stored.and_then(|()| self.store(record, &mut picked.made)) {
                picked.made.iter_mut().for_each(|column| push(column, |_| false));
                picked.broken.push((row as u32, fault.to_string()));
            } else if self.lines.is_some() {
                self.refuse(record, &mut picked.made);
            }
            if let Some(lines) = &self.lines {
                let found = &self.fields.found[..lines.names.len()];
                self.kinds.extend(found.iter().map(|found| kind(found.as_ref())));
            }
            for (literals, found) in picked.literals.iter_mut().zip(&self.fields.found) {
                let is_string =
                    |found: &FieldPlace| matches!(found.token, Token::Text | Token::Escaped);
                literals.push(!found.as_ref().is_some_and(is_string));
            }
        }
        match &self.lines {
            None => batch.pick(picked),
            Some(_) => {
                let are_lines = self.json.is_lines;
                batch.make_record_lines(&mut picked, text, are_lines, &self.kinds)?;
                self.room = picked;
            }
        }
        Ok(())
    }
}

/// Without rows, for columns of this shape.
fn begin(picked: &mut Picked, shape: &Arc<PickShape>) {
    picked.shape = Arc::clone(shape);
    picked.rows.clear();
    picked.broken.clear();
    picked.literals.iter_mut().for_each(Vec::clear);
    let formatted = if shape.formats.is_empty() { 0 } else { shape.fields.len() };
    picked.literals.resize_with(formatted, Vec::new);
    picked.made.truncate(shape.fields.len());
    for column in &mut picked.made {
        column.is_valid.clear();
        column.refused.clear();
        if let Cells::Bytes { ends, bytes } = &mut column.cells {
            ends.clear();
            bytes.clear();
        }
    }
    let empty = || Cells::Bytes { ends: Vec::new(), bytes: Vec::new() };
    picked.made.resize_with(shape.fields.len(), || TypedColumn::from(empty()));
}

/// Adds a value: `value` appends its bytes, and tells if it is not NULL.
#[inline]
fn push(column: &mut TypedColumn, value: impl FnOnce(&mut Vec<u8>) -> bool) {
    let Cells::Bytes { ends, bytes } = &mut column.cells else { return };
    let is_valid = value(bytes);
    ends.push(bytes.len());
    column.is_valid.push(is_valid);
}

/// Appends the value of a field, as its column takes it; false if it is NULL.
#[inline]
fn push_value(record: &[u8], found: FieldPlace, takes: ColumnKind, bytes: &mut Vec<u8>) -> bool {
    let FieldPlace { token, start, end } = found;
    match (token, takes) {
        (Token::Null, _) => return false,
        // With its quotes.
        (Token::Text | Token::Escaped, ColumnKind::Json) => {
            bytes.extend_from_slice(&record[start - 1..end + 1]);
        }
        (Token::Escaped, _) => unescape(&record[start..end], bytes),
        (Token::Boolean(value), ColumnKind::Bits) => bytes.push(u8::from(value)),
        (Token::Number, ColumnKind::Bits) => {
            bytes.extend(bits(&record[start..end]).unwrap_or_default().to_be_bytes());
        }
        // Numbers that are 0 are the year 0; the text '0' is 2000.
        (Token::Number, ColumnKind::Years) if is_zero(&record[start..end]) => {
            bytes.extend_from_slice(b"0000");
        }
        (Token::Boolean(false), ColumnKind::Years) => bytes.extend_from_slice(b"0000"),
        (Token::Boolean(value), ColumnKind::Values | ColumnKind::Years) => {
            bytes.push(if value { b'1' } else { b'0' })
        }
        _ => bytes.extend_from_slice(&record[start..end]),
    }
    true
}

/// True if a number has no digit but 0 before its exponent.
fn is_zero(number: &[u8]) -> bool {
    let end = number.iter().position(|byte| matches!(byte, b'e' | b'E')).unwrap_or(number.len());
    !number[..end].iter().any(|byte| matches!(byte, b'1'..=b'9'))
}

/// The bits that a number stands for.
fn bits(number: &[u8]) -> Option<u64> {
    std::str::from_utf8(number).ok()?.parse().ok()
}

/// The names of the fields in a text's records, in the order in which they occur first. The last record counts if
/// it is whole, or if the text is all of the file.
pub(crate) fn names(json: Json, text: &[u8], is_all: bool) -> Vec<Vec<u8>> {
    let whole = match (json.is_lines, is_all) {
        (true, false) => memchr::memrchr(b'\n', text).map_or(0, |end| end + 1),
        _ => text.len(),
    };
    let mut records = Vec::new();
    find_records(json, &text[..whole], &mut records);
    let mut names: Vec<Vec<u8>> = Vec::new();
    let mut known = std::collections::HashSet::new();
    for (start, end, _) in records {
        let mut cursor = Cursor { text: &text[start..end], at: 0 };
        // What is no record is refused when its turn comes.
        let _ = each_field(&mut cursor, |name, is_escaped, _| {
            let bytes = plain(name, is_escaped);
            if known.insert(bytes.to_ascii_lowercase()) {
                names.push(bytes);
            }
            Ok(())
        });
    }
    names
}
