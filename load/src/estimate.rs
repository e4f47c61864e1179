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
use job::options::{LoadOptions, LoadPath};
use schema::Table;
use serde::Serialize;
use sources::{Batch, Chunk, Rows, Source, Visit};

use crate::speeds::{Speeds, work_bytes};

/// Rows that are converted.
const SAMPLE_ROWS: usize = 2_000;
/// Bytes of a record besides its values: header, DB_TRX_ID, DB_ROLL_PTR.
const RECORD_BYTES: f64 = (RECORD_HEADER + TRX_ID_BYTES + ROLL_PTR_BYTES) as f64;
/// Bytes of an index entry besides its values.
const ENTRY_BYTES: f64 = RECORD_HEADER as f64;
/// Bytes of DB_ROW_ID, the key of a table without one.
const ROW_ID_BYTES: f64 = record::ROW_ID_BYTES as f64;
/// What page headers, directories and the levels above the leaves take.
const PAGE_OVERHEAD: f64 = 1.03;
const PAGE_BYTES: f64 = PAGE_SIZE as f64;
/// What a file takes at least; and once it grows by extents, what is left free in them.
const SPACE_BYTES_MIN: f64 = 100_000.0;
const EXTENTS_FROM_BYTES: f64 = 1e6;
const EXTENTS_FREE_BYTES: f64 = 2e6;
/// Part of the runs' memory that is filled before they spill.
const RUNS_IN_MEMORY: f64 = 0.75;

/// Everything that does not depend on size, in seconds.
const CONSTANT_SECONDS: f64 = 0.1;

/// What a load will take, roughly. `inrush plan` shows it; a disk without that room is refused.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
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
}

/// Average stored sizes in the sample.
struct Sample {
    rows: f64,
    /// Parallel to the table's columns.
    stored: Vec<f64>,
    /// Pages of their own that a row's values take, in bytes.
    off_page: f64,
}

impl Estimate {
    /// The same rows sent in statements, into a table of so many indexes. What is sorted for that are the rows as they are in the
    /// input, of `input_bytes`.
    pub(crate) fn sent(
        self,
        (input_bytes, indexes): (u64, usize),
        memory: &Memory,
        path: LoadPath,
        speeds: &Speeds,
    ) -> Estimate {
        let input = input_bytes as f64;
        let fits = input <= RUNS_IN_MEMORY * memory.run_bytes as f64;
        let work = work_bytes(input_bytes, self.rows, indexes);
        let seconds = CONSTANT_SECONDS + work / speeds.of_sending(path);
        Estimate {
            temporary_bytes: 0,
            temporary_bytes_unordered: if fits { 0 } else { input_bytes },
            seconds,
            seconds_unordered: seconds + input / speeds.sort,
            ..self
        }
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
        let Some(total) = source.bytes_total() else { return Ok(None) };
        if source.files().iter().any(|file| file.bytes.is_none()) {
            return Ok(None);
        }
        let (mut chunk, mut batch) = (Chunk::default(), Batch::new());
        // What is wrong with the input is said when the load comes to it.
        let read = source.next_chunk(&mut chunk).unwrap_or(false);
        let part = source.bytes_read();
        source.restart()?;
        if !read || source.reader().read(&chunk, &mut batch).is_err() {
            (chunk, batch) = (Chunk::default(), Batch::new());
        }
        let sample = batch.visit(&chunk, Sampling { columns: &inspected.columns });
        let rows = sample.rows * (total as f64 / part.max(1) as f64).max(1.0);
        Ok(Some(sample.estimate(rows, total, table, (options, memory), speeds)))
    }
}

/// The sample of a chunk's first rows.
struct Sampling<'a> {
    columns: &'a [BoundColumn],
}

impl Visit for Sampling<'_> {
    type Output = Sample;

    fn rows<R: Rows>(self, rows: R) -> Sample {
        Sample::of(rows, self.columns)
    }
}

impl Sample {
    fn of<R: Rows>(rows: R, columns: &[BoundColumn]) -> Sample {
        let mut sample =
            Sample { rows: rows.len() as f64, stored: vec![0.0; columns.len()], off_page: 0.0 };
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
                if needs_off_page(stored.len()) {
                    sample.off_page += (pages_needed(stored.len()) * PAGE_SIZE) as f64;
                } else {
                    sample.stored[index] += stored.len() as f64;
                }
            }
            taken += 1;
        }
        let count = f64::from(taken.max(1));
        sample.stored.iter_mut().for_each(|bytes| *bytes /= count);
        sample.off_page /= count;
        sample
    }

    fn estimate(
        &self,
        rows: f64,
        total: u64,
        table: &Table,
        (options, memory): (&LoadOptions, &Memory),
        speeds: &Speeds,
    ) -> Estimate {
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
        let entries: f64 =
            secondaries.map(|index| ENTRY_BYTES + key_bytes(&index.columns) + primary_bytes).sum();
        let filled = |reserve: usize| 1.0 - reserve as f64 / PAGE_BYTES;
        let table_bytes = rows
            * (self.off_page
                + record * PAGE_OVERHEAD / filled(options.fill.clustered_reserve)
                + entries * PAGE_OVERHEAD / filled(options.fill.secondary_reserve))
            + SPACE_BYTES_MIN;
        let grows = table_bytes > EXTENTS_FROM_BYTES;
        let table_bytes = table_bytes + if grows { EXTENTS_FREE_BYTES } else { 0.0 };
        let spilled = |bytes: f64| {
            if bytes <= RUNS_IN_MEMORY * memory.run_bytes as f64 { 0 } else { bytes as u64 }
        };
        let clustered = rows * (record + primary_bytes);
        let threads = memory.threads as f64;
        let seconds = CONSTANT_SECONDS
            + total as f64 / speeds.build / threads
            + table_bytes / speeds.verify / threads
            + table_bytes / speeds.import;
        Estimate {
            rows: rows as u64,
            table_bytes: table_bytes as u64,
            temporary_bytes: spilled(rows * entries),
            temporary_bytes_unordered: spilled(rows * entries + clustered),
            loads_measured: speeds.loads,
            seconds,
            seconds_unordered: seconds + clustered / speeds.sort / threads,
        }
    }
}
