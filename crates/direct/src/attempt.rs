//! Builds the tablespace: rows stage, indexes stage, allocation pages.

use sources::SourceExt as _;
use std::sync::atomic::{AtomicBool, AtomicU64};

use encode::binding::PartitionBinding;
use encode::long_records::LongRecords;
use encode::rejects::Rejects;
use encode::sequence::Sequence;
use job::error::Error;
use job::options::OnDuplicate;
use job::pool;
use job::progress::Stage;
use job::report::{IndexReport, RejectTally};
use job::stop::Stop;
use job::turn::Turnstile;
use sort::{RunStore, Runs};
use targets::key_run::KeyRun;

use crate::build::Build;
use crate::digest::Digest;
use crate::duplicates::gate::RowGate;
use crate::duplicates::log::DuplicateLog;
use crate::duplicates::losers::Losers;
use crate::duplicates::resolve::{self, Resolved};
use crate::early_pass::EarlyPass;
use crate::indexes::{IndexState, Indexes, IndexesStage};
use crate::key_ranges;
use crate::key_taps::KeyLog;
use crate::old::{OldTable, Replaced};
use crate::order::{Order, entry_shapes, partition_bytes};
use crate::pages::{PageSink, SealedSpace};
use crate::rows::{Commit, RowsStage};
use crate::stamp::Stamped;

/// Counts of the rows of the input.
#[derive(Debug, Default)]
pub(crate) struct RowCounts {
    /// Rows that are loaded.
    pub(crate) rows: u64,
    /// Rows in each partition, for a table with partitions.
    pub(crate) partition_rows: Vec<u64>,
    pub(crate) rejects: u64,
    pub(crate) rejects_by_reason: Vec<RejectTally>,
    pub(crate) duplicates: u64,
    /// Next AUTO_INCREMENT value; none for a table without such a column.
    pub(crate) next_auto_increment: Option<u64>,
    /// Largest hidden row id; none for a table with a key of its own, or without rows.
    pub(crate) row_id_max: Option<u64>,
}

/// A finished tablespace.
#[derive(Debug, Default)]
pub struct Built {
    pub(crate) counts: RowCounts,
    /// Digest of the rows of the input, if the adopted table is compared with them.
    pub(crate) digest: Option<Digest>,
    /// Rows of the table, with those that it had.
    pub(crate) rows_in_all: u64,
    /// Rows that the table had, and that new ones replaced.
    pub(crate) replaced: u64,
    /// Rows of each file, with those that its table had.
    pub(crate) file_rows: Vec<u64>,
    pub(crate) bytes_read: u64,
    pub(crate) file_bytes: u64,
    pub(crate) spilled_bytes: u64,
    pub(crate) sorted_input: bool,
    pub(crate) indexes: Vec<IndexReport>,
    /// Keys that were taken down.
    pub(crate) keys: Vec<KeyRun>,
    /// True if the table stays as it is: it keeps its rows, and gets none.
    pub(crate) adds_nothing: bool,
    /// The pages that got the server's LSN.
    pub(crate) stamped: Stamped,
}

/// The result of the rows stage, for the indexes stage.
pub(crate) struct RowsBuilt<'a> {
    order: Order,
    sinks: Vec<PageSink<'a>>,
    stores: Vec<RunStore>,
    keys: Option<KeyLog>,
    pub(crate) counts: RowCounts,
    digest: Digest,
    /// True if any row got its AUTO_INCREMENT value here.
    pub(crate) has_generated: bool,
}

/// How a build is tried.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attempt<'a> {
    order: Order,
    /// True if rows are converted twice, so that rejected ones use up no number.
    careful: bool,
    /// Rows to leave out; none as long as it is not known that there are any.
    losers: Option<&'a Losers>,
    /// Rows of the table to leave out.
    replaced: Option<&'a Replaced>,
}

impl<'a> Attempt<'a> {
    /// Another attempt, without the rows that lose.
    pub(crate) fn without(self, resolved: &'a Resolved, sorts_all: bool) -> Attempt<'a> {
        let as_read = resolved.is_in_order && !sorts_all;
        let order = if as_read { Order::AsRead } else { Order::Sorted };
        let (losers, replaced) = (Some(&resolved.losers), Some(&resolved.replaced));
        Attempt { order, losers, replaced, ..self }
    }
}

/// The result of an attempt.
pub(crate) enum Tried<T> {
    Done(T),
    /// Rows share keys, or may, and some are to be left out.
    Duplicates,
}

impl RowsBuilt<'_> {
    /// The partition that all rows go to; none if they go to several, or the table has none.
    ///
    /// Errors: there are partitions, and no rows.
    pub(crate) fn only_partition(&self) -> Result<Option<usize>, Error> {
        let partitions = &self.counts.partition_rows;
        let mut filled = partitions.iter().enumerate().filter(|(_, rows)| **rows > 0);
        match (filled.next(), filled.next()) {
            (None, _) if !partitions.is_empty() => Err(Error::NotMerged(
                "there are no rows that show the partition to merge with".to_owned(),
            )),
            (first, None) => Ok(first.map(|(partition, _)| partition)),
            (_, Some(_)) => Ok(None),
        }
    }

