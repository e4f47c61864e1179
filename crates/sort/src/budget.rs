//! How a budget is divided. All sizes in bytes.
//!
//! ```text
//! memory_bytes_max
//! = reserve     fixed buffers: of every spill at once, or of every merge at once, whichever is more
//! + room        retained runs (capacities), indexes of spilled runs, and after `finish` a block
//!               of every spilled run for every merge
//! ```
//!
//! Spills and merges do not meet: a store spills until `finish`, and merges after. The room is
//! counted at run time ([`crate::store`]); the reserve is the sum below, and each buffer named
//! there is allocated with that capacity and never grows.

use crate::entry::EntryShape;
use crate::error::{Error, Result};
use crate::keys::key_bytes_max;

const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;

/// Memory of a zstd context at level 1 with a window of one block, and of one for reading. Measured
/// by `ZSTD_sizeof_CCtx` on 256 KiB: 1.3 MB, 0.16 MB; rounded up.
const ZSTD_WRITE_BYTES: usize = 1536 * KIB;
const ZSTD_READ_BYTES: usize = 256 * KIB;
/// Below this budget blocks are stored as they are: the contexts would be a good part of it.
const ZSTD_BUDGET_MIN: usize = 16 * MIB;
/// Nanoseconds a byte from which on a disk is slower at writing than zstd is at making a third of
/// records: compressing and reading back cost 1.8 ns a byte and save two thirds of it. Measured
/// on records of 145 bytes like lineitem's, on a machine whose page cache takes a byte in 0.3 ns
/// and whose disk takes it in 1.5: there, spilling as it is costs 64 ns an entry and compressed
/// 237, merging from disk 55 and 142.
const ZSTD_WRITE_NS: f64 = 2.8;
/// Bytes of a source in a merge besides its block.
const SOURCE_BYTES: usize = 512;

/// Sizes of the buffers of one store.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    pub(crate) memory_bytes_max: usize,
    /// Merges at once after `finish`.
    pub(crate) merges_max: usize,
    /// Spills at once before.
    pub(crate) spills_max: usize,
    /// Memory of a block that is being read or written.
    pub(crate) block_bytes: usize,
    /// Bytes of entries in a block, so that they take `block_bytes` in memory at most; a single
    /// longer entry makes a longer block.
    pub(crate) block_entry_bytes: usize,
    /// Blocks gathered for one write.
    pub(crate) write_bytes: usize,
    /// Entries a merge of bare keys sorts at once.
    pub(crate) batch_entries: usize,
    /// Write time, in nanoseconds a byte, above which entries are compressed; None: never. Bare
    /// keys are packed instead, which makes a third of them in 3 ns a key.
    pub(crate) zstd_above_ns: Option<f64>,
    pub(crate) reserve: usize,
}

impl Budget {
    pub(crate) fn new(shape: &EntryShape, memory_bytes_max: usize, threads: usize) -> Budget {
        let threads = threads.max(1);
        let memory = memory_bytes_max;
        let block_bytes = (memory / 512).clamp(4 * KIB, 256 * KIB);
        let batch_bytes = (memory / 64).clamp(8 * KIB, MIB);
        let mut budget = Budget {
            memory_bytes_max,
            merges_max: threads,
            // Spilling costs a worker a fifth of what producing the entries did, or less.
            spills_max: threads.div_ceil(4),
            block_bytes,
            block_entry_bytes: shape
                .stride()
                .map_or(block_bytes, |len| block_bytes / key_bytes_max(len).max(1) * len),
            write_bytes: (memory / 64).clamp(16 * KIB, MIB),
            batch_entries: shape.stride().map_or(0, |stride| (batch_bytes / (32 + stride)).max(64)),
            zstd_above_ns: (shape.stride().is_none() && memory >= ZSTD_BUDGET_MIN)
                .then_some(ZSTD_WRITE_NS),
            reserve: 0,
        };
        budget.reserve = (budget.spills_max * budget.spill_bytes(shape))
            .max(budget.merges_max * budget.merge_bytes(shape));
        budget
    }

    /// Fixed buffers of one merge: two arrays of words and one of keys, or none; one block as
    /// stored.
    fn merge_bytes(&self, shape: &EntryShape) -> usize {
        let batch = self.batch_entries * (32 + shape.stride().unwrap_or(0));
        batch + self.block_bytes + self.zstd_above_ns.map_or(0, |_| ZSTD_READ_BYTES)
    }

