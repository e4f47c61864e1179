//! Tables taking their places.

use std::time::{Duration, Instant};

use job::pool;
use schema::TableName;

use super::transaction::Since;
use super::{Conductor, Filled};
use crate::error::Error;
use crate::journal::{Finished, Line};
use crate::place::Place;

/// Tables that take their places together.
const TOGETHER_MAX: usize = 16;
/// The longest time that a table waits for others to take its place with.
const READY_WAIT: Duration = Duration::from_millis(500);

impl Conductor<'_, '_> {
    /// The dump goes on to another table: those that have rows have all of them.
    pub(super) fn leave_tables(&mut self) {
        for filled in self.filled.values_mut().filter(|filled| filled.has_rows) {
            filled.is_left = true;
        }
    }

    /// Publishes tables that the dump has left and whose rows are in: several at once, for a RENAME of many costs less.
    pub(super) fn publish_ready(&mut self) -> Result<(), Error> {
        let ready = self.ready();
        if ready.is_empty() {
            self.ready_since = None;
            return Ok(());
        }
        let since = *self.ready_since.get_or_insert_with(Instant::now);
        match ready.len() >= TOGETHER_MAX || since.elapsed() >= READY_WAIT {
            true => self.publish_all_ready(),
            false => Ok(()),
        }
    }

    /// The same of all that are ready, for what comes next may take long.
    pub(super) fn publish_all_ready(&mut self) -> Result<(), Error> {
        self.ready_since = None;
        let ready = self.ready();
        self.publish(&ready)
    }

    /// Tables that may take their places.
    fn ready(&self) -> Vec<TableName> {
        let is_ready = |(table, filled): &(&TableName, &Filled)| {
            filled.is_left && !filled.has_failed && !self.runs.is_busy(table)
        };
        let is_atomic = self.shared.options.atomic;
        let ready = self.filled.iter().filter(|one| !is_atomic && is_ready(one));
        ready.map(|(table, _)| table.clone()).collect()
    }

    fn publish(&mut self, tables: &[TableName]) -> Result<(), Error> {
        let (old, new): (Vec<TableName>, Vec<TableName>) =
            tables.iter().cloned().partition(|table| self.tables.replaces(table));
        for some in new.chunks(TOGETHER_MAX) {
            match some {
                [one] => self.publish_alone(one)?,
                some => match self.publish_together(some) {
                    // One of them has no place any more.
                    Err(Error::Server(server::Error::Statement { .. })) => {
                        some.iter().try_for_each(|one| self.publish_alone(one))?;
                    }
                    done => done?,
                },
            }
        }
        old.iter().try_for_each(|one| self.publish_alone(one))
    }

    /// Publishes a table; under `--force` one that the server refuses stays the old one.
    fn publish_alone(&mut self, table: &TableName) -> Result<(), Error> {
        let done = self.publish_together(std::slice::from_ref(table));
        if done.as_ref().is_err_and(|error| self.shared.options.passes_over(error)) {
            self.fail(table);
        }
        self.judge(self.create_of(table), done)
    }

    /// The place of the statement that makes a table.
    fn create_of(&self, table: &TableName) -> Place {
        let unknown =
            || Place { file: self.file.clone(), head: table.to_string(), ..Place::default() };
        self.creates.get(table).cloned().unwrap_or_else(unknown)
    }

    /// Judges foreign keys that the server has refused, each at the CREATE of its table.
    fn judge_keys(&mut self) -> Result<(), Error> {
        let refused = self.tables.take_refused();
        refused
            .into_iter()
            .try_for_each(|(table, error)| self.judge(self.create_of(&table), Err(error.into())))
    }

    /// Publishes these tables, or none of them.
    fn publish_together(&mut self, tables: &[TableName]) -> Result<(), Error> {
        self.before_publish(tables)?;
        let done = self.tables.publish(&mut self.sessions, tables);
        self.after_publish(done)?;
        tables.iter().try_for_each(|table| self.published(table))
    }

    /// Writes down which new tables are about to take their places. Those that replace others are
    /// dropped and made again.
    fn before_publish(&mut self, tables: &[TableName]) -> Result<(), Error> {
        let finished = |table: &TableName| {
            let filled = self.filled.get(table)?;
            let finished = Finished::new(table, filled.from, filled.to, filled.rows);
            Some((self.tables.replaces(table), finished))
        };
        let mut all: Vec<(bool, Finished)> = tables.iter().filter_map(finished).collect();
        all.sort_by_key(|(replaces, _)| *replaces);
        match all.first() {
            Some((false, _)) => {
                let tables = all.into_iter().map(|(_, finished)| finished).collect();
                self.journal.write(Line::Publish(tables))
            }
            _ => Ok(()),
        }
    }

