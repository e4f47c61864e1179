//! All losers in input order, to be gone through from the first as often as needed.
//!
//! They are written once and read front to back, so beyond a small share of memory they are a file
//! without a name, with a checksum over the whole of it.

use std::path::Path;

use job::error::Error;
use job::stop::Stop;
use server::Interrupt;
use sort::{KeyRange, Runs};

use crate::duplicates::loser::Loser;
use crate::duplicates::table::Table;

/// Losers in a buffer.
const BUFFER_LOSERS: usize = 1024;
const BUFFER_BYTES: usize = BUFFER_LOSERS * Loser::BYTES;

/// The losers of an input.
#[derive(Debug)]
pub(crate) struct Losers {
    count: u64,
    crc: u32,
    kept: Table<{ Loser::BYTES }>,
}

impl Losers {
    /// Bytes of buffers besides what is kept in memory: two streams may be open.
    pub(crate) const BUFFERS_BYTES: usize = 2 * BUFFER_BYTES;

    /// Takes sorted losers; in memory if they take `memory_bytes_max` at most, else in `folder`.
    pub(crate) fn new(
        sorted: &Runs,
        memory_bytes_max: usize,
        folder: &Path,
        interrupt: &Interrupt,
    ) -> Result<Losers, Stop> {
        let count = sorted.entries();
        let mut kept = Table::new(count, memory_bytes_max, folder)?;
        let all = KeyRange::all();
        let mut merge = sorted.merge(&all)?;
        let mut buffer = Vec::with_capacity(BUFFER_BYTES);
        let (mut done, mut crc) = (0, 0);
        loop {
            let next = merge.next()?;
            buffer.extend_from_slice(next.map_or(&[], |(loser, _)| loser));
            if buffer.len() == BUFFER_BYTES || next.is_none() {
                interrupt.check()?;
                crc = crc32c::crc32c_append(crc, &buffer);
                kept.set(done, &buffer)?;
                done += (buffer.len() / Loser::BYTES) as u64;
                buffer.clear();
            }
            if next.is_none() {
                return Ok(Losers { count, crc, kept });
            }
        }
    }

    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// The losers from the first on.
    pub(crate) fn stream(&self) -> Result<LoserStream<'_>, Error> {
        let mut stream = LoserStream {
            losers: self,
            buffer: Vec::new(),
            at: 0,
            left: self.count,
            crc: 0,
            next: None,
        };
        stream.step()?;
        Ok(stream)
    }

    /// True if both have the same rows.
    pub(crate) fn are_rows_of(&self, other: &Losers) -> Result<bool, Error> {
        if self.count != other.count {
            return Ok(false);
        }
        let (mut ours, mut theirs) = (self.stream()?, other.stream()?);
        loop {
            match (ours.step()?, theirs.step()?) {
                (None, None) => return Ok(true),
                (Some(a), Some(b)) if a.place == b.place => {}
                _ => return Ok(false),
            }
        }
    }
}

/// Losers in input order, the next one in sight.
pub(crate) struct LoserStream<'a> {
    losers: &'a Losers,
    buffer: Vec<u8>,
    /// Place in the buffer.
    at: usize,
    /// Losers that are neither in the buffer nor before it.
    left: u64,
    crc: u32,
    next: Option<Loser>,
}

impl LoserStream<'_> {
    /// The next one, if it is of `file` or one before and before row `end`; steps past it.
    pub(crate) fn next_before(&mut self, file: u32, end: u64) -> Result<Option<Loser>, Error> {
        match &self.next {
            Some(next) if (next.place.file, next.place.row) < (file, end) => self.step(),
            _ => Ok(None),
        }
    }

    /// True if all were taken.
    pub(crate) fn is_ended(&self) -> bool {
        self.next.is_none()
    }

    /// Gives the one in sight and looks for another.
    fn step(&mut self) -> Result<Option<Loser>, Error> {
        if self.at == self.buffer.len() {
            self.fill()?;
        }
        let bytes = self.buffer.get(self.at..self.at + Loser::BYTES);
        let next = bytes.map(Loser::from_bytes);
        self.at += if next.is_some() { Loser::BYTES } else { 0 };
        Ok(std::mem::replace(&mut self.next, next))
    }

    fn fill(&mut self) -> Result<(), Error> {
        let count = self.left.min(BUFFER_LOSERS as u64);
        let Losers { count: all, kept, .. } = self.losers;
        self.buffer.resize(count as usize * Loser::BYTES, 0);
        self.at = 0;
        if count == 0 {
            return Ok(());
        }
        kept.read(all - self.left, &mut self.buffer)?;
        self.crc = crc32c::crc32c_append(self.crc, &self.buffer);
        if count == self.left && self.crc != self.losers.crc {
            let damaged = "its contents differ from those that were written";
            return Err(kept.unreadable()(std::io::Error::other(damaged)));
        }
        self.left -= count;
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use sort::{RunStore, SortBuffer};

    use super::*;
    use crate::duplicates::row_position::Place;

    fn losers(count: u64, memory_bytes_max: usize, folder: &Path) -> Losers {
        let store = RunStore::new(Loser::SHAPE, 1 << 20, folder).unwrap();
        let mut buffer = SortBuffer::new(Loser::SHAPE);
        for row in (0..count).rev() {
            let place = Place::new((row / 1000) as u32, row, row + 7);
            Loser { place, index: 3, winner: Place::new(0, row + 1, 1) }.push(&mut buffer);
        }
        store.add(buffer.sort(0)).unwrap();
        Losers::new(&store.finish().unwrap(), memory_bytes_max, folder, &Interrupt::default())
            .unwrap()
    }

    #[test]
    fn losers_come_in_input_order_from_memory_and_from_a_file() {
        let folder = tempfile::tempdir().unwrap();
        for count in [0, 1, 1024, 1025, 5000] {
            for memory_bytes_max in [0, 1 << 20] {
                let losers = losers(count, memory_bytes_max, folder.path());
                let mut stream = losers.stream().unwrap();
                for row in 0..count {
                    let file = (row / 1000) as u32;
                    assert!(stream.next_before(file, row).unwrap().is_none());
                    let loser = stream.next_before(file, row + 1).unwrap().unwrap();
                    assert_eq!(
                        (loser.place.row, loser.place.line(), loser.index),
                        (row, row + 7, 3)
                    );
                    assert_eq!(loser.winner, Place::new(0, row + 1, 1));
                }
                assert!(stream.is_ended());
                assert!(losers.are_rows_of(&losers).unwrap());
            }
        }
    }

    #[test]
    fn a_file_that_was_damaged_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let mut losers = losers(3000, 0, folder.path());
        losers.kept.set(2999, &[b'?'; Loser::BYTES]).unwrap();
        let mut stream = losers.stream().unwrap();
        let outcome = (0..3000).find_map(|_| stream.step().err());
        assert!(
            outcome
                .unwrap()
                .to_string()
                .contains("its contents differ from those that were written")
        );
    }
}
