//! Tables of the storage engine Spider: their partitions are tables of other servers, the shards.
//!
//! ```text
//! load    --Places--> shards: map, router, shards -> a load of each shard, or rows through the head -> publish
//! export  --Places--> exported: map, locks of all shards -> snapshots of one moment -> rows by turns
//! ```
//!
//! The functions of this crate load and export every table: they give [`Spider`] to those of `load` and
//! `export`, which know only that a table has places.
//!
//! In reading order: `map` is where the rows of a table are, by what its `link`s say; `routed` tells rows
//! apart in one reading; `shards` are loaded; `branches` are the rows that shards get by an append, and
//! `decisions` say whether they stay; `exported` reads rows from the shards.

#![forbid(unsafe_code)]

mod branches;
mod decisions;
mod exported;
mod link;
mod map;
mod routed;
mod shards;

use export::{ExportOptions, ExportReport};
use job::error::Error;
use job::options::{LoadOptions, Mode};
use job::progress::Progress;
use job::report::Report;
use load::places::{Inspection, Places, PlacesPlan};
use load::{Plan, SeveralPlan, SeveralReport};
use schema::Table;
use server::{ConnectOptions, Session};
use sources::Source;
use targets::Lock;

use self::shards::Sharded;

/// Tables of the storage engine Spider.
#[derive(Clone, Copy, Debug)]
pub struct Spider;

/// Loads files into a table: see [`load::load`].
///
/// Errors: those of [`load::load`].
pub fn load(
    connect: &ConnectOptions,
    options: &LoadOptions,
    progress: &dyn Progress,
) -> Result<Report, Error> {
    ::load::load(connect, options, Some(&Spider), progress)
}

/// Loads the rows of a source into a table: see [`load::load_from`].
///
/// Errors: those of [`load::load_from`].
pub fn load_from(
    connect: &ConnectOptions,
    options: &LoadOptions,
    source: Box<dyn Source>,
    progress: &dyn Progress,
) -> Result<Report, Error> {
    ::load::load_from(connect, options, source, Some(&Spider), progress)
}

/// Loads several tables one after the other: see [`load::load_each`].
///
/// Errors: those of [`load::load_each`].
pub fn load_each(
    connect: &ConnectOptions,
    tables: &[LoadOptions],
    progress: &dyn Progress,
) -> Result<SeveralReport, Error> {
    ::load::load_each(connect, tables, Some(&Spider), progress)
}

/// Plans a load and changes nothing: see [`load::plan`].
///
/// Errors: those of [`load::plan`].
pub fn plan(connect: Option<&ConnectOptions>, options: &LoadOptions) -> Result<Plan, Error> {
    ::load::plan(connect, options, Some(&Spider))
}

/// Plans a load of several tables and changes nothing: see [`load::plan_several`].
///
/// Errors: those of [`load::plan_several`].
pub fn plan_several(
    connect: &ConnectOptions,
    tables: &[LoadOptions],
    each: bool,
) -> Result<SeveralPlan, Error> {
    ::load::plan_several(connect, tables, each, Some(&Spider))
}

/// Writes the rows of a table into files: see [`export::export`].
///
/// Errors: those of [`export::export`].
pub fn export(
    connect: &ConnectOptions,
    options: &ExportOptions,
    progress: &dyn Progress,
) -> Result<ExportReport, export::Error> {
    ::export::export(connect, options, Some(&Spider), progress)
}

impl Places for Spider {
    fn claims(&self, table: &Table) -> bool {
        table.engine.is_spider()
    }

    fn plan(
        &self,
        target: &mut Lock,
        connect: &ConnectOptions,
        options: &LoadOptions,
        source: &mut dyn Source,
    ) -> Result<PlacesPlan, Error> {
        shards::planned(target, connect, options, source)
    }

    fn inspect<'r>(
        &self,
        mut target: Lock,
        connect: &'r ConnectOptions,
        options: &'r LoadOptions,
        source: &mut dyn Source,
        settle: &mut dyn FnMut(&mut Lock) -> Result<bool, Error>,
    ) -> Result<Inspection<'r>, Error> {
        // A table with rows is refused by what follows.
        let inserts = options.mode == Mode::Insert;
        if inserts && settle(&mut target)? {
            return Ok(Inspection::Loaded(Box::new(target)));
        }
        let mut looked = shards::look(target, connect, options, source)?;
        // What the head says of rows that were added says more than a journal.
        if !inserts && !looked.is_in_already() && settle(&mut looked.target)? {
            shards::sweep(connect, options, &mut looked)?;
            return Ok(Inspection::Loaded(Box::new(looked.target)));
        }
        Ok(Inspection::Ready(Box::new(move |source, progress, steps| {
            Sharded { connect, options, progress, steps }.load(looked, source)
        })))
    }
}

impl export::Places for Spider {
    fn claims(&self, table: &Table) -> bool {
        table.engine.is_spider()
    }

    fn begin(
        &self,
        session: &mut Session,
        table: &Table,
        options: &ExportOptions,
    ) -> Result<export::PlacesRead, export::Error> {
        exported::begin(session, table, options)
    }
}
