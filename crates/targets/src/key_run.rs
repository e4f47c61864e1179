//! Keys of a table that is built, each once and in order, by which foreign keys are checked.
//!
//! One after the other in a file without a name, by the bytes that [`KeyShape`] tells of.

pub mod read;
pub mod shape;

use std::path::Path;

use self::shape::KeyShape;
use disk::File;
use server::error::{Error, Result};

/// Bytes that are written and read at once.
const BLOCK_BYTES: usize = 256 << 10;

/// Such keys, all of them.
#[derive(Debug)]
pub struct KeyRun {
    shape: KeyShape,
    file: File,
    bytes: u64,
}

/// The keys that were taken down of rows that a table gets.
#[derive(Debug, Default)]
pub struct Keys {
    /// Keys of some of its columns each.
    pub runs: Vec<KeyRun>,
    /// All rows of the table.
    pub rows: u64,
}

/// Takes them down.
#[derive(Debug)]
pub struct KeyWriter {
    shape: KeyShape,
    file: File,
    /// Bytes in the file.
    written: u64,
    held: Vec<u8>,
    last: Vec<u8>,
    is_first: bool,
}

/// Gives them back.
#[derive(Debug)]
pub(super) struct KeyReader<'r> {
    run: &'r KeyRun,
    read: u64,
    held: Vec<u8>,
    at: usize,
}

impl KeyWriter {
    /// Begins in a file of its own in this folder.
    pub fn create(shape: KeyShape, folder: &Path) -> Result<KeyWriter> {
        let file =
            disk::unnamed(folder, "keys").map_err(|e| Error::io("making a file in", folder, e))?;
        Ok(KeyWriter {
            shape,
            file,
            written: 0,
            held: Vec::new(),
            last: Vec::new(),
            is_first: true,
        })
    }

    /// Takes keys, one after the other, in ascending order; those that came last are not repeated.
    pub fn push_all(&mut self, keys: &[u8]) -> Result<()> {
        let mut rest = keys;
        while let Some(place) = self.shape.first(rest) {
            let (key, end) = (&rest[place.clone()], place.end);
            if self.is_first || key != self.last {
                self.shape.append(key, &mut self.held);
                self.last.clear();
                self.last.extend_from_slice(key);
                self.is_first = false;
            }
            rest = &rest[end..];
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
        done.map_err(|e| Error::io("writing", "the file of captured foreign-key values", e))?;
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
        loop {
            if let Some(place) = self.run.shape.first(&self.held[self.at..]) {
                let key = self.at + place.start..self.at + place.end;
                self.at = key.end;
                return Ok(Some(&self.held[key]));
            }
            if !self.read()? {
                return Ok(None);
            }
        }
    }

    /// Reads on; false at the end.
    fn read(&mut self) -> Result<bool> {
        let block = (self.run.bytes - self.read).min(BLOCK_BYTES as u64);
        self.held.drain(..self.at);
        self.at = 0;
        let begun = self.held.len();
        self.held.resize(begun + block as usize, 0);
        let read = self.run.file.read_exact_at(&mut self.held[begun..], self.read);
        read.map_err(|e| Error::io("reading", "the file of captured foreign-key values", e))?;
        self.read += block;
        Ok(block > 0)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use values::{KeyPart, SqlType};

    use super::*;
    use crate::key_run::shape::KeyColumn;

    #[test]
    fn keys_come_back_once_and_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = KeyWriter::create(KeyShape::plain(3), folder.path()).unwrap();
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

    #[test]
    fn keys_of_any_length_come_back_too() {
        let folder = tempfile::tempdir().unwrap();
        let sql_type = SqlType::VarBinary { bytes: 600_000 };
        let part = KeyPart::new(&sql_type, None, true, false);
        let shape = KeyShape::new(vec![KeyColumn::new("c", &sql_type, &part)]);
        let mut writer = KeyWriter::create(shape.clone(), folder.path()).unwrap();
        // Some are longer than what is read at once.
        let lengths = (0..2000).chain([300_000, 600_000, 7]);
        let keys: Vec<Vec<u8>> = lengths.map(|length| vec![b'x'; length]).collect();
        for some in keys.chunks(7) {
            let mut behind_each_other = Vec::new();
            for key in some {
                shape.append(key, &mut behind_each_other);
                shape.append(key, &mut behind_each_other);
            }
            writer.push_all(&behind_each_other).unwrap();
        }
        let run = writer.finish().unwrap();
        let mut reader = run.reader();
        for key in &keys {
            assert!(reader.next().unwrap().unwrap() == key, "{}", key.len());
        }
        assert!(reader.next().unwrap().is_none());
    }
}
