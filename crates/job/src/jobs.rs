//! Jobs of this user: those that ended, those that run, those that were killed.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use disk::Folder;
use disk::private;
use serde::Serialize;

use crate::command::{CommandLine, CommandProof};
use crate::error::Error;
use crate::journal::{self, Entry, Event, StepEvent};
use crate::progress::Stage;

/// The state of a job.
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
    /// Its state.
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
        self.entries.first().map_or("", |first| &first.what.detail)
    }

    /// The command that it was begun by, if that could be written down.
    pub fn command(&self) -> Option<&CommandLine> {
        self.entries.first()?.what.command.as_deref()
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

    /// The identity of its rows on the server.
    pub fn proof(&self) -> Option<&CommandProof> {
        self.entries.first()?.what.proof()
    }

    /// The tables of its command that were to be loaded behind it, each by a job of its own.
    pub fn apart(&self) -> Vec<String> {
        let mut entries = self.entries.iter();
        let noted = entries.find(|entry| entry.what.step == journal::APART);
        noted.and_then(|entry| serde_json::from_str(&entry.what.detail).ok()).unwrap_or_default()
    }

    /// The table at which its command failed, if its own rows are in: the same command loads the missing tables.
    pub fn missing(&self) -> Option<&str> {
        let last = &self.entries.last()?.what;
        (last.step == journal::MISSING).then_some(last.detail.as_str())
    }

    /// True if its command has other tables, which the same command loads while its own rows are in.
    pub fn is_part(&self) -> bool {
        self.is_unfinished() && (self.missing().is_some() || !self.apart().is_empty())
    }

    /// True if it began after another one whose rows are not in, and has loaded the same files into the same table.
    /// Pipes of one name are different files.
    pub fn has_loaded(&self, other: &Job) -> bool {
        let files = |job: &Job| {
            let CommandLine { inputs, proof, .. } = job.command()?;
            let are_files = !inputs.is_empty() && inputs.iter().all(|input| input.state.is_some());
            are_files.then_some((job.target().to_owned(), inputs.clone(), proof.clone()?.server))
        };
        let is_same = || files(other).is_some_and(|same| files(self) == Some(same));
        self.number() > other.number() && self.is_in() && !other.is_in() && is_same()
    }

    /// The number of its name, which is greater than that of each job before it.
    fn number(&self) -> Option<u64> {
        self.name.split('-').next()?.parse().ok()
    }

    /// True if it was about to publish, or has.
    pub fn may_be_in(&self) -> bool {
        self.is_in() || self.entries.iter().any(|entry| entry.what.step == Stage::Publish.name())
    }

    /// True if all its rows are in, as far as its journal says.
    pub fn is_in(&self) -> bool {
        self.in_since_ms().is_some()
    }

    /// Since when they are, in milliseconds since 1970.
    pub fn in_since_ms(&self) -> Option<u64> {
        let steps = [journal::JOB, Stage::Publish.name()];
        let ended =
            |entry: &&Entry| entry.what.event == Event::End && steps.contains(&&*entry.what.step);
        self.entries.iter().find(ended).map(|entry| entry.unix_ms)
    }

    /// True if all its rows are in, and its user may not know.
    pub fn is_unfinished(&self) -> bool {
        let is_closed = self.entries.last().is_none_or(|last| last.what.event == Event::Closed);
        self.proof().is_some() && self.is_in() && !is_closed && self.state != State::Running
    }

    /// The error that it failed with.
    pub fn failure(&self) -> Option<&str> {
        let last = &self.entries.last()?.what;
        (last.event == Event::Failed).then_some(last.detail.as_str())
    }

    /// True if all of its rows are in, and foreign keys of other tables refer to an old table still, or triggers
    /// are its own.
    pub fn has_keys_left(&self) -> bool {
        let about = self.entries.iter().rev().take(2);
        self.state == State::Failed
            && about.into_iter().any(|entry| entry.what.step == journal::KEYS)
    }

    /// True if it has added rows to a table whose ledger lists them, and has ended before the others were in.
    pub fn has_added(&self) -> bool {
        let added = self.entries.iter().rfind(|entry| entry.what.step == journal::ADDED);
        !matches!(self.state, State::Running | State::Done)
            && !self.is_in()
            && added.is_some_and(|added| added.what.event == Event::End)
    }

    /// The step that it was in when it ended early.
    pub fn last_step(&self) -> Option<&str> {
        let beside = [journal::JOB, journal::ADDED];
        let last = self.entries.iter().rfind(|entry| !beside.contains(&&*entry.what.step));
        last.map(|entry| entry.what.step.as_str())
    }
}

