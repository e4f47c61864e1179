//! `inrush verify`: whether tables hold exactly the rows of files.

use std::io::{self, Write};
use std::slice;

use ::check::{OtherRow, VerifyReport};
use serde::Serialize;
use terminal::failure::{Failure, REJECTS};
use terminal::size::{count, group};

use crate::args::LoadArgs;
use crate::several::Meant;
use crate::watch::{Totals, Watch};
use crate::{check, connect, load, print};

/// Compares, and prints what differs.
pub(crate) fn run(args: &LoadArgs, into: &connect::Into, watch: &Watch) -> Result<u8, Failure> {
    load::refuse_unwritten(&["report", "rejects", "duplicates"])?;
    let target = match into {
        connect::Into::Table(target) => target,
        connect::Into::Database(database) => return several(args, database, watch),
    };
    let (options, visit) = check::begin(args, target)?;
    let report = ::check::verify(&visit.connect, &options, &*watch.progress())?;
    watch.totals(totals(slice::from_ref(&report)));
    print::result(args, &report, |mut out| show(&mut out, &report))?;
    Ok(if report.is_same() { 0 } else { REJECTS })
}

/// The comparison of several tables.
#[derive(Serialize)]
struct SeveralVerified {
    database: String,
    /// Lines of a job file that are in no table, because they are bad.
    bad_lines: u64,
    tables: Vec<VerifyReport>,
}

/// Compares the tables of a job file, or of a folder of files.
fn several(args: &LoadArgs, database: &str, watch: &Watch) -> Result<u8, Failure> {
    let (Meant { tables, lines }, visit) = check::begin_several(args, database)?;
    let watcher = watch.progress();
    let (tables, bad_lines) = match &lines {
        Some(lines) => ::load::verify_lines(&visit.connect, &tables, lines, &*watcher)?,
        None => {
            let report = |options| ::check::verify(&visit.connect, options, &*watcher);
            (tables.iter().map(report).collect::<Result<_, _>>()?, 0)
        }
    };
    watch.totals(totals(&tables));
    drop(watcher);
    let report = SeveralVerified { database: database.to_owned(), bad_lines, tables };
    print::result(args, &report, |mut out| {
        report.tables.iter().try_for_each(|table| show(&mut out, table))?;
        if bad_lines > 0 {
            let bad = count(bad_lines, "bad line");
            writeln!(
                out,
                "{bad} not compared, because a bad line is in no table: inrush check lists the reasons"
            )?;
        }
        Ok(())
    })?;
    let is_same = bad_lines == 0 && report.tables.iter().all(VerifyReport::is_same);
    Ok(if is_same { 0 } else { REJECTS })
}

/// Rows that were compared; rejected are those of the input that no table accepts.
fn totals(reports: &[VerifyReport]) -> Totals {
    Totals {
        rows: reports.iter().map(|report| report.rows).sum(),
        bytes: None,
        rejected: reports.iter().map(|report| report.refused_rows).sum(),
    }
}

fn show(out: &mut impl Write, report: &VerifyReport) -> io::Result<()> {
    let VerifyReport { target, rows, table_rows, server, server_address, .. } = report;
    let found = if report.is_same() { "the same" } else { "different" };
    let (rows, table_rows) = (count(*rows, "row"), count(*table_rows, "row"));
    writeln!(
        out,
        "{target}: {found}, {rows} of input and {table_rows} of the table, on {server} ({server_address})"
    )?;
    if report.refused_rows > 0 {
        let refused = count(report.refused_rows, "row");
        writeln!(
            out,
            "  {refused} of the input not compared, because the table would reject such rows: \
             inrush check --mode replace lists the reasons"
        )?;
    }
    let at_least = if report.are_all_told { "" } else { "at least " };
    for (number, what, first) in [
        (report.missing_rows, "the table lacks", &report.first_missing),
        (report.changed_rows, "the table has with other values", &report.first_changed),
        (report.extra_rows, "the input lacks", &report.first_extra),
    ] {
        if number == 0 {
            continue;
        }
        let noun = if number == 1 { "row" } else { "rows" };
        writeln!(out, "  {at_least}{} {noun} that {what}", group(number))?;
        first.iter().try_for_each(|row| other_row(out, row))?;
        let rest = number - first.len() as u64;
        if rest > 0 {
            writeln!(out, "    and {} more", group(rest))?;
        }
    }
    writeln!(out, "  compared: {}", report.compared.join(", "))?;
    if !report.not_compared.is_empty() {
        writeln!(out, "  not compared: {}", report.not_compared.join(", "))?;
    }
    Ok(())
}

fn other_row(out: &mut impl Write, OtherRow { place, key }: &OtherRow) -> io::Result<()> {
    match place {
        Some(place) => writeln!(out, "    {place}: {key}"),
        None => writeln!(out, "    {key}"),
    }
}
