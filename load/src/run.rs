//! A load from its beginning to its end, whichever way it takes.

use std::sync::mpsc::{Sender, channel};

use encode::input;
use encode::prepared::Prepared;
use job::error::Error;
use job::failpoint;
use job::memory::Memory;
use job::options::LoadOptions;
use job::progress::{Progress, Stage};
use job::report::Report;
use job::steps::Steps;
use schema::TableName;
use send::Way;
use server::{ConnectOptions, Direct, Lock, Session, catalog};
use sources::Source;

use crate::ddl::{self, Made};
use crate::ladder::{self, Purpose, Rung};
use crate::plan;
use crate::speeds::Speeds;

/// Loads files into a table: all of it, or nothing.
///
/// Errors leave the target as it was, unless they say how many rows were appended.
pub fn load(
    connect: &ConnectOptions,
    options: &LoadOptions,
    progress: &dyn Progress,
) -> Result<Report, Error> {
    let (memory, source) = input::open_files(options)?;
    load_input(connect, options, progress, &memory, source)
}

/// The same with the rows of a source that nothing was read of yet, in place of files. Of the
/// options, those about files and what is in them are the source's own: `files`, `dialect`,
/// `header`, `skip_lines` and `encoding`.
///
/// Any number of loads may run at once in one process: into tables of their own, each with its own
/// memory and temporary files.
///
/// Errors: as [`load`]; rows that are no plain literals ([`Error::is_not_plain`]).
pub fn load_from(
    connect: &ConnectOptions,
    options: &LoadOptions,
    mut source: Box<dyn Source>,
    progress: &dyn Progress,
) -> Result<Report, Error> {
    let (memory, options) = input::adopt(options, &mut *source)?;
    load_input(connect, &options, progress, &memory, source)
}

fn load_input(
    connect: &ConnectOptions,
    options: &LoadOptions,
    progress: &dyn Progress,
    memory: &Memory,
    source: Box<dyn Source>,
) -> Result<Report, Error> {
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
        run(&connect, options, progress, memory, source, &mut steps, told)
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
    mut source: Box<dyn Source>,
    steps: &mut Steps<'_>,
    told: Sender<String>,
) -> Result<Report, Error> {
    let (mut target, made, rung) = steps.step_or_undo(
        Stage::Inspect,
        || inspect(connect, options, memory, &mut *source, &told),
        |(mut target, made, _)| undo(&mut target, &made, options),
    )?;
    let Rung { path, why, inspected, landing } = &rung;
    let prepared = Prepared { options, progress, memory, inspected, path: *path, why };
    let outcome = match landing.clone() {
        Some(landing) => {
            let sent = send::run(&prepared, connect, landing, &mut target, source, steps);
            sent.map_err(|error| {
                let _shield = options.interrupt.shield();
                (error, target.abandon())
            })
        }
        None => {
            let mut direct = Direct::new(&mut target);
            direct::run(&prepared, &mut direct, source, steps).map_err(|error| {
                let _shield = options.interrupt.shield();
                (error, direct.abandon())
            })
        }
    };
    match outcome {
        Ok(mut report) => {
            let way = rung.landing.as_ref().map(|landing| landing.way);
            report.warnings.extend(forget_ledger(&mut target, options, way));
            Speeds::remember(&options.state_dir, rung.path, &report);
            Ok(report)
        }
        Err((error, cleaned)) => {
            let _shield = options.interrupt.shield();
            made.undo(&mut target.session);
            Err(match error {
                error @ Error::Appended { .. } => error,
                error => error.in_step(steps.stage.name(), &target, cleaned),
            })
        }
    }
}

/// Takes the target, chooses the way into it, and removes what a killed load left.
fn inspect(
    connect: &ConnectOptions,
    options: &LoadOptions,
    memory: &Memory,
    source: &mut dyn Source,
    told: &Sender<String>,
) -> Result<(Lock, Made, Rung), Error> {
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
/// rows are gone or whose rest is in now. Gives a warning where that cannot be done and rows are
/// sent in such a `way` that there is one.
fn forget_ledger(target: &mut Lock, options: &LoadOptions, way: Option<Way>) -> Option<String> {
    let _shield = options.interrupt.shield();
    failpoint::hit("ledger.done");
    let ledger = target.names.ledger.clone();
    let mut outcome = drop_ledger(target, &ledger);
    if outcome.as_ref().is_err_and(server::Error::is_cut) {
        outcome = drop_ledger(target, &ledger);
    }
    let (error, way) = (outcome.err()?, way?);
    let then = match way {
        // With all its portions in, it cannot be told from one of a load that was interrupted.
        Way::Append => format!(
            "no other input can be added before: DROP TABLE {}; the same command would add nothing",
            ledger.quoted()
        ),
        Way::Shadow | Way::Transaction => "the next load removes it".to_owned(),
    };
    Some(format!("all rows are in, but the ledger {ledger} could not be removed ({error}): {then}"))
}

fn drop_ledger(target: &mut Lock, ledger: &TableName) -> server::Result<()> {
    target.reconnect()?;
    if catalog::exists(&mut target.session, ledger)? {
        target.session.exec(&format!("DROP TABLE IF EXISTS {}", ledger.quoted()))?;
    }
    Ok(())
}

/// Takes back what a load made that ends before its shadow.
fn undo(target: &mut Lock, made: &Made, options: &LoadOptions) {
    let _shield = options.interrupt.shield();
    // Where the server has gone, the error that is reported says so.
    let _ = target.reconnect();
    made.undo(&mut target.session);
}
