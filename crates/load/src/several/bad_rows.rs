//! Other tables whose rows would have failed the command, too: one run names them all.
//!
//! Rows of one table end the command. The files of the others are then checked, without keys of other tables, as
//! long as that takes no longer than [`CHECKING`].

use std::time::{Duration, Instant};

use job::error::Error;
use job::options::{LoadOptions, Mode, RowOptions, ServerOptions};
use job::progress::{Progress, Snapshot};
use server::{ConnectOptions, Interrupt};

/// Kinds of errors that are about the rows of the input.
const FAULTS_OF_ROWS: [&str; 3] = ["rows", "duplicate", "input"];
/// How long files are checked behind a failure.
const CHECKING: Duration = Duration::from_secs(60);

/// Ends a check that takes too long, or whose command is to stop.
struct Deadline<'l> {
    begun: Instant,
    /// The wish to stop the command.
    command: &'l Interrupt,
    /// The wish to stop the check.
    check: Interrupt,
}

impl Progress for Deadline<'_> {
    fn update(&self, _: Snapshot) {
        if self.command.is_requested() || self.begun.elapsed() > CHECKING {
            self.check.request("the time limit");
        }
    }
}

/// Has an error about rows of one table name the other tables that have bad rows. Other errors stay as they are.
pub(super) fn with_others(
    error: Error,
    connect: &ConnectOptions,
    tables: &[LoadOptions],
    progress: &dyn Progress,
) -> Error {
    match error {
        Error::Several { table, step, error, tables: count, left, .. }
            if FAULTS_OF_ROWS.contains(&error.kind()) && error.place().is_some() =>
        {
            let others = others(connect, tables, &table, progress);
            Error::Several { table, step, error, tables: count, left, others }
        }
        error => error,
    }
}

/// A sentence for each table besides the one that failed: its bad rows, and the first of them.
fn others(
    connect: &ConnectOptions,
    tables: &[LoadOptions],
    failed: &str,
    progress: &dyn Progress,
) -> Vec<String> {
    let (begun, mut told) = (Instant::now(), Vec::new());
    let name = |options: &LoadOptions| format!("{}.{}", options.database, options.table);
    let left: Vec<&LoadOptions> = tables.iter().filter(|options| name(options) != failed).collect();
    for (at, options) in left.iter().enumerate() {
        let deadline = Deadline { begun, command: &options.interrupt, check: Interrupt::default() };
        progress.table(&name(options), at + 1, left.len());
        let alone = LoadOptions {
            interrupt: deadline.check.clone(),
            mode: Mode::Replace,
            rows: RowOptions { rejects: None, duplicates: None, ..options.rows.clone() },
            server: ServerOptions { unchecked_keys: true, ..options.server.clone() },
            ..(*options).clone()
        };
        // The next load tells other faults of a table.
        let report = check::check(connect, &alone, &deadline);
        if options.interrupt.is_requested() {
            return told;
        }
        if deadline.check.is_requested() {
            told.extend((!told.is_empty()).then(|| unchecked(left.len() - at)));
            return told;
        }
        let Ok(report) = report else { continue };
        let is_tolerated = match options.rows.rejects_max_percent {
            Some(_) => true,
            None => report.bad_rows <= options.rows.rejects_max,
        };
        if let (false, Some(first)) = (is_tolerated, report.first.first()) {
            let (place, bad) = (first.place(), rows(report.bad_rows));
            let why = first.reasons.first().map(|also| format!(", {also}")).unwrap_or_default();
            told.push(format!("{}: {bad}, the first is {place}{why}", report.target));
        }
    }
    told
}

fn rows(count: u64) -> String {
    if count == 1 { "1 bad row".to_owned() } else { format!("{count} bad rows") }
}

fn unchecked(count: usize) -> String {
    match count {
        1 => "1 more table was not checked".to_owned(),
        count => format!("{count} more tables were not checked"),
    }
}
