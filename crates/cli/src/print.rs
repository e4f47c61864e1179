//! Reports as text for people.

use std::io::{self, Write};
use std::path::Path;

use load::report::backup_note;
use load::{Estimate, LogicalReport, Plan, Refused, Report, Settled, ShardReport, Stage};
use serde::Serialize;
use terminal::failure::JSON_VERSION;
use terminal::size::{count, group, show};

use crate::args::LoadArgs;

/// An object that says which version it is of.
#[derive(Serialize)]
struct Versioned<'t, T> {
    json_version: u32,
    #[serde(flatten)]
    told: &'t T,
}

/// Prints a result for programs.
pub(crate) fn json<T: Serialize>(out: &mut impl Write, told: &T) -> io::Result<()> {
    json_list(out, &Versioned { json_version: JSON_VERSION, told })
}

/// The same of a list.
pub(crate) fn json_list<T: Serialize>(out: &mut impl Write, told: &T) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, told)?;
    writeln!(out)
}

/// Prints a result as the command has it: for programs, for people by `show`, or not at all.
pub(crate) fn result<T: Serialize>(
    args: &LoadArgs,
    told: &T,
    show: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    match (args.json, args.quiet) {
        (true, _) => json(&mut terminal::out(), told),
        (false, true) => Ok(()),
        (false, false) => show(&mut terminal::lines()),
    }
}

/// The detail of a report besides its result.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Detail {
    /// Stages, indexes, speed and the reason of the method.
    pub(crate) is_verbose: bool,
    /// The note about backups.
    pub(crate) has_backup_note: bool,
}

/// The report of a finished load: one line, and what the reader must know or do.
pub(crate) fn report(out: &mut impl Write, report: &Report, detail: Detail) -> io::Result<()> {
    let Report { target, why, .. } = report;
    if report.is_in_already {
        writeln!(out, "{target}: {why}; this command loaded nothing")?;
        if report.rejects > 0 {
            writeln!(out, "  that load rejected {}", count(report.rejects, "row"))?;
        }
        return rejected(out, report);
    }
    write!(
        out,
        "{target}: {} loaded, {} rejected",
        count(report.rows, "row"),
        group(report.rejects)
    )?;
    if report.duplicates > 0 {
        let number = group(report.duplicates);
        match (&report.logical, report.on_duplicate) {
            (Some(_), "replace") => write!(out, ", {number} with the same keys replaced")?,
            (Some(_), "update") => write!(out, ", {number} of them into rows with the same keys")?,
            _ => write!(out, ", {number} skipped as duplicates")?,
        }
    }
    let (seconds, method) = (report.seconds, method(report));
    writeln!(out, ", {seconds:.2} s, {method}, on {}", report.server_address)?;
    if detail.is_verbose {
        details(out, report)?;
    }
    rejected(out, report)?;
    notes(out, [report], detail)
}

/// Notes of reports, each once.
pub(crate) fn notes<'r>(
    out: &mut impl Write,
    reports: impl IntoIterator<Item = &'r Report>,
    detail: Detail,
) -> io::Result<()> {
    let mut shown: Vec<&str> = Vec::new();
    let backup_note = backup_note();
    for note in reports.into_iter().flat_map(|report| &report.notes) {
        if shown.contains(&note.as_str()) || (*note == backup_note && !detail.has_backup_note) {
            continue;
        }
        shown.push(note);
        writeln!(out, "  note: {note}")?;
    }
    Ok(())
}

/// The path, and how rows came into the table: `direct build`, `stream staging`.
fn method(report: &Report) -> String {
    let is_merged = report.stages.iter().any(|stage| stage.name == Stage::Export.name());
    let method = match report.logical.as_ref().map(|logical| logical.destination) {
        Some(destination) => destination,
        // Each shard has its own.
        None if !report.shards.is_empty() => return report.path.to_owned(),
        None if is_merged => "merge",
        None => "build",
    };
    format!("{} {method}", report.path)
}

