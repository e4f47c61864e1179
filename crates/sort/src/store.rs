//! Keeps sorted runs within a budget, spilling when it is used up.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use locks::{Condvar, Mutex, MutexGuard};

use crate::batch::BatchBuffers;
use crate::budget::Budget;
use crate::entry::EntryShape;
use crate::error::{Error, Result};
use crate::file::{RunFile, RunWriter, SpillDir};
use crate::merge::{Merge, MergeRuns, Merges};
use crate::range::{self, KeyRange};
use crate::run::MemoryRun;

/// Stores of this process, whose runs share the files that it may have open.
static STORES: AtomicUsize = AtomicUsize::new(0);
/// Part of these files that is for runs; the other is for inputs, connections and the rest.
const OPEN_FILES_SHARE: usize = 2;
/// Runs of a store that may be open in any case: two are merged into a third.
const FILES_MIN: usize = 2;

/// The resources of a store.
#[derive(Clone, Debug)]
pub struct StoreOptions {
    /// Bytes for retained runs and all buffers of spilling and merging. Kept strictly.
    pub memory_bytes_max: usize,
    /// Where spilled runs go. The default directory of the system is often a RAM disk: choose one
    /// on a disk.
    pub temp_dir: PathBuf,
    /// Threads that add runs, and merges open at once later. Default: the CPUs there are. Each
    /// takes a part of the memory for its merge.
    pub threads: usize,
    /// Set by whoever wants the work to end: what spills then fails soon. Default: never.
    pub stop: Arc<AtomicBool>,
}

/// The statistics of a store, for the report.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SortStats {
    /// Runs added that had entries.
    pub runs: u64,
    /// Entries added.
    pub entries: u64,
    /// Bytes of these entries.
    pub entry_bytes: u64,
    /// Runs written to disk, those of merges of spilled runs included.
    pub spilled_runs: u64,
    /// Bytes of their entries.
    pub spilled_entry_bytes: u64,
    /// Bytes they took on disk.
    pub spilled_file_bytes: u64,
    /// Merges of spilled runs into larger ones, because there were too many for one pass.
    pub premerges: u64,
    /// Time spent spilling, summed over threads.
    pub spill_time: Duration,
    /// Time callers waited for memory, summed over threads.
    pub wait_time: Duration,
    /// Most bytes ever counted against the budget, the fixed reserve included.
    pub memory_bytes_peak: usize,
}

/// Collects sorted runs from several threads; what does not fit the budget goes to disk.
///
/// When most of the room is taken, the caller who notices merges a part of the runs into one
/// spilled run; others go on adding and wait only when nothing is left.
#[derive(Debug)]
pub struct RunStore {
    shape: EntryShape,
    pub(crate) budget: Budget,
    pub(crate) dir: SpillDir,
    stop: Arc<AtomicBool>,
    state: Mutex<State>,
    /// Memory came free, or a spill failed.
    changed: Condvar,
    counted: Counted,
}

/// One of [`STORES`], until its runs are merged.
#[derive(Debug)]
struct Counted;

impl Counted {
    fn new() -> Counted {
        STORES.fetch_add(1, Ordering::Relaxed);
        Counted
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        STORES.fetch_sub(1, Ordering::Relaxed);
    }
}

#[derive(Debug, Default)]
struct State {
    /// Runs nobody is spilling.
    idle: Vec<MemoryRun>,
    idle_bytes: usize,
    files: Vec<RunFile>,
    /// Bytes taken of the room: idle runs, runs being spilled, indexes, blocks of a premerge.
    used: usize,
    spilling: usize,
    next_file: u64,
    entry_bytes_max: usize,
    /// Text of the first failure.
    failed: Option<String>,
    stats: SortStats,
}

impl RunStore {
    /// A store for as many threads as there are CPUs; see [`RunStore::with_options`].
    ///
    /// Errors: the budget is too small for the buffers of a merge.
    pub fn new(
        shape: EntryShape,
        memory_bytes_max: usize,
        temp_dir: impl Into<PathBuf>,
    ) -> Result<RunStore> {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let temp_dir = temp_dir.into();
        let stop = Arc::default();
        RunStore::with_options(shape, StoreOptions { memory_bytes_max, temp_dir, threads, stop })
    }

    /// The least budget, in bytes, of a store of this shape; with long entries it may need more
    /// when it ends.
    pub fn memory_bytes_min(shape: &EntryShape, threads: usize) -> usize {
        Budget::memory_bytes_min(shape, threads)
    }

    /// A store. Nothing is opened before the first spill.
    ///
    /// Errors: the budget is too small for the buffers of a merge.
    pub fn with_options(shape: EntryShape, options: StoreOptions) -> Result<RunStore> {
        let budget = Budget::new(&shape, options.memory_bytes_max, options.threads);
        budget.check()?;
        Ok(RunStore {
            shape,
            budget,
            dir: SpillDir::new(options.temp_dir),
            stop: options.stop,
            state: Mutex::default(),
            changed: Condvar::new(),
            counted: Counted::new(),
        })
    }

