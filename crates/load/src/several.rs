//! Several tables in one command: all of them, or none.
//!
//! ```text
//! files -> tables -> inspect all -> order -> | build a, b, c ..    |  -> one RENAME -> drop the old
//!                    (refuse here)           |       import a, b ..|
//!                                         -> | rows of a, b, c ..  |  -> one COMMIT
//! ```
//!
//! | module | content |
//! | --- | --- |
//! | [`files`] | the table of each file |
//! | `facts`, `inspection` | all tables inspected before anything is done, and the facts for `choose::Together` |
//! | `part`, `pipeline` | one table between two stages; a table is built while the one before is imported |
//! | `publish`, `one_transaction` | one RENAME for all tables; one COMMIT |
//! | `each` | tables that are published one by one |
//! | `bad_rows` | other tables whose rows would have failed the command, too |
//! | `shares`, `ids`, `lookups` | lines with rows of several tables, ids of their entities, values of other tables |
//! | `lines_read`, `lines_checked` | such lines read before a load, and checked alone |
//! | `plan`, `watched` | the plan of all tables; their progress |

pub mod files;

mod bad_rows;
mod each;
mod facts;
mod ids;
mod inspection;
mod lines_checked;
mod lines_read;
mod lookups;
mod one_transaction;
mod part;
mod pipeline;
mod plan;
mod publish;
mod shares;
mod watched;

use face::option::{INTO, STATE_DIR};
use sources::{Source, SourceExt as _};
use std::path::PathBuf;
use std::sync::mpsc::Sender;
use std::time::Instant;

use encode::input;
use job::error::Error;
use job::journal;
use job::memory::Memory;
use job::options::{LoadOptions, LoadPath};
use job::progress::{Progress, Stage};
use job::report::{Report, memory_peak_bytes};
use job::steps::Steps;
use job::tuning::Tuning;
use locks::Mutex;
use schema::TableName;
use serde::Serialize;
use server::identifier::digest;
use server::{ConnectOptions, Interrupt};
use targets::Resting;

use self::inspection::{InspectedTables, Inspection};
use crate::ddl;
use crate::journaled;
use crate::killed_loads::KilledLoads;
use crate::run::{self, remove_empty};

/// Inputs that stay open from the first look at them until they are read.
const INPUTS_OPEN_MAX: usize = 64;
/// Tables of a command whose names are told; more are told apart by a digest.
const NAMES_TOLD: usize = 5;

pub use self::each::load_each;
pub use self::lines_checked::{check_lines, verify_lines};
pub use self::lines_read::LinesOf;
pub use self::plan::{SeveralPlan, plan_several, refused};
pub use self::shares::LinesReport;
pub use crate::ddl::give_statements;

/// The report of several tables.
#[derive(Clone, Debug, Default, Serialize)]
pub struct SeveralReport {
    /// Their database.
    pub database: String,
    /// True if all were published at once.
    pub atomic: bool,
    /// Rows of all tables that came from the input.
    pub rows: u64,
    /// Rows of all inputs that were refused.
    pub rejects: u64,
    /// Bytes read from all inputs.
    pub bytes: u64,
    /// Wall time of all.
    pub seconds: f64,
    /// Highest resident memory of the process.
    pub memory_peak_bytes: u64,
    /// Each table, in the order in which they were loaded. The seconds of each are those that were
    /// spent on it, with those of others beside them.
    pub tables: Vec<Report>,
    /// The report about lines that hold rows of several tables; none if each file has one table.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lines: Option<LinesReport>,
    /// Failures after the rows were in place, one sentence each; usually empty. Those of one table
    /// alone are in its report.
    pub warnings: Vec<String>,
}

/// Loads several tables of one database, each by its own options, and publishes all at once.
/// Settings for all of them (mode, state folder, lock wait) are those of the first.
///
/// Errors leave all tables as they were.
pub fn load_several(
    connect: &ConnectOptions,
    tables: &[LoadOptions],
    progress: &dyn Progress,
) -> Result<SeveralReport, Error> {
    load_all_of(connect, tables, None, progress)
}

/// Loads files whose lines hold rows of all tables, by a mapping for each table. Settings for the
/// lines (files, how they are read, rejects) are those of the first table.
///
/// Errors leave all tables as they were.
pub fn load_lines(
    connect: &ConnectOptions,
    tables: &[LoadOptions],
    lines: &LinesOf,
    progress: &dyn Progress,
) -> Result<SeveralReport, Error> {
    load_all_of(connect, tables, Some(lines), progress)
}

