//! The journal of a load: one line for each step before it starts and after it ends.
//!
//! Written before the step goes on: a process that is killed leaves all of the lines. They are synced when the job
//! begins, with the name of the file, before something is published, and when the job ends: a power cut takes of the
//! others what the system has not written by itself, which it does within half a minute. Were each synced, a build
//! would wait for the sync of the table that is imported beside it. The table's state is never read from here: names and
//! locks on the server decide what a killed load left (see docs/reference/journal.md); the journal says what
//! was being done.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use disk::journal::{self, Kind, Record, Writer, unix_ms};
use disk::{Folder, private};
use serde::{Deserialize, Serialize};

use crate::command::{CommandLine, CommandProof};

/// The step of the lines about the whole job.
pub(crate) const JOB: &str = "job";
/// The step of the line about foreign keys that refer to an old table still, though all rows are in.
pub(crate) const KEYS: &str = "keys";
/// The step of the line about tables that are loaded behind the others of the command.
pub(crate) const APART: &str = "apart";
/// The step of the line behind the first rows that were added to a table whose ledger lists them, and of the line
/// that these rows are not there any more.
pub(crate) const ADDED: &str = "added";
/// The step of the last line of a job whose rows are in, and whose command failed at another table behind it.
pub(crate) const MISSING: &str = "missing";
/// The step that publishes.
const PUBLISH: &str = "publish";
/// Folder of the journals, in the state folder.
pub(crate) const FOLDER: &str = "jobs";
/// Journals of ended jobs that are kept, with those of the others.
const JOURNALS_KEPT: usize = 100;

/// One line.
pub type Entry = Record<StepEvent>;

/// An event of a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepEvent {
    /// Step, named as in [`crate::progress::Stage`], or `job`.
    pub step: String,
    /// The kind of event.
    pub event: Event,
    /// Target, files, counts, the error: whatever helps a reader.
    pub detail: String,
    /// In the first line: the command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<Box<CommandLine>>,
}

/// The kind of a step's event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Event {
    /// It is about to start.
    Begin,
    /// It is done.
    End,
    /// It failed; `detail` is the error.
    Failed,
    /// The user has read the report: nothing but the end of the process follows. A job that ended and
    /// was not closed is finished by the next one.
    Closed,
}

impl Event {
    /// As the journal has it.
    pub fn name(self) -> &'static str {
        match self {
            Event::Begin => "begin",
            Event::End => "end",
            Event::Failed => "failed",
            Event::Closed => "closed",
        }
    }
}

impl Kind for StepEvent {
    const NAME: &'static str = "load";
    const REMEDY: &'static str = "finish the load with the build of Inrush that wrote the \
                                  journal, or check if the rows are in the table; then remove the \
                                  journal";
    const SYNCS_ALL: bool = false;

    fn is_synced(&self) -> bool {
        match (self.step.as_str(), self.event) {
            // A part of the first line, as a power cut may leave it, looks like the journal of another build.
            (JOB, event) => event != Event::Closed,
            // The line of the job's end follows that of the publish's end, and brings it to the disk.
            (PUBLISH, event) => event == Event::Begin,
            (step, _) => step == KEYS,
        }
    }
}

impl StepEvent {
    fn new(step: &str, event: Event, detail: &str) -> StepEvent {
        StepEvent { step: step.to_owned(), event, detail: detail.to_owned(), command: None }
    }

    /// The identity of the rows of its command, in the first line.
    pub fn proof(&self) -> Option<&CommandProof> {
        self.command.as_ref()?.proof.as_ref()
    }
}

/// A journal that is being written.
#[derive(Debug)]
pub struct Journal {
    writer: Writer,
    job: String,
    /// The folder of the file, until the file's name is on disk.
    unsynced: Option<Folder>,
    /// True if a line could not be written. Readers may miss the lines after it.
    is_broken: bool,
}