/// The methods of several tables: `2 direct build, 1 stream staging`, or one that all have.
pub(crate) fn methods(reports: &[Report]) -> String {
    let mut counts: Vec<(String, usize)> = Vec::new();
    for method in reports.iter().filter(|report| !report.is_in_already).map(method) {
        match counts.iter_mut().find(|(known, _)| *known == method) {
            Some((_, count)) => *count += 1,
            None => counts.push((method, 1)),
        }
    }
    match &counts[..] {
        [] => "loaded already".to_owned(),
        [(method, _)] => method.clone(),
        _ => {
            let each = counts.iter().map(|(method, count)| format!("{count} {method}"));
            each.collect::<Vec<_>>().join(", ")
        }
    }
}

/// Speed, stages, indexes, and the reason of the method.
fn details(out: &mut impl Write, report: &Report) -> io::Result<()> {
    let Report { path, why, server, server_address, .. } = report;
    writeln!(out, "  server {server} ({server_address})")?;
    writeln!(
        out,
        "  {:.2} s, {} rows/s, {:.1} MB/s of input ({} read{})",
        report.seconds,
        group(report.rows_per_second as u64),
        report.megabytes_per_second,
        show(report.bytes),
        match &report.logical {
            Some(_) => String::new(),
            None if report.path == "shards" => String::new(),
            None => format!(", {} written", show(report.file_bytes)),
        },
    )?;
    write!(out, "  stages:")?;
    for stage in &report.stages {
        write!(out, " {} {:.2} s", stage.name, stage.seconds)?;
    }
    writeln!(out)?;
    if let Some(waits) = report.waits_text() {
        writeln!(out, "  {waits}")?;
    }
    let (spilled, peak) = (show(report.spilled_bytes), show(report.memory_peak_bytes));
    match &report.logical {
        Some(logical) if logical.sorted => {
            writeln!(out, "  rows sorted first, {spilled} spilled, peak memory {peak}")?;
        }
        Some(_) => writeln!(out, "  rows sent in the input's order, peak memory {peak}")?,
        None => {
            let order = if report.sorted_input { "input in key order" } else { "input sorted" };
            let threads = count(report.threads as u64, "thread");
            writeln!(out, "  {order}, {spilled} spilled, peak memory {peak}, {threads}")?;
        }
    }
    if report.stamped_pages > 0 {
        let pages = group(report.stamped_pages);
        writeln!(out, "  pages stamped for incremental backups: {pages}")?;
    }
    for index in &report.indexes {
        writeln!(
            out,
            "  index {}: {}, {}, height {}",
            index.name,
            count(index.records, "record"),
            count(index.leaf_pages, "leaf page"),
            index.height
        )?;
    }
    writeln!(out, "  path {path}: {why}")?;
    if let Some(engine) = &report.engine {
        writeln!(out, "  engine {}", engine.name)?;
    }
    shards(out, &report.shards)?;
    if let Some(logical) = &report.logical {
        self::logical(out, logical)?;
    }
    Ok(())
}

/// Where the partitions are, and what they got.
fn shards(out: &mut impl Write, shards: &[ShardReport]) -> io::Result<()> {
    for shard in shards {
        let ShardReport { partition, server, address, table, .. } = shard;
        write!(out, "  partition {partition}: {table} on {server}")?;
        if server != address {
            write!(out, " ({address})")?;
        }
        match (shard.rows, shard.path, shard.seconds) {
            (Some(rows), Some(path), Some(seconds)) => {
                writeln!(out, ", {} by the {path} path in {seconds:.2} s", count(rows, "row"))?;
            }
            _ => writeln!(out)?,
        }
    }
    Ok(())
}

/// Warns that the report of a load, replay or export could not be printed, unless nobody reads it any more (`| head`).
pub(crate) fn tell_unprinted(what: &str, printed: io::Result<()>) {
    if let Err(error) = printed
        && error.kind() != io::ErrorKind::BrokenPipe
    {
        tell!("inrush: warning: the {what} succeeded, but printing its report failed: {error}");
    }
}

