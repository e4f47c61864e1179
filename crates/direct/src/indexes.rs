//! Second stage: sorted runs to the remaining indexes.
//!
//! The keys of each index are cut into ranges. Workers merge a range each into
//! leaf pages; what numbers the pages goes in range order, so an index comes out
//! as if one thread had built it. Neighbours are compared on the way: this is
//! where duplicates of unique keys are found.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use encode::binding::Binding;
use encode::entry::{Rebuilder, unpack};
use innodb::ids::PAGE_SIZE;
use innodb::leaf::LeafBatch;
use innodb::tree::IndexBuilder;
use job::failpoint;
use job::memory::Memory;
use job::progress::{Progress, Snapshot, Stage};
use job::stop::Stop;
use job::turn::Turnstile;
use server::Interrupt;
use sort::{Merge, Runs};

use crate::key_ranges::Task;
use crate::key_taps::{KeyLog, KeyTap, Tapped};
use crate::off_page::Copier;
use crate::old::{OldEntries, OldSource};
use crate::pages::PageSink;
use crate::unique_part::UniquePart;

/// Old pages without a new entry that are taken entry by entry before the next is taken as it is, however
/// little is on the open page that it closes: one in so many does not matter.
const PAGES_BEFORE_WHOLE: usize = 16;

/// The inputs of the stage, shared by its workers.
pub(crate) struct IndexesStage<'a> {
    pub(crate) binding: &'a Binding,
    pub(crate) memory: &'a Memory,
    /// One an index to build, as the stores of the first stage.
    pub(crate) runs: &'a [Runs],
    /// Number in the table of the index that `runs[0]` belongs to: 0 if the clustered one is sorted.
    pub(crate) first_index: usize,
    pub(crate) tasks: Vec<Task>,
    /// The table's rows so far, if it is to keep them; all indexes are merged then.
    pub(crate) old: Option<OldSource<'a>>,
    /// One, or one a partition; as many as there are old files, if there are any.
    pub(crate) sinks: &'a [PageSink<'a>],
    /// Bytes before each key, which say whose it is.
    pub(crate) prefix_bytes: usize,
    pub(crate) commit: Turnstile<Indexes>,
    /// Keys of each index that are taken down.
    pub(crate) taps: Vec<Vec<KeyTap>>,
    pub(crate) progress: &'a dyn Progress,
    /// Ends the stage early.
    pub(crate) interrupt: &'a Interrupt,
    pub(crate) rows: u64,
    /// For the root of the clustered index, if it is built here.
    pub(crate) last_auto_increment: u64,
    /// Bytes of all entries.
    pub(crate) total_bytes: u64,
    pub(crate) next_task: AtomicU64,
    pub(crate) done_bytes: AtomicU64,
    pub(crate) stop: AtomicBool,
}

/// State that is passed from range to range.
pub(crate) struct Indexes {
    /// One a run, of the first tablespace, then of the next.
    pub(crate) states: Vec<IndexState>,
    pub(crate) keys: KeyLog,
}

/// An index that is being built.
pub(crate) struct IndexState {
    /// Taken when the last range is in.
    pub(crate) builder: Option<IndexBuilder>,
    /// Unique part of the last entry that has one.
    pub(crate) last_unique: Vec<u8>,
}

impl IndexesStage<'_> {
    /// Runs one worker until no range is left, or to the first failure of any.
    pub(crate) fn work(&self) -> Result<(), Stop> {
        failpoint::hit("thread.indexes");
        let mut worker: Option<Worker<'_>> = None;
        while !self.stop.load(Ordering::Relaxed) {
            let ticket = self.next_task.fetch_add(1, Ordering::Relaxed);
            let Some(task) = self.tasks.get(ticket as usize) else { return Ok(()) };
            let worker = match &mut worker {
                Some(worker) if (worker.slot, worker.space) == (task.slot, task.space) => worker,
                other => other.insert(self.worker(task.slot, task.space)),
            };
            worker.take(ticket, task)?;
        }
        Err(Stop::Abandoned)
    }

    /// Lets no worker begin or wait any more.
    pub(crate) fn close(&self) {
        self.stop.store(true, Ordering::Relaxed);
        self.commit.close();
    }

    fn worker(&self, slot: usize, space: usize) -> Worker<'_> {
        let index = self.first_index + slot;
        let secondary = self.binding.secondary(index);
        let old = self.old.map(|old| {
            let file = &old.table.files[space].space;
            let copier = (index == 0).then(|| Copier::new(&self.sinks[space], file));
            old.entries(space, index, copier)
        });
        Worker {
            old,
            after_old: false,
            stage: self,
            slot,
            space,
            batch: self.sinks[space].batch(index, self.memory.batch_bytes),
            rebuilder: secondary.map(Rebuilder::new),
            unique: UniquePart::of(self.binding, index),
            first_unique: Vec::new(),
            last_unique: Vec::new(),
            tapped: Tapped::new(self.taps[slot].len()),
        }
    }
}

