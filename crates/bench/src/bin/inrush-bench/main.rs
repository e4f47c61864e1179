//! `inrush-bench`, which is `inrush bench`: our loads beside the server's own.

mod args;
mod run;

use std::process::ExitCode;

use args::Cli;

fn main() -> ExitCode {
    terminal::connect::hush_driver();
    let done = Cli::read().and_then(|cli| run::run(&cli.command));
    done.unwrap_or_else(|failure| failure.tell()).into()
}
