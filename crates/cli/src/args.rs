//! The command line as it is typed.
//!
//! Client options are those of the mariadb client, so `-h` is the host and help
//! is `--help`; field options are those of LOAD DATA.

mod export;
mod format;
mod given;
mod guessed;
mod job;
mod jobs;
mod replay;
mod tune;
mod written;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use terminal::arguments::{parse, refuse_password};
use terminal::connect::ConnectArgs;
use terminal::failure::Failure;

pub(crate) use self::export::{CompressionArg, ExportArgs, FileFormatArg, WayArg};
pub(crate) use self::format::FormatArgs;
pub(crate) use self::given::is_typed;
pub(crate) use self::guessed::GuessedArgs;
pub(crate) use self::job::{JobAction, JobArgs, JobInitArgs};
pub(crate) use self::jobs::{JobsAction, JobsArgs, ResumeArgs};
pub(crate) use self::replay::{AsArg, ReplayArgs};
pub(crate) use self::tune::{DoctorArgs, TuneArg, TuneArgs};
pub(crate) use self::written::WrittenArgs;

/// A bulk loader for InnoDB: builds the tablespace outside the server and has it adopted.
#[derive(Debug, Parser)]
#[command(name = "inrush", version, disable_help_flag = true, disable_help_subcommand = true)]
#[command(args_override_self = true)]
pub(crate) struct Cli {
    /// Print help.
    #[arg(long, global = true, action = clap::ArgAction::Help)]
    help: Option<bool>,
    #[command(subcommand)]
    pub(crate) command: Command,
}

impl Cli {
    /// Reads what was typed, what `expand` makes of it, and what option files and the environment add to it. Help
    /// and version are printed here, and end the program.
    pub(crate) fn read(
        expand: impl FnOnce(Vec<OsString>) -> Result<Vec<OsString>, Failure>,
    ) -> Result<Cli, Failure> {
        Cli::of(std::env::args_os().collect(), expand)
    }