    /// Takes a run. May spill, and waits while other threads' spills hold all the memory.
    ///
    /// A run larger than the room is written straight to disk. Errors: a spill failed; after that
    /// every call fails.
    pub fn add(&self, run: MemoryRun) -> Result<()> {
        assert!(run.shape == self.shape, "the run has the store's shape");
        if run.is_empty() {
            return Ok(());
        }
        let bytes = run.memory_bytes();
        let mut state = self.state.lock();
        state.stats.runs += 1;
        state.stats.entries += run.count as u64;
        state.stats.entry_bytes += run.entry_bytes() as u64;
        state.entry_bytes_max = state.entry_bytes_max.max(run.entry_bytes_max);
        loop {
            if let Some(first) = &state.failed {
                return Err(Error::Stopped { first: first.clone() });
            }
            if state.used + bytes <= self.budget.room() {
                break;
            }
            if state.spilling == self.budget.spills_max {
                state = self.wait(state);
            } else if state.idle.is_empty() && state.spilling == 0 {
                return self.spill(state, vec![run], 0).map(drop);
            } else if state.idle.is_empty() {
                state = self.wait(state);
            } else {
                let runs = state.take(self.budget.spill_share());
                state = self.spill_taken(state, runs)?;
            }
        }
        state.put(run, bytes, self.budget.reserve);
        let spill = state.used > self.budget.spill_from()
            && state.spilling < self.budget.spills_max
            && state.idle_bytes >= self.budget.spill_share().min(self.budget.spill_from() / 2);
        if spill {
            let runs = state.take(self.budget.spill_share());
            drop(self.spill_taken(state, runs)?);
        }
        Ok(())
    }

