//! How people write the values, as it is typed.

use clap::Args;
use load::Constant;

/// How values are written, and what else columns get.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct WrittenArgs {
    /// Format of a column's values; may be repeated.
    ///
    /// Formats are words joined by +: trim, decimal-comma, decimal-point (1,234.50), percent (a % behind the number
    /// is dropped), yes-no, iso (2026-12-31T10:00:00Z), hex and base64 (binary columns), wkt (GEOMETRY columns),
    /// null:TEXT (TEXT is NULL), or a pattern of STR_TO_DATE such as %d.%m.%Y or %m/%d/%Y %h:%i %p. This option
    /// overrides those for all columns. For JSON also a pointer to a value inside of a record, /address/city (RFC 6901).
    /// With --into DB also TABLE.COLUMN=FORMAT.
    #[arg(long, value_name = "COLUMN=FORMAT", value_parser = pair)]
    pub(crate) format_of: Vec<(String, String)>,
    /// Read numbers with a decimal comma: 1.234,50.
    #[arg(long)]
    pub(crate) decimal_comma: bool,
    /// Format of all DATE, DATETIME and TIMESTAMP columns.
    ///
    /// iso, or a pattern of STR_TO_DATE.
    #[arg(long, value_name = "FORMAT")]
    pub(crate) date_format: Option<String>,
    /// Read yes/no, true/false, on/off, y/n, t/f, 1/0 in TINYINT and BIT columns.
    #[arg(long)]
    pub(crate) yes_no: bool,
    /// Remove blanks at the ends of values, except in binary columns.
    ///
    /// Blanks are spaces, tabs and line ends.
    #[arg(long)]
    pub(crate) trim: bool,
    /// Value for a column that the input lacks; may be repeated.
    ///
    /// With --into DB also TABLE.COLUMN=VALUE.
    #[arg(long, value_name = "COLUMN=VALUE", value_parser = pair)]
    pub(crate) set: Vec<(String, String)>,
    /// SQL expression for a column that the input lacks, such as NOW().
    ///
    /// The server evaluates the expression once, for all rows. The option may be repeated. With --into DB also
    /// TABLE.COLUMN=EXPRESSION.
    #[arg(long, value_name = "COLUMN=EXPRESSION", value_parser = pair)]
    pub(crate) set_sql: Vec<(String, String)>,
    /// Skip fields whose name in the header is no column of the table.
    #[arg(long)]
    pub(crate) ignore_unknown_columns: bool,
}

impl WrittenArgs {
    /// The columns with one value, of a single table or of one of several.
    pub(crate) fn constants(&self, table: Option<&str>) -> Vec<Constant> {
        let of_table = |said: &[(String, String)]| match table {
            Some(table) => said_of(said, table),
            None => said.to_vec(),
        };
        let texts = of_table(&self.set).into_iter();
        let expressions = of_table(&self.set_sql).into_iter();
        let texts = texts.map(|(column, text)| Constant::text(column, text));
        texts.chain(expressions.map(|(column, sql)| Constant::expression(column, sql))).collect()
    }
}

/// The options for columns of a table: `TABLE.COLUMN=..` of this one, and `COLUMN=..` of each.
pub(crate) fn said_of(said: &[(String, String)], table: &str) -> Vec<(String, String)> {
    let of_table = |(name, text): &(String, String)| match name.split_once('.') {
        Some((of, column)) => (of == table).then(|| (column.to_owned(), text.clone())),
        None => Some((name.clone(), text.clone())),
    };
    said.iter().filter_map(of_table).collect()
}

/// Reads `COLUMN=TEXT`.
pub(super) fn pair(typed: &str) -> Result<(String, String), String> {
    match typed.split_once('=') {
        Some((column, text)) if !column.is_empty() => Ok((column.to_owned(), text.to_owned())),
        _ => Err("COLUMN=VALUE".to_owned()),
    }
}

/// Reads `NAME=HOST:PORT`.
pub(super) fn shard(typed: &str) -> Result<(String, String), String> {
    match typed.split_once('=') {
        Some((name, address)) if !name.is_empty() && !address.is_empty() => {
            Ok((name.to_owned(), address.to_owned()))
        }
        _ => Err("SERVER=ADDRESS".to_owned()),
    }
}
