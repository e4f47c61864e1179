//! `inrush job` as it is typed.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
pub(crate) struct JobArgs {
    #[command(subcommand)]
    pub(crate) action: JobAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum JobAction {
    /// Print a job file that loads files into a table, and shows other keys.
    Init(JobInitArgs),
    /// Print all keys of job files as a JSON schema, for editors.
    Schema,
}

#[derive(Debug, Args)]
pub(crate) struct JobInitArgs {
    /// Files to guess from; see `inrush help load` for their forms.
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Database of the tables.
    #[arg(long, value_name = "DB")]
    pub(crate) into: String,
}
