//! Jobs of this user: those that ended, those that run, those that were killed.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

use disk::Folder;
use disk::private;
use serde::Serialize;

use crate::command::{CommandLine, CommandProof};
use crate::error::Error;
use crate::journal::{self, Entry, Event};
use crate::progress::Stage;

/// What became of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// It is at work.
    Running,
    /// It came to its end.
    Done,
    /// It ended by an error, and said so.
    Failed,
    /// Its process ended without a word.
    Killed,
}

/// A job, by its journal.
#[derive(Clone, Debug)]
pub struct Job {
    /// Its name.
    pub name: String,
    /// Its journal.
    pub path: PathBuf,
    /// What became of it.
    pub state: State,
    /// The lines of its journal.
    pub entries: Vec<Entry>,
}

impl State {
    /// For people.
    pub fn name(self) -> &'static str {
        match self {
            State::Running => "running",
            State::Done => "done",
            State::Failed => "failed",
            State::Killed => "killed",
        }
    }
}

impl Job {
    /// The table or tables that it is for.
    pub fn target(&self) -> &str {
        self.entries.first().map_or("", |first| &first.detail)
    }

    /// The command that it was begun by, if that could be written down.
    pub fn command(&self) -> Option<&CommandLine> {
        self.entries.first()?.command.as_deref()
    }

    /// When it began, in milliseconds since 1970.
    pub fn begun_ms(&self) -> u64 {
        self.entries.first().map_or(0, |first| first.unix_ms)
    }

    /// Seconds from its first line to its last.
    pub fn seconds(&self) -> f64 {
        let last_ms = self.entries.last().map_or(0, |last| last.unix_ms);
        last_ms.saturating_sub(self.begun_ms()) as f64 / 1000.0
    }

    /// What its rows are known by on the server.
    pub fn proof(&self) -> Option<&CommandProof> {
        self.entries.first()?.proof()
    }

    /// True if it was about to publish, or has.
    pub fn may_be_in(&self) -> bool {
        self.is_in() || self.entries.iter().any(|entry| entry.step == Stage::Publish.name())
    }

    /// True if all its rows are in, as far as its journal says.
    pub fn is_in(&self) -> bool {
        self.in_since_ms().is_some()
    }

    /// Since when they are, in milliseconds since 1970.
    pub fn in_since_ms(&self) -> Option<u64> {
        let steps = [journal::JOB, Stage::Publish.name()];
        let ended = |entry: &&Entry| entry.event == Event::End && steps.contains(&&*entry.step);
        self.entries.iter().find(ended).map(|entry| entry.unix_ms)
    }

    /// True if all its rows are in, and its user may not know.
    pub fn is_unfinished(&self) -> bool {
        let is_closed = self.entries.last().is_none_or(|last| last.event == Event::Closed);
        self.proof().is_some() && self.is_in() && !is_closed && self.state != State::Running
    }

    /// What it failed by.
    pub fn failure(&self) -> Option<&str> {
        let last = self.entries.last()?;
        (last.event == Event::Failed).then_some(last.detail.as_str())
    }

    /// True if all of its rows are in, and foreign keys of other tables refer to an old table still.
    pub fn has_keys_left(&self) -> bool {
        let about = self.entries.iter().rev().take(2);
        self.state == State::Failed && about.into_iter().any(|entry| entry.step == journal::KEYS)
    }

    /// The step that it was in when it ended early.
    pub fn last_step(&self) -> Option<&str> {
        let last = self.entries.iter().rfind(|entry| entry.step != journal::JOB);
        last.map(|entry| entry.step.as_str())
    }
}

