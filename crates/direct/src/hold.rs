//! When nobody may write any more to a table that keeps its rows: as late as can be.
//!
//! ```text
//! rows, sorted -> the table is held -> its file verified -> indexes -> verify -> import -> publish
//!                 '- who writes to it waits ------------------------------------------------'
//! ```
//!
//! New rows are read before it, where they do not depend on the old ones but by AUTO_INCREMENT: they
//! are numbered by what the table's was, and read again if others have moved it on meanwhile. Hidden
//! row ids are in no answer of the server, and rows that lose to old ones are found in these: there
//! the table is held first.

use std::collections::HashMap;
use std::sync::Arc;

use encode::binding::Binding;
use encode::prepared::Prepared;
use innodb::cfg::Cfg;
use job::error::Error;
use job::failpoint;
use job::memory::MinMemory;
use job::options::OnDuplicate;
use job::progress::Stage;
use job::steps::Steps;
use targets::Direct;
use targets::description::COUNTED_ROWS;
use targets::export::Export;
use values::Collation;

use crate::attempt::RowsBuilt;
use crate::build::Build;
use crate::old::{Like, OldTable, REWRITE};
use crate::verify::Bounds;

/// Part of the memory for runs that may be kept for old rows while new ones are read.
const RESERVED_SHARE: usize = 2;

/// The lock on a target.
pub(crate) struct Hold<'h, 'l> {
    pub(crate) prepared: &'h Prepared<'h>,
    pub(crate) direct: &'h mut Direct<'l>,
    /// The new table's, and its collations by the number that it knows them by.
    pub(crate) cfg: &'h Cfg,
    pub(crate) collations: &'h HashMap<u32, Arc<Collation>>,
    /// Once it is held.
    pub(crate) export: Option<Export>,
}

impl Hold<'_, '_> {
    /// Has the server write out the target, if it is to keep its rows, and verifies that: of one with
    /// partitions the one that all new rows go to, or all of them. Nobody writes to it from then on.
    pub(crate) fn take(
        &mut self,
        build: &Build<'_>,
        partition: Option<usize>,
        steps: &mut Steps<'_>,
    ) -> Result<(), Error> {
        let Some(old) = build.old.filter(|_| self.export.is_none()) else { return Ok(()) };
        if build.binding.partitions.is_some() && partition.is_none() {
            self.check_all_partitions(build)?;
        }
        let (export, table) = steps.step(Stage::Export, || self.export(build, partition))?;
        self.export = Some(export);
        old.set(table).map_err(|_| Error::Internal("a table was locked twice".to_owned()))
    }

    /// Refuses a merge that has to build all partitions, if it cannot.
    fn check_all_partitions(&self, build: &Build<'_>) -> Result<(), Error> {
        if let Some(why) = self.prepared.one_partition {
            return Err(Error::NotMerged(format!(
                "the rows go to several partitions, or to an unknown one: {why}"
            )));
        }
        if build.options.rows.on_duplicate != OnDuplicate::Fail {
            let why = "duplicates are only resolved in tables without partitions";
            return Err(Error::NotMerged(why.to_owned()));
        }
        Ok(())
    }

    fn export(
        &mut self,
        build: &Build<'_>,
        mut partition: Option<usize>,
    ) -> Result<(Export, OldTable), Error> {
        let prepared = self.prepared;
        let partitions = build.binding.partitions.as_ref().map(|by| by.router.partitions());
        let name = partition.and_then(|at| Some(partitions?[at].as_str()));
        let mut export = self.direct.export_target(name)?;
        failpoint::hit("export.held");
        let has_versions = has_versions(&export)?;
        if has_versions && export.had_instant_columns()? {
            return Err(Error::NotMerged(format!("{COUNTED_ROWS}; {REWRITE}")));
        }
        if name.is_some() && has_versions {
            self.check_all_partitions(build)?;
            (partition, export.files) = (None, self.direct.exported_files(None)?);
        }
        let bounds = Bounds {
            threads: prepared.memory.threads,
            memory_bytes_max: prepared.options.limits.memory_bytes_max,
            run_bytes: prepared.memory.run_bytes,
            interrupt: &prepared.options.interrupt,
        };
        let like = Like {
            template: build.template(),
            cfg: self.cfg,
            binding: build.binding,
            collations: self.collations,
            digests: build.digests() && partition.is_none(),
        };
        let mut old = OldTable::open(&export, partition, like, bounds, prepared.progress)?;
        if partitions.is_some() {
            // A file knows of its own rows only.
            let next = self.direct.lock.next_auto_increment()?;
            old.next_auto_increment = old.next_auto_increment.max(next.unwrap_or(0));
        }
        Ok((export, old))
    }
}

/// True if the target was altered instantly. MySQL exchanges its partitions only with tables that were altered in the
/// same way (error 1731).
fn has_versions(export: &Export) -> Result<bool, Error> {
    for file in &export.files {
        if Cfg::parse(&file.cfg)?.has_row_versions() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Memory to keep for the rows of a target while new ones are read before it is held; none if these
/// wait for that.
pub(crate) fn reserved(
    prepared: &Prepared<'_>,
    direct: &mut Direct<'_>,
    binding: &Binding,
) -> Result<Option<usize>, Error> {
    let (options, memory) = (prepared.options, prepared.memory);
    let depends = binding.clustered.has_row_id || options.rows.on_duplicate != OnDuplicate::Fail;
    if !prepared.method.merges() || depends {
        return Ok(None);
    }
    let file_bytes = direct.lock.file_bytes()?;
    let largest = file_bytes.iter().copied().max().unwrap_or(0);
    let indexes = 1 + binding.secondaries.len();
    let fits = |files: &[u64]| {
        let bytes = OldTable::bytes_at_most(files, indexes, memory.threads)
            + MinMemory::verifying_bytes(largest) as usize;
        Some(bytes).filter(|bytes| *bytes <= memory.run_bytes / RESERVED_SHARE)
    };
    // All partitions, or the one that gets rows, if that comes true.
    Ok(fits(&file_bytes).or_else(|| fits(&[largest])))
}

/// True if new rows that were read before the table was locked are as if they had been read now;
/// else they have to be read again.
pub(crate) fn are_as_behind(rows: &mut RowsBuilt<'_>, build: &Build<'_>) -> bool {
    let Some(old) = build.old() else { return true };
    if build.old_bytes_max.is_some_and(|reserved| old.bytes(build.memory.threads) > reserved) {
        return false;
    }
    let Some(next) = &mut rows.counts.next_auto_increment else { return true };
    let start = build.series().start;
    if start != build.series.start && (rows.has_generated || start < build.series.start) {
        return false;
    }
    *next = (*next).max(start);
    true
}
