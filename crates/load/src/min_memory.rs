//! The least memory that a load needs, by the way it takes.

use encode::input;
use job::memory::{ConnectionShares, MinMemory};
use job::options::{LoadOptions, LoadPath};
use schema::Table;

use crate::estimate::Estimate;

/// Most rounds of [`of_files`]. Reading takes a small part of memory, so the rounds converge fast.
const ROUNDS_MAX: usize = 6;

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

/// The least memory of a load of files. `least` gives it by the bytes for reading, which depend on the memory
/// themselves: they are `held_bytes` with that of the options.
pub(crate) fn of_files(
    options: &LoadOptions,
    held_bytes: u64,
    least: impl Fn(u64) -> MinMemory,
) -> MinMemory {
    let held = |memory_bytes: u64| input::held_bytes(options, memory_bytes).ok();
    let mut found = least(held_bytes);
    if held(options.limits.memory_bytes_max) != Some(held_bytes) {
        // The source reads something else than these files.
        return found;
    }
    for _ in 0..ROUNDS_MAX {
        let Some(next) = held(found.bytes).map(&least) else { break };
        if next.bytes == found.bytes {
            break;
        }
        found = next;
    }
    found
}
