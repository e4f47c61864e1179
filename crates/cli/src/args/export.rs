//! `inrush export` as it is typed.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use terminal::connect::ConnectArgs;

use super::{FormatArgs, written};
use crate::input::DialectArg;

#[derive(Clone, Debug, Args)]
pub(crate) struct ExportArgs {
    /// The table or view.
    #[arg(value_name = "DB.TABLE")]
    pub(crate) table: String,
    /// Where to: a file; a folder, that is there or ends with /, for files named after the table; - is
    /// standard output. A file is there when it is whole.
    #[arg(short = 'o', long, value_name = "FILE|DIR")]
    pub(crate) output: PathBuf,
    /// What files hold [default: by the file's ending: .sql, .jsonl .ndjson, .csv .tsv .tbl .txt or none for
    /// text].
    #[arg(long, value_enum)]
    pub(crate) format: Option<FileFormatArg>,
    /// Leave CREATE TABLE out of an SQL file: INSERTs only.
    #[arg(long)]
    pub(crate) no_create: bool,
    /// Way rows are read.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) path: WayArg,
    /// Only rows that meet this condition, in SQL.
    #[arg(long = "where", value_name = "CONDITION")]
    pub(crate) condition: Option<String>,
    /// Columns, in this order, separated by commas [default: all but those whose values are generated].
    #[arg(long, value_name = "A,B,C", value_delimiter = ',')]
    pub(crate) columns: Option<Vec<String>>,
    /// How files are compressed [default: by the file's ending .gz .zst, else not].
    #[arg(long, value_enum)]
    pub(crate) compression: Option<CompressionArg>,
    /// Most rows of a file; in a folder.
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) split_rows: Option<u64>,
    /// Most bytes of a file before it is compressed, as 256M; in a folder.
    #[arg(long, value_name = "SIZE")]
    pub(crate) split_size: Option<String>,
    /// Write over files that are there.
    #[arg(long)]
    pub(crate) force: bool,
    /// Threads, and connections that read [default: one a core].
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) threads: Option<usize>,
    /// Time zone in which TIMESTAMP values are written: +02:00, Europe/Berlin; a load of the files has to
    /// be told the same.
    #[arg(long, value_name = "ZONE", allow_hyphen_values = true, default_value = ::export::options::UTC)]
    pub(crate) time_zone: String,
    /// Where a server is that has partitions of a Spider table, by the name that the table knows it by; once
    /// for each whose address the account may not read, or cannot be reached by that.
    #[arg(long, value_name = "NAME=HOST:PORT", value_parser = written::shard)]
    pub(crate) shard: Vec<(String, String)>,
    /// Seconds to wait for others who hold the table.
    #[arg(long, value_name = "SECONDS", default_value_t = 60, allow_negative_numbers = true)]
    pub(crate) lock_wait: u32,
    /// Print the report as JSON on stdout.
    #[arg(long)]
    pub(crate) json: bool,
    /// Print nothing but errors.
    #[arg(long)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) cut: CutArgs,
    #[command(flatten)]
    pub(crate) connect: ConnectArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FileFormatArg {
    /// Fields between separators, as load reads them.
    Text,
    /// INSERT statements.
    Sql,
    /// A JSON object a line.
    Jsonl,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CompressionArg {
    None,
    Gzip,
    Zstd,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum WayArg {
    /// The first of the others that is open.
    #[default]
    Auto,
    /// The table's file, read without the server, which keeps others from writing meanwhile.
    Direct,
    /// SELECT.
    Select,
}

/// How fields of text are cut: as load is told.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Text (\\t \\n \\r \\0 \\\\ are read as in LOAD DATA)")]
pub(crate) struct CutArgs {
    /// Preset that the options below adjust [default: by the file's ending .csv .tsv .tbl, else mysql].
    #[arg(long, value_enum)]
    pub(crate) dialect: Option<DialectArg>,
    /// What stands between two fields.
    #[arg(long, value_name = "STRING", allow_hyphen_values = true)]
    pub(crate) fields_terminated_by: Option<String>,
    /// The quote of fields that need one; empty for none.
    #[arg(long, value_name = "CHAR", allow_hyphen_values = true)]
    #[arg(visible_alias = "fields-optionally-enclosed-by")]
    pub(crate) fields_enclosed_by: Option<String>,
    /// What makes the next character text; empty for nothing.
    #[arg(long, value_name = "CHAR", allow_hyphen_values = true)]
    pub(crate) fields_escaped_by: Option<String>,
    /// What ends a line.
    #[arg(long, value_name = "STRING", allow_hyphen_values = true)]
    pub(crate) lines_terminated_by: Option<String>,
    /// Text before each line.
    #[arg(long, value_name = "STRING", allow_hyphen_values = true)]
    pub(crate) lines_starting_by: Option<String>,
    /// What stands for NULL; may be empty.
    #[arg(long, value_name = "STRING", allow_hyphen_values = true)]
    pub(crate) null_token: Option<String>,
    /// Have the first line of each file name the columns.
    #[arg(long)]
    pub(crate) header: bool,
}

impl CutArgs {
    /// Whether nothing is said of text.
    pub(crate) fn are_default(&self) -> bool {
        let CutArgs { dialect, header, .. } = self;
        let texts = [
            &self.fields_terminated_by,
            &self.fields_enclosed_by,
            &self.fields_escaped_by,
            &self.lines_terminated_by,
            &self.lines_starting_by,
            &self.null_token,
        ];
        dialect.is_none() && !header && texts.into_iter().all(Option::is_none)
    }

    /// The same, said to a load.
    pub(crate) fn of_load(&self) -> FormatArgs {
        let cut = self.clone();
        FormatArgs {
            dialect: cut.dialect,
            fields_terminated_by: cut.fields_terminated_by,
            fields_enclosed_by: cut.fields_enclosed_by,
            fields_escaped_by: cut.fields_escaped_by,
            lines_terminated_by: cut.lines_terminated_by,
            lines_starting_by: cut.lines_starting_by,
            null_token: cut.null_token,
            header: cut.header,
            ..FormatArgs::default()
        }
    }
}
