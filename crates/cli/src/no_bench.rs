//! `inrush bench` of a program that was built without the benchmarks.

use crate::args::bench::BenchArgs;
use crate::failure::Failure;

/// Says how to come by one that has them.
pub(crate) fn run(_: &BenchArgs) -> Result<u8, Failure> {
    Err(Failure::usage(
        "this program was built without the benchmarks: `make build`, or cargo with \
         --features bench, makes one that has them",
    ))
}
