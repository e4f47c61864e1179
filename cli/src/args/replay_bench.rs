//! Options of `inrush bench replay`.

use std::path::PathBuf;

use clap::Args;

use super::ConnectArgs;

#[derive(Debug, Args)]
pub(crate) struct ReplayBenchArgs {
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
    /// Where rows and dumps are kept [default: in the user's cache folder].
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
