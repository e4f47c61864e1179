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
use sources::sql::{InsertHead, ObjectName, RowRun, RunOptions, RunPlace, Verb};

use crate::dump::TableRows;
use crate::error::Error;
use crate::options::{As, ReplayOptions};
use crate::progress::Watch;
use crate::state::State;
use crate::table::Shadow;
use crate::work::{Sent, Stopped, Work};
use crate::{delimited, dry, lanes, rows, serial};

/// Rows and where they go.
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
    pub(crate) input: Input,
}

/// Rows of one table.
pub(crate) enum Input {
    /// INSERTs.
    Run(Box<RowRun>),
    /// Delimited files.
    Files(Box<TableRows>),
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

/// Puts rows where they go: all of them, or an error. A table that is no shadow is then as it was.
pub(crate) fn put(shared: Shared<'_>, job: Job) -> Result<Sent, Stopped> {
    let Job { table, shadow, is_empty, state, input } = job;
    let no_head = InsertHead {
        verb: Verb::Insert,
        table: ObjectName::default(),
        columns: None,
        text: Vec::new(),
    };
    let place = match &input {
        Input::Run(run) => Some(run.place()),
        Input::Files(_) => None,
    };
    // Whatever is written of these rows is as the dump has it, whoever sends them.
    let connect = ConnectOptions { settings: state.written(), ..shared.connect.clone() };
    let work = Work {
        connect: &connect,
        options: shared.options,
        state: &state,
        head: place.as_ref().map_or(&no_head, RunPlace::head),
        table: &table,
        into: shadow.as_ref().map_or(&table, |shadow| &shadow.name),
        is_shadow: shadow.is_some(),
        is_empty,
        threads: shared.options.threads,
        memory_bytes_max: shared.options.memory_bytes_max / shared.jobs_max as u64,
        watch: shared.watch,
    };
    let anew = || match shadow.as_ref().filter(|_| is_empty) {
        Some(shadow) => shadow.remake(&mut Session::connect(work.connect)?).map_err(Error::from),
        None => Ok(()),
    };
    match (input, &place) {
        (Input::Run(run), Some(place)) => {
            let mut run = Some(*run);
            let again = || run.take().unwrap_or_else(|| place.open(RunOptions::default()));
            runs(&work, again, anew)
        }
        (Input::Files(rows), _) => files(&work, &rows, anew),
        (Input::Run(_), None) => Err(Error::Refused("a run without a place".to_owned()).into()),
    }
}

/// INSERTs: `again` gives the run, from its beginning each time, `anew` empties the table.
fn runs(
    work: &Work<'_>,
    mut again: impl FnMut() -> RowRun,
    anew: impl Fn() -> Result<(), Error>,
) -> Result<Sent, Stopped> {
    let ways: &[Way] = match work.options.rows_as {
        // What lanes have sent before they give up could not be told from the rows before.
        _ if work.is_shadow && !work.is_empty && !is_lanes_to_the_end(work, again()) => {
            &[Way::Serial]
        }
        As::Rows if work.is_empty => &[Way::Rows, Way::Lanes, Way::Serial],
        As::Rows | As::Statements => &[Way::Lanes, Way::Serial],
    };
    first(work, ways, anew, |way| match way {
        Way::Rows => rows::load(work, again()),
        Way::Lanes => lanes::send(work, again()),
        Way::Serial if again().asks_session()? => Err(Stopped::AsksSession(Vec::new())),
        Way::Serial => serial::send(work, again(), &mut session(work)?, false),
    })
}

/// Whether lanes that begin with a run also end with it: plain rows, none of which takes the place
/// of another.
fn is_lanes_to_the_end(work: &Work<'_>, run: RowRun) -> bool {
    work.head.verb == Verb::Insert && matches!(dry::count(run), Ok(Some(_)))
}

/// Delimited files, which have no statements.
fn files(
    work: &Work<'_>,
    rows: &TableRows,
    anew: impl Fn() -> Result<(), Error>,
) -> Result<Sent, Stopped> {
    first(work, &[Way::Rows, Way::Serial], anew, |way| match way {
        Way::Rows => delimited::load(work, rows),
        Way::Lanes | Way::Serial => delimited::serial(work, rows, &mut session(work)?),
    })
}

/// The first way that will do; the table is made anew before each but the first.
fn first(
    work: &Work<'_>,
    ways: &[Way],
    anew: impl Fn() -> Result<(), Error>,
    mut go: impl FnMut(Way) -> Result<Sent, Stopped>,
) -> Result<Sent, Stopped> {
    let mut notes = Vec::new();
    for (index, &way) in ways.iter().enumerate() {
        if index > 0 {
            anew()?;
        }
        match go(way) {
            Ok(mut sent) => {
                sent.notes.splice(..0, notes);
                return Ok(sent);
            }
            // Statement by statement, all that can go in do.
            Err(Stopped::Failed(error))
                if work.options.force && index + 1 < ways.len() && error.is_passed_over() =>
            {
                notes.push(format!("not by {}: {error}", way.name()));
            }
            Err(Stopped::Unfit(why)) => notes.push(format!("not by {}: {why}", way.name())),
            Err(Stopped::AsksSession(_)) => return Err(Stopped::AsksSession(notes)),
            Err(stopped) => return Err(stopped),
        }
    }
    Err(Error::Refused(format!("no way into {}: {}", work.table, notes.join("; "))).into())
}

/// A connection set to what the dump's is.
fn session(work: &Work<'_>) -> Result<Session, Error> {
    let mut session = Session::connect(work.connect)?;
    work.state.apply(&mut session)?;
    Ok(session)
}
