//! The lines of a job judged, or compared with the tables; nothing is loaded.

use sources::SourceExt as _;
use std::time::Instant;

use check::VerifyReport;
use check::report::{BadRow, CheckReport};
use encode::input;
use encode::rejects::{self, Rejects};
use job::error::Error;
use job::options::{LoadOptions, Mode, RowOptions};
use job::progress::Progress;
use locks::Mutex;
use server::ConnectOptions;

use super::lines_read::{LineInputs, LinesOf, Parts};
use super::shares;

/// Bad lines behind which no more are looked for.
const BAD_LINES_MAX: u64 = 100_000;

/// Reads all lines and says what is wrong with which. Changes nothing.
///
/// Errors: those of a load before it begins; lines without a fault that would leave a table empty.
pub fn check_lines(
    connect: &ConnectOptions,
    tables: &[LoadOptions],
    of: &LinesOf,
    progress: &dyn Progress,
) -> Result<CheckReport, Error> {
    let begun = Instant::now();
    of.check_texts(&tables[0].input)?;
    let LineInputs { mut session, looked, lookups, options, .. } =
        LineInputs::of(connect, tables, of)?;
    let options =
        LoadOptions { rows: RowOptions { rejects_max: BAD_LINES_MAX, ..options.rows }, ..options };
    let (memory, mut source) = input::open_files(&options)?;
    let form = rejects::form(&mut *source)?;
    let mut log = Rejects::create(options.rows.rejects.as_deref(), u64::MAX, &form)?;
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
    let source = source.into_inner();
    if read.bad.is_empty() {
        for (table, has_rows) in tables.iter().zip(&read.has_rows) {
            table.check_loaded(u64::from(*has_rows), 0, read.lines)?;
        }
    }
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
        not_judged: not_judged(read.ends_early.then(|| log.count())),
        bytes: source.bytes_read(),
        seconds: 0.0,
    };
    report.seconds = begun.elapsed().as_secs_f64();
    Ok(report)
}

/// Compares each table with its rows of the lines, and counts the bad lines, which are in no table. Rows of
/// entities are found by their keys, and have the ids that the table has.
///
/// Errors: those of [`check::verify()`]; lines that contradict each other.
pub fn verify_lines(
    connect: &ConnectOptions,
    tables: &[LoadOptions],
    of: &LinesOf,
    progress: &dyn Progress,
) -> Result<(Vec<VerifyReport>, u64), Error> {
    let compared = tables.iter().map(|options| LoadOptions {
        mode: Mode::Append,
        rows: RowOptions { rejects: None, rejects_max: u64::MAX, ..options.rows.clone() },
        ..options.clone()
    });
    let (tables, lines) = shares::share(connect, compared.collect(), of, true, progress)?;
    let reports = tables.iter().map(|options| check::verify(connect, options, progress));
    Ok((reports.collect::<Result<_, _>>()?, lines.map_or(0, |lines| lines.rejects)))
}

/// `bad`: bad lines behind which no more were looked for.
fn not_judged(bad: Option<u64>) -> Vec<String> {
    let mut what = vec![
        "duplicate keys in tables without an entity, and foreign keys except ids and lookups: the \
         rules `unique` and `references` check these"
            .to_owned(),
        "CHECK constraints, and rows without a partition".to_owned(),
    ];
    what.extend(bad.map(|bad| format!("lines after the first {bad} bad lines")));
    what
}
