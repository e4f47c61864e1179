//! Options of `inrush bench` where the program was built without the benchmarks.

use std::ffi::OsString;

use clap::Args;

/// Benchmarks. This program was built without them: `make build` makes one that has them.
#[derive(Debug, Args)]
pub(crate) struct BenchArgs {
    /// Whatever it is that was wanted.
    #[arg(hide = true, trailing_var_arg = true, allow_hyphen_values = true)]
    _which: Vec<OsString>,
}
