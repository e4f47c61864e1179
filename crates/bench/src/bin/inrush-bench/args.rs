//! The command line as it is typed.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, CommandFactory as _, Parser, Subcommand, ValueEnum};
use terminal::arguments::{parse, refuse_password};
use terminal::connect::ConnectArgs;
use terminal::failure::Failure;

/// Benchmarks, each beside the server's own way.
#[derive(Debug, Parser)]
#[command(name = "inrush bench", bin_name = "inrush bench", version)]
#[command(disable_help_flag = true)]
#[command(disable_help_subcommand = true, args_override_self = true)]
pub(crate) struct Cli {
    /// Print help.
    #[arg(long, global = true, action = clap::ArgAction::Help)]
    help: Option<bool>,
    #[command(subcommand)]
    pub(crate) command: Command,
}

impl Cli {
    /// Reads what was typed. Help and version are printed here, and end the program.
    pub(crate) fn read() -> Result<Cli, Failure> {
        let arguments: Vec<OsString> = std::env::args_os().collect();
        refuse_password(&arguments)?;
        parse(Cli::command(), arguments, &[])
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// The eight TPC-H tables: LOAD DATA, checked and not, INSERTs, Inrush's three paths.
    Tproch(TprochArgs),
    /// Batch sizes and numbers of threads of INSERTs, beside LOAD DATA and Inrush.
    Batch(BatchArgs),
    /// A dump of the TPC-H tables: the mariadb client, Inrush as statements and as rows.
    Replay(ReplayArgs),
    /// The Insert Benchmark: a table whose indexes do not fit the buffer pool, by INSERT, LOAD DATA and
    /// Inrush.
    Insert(InsertArgs),
    /// One wide file into four tables, all of it or nothing: a Python script, a staging table, Inrush.
    Split(SplitArgs),
    /// The tables of an application, hundreds of small ones: as files by LOAD DATA, mariadb-import and Inrush, as a
    /// dump by the client, myloader and Inrush.
    Folder(FolderArgs),
    /// TPC-H lineitem as text: the mariadb client, mariadb-dump, Inrush by SELECT and from the table's file.
    Export(ExportArgs),
    /// TPC-H lineitem from CSV, Parquet, Arrow and JSON Lines, over HTTP and by job files, beside DuckDB, polars and pandas.
    Formats(FormatsArgs),
    /// The gain of each server setting, one at a time and together, for rows that are sent.
    Tune(TuneArgs),
    /// Ways of writing the file that the server imports, on the disk of a folder.
    Writes(WritesArgs),
    /// How many files of a folder load by one command, in whole and in halves.
    FirstDay(FirstDayArgs),
}

/// Options of a benchmark with one server, its own or a given one.
#[derive(Debug, Args)]
pub(crate) struct HostArgs {
    /// Where the generated rows are kept [default: in the user's cache folder].
    #[arg(long, value_name = "DIR")]
    pub(crate) data_dir: Option<PathBuf>,
    /// Redo log of the benchmark's server, as 4G.
    #[arg(long, value_name = "SIZE")]
    pub(crate) log_size: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Keep the benchmark's server afterwards.
    #[arg(long)]
    pub(crate) keep: bool,
    #[command(flatten)]
    pub(crate) connect: ConnectArgs,
}

#[derive(Debug, Args)]
pub(crate) struct BatchArgs {
    /// Against a head with Spider and so many shards, all of them servers of the benchmark's own: what a row
    /// takes of processors through the head, straight to the shards, and by Inrush.
    #[arg(long, value_delimiter = ',', value_name = "A,B")]
    pub(crate) shards: Option<Vec<usize>>,
    /// Rows that each cell of the grid inserts [default: 400000; with --shards 100000].
    #[arg(long)]
    pub(crate) rows: Option<u64>,
    /// Rows of the loads at the end [default: 2000000, or --rows if that is more].
    #[arg(long, value_name = "ROWS")]
    pub(crate) load_rows: Option<u64>,
    /// Batch sizes: rows of an INSERT [default: 1,10,100,500,1000,2000,5000,10000; with --shards 10,100,1000].
    #[arg(long, value_delimiter = ',', value_name = "A,B")]
    pub(crate) batches: Option<Vec<usize>>,
    /// Numbers of threads, each with a connection [default: 1,2,4,8,16,32,64,128; with --shards 1,4,8].
    #[arg(long, value_delimiter = ',', value_name = "A,B")]
    pub(crate) threads: Option<Vec<usize>>,
    /// The batch size at which numbers of threads are compared.
    #[arg(long, value_name = "ROWS", default_value_t = 1_000)]
    pub(crate) at_batch: usize,
    /// The number of threads at which batch sizes are compared [default: 16; with --shards 4].
    #[arg(long, value_name = "N")]
    pub(crate) at_threads: Option<usize>,
    /// Measure these two comparisons only, not every batch size with every number of threads.
    #[arg(long)]
    pub(crate) sweeps: bool,
    /// Runs of each cell of the comparisons or near the best [default: 3; with --shards 1].
    #[arg(long, value_name = "N")]
    pub(crate) repeat: Option<usize>,
    /// End a cell's run after so many seconds: slow cells insert fewer rows.
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub(crate) seconds: u64,
    /// Write a picture of it all to this file (SVG).
    #[arg(long, value_name = "FILE")]
    pub(crate) chart: Option<PathBuf>,
    /// Memory for Inrush, as 512M or 4G.
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory: Option<String>,
    #[command(flatten)]
    pub(crate) host: HostArgs,
}

#[derive(Debug, Args)]
#[command(mut_arg("keep", |arg| arg.help("Keep the benchmark's server and rows afterwards")))]
pub(crate) struct TprochArgs {
    /// TPC-H scale factor.
    #[arg(long, default_value_t = 1.0)]
    pub(crate) scale: f64,
    /// Only these tables.
    #[arg(long, value_delimiter = ',', value_name = "A,B")]
    pub(crate) tables: Option<Vec<String>>,
    /// Only these ways: load-data, unchecked, clients, direct, stream, insert.
    #[arg(long, value_delimiter = ',', value_name = "A,B")]
    pub(crate) ways: Option<Vec<String>>,
    /// Memory for Inrush, as 512M or 4G.
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory: Option<String>,
    /// Threads for Inrush.
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<usize>,
    /// Tables as in HammerDB's TPROC-H, or lineitem alone in dbgen's column order.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) schema: SchemaArg,
    /// Make the rows and the CREATE TABLE statements, print their folder, and stop.
    #[arg(long)]
    pub(crate) rows_only: bool,
    #[command(flatten)]
    pub(crate) host: HostArgs,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum SchemaArg {
    #[default]
    Tproch,
    Dbgen,
}

#[derive(Debug, Args)]
#[command(mut_arg("data_dir", |arg| arg.help("Where rows and dumps are kept [default: in the user's cache folder]")))]
pub(crate) struct ReplayArgs {
    /// TPC-H scale factor.
    #[arg(long, default_value_t = 1.0)]
    pub(crate) scale: f64,
    /// Only these dumps: plain, numbered (with AUTO_INCREMENT columns).
    #[arg(long, value_delimiter = ',', value_name = "A,B")]
    pub(crate) dumps: Option<Vec<String>>,
    /// Only these ways: client (mariadb < dump.sql), statements, rows.
    #[arg(long, value_delimiter = ',', value_name = "A,B")]
    pub(crate) ways: Option<Vec<String>>,
    /// Runs of each way.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) repeat: usize,
    /// Memory for Inrush, as 512M or 4G.
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory: Option<String>,
    /// Threads for Inrush.
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<usize>,
    /// Connections for Inrush.
    #[arg(long, value_name = "N")]
    pub(crate) connections: Option<usize>,
    #[command(flatten)]
    pub(crate) host: HostArgs,
}

#[derive(Debug, Args)]
pub(crate) struct InsertArgs {
    /// Only this benchmark: iibench-tc (Tim Callaghan's), iibench-mc (Mark Callaghan's).
    #[arg(long, value_delimiter = ',', value_name = "A,B")]
    pub(crate) versions: Option<Vec<String>>,
    /// Only these steps: first (l.i0 and l.x, into the empty table), more (l.i1).
    #[arg(long, value_delimiter = ',', value_name = "A,B")]
    pub(crate) steps: Option<Vec<String>>,
    /// Only these buffer pools: cached (larger than the table), small.
    #[arg(long, value_delimiter = ',', value_name = "A,B")]
    pub(crate) pools: Option<Vec<String>>,
    /// Rows of the table before more are added.
    #[arg(long, default_value_t = 4_000_000)]
    pub(crate) rows: u64,
    /// The same of further tables, to compare what each row costs in larger ones.
    #[arg(long, value_delimiter = ',', value_name = "N,N")]
    pub(crate) sizes: Option<Vec<u64>>,
    /// Rows that are added then, in percent of these.
    #[arg(long, value_name = "PERCENT", default_value_t = 50)]
    pub(crate) more: u64,
    /// The small buffer pool, as 64M [default: an eighth of the table, 8M at least].
    #[arg(long, value_name = "SIZE")]
    pub(crate) pool: Option<String>,
    /// Begin no statement and no file after so many seconds of a step.
    #[arg(long, value_name = "N", default_value_t = 300)]
    pub(crate) seconds: u64,
    /// Seconds of an interval of INSERTs; LOAD DATA and Inrush have one for each file.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) interval: u64,
    /// Way of Inrush into the server: auto, direct, stream, insert.
    #[arg(long, value_name = "PATH", default_value = "auto")]
    pub(crate) path: String,
    /// Write a picture of rows/s against rows to this file (SVG).
    #[arg(long, value_name = "FILE")]
    pub(crate) chart: Option<PathBuf>,
    /// Memory for Inrush, as 512M or 4G.
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory: Option<String>,
    /// Where the server and the rows are meanwhile [default: in the user's cache folder].
    #[arg(long, value_name = "DIR")]
    pub(crate) data_dir: Option<PathBuf>,
    /// Redo log of the benchmark's server [default: 1G].
    #[arg(long, value_name = "SIZE")]
    pub(crate) log_size: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Keep the folders of the benchmark's last server.
    #[arg(long)]
    pub(crate) keep: bool,
}

#[derive(Debug, Args)]
#[command(mut_arg("data_dir", |arg| arg.help("Where the generated lines are kept [default: in the user's cache folder]")))]
pub(crate) struct SplitArgs {
    /// Lines of the file.
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    pub(crate) lines: u64,
    /// Only these ways: script, staging, inrush.
    #[arg(long, value_delimiter = ',', value_name = "A,B")]
    pub(crate) ways: Option<Vec<String>>,
    /// Runs of each way.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) repeat: usize,
    /// The interpreter that runs the script; with pymysql or MySQLdb, else it pipes into the mariadb client.
    #[arg(long, value_name = "PROGRAM", default_value = "python3")]
    pub(crate) python: PathBuf,
    /// Memory for Inrush, as 512M or 4G.
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory: Option<String>,
    #[command(flatten)]
    pub(crate) host: HostArgs,
}

#[derive(Debug, Args)]
#[command(mut_arg("data_dir", |arg| arg.help("Where the files, the dumps and the server are meanwhile [default: in the user's cache folder]")))]
pub(crate) struct FolderArgs {
    /// Numbers of tables, an application each.
    #[arg(long, value_delimiter = ',', value_name = "N,N", default_values_t = [50, 400, 700])]
    pub(crate) tables: Vec<usize>,
    /// Only these ways: load-data, import, load, client, myloader, replay.
    #[arg(long, value_delimiter = ',', value_name = "A,B")]
    pub(crate) ways: Option<Vec<String>>,
    /// Runs of each way.
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub(crate) repeat: usize,
    #[command(flatten)]
    pub(crate) host: HostArgs,
}

#[derive(Debug, Args)]
#[command(mut_arg("data_dir", |arg| arg.help("Where rows are kept, and the server meanwhile [default: in the user's cache folder]")))]
pub(crate) struct ExportArgs {
    /// TPC-H scale factor.
    #[arg(long, default_value_t = 1.0)]
    pub(crate) scale: f64,
    /// Only these ways: client, quick, dump, select, direct, csv, tsv, parquet, gzip, zstd.
    #[arg(long, value_delimiter = ',', value_name = "A,B")]
    pub(crate) ways: Option<Vec<String>>,
    /// Runs of each way.
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub(crate) repeat: usize,
    /// Threads for Inrush.
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<usize>,
    #[command(flatten)]
    pub(crate) host: HostArgs,
}

#[derive(Debug, Args)]
#[command(mut_arg("data_dir", |arg| arg.help("Where files are kept, and the server meanwhile [default: in the user's cache folder]")))]
pub(crate) struct FormatsArgs {
    /// TPC-H scale factor.
    #[arg(long, default_value_t = 1.0)]
    pub(crate) scale: f64,
    /// Only these ways: csv, parquet, arrow, jsonl, http, s3, job-csv, job-parquet, job-arrow, job-jsonl, wide-csv, wide-parquet, duckdb, polars, pandas.
    #[arg(long, value_delimiter = ',', value_name = "A,B")]
    pub(crate) ways: Option<Vec<String>>,
    /// Runs of each way.
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub(crate) repeat: usize,
    /// The interpreter that has duckdb with duckdb-extension-mysql, and polars and pandas with sqlalchemy and pymysql.
    #[arg(long, value_name = "PROGRAM", default_value = "python3")]
    pub(crate) python: PathBuf,
    /// Memory for Inrush, as 512M or 4G.
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory: Option<String>,
    #[command(flatten)]
    pub(crate) host: HostArgs,
}

#[derive(Debug, Args)]
pub(crate) struct TuneArgs {
    /// Lines of all files; each is a row of two tables.
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    pub(crate) lines: u64,
    /// Files, a transaction each.
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub(crate) files: u64,
    /// Only these settings beside the defaults, as log-file-size,flush-log,safe,relaxed,advised.
    #[arg(long, value_delimiter = ',', value_name = "A,B")]
    pub(crate) settings: Option<Vec<String>>,
    /// Runs of each.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) repeat: usize,
    /// Where the server and the rows are meanwhile [default: in the user's cache folder].
    #[arg(long, value_name = "DIR")]
    pub(crate) data_dir: Option<PathBuf>,
    /// Where what was measured is kept for `inrush doctor` [default: inrush in the user's state folder].
    #[arg(long, value_name = "DIR")]
    pub(crate) state_dir: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Keep the folder of the benchmark's server.
    #[arg(long)]
    pub(crate) keep: bool,
}

#[derive(Debug, Args)]
pub(crate) struct FirstDayArgs {
    /// Folder with the files; the files of its folders belong to it.
    #[arg(value_name = "FOLDER")]
    pub(crate) folder: PathBuf,
    #[command(flatten)]
    pub(crate) host: HostArgs,
}

#[derive(Debug, Args)]
pub(crate) struct WritesArgs {
    /// A folder on the disk in question.
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) data_dir: PathBuf,
    /// Size of the file, as 512M or 4G.
    #[arg(long, value_name = "SIZE")]
    pub(crate) file_size: Option<String>,
    /// Threads that build it.
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<usize>,
    /// Runs of each way.
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub(crate) repeat: usize,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
