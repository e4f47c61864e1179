//! The command line as it is typed.
//!
//! Client options are those of the mariadb client, so `-h` is the host and help
//! is `--help`, all of it `--help-all`; field options are those of LOAD DATA.

mod export;
mod format;
mod guessed;
mod help;
mod job;
mod jobs;
mod option_sources;
mod replay;
mod tune;
mod watch;
mod words;
mod written;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use load::{Mode, OnDuplicate};
use terminal::arguments::{check_hosts, parse, refuse_password};
use terminal::connect::ConnectArgs;
use terminal::failure::{self, Failure};

pub(crate) use self::export::{CompressionArg, ExportArgs, FileFormatArg};
pub(crate) use self::format::FormatArgs;
pub(crate) use self::guessed::GuessedArgs;
pub(crate) use self::help::{CompletionsArgs, HelpArgs};
pub(crate) use self::job::{JobAction, JobArgs, JobInitArgs};
pub(crate) use self::jobs::{JobsAction, JobsArgs, ResumeArgs};
pub(crate) use self::option_sources::is_typed;
pub(crate) use self::replay::ReplayArgs;
pub(crate) use self::tune::{DoctorArgs, TuneArg, TuneArgs, UntestedArgs};
pub(crate) use self::watch::{ProgressArg, WatchArgs};
pub(crate) use self::words::word;
use self::words::{Words, words};
pub(crate) use self::written::{WrittenArgs, said_of};

/// A bulk loader for InnoDB: builds a table's file outside the server, which imports it.
#[derive(Debug, Parser)]
#[command(name = "inrush", version, disable_help_flag = true, disable_help_subcommand = true)]
#[command(args_override_self = true)]
pub(crate) struct Cli {
    /// Print the common options.
    #[arg(long, global = true, action = clap::ArgAction::HelpShort)]
    help: Option<bool>,
    /// Print all options.
    #[arg(long, global = true, action = clap::ArgAction::HelpLong)]
    help_all: Option<bool>,
    #[command(subcommand)]
    pub(crate) command: Command,
}

impl Cli {
    /// Reads what was typed, what `expand` makes of it, and what option files and the environment add to it.
    /// Help and version are printed here, and end the program.
    pub(crate) fn read(
        expand: impl FnOnce(Vec<OsString>) -> Result<Vec<OsString>, Failure>,
    ) -> Result<Cli, Failure> {
        Cli::of(std::env::args_os().collect(), expand)
    }

