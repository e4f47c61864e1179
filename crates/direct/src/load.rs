//! The direct path: build the tablespace, have the server adopt it, swap it in.
//!
//! Step by step, each between two journal lines: inspect, staging table ([`prepare`](crate::prepare)), rows,
//! indexes, verify ([`build`]), import ([`Unplaced::import`]), publish. docs/reference/crashes.md says what a
//! crash in each leaves. Between these calls the connections may work at other targets.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use encode::binding::{Binding, Parts};
use encode::partition;
use encode::prepared::Prepared;
use face::option::MEMORY;
use innodb::cfg::Cfg;
use innodb::ids::PAGE_SIZE;
use job::error::Error;
use job::memory::MinMemory;
use job::options::OnDuplicate;
use job::progress::Stage;
use job::report::{Report, backup_note, unlogged_note};
use job::steps::Steps;
use locks::Mutex;
use server::version::{Flavor, Version};
use sources::Source;
use targets::{Direct, Lock};
use values::Collation;

use crate::adopted::Adopted;
use crate::attempt::{Attempt, Built, RowCounts, RowsBuilt, Tried};
use crate::build::Build;
use crate::early_pass::EarlyPass;
use crate::hold::{self, Hold};
use crate::space_file::SpaceFile;
use crate::staged_build::StagedBuild;
use crate::stamp::{Stamped, Stamps};
use crate::unplaced::{Full, Unplaced};
use crate::verify::{self, Expected};

/// So many lines in the server's log are worth a word.
const LOG_LINES_TOLD: u64 = 10_000;

/// Builds the files and verifies them. Takes all of the memory that the load has.
pub fn build(
    prepared: &Prepared<'_>,
    direct: &mut Direct<'_>,
    shadowed: StagedBuild,
    source: &Mutex<Box<dyn Source>>,
    steps: &mut Steps<'_>,
) -> Result<Unplaced, Error> {
    let inspected = prepared.inspected;
    let cfg = shadowed.cfg.clone();
    let binding = Binding::new(Parts {
        columns: inspected.columns.clone(),
        cfg: &cfg,
        fields: &inspected.fields,
        collations: &inspected.collations,
        router: inspected.router.as_ref(),
    })?;
    let collations = collations_by_id(prepared, &binding, &cfg);
    if let Some(router) = &inspected.router {
        let seen = partition::differences(direct.lock, router, &inspected.convert)?;
        seen.map_or(Ok(()), |seen| Err(Error::NotRouted(seen)))?;
    }
    let (old, old_bytes_max) = (OnceLock::new(), hold::reserved(prepared, direct, &binding)?);
    let cached_bytes_max = prepared.options.limits.page_cache_bytes();
    let (spaces, places) = shadowed.begin(direct, cached_bytes_max, &collations)?;
    let build = Build {
        options: prepared.options,
        memory: prepared.memory,
        binding: &binding,
        spaces: &spaces,
        keys: &inspected.foreign_keys,
        source,
        series: inspected.series,
        old: prepared.method.merges().then_some(&old),
        old_bytes_max,
        progress: prepared.progress,
    };
    let mut hold = Hold { prepared, direct, cfg: &cfg, collations: &collations, export: None };
    let (built, early) = built(&build, &mut hold, steps)?;
    let export = hold.export;
    let merged = old.get().and_then(|old| old.partition);
    let RowCounts { rows, rejects, duplicates, .. } = built.counts;
    prepared.options.check_loaded(rows, rejects, rows + rejects + duplicates)?;
    let threads = prepared.memory.threads;
    let stamps = Stamps { is_asked: prepared.options.server.stamps, threads };
    if built.adds_nothing {
        return Ok(Unplaced {
            cfg,
            spaces: Vec::new(),
            built,
            adopted: None,
            merged,
            export,
            stamps,
        });
    }
    let adopted = built.digest.map(|digest| Adopted::new(build.template(), digest, threads));
    let spaces = steps.step(Stage::Verify, || {
        MinMemory::of_verifying(built.file_bytes)
            .check(prepared.options.limits.memory_bytes_max)?;
        let spaces = spaces.into_iter().zip(places).enumerate();
        let spaces = spaces.filter(|(at, _)| merged.is_none_or(|merged| merged == *at));
        let spaces = spaces.zip(early).zip(built.file_rows.iter().copied());
        let verified = spaces.map(|(((_, (space, place)), early), rows)| {
            verify_one(prepared, &space.file, early, &cfg, rows, &collations)?;
            Ok(Full { at: place, file: space.file.into_file(), rows })
        });
        verified.collect::<Result<_, Error>>()
    })?;
    Ok(Unplaced { cfg, spaces, built, adopted, merged, export, stamps })
}

