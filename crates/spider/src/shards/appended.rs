//! Rows that are added to the tables of shards: all of them or none, once.
//!
//! ```text
//! head      written down ----------------------------------> decided ------> done, forgotten
//! shard 1   mark   XA START -> rows -> XA END   XA PREPARE       '-> XA COMMIT   mark dropped
//! shard n   the same, at once                   the same             the same
//! ```
//!
//! A transaction of ours with a branch on each shard. Killed before it is decided, nothing stays; behind that,
//! all does: whoever loads the table next brings it to an end (`cleaned`). Readers see a shard's rows from its
//! own commit on.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use encode::input;
use encode::prepared::Prepared;
use job::error::Error;
use job::failpoint;
use job::options::{LoadOptions, Mode, WithOthers};
use job::pool;
use job::progress::{Progress, Stage};
use job::publish::{publish, unwritten};
use job::report::Report;
use job::steps::Steps;
use job::tally;
use load::parts;
use load::places::choose_for_place;
use send::retry::{Cause, Class, classify};
use server::{ConnectOptions, Session};
use sources::{Source, SourceExt as _};
use targets::{Lock, Transaction};

use super::cleaned::Cleaner;
use super::filled::{Filled, Loads};
use super::looked::{self, Looked};
use super::published::Decision;
use super::tables::Tables;
use super::{Sharded, left_staged, not_clean};
use crate::branches::{self, Branch};
use crate::decisions::{Append, Decisions, State};

/// A branch that has its rows.
pub(super) struct Open {
    /// No other load is at the shard's table.
    pub(super) lock: Lock,
    pub(super) session: Session,
}

/// Where the rows are that are added.
pub(super) enum Rows<'t> {
    /// In the input.
    Of(Box<dyn Source>),
    /// In new tables beside those that get them: so many, and what takes those of one shard into its branch.
    Staged(Filled, &'t OpenBranch<'t>),
}

/// Begins a branch with its rows; gives their number.
pub(super) type OpenBranch<'t> = dyn Fn(&Branch) -> Result<(Open, u64), Error> + Sync + 't;

/// The branches of one append.
pub(super) struct Branches {
    all: Vec<Branch>,
    /// None before it has its rows.
    open: Vec<Mutex<Option<Open>>>,
}

impl Sharded<'_, '_> {
    /// Adds the rows to all shards, or to none.
    pub(super) fn append(&mut self, looked: &mut Looked, rows: Rows<'_>) -> Result<Report, Error> {
        let decisions = Decisions::of(&looked.target.names);
        if let Some(before) = looked.before.take() {
            return self.were_in(looked, &decisions, &before);
        }
        let branches = Branches::of(looked)?;
        let mut append = Append {
            job: branches.all[0].job.clone(),
            state: State::Begun,
            rows: 0,
            duplicates: 0,
            input: looked.input.clone(),
            branches: branches.all.clone(),
        };
        let connect = self.connect;
        let prepared = pool::catch(|| {
            self.steps.step(Stage::Shadow, || {
                if matches!(rows, Rows::Of(_)) {
                    let tables = Tables::new(connect, self.options, looked, false);
                    tables.sweep(&mut looked.target.session)?;
                }
                decisions.begin(&mut looked.target.session, &append)?;
                failpoint::hit("branches.written");
                branches.make_marks(connect)
            })?;
            let load_one = |at,
                            connect: &ConnectOptions,
                            options: &LoadOptions,
                            source,
                            progress: &dyn Progress| {
                branches.load(at, connect, options, source, progress)
            };
            let filled = match rows {
                Rows::Of(source) => {
                    let options = self.options;
                    let loads =
                        Loads::new(connect, options, &load_one, looked, &looked.map, &*source)?;
                    self.steps.step(Stage::Rows, || loads.run(source, self.progress))?
                }
                Rows::Staged(filled, open) => {
                    let rows = self.steps.step(Stage::Rows, || branches.open_each(open))?;
                    tally::check(filled.rows(), rows, 0)?;
                    filled
                }
            };
            self.steps.step(Stage::Compare, || {
                failpoint::hit("branches.full");
                branches.each("thread.prepare", |branch, open| {
                    branch.prepare(&mut open.session)?;
                    // Over another connection: this one takes nothing but the branch's end any more.
                    branches::settle(&mut open.lock.session, &branch.mark())
                })
            })?;
            Ok(filled)
        });
        let filled = match prepared.and_then(|prepared: Result<_, Error>| prepared) {
            Ok(filled) => filled,
            Err(error) => {
                return Err(self.give_up(looked, &decisions, branches, &append, error));
            }
        };
        append.rows = filled.rows();
        append.duplicates = filled.reports.iter().map(|(report, _)| report.duplicates).sum();
        let mut decision = Decision {
            connect,
            options: self.options,
            looked,
            decisions: &decisions,
            append: &mut append,
            branches: Some(branches),
            seen: Duration::ZERO,
        };
        let published = publish(self.steps, &mut decision);
        let Decision { branches, seen, .. } = decision;
        match (published, branches) {
            (Ok(warnings), _) => {
                let mut report = self.report(looked, filled, warnings);
                report.notes.push(format!(
                    "the commits of all shards took {:.1} ms, within which readers could see the new rows of \
                     some and not yet of others",
                    seen.as_secs_f64() * 1000.0
                ));
                Ok(report)
            }
            (Err(error @ (Error::Pending { .. } | Error::LostBranches { .. })), _) => Err(error),
            // Nothing is decided.
            (Err(error), Some(branches)) => {
                Err(self.give_up(looked, &decisions, branches, &append, error))
            }
            (Err(error), None) => Err(error),
        }
    }

