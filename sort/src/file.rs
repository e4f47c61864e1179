//! A spilled run: blocks in a file without a name, and the first key of each in memory.
//!
//! The file is unlinked when made (mode 0600), so nothing stays behind however the process ends.

use std::borrow::Cow;
use std::io::{self, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use disk::File;

use crate::block::{BlockWriter, Damage};
use crate::budget::Budget;
use crate::entry::EntryShape;
use crate::error::{Error, Result};
use crate::order::OrderCheck;

/// Bytes of a run to be written before its writing speed is judged.
const WRITE_SAMPLE_BYTES: u64 = 4 << 20;

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

/// First key and place of every block.
#[derive(Debug, Default)]
struct BlockIndex {
    /// Start of each block in the file, and the end of the last.
    offsets: Vec<u64>,
    keys: Vec<u8>,
    key_ends: Vec<u64>,
    /// Bytes of entries of each block.
    entry_bytes: Vec<u32>,
}

impl BlockIndex {
    fn key(&self, block: usize) -> &[u8] {
        let start = block.checked_sub(1).map_or(0, |previous| self.key_ends[previous] as usize);
        &self.keys[start..self.key_ends[block] as usize]
    }

    fn len(&self) -> usize {
        self.key_ends.len()
    }

    /// First block from `low` on whose first key is not less than `bound`.
    fn lower_bound(&self, bound: &[u8]) -> usize {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low.midpoint(high);
            if self.key(middle) < bound { low = middle + 1 } else { high = middle }
        }
        low
    }

    fn shrink(&mut self) {
        self.offsets.shrink_to_fit();
        self.keys.shrink_to_fit();
        self.key_ends.shrink_to_fit();
        self.entry_bytes.shrink_to_fit();
    }

    fn memory_bytes(&self) -> usize {
        8 * self.offsets.capacity()
            + self.keys.capacity()
            + 8 * self.key_ends.capacity()
            + 4 * self.entry_bytes.capacity()
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
    index: BlockIndex,
}

impl RunFile {
    /// Memory the run holds while nobody reads it.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.index.memory_bytes() + size_of::<RunFile>()
    }

    /// First key of every block and the bytes of its entries.
    pub(crate) fn samples(&self) -> impl Iterator<Item = (Cow<'_, [u8]>, u64)> {
        (0..self.index.len())
            .map(|block| (self.index.key(block).into(), u64::from(self.index.entry_bytes[block])))
    }

    /// About how many entries are in some of the blocks.
    pub(crate) fn keys_in(&self, blocks: &Range<usize>) -> usize {
        self.entries as usize / self.index.len().max(1) * blocks.len()
    }

    /// The blocks that can hold keys from `start` on and before `end`.
    pub(crate) fn blocks(&self, start: &[u8], end: Option<&[u8]>) -> Range<usize> {
        // The block before may end with keys from `start` on.
        let first = self.index.lower_bound(start).saturating_sub(1);
        let last = end.map_or(self.index.len(), |end| self.index.lower_bound(end));
        first..last.max(first)
    }

    /// Reads a block as stored and has `decode` make sense of it.
    pub(crate) fn read(
        &self,
        block: usize,
        stored: &mut Vec<u8>,
        decode: impl FnOnce(&[u8]) -> std::result::Result<(), Damage>,
    ) -> Result<()> {
        let (start, end) = (self.index.offsets[block], self.index.offsets[block + 1]);
        stored.resize((end - start) as usize, 0);
        self.file.read_exact_at(stored, start).map_err(|source| Error::Read {
            dir: self.dir.path.to_path_buf(),
            run: self.number,
            block,
            source,
        })?;
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

    /// Adds an entry, not less than the one before. Whether a block has ended.
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
            self.run.index.keys.extend_from_slice(key);
            self.run.index.key_ends.push(self.run.index.keys.len() as u64);
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
        self.run.index.offsets.push(self.run.file_bytes);
        self.run.index.entry_bytes.push(self.block.len() as u32);
        let zstd = self.budget.zstd_above_ns.is_some_and(|limit| self.write_ns() > limit);
        self.blocks
            .write(&self.block, self.block_count, zstd, &mut self.pending)
            .map_err(|source| self.failed(source))?;
        self.run.file_bytes += (self.pending.len() - start) as u64;
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
        self.run.index.offsets.push(self.run.file_bytes);
        let BlockIndex { offsets, key_ends, entry_bytes, .. } = &self.run.index;
        assert!(offsets.len() == key_ends.len() + 1 && entry_bytes.len() == key_ends.len());
        self.run.index.shrink();
        Ok(self.run)
    }
}
