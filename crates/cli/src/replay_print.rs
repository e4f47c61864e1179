//! Reports of replays as text for people.

use std::io::{self, Write};

use replay::report::{Report, TableReport};
use terminal::size::{count, group, show};

/// The report of a finished replay, or what one would do.
pub(crate) fn report(out: &mut impl Write, report: &Report) -> io::Result<()> {
    if report.dry_run {
        return self::dry_run(out, report);
    }
    writeln!(
        out,
        "{}: {} into {}, {}, on {} ({})",
        report.dump,
        count(report.rows, "row"),
        count(report.tables.len() as u64, "table"),
        count(report.statements, "other statement"),
        report.server,
        report.server_address,
    )?;
    writeln!(
        out,
        "  {:.2} s, {} rows/s, {:.1} MB/s of the dump ({} read), peak memory {}",
        report.seconds,
        group(report.rows_per_second as u64),
        report.megabytes_per_second,
        show(report.bytes),
        show(report.memory_peak_bytes),
    )?;
    for table in &report.tables {
        self::table(out, table)?;
    }
    if !report.tables_before.is_empty() {
        let names = report.tables_before.join(", ");
        writeln!(out, "  finished by an earlier, interrupted replay: {names}")?;
    }
    if report.left_out > 0 {
        let number = count(report.left_out, "statement");
        writeln!(out, "  {number} skipped, because of --into, --tables or --exclude")?;
    }
    if report.barriers > 0 {
        let number = count(report.barriers, "statement");
        writeln!(out, "  {number} waited for all earlier tables")?;
    }
    for line in report.changes.lines("other statements") {
        writeln!(out, "  {line}")?;
    }
    for note in &report.notes {
        writeln!(out, "  note: {note}")?;
    }
    warnings(out, report)?;
    if !report.failed.is_empty() {
        let number = count(report.failed.len() as u64 + report.failed_more, "statement");
        writeln!(out, "  {number} failed:")?;
        for failed in &report.failed {
            writeln!(out, "    {failed}")?;
        }
        if report.failed_more > 0 {
            writeln!(out, "    and {} more", group(report.failed_more))?;
        }
    }
    Ok(())
}

fn warnings(out: &mut impl Write, report: &Report) -> io::Result<()> {
    report.warnings.iter().try_for_each(|warning| writeln!(out, "  warning: {warning}"))
}

fn table(out: &mut impl Write, table: &TableReport) -> io::Result<()> {
    write!(out, "  {}: {}", table.table, count(table.rows, "row"))?;
    match table.way.as_str() {
        "" => {}
        "serial" => write!(out, ", serial (one statement after the other)")?,
        "parallel" => write!(out, ", parallel (statements over several connections)")?,
        way => write!(out, ", {way}")?,
    }
    if table.seconds > 0.0 {
        write!(out, ", {:.2} s", table.seconds)?;
    }
    writeln!(out)?;
    let changes = table.changes.lines(&table.table);
    changes.iter().chain(&table.notes).try_for_each(|note| writeln!(out, "    {note}"))
}

fn dry_run(out: &mut impl Write, report: &Report) -> io::Result<()> {
    let mut file = "";
    for step in &report.steps {
        if step.file != file {
            file = &step.file;
            writeln!(out, "{file}:")?;
        }
        write!(out, "  line {:<8} {:<9} {}", step.line, step.what, step.statement)?;
        match step.rows {
            Some(rows) => writeln!(out, ": {}", count(rows, "row"))?,
            None => writeln!(out)?,
        }
    }
    writeln!(
        out,
        "{}: {} for {}, {}, {} skipped; {} would wait for all earlier tables",
        report.dump,
        count(report.rows, "row"),
        count(report.tables.len() as u64, "table"),
        count(report.statements, "other statement"),
        group(report.left_out),
        group(report.barriers),
    )?;
    report.notes.iter().try_for_each(|note| writeln!(out, "  note: {note}"))?;
    warnings(out, report)
}
