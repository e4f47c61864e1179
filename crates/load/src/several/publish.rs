//! All tables take their places, by one statement.

use locks::Mutex;

use job::error::Error;
use job::pool;
use job::progress::Stage;
use job::report::{Report, memory_peak_bytes};
use job::steps::Steps;
use schema::{Flavor, TableName};
use targets::publish::{Filled as Published, Ready};

use super::part::{At, Ended, Part};
use super::pipeline::{Filled, give_up};
use crate::connections::SharedConnections;
use crate::copies::Copies;
use crate::fill::{NOTED_SECONDS, add_waits};
use crate::publish::TableSwap;
use crate::speeds::Speeds;

/// Publishes all; gives their reports, and what did not work after that.
///
/// Errors: all are the old tables. [`Error::SwapUnknown`]: all are the old ones, or all the new ones.
pub(super) fn publish(
    filled: Filled,
    copies: Option<&Mutex<Copies>>,
    told: &str,
    steps: &mut Steps<'_>,
) -> Result<(Vec<Report>, Vec<String>), Error> {
    let Filled { mut parts, connections, keeper } = filled;
    let (mut ready, mut reports) = taken(&mut parts)?;
    let ledgers: Vec<TableName> = ready.iter().map(|one| one.target.names.ledger.clone()).collect();
    let others = ready.split_off(1);
    let Some((first, connections)) = ready.pop().zip(connections.into_inner()) else {
        return Err(Error::Internal("there is no table to publish".to_owned()));
    };
    let (mut lock, made) = first.work(connections);
    let options = parts[0].options.clone();
    let mut all = Published::by(&mut lock, made).with(others);
    let mut copies = copies.map(|copies| copies.lock());
    let mut swap = TableSwap {
        target: told.to_owned(),
        filled: &mut all,
        copies: copies.as_deref_mut(),
        options: &options,
        ledgers: (ledgers, Some("the next load of each table removes its leftovers")),
        swapped: None,
    };
    match job::publish::publish(steps, &mut swap) {
        Ok(mut warnings) => {
            // What was noticed at the swap; what was before it is in the reports.
            warnings.append(&mut lock.remarks);
            drop(keeper);
            finish(&mut parts, &mut reports, lock.session.version().flavor);
            reports.iter_mut().for_each(|report| add_waits(report, &lock, NOTED_SECONDS));
            for (table, key) in std::mem::take(&mut lock.keys_left) {
                let table = table.to_string();
                steps.keys_left.push(key.clone());
                let report = reports.iter_mut().find(|report| report.target == table);
                report.into_iter().for_each(|report| report.foreign_keys_left.push(key.clone()));
            }
            for (table, trigger) in std::mem::take(&mut lock.triggers_left) {
                let table = table.to_string();
                steps.triggers_left.push(trigger.clone());
                let report = reports.iter_mut().find(|report| report.target == table);
                report.into_iter().for_each(|report| report.triggers_left.push(trigger.clone()));
            }
            Ok((reports, warnings))
        }
        Err(error) => {
            let (made, others) = all.into_parts();
            let (target, connections) = lock.rest();
            put_back(&mut parts, made.ready(target), others);
            Err(not_published(parts, connections.into(), told, error))
        }
    }
}

/// Removes what was made, and gives the error with what came of that. Where nobody knows whether the rows are in,
/// all stays: it tells the next load.
pub(super) fn not_published(
    parts: Vec<Part>,
    connections: SharedConnections,
    told: &str,
    error: Error,
) -> Error {
    if error.is_unknown() {
        return error;
    }
    give_up(parts, connections, Ended::plainly(told.to_owned(), Stage::Publish.name(), error))
}

/// Takes the filled tables out of the parts, with their reports.
fn taken(parts: &mut [Part]) -> Result<(Vec<Ready>, Vec<Report>), Error> {
    let (mut ready, mut reports) = (Vec::new(), Vec::new());
    for part in parts {
        let name = part.name();
        match (part.take(), part.target.take()) {
            (At::Full(made, mut report), Some(mut target)) => {
                report.warnings.append(&mut target.remarks);
                reports.push(*report);
                ready.push(made.ready(target));
            }
            _ => return Err(Error::Internal(format!("{name} was not filled"))),
        }
    }
    Ok((ready, reports))
}

/// Gives unpublished tables back to their parts, which remove them.
fn put_back(parts: &mut [Part], first: Ready, others: Vec<Ready>) {
    for (part, ready) in parts.iter_mut().zip(std::iter::once(first).chain(others)) {
        let (target, made) = ready.rest();
        part.target = Some(target);
        part.at = At::Full(made, Box::default());
    }
}

/// Completes the reports of tables that are there to stay.
pub(super) fn finish(parts: &mut [Part], reports: &mut [Report], flavor: Flavor) {
    let memory_peak_bytes = memory_peak_bytes();
    for (part, report) in parts.iter_mut().zip(reports) {
        report.finish(&mut part.stopwatch, memory_peak_bytes, Vec::new());
        report.take(report.stages.iter().map(|stage| stage.seconds).sum());
        report.rejects_file = part.options.rows.rejects.clone().filter(|_| report.rejects > 0);
        // Without them the next forecast is worse, no more.
        let _ = pool::catch(|| {
            let indexes = report.indexes.len().max(1);
            let state_dir = &part.options.state_dir;
            Speeds::remember(state_dir, flavor, part.chosen.path, None, report, indexes);
        });
    }
}
