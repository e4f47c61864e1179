//! `inrush export` as it is typed.

use std::path::PathBuf;

use ::export::ExportPath;
use clap::{Args, ValueEnum};
use terminal::connect::ConnectArgs;

use super::words::{Words, words};
use super::{FormatArgs, WatchArgs, written};
use crate::input::DialectArg;

#[derive(Clone, Debug, Args)]
pub(crate) struct ExportArgs {
    /// Table or view; or a database, all of whose tables go into a folder.
    #[arg(value_name = "DB.TABLE|DB")]
    pub(crate) table: String,
    /// File or folder to write; - is standard output.
    ///
    /// A folder exists or ends with /; its files are named after the table. A file appears when it is complete.
    #[arg(short = 'o', long, value_name = "FILE|DIR")]
    pub(crate) output: PathBuf,
    /// Format of the files [default: by ending].
    ///
    /// The ending .sql means SQL, .jsonl and .ndjson mean JSON Lines, .parquet means Parquet. The endings .arrow and
    /// .feather mean Arrow, all others text.
    #[arg(long, value_enum)]
    pub(crate) format: Option<FileFormatArg>,
    /// Leave CREATE TABLE out of an SQL file.
    #[arg(long)]
    pub(crate) no_create: bool,
    /// Method of reading rows.
    #[arg(long, value_parser = words(PATHS), default_value = "auto")]
    pub(crate) path: ExportPath,
    /// SQL condition that exported rows meet.
    #[arg(long = "where", value_name = "CONDITION")]
    pub(crate) condition: Option<String>,
    /// Columns, in this order, separated by commas [default: all but generated ones].
    #[arg(long, value_name = "A,B,C", value_delimiter = ',')]
    pub(crate) columns: Option<Vec<String>>,
    /// Compression of the files [default: by ending .gz .zst; zstd for Parquet; else none].
    ///
    /// Parquet and Arrow files compress their columns.
    #[arg(long, value_enum)]
    pub(crate) compression: Option<CompressionArg>,
    /// Rows in a file at most; needs a folder.
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) split_rows: Option<u64>,
    /// Bytes in a file at most, before compression, as 256M; needs a folder.
    #[arg(long, value_name = "SIZE")]
    pub(crate) split_size: Option<String>,
    /// Overwrite existing files.
    #[arg(long)]
    pub(crate) force: bool,
    /// Threads, and connections that read [default: one per core].
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) threads: Option<usize>,
    /// Memory of the program, as 64M or 4G [default: a quarter of the machine].
    ///
    /// Little memory means fewer threads. Each thread holds a row several times.
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory: Option<String>,
    /// Time zone of written TIMESTAMP values: +02:00, Europe/Berlin.
    ///
    /// A load of the files needs the same --time-zone.
    #[arg(long, value_name = "ZONE", allow_hyphen_values = true, default_value = ::export::options::UTC)]
    pub(crate) time_zone: String,
    /// Address of a server that has partitions of a Spider table.
    ///
    /// NAME is the server's name in the table. The option is needed once for each server whose address the
    /// account may not read, or does not reach.
    #[arg(long, value_name = "NAME=HOST:PORT", value_parser = written::shard)]
    pub(crate) shard: Vec<(String, String)>,
    /// Seconds to wait for others that hold the table.
    ///
    /// Writers wait at most one second at a time for us. After ten seconds --path auto and select read one
    /// snapshot instead, by one connection.
    #[arg(long, value_name = "SECONDS", default_value_t = 60, allow_negative_numbers = true)]
    pub(crate) lock_wait: u32,
    /// Print the report as JSON on standard output.
    #[arg(long)]
    pub(crate) json: bool,
    /// Print errors only.
    #[arg(long)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) watch: WatchArgs,
    #[command(flatten)]
    pub(crate) cut: CutArgs,
    #[command(flatten)]
    pub(crate) connect: ConnectArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FileFormatArg {
    /// Delimited text, as `inrush load` reads it.
    Text,
    /// INSERT statements.
    Sql,
    /// One JSON object per line.
    Jsonl,
    /// Apache Parquet.
    Parquet,
    /// Arrow IPC: a file, also known as Feather; a stream on standard output.
    Arrow,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CompressionArg {
    None,
    Gzip,
    Zstd,
}

const PATHS: &Words<ExportPath> = &[
    ("auto", "Choose the fastest method that the table allows", ExportPath::Auto),
    (
        "direct",
        "Read the table's file without the server; writers wait meanwhile",
        ExportPath::Direct,
    ),
    ("select", "Read by SELECT", ExportPath::Select),
];

/// How fields of text are cut: as load is told.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct CutArgs {
    /// Format of the text; other options adjust it [default: by ending, else mysql].
    ///
    /// The endings .csv, .tsv and .tbl select their dialects.
    #[arg(long, value_enum)]
    pub(crate) dialect: Option<DialectArg>,
    /// Separator of fields.
    #[arg(long, value_name = "STRING", allow_hyphen_values = true)]
    pub(crate) fields_terminated_by: Option<String>,
    /// Quote of fields that need one; empty for none.
    #[arg(long, value_name = "CHAR", allow_hyphen_values = true)]
    #[arg(visible_alias = "fields-optionally-enclosed-by")]
    pub(crate) fields_enclosed_by: Option<String>,
    /// Escape character; empty for none.
    #[arg(long, value_name = "CHAR", allow_hyphen_values = true)]
    pub(crate) fields_escaped_by: Option<String>,
    /// End of a row.
    #[arg(long, value_name = "STRING", allow_hyphen_values = true)]
    pub(crate) lines_terminated_by: Option<String>,
    /// Text before each row.
    #[arg(long, value_name = "STRING", allow_hyphen_values = true)]
    pub(crate) lines_starting_by: Option<String>,
    /// Text of NULL; may be empty.
    #[arg(long, value_name = "STRING", allow_hyphen_values = true)]
    pub(crate) null_token: Option<String>,
    /// Write the names of columns as the first line of each file.
    #[arg(long)]
    pub(crate) header: bool,
}

impl CutArgs {
    /// True if no option of the text is set.
    pub(crate) fn are_default(&self) -> bool {
        !self.of_load().cuts_text()
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
            null_token: Vec::from_iter(cut.null_token),
            header: cut.header,
            ..FormatArgs::default()
        }
    }
}
