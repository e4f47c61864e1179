//! Options for a table that is guessed, as they are typed.

use clap::Args;

use super::written::pair;

#[derive(Clone, Debug, Default, Args)]
pub(crate) struct GuessedArgs {
    /// Type of a column in place of the guess, as in CREATE TABLE; may be repeated.
    #[arg(long, value_name = "COLUMN=TYPE", value_parser = pair)]
    pub(crate) types: Vec<(String, String)>,
    /// Collation of a guessed table, and its character set [default: that of utf8mb4].
    #[arg(long, value_name = "NAME")]
    pub(crate) collation: Option<String>,
}
