//! A pipeline of three stages, staging table, build and import: a table is built while the server makes the staging
//! tables of the next ones and imports the one before.
//!
//! ```text
//! staging table  | a | b c .. |   the next wave ..
//! build       | a ---- | b ------- | c -- |
//! import               | a --| wait | b ----| c -|
//! ```
//!
//! MariaDB imports one table at a time, MySQL several, each on a connection of its own. Imports need none of our
//! memory: the build has all of it. Tables of a wave, whose staging tables are made together, wait once for the checkpoint and the
//! running backups that must precede an import; the first table is a wave of its own, since nothing is built
//! before it. Tables whose rows are sent are filled where others are built.

use std::iter::once;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};

use job::error::Error;
use job::failed::Failed;
use job::failpoint;
use job::pool;
use job::progress::{Progress, Stage};
use job::steps::Steps;
use locks::{Condvar, Mutex};
use schema::Flavor;
use send::Unpublished;
use server::ConnectOptions;
use sources::Source;
use targets::staging_table::{DirectState, LogWait};
use targets::{Direct, Keeper, Lock};

use super::inspection::InspectedTables;
use super::part::{At, Ended, Part};
use super::watched::Watched;
use crate::choose::Chosen;
use crate::connections::SharedConnections;
use crate::copies::Copies;
use crate::fill::{Filling, Full};
use crate::forecast::Forecast;

/// Number of tables whose staging tables are made together; as many may wait for their build. The
/// server's description of each is held until then, some 100 KB.
const STAGED_AT_ONCE: usize = 16;
/// Tables that MySQL imports at once. It looks at each record of a file, in one thread for each file: two imports took
/// 18.6 s at once and 32.9 s one after the other (9.7.4, two cores). MariaDB has one lock for all imports.
const IMPORTED_AT_ONCE: usize = 3;

/// Tables that have all rows, and connections to publish them by.
pub(super) struct Filled {
    pub(super) parts: Vec<Part>,
    pub(super) connections: SharedConnections,
    pub(super) keeper: Arc<Keeper>,
}

/// Has all tables filled.
///
/// Errors: the first that was met; whatever was made is gone then, or the error says what is not.
pub(super) fn fill(
    connect: &ConnectOptions,
    looked: InspectedTables,
    copies: Option<&Mutex<Copies>>,
    steps: &Steps<'_>,
    progress: &dyn Progress,
) -> Result<Filled, Error> {
    let InspectedTables { parts, mut connections, keeper, .. } = looked;
    let maker = keeper.another()?;
    let count = imports_at_once(maker.version().flavor, parts.len());
    let mut importers = vec![SharedConnections::of(keeper.another()?)];
    // One is enough where the server has no room for more connections.
    let more = (1..count).map_while(|_| keeper.another().ok());
    importers.extend(more.map(SharedConnections::of));
    let maker = SharedConnections::of(maker);
    let options = &parts[0].options;
    let cache_bytes = options.limits.page_cache_bytes();
    let pipeline = Pipeline {
        connect,
        copies,
        steps,
        progress,
        build_seconds: parts.iter().map(|part| part.build_seconds).collect(),
        parts: parts.into_iter().map(Mutex::new).collect(),
        ended: Mutex::new(None),
        backlog: Backlog::of(cache_bytes),
    };
    pipeline.run(&mut connections, maker, importers);
    let parts: Vec<Part> = pipeline.parts.into_iter().map(|part| part.into_inner()).collect();
    match pipeline.ended.into_inner() {
        None => Ok(Filled { parts, connections, keeper }),
        Some(ended) => Err(give_up(parts, connections, ended)),
    }
}

/// Removes what was made of all tables, and gives the error with what came of that; by itself where it says what the
/// tables are.
pub(super) fn give_up(parts: Vec<Part>, mut connections: SharedConnections, ended: Ended) -> Error {
    let Ended { table, step, failed } = ended;
    let Failed { error, cleaned } = *failed;
    let (mut cleaned, count) = (cleaned.map_err(Error::from), parts.len());
    for mut part in parts {
        let done = part.abandon(&mut connections);
        // A server that cannot be reached is not tried once more for each table.
        let is_gone = done.as_ref().is_err_and(is_gone);
        cleaned = cleaned.and(done);
        if is_gone {
            break;
        }
    }
    if error.is_told() {
        return error;
    }
    let left = cleaned.err().map(|error| error.to_string());
    Error::Several { table, step, error: Box::new(error), tables: count, left, others: Vec::new() }
}

