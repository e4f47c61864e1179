//! How large and how long a load will be, from its first rows.
//!
//! The first rows are converted, and all of them taken to be like these. The indexes' sizes
//! follow from the stored sizes of their columns; text keys are taken to sort by as many bytes as
//! they store.

use encode::binding::BoundColumn;
use encode::column_source::Input;
use encode::field;
use encode::inspected::Inspected;
use innodb::blob::{needs_off_page, pages_needed};
use innodb::ids::PAGE_SIZE;
use innodb::record::{self, RECORD_HEADER, ROLL_PTR_BYTES, TRX_ID_BYTES};
use job::error::Error;
use job::memory::Memory;
use job::options::{LoadOptions, LoadPath, ResourceLimits};
use job::progress::Stage;
use schema::{Column, Index, Method, Table};
use serde::{Deserialize, Serialize};
use sources::{Batch, Chunk, Rows, Source, Visit};
use values::key::fixed_width;

use crate::first_chunk::{First, first_chunk};
use crate::forecast::Expected;
use crate::key_order::KeyOrder;
use crate::speeds::{Speeds, work_bytes};

/// Rows that are converted.
pub(crate) const SAMPLE_ROWS: usize = 2_000;
/// Bytes of a record besides its values: header, DB_TRX_ID, DB_ROLL_PTR.
const RECORD_BYTES: f64 = (RECORD_HEADER + TRX_ID_BYTES + ROLL_PTR_BYTES) as f64;
/// Bytes of an index entry besides its values.
const ENTRY_BYTES: f64 = RECORD_HEADER as f64;
/// Bytes of DB_ROW_ID, the key of a table without one.
const ROW_ID_BYTES: f64 = record::ROW_ID_BYTES as f64;
/// Share of page headers, directories and the levels above the leaves, as a factor.
const PAGE_OVERHEAD: f64 = 1.03;
const PAGE_BYTES: f64 = PAGE_SIZE as f64;
/// Smallest size of a file; larger files have as much free space in their extents.
const SPACE_BYTES_MIN: f64 = 100_000.0;
const EXTENTS_FROM_BYTES: f64 = 1e6;
const EXTENTS_FREE_BYTES: f64 = 2e6;
/// Part of the runs' memory that is filled before they spill.
const RUNS_IN_MEMORY: f64 = 0.75;

/// Stages that are estimated, of any path.
pub(crate) const STAGES: usize = 4;
/// Part of the time of building and sorting that an index takes beside the rows, each.
const INDEX_SHARE: f64 = 0.15;
/// Size of compressed entries, as a share, if they compress well.
const COMPRESSED: f64 = 1.0 / 3.0;
/// Below this memory for runs, entries are not compressed, but keys of one length are packed.
const ZSTD_RUN_BYTES_MIN: usize = 16 << 20;

/// Time to insert an entry into a secondary index at its place, in a page in memory (10.11.19, two
/// cores). Such indexes of a table that is swapped in are built after its rows.
const ENTRY_SECONDS: f64 = 1.7e-6;
/// Overhead of each further table of a command, in seconds.
const CONSTANT_SECONDS_FURTHER: f64 = 0.02;

/// A rough estimate of a load. `inrush plan` shows it; a disk without that room is refused.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// Rows of the input.
    pub rows: u64,
    /// Bytes of the finished tablespace.
    pub table_bytes: u64,
    /// Bytes of sorted runs in the temporary folder if the rows come in primary key order; 0 when
    /// memory holds them.
    pub temporary_bytes: u64,
    /// The same if they do not come in that order.
    pub temporary_bytes_unordered: u64,
    /// Loads of this machine by whose speed `seconds` are; with none it is that of the machine of
    /// docs/benchmarks.md.
    pub loads_measured: u32,
    /// Seconds, the rows in primary key order.
    pub seconds: f64,
    /// The same if they do not come in that order.
    pub seconds_unordered: f64,
    /// True if the first rows do not come in that order.
    pub is_unordered: bool,
    /// The least room that sorted runs take in the temporary folder, as far as the first rows tell their
    /// order, if they compress as well as any do.
    pub(crate) spilled_bytes_min: u64,
    /// Seconds of all, what does not depend on size.
    pub(crate) fixed_seconds: f64,
    /// Times of the stages that take long, the rows in the order of the first ones.
    pub(crate) stages: [Expected; STAGES],
}

