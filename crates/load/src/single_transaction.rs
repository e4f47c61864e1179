//! Small tables, whose rows go in sooner by one transaction than by a swap.
//!
//! A table that is built and swapped in takes the server some 20 ms whatever is in it: CREATE TABLE
//! .. LIKE, DISCARD, IMPORT, RENAME and DROP, most of which sync files. A table that gets its rows
//! itself takes none of that, and all tables of a command share one COMMIT.

use encode::column_source::Input;
use encode::inspected::Inspected;
use job::error::Error;
use job::failpoint;
use job::options::{InputOptions, LoadOptions, LoadPath, Mode, OnDuplicate};
use schema::{Engine, Table, TableKind};
use sources::FileSource;

/// Bytes of text a table, on average, up to which one transaction is faster. Twenty tables of five
/// columns and a secondary index, 39 bytes a row: see docs/benchmarks.md, "Small tables".
const BYTES_PER_TABLE_MAX: u64 = 64 << 10;
/// Bytes of text of all tables: what one transaction holds, and takes back if it fails.
const BYTES_MAX: u64 = 32 << 20;
/// The largest likely ratio of text to the bytes of its compressed file.
const EXPANSION: u64 = 8;

/// Why such tables are not built.
pub(crate) const REASON: &str = "the tables are small, so one transaction is faster than a swap \
                                 of tables";

/// True if all tables of a command get their rows in one transaction: there are several, they are
/// empty or not to be loaded at all, small on average, and none of them needs another method.
///
/// Errors: a file that cannot be read.
pub(crate) fn are_small<'t>(
    options: &[LoadOptions],
    tables: impl IntoIterator<Item = &'t Table>,
) -> Result<bool, Error> {
    if options.len() < 2 || !options.iter().all(is_open) || !tables.into_iter().all(is_plain) {
        return Ok(false);
    }
    let mut bytes = 0u64;
    for one in options {
        bytes = bytes.saturating_add(text_bytes(&one.input)?);
    }
    let most = BYTES_MAX.min(BYTES_PER_TABLE_MAX * options.len() as u64);
    Ok(failpoint::are_small().unwrap_or(bytes <= most))
}

/// True if the input gives each AUTO_INCREMENT value. LOAD DATA reserves more values than it
/// generates, so a table that gets its rows directly would go on at another number.
pub(crate) fn gives_numbers(inspected: &Inspected) -> bool {
    !inspected.columns.iter().any(|bound| matches!(bound.input, Input::AutoIncrement(None)))
}

/// True if the options allow it.
pub(crate) fn is_open(options: &LoadOptions) -> bool {
    options.mode == Mode::Insert
        && options.path == LoadPath::Auto
        // Of rows that are left out, the numbers that they would have had are not LOAD DATA's.
        && options.rows.on_duplicate == OnDuplicate::Fail
        && options.rows.duplicates.is_none()
        && !options.server.unlogged
        && options.server.replicas.named.is_empty()
}

/// True if rows in the table itself can be rolled back, and have no other effects there.
fn is_plain(table: &Table) -> bool {
    table.kind == TableKind::Base && table.engine == Engine::InnoDb && table.triggers.is_empty()
}

/// About how much text a table's files hold.
fn text_bytes(options: &InputOptions) -> Result<u64, Error> {
    let mut bytes = 0u64;
    for file in &options.files {
        let size = std::fs::metadata(file).map_or(0, |meta| meta.len());
        let compression =
            FileSource::compression(file).map_err(|error| Error::Usage(error.to_string()))?;
        let expansion = if compression.is_some() { EXPANSION } else { 1 };
        bytes = bytes.saturating_add(size.saturating_mul(expansion));
    }
    Ok(bytes)
}
