//! Keys that are taken down while an index is built in its order, for foreign keys.
//!
//! A foreign key is of the first columns of an index, and so is what it refers to: the first bytes of
//! each index entry are the key, and equal ones follow each other.

use std::path::Path;

use encode::binding::{Binding, SecondaryField, Step};
use server::Error;
use targets::key_run::shape::{KeyColumn, KeyShape};
use targets::key_run::{KeyRun, KeyWriter};
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
#[derive(Clone, Debug)]
struct Part {
    key: KeyPart,
    /// Its bytes in all entries, where they are as many; what says whether it is NULL included.
    bytes: Option<usize>,
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
    /// Where the keys of these columns are; none where no index begins with them in ascending order.
    fn of(binding: &Binding, columns: &[String]) -> Option<KeyTap> {
        let clustered = &binding.clustered;
        // A prefix of a value does not tell the value.
        let whole =
            |field: usize| (!matches!(clustered.steps[field], Step::Prefix(..))).then_some(field);
        let mut fields = (0..clustered.shape.key_fields).map(whole);
        if let Some(tap) = KeyTap::at(0, binding, columns, &mut fields, &clustered.key) {
            return Some(tap);
        }
        let whole = |field: &SecondaryField| field.cut.is_none().then_some(field.clustered_field);
        binding.secondaries.iter().enumerate().find_map(|(position, index)| {
            let mut fields = index.fields.iter().map(whole);
            KeyTap::at(1 + position, binding, columns, &mut fields, &index.key)
        })
    }

    /// The same in one index.
    fn at(
        index: usize,
        binding: &Binding,
        columns: &[String],
        fields: &mut dyn Iterator<Item = Option<usize>>,
        key: &[KeyPart],
    ) -> Option<KeyTap> {
        let (mut of_shape, mut parts) = (Vec::new(), Vec::new());
        for (at, name) in columns.iter().enumerate() {
            let part = key.get(at).filter(|part| !part.descending)?;
            let column = binding.column_of_clustered_field(fields.next()??)?;
            let column = &binding.columns[column].column;
            // Names of columns have no case.
            if column.name.to_lowercase() != name.to_lowercase() {
                return None;
            }
            of_shape.push(KeyColumn::new(&column.name, &column.sql_type, part));
            parts.push(Part { key: part.clone(), bytes: part.fixed_len(None) });
        }
        // A BINARY(0) has but one value, which could not be told from none.
        let bytes: Option<usize> = parts.iter().map(|part: &Part| part.bytes).sum();
        (bytes != Some(0)).then(|| KeyTap { index, shape: KeyShape::new(of_shape), parts })
    }

    /// Puts the key of an entry into `out`; false where a column of it is NULL.
    #[inline]
    fn cut(&self, entry: &[u8], out: &mut Vec<u8>) -> bool {
        out.clear();
        let mut rest = entry;
        for Part { key, bytes } in &self.parts {
            if key.nullable && rest[0] == 0 {
                return false;
            }
            let (part, behind) = rest.split_at(bytes.unwrap_or_else(|| key.len_in(rest)));
            out.extend_from_slice(&part[usize::from(key.nullable)..]);
            rest = behind;
        }
        true
    }
}

impl KeyLog {
    /// Keys of these columns each, as far as they can be taken down, into files in this folder.
    pub(crate) fn create(
        binding: &Binding,
        wanted: &[Vec<String>],
        folder: &Path,
    ) -> Result<KeyLog, Error> {
        let taps: Vec<KeyTap> =
            wanted.iter().filter_map(|columns| KeyTap::of(binding, columns)).collect();
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
    /// A merger of so many taps.
    pub(crate) fn new(taps: usize) -> Tapped {
        Tapped { keys: vec![Vec::new(); taps], last: vec![Vec::new(); taps], scratch: Vec::new() }
    }

    /// Takes the keys of an entry.
    #[inline]
    pub(crate) fn push(&mut self, taps: &[KeyTap], entry: &[u8]) {
        for (at, tap) in taps.iter().enumerate() {
            if tap.cut(entry, &mut self.scratch) && self.last[at] != self.scratch {
                tap.shape.append(&self.scratch, &mut self.keys[at]);
                std::mem::swap(&mut self.last[at], &mut self.scratch);
            }
        }
    }
}
