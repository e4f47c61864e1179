//! The steps of a load: timed, shown to whoever watches, and written to the journal.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use server::Interrupt;

use crate::command::CommandLine;
use crate::error::Error;
use crate::failpoint;
use crate::journal::{self, Event, Journal};
use crate::pool;
use crate::progress::{Progress, Snapshot, Stage};
use crate::report::Stopwatch;
use crate::state;

/// Goes through the stages one after the other. Of a job that loads several tables each goes
/// through its own, and all write to one journal.
pub struct Steps<'a> {
    journal: Arc<Mutex<Journal>>,
    /// Times them.
    pub stopwatch: Stopwatch,
    progress: &'a dyn Progress,
    target: String,
    interrupt: Interrupt,
    /// The step that was entered last.
    pub stage: Stage,
    /// Name of the table, where it is one of several.
    table: Option<String>,
}

impl<'a> Steps<'a> {
    /// Begins a job, whose journal notes the `command`.
    pub fn begin(
        state_dir: &Path,
        (target, command): (&str, Option<&CommandLine>),
        progress: &'a dyn Progress,
        interrupt: Interrupt,
    ) -> Result<Steps<'a>, Error> {
        state::check(state_dir)?;
        let journal = Journal::create(state_dir)
            .map_err(|source| Error::State { path: state_dir.to_owned(), source })?;
        let steps = Steps {
            journal: Arc::new(Mutex::new(journal)),
            stopwatch: Stopwatch::start(),
            progress,
            target: target.to_owned(),
            interrupt,
            stage: Stage::Inspect,
            table: None,
        };
        pool::catch(|| steps.begin_journal(target, command)).and_then(|written| written)?;
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
            table: Some(table.to_owned()),
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
        let (rows, done_bytes, total_bytes) = (0, 0, None);
        self.progress.update(Snapshot { stage, rows, done_bytes, total_bytes, seconds_left: None });
        let target = self.target.clone();
        self.write(stage.name(), Event::Begin, &target)
    }

    /// As [`Steps::step`], for the step after which the load has succeeded whatever comes: a
    /// journal that cannot be written then is a warning.
    pub fn last_step(
        &mut self,
        stage: Stage,
        work: impl FnOnce() -> Result<Vec<String>, Error>,
    ) -> Result<Vec<String>, Error> {
        self.enter(stage)?;
        let mut warnings = work()?;
        if let Err(error) = self.end_step(stage) {
            warnings.push(error.to_string());
        }
        Ok(warnings)
    }

    /// Writes down that a step was done. What was done is there, whatever befalls the journal.
    fn end_step(&mut self, stage: Stage) -> Result<(), Error> {
        let target = self.target.clone();
        pool::catch(|| self.write(stage.name(), Event::End, &target)).and_then(|written| written)
    }

    /// Ends the job. An error that cannot be written down must not hide the one it is about.
    pub fn end<T>(&mut self, outcome: &Result<T, Error>) {
        self.stopwatch.stop();
        let target = self.target.clone();
        let _ = pool::catch(|| match outcome {
            Ok(_) => self.write(journal::JOB, Event::End, &target),
            Err(error) => self.write(journal::JOB, Event::Failed, &format!("{target}: {error}")),
        });
    }

    /// What the user hears of a load that ended early: that a signal ended it, if one did. What
    /// else failed then failed because of it.
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
            Error::Several { table, step, tables, left: Some(left), .. } => {
                let (error, left) = (Box::new(stopped), Some(left));
                Error::Several { table, step, error, tables, left }
            }
            Error::Step { step, state, clean: false, .. } => {
                Error::Step { step, error: Box::new(stopped), state, clean: false }
            }
            _ => stopped,
        }
    }

    /// Where refused rows go that nobody has named a file for.
    pub fn rejects_path(&self) -> PathBuf {
        journal::rejects_path(self.lock().path())
    }

    /// `database.table`.
    pub fn target(&self) -> &str {
        &self.target
    }

    /// Name of the job.
    pub fn job(&self) -> String {
        self.lock().job().to_owned()
    }

    fn begin_journal(&self, target: &str, command: Option<&CommandLine>) -> Result<(), Error> {
        let mut journal = self.lock();
        let path = journal.path().to_owned();
        journal.begin(target, command).map_err(Error::io("writing the journal", &path))?;
        drop(journal);
        failpoint::hit("job.begin");
        Ok(())
    }

    fn write(&mut self, step: &str, event: Event, detail: &str) -> Result<(), Error> {
        let mut journal = self.lock();
        let path = journal.path().to_owned();
        journal.write(step, event, detail).map_err(Error::io("writing the journal", &path))?;
        drop(journal);
        let place = format!("{step}.{}", event.name());
        failpoint::hit(&place);
        self.table.iter().for_each(|table| failpoint::hit(&format!("{table}.{place}")));
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Journal> {
        self.journal.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
