//! How the input is cut into fields, as it is typed.

use clap::Args;
use sources::Preset;

use crate::input::DialectArg;

/// How the input is cut into fields.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Input format (\\t \\n \\r \\0 \\\\ are read as in LOAD DATA)")]
pub(crate) struct FormatArgs {
    /// Preset that the options below adjust [default: by the file's ending .csv .tsv .tbl, else mysql].
    #[arg(long, value_enum)]
    pub(crate) dialect: Option<DialectArg>,
    /// What stands between two fields; empty with no quote: fields as wide as their columns.
    #[arg(long, value_name = "STRING", allow_hyphen_values = true)]
    pub(crate) fields_terminated_by: Option<String>,
    /// The quote that fields may stand in; empty for none. Optional or not makes no difference to
    /// reading.
    #[arg(long, value_name = "CHAR", allow_hyphen_values = true)]
    #[arg(visible_alias = "fields-optionally-enclosed-by")]
    pub(crate) fields_enclosed_by: Option<String>,
    /// What makes the next character text; empty for nothing.
    #[arg(long, value_name = "CHAR", allow_hyphen_values = true)]
    pub(crate) fields_escaped_by: Option<String>,
    /// What ends a record; empty, or the same as between fields: a record is as many fields as
    /// there are columns.
    #[arg(long, value_name = "STRING", allow_hyphen_values = true)]
    pub(crate) lines_terminated_by: Option<String>,
    /// Text before each record that is left out, and all before it.
    #[arg(long, value_name = "STRING", allow_hyphen_values = true)]
    pub(crate) lines_starting_by: Option<String>,
    /// A field that is just this, not in quotes, is NULL too; may be empty.
    #[arg(long, value_name = "STRING", allow_hyphen_values = true)]
    pub(crate) null_token: Option<String>,
    /// The first line of each file names the columns, in any order; @x leaves a field out.
    #[arg(long)]
    pub(crate) header: bool,
    /// Lines to leave out at the start of each file.
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true)]
    pub(crate) skip_lines: u64,
    /// Columns the fields go to, in order, separated by commas; @x leaves a field out. Columns that
    /// are not named get their default.
    #[arg(long, value_name = "A,B,C", value_delimiter = ',')]
    pub(crate) columns: Option<Vec<String>>,
    /// Character set of the input as the server names it, also utf16, utf16le, utf32, utf32le, ucs2
    /// [default: utf8mb4, or what the file's byte order mark says].
    #[arg(long, value_name = "NAME", value_parser = load::charset::name)]
    pub(crate) charset: Option<String>,
}

impl FormatArgs {
    /// Whether it is said, by an option or the dialect, that the first line names the columns.
    pub(crate) fn has_header(&self) -> bool {
        self.header || self.dialect.is_some_and(|typed| Preset::from(typed).has_header())
    }
}
