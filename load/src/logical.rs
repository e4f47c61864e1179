//! The logical path: the server gets the rows as text, over several connections.
//!
//! ```text
//! source -> portion -> sender (LOAD DATA LOCAL, or INSERT) -> shadow -> swap
//!           encoder    one a lane, as many as `controller` allows
//! ```
//!
//! In reading order: `landing` where rows go, `columns` what is sent for each column, `text` how,
//! `encoder` rows to text, `portion` what one transaction loads, `sender` how, `ledger` that it is
//! loaded once, `order` which portions may overtake others by their `row_keys`, `sorted` rows in
//! key order, `lane` a connection at work, `watch` the server meanwhile, `budget` the memory of
//! all, `collector` what they tell, in input order.

#![allow(dead_code)] // until the parts are joined

mod budget;
mod collector;
mod columns;
mod encoder;
pub(crate) mod landing;
mod lane;
mod ledger;
mod order;
mod plain;
mod portion;
mod row_keys;
mod sender;
mod sorted;
#[cfg(test)]
mod tests;
mod text;
mod watch;

use std::sync::Mutex;

use server::secondary::Defer;
use server::{ConnectOptions, Target};
use sources::{FileSource, Source};

use self::budget::Shares;
use self::landing::Way;
use self::lane::{Lanes, Loaded};
use self::watch::Watch;
use crate::direct;
use crate::error::Error;
use crate::job::Job;
use crate::options::{LoadPath, Mode};
use crate::progress::Stage;
use crate::reading::Reading;
use crate::report::{LogicalReport, Report, memory_peak_bytes};
use crate::steps::Steps;

/// Loads a target by statements.
pub(crate) fn run(
    job: &Job<'_>,
    connect: &ConnectOptions,
    target: &mut Target,
    source: FileSource,
    steps: &mut Steps<'_>,
) -> Result<Report, Error> {
    let work = Work { job, connect };
    let done = work.run(target, source, steps)?;
    steps.stopwatch.stop();
    Ok(work.report(target, steps, done))
}

struct Work<'a> {
    job: &'a Job<'a>,
    connect: &'a ConnectOptions,
}

/// A load that is done.
struct Done {
    loaded: Loaded,
    /// What did not work after the target had its rows.
    warnings: Vec<String>,
}

impl Work<'_> {
    fn run(
        &self,
        target: &mut Target,
        mut source: FileSource,
        steps: &mut Steps<'_>,
    ) -> Result<Done, Error> {
        let options = self.job.options;
        let mut landing = self.job.rung.landing.clone().ok_or_else(|| {
            Error::Internal("rows are sent and it is not known where to".to_owned())
        })?;
        let mut watch = Watch::begin(self.job, self.connect, &mut target.session)?;
        target.remarks.append(&mut watch.notes);
        steps.step(Stage::Shadow, || landing.prepare(target, Defer::NotUnique))?;
        if landing.way == Way::Whole {
            let reasons =
                vec!["one transaction into the table itself is not possible yet".to_owned()];
            let (target, path) = (target.table.name.to_string(), None);
            return Err(Error::Unfit { target, path, reasons });
        }
        let into = landing.table(target).clone();
        let reading = Reading::of(options)?;
        let shares = Shares::of(options, reading.bytes(), source.bytes_total())?;
        source.set_chunks(shares.chunk_bytes, shares.record_bytes_max)?;
        let limits = lane::limits(self.job, target, &shares)?;
        let source: Mutex<Box<dyn Source>> = Mutex::new(Box::new(source));
        let loaded = steps.step(Stage::Rows, || {
            Lanes::new(self.job, self.connect, &source, into, limits, &shares)?.run(watch)
        })?;
        steps.step(Stage::Indexes, || landing.finish(target))?;
        let warnings = match landing.swap().is_some() {
            true => steps.last_step(Stage::Publish, || direct::publish(target, options))?,
            false => Vec::new(),
        };
        Ok(Done { loaded, warnings })
    }

    fn report(&self, target: &Target, steps: &mut Steps<'_>, done: Done) -> Report {
        let Job { options, rung, .. } = *self.job;
        let Done { loaded: Loaded { collected, settled, bytes_read }, mut warnings } = done;
        warnings.extend(target.remarks.iter().cloned());
        let seconds = steps.stopwatch.total_seconds();
        let mut notes = Vec::new();
        if options.mode == Mode::Replace && collected.rows == 0 {
            notes.push("the input had no rows, so that the table is empty now".to_owned());
        }
        Report {
            target: target.table.name.to_string(),
            job: steps.job().to_owned(),
            path: rung.path.name(),
            why: rung.why.clone(),
            server: target.facts.version.text.clone(),
            rows: collected.rows,
            rejects: collected.rejects,
            duplicates: 0,
            bytes: bytes_read,
            file_bytes: 0,
            spilled_bytes: 0,
            sorted_input: true,
            seconds,
            rows_per_second: collected.rows as f64 / seconds,
            megabytes_per_second: bytes_read as f64 / 1e6 / seconds,
            stages: steps.stopwatch.times(),
            memory_peak_bytes: memory_peak_bytes(),
            threads: settled.connections_max,
            indexes: Vec::new(),
            logical: Some(LogicalReport { settled, portions: collected.portions }),
            notes,
            warnings,
        }
    }
}

impl LoadPath {
    /// How rows are written for it.
    fn form(self) -> portion::Form {
        match self {
            LoadPath::Insert => portion::Form::Tuples,
            _ => portion::Form::Lines,
        }
    }
}
