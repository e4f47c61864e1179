//! Finds the rows of the input that have a given key.
//!
//! Entries carry no row numbers: two duplicates are rare, and reading the input
//! once more when they are met costs less than eight bytes in every entry.

use std::path::PathBuf;

use encode::binding::Binding;
use encode::column_source::Input;
use encode::encoder::{Encoder, Line};
use encode::entry::unpack;
use encode::explicit::Explicit;
use encode::input;
use encode::left_out::LeftOut;
use encode::rejects::Reject;
use encode::sequence::{ChunkNumbers, Sequence};
use job::error::Error;
use job::position::Position;
use job::stop::{DuplicateKey, Stop};
use server::Interrupt;
use sources::{Chunk, Row, Rows, Scanner, Source, Value};

/// Rows that are looked for: the two that the message names.
const ROWS_MAX: usize = 2;

/// The error for two rows with one key: where both are, and what the key is in the input's words.
pub(crate) fn duplicate(
    binding: &Binding,
    (source, files): (&mut dyn Source, &[PathBuf]),
    scanner: &Scanner,
    (sequence, zero_is_value): (&Sequence, bool),
    wanted: &DuplicateKey,
    interrupt: &Interrupt,
) -> Result<Error, Stop> {
    let unknown = |reason: String| Error::UnknownDuplicate {
        index: index_name(binding, wanted.index),
        reason,
    };
    if let Err(error) = source.restart() {
        return Ok(unknown(error.to_string()));
    }
    let mut search = Search {
        binding,
        wanted,
        encoder: Encoder::new(binding),
        explicit: Explicit::new(binding, zero_is_value),
        numbers: ChunkNumbers::new(),
        found: Vec::with_capacity(ROWS_MAX),
        key_text: String::new(),
    };
    let mut scanner = scanner.clone();
    let mut chunk = Chunk::default();
    let mut rows = Rows::new();
    while search.found.len() < ROWS_MAX && source.next_chunk(&mut chunk)? {
        interrupt.check()?;
        input::scan(&mut scanner, &chunk, files, &mut rows)?;
        search.explicit.collect(&chunk.bytes, &rows, &mut search.numbers.given);
        if sequence.is_careful() {
            search.leave_out_refused(&chunk, &rows);
        }
        sequence.take(chunk.ordinal, rows.len(), LeftOut::none(), &mut search.numbers)?;
        search.chunk(&chunk, &rows, source);
    }
    let mut found = search.found.into_iter();
    match (found.next(), found.next()) {
        (Some(first), Some(second)) => Ok(Error::Duplicate {
            index: index_name(binding, wanted.index),
            first: Box::new(first),
            second: Box::new(second),
            key: search.key_text,
        }),
        _ => Ok(unknown("the input changed while it was read".to_owned())),
    }
}

/// Name of index `index`, 0 being the clustered one, in backquotes.
pub(crate) fn index_name(binding: &Binding, index: usize) -> String {
    format!("`{}`", plain_index_name(binding, index).replace('`', "``"))
}

/// Name of index `index`, 0 being the clustered one.
pub(crate) fn plain_index_name(binding: &Binding, index: usize) -> &str {
    match index.checked_sub(1) {
        None => &binding.clustered.name,
        Some(position) => &binding.secondaries[position].name,
    }
}

/// The values of a unique key of index `index` as the line has them.
pub(crate) fn key_values(binding: &Binding, index: usize, line: &Line<'_>) -> Vec<String> {
    let text = |field| field_text(binding, line, field);
    match index.checked_sub(1) {
        None => (0..binding.clustered.shape.key_fields).map(text).collect(),
        Some(position) => {
            let index = &binding.secondaries[position];
            let fields = index.fields[..index.unique_fields].iter();
            fields.map(|field| text(field.clustered_field)).collect()
        }
    }
}

fn field_text(binding: &Binding, line: &Line<'_>, clustered_field: usize) -> String {
    let Some(column) = binding.column_of_clustered_field(clustered_field) else {
        return "?".to_owned();
    };
    let bound = &binding.columns[column];
    let mut scratch = Vec::new();
    match &bound.input {
        Input::Field(field) | Input::AutoIncrement(Some(field)) => {
            match line.value(*field, &mut scratch) {
                Value::Bytes(text) => Reject::cut(text),
                Value::Null => "NULL".to_owned(),
            }
        }
        _ => format!("{} (not in the input)", bound.column.name),
    }
}

struct Search<'a> {
    binding: &'a Binding,
    wanted: &'a DuplicateKey,
    encoder: Encoder<'a>,
    explicit: Explicit,
    numbers: ChunkNumbers,
    found: Vec<Position>,
    key_text: String,
}

impl Search<'_> {
    /// Rows that the load refused have no number.
    fn leave_out_refused(&mut self, chunk: &Chunk, rows: &Rows) {
        self.numbers.try_on();
        for (index, row) in rows.iter().enumerate() {
            let line = Line { chunk: &chunk.bytes, rows, row };
            if self.encoder.encode(&line, self.numbers.of(index)).is_err() {
                self.numbers.leave_out(index);
            }
        }
    }

    fn chunk(&mut self, chunk: &Chunk, rows: &Rows, source: &dyn Source) {
        for (index, row) in rows.iter().enumerate() {
            let line = Line { chunk: &chunk.bytes, rows, row };
            if self.encoder.encode(&line, self.numbers.of(index)).is_err() || !self.matches() {
                continue;
            }
            self.found.push(position(chunk, &row, source));
            if self.found.len() == ROWS_MAX {
                let values = key_values(self.binding, self.wanted.index, &line);
                self.key_text = format!("({})", values.join(", "));
                return;
            }
        }
    }

    /// Whether the encoded row has the wanted key.
    fn matches(&self) -> bool {
        let wanted = self.wanted.key.as_slice();
        match self.wanted.index.checked_sub(1) {
            None => self.encoder.clustered_key() == wanted,
            Some(position) => {
                let (key, payload) = self.encoder.secondary(position);
                let index = &self.binding.secondaries[position];
                // Keys that carry a record say how much of them is unique; none is NULL then.
                match index.entry {
                    encode::binding::Entry::WithRecord => {
                        let unique = unpack(payload).0;
                        unique == wanted.len() && &key[..unique] == wanted
                    }
                    _ => key.starts_with(wanted),
                }
            }
        }
    }
}

fn position(chunk: &Chunk, row: &Row<'_>, source: &dyn Source) -> Position {
    let (start, _) = row.raw();
    let file = source.files().get(chunk.file as usize).map(|file| file.path.clone());
    Position {
        file: file.unwrap_or_default(),
        line: chunk.line_at(start),
        offset: chunk.offset_at(start),
    }
}
