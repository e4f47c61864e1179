//! A spilled run: blocks in a file without a name, and first keys of them in memory: of each, or of
//! every second, fourth, .., where keys are long.
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

/// Where every block is, and first keys of some.
#[derive(Debug)]
struct BlockIndex {
    /// Start of each block in the file, and the end of the last.
    offsets: Vec<u64>,
    /// Bytes of entries of each block.
    entry_bytes: Vec<u32>,
    /// First keys of the blocks 0, `apart`, 2 x `apart`, ..
    keys: Vec<u8>,
    key_ends: Vec<u64>,
    apart: usize,
}

impl Default for BlockIndex {
    fn default() -> BlockIndex {
        let (offsets, entry_bytes) = (Vec::new(), Vec::new());
        BlockIndex { offsets, entry_bytes, keys: Vec::new(), key_ends: Vec::new(), apart: 1 }
    }
}

impl BlockIndex {
    /// A block begins with `key`. It is kept if it is its turn; keys of more than `bytes_max` are
    /// thinned out, as a run may be much longer than the budget, and a key as long as a block.
    fn begin_block(&mut self, key: &[u8], bytes_max: usize) {
        if !self.entry_bytes.len().is_multiple_of(self.apart) {
            return;
        }
        self.push_key(key);
        while self.keys.len() > bytes_max && self.key_ends.len() > KEYS_MIN {
            let all = std::mem::take(self);
            (self.offsets, self.entry_bytes) = (all.offsets, all.entry_bytes);
            self.apart = 2 * all.apart;
            (0..all.key_ends.len()).step_by(2).for_each(|number| {
                let start = number.checked_sub(1).map_or(0, |previous| all.key_ends[previous]);
                self.push_key(&all.keys[start as usize..all.key_ends[number] as usize]);
            });
        }
    }

    fn push_key(&mut self, key: &[u8]) {
        self.keys.extend_from_slice(key);
        self.key_ends.push(self.keys.len() as u64);
    }

    fn key(&self, number: usize) -> &[u8] {
        let start = number.checked_sub(1).map_or(0, |previous| self.key_ends[previous] as usize);
        &self.keys[start..self.key_ends[number] as usize]
    }

    fn blocks(&self) -> usize {
        self.entry_bytes.len()
    }

    /// First of the blocks with keys whose key is not less than `bound`; how many blocks there are if
    /// none is.
    fn lower_bound(&self, bound: &[u8]) -> usize {
        let (mut low, mut high) = (0, self.key_ends.len());
        while low < high {
            let middle = low.midpoint(high);
            if self.key(middle) < bound { low = middle + 1 } else { high = middle }
        }
        (low * self.apart).min(self.blocks())
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

    /// Keys of the run, each with the bytes of entries from it to the next.
    pub(crate) fn samples(&self) -> impl Iterator<Item = (Cow<'_, [u8]>, u64)> {
        let parts = self.index.entry_bytes.chunks(self.index.apart).enumerate();
        parts.map(|(number, blocks)| {
            (self.index.key(number).into(), blocks.iter().copied().map(u64::from).sum())
        })
    }

    /// About how many entries are in some of the blocks.
    pub(crate) fn keys_in(&self, blocks: &Range<usize>) -> usize {
        self.entries as usize / self.index.blocks().max(1) * blocks.len()
    }

    /// The blocks that can hold keys from `start` on and before `end`.
    pub(crate) fn blocks(&self, start: &[u8], end: Option<&[u8]>) -> Range<usize> {
        // What comes before may end with keys from `start` on.
        let first = self.index.lower_bound(start).saturating_sub(self.index.apart);
        let last = end.map_or(self.index.blocks(), |end| self.index.lower_bound(end));
        first..last.max(first)
    }

    /// How many of the last blocks of [`RunFile::blocks`] can hold keys that are not before the end.
    pub(crate) fn blocks_at_end(&self) -> usize {
        self.index.apart
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
            let bytes_max = self.budget.index_keys_bytes_max(key.len());
            self.run.index.begin_block(key, bytes_max);
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
        let BlockIndex { offsets, key_ends, entry_bytes, apart, .. } = &self.run.index;
        assert!(offsets.len() == entry_bytes.len() + 1);
        assert!(key_ends.len() == entry_bytes.len().div_ceil(*apart));
        self.run.index.shrink();
        Ok(self.run)
    }
}
