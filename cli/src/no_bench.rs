//! `inrush bench` of a program that was built without the benchmarks.

use std::ffi::OsString;

use clap::Args;

use crate::failure::Failure;

/// Benchmarks. This program was built without them: `make build` makes one that has them.
#[derive(Debug, Args)]
pub(crate) struct BenchArgs {
    /// Whatever it is that was wanted.
    #[arg(hide = true, trailing_var_arg = true, allow_hyphen_values = true)]
    _which: Vec<OsString>,
}

/// Says how to come by one that has them.
pub(crate) fn run(_: &BenchArgs) -> Result<u8, Failure> {
    Err(Failure::usage(
        "this program was built without the benchmarks: `make build`, or cargo with \
         --features bench, makes one that has them",
    ))
}
