//! `inrush resume`: the command of a job that did not end well, once more.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process;
use std::slice;
use std::time::Duration;

use load::jobs::{self, Job, State};
use load::{CommandLine, LeftKeys};
use sources::remote;
use terminal::failure::{Failure, KEYS_LEFT};
use terminal::state::state_dir;

use crate::args::{Cli, Command, ResumeArgs};
use crate::{connect, input, job_file};

/// Becomes the command that the job was begun by, in its folder, if it reads the same files.
///
/// Leftovers of the killed load tell that command how to go on, as they do if somebody types it
/// again.
pub(crate) fn run(args: &ResumeArgs) -> Result<u8, Failure> {
    let state_dir = state_dir(args.state_dir.as_deref())?;
    let job = jobs::find(&state_dir, &args.job)?;
    let refused = |why: String| Err(Failure::usage(format!("job {}: {why}", job.name)));
    match job.state {
        State::Done if job.missing().is_none() => {
            return refused("it is done; there is nothing to resume".to_owned());
        }
        State::Running => {
            let pid = job.entries.first().map_or(0, |first| first.pid);
            return refused(format!("it is running, as process {pid}"));
        }
        State::Done | State::Failed | State::Killed => {}
    }
    if let Some(command) = job.command().filter(|_| job.has_keys_left()) {
        return carry_keys_over(&state_dir, &job, command);
    }
    open_urls(&job);
    let is_readable =
        job.command().is_some_and(|command| command.is_whole() && command.changed().is_none());
    if job.is_unfinished() && !is_readable && !job.is_part() {
        tell!(
            "job {}: all rows are in {}; the next load of that table removes leftovers of the job",
            job.name,
            job.target()
        );
        jobs::close(&state_dir, &job)?;
        return Ok(0);
    }
    let Some(command) = job.command() else {
        return refused("its command was not recorded; type it again".to_owned());
    };
    if let Some(changed) = command.changed() {
        return refused(format!("{changed}; the job cannot be resumed; {}", anew(&job, command)));
    }
    if !command.is_whole() {
        return refused(format!(
            "the journal does not keep a value of its command, because the value may be a secret; \
             type the command again: {command}"
        ));
    }
    if let Some(Job { name, .. }) = jobs::loaded_later(&state_dir, &job)? {
        let again = "to load them once more, run";
        let target = job.target();
        return refused(format!(
            "job {name} has loaded the same files into {target} since then; {again}: {command}"
        ));
    }
    if job.state == State::Killed && !job.is_in() {
        jobs::note_resumed(&state_dir, &job)?;
    }
    tell!("{command}");
    let program = std::env::current_exe().map_err(Failure::failed)?;
    let error =
        process::Command::new(program).args(&command.arguments).current_dir(&command.folder).exec();
    Err(Failure::failed(format!(
        "running the job's command in {}: {error}",
        command.folder.display()
    )))
}

/// How to load the files of a job as they are now.
fn anew(job: &Job, command: &CommandLine) -> String {
    let target = job.target();
    match job.has_added() {
        false => format!("to start a new load, run: {command}"),
        true => format!(
            "the job has added rows to {target}, and a table _inrush_ledger_.. beside {target} lists them. To load the \
             rest, put the files back as they were and resume the job. To keep these rows and start a new load, drop \
             the table _inrush_ledger_.., then run: {command}"
        ),
    }
}

/// Opens the URLs of a job's command, so that their objects can be compared. What is wrong with one is told by that.
fn open_urls(job: &Job) {
    let inputs = job.command().map(|command| &command.inputs);
    for input in inputs.into_iter().flatten().filter(|input| remote::is_url(&input.path)) {
        if let Err(failure) = input::files(slice::from_ref(&input.path)) {
            failure.tell();
        }
    }
}

/// Has the foreign keys that a job has left at an old table refer to the new one, which gets the triggers. Its rows are
/// in.
fn carry_keys_over(state_dir: &Path, job: &Job, command: &CommandLine) -> Result<u8, Failure> {
    std::env::set_current_dir(&command.folder).map_err(Failure::failed)?;
    let program = std::env::args_os().next().unwrap_or_default();
    let typed = command.arguments.iter().map(OsString::from);
    let arguments = std::iter::once(program).chain(typed).collect();
    let Command::Load(args) = Cli::of(arguments, job_file::with_job)?.command else {
        return Err(Failure::failed(format!("job {} is not a load", job.name)));
    };
    let visit = connect::meant(&args.connect)?.resolve(args.quiet)?;
    let wait = Duration::from_secs(u64::from(args.lock_wait));
    let left = load::carry_keys_over(&visit.connect, state_dir, wait)?;
    let failed = left.iter().filter_map(|one| Some((one, one.error.as_ref()?)));
    let (mut keys_left, mut triggers_left) = (Vec::new(), Vec::new());
    for (LeftKeys { keys, triggers, .. }, error) in failed {
        match triggers.is_empty() {
            true => tell!("inrush: warning: foreign keys still refer to the old table: {error}"),
            false => tell!("inrush: warning: {error}"),
        }
        keys_left.extend(keys.iter().map(String::as_str));
        triggers_left.extend(triggers.iter().map(String::as_str));
    }
    if !keys_left.is_empty() {
        let text = load::report::keys_left_text(&keys_left.join(", "));
        return Err(Failure::of(KEYS_LEFT, text));
    }
    if !triggers_left.is_empty() {
        let text = load::report::triggers_left_text(&triggers_left.join(", "));
        return Err(Failure::of(KEYS_LEFT, text));
    }
    jobs::note_keys_carried(state_dir, job)?;
    tell!(
        "job {}: all rows are loaded, and its foreign keys and triggers are the new table's",
        job.name
    );
    Ok(0)
}