/// Average stored sizes in the sample.
pub(crate) struct Sample {
    rows: f64,
    /// Parallel to the table's columns.
    stored: Vec<f64>,
    /// Pages of their own that a row's values take, in bytes.
    off_page: f64,
    is_unordered: bool,
}

impl Estimate {
    /// An estimate of several tables, loaded one after the other and kept until the last: room for
    /// all, and for the sorted runs of one at a time. None for no tables.
    pub(crate) fn of_all(all: &[Estimate]) -> Option<Estimate> {
        let most = |of: fn(&Estimate) -> u64| all.iter().map(of).max();
        let longest = |of: fn(&Estimate) -> f64| all.iter().map(of).fold(0.0, f64::max);
        let import = |one: &Estimate| one.seconds - one.build_seconds();
        let last_import = all.last().map_or(0.0, import);
        let further = all.len().saturating_sub(1) as f64;
        let fixed = all.iter().map(|one| one.fixed_seconds).fold(0.0, f64::max);
        let shared = further * (fixed - CONSTANT_SECONDS_FURTHER).max(0.0) - last_import;
        Some(Estimate {
            rows: all.iter().map(|one| one.rows).sum(),
            table_bytes: all.iter().map(|one| one.table_bytes).sum(),
            temporary_bytes: most(|one| one.temporary_bytes)?,
            temporary_bytes_unordered: most(|one| one.temporary_bytes_unordered)?,
            spilled_bytes_min: most(|one| one.spilled_bytes_min)?,
            is_unordered: all.iter().any(|one| one.is_unordered),
            fixed_seconds: fixed,
            // While one is imported the next is built.
            seconds: (all.iter().map(Estimate::build_seconds).sum::<f64>() - shared)
                .max(longest(|one| one.seconds)),
            seconds_unordered: (all
                .iter()
                .map(|one| one.seconds_unordered - import(one))
                .sum::<f64>()
                - shared)
                .max(longest(|one| one.seconds_unordered)),
            ..*all.first()?
        })
    }

    /// Seconds, the rows in the order of the first ones.
    pub(crate) fn seconds_in_order(&self) -> f64 {
        if self.is_unordered { self.seconds_unordered } else { self.seconds }
    }

    /// Says that all takes so many seconds, the rows in the order of the first ones.
    pub(crate) fn take(&mut self, seconds: f64) {
        let other = (self.seconds_unordered - self.seconds).max(0.0);
        (self.seconds, self.seconds_unordered) = match self.is_unordered {
            true => ((seconds - other).max(0.0), seconds),
            false => (seconds, seconds + other),
        };
    }

    /// One of so many seconds, and nothing else.
    #[cfg(test)]
    pub(crate) fn taking(seconds: f64) -> Estimate {
        Estimate {
            rows: 0,
            table_bytes: 0,
            temporary_bytes: 0,
            temporary_bytes_unordered: 0,
            loads_measured: 0,
            seconds,
            seconds_unordered: seconds,
            is_unordered: false,
            spilled_bytes_min: 0,
            fixed_seconds: 0.0,
            stages: [(Stage::Rows, 0.0); STAGES],
        }
    }

    /// Seconds of reading the rows.
    pub(crate) fn rows_seconds(&self) -> f64 {
        let rows = self.stages.iter().filter(|(stage, _)| *stage == Stage::Rows);
        rows.map(|(_, seconds)| seconds).sum()
    }

    /// Seconds of everything but the import.
    pub(crate) fn build_seconds(&self) -> f64 {
        let import = self.stages.iter().filter(|(stage, _)| *stage == Stage::Import);
        self.seconds - import.map(|(_, seconds)| seconds).sum::<f64>()
    }

