//! How the input is cut into fields, as it is typed.

use clap::Args;
use columnar::ColumnMatching;
use sources::Preset;

use crate::input::{DialectArg, FormatArg};

/// How the input is cut into fields.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct FormatArgs {
    /// Format of the files [default: by ending, else text].
    ///
    /// The endings .jsonl and .ndjson mean jsonl, .json means json. Fields of JSON go to the columns of their names.
    #[arg(long, value_enum)]
    pub(crate) format: Option<FormatArg>,
    /// Sheet of Excel files [default: the first one].
    #[arg(long, value_name = "NAME")]
    pub(crate) sheet: Option<String>,
    /// Format of the text; other options adjust it [default: by ending, else mysql].
    ///
    /// The endings .csv, .tsv and .tbl select their dialects.
    #[arg(long, value_enum)]
    pub(crate) dialect: Option<DialectArg>,
    /// Separator of fields.
    ///
    /// An empty separator without a quote means fields as wide as their columns.
    #[arg(long, value_name = "STRING", allow_hyphen_values = true)]
    pub(crate) fields_terminated_by: Option<String>,
    /// Quote of fields; empty for none.
    ///
    /// Fields with and without quotes are both read.
    #[arg(long, value_name = "CHAR", allow_hyphen_values = true)]
    #[arg(visible_alias = "fields-optionally-enclosed-by")]
    pub(crate) fields_enclosed_by: Option<String>,
    /// Escape character; empty for none.
    #[arg(long, value_name = "CHAR", allow_hyphen_values = true)]
    pub(crate) fields_escaped_by: Option<String>,
    /// End of a row.
    ///
    /// A row ends after its last column if this is empty, or is the separator of fields.
    #[arg(long, value_name = "STRING", allow_hyphen_values = true)]
    pub(crate) lines_terminated_by: Option<String>,
    /// Text before each row; this text, and all before it, is skipped.
    #[arg(long, value_name = "STRING", allow_hyphen_values = true)]
    pub(crate) lines_starting_by: Option<String>,
    /// Text of NULL in a field without quotes; may be empty, and repeated.
    #[arg(long, value_name = "STRING", allow_hyphen_values = true)]
    pub(crate) null_token: Vec<String>,
    /// Read --null-token as NULL in quotes, too.
    ///
    /// With csv and tsv, also empty quoted fields of columns of numbers and dates.
    #[arg(long)]
    pub(crate) null_in_quotes: bool,
    /// Read column names from the first line of each file.
    ///
    /// Columns may have any order; @x skips a field.
    #[arg(long)]
    pub(crate) header: bool,
    /// Lines to skip at the start of each file.
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true)]
    pub(crate) skip_lines: u64,
    /// Columns of the fields, in order, separated by commas.
    ///
    /// @x skips a field. Other columns get their default.
    #[arg(long, value_name = "A,B,C", value_delimiter = ',')]
    pub(crate) columns: Option<Vec<String>>,
    /// Assign fields to the table's columns by position, whatever the names in the input are.
    ///
    /// Parquet and Arrow files must have as many columns as the table.
    #[arg(long, conflicts_with = "columns")]
    pub(crate) by_position: bool,
    /// Load NULL for a column that one of several Parquet or Arrow files lacks.
    #[arg(long, conflicts_with = "by_position")]
    pub(crate) missing_null: bool,
    /// Character set of the input [default: by byte order mark, else utf8mb4].
    ///
    /// The names are the server's, and utf16, utf16le, utf32, utf32le, ucs2.
    #[arg(long, value_name = "NAME", value_parser = load::charset::name)]
    pub(crate) charset: Option<String>,
}

impl FormatArgs {
    /// How fields find their columns.
    pub(crate) fn matching(&self) -> ColumnMatching {
        match (self.by_position, self.missing_null) {
            (true, _) => ColumnMatching::ByPosition,
            (false, true) => ColumnMatching::ByNameOrNull,
            (false, false) => ColumnMatching::ByName,
        }
    }

    /// True if an option tells how delimited text is cut.
    pub(crate) fn cuts_text(&self) -> bool {
        let texts = [
            &self.fields_terminated_by,
            &self.fields_enclosed_by,
            &self.fields_escaped_by,
            &self.lines_terminated_by,
            &self.lines_starting_by,
        ];
        self.dialect.is_some()
            || self.header
            || self.null_in_quotes
            || !self.null_token.is_empty()
            || texts.into_iter().any(Option::is_some)
    }

    /// True if an option or the dialect tells that the first line names the columns.
    pub(crate) fn has_header(&self) -> bool {
        self.header || self.dialect.is_some_and(|typed| Preset::from(typed).has_header())
    }
}
