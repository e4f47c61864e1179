//! A spilled run: blocks in a file without a name, and in memory where they are, and their first keys: of each,
//! or of every second, fourth, .., of a long run. A reader goes on from there by the lengths in the blocks.
//!
//! The file is unlinked when made (mode 0600), so nothing stays behind however the process ends.

use std::borrow::Cow;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use disk::File;

use crate::block::{BlockWriter, Damage, HEADER_LEN, block_len};
use crate::budget::Budget;
use crate::entry::EntryShape;
use crate::error::{Error, Result};
use crate::order::OrderCheck;

/// Bytes of a run to be written before its writing speed is judged.
const WRITE_SAMPLE_BYTES: u64 = 4 << 20;
/// Keys of a run that are kept however long they are.
const KEYS_MIN: usize = 2;

/// Where spilled runs go.
#[derive(Clone, Debug)]
pub(crate) struct SpillDir {
    pub(crate) path: Arc<PathBuf>,
    /// Opens a file in the directory; tests put a full disk here.
    pub(crate) open: fn(&Path) -> io::Result<File>,
}

impl SpillDir {
    pub(crate) fn new(path: PathBuf) -> SpillDir {
        SpillDir { path: Arc::new(path), open: |dir| disk::unnamed(dir, "run") }
    }
}

/// Where blocks are, and their first keys: of the blocks 0, `apart`, 2 x `apart`, .., each with those up to the next.
#[derive(Debug)]
struct BlockIndex {
    groups: Vec<Group>,
    keys: Vec<u8>,
    blocks: usize,
    apart: usize,
}

/// Some blocks that follow each other.
#[derive(Clone, Copy, Debug)]
struct Group {
    /// Start of the first in the file.
    offset: u64,
    /// Bytes of their entries.
    entry_bytes: u64,
    /// End of its first key among the keys.
    key_end: u64,
}

impl Default for BlockIndex {
    fn default() -> BlockIndex {
        BlockIndex { groups: Vec::new(), keys: Vec::new(), blocks: 0, apart: 1 }
    }
}

impl BlockIndex {
    /// A block begins with `key`. It is kept if it is its turn; an index of more than `bytes_max` is
    /// thinned out, as a run may be much longer than the budget, and a key as long as a block.
    fn begin_block(&mut self, offset: u64, key: &[u8], bytes_max: usize) {
        self.blocks += 1;
        if !(self.blocks - 1).is_multiple_of(self.apart) {
            return;
        }
        self.keys.extend_from_slice(key);
        let key_end = self.keys.len() as u64;
        self.groups.push(Group { offset, entry_bytes: 0, key_end });
        while self.bytes() > bytes_max && self.groups.len() > KEYS_MIN {
            self.thin_out();
        }
    }

    /// Joins each two groups.
    fn thin_out(&mut self) {
        let (groups, keys) = (std::mem::take(&mut self.groups), std::mem::take(&mut self.keys));
        self.apart *= 2;
        for pair in (0..groups.len()).step_by(2).map(|at| at..groups.len().min(at + 2)) {
            let start = pair.start.checked_sub(1).map_or(0, |before| groups[before].key_end);
            let first = groups[pair.start];
            self.keys.extend_from_slice(&keys[start as usize..first.key_end as usize]);
            let entry_bytes = groups[pair].iter().map(|group| group.entry_bytes).sum();
            let key_end = self.keys.len() as u64;
            self.groups.push(Group { entry_bytes, key_end, ..first });
        }
    }

    /// Bytes of entries of the block that began last.
    fn end_block(&mut self, entry_bytes: usize) {
        if let Some(group) = self.groups.last_mut() {
            group.entry_bytes += entry_bytes as u64;
        }
    }

    fn key(&self, number: usize) -> &[u8] {
        let start = number.checked_sub(1).map_or(0, |before| self.groups[before].key_end as usize);
        &self.keys[start..self.groups[number].key_end as usize]
    }

    /// The first group whose key is not less than `bound`; how many there are if none is.
    fn lower_bound(&self, bound: &[u8]) -> usize {
        let (mut low, mut high) = (0, self.groups.len());
        while low < high {
            let middle = low.midpoint(high);
            if self.key(middle) < bound { low = middle + 1 } else { high = middle }
        }
        low
    }

    fn shrink(&mut self) {
        self.groups.shrink_to_fit();
        self.keys.shrink_to_fit();
    }

    fn bytes(&self) -> usize {
        self.groups.len() * size_of::<Group>() + self.keys.len()
    }

    fn memory_bytes(&self) -> usize {
        self.groups.capacity() * size_of::<Group>() + self.keys.capacity()
    }
}

