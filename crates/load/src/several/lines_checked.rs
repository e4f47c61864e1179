//! The lines of a job judged as if they were to be loaded; nothing is.

use sources::SourceExt as _;
use std::sync::Mutex;
use std::time::Instant;

use check::report::{BadRow, CheckReport};
use encode::input;
use encode::rejects::{self, Rejects};
use job::error::Error;
use job::options::{LoadOptions, RowOptions};
use job::progress::Progress;
use server::ConnectOptions;

use super::lines_read::{LineInputs, LinesOf, Parts};

/// Bad lines behind which no more are looked for.
const BAD_LINES_MAX: u64 = 100_000;

/// Reads all lines and says what is wrong with which. Changes nothing.
///
/// Errors: those of a load before it begins.
pub fn check_lines(
    connect: &ConnectOptions,
    tables: &[LoadOptions],
    of: &LinesOf,
    progress: &dyn Progress,
) -> Result<CheckReport, Error> {
    let begun = Instant::now();
    let LineInputs { mut session, looked, lookups, options, .. } =
        LineInputs::of(connect, tables, of)?;
    let options =
        LoadOptions { rows: RowOptions { rejects_max: BAD_LINES_MAX, ..options.rows }, ..options };
    let (memory, mut source) = input::open_files(&options)?;
    let form = rejects::form(&mut *source)?;
    let mut log =
        Rejects::create(options.rows.rejects.as_deref(), options.rows.rejects_max, &form)?;
    let parts = Parts {
        looked: &looked,
        lookups: &lookups,
        rules: &of.rules,
        judges: true,
        tells_all: true,
        options: &options,
        memory: &memory,
        progress,
    };
    let source = Mutex::new(source);
    let mut read = parts.read(&source, &mut session, &mut log)?;
    let source = source.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    read.bad.truncate(CheckReport::ROWS_TOLD);
    let names: Vec<&str> = tables.iter().map(|table| table.table.as_str()).collect();
    let mut report = CheckReport {
        target: format!("{} ({})", options.database, names.join(", ")),
        server: session.version().text.clone(),
        server_address: session.options().server_text(),
        rows: read.lines,
        bad_rows: log.count(),
        reasons: log.tally(),
        first: read.bad.into_iter().map(|line| BadRow::from(line.reject)).collect(),
        rejects_file: options.rows.rejects.clone().filter(|_| log.count() > 0),
        judged: vec!["rules".to_owned(), "entities".to_owned(), "lookups".to_owned()],
        not_judged: not_judged(log.count()),
        bytes: source.bytes_read(),
        seconds: 0.0,
    };
    report.seconds = begun.elapsed().as_secs_f64();
    Ok(report)
}

fn not_judged(bad: u64) -> Vec<String> {
    let mut what = vec![
        "duplicate keys in tables without an entity, and foreign keys except ids and lookups: the \
         rules `unique` and `references` check these"
            .to_owned(),
        "CHECK constraints, and rows without a partition".to_owned(),
    ];
    if bad > BAD_LINES_MAX {
        what.push(format!("lines after the first {BAD_LINES_MAX} bad lines"));
    }
    what
}