    /// Where the RENAME of tables failed, or nobody knows: the server tells.
    fn after_publish(&mut self, done: Result<(), Error>) -> Result<(), Error> {
        if done.is_err() {
            let own = &mut self.sessions.own;
            // Else the next replay finds out.
            let _ = match own.is_alive() {
                true => self.journal.resolve_publish(own),
                false => own
                    .another()
                    .map_err(Error::from)
                    .and_then(|mut other| self.journal.resolve_publish(&mut other)),
            };
        }
        done
    }

    /// A table has its place.
    fn published(&mut self, table: &TableName) -> Result<(), Error> {
        if let Some(filled) = self.filled.remove(table) {
            self.transaction.passes(table, filled.since);
            self.journal.table(table, filled.from, filled.to, filled.rows)?;
            self.shared.watch.add_table();
        }
        Ok(())
    }

    /// Waits for a table, and has it take its place.
    pub(super) fn finish_table(&mut self, table: &TableName) -> Result<(), Error> {
        self.wait_for(table)?;
        match self.filled.get(table).is_some_and(|filled| !filled.has_failed) {
            true => self.publish(std::slice::from_ref(table)),
            false => Ok(()),
        }
    }

    /// Before a statement about tables.
    ///
    /// Errors: the rows of one of them failed, so that the old table has its name.
    pub(super) fn check_replaced(
        &self,
        is_meant: impl Fn(&TableName) -> bool,
    ) -> Result<(), Error> {
        let mut failed = self.filled.iter().filter(|(_, filled)| filled.has_failed);
        match failed.find(|(table, _)| is_meant(table)) {
            None => Ok(()),
            Some((table, _)) => Err(Error::Refused(format!(
                "{table} was not replaced, because its CREATE or its rows failed, and this statement is \
                 about the new table"
            ))),
        }
    }

    /// Waits for all tables, and has them take their places with their foreign keys.
    pub(super) fn barrier(&mut self) -> Result<(), Error> {
        while !self.runs.is_idle() {
            self.settle(true)?;
        }
        if self.shared.options.atomic {
            return Ok(());
        }
        let good = self.filled.iter().filter(|(_, filled)| !filled.has_failed);
        let good: Vec<TableName> = good.map(|(table, _)| table.clone()).collect();
        self.publish(&good)?;
        self.run_held_drops()?;
        self.tables.add_keys(&mut self.sessions)?;
        self.judge_keys()
    }

    /// The end of the dump.
    pub(super) fn finish(&mut self) -> Result<(), Error> {
        self.end_of_transaction()?;
        self.barrier()?;
        if self.filled.values().any(|filled| filled.has_failed) {
            // They stay as they were.
            self.tables.abandon(&mut self.sessions.own);
            return self.judge_keys();
        }
        let tables: Vec<TableName> = self.filled.keys().cloned().collect();
        self.before_publish(&tables)?;
        let done = self.tables.finish(&mut self.sessions);
        self.after_publish(done)?;
        tables.iter().try_for_each(|table| self.published(table))?;
        self.judge_keys()?;
        self.run_deferred()?;
        Ok(self.sessions.check_in_step()?)
    }

    /// The replay has failed: tables before that statement are finished, what is not goes. So does
    /// the table that the dump was at: it may have more rows.
    pub(super) fn give_up(&mut self) {
        let _shield = self.shared.options.interrupt.shield();
        while !self.runs.is_idle() {
            // The error that ended the replay is reported. Tables that fail now stay as they were.
            let _ = self.settle(true);
        }
        // What the dump has not committed is not to be taken for finished.
        for filled in self.filled.values_mut().filter(|filled| filled.since != Since::Nothing) {
            filled.has_failed = true;
        }
        // What it died of, it may die of again.
        let _ = pool::catch(|| self.publish_all_ready());
        // What it has open holds on to tables that have to go. One that the driver has given up on
        // cannot be asked: the server rolls back when its connection goes.
        match self.sessions.dump.exec("ROLLBACK") {
            // The next replay says of statements that are not written down that they may be done.
            Ok(done) => drop(self.gave_up(&done)),
            Err(_) => {
                if let Ok(other) = self.sessions.own.another() {
                    self.sessions.dump = other;
                }
            }
        }
        self.tables.abandon(&mut self.sessions.own);
    }
}