/// All jobs, the newest first.
///
/// Errors: a folder of journals that is not this user's alone, or cannot be read.
pub fn list(state_dir: &Path) -> Result<Vec<Job>, Error> {
    let failed = |source| Error::State { path: state_dir.to_owned(), source };
    let Some(folder) = folder(state_dir).map_err(failed)? else { return Ok(Vec::new()) };
    let names = folder.names().map_err(failed)?;
    let mut jobs: Vec<(u64, Job)> = names
        .iter()
        .filter_map(|name| Some((journal::begun_ms(name)?, job(&folder, name)?)))
        .collect();
    jobs.sort_by(|(a, of_a), (b, of_b)| (b, &of_b.name).cmp(&(a, &of_a.name)));
    Ok(jobs.into_iter().map(|(_, job)| job).collect())
}

/// The job of a name, or of the only name that begins so.
///
/// Errors: there is none, or there are several.
pub fn find(state_dir: &Path, name: &str) -> Result<Job, Error> {
    let mut jobs = list(state_dir)?;
    if let Some(at) = jobs.iter().position(|job| job.name == name) {
        return Ok(jobs.swap_remove(at));
    }
    jobs.retain(|job| job.name.starts_with(name));
    match jobs.len() {
        1 => Ok(jobs.swap_remove(0)),
        0 => Err(Error::Usage(format!(
            "there is no job {name} in {}; `inrush jobs` lists them",
            state_dir.display()
        ))),
        count => Err(Error::Usage(format!(
            "{count} jobs have names that begin with {name}; `inrush jobs` lists them"
        ))),
    }
}

/// Removes the journal of a job. Refused rows that are kept beside the journal stay.
///
/// Errors: a job that is running; a folder that cannot be written to.
pub fn remove(state_dir: &Path, job: &Job) -> Result<(), Error> {
    if job.state == State::Running {
        return Err(Error::Usage(format!("job {} is running; its journal stays", job.name)));
    }
    let failed = |source| Error::State { path: state_dir.to_owned(), source };
    let Some(folder) = folder(state_dir).map_err(failed)? else { return Ok(()) };
    folder.remove(&file_name(job), "journal").map(drop).map_err(failed)
}

/// The file of a job's journal.
pub fn path(state_dir: &Path, job: &Job) -> PathBuf {
    state_dir.join(journal::FOLDER).join(file_name(job))
}

/// Jobs whose refused rows are kept beside the journals, each once; the journal of a job may be gone.
///
/// Errors: a folder that cannot be read.
pub fn with_rejects(state_dir: &Path) -> Result<Vec<String>, Error> {
    let failed = |source| Error::State { path: state_dir.to_owned(), source };
    let Some(folder) = folder(state_dir).map_err(failed)? else { return Ok(Vec::new()) };
    let files = journal::rejects_files(&folder).map_err(failed)?;
    let mut jobs: Vec<String> = files.into_iter().map(|(job, _)| job).collect();
    jobs.sort_unstable();
    jobs.dedup();
    Ok(jobs)
}

/// Removes the refused rows of a job that are kept beside its journal.
///
/// Errors: a folder that cannot be written to.
pub fn remove_rejects(state_dir: &Path, job: &str) -> Result<(), Error> {
    let failed = |source| Error::State { path: state_dir.to_owned(), source };
    let Some(folder) = folder(state_dir).map_err(failed)? else { return Ok(()) };
    let files = journal::rejects_files(&folder).map_err(failed)?;
    let mut of_job = files.iter().filter(|(of, _)| of == job);
    of_job.try_for_each(|(_, name)| folder.remove(name, "rejects").map(drop)).map_err(failed)
}

/// Notes that the command of a killed job is run again, by another job: nothing waits for this one.
///
/// Errors: a journal that cannot be written to.
pub fn note_resumed(state_dir: &Path, job: &Job) -> Result<(), Error> {
    let failed = |source| Error::State { path: state_dir.to_owned(), source };
    let Some(folder) = folder(state_dir).map_err(failed)? else { return Ok(()) };
    let detail = format!("{}: killed; its command was run again by inrush resume", job.target());
    journal::add(&folder, &file_name(job), Event::Failed, &detail).map_err(failed)
}

