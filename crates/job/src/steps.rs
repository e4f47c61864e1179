//! The steps of a load: timed, shown to whoever watches, and written to the journal.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use locks::Mutex;
use server::Interrupt;

use crate::closing;
use crate::command::CommandLine;
use crate::error::Error;
use crate::failpoint;
use crate::jobs::Job;
use crate::journal::{self, Event, Journal};
use crate::pool;
use crate::progress::{Progress, Snapshot, Stage};
use crate::report::{self, Stopwatch};
use crate::state;

/// Goes through the stages one after the other. In a job of several tables each goes through its
/// own, and all write to one journal.
pub struct Steps<'a> {
    journal: Arc<Mutex<Journal>>,
    /// Times them.
    pub stopwatch: Stopwatch,
    progress: &'a dyn Progress,
    target: String,
    pub(crate) interrupt: Interrupt,
    /// The step that was entered last.
    pub stage: Stage,
    /// Foreign keys that refer to an old table still, though all rows are in.
    pub keys_left: Vec<String>,
    /// Triggers that an old table has still.
    pub triggers_left: Vec<String>,
    /// Name of the table, where it is one of several.
    table: Option<String>,
    /// The command, with its proof.
    command: Option<CommandLine>,
    /// True if the journal says on disk that all rows are in.
    is_in: bool,
    /// True if the journal says that rows were added to a table whose ledger lists them.
    has_added: Arc<AtomicBool>,
    /// Killed jobs that this one finishes.
    finished: Vec<Job>,
    state_dir: PathBuf,
}

