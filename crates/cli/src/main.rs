//! `inrush`: the command line.
#![deny(unsafe_code)]

/// Says a line on stderr, as `eprintln!`, but that nobody listens any more ends no load.
macro_rules! tell {
    ($($words:tt)*) => { terminal::say(format_args!($($words)*)) };
}

mod allocator;
mod args;
mod backup_note;
mod bench;
mod check;
mod connect;
mod dialect;
mod doctor;
mod export;
mod files;
mod guess;
mod html;
mod input;
mod inspect;
mod job_file;
mod jobs;
mod left_keys;
mod load;
mod objects;
mod print;
mod progress;
mod proof;
mod recorder;
mod replay;
mod replay_print;
mod replay_progress;
mod resume;
mod sandbox;
mod several;
mod sniff;
mod status;
mod tuned;
mod verify;

use std::io::Write;

use args::{Cli, Command};
use connect::Into;
use signal_hook::low_level::exit;
use terminal::failure::Failure;

/// The variable by which the Python package has messages name options as keywords of a call.
const FACE: &str = "INRUSH_FACE";

fn main() -> ! {
    if std::env::var_os(FACE).is_some_and(|face| face == "keyword") {
        face::Face::Keyword.choose();
    }
    allocator::give_back_large_buffers();
    disk::private::deny_writes_of_others();
    terminal::connect::hush_driver();
    let status = status();
    let _ = std::io::stdout().flush();
    // Nothing but the end of the process follows. A user whose process was killed before may not know that
    // all rows are in.
    ::load::close_jobs();
    exit(status.into())
}

/// Does what the command line asks for; gives the exit status.
fn status() -> u8 {
    let done = Cli::read(job_file::with_job).and_then(|cli| run(cli.command));
    done.unwrap_or_else(|failure| failure.tell())
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
        Command::Bench(_) => bench::run(),
        Command::Help(args) => args.run(),
        Command::Completions(args) => args.run(),
    }
}