fn is_gone(error: &Error) -> bool {
    let Error::Server(error) = error else { return false };
    error.is_cut() || matches!(error, server::Error::Connect { .. })
}

/// The pipeline: its tables, and the state that its stages share.
struct Pipeline<'a> {
    connect: &'a ConnectOptions,
    /// Replicas that get the same files.
    copies: Option<&'a Mutex<Copies>>,
    steps: &'a Steps<'a>,
    progress: &'a dyn Progress,
    /// Expected seconds of each build.
    build_seconds: Vec<f64>,
    parts: Vec<Mutex<Part>>,
    /// The first error that ended the command.
    ended: Mutex<Option<Ended>>,
    backlog: Backlog,
}

/// Files that are built and not imported yet: in the page cache, as long as it has room for them.
struct Backlog {
    waiting: Mutex<Waiting>,
    changed: Condvar,
    bytes_max: u64,
}

#[derive(Default)]
struct Waiting {
    bytes: u64,
    /// True once the command has ended: whoever would remove bytes may be gone.
    is_over: bool,
}

/// A table, and the parts that work at it.
struct TableAtWork<'b, 's, 'p> {
    chosen: &'b mut Chosen,
    source: &'b mut Option<Mutex<Box<dyn Source>>>,
    at: &'b mut At,
    lock: &'b mut Lock,
    filling: Filling<'b, 's, 'p>,
}