    /// The same of these arguments, the first of which is the program.
    pub(crate) fn of(
        mut arguments: Vec<OsString>,
        expand: impl FnOnce(Vec<OsString>) -> Result<Vec<OsString>, Failure>,
    ) -> Result<Cli, Failure> {
        // Alone, -h is help; behind a command, it names the host.
        if let [_, only] = &mut arguments[..]
            && only == "-h"
        {
            *only = "--help".into();
        }
        refuse_password(&arguments)?;
        let (arguments, given) = option_sources::with_given(expand(arguments)?)?;
        if option_sources::is_typed(&arguments, "json") {
            failure::tell_as_json();
        }
        check_hosts(&arguments)?;
        parse(help::command(&arguments), arguments, &given)
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Load files into a table, or into the tables of a database.
    Load(Box<LoadArgs>),
    /// Show how a load would run, and why; changes nothing.
    Plan(Box<LoadArgs>),
    /// Find all bad rows of files; loads nothing.
    Check(Box<LoadArgs>),
    /// Compare a table with the rows of files; changes nothing.
    Verify(Box<LoadArgs>),
    /// Print a job file to begin with, or the schema of job files.
    Job(JobArgs),
    /// Continue a load that failed or was killed.
    Resume(ResumeArgs),
    /// List loads, show their steps, or remove their journals.
    Jobs(JobsArgs),
    /// Load a SQL dump in parallel.
    Replay(Box<ReplayArgs>),
    /// Write the rows of a table or view to files.
    Export(Box<ExportArgs>),
    /// Find server settings that slow loads down or are dangerous; changes nothing.
    Doctor(Box<DoctorArgs>),
    /// Set variables of a server for loads, show them, or restore them.
    Tune(Box<TuneArgs>),
    /// Guess the format of files; print a CREATE TABLE and a load command.
    Sniff(Box<SniffArgs>),
    /// Show the contents of a tablespace file.
    Inspect(InspectArgs),
    /// Manage the private server that is used when no other is named.
    Sandbox(SandboxArgs),
    /// Run benchmarks (the program inrush-bench).
    Bench(BenchArgs),
    /// Print the full help of a command, or its man page.
    Help(HelpArgs),
    /// Print a script by which a shell completes commands and options.
    Completions(CompletionsArgs),
}

#[derive(Clone, Debug, Args)]
pub(crate) struct LoadArgs {
    /// Input files and URLs (https, http), in this order; - reads standard input.
    ///
    /// Compressed files are read as they are: gzip, zstd, lz4, bzip2, xz. A quoted pattern with * ? [ ]
    /// stands for the files that match. With --into DB also folders.
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Job file (TOML) that declares the load.
    ///
    /// Files and options that are typed override the job file.
    #[arg(short = 'c', long, value_name = "JOB.toml")]
    pub(crate) job: Option<PathBuf>,
    /// Table, or database whose tables the files belong to.
    ///
    /// Files of a database go to tables by their names: orders.csv, shop.orders.tbl, orders.0001.csv.zst. All
    /// tables are published at once, or none.
    #[arg(long, value_name = "DB.TABLE|DB")]
    pub(crate) into: String,
    /// Files that match PATTERN go to TABLE (with --into DB).
    ///
    /// The pattern takes * and ?. Files of a pattern without TABLE are skipped. The option may be repeated;
    /// the first match counts.
    #[arg(long, value_name = "PATTERN=TABLE")]
    pub(crate) map: Vec<String>,
    /// Publish each table by itself, not all or none (with --into DB).
    ///
    /// Some tables cannot be published together with others: this option loads them one after the other.
    #[arg(long, conflicts_with = "atomic")]
    pub(crate) each: bool,
    /// SQL file whose CREATE TABLE creates a missing table.
    ///
    /// With --into DB each table that files go to is created.
    #[arg(long, value_name = "FILE")]
    pub(crate) ddl: Option<PathBuf>,
    /// The text of that file, from another machine.
    #[arg(skip)]
    pub(crate) sent_ddl: Option<String>,
    /// Create a missing table as `inrush sniff` guesses it.
    ///
    /// Dialect, header, character set and types are guessed from the files, unless options give them.
    #[arg(long, conflicts_with = "ddl")]
    pub(crate) create: bool,
    /// Treatment of rows that are in the table [default: insert].
    #[arg(long, value_parser = words(MODES))]
    pub(crate) mode: Option<Mode>,
    /// Method of loading.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) path: PathArg,
    /// Make appended rows visible all at once.
    ///
    /// One connection sends all rows in one transaction.
    #[arg(long)]
    pub(crate) atomic: bool,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
    #[command(flatten)]
    pub(crate) written: WrittenArgs,
    #[command(flatten)]
    pub(crate) guessed: GuessedArgs,
    /// Read files as the other options say, and guess nothing.
    ///
    /// The first rows of a file for an existing table show a header, a dialect and formats. Options of the dialect
    /// exclude guesses, too.
    #[arg(long, conflicts_with = "create")]
    pub(crate) no_guess: bool,
    /// File for rejected rows; FILE.reasons.jsonl says why.
    ///
    /// With --into DB a folder, with a file for each table.
    #[arg(long, value_name = "FILE")]
    pub(crate) rejects: Option<PathBuf>,
    /// Rejected rows that each table tolerates, as 100 or 1%.
    ///
    /// One more rejected row fails the load. A percentage is judged when all rows are read, before any is
    /// published.
    #[arg(long, value_name = "N|N%", default_value = "0", allow_negative_numbers = true)]
    pub(crate) rejects_max: String,
    /// Keep the table's next AUTO_INCREMENT number (with --mode replace).
    ///
    /// Without this option numbers start again, as after TRUNCATE.
    #[arg(long)]
    pub(crate) keep_auto_increment: bool,
    /// Accept input without rows.
    ///
    /// A file with text and no row counts as empty. With --mode replace, input without rows empties the
    /// table, also when all its rows are rejected.
    #[arg(long)]
    pub(crate) allow_empty: bool,
    /// Treatment of rows with equal keys, in input order [default: fail].
    #[arg(long, value_parser = words(ON_DUPLICATE))]
    pub(crate) on_duplicate: Option<OnDuplicate>,
    /// File for rows that are skipped as duplicates.
    ///
    /// FILE.reasons.jsonl names the row that each one lost to.
    #[arg(long, value_name = "FILE")]
    pub(crate) duplicates: Option<PathBuf>,
    /// Threads [default: one per core].
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) threads: Option<usize>,
    /// Memory of the program, as 512M or 4G [default: a quarter of the machine].
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory: Option<String>,
    /// Bytes of a built file that stay in the page cache until IMPORT.
    ///
    /// The rest is written to disk early [default: half of the memory that is free beyond --memory].
    #[arg(long, value_name = "SIZE")]
    pub(crate) page_cache: Option<String>,
    /// Leave the load out of the server's binary log.
    ///
    /// A server with a binary log then accepts the direct path. Replicas and point-in-time recovery lack the
    /// rows.
    #[arg(long)]
    pub(crate) unlogged: bool,
    /// Publish a built table without reading it back first.
    ///
    /// Reading back compares the table's rows with those of the input.
    #[arg(long)]
    pub(crate) no_verify: bool,
    /// Have incremental backups contain a built table, in one more pass over its file.
    ///
    /// The pages get the server's log sequence number, by which mariadb-backup --incremental finds changed
    /// pages. Tables that get sent rows need no stamp.
    #[arg(long, value_enum, default_value_t, value_name = "WHEN")]
    pub(crate) stamp: StampArg,
    /// Load a table that has triggers directly; they do not run for these rows.
    ///
    /// The triggers stay on the table.
    #[arg(long)]
    pub(crate) no_triggers: bool,
    /// Load rows without checking foreign keys.
    #[arg(long)]
    pub(crate) no_foreign_key_checks: bool,
    /// Folder for temporary files [default: the system's].
    ///
    /// Sorted rows that do not fit into memory go there.
    #[arg(long, value_name = "DIR")]
    pub(crate) temp_dir: Option<PathBuf>,
    /// Folder for journals [default: inrush in the user's state folder].
    #[arg(long, value_name = "DIR")]
    pub(crate) state_dir: Option<PathBuf>,
    /// Filled part of each page, in percent [default: 93.75, which is 15/16].
    #[arg(long, value_name = "PERCENT", allow_negative_numbers = true)]
    pub(crate) fill: Option<f64>,
    /// Seconds to wait for others that hold the table.
    #[arg(long, value_name = "SECONDS", default_value_t = 60, allow_negative_numbers = true)]
    pub(crate) lock_wait: u32,
    /// Seconds that a merge may block writers of the table.
    ///
    /// Rows are merged with --mode append [default: 30; with --path direct no limit].
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true)]
    pub(crate) max_write_block: Option<u32>,
    /// Flags of sql_mode for reading values, such as NO_ZERO_DATE [default: the server's].
    ///
    /// Strict mode is always on.
    #[arg(long, value_name = "FLAGS")]
    pub(crate) sql_mode: Option<String>,
    /// Time zone of TIMESTAMP values: +02:00, Europe/Berlin [default: the server's].
    #[arg(long, value_name = "ZONE", allow_hyphen_values = true)]
    pub(crate) time_zone: Option<String>,
    /// HTML page about the load.
    ///
    /// The page shows stages, speed and memory over time, rejected rows by reason, the plan and the settings.
    /// It needs no other file.
    #[arg(long, value_name = "FILE.html")]
    pub(crate) report: Option<PathBuf>,
    /// Check all rows and load none, as `inrush check` does.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print the report as JSON on standard output.
    #[arg(long)]
    pub(crate) json: bool,
    /// Print errors only.
    #[arg(long)]
    pub(crate) quiet: bool,
    /// Print stages, indexes, speed and reasons too.
    #[arg(long)]
    pub(crate) verbose: bool,
    #[command(flatten)]
    pub(crate) watch: WatchArgs,
    #[command(flatten)]
    pub(crate) tune: TuneArg,
    #[command(flatten)]
    pub(crate) untested: UntestedArgs,
    #[command(flatten)]
    pub(crate) batches: BatchArgs,
    /// Run the load on HOST by ssh, and send the file there.
    ///
    /// HOST has the same version of this program. Options of the server, such as --socket, are meant as seen from
    /// HOST. The direct method then works for the server of another machine.
    #[arg(long, value_name = "ssh://[USER@]HOST[:PORT]")]
    pub(crate) via: Option<String>,
    #[command(flatten)]
    pub(crate) connect: ConnectArgs,
}

