//! The columns of a new table, as they are guessed from files.

use sources::KeptPipes;

/// Columns for a new table.
#[derive(Clone, Debug)]
pub struct TableGuess {
    /// The columns.
    pub columns: Vec<ColumnGuess>,
    /// Rows that were looked at.
    pub rows: u64,
    /// True if these are all rows.
    pub is_whole: bool,
    /// The pipes among the files.
    pub kept: KeptPipes,
}

/// A column for a new table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnGuess {
    /// Its name.
    pub name: String,
    /// Its type in SQL.
    pub sql_type: String,
    /// The type to take in place of a VARCHAR, where rows have no room for all of these.
    pub long_type: Option<&'static str>,
    /// True if the file has no values for it.
    pub is_empty: bool,
}
