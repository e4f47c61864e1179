//! Options for a table that is guessed, as they are typed.

use clap::Args;

use super::written::pair;

#[derive(Clone, Debug, Default, Args)]
pub(crate) struct GuessedArgs {
    /// Type of a column in place of the guess, as in CREATE TABLE; may be repeated.
    ///
    /// With --into DB also TABLE.COLUMN=TYPE.
    #[arg(long, value_name = "COLUMN=TYPE", value_parser = pair)]
    pub(crate) types: Vec<(String, String)>,
    /// Load each line as one text, if no separator cuts the lines evenly.
    #[arg(long)]
    pub(crate) one_column: bool,
    /// Collation of a guessed table, and its character set [default: that of utf8mb4].
    #[arg(long, value_name = "NAME")]
    pub(crate) collation: Option<String>,
}

impl GuessedArgs {
    /// True if any was typed.
    pub(crate) fn are_given(&self) -> bool {
        !self.types.is_empty() || self.collation.is_some() || self.one_column
    }
}
