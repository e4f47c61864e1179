//! The inputs of a build, and the state that its stages share.

use std::sync::OnceLock;

use encode::binding::Binding;
use encode::counter::Series;
use encode::reading::Reading;
use encode::sequence::Sequence;
use innodb::template::Template;
use innodb::verify::Early;
use job::error::Error;
use job::memory::Memory;
use job::options::LoadOptions;
use job::progress::{Progress, Stage};
use job::stop::Stop;
use locks::Mutex;
use sort::{EntryShape, RunStore, StoreOptions};
use sources::{Source, SourceExt as _};

use crate::locate::DuplicateSearch;
use crate::old::{OldSource, OldTable, Replaced};
use crate::space_file::SpaceFile;

/// Bytes an entry with a record is guessed to take, to share memory among indexes.
const RECORD_ENTRY_BYTES: usize = 128;
/// Bytes that few entries with a record exceed.
const LONG_ENTRY_BYTES: usize = 16 << 10;

/// The inputs of a build.
pub(crate) struct Build<'a> {
    pub(crate) options: &'a LoadOptions,
    pub(crate) memory: &'a Memory,
    pub(crate) binding: &'a Binding,
    /// One, or one a partition.
    pub(crate) spaces: &'a [Space],
    /// Columns whose keys are taken down, for foreign keys: of new rows only. Those that are there have
    /// been looked at.
    pub(crate) keys: &'a [Vec<String>],
    pub(crate) source: &'a Mutex<Box<dyn Source>>,
    /// How AUTO_INCREMENT values go on, as it was when the table was looked at.
    pub(crate) series: Series,
    /// The table's rows so far, if it is to keep them: there from when nobody writes to it any more.
    pub(crate) old: Option<&'a OnceLock<OldTable>>,
    /// Memory that is kept for them while new rows are read before that; none if these wait for it.
    pub(crate) old_bytes_max: Option<usize>,
    pub(crate) progress: &'a dyn Progress,
}

/// A tablespace that is built.
pub(crate) struct Space {
    pub(crate) template: Template,
    pub(crate) file: SpaceFile,
    pub(crate) early: Early,
}