/// Where a reader of a spilled run is.
#[derive(Debug)]
pub(crate) struct Cursor {
    /// The next block, and its start in the file.
    block: usize,
    offset: u64,
    /// Bytes of it; None before its header was read.
    len: Option<usize>,
    /// The block behind the last that is read.
    end: usize,
}

impl Cursor {
    /// How many blocks are left.
    pub(crate) fn left(&self) -> usize {
        self.end.saturating_sub(self.block)
    }

    /// The block read last.
    pub(crate) fn last(&self) -> usize {
        self.block.saturating_sub(1)
    }
}

/// A finished spilled run.
#[derive(Debug)]
pub(crate) struct RunFile {
    dir: SpillDir,
    file: File,
    pub(crate) number: u64,
    /// Ordinal of its first run; entries with payload carry their own relative to it.
    pub(crate) ordinal: u64,
    pub(crate) entries: u64,
    /// Bytes of the entries.
    pub(crate) entry_bytes: u64,
    /// Bytes on disk.
    pub(crate) file_bytes: u64,
    /// Bytes of the longest entry.
    pub(crate) entry_bytes_max: usize,
    /// Bytes of the longest block on disk.
    block_bytes_max: usize,
    index: BlockIndex,
}

impl RunFile {
    /// Memory the run holds while nobody reads it.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.index.memory_bytes() + size_of::<RunFile>()
    }

    /// Keys of the run, each with the bytes of entries from it to the next.
    pub(crate) fn samples(&self) -> impl Iterator<Item = (Cow<'_, [u8]>, u64)> {
        let groups = self.index.groups.iter().enumerate();
        groups.map(|(number, group)| (self.index.key(number).into(), group.entry_bytes))
    }

    /// About how many entries are in so many blocks.
    pub(crate) fn keys_in(&self, blocks: usize) -> usize {
        self.entries as usize / self.index.blocks.max(1) * blocks
    }

    /// The blocks that can hold keys from `start` on and before `end`.
    pub(crate) fn blocks(&self, start: &[u8], end: Option<&[u8]>) -> Cursor {
        let BlockIndex { groups, blocks, apart, .. } = &self.index;
        // What comes before may end with keys from `start` on.
        let first = self.index.lower_bound(start).saturating_sub(1);
        let end = end.map_or(*blocks, |end| (self.index.lower_bound(end) * apart).min(*blocks));
        let offset = groups.get(first).map_or(self.file_bytes, |group| group.offset);
        Cursor { block: first * apart, offset, len: None, end }
    }

    /// How many of the last blocks of [`RunFile::blocks`] can hold keys that are not before the end.
    pub(crate) fn blocks_at_end(&self) -> usize {
        self.index.apart
    }

    /// Reads the next block as stored, with the header of the one behind it, and has `decode` make sense of it.
    pub(crate) fn read(
        &self,
        cursor: &mut Cursor,
        stored: &mut Vec<u8>,
        decode: impl FnOnce(&[u8]) -> std::result::Result<(), Damage>,
    ) -> Result<()> {
        let block = cursor.block;
        let (offset, rest) = (cursor.offset, self.file_bytes - cursor.offset);
        let read = |len: usize, stored: &mut Vec<u8>| {
            stored.resize(rest.min(len as u64) as usize, 0);
            self.file.read_exact_at(stored, offset).map_err(|source| Error::Read {
                dir: self.dir.path.to_path_buf(),
                run: self.number,
                block,
                source,
            })
        };
        // A damaged length is found by the checksum of what has that length.
        let len_of = |header: &[u8]| block_len(header).map(|len| len.min(self.block_bytes_max));
        let len = match cursor.len {
            Some(len) => len,
            None => {
                read(HEADER_LEN, stored)?;
                len_of(stored).unwrap_or_default()
            }
        };
        read(len + HEADER_LEN, stored)?;
        let len = len.min(stored.len());
        cursor.len = len_of(&stored[len..]);
        (cursor.block, cursor.offset) = (block + 1, offset + len as u64);
        stored.truncate(len);
        decode(stored)
            .map_err(|Damage { what, seen, expected }| self.corrupt(block, what, seen, expected))
    }

    /// The error for a block whose bytes do not make sense.
    pub(crate) fn corrupt(
        &self,
        block: usize,
        what: &'static str,
        seen: u64,
        expected: u64,
    ) -> Error {
        let (dir, run) = (self.dir.path.to_path_buf(), self.number);
        Error::Corrupt { dir, run, block, what, seen, expected }
    }
}