impl Pipeline<'_> {
    /// Runs all to their ends.
    fn run(
        &self,
        builder: &mut SharedConnections,
        mut maker: SharedConnections,
        importers: Vec<SharedConnections>,
    ) {
        let (built, to_import) = channel();
        let to_import = &Mutex::new(to_import);
        std::thread::scope(move |scope| {
            let (made, to_build) = sync_channel(STAGED_AT_ONCE);
            scope.spawn(move || {
                self.station(Stage::Staging, || {
                    failpoint::hit("thread.staging");
                    self.make_all(&mut maker, &made);
                });
            });
            for mut importer in importers {
                scope.spawn(move || {
                    self.station(Stage::Import, || {
                        failpoint::hit("thread.import");
                        self.import_all(&mut importer, to_import);
                    });
                });
            }
            self.build_all(builder, to_build, &built);
        });
    }

    /// Has a station work to its end; a panic ends all of them.
    fn station(&self, stage: Stage, work: impl FnOnce()) {
        if let Err(error) = pool::catch(work) {
            self.end(Ended::plainly(self.name(0), stage.name(), error));
        }
    }

    /// Makes the staging tables, wave by wave.
    fn make_all(&self, connections: &mut SharedConnections, made: &SyncSender<usize>) {
        let all: Vec<usize> = (0..self.parts.len()).collect();
        let (first, others) = all.split_at(1);
        for wave in once(first).chain(others.chunks(STAGED_AT_ONCE)) {
            self.make_stagings(wave, connections);
            // None is built before all are made: until then nobody knows what its import waits for.
            let is_wanted = |&at: &usize| !self.has_ended() && made.send(at).is_ok();
            if !wave.iter().all(is_wanted) {
                return;
            }
        }
    }

    fn build_all(
        &self,
        connections: &mut SharedConnections,
        to_build: Receiver<usize>,
        built: &Sender<usize>,
    ) {
        for at in to_build {
            self.backlog.wait_for_room();
            if self.has_ended() {
                break;
            }
            self.build(at, connections);
            // The other station may have ended.
            let _ = built.send(at);
        }
    }

    /// Makes the staging tables of a wave, and starts what all of them wait for before their imports.
    fn make_stagings(&self, wave: &[usize], connections: &mut SharedConnections) {
        let log = Arc::new(LogWait::default());
        let direct: Vec<usize> =
            wave.iter().copied().filter(|&at| self.parts[at].lock().is_direct()).collect();
        for (number, &at) in direct.iter().enumerate() {
            let is_last = number + 1 == direct.len();
            self.work(at, connections, &(), |work_table| {
                work_table.make_staging(&log, is_last).or_else(|failed| {
                    match is_for_again(&failed) {
                        true => work_table.make_staging(&log, is_last),
                        // Its rows are sent when its turn comes to be built.
                        false if work_table.filling.is_for_sending(&failed) => Ok(()),
                        false => Err(failed),
                    }
                })
            });
            if self.has_ended() {
                break;
            }
        }
    }

    /// Builds the file of a table, or sends its rows.
    fn build(&self, at: usize, connections: &mut SharedConnections) {
        let later = self.build_seconds[at + 1..].iter().sum();
        let watched = Watched { progress: self.progress, later_seconds: later };
        self.progress.table(&self.name(at), at + 1, self.parts.len());
        self.parts[at].lock().options.limits.page_cache_bytes = Some(self.backlog.room());
        self.work(at, connections, &watched, |work_table| {
            let Some(source) = work_table.source.take() else { return Ok(()) };
            work_table.filling.progress.expect(std::mem::take(&mut work_table.chosen.expected));
            let full = match std::mem::replace(work_table.at, At::Between) {
                At::StagedBuild(staged, made) => {
                    let mut direct = Direct::resume(work_table.lock, made);
                    match work_table.filling.build(work_table.chosen, &mut direct, *staged, &source)
                    {
                        Ok(unplaced) => {
                            *work_table.at = At::Built(Box::new(unplaced), direct.rest());
                            return Ok(());
                        }
                        Err(error) => {
                            let failed = Failed::cleaned(error, direct.abandon());
                            work_table.filling.failed(
                                work_table.chosen,
                                work_table.lock,
                                source,
                                failed,
                            )
                        }
                    }
                }
                _ => {
                    work_table.lock.reconnect()?;
                    let source = source.into_inner();
                    work_table.filling.fill(work_table.chosen, work_table.lock, source)
                }
            };
            work_table.full(full)
        });
        self.backlog.add(cached_bytes(&self.parts[at].lock()));
    }

    fn import_all(&self, connections: &mut SharedConnections, to_import: &Mutex<Receiver<usize>>) {
        let next = || to_import.lock().recv().ok();
        while let Some(at) = next() {
            if !matches!(self.parts[at].lock().at, At::Built(..)) {
                // Its rows were sent, or it failed.
                continue;
            }
            let bytes = cached_bytes(&self.parts[at].lock());
            if !self.has_ended() {
                self.work(at, connections, &(), |work_table| {
                    let At::Built(unplaced, made) = std::mem::replace(work_table.at, At::Between)
                    else {
                        return Ok(());
                    };
                    let mut direct = Direct::resume(work_table.lock, made);
                    let copied = match self.copies {
                        // Before the import, which changes the file.
                        Some(copies) => {
                            work_table.filling.copy(&mut copies.lock(), &direct, &unplaced)
                        }
                        None => Ok(()),
                    };
                    let full = copied.and_then(|()| {
                        work_table.filling.import(work_table.chosen, &mut direct, *unplaced)
                    });
                    let full = full.map_err(|error| Failed::cleaned(error, direct.abandon()));
                    work_table.full(full)
                });
            }
            self.backlog.remove(bytes);
        }
    }

    /// Has connections work at a table; what fails ends the command.
    fn work(
        &self,
        at: usize,
        connections: &mut SharedConnections,
        progress: &dyn Progress,
        work: impl FnOnce(&mut TableAtWork<'_, '_, '_>) -> Result<(), Box<Failed>>,
    ) {
        let mut part = self.parts[at].lock();
        let Part { options, memory, chosen, source, target, at, stopwatch, .. } = &mut *part;
        let forecast = Forecast::new(progress);
        let mut steps = self.steps.of_table(&options.database, &options.table, &forecast);
        std::mem::swap(&mut steps.stopwatch, stopwatch);
        let done = connections.at(target, |lock| {
            let filling = Filling {
                connect: self.connect,
                options,
                progress: &forecast,
                memory,
                steps: &mut steps,
                copies: None,
            };
            let mut work_table = TableAtWork { chosen, source, at, lock, filling };
            pool::catch(|| work(&mut work_table)).unwrap_or_else(|panic| Err(panic.into()))
        });
        steps.stopwatch.stop();
        std::mem::swap(&mut steps.stopwatch, stopwatch);
        if let Err(failed) = done {
            let step = steps.stage.name();
            self.end(Ended { table: part.name(), step, failed });
        }
    }

    /// Notes what ended the command, if it is the first.
    fn end(&self, ended: Ended) {
        self.ended.lock().get_or_insert(ended);
        self.backlog.end();
    }

    fn has_ended(&self) -> bool {
        self.ended.lock().is_some()
    }

    fn name(&self, at: usize) -> String {
        self.parts[at].lock().name()
    }
}

