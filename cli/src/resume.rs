//! `inrush resume`: the command of a job that did not end well, once more.

use std::os::unix::process::CommandExt;
use std::process::Command;

use load::jobs::{self, State};

use crate::args::ResumeArgs;
use crate::failure::Failure;
use crate::jobs::state_dir;

/// Becomes the command that the job was begun by, in its folder, if it reads the same files.
///
/// What the killed load left tells that command how to go on, as it tells anybody who types it again.
pub(crate) fn run(args: &ResumeArgs) -> Result<u8, Failure> {
    let state_dir = state_dir(args.state_dir.as_deref())?;
    let job = jobs::find(&state_dir, &args.job)?;
    let refused = |why: String| Err(Failure::usage(format!("job {}: {why}", job.name)));
    match job.state {
        State::Done => return refused("it is done; there is nothing to go on with".to_owned()),
        State::Running => {
            let pid = job.entries.first().map_or(0, |first| first.pid);
            return refused(format!("it is running, as process {pid}"));
        }
        State::Failed | State::Killed => {}
    }
    let is_readable = job.command().is_some_and(|command| command.changed().is_none());
    if job.is_unfinished() && !is_readable {
        tell!(
            "job {}: all rows are in {}; the next load of it removes what the job has left",
            job.name,
            job.target()
        );
        jobs::close(&state_dir, &job)?;
        return Ok(0);
    }
    let Some(command) = job.command() else {
        return refused("its command could not be noted; type it again".to_owned());
    };
    if let Some(changed) = command.changed() {
        let again = "that load would be another one: to begin it anew, type its command";
        return refused(format!("{changed}; {again}: {command}"));
    }
    if job.state == State::Killed && !job.is_in() {
        jobs::note_resumed(&state_dir, &job)?;
    }
    tell!("{command}");
    let program = std::env::current_exe().map_err(Failure::failed)?;
    let error = Command::new(program).args(&command.arguments).current_dir(&command.folder).exec();
    Err(Failure::failed(format!("running it in {}: {error}", command.folder.display())))
}
