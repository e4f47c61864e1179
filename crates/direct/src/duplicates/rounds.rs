//! Readings of the input until it is settled who loses: one, but for AUTO_INCREMENT.

use std::sync::atomic::{AtomicBool, AtomicU64};

use encode::long_records::LongRecords;
use job::error::Error;
use job::options::OnDuplicate;
use job::pool;
use job::progress::Stage;
use job::stop::Stop;
use sort::{EntryShape, RunStore, Runs};

use crate::build::Build;
use crate::duplicates::collect::{CollectStage, UniqueIndex};
use crate::duplicates::gate::RowGate;
use crate::duplicates::losers::Losers;
use crate::duplicates::resolve::{Resolved, Resolver};

/// The result of one reading.
struct Collected {
    /// One a unique index.
    keys: Vec<Runs>,
    /// True if other losers could have changed the keys.
    is_circular: bool,
}

impl Build<'_> {
    /// The rows to be left out. Goes back to the start of the input, before and after.
    pub(crate) fn resolve(&self) -> Result<Resolved, Error> {
        self.settle().map_err(|stop| self.explain(stop))
    }

    fn settle(&self) -> Result<Resolved, Stop> {
        let indexes = UniqueIndex::of_table(self.binding);
        let mut before: Option<Losers> = None;
        loop {
            self.begin_again()?;
            let resolver = Resolver {
                on_duplicate: self.options.rows.on_duplicate,
                memory: self.memory,
                temp_dir: self.options.limits.temp_dir.clone(),
                interrupt: &self.options.interrupt,
                indexes: indexes.iter().map(|unique| unique.index as u16).collect(),
                old: self.old_source(None),
            };
            let shapes: Vec<EntryShape> = indexes.iter().map(|unique| unique.shape).collect();
            let stores = self.stores(&shapes, resolver.bytes_besides_keys())?;
            let Collected { keys, is_circular } =
                self.collect(&indexes, stores, before.as_ref())?;
            let resolved = resolver.resolve(keys)?;
            let is_settled = match &before {
                _ if !is_circular => true,
                Some(before) => resolved.losers.are_rows_of(before)?,
                None => resolved.losers.count() == 0,
            };
            if is_settled {
                self.begin_again()?;
                return Ok(resolved);
            }
            before = Some(resolved.losers);
        }
    }

    /// Reads the input once.
    fn collect(
        &self,
        indexes: &[UniqueIndex],
        stores: Vec<RunStore>,
        before: Option<&Losers>,
    ) -> Result<Collected, Stop> {
        let stage = CollectStage {
            binding: self.binding,
            template: self.template(),
            memory: self.memory,
            reading: self.reading(Stage::Duplicates),
            large: LongRecords::new(self.memory),
            gate: RowGate::new(before)?,
            on_duplicate: self.options.rows.on_duplicate,
            sequence: self.sequence(self.may_refuse()),
            zero_is_value: self.series.zero_is_value,
            indexes,
            stores: &stores,
            next_run: AtomicU64::new(0),
            ran_out: AtomicBool::new(false),
        };
        pool::run(self.memory.threads, || stage.work(), || stage.close())?;
        let CollectStage { gate, sequence, ran_out, .. } = stage;
        gate.finish()?;
        let numbers = self.binding.auto_increment;
        let has_numbers =
            |unique: &UniqueIndex| numbers.is_some_and(|n| unique.has(self.binding, n));
        let is_circular = self.options.rows.on_duplicate == OnDuplicate::Skip
            && (ran_out.into_inner()
                || (sequence.ended_mixed() && indexes.iter().any(has_numbers)));
        let keys = stores.into_iter().map(RunStore::finish).collect::<Result<_, _>>()?;
        Ok(Collected { keys, is_circular })
    }
}
