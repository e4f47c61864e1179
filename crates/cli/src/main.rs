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
mod via;
mod watch;

use std::io::Write;

use args::{Cli, Command, LoadArgs};
use connect::Into;
use signal_hook::low_level::exit;
use terminal::failure::Failure;
use watch::{Messages, Watch};

/// The variable by which the Python package has messages name options as keywords of a call.
const FACE: &str = "INRUSH_FACE";

fn main() -> ! {
    if std::env::var_os(FACE).is_some_and(|face| face == "keyword") {
        face::Face::Keyword.choose();
    }
    allocator::give_back_large_buffers();
    disk::private::deny_writes_of_others();
    disk::raise_open_files_max();
    terminal::connect::hush_driver();
    let status = status();
    let _ = std::io::stdout().flush();
    for (name, here) in disk::returned::send_all() {
        via::tell_kept(name, &here);
    }
    // Nothing but the end of the process follows. A user whose process was killed before may not know that
    // all rows are in.
    ::load::close_jobs();
    exit(status.into())
}

/// Does what the command line asks for; gives the exit status.
fn status() -> u8 {
    let cli = via::answer().and_then(|()| Cli::read(job_file::with_job));
    let done = cli.and_then(|cli| run(cli.command));
    done.unwrap_or_else(|failure| failure.tell())
}

fn run(command: Command) -> Result<u8, Failure> {
    match command {
        Command::Load(args) => load_rows(*args),
        Command::Plan(args) | Command::Check(args) | Command::Verify(args)
            if args.via.is_some() =>
        {
            Err(via::refusal())
        }
        Command::Check(args) => check_rows(&args),
        Command::Verify(args) => {
            let into = connect::into(&args.into)?;
            watched("verify", &args, |watch| verify::run(&args, &into, watch))
        }
        Command::Plan(args) => match connect::into(&args.into)? {
            Into::Table(target) => load::plan(&args, &target),
            Into::Database(database) => several::plan(&args, &database),
        },
        Command::Job(args) => job_file::run(&args),
        Command::Resume(args) => resume::run(&args),
        Command::Jobs(args) => jobs::run(&args),
        Command::Replay(args) => {
            let messages = Messages { is_quiet: args.quiet, is_verbose: false };
            let into = args.into.as_deref().unwrap_or("dump");
            let work = |watch: &Watch| replay::run(&args, watch);
            watch::during("replay", into, &args.watch, messages, work)
        }
        Command::Export(args) => {
            let messages = Messages { is_quiet: args.quiet, is_verbose: false };
            let work = |watch: &Watch| export::run(&args, watch);
            watch::during("export", &args.table, &args.watch, messages, work)
        }
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

fn load_rows(mut args: LoadArgs) -> Result<u8, Failure> {
    via::receive(&mut args)?;
    if let Some(via) = &args.via {
        return via::run(&args, via);
    }
    if args.dry_run {
        return check_rows(&args);
    }
    let into = connect::into(&args.into)?;
    watched("load", &args, |watch| match &into {
        Into::Table(target) => load::run(&args, target, watch),
        Into::Database(database) => several::run(&args, database, watch),
    })
}

fn check_rows(args: &LoadArgs) -> Result<u8, Failure> {
    let into = connect::into(&args.into)?;
    watched("check", args, |watch| check::run(args, &into, watch))
}

/// Runs a command with the options of a load while it is watched.
fn watched(
    command: &'static str,
    args: &LoadArgs,
    work: impl FnOnce(&Watch) -> Result<u8, Failure>,
) -> Result<u8, Failure> {
    let messages = Messages { is_quiet: args.quiet, is_verbose: args.verbose };
    watch::during(command, &args.into, &args.watch, messages, work)
}