    /// Fixed buffers of one spill: a merge; the block being filled, packed or compressed, and as
    /// stored beyond the blocks gathered for writing; the index of the new run.
    fn spill_bytes(&self, shape: &EntryShape) -> usize {
        let zstd = self.zstd_above_ns.map_or(0, |_| ZSTD_WRITE_BYTES);
        // A run is of less than the budget; the arrays of its index double as they grow.
        let blocks = self.memory_bytes_max / self.block_bytes;
        let index = 2 * blocks * (shape.key_len.unwrap_or(64) + 32);
        self.merge_bytes(shape) + self.write_bytes + 3 * self.block_bytes + index + zstd
    }

    /// Bytes for retained runs, indexes and blocks being read.
    pub(crate) fn room(&self) -> usize {
        self.memory_bytes_max.saturating_sub(self.reserve)
    }

    /// Retained bytes from which on a caller starts to spill while others go on adding.
    pub(crate) fn spill_from(&self) -> usize {
        self.room() / 8 * 7
    }

    /// Bytes of runs that make one spilled run. With one thread nobody adds meanwhile.
    pub(crate) fn spill_share(&self) -> usize {
        let parts = if self.merges_max == 1 { 1 } else { self.spills_max + 1 };
        self.spill_from() / parts
    }

    /// Memory of a spilled run in one merge.
    pub(crate) fn source_bytes(&self, entry_bytes_max: usize) -> usize {
        self.block_bytes.max(entry_bytes_max) + SOURCE_BYTES
    }

    /// Bytes of the index of a spilled run, beyond which it is thinned out: with as many runs as merges
    /// can read at once, half of what these leave of the room.
    pub(crate) fn index_bytes_max(&self, key_bytes: usize) -> usize {
        self.merges_max * self.source_bytes(key_bytes) / 2
    }

    /// Spilled runs that all merges together can read at once with half of the room.
    pub(crate) fn files_max(&self, entry_bytes_max: usize) -> usize {
        (self.room() / 2 / (self.merges_max * self.source_bytes(entry_bytes_max))).max(1)
    }

    /// The least budget that passes [`Budget::check`]: buffers grow with the budget, so it is
    /// approached from below.
    pub(crate) fn memory_bytes_min(shape: &EntryShape, threads: usize) -> usize {
        let mut memory = 0;
        while let needed = 2 * Budget::new(shape, memory, threads).reserve
            && needed > memory
        {
            memory = needed;
        }
        memory
    }

    pub(crate) fn check(&self) -> Result<()> {
        let needed = 2 * self.reserve;
        if self.memory_bytes_max < needed {
            return Err(Error::BudgetTooSmall { given: self.memory_bytes_max, needed });
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    /// The example of the crate's documentation.
    #[test]
    fn the_documented_division_is_the_real_one() {
        let shape = EntryShape::fixed(20);
        let budget = Budget::new(&shape, 64 * MIB, 2);
        let kib = |bytes: usize| bytes.div_ceil(KIB);
        assert_eq!(kib(budget.block_bytes), 128);
        assert_eq!(budget.batch_entries, 20_164);
        let sizes = [budget.merge_bytes(&shape), budget.spill_bytes(&shape), budget.reserve];
        assert_eq!(sizes.map(kib), [1152, 2612, 2612]);
        assert_eq!(kib(budget.room()), 62_925);
        assert_eq!(kib(budget.spill_share()), 27_530);
        assert_eq!(budget.files_max(20), 122);
    }

    #[test]
    fn the_least_budget_is_enough_and_less_is_not() {
        for threads in [1, 2, 16] {
            for shape in [
                EntryShape::fixed(4),
                EntryShape::fixed(3000),
                EntryShape { key_len: None, tail_len: 0, payload: true },
            ] {
                let least = Budget::memory_bytes_min(&shape, threads);
                assert!(Budget::new(&shape, least, threads).check().is_ok());
                assert!(Budget::new(&shape, least - 1, threads).check().is_err());
            }
        }
    }

    #[test]
    fn usual_budgets_leave_most_for_runs() {
        for threads in [1, 2, 8, 16] {
            for shape in
                [EntryShape::fixed(20), EntryShape { key_len: None, tail_len: 0, payload: true }]
            {
                let budget = Budget::new(&shape, 256 * MIB, threads);
                assert!(budget.check().is_ok());
                assert!(budget.room() > 190 * MIB, "{budget:?}");
                assert!(budget.files_max(0) >= 20, "{budget:?}");
            }
        }
    }
}
