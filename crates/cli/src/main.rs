//! `inrush`: the command line.
#![deny(unsafe_code)]

/// Says a line on stderr, as `eprintln!`, but that nobody listens any more ends no load: the pipe
/// that it went to, or the terminal, may be gone.
macro_rules! tell {
    ($($words:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stderr(), $($words)*);
    }};
}

mod allocator;
mod args;
#[cfg(feature = "bench")]
mod bench;
#[cfg(not(feature = "bench"))]
#[path = "no_bench.rs"]
mod bench;
mod check;
mod connect;
mod dialect;
mod doctor;
mod export;
mod failure;
mod files;
mod html;
mod input;
mod inspect;
mod job_file;
mod jobs;
mod left_keys;
mod load;
mod print;
mod progress;
mod recorder;
mod replay;
mod replay_print;
mod replay_progress;
mod resume;
mod sandbox;
mod several;
mod signals;
mod size;
mod sniff;
mod status;
mod tuned;
mod verify;

use std::io::Write;

use args::{Cli, Command};
use connect::Into;
use failure::Failure;
use signal_hook::low_level::exit;

fn main() -> ! {
    allocator::give_back_large_buffers();
    connect::hush_driver();
    let status = status();
    let _ = std::io::stdout().flush();
    // Nothing but the end of the process follows. A user whose process was killed before may not know that
    // all rows are in.
    ::load::close_jobs();
    exit(status.into())
}

/// Does what the command line asks for; gives the exit status.
fn status() -> u8 {
    match Cli::read(job_file::with_job).and_then(|cli| run(cli.command)) {
        Ok(status) => status,
        Err(failure) => {
            if !failure.text.is_empty() {
                tell!("inrush: {failure}");
                if wants_json() {
                    // Who reads it has the exit status too.
                    let _ = writeln!(std::io::stdout(), "{}", failure.json());
                }
            }
            failure.status
        }
    }
}

/// Whether the command line asks for JSON, also where it could not be read.
fn wants_json() -> bool {
    let arguments = std::env::args_os().take_while(|argument| argument != "--");
    arguments.skip(1).any(|argument| argument == "--json")
}

fn run(command: Command) -> Result<u8, Failure> {
    match command {
        Command::Load(args) if args.dry_run => check::run(&args, &connect::into(&args.into)?),
        Command::Check(args) => check::run(&args, &connect::into(&args.into)?),
        Command::Verify(args) => verify::run(&args, &connect::into(&args.into)?),
        Command::Load(args) => match connect::into(&args.into)? {
            Into::Table(target) => load::run(&args, &target),
            Into::Database(database) => several::run(&args, &database),
        },
        Command::Plan(args) => match connect::into(&args.into)? {
            Into::Table(target) => load::plan(&args, &target),
            Into::Database(database) => several::plan(&args, &database),
        },
        Command::Job(args) => job_file::run(&args),
        Command::Resume(args) => resume::run(&args),
        Command::Jobs(args) => jobs::run(&args),
        Command::Replay(args) => replay::run(&args),
        Command::Export(args) => export::run(&args),
        Command::Doctor(args) => doctor::run(&args),
        Command::Tune(args) => tuned::run(&args),
        Command::Sniff(args) => sniff::run(&args),
        Command::Inspect(args) => inspect::run(&args),
        Command::Sandbox(args) => sandbox::run(&args),
        Command::Bench(args) => bench::run(&args),
    }
}