fn load_all_of(
    connect: &ConnectOptions,
    tables: &[LoadOptions],
    of: Option<&LinesOf>,
    progress: &dyn Progress,
) -> Result<SeveralReport, Error> {
    let mut inputs = open_several(tables)?;
    if of.is_some() {
        // The lines are shared among the tables first.
        inputs.clear();
    }
    let begun = Instant::now();
    let (first, mut kept) = (&tables[0], Vec::new());
    let told = told(tables);
    let (mut lines, mut apart) = (None, Vec::new());
    let outcome = journaled::job(connect, first, &told, progress, |connect, steps, told_by| {
        let tables: Vec<LoadOptions> = tables
            .iter()
            .map(|options| {
                let mut options = options.clone();
                options.command = options.command.and_then(|_| steps.command());
                if options.rows.rejects.is_none() && options.rows.rejects_max > 0 {
                    let path = match of {
                        Some(_) => steps.rejects_path(),
                        None => journal::rejects_path_of(&steps.rejects_path(), &options.table),
                    };
                    kept.push(path.clone());
                    options.rows.rejects = Some(path);
                }
                options
            })
            .collect();
        let make = || ddl::make_tables(connect, &tables, &told_by);
        let made = steps.step_or_undo(Stage::Inspect, make, |made| made.undo_anew(connect))?;
        let shared = match of {
            None => Ok((tables, None)),
            Some(of) => steps
                .step(Stage::Inspect, || {
                    shares::share_held(connect, tables, of, &told_by, progress)
                })
                .map(|(tables, report, held)| {
                    lines = report;
                    (tables, Some(held))
                }),
        };
        let tolerates = of.is_some() && first.rows.rejects_max > 0;
        let loaded = shared.and_then(|(tables, held)| {
            let (apart, from) = (&mut apart, (held, inputs));
            let loaded = load_all(connect, &tables, from, &told_by, apart, &mut *steps, progress);
            loaded.map_err(|error| match of {
                Some(_) if tolerates => refused_line(error),
                Some(_) => error,
                None => bad_rows::with_others(error, connect, &tables, progress),
            })
        });
        if let Err(error) = &loaded
            && !error.is_told()
        {
            made.undo_anew(connect);
        }
        loaded
    });
    kept.iter().for_each(|path| remove_empty(path));
    let (reports, warnings) = outcome?;
    let is_atomic = apart.is_empty();
    let reports = load_apart(connect, tables, &apart, reports, progress);
    let reports = reports.map_err(|error| with_warnings(error, &warnings))?;
    let mut report = SeveralReport::of(reports, warnings, is_atomic, begun);
    report.rejects += lines.as_ref().map_or(0, |lines| lines.rejects);
    Ok(SeveralReport { lines, ..report })
}

/// The note on a table that is not published together with the others of a command.
fn after_others(table: &str) -> String {
    format!(
        "{table} is loaded after the other tables, by itself: it, or a table that it refers to, \
         cannot be published together with others"
    )
}

/// Writes down which tables are loaded behind the others, where there are any.
fn note_apart(tables: &[LoadOptions], apart: &[usize], steps: &mut Steps<'_>) -> Result<(), Error> {
    let names: Vec<&str> = apart.iter().map(|&at| tables[at].table.as_str()).collect();
    if names.is_empty() { Ok(()) } else { steps.note_apart(&names) }
}

/// The positions of tables that a killed command had left to loads behind it, which may have done some of them.
///
/// Errors: its journal is not here, and it may have had such tables.
fn left_apart(
    settled: &KilledLoads,
    tables: &[LoadOptions],
    targets: &[Resting],
) -> Result<Vec<usize>, Error> {
    if let Some(names) = settled.apart() {
        let position = |name: &String| tables.iter().position(|one| one.table == *name);
        return Ok(names.iter().filter_map(position).collect());
    }
    let mut found = tables.iter().zip(targets);
    match found.find(|(options, target)| inspection::is_unlike_others(options, target)) {
        None => Ok(Vec::new()),
        Some((_, target)) => Err(Error::Usage(format!(
            "a load of this command on another computer, or with another {STATE_DIR}, had published its tables \
             before it was killed; only its journal says if the rows of {}, which has triggers, are in: run the \
             command there again, or load that table by itself",
            target.table.name
        ))),
    }
}