/// All jobs, the newest first, and an error for each journal that is damaged or of another build.
///
/// Errors: a folder of journals that is not this user's alone, or cannot be read.
pub fn list(state_dir: &Path) -> Result<(Vec<Job>, Vec<Error>), Error> {
    let (mut jobs, mut unreadable) = (Vec::new(), Vec::new());
    for job in read(state_dir, |_| true, |_| true)? {
        job.map_or_else(|error| unreadable.push(error), |job| jobs.push(job));
    }
    Ok((jobs, unreadable))
}

/// The job of a name, or of the only name that begins so.
///
/// Errors: there is none, or there are several; its journal is damaged or of another build; as of [`list`].
pub fn find(state_dir: &Path, name: &str) -> Result<Job, Error> {
    let is_named = |file: &OsStr| file.as_bytes().starts_with(name.as_bytes());
    let jobs = read(state_dir, is_named, |_| true)?;
    let mut jobs = jobs.into_iter().collect::<Result<Vec<Job>, Error>>()?;
    if let Some(at) = jobs.iter().position(|job| job.name == name) {
        return Ok(jobs.swap_remove(at));
    }
    match jobs.len() {
        1 => Ok(jobs.swap_remove(0)),
        0 => Err(Error::Usage(format!(
            "there is no job {name} in {}; `inrush jobs` lists all jobs",
            state_dir.display()
        ))),
        count => Err(Error::Usage(format!(
            "{count} jobs have names that begin with {name}; `inrush jobs` lists all jobs"
        ))),
    }
}

/// A job that began after another one whose rows are not in, and has loaded the same files into the same table.
///
/// Errors: as of [`list`].
pub fn loaded_later(state_dir: &Path, job: &Job) -> Result<Option<Job>, Error> {
    let (jobs, _) = list(state_dir)?;
    Ok(jobs.into_iter().find(|other| other.has_loaded(job)))
}

/// Removes the journal of a job. Refused rows that are kept beside the journal stay.
///
/// Errors: a job that is running; a folder that cannot be written to.
pub fn remove(state_dir: &Path, job: &Job) -> Result<(), Error> {
    if job.state == State::Running {
        return Err(Error::Usage(format!("job {} is running, so its journal was kept", job.name)));
    }
    in_folder(state_dir, |folder| folder.remove(&file_name(job), "journal").map(drop))
}

/// Jobs whose refused rows are kept beside the journals, each once; the journal of a job may be gone.
///
/// Errors: a folder that cannot be read.
pub fn with_rejects(state_dir: &Path) -> Result<Vec<String>, Error> {
    let files = in_folder(state_dir, journal::rejects_files)?;
    let mut jobs: Vec<String> = files.into_iter().map(|(job, _)| job).collect();
    jobs.sort_unstable();
    jobs.dedup();
    Ok(jobs)
}

/// True if a job has a journal, also one that cannot be read.
///
/// Errors: a folder that cannot be read.
pub fn has_journal(state_dir: &Path, job: &str) -> Result<bool, Error> {
    let name = OsString::from(format!("{job}.jsonl"));
    in_folder(state_dir, |folder| Ok(folder.names()?.contains(&name)))
}

/// Removes the refused rows of a job that are kept beside its journal.
///
/// Errors: a folder that cannot be written to.
pub fn remove_rejects(state_dir: &Path, job: &str) -> Result<(), Error> {
    in_folder(state_dir, |folder| {
        let files = journal::rejects_files(folder)?;
        let mut of_job = files.iter().filter(|(of, _)| of == job);
        of_job.try_for_each(|(_, name)| folder.remove(name, "rejects").map(drop))
    })
}

/// Notes that the command of a killed job is run again, by another job: nothing waits for this one.
///
/// Errors: a journal that cannot be written to.
pub fn note_resumed(state_dir: &Path, job: &Job) -> Result<(), Error> {
    let detail = format!("{}: killed; inrush resume ran its command again", job.target());
    add(state_dir, job, Event::Failed, &detail)
}

/// Notes that all rows of a killed job are in, before what proves so on the server goes.
///
/// Errors: a journal that cannot be written to.
pub fn note_in(state_dir: &Path, job: &Job) -> Result<(), Error> {
    add(state_dir, job, Event::End, job.target())
}

/// Notes that the user knows that all rows of a killed job are in.
///
/// Errors: a journal that cannot be written to.
pub fn close(state_dir: &Path, job: &Job) -> Result<(), Error> {
    add(state_dir, job, Event::Closed, job.target())
}

