//! All tables at once: what else the dump has waits for them.
//!
//! Until the one RENAME at the end nothing of the dump can be seen but empty databases. Views, triggers and routines
//! follow it, each in a session that is set to what it was when the dump came to them.

use std::path::PathBuf;
use std::sync::Arc;

use face::option::ATOMIC;
use schema::TableName;
use sources::dump::Statement;
use sql::{AlterTable, StatementKind, TableChange, Verb};

use super::Conductor;
use super::session::CHECKS;
use super::transaction::Since;
use crate::error::Error;
use crate::journal::Spot;
use crate::order::{Decode, Step, has_word};
use crate::place::Place;
use crate::state::SessionState;

/// A statement that waits for the end.
#[derive(Debug)]
pub(super) struct Deferred {
    statement: Statement,
    /// The file that it is in.
    file: PathBuf,
    /// The table that it is a trigger of.
    fires_for: Option<TableName>,
    /// State of its session.
    state: Arc<SessionState>,
    spot: Spot,
}

impl Conductor<'_, '_> {
    /// Leaves a statement for the end.
    ///
    /// Errors: one that may do anything, so that neither doing it now nor doing it then would be what the dump means.
    pub(super) fn defer(&mut self, statement: &Statement, step: &Step) -> Result<(), Error> {
        if let StatementKind::DropDatabase(name) = &statement.kind {
            return self.drop_database(statement, name);
        }
        if self.is_of_staging(statement)? {
            return Ok(());
        }
        let is_known = !matches!(statement.kind, StatementKind::Other);
        if *step == Step::Barrier && !is_known {
            if self.tables.pending().next().is_none() && self.deferred.is_empty() {
                self.report.notes.push(format!(
                    "executed at once, and not undone if the replay fails: {}",
                    crate::place::head(&statement.text)
                ));
                return self.once(statement);
            }
            return Err(Error::Refused(format!(
                "{ATOMIC} stages all tables until the end of the dump, but this statement may \
                 need them: replay without {ATOMIC}"
            )));
        }
        let (state, spot) = (self.state()?, self.spot);
        let fires_for = match step {
            Step::After(table) => Some(table.clone()),
            _ => None,
        };
        let (statement, file) = (statement.clone(), self.file.clone());
        self.deferred.push(Deferred { statement, file, fires_for, state, spot });
        Ok(())
    }

    /// Before rows of a table come.
    ///
    /// Errors: `--atomic`, where they would do more to other tables than can be done now.
    pub(super) fn check_rows(&mut self, table: &TableName, verb: Verb) -> Result<(), Error> {
        if !self.shared.options.atomic {
            return Ok(());
        }
        self.check_triggers(table)?;
        if !self.state()?.is_on(CHECKS) {
            return Ok(());
        }
        self.tables.check_keys(table);
        match verb == Verb::Replace && self.tables.have_checked_keys() {
            false => Ok(()),
            true => Err(Error::Refused(format!(
                "{ATOMIC} adds foreign keys after all rows, but with them REPLACE may change more \
                 than {table}: replay without {ATOMIC}"
            ))),
        }
    }

    /// Errors: a trigger of the table that comes before its rows is left for the end.
    fn check_triggers(&self, table: &TableName) -> Result<(), Error> {
        match self.deferred.iter().any(|one| one.fires_for.as_ref() == Some(table)) {
            false => Ok(()),
            true => Err(Error::Refused(format!(
                "{ATOMIC} creates triggers after all rows, but these rows of {table} come after \
                 one of its triggers: replay without {ATOMIC}"
            ))),
        }
    }

    /// Does what concerns one table of the dump alone, and can be done where it is now: ALTER TABLE,
    /// CREATE INDEX, DELETE, UPDATE. False for everything else.
    fn is_of_staging(&mut self, statement: &Statement) -> Result<bool, Error> {
        if statement.kind != StatementKind::Other {
            return Ok(false);
        }
        let state = self.state()?;
        let syntax = state.syntax();
        let text = self.order.text(&statement.text, syntax).into_owned();
        let alter = AlterTable::read(&text, syntax).ok();
        let change = TableChange::read(&text, syntax);
        let named = alter.as_ref().map(|alter| &alter.table);
        let Some(name) = named.or(change.as_ref().map(|change| &change.table)) else {
            return Ok(false);
        };
        let table = self.by_names(|order, names| order.table(name, names))?;
        if self.tables.staging(&table).is_none() || state.is_of_next() {
            return Ok(false);
        }
        self.wait_for(&table)?;
        match (&alter, &change) {
            (Some(alter), _) => Ok(self.tables.alter(&mut self.sessions, alter, &table)?),
            (None, Some(change)) => self.change(change, &table),
            (None, None) => Ok(false),
        }
    }

    /// A change of one table's rows or indexes; false where it may read other tables.
    fn change(&mut self, change: &TableChange, table: &TableName) -> Result<bool, Error> {
        let words = self.words_that_read()?;
        if words.iter().any(|word| has_word(change.rest(), word)) {
            return Ok(false);
        }
        if !change.is_index {
            self.check_triggers(table)?;
        }
        let is_done = self.tables.change(&mut self.sessions, change, table)?;
        if !is_done || change.is_index || !self.transaction.is_open() {
            return Ok(is_done);
        }
        // Nobody waits for a table that is filled apart.
        self.commit()?;
        if let Some(filled) = self.filled.get_mut(table)
            && filled.has_rows
            && filled.since == Since::Nothing
        {
            // A ROLLBACK cannot give back what these rows were.
            filled.since = Since::Some;
        }
        Ok(true)
    }

    /// DROP DATABASE: at the end it would take the tables with it that the dump makes there.
    ///
    /// Errors: a database that is there, and could not be had back if the replay fails.
    fn drop_database(&mut self, statement: &Statement, name: &[u8]) -> Result<(), Error> {
        let name = self.by_names(|_, names| names.decode(name))?;
        if self.has_database(&name)? {
            return Err(Error::Refused(format!(
                "{ATOMIC} cannot undo DROP DATABASE {name}: drop the database first, or replay \
                 without {ATOMIC}"
            )));
        }
        self.once(statement)
    }

    /// Does what was left, in its order.
    pub(super) fn run_deferred(&mut self) -> Result<(), Error> {
        let mut now: Option<Arc<SessionState>> = None;
        for Deferred { statement, file, state, spot, .. } in std::mem::take(&mut self.deferred) {
            if !now.as_ref().is_some_and(|now| Arc::ptr_eq(now, &state)) {
                state.apply(&mut self.sessions.dump)?;
                self.state = None;
                now = Some(state);
            }
            self.spot = spot;
            let place = Place::of(&file, &statement, &statement.text);
            let done = self.once(&statement);
            self.judge(place, done)?;
        }
        Ok(())
    }
}
