//! One table on its way to having all rows, and into its place.
//!
//! A load of one table does all of it in a row ([`Filling::fill`], [`Filling::publish`]). In a load of
//! several tables, each is built while another is imported, and all take their places at the end: module
//! [`several`](crate::several) calls the same parts.

use std::time::Duration;

use direct::{Built, StagedBuild, Unplaced};
use encode::input;
use encode::prepared::Prepared;
use job::error::Error;
use job::failed::Failed;
use job::memory::Memory;
use job::options::{LoadOptions, LoadPath};
use job::pool;
use job::progress::Stage;
use job::publish::publish;
use job::report::{Report, memory_peak_bytes};
use job::steps::Steps;
use locks::Mutex;
use send::{Destination, RowLoad, Unpublished};
use server::{ConnectOptions, Unsupported};
use sources::Source;
use targets::publish::Filled;
use targets::turns::Turns;
use targets::{Direct, Lock};

use crate::choose::{self, Chosen, Purpose};
use crate::copies::Copies;
use crate::forecast::Forecast;
use crate::publish::{RowCommit, TableSwap};

/// Waits of others that a note of the report tells, in seconds; shorter ones of a merge.
pub(crate) const NOTED_SECONDS: f64 = 0.5;
const MERGE_NOTED_SECONDS: f64 = 0.05;

/// The parts that every method needs.
pub(crate) struct Filling<'l, 's, 'p> {
    pub(crate) connect: &'l ConnectOptions,
    pub(crate) options: &'l LoadOptions,
    pub(crate) progress: &'l Forecast<'p>,
    pub(crate) memory: &'l Memory,
    pub(crate) steps: &'l mut Steps<'s>,
    /// Replicas that get the same file, where there are any.
    pub(crate) copies: Option<Copies>,
}

/// A filled table and its report; the first is None without rows to add.
pub(crate) type Full = (Option<Unpublished>, Report);

/// True if rows could not be merged because of others who have locks of the table, and that was cleaned up. Sent rows
/// need no such lock.
fn is_for_locks(chosen: &Chosen, failed: &Failed) -> bool {
    let waited = matches!(
        failed.error,
        Error::Server(server::Error::LockWait { .. } | server::Error::Yielded { .. })
    );
    waited && chosen.method.merges() && failed.cleaned.is_ok()
}

impl<'l> Filling<'l, '_, '_> {
    /// Fills the table by the chosen method. Sends the rows if a build turns out to be impossible.
    pub(crate) fn fill(
        &mut self,
        chosen: &mut Chosen,
        target: &mut Lock,
        source: Box<dyn Source>,
    ) -> Result<Full, Box<Failed>> {
        self.progress.expect(std::mem::take(&mut chosen.expected));
        if let Some(destination) = chosen.destination.clone() {
            return self.send(chosen, destination, target, source);
        }
        let source = Mutex::new(source);
        match self.fill_directly(chosen, target, &source) {
            Err(failed) => self.failed(chosen, target, source, failed),
            filled => filled,
        }
    }

    fn fill_directly(
        &mut self,
        chosen: &Chosen,
        target: &mut Lock,
        source: &Mutex<Box<dyn Source>>,
    ) -> Result<Full, Box<Failed>> {
        let mut direct = Direct::new(target);
        let filled = self.staging(&mut direct, true).and_then(|staged| {
            let unplaced = self.build(chosen, &mut direct, staged, source)?;
            if unplaced.adds_nothing() {
                return self.leave(chosen, &mut direct, unplaced.into_built());
            }
            if let Some(mut copies) = self.copies.take() {
                // Before the import, which changes the file.
                let copied = self.copy(&mut copies, &direct, &unplaced);
                self.copies = Some(copies);
                copied?;
            }
            self.import(chosen, &mut direct, unplaced)
        });
        filled.map_err(|error| Failed::cleaned(error, direct.abandon()))
    }

    /// Lets a table be that no row is added to.
    fn leave(
        &mut self,
        chosen: &Chosen,
        direct: &mut Direct<'_>,
        built: Built,
    ) -> Result<Full, Error> {
        direct.abandon()?;
        let prepared = self.prepared(chosen);
        Ok((None, direct::report(&prepared, direct.lock, self.steps, built)))
    }