/// Tables that a server imports at once, of so many.
fn imports_at_once(flavor: Flavor, tables: usize) -> usize {
    match flavor {
        Flavor::MariaDb => 1,
        Flavor::MySql => tables.clamp(1, IMPORTED_AT_ONCE),
    }
}

/// Bytes of a built file that are in the page cache: what it had no room for there went around it.
fn cached_bytes(part: &Part) -> u64 {
    match &part.at {
        At::Built(unplaced, _) => {
            unplaced.file_bytes().min(part.options.limits.page_cache_bytes.unwrap_or(u64::MAX))
        }
        _ => 0,
    }
}

/// True if a staging table was not made because the connection was lost, perhaps while it was idle,
/// and nothing is left.
fn is_for_again(failed: &Failed) -> bool {
    matches!(failed, Failed { error: Error::Server(error), cleaned: Ok(()) } if error.is_cut())
}

impl TableAtWork<'_, '_, '_> {
    /// Creates the staging table. `log` is the wait before the import that all tables of a wave share; the last
    /// table of the wave starts it.
    fn make_staging(&mut self, log: &Arc<LogWait>, is_last: bool) -> Result<(), Box<Failed>> {
        let mut direct = Direct::resume(self.lock, DirectState::with_log(log));
        let made = direct.lock.reconnect().map_err(Error::from);
        let made = made.and_then(|()| self.filling.staging(&mut direct, false));
        let made = made.and_then(|staged| {
            if is_last {
                direct.lock.begin_log_wait(log)?;
            }
            Ok(staged)
        });
        match made {
            Ok(staged) => {
                *self.at = At::StagedBuild(Box::new(staged), direct.rest());
                Ok(())
            }
            Err(error) => Err(Failed::cleaned(error, direct.abandon())),
        }
    }

    /// The table has all rows.
    fn full(&mut self, full: Result<Full, Box<Failed>>) -> Result<(), Box<Failed>> {
        match full? {
            (Some(Unpublished::Table(made)), report) => {
                *self.at = At::Full(made, Box::new(report));
                Ok(())
            }
            _ => {
                let error = "rows went into a table that should be published with others";
                Err(Error::Internal(error.to_owned()).into())
            }
        }
    }
}

impl Backlog {
    fn of(bytes_max: u64) -> Backlog {
        Backlog { waiting: Mutex::default(), changed: Condvar::new(), bytes_max }
    }

    /// Waits until the files that wait for their import leave room for another, or the command has ended.
    fn wait_for_room(&self) {
        let waiting = self.waiting.lock();
        let is_full =
            |waiting: &mut Waiting| !waiting.is_over && waiting.bytes > self.bytes_max / 2;
        drop(self.changed.wait_while(waiting, is_full));
    }

    /// Bytes that there is room for.
    fn room(&self) -> u64 {
        self.bytes_max.saturating_sub(self.waiting.lock().bytes)
    }

    fn add(&self, bytes: u64) {
        self.waiting.lock().bytes += bytes;
    }

    fn remove(&self, bytes: u64) {
        let mut waiting = self.waiting.lock();
        waiting.bytes = waiting.bytes.saturating_sub(bytes);
        self.changed.notify_all();
    }

    /// Has nobody wait for room any more.
    fn end(&self) {
        self.waiting.lock().is_over = true;
        self.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mysql_imports_several_tables_at_once() {
        for (flavor, tables, at_once) in [
            (Flavor::MariaDb, 9, 1),
            (Flavor::MySql, 1, 1),
            (Flavor::MySql, 2, 2),
            (Flavor::MySql, 9, 3),
        ] {
            assert_eq!(imports_at_once(flavor, tables), at_once, "{flavor:?} {tables}");
        }
    }

    #[test]
    fn nobody_waits_for_room_once_the_command_has_ended() {
        let backlog = Backlog::of(100);
        backlog.add(80);
        std::thread::scope(|scope| {
            scope.spawn(|| backlog.wait_for_room());
            backlog.end();
        });
        // A build that was under way then adds its file, and no import takes it away.
        backlog.add(80);
        backlog.wait_for_room();
        assert_eq!(backlog.room(), 0);
    }
}
