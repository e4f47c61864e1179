//! Keys of a table that is built, each once and in order, by which foreign keys are checked.
//!
//! Only keys of integers: they compare by their bytes, and a server shows them in the same order.
//! One key after the other in a file without a name; a column is as many bytes as its type has, the
//! highest first, the sign inverted.

use std::path::Path;

use disk::File;
use schema::Table;
use server::error::{Error, Result};
use values::SqlType;

/// Bytes that are written and read at once.
const BLOCK_BYTES: usize = 256 << 10;

/// The columns of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyShape {
    /// Their names.
    pub columns: Vec<String>,
    /// Bytes of each, and whether it has no sign.
    types: Vec<(u8, bool)>,
}

/// Such keys, all of them.
#[derive(Debug)]
pub struct KeyRun {
    shape: KeyShape,
    file: File,
    bytes: u64,
}

/// The keys of a table that were taken down.
#[derive(Debug, Default)]
pub struct Keys {
    /// Of some of its columns each.
    pub runs: Vec<KeyRun>,
    /// Rows of the table.
    pub rows: u64,
}

/// Takes them down.
#[derive(Debug)]
pub struct KeyWriter {
    shape: KeyShape,
    file: File,
    /// What is in the file.
    written: u64,
    held: Vec<u8>,
    last: Vec<u8>,
}

/// Gives them back.
#[derive(Debug)]
pub(super) struct KeyReader<'r> {
    run: &'r KeyRun,
    read: u64,
    held: Vec<u8>,
    at: usize,
}

impl KeyShape {
    /// The shape of these columns of a table; none where one is no integer.
    pub fn of(table: &Table, columns: &[String]) -> Option<KeyShape> {
        let one = |name: &String| {
            // Names of columns have no case.
            let is_it = |own: &str| own.to_lowercase() == name.to_lowercase();
            match table.columns.iter().find(|column| is_it(&column.name))?.sql_type {
                SqlType::Integer { bytes, unsigned } => Some((bytes, unsigned)),
                _ => None,
            }
        };
        let types = columns.iter().map(one).collect::<Option<_>>()?;
        Some(KeyShape { columns: columns.to_vec(), types })
    }

    #[cfg(test)]
    pub(super) fn plain(bytes: u8) -> KeyShape {
        KeyShape { columns: vec!["c".to_owned()], types: vec![(bytes, true)] }
    }

    /// Whether it is of these columns.
    pub(super) fn is_of(&self, columns: &[String]) -> bool {
        let lower = |name: &String| name.to_lowercase();
        self.columns.iter().map(lower).eq(columns.iter().map(lower))
    }

    /// Bytes of a key.
    pub fn key_bytes(&self) -> usize {
        self.types.iter().map(|(bytes, _)| usize::from(*bytes)).sum()
    }

    /// Whether keys of both compare.
    pub(super) fn is_like(&self, other: &KeyShape) -> bool {
        self.types == other.types
    }

    /// Appends the value of a column as the server shows it; false where it is not one of its type.
    pub(super) fn push(&self, column: usize, text: &[u8], key: &mut Vec<u8>) -> bool {
        let (bytes, unsigned) = self.types[column];
        let Some(value) = std::str::from_utf8(text).ok().and_then(|text| text.parse().ok()) else {
            return false;
        };
        let bits = u32::from(bytes) * 8;
        let value: i128 = value;
        let shifted = if unsigned { value } else { value + (1 << (bits - 1)) };
        if shifted < 0 || shifted >> bits != 0 {
            return false;
        }
        let all = (shifted as u64).to_be_bytes();
        key.extend_from_slice(&all[all.len() - usize::from(bytes)..]);
        true
    }
}

impl KeyWriter {
    /// Begins in a file of its own in this folder.
    pub fn create(shape: KeyShape, folder: &Path) -> Result<KeyWriter> {
        let file =
            disk::unnamed(folder, "keys").map_err(|e| Error::io("making a file in", folder, e))?;
        Ok(KeyWriter { shape, file, written: 0, held: Vec::new(), last: Vec::new() })
    }

