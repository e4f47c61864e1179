//! All rows of several tables in one transaction.
//!
//! ```text
//! begin, hold all -> rows of a -> rows of b -> ..  -> COMMIT        over one connection
//! ```
//!
//! Nobody sees a row before COMMIT, and a connection that breaks takes all of them back. Tables that keep
//! no rows are held empty, as they were described, from the beginning on: later a table would be waited for
//! while others wait for those before it. Each other table is held as it was described from its first row on.

use std::time::{Duration, Instant};

use job::error::Error;
use job::failpoint;
use job::options::Mode;
use job::pool;
use job::progress::{Progress, Stage};
use job::publish::publish;
use job::report::Report;
use job::steps::Steps;
use schema::TableName;
use send::{RowLoad, Uncommitted};
use server::{ConnectOptions, Session};
use targets::{Lock, Transaction};

use super::inspection::InspectedTables;
use super::part::{Ended, Part};
use super::pipeline::give_up;
use super::publish::finish;
use crate::connections::SharedConnections;
use crate::forecast::Forecast;
use crate::publish::RowCommit;

/// Between two looks whether the connection is there that holds the tables.
const LOOK: Duration = Duration::from_secs(1);

/// The transaction that all rows go into.
struct Open {
    transaction: Transaction,
    /// The connection that it is on.
    session: Session,
    /// When the other connection was there.
    looked: Instant,
}

/// Loads all tables; gives their reports, and what did not work after that.
///
/// Errors: all are as they were. [`server::Error::CommitUnknown`]: all have their rows, or none.
pub(super) fn load(
    connect: &ConnectOptions,
    inspected: InspectedTables,
    told: &str,
    steps: &mut Steps<'_>,
    progress: &dyn Progress,
) -> Result<(Vec<Report>, Vec<String>), Error> {
    let InspectedTables { mut parts, mut connections, keeper, .. } = inspected;
    let mut reports = Vec::new();
    let mut open = match begin(&mut parts, &mut connections) {
        Ok(open) => open,
        Err(ended) => return Err(undone(parts, connections, ended)),
    };
    for at in 0..parts.len() {
        progress.table(&parts[at].name(), at + 1, parts.len());
        match fill(connect, &mut parts[at], &mut connections, open, steps, progress) {
            Ok((report, now_open)) => {
                reports.push(report);
                open = now_open;
            }
            Err(ended) => return Err(undone(parts, connections, ended)),
        }
    }
    steps.stage = Stage::Rows;
    let flavor = open.session.version().flavor;
    match commit(&mut parts, &mut connections, open, told, steps) {
        Ok(warnings) => {
            // Numbers go on with a gap otherwise, and reports lack times, no more.
            let _ = pool::catch(|| number(&mut parts, &mut connections));
            drop(keeper);
            finish(&mut parts, &mut reports, flavor);
            Ok((reports, warnings))
        }
        // The proof stays.
        Err(error) if error.is_unknown() => Err(error),
        Err(error) => {
            let ended = Ended::plainly(told.to_owned(), Stage::Publish.name(), error);
            Err(undone(parts, connections, ended))
        }
    }
}

/// Begins the transaction, which holds all tables that keep no rows.
fn begin(parts: &mut [Part], connections: &mut SharedConnections) -> Result<Open, Ended> {
    let ended = |name, error| Ended::plainly(name, Stage::Rows.name(), error);
    let begun = connections.at(&mut parts[0].target, |lock| {
        pool::catch(|| {
            failpoint::hit("transaction.begin");
            lock.reconnect()?;
            Ok(Transaction::begin(lock, Mode::Append)?)
        })
        .flatten()
    });
    let (transaction, mut session) = begun.map_err(|error| ended(parts[0].name(), error))?;
    let is_empty = |part: &&Part| part.options.mode != Mode::Append;
    let empty = parts.iter().filter(is_empty).filter_map(|part| part.target.as_ref());
    let held = Transaction::include_empty(&empty.collect::<Vec<_>>(), &mut session);
    held.map_err(|failed| {
        let (name, error) = *failed;
        ended(name.to_string(), error.into())
    })?;
    Ok(Open { transaction, session, looked: Instant::now() })
}

