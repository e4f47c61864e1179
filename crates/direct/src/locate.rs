//! Finds the rows of the input that have a given key.
//!
//! Entries carry no row numbers: two duplicates are rare, and reading the input
//! once more when they are met costs less than eight bytes in every entry.

use std::path::PathBuf;

use encode::binding::Binding;
use encode::encoder::Encoder;
use encode::explicit::Explicit;
use encode::field;
use encode::left_out::LeftOut;
use encode::numbering::Numbering;
use encode::reading;
use encode::rejects::Reject;
use encode::sequence::Sequence;
use job::error::Error;
use job::position::Position;
use job::stop::{DuplicateKey, Stop};
use server::Interrupt;
use sources::{Chunk, Row, Rows, Source, SourceExt as _, Visit};

use crate::unique_part::UniquePart;

/// Rows that are looked for: the two that the message names.
const ROWS_MAX: usize = 2;

/// A search for two rows with one key.
pub(crate) struct DuplicateSearch<'a> {
    pub(crate) binding: &'a Binding,
    pub(crate) wanted: &'a DuplicateKey,
    pub(crate) files: &'a [PathBuf],
    pub(crate) sequence: &'a Sequence,
    /// True if a 0 in the AUTO_INCREMENT column is a value.
    pub(crate) zero_is_value: bool,
    /// True if one of the two may be in the table already.
    pub(crate) extends: bool,
    pub(crate) interrupt: &'a Interrupt,
}

impl DuplicateSearch<'_> {
    /// The error: where both rows are, and what the key is in the input's words.
    pub(crate) fn error(&self, source: &mut dyn Source) -> Result<Error, Stop> {
        let DuplicateSearch { binding, wanted, .. } = *self;
        let unknown = |reason: String| Error::UnknownDuplicate {
            index: index_name(binding, wanted.index),
            reason,
        };
        if let Err(error) = source.restart() {
            return Ok(unknown(error.to_string()));
        }
        let indexes = 0..=binding.secondaries.len();
        let mut matcher = KeyMatcher {
            search: self,
            encoder: Encoder::new(binding),
            numbering: Numbering::new(self.sequence, Explicit::new(binding, self.zero_is_value)),
            found: Vec::with_capacity(ROWS_MAX),
            unique_parts: indexes.map(|index| UniquePart::of(binding, index)).collect(),
            keys_of_first: Vec::new(),
            index: wanted.index,
            key_text: String::new(),
        };
        reading::read_alone(source, self.interrupt, |chunk, batch| {
            batch.visit(chunk, MatchedRows { matcher: &mut matcher, chunk })?;
            Ok(matcher.found.len() < ROWS_MAX)
        })?;
        let index = index_name(binding, matcher.index);
        let mut found = matcher.found.into_iter();
        match (found.next(), found.next()) {
            (Some(first), Some(second)) => Ok(Error::Duplicate {
                index,
                first: Box::new(first),
                second: Box::new(second),
                key: matcher.key_text,
            }),
            (Some(row), None) if self.extends => {
                Ok(Error::KeyTaken { index, row: Box::new(row), key: matcher.key_text })
            }
            _ => Ok(unknown("the input changed while it was read".to_owned())),
        }
    }
}

/// Name of index `index`, 0 being the clustered one, in backquotes.
pub(crate) fn index_name(binding: &Binding, index: usize) -> String {
    format!("`{}`", plain_index_name(binding, index).replace('`', "``"))
}

/// Name of index `index`, 0 being the clustered one.
pub(crate) fn plain_index_name(binding: &Binding, index: usize) -> &str {
    binding.secondary(index).map_or(&binding.clustered.name, |secondary| &secondary.name)
}

/// The values of a unique key of index `index` as the row has them.
pub(crate) fn key_values<R: Row>(binding: &Binding, index: usize, row: R) -> Vec<String> {
    binding.unique_fields(index).map(|field| field_text(binding, row, field)).collect()
}

fn field_text<R: Row>(binding: &Binding, row: R, clustered_field: usize) -> String {
    let Some(column) = binding.column_of_clustered_field(clustered_field) else {
        return "?".to_owned();
    };
    let bound = &binding.columns[column];
    let Some(field) = bound.input.field() else {
        return format!("{} (not in the input)", bound.column.name);
    };
    field::written(row, Some(field)).as_deref().map_or_else(|| "NULL".to_owned(), Reject::cut)
}

/// The rows of a search, and what they have in common.
struct KeyMatcher<'a> {
    search: &'a DuplicateSearch<'a>,
    encoder: Encoder<'a>,
    numbering: Numbering<'a>,
    found: Vec<Position>,
    /// One an index.
    unique_parts: Vec<UniquePart>,
    /// Unique keys of the first row that was found, one an index.
    keys_of_first: Vec<Vec<u8>>,
    /// Index of the key that is named: the first that the rows have in common, whichever was built first.
    index: usize,
    key_text: String,
}

/// The search in the rows of a chunk.
struct MatchedRows<'s, 'a> {
    matcher: &'s mut KeyMatcher<'a>,
    chunk: &'s Chunk,
}

impl Visit for MatchedRows<'_, '_> {
    type Output = Result<(), Stop>;

    fn rows<R: Rows>(self, rows: R) -> Result<(), Stop> {
        self.matcher.take(self.chunk, rows)
    }
}

impl KeyMatcher<'_> {
    fn take<R: Rows>(&mut self, chunk: &Chunk, rows: R) -> Result<(), Stop> {
        let DuplicateSearch { binding, wanted, files, .. } = *self.search;
        let encoder = &mut self.encoder;
        // Rows that the load refused have no number.
        let is_good = |row: R::Row, numbers| Ok(encoder.encode(row, numbers).is_ok());
        self.numbering.take(chunk.ordinal, rows, LeftOut::none(), is_good)?;
        for (index, row) in rows.iter().enumerate() {
            let encoded = self.encoder.encode(row, self.numbering.of(index));
            if encoded.is_err() || self.unique_key(wanted.index) != wanted.key {
                continue;
            }
            self.found.push(Position::of(chunk, row.start(), files));
            self.name_index();
            let values = key_values(binding, self.index, row);
            self.key_text = format!("({})", values.join(", "));
            if self.found.len() == ROWS_MAX {
                break;
            }
        }
        Ok(())
    }

    /// Compares the keys of the encoded row with those of the first that was found.
    fn name_index(&mut self) {
        let keys = (0..self.unique_parts.len()).map(|index| self.unique_key(index));
        if self.keys_of_first.is_empty() {
            self.keys_of_first = keys.map(<[u8]>::to_vec).collect();
            return;
        }
        let mut both = self.keys_of_first.iter().zip(keys);
        let is_shared = |(first, second): (&Vec<u8>, &[u8])| !first.is_empty() && first == second;
        self.index = both.position(is_shared).unwrap_or(self.search.wanted.index);
    }

    /// The part of the encoded row's entry that no other entry of an index may have.
    fn unique_key(&self, index: usize) -> &[u8] {
        let (key, payload) = self.encoder.entry(index);
        self.unique_parts[index].cut(key, payload)
    }
}
