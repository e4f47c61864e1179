//! The least memory that a build needs, of a table that is only looked at.

use job::memory::MinMemory;
use job::options::{LoadOptions, OnDuplicate};
use schema::{Index, Table};
use sort::{EntryShape, RunStore};
use values::key::fixed_width;

use crate::build::store_bytes_min;
use crate::duplicates::losers::Losers;
use crate::order::PARTITION_BYTES;

/// Bytes of DB_ROW_ID.
const ROW_ID_BYTES: usize = 6;
/// Bytes of an entry that says which row shares keys.
const LOSER_BYTES: usize = 32;
/// Sixteenths of the memory for runs that are left for keys where duplicates are looked for.
const KEYS_SIXTEENTHS: usize = 11;

/// The least `--memory` of a load of a table, in whatever order its rows come. `reading_bytes` are
/// for unpacking the input.
pub fn least_memory(table: &Table, options: &LoadOptions, reading_bytes: u64) -> MinMemory {
    let shapes = shapes(table);
    let runs_min = |threads: usize| {
        let all = shapes.iter().map(|shape| store_bytes_min(shape, threads)).sum::<usize>();
        match options.rows.on_duplicate {
            OnDuplicate::Fail => all,
            _ => {
                let losers = RunStore::memory_bytes_min(&EntryShape::fixed(LOSER_BYTES), threads);
                (all + losers + Losers::BUFFERS_BYTES) / KEYS_SIXTEENTHS * 16
            }
        }
    };
    MinMemory::of_sorting(
        shapes.len(),
        runs_min,
        options.limits.threads,
        reading_bytes,
        options.limits.memory_bytes_max,
    )
}

/// The largest entries that are sorted: as the binding will tell once the server has described the
/// table's file.
fn shapes(table: &Table) -> Vec<EntryShape> {
    let is_clustered = |index: &&Index| index.name == "PRIMARY";
    let primary = table.indexes.iter().find(is_clustered);
    let primary_bytes = primary.map_or(Some(ROW_ID_BYTES), |index| key_bytes(table, index));
    let prefix = table.partitioning.as_ref().map_or(0, |_| PARTITION_BYTES);
    let clustered =
        EntryShape { key_len: primary_bytes.map(|b| prefix + b), tail_len: 0, payload: true };
    let secondary = |index: &Index| {
        let key_len =
            key_bytes(table, index).zip(primary_bytes).map(|(own, primary)| prefix + own + primary);
        EntryShape { key_len, tail_len: 0, payload: key_len.is_none() }
    };
    let secondaries = table.indexes.iter().filter(|index| !is_clustered(index));
    std::iter::once(clustered).chain(secondaries.map(secondary)).collect()
}

/// Bytes of the keys of an index, if all have as many.
fn key_bytes(table: &Table, index: &Index) -> Option<usize> {
    let bytes = index.columns.iter().map(|part| {
        let column = table.columns.iter().find(|column| column.name == part.name)?;
        let width = fixed_width(&column.sql_type).filter(|_| part.prefix.is_none())?;
        Some(width + usize::from(column.nullable))
    });
    bytes.sum()
}
