//! The way that a run of rows takes: the fastest first, the next one where that will not do.
//!
//! ```text
//! rows (the load engine) -> lanes (statements over several connections) -> serial (one after the other)
//! ```
//!
//! Which one is fit for a run can show at its last row: a value that LOAD DATA would not read as
//! INSERT does, a duplicate. Then the table is made anew and the run read again.

use std::sync::Arc;

use server::{ConnectOptions, Session, TableName};
use sources::sql::{RowRun, RunOptions};

use crate::error::Error;
use crate::options::{As, ReplayOptions};
use crate::progress::Watch;
use crate::state::State;
use crate::table::Shadow;
use crate::work::{Sent, Stopped, Work};
use crate::{lanes, rows, serial};

/// A run and where it goes.
pub(crate) struct Job {
    /// What the table is called in the end.
    pub(crate) table: TableName,
    /// The shadow that rows go to; None: the table itself.
    pub(crate) shadow: Option<Shadow>,
    /// Whether no rows are in there yet.
    pub(crate) is_empty: bool,
    /// What the dump's session is set to.
    pub(crate) state: Arc<State>,
    /// The rows.
    pub(crate) run: RowRun,
}

/// What runs share.
#[derive(Clone, Copy)]
pub(crate) struct Shared<'a> {
    pub(crate) connect: &'a ConnectOptions,
    pub(crate) options: &'a ReplayOptions,
    pub(crate) watch: &'a Watch,
    /// Runs that may be under way at once.
    pub(crate) jobs_max: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Rows,
    Lanes,
    Serial,
}

impl Way {
    fn name(self) -> &'static str {
        match self {
            Way::Rows => "rows",
            Way::Lanes => "lanes",
            Way::Serial => "serial",
        }
    }
}

/// Puts a run where it goes: all of it, or an error. A table that is no shadow is then as it was.
pub(crate) fn put(shared: Shared<'_>, job: Job) -> Result<Sent, Error> {
    let place = job.run.place();
    let work = Work {
        connect: shared.connect,
        options: shared.options,
        state: &job.state,
        head: place.head(),
        table: &job.table,
        into: job.shadow.as_ref().map_or(&job.table, |shadow| &shadow.name),
        is_shadow: job.shadow.is_some(),
        is_empty: job.is_empty,
        threads: shared.options.threads,
        memory_bytes_max: shared.options.memory_bytes_max / shared.jobs_max as u64,
        watch: shared.watch,
    };
    let ways: &[Way] = match shared.options.rows_as {
        As::Rows => &[Way::Rows, Way::Lanes, Way::Serial],
        As::Statements => &[Way::Lanes, Way::Serial],
    };
    let (mut run, mut notes) = (Some(job.run), Vec::new());
    for &way in ways {
        let run = match run.take() {
            Some(run) => run,
            None => {
                if let Some(shadow) = job.shadow.as_ref().filter(|_| job.is_empty) {
                    shadow.remake(&mut Session::connect(work.connect)?)?;
                }
                place.open(RunOptions::default())
            }
        };
        let outcome = match way {
            Way::Rows => rows::load(&work, run),
            Way::Lanes => lanes::send(&work, run),
            Way::Serial => serial::send(&work, run, &mut session(&work)?, false),
        };
        match outcome {
            Ok(mut sent) => {
                sent.notes.splice(..0, notes);
                return Ok(sent);
            }
            Err(Stopped::Unfit(why)) => notes.push(format!("not by {}: {why}", way.name())),
            Err(Stopped::Failed(error)) => return Err(error),
        }
    }
    Err(Error::Refused(format!("no way into {}: {}", job.table, notes.join("; "))))
}

/// A connection set to what the dump's is.
fn session(work: &Work<'_>) -> Result<Session, Error> {
    let mut session = Session::connect(work.connect)?;
    work.state.apply(&mut session)?;
    Ok(session)
}
