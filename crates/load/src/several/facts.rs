//! Facts about all tables of a command, by server and files.

use std::iter::repeat;
use std::path::PathBuf;

use job::error::Error;
use job::options::{InputOptions, LoadOptions, LoadPath, Mode};
use schema::{Table, TableName};
use server::Session;
use server::engine::Kind;
use sources::remote;

use super::Input;
use crate::choose::{CommandFacts, CommandTable, small_bytes};
use crate::ddl;

impl CommandFacts {
    /// Inspects the tables of a command; None for one that `--ddl` is to make. Tables are asked for a row unless
    /// `were_empty` says it, and files are opened that are not among the `inputs`.
    ///
    /// Errors: a file that cannot be read; the server's.
    pub(super) fn of(
        session: &mut Session,
        options: &[LoadOptions],
        tables: &[Option<&Table>],
        were_empty: &[Option<bool>],
        inputs: &[Input],
    ) -> Result<CommandFacts, Error> {
        let mut facts = CommandFacts {
            flavor: session.version().flavor,
            tables: waiting(options, tables.iter().copied()),
            replaced: None,
            can_be_whole: false,
        };
        // Nobody knows yet the tables that are still to be made.
        let tables: Option<Vec<&Table>> = tables.iter().copied().collect();
        let Some(tables) = tables else { return Ok(facts) };
        facts.can_be_whole = can_be_whole(options);
        let replaced = options.iter().find(|options| options.mode == Mode::Replace);
        facts.replaced = replaced.map(|one| TableName::new(&one.database, &one.table));
        let kind = Kind::of_version(session.version());
        let were_empty = were_empty.iter().copied().chain(repeat(None));
        let inputs = inputs.iter().map(|(_, source)| Some(source.facts())).chain(repeat(None));
        let all = facts.tables.iter_mut().zip(options).zip(tables).zip(were_empty.zip(inputs));
        for (((known, options), table), (was_empty, input)) in all {
            if options.mode == Mode::Append {
                let ask = || catalog::is_empty(session, &table.name);
                known.keeps_rows = !was_empty.map_or_else(ask, Ok)?;
            }
            known.small_bytes = small_bytes(options, table, kind, input)?;
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

/// True if one transaction may hold the rows of all tables where a swap cannot publish them. Files of one table
/// each can be loaded by `--each` instead; lines with rows of several tables cannot.
fn can_be_whole(tables: &[LoadOptions]) -> bool {
    tables.iter().all(|options| {
        options.input.selection.is_some()
            && options.mode != Mode::Replace
            && options.path != LoadPath::Direct
    })
}

/// Bytes of a table's input: of lines that hold rows of several tables, of those that have its own.
fn input_bytes(options: &InputOptions) -> u64 {
    let size = |file: &PathBuf| remote::plain_bytes(file).unwrap_or(0);
    let of_lines = options.selection.as_ref().and_then(|selection| selection.line_bytes());
    of_lines.unwrap_or_else(|| options.files.iter().map(size).sum())
}
