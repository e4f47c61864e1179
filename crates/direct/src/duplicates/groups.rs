//! Rows of equal keys, found where the sorted keys of all rows are merged.
//!
//! With one unique key its groups decide: of the rows of a key, the first or the last stays. With
//! several, what becomes of a row depends on what became of others, so the members of all groups
//! are put back into input order, for [`crate::duplicates::replay`].

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use job::failpoint;
use job::options::OnDuplicate;
use job::stop::Stop;
use locks::Mutex;
use server::Interrupt;
use sort::{EntryShape, RunStore, Runs, SortBuffer};
use values::decode::big_endian;

use crate::duplicates::loser::Loser;
use crate::duplicates::row_position::Place;
use crate::key_ranges::Task;
use crate::old::{OldEntries, OldSource, Replacing};

/// A row that shares a key with others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Member {
    pub(crate) place: Place,
    /// The key's index, as in [`Loser`].
    pub(crate) index: u16,
    /// Number of the group, of all groups of all indexes.
    pub(crate) group: u64,
}

impl Member {
    const BYTES: usize = Place::BYTES + 10;

    /// Shape of the entries that members are sorted as: in input order, then by index.
    pub(crate) const SHAPE: EntryShape =
        EntryShape { key_len: Some(Member::BYTES), tail_len: 0, payload: false };

    fn push(&self, buffer: &mut SortBuffer) {
        let mut bytes = [0; Member::BYTES];
        bytes[..Place::BYTES].copy_from_slice(&self.place.to_bytes());
        bytes[Place::BYTES..][..2].copy_from_slice(&self.index.to_be_bytes());
        bytes[Place::BYTES + 2..].copy_from_slice(&self.group.to_be_bytes());
        buffer.push(&bytes, &[]);
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Member {
        let (place, rest) = bytes.split_at(Place::BYTES);
        Member {
            place: Place::from_bytes(place),
            index: big_endian(&rest[..2]) as u16,
            group: big_endian(&rest[2..]),
        }
    }
}

/// The findings about the groups.
pub(crate) enum Output<'a> {
    /// Who loses, there being one unique key.
    Losers(&'a RunStore),
    /// Who shares keys.
    Members(&'a RunStore),
}

/// Merges the keys of all unique indexes, shared by its workers.
pub(crate) struct GroupsStage<'a> {
    /// One a unique index. Keys end in the place of their row.
    pub(crate) runs: &'a [Runs],
    /// Numbers of these indexes in the table.
    pub(crate) indexes: &'a [u16],
    pub(crate) tasks: Vec<Task>,
    /// Rows that the table has already. Those of the input give way to them, or replace them.
    pub(crate) old: Option<OldSource<'a>>,
    pub(crate) replacing: &'a Replacing,
    pub(crate) output: Output<'a>,
    pub(crate) on_duplicate: OnDuplicate,
    /// Bytes of entries a worker collects before it sorts them.
    pub(crate) entry_bytes: usize,
    pub(crate) interrupt: &'a Interrupt,
    pub(crate) next_task: AtomicU64,
    pub(crate) next_run: AtomicU64,
    /// Groups so far, with [`Output::Members`].
    pub(crate) groups: AtomicU64,
    pub(crate) order: KeptOrder,
    pub(crate) stop: AtomicBool,
}

impl GroupsStage<'_> {
    /// Runs one worker until no range is left.
    pub(crate) fn work(&self) -> Result<(), Stop> {
        failpoint::hit("thread.groups");
        let shape = match self.output {
            Output::Losers(_) => Loser::SHAPE,
            Output::Members(_) => Member::SHAPE,
        };
        let buffer = SortBuffer::new(shape);
        let mut worker = Worker { stage: self, buffer, key: Vec::new() };
        while !self.stop.load(Ordering::Relaxed) {
            let number = self.next_task.fetch_add(1, Ordering::Relaxed) as usize;
            let Some(task) = self.tasks.get(number) else { return worker.sort() };
            self.interrupt.check()?;
            worker.take(number, task)?;
        }
        Err(Stop::Abandoned)
    }

    /// Lets no worker begin any more.
    pub(crate) fn close(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

struct Worker<'a> {
    stage: &'a GroupsStage<'a>,
    buffer: SortBuffer,
    /// Key of the group at hand.
    key: Vec<u8>,
}

/// The rows of one key, as far as they were met.
struct Group {
    first: Place,
    last: Place,
    /// Number of the group, once there are two.
    number: Option<u64>,
}

impl Group {
    fn of(place: Place) -> Group {
        Group { first: place, last: place, number: None }
    }

    /// The row of the input that stays, unless another key has it lose.
    fn kept(&self, on_duplicate: OnDuplicate) -> Option<Place> {
        let kept = if on_duplicate.replaces() { self.last } else { self.first };
        (!kept.is_in_table()).then_some(kept)
    }
}

/// A check that the rows that stay come in the order of the clustered index.
///
/// With several unique indexes this takes for granted that those of the others go along: a build
/// that finds otherwise sorts.
#[derive(Debug, Default)]
pub(crate) struct KeptOrder {
    is_broken: AtomicBool,
    /// Number of each range, with its first and last row.
    ranges: Mutex<Vec<(usize, Place, Place)>>,
}

impl KeptOrder {
    fn push(&self, range: usize, first: Place, last: Place) {
        let mut ranges = self.ranges.lock();
        ranges.push((range, first, last));
    }