/// Verifies one file, which is to have so many rows.
fn verify_one(
    prepared: &Prepared<'_>,
    file: &SpaceFile,
    early: EarlyPass,
    cfg: &Cfg,
    rows: u64,
    collations: &HashMap<u32, Arc<Collation>>,
) -> Result<(), Error> {
    let expected = Expected {
        cfg,
        collations,
        rows,
        threads: prepared.memory.threads,
        memory_bytes_max: prepared.options.limits.memory_bytes_max,
        interrupt: &prepared.options.interrupt,
    };
    #[cfg(feature = "failpoints")]
    let early = crate::damage::at_failpoint(file, early)?;
    verify::verify(file, early, &expected, prepared.progress)
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
fn built(
    build: &Build<'_>,
    hold: &mut Hold<'_, '_>,
    steps: &mut Steps<'_>,
) -> Result<(Built, Vec<EarlyPass>), Error> {
    let mut attempt = build.first_attempt();
    // Rows that are added so mostly have some keys that are there, and a whole merge is too much to find
    // that out.
    let is_sure = build.extends() && build.options.rows.on_duplicate != OnDuplicate::Fail;
    if !is_sure && let Tried::Done(built) = try_build(build, &mut attempt, hold, steps)? {
        return Ok(built);
    }
    hold.take(build, None, steps)?;
    let resolved = steps.step(Stage::Duplicates, || build.resolve())?;
    match try_build(build, &mut attempt.without(&resolved, build.sorts_all()), hold, steps)? {
        Tried::Done(built) => Ok(built),
        Tried::Duplicates => Err(Error::InputChanged),
    }
}

fn try_build(
    build: &Build<'_>,
    attempt: &mut Attempt<'_>,
    hold: &mut Hold<'_, '_>,
    steps: &mut Steps<'_>,
) -> Result<Tried<(Built, Vec<EarlyPass>)>, Error> {
    match rows(build, attempt, hold, steps)? {
        Tried::Done(rows) if build.adds_nothing(attempt, &rows) => {
            Ok(Tried::Done((build.nothing(rows), Vec::new())))
        }
        Tried::Done(rows) => steps.step(Stage::Indexes, || build.indexes(attempt, rows)),
        Tried::Duplicates => Ok(Tried::Duplicates),
    }
}

/// Reads the rows; the table is held when they are there, at the latest, unless it is to stay as it is.
fn rows<'b>(
    build: &Build<'b>,
    attempt: &mut Attempt<'_>,
    hold: &mut Hold<'_, '_>,
    steps: &mut Steps<'_>,
) -> Result<Tried<RowsBuilt<'b>>, Error> {
    if build.old_bytes_max.is_none() {
        hold.take(build, None, steps)?;
    }
    let tried = steps.step(Stage::Rows, || build.rows(attempt))?;
    let Tried::Done(mut rows) = tried else { return Ok(tried) };
    if !build.is_before_hold() || build.adds_nothing(attempt, &rows) {
        return Ok(Tried::Done(rows));
    }
    hold.take(build, rows.only_partition()?, steps)?;
    if hold::are_as_behind(&mut rows, build) {
        return Ok(Tried::Done(rows));
    }
    drop(rows);
    build.begin_again()?;
    let tried = steps.step(Stage::Rows, || build.rows(attempt))?;
    if let (Tried::Done(rows), Some(partition)) =
        (&tried, build.old().and_then(|old| old.partition))
        && rows.only_partition()? != Some(partition)
    {
        let reason = "other loads took AUTO_INCREMENT numbers meanwhile, and with the next numbers \
                      the rows belong to other partitions";
        return Err(Error::NotMerged(reason.to_owned()));
    }
    Ok(tried)
}

