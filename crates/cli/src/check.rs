//! `inrush check` and `inrush load --dry-run`: all that is wrong with an input; loads nothing.

use std::io::{self, Write};
use std::slice;

use ::check::{BadRow, CheckReport};
use ::load::LoadOptions;
use ::load::options::WithOthers;
use schema::TableName;
use serde::Serialize;
use terminal::failure::{Failure, REJECTS};
use terminal::signals;
use terminal::size::{count, group};

use crate::args::LoadArgs;
use crate::connect::Visit;
use crate::several::{self, Meant};
use crate::watch::{Totals, Watch};
use crate::{connect, files, guess, load, print, tuned};

/// Kinds of faults that are told.
const REASONS_MAX: usize = 20;

/// Judges the input, and prints what was found.
pub(crate) fn run(args: &LoadArgs, into: &connect::Into, watch: &Watch) -> Result<u8, Failure> {
    load::refuse_unwritten(&["report", "duplicates"])?;
    let report = match (into, &args.job) {
        (connect::Into::Table(target), _) => {
            let (options, visit) = begin(args, target)?;
            ::check::check(&visit.connect, &options, &*watch.progress())?
        }
        (connect::Into::Database(database), Some(_)) => lines_of_job(args, database, watch)?,
        (connect::Into::Database(database), None) => return several(args, database, watch),
    };
    watch.totals(Totals {
        rows: report.rows,
        bytes: Some(report.bytes),
        rejected: report.bad_rows,
    });
    print::result(args, &report, |mut out| show(&mut out, &report))?;
    Ok(if report.is_clean() { 0 } else { REJECTS })
}

/// The reports of several tables.
#[derive(Serialize)]
struct SeveralCheckReport {
    database: String,
    tables: Vec<CheckReport>,
}

/// Judges files of several tables, each by itself.
fn several(args: &LoadArgs, database: &str, watch: &Watch) -> Result<u8, Failure> {
    let (Meant { mut tables, .. }, visit) = begin_several(args, database)?;
    if tables.len() > 1 {
        tables.iter_mut().for_each(|options| options.with_others = WithOthers::Swap);
    }
    let watcher = watch.progress();
    let mut reports = Vec::new();
    for options in &tables {
        reports.push(::check::check(&visit.connect, options, &*watcher)?);
    }
    drop(watcher);
    watch.totals(Totals {
        rows: reports.iter().map(|report| report.rows).sum(),
        bytes: Some(reports.iter().map(|report| report.bytes).sum()),
        rejected: reports.iter().map(|report| report.bad_rows).sum(),
    });
    let all = SeveralCheckReport { database: database.to_owned(), tables: reports };
    print::result(args, &all, |mut out| {
        all.tables.iter().try_for_each(|report| show(&mut out, report))
    })?;
    Ok(if all.tables.iter().all(CheckReport::is_clean) { 0 } else { REJECTS })
}

/// Judges the lines of a job file.
fn lines_of_job(args: &LoadArgs, database: &str, watch: &Watch) -> Result<CheckReport, Failure> {
    let (Meant { tables, lines: Some(lines) }, visit) = begin_several(args, database)? else {
        return Err(Failure::usage("the job file already selects the tables"));
    };
    Ok(::load::check_lines(&visit.connect, &tables, &lines, &*watch.progress())?)
}

/// The same as [`begin`] for several tables.
pub(crate) fn begin_several(args: &LoadArgs, database: &str) -> Result<(Meant, Visit), Failure> {
    let mut meant = several::meant(args, database)?;
    let visit = visit(args, &mut meant.tables)?;
    files::tell_notes(args, &meant.tables)?;
    Ok((meant, visit))
}

/// The options that rows are judged by, and the server that has the table.
pub(crate) fn begin(args: &LoadArgs, target: &TableName) -> Result<(LoadOptions, Visit), Failure> {
    let mut options = load::options(args, target)?;
    let visit = visit(args, slice::from_mut(&mut options))?;
    if args.is_verbose() && args.format.dialect.is_none() && !args.create {
        load::tell_dialect(&options.input.files[0]);
    }
    files::tell_notes(args, slice::from_ref(&options))?;
    Ok((options, visit))
}

/// The server that has these tables, whose options get what it and the files say.
fn visit(args: &LoadArgs, tables: &mut [LoadOptions]) -> Result<Visit, Failure> {
    files::check_load(args, tables)?;
    let visit = connect::existing(&args.connect)?;
    tuned::recover(&visit.connect, args.state_dir.as_deref());
    ::load::evaluate_expressions(&visit.connect, tables)?;
    signals::watch(&tables[0].interrupt, signals::UNCHANGED, args.quiet)?;
    guess::guess(args, &visit.connect, tables)?;
    Ok(visit)
}

fn show(out: &mut impl Write, report: &CheckReport) -> io::Result<()> {
    let CheckReport { target, server, server_address, rows, bad_rows, .. } = report;
    let found = match bad_rows {
        0 => "nothing wrong".to_owned(),
        bad => format!("{} of them bad", group(*bad)),
    };
    writeln!(out, "{target}: {}, {found}, on {server} ({server_address})", count(*rows, "row"))?;
    for kind in report.reasons.iter().take(REASONS_MAX) {
        let column = kind.column.as_ref().map_or(String::new(), |column| format!("`{column}` "));
        writeln!(out, "  {}: {column}{}", count(kind.rows, "row"), kind.reason)?;
    }
    let rest = report.reasons.len().saturating_sub(REASONS_MAX);
    if rest > 0 {
        writeln!(out, "  and {}", count(rest as u64, "more reason"))?;
    }
    report.first.iter().try_for_each(|row| bad_row(out, row))?;
    let untold = report.bad_rows - report.first.len() as u64;
    match &report.rejects_file {
        Some(file) => {
            let file = file.display();
            writeln!(out, "  {file} has all bad rows, {file}.reasons.jsonl their reasons")?;
        }
        None if untold > 0 => {
            writeln!(
                out,
                "  and {}: --rejects FILE writes all of them",
                count(untold, "more bad row")
            )?;
        }
        None => {}
    }
    writeln!(out, "  checked: types, NOT NULL{}", listed(&report.judged))?;
    report.not_judged.iter().try_for_each(|what| writeln!(out, "  not checked: {what}"))
}

fn listed(judged: &[String]) -> String {
    judged.iter().map(|what| format!(", {what}")).collect()
}

fn bad_row(out: &mut impl Write, row: &BadRow) -> io::Result<()> {
    writeln!(out, "  {}", row.place())?;
    row.reasons.iter().try_for_each(|also| writeln!(out, "    {also}"))
}