    /// Goes on by sending the rows where the direct path was given up for a reason that lets it.
    pub(crate) fn failed(
        &mut self,
        chosen: &mut Chosen,
        target: &mut Lock,
        source: Mutex<Box<dyn Source>>,
        failed: Box<Failed>,
    ) -> Result<Full, Box<Failed>> {
        let is_for_locks = self.options.path == LoadPath::Auto && is_for_locks(chosen, &failed);
        if !is_for_locks && !self.is_for_sending(&failed) {
            return Err(failed);
        }
        let source = source.into_inner();
        self.send_instead(chosen, target, source, &failed.error)
    }

    /// True if a build failed and was cleaned up, for a reason that does not concern sending, which is a choice.
    pub(crate) fn is_for_sending(&self, failed: &Failed) -> bool {
        let is_for_sending = match &failed.error {
            Error::NoOrder(_) | Error::NotMerged(_) | Error::NotRouted(_) => true,
            // A data directory of the same path, of another server. A named one is a mistake.
            Error::Server(server::Error::Unsupported { reasons, .. }) => {
                let is_named = self.connect.datadir.is_some();
                reasons.iter().all(|reason| match reason {
                    Unsupported::DataDirectory(_) => !is_named,
                    Unsupported::CopyDiffers
                    | Unsupported::PrimaryKeyRequired(_)
                    | Unsupported::RowFormat(_) => true,
                    _ => false,
                })
            }
            _ => false,
        };
        is_for_sending && failed.cleaned.is_ok() && self.options.path == LoadPath::Auto
    }

    /// Creates the staging table of the direct path. `begins_wait`: true if this table alone waits for the
    /// checkpoint before its import.
    pub(crate) fn staging(
        &mut self,
        direct: &mut Direct<'_>,
        begins_wait: bool,
    ) -> Result<StagedBuild, Error> {
        pool::catch(|| direct::prepare(direct, begins_wait, self.steps)).flatten()
    }

    /// Builds and verifies its file.
    pub(crate) fn build(
        &mut self,
        chosen: &Chosen,
        direct: &mut Direct<'_>,
        staged: StagedBuild,
        source: &Mutex<Box<dyn Source>>,
    ) -> Result<Unplaced, Error> {
        let prepared = self.prepared(chosen);
        pool::catch(|| direct::build(&prepared, direct, staged, source, self.steps)).flatten()
    }

    /// Has replicas adopt copies of it.
    pub(crate) fn copy(
        &mut self,
        copies: &mut Copies,
        direct: &Direct<'_>,
        unplaced: &Unplaced,
    ) -> Result<(), Error> {
        let (name, interrupt) = (&direct.lock.table.name, &self.options.interrupt);
        pool::catch(|| {
            let built = direct.lock.build_path()?;
            let import = || copies.import(name, &built, unplaced, interrupt);
            self.steps.step(Stage::Import, import)
        })
        .flatten()
    }

    /// Has the server adopt it.
    pub(crate) fn import(
        &mut self,
        chosen: &Chosen,
        direct: &mut Direct<'_>,
        unplaced: Unplaced,
    ) -> Result<Full, Error> {
        let prepared = self.prepared(chosen);
        pool::catch(|| {
            let (made, built) =
                unplaced.import(direct, self.steps, self.progress, &self.options.interrupt)?;
            let made = Unpublished::Table(made);
            Ok((Some(made), direct::report(&prepared, direct.lock, self.steps, built)))
        })
        .flatten()
    }

    fn send(
        &mut self,
        chosen: &Chosen,
        destination: Destination,
        target: &mut Lock,
        source: Box<dyn Source>,
    ) -> Result<Full, Box<Failed>> {
        let prepared = self.prepared(chosen);
        let mut load = RowLoad::new(&prepared, self.connect, destination);
        let sent = load.run(target, source, self.steps);
        let sent = sent.map(|sent| (sent.unpublished, sent.report));
        sent.map_err(|failed| Failed::cleaned(failed.error, target.abandon().and(failed.cleaned)))
    }