    fn break_it(&self) {
        self.is_broken.store(true, Ordering::Relaxed);
    }

    /// After all ranges.
    pub(crate) fn ended_kept(self) -> bool {
        let mut ranges = self.ranges.into_inner();
        ranges.sort_unstable();
        !self.is_broken.into_inner() && ranges.windows(2).all(|pair| pair[0].2 < pair[1].1)
    }
}

/// The order of one range.
#[derive(Default)]
struct RangeOrder {
    rows: Option<(Place, Place)>,
    is_broken: bool,
}

impl RangeOrder {
    /// The next row that stays.
    #[inline]
    fn push(&mut self, place: Place) {
        match &mut self.rows {
            Some((_, last)) => {
                self.is_broken |= place < *last;
                *last = place;
            }
            none => *none = Some((place, place)),
        }
    }
}

/// The rows of the table, asked for their keys in ascending order.
struct Old<'a> {
    entries: Option<OldEntries<'a>>,
    is_begun: bool,
    /// Number of the one that was found last, of all ranges.
    number: u64,
}

impl<'a> Old<'a> {
    /// Those of an index, for one range.
    fn new(old: Option<OldSource<'a>>, index: usize, range: usize) -> Old<'a> {
        let entries = old.map(|old| old.entries(0, index, None));
        Old { entries, is_begun: false, number: (range as u64) << 32 }
    }

    /// The row with this key, to which those of the input give way. One that they replace is noted,
    /// whatever becomes of them.
    fn with(&mut self, key: &[u8], stage: &GroupsStage<'_>) -> Result<Option<Place>, Stop> {
        let Some(entries) = &mut self.entries else { return Ok(None) };
        if !std::mem::replace(&mut self.is_begun, true) {
            entries.begin_at(key);
        }
        let Some(row) = entries.row_with(key)? else { return Ok(None) };
        if stage.on_duplicate.replaces() {
            stage.replacing.add(row)?;
            return Ok(None);
        }
        self.number += 1;
        Ok(Some(Place::in_table(self.number)))
    }
}

impl Worker<'_> {
    fn take(&mut self, number: usize, task: &Task) -> Result<(), Stop> {
        let index = self.stage.indexes[task.slot];
        let on_duplicate = self.stage.on_duplicate;
        let mut order = RangeOrder::default();
        let mut merge = self.stage.runs[task.slot].merge(&task.range)?;
        let mut old = Old::new(self.stage.old, index.into(), number);
        let mut group: Option<Group> = None;
        while let Some((entry, _)) = merge.next()? {
            let (key, place) = entry.split_at(entry.len() - Place::BYTES);
            let place = Place::from_bytes(place);
            match &mut group {
                Some(group) if key == self.key => self.meet(index, group, place)?,
                _ => {
                    self.key.clear();
                    self.key.extend_from_slice(key);
                    let mut next = Group::of(place);
                    if let Some(there) = old.with(key, self.stage)? {
                        next = Group::of(there);
                        self.meet(index, &mut next, place)?;
                    }
                    let whole = group.replace(next);
                    whole
                        .and_then(|whole| whole.kept(on_duplicate))
                        .inspect(|row| order.push(*row));
                }
            }
        }
        group.and_then(|whole| whole.kept(on_duplicate)).inspect(|row| order.push(*row));
        if index == 0 {
            order.rows.inspect(|(first, last)| self.stage.order.push(number, *first, *last));
            if order.is_broken {
                self.stage.order.break_it();
            }
        }
        Ok(())
    }

    /// Takes down one more row of a group. They come in input order.
    fn meet(&mut self, index: u16, group: &mut Group, place: Place) -> Result<(), Stop> {
        match (&self.stage.output, self.stage.on_duplicate.replaces()) {
            (Output::Losers(_), true) => {
                Loser { place: group.last, index, winner: place }.push(&mut self.buffer);
            }
            (Output::Losers(_), _) => {
                Loser { place, index, winner: group.first }.push(&mut self.buffer);
            }
            (Output::Members(_), _) => {
                let number = group.number.unwrap_or_else(|| {
                    let number = self.stage.groups.fetch_add(1, Ordering::Relaxed);
                    Member { place: group.first, index, group: number }.push(&mut self.buffer);
                    number
                });
                group.number = Some(number);
                Member { place, index, group: number }.push(&mut self.buffer);
            }
        }
        group.last = place;
        if self.buffer.bytes() > self.stage.entry_bytes { self.sort() } else { Ok(()) }
    }

    fn sort(&mut self) -> Result<(), Stop> {
        if !self.buffer.is_empty() {
            let run = self.stage.next_run.fetch_add(1, Ordering::Relaxed);
            let (Output::Losers(store) | Output::Members(store)) = self.stage.output;
            store.add(self.buffer.sort(run))?;
        }
        Ok(())
    }
}