    /// The same of these arguments, the first of which is the program.
    pub(crate) fn of(
        arguments: Vec<OsString>,
        expand: impl FnOnce(Vec<OsString>) -> Result<Vec<OsString>, Failure>,
    ) -> Result<Cli, Failure> {
        refuse_password(&arguments)?;
        let (arguments, given) = given::with_given(expand(arguments)?)?;
        parse(arguments, &given)
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Load delimited files into a table.
    Load(Box<LoadArgs>),
    /// Say what load would do and why; changes nothing.
    Plan(Box<LoadArgs>),
    /// Say all that is wrong with the rows of files, judged against a table; loads nothing.
    Check(Box<LoadArgs>),
    /// Say whether a table holds exactly the rows of files, and which differ; changes nothing.
    Verify(Box<LoadArgs>),
    /// Print a job file to begin with, or the schema of job files.
    Job(JobArgs),
    /// Go on with a load that was killed or failed.
    Resume(ResumeArgs),
    /// List the loads that ran here, and what became of them.
    Jobs(JobsArgs),
    /// Replay a SQL dump in parallel, its rows by the fastest path.
    Replay(Box<ReplayArgs>),
    /// Write the rows of a table or view to files: the way back.
    Export(Box<ExportArgs>),
    /// Say what of a server, its machine and its disks slows loads down, or is dangerous; changes nothing.
    Doctor(Box<DoctorArgs>),
    /// Set variables of a server for loads, say what is set, or put it back.
    Tune(Box<TuneArgs>),
    /// Guess what files hold: print a CREATE TABLE and the command that loads them.
    Sniff(Box<SniffArgs>),
    /// Show what is in a tablespace file.
    Inspect(InspectArgs),
    /// The private server that is used when none is given.
    Sandbox(SandboxArgs),
    /// Benchmarks, each beside the server's own way: a program of their own, inrush-bench.
    Bench(BenchArgs),
}

#[derive(Clone, Debug, Args)]
pub(crate) struct LoadArgs {
    /// Files to load, in this order: plain, gzip, zstd, lz4, bzip2 or xz; - is stdin; quoted
    /// patterns with * ? [ ] stand for the files that match. With --into DB also folders.
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Job file that declares the load: the files, how they are read, and what of each line goes to which
    /// table. Other options, and files, count more than what it says.
    #[arg(short = 'c', long, value_name = "JOB.toml")]
    pub(crate) job: Option<PathBuf>,
    /// The table to load into; or the database, whose tables the files go to by their names
    /// (orders.csv, shop.orders.tbl, orders.0001.csv.zst): all tables at once, or none.
    #[arg(long, value_name = "DB.TABLE|DB")]
    pub(crate) into: String,
    /// With --into DB: files whose names match PATTERN (* and ? stand for anything) go to TABLE; with
    /// no TABLE they are left out; may be given several times, the first that matches counts.
    #[arg(long, value_name = "PATTERN=TABLE")]
    pub(crate) map: Vec<String>,
    /// With --into DB: load each table for itself, one after the other, not all or none: for tables
    /// that cannot be published at once with others.
    #[arg(long, conflicts_with = "atomic")]
    pub(crate) each: bool,
    /// SQL file whose CREATE TABLE makes the table when it is missing; with --into DB each table that files
    /// go to.
    #[arg(long, value_name = "FILE")]
    pub(crate) ddl: Option<PathBuf>,
    /// Make the table, if it is missing, by what sniff would print: dialect, header, character set
    /// and types are guessed from the files where options do not say them.
    #[arg(long, conflicts_with = "ddl")]
    pub(crate) create: bool,
    /// insert wants an empty table; append adds rows; replace swaps all rows for the input's.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) mode: ModeArg,
    /// Way into the server.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) path: PathArg,
    /// Have appended rows become visible all at once: one connection, one transaction.
    #[arg(long)]
    pub(crate) atomic: bool,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
    #[command(flatten)]
    pub(crate) written: WrittenArgs,
    #[command(flatten)]
    pub(crate) guessed: GuessedArgs,
    /// File that gets the refused rows; FILE.reasons.jsonl says why. With --into DB a folder, for a
    /// file of each table.
    #[arg(long, value_name = "FILE")]
    pub(crate) rejects: Option<PathBuf>,
    /// Refused rows that are tolerated, of each table; with one more the load fails. With % so many of a
    /// hundred, which is judged when all rows are read, and before any is published.
    #[arg(long, value_name = "N|N%", default_value = "0", allow_negative_numbers = true)]
    pub(crate) rejects_max: String,
    /// Have --mode replace keep the table's next AUTO_INCREMENT number. Without it numbers begin as after TRUNCATE.
    #[arg(long)]
    pub(crate) keep_auto_increment: bool,
    /// Take a file that has text and no row for an empty one; and have --mode replace empty the table where
    /// the input has no rows, or refused ones only.
    #[arg(long)]
    pub(crate) allow_empty: bool,
    /// What becomes of rows that have a primary or unique key in common, in input order.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) on_duplicate: OnDuplicateArg,
    /// Write rows left out as duplicates here, as they are; FILE.reasons.jsonl says to which row each lost.
    #[arg(long, value_name = "FILE")]
    pub(crate) duplicates: Option<PathBuf>,
    /// Threads [default: one a core].
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) threads: Option<usize>,
    /// Memory of the whole program, as 512M or 4G [default: a quarter of the machine's].
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory: Option<String>,
    /// How much of a file built for IMPORT is left to the page cache until then, and not written to
    /// the disk before [default: half of the memory that is free beyond --memory].
    #[arg(long, value_name = "SIZE")]
    pub(crate) page_cache: Option<String>,
    /// Keep the load out of the server's binary log, which opens the direct path there: replicas and
    /// point-in-time recovery will lack the rows.
    #[arg(long)]
    pub(crate) unlogged: bool,
    /// Publish a table that was built without reading it back from the server first, which compares its
    /// rows with those of the input.
    #[arg(long)]
    pub(crate) no_verify: bool,
    /// Build a table that has triggers: they are not run for these rows, and stay on the table.
    #[arg(long)]
    pub(crate) no_triggers: bool,
    /// Load rows whatever foreign keys say of them.
    #[arg(long)]
    pub(crate) no_foreign_key_checks: bool,
    /// Where sorted runs spill to [default: the system's temporary folder].
    #[arg(long, value_name = "DIR")]
    pub(crate) temp_dir: Option<PathBuf>,
    /// Where the journal is kept [default: inrush in the user's state folder].
    #[arg(long, value_name = "DIR")]
    pub(crate) state_dir: Option<PathBuf>,
    /// Part of each page that is filled, in percent [default: 93.75, that is 15/16].
    #[arg(long, value_name = "PERCENT", allow_negative_numbers = true)]
    pub(crate) fill: Option<f64>,
    /// Seconds to wait for others who hold the table.
    #[arg(long, value_name = "SECONDS", default_value_t = 60, allow_negative_numbers = true)]
    pub(crate) lock_wait: u32,
    /// With --mode append: how long others that write to the table may have to wait while rows are merged
    /// with those there [default: 30; with --path direct as long as it takes].
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true)]
    pub(crate) max_write_block: Option<u32>,
    /// Flags of sql_mode by which values are read, such as NO_ZERO_DATE; strict mode is always on
    /// [default: the server's].
    #[arg(long, value_name = "FLAGS")]
    pub(crate) sql_mode: Option<String>,
    /// Time zone of TIMESTAMP values, as the server's time_zone is set: +02:00, Europe/Berlin
    /// [default: the server's].
    #[arg(long, value_name = "ZONE", allow_hyphen_values = true)]
    pub(crate) time_zone: Option<String>,
    /// Write a page about the load here, as HTML that needs nothing else: its stages, speed and memory
    /// over time, refused rows by reason, the plan and the settings.
    #[arg(long, value_name = "FILE.html")]
    pub(crate) report: Option<PathBuf>,
    /// Do what check does: judge all rows, load none.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print the report as JSON on stdout.
    #[arg(long)]
    pub(crate) json: bool,
    /// Print nothing but errors.
    #[arg(long)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) tune: TuneArg,
    #[command(flatten)]
    pub(crate) batches: BatchArgs,
    #[command(flatten)]
    pub(crate) connect: ConnectArgs,
}