    /// Takes keys, one after the other, in ascending order; those that came last are not repeated.
    pub fn push_all(&mut self, keys: &[u8]) -> Result<()> {
        for key in keys.chunks_exact(self.shape.key_bytes()) {
            if key == self.last {
                continue;
            }
            self.held.extend_from_slice(key);
            self.last.clear();
            self.last.extend_from_slice(key);
        }
        if self.held.len() >= BLOCK_BYTES { self.write() } else { Ok(()) }
    }

    /// All keys.
    pub fn finish(mut self) -> Result<KeyRun> {
        self.write()?;
        Ok(KeyRun { shape: self.shape, file: self.file, bytes: self.written })
    }

    fn write(&mut self) -> Result<()> {
        let done = self.file.write_all_at(&self.held, self.written);
        done.map_err(|e| Error::io("writing", "the keys for foreign keys", e))?;
        self.written += self.held.len() as u64;
        self.held.clear();
        Ok(())
    }
}

impl Keys {
    /// The keys of these columns.
    pub(super) fn of(&self, columns: &[String]) -> Option<&KeyRun> {
        self.runs.iter().find(|run| run.shape.is_of(columns))
    }
}

impl KeyRun {
    pub(super) fn shape(&self) -> &KeyShape {
        &self.shape
    }

    /// The keys from the first on.
    pub(super) fn reader(&self) -> KeyReader<'_> {
        KeyReader { run: self, read: 0, held: Vec::new(), at: 0 }
    }
}

impl KeyReader<'_> {
    /// The next key; none at the end.
    pub(super) fn next(&mut self) -> Result<Option<&[u8]>> {
        let size = self.run.shape.key_bytes();
        if self.at == self.held.len() {
            let left = self.run.bytes - self.read;
            let block = left.min((BLOCK_BYTES / size * size) as u64) as usize;
            self.held.resize(block, 0);
            self.at = 0;
            let read = self.run.file.read_exact_at(&mut self.held, self.read);
            read.map_err(|e| Error::io("reading", "the keys for foreign keys", e))?;
            self.read += block as u64;
        }
        let key = self.held.get(self.at..self.at + size);
        self.at += key.map_or(0, <[u8]>::len);
        Ok(key)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn shape(types: &[(u8, bool)]) -> KeyShape {
        let columns = types.iter().map(|_| "c".to_owned()).collect();
        KeyShape { columns, types: types.to_vec() }
    }

    #[test]
    fn numbers_are_the_bytes_that_innodb_stores() {
        let shape = shape(&[(1, false), (3, true), (8, true), (8, false)]);
        for (column, text, expected) in [
            (0, "-128", Some(vec![0])),
            (0, "127", Some(vec![255])),
            (0, "128", None),
            (0, "x", None),
            (1, "16777215", Some(vec![255, 255, 255])),
            (1, "-1", None),
            (2, "18446744073709551615", Some(vec![255; 8])),
            (3, "-9223372036854775808", Some(vec![0; 8])),
            (3, "0", Some(vec![128, 0, 0, 0, 0, 0, 0, 0])),
        ] {
            let mut key = Vec::new();
            let is_value = shape.push(column, text.as_bytes(), &mut key);
            assert_eq!(is_value.then_some(key), expected, "{text}");
        }
    }

    #[test]
    fn keys_come_back_once_and_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = KeyWriter::create(shape(&[(3, true)]), folder.path()).unwrap();
        let keys: Vec<[u8; 3]> =
            (0..200_000u32).map(|at| (at / 2).to_be_bytes()[1..].try_into().unwrap()).collect();
        for some in keys.chunks(777) {
            writer.push_all(&some.concat()).unwrap();
        }
        let run = writer.finish().unwrap();
        let mut reader = run.reader();
        for at in 0..100_000u32 {
            assert_eq!(reader.next().unwrap().unwrap(), &at.to_be_bytes()[1..]);
        }
        assert!(reader.next().unwrap().is_none());
        assert!(reader.next().unwrap().is_none());
    }
}
