//! Keys that are taken down while an index is built in its order, for foreign keys.
//!
//! A foreign key is of the first columns of an index, and so is what it refers to. Where these are
//! integers, as nearly always, the first bytes of each index entry are the key, and equal ones follow
//! each other.

use std::path::Path;

use encode::binding::{Binding, SecondaryField};
use schema::Table;
use server::Error;
use targets::key_run::{KeyRun, KeyShape, KeyWriter};
use values::KeyPart;

/// A key of an index.
#[derive(Clone, Debug)]
pub(crate) struct KeyTap {
    /// Number of the index: 0 is the clustered one.
    pub(crate) index: usize,
    shape: KeyShape,
    parts: Vec<Part>,
}

/// A column in an entry.
#[derive(Clone, Copy, Debug)]
struct Part {
    at: usize,
    bytes: usize,
    /// Whether a byte before it says if it is NULL.
    nullable: bool,
}

/// The keys that one worker has met and not handed on.
#[derive(Debug, Default)]
pub(crate) struct Tapped {
    keys: Vec<Vec<u8>>,
    last: Vec<Vec<u8>>,
    scratch: Vec<u8>,
}

/// The keys of a table, where workers hand them on.
#[derive(Debug)]
pub(crate) struct KeyLog {
    taps: Vec<KeyTap>,
    writers: Vec<KeyWriter>,
}

impl KeyTap {
    /// Where the keys of these columns are; none where they are no integers, or no index begins with
    /// them in ascending order.
    fn of(binding: &Binding, table: &Table, columns: &[String]) -> Option<KeyTap> {
        let shape = KeyShape::of(table, columns)?;
        let names = |at: usize| (at < columns.len()).then(|| columns[at].to_lowercase());
        let begins = |fields: &mut dyn Iterator<Item = Option<usize>>, key: &[KeyPart]| {
            key.len() >= columns.len()
                && (0..columns.len()).all(|at| {
                    let field = fields.next().flatten();
                    let column = field.and_then(|field| binding.column_of_clustered_field(field));
                    let name =
                        column.map(|column| binding.columns[column].column.name.to_lowercase());
                    name.is_some() && name == names(at) && !key[at].descending
                })
        };
        let clustered = &binding.clustered;
        if begins(&mut (0..clustered.shape.key_fields).map(Some), &clustered.key) {
            return Some(KeyTap { index: 0, parts: parts(&clustered.key, columns.len())?, shape });
        }
        let whole = |field: &SecondaryField| field.cut.is_none().then_some(field.clustered_field);
        let position = binding
            .secondaries
            .iter()
            .position(|index| begins(&mut index.fields.iter().map(whole), &index.key))?;
        let key = &binding.secondaries[position].key;
        Some(KeyTap { index: 1 + position, parts: parts(key, columns.len())?, shape })
    }

    /// Puts the key of an entry into `out`; false where a column of it is NULL.
    #[inline]
    fn cut(&self, entry: &[u8], out: &mut Vec<u8>) -> bool {
        out.clear();
        for part in &self.parts {
            if part.nullable && entry[part.at - 1] == 0 {
                return false;
            }
            out.extend_from_slice(&entry[part.at..part.at + part.bytes]);
        }
        true
    }
}

/// Where the first columns of an index are in its entries.
fn parts(key: &[KeyPart], columns: usize) -> Option<Vec<Part>> {
    let mut at = 0;
    let part = |part: &KeyPart| {
        let bytes = part.fixed_len(None)?;
        let marker = usize::from(part.nullable);
        let found = Part { at: at + marker, bytes: bytes - marker, nullable: part.nullable };
        at += bytes;
        Some(found)
    };
    key.iter().take(columns).map(part).collect()
}

impl KeyLog {
    /// Keys of these columns each, as far as they can be taken down, into files in this folder.
    pub(crate) fn create(
        binding: &Binding,
        table: &Table,
        wanted: &[Vec<String>],
        folder: &Path,
    ) -> Result<KeyLog, Error> {
        let taps: Vec<KeyTap> =
            wanted.iter().filter_map(|columns| KeyTap::of(binding, table, columns)).collect();
        let writers = taps.iter().map(|tap| KeyWriter::create(tap.shape.clone(), folder));
        Ok(KeyLog { writers: writers.collect::<Result<_, _>>()?, taps })
    }

    /// Those of one index, for its workers.
    pub(crate) fn taps(&self, index: usize) -> Vec<KeyTap> {
        self.taps.iter().filter(|tap| tap.index == index).cloned().collect()
    }

    /// Takes what a worker has met of an index, in the order of that.
    pub(crate) fn take(&mut self, index: usize, tapped: &mut Tapped) -> Result<(), Error> {
        let of_index =
            self.taps.iter().zip(&mut self.writers).filter(|(tap, _)| tap.index == index);
        for ((_, writer), keys) in of_index.zip(&mut tapped.keys) {
            writer.push_all(keys)?;
            keys.clear();
        }
        Ok(())
    }

    /// All keys.
    pub(crate) fn finish(self) -> Result<Vec<KeyRun>, Error> {
        self.writers.into_iter().map(KeyWriter::finish).collect()
    }
}

impl Tapped {
    /// Of so many taps.
    pub(crate) fn new(taps: usize) -> Tapped {
        Tapped { keys: vec![Vec::new(); taps], last: vec![Vec::new(); taps], scratch: Vec::new() }
    }

    /// Takes the keys of an entry.
    #[inline]
    pub(crate) fn push(&mut self, taps: &[KeyTap], entry: &[u8]) {
        for (at, tap) in taps.iter().enumerate() {
            if tap.cut(entry, &mut self.scratch) && self.last[at] != self.scratch {
                self.keys[at].extend_from_slice(&self.scratch);
                std::mem::swap(&mut self.last[at], &mut self.scratch);
            }
        }
    }
}
