//! What is said of a table that is guessed, as it is typed.

use clap::Args;

use super::written::pair;

#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "A table that is guessed")]
pub(crate) struct GuessedArgs {
    /// Type of a column, as in CREATE TABLE, in place of the one that was guessed; may be given several times.
    #[arg(long, value_name = "COLUMN=TYPE", value_parser = pair)]
    pub(crate) types: Vec<(String, String)>,
    /// Collation of the table, and with it the character set [default: that of utf8mb4].
    #[arg(long, value_name = "NAME")]
    pub(crate) collation: Option<String>,
}