/// IMPORT of MariaDB (10.11.19, 11.8.6) looks for every page in the buffer pool, of a tablespace that is
/// not there yet, and writes down each time that it is not. Nothing can be set to spare that:
/// `buf_read_page` in the server's storage/innobase/buf/buf0rea.cc asks nobody.
fn log_note(version: &Version, file_bytes: u64) -> Option<String> {
    let pages = file_bytes / PAGE_SIZE as u64;
    let is_noticed = version.flavor == Flavor::MariaDb && pages >= LOG_LINES_TOLD;
    is_noticed.then(|| {
        format!(
            "the server's error log contains {pages} harmless notes \"trying to read page .. in \
             nonexisting or being-dropped tablespace\""
        )
    })
}

/// The note about backups of a table, and its pages that have the server's LSN. IMPORT of MySQL gives it to all.
fn stamped_notes(stamped: Stamped, flavor: Flavor) -> (Vec<String>, u64) {
    match stamped {
        Stamped::No if flavor == Flavor::MySql => (Vec::new(), 0),
        Stamped::No => (vec![backup_note()], 0),
        Stamped::Pages(pages) => (Vec::new(), pages),
        Stamped::BesideBackup => {
            let note = "Take a full backup: a backup, a lock or a long checkpoint kept pages of \
                        this table from being stamped, so incremental backups may lack them.";
            (vec![note.to_owned()], 0)
        }
    }
}

/// The report of a target that has its rows; times are added when it is published.
pub fn report(prepared: &Prepared<'_>, target: &Lock, steps: &Steps<'_>, built: Built) -> Report {
    let Prepared { options, memory, why, .. } = *prepared;
    let counts = built.counts;
    let partitions = counts.partition_rows.iter().filter(|rows| **rows > 0).count() as u64;
    let (mut notes, stamped_pages) = stamped_notes(built.stamped, target.facts.version.flavor);
    notes.extend(unlogged_note(&target.facts));
    notes.extend(target.triggers_note());
    notes.extend(log_note(&target.facts.version, built.file_bytes));
    notes.extend(options.unchecked_note(!target.table.foreign_keys.is_empty()));
    notes.extend(options.emptied_note(counts.rows, counts.rejects));
    notes.extend(prepared.inspected.fields.notes(&target.table, &options.input));
    if built.replaced > 0 {
        notes.push(format!("{} row(s) of the table were replaced", built.replaced));
    }
    if memory.threads < options.limits.threads {
        notes.push(format!("{MEMORY} has room for {} thread(s) only", memory.threads));
    }
    if built.spilled_bytes > 0 {
        notes.extend(options.limits.temp_dir_note());
    }
    Report {
        target: target.table.name.to_string(),
        job: steps.job(),
        path: "direct",
        why: why.to_owned(),
        server: target.facts.version.text.clone(),
        server_address: target.session.options().server_text(),
        rows: counts.rows,
        rejects: counts.rejects,
        rejects_by_reason: counts.rejects_by_reason,
        on_duplicate: options.rows.on_duplicate.name(),
        duplicates: counts.duplicates,
        bytes: built.bytes_read,
        file_bytes: built.file_bytes,
        spilled_bytes: built.spilled_bytes,
        stamped_pages,
        sorted_input: built.sorted_input,
        threads: memory.threads,
        indexes: built.indexes,
        partitions,
        notes,
        ..Report::default()
    }
}