    /// For the root of the clustered index.
    fn last_auto_increment(&self) -> u64 {
        self.counts.next_auto_increment.map_or(0, |next| next - 1)
    }
}

impl<'a> Build<'a> {
    /// Reads the input: in key order as it comes if it comes so, else all over again to sort it.
    /// `attempt` remembers that for the next.
    ///
    /// Rows that come out of order, and are to be left out where they share keys, mostly do share
    /// some: that is found out before anything is sorted.
    pub(crate) fn rows(&self, attempt: &mut Attempt<'_>) -> Result<Tried<RowsBuilt<'a>>, Error> {
        loop {
            match self.read_rows(attempt) {
                Err(Stop::Unsorted) if self.may_be_duplicates(attempt) => {
                    return Ok(Tried::Duplicates);
                }
                Err(Stop::Unsorted) if attempt.order == Order::AsRead => {
                    attempt.order = Order::Sorted;
                }
                Err(Stop::Renumber) if !attempt.careful => attempt.careful = true,
                outcome => return self.tried(attempt, outcome),
            }
            self.begin_again()?;
        }
    }

    /// The first attempt: rows are taken to be in key order, and good.
    pub(crate) fn first_attempt(&self) -> Attempt<'a> {
        let order = if self.sorts_all() { Order::Sorted } else { Order::AsRead };
        Attempt { order, careful: false, losers: None, replaced: None }
    }

    /// Merges what the rows stage sorted, and completes the file. Gives what was verified, too.
    pub(crate) fn indexes(
        &self,
        attempt: &Attempt<'_>,
        built: RowsBuilt<'a>,
    ) -> Result<Tried<(Built, Vec<EarlyPass>)>, Error> {
        if self.is_before_hold() {
            let lost = "a table that keeps its rows would have been built without them";
            return Err(Error::Internal(lost.to_owned()));
        }
        self.tried(attempt, self.merge_indexes(attempt, built))
    }

    /// True if the table keeps its rows and gets none, nor another AUTO_INCREMENT.
    pub(crate) fn adds_nothing(&self, attempt: &Attempt<'_>, rows: &RowsBuilt<'_>) -> bool {
        let RowCounts { rows, next_auto_increment, .. } = rows.counts;
        let is_counted = next_auto_increment.is_some_and(|next| next > self.series().start);
        let replaces = attempt.replaced.map_or(0, Replaced::count) > 0;
        self.extends() && rows == 0 && !is_counted && !replaces
    }

    /// The report of a table that nothing is added to.
    pub(crate) fn nothing(&self, rows: RowsBuilt<'_>) -> Built {
        let RowCounts { rejects, rejects_by_reason, duplicates, .. } = rows.counts;
        let counts = RowCounts { rejects, rejects_by_reason, duplicates, ..RowCounts::default() };
        let bytes_read = self.source.lock().bytes_read();
        Built { counts, bytes_read, adds_nothing: true, ..Built::default() }
    }

    /// True if rows are to be left out, and it is still unknown which.
    fn may_be_duplicates(&self, attempt: &Attempt<'_>) -> bool {
        self.options.rows.on_duplicate != OnDuplicate::Fail && attempt.losers.is_none()
    }

    /// Duplicates that are to be left out are no failure the first time.
    fn tried<T>(&self, attempt: &Attempt<'_>, outcome: Result<T, Stop>) -> Result<Tried<T>, Error> {
        match outcome {
            Ok(done) => Ok(Tried::Done(done)),
            Err(Stop::Duplicate(_)) if self.may_be_duplicates(attempt) => Ok(Tried::Duplicates),
            Err(Stop::Duplicate(_)) if attempt.losers.is_some() => Err(Error::InputChanged),
            Err(stop) => Err(self.explain(stop)),
        }
    }

