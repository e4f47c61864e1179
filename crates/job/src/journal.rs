//! The journal of a load: one line for each step before it starts and after it ends.
//!
//! Append-only JSON lines, each with a CRC-32C of its text, written before the step goes on: a
//! process that is killed leaves all of them. They are synced when something is published, and when the
//! job begins and ends: a power cut takes of the others what the system has not written by itself, which
//! it does within half a minute. Were each synced, a build would wait for the sync of the table that is
//! imported beside it. A torn last line is dropped when the file is read. The table's state is never
//! read from here: names and locks on the server decide what a killed load left (see docs/journal.md);
//! the journal says what was being done.

use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use disk::{File, Folder, private};
use rustix::fs::FlockOperation;
use serde::{Deserialize, Serialize};

use crate::command::{CommandLine, CommandProof};

/// The step of the lines about the whole job.
pub(crate) const JOB: &str = "job";
/// The step of the line about foreign keys that refer to an old table still, though all rows are in.
pub(crate) const KEYS: &str = "keys";
/// Steps whose lines are synced before they go on.
const SYNCED_STEPS: [&str; 3] = [JOB, KEYS, "publish"];
/// Folder of the journals, in the state folder.
pub(crate) const FOLDER: &str = "jobs";
/// Journals of ended jobs that are kept, with those of the others.
const JOURNALS_KEPT: usize = 100;

/// One line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Milliseconds since 1970.
    pub unix_ms: u64,
    /// Process that wrote it.
    pub pid: u32,
    /// Step, named as in [`crate::progress::Stage`], or `job`.
    pub step: String,
    /// What became of it.
    pub event: Event,
    /// Target, files, counts, the error: whatever helps a reader.
    pub detail: String,
    /// In the first line: the command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<Box<CommandLine>>,
}

/// What a journal line says of its step.
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

impl Entry {
    fn now(step: &str, event: Event, detail: &str) -> Entry {
        Entry {
            unix_ms: unix_ms(),
            pid: std::process::id(),
            step: step.to_owned(),
            event,
            detail: detail.to_owned(),
            command: None,
        }
    }

    /// What the rows of its command are known by, in the first line.
    pub fn proof(&self) -> Option<&CommandProof> {
        self.command.as_ref()?.proof.as_ref()
    }

    fn line(&self) -> io::Result<String> {
        let text = serde_json::to_string(self).map_err(io::Error::other)?;
        Ok(format!("{:08x} {text}\n", crc32c::crc32c(text.as_bytes())))
    }
}

/// A journal that is being written.
#[derive(Debug)]
pub struct Journal {
    file: File,
    path: PathBuf,
    job: String,
    /// True if a line could not be written. What is written behind it may be read by nobody.
    is_broken: bool,
}

