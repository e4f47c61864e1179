//! The rows that an export writes.

use schema::Table;

use crate::columns::Columns;
use crate::options::ExportOptions;

/// Columns of a table, by the options.
#[derive(Clone, Copy)]
pub(crate) struct Request<'r> {
    pub(crate) table: &'r Table,
    pub(crate) columns: &'r Columns,
    pub(crate) options: &'r ExportOptions,
}
