//! A load from its beginning to its end, whichever way it takes.

use std::sync::mpsc::{Sender, channel};

use server::{ConnectOptions, Session, Table, Target};
use sources::FileSource;

use crate::ddl::{self, Made};
use crate::direct;
use crate::error::Error;
use crate::ladder::{self, Purpose, Rung};
use crate::logical;
use crate::memory::Memory;
use crate::options::{LoadOptions, LoadPath};
use crate::plan;
use crate::progress::{Progress, Stage};
use crate::report::Report;
use crate::steps::Steps;

/// What both ways work by.
#[derive(Clone, Copy)]
pub(crate) struct Job<'a> {
    pub(crate) options: &'a LoadOptions,
    pub(crate) progress: &'a dyn Progress,
    pub(crate) memory: &'a Memory,
    /// The way, and what was seen from it.
    pub(crate) rung: &'a Rung,
}

/// Loads files into a table: all of it, or nothing.
///
/// Errors leave the target as it was, unless they say how many rows were appended.
pub fn load(
    connect: &ConnectOptions,
    options: &LoadOptions,
    progress: &dyn Progress,
) -> Result<Report, Error> {
    let (memory, source) = direct::open(options)?;
    let connect = ConnectOptions {
        interrupt: options.interrupt.clone(),
        time_zone: options.time_zone.clone().or_else(|| connect.time_zone.clone()),
        ..connect.clone()
    };
    let _watcher = options.interrupt.watch(&connect);
    let mut steps = Steps::begin(
        &options.state_dir,
        &format!("{}.{}", options.database, options.table),
        progress,
        options.interrupt.clone(),
    )?;
    let outcome = std::thread::scope(|scope| {
        let (told, waits) = channel();
        // Ends with the target, which has the other end.
        scope.spawn(move || waits.iter().for_each(|text: String| progress.waiting(&text)));
        run(&connect, options, progress, &memory, source, &mut steps, told)
    })
    .map_err(|error| steps.explain(error));
    steps.end(&outcome);
    outcome
}

fn run(
    connect: &ConnectOptions,
    options: &LoadOptions,
    progress: &dyn Progress,
    memory: &Memory,
    mut source: FileSource,
    steps: &mut Steps<'_>,
    told: Sender<String>,
) -> Result<Report, Error> {
    let (mut target, made, rung) = steps.step_or_undo(
        Stage::Inspect,
        || inspect(connect, options, memory, &mut source, &told),
        |(mut target, made, _)| undo(&mut target, &made, options),
    )?;
    // From here on the dialect is the one that knows the table.
    let dialect = rung.inspected.dialect.clone();
    let options = &LoadOptions { dialect, ..options.clone() };
    let job = Job { options, progress, memory, rung: &rung };
    let outcome = match rung.path {
        LoadPath::Stream | LoadPath::Insert => {
            logical::run(&job, connect, &mut target, source, steps)
        }
        LoadPath::Auto | LoadPath::Direct => direct::run(&job, &mut target, source, steps),
    };
    let outcome = outcome.map(|mut report| {
        report.warnings.extend(forget_ledger(&mut target, options));
        report
    });
    outcome.map_err(|error| {
        let _shield = options.interrupt.shield();
        let cleaned = target.abandon();
        made.undo(&mut target.session);
        match error {
            error @ Error::Appended { .. } => error,
            error => error.in_step(steps.stage.name(), &target, cleaned),
        }
    })
}

/// Takes the target, chooses the way into it, and removes what a killed load left.
fn inspect(
    connect: &ConnectOptions,
    options: &LoadOptions,
    memory: &Memory,
    source: &mut FileSource,
    told: &Sender<String>,
) -> Result<(Target, Made, Rung), Error> {
    let mut session = Session::connect(connect)?;
    let made = ddl::make_table(&mut session, options)?;
    let mut target = match plan::lock(session, options, Some(told)) {
        Ok(target) => target,
        Err(error) => {
            let _shield = options.interrupt.shield();
            if let Ok(mut session) = Session::connect(connect) {
                made.undo(&mut session);
            }
            return Err(error);
        }
    };
    let climbed = ladder::climb(&mut target, options, memory, source, Purpose::Load);
    match climbed.and_then(|climbed| climbed.require(&target, options)) {
        Ok(rung) => Ok((target, made, rung)),
        Err(error) => {
            undo(&mut target, &made, options);
            Err(error)
        }
    }
}

/// Removes the ledger: of a load that is done, and of those before it that were interrupted, whose
/// rows are gone or whose rest is in now. Gives what has to be said if it is still there: the same
/// command again would take its rows for those of a load that it goes on with.
fn forget_ledger(target: &mut Target, options: &LoadOptions) -> Option<String> {
    let _shield = options.interrupt.shield();
    let ledger = target.names.ledger.clone();
    let mut forget = || {
        target.reconnect()?;
        if Table::exists(&mut target.session, &ledger)? {
            target.session.exec(&format!("DROP TABLE IF EXISTS {}", ledger.quoted()))?;
        }
        Ok::<(), server::Error>(())
    };
    let error = forget().err()?;
    Some(format!(
        "the load's ledger, {ledger}, could not be dropped, and a load of the same files into this \
         table would leave out the rows it names; if it is there, drop it: {error}"
    ))
}

/// Takes back what a load made that ends before its shadow.
fn undo(target: &mut Target, made: &Made, options: &LoadOptions) {
    let _shield = options.interrupt.shield();
    // Where the server has gone, the error that is reported says so.
    let _ = target.reconnect();
    made.undo(&mut target.session);
}
