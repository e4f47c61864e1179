//! The least memory that a load needs, by the way it takes.

use job::memory::{ConnectionShares, MinMemory};
use job::options::{LoadOptions, LoadPath};
use schema::Table;

use crate::estimate::Estimate;

/// The least memory of a load by `path`, of which `reading_bytes` are for unpacking the input.
pub(crate) fn least(
    path: LoadPath,
    table: &Table,
    options: &LoadOptions,
    reading_bytes: u64,
    estimate: Option<&Estimate>,
) -> MinMemory {
    let any = MinMemory::of_any(reading_bytes);
    match path {
        LoadPath::Auto | LoadPath::Direct => {
            let build = direct::least_memory(table, options, reading_bytes);
            let verify = estimate.map(|estimate| MinMemory::of_verifying(estimate.table_bytes));
            verify.map_or(build.clone(), |verify| build.or(verify))
        }
        LoadPath::Stream | LoadPath::Insert | LoadPath::Import => {
            let connections = options.limits.batches.connections;
            any.or(ConnectionShares::least(reading_bytes, path, connections))
        }
    }
}