    /// An estimate of the same rows sent in statements, into a table with so many indexes. The sort
    /// has the rows as they are in the input, of `input_bytes`.
    pub(crate) fn sent(
        self,
        input_bytes: u64,
        indexes: usize,
        memory: &Memory,
        path: LoadPath,
        method: Method,
        speeds: &Speeds,
    ) -> Estimate {
        let input = input_bytes as f64;
        let fits = input <= RUNS_IN_MEMORY * memory.run_bytes as f64;
        let work = work_bytes(input_bytes, self.rows, indexes);
        let sending = work / speeds.of_sending(path);
        let fixed_seconds = speeds.fixed.seconds(method);
        let secondary = if method.sends_in_place() { indexes.saturating_sub(1) } else { 0 };
        let entered = self.rows as f64 * secondary as f64 * ENTRY_SECONDS;
        let sending = sending + entered;
        let seconds = fixed_seconds + sending;
        let sorting = input / speeds.sort;
        let (rows, built) = in_stages(sending, indexes);
        Estimate {
            temporary_bytes: 0,
            temporary_bytes_unordered: if fits { 0 } else { input_bytes },
            seconds,
            seconds_unordered: seconds + sorting,
            stages: [
                (Stage::Sort, if self.is_unordered { sorting } else { 0.0 }),
                (Stage::Rows, rows),
                (Stage::Indexes, built),
                (Stage::Publish, 0.0),
            ],
            // Without room for it, rows are not sorted.
            spilled_bytes_min: 0,
            fixed_seconds,
            ..self
        }
    }

    /// The same of a table whose pages are stamped for incremental backups, between import and publish.
    pub(crate) fn stamped(self, speeds: &Speeds) -> Estimate {
        let stamped = self.table_bytes as f64 / speeds.stamp;
        let stages = self.stages.map(|(stage, seconds)| match stage {
            Stage::Import => (stage, seconds + stamped),
            stage => (stage, seconds),
        });
        Estimate {
            seconds: self.seconds + stamped,
            seconds_unordered: self.seconds_unordered + stamped,
            stages,
            ..self
        }
    }

    /// The same of a table with so many partitions, if any, which is built as a file each: all rows are
    /// sorted, whatever order they come in, and each partition takes the server a while.
    pub(crate) fn in_partitions(self, partitions: usize, speeds: &Speeds) -> Estimate {
        if partitions == 0 {
            return self;
        }
        let count = partitions as f64;
        let exchanged = speeds.of_exchanging(partitions, self.rows);
        let sorting = if self.is_unordered { 0.0 } else { self.seconds_unordered - self.seconds };
        let seconds = self.seconds_unordered + exchanged;
        let stages = self.stages.map(|(stage, seconds)| match stage {
            Stage::Rows => (stage, seconds + sorting),
            Stage::Import => (stage, seconds + exchanged),
            stage => (stage, seconds),
        });
        Estimate {
            table_bytes: self.table_bytes + (count * SPACE_BYTES_MIN) as u64,
            temporary_bytes: self.temporary_bytes_unordered,
            seconds,
            seconds_unordered: seconds,
            stages,
            ..self
        }
    }

    /// Times of the stages; indexes are a stage of their own if a staging table gets the rows
    /// first.
    pub(crate) fn expected(&self, has_staging_table: bool) -> Vec<Expected> {
        let stage_of = |stage| match stage {
            Stage::Indexes if !has_staging_table => Stage::Rows,
            stage => stage,
        };
        self.stages.iter().map(|&(stage, seconds)| (stage_of(stage), seconds)).collect()
    }

    /// Reads the first chunk and goes back to the start. None when the input's size is not known,
    /// or it can be read only once.
    pub(crate) fn of(
        source: &mut dyn Source,
        table: &Table,
        inspected: &Inspected,
        options: &LoadOptions,
        memory: &Memory,
        speeds: &Speeds,
    ) -> Result<Option<Estimate>, Error> {
        let order = KeyOrder::of(table, inspected);
        let sampling = Sampling { columns: &inspected.columns, order };
        let seen =
            Estimate::of_first_chunk(source, memory, |chunk, batch| batch.visit(chunk, sampling))?;
        Ok(seen.map(|seen| seen.estimate(table, options, memory, speeds)))
    }

