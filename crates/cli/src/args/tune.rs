//! `inrush doctor`, `inrush tune` and `--tune` as they are typed.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::sync::LazyLock;

use clap::Args;
use terminal::connect::ConnectArgs;
use terminal::failure::Failure;
use tune::Class;

use super::words::{Words, words};

#[derive(Clone, Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Folder for measurements of this machine [default: inrush in the user's state folder].
    #[arg(long, value_name = "DIR")]
    pub(crate) state_dir: Option<PathBuf>,
    /// Prove this build of the server in a private server, and do nothing else.
    ///
    /// Tables are built and imported there, and compared with those of LOAD DATA. The result is kept in the state folder.
    #[arg(long)]
    pub(crate) prove: bool,
    /// Program of the server, for --prove [default: found by its process].
    #[arg(long, value_name = "PATH", requires = "prove")]
    pub(crate) server_program: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) connect: ConnectArgs,
}

/// Treatment of a server whose build is not on the tested list.
#[derive(Clone, Debug, Args)]
pub(crate) struct UntestedArgs {
    /// Load directly into a server whose build is neither tested nor proven.
    ///
    /// Without this option such a build is proven first, in a private server, or gets its rows sent.
    #[arg(long)]
    pub(crate) untested_server: bool,
    /// Program of the server, to prove an untested build [default: found by its process].
    #[arg(long, value_name = "PATH")]
    pub(crate) server_program: Option<PathBuf>,
}

const CLASSES: &Words<Class> = &[
    ("safe", "Risk nothing; only the disk is busier", Class::Safe),
    ("relaxed", "Risk the last second of commits of all users in a power cut", Class::Relaxed),
    ("unsafe", "Risk a server that does not start again after a crash", Class::Unsafe),
];

#[derive(Clone, Debug, Args)]
pub(crate) struct TuneArgs {
    /// Set variables of the server for loads, until --restore.
    ///
    /// Relaxed and unsafe variables are set only by their name.
    #[arg(
        long,
        value_parser = words(CLASSES),
        value_name = "CLASS",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "safe",
        conflicts_with_all = ["restore", "show"]
    )]
    pub(crate) apply: Option<Class>,
    /// Restore variables that --apply or a killed load has set.
    #[arg(long, conflicts_with = "show")]
    pub(crate) restore: bool,
    /// Show variables that are set, and those that could be [default].
    #[arg(long)]
    pub(crate) show: bool,
    /// Folder for earlier values [default: inrush in the user's state folder].
    #[arg(long, value_name = "DIR")]
    pub(crate) state_dir: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) connect: ConnectArgs,
}

/// Options of loads and replays.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct TuneArg {
    /// Set server variables while rows are sent, and restore them afterwards.
    ///
    /// Without =CLASS only safe variables are set.
    #[arg(
        long,
        value_parser = words(CLASSES),
        value_name = "CLASS",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "safe"
    )]
    pub(crate) tune: Option<Class>,
}

impl TuneArg {
    /// The safety that may be given up, if anything is to be set.
    ///
    /// Errors: what is unsafe, and was not typed with this command.
    pub(crate) fn class(&self) -> Result<Option<Class>, Failure> {
        class("tune", self.tune)
    }
}

impl TuneArgs {
    /// As [`TuneArg::class`], of `--apply`.
    pub(crate) fn class(&self) -> Result<Option<Class>, Failure> {
        class("apply", self.apply)
    }
}

/// The arguments of the process, each of which is asked for once a table.
static TYPED: LazyLock<HashSet<OsString>> = LazyLock::new(|| std::env::args_os().collect());

/// An option file, a variable or a job file may have been written for another server than this one.
fn class(option: &str, class: Option<Class>) -> Result<Option<Class>, Failure> {
    let typed = format!("--{option}={}", Class::Unsafe);
    if class == Some(Class::Unsafe) && !TYPED.contains(OsStr::new(&typed)) {
        return Err(Failure::usage(format!(
            "{typed} works on the command line only: {}",
            Class::Unsafe.risk()
        )));
    }
    Ok(class)
}
