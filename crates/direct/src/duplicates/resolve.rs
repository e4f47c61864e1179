//! From the unique keys of all rows to the rows that lose.
//!
//! The memory for runs, while one thing after the other is needed:
//!
//! ```text
//! collect, groups   keys 5/8             losers or members 1/4   losers before, kept 1/16
//! replay            tables 1/4, losers 3/8      members 1/4      losers before, kept 1/16
//! build             all indexes 15/16                            losers kept 1/16
//! ```
//!
//! and besides the least that the sorts of losers and members need. Rows of the table that new ones
//! replace have 1/8 of it, which is the keys' less, and what they take of that is the indexes' less.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64};

use job::memory::Memory;
use job::options::OnDuplicate;
use job::pool;
use job::stop::Stop;
use server::Interrupt;
use sort::{EntryShape, RunStore, Runs, SortBuffer, StoreOptions};

use crate::duplicates::groups::{GroupsStage, KeptOrder, Member, Output};
use crate::duplicates::loser::Loser;
use crate::duplicates::losers::Losers;
use crate::duplicates::replay::replay;
use crate::key_ranges;
use crate::old::{OldSource, Replaced, Replacing};

/// Finds out who loses.
pub(crate) struct Resolver<'a> {
    pub(crate) on_duplicate: OnDuplicate,
    pub(crate) memory: &'a Memory,
    pub(crate) temp_dir: PathBuf,
    pub(crate) interrupt: &'a Interrupt,
    /// Numbers in the table of the unique indexes, ascending.
    pub(crate) indexes: Vec<u16>,
    /// Rows that the table has already.
    pub(crate) old: Option<OldSource<'a>>,
}

/// The losers and the order of the rows that stay.
pub(crate) struct Resolved {
    pub(crate) losers: Losers,
    /// Rows that the table had, and that do not stay.
    pub(crate) replaced: Replaced,
    /// True if the rows that stay seem to come in the order of the clustered index.
    pub(crate) is_in_order: bool,
}

/// Bytes that losers take while the table is built, out of the memory for runs.
pub(crate) fn kept_bytes(memory: &Memory) -> usize {
    memory.run_bytes / 16 + Losers::BUFFERS_BYTES
}

impl Resolver<'_> {
    /// Bytes that are not for the keys, out of the memory for runs.
    pub(crate) fn bytes_besides_keys(&self) -> usize {
        let old = self.old.map_or(0, |old| old.table.bytes(self.memory.threads));
        let kept = kept_bytes(self.memory) + self.replaced_bytes();
        self.sort_bytes(self.output_shape(), 4) + kept + old
    }

    /// Bytes that rows of the table may take that are replaced.
    fn replaced_bytes(&self) -> usize {
        let may_be_some = self.old.is_some() && self.on_duplicate.replaces();
        if may_be_some { self.memory.run_bytes / 8 } else { 0 }
    }

    fn output_shape(&self) -> EntryShape {
        if self.indexes.len() > 1 { Member::SHAPE } else { Loser::SHAPE }
    }

    /// Bytes for a sort: the least it needs and so many sixteenths.
    fn sort_bytes(&self, shape: EntryShape, sixteenths: usize) -> usize {
        RunStore::memory_bytes_min(&shape, self.memory.threads)
            + self.memory.run_bytes / 16 * sixteenths
    }

    /// Takes the keys, one sort a unique index, each entry a key and the place of its row.
    pub(crate) fn resolve(&self, keys: Vec<Runs>) -> Result<Resolved, Stop> {
        let output = self.store(self.output_shape(), 4)?;
        let replacing = Replacing::new(self.replaced_bytes());
        let (losers, is_in_order) = if self.indexes.len() <= 1 {
            let (_, is_in_order) = self.groups(&keys, Output::Losers(&output), &replacing)?;
            drop(keys);
            (output.finish()?, is_in_order)
        } else {
            let (groups, is_in_order) = self.groups(&keys, Output::Members(&output), &replacing)?;
            drop(keys);
            (self.replay(&output.finish()?, groups)?, is_in_order)
        };
        let memory_bytes_max = self.memory.run_bytes / 16;
        let losers = Losers::new(&losers, memory_bytes_max, &self.temp_dir, self.interrupt)?;
        Ok(Resolved { losers, replaced: replacing.finish(), is_in_order })
    }

    /// Finds rows of equal keys; gives the number of groups, and whether what stays is in order.
    fn groups(
        &self,
        keys: &[Runs],
        output: Output<'_>,
        replacing: &Replacing,
    ) -> Result<(u64, bool), Stop> {
        let stage = GroupsStage {
            runs: keys,
            indexes: &self.indexes,
            tasks: key_ranges::tasks(keys, None, self.memory.batch_bytes, None),
            old: self.old,
            replacing,
            output,
            on_duplicate: self.on_duplicate,
            entry_bytes: self.memory.entry_bytes,
            interrupt: self.interrupt,
            next_task: AtomicU64::new(0),
            next_run: AtomicU64::new(0),
            groups: AtomicU64::new(0),
            order: KeptOrder::default(),
            stop: AtomicBool::new(false),
        };
        pool::run(self.memory.threads, || stage.work(), || stage.close())?;
        Ok((stage.groups.into_inner(), stage.order.ended_kept()))
    }

    fn replay(&self, members: &Runs, groups: u64) -> Result<Runs, Stop> {
        let losers = self.store(Loser::SHAPE, 6)?;
        let mut buffer = SortBuffer::new(Loser::SHAPE);
        let mut run = 0;
        let mut sort = |buffer: &mut SortBuffer| {
            run += 1;
            losers.add(buffer.sort(run))
        };
        let tables_bytes = self.memory.run_bytes / 4;
        let (rule, folder) = (self.on_duplicate, &self.temp_dir);
        replay(members, groups, rule, tables_bytes, folder, self.interrupt, |loser| {
            loser.push(&mut buffer);
            if buffer.bytes() > self.memory.entry_bytes {
                sort(&mut buffer)?;
            }
            Ok(())
        })?;
        if !buffer.is_empty() {
            sort(&mut buffer)?;
        }
        Ok(losers.finish()?)
    }

    fn store(&self, shape: EntryShape, sixteenths: usize) -> Result<RunStore, Stop> {
        let options = StoreOptions {
            memory_bytes_max: self.sort_bytes(shape, sixteenths),
            temp_dir: self.temp_dir.clone(),
            threads: self.memory.threads,
            stop: self.interrupt.flag(),
        };
        Ok(RunStore::with_options(shape, options)?)
    }
}
