//! The direct path: build the tablespace, have the server adopt it, swap it in.
//!
//! Step by step, each between two journal lines: inspect, shadow ([`prepare`]), rows, indexes, verify
//! ([`build`]), import ([`Unplaced::import`]), publish. docs/journal.md says what a crash in each
//! leaves. Between these calls the connections may work at other targets.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex};

use encode::binding::{Binding, Parts};
use encode::counter::Series;
use encode::prepared::Prepared;
use innodb::cfg::{Cfg, CfgIndex};
use innodb::ids::{IndexId, PAGE_SIZE};
use innodb::template::Template;
use job::error::Error;
use job::failpoint;
use job::machine;
use job::memory::Least;
use job::options::{LoadOptions, OnDuplicate};
use job::progress::Stage;
use job::report::Report;
use job::steps::Steps;
use server::Interrupt;
use server::version::{Flavor, Version};
use sources::Source;
use targets::export::Export;
use targets::import::AtBuilt;
use targets::key_run::Keys;
use targets::publish::FilledBy;
use targets::shadow::AtDiscarded;
use targets::{Direct, Lock};
use values::Collation;

use crate::attempt::{Attempt, Built, Tried};
use crate::build::Build;
use crate::early_pass::EarlyPass;
use crate::old::OldTable;
use crate::space_file::SpaceFile;
use crate::verify::{self, Bounds, Expected};

/// So many lines in the server's log are worth a word.
const LOG_LINES_TOLD: u64 = 10_000;

/// A target with an empty shadow, which has no file any more.
pub struct Shadowed {
    /// The shadow's file as the server had made it.
    ibd: Vec<u8>,
    template: Template,
    cfg: Cfg,
    at: AtDiscarded,
}

/// A target whose file is built and verified.
pub struct Unplaced {
    cfg: Cfg,
    built: Built,
    at: AtBuilt,
    /// Holds the target, if its rows are in the file too.
    export: Option<Export>,
}

/// Makes the shadow of a target that was found fit for it. `begins_wait` starts what must have
/// passed before the import, where nobody does it for several targets.
pub fn prepare(
    direct: &mut Direct<'_>,
    begins_wait: bool,
    steps: &mut Steps<'_>,
) -> Result<Shadowed, Error> {
    steps.step(Stage::Shadow, || {
        let shadow = direct.create_shadow()?;
        failpoint::hit("shadow.created");
        let (exported_files, exported) = shadow.export_template()?;
        let discarded = if begins_wait { exported.discard() } else { exported.discard_only() }?;
        failpoint::hit("shadow.discarded");
        let cfg = Cfg::parse(&exported_files.cfg)?;
        let template = Template::parse(&exported_files.ibd, &cfg)?;
        Ok(Shadowed { ibd: exported_files.ibd, template, cfg, at: discarded.rest() })
    })
}

/// Builds the file and verifies it. Takes all of the memory that the load has.
pub fn build(
    prepared: &Prepared<'_>,
    direct: &mut Direct<'_>,
    shadowed: Shadowed,
    source: &Mutex<Box<dyn Source>>,
    steps: &mut Steps<'_>,
) -> Result<Unplaced, Error> {
    let Shadowed { ibd, template, cfg, at } = shadowed;
    let binding = Binding::new(Parts {
        columns: prepared.inspected.columns.clone(),
        cfg: &cfg,
        fields: &prepared.inspected.fields,
        collations: &prepared.inspected.collations,
    })?;
    let collations = collations_by_id(prepared, &binding, &cfg);
    let (export, old) = match prepared.extends {
        false => (None, None),
        true => {
            let like = (&template, &cfg, &binding, &collations);
            let (export, old) = steps.step(Stage::Export, || export(prepared, direct, like))?;
            (Some(export), Some(old))
        }
    };
    let (file, building) = direct.discarded(at)?.create_build_file()?;
    let file = SpaceFile::new(file, building.path(), cached_bytes_max(prepared.options));
    let build = Build {
        options: prepared.options,
        memory: prepared.memory,
        binding: &binding,
        template: &template,
        // Those of rows that are there are not decoded.
        keys: if old.is_some() { &[] } else { &prepared.inspected.foreign_keys },
        file: &file,
        early: &verify::early(&ibd, &cfg, &collations)?,
        source,
        series: series(prepared, old.as_ref()),
        old: old.as_ref(),
        progress: prepared.progress,
    };
    let (built, early) = built(&build, steps)?;
    prepared.options.check_loaded(built.rows, built.rejects)?;
    let expected = Expected {
        cfg: &cfg,
        collations: &collations,
        rows: built.rows_in_all,
        threads: prepared.memory.threads,
        interrupt: &prepared.options.interrupt,
    };
    steps.step(Stage::Verify, || {
        Least::of_verifying(built.file_bytes).check(prepared.options.memory_bytes_max)?;
        #[cfg(feature = "failpoints")]
        let early = crate::damage::at_failpoint(&file, early)?;
        verify::verify(&file, early, &expected, prepared.progress)
    })?;
    let at = building.rest();
    Ok(Unplaced { cfg, built, at, export })
}

/// Has the server write out the target, which nobody writes to from then on, and verifies that.
fn export(
    prepared: &Prepared<'_>,
    direct: &mut Direct<'_>,
    (template, cfg, binding, collations): (
        &Template,
        &Cfg,
        &Binding,
        &HashMap<u32, Arc<Collation>>,
    ),
) -> Result<(Export, OldTable), Error> {
    let export = direct.export_target()?;
    failpoint::hit("export.held");
    let bounds = Bounds {
        threads: prepared.memory.threads,
        memory_bytes_max: prepared.options.memory_bytes_max,
        interrupt: &prepared.options.interrupt,
    };
    let like = (template, cfg);
    let old = OldTable::open(&export, like, binding, collations, bounds, prepared.progress)?;
    Ok((export, old))
}