/// Rows that a load left out: its target, rejected rows, skipped duplicates, the file of rejected rows.
pub(crate) type LeftOut<'r> = (&'r str, u64, u64, Option<&'r Path>);

/// The rows that a load left out.
pub(crate) fn left_out(report: &Report) -> LeftOut<'_> {
    let skipped = if report.on_duplicate == "skip" { report.duplicates } else { 0 };
    (&report.target, report.rejects, skipped, report.rejects_file.as_deref())
}

/// Names rows that are not in the table on stderr, also with `--quiet`.
pub(crate) fn tell_left_out((target, rejects, skipped, file): LeftOut<'_>) {
    let file = file.map_or(String::new(), |file| format!(" (in {})", file.display()));
    let rejected = (rejects > 0).then(|| format!("{} rejected{file}", count(rejects, "row")));
    let skipped = (skipped > 0).then(|| format!("{} skipped as duplicates", count(skipped, "row")));
    let left_out: Vec<String> = rejected.into_iter().chain(skipped).collect();
    if !left_out.is_empty() {
        tell!("inrush: warning: {target}: {}", left_out.join(", "));
    }
}

/// Kinds of refused rows that are told.
const TALLIES_MAX: usize = 10;

/// Why rows were refused, and where they are.
pub(crate) fn rejected(out: &mut impl Write, report: &Report) -> io::Result<()> {
    let (told, rest) =
        report.rejects_by_reason.split_at(report.rejects_by_reason.len().min(TALLIES_MAX));
    for tally in told {
        writeln!(out, "  rejected {}: {tally}", count(tally.rows, "row"))?;
    }
    if !rest.is_empty() {
        let rows = rest.iter().map(|kind| kind.rows).sum();
        writeln!(out, "  rejected {} for {} more reasons", count(rows, "row"), rest.len())?;
    }
    if let Some(file) = &report.rejects_file {
        let file = file.display();
        writeln!(out, "  {file} has the rejected rows, {file}.reasons.jsonl their reasons")?;
    }
    Ok(())
}

/// Prints the controller's settings, and the reasons for holding a load back.
fn logical(out: &mut impl Write, report: &LogicalReport) -> io::Result<()> {
    writeln!(out, "  {}", report.destination_reason)?;
    let Settled { connections, connections_max, batch_rows, batch_bytes, redo_log_max, held_back } =
        &report.settled;
    write!(out, "  {}", count(*connections as u64, "connection"))?;
    match connections_max {
        most if most > connections => write!(out, " (up to {most} before)")?,
        most if most < connections => write!(out, " allowed, {most} used")?,
        _ => {}
    }
    match (batch_rows, batch_bytes) {
        (Some(rows), None | Some(0)) => write!(out, ", {} a statement", count(*rows, "row"))?,
        (Some(rows), Some(bytes)) => {
            write!(out, ", {} or {} a statement", count(*rows, "row"), show(*bytes))?;
        }
        (None, _) => {}
    }
    match report.destination {
        "transaction" => writeln!(out, ", one transaction")?,
        _ => writeln!(out, ", {}", count(report.chunks, "transaction"))?,
    }
    if *redo_log_max >= 0.9 {
        writeln!(
            out,
            "  the redo log was {:.0} % full, so writers may have waited; a larger log loads faster",
            redo_log_max * 100.0
        )?;
    }
    for held in held_back {
        write!(out, "  the load was held back for {:.1} s", held.seconds)?;
        if held.paused_seconds > 0.0 {
            write!(out, ", {:.1} s of it paused,", held.paused_seconds)?;
        }
        write!(out, " by {}, seen {}", held.cause, count(held.times, "time"))?;
        match &held.worst {
            Some(worst) => writeln!(out, "; at worst {worst}")?,
            None => writeln!(out)?,
        }
    }
    Ok(())
}

