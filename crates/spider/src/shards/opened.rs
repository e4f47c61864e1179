//! Branches of one append: each gets the rows of its shard, on a connection of its own.

use locks::Mutex;

use encode::input;
use job::error::Error;
use job::failpoint;
use job::options::{LoadOptions, Mode, WithOthers};
use job::pool;
use job::progress::Progress;
use job::report::{Report, memory_peak_bytes};
use job::steps::Steps;
use load::parts;
use load::places::choose_for_place;
use send::RowLoad;
use send::retry::{Cause, Class, classify};
use server::{ConnectOptions, Session};
use sources::{Source, SourceExt as _};
use targets::{Lock, Transaction};

use super::inspection::{self, Inspection};
use crate::branches::{self, Branch};

/// A branch that has its rows.
pub(super) struct Open {
    /// No other load is at the shard's table.
    pub(super) lock: Lock,
    pub(super) session: Session,
}

/// Begins a branch with its rows; gives their number.
pub(super) type OpenBranch<'t> = dyn Fn(&Branch) -> Result<(Open, u64), Error> + Sync + 't;

/// The branches of one append.
pub(super) struct Branches {
    pub(super) all: Vec<Branch>,
    /// None before it has its rows.
    open: Vec<Mutex<Option<Open>>>,
}

impl Branches {
    pub(super) fn of(looked: &mut Inspection) -> Result<Branches, Error> {
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

    pub(super) fn make_marks(&self, connect: &ConnectOptions) -> Result<(), Error> {
        for branch in &self.all {
            let mut session = inspection::session(&branch.shard, connect)?;
            branch.make_mark(&mut session).map_err(|error| inspection::of(&branch.shard, error))?;
            failpoint::hit(&format!("branches.marked.{}", branch.number));
        }
        Ok(())
    }

    /// Sends the rows of a shard into its branch.
    pub(super) fn load(
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
        let target = options.target().to_string();
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
        let lacking = || Error::Internal("rows of a branch would be built".to_owned());
        let destination = chosen.destination.clone().ok_or_else(lacking)?;
        let mut session = branch.begin(&mut lock)?;
        Transaction::include(&mut lock, &mut session, Mode::Append)?;
        let prepared = chosen.prepared(options, progress, &memory);
        let load = RowLoad::new(&prepared, connect, destination);
        let sent = load
            .run_within(&mut lock, source, steps, session)
            .map_err(|error| held(error, &mut lock))?;
        let (mut report, mut session) = (sent.report, sent.session);
        failpoint::hit(&format!("branches.sent.{at}"));
        branch.end_rows(&mut session, report.rows)?;
        report.finish(&mut steps.stopwatch, memory_peak_bytes(), Vec::new());
        *self.open[at].lock() = Some(Open { lock, session });
        Ok(report)
    }

    /// Does something with each branch, all at once.
    pub(super) fn each(
        &self,
        place: &str,
        work: impl Fn(&Branch, &mut Open) -> server::Result<()> + Sync,
    ) -> Result<(), Error> {
        self.at_once(|branch, open| {
            failpoint::hit(place);
            let lacking = || Error::Internal("a branch has no connection".to_owned());
            let open = open.as_mut().ok_or_else(lacking)?;
            work(branch, open).map_err(|error| inspection::of(&branch.shard, error))
        })
        .map(drop)
    }

    /// Begins each branch, all at once; gives the number of all their rows.
    pub(super) fn open_each(&self, begin: &OpenBranch<'_>) -> Result<u64, Error> {
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
        let one = |(branch, open): (&Branch, &Mutex<Option<Open>>)| work(branch, &mut open.lock());
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

    /// Commits all of them, and ends their connections. Failures are met again by the check whether
    /// all are in.
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
