//! The way that a run of rows takes: the fastest first, the next one where that will not do.
//!
//! ```text
//! rows (the load engine) -> connections (statements over several connections) -> serial (one after the other)
//! ```
//!
//! Which one is fit for a run can show at its last row: a value that LOAD DATA would not read as
//! INSERT does, a duplicate. Then the table is made anew and the run read again.

use sources::ReadAs;
use std::sync::Arc;

use schema::TableName;
use server::{ConnectOptions, Session};
use sources::dump::{RowRun, RunPlace};
use sql::{InsertHead, ObjectName, Verb};

use crate::dump::TableRows;
use crate::error::Error;
use crate::filling::{Filling, Sent, Stopped};
use crate::journal::Spot;
use crate::options::{As, ReplayOptions};
use crate::progress::Watch;
use crate::session_question::LastNumber;
use crate::state::SessionState;
use crate::table::StagingTable;
use crate::under_way::UnderWay;
use crate::{connections, delimited, dry, rows, serial};

/// Rows and where they go.
pub(crate) struct Job {
    /// The table's final name.
    pub(crate) table: TableName,
    /// The staging table that rows go to; None: the table itself.
    pub(crate) staging: Option<StagingTable>,
    /// True if it has no rows yet.
    pub(crate) is_empty: bool,
    /// State of the dump's session.
    pub(crate) state: Arc<SessionState>,
    /// Where the dump has them.
    pub(crate) spot: Spot,
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

impl Input {
    /// Bytes of files that have nothing else in them.
    pub(crate) fn file_bytes(&self) -> u64 {
        match self {
            Input::Run(_) => 0,
            Input::Files(rows) => rows.bytes().unwrap_or(0),
        }
    }
}

/// State shared by runs.
#[derive(Clone, Copy)]
pub(crate) struct Shared<'a> {
    pub(crate) connect: &'a ConnectOptions,
    pub(crate) options: &'a ReplayOptions,
    pub(crate) watch: &'a Watch,
    /// Runs that may be under way at once.
    pub(crate) jobs_max: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Route {
    Rows,
    Connections,
    Serial,
}

impl Route {
    fn name(self) -> &'static str {
        match self {
            Route::Rows => "rows",
            Route::Connections => "parallel",
            Route::Serial => "serial",
        }
    }
}

/// Puts rows where they go: all of them, or an error. A table that is no staging table is then as it was.
pub(crate) fn put(shared: Shared<'_>, job: Job, under_way: &UnderWay) -> Result<Sent, Stopped> {
    let Job { table, staging, is_empty, state, spot, input } = job;
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
    let filling = Filling {
        connect: &connect,
        options: shared.options,
        state: &state,
        head: place.as_ref().map_or(&no_head, RunPlace::head),
        table: &table,
        into: staging.as_ref().map_or(&table, |staging| &staging.name),
        is_staging: staging.is_some(),
        is_empty,
        spot,
        memory_bytes_max: shared.options.memory_bytes_max / shared.jobs_max as u64,
        watch: shared.watch,
        under_way: Some(under_way),
    };
    let anew = || match staging.as_ref().filter(|_| is_empty) {
        Some(staging) => {
            staging.remake(&mut Session::connect(filling.connect)?).map_err(Error::from)
        }
        None => Ok(()),
    };
    match (input, &place) {
        (Input::Run(run), Some(place)) => {
            let mut run = Some(*run);
            let again = || run.take().unwrap_or_else(|| place.open(ReadAs::default()));
            runs(&filling, again, anew)
        }
        (Input::Files(rows), _) => files(&filling, &rows, anew),
        (Input::Run(_), None) => Err(Error::Refused("a run without a position".to_owned()).into()),
    }
}

/// INSERTs: `again` gives the run, from its beginning each time, `anew` empties the table.
fn runs(
    filling: &Filling<'_>,
    mut again: impl FnMut() -> RowRun,
    anew: impl Fn() -> Result<(), Error>,
) -> Result<Sent, Stopped> {
    let is_of_system = schema::is_system_schema(&filling.table.database);
    let routes: &[Route] = match filling.options.rows_as {
        // What connections have sent before they give up could not be told from the rows before.
        _ if filling.is_staging
            && !filling.is_empty
            && !is_parallel_to_the_end(filling, again()) =>
        {
            &[Route::Serial]
        }
        As::Rows if filling.is_empty && !is_of_system => {
            &[Route::Rows, Route::Connections, Route::Serial]
        }
        As::Rows | As::Statements => &[Route::Connections, Route::Serial],
    };
    first(filling, routes, anew, |route| match route {
        Route::Rows => rows::load(filling, again()),
        Route::Connections => connections::send(filling, again()),
        Route::Serial if again().asks_session()? => Err(Stopped::AsksSession(Vec::new())),
        // Rows that are left to this ask nothing.
        Route::Serial => {
            let last = LastNumber::default();
            serial::send(filling, again(), &mut session(filling)?, false, &last)
        }
    })
}

/// True if connections that begin with a run also end with it: plain rows, none of which takes the place of another.
fn is_parallel_to_the_end(filling: &Filling<'_>, run: RowRun) -> bool {
    filling.head.verb == Verb::Insert && matches!(dry::count(run), Ok(Some(_)))
}

/// Delimited files, which have no statements.
fn files(
    filling: &Filling<'_>,
    rows: &TableRows,
    anew: impl Fn() -> Result<(), Error>,
) -> Result<Sent, Stopped> {
    let routes: &[Route] = match schema::is_system_schema(&filling.table.database) {
        true => &[Route::Serial],
        false => &[Route::Rows, Route::Serial],
    };
    first(filling, routes, anew, |route| match route {
        Route::Rows => delimited::load(filling, rows),
        Route::Connections | Route::Serial => {
            delimited::serial(filling, rows, &mut session(filling)?)
        }
    })
}

/// The first way that will do; the table is made anew before each but the first.
fn first(
    filling: &Filling<'_>,
    routes: &[Route],
    anew: impl Fn() -> Result<(), Error>,
    mut go: impl FnMut(Route) -> Result<Sent, Stopped>,
) -> Result<Sent, Stopped> {
    let mut notes = Vec::new();
    for (index, &route) in routes.iter().enumerate() {
        if index > 0 {
            anew()?;
        }
        match go(route) {
            Ok(mut sent) => {
                sent.notes.splice(..0, notes);
                return Ok(sent);
            }
            // Statement by statement, all that can go in do.
            Err(Stopped::Failed(error))
                if index + 1 < routes.len() && filling.options.passes_over(&error) =>
            {
                notes.push(format!("not with {}: {error}", route.name()));
            }
            Err(Stopped::Unfit(why)) => notes.push(format!("not with {}: {why}", route.name())),
            Err(Stopped::AsksSession(_)) => return Err(Stopped::AsksSession(notes)),
            Err(stopped) => return Err(stopped),
        }
    }
    Err(Error::Refused(format!("no method can load {}: {}", filling.table, notes.join("; ")))
        .into())
}

/// A connection set to what the dump's is.
fn session(filling: &Filling<'_>) -> Result<Session, Error> {
    let mut session = Session::connect(filling.connect)?;
    filling.state.apply(&mut session)?;
    Ok(session)
}