struct Worker<'a> {
    stage: &'a IndexesStage<'a>,
    slot: usize,
    /// The tablespace that it builds.
    space: usize,
    batch: LeafBatch,
    /// None for the clustered index, whose entries carry their record.
    rebuilder: Option<Rebuilder>,
    unique: UniquePart,
    first_unique: Vec<u8>,
    last_unique: Vec<u8>,
    tapped: Tapped,
    /// Entries that the table has already.
    old: Option<OldEntries<'a>>,
    /// True if the last entry was one of these.
    after_old: bool,
}

impl Worker<'_> {
    /// Merges one range into pages.
    fn take(&mut self, ticket: u64, task: &Task) -> Result<(), Stop> {
        self.first_unique.clear();
        self.last_unique.clear();
        self.after_old = false;
        let merge = self.stage.runs[task.slot].merge(&task.range)?;
        let old = self.old.take();
        let bytes = match (old, &task.old) {
            (Some(mut old), Some(there)) => {
                old.begin(&there.range, there.leaves.clone());
                let bytes = self.take_both(ticket, merge, &mut old)?;
                self.old = Some(old);
                bytes
            }
            _ => self.take_new(ticket, merge)?,
        };
        self.stage.done_bytes.fetch_add(bytes, Ordering::Relaxed);
        hand_over(self, ticket, Some(task))
    }

    fn take_new(&mut self, ticket: u64, mut new: Merge<'_>) -> Result<u64, Stop> {
        let mut bytes = 0;
        while let Some((key, payload)) = new.next()? {
            self.push(&key[self.stage.prefix_bytes..], payload)?;
            bytes += (key.len() + payload.len()) as u64;
            self.relieve(ticket)?;
        }
        Ok(bytes)
    }

    /// Merges new entries with old ones: a page of these at a time, which may stay what it is, and record
    /// by record only where a new one falls between.
    fn take_both(
        &mut self,
        ticket: u64,
        new: Merge<'_>,
        old: &mut OldEntries<'_>,
    ) -> Result<u64, Stop> {
        let mut new = Ahead::of(new, self.stage.prefix_bytes)?;
        let (mut bytes, mut untouched) = (0, 0);
        while old.advance()? {
            let is_touched = new.is_there && new.key <= old.last_key().bytes;
            untouched = if is_touched { 0 } else { untouched + 1 };
            let mut at = 0;
            if self.may_take_page(untouched) && old.may_stay(&self.batch) {
                self.push_page(old)?;
                at = old.len();
                self.relieve(ticket)?;
            }
            while at < old.len() {
                let is_between = new.is_there && new.key <= old.last_key().bytes;
                let next = if is_between { old.position(at, &new.key)? } else { old.len() };
                self.push_old(old, at..next)?;
                if is_between {
                    let is_same = old.key(next)?.bytes == new.key;
                    bytes += new.bytes();
                    self.push_unless(is_same, &new)?;
                    new.advance()?;
                }
                at = next;
                self.relieve(ticket)?;
            }
            bytes += PAGE_SIZE as u64;
        }
        while new.is_there {
            self.push(&new.key, &new.payload)?;
            bytes += new.bytes();
            new.advance()?;
            self.relieve(ticket)?;
        }
        Ok(bytes)
    }

    /// Pushes a new entry. One whose whole key an old one has is a duplicate: where this index does not
    /// say so, the clustered one does.
    fn push_unless(&mut self, is_same: bool, new: &Ahead<'_>) -> Result<(), Stop> {
        if !is_same {
            return self.push(&new.key, &new.payload);
        }
        match self.unique.cut(&new.key, &new.payload) {
            [] => Ok(()),
            unique => Err(self.duplicate(unique)),
        }
    }

    #[inline]
    fn push(&mut self, key: &[u8], payload: &[u8]) -> Result<(), Stop> {
        let unique = self.unique.cut(key, payload);
        if !unique.is_empty() {
            if unique == self.last_unique {
                return Err(self.duplicate(unique));
            }
            if self.first_unique.is_empty() {
                self.first_unique.extend_from_slice(unique);
            }
            self.last_unique.clear();
            self.last_unique.extend_from_slice(unique);
        }
        self.after_old = false;
        let taps = &self.stage.taps[self.slot];
        if !taps.is_empty() {
            self.tapped.push(taps, key);
        }
        let record = match &mut self.rebuilder {
            Some(rebuilder) => rebuilder.record(key, payload),
            None => unpack(payload).1,
        };
        Ok(self.batch.push(record.bytes, record.origin)?)
    }

    /// True if the current page, the last of so many without a new entry, may be taken as it is:
    /// the open one is closed for it.
    fn may_take_page(&self, untouched: usize) -> bool {
        untouched > 0 && (self.batch.may_close() || untouched > PAGES_BEFORE_WHOLE)
    }

    /// Pushes a page of old entries as it is.
    fn push_page(&mut self, old: &mut OldEntries<'_>) -> Result<(), Stop> {
        self.note_old(old, 0..old.len())?;
        let (page, first) = old.page()?;
        Ok(self.batch.push_page(page, first)?)
    }

    /// Pushes old entries of a page.
    fn push_old(&mut self, old: &mut OldEntries<'_>, range: Range<usize>) -> Result<(), Stop> {
        if range.is_empty() {
            return Ok(());
        }
        self.note_old(old, range.clone())?;
        for at in range {
            let (page, record) = old.record(at)?;
            self.batch.push(record.bytes(page), record.origin())?;
        }
        Ok(())
    }

    /// Compares old entries with those before. Among themselves they differ.
    fn note_old(&mut self, old: &mut OldEntries<'_>, range: Range<usize>) -> Result<(), Stop> {
        if old.is_unique() {
            if !self.after_old || self.first_unique.is_empty() {
                let unique = old.key(range.start)?.unique();
                if !self.after_old && !unique.is_empty() && unique == self.last_unique {
                    return Err(self.duplicate(unique));
                }
                if self.first_unique.is_empty() {
                    self.first_unique.extend_from_slice(unique);
                }
            }
            let unique = old.key(range.end - 1)?.unique();
            if !unique.is_empty() {
                self.last_unique.clear();
                self.last_unique.extend_from_slice(unique);
            }
        }
        self.after_old = true;
        Ok(())
    }

    /// Hands on in mid-range what has reached its share of memory.
    #[inline]
    fn relieve(&mut self, ticket: u64) -> Result<(), Stop> {
        match self.batch.bytes() > self.stage.memory.batch_bytes {
            true => hand_over(self, ticket, None),
            false => Ok(()),
        }
    }

    fn duplicate(&self, key: &[u8]) -> Stop {
        Stop::duplicate(self.stage.first_index + self.slot, key)
    }
}

