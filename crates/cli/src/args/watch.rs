//! `--progress` and `--metrics` as they are typed.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

#[derive(Clone, Debug, Default, Args)]
pub(crate) struct WatchArgs {
    /// Form of the progress messages [default: auto, with --quiet none].
    #[arg(long, value_enum, value_name = "FORM")]
    pub(crate) progress: Option<ProgressArg>,
    /// File for metrics in the text format of Prometheus.
    ///
    /// The file is replaced every ten seconds and at the end. The textfile collector of node_exporter reads it,
    /// with a name that ends with .prom.
    #[arg(long, value_name = "FILE")]
    pub(crate) metrics: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProgressArg {
    /// Draw a bar on a terminal; print a line every ten seconds elsewhere.
    #[default]
    Auto,
    /// Print no progress.
    None,
    /// Print a line of JSON on standard error every second.
    Json,
}
