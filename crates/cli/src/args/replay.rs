//! `inrush replay` as it is typed.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use terminal::connect::ConnectArgs;

use super::TuneArg;

#[derive(Clone, Debug, Args)]
pub(crate) struct ReplayArgs {
    /// The dump: a file (plain, gzip, zstd, lz4, bzip2 or xz; - is stdin), or a folder of mydumper,
    /// MySQL Shell's dump, mariadb-dump --tab or --dir.
    #[arg(value_name = "DUMP")]
    pub(crate) dump: PathBuf,
    /// Have everything go into this database, whatever the dump says; it is made if it is missing.
    #[arg(long, value_name = "DB")]
    pub(crate) into: Option<String>,
    /// Replay only these tables and views: TABLE or DB.TABLE, * and ? stand for anything; may be
    /// given several times, or separated by commas.
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub(crate) tables: Vec<String>,
    /// Leave these tables and views out.
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub(crate) exclude: Vec<String>,
    /// rows: INSERTs are read as rows that take the fastest path into the table; statements: they
    /// stay statements, over several connections.
    #[arg(long = "as", value_enum, default_value_t, value_name = "WAY")]
    pub(crate) rows_as: AsArg,
    /// Rows of a table that are together at most so long go in at once, one statement after the
    /// other [default: 1M].
    #[arg(long, hide = true, value_name = "SIZE")]
    pub(crate) small: Option<String>,
    /// Have all tables take their places in one step at the end: all of the dump or nothing.
    #[arg(long)]
    pub(crate) atomic: bool,
    /// Go on after a statement that fails, and list it in the end (exit status 3).
    #[arg(long, conflicts_with = "atomic")]
    pub(crate) force: bool,
    /// Take a dump that was cut, without its last line, for what is wanted (exit status 0, not 3).
    #[arg(long)]
    pub(crate) partial: bool,
    /// Begin anew, whatever an earlier replay of the same dump has done.
    #[arg(long)]
    pub(crate) fresh: bool,
    /// Only say what would be done: tables and their rows, and what has to wait for what. Asks no
    /// server.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Connections for rows that go in as statements [default: two a core, at most 16].
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) connections: Option<usize>,
    /// Threads [default: one a core].
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) threads: Option<usize>,
    /// Memory of the whole program, as 512M or 4G [default: a quarter of the machine's].
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory: Option<String>,
    /// Where sorted runs spill to, and pipes are kept [default: the system's temporary folder].
    #[arg(long, value_name = "DIR")]
    pub(crate) temp_dir: Option<PathBuf>,
    /// Where the journal is kept [default: inrush in the user's state folder].
    #[arg(long, value_name = "DIR")]
    pub(crate) state_dir: Option<PathBuf>,
    /// Seconds to wait for others who hold a table.
    #[arg(long, value_name = "SECONDS", default_value_t = 60, allow_negative_numbers = true)]
    pub(crate) lock_wait: u32,
    /// Print the report as JSON on stdout.
    #[arg(long)]
    pub(crate) json: bool,
    /// Print nothing but errors.
    #[arg(long)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) tune: TuneArg,
    #[command(flatten)]
    pub(crate) connect: ConnectArgs,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum AsArg {
    #[default]
    Rows,
    Statements,
}
