//! The direct path: build the tablespace, have the server adopt it, swap it in.
//!
//! Step by step, each between two journal lines: inspect, shadow, rows, indexes,
//! verify, import, publish. docs/journal.md says what a crash in each leaves.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use innodb::cfg::Cfg;
use innodb::template::Template;
use server::publish::Filled;
use server::{Direct, Lock, swap};
use sources::Source;
use values::Collation;

use crate::binding::{Binding, Parts, text_collation};
use crate::build::{Attempt, Build, Built, Tried};
use crate::error::Error;
use crate::failpoint;
use crate::inspected::Inspected;
use crate::job::Job;
use crate::memory::Memory;
use crate::options::{LoadOptions, Mode};
use crate::plan;
use crate::progress::{Progress, Stage};
use crate::report::{Report, memory_peak_bytes};
use crate::space_file::SpaceFile;
use crate::steps::Steps;
use crate::verify::{self, Expected};

/// Loads a target that was found fit for it.
pub(crate) fn run(
    job: &Job<'_>,
    direct: &mut Direct<'_>,
    source: Box<dyn Source>,
    steps: &mut Steps<'_>,
) -> Result<Report, Error> {
    let Job { options, progress, memory, rung } = *job;
    let work = Work { options, progress, memory, inspected: &rung.inspected };
    let done = work.run(direct, source, steps)?;
    steps.stopwatch.stop();
    Ok(report(direct.lock, options, memory, steps, done))
}

/// A load that is done.
struct Done {
    built: Built,
    /// What did not work after the target had its rows.
    warnings: Vec<String>,
}

struct Work<'a> {
    options: &'a LoadOptions,
    progress: &'a dyn Progress,
    memory: &'a Memory,
    inspected: &'a Inspected,
}

impl Work<'_> {
    fn run(
        &self,
        direct: &mut Direct<'_>,
        source: Box<dyn Source>,
        steps: &mut Steps<'_>,
    ) -> Result<Done, Error> {
        let (template, mut cfg, discarded) = steps.step(Stage::Shadow, || {
            let shadow = direct.create_shadow()?;
            failpoint::hit("shadow.created");
            let (template, exported) = shadow.export_template()?;
            let discarded = exported.discard()?;
            failpoint::hit("shadow.discarded");
            let cfg = Cfg::parse(&template.cfg)?;
            Ok((Template::parse(&template.ibd, &cfg)?, cfg, discarded))
        })?;
        let binding = Binding::new(Parts {
            columns: self.inspected.columns.clone(),
            cfg: &cfg,
            fields: &self.inspected.fields,
            collations: &self.inspected.collations,
        })?;
        let (file, mut building) = discarded.create_build_file()?;
        let file = SpaceFile::new(file, building.path());
        let build = Build {
            options: self.options,
            memory: self.memory,
            binding: &binding,
            template: &template,
            file: &file,
            source: &Mutex::new(source),
            series: self.inspected.series,
            progress: self.progress,
        };
        let built = built(&build, steps)?;
        steps.step(Stage::Verify, || {
            Memory::check_verify(self.options.memory_bytes_max, built.file_bytes)?;
            failpoint::built(&file)?;
            let collations = self.collations_by_id(&binding, &cfg);
            let expected = Expected {
                cfg: &cfg,
                collations: &collations,
                rows: built.rows,
                threads: self.memory.threads,
                interrupt: &self.options.interrupt,
            };
            verify::verify(&file, &expected, self.progress)
        })?;
        drop(file);
        let filled = steps.step(Stage::Import, || {
            cfg.autoinc = built.next_auto_increment.unwrap_or(0);
            building.ensure_session()?;
            let placed = building.place(&cfg.to_bytes())?;
            failpoint::hit("import.placed");
            let mut imported = placed.import()?;
            imported.check_indexes(built.rows)?;
            Ok(imported.filled())
        })?;
        let warnings = steps.last_step(Stage::Publish, || publish(filled, self.options))?;
        Ok(Done { built, warnings })
    }

    /// The collations of key columns, by the number the `.cfg` knows them by.
    fn collations_by_id(&self, binding: &Binding, cfg: &Cfg) -> HashMap<u32, Arc<Collation>> {
        let named = |name: &str| cfg.columns.iter().find(|column| column.name == name);
        binding
            .columns
            .iter()
            .filter_map(|bound| {
                let collation =
                    self.inspected.collations.get(text_collation(&bound.column.sql_type)?)?;
                let id = innodb::verify::collation_of(named(&bound.column.name)?)?;
                Some((id, Arc::clone(collation)))
            })
            .collect()
    }
}