/// How AUTO_INCREMENT values go on: behind those that the table had when nobody could add to it any more.
fn series(prepared: &Prepared<'_>, old: Option<&OldTable>) -> Series {
    let series = prepared.inspected.series;
    match old {
        Some(old) => Series { start: old.next_auto_increment.max(1), ..series },
        None => series,
    }
}

impl Unplaced {
    /// Bytes of the file, in the page cache mostly.
    pub fn file_bytes(&self) -> u64 {
        self.built.file_bytes
    }

    /// Has the server of a replica adopt a copy of the file, which lies at `built` and is not imported
    /// yet.
    ///
    /// Errors: the server's; its shadow is of another shape.
    pub fn import_copy(
        &self,
        built: &Path,
        replica: &mut Direct<'_>,
        interrupt: &Interrupt,
    ) -> Result<(), Error> {
        let (files, exported) = replica.create_shadow()?.export_template()?;
        let cfg = Cfg { autoinc: self.built.next_auto_increment.unwrap_or(0), ..self.cfg.clone() };
        if shape(&Cfg::parse(&files.cfg)?) != shape(&cfg) {
            return Err(Error::Usage("InnoDB lays the table out otherwise there".to_owned()));
        }
        let building = exported.discard()?.create_copy(built, interrupt)?;
        failpoint::hit("replica.copied");
        let placed = building.place(&cfg.to_bytes())?;
        failpoint::hit("replica.placed");
        let mut imported = placed.import(self.built.row_id_max)?;
        Ok(imported.check_indexes(self.built.rows_in_all)?)
    }

    /// Has the server adopt the file. Takes no memory worth counting.
    pub fn import(
        self,
        direct: &mut Direct<'_>,
        steps: &mut Steps<'_>,
    ) -> Result<(FilledBy, Built), Error> {
        let Unplaced { mut cfg, mut built, at, export } = self;
        let made = steps.step(Stage::Import, || {
            cfg.autoinc = built.next_auto_increment.unwrap_or(0);
            let mut building = direct.building(at)?;
            building.ensure_session()?;
            let placed = building.place(&cfg.to_bytes())?;
            failpoint::hit("import.placed");
            let mut imported = placed.import(built.row_id_max)?;
            imported.check_indexes(built.rows_in_all)?;
            let keys = Keys { runs: std::mem::take(&mut built.keys), rows: built.rows };
            Ok(imported.filled().rest().with_keys(keys).extending(export))
        })?;
        Ok((made, built))
    }
}

/// What has to be the same of a table on two servers: all but names and numbers of the files.
fn shape(cfg: &Cfg) -> Cfg {
    let index = |index: &CfgIndex| CfgIndex { id: IndexId(0), space_id: 0, ..index.clone() };
    Cfg {
        host: String::new(),
        autoinc: 0,
        indexes: cfg.indexes.iter().map(index).collect(),
        ..cfg.clone()
    }
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
    let extends = build.old.is_some();
    // Rows that are added so mostly have some keys that are there, and a whole merge is too much to find
    // that out.
    let is_sure = extends && build.options.on_duplicate != OnDuplicate::Fail;
    if !is_sure && let Tried::Done(built) = try_build(build, &mut attempt, steps)? {
        return Ok(built);
    }
    let resolved = steps.step(Stage::Duplicates, || build.resolve())?;
    match try_build(build, &mut attempt.without(&resolved, extends), steps)? {
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

/// IMPORT of MariaDB (10.11.19, 11.8.6) looks for every page in the buffer pool, of a tablespace that is
/// not there yet, and writes down each time that it is not. Nothing can be set to spare that:
/// `buf_read_page` in the server's storage/innobase/buf/buf0rea.cc asks nobody.
fn log_note(version: &Version, file_bytes: u64) -> Option<String> {
    let pages = file_bytes / PAGE_SIZE as u64;
    let is_noticed = version.flavor == Flavor::MariaDb && pages >= LOG_LINES_TOLD;
    is_noticed.then(|| {
        format!(
            "the server's error log has a note for each of {pages} pages, \"trying to read page .. in \
             nonexisting or being-dropped tablespace\": they mean nothing"
        )
    })
}

/// The report of a target that has its rows; times are added when it is published.
pub fn report(prepared: &Prepared<'_>, target: &Lock, steps: &Steps<'_>, built: Built) -> Report {
    let Prepared { options, memory, why, .. } = *prepared;
    let mut notes = vec![
        "the rows are in no backup yet: take a full one, since an incremental one leaves the \
              table out"
            .to_owned(),
    ];
    notes.extend(target.facts.unlogged_note());
    notes.extend(target.triggers_note());
    notes.extend(log_note(&target.facts.version, built.file_bytes));
    notes.extend(options.unchecked_note(!target.table.foreign_keys.is_empty()));
    notes.extend(options.emptied_note(built.rows, built.rejects));
    if memory.threads < options.threads {
        notes.push(format!("--memory has room for {} thread(s) only", memory.threads));
    }
    Report {
        target: target.table.name.to_string(),
        job: steps.job(),
        path: "direct",
        why: why.to_owned(),
        server: target.facts.version.text.clone(),
        server_address: target.session.options().server_text(),
        rows: built.rows,
        rejects: built.rejects,
        rejects_by_reason: built.rejects_by_reason,
        on_duplicate: options.on_duplicate.name(),
        duplicates: built.duplicates,
        bytes: built.bytes_read,
        file_bytes: built.file_bytes,
        spilled_bytes: built.spilled_bytes,
        sorted_input: built.sorted_input,
        threads: memory.threads,
        indexes: built.indexes,
        notes,
        ..Report::default()
    }
}