    fn read_rows(&self, attempt: &Attempt<'_>) -> Result<RowsBuilt<'a>, Stop> {
        let order = attempt.order;
        let losers = attempt.losers.map_or(0, |_| resolve::kept_bytes(self.memory));
        let shapes = entry_shapes(self.binding, order);
        let spare_bytes = self.spare_bytes(&shapes, losers)? / self.spaces.len();
        let sinks = self.spaces.iter().map(|space| {
            let early = EarlyPass::new(&space.early, spare_bytes);
            PageSink::new(&space.template, &space.file, early, self.options.limits.fill)
        });
        let sinks: Vec<PageSink<'_>> = sinks.collect();
        let early_bytes: usize = sinks.iter().map(PageSink::kept_bytes).sum();
        let old_bytes = self.old_bytes() + attempt.replaced.map_or(0, Replaced::bytes);
        let stores = self.stores(&shapes, losers + early_bytes + old_bytes)?;
        let sequence = self.sequence(attempt.careful);
        let outcome = self.run_rows(attempt, &sinks, &sequence, &stores);
        if sequence.needs_care() && !matches!(outcome, Err(Stop::Failed(_))) {
            return Err(Stop::Renumber);
        }
        let mut commit = outcome?;
        commit.rejects.flush()?;
        commit.duplicates.flush()?;
        let next_auto_increment =
            self.binding.auto_increment.map(|_| sequence.next_auto_increment());
        let row_id_max = sequence.row_id_max().max(self.old().map_or(0, |old| old.row_id_max));
        let has_row_ids = self.binding.clustered.has_row_id && row_id_max > 0;
        let counts = RowCounts {
            rows: commit.rows,
            partition_rows: std::mem::take(&mut commit.partition_rows),
            rejects: commit.rejects.count(),
            rejects_by_reason: commit.rejects.tally(),
            duplicates: attempt.losers.map_or(0, Losers::count),
            next_auto_increment,
            row_id_max: has_row_ids.then_some(row_id_max),
        };
        let has_generated = sequence.has_generated();
        let digest = commit.digest;
        let mut built =
            RowsBuilt { order, sinks, stores, keys: None, counts, digest, has_generated };
        if let Some(builder) = commit.builder.take() {
            let sink = &built.sinks[0];
            let finished = sink.finish(0, builder, built.last_auto_increment())?;
            sink.write_finished(finished)?;
        }
        built.keys = Some(commit.keys);
        Ok(built)
    }

    fn merge_indexes(
        &self,
        attempt: &Attempt<'_>,
        mut built: RowsBuilt<'a>,
    ) -> Result<(Built, Vec<EarlyPass>), Stop> {
        if let Some(partition) = self.old().and_then(|old| old.partition) {
            // The files of the others stay what they are.
            built.sinks = vec![built.sinks.swap_remove(partition)];
        }
        let stores = std::mem::take(&mut built.stores);
        let runs = stores.into_iter().map(RunStore::finish).collect::<Result<Vec<_>, _>>()?;
        let spilled_bytes = runs.iter().map(|runs| runs.stats().spilled_file_bytes).sum();
        let keys = self.run_indexes(attempt, &mut built, &runs)?;
        drop(runs);
        let sinks = std::mem::take(&mut built.sinks);
        let sealed = sinks.into_iter().map(PageSink::seal).collect::<Result<Vec<_>, _>>()?;
        let file_bytes = sealed.iter().map(|space| space.bytes).sum();
        let mut indexes = index_reports(&sealed);
        let early = sealed.into_iter().map(|space| space.early).collect();
        let replaced = attempt.replaced.map_or(0, Replaced::count);
        let rows_in_all =
            built.counts.rows + self.old().map_or(0, |old| old.rows().saturating_sub(replaced));
        indexes.iter_mut().for_each(|index| index.records = rows_in_all);
        let built = Built {
            digest: self.digest_in_all(built.digest, replaced),
            rows_in_all,
            replaced,
            file_rows: self.file_rows(&built.counts.partition_rows, rows_in_all),
            counts: built.counts,
            bytes_read: self.source.lock().bytes_read(),
            file_bytes,
            spilled_bytes,
            sorted_input: built.order == Order::AsRead,
            indexes,
            keys,
            adds_nothing: false,
            stamped: Stamped::No,
        };
        Ok((built, early))
    }

    /// The digest of all rows of the new table, with those of the old one except so many: none if
    /// they are not compared, or cannot be.
    fn digest_in_all(&self, new: Digest, replaced: u64) -> Option<Digest> {
        let mut all = Some(new).filter(|_| self.digests())?;
        let Some(old) = self.old() else { return Some(all) };
        if replaced > 0 || old.partition.is_some() {
            return None;
        }
        for file in &old.files {
            all.take(&mut file.digest?);
        }
        Some(all)
    }

    /// Rows of each file that is built, of so many new ones a partition, if there are partitions.
    fn file_rows(&self, new: &[u64], rows_in_all: u64) -> Vec<u64> {
        let old = self.old();
        if new.is_empty() || old.is_some_and(|old| old.partition.is_some()) {
            return vec![rows_in_all];
        }
        let old = |at: usize| old.and_then(|old| old.files.get(at)).map_or(0, |file| file.rows);
        new.iter().enumerate().map(|(at, rows)| rows + old(at)).collect()
    }

    /// How many the table has, if any.
    fn partitions(&self) -> Option<usize> {
        self.binding.partitions.as_ref().map(PartitionBinding::count)
    }

    fn run_rows<'l>(
        &self,
        attempt: &Attempt<'l>,
        sinks: &[PageSink<'_>],
        sequence: &Sequence,
        stores: &[RunStore],
    ) -> Result<Commit<'l>, Stop> {
        let order = attempt.order;
        let form = encode::rejects::form(&mut **self.source.lock())?;
        let rejects = Rejects::create(
            self.options.rows.rejects.as_deref(),
            self.options.rows.rejects_max,
            &form,
        )?;
        let keys = KeyLog::create(self.binding, self.keys, &self.options.limits.temp_dir)?;
        let taps = if order == Order::AsRead { keys.taps(0) } else { Vec::new() };
        let stage = RowsStage {
            binding: self.binding,
            order,
            memory: self.memory,
            reading: self.reading(Stage::Rows),
            files: &self.options.input.files,
            sequence,
            zero_is_value: self.series.zero_is_value,
            stores,
            sinks,
            large: LongRecords::new(self.memory),
            gate: attempt.losers.map(|losers| RowGate::new(Some(losers))).transpose()?,
            on_duplicate: self.options.rows.on_duplicate,
            commit: Turnstile::new(Commit {
                builder: (order == Order::AsRead).then(|| sinks[0].builder(0)),
                rejects,
                duplicates: DuplicateLog::create(&self.options.rows, &form, attempt.losers)?,
                rows: 0,
                digest: Digest::default(),
                partition_rows: vec![0; self.partitions().unwrap_or(0)],
                last_key: Vec::new(),
                keys,
            }),
            rejects_max: self.options.rows.rejects_max,
            digests: self.digests(),
            next_run: AtomicU64::new(0),
            taps,
        };
        pool::run(self.memory.threads, || stage.work(), || stage.close())?;
        stage.reading.tally().check()?;
        stage.gate.map_or(Ok(()), RowGate::finish)?;
        Ok(stage.commit.into_state())
    }