    /// A sample of the first chunk. None as [`Estimate::of`].
    pub(crate) fn of_first_chunk(
        source: &mut dyn Source,
        memory: &Memory,
        look: impl FnOnce(&Chunk, &Batch) -> Sample,
    ) -> Result<Option<InputSample>, Error> {
        let Some(First { found: sample, part, total }) = first_chunk(source, Some(memory), look)?
        else {
            return Ok(None);
        };
        let rows = sample.rows * (total as f64 / part.max(1) as f64).max(1.0);
        Ok(Some(InputSample { sample, rows, input_bytes: total }))
    }
}

/// A sample of an input.
pub(crate) struct InputSample {
    sample: Sample,
    /// Rows of the input if all are like these.
    rows: f64,
    pub(crate) input_bytes: u64,
}

impl InputSample {
    /// An estimate of a build of all rows.
    pub(crate) fn estimate(
        &self,
        table: &Table,
        options: &LoadOptions,
        memory: &Memory,
        speeds: &Speeds,
    ) -> Estimate {
        let Sizes { table_bytes, clustered, entries, packed } =
            self.sample.sizes(self.rows, table, &options.limits);
        let spilled = |bytes: f64| {
            if bytes <= RUNS_IN_MEMORY * memory.run_bytes as f64 { 0 } else { bytes as u64 }
        };
        let threads = memory.threads as f64;
        let build = self.input_bytes as f64 / speeds.build / threads;
        let verify = table_bytes / speeds.verify / threads;
        let import = table_bytes / speeds.import;
        let fixed_seconds = speeds.fixed.seconds(Method::Build);
        let seconds = fixed_seconds + build + verify + import;
        let sort = clustered / speeds.sort / threads;
        let is_unordered = self.sample.is_unordered;
        let (sorts, sorted) = if is_unordered { (sort, clustered) } else { (0.0, 0.0) };
        let indexes = table.indexes.len() + usize::from(is_unordered);
        let (rows_seconds, indexes_seconds) = in_stages(build + sorts, indexes);
        Estimate {
            rows: self.rows as u64,
            table_bytes: table_bytes as u64,
            temporary_bytes: spilled(entries),
            temporary_bytes_unordered: spilled(entries + clustered),
            loads_measured: speeds.loads,
            seconds,
            seconds_unordered: seconds + sort,
            stages: [
                (Stage::Rows, rows_seconds),
                (Stage::Indexes, indexes_seconds),
                (Stage::Verify, verify),
                (Stage::Import, import),
            ],
            is_unordered,
            fixed_seconds,
            spilled_bytes_min: spilled_bytes_min(packed, entries - packed + sorted, memory),
        }
    }
}

/// The sample of a chunk's first rows.
struct Sampling<'a> {
    columns: &'a [BoundColumn],
    order: KeyOrder,
}

impl Visit for Sampling<'_> {
    type Output = Sample;

    fn rows<R: Rows>(self, rows: R) -> Sample {
        Sample::of(rows, self.columns, self.order)
    }
}

impl Sample {
    fn of<R: Rows>(rows: R, columns: &[BoundColumn], mut order: KeyOrder) -> Sample {
        let mut sample = Sample::new(rows.len(), columns.len());
        let mut converters: Vec<_> = columns.iter().map(|bound| bound.converter.clone()).collect();
        let (mut stored, mut scratch) = (Vec::new(), Vec::new());
        let mut taken = 0;
        for row in rows.iter().take(SAMPLE_ROWS) {
            for (index, bound) in columns.iter().enumerate() {
                stored.clear();
                match &bound.input {
                    Input::Constant(value) => {
                        stored.extend_from_slice(value.as_deref().unwrap_or_default());
                    }
                    input => {
                        let value = field::value(row, input.field(), &mut scratch);
                        // A value that will be refused takes no room.
                        let _ = converters[index].convert_value(value, &mut stored);
                    }
                }
                order.value(index, &stored);
                sample.add(index, stored.len());
            }
            sample.is_unordered |= order.ends_row();
            taken += 1;
        }
        sample.average(taken);
        sample
    }

    /// An empty sample of a chunk of so many rows.
    pub(crate) fn new(rows: usize, columns: usize) -> Sample {
        let stored = vec![0.0; columns];
        Sample { rows: rows as f64, stored, off_page: 0.0, is_unordered: false }
    }

