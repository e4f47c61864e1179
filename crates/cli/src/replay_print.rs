//! Reports of replays as text for people.

use std::collections::{HashMap, HashSet};
use std::io::{self, Write};

use face::option::{SHOW_CHANGES, STRICT};
use replay::changes::{Change, Changes, TOLD_MAX};
use replay::report::{Report, TableReport};
use schema::first_of;
use terminal::size::{count, group, show};

/// Has notes that are equal for several tables given once.
pub(crate) fn share_notes(report: &mut Report) {
    let all = || report.tables.iter().flat_map(|table| &table.notes);
    let mut counts: HashMap<&String, u64> = HashMap::new();
    all().for_each(|note| *counts.entry(note).or_default() += 1);
    let mut shared: HashSet<String> = report.notes.iter().cloned().collect();
    let new = all().filter(|note| counts[note] > 1 && shared.insert((*note).clone()));
    let new: Vec<String> = new.cloned().collect();
    report.notes.extend(new);
    for table in &mut report.tables {
        table.notes.retain(|note| !shared.contains(note));
    }
}

/// A sentence for each value that the server changed in a table, or in what `place` says; none where nothing was
/// changed.
pub(crate) fn changes(changes: &Changes, place: &str) -> Vec<String> {
    if changes.count == 0 {
        return Vec::new();
    }
    let number = count(changes.count, "value");
    let mut lines = vec![format!(
        "the server changed {number} in {place}, as sql_mode or IGNORE in the dump allows"
    )];
    lines.extend(changes.told.iter().map(Change::to_string));
    let hidden = changes.count.saturating_sub(changes.told.len() as u64);
    match (hidden, changes.told.len()) {
        (0, _) => {}
        (_, 0 | 1) => lines
            .push(format!("and {hidden} more; {SHOW_CHANGES} shows all, {STRICT} fails instead")),
        (_, TOLD_MAX) => lines.push(format!("and {hidden} more")),
        _ => lines.push(format!("and {hidden} more, of which the server keeps no text")),
    }
    lines
}

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
        let names = first_of(&report.tables_before);
        writeln!(out, "  finished by an earlier, interrupted replay: {names}")?;
    }
    skipped(out, report)?;
    if report.barriers > 0 {
        let number = count(report.barriers, "statement");
        writeln!(out, "  {number} waited for all earlier tables")?;
    }
    for line in changes(&report.changes, "other statements") {
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

/// Skipped statements, and how many there are of each kind.
fn skipped(out: &mut impl Write, report: &Report) -> io::Result<()> {
    let is_lock = |kind: &str| kind.ends_with("LOCK TABLES");
    for (locks, why) in [
        (false, "skipped, because of --into, --tables or --exclude"),
        (true, "skipped, because a replay needs no locks"),
    ] {
        let of_kind = || report.skipped.iter().filter(|(kind, _)| is_lock(kind) == locks);
        let kinds: Vec<String> =
            of_kind().map(|(kind, n)| format!("{} {kind}", group(*n))).collect();
        if !kinds.is_empty() {
            let number = count(of_kind().map(|(_, count)| count).sum(), "statement");
            writeln!(out, "  {number} {why}: {}", kinds.join(", "))?;
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
    let changes = self::changes(&table.changes, &table.table);
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
        "{}: {} for {}, {}; {} would wait for all earlier tables",
        report.dump,
        count(report.rows, "row"),
        count(report.tables.len() as u64, "table"),
        count(report.statements, "other statement"),
        group(report.barriers),
    )?;
    skipped(out, report)?;
    report.notes.iter().try_for_each(|note| writeln!(out, "  note: {note}"))?;
    warnings(out, report)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_of_several_tables_is_said_once() {
        let notes = |table: &str, notes: &[&str]| TableReport {
            table: table.to_owned(),
            notes: notes.iter().map(|&note| note.to_owned()).collect(),
            ..TableReport::default()
        };
        let tables = vec![notes("a", &["x", "y"]), notes("b", &["x"])];
        let mut report = Report::default();
        report.tables = tables;
        share_notes(&mut report);
        assert_eq!(report.notes, ["x"]);
        assert_eq!(report.tables, [notes("a", &["y"]), notes("b", &[])]);
    }
}