    /// Loads the rows of a load that `failed` once more, if that may help: the direct path merges them again where it
    /// let others go on, and sends them where it was a choice. The input is read again.
    pub(crate) fn once_more(
        &mut self,
        chosen: &mut Chosen,
        target: &mut Lock,
        failed: Box<Failed>,
    ) -> Result<Report, Box<Failed>> {
        match self.options.path {
            LoadPath::Direct => self.merge_again(chosen, target, failed),
            LoadPath::Auto if self.may_send_after(chosen, &failed) => {
                let sent = self.send_again(chosen, target, &failed.error);
                sent.and_then(|filled| self.publish(chosen, target, filled))
            }
            _ => Err(failed),
        }
    }

    /// True if a load failed and was cleaned up, for locks of others, or for rows without a parent that may be
    /// rejected: the server finds them one by one.
    fn may_send_after(&self, chosen: &Chosen, failed: &Failed) -> bool {
        let is_for_rows = matches!(
            &failed.error,
            Error::Server(server::Error::Orphans(orphans)) if orphans.is_new
        );
        let is_for_rows =
            is_for_rows && self.options.rows.rejects_max > 0 && failed.cleaned.is_ok();
        is_for_rows || is_for_locks(chosen, failed)
    }

    /// Merges rows, those of the input and those that the table has by now, as often as the load lets others go on
    /// who keep it from its place.
    fn merge_again(
        &mut self,
        chosen: &mut Chosen,
        target: &mut Lock,
        mut failed: Box<Failed>,
    ) -> Result<Report, Box<Failed>> {
        let mut turns = Turns::begin(self.lock_wait());
        for merges in 2.. {
            match &*failed {
                Failed { error: Error::Server(error), cleaned: Ok(()) }
                    if target.merges_again(&mut turns, error) => {}
                _ => return Err(failed),
            }
            let merged = self.fill_again(chosen, target);
            match merged.and_then(|filled| self.publish(chosen, target, filled)) {
                Ok(mut report) => {
                    report.notes.push(format!(
                        "the rows were merged {merges} times, because others waited for the load"
                    ));
                    return Ok(report);
                }
                Err(again) => failed = again,
            }
        }
        Err(failed)
    }

    fn lock_wait(&self) -> Duration {
        Duration::from_secs(u64::from(self.options.server.lock_wait_seconds))
    }

    /// Reads the input once more, chooses a method, and fills the table by it.
    fn fill_again(&mut self, chosen: &mut Chosen, target: &mut Lock) -> Result<Full, Box<Failed>> {
        let (_, mut source) = input::open_files(self.options)?;
        let (options, memory, wait) = (self.options, self.memory, self.lock_wait());
        let decision = self.steps.step(Stage::Inspect, || {
            target.begin_again(wait)?;
            let decision = choose::decide(target, options, memory, &mut *source, Purpose::Part)?;
            decision.require(target, options)
        });
        *chosen = decision?;
        self.fill(chosen, target, source)
    }

    /// Reads the input once more, and sends its rows.
    fn send_again(
        &mut self,
        chosen: &mut Chosen,
        target: &mut Lock,
        error: &Error,
    ) -> Result<Full, Box<Failed>> {
        let (_, source) = input::open_files(self.options)?;
        self.send_instead(chosen, target, source, error)
    }

    /// Sends the rows of a load that the direct path gave up because of `error`, its table gone.
    fn send_instead(
        &mut self,
        chosen: &mut Chosen,
        target: &mut Lock,
        mut source: Box<dyn Source>,
        error: &Error,
    ) -> Result<Full, Box<Failed>> {
        let (options, memory, wait) = (self.options, self.memory, self.lock_wait());
        let decision = self.steps.step(Stage::Inspect, || {
            target.begin_again(wait)?;
            let reason = error.to_string();
            let decision =
                choose::decide_without_building(target, options, memory, &mut *source, reason)?;
            decision.require(target, options)
        });
        *chosen = decision?;
        self.progress.expect(std::mem::take(&mut chosen.expected));
        match chosen.destination.clone() {
            Some(destination) => self.send(chosen, destination, target, source),
            None => Err(Error::Internal("no method to send rows was found".to_owned()).into()),
        }
    }