impl LoadArgs {
    /// True if details are printed. `--quiet` wins, whichever file or variable `--verbose` comes
    /// from.
    pub(crate) fn is_verbose(&self) -> bool {
        self.verbose && !self.quiet
    }
}

#[derive(Clone, Debug, Default, Args)]
pub(crate) struct BatchArgs {
    /// Rows in a statement [default: found while loading].
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) batch_rows: Option<u64>,
    /// Bytes in a statement, as 512K or 4M [default: found while loading].
    #[arg(long, value_name = "SIZE")]
    pub(crate) batch_bytes: Option<String>,
    /// Connections that load [default: found while loading].
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) connections: Option<usize>,
    /// Bytes of input per second at most, as 20M [default: no limit].
    ///
    /// Rows are sent then: a file that is built is written at the speed of the disk.
    #[arg(long, value_name = "SIZE")]
    pub(crate) max_rate: Option<String>,
    /// Replica that gets the built file too; once for each replica.
    ///
    /// Tables on the direct path: the server and all its replicas get the same file, and only the RENAME is
    /// in the binary log. Rows that are sent: the option names a replica that the server does not know, for
    /// --max-lag.
    #[arg(long, value_name = "HOST:PORT|SOCKET")]
    pub(crate) replica: Vec<String>,
    /// Address of a server that has partitions of a Spider table.
    ///
    /// NAME is the server's name in the table. The option is needed once for each server whose address the
    /// account may not read, or does not reach.
    #[arg(long, value_name = "NAME=HOST:PORT", value_parser = written::shard)]
    pub(crate) shard: Vec<(String, String)>,
    /// Seconds that replicas may lag before the load waits [default: 30].
    ///
    /// 0 turns the wait off.
    #[arg(long, value_name = "SECONDS")]
    pub(crate) max_lag: Option<u32>,
}

