//! Watching a command: progress for people or programs, and a file of metrics.
//!
//! ```text
//! load, replay, ... -> Watch::progress -> a bar, lines, or nothing
//!                                      -> Meter -> a line of JSON a second
//!                                               -> the file of metrics
//! ```
//!
//! The thread "watch" reads the meter each second. The main thread prints the last line and writes the last
//! metrics, so that both also exist if that thread has failed.

mod meter;
mod metrics;

use std::io::IsTerminal;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use load::{Progress, Snapshot};
use server::{ConnectOptions, WorkLabel};
use terminal::failure::{Failure, HUNG_UP, REJECTS};

use self::meter::Meter;
pub(crate) use self::meter::Totals;
use self::metrics::MetricsFile;
pub(crate) use self::metrics::{METRICS_MODE, check as check_metrics};
use crate::args::{ProgressArg, WatchArgs};
use crate::{progress, replay_progress};

/// Time between two lines of JSON.
const LINE_INTERVAL: Duration = Duration::from_secs(1);
/// Lines between two writes of the metrics.
const LINES_PER_METRICS: u64 = 10;

/// The messages of a command.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Messages {
    pub(crate) is_quiet: bool,
    pub(crate) is_verbose: bool,
}

/// The watched command.
pub(crate) struct Watch {
    meter: Arc<Meter>,
    form: ProgressArg,
    messages: Messages,
    metrics: Option<MetricsFile>,
    /// None if neither JSON nor metrics are requested, and after the end.
    thread: Option<JoinHandle<()>>,
}

/// Runs a command while it is watched. `table` is the table or database of the command.
///
/// Errors: those of `work`; a file of metrics that cannot be written, before anything is done.
pub(crate) fn during(
    command: &'static str,
    table: &str,
    args: &WatchArgs,
    messages: Messages,
    work: impl FnOnce(&Watch) -> Result<u8, Failure>,
) -> Result<u8, Failure> {
    let watch = Watch::begin(command, table, args, messages)?;
    let outcome = work(&watch);
    let status = outcome.as_ref().map_or_else(|failure| failure.status, |&status| status);
    watch.end(status);
    outcome
}

impl Watch {
    fn begin(
        command: &'static str,
        table: &str,
        args: &WatchArgs,
        messages: Messages,
    ) -> Result<Watch, Failure> {
        let form = match args.progress.unwrap_or_default() {
            ProgressArg::Auto if messages.is_quiet => ProgressArg::None,
            form => form,
        };
        let meter = Arc::new(Meter::new(command, table));
        let metrics = args.metrics.as_deref().map(MetricsFile::begin).transpose()?;
        let mut watch = Watch { meter, form, messages, metrics, thread: None };
        if let Some(metrics) = &watch.metrics {
            metrics.write(&watch.meter.reading())?;
        }
        watch.line();
        watch.thread = watch.start()?;
        Ok(watch)
    }

    fn start(&self) -> Result<Option<JoinHandle<()>>, Failure> {
        if self.form != ProgressArg::Json && self.metrics.is_none() {
            return Ok(None);
        }
        let (meter, form, metrics) = (Arc::clone(&self.meter), self.form, self.metrics.clone());
        let tick = move || {
            disk::failpoint::hit("thread.watch");
            let mut lines = 0u64;
            while meter.wait(LINE_INTERVAL) {
                lines += 1;
                let reading = meter.reading();
                if form == ProgressArg::Json {
                    tell!("{}", reading.json());
                }
                // The last write tells of failures.
                if let Some(metrics) =
                    metrics.iter().find(|_| lines.is_multiple_of(LINES_PER_METRICS))
                {
                    let _ = metrics.write(&reading);
                }
            }
        };
        let thread = std::thread::Builder::new().name("watch".to_owned()).spawn(tick);
        thread.map(Some).map_err(|error| Failure::failed(format!("starting a thread: {error}")))
    }

    fn line(&self) {
        if self.form == ProgressArg::Json {
            tell!("{}", self.meter.reading().json());
        }
    }

    /// The observer of a load, an export, a check or a comparison. A bar disappears when it is dropped.
    pub(crate) fn progress(&self) -> Box<dyn Progress + '_> {
        let Messages { is_quiet, is_verbose } = self.messages;
        let shown: Box<dyn Progress> = match self.form {
            _ if is_quiet => Box::new(progress::Quiet),
            ProgressArg::None | ProgressArg::Json => Box::new(progress::Notes::default()),
            ProgressArg::Auto if std::io::stderr().is_terminal() => Box::new(progress::Bar::new()),
            ProgressArg::Auto => Box::new(progress::Lines::new(is_verbose)),
        };
        Box::new(Watched { meter: &self.meter, shown })
    }

    /// The observer of a replay.
    pub(crate) fn replay_progress(&self) -> Box<dyn replay::progress::Progress + '_> {
        let shown: Box<dyn replay::progress::Progress> = match self.form {
            _ if self.messages.is_quiet => Box::new(()),
            ProgressArg::None | ProgressArg::Json => Box::new(replay_progress::Sentences),
            ProgressArg::Auto if std::io::stderr().is_terminal() => {
                Box::new(replay_progress::Bar::new())
            }
            ProgressArg::Auto => Box::new(replay_progress::Lines::new()),
        };
        Box::new(Watched { meter: &self.meter, shown })
    }

    /// The server, with the work of the command in the comments of statements that have rows.
    pub(crate) fn label(&self, server: ConnectOptions) -> ConnectOptions {
        let meter = Arc::clone(&self.meter);
        ConnectOptions { label: Some(WorkLabel::new(move || meter.words())), ..server }
    }

    /// The work on a table begins, the `number`th of `of`.
    pub(crate) fn table(&self, name: &str, number: usize, of: usize) {
        self.meter.table(name, number, of);
    }

    /// Notes the result of a command that succeeded.
    pub(crate) fn totals(&self, totals: Totals) {
        self.meter.total(totals);
    }

    fn end(mut self, status: u8) {
        self.stop();
        self.meter.end(status);
        self.line();
        let Some(metrics) = &self.metrics else { return };
        if let Err(failure) = metrics.write(&self.meter.reading()) {
            tell!("inrush: warning: {failure}");
        }
    }

    fn stop(&mut self) {
        self.meter.stop();
        // A thread that has failed has said so.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.stop();
    }
}

/// True if a command with this exit status has done its work.
fn is_done(status: u8) -> bool {
    status == 0 || status >= REJECTS && status != HUNG_UP
}

/// An observer that also feeds the meter.
struct Watched<'a, P: ?Sized> {
    meter: &'a Meter,
    shown: Box<P>,
}

impl Progress for Watched<'_, dyn Progress> {
    fn update(&self, snapshot: Snapshot) {
        self.meter.update(&snapshot);
        self.shown.update(snapshot);
    }

    fn table(&self, name: &str, number: usize, of: usize) {
        self.meter.table(name, number, of);
        self.shown.table(name, number, of);
    }

    fn waiting(&self, text: &str) {
        self.shown.waiting(text);
    }

    fn note(&self, text: &str) {
        self.shown.note(text);
    }
}

impl replay::progress::Progress for Watched<'_, dyn replay::progress::Progress> {
    fn update(&self, snapshot: &replay::progress::Snapshot) {
        self.meter.replayed(snapshot);
        self.shown.update(snapshot);
    }

    fn say(&self, text: &str) {
        self.shown.say(text);
    }
}