/// Loads the tables that could not be published together with those that have `reports`; gives the reports of all.
/// Each is a job with the command and the files of its table.
///
/// Errors: [`Error::Each`].
fn load_apart(
    connect: &ConnectOptions,
    tables: &[LoadOptions],
    apart: &[usize],
    reports: Vec<Report>,
    progress: &dyn Progress,
) -> Result<Vec<Report>, Error> {
    let command = |files: &[PathBuf]| Some(tables[0].command.clone()?.reading(files));
    let alone = |&at: &usize| LoadOptions {
        command: command(&tables[at].input.files),
        ..tables[at].clone()
    };
    let next: Vec<LoadOptions> = apart.iter().map(alone).collect();
    let published = reports.len();
    let mut reports = each::load_next(connect, next.iter(), reports, None, progress)?;
    for report in &mut reports[published..] {
        report.notes.push(after_others(&report.target));
    }
    Ok(reports)
}

/// Has an error about one table keep the warnings about those that were published together before it.
fn with_warnings(mut error: Error, warnings: &[String]) -> Error {
    if let Error::Each { done, .. } = &mut error
        && let Some(first) = done.first_mut()
    {
        first.warnings.extend_from_slice(warnings);
    }
    error
}

/// The error about a line that passed the check and was refused by a table. It does not repeat the limit of
/// rejects.
fn refused_line(error: Error) -> Error {
    match error {
        Error::Several { table, step, error, tables, left, others } => {
            let error = match *error {
                Error::Rejected { last: row, .. } => Error::RefusedLine { row },
                error => error,
            };
            Error::Several { table, step, error: Box::new(error), tables, left, others }
        }
        error => error,
    }
}

/// Loads tables that are there, if they may be loaded.
fn load_all(
    connect: &ConnectOptions,
    tables: &[LoadOptions],
    (held, inputs): (Option<inspection::Held>, Vec<Input>),
    told_by: &Sender<String>,
    apart: &mut Vec<usize>,
    steps: &mut Steps<'_>,
    progress: &dyn Progress,
) -> Result<(Vec<Report>, Vec<String>), Error> {
    let (interrupt, told) = (tables[0].interrupt.clone(), &*steps.target().to_owned());
    let inspected = steps.step(Stage::Inspect, || {
        inspection::inspect(connect, tables, held, inputs, told_by, told)
    })?;
    let (mut inspected, settled) = match inspected {
        Inspection::Tables(inspected, settled) => (*inspected, settled),
        Inspection::In(targets, _keeper, settled) => {
            *apart = left_apart(&settled, tables, &targets)?;
            note_apart(tables, apart, steps)?;
            let found = tables.iter().zip(targets).enumerate();
            let together = found.filter(|(at, _)| !apart.contains(at)).map(|(_, found)| found);
            return Ok(settled.finish_own_all(together.collect(), connect, steps));
        }
    };
    *apart = std::mem::take(&mut inspected.apart);
    note_apart(tables, apart, steps)?;
    let sent = inspected.parts.iter().find(|part| part.chosen.path != LoadPath::Direct);
    let files = inspected.parts.iter().flat_map(|part| &part.options.input.files).cloned();
    let files: Vec<PathBuf> = files.collect();
    let tuning = sent.map_or_else(Tuning::default, |part| {
        let (options, path) = (&part.options, part.chosen.path);
        Tuning::of_load(connect, options, &files, path, &run::load_into(options))
    });
    let loaded = load_inspected(connect, inspected, told, &mut *steps, progress, &interrupt);
    let tuned = tuning.end();
    match loaded {
        Ok((mut reports, mut warnings)) => {
            let notes = [tuned.notes, settled.notes.clone()].concat();
            reports.iter_mut().take(1).for_each(|report| report.notes.extend(notes.clone()));
            settled.close_replaced(steps);
            warnings.extend(tuned.warnings);
            Ok((reports, warnings))
        }
        Err(error) => {
            tuned.warnings.iter().for_each(|text| progress.waiting(text));
            Err(error)
        }
    }
}