/// Words of `--mode`.
pub(crate) const MODES: &Words<Mode> = &[
    ("insert", "Load an empty table", Mode::Insert),
    ("append", "Add rows to those in the table", Mode::Append),
    ("replace", "Replace all rows of the table", Mode::Replace),
];

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum StampArg {
    /// Stamp if the server has a history of backups (mariadb-backup --history).
    #[default]
    Auto,
    /// Always stamp.
    Yes,
    /// Never stamp; the next backup must be a full one.
    No,
}

impl StampArg {
    /// True or false if that was typed.
    pub(crate) fn is_asked(self) -> Option<bool> {
        match self {
            StampArg::Auto => None,
            StampArg::Yes => Some(true),
            StampArg::No => Some(false),
        }
    }
}

/// Words of `--on-duplicate`.
pub(crate) const ON_DUPLICATE: &Words<OnDuplicate> = &[
    ("fail", "Fail the load at the first duplicate", OnDuplicate::Fail),
    (
        "skip",
        "Skip a row if an earlier row has one of its keys, as LOAD DATA IGNORE does",
        OnDuplicate::Skip,
    ),
    (
        "replace",
        "Replace earlier rows that have one of its keys, as LOAD DATA REPLACE does",
        OnDuplicate::Replace,
    ),
    (
        "update",
        "Update the earlier row, as INSERT .. ON DUPLICATE KEY UPDATE does",
        OnDuplicate::Update,
    ),
];

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum PathArg {
    /// Choose the fastest method that the table allows.
    #[default]
    Auto,
    /// Build the tablespace file, and have the server import it.
    Direct,
    /// Send rows by LOAD DATA LOCAL.
    Stream,
    /// Send rows by INSERTs of many rows.
    Insert,
    /// Have TiDB read a file of the rows by IMPORT INTO.
    Import,
    /// Send rows by INSERT to the Spider server, which assigns them to its shards.
    #[value(alias = "head")]
    Coordinator,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct SniffArgs {
    /// Files to guess from; see `inrush help load` for their forms.
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Table to create [default: test.NAME, after the first file].
    #[arg(long, value_name = "DB.TABLE")]
    pub(crate) into: Option<String>,
    /// Memory, as 64M [default: a quarter of the machine].
    ///
    /// Little memory means that less of the files is read.
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
    /// Tablespace, T.ibd; T.cfg beside it gives the names of columns.
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
    /// Start the sandbox; the first start creates it.
    Start {
        /// Start a Spider server and N servers with its partitions instead.
        #[arg(long, value_name = "N")]
        shards: Option<usize>,
    },
    /// Run the sandbox until standard input ends or has a byte, and longer while other commands use it.
    #[command(hide = true)]
    Run,
    /// Stop the sandbox; its data stays.
    Stop,
    /// Run SQL from the arguments or standard input.
    ///
    /// Rows are printed with tabs between their fields.
    Sql {
        /// One statement, or several separated by semicolons.
        statements: Vec<String>,
    },
    /// Print the folder and the socket of the sandbox.
    Path,
}

/// The arguments of another program, which are passed on as they were typed.
#[derive(Debug, Args)]
pub(crate) struct BenchArgs {
    #[arg(id = "help", long = "help", hide = true)]
    _help: bool,
    #[arg(id = "help_all", long = "help-all", hide = true)]
    _help_all: bool,
    #[arg(hide = true, trailing_var_arg = true, allow_hyphen_values = true)]
    _arguments: Vec<OsString>,
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use clap::{Arg, CommandFactory as _};
    use face::Form;
    use face::option::{ALL, PASSWORD};

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
        for option in ALL.iter() {
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