    /// The rows are in already, of this very command.
    fn were_in(
        &mut self,
        looked: &mut Looked,
        decisions: &Decisions,
        before: &Append,
    ) -> Result<Report, Error> {
        let mut warnings = self.steps.last_step(Stage::Publish, || Ok(Vec::new()))?;
        match self.steps.rows_are_in() {
            Ok(()) => {
                let forgotten = decisions.forget(&mut looked.target.session, &before.job);
                warnings.extend(forgotten.err().map(|error| left(&error.into(), decisions)));
                let tables = Tables::new(self.connect, self.options, looked, false);
                let swept = tables.sweep(&mut looked.target.session).err();
                warnings.extend(swept.map(|error| left_staged(&error)));
            }
            Err(error) => warnings.push(unwritten(decisions.table(), &error)),
        }
        let mut report = self.report(looked, Filled::default(), warnings);
        (report.rows, report.duplicates) = (before.rows, before.duplicates);
        report.notes.push(format!(
            "{} rows were in already, of a load of this input that was interrupted",
            before.rows
        ));
        Ok(report)
    }

    /// Rolls all branches back, of which none was decided on.
    fn give_up(
        &self,
        looked: &mut Looked,
        decisions: &Decisions,
        branches: Branches,
        append: &Append,
        error: Error,
    ) -> Error {
        let _shield = self.options.interrupt.shield();
        // What is not prepared ends with its connection.
        drop(branches);
        let target = looked.target.table.name.to_string();
        let cleaner = Cleaner { connect: self.connect, options: self.options, map: &looked.map };
        let head = &mut looked.target;
        let ended = pool::catch(|| {
            head.reconnect()?;
            let is_in = cleaner.end(&mut head.session, decisions, append)?;
            if !is_in {
                decisions.forget(&mut head.session, &append.job)?;
            }
            Ok(is_in)
        });
        match ended.and_then(|ended: Result<bool, Error>| ended) {
            Ok(false) => error,
            // Somebody has decided otherwise, which only a mistake of ours can have done.
            Ok(true) => Error::AllIn { error: Box::new(error), target },
            Err(left) => not_clean(error, &target, &left),
        }
    }
}

/// Has the head decide that the append is to be.
///
/// Errors: [`Error::Pending`] where it does not say whether it has; any other: it has not.
pub(super) fn decide(
    target: &mut Lock,
    decisions: &Decisions,
    append: &Append,
) -> Result<(), Error> {
    let name = target.table.name.to_string();
    let overtaken = || server::Error::Overtaken(name.clone()).into();
    let pending = |error: server::Error| Error::Pending {
        target: name.clone(),
        what: format!("the head does not say whether they are to be ({error})"),
    };
    let error = match decisions.decide(&mut target.session, append) {
        Ok(State::Begun | State::GivenUp) => return Err(overtaken()),
        Ok(_) => return Ok(()),
        Err(error) => error,
    };
    let _shield = target.session.options().interrupt.shield();
    target.reconnect().map_err(pending)?;
    match decisions.decide(&mut target.session, append) {
        Ok(State::Begun | State::GivenUp) => Err(overtaken()),
        Ok(_) => Ok(()),
        // It answers, and refuses: so there is no decision, unless it was the first time.
        Err(again) => match decisions.state(&mut target.session, &append.job).map_err(pending)? {
            State::Begun | State::GivenUp => Err(error.into()),
            _ => Err(pending(again)),
        },
    }
}

impl Branches {
    fn of(looked: &mut Looked) -> Result<Branches, Error> {
        let Lock { session, table, .. } = &mut looked.target;
        let home = branches::home(session, &table.name)?;
        let job = branches::job_name(&home, session.id());
        let shards = looked.map.shards.iter().enumerate();
        let branch = |(number, shard): (usize, &crate::map::Shard)| Branch {
            job: job.clone(),
            number,
            shard: shard.clone(),
        };
        let all: Vec<Branch> = shards.map(branch).collect();
        let open = all.iter().map(|_| Mutex::default()).collect();
        Ok(Branches { all, open })
    }

    fn make_marks(&self, connect: &ConnectOptions) -> Result<(), Error> {
        for branch in &self.all {
            let mut session = looked::session(&branch.shard, connect)?;
            branch.make_mark(&mut session).map_err(|error| looked::of(&branch.shard, error))?;
            failpoint::hit(&format!("branches.marked.{}", branch.number));
        }
        Ok(())
    }

