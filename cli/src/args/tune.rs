//! `inrush doctor` as it is typed.

use std::path::PathBuf;

use clap::Args;

use super::ConnectArgs;

#[derive(Clone, Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Where what was measured on this machine is kept [default: inrush in the user's state folder].
    #[arg(long, value_name = "DIR")]
    pub(crate) state_dir: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) connect: ConnectArgs,
}
