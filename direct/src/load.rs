//! The direct path: build the tablespace, have the server adopt it, swap it in.
//!
//! Step by step, each between two journal lines: inspect, shadow, rows, indexes,
//! verify, import, publish. docs/journal.md says what a crash in each leaves.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use encode::binding::{Binding, Parts};
use encode::prepared::Prepared;
use innodb::cfg::Cfg;
use innodb::template::Template;
use job::error::Error;
use job::failpoint;
use job::machine;
use job::memory::Least;
use job::options::LoadOptions;
use job::progress::Stage;
use job::publish::publish;
use job::report::{Report, memory_peak_bytes};
use job::steps::Steps;
use server::{Direct, Lock};
use sources::Source;
use values::Collation;

use crate::attempt::{Attempt, Built, Tried};
use crate::build::Build;
use crate::early_pass::EarlyPass;
use crate::space_file::SpaceFile;
use crate::verify::{self, Expected};

/// Loads a target that was found fit for it.
pub fn run(
    prepared: &Prepared<'_>,
    direct: &mut Direct<'_>,
    source: &Mutex<Box<dyn Source>>,
    steps: &mut Steps<'_>,
) -> Result<Report, Error> {
    let done = load(prepared, direct, source, steps)?;
    steps.stopwatch.stop();
    Ok(report(prepared, direct.lock, steps, done))
}

/// A load that is done.
struct Done {
    built: Built,
    /// What did not work after the target had its rows.
    warnings: Vec<String>,
}

fn load(
    prepared: &Prepared<'_>,
    direct: &mut Direct<'_>,
    source: &Mutex<Box<dyn Source>>,
    steps: &mut Steps<'_>,
) -> Result<Done, Error> {
    let (ibd, template, mut cfg, discarded) = steps.step(Stage::Shadow, || {
        let shadow = direct.create_shadow()?;
        failpoint::hit("shadow.created");
        let (template, exported) = shadow.export_template()?;
        let discarded = exported.discard()?;
        failpoint::hit("shadow.discarded");
        let cfg = Cfg::parse(&template.cfg)?;
        let parsed = Template::parse(&template.ibd, &cfg)?;
        Ok((template.ibd, parsed, cfg, discarded))
    })?;
    let binding = Binding::new(Parts {
        columns: prepared.inspected.columns.clone(),
        cfg: &cfg,
        fields: &prepared.inspected.fields,
        collations: &prepared.inspected.collations,
    })?;
    let (file, mut building) = discarded.create_build_file()?;
    let file = SpaceFile::new(file, building.path(), cached_bytes_max(prepared.options));
    let collations = collations_by_id(prepared, &binding, &cfg);
    let build = Build {
        options: prepared.options,
        memory: prepared.memory,
        binding: &binding,
        template: &template,
        file: &file,
        early: &verify::early(&ibd, &cfg, &collations)?,
        source,
        series: prepared.inspected.series,
        progress: prepared.progress,
    };
    let (built, early) = built(&build, steps)?;
    prepared.options.check_loaded(built.rows, built.rejects)?;
    let expected = Expected {
        cfg: &cfg,
        collations: &collations,
        rows: built.rows,
        threads: prepared.memory.threads,
        interrupt: &prepared.options.interrupt,
    };
    steps.step(Stage::Verify, || {
        Least::of_verifying(built.file_bytes).check(prepared.options.memory_bytes_max)?;
        #[cfg(feature = "failpoints")]
        let early = crate::damage::at_failpoint(&file, early)?;
        verify::verify(&file, early, &expected, prepared.progress)
    })?;
    drop(file);
    let filled = steps.step(Stage::Import, || {
        cfg.autoinc = built.next_auto_increment.unwrap_or(0);
        building.ensure_session()?;
        let placed = building.place(&cfg.to_bytes())?;
        failpoint::hit("import.placed");
        let mut imported = placed.import(built.row_id_max)?;
        imported.check_indexes(built.rows)?;
        Ok(imported.filled())
    })?;
    let warnings = steps.last_step(Stage::Publish, || publish(filled, prepared.options))?;
    Ok(Done { built, warnings })
}

/// How much of the file is left to the page cache.
fn cached_bytes_max(options: &LoadOptions) -> u64 {
    let given = options.page_cache_bytes;
    given.unwrap_or_else(|| machine::page_cache_bytes(options.memory_bytes_max))
}

/// The collations of key columns, by the number the `.cfg` knows them by.
fn collations_by_id(
    prepared: &Prepared<'_>,
    binding: &Binding,
    cfg: &Cfg,
) -> HashMap<u32, Arc<Collation>> {
    let named = |name: &str| cfg.columns.iter().find(|column| column.name == name);
    binding
        .columns
        .iter()
        .filter_map(|bound| {
            let collation =
                prepared.inspected.collations.get(bound.column.sql_type.collation()?)?;
            let id = innodb::verify::collation_of(named(&bound.column.name)?)?;
            Some((id, Arc::clone(collation)))
        })
        .collect()
}

/// Builds the table as if no rows shared keys, and if some do, again without those that lose.
fn built(build: &Build<'_>, steps: &mut Steps<'_>) -> Result<(Built, EarlyPass), Error> {
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
) -> Result<Tried<(Built, EarlyPass)>, Error> {
    match steps.step(Stage::Rows, || build.rows(attempt))? {
        Tried::Done(rows) => steps.step(Stage::Indexes, || build.indexes(attempt, rows)),
        Tried::Duplicates => Ok(Tried::Duplicates),
    }
}

fn report(prepared: &Prepared<'_>, target: &Lock, steps: &mut Steps<'_>, done: Done) -> Report {
    let Prepared { options, memory, why, .. } = *prepared;
    let Done { built, mut warnings } = done;
    warnings.extend(target.remarks.iter().cloned());
    let seconds = steps.stopwatch.total_seconds();
    let mut notes = vec![
        "the rows are in no backup yet: take a full one, since an incremental one leaves the \
              table out"
            .to_owned(),
    ];
    notes.extend(options.emptied_note(built.rows, built.rejects));
    if memory.threads < options.threads {
        notes.push(format!("--memory has room for {} thread(s) only", memory.threads));
    }
    Report {
        target: target.table.name.to_string(),
        job: steps.job().to_owned(),
        path: "direct",
        why: why.to_owned(),
        server: target.facts.version.text.clone(),
        server_address: target.session.options().server_text(),
        rows: built.rows,
        rejects: built.rejects,
        rejects_by_reason: built.rejects_by_reason,
        rejects_file: None,
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
