//! `inrush jobs` and `inrush resume` as they are typed.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
pub(crate) struct JobsArgs {
    /// What to do with them; without a word they are listed.
    #[command(subcommand)]
    pub(crate) action: Option<JobsAction>,
    /// Where the journals are kept [default: inrush in the user's state folder].
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) state_dir: Option<PathBuf>,
    /// Print JSON.
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum JobsAction {
    /// List them, the newest last.
    List,
    /// Show one: its command, its files, how long each step took, and what it failed by.
    Show {
        /// Name of the job, or how it begins.
        job: String,
    },
    /// Print the lines of its journal.
    Logs {
        /// Name of the job, or how it begins.
        job: String,
    },
    /// Remove the journals of jobs that are done or failed; or of these, also if they were killed.
    Clean {
        /// Names of jobs, or how they begin.
        jobs: Vec<String>,
        /// Remove the refused rows too that loads kept beside their journals because no --rejects named a
        /// file.
        #[arg(long)]
        rejects: bool,
    },
}

#[derive(Debug, Args)]
pub(crate) struct ResumeArgs {
    /// Name of the job, or how it begins; `inrush jobs` lists them.
    pub(crate) job: String,
    /// Where the journals are kept [default: inrush in the user's state folder].
    #[arg(long, value_name = "DIR")]
    pub(crate) state_dir: Option<PathBuf>,
}