/// What is otherwise found while loading.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Paths stream and insert (default: found while loading)")]
pub(crate) struct BatchArgs {
    /// Rows of a statement.
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) batch_rows: Option<u64>,
    /// Bytes of a statement, as 512K or 4M.
    #[arg(long, value_name = "SIZE")]
    pub(crate) batch_bytes: Option<String>,
    /// Connections that load.
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) connections: Option<usize>,
    /// Bytes of input a second that are not exceeded, as 20M [default: no limit].
    #[arg(long, value_name = "SIZE")]
    pub(crate) max_rate: Option<String>,
    /// A replica, once for each of them: into a table that the direct path can build, the same file goes
    /// to the server and all its replicas, and the RENAME alone is in the binary log. Where rows are
    /// sent, one that the server does not know, for --max-lag.
    #[arg(long, value_name = "HOST:PORT|SOCKET")]
    pub(crate) replica: Vec<String>,
    /// Where a server is that has partitions of a Spider table, by the name that the table knows it by; once
    /// for each whose address the account may not read, or cannot be reached by that.
    #[arg(long, value_name = "NAME=HOST:PORT", value_parser = written::shard)]
    pub(crate) shard: Vec<(String, String)>,
    /// How far replicas may be behind before the load waits for them; 0 does not look [default: 30].
    #[arg(long, value_name = "SECONDS")]
    pub(crate) max_lag: Option<u32>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ModeArg {
    #[default]
    Insert,
    Append,
    Replace,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnDuplicateArg {
    /// The first duplicate fails the load.
    #[default]
    Fail,
    /// A row is left out if one before it has any of its keys, as by LOAD DATA IGNORE.
    Skip,
    /// A row takes the place of those before it that have any of its keys, as by LOAD DATA REPLACE.
    Replace,
    /// A row changes the one before it that has any of its keys, as by INSERT .. ON DUPLICATE KEY UPDATE.
    Update,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum PathArg {
    /// The first of the others that is open.
    #[default]
    Auto,
    /// A finished tablespace that the server adopts.
    Direct,
    /// LOAD DATA LOCAL from memory.
    Stream,
    /// INSERT of many rows.
    Insert,
    /// INSERT to the head of a table whose partitions are on other servers, which tells its rows apart.
    Head,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct SniffArgs {
    /// Files to look at, as for load.
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// The table that is to be made [default: test.NAME, after the first file].
    #[arg(long, value_name = "DB.TABLE")]
    pub(crate) into: Option<String>,
    /// Memory, like 64M; with little of it, less of the files is looked at [default: a quarter of the
    /// machine's].
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
    #[command(flatten)]
    pub(crate) guessed: GuessedArgs,
    #[command(flatten)]
    pub(crate) connect: ConnectArgs,
}

#[derive(Debug, Args)]
pub(crate) struct InspectArgs {
    /// The tablespace, T.ibd; T.cfg beside it, if there, tells its columns.
    pub(crate) file: PathBuf,
    /// Print this page in full.
    #[arg(long, value_name = "N")]
    pub(crate) page: Option<u32>,
    /// Check every structural rule.
    #[arg(long)]
    pub(crate) verify: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SandboxArgs {
    #[command(subcommand)]
    pub(crate) action: SandboxAction,
    /// Folder of the sandbox [default: in the user's data folder].
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) sandbox: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SandboxAction {
    /// Start it; made on first use.
    Start {
        /// Start one server with the storage engine Spider instead, and so many that have its partitions.
        #[arg(long, value_name = "N")]
        shards: Option<usize>,
    },
    /// Stop it; its data stays.
    Stop,
    /// Run SQL from the arguments or from stdin; rows come out separated by tabs.
    Sql {
        /// One statement, or several separated by semicolons.
        statements: Vec<String>,
    },
    /// Print its folder and socket.
    Path,
}

/// The arguments of another program, which are passed on as they were typed.
#[derive(Debug, Args)]
pub(crate) struct BenchArgs {
    #[arg(id = "help", long = "help", hide = true)]
    _help: bool,
    #[arg(hide = true, trailing_var_arg = true, allow_hyphen_values = true)]
    _arguments: Vec<OsString>,
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use clap::{Arg, CommandFactory as _};
    use face::Form;
    use face::option::{ALL, PASSWORD, VERBOSE};

    use super::Cli;

    fn arguments(command: &clap::Command) -> Vec<Arg> {
        let below = command.get_subcommands().flat_map(arguments);
        command.get_arguments().cloned().chain(below).collect()
    }

    #[test]
    fn options_that_messages_name_are_those_of_commands() {
        let mut program = Cli::command();
        program.build();
        let arguments = arguments(&program);
        // The journal of a job knows an option that no command has yet.
        for option in ALL.iter().filter(|option| **option != VERBOSE) {
            let is_named = |argument: &&Arg| argument.get_long() == Some(option.name());
            let named: Vec<&Arg> = arguments.iter().filter(is_named).collect();
            let typed = |argument: &Arg| match argument.get_short() {
                Some(short) if option.typed() == format!("-{short}") => true,
                _ => option.typed() == format!("--{}", option.name()),
            };
            assert!(named.iter().any(|argument| typed(argument)), "{option:?} is of no command");
            let values = |argument: &Arg| argument.get_num_args().unwrap().min_values();
            let is_fit = match option.form() {
                Form::Flag => named.iter().any(|argument| values(argument) == 0),
                // The program asks for it.
                Form::Value if *option == PASSWORD => true,
                Form::Value => named.iter().any(|argument| values(argument) > 0),
                Form::Joined => named.iter().any(|argument| argument.get_action().takes_values()),
            };
            assert!(is_fit, "{option:?} takes something else");
        }
    }
}
