//! Rows that are added and that the head alone can tell apart: through it into new tables, and from there, by a
//! branch on each shard, into those that the shards have.
//!
//! ```text
//! head      next table <- INSERT ..; count, CHECK                      (decided as any append is)
//! shard 1   its next table -> XA START, INSERT .. SELECT, XA END -> XA PREPARE ..
//! shard n   its next table    the same, at once                     the same
//! ```
//!
//! A server that goes down leaves half-done work in the new tables, which are removed. Spider's own
//! transaction (spider_internal_xa) would not do: docs/reference/sharding.md has the measurements.

use std::time::Duration;

use job::error::Error;
use job::failpoint;
use job::options::LoadOptions;
use job::progress::Stage;
use job::report::Report;
use load::parts;
use schema::{Mode, quote_name};
use server::ConnectOptions;
use sources::Source;
use targets::Transaction;

use super::appended::Rows;
use super::filled::Filled;
use super::inspection::{self, Inspection};
use super::opened::{Open, held};
use super::published::is_of_branches;
use super::tables::Tables;
use super::through_head::{self, HeadWay};
use super::{Sharded, left_staged};
use crate::branches::Branch;
use crate::map::Shard;

/// Values are taken as they are: all of them were in a table before.
const SQL_MODE: &str = "STRICT_ALL_TABLES,NO_AUTO_VALUE_ON_ZERO,ALLOW_INVALID_DATES";

impl Sharded<'_, '_> {
    /// Adds to all shards, or to none, the rows that go through the head.
    pub(super) fn append_through_head(
        &mut self,
        mut looked: Inspection,
        source: Box<dyn Source>,
    ) -> Result<Report, Error> {
        if looked.before.is_some() {
            return self.append(&mut looked, Rows::Of(source));
        }
        let tables = Tables::new(self.connect, self.options, &looked, false);
        let columns = looked.target.table.columns.iter();
        let columns = columns.filter(|column| column.generated.is_none());
        let names: Vec<String> = columns.map(|column| quote_name(&column.name)).collect();
        let (names, connect, options) = (names.join(","), self.connect, self.options);
        let open = |branch: &Branch| {
            let from = &tables.next().shards[branch.number];
            open(connect, options, branch, from, &names)
        };
        let staged = self.stage(&mut looked, &tables, source);
        match staged.and_then(|filled| self.append(&mut looked, Rows::Staged(filled, &open))) {
            Ok(mut report) => {
                let _shield = self.options.interrupt.shield();
                let removed = looked.target.reconnect().map_err(Error::from);
                let removed = removed.and_then(|()| tables.abandon(&mut looked.target.session));
                report.warnings.extend(removed.err().map(|error| left_staged(&error)));
                Ok(report)
            }
            // Branches that are prepared hold the tables that their rows came from.
            Err(error) if is_of_branches(&error) => Err(error),
            Err(error) => Err(self.abandon(&mut looked, &tables, error)),
        }
    }

    /// Has the rows put into the next tables, counted and looked at.
    fn stage(
        &mut self,
        looked: &mut Inspection,
        tables: &Tables<'_>,
        source: Box<dyn Source>,
    ) -> Result<Filled, Error> {
        let lacking = || Error::Internal("rows may not go through the Spider server".to_owned());
        let session = &mut looked.target.session;
        self.steps.step(Stage::Staging, || tables.create(session))?;
        let way = looked.head.as_ref().ok_or_else(lacking)?;
        let filled = self.fill_through_head(way, tables, source)?;
        self.steps.step(Stage::Compare, || {
            failpoint::hit("shards.staged");
            tables.compare(session, filled.rows(), self.options.server.verifies)
        })?;
        Ok(filled)
    }

    /// Fills the next tables by INSERTs to the head.
    pub(super) fn fill_through_head(
        &mut self,
        way: &HeadWay,
        tables: &Tables<'_>,
        source: Box<dyn Source>,
    ) -> Result<Filled, Error> {
        let (connect, options, progress) = (self.connect, self.options, self.progress);
        let (head, shards) = (tables.head(), tables.next().shards.len());
        let fill = || through_head::fill(connect, options, head, way, shards, source, progress);
        let report = self.steps.step(Stage::Rows, fill)?;
        Ok(Filled { bytes: report.bytes, reports: vec![(report, Duration::ZERO)] })
    }
}

/// Takes the rows of one next table into its branch; gives their number.
fn open(
    connect: &ConnectOptions,
    options: &LoadOptions,
    branch: &Branch,
    from: &Shard,
    names: &str,
) -> Result<(Open, u64), Error> {
    let shard = &branch.shard;
    let of = |error: server::Error| inspection::of(shard, error);
    let options = LoadOptions {
        database: shard.table.database.clone(),
        table: shard.table.table.clone(),
        ..options.clone()
    };
    let mut lock = parts::lock(inspection::session(shard, connect)?, &options, None)?;
    let mut session = branch.begin(&mut lock).map_err(of)?;
    Transaction::include(&mut lock, &mut session, Mode::Append).map_err(of)?;
    session.set(&[("sql_mode", SQL_MODE)]).map_err(of)?;
    // Which is held since it was included.
    let (into, base) = (shard.table.quoted(), from.table.base());
    let taken = session.exec(&format!("INSERT INTO {into} ({names}) SELECT {names} FROM {base}"));
    let rows =
        taken.map_err(|error| inspection::of(shard, held(error.into(), &mut lock)))?.affected_rows;
    failpoint::hit(&format!("branches.sent.{}", branch.number));
    branch.end_rows(&mut session, rows).map_err(of)?;
    Ok((Open { lock, session }, rows))
}