/// Notes that the foreign keys which a job had left at an old table refer to the new one: its user knows.
///
/// Errors: a journal that cannot be written to.
pub fn note_keys_carried(state_dir: &Path, job: &Job) -> Result<(), Error> {
    note_in(state_dir, job)?;
    close(state_dir, job)
}

/// Jobs whose first lines have this text and which may have published, the newest first: those of commands
/// that have a proof.
///
/// Errors: a journal with this text that is damaged or of another build; as of [`list`].
pub fn published(state_dir: &Path, text: &str) -> Result<Vec<Job>, Error> {
    published_of(state_dir, |journal| has_text(journal, text))
}

/// The same without jobs whose users know that their rows are in, but the newest of the command with this id.
///
/// Errors: as of [`published`].
pub fn published_unclosed(state_dir: &Path, text: &str, id: &str) -> Result<Vec<Job>, Error> {
    // No text in the journal has quotes that are not escaped.
    let (id, mut is_newest) = (format!("\"id\":\"{id}\""), true);
    published_of(state_dir, |journal| {
        let is_closed = journal::is_closed(journal);
        let is_own = is_closed && is_newest && has_text(journal, &id);
        let is_needed = !is_closed || is_own;
        is_newest &= !is_own;
        is_needed && has_text(journal, text)
    })
}

fn published_of(
    state_dir: &Path,
    is_selected: impl FnMut(&[u8]) -> bool,
) -> Result<Vec<Job>, Error> {
    let jobs = read(state_dir, |_| true, is_selected)?;
    let mut jobs = jobs.into_iter().collect::<Result<Vec<Job>, Error>>()?;
    jobs.retain(|job| job.proof().is_some() && job.may_be_in());
    Ok(jobs)
}

/// Jobs of a command that have added some of its rows, while no later job of it has added all: the newest first.
///
/// Errors: as of [`published`].
pub fn added(state_dir: &Path, proof: &CommandProof) -> Result<Vec<Job>, Error> {
    let jobs = read(state_dir, |_| true, |journal| has_text(journal, &proof.id))?;
    let mut jobs = jobs.into_iter().collect::<Result<Vec<Job>, Error>>()?;
    jobs.retain(|job| job.proof() == Some(proof));
    let is_in = jobs.iter().position(Job::is_in).unwrap_or(jobs.len());
    jobs.truncate(is_in);
    jobs.retain(Job::has_added);
    Ok(jobs)
}

/// True if the first line of a journal has a text, or, where that line is damaged, any line.
fn has_text(journal: &[u8], text: &str) -> bool {
    match disk::journal::first_text::<StepEvent>(journal) {
        Some(first) => first.contains(text),
        None => journal.windows(text.len()).any(|bytes| bytes == text.as_bytes()),
    }
}

/// Jobs whose journals are selected, by name and by text, the newest first; an error for each of these journals
/// that cannot be read.
fn read(
    state_dir: &Path,
    is_named: impl Fn(&OsStr) -> bool,
    mut is_selected: impl FnMut(&[u8]) -> bool,
) -> Result<Vec<Result<Job, Error>>, Error> {
    let Some(folder) = folder(state_dir)? else { return Ok(Vec::new()) };
    let files = folder.names().map_err(state_error(state_dir))?.into_iter();
    let begun = |file: OsString| Some((journal::begun_ms(&file)?, file));
    let mut files: Vec<(u64, OsString)> =
        files.filter(|file| is_named(file)).filter_map(begun).collect();
    files.sort_by(|a, b| b.cmp(a));
    let mut jobs = Vec::new();
    for (_, file) in files {
        let path = folder.path().join(&file);
        let job = match private::read(&folder, &file, "journal") {
            Ok(journal) if !is_selected(&journal) => continue,
            Ok(journal) => disk::journal::parse(&journal)
                .and_then(|(entries, _)| Job::of(&folder, &file, entries)),
            Err(error) => Err(error),
        };
        // Another load has just removed it, since it is old.
        if job.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
            continue;
        }
        jobs.extend(job.map_err(Error::io("reading the journal", &path)).transpose());
    }
    Ok(jobs)
}

/// Adds a line to the journal of a job whose process is gone.
fn add(state_dir: &Path, job: &Job, event: Event, detail: &str) -> Result<(), Error> {
    in_folder(state_dir, |folder| journal::add(folder, &file_name(job), event, detail))
}

fn file_name(job: &Job) -> OsString {
    OsString::from(format!("{}.jsonl", job.name))
}