/// Loads tables whose ways in are known.
fn load_inspected(
    connect: &ConnectOptions,
    mut inspected: InspectedTables,
    told: &str,
    steps: &mut Steps<'_>,
    progress: &dyn Progress,
    interrupt: &Interrupt,
) -> Result<(Vec<Report>, Vec<String>), Error> {
    if inspected.parts.is_empty() {
        // Each is loaded by itself.
        return Ok((Vec::new(), Vec::new()));
    }
    // From here on something may be made.
    steps.stage = Stage::Staging;
    if inspected.is_whole {
        return one_transaction::load(connect, inspected, told, steps, progress);
    }
    let copies = inspected.copies.take().map(Mutex::new);
    let filled = pipeline::fill(connect, inspected, copies.as_ref(), steps, progress);
    let loaded = filled.and_then(|filled| publish::publish(filled, copies.as_ref(), told, steps));
    match (loaded, copies) {
        // Where the RENAME may be in the log, they may be about to publish.
        (Err(error), Some(copies)) if !error.is_told() => {
            Err(copies.into_inner().abandon(interrupt, error))
        }
        (loaded, _) => loaded,
    }
}

impl SeveralReport {
    fn of(tables: Vec<Report>, warnings: Vec<String>, atomic: bool, begun: Instant) -> Self {
        let database = tables.first().and_then(|table| table.target.split('.').next());
        SeveralReport {
            database: database.unwrap_or_default().to_owned(),
            atomic,
            rows: tables.iter().map(|table| table.rows).sum(),
            rejects: tables.iter().map(|table| table.rejects).sum(),
            bytes: tables.iter().map(|table| table.bytes).sum(),
            seconds: begun.elapsed().as_secs_f64(),
            memory_peak_bytes: memory_peak_bytes(),
            tables,
            lines: None,
            warnings,
        }
    }
}

/// Refuses what can be refused without a server. Changes nothing.
///
/// Errors: two databases; a table that is named twice; files and options, as of each table alone.
pub fn check_several(tables: &[LoadOptions]) -> Result<(), Error> {
    open_several(tables).map(drop)
}

/// The input of a table, of which nothing is read, and the memory of its load.
type Input = (Memory, Box<dyn Source>);

/// Opens the inputs of all tables, as [`check_several`] does, and gives the first of them.
fn open_several(tables: &[LoadOptions]) -> Result<Vec<Input>, Error> {
    let Some(first) = tables.first() else {
        return Err(Error::Usage("no file to load was named".to_owned()));
    };
    let (mut seen, mut inputs) = (std::collections::BTreeSet::new(), Vec::new());
    for options in tables {
        let name = TableName::new(&options.database, &options.table);
        if options.database != first.database {
            return Err(Error::Usage(format!(
                "{name} is not in {}, but all tables of one command must be in one database",
                first.database
            )));
        }
        if !seen.insert(name.clone()) {
            return Err(Error::Usage(format!("table {name} is named twice")));
        }
        let (memory, source) = input::open_files(options)?;
        if let Some(pipe) = source.files().iter().find(|file| file.bytes.is_none()) {
            return Err(Error::Usage(format!(
                "{} is a pipe; only a command for one table can read pipes: {}",
                pipe.path.display(),
                INTO.with(format!("{}.TABLE", first.database))
            )));
        }
        if inputs.len() < INPUTS_OPEN_MAX {
            inputs.push((memory, source));
        }
    }
    Ok(inputs)
}

/// The tables in words: `each of the 2 tables of shop (item, orders)`. Other tables have other words, by which journals
/// are found.
fn told(tables: &[LoadOptions]) -> String {
    let database = tables.first().map_or("", |options| options.database.as_str());
    let mut names: Vec<&str> = tables.iter().map(|options| options.table.as_str()).collect();
    names.sort_unstable();
    let which = match names.as_slice() {
        [name] => return format!("{database}.{name}"),
        names if names.len() <= NAMES_TOLD => names.join(", "),
        [first, .., last] => {
            format!("{first} .. {last}, {:08x}", digest(names.join("\0").as_bytes()) >> 32)
        }
        [] => String::new(),
    };
    format!("each of the {} tables of {database} ({which})", names.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_tables_have_other_words() {
        let words = |names: &[&str]| {
            let table = |name: &&str| LoadOptions::new(Vec::new(), "shop", name);
            told(&names.iter().map(table).collect::<Vec<_>>())
        };
        assert_eq!(words(&["item"]), "shop.item");
        assert_eq!(words(&["item", "area"]), "each of the 2 tables of shop (area, item)");
        let many = words(&["a", "b", "c", "d", "e", "g"]);
        assert!(many.starts_with("each of the 6 tables of shop (a .. g, "), "{many}");
        assert_ne!(words(&["a", "b", "c", "d", "f", "g"]), many);
    }
}