    /// Sends the rows of a shard into its branch.
    fn load(
        &self,
        at: usize,
        connect: &ConnectOptions,
        options: &LoadOptions,
        source: Box<dyn Source>,
        progress: &dyn Progress,
    ) -> Result<Report, Error> {
        let options = &LoadOptions {
            mode: Mode::Append,
            with_others: WithOthers::Transaction,
            ..options.clone()
        };
        let target = format!("{}.{}", options.database, options.table);
        parts::job(connect, options, &target, progress, |connect, steps, _| {
            self.fill(at, connect, options, source, progress, steps)
        })
    }

    fn fill(
        &self,
        at: usize,
        connect: &ConnectOptions,
        options: &LoadOptions,
        mut source: Box<dyn Source>,
        progress: &dyn Progress,
        steps: &mut Steps<'_>,
    ) -> Result<Report, Error> {
        let branch = &self.all[at];
        let memory = input::adopt_part(options, &mut *source)?;
        // What waits is not told: the sender of that would live as long as the branch.
        let mut lock = parts::lock(Session::connect(connect)?, options, None)?;
        let chosen = choose_for_place(&mut lock, options, &memory, &mut *source)?;
        source.restart()?;
        let lacking = || Error::Internal("rows of a branch are to be built".to_owned());
        let landing = chosen.landing.clone().ok_or_else(lacking)?;
        let mut session = branch.begin(&mut lock)?;
        Transaction::include(&mut lock, &mut session, Mode::Append)?;
        let prepared = Prepared {
            options,
            progress,
            memory: &memory,
            inspected: &chosen.inspected,
            path: chosen.path,
            method: chosen.method,
            why: &chosen.why,
            one_partition: None,
        };
        let sent = send::run_within(&prepared, connect, landing, &mut lock, source, steps, session)
            .map_err(|error| held(error, &mut lock))?;
        let (mut report, mut session) = (sent.report, sent.session);
        failpoint::hit(&format!("branches.sent.{at}"));
        branch.end_rows(&mut session, report.rows)?;
        report.finish(&mut steps.stopwatch, Vec::new());
        *guard(&self.open[at]) = Some(Open { lock, session });
        Ok(report)
    }

    /// Does something with each branch, all at once.
    fn each(
        &self,
        place: &str,
        work: impl Fn(&Branch, &mut Open) -> server::Result<()> + Sync,
    ) -> Result<(), Error> {
        self.at_once(|branch, open| {
            failpoint::hit(place);
            let lacking = || Error::Internal("a branch has no connection".to_owned());
            let open = open.as_mut().ok_or_else(lacking)?;
            work(branch, open).map_err(|error| looked::of(&branch.shard, error))
        })
        .map(drop)
    }

    /// Begins each branch, all at once; gives the number of all their rows.
    fn open_each(&self, begin: &OpenBranch<'_>) -> Result<u64, Error> {
        let rows = self.at_once(|branch, open| {
            failpoint::hit("thread.staged");
            let (begun, rows) = begin(branch)?;
            *open = Some(begun);
            Ok(rows)
        })?;
        Ok(rows.into_iter().sum())
    }

    fn at_once<T: Send>(
        &self,
        work: impl Fn(&Branch, &mut Option<Open>) -> Result<T, Error> + Sync,
    ) -> Result<Vec<T>, Error> {
        let one = |(branch, open): (&Branch, &Mutex<Option<Open>>)| work(branch, &mut guard(open));
        let one = &one;
        let outcomes: Vec<Result<T, Error>> = std::thread::scope(|scope| {
            let all = self.all.iter().zip(&self.open);
            let threads: Vec<_> = all.map(|both| scope.spawn(move || one(both))).collect();
            let join = |thread: std::thread::ScopedJoinHandle<'_, _>| {
                thread.join().unwrap_or_else(|panic| Err(pool::internal(&*panic)))
            };
            threads.into_iter().map(join).collect()
        });
        outcomes.into_iter().collect()
    }

    /// Commits all of them, and ends their connections. What fails in it is met again by who looks whether all
    /// are in.
    pub(super) fn commit(self) {
        let _ = self.each("thread.commit", |branch, open| branch.commit(&mut open.session));
    }
}

/// A lock that did not come may be that of a prepared transaction, which has no connection to be named by.
pub(super) fn held(error: Error, lock: &mut Lock) -> Error {
    let is_lock = matches!(
        &error,
        Error::Server(error) if matches!(classify(error), Class::Again(Cause::LockWait))
    );
    let prepared = if is_lock { branches::names(&mut lock.session) } else { Ok(Vec::new()) };
    match prepared {
        Ok(prepared) if !prepared.is_empty() => {
            Error::Prepared { error: Box::new(error), prepared }
        }
        _ => error,
    }
}

pub(super) fn left(error: &Error, decisions: &Decisions) -> String {
    format!(
        "all rows are in, but what says so could not be removed ({error}): the next load does it, and the same \
         command would add nothing before; DROP TABLE {} has it add them once more",
        decisions.table().quoted()
    )
}

fn guard<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
