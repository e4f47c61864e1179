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

use std::time::Duration;

use job::error::Error;
use job::failpoint;
use job::options::LoadOptions;
use job::pool;
use job::progress::{Progress, Stage};
use job::publish::{publish, unwritten};
use job::report::Report;
use job::tally;
use server::ConnectOptions;
use sources::Source;

use super::cleaned::Cleaner;
use super::filled::{Filled, Loads};
use super::inspection::Inspection;
use super::opened::{Branches, OpenBranch};
use super::published::{Decision, is_of_branches, left};
use super::tables::Tables;
use super::{Sharded, left_staged};
use crate::branches;
use crate::decisions::{Append, Decisions, State};

/// Where the rows are that are added.
pub(super) enum Rows<'t> {
    /// In the input.
    Of(Box<dyn Source>),
    /// In new tables beside those that get them: so many, and what takes those of one shard into its branch.
    Staged(Filled, &'t OpenBranch<'t>),
}

impl Sharded<'_, '_> {
    /// Adds the rows to all shards, or to none.
    pub(super) fn append(
        &mut self,
        looked: &mut Inspection,
        rows: Rows<'_>,
    ) -> Result<Report, Error> {
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
            self.steps.step(Stage::Staging, || {
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
                    "the commits of all shards took {:.1} ms; meanwhile readers could see the new \
                     rows of some shards only",
                    seen.as_secs_f64() * 1000.0
                ));
                Ok(report)
            }
            // Nothing is decided.
            (Err(error), Some(branches)) if !is_of_branches(&error) => {
                Err(self.give_up(looked, &decisions, branches, &append, error))
            }
            (Err(error), _) => Err(error),
        }
    }

    /// The rows are in already, of this very command.
    fn were_in(
        &mut self,
        looked: &mut Inspection,
        decisions: &Decisions,
        before: &Append,
    ) -> Result<Report, Error> {
        let mut warnings = self.steps.last_step(Stage::Publish, || Ok(()))?;
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
            "an interrupted load of this input had loaded {} rows already",
            before.rows
        ));
        Ok(report)
    }

    /// Rolls all branches back, of which none was decided on.
    fn give_up(
        &self,
        looked: &mut Inspection,
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
            Err(left) => not_ended(error, &target, &left),
        }
    }
}

/// The error of an append with prepared branches on shards that could not be reached.
fn not_ended(error: Error, target: &str, left: &Error) -> Error {
    let state = format!(
        "{target} is unchanged; rows that this load had prepared may stay locked on that shard until \
         a load of the table, from any machine, rolls them back ({left})"
    );
    Error::Step { step: Stage::Compare.name(), error: Box::new(error), state, clean: false }
}