/// Prints the plan of a load.
pub(crate) fn plan(out: &mut impl Write, plan: &Plan, has_backup_note: bool) -> io::Result<()> {
    let Plan { target, path, why, .. } = plan;
    match path {
        Some(path) if plan.makes_table => {
            writeln!(
                out,
                "{target}: creates the table, then loads it with the {path} path, {why}"
            )?;
        }
        // What is against the faster ones follows.
        Some(path) if !plan.is_direct() && !plan.refused.is_empty() => {
            writeln!(out, "{target}: loads with the {path} path, which sends rows")?;
        }
        Some(path) => writeln!(out, "{target}: loads with the {path} path: {why}")?,
        None if plan.makes_table && plan.refused.is_empty() => writeln!(
            out,
            "{target}: creates the table, then loads it with the fastest path for \
                           its features"
        )?,
        None => writeln!(out, "{target}: cannot be loaded")?,
    }
    for sentence in Refused::sentences(&plan.refused) {
        writeln!(out, "  {sentence}")?;
    }
    shards(out, &plan.shards)?;
    if let Some(destination) = &plan.destination {
        writeln!(out, "  {destination}")?;
    }
    if plan.is_direct() && plan.stamps {
        writeln!(
            out,
            "  backups: the import waits for a backup that is running; pages are stamped, so \
             incremental backups contain the table"
        )?;
    } else if plan.is_direct() && has_backup_note {
        writeln!(
            out,
            "  backups: the import waits for a backup that is running; take a full backup \
             afterwards, because incremental backups do not contain the table, except with \
             --stamp yes"
        )?;
    }
    let compressed = match plan.compression.as_slice() {
        [] => String::new(),
        kinds => format!(" ({})", kinds.join(", ")),
    };
    let at = plan.server_address.as_ref().map_or(String::new(), |at| format!(" ({at})"));
    writeln!(out, "  server {}{at}, input {}{compressed}", plan.server, show(plan.input_bytes))?;
    if let Some(engine) = &plan.engine {
        writeln!(out, "  engine {}", engine.name)?;
        for rule in &engine.rules {
            writeln!(out, "    {rule}")?;
        }
    }
    if let Some([least, given]) = plan.memory_bytes {
        let mebibytes = |bytes: u64| bytes.div_ceil(1 << 20);
        writeln!(
            out,
            "  memory: at least --memory {}M; {}M is set",
            mebibytes(least),
            given >> 20
        )?;
    }
    writeln!(out, "  duplicates: {}", plan.on_duplicate)?;
    for note in &plan.notes {
        writeln!(out, "  note: {note}")?;
    }
    match &plan.estimate {
        Some(estimate) => self::estimate(out, estimate, plan.free_bytes),
        None => Ok(()),
    }
}

/// Room and time, for rows in key order and for others where that makes a difference.
pub(crate) fn estimate(
    out: &mut impl Write,
    estimate: &Estimate,
    free_bytes: Option<[u64; 2]>,
) -> io::Result<()> {
    let Estimate { rows, table_bytes, seconds, seconds_unordered, loads_measured, .. } = estimate;
    let (least, most) = (estimate.temporary_bytes, estimate.temporary_bytes_unordered);
    let free = |at: usize| {
        free_bytes.map_or_else(String::new, |bytes| format!(" ({} free)", show(bytes[at])))
    };
    writeln!(out, "  about {} rows, estimated from the first ones", group(*rows))?;
    writeln!(out, "  table: about {}{}", show(*table_bytes), free(0))?;
    write!(out, "  temporary: about {}", show(least))?;
    if most > least {
        write!(out, ", {} if the rows are not in primary key order", show(most))?;
    }
    let compressed = if most > 0 { ", before compression" } else { "" };
    writeln!(out, "{}{compressed}", free(1))?;
    let measured = match loads_measured {
        0 => "no large load was measured here yet".to_owned(),
        loads => format!("by the speed of {} here", count(u64::from(*loads), "large load")),
    };
    let (ordered, unordered) = (format!("{seconds:.1} s"), format!("{seconds_unordered:.1} s"));
    let unordered = match ordered == unordered {
        true => String::new(),
        false => format!(", {unordered} if the rows are not in primary key order"),
    };
    writeln!(out, "  time: about {ordered}{unordered} ({measured})")
}