/// Builds the table as if no rows shared keys, and if some do, again without those that lose.
fn built(build: &Build<'_>, steps: &mut Steps<'_>) -> Result<Built, Error> {
    let mut attempt = build.first_attempt();
    if let Tried::Done(built) = try_build(build, &mut attempt, steps)? {
        return Ok(built);
    }
    let resolved = steps.step(Stage::Duplicates, || build.resolve())?;
    match try_build(build, &mut attempt.without(&resolved), steps)? {
        Tried::Done(built) => Ok(built),
        Tried::Duplicates => Err(Error::InputChanged),
    }
}

fn try_build(
    build: &Build<'_>,
    attempt: &mut Attempt<'_>,
    steps: &mut Steps<'_>,
) -> Result<Tried<Built>, Error> {
    match steps.step(Stage::Rows, || build.rows(attempt))? {
        Tried::Done(rows) => steps.step(Stage::Indexes, || build.indexes(attempt, rows)),
        Tried::Duplicates => Ok(Tried::Duplicates),
    }
}

/// Swaps the new table in. What goes wrong after that no longer makes the load a failure.
pub(crate) fn publish(mut filled: Filled<'_>, options: &LoadOptions) -> Result<Vec<String>, Error> {
    let target = filled.lock.table.name.to_string();
    filled.ensure_session()?;
    let swapped = filled.publish(swap_mode(options.mode)).map_err(|error| match error {
        server::Error::Unanswered(_) => {
            let reason = error.to_string();
            Error::SwapUnknown { target, reason }
        }
        error => error.into(),
    });
    let mut swapped = swapped?;
    // The rows are in: no wish to stop takes them out again.
    let _shield = options.interrupt.shield();
    failpoint::hit("publish.swapped");
    match swapped.drop_old() {
        Ok(()) => Ok(Vec::new()),
        Err(error @ server::Error::Leftover(_)) => Ok(vec![error.to_string()]),
        Err(error) => Ok(vec![format!(
            "the old table, {}, could not be dropped, the next load of this table drops it: {error}",
            swapped.aside()
        )]),
    }
}

fn swap_mode(mode: Mode) -> swap::Mode {
    match mode {
        Mode::Insert | Mode::Append => swap::Mode::Insert,
        Mode::Replace => swap::Mode::Replace,
    }
}

fn report(
    target: &Lock,
    options: &LoadOptions,
    memory: &Memory,
    steps: &mut Steps<'_>,
    done: Done,
) -> Report {
    let Done { built, mut warnings } = done;
    warnings.extend(target.remarks.iter().cloned());
    let seconds = steps.stopwatch.total_seconds();
    let mut notes =
        vec!["the rows are not in the redo log: take a backup before you rely on one".to_owned()];
    if options.mode == Mode::Replace && built.rows == 0 {
        notes.push("the input had no rows, so that the table is empty now".to_owned());
    }
    if memory.threads < options.threads {
        notes.push(format!("--memory has room for {} thread(s) only", memory.threads));
    }
    Report {
        target: target.table.name.to_string(),
        job: steps.job().to_owned(),
        path: "direct",
        why: plan::WHY_DIRECT.to_owned(),
        server: target.facts.version.text.clone(),
        rows: built.rows,
        rejects: built.rejects,
        on_duplicate: options.on_duplicate.name(),
        duplicates: built.duplicates,
        bytes: built.bytes_read,
        file_bytes: built.file_bytes,
        spilled_bytes: built.spilled_bytes,
        sorted_input: built.sorted_input,
        seconds,
        rows_per_second: built.rows as f64 / seconds,
        megabytes_per_second: built.bytes_read as f64 / 1e6 / seconds,
        stages: steps.stopwatch.times(),
        memory_peak_bytes: memory_peak_bytes(),
        threads: memory.threads,
        indexes: built.indexes,
        logical: None,
        notes,
        warnings,
    }
}