/// Does something in the folder of journals, if there is one.
fn in_folder<T: Default>(
    state_dir: &Path,
    work: impl FnOnce(&Folder) -> io::Result<T>,
) -> Result<T, Error> {
    let Some(folder) = folder(state_dir)? else { return Ok(T::default()) };
    work(&folder).map_err(state_error(state_dir))
}

/// The folder of journals, if there is one.
fn folder(state_dir: &Path) -> Result<Option<Folder>, Error> {
    let path = state_dir.join(journal::FOLDER);
    match private::open(state_dir).and_then(|_| private::open(&path)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        opened => opened.map(Some).map_err(state_error(state_dir)),
    }
}

fn state_error(state_dir: &Path) -> impl FnOnce(io::Error) -> Error {
    let path = state_dir.to_owned();
    move |source| Error::State { path, source }
}

impl Job {
    /// A job by the lines of its journal; None of one without a whole line.
    fn of(folder: &Folder, file: &OsStr, entries: Vec<Entry>) -> io::Result<Option<Job>> {
        let name = file.to_str().and_then(|name| name.strip_suffix(".jsonl"));
        let (Some(name), Some(last)) = (name, entries.last()) else { return Ok(None) };
        let state = match last.what.event {
            Event::Failed if last.what.step == journal::JOB => State::Failed,
            _ if journal::is_over(&entries) || last.what.step == journal::MISSING => State::Done,
            _ if disk::journal::is_being_written(folder, file)? => State::Running,
            _ => State::Killed,
        };
        let path = folder.path().join(file);
        Ok(Some(Job { name: name.to_owned(), path, state, entries }))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use server::Interrupt;

    use super::*;
    use crate::command::{Input, InputState};
    use crate::journal::Journal;
    use crate::steps::Steps;

    #[test]
    fn jobs_are_running_done_failed_or_killed() {
        let state = tempfile::tempdir().unwrap();
        let dir = state.path();
        assert!(list(dir).unwrap().0.is_empty() && list(&dir.join("none")).unwrap().0.is_empty());
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
        let mut jobs = list(dir).unwrap().0;
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
        assert!(list(dir).unwrap().0.iter().all(|job| job.state != State::Running));
    }

    #[test]
    fn a_job_has_added_rows_until_its_end_says_that_they_are_gone() {
        let state = tempfile::tempdir().unwrap();
        let dir = state.path();
        let add = |error: Option<Error>| {
            let mut steps =
                Steps::begin(dir, "d.t", None, "server", &(), Interrupt::default()).unwrap();
            let name = steps.job();
            steps.added_note().write().unwrap();
            error.into_iter().for_each(|error| steps.end(&Err::<(), Error>(error)));
            drop(steps);
            find(dir, &name).unwrap()
        };
        let cause = || Error::Internal("five".to_owned());
        let target = || Box::new(["d.t", "d._inrush_ledger_t"].map(str::to_owned));
        let appended =
            Error::Appended { error: Box::new(cause()), target: target(), rows: Some(7) };
        let killed = add(None);
        assert!(killed.state == State::Killed && killed.has_added());
        note_resumed(dir, &killed).unwrap();
        let resumed = find(dir, &killed.name).unwrap();
        assert!(resumed.state == State::Failed && resumed.has_added());
        let failed = add(Some(appended));
        assert!(failed.state == State::Failed && failed.has_added());
        let cleaned = add(Some(cause()));
        assert!(cleaned.state == State::Failed && !cleaned.has_added());
    }

    #[test]
    fn a_damaged_journal_is_listed_as_an_error_beside_the_jobs() {
        let state = tempfile::tempdir().unwrap();
        let dir = state.path();
        let mut journals = ["db.a", "db.b"].map(|target| {
            let mut journal = Journal::create(dir).unwrap();
            journal.begin(target, None).unwrap();
            journal
        });
        let damaged = journals[0].path().to_owned();
        // Behind a synced line the damaged one was on disk.
        journals[0].write("publish", Event::Begin, "db.a").unwrap();
        journals[0].write("job", Event::Failed, "db.a: no").unwrap();
        let text = std::fs::read_to_string(&damaged).unwrap();
        std::fs::write(&damaged, text.replacen("db.a", "db.x", 1)).unwrap();
        let (jobs, unreadable) = list(dir).unwrap();
        assert_eq!(jobs.iter().map(Job::target).collect::<Vec<_>>(), ["db.b"]);
        assert_eq!(unreadable.len(), 1);
        let error = unreadable[0].to_string();
        assert!(
            error.contains("damaged in line 2") && error.contains(journals[0].job()),
            "{error}"
        );
        assert!(has_journal(dir, journals[0].job()).unwrap());
        assert_eq!(find(dir, journals[1].job()).unwrap().target(), "db.b");
        assert_eq!(find(dir, journals[0].job()).unwrap_err().to_string(), error);
    }

    #[test]
    fn a_job_has_loaded_the_files_of_an_earlier_one_and_no_other_pipe() {
        let dir = Path::new("/");
        let job = |number: u64, event: Event, inputs: &[Input]| {
            let command = CommandLine::of(vec!["load".to_owned()], dir.to_owned(), inputs.to_vec());
            let command = Some(Box::new(command.proven("server", "d.t", "job")));
            let entry = |event, command| Entry {
                // The clock was set back.
                unix_ms: 9 - number,
                pid: 1,
                what: StepEvent {
                    step: journal::JOB.to_owned(),
                    event,
                    detail: "d.t".to_owned(),
                    command,
                },
            };
            let entries = vec![entry(Event::Begin, command), entry(event, None)];
            let name = format!("{number}-1-0");
            Job { name, path: dir.to_owned(), state: State::Done, entries }
        };
        let file = |bytes| Input {
            path: dir.join("a.csv"),
            state: Some(InputState { bytes, modified_ns: 7, head: 9 }),
        };
        let pipe = Input { path: PathBuf::from("-"), state: None };
        let has_loaded = |before: &[Input], after: &[Input]| {
            job(2, Event::End, after).has_loaded(&job(1, Event::Failed, before))
        };
        assert!(has_loaded(&[file(5)], &[file(5)]));
        assert!(!has_loaded(&[file(5)], &[file(6)]));
        assert!(!job(1, Event::End, &[file(5)]).has_loaded(&job(2, Event::Failed, &[file(5)])));
        for inputs in [vec![], vec![pipe.clone()], vec![file(5), pipe]] {
            assert!(!has_loaded(&inputs, &inputs), "{inputs:?}");
        }
    }

    #[test]
    fn of_closed_jobs_the_newest_of_a_command_is_read() {
        let state = tempfile::tempdir().unwrap();
        let dir = state.path();
        let command = |word: &str| {
            let command = CommandLine::of(vec![word.to_owned()], dir.to_owned(), Vec::new());
            command.proven("server", "d.t", "job")
        };
        let (own, other) = (command("load"), command("other"));
        let events = [("publish", Event::Begin), ("job", Event::End), ("job", Event::Closed)];
        let mut made = 0;
        let mut job = |command: &CommandLine, is_closed: bool| {
            let mut journal = Journal::create(dir).unwrap();
            journal.begin("d.t", Some(command)).unwrap();
            for (step, event) in &events[..if is_closed { 3 } else { 2 }] {
                journal.write(step, *event, "d.t").unwrap();
            }
            made += 1;
            let name = format!("{}-1-0", 1_000 + made);
            std::fs::rename(journal.path(), dir.join(format!("jobs/{name}.jsonl"))).unwrap();
            name
        };
        job(&own, true);
        let killed = job(&other, false);
        let older = job(&own, false);
        let newest = job(&own, true);
        job(&other, true);
        let names = |jobs: Vec<Job>| jobs.into_iter().map(|job| job.name).collect::<Vec<_>>();
        let id = &own.proof.as_ref().unwrap().id;
        let unclosed = names(published_unclosed(dir, "\"d.t\"", id).unwrap());
        assert_eq!(unclosed, [newest, older, killed]);
        assert_eq!(names(published(dir, "\"d.t\"").unwrap()).len(), 5);
        assert!(published_unclosed(dir, "\"d.u\"", id).unwrap().is_empty());
    }

    #[test]
    fn a_job_whose_rows_are_in_is_unfinished_until_its_user_knows() {
        let state = tempfile::tempdir().unwrap();
        let dir = state.path();
        let command = CommandLine::of(vec!["load".to_owned()], dir.to_owned(), Vec::new());
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
        assert!(!job().is_part());
        in_folder(dir, |folder| {
            let mut writer = disk::journal::Writer::open(folder, &file_name(&job()))?;
            writer.read::<StepEvent>()?;
            let (step, detail) = (journal::MISSING.to_owned(), "d.u".to_owned());
            writer.append(&StepEvent { step, event: Event::Begin, detail, command: None })
        })
        .unwrap();
        assert_eq!(
            (job().state, job().missing(), job().is_part()),
            (State::Done, Some("d.u"), true)
        );
        close(dir, &job()).unwrap();
        assert_eq!((job().state, job().is_unfinished()), (State::Done, false));
        assert!(published(dir, "another").unwrap().is_empty());
    }
}