/// Notes that all rows of a killed job are in, before what proves so on the server goes.
///
/// Errors: a journal that cannot be written to.
pub fn note_in(state_dir: &Path, job: &Job) -> Result<(), Error> {
    add(state_dir, job, Event::End)
}

/// Notes that the user knows that all rows of a killed job are in.
///
/// Errors: a journal that cannot be written to.
pub fn close(state_dir: &Path, job: &Job) -> Result<(), Error> {
    add(state_dir, job, Event::Closed)
}

fn add(state_dir: &Path, job: &Job, event: Event) -> Result<(), Error> {
    let failed = |source| Error::State { path: state_dir.to_owned(), source };
    let Some(folder) = folder(state_dir).map_err(failed)? else { return Ok(()) };
    journal::add(&folder, &file_name(job), event, job.target()).map_err(failed)
}

/// Jobs whose journals have this text and which may have published, the newest first: those of commands
/// that have a proof.
///
/// Errors: as of [`list`].
pub fn published(state_dir: &Path, text: &str) -> Result<Vec<Job>, Error> {
    let failed = |source| Error::State { path: state_dir.to_owned(), source };
    let Some(folder) = folder(state_dir).map_err(failed)? else { return Ok(Vec::new()) };
    let mut jobs: Vec<(u64, Job)> = Vec::new();
    for name in folder.names().map_err(failed)? {
        let Some(begun_ms) = journal::begun_ms(&name) else { continue };
        let read = match private::read(&folder, &name, "journal") {
            // Another load has just removed it, since it is old.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            read => read.map_err(failed)?,
        };
        if !read.windows(text.len()).any(|bytes| bytes == text.as_bytes()) {
            continue;
        }
        let job = Job::of(&folder, &name, journal::parse(&read));
        let job = job.filter(|job| job.proof().is_some() && job.may_be_in());
        jobs.extend(job.map(|job| (begun_ms, job.with_state(&folder, &name))));
    }
    jobs.sort_by(|(a, of_a), (b, of_b)| (b, &of_b.name).cmp(&(a, &of_a.name)));
    Ok(jobs.into_iter().map(|(_, job)| job).collect())
}

/// Notes that the foreign keys which a job had left at an old table refer to the new one: its user knows.
///
/// Errors: a journal that cannot be written to.
pub fn note_keys_carried(state_dir: &Path, job: &Job) -> Result<(), Error> {
    add(state_dir, job, Event::End)?;
    close(state_dir, job)
}

fn file_name(job: &Job) -> OsString {
    OsString::from(format!("{}.jsonl", job.name))
}

/// The folder of journals, if there is one.
fn folder(state_dir: &Path) -> io::Result<Option<Folder>> {
    let path = state_dir.join(journal::FOLDER);
    match private::open(state_dir).and_then(|_| private::open(&path)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        opened => opened.map(Some),
    }
}

/// None of what is no journal, or one without a whole line.
fn job(folder: &Folder, name: &OsStr) -> Option<Job> {
    let text = private::read(folder, name, "journal").ok()?;
    Some(Job::of(folder, name, journal::parse(&text))?.with_state(folder, name))
}

impl Job {
    /// A job by the lines of its journal, which say nothing of its process yet.
    fn of(folder: &Folder, name: &OsStr, entries: Vec<Entry>) -> Option<Job> {
        let last = entries.last()?;
        let state = match last.event {
            Event::Failed if last.step == journal::JOB => State::Failed,
            _ if journal::is_over(&entries) => State::Done,
            _ => State::Killed,
        };
        let path = folder.path().join(name);
        let name = name.to_str()?.strip_suffix(".jsonl")?.to_owned();
        Some(Job { name, path, state, entries })
    }