/// New entries, of which the next is looked at before it is taken.
struct Ahead<'m> {
    merge: Merge<'m>,
    /// Bytes before each key, which are left out.
    prefix_bytes: usize,
    key: Vec<u8>,
    payload: Vec<u8>,
    is_there: bool,
}

impl<'m> Ahead<'m> {
    fn of(merge: Merge<'m>, prefix_bytes: usize) -> Result<Ahead<'m>, Stop> {
        let (key, payload) = (Vec::new(), Vec::new());
        let mut ahead = Ahead { merge, prefix_bytes, key, payload, is_there: false };
        ahead.advance()?;
        Ok(ahead)
    }

    fn advance(&mut self) -> Result<(), Stop> {
        let next = self.merge.next()?;
        self.is_there = next.is_some();
        if let Some((key, payload)) = next {
            self.key.clear();
            self.key.extend_from_slice(&key[self.prefix_bytes..]);
            self.payload.clear();
            self.payload.extend_from_slice(payload);
        }
        Ok(())
    }

    fn bytes(&self) -> u64 {
        (self.key.len() + self.payload.len()) as u64
    }
}

/// Numbers the pages built so far and writes them; at the end of a range lets the next pass, and
/// at the end of an index finishes it.
fn hand_over(worker: &mut Worker<'_>, ticket: u64, ended: Option<&Task>) -> Result<(), Stop> {
    let stage = worker.stage;
    let index = stage.first_index + worker.slot;
    stage.interrupt.check()?;
    let mut turn = stage.commit.wait(ticket)?;
    let Indexes { states, keys } = turn.state();
    keys.take(index, &mut worker.tapped)?;
    let state = &mut states[worker.space * stage.runs.len() + worker.slot];
    let sink = &stage.sinks[worker.space];
    if !worker.first_unique.is_empty() {
        if state.last_unique == worker.first_unique {
            return Err(worker.duplicate(&worker.first_unique));
        }
        state.last_unique.clone_from(&worker.last_unique);
        worker.first_unique.clear();
    }
    let last = ended.is_some();
    let mut appended = None;
    if let (Some(builder), false) = (&mut state.builder, worker.batch.is_empty()) {
        appended = Some(sink.number(index, builder, &mut worker.batch, last)?);
    }
    let finished = match ended {
        Some(task) if task.is_last => state.builder.take(),
        _ => None,
    };
    // The last pages are numbered in their turn too, so that runs of pages stay in index order.
    let finished = finished
        .map(|builder| sink.finish(index, builder, stage.last_auto_increment))
        .transpose()?;
    if last {
        turn.pass();
    } else {
        drop(turn);
    }
    if let Some(appended) = appended {
        sink.write(appended)?;
    }
    if let Some(finished) = finished {
        sink.write_finished(finished)?;
    }
    let (done, total) = (stage.done_bytes.load(Ordering::Relaxed), Some(stage.total_bytes));
    stage.progress.update(Snapshot::of(Stage::Indexes, stage.rows, done, total));
    Ok(())
}