impl Journal {
    /// Begins the journal of a new job in `state_dir`.
    ///
    /// Errors: a folder that others could have put something into (see [`disk::private`]).
    pub fn create(state_dir: &Path) -> io::Result<Journal> {
        let folder = private::subfolder(&private::make(state_dir)?, FOLDER)?;
        // Readers go by the order of names, which the clock does not keep once it is set back.
        let newest = by_age(&folder).pop().map_or(0, |(begun_ms, _)| begun_ms);
        let begun_ms = unix_ms().max(newest.saturating_add(1));
        let mut attempt = 0;
        loop {
            let job = format!("{begun_ms}-{}-{attempt}", std::process::id());
            let name = OsString::from(format!("{job}.jsonl"));
            match Writer::create(&folder, &name) {
                Ok(writer) => {
                    // Tells those who list jobs that this one runs, for as long as it does. Where it
                    // cannot be locked they take it for killed.
                    let _ = writer.lock(Duration::ZERO);
                    prune(&folder, JOURNALS_KEPT);
                    let unsynced = Some(folder);
                    return Ok(Journal { writer, job, unsynced, is_broken: false });
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => attempt += 1,
                Err(error) => return Err(error),
            }
        }
    }

    /// Name of the job.
    pub fn job(&self) -> &str {
        &self.job
    }

    /// File the journal is in.
    pub fn path(&self) -> &Path {
        self.writer.path()
    }

    /// Writes the first line of a job: its target, and the command.
    pub fn begin(&mut self, target: &str, command: Option<&CommandLine>) -> io::Result<()> {
        let command = command.cloned().map(Box::new);
        self.append(&StepEvent { command, ..StepEvent::new(JOB, Event::Begin, target) })
    }

    /// Writes one line, and waits until it is on disk where it has to be.
    pub fn write(&mut self, step: &str, event: Event, detail: &str) -> io::Result<()> {
        self.append(&StepEvent::new(step, event, detail))
    }

    fn append(&mut self, what: &StepEvent) -> io::Result<()> {
        if self.is_broken && what.step == JOB && what.event != Event::Failed {
            return Err(io::Error::other("an earlier line could not be written"));
        }
        let written = self.writer.append(what).and_then(|()| self.sync_name(what));
        written.inspect_err(|_| self.is_broken = true)
    }

    /// The file's name is on disk with its first synced line.
    fn sync_name(&mut self, what: &StepEvent) -> io::Result<()> {
        if what.is_synced()
            && let Some(folder) = &self.unsynced
        {
            folder.sync("journal")?;
            self.unsynced = None;
        }
        Ok(())
    }
}

/// Where the refused rows of a job go that nobody has named a file for: beside its journal. They outlive the
/// journal, because no table has these rows: `inrush jobs clean --rejects` alone removes them.
pub fn rejects_path(journal: &Path) -> PathBuf {
    journal.with_extension("rejects")
}

/// The same of one of the job's tables.
pub fn rejects_path_of(rejects: &Path, table: &str) -> PathBuf {
    rejects.with_extension(format!("{}.rejects", file_name_of(table)))
}

/// A table's name as a part of a file's name, different for each table.
pub fn file_name_of(table: &str) -> String {
    let is_odd = |c: char| c == '/' || c == '%' || c.is_control();
    let escaped = |c: char| match is_odd(c) {
        true => format!("%{:02X}", u32::from(c)),
        false => c.to_string(),
    };
    table.chars().map(escaped).collect()
}

/// Removes the oldest journals beyond the newest `kept`, but those of jobs that did not end: they
/// say what was being done. Refused rows stay, and so does whatever cannot be read or removed.
fn prune(folder: &Folder, kept: usize) {
    let journals = by_age(folder);
    let old = journals.len().saturating_sub(kept);
    for (_, name) in &journals[..old] {
        if journal::read(folder, name).is_ok_and(|entries| is_over(&entries)) {
            // The next load tries again.
            let _ = folder.remove(name, "journal");
        }
    }
}

/// The journals in a folder, the newest last; none where it cannot be read.
fn by_age(folder: &Folder) -> Vec<(u64, OsString)> {
    let names = folder.names().unwrap_or_default().into_iter();
    let mut journals: Vec<(u64, OsString)> =
        names.filter_map(|name| Some((begun_ms(&name)?, name))).collect();
    journals.sort_unstable();
    journals
}

/// The files of refused rows in a folder of journals, and of the reasons for these: each with the name of its
/// job, whose journal may be gone.
pub(crate) fn rejects_files(folder: &Folder) -> io::Result<Vec<(String, OsString)>> {
    let job_of = |name: &OsString| {
        let text = name.to_string_lossy();
        let (job, rest) = text.split_once('.')?;
        let is_rejects = rest.ends_with("rejects") || rest.ends_with("rejects.reasons.jsonl");
        let is_job = job.split('-').all(|number| number.parse::<u64>().is_ok());
        (is_rejects && is_job).then(|| job.to_owned())
    };
    let files = folder.names()?.into_iter().filter_map(|name| Some((job_of(&name)?, name)));
    Ok(files.collect())
}

/// Writes a line about the whole job into the journal of a job whose process is gone, and waits until it is
/// on disk.
pub(crate) fn add(folder: &Folder, name: &OsStr, event: Event, detail: &str) -> io::Result<()> {
    let mut writer = Writer::open(folder, name)?;
    // Nothing that follows a torn line would be read.
    writer.read::<StepEvent>()?;
    writer.append(&StepEvent::new(JOB, event, detail))?;
    // `closed` too, which whoever closes its own job does not wait for.
    writer.sync()
}

/// The number that orders a journal among others, by its name: the time of its begin, or more where the clock was set
/// back. None of what is kept beside one, or is no journal.
pub(crate) fn begun_ms(name: &OsStr) -> Option<u64> {
    let job = name.to_str()?.strip_suffix(".jsonl")?;
    let job = Some(job).filter(|job| !job.contains('.'))?;
    job.split('-').next()?.parse().ok()
}

/// True if a journal's text begins with a job, and ends with the line that closes it.
pub(crate) fn is_closed(journal: &[u8]) -> bool {
    // No text in a line has quotes that are not escaped.
    journal::first_text::<StepEvent>(journal).is_some()
        && journal::last_text(journal).is_some_and(|text| text.contains(r#","event":"closed","#))
}

/// True if these lines are those of a job that failed or is closed. Jobs without a proof are not closed.
pub(crate) fn is_over(entries: &[Entry]) -> bool {
    let is_proven = entries.first().is_some_and(|first| first.what.proof().is_some());
    let last = entries.last().filter(|last| last.what.step == JOB);
    match last.map(|last| last.what.event) {
        Some(Event::Failed | Event::Closed) => true,
        Some(Event::End) => !is_proven,
        Some(Event::Begin) | None => false,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_disk_is_waited_for_at_the_begin_before_something_is_published_and_at_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = Journal::create(folder.path()).unwrap();
        let lines = [
            (JOB, Event::Begin, true),
            ("rows", Event::End, false),
            (PUBLISH, Event::Begin, true),
            (PUBLISH, Event::End, false),
            (JOB, Event::End, true),
            (JOB, Event::Failed, true),
            (KEYS, Event::Failed, true),
            (JOB, Event::Closed, false),
        ];
        for (step, event, is_synced) in lines {
            assert_eq!(
                StepEvent::new(step, event, "d.t").is_synced(),
                is_synced,
                "{step} {event:?}"
            );
        }
        assert!(journal.unsynced.is_some());
        journal.write(JOB, Event::Begin, "d.t").unwrap();
        assert!(journal.unsynced.is_none());
    }

    #[test]
    fn old_journals_go_but_those_of_jobs_that_did_not_end() {
        let folder = tempfile::tempdir().unwrap();
        let jobs = folder.path().join("jobs");
        let mut paths = Vec::new();
        for number in 0..20 {
            let mut journal = Journal::create(folder.path()).unwrap();
            journal.write("job", Event::Begin, "db.t").unwrap();
            match number % 4 {
                0 => {}
                1 => journal.write("job", Event::Failed, "no").unwrap(),
                _ => journal.write("job", Event::End, "db.t").unwrap(),
            }
            // In the order of their making, whatever the clock does meanwhile.
            let path = jobs.join(format!("{}-1-0.jsonl", 1_000 + number));
            std::fs::rename(journal.path(), &path).unwrap();
            paths.push(path);
        }
        std::fs::write(jobs.join("notes.txt"), "mine").unwrap();
        std::fs::write(jobs.join("1-torn.jsonl"), "00000000 {\"unix").unwrap();
        prune(&private::open(&jobs).unwrap(), 5);
        let left: Vec<bool> = paths.iter().map(|path| path.exists()).collect();
        let expected: Vec<bool> = (0..20).map(|number| number >= 15 || number % 4 == 0).collect();
        assert_eq!(left, expected);
        assert!(jobs.join("notes.txt").exists() && jobs.join("1-torn.jsonl").exists());
        let modes = std::fs::metadata(&paths[19]).unwrap().permissions();
        assert_eq!(std::os::unix::fs::PermissionsExt::mode(&modes) & 0o777, 0o600);
    }

    #[test]
    fn refused_rows_outlive_their_journals() {
        let folder = tempfile::tempdir().unwrap();
        let mut rejects = Vec::new();
        for number in 0..=JOURNALS_KEPT {
            let mut journal = Journal::create(folder.path()).unwrap();
            journal.write("job", Event::End, "db.t").unwrap();
            let path = folder.path().join("jobs").join(format!("{}-1-0.jsonl", 1_000 + number));
            std::fs::rename(journal.path(), &path).unwrap();
            rejects.push(rejects_path(&path));
            rejects.push(rejects_path_of(&rejects_path(&path), "t"));
        }
        rejects.iter().for_each(|path| std::fs::write(path, "x").unwrap());
        drop(Journal::create(folder.path()).unwrap());
        assert!(!rejects[0].with_extension("jsonl").exists());
        assert!(rejects.iter().all(|path| path.exists()));
        let jobs = private::open(&folder.path().join("jobs")).unwrap();
        assert_eq!(rejects_files(&jobs).unwrap().len(), rejects.len());
    }

    #[test]
    fn a_folder_of_jobs_that_leads_elsewhere_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let elsewhere = folder.path().join("elsewhere");
        std::fs::create_dir(&elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, folder.path().join("jobs")).unwrap();
        let error = Journal::create(folder.path()).unwrap_err();
        assert!(error.to_string().contains("a symbolic link"), "{error}");
        assert_eq!(std::fs::read_dir(&elsewhere).unwrap().count(), 0);
    }

    #[test]
    fn tables_have_files_of_their_own() {
        let names = ["a/b", "a_b", "a%2Fb", "a\u{1}b", "\u{fc}"].map(file_name_of);
        assert_eq!(names, ["a%2Fb", "a_b", "a%252Fb", "a%01b", "\u{fc}"]);
    }

    #[test]
    fn a_job_is_newer_than_those_of_a_clock_that_was_ahead() {
        let folder = tempfile::tempdir().unwrap();
        let ahead = Journal::create(folder.path()).unwrap();
        let hour = unix_ms() + 3_600_000;
        let jobs = folder.path().join("jobs");
        std::fs::rename(ahead.path(), jobs.join(format!("{hour}-1-0.jsonl"))).unwrap();
        for number in 1..3 {
            let journal = Journal::create(folder.path()).unwrap();
            assert!(journal.job().starts_with(&format!("{}-", hour + number)), "{}", journal.job());
        }
    }

    #[test]
    fn journals_of_one_moment_have_names_of_their_own() {
        let folder = tempfile::tempdir().unwrap();
        let journals: Vec<Journal> =
            (0..50).map(|_| Journal::create(folder.path()).unwrap()).collect();
        let mut jobs: Vec<&str> = journals.iter().map(Journal::job).collect();
        jobs.sort_unstable();
        jobs.dedup();
        assert_eq!(jobs.len(), 50);
    }
}