    /// Lends memory to somebody who needs it for a while, and spills runs for it.
    ///
    /// Lends what is there when even without runs it is less than `bytes`. Errors: a spill
    /// failed.
    pub fn lend(&self, bytes: usize) -> Result<Loan<'_>> {
        let bytes = bytes.min(self.budget.room());
        let mut state = self.state.lock();
        while state.used + bytes > self.budget.room() {
            if let Some(first) = &state.failed {
                return Err(Error::Stopped { first: first.clone() });
            }
            if !state.idle.is_empty() && state.spilling < self.budget.spills_max {
                let runs = state.take(self.budget.spill_share());
                state = self.spill_taken(state, runs)?;
            } else if state.spilling > 0 {
                state = self.wait(state);
            } else {
                break;
            }
        }
        let bytes = bytes.min(self.budget.room().saturating_sub(state.used));
        state.used += bytes;
        Ok(Loan { store: self, bytes })
    }

    /// Memory that the store was given.
    pub fn memory_bytes_max(&self) -> usize {
        self.budget.memory_bytes_max
    }

    /// Ends the adding. Spills what would leave too little memory for merging.
    ///
    /// Errors: a spill failed, now or before; the budget cannot hold one block of every run.
    pub fn finish(self) -> Result<Runs> {
        let mut state = self.state.lock();
        if let Some(first) = &state.failed {
            return Err(Error::Stopped { first: first.clone() });
        }
        loop {
            debug_assert!(state.spilling == 0, "nobody adds any more");
            let source_bytes = self.budget.source_bytes(state.entry_bytes_max);
            let merging = self.budget.merges_max * source_bytes * state.files.len();
            if state.used + merging <= self.budget.room() {
                state.note_peak(self.budget.reserve + merging);
                break;
            }
            if !state.idle.is_empty() {
                let runs = state.take(self.budget.spill_share());
                state = self.spill_taken(state, runs)?;
            } else if state.files.len() > 1 {
                let free = self.budget.room().saturating_sub(state.used);
                let before = state.files.len();
                state = self.premerge(state, free)?;
                if state.files.len() == before {
                    return Err(self.too_small(&state));
                }
            } else {
                return Err(self.too_small(&state));
            }
        }
        drop(state);
        let state = self.state.into_inner();
        Ok(Runs {
            shape: self.shape,
            budget: self.budget,
            memory: state.idle,
            files: state.files,
            stats: state.stats,
            merges: Mutex::default(),
            _counted: self.counted,
        })
    }

    /// Spilled runs beyond which some are merged into one.
    fn files_max(&self, entry_bytes_max: usize) -> usize {
        let stores = STORES.load(Ordering::Relaxed).max(1);
        let open = disk::open_files_max() / OPEN_FILES_SHARE / stores;
        self.budget.files_max(entry_bytes_max).min(open.max(FILES_MIN))
    }

    fn too_small(&self, state: &State) -> Error {
        let merges = self.budget.merges_max;
        let sources = 2 * merges.max(2) * self.budget.source_bytes(state.entry_bytes_max);
        let needed = self.budget.reserve + state.used + sources;
        Error::BudgetTooSmall { given: self.budget.memory_bytes_max, needed }
    }

    /// Spills runs taken from the idle ones, then merges spilled runs if they have become too
    /// many, in the memory just freed.
    fn spill_taken<'a>(
        &'a self,
        state: MutexGuard<'a, State>,
        runs: Vec<MemoryRun>,
    ) -> Result<MutexGuard<'a, State>> {
        let bytes = runs.iter().map(MemoryRun::memory_bytes).sum();
        let mut state = self.spill(state, runs, bytes)?;
        if state.files.len() > self.files_max(state.entry_bytes_max) {
            let free = self.budget.room().saturating_sub(state.used).min(bytes);
            state = self.premerge(state, free)?;
        }
        Ok(state)
    }

    /// Writes runs as one. `bytes` of the room are given back.
    fn spill<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        runs: Vec<MemoryRun>,
        bytes: usize,
    ) -> Result<MutexGuard<'a, State>> {
        let number = state.begin_file();
        drop(state);
        let spilling = Spilling { store: self, bytes, start: Instant::now() };
        let spilled = self.write_run(number, &runs, &[]);
        drop(runs);
        spilling.end(spilled)
    }

    /// Merges the smallest spilled runs into one, as many as `free` bytes of the room allow.
    ///
    /// A run larger than all before it together is left alone: then each byte is written as often as runs double,
    /// not with every merge. Two of three runs at most are merged: the smaller ones, which have two thirds of the
    /// bytes at most, are there twice for a while.
    fn premerge<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        free: usize,
    ) -> Result<MutexGuard<'a, State>> {
        if state.spilling == self.budget.spills_max {
            return Ok(state);
        }
        let source_bytes = self.budget.source_bytes(state.entry_bytes_max);
        state.files.sort_unstable_by_key(|run| run.file_bytes);
        let most = (2 * state.files.len()).div_ceil(3);
        let (mut bytes, mut file_bytes, mut count) = (0, 0, 0);
        for run in &state.files[..most] {
            // A block, and as much for the new index as the old one has.
            let more = source_bytes + run.memory_bytes();
            if bytes + more > free || (count >= 2 && run.file_bytes > file_bytes) {
                break;
            }
            bytes += more;
            file_bytes += run.file_bytes;
            count += 1;
        }
        if count < 2 {
            return Ok(state);
        }
        let files: Vec<RunFile> = state.files.drain(..count).collect();
        let indexes: usize = files.iter().map(RunFile::memory_bytes).sum();
        state.used += bytes;
        state.note_peak(self.budget.reserve);
        state.stats.premerges += 1;
        let number = state.begin_file();
        drop(state);
        let spilling = Spilling { store: self, bytes: bytes + indexes, start: Instant::now() };
        let merged = self.write_run(number, &[], &files);
        drop(files);
        spilling.end(merged)
    }

    fn write_run(&self, number: u64, runs: &[MemoryRun], files: &[RunFile]) -> Result<RunFile> {
        let ordinals =
            runs.iter().map(|run| run.ordinal).chain(files.iter().map(|run| run.ordinal));
        let ordinal = ordinals.min().unwrap_or(0);
        let bytes = runs.iter().map(|run| run.entry_bytes() as u64).sum::<u64>()
            + files.iter().map(|run| run.entry_bytes).sum::<u64>();
        let mut writer =
            RunWriter::create(&self.dir, number, ordinal, self.shape, &self.budget, bytes)?;
        let runs = MergeRuns { memory: runs, files };
        let mut merge =
            Merge::new(self.shape, &self.budget, runs, &[], None, BatchBuffers::default());
        while let Some((ordinal, key, payload)) = merge.next_with_ordinal()? {
            // Looked at by the block: entries are many.
            if writer.push(ordinal, key, payload)? && self.stop.load(Ordering::Relaxed) {
                return Err(Error::Stopped { first: "a stop was requested".to_owned() });
            }
        }
        writer.finish()
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        let start = Instant::now();
        let mut state = self.changed.wait(state);
        state.stats.wait_time += start.elapsed();
        state
    }
}

/// Memory that is somebody else's until this is dropped.
#[derive(Debug)]
pub struct Loan<'a> {
    store: &'a RunStore,
    bytes: usize,
}

impl Loan<'_> {
    /// How much it is.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Loan<'_> {
    fn drop(&mut self) {
        let mut state = self.store.state.lock();
        debug_assert!(state.used >= self.bytes, "only borrowed memory is returned");
        state.used -= self.bytes;
        drop(state);
        self.store.changed.notify_all();
    }
}

