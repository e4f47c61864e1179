//! `inrush jobs` and `inrush resume` as they are typed.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
pub(crate) struct JobsArgs {
    /// Action; without one, jobs are listed.
    #[command(subcommand)]
    pub(crate) action: Option<JobsAction>,
    /// Folder for journals [default: inrush in the user's state folder].
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) state_dir: Option<PathBuf>,
    /// Print JSON.
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum JobsAction {
    /// List jobs, the newest last.
    List,
    /// Show a job: its command, files, times of steps, and its error.
    Show {
        /// Name of the job, or its beginning.
        job: String,
    },
    /// Print the lines of a job's journal.
    Logs {
        /// Name of the job, or its beginning.
        job: String,
    },
    /// Remove journals of jobs that are done or failed.
    ///
    /// Jobs that are named are removed also if they were killed.
    Clean {
        /// Names of jobs, or their beginnings.
        jobs: Vec<String>,
        /// Remove rejected rows beside the journals too.
        ///
        /// Loads without --rejects keep rejected rows beside their journals.
        #[arg(long)]
        rejects: bool,
    },
}

#[derive(Debug, Args)]
pub(crate) struct ResumeArgs {
    /// Name of the job, or its beginning; `inrush jobs` lists them.
    pub(crate) job: String,
    /// Folder for journals [default: inrush in the user's state folder].
    #[arg(long, value_name = "DIR")]
    pub(crate) state_dir: Option<PathBuf>,
}