    fn run_indexes(
        &self,
        attempt: &Attempt<'_>,
        built: &mut RowsBuilt<'_>,
        runs: &[Runs],
    ) -> Result<Vec<KeyRun>, Stop> {
        let Some(keys) = built.keys.take() else { return Ok(Vec::new()) };
        let first_index = built.order.first_index();
        let sinks = &built.sinks;
        let state = |(sink, slot): (&PageSink<'_>, usize)| IndexState {
            builder: Some(sink.builder(first_index + slot)),
            last_unique: Vec::new(),
        };
        let total_bytes = runs.iter().map(|runs| runs.stats().entry_bytes).sum::<u64>()
            + self.old().map_or(0, OldTable::leaf_bytes);
        let range_bytes = key_ranges::range_bytes(total_bytes, self.memory);
        let states = sinks.iter().flat_map(|sink| (0..runs.len()).map(move |slot| (sink, slot)));
        let stage = IndexesStage {
            binding: self.binding,
            memory: self.memory,
            runs,
            first_index,
            tasks: key_ranges::tasks(runs, self.old(), range_bytes, self.partitions()),
            old: self.old_source(attempt.replaced),
            sinks,
            prefix_bytes: partition_bytes(self.binding),
            taps: (0..runs.len()).map(|slot| keys.taps(first_index + slot)).collect(),
            commit: Turnstile::new(Indexes { states: states.map(state).collect(), keys }),
            progress: self.progress,
            interrupt: &self.options.interrupt,
            rows: built.counts.rows,
            last_auto_increment: built.last_auto_increment(),
            total_bytes,
            next_task: AtomicU64::new(0),
            done_bytes: AtomicU64::new(0),
            stop: AtomicBool::new(false),
        };
        pool::run(self.memory.threads, || stage.work(), || stage.close())?;
        Ok(stage.commit.into_state().keys.finish()?)
    }
}

/// The outcome of each index, in all tablespaces together.
fn index_reports(sealed: &[SealedSpace]) -> Vec<IndexReport> {
    let Some((first, others)) = sealed.split_first() else { return Vec::new() };
    let mut indexes = first.indexes.clone();
    for other in others {
        for (index, report) in indexes.iter_mut().zip(&other.indexes) {
            index.leaf_pages += report.leaf_pages;
            index.height = index.height.max(report.height);
        }
    }
    indexes
}
