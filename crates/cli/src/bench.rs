//! `inrush bench`: a program of its own, `inrush-bench`.

use std::os::unix::process::CommandExt;
use std::process;

use terminal::failure::Failure;
use terminal::programs;

const PROGRAM: &str = "inrush-bench";

/// Becomes that program, with the arguments behind `bench`.
pub(crate) fn run() -> Result<u8, Failure> {
    let Some(program) = programs::find(PROGRAM) else {
        return Err(Failure::usage(format!(
            "the benchmarks are a separate program, {PROGRAM}, which is neither beside this \
             program nor on PATH: build it with `cargo build --release -p {PROGRAM}`"
        )));
    };
    let error = process::Command::new(&program).args(std::env::args_os().skip(2)).exec();
    Err(Failure::failed(format!("running {}: {error}", program.display())))
}
