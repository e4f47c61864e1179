//! Rows for tables that have some, with those of other tables: one transaction holds all.

use job::error::Error;
use job::options::{LoadOptions, Mode};
use schema::Table;
use server::{Session, catalog};

/// True if a table of a command keeps its rows.
///
/// Errors: another is to be replaced at once with that.
pub(super) fn adds<'t>(
    session: &mut Session,
    tables: &[LoadOptions],
    described: impl IntoIterator<Item = &'t Table>,
) -> Result<bool, Error> {
    let mut kept = None;
    for (options, table) in tables.iter().zip(described) {
        if options.mode == Mode::Append && !catalog::is_empty(session, &table.name)? {
            kept.get_or_insert(&table.name);
        }
    }
    let replaced = tables.iter().find(|options| options.mode == Mode::Replace);
    match (kept, replaced) {
        (Some(kept), Some(LoadOptions { table, .. })) => Err(Error::Usage(format!(
            "{kept} keeps its rows, which needs one transaction, but replacing {table} needs a \
             swap: one command can do only one of these"
        ))),
        (kept, _) => Ok(kept.is_some()),
    }
}
