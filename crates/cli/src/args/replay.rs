//! `inrush replay` as it is typed.

use std::path::PathBuf;

use clap::Args;
use replay::As;
use terminal::connect::ConnectArgs;

use super::words::{Words, words};
use super::{StampArg, TuneArg, UntestedArgs, WatchArgs};

#[derive(Clone, Debug, Args)]
pub(crate) struct ReplayArgs {
    /// Dump to load: a file or a folder; - reads standard input.
    ///
    /// Files may be compressed by gzip, zstd, lz4, bzip2 or xz. Folders are those of mydumper, MySQL Shell and
    /// mariadb-dump --tab or --dir.
    #[arg(value_name = "DUMP")]
    pub(crate) dump: PathBuf,
    /// Database for everything in the dump; created if missing.
    #[arg(long, value_name = "DB")]
    pub(crate) into: Option<String>,
    /// Tables and views to load: TABLE or DB.TABLE; * and ? match anything.
    ///
    /// Names are separated by commas; the option may be repeated.
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub(crate) tables: Vec<String>,
    /// Tables and views to skip.
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub(crate) exclude: Vec<String>,
    /// Collation that takes the place of another one in the dump's definitions (repeatable).
    ///
    /// MariaDB lacks MySQL's utf8mb4_0900_ai_ci, for example. The error about an unknown collation names the closest one
    /// of the server. The new collation must be of the same character set.
    #[arg(long, value_name = "FROM=TO")]
    pub(crate) map_collation: Vec<String>,
    /// Treatment of INSERT statements.
    #[arg(long = "as", value_parser = words(ROWS_AS), default_value = "rows", value_name = "WAY")]
    pub(crate) rows_as: As,
    /// Bytes of a table's rows that are sent in one go [default: 1M].
    #[arg(long, hide = true, value_name = "SIZE")]
    pub(crate) small: Option<String>,
    /// Publish all tables in one step at the end: all or nothing.
    #[arg(long)]
    pub(crate) atomic: bool,
    /// Continue after a failed statement, and list it at the end (exit status 3).
    #[arg(long, conflicts_with = "atomic")]
    pub(crate) force: bool,
    /// Accept a dump that lacks its last line (exit status 0, not 3).
    #[arg(long)]
    pub(crate) partial: bool,
    /// Fail when the server changes a value (cut text, a clamped number), whatever the dump's sql_mode allows.
    #[arg(long, conflicts_with = "force")]
    pub(crate) strict: bool,
    /// List all values that the server changed, not the first one per table.
    #[arg(long)]
    pub(crate) show_changes: bool,
    /// Start again, whatever an earlier replay of the dump has done.
    #[arg(long)]
    pub(crate) fresh: bool,
    /// Show tables, rows and the order of statements; connect to no server.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Connections for rows that are sent [default: as many as load fastest].
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) connections: Option<usize>,
    /// Threads [default: one per core].
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) threads: Option<usize>,
    /// Memory of the program, as 512M or 4G [default: a quarter of the machine].
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory: Option<String>,
    /// Folder for temporary files [default: the system's].
    #[arg(long, value_name = "DIR")]
    pub(crate) temp_dir: Option<PathBuf>,
    /// Folder for journals [default: inrush in the user's state folder].
    #[arg(long, value_name = "DIR")]
    pub(crate) state_dir: Option<PathBuf>,
    /// Seconds to wait for others that hold a table.
    #[arg(long, value_name = "SECONDS", default_value_t = 60, allow_negative_numbers = true)]
    pub(crate) lock_wait: u32,
    /// Have incremental backups contain built tables, in one more pass over their files.
    #[arg(long, value_enum, default_value_t, value_name = "WHEN")]
    pub(crate) stamp: StampArg,
    /// Print the report as JSON on standard output.
    #[arg(long)]
    pub(crate) json: bool,
    /// Print errors only.
    #[arg(long)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) watch: WatchArgs,
    #[command(flatten)]
    pub(crate) tune: TuneArg,
    #[command(flatten)]
    pub(crate) untested: UntestedArgs,
    #[command(flatten)]
    pub(crate) connect: ConnectArgs,
}

const ROWS_AS: &Words<As> = &[
    ("rows", "Load rows of INSERTs by the fastest method", As::Rows),
    ("statements", "Send INSERTs as statements over several connections", As::Statements),
];