/// A file being written, and the room its sources hold until it is.
struct Spilling<'a> {
    store: &'a RunStore,
    bytes: usize,
    start: Instant,
}

impl<'a> Spilling<'a> {
    /// Counts the file in and gives the room back; or remembers the failure.
    fn end(self, run: Result<RunFile>) -> Result<MutexGuard<'a, State>> {
        let (store, mut state) = (self.store, self.store.state.lock());
        self.release(&mut state);
        std::mem::forget(self);
        match run {
            Ok(run) => {
                state.put_file(run, store.budget.reserve);
                Ok(state)
            }
            Err(error) => {
                state.failed.get_or_insert_with(|| error.to_string());
                Err(error)
            }
        }
    }

    fn release(&self, state: &mut State) {
        debug_assert!(state.spilling > 0 && state.used >= self.bytes, "a spill is counted");
        state.spilling -= 1;
        state.used -= self.bytes;
        state.stats.spill_time += self.start.elapsed();
        self.store.changed.notify_all();
    }
}

/// A thread that panics while it spills must not leave the others waiting.
impl Drop for Spilling<'_> {
    fn drop(&mut self) {
        let mut state = self.store.state.lock();
        self.release(&mut state);
        state.failed.get_or_insert_with(|| "a thread panicked while it spilled".to_owned());
    }
}

impl State {
    fn put_file(&mut self, run: RunFile, reserve: usize) {
        self.used += run.memory_bytes();
        self.note_peak(reserve);
        self.stats.spilled_runs += 1;
        self.stats.spilled_entry_bytes += run.entry_bytes;
        self.stats.spilled_file_bytes += run.file_bytes;
        self.files.push(run);
    }

    fn put(&mut self, run: MemoryRun, bytes: usize, reserve: usize) {
        self.used += bytes;
        self.idle_bytes += bytes;
        self.idle.push(run);
        self.note_peak(reserve);
    }

    /// Takes runs of `bytes` or a little more, or all there are, the oldest first.
    fn take(&mut self, bytes: usize) -> Vec<MemoryRun> {
        let mut taken = 0;
        let count = self
            .idle
            .iter()
            .take_while(|run| {
                let more = taken < bytes;
                taken += run.memory_bytes();
                more
            })
            .count();
        let runs: Vec<MemoryRun> = self.idle.drain(..count).collect();
        self.idle_bytes -= runs.iter().map(MemoryRun::memory_bytes).sum::<usize>();
        debug_assert!(
            self.idle_bytes <= self.used && self.idle.is_empty() == (self.idle_bytes == 0)
        );
        runs
    }

    fn begin_file(&mut self) -> u64 {
        self.spilling += 1;
        self.next_file += 1;
        self.next_file - 1
    }

    fn note_peak(&mut self, besides: usize) {
        self.stats.memory_bytes_peak = self.stats.memory_bytes_peak.max(self.used + besides);
    }
}

/// All runs of a sort, ready to be merged; threads may merge different ranges at once.
#[derive(Debug)]
pub struct Runs {
    shape: EntryShape,
    budget: Budget,
    memory: Vec<MemoryRun>,
    files: Vec<RunFile>,
    stats: SortStats,
    merges: Mutex<Merges>,
    _counted: Counted,
}

impl Runs {
    /// Merges the entries of a range.
    ///
    /// Errors: `StoreOptions::threads` merges are open already.
    pub fn merge<'a>(&'a self, range: &'a KeyRange) -> Result<Merge<'a>> {
        let mut merges = self.merges.lock();
        if merges.open == self.budget.merges_max {
            return Err(Error::TooManyMerges { merges_max: self.budget.merges_max });
        }
        merges.open += 1;
        let buffers = merges.buffers.pop().unwrap_or_default();
        drop(merges);
        let (start, end) = (&range.start, range.end.as_deref());
        let merge = Merge::new(self.shape, &self.budget, self.all(), start, end, buffers);
        Ok(merge.among(&self.merges))
    }

    /// Cuts the keys into ranges of about `bytes_per_range` bytes of entries, ascending.
    ///
    /// Entries of equal keys, or equal but for the last [`EntryShape::tail_len`] bytes, are in one
    /// range, which can make it larger. There is at least one range, also if there are no entries.
    /// Costs a sort of 64 keys per range.
    pub fn ranges(&self, bytes_per_range: usize) -> Vec<KeyRange> {
        range::cut(self.shape, self.all(), bytes_per_range)
    }

    fn all(&self) -> MergeRuns<'_> {
        MergeRuns { memory: &self.memory, files: &self.files }
    }

    /// Number of entries.
    pub fn entries(&self) -> u64 {
        self.stats.entries
    }

    /// The statistics so far.
    pub fn stats(&self) -> &SortStats {
        &self.stats
    }
}