/// Has one table filled.
fn fill(
    connect: &ConnectOptions,
    part: &mut Part,
    connections: &mut SharedConnections,
    open: Open,
    steps: &Steps<'_>,
    progress: &dyn Progress,
) -> Result<(Report, Open), Ended> {
    let forecast = Forecast::new(progress);
    let mut steps = steps.of_table(&part.options.database, &part.options.table, &forecast);
    steps.stage = Stage::Rows;
    std::mem::swap(&mut steps.stopwatch, &mut part.stopwatch);
    let mut target = part.target.take();
    let filled = connections.at(&mut target, |lock| {
        pool::catch(|| rows(connect, part, lock, open, &mut steps, &forecast)).flatten()
    });
    part.target = target;
    steps.stopwatch.stop();
    std::mem::swap(&mut steps.stopwatch, &mut part.stopwatch);
    filled.map_err(|error| Ended::plainly(part.name(), steps.stage.name(), error))
}

/// Has the rows of one table go in with those before.
fn rows(
    connect: &ConnectOptions,
    part: &mut Part,
    lock: &mut Lock,
    open: Open,
    steps: &mut Steps<'_>,
    forecast: &Forecast<'_>,
) -> Result<(Report, Open), Error> {
    let lacks = |what: &str| Error::Internal(format!("{} has no {what}", lock.table.name));
    let destination = part.chosen.destination.clone().ok_or_else(|| lacks("destination"))?;
    let source = part.source.take().ok_or_else(|| lacks("source"))?;
    let Open { transaction, mut session, mut looked } = open;
    if looked.elapsed() >= LOOK {
        lock.reconnect()?;
        looked = Instant::now();
    }
    // All others are held since the transaction began.
    if part.options.mode == Mode::Append {
        Transaction::include(lock, &mut session, Mode::Append)?;
    }
    forecast.expect(std::mem::take(&mut part.chosen.expected));
    let Part { options, memory, chosen, .. } = part;
    let prepared = chosen.prepared(options, forecast, memory);
    let source = source.into_inner();
    let load = RowLoad::new(&prepared, connect, destination);
    let sent = load.run_within(lock, source, steps, session)?;
    part.next_number = sent.next_number;
    Ok((sent.report, Open { transaction, session: sent.session, looked }))
}

/// Has the rows of all stay; gives what did not work after that.
fn commit(
    parts: &mut [Part],
    connections: &mut SharedConnections,
    Open { transaction, session, .. }: Open,
    told: &str,
    steps: &mut Steps<'_>,
) -> Result<Vec<String>, Error> {
    let left = parts.iter().filter_map(|part| part.target.as_ref().filter(|one| !one.is_swept()));
    let ledgers = left.map(|target| target.names.ledger.clone()).collect();
    // Those of each table go on behind it.
    let (next_number, restarts_numbers) = (None, false);
    let rows = Uncommitted { transaction, session: Some(session), next_number, restarts_numbers };
    connections.at(&mut parts[0].target, |lock| {
        let mut commit = RowCommit { target: told.to_owned(), lock, rows, ledgers };
        let mut warnings = publish(steps, &mut commit)?;
        warnings.append(&mut commit.lock.remarks);
        Ok(warnings)
    })
}

/// Has numbers go on where LOAD DATA would have left them. Where that cannot be done they go on without
/// a gap, which is not worth a word.
fn number(parts: &mut [Part], connections: &mut SharedConnections) {
    let wanted = |part: &Part| Some((part.target.as_ref()?.table.name.clone(), part.next_number?));
    let wanted: Vec<(TableName, u64)> = parts.iter().filter_map(wanted).collect();
    let behind = connections.at(&mut parts[0].target, |lock| {
        Ok::<_, Error>(targets::transaction::behind(lock, &wanted)?)
    });
    let behind = behind.unwrap_or_default();
    for part in parts {
        let is_behind =
            part.target.as_ref().is_some_and(|target| behind.contains(&target.table.name));
        let Some(next) = part.next_number.filter(|_| is_behind) else { continue };
        let _ = connections
            .at(&mut part.target, |lock| Ok::<_, Error>(targets::transaction::number(lock, next)?));
    }
}

/// Removes what is left of a transaction whose connection is gone, and gives the error with what came
/// of that.
fn undone(mut parts: Vec<Part>, mut connections: SharedConnections, mut ended: Ended) -> Error {
    let abandoned = connections.at(&mut parts[0].target, |lock| Ok::<_, Error>(lock.abandon()));
    if let Ok(cleaned) = abandoned {
        ended.failed.cleaned = cleaned;
    }
    give_up(parts, connections, ended)
}
