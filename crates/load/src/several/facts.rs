//! Facts about all tables of a command, by server and files.

use std::path::PathBuf;

use encode::column_source::Input;
use encode::inspected::Inspected;
use job::error::Error;
use job::failpoint;
use job::options::{InputOptions, LoadOptions, LoadPath, Mode, OnDuplicate};
use schema::{Engine, Table, TableKind, TableName};
use server::engine::Kind;
use server::{Session, catalog};
use sources::{FileSource, remote};

use crate::choose::{CommandFacts, CommandTable};
use crate::ddl;

/// The largest likely ratio of text to the bytes of its compressed file.
const EXPANSION: u64 = 8;

impl CommandFacts {
    /// Inspects the tables of a command; None for one that `--ddl` is to make.
    ///
    /// Errors: a file that cannot be read; the server's.
    pub(super) fn of(
        session: &mut Session,
        options: &[LoadOptions],
        tables: &[Option<&Table>],
    ) -> Result<CommandFacts, Error> {
        let mut facts = CommandFacts {
            tables: waiting(options, tables.iter().copied()),
            replaced: None,
            can_be_whole: false,
            are_small: failpoint::are_small(),
        };
        // Nobody knows yet the tables that are still to be made.
        let tables: Option<Vec<&Table>> = tables.iter().copied().collect();
        let Some(tables) = tables else { return Ok(facts) };
        facts.can_be_whole = can_be_whole(options);
        let replaced = options.iter().find(|options| options.mode == Mode::Replace);
        facts.replaced = replaced.map(|one| TableName::new(&one.database, &one.table));
        let are_open = options.iter().all(is_open) && tables.iter().all(|table| is_plain(table));
        let may_be_small = are_open && Kind::of_version(session.version()).keeps_gaps();
        for ((known, options), table) in facts.tables.iter_mut().zip(options).zip(tables) {
            let is_added = options.mode == Mode::Append;
            known.keeps_rows = is_added && !catalog::is_empty(session, &table.name)?;
            known.small_bytes = may_be_small.then(|| text_bytes(&options.input)).transpose()?;
        }
        Ok(facts)
    }
}

/// The tables of a command by their names, sizes and parents; for one that `--ddl` is to make, as the file
/// defines it.
pub(super) fn waiting<'t>(
    options: &[LoadOptions],
    tables: impl IntoIterator<Item = Option<&'t Table>>,
) -> Vec<CommandTable> {
    let one = |(options, table): (&LoadOptions, Option<&Table>)| {
        let (name, parents) = match table {
            Some(table) => {
                let references = table.references.iter();
                let parents = references.map(|reference| reference.parent.clone()).collect();
                (table.name.clone(), parents)
            }
            None => (TableName::new(&options.database, &options.table), ddl::parents(options)),
        };
        let bytes = input_bytes(&options.input);
        CommandTable { name, bytes, parents, ..CommandTable::default() }
    };
    options.iter().zip(tables).map(one).collect()
}

/// True if the input gives each AUTO_INCREMENT value.
pub(super) fn gives_numbers(inspected: &Inspected) -> bool {
    !inspected.columns.iter().any(|bound| matches!(bound.input, Input::AutoIncrement(None)))
}

/// True if one transaction may hold the rows of all tables where a swap cannot publish them. Files of one table
/// each can be loaded by `--each` instead; lines with rows of several tables cannot.
fn can_be_whole(tables: &[LoadOptions]) -> bool {
    tables.iter().all(|options| {
        options.input.selection.is_some()
            && options.mode != Mode::Replace
            && options.path != LoadPath::Direct
    })
}

/// True if the options allow rows in the table itself.
fn is_open(options: &LoadOptions) -> bool {
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

/// Bytes of a table's input: of lines that hold rows of several tables, of those that have its own.
fn input_bytes(options: &InputOptions) -> u64 {
    let size = |file: &PathBuf| remote::plain_bytes(file).unwrap_or(0);
    let of_lines = options.selection.as_ref().and_then(|selection| selection.line_bytes());
    of_lines.unwrap_or_else(|| options.files.iter().map(size).sum())
}

/// The likely size of the text in a table's files.
fn text_bytes(options: &InputOptions) -> Result<u64, Error> {
    let mut bytes = 0u64;
    if options.kind()?.is_some() {
        return Ok(input_bytes(options).saturating_mul(EXPANSION));
    }
    for file in &options.files {
        let size = remote::plain_bytes(file).unwrap_or(0);
        let compression =
            FileSource::compression(file).map_err(|error| Error::Usage(error.to_string()))?;
        let expansion = if compression.is_some() { EXPANSION } else { 1 };
        bytes = bytes.saturating_add(size.saturating_mul(expansion));
    }
    Ok(bytes)
}