    /// The same, where its process may be at work.
    fn with_state(self, folder: &Folder, name: &OsStr) -> Job {
        let runs = self.state == State::Killed && journal::is_being_written(folder, name);
        let state = if runs { State::Running } else { self.state };
        Job { state, ..self }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::journal::Journal;

    #[test]
    fn jobs_are_running_done_failed_or_killed() {
        let state = tempfile::tempdir().unwrap();
        let dir = state.path();
        assert!(list(dir).unwrap().is_empty() && list(&dir.join("none")).unwrap().is_empty());
        let begin = |target: &str| {
            let mut journal = Journal::create(dir).unwrap();
            journal.begin(target, None).unwrap();
            journal.write("rows", Event::Begin, target).unwrap();
            journal
        };
        let running = begin("db.running");
        begin("db.done").write("job", Event::End, "db.done").unwrap();
        begin("db.failed").write("job", Event::Failed, "db.failed: no").unwrap();
        let killed = begin("db.killed").job().to_owned();
        std::fs::write(dir.join("jobs/notes.txt"), "mine").unwrap();
        let mut jobs = list(dir).unwrap();
        jobs.sort_by_key(|job| job.target().to_owned());
        let states: Vec<_> = jobs.iter().map(|job| job.state).collect();
        assert_eq!(states, [State::Done, State::Failed, State::Killed, State::Running]);
        assert_eq!(jobs[1].failure(), Some("db.failed: no"));
        assert_eq!((jobs[2].name.as_str(), jobs[2].last_step()), (killed.as_str(), Some("rows")));
        let torn = std::fs::read(&jobs[2].path).unwrap();
        std::fs::write(&jobs[2].path, &torn[..torn.len() - 3]).unwrap();
        note_resumed(dir, &jobs[2]).unwrap();
        let resumed = find(dir, &killed).unwrap();
        assert_eq!((resumed.state, resumed.entries.len()), (State::Failed, 2));
        assert!(remove(dir, &jobs[3]).unwrap_err().to_string().contains("is running"));
        std::fs::write(dir.join(format!("jobs/{killed}.rejects")), "x").unwrap();
        remove(dir, &find(dir, &killed).unwrap()).unwrap();
        assert_eq!(with_rejects(dir).unwrap(), [&*killed]);
        remove_rejects(dir, &killed).unwrap();
        assert!(with_rejects(dir).unwrap().is_empty());
        assert!(find(dir, &killed).unwrap_err().to_string().contains("there is no job"));
        assert!(find(dir, "").unwrap_err().to_string().contains("3 jobs"));
        assert_eq!(std::fs::read_dir(dir.join("jobs")).unwrap().count(), 4);
        drop(running);
        assert!(list(dir).unwrap().iter().all(|job| job.state != State::Running));
    }

    #[test]
    fn a_job_whose_rows_are_in_is_unfinished_until_its_user_knows() {
        let state = tempfile::tempdir().unwrap();
        let dir = state.path();
        let command = CommandLine {
            arguments: vec!["load".to_owned()],
            folder: dir.to_owned(),
            inputs: Vec::new(),
            proof: None,
        };
        let command = command.proven("server", "d.t", "job");
        let id = command.proof.clone().unwrap().id;
        let mut journal = Journal::create(dir).unwrap();
        let name = journal.job().to_owned();
        let job = || find(dir, &name).unwrap();
        journal.begin("d.t", Some(&command)).unwrap();
        assert!(published(dir, &id).unwrap().is_empty());
        journal.write("publish", Event::Begin, "d.t").unwrap();
        assert!(published(dir, &id).unwrap()[0].may_be_in() && !job().is_in());
        journal.write("publish", Event::End, "d.t").unwrap();
        journal.write("job", Event::End, "d.t").unwrap();
        assert_eq!(
            (job().state, job().is_in(), job().is_unfinished()),
            (State::Running, true, false)
        );
        drop(journal);
        assert_eq!((job().state, job().is_unfinished()), (State::Killed, true));
        close(dir, &job()).unwrap();
        assert_eq!((job().state, job().is_unfinished()), (State::Done, false));
        assert!(published(dir, "another").unwrap().is_empty());
    }
}