    /// A row has a value of so many bytes in a column.
    pub(crate) fn add(&mut self, column: usize, bytes: usize) {
        if needs_off_page(bytes) {
            self.off_page += (pages_needed(bytes) * PAGE_SIZE) as f64;
        } else {
            self.stored[column] += bytes as f64;
        }
    }

    /// Makes averages of the sums of so many rows.
    pub(crate) fn average(&mut self, rows: u32) {
        let count = f64::from(rows.max(1));
        self.stored.iter_mut().for_each(|bytes| *bytes /= count);
        self.off_page /= count;
    }

    fn sizes(&self, rows: f64, table: &Table, options: &ResourceLimits) -> Sizes {
        let key_bytes = |columns: &[schema::IndexColumn]| -> f64 {
            let stored = columns.iter().map(|part| {
                let column = table.columns.iter().position(|column| column.name == part.name);
                let stored = column.and_then(|column| self.stored.get(column)).copied();
                let limit = part.prefix.map_or(f64::MAX, |chars| f64::from(chars) * 4.0);
                stored.unwrap_or(0.0).min(limit)
            });
            stored.sum()
        };
        let primary = table.indexes.iter().find(|index| index.name == "PRIMARY");
        let primary_bytes = primary.map_or(ROW_ID_BYTES, |index| key_bytes(&index.columns));
        let record = RECORD_BYTES
            + self.stored.iter().sum::<f64>()
            + table.columns.len() as f64 / 8.0
            + if primary.is_some() { 0.0 } else { ROW_ID_BYTES };
        let secondaries = table.indexes.iter().filter(|index| index.name != "PRIMARY");
        let entry = |index: &Index| ENTRY_BYTES + key_bytes(&index.columns) + primary_bytes;
        let (packed, whole): (Vec<&Index>, Vec<&Index>) =
            secondaries.partition(|index| is_packed(table, index));
        let packed: f64 = packed.into_iter().map(entry).sum();
        let entries = packed + whole.into_iter().map(entry).sum::<f64>();
        let filled = |reserve: usize| 1.0 - reserve as f64 / PAGE_BYTES;
        let table_bytes = rows
            * (self.off_page
                + record * PAGE_OVERHEAD / filled(options.fill.clustered_reserve)
                + entries * PAGE_OVERHEAD / filled(options.fill.secondary_reserve))
            + SPACE_BYTES_MIN;
        let grows = table_bytes > EXTENTS_FROM_BYTES;
        Sizes {
            table_bytes: table_bytes + if grows { EXTENTS_FREE_BYTES } else { 0.0 },
            clustered: rows * (record + primary_bytes),
            entries: rows * entries,
            packed: rows * packed,
        }
    }
}

/// Bytes of all rows.
struct Sizes {
    /// Bytes of the finished file.
    table_bytes: f64,
    /// Bytes of the sorted entries: rows out of order, and other indexes.
    clustered: f64,
    entries: f64,
    /// Bytes of `entries` that belong to indexes whose keys go to disk packed.
    packed: f64,
}

/// The time of rows and of the indexes behind them: one index has the rows.
fn in_stages(seconds: f64, indexes: usize) -> (f64, f64) {
    let beside = INDEX_SHARE * indexes.saturating_sub(1) as f64;
    let rows = seconds / (1.0 + beside);
    (rows, seconds - rows)
}

/// True if all keys of an index have one length, so that they go to disk packed.
fn is_packed(table: &Table, index: &Index) -> bool {
    let parts = table.indexes.iter().filter(|other| other.name == "PRIMARY").chain([index]);
    parts.flat_map(|index| &index.columns).all(|part| {
        let column = table.columns.iter().find(|column| column.name == part.name);
        let is_fixed = |column: &Column| fixed_width(&column.sql_type).is_some();
        part.prefix.is_none() && column.is_some_and(is_fixed)
    })
}

/// Room for sorted runs, where they compress as well as any do: of entries that are `packed` and
/// those that go as they are, less what stays in memory.
fn spilled_bytes_min(packed: f64, whole: f64, memory: &Memory) -> u64 {
    let whole = if memory.run_bytes < ZSTD_RUN_BYTES_MIN { whole } else { whole * COMPRESSED };
    (packed * COMPRESSED + whole - memory.run_bytes as f64).max(0.0) as u64
}