impl<'a> Build<'a> {
    /// The empty table that all tablespaces are like.
    pub(crate) fn template(&self) -> &'a Template {
        &self.spaces[0].template
    }

    /// True if the table keeps its rows.
    pub(crate) fn extends(&self) -> bool {
        self.old.is_some()
    }

    /// The table's rows so far, once they are held.
    pub(crate) fn old(&self) -> Option<&'a OldTable> {
        self.old.and_then(OnceLock::get)
    }

    /// True if the table's rows are still to be locked.
    pub(crate) fn is_before_hold(&self) -> bool {
        self.extends() && self.old().is_none()
    }

    /// Memory that the table's rows take while new ones are kept.
    pub(crate) fn old_bytes(&self) -> usize {
        let reserved = if self.extends() { self.old_bytes_max.unwrap_or(0) } else { 0 };
        self.old().map_or(reserved, |old| old.bytes(self.memory.threads))
    }

    /// True if the adopted table is compared with the rows that were read, and those that the table
    /// keeps.
    pub(crate) fn digests(&self) -> bool {
        self.options.server.verifies
    }

    /// True if entries are sorted in any case: they go among rows of the table, or to many
    /// tablespaces.
    pub(crate) fn sorts_all(&self) -> bool {
        self.extends() || self.binding.partitions.is_some()
    }

    /// How AUTO_INCREMENT values go on: behind those that the table has, as far as that is known.
    pub(crate) fn series(&self) -> Series {
        match self.old() {
            Some(old) => Series { start: old.next_auto_increment.max(1), ..self.series },
            None => self.series,
        }
    }

    /// Numbers for rows, behind those that the table has.
    pub(crate) fn sequence(&self, careful: bool) -> Sequence {
        let sequence = Sequence::new(self.binding, self.series(), careful);
        match self.old() {
            Some(old) => sequence.after_row_id(old.row_id_max),
            None => sequence,
        }
    }

    /// The source of its old entries, without rows that are replaced.
    pub(crate) fn old_source<'s>(
        &'s self,
        replaced: Option<&'s Replaced>,
    ) -> Option<OldSource<'s>> {
        let (binding, template) = (self.binding, self.template());
        self.old().map(|table| OldSource { table, binding, template, replaced })
    }

    /// True if rows may be rejected and the others loaded.
    pub(crate) fn may_refuse(&self) -> bool {
        self.options.rows.rejects_max > 0
    }

    /// A reading of the input from where it stands.
    pub(crate) fn reading(&self, stage: Stage) -> Reading<'_> {
        Reading::new(self.source, stage, self.progress, &self.options.interrupt)
    }

    /// Empties the files and goes back to the start of the input.
    pub(crate) fn begin_again(&self) -> Result<(), Error> {
        self.spaces.iter().try_for_each(|space| space.file.clear())?;
        Ok(self.source.lock().restart()?)
    }

    /// The error that the user sees of a stage that stopped: for a duplicate, with both rows.
    pub(crate) fn explain(&self, stop: Stop) -> Error {
        let stop = match stop {
            Stop::Duplicate(key) => {
                let careful = self.options.rows.rejects_max > 0;
                let sequence = self.sequence(careful);
                let search = DuplicateSearch {
                    binding: self.binding,
                    wanted: &key,
                    files: &self.options.input.files,
                    sequence: &sequence,
                    zero_is_value: self.series.zero_is_value,
                    extends: self.extends(),
                    interrupt: &self.options.interrupt,
                };
                let mut source = self.source.lock();
                search.error(&mut **source).map_or_else(|stop| stop, Stop::Failed)
            }
            stop => stop,
        };
        match stop {
            Stop::Failed(Error::Sort(sort::Error::BudgetTooSmall { given, needed })) => {
                let given_bytes = self.options.limits.memory_bytes_max;
                let reason = format!(
                    "one sort needs {needed} bytes for the entries of this input, and has \
                     {given}; use more"
                );
                Error::Memory { given_bytes, reason }
            }
            Stop::Failed(error) => error,
            // Only a worker that stopped for another reason makes the rest say these.
            Stop::Unsorted | Stop::Renumber | Stop::Abandoned | Stop::Duplicate(_) => {
                Error::BadFile("rows of the sorted build are out of order".to_owned())
            }
        }
    }

    /// A store for each of `shapes`: what each needs at least, and of the rest by what entries
    /// take. `besides` bytes of the memory for runs are for others.
    pub(crate) fn stores(
        &self,
        shapes: &[EntryShape],
        besides: usize,
    ) -> Result<Vec<RunStore>, Stop> {
        let threads = self.memory.threads;
        let weight = |shape: &EntryShape| {
            let record = if shape.payload { RECORD_ENTRY_BYTES } else { 0 };
            shape.key_len.unwrap_or(RECORD_ENTRY_BYTES / 2) + record
        };
        let least = |shape: &EntryShape| store_bytes_min(shape, threads);
        let total_weight: usize = shapes.iter().map(weight).sum();
        let rest = self.spare_bytes(shapes, besides)?;
        let store = |shape: &EntryShape| {
            let share = rest as u128 * weight(shape) as u128 / total_weight as u128;
            let options = StoreOptions {
                memory_bytes_max: least(shape) + share as usize,
                temp_dir: self.options.limits.temp_dir.clone(),
                threads,
                stop: self.options.interrupt.flag(),
            };
            Ok(RunStore::with_options(*shape, options)?)
        };
        shapes.iter().map(store).collect()
    }

    /// Memory that the stores for `shapes` leave of that for runs, at least, less `besides`.
    pub(crate) fn spare_bytes(&self, shapes: &[EntryShape], besides: usize) -> Result<usize, Stop> {
        let threads = self.memory.threads;
        let run_bytes = self.memory.run_bytes.saturating_sub(besides);
        let least: usize = shapes.iter().map(|shape| store_bytes_min(shape, threads)).sum();
        run_bytes.checked_sub(least).ok_or_else(|| {
            let reason = format!(
                "sorting {} indexes on {threads} thread(s) needs {least} bytes; {run_bytes} are \
                 left for it",
                shapes.len()
            );
            Error::Memory { given_bytes: self.options.limits.memory_bytes_max, reason }.into()
        })
    }
}

/// The least for one index: a merge keeps an entry of each of its sources.
pub(crate) fn store_bytes_min(shape: &EntryShape, threads: usize) -> usize {
    let is_long = shape.payload || shape.key_len.is_none();
    let entries = if is_long { 4 * threads.max(2) * LONG_ENTRY_BYTES } else { 0 };
    RunStore::memory_bytes_min(shape, threads) + entries
}