/// Writes a spilled run, entry by entry in ascending order.
pub(crate) struct RunWriter {
    run: RunFile,
    shape: EntryShape,
    blocks: BlockWriter,
    budget: Budget,
    /// Bytes the entries will take, for the message when the disk is full.
    bytes_needed: u64,
    /// The block being filled.
    block: Vec<u8>,
    block_count: usize,
    /// Stored blocks not yet written.
    pending: Vec<u8>,
    /// Time spent writing.
    write_time: Duration,
    order: OrderCheck,
}

impl RunWriter {
    pub(crate) fn create(
        dir: &SpillDir,
        number: u64,
        ordinal: u64,
        shape: EntryShape,
        budget: &Budget,
        bytes_needed: u64,
    ) -> Result<RunWriter> {
        let create = |source| Error::Create { dir: dir.path.to_path_buf(), run: number, source };
        let run = RunFile {
            dir: dir.clone(),
            file: (dir.open)(&dir.path).map_err(create)?,
            number,
            ordinal,
            entries: 0,
            entry_bytes: 0,
            file_bytes: 0,
            entry_bytes_max: 0,
            block_bytes_max: 0,
            index: BlockIndex::default(),
        };
        Ok(RunWriter {
            run,
            shape,
            blocks: BlockWriter::new(shape.stride()),
            budget: *budget,
            bytes_needed,
            block: Vec::with_capacity(budget.block_bytes),
            block_count: 0,
            pending: Vec::with_capacity(budget.write_bytes + budget.block_bytes),
            write_time: Duration::ZERO,
            order: OrderCheck::default(),
        })
    }

    /// Adds an entry, not less than the one before. Returns true if a block has ended.
    #[inline]
    pub(crate) fn push(&mut self, ordinal: u64, key: &[u8], payload: &[u8]) -> Result<bool> {
        self.order.note(key, ordinal);
        debug_assert!(ordinal >= self.run.ordinal || !self.shape.payload);
        // At most 3 numbers of 10 bytes stand before the key: enough to know the block will do.
        let ends =
            self.block.len() + key.len() + payload.len() + 30 > self.budget.block_entry_bytes;
        if ends {
            self.end_block()?;
        }
        if self.block.is_empty() {
            let bytes_max = self.budget.index_bytes_max(key.len());
            self.run.index.begin_block(self.run.file_bytes, key, bytes_max);
        }
        let start = self.block.len();
        // Bare keys come with 0, and store none.
        let ordinal_delta = ordinal.saturating_sub(self.run.ordinal);
        self.shape.encode(Some(ordinal_delta), key, payload, &mut self.block);
        self.run.entry_bytes_max = self.run.entry_bytes_max.max(self.block.len() - start);
        self.block_count += 1;
        Ok(ends)
    }

    fn end_block(&mut self) -> Result<()> {
        if self.block.is_empty() {
            return Ok(());
        }
        let start = self.pending.len();
        self.run.index.end_block(self.block.len());
        let zstd = self.budget.zstd_above_ns.is_some_and(|limit| self.write_ns() > limit);
        self.blocks
            .write(&self.block, self.block_count, zstd, &mut self.pending)
            .map_err(|source| self.failed(source))?;
        let stored = self.pending.len() - start;
        self.run.block_bytes_max = self.run.block_bytes_max.max(stored);
        self.run.file_bytes += stored as u64;
        self.run.entries += self.block_count as u64;
        self.run.entry_bytes += self.block.len() as u64;
        self.block.clear();
        self.block_count = 0;
        if self.pending.len() >= self.budget.write_bytes {
            self.flush()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        let start = Instant::now();
        self.run.file.write_all(&self.pending).map_err(|source| self.failed(source))?;
        self.write_time += start.elapsed();
        self.pending.clear();
        Ok(())
    }

    /// Nanoseconds a byte has taken to write so far; 0 before the page cache was given a fair
    /// amount.
    fn write_ns(&self) -> f64 {
        let written = self.run.file_bytes - self.pending.len() as u64;
        if written < WRITE_SAMPLE_BYTES {
            return 0.0;
        }
        self.write_time.as_nanos() as f64 / written as f64
    }

    fn failed(&self, source: io::Error) -> Error {
        Error::Write {
            dir: self.run.dir.path.to_path_buf(),
            run: self.run.number,
            bytes_needed: self.bytes_needed,
            bytes_written: self.run.file_bytes - self.pending.len() as u64,
            source,
        }
    }

    /// Writes what is left and gives the run.
    pub(crate) fn finish(mut self) -> Result<RunFile> {
        self.end_block()?;
        self.flush()?;
        let BlockIndex { groups, blocks, apart, .. } = &self.run.index;
        assert!(groups.len() == blocks.div_ceil(*apart));
        self.run.index.shrink();
        Ok(self.run)
    }
}