    /// Has the rows appear, and completes the report.
    pub(crate) fn publish(
        &mut self,
        chosen: &Chosen,
        target: &mut Lock,
        (unpublished, mut report): Full,
    ) -> Result<Report, Box<Failed>> {
        let is_swapped = matches!(unpublished, Some(Unpublished::Table(_)));
        let mut warnings = match unpublished {
            Some(rows) => self.publish_rows(chosen, target, rows)?,
            None => {
                // What cannot be written down is of a load that has changed nothing.
                let _ = self.steps.rows_are_in();
                let ledger = target.names.ledger.clone();
                send::forget_ledgers(target, &[ledger], None)
            }
        };
        warnings.extend(target.remarks.iter().cloned());
        let left = std::mem::take(&mut target.keys_left).into_iter();
        report.foreign_keys_left = left.map(|(_, key)| key).collect();
        self.steps.keys_left.clone_from(&report.foreign_keys_left);
        let left = std::mem::take(&mut target.triggers_left).into_iter();
        report.triggers_left = left.map(|(_, trigger)| trigger).collect();
        self.steps.triggers_left.clone_from(&report.triggers_left);
        if is_swapped {
            let noted = if chosen.method.merges() { MERGE_NOTED_SECONDS } else { NOTED_SECONDS };
            add_waits(&mut report, target, noted);
        }
        report.finish(&mut self.steps.stopwatch, memory_peak_bytes(), warnings);
        Ok(report)
    }

    fn publish_rows(
        &mut self,
        chosen: &Chosen,
        target: &mut Lock,
        rows: Unpublished,
    ) -> Result<Vec<String>, Box<Failed>> {
        let Filling { options, steps, copies, .. } = self;
        let name = target.table.name.to_string();
        match rows {
            Unpublished::Table(made) => {
                let then = chosen.destination.is_some().then_some(send::NEXT_LOAD);
                let ledgers = (vec![target.names.ledger.clone()], then);
                let (filled, copies) = (&mut Filled::by(target, made), copies.as_mut());
                let swap =
                    TableSwap { target: name, filled, copies, options, ledgers, swapped: None };
                publish(steps, &mut { swap }).map_err(|error| {
                    let kept = error.is_unknown();
                    let cleaned = if kept { Ok(()) } else { abandon_filled(chosen, target) };
                    Failed::cleaned(error, cleaned)
                })
            }
            Unpublished::Transaction(rows) => {
                // Its own rows need none, and other loads have left one or not.
                let ledger = target.names.ledger.clone();
                let ledgers = Some(ledger).filter(|_| !target.is_swept()).into_iter().collect();
                let commit = RowCommit { target: name, lock: target, rows: *rows, ledgers };
                publish(steps, &mut { commit }).map_err(|error| {
                    let cleaned = if error.is_unknown() { Ok(()) } else { target.abandon() };
                    Failed::cleaned(error, cleaned)
                })
            }
            Unpublished::Added(ledger) => {
                let is_known = options.command.is_some();
                let published = publish(steps, &mut ledger.last_chunk(target, is_known));
                published.map_err(|error| {
                    let failed = ledger.failed(target, error);
                    Failed::cleaned(failed.error, target.abandon().and(failed.cleaned))
                })
            }
        }
    }

    fn prepared<'r>(&self, chosen: &'r Chosen) -> Prepared<'r>
    where
        'l: 'r,
    {
        chosen.prepared(self.options, self.progress, self.memory)
    }
}

/// Adds how long others may have waited for a table that was swapped in.
/// A note tells so of `noted` seconds or more.
pub(crate) fn add_waits(report: &mut Report, target: &Lock, noted: f64) {
    let [readers, writers] =
        [target.blocked.readers, target.blocked.writers].map(|longest| longest.as_secs_f64());
    (report.readers_waited_seconds, report.writers_waited_seconds) = (Some(readers), Some(writers));
    if readers.max(writers) >= noted {
        report.notes.extend(report.waits_text());
    }
}

/// Removes a table that was filled and is not published.
pub(crate) fn abandon_filled(chosen: &Chosen, target: &mut Lock) -> server::Result<()> {
    if chosen.destination.is_none() {
        return Direct::new(target).abandon();
    }
    let ledger = [target.names.ledger.clone()];
    let forgotten = target.clean_up(|target| send::drop_ledgers(target, &ledger));
    target.abandon().and(forgotten)
}
