//! How people write the values, as it is typed.

use clap::Args;

/// How values are written, and what else columns get.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Values as people write them (default: as the server reads them)")]
pub(crate) struct WrittenArgs {
    /// How the values of a column are written: words joined by +, of trim, decimal-comma, decimal-point,
    /// percent (a % behind the number counts for nothing), yes-no, iso (2026-12-31T10:00:00Z), or a pattern
    /// of STR_TO_DATE, as %d.%m.%Y. May be given several times, and counts more than what is said of all
    /// columns. With --into DB also TABLE.COLUMN=FORMAT.
    #[arg(long, value_name = "COLUMN=FORMAT", value_parser = pair)]
    pub(crate) format_of: Vec<(String, String)>,
    /// All numbers have a comma before the fraction, perhaps points between thousands: 1.234,50.
    #[arg(long)]
    pub(crate) decimal_comma: bool,
    /// The format of all columns of DATE, DATETIME and TIMESTAMP: iso, or a pattern of STR_TO_DATE.
    #[arg(long, value_name = "FORMAT")]
    pub(crate) date_format: Option<String>,
    /// All columns of TINYINT and BIT hold words: yes, no, true, false, y, n, t, f, on, off, or 1, 0.
    #[arg(long)]
    pub(crate) yes_no: bool,
    /// Blanks at the ends of values (spaces, tabs, line ends) count for nothing, but in binary columns.
    #[arg(long)]
    pub(crate) trim: bool,
    /// Give a column that the input lacks this value in all rows; may be given several times. With --into DB
    /// also TABLE.COLUMN=VALUE.
    #[arg(long, value_name = "COLUMN=VALUE", value_parser = pair)]
    pub(crate) set: Vec<(String, String)>,
    /// Give a column that the input lacks the value that the server has for an SQL expression, as NOW(), in
    /// all rows: it is asked once. May be given several times. With --into DB also TABLE.COLUMN=EXPRESSION.
    #[arg(long, value_name = "COLUMN=EXPRESSION", value_parser = pair)]
    pub(crate) set_sql: Vec<(String, String)>,
    /// Leave out fields whose names in the header are no columns of the table.
    #[arg(long)]
    pub(crate) ignore_unknown_columns: bool,
}

/// Reads `COLUMN=TEXT`.
pub(super) fn pair(typed: &str) -> Result<(String, String), String> {
    match typed.split_once('=') {
        Some((column, text)) if !column.is_empty() => Ok((column.to_owned(), text.to_owned())),
        _ => Err("a column and, behind =, what is said of it".to_owned()),
    }
}

/// Reads `NAME=HOST:PORT`.
pub(super) fn shard(typed: &str) -> Result<(String, String), String> {
    match typed.split_once('=') {
        Some((name, address)) if !name.is_empty() && !address.is_empty() => {
            Ok((name.to_owned(), address.to_owned()))
        }
        _ => Err("the name of a server and, behind =, where it is".to_owned()),
    }
}
