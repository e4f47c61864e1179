//! Inputs so small that one transaction into the tables themselves takes less time than a swap.
//!
//! A table that is built and swapped in takes MariaDB some 14 ms and MySQL some 120 ms, whatever its rows: CREATE
//! TABLE .. LIKE, DISCARD, IMPORT, RENAME and DROP, which sync files. Rows that go into the table itself need none of
//! these, and all tables of a command share one COMMIT; but one connection sends them all.

use job::error::Error;
use job::failpoint;
use job::options::{LoadOptions, LoadPath, Mode, OnDuplicate};
use schema::{Engine, Flavor, Table, TableKind};
use server::engine::Kind;
use sources::{FileSource, InputFacts, remote};

/// Seconds of a table, and bytes of text a second: measured, see docs/benchmarks.md, "Small tables".
struct Measured {
    /// A table that is built and swapped in, besides its rows.
    swapped_table: f64,
    /// The seconds that its foreign keys add.
    keys: f64,
    /// A table in one transaction.
    sent_table: f64,
    /// Built by two threads and imported.
    built_bytes: f64,
    /// Sent by one connection.
    sent_bytes: f64,
}

const MARIADB: Measured = Measured {
    swapped_table: 0.014,
    keys: 0.012,
    sent_table: 0.003,
    built_bytes: 40e6,
    sent_bytes: 10e6,
};
/// The statements of a swap sync files 72 times, those of MariaDB 3 times. IMPORT reads each record of each tree.
const MYSQL: Measured = Measured {
    swapped_table: 0.12,
    keys: 0.012,
    sent_table: 0.003,
    built_bytes: 28e6,
    sent_bytes: 6e6,
};
/// Bytes of text of all tables: as much as one transaction holds, and rolls back if it fails.
const BYTES_MAX: u64 = 128 << 20;
/// The largest likely ratio of text to the bytes of its compressed file.
const EXPANSION: u64 = 8;

/// Why small tables are not built.
pub(super) const SMALL: &str =
    "the input is small, so one transaction is faster than a swap of tables";

/// Expected seconds of all tables of a command, by both methods of publishing them at once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct TogetherSeconds {
    /// In one transaction.
    pub(crate) transaction: f64,
    /// By a swap of built tables.
    pub(crate) swap: f64,
}

impl TogetherSeconds {
    /// For so many tables, those with foreign keys among them, and bytes of the text of all inputs.
    pub(super) fn of(
        flavor: Flavor,
        tables: usize,
        with_keys: usize,
        bytes: u64,
    ) -> TogetherSeconds {
        let measured = match flavor {
            Flavor::MariaDb => MARIADB,
            Flavor::MySql => MYSQL,
        };
        let (tables, with_keys, bytes) = (tables as f64, with_keys as f64, bytes as f64);
        TogetherSeconds {
            transaction: tables * measured.sent_table + bytes / measured.sent_bytes,
            swap: tables * measured.swapped_table
                + with_keys * measured.keys
                + bytes / measured.built_bytes,
        }
    }

    /// True if one transaction of so many bytes is faster, and not too large.
    pub(super) fn are_small(self, bytes: u64) -> bool {
        bytes <= BYTES_MAX && self.transaction <= self.swap
    }
}

/// Bytes of the text of a table's input, if its rows may go into the table itself for being few: options, table and
/// engine allow that, and the sizes of all files are known. `facts` are those of the opened input.
///
/// Errors: a file that cannot be read.
pub(crate) fn small_bytes(
    options: &LoadOptions,
    table: &Table,
    kind: Kind,
    facts: Option<&InputFacts>,
) -> Result<Option<u64>, Error> {
    match failpoint::are_small() {
        _ if !(is_open(options) && is_plain(table) && kind.keeps_gaps()) => Ok(None),
        Some(are_small) => Ok(are_small.then_some(0)),
        None => text_bytes(options, facts),
    }
}

/// True if the options allow rows in the table itself.
fn is_open(options: &LoadOptions) -> bool {
    options.mode != Mode::Replace
        && options.path == LoadPath::Auto
        // Numbers of rows that are left out would not be LOAD DATA's.
        && options.rows.on_duplicate == OnDuplicate::Fail
        && options.rows.duplicates.is_none()
        && !options.server.unlogged
        && options.server.replicas.named.is_empty()
}

/// True if rows in the table itself can be rolled back, have no other effects there, and may go in one by one.
fn is_plain(table: &Table) -> bool {
    let refers_to_itself = table.references.iter().any(|to| to.parent == table.name);
    table.kind == TableKind::Base
        && table.engine == Engine::InnoDb
        && table.triggers.is_empty()
        && !refers_to_itself
}

/// The likely size of the text in a table's files, which are opened unless `facts` have it.
fn text_bytes(options: &LoadOptions, facts: Option<&InputFacts>) -> Result<Option<u64>, Error> {
    let input = &options.input;
    if input.files.is_empty() {
        return Ok(None);
    }
    // Plain files alone are read without memory of their own.
    if let Some(facts) = facts.filter(|facts| facts.held_bytes == 0) {
        return Ok(facts.bytes_total);
    }
    let is_packed = input.kind()?.is_some();
    let mut bytes = 0u64;
    for file in &input.files {
        let Some(size) = remote::plain_bytes(file) else { return Ok(None) };
        let compression =
            || FileSource::compression(file).map_err(|error| Error::Usage(error.to_string()));
        let expansion = if is_packed || compression()?.is_some() { EXPANSION } else { 1 };
        bytes = bytes.saturating_add(size.saturating_mul(expansion));
    }
    Ok(Some(bytes))
}