impl Journal {
    /// Begins the journal of a new job in `state_dir`.
    ///
    /// Errors: a folder that others could have put something into (see [`disk::private`]).
    pub fn create(state_dir: &Path) -> io::Result<Journal> {
        let folder = private::subfolder(&private::make(state_dir)?, FOLDER)?;
        let mut attempt = 0;
        loop {
            let job = format!("{}-{}-{attempt}", unix_ms(), std::process::id());
            let name = OsString::from(format!("{job}.jsonl"));
            match folder.create(&name, 0o600, "journal") {
                Ok(file) => {
                    folder.sync("journal").inspect_err(|_| {
                        // It says nothing yet.
                        let _ = folder.remove(&name, "journal");
                    })?;
                    // Tells those who list jobs that this one runs, for as long as it does. Where it
                    // cannot be locked they take it for killed.
                    let _ = rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive);
                    prune(&folder, JOURNALS_KEPT);
                    let path = folder.path().join(name);
                    return Ok(Journal { file, path, job, is_broken: false });
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
        &self.path
    }

    /// Writes the first line of a job: its target, and the command.
    pub fn begin(&mut self, target: &str, command: Option<&CommandLine>) -> io::Result<()> {
        let mut entry = Entry::now(JOB, Event::Begin, target);
        entry.command = command.cloned().map(Box::new);
        self.append(&entry)
    }

    /// Writes one line, and waits until it is on disk where it has to be.
    pub fn write(&mut self, step: &str, event: Event, detail: &str) -> io::Result<()> {
        self.append(&Entry::now(step, event, detail))
    }

    /// Writes the last line, right before the process exits. A power cut may take the line: the job is
    /// finished once more then.
    pub(crate) fn close(&mut self) -> io::Result<()> {
        self.append(&Entry::now(JOB, Event::Closed, ""))
    }

    fn append(&mut self, entry: &Entry) -> io::Result<()> {
        if self.is_broken && entry.step == JOB && entry.event != Event::Failed {
            return Err(io::Error::other("an earlier line could not be written"));
        }
        let written = self.append_line(entry);
        self.is_broken |= written.is_err();
        written
    }

    fn append_line(&mut self, entry: &Entry) -> io::Result<()> {
        self.file.write_all(entry.line()?.as_bytes())?;
        match SYNCED_STEPS.contains(&entry.step.as_str()) && entry.event != Event::Closed {
            true => self.file.sync_data(),
            false => Ok(()),
        }
    }
}

/// Where the refused rows of a job go that nobody has named a file for: beside its journal. They outlive the
/// journal, because no table has these rows: `inrush jobs clean --rejects` alone removes them.
pub fn rejects_path(journal: &Path) -> PathBuf {
    journal.with_extension("rejects")
}

/// The same of one of the job's tables.
pub fn rejects_path_of(rejects: &Path, table: &str) -> PathBuf {
    let safe = |c: char| if c == '/' || c.is_control() { '_' } else { c };
    let table: String = table.chars().map(safe).collect();
    rejects.with_extension(format!("{table}.rejects"))
}

/// Removes the oldest journals beyond the newest `kept`, but those of jobs that did not end: they
/// say what was being done. Refused rows stay, and so does whatever cannot be read or removed.
fn prune(folder: &Folder, kept: usize) {
    let Ok(names) = folder.names() else { return };
    let mut journals: Vec<(u64, &OsString)> =
        names.iter().filter_map(|name| Some((begun_ms(name)?, name))).collect();
    journals.sort_unstable();
    let old = journals.len().saturating_sub(kept);
    for (_, name) in &journals[..old] {
        if has_ended(folder, name) {
            // The next load tries again.
            let _ = folder.remove(name, "journal");
        }
    }
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
    let text = private::read(folder, name, "journal")?;
    let lines = text.split_inclusive(|&byte| byte == b'\n');
    let whole: usize = lines.take_while(|line| parse_line(line).is_some()).map(<[u8]>::len).sum();
    let mut file = private::append_to(folder, name, "journal")?;
    // Nothing that follows a torn line would be read.
    file.set_len(whole as u64)?;
    file.write_all(Entry::now(JOB, event, detail).line()?.as_bytes())?;
    file.sync_data()
}

/// When the job of a journal began, by the journal's name; None of what is kept beside one, or is no
/// journal.
pub(crate) fn begun_ms(name: &OsStr) -> Option<u64> {
    let job = name.to_str()?.strip_suffix(".jsonl")?;
    let job = Some(job).filter(|job| !job.contains('.'))?;
    job.split('-').next()?.parse().ok()
}

/// Whether the process that began a journal still has it.
pub(crate) fn is_being_written(folder: &Folder, name: &OsStr) -> bool {
    let Ok(file) = folder.read_from(name, "journal") else { return false };
    let locked = rustix::fs::flock(&file, FlockOperation::NonBlockingLockShared);
    locked == Err(rustix::io::Errno::WOULDBLOCK)
}

/// True if the job of a journal came to its end, well or not, and its user knows.
fn has_ended(folder: &Folder, name: &OsStr) -> bool {
    let text = private::read(folder, name, "journal").unwrap_or_default();
    is_over(&parse(&text))
}

/// True if these lines are those of a job that failed or is closed. Older versions, and jobs without a
/// proof, are not closed.
pub(crate) fn is_over(entries: &[Entry]) -> bool {
    let is_proven = entries.first().is_some_and(|first| first.proof().is_some());
    let last = entries.last().filter(|last| last.step == JOB);
    match last.map(|last| last.event) {
        Some(Event::Failed | Event::Closed) => true,
        Some(Event::End) => !is_proven,
        Some(Event::Begin) | None => false,
    }
}

/// Reads the whole lines of a journal, up to the first that is torn or damaged.
pub fn read(path: &Path) -> io::Result<Vec<Entry>> {
    Ok(parse(&std::fs::read(path)?))
}

pub(crate) fn parse(text: &[u8]) -> Vec<Entry> {
    text.split_inclusive(|&byte| byte == b'\n').map_while(parse_line).collect()
}

fn parse_line(line: &[u8]) -> Option<Entry> {
    let line = std::str::from_utf8(line.strip_suffix(b"\n")?).ok()?;
    let (sum, text) = line.split_once(' ')?;
    let sum = u32::from_str_radix(sum, 16).ok()?;
    if sum != crc32c::crc32c(text.as_bytes()) {
        return None;
    }
    serde_json::from_str(text).ok()
}

fn unix_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_millis() as u64)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_torn_last_line_is_dropped_and_the_rest_kept() {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = Journal::create(folder.path()).unwrap();
        journal.write("shadow", Event::Begin, "db.t").unwrap();
        journal.write("shadow", Event::End, "db.t").unwrap();
        let whole = std::fs::read(journal.path()).unwrap();
        for cut in 0..whole.len() {
            let torn = folder.path().join("torn");
            std::fs::write(&torn, &whole[..cut]).unwrap();
            let lines = whole[..cut].iter().filter(|&&byte| byte == b'\n').count();
            assert_eq!(read(&torn).unwrap().len(), lines, "cut at {cut}");
        }
        assert_eq!(read(journal.path()).unwrap()[1].event, Event::End);
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
    fn journals_of_one_moment_have_names_of_their_own() {
        let folder = tempfile::tempdir().unwrap();
        let journals: Vec<Journal> =
            (0..50).map(|_| Journal::create(folder.path()).unwrap()).collect();
        let mut jobs: Vec<&str> = journals.iter().map(Journal::job).collect();
        jobs.sort_unstable();
        jobs.dedup();
        assert_eq!(jobs.len(), 50);
    }

    #[test]
    fn a_flipped_bit_ends_the_journal_there() {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = Journal::create(folder.path()).unwrap();
        journal.write("build", Event::Begin, "x").unwrap();
        let mut bytes = std::fs::read(journal.path()).unwrap();
        bytes[20] ^= 1;
        std::fs::write(journal.path(), bytes).unwrap();
        assert!(read(journal.path()).unwrap().is_empty());
    }
}