impl<'a> Steps<'a> {
    /// Begins a job into a `target` of a `server`, whose journal notes the `command`.
    pub fn begin(
        state_dir: &Path,
        target: &str,
        command: Option<&CommandLine>,
        server: &str,
        progress: &'a dyn Progress,
        interrupt: Interrupt,
    ) -> Result<Steps<'a>, Error> {
        state::check(state_dir)?;
        let journal = Journal::create(state_dir)
            .map_err(|source| Error::State { path: state_dir.to_owned(), source })?;
        let proven = |command: CommandLine| command.proven(server, target, journal.job());
        let command = command.cloned().map(proven);
        let steps = Steps {
            journal: Arc::new(Mutex::new(journal)),
            stopwatch: Stopwatch::start(),
            progress,
            target: target.to_owned(),
            interrupt,
            stage: Stage::Inspect,
            keys_left: Vec::new(),
            triggers_left: Vec::new(),
            table: None,
            command,
            is_in: false,
            has_added: Arc::default(),
            finished: Vec::new(),
            state_dir: state_dir.to_owned(),
        };
        pool::catch(|| steps.begin_journal(target)).flatten()?;
        Ok(steps)
    }

    /// The steps of one of the job's tables, told to `progress`.
    pub fn of_table<'t>(
        &self,
        database: &str,
        table: &str,
        progress: &'t dyn Progress,
    ) -> Steps<'t> {
        Steps {
            journal: Arc::clone(&self.journal),
            stopwatch: Stopwatch::start(),
            progress,
            target: format!("{database}.{table}"),
            interrupt: self.interrupt.clone(),
            stage: Stage::Inspect,
            keys_left: Vec::new(),
            triggers_left: Vec::new(),
            table: Some(table.to_owned()),
            command: None,
            is_in: false,
            has_added: Arc::clone(&self.has_added),
            finished: Vec::new(),
            state_dir: self.state_dir.clone(),
        }
    }

    /// Does one step between its two journal lines.
    pub fn step<T>(
        &mut self,
        stage: Stage,
        work: impl FnOnce() -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.step_or_undo(stage, work, drop)
    }

    /// As [`Steps::step`], for work that `undo` takes back where its end cannot be written down.
    pub fn step_or_undo<T>(
        &mut self,
        stage: Stage,
        work: impl FnOnce() -> Result<T, Error>,
        undo: impl FnOnce(T),
    ) -> Result<T, Error> {
        self.enter(stage)?;
        let outcome = work()?;
        match self.end_step(stage) {
            Ok(()) => Ok(outcome),
            Err(error) => {
                undo(outcome);
                Err(error)
            }
        }
    }

    fn enter(&mut self, stage: Stage) -> Result<(), Error> {
        self.interrupt.check()?;
        self.stage = stage;
        self.stopwatch.enter(stage);
        self.progress.update(Snapshot::of(stage, 0, 0, None));
        let target = self.target.clone();
        self.write(stage.name(), Event::Begin, &target)
    }

    /// As [`Steps::step`], for the step after which the load has succeeded whatever comes: a
    /// journal that cannot be written then is a warning.
    pub fn last_step(
        &mut self,
        stage: Stage,
        work: impl FnOnce() -> Result<(), Error>,
    ) -> Result<Vec<String>, Error> {
        self.enter(stage)?;
        work()?;
        let unwritten = self.end_step(stage).err();
        Ok(unwritten.into_iter().map(|error| error.to_string()).collect())
    }

    /// Writes down that a step was done. The step stays done if the journal fails.
    fn end_step(&mut self, stage: Stage) -> Result<(), Error> {
        let target = self.target.clone();
        pool::catch(|| self.write(stage.name(), Event::End, &target)).flatten()
    }

    /// Writes down which tables of the command are loaded behind this job, each by a job of its own.
    pub fn note_apart(&mut self, tables: &[&str]) -> Result<(), Error> {
        let detail = serde_json::to_string(tables).unwrap_or_default();
        pool::catch(|| self.write(journal::APART, Event::Begin, &detail)).flatten()
    }

    /// A note for the journal that rows were added.
    pub fn added_note(&self) -> AddedNote {
        AddedNote {
            journal: Arc::clone(&self.journal),
            target: self.target.clone(),
            is_written: Arc::clone(&self.has_added),
        }
    }

    /// Writes down, on disk, that all rows are in. Whatever proves that on the server goes behind this.
    ///
    /// Errors: it cannot be written down; what proves it has to stay.
    pub fn rows_are_in(&mut self) -> Result<(), Error> {
        if self.is_in {
            return Ok(());
        }
        let target = self.target.clone();
        let written = pool::catch(|| {
            self.append(journal::JOB, Event::End, &target)?;
            self.is_in = true;
            self.reached(journal::JOB, Event::End);
            Ok(())
        });
        match written {
            // What came behind the writing.
            Err(_) if self.is_in => Ok(()),
            written => written.flatten(),
        }
    }

    /// The job finishes another, which was killed when its rows were in: its journal is closed with that of
    /// this one.
    pub fn finishes(&mut self, job: Job) {
        self.finished.push(job);
    }

    /// Ends the job. An error that cannot be written down must not hide the one it is about.
    ///
    /// The journal of a command that went well is closed by [`close_jobs`](crate::closing::close_jobs).
    pub fn end<T>(&mut self, outcome: &Result<T, Error>) {
        self.stopwatch.stop();
        let target = self.target.clone();
        let (keys, triggers) = (self.keys_left.join(", "), self.triggers_left.join(", "));
        let _ = pool::catch(|| match outcome {
            Ok(_) if !keys.is_empty() => {
                self.write(journal::KEYS, Event::Failed, &keys)?;
                let detail = format!("{target}: {}", report::keys_left_text(&keys));
                self.write(journal::JOB, Event::Failed, &detail)
            }
            Ok(_) if !triggers.is_empty() => {
                self.write(journal::KEYS, Event::Failed, &triggers)?;
                let detail = format!("{target}: {}", report::triggers_left_text(&triggers));
                self.write(journal::JOB, Event::Failed, &detail)
            }
            Ok(_) => self.rows_are_in(),
            Err(error) => {
                if matches!(error, Error::AllIn { .. }) && !self.is_in {
                    self.write(Stage::Publish.name(), Event::End, &target)?;
                }
                if self.has_added.load(Ordering::Relaxed) && !error.keeps_ledger() {
                    self.write(journal::ADDED, Event::Failed, &target)?;
                }
                self.write(journal::JOB, Event::Failed, &format!("{target}: {error}"))
            }
        });
        if outcome.is_ok() && keys.is_empty() && triggers.is_empty() && self.command.is_some() {
            let finished = std::mem::take(&mut self.finished);
            closing::keep(Arc::clone(&self.journal), &self.state_dir, finished);
        }
    }

    /// The error that the user sees of a load that ended early: the signal, if one ended it. Other
    /// failures are its consequence.
    pub fn explain(&self, error: Error) -> Error {
        let Some(by) = self.interrupt.requested() else { return error };
        let stage = match &error {
            Error::Several { step, .. } => step,
            _ => self.stage.name(),
        };
        let stopped = Error::Stopped { by, stage, target: self.target.clone() };
        match error {
            error @ (Error::SwapUnknown { .. }
            | Error::AllIn { .. }
            | Error::Pending { .. }
            | Error::LostBranches { .. }
            | Error::Server(server::Error::CommitUnknown(_))) => error,
            Error::Appended { target, rows, .. } => Error::Appended {
                error: Box::new(Error::StoppedAdding { by, stage }),
                target,
                rows,
            },
            Error::Several { table, step, tables, left: Some(left), others, .. } => {
                let (error, left) = (Box::new(stopped), Some(left));
                Error::Several { table, step, error, tables, left, others }
            }
            Error::Step { step, state, clean: false, .. } => {
                Error::Step { step, error: Box::new(stopped), state, clean: false }
            }
            _ => stopped,
        }
    }

    /// Where refused rows go that nobody has named a file for.
    pub fn rejects_path(&self) -> PathBuf {
        journal::rejects_path(self.journal.lock().path())
    }

    /// `database.table`.
    pub fn target(&self) -> &str {
        &self.target
    }

    /// Name of the job.
    pub fn job(&self) -> String {
        self.journal.lock().job().to_owned()
    }

    /// The command, with its proof.
    pub fn command(&self) -> Option<CommandLine> {
        self.command.clone()
    }

    fn begin_journal(&self, target: &str) -> Result<(), Error> {
        let mut journal = self.journal.lock();
        let path = journal.path().to_owned();
        journal
            .begin(target, self.command.as_ref())
            .map_err(Error::io("writing the journal", &path))?;
        drop(journal);
        failpoint::hit("job.begin");
        failpoint::hit(&format!("{target}.job.begin"));
        Ok(())
    }

    fn write(&mut self, step: &str, event: Event, detail: &str) -> Result<(), Error> {
        self.append(step, event, detail)?;
        self.reached(step, event);
        Ok(())
    }

    fn append(&self, step: &str, event: Event, detail: &str) -> Result<(), Error> {
        append(&self.journal, step, event, detail)
    }

    /// A line was written: tests have something happen there.
    fn reached(&self, step: &str, event: Event) {
        let place = format!("{step}.{}", event.name());
        failpoint::hit(&place);
        self.table.iter().for_each(|table| failpoint::hit(&format!("{table}.{place}")));
        failpoint::hit(&format!("{}.{place}", self.target));
    }
}

fn append(journal: &Mutex<Journal>, step: &str, event: Event, detail: &str) -> Result<(), Error> {
    let mut journal = journal.lock();
    let path = journal.path().to_owned();
    journal.write(step, event, detail).map_err(Error::io("writing the journal", &path))
}

/// Says in the journal, once, that rows were added to a table whose ledger lists them.
#[derive(Debug)]
pub struct AddedNote {
    journal: Arc<Mutex<Journal>>,
    target: String,
    is_written: Arc<AtomicBool>,
}

impl AddedNote {
    /// Writes the line, if nobody has.
    ///
    /// Errors: it cannot be written.
    pub fn write(&self) -> Result<(), Error> {
        if self.is_written.swap(true, Ordering::Relaxed) {
            return Ok(());
        }
        append(&self.journal, journal::ADDED, Event::End, &self.target)
    }
}
