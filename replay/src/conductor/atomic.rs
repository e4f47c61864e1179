//! All tables at once: what else the dump has waits for them.
//!
//! Until the one RENAME at the end nothing of the dump can be seen but empty databases. Views,
//! triggers and routines follow it, each in a session that is set to what it was when the dump came
//! to them.

use std::sync::Arc;

use sources::dump::Statement;
use sql::{AlterTable, StatementKind, Syntax};

use super::Conductor;
use crate::error::Error;
use crate::journal::Spot;
use crate::naming::Naming;
use crate::order::{Decode, Step};
use crate::place::Place;
use crate::state::SessionState;

/// A statement that waits for the end.
#[derive(Debug)]
pub(super) struct Deferred {
    statement: Statement,
    /// What its session was set to.
    state: Arc<SessionState>,
    spot: Spot,
}

impl Conductor<'_, '_> {
    /// Leaves a statement for the end.
    ///
    /// Errors: one that may do anything, so that neither doing it now nor doing it then would be
    /// what the dump means.
    pub(super) fn defer(&mut self, statement: &Statement, step: &Step) -> Result<(), Error> {
        if let StatementKind::DropDatabase(name) = &statement.kind {
            return self.drop_database(statement, name);
        }
        if self.is_of_shadow(statement)? {
            return Ok(());
        }
        let is_known = !matches!(statement.kind, StatementKind::Other);
        if *step == Step::Barrier && !is_known {
            if self.tables.pending().next().is_none() && self.deferred.is_empty() {
                self.report.notes.push(format!(
                    "done at once, and not taken back if the replay fails: {}",
                    crate::place::head(&statement.text)
                ));
                return self.once(statement);
            }
            return Err(Error::Refused(
                "--atomic keeps all tables apart until the end of the dump, and this statement \
                 may need them: replay without --atomic"
                    .to_owned(),
            ));
        }
        let (state, spot) = (self.state()?, self.spot);
        self.deferred.push(Deferred { statement: statement.clone(), state, spot });
        Ok(())
    }

    /// Does what concerns one table of the dump alone, and can be done where it is now: ALTER TABLE
    /// behind its rows, DELETE before them. False for everything else.
    fn is_of_shadow(&mut self, statement: &Statement) -> Result<bool, Error> {
        if statement.kind != StatementKind::Other {
            return Ok(false);
        }
        let text = self.order.names().text(&statement.text, &self.order.databases()).into_owned();
        let state = self.state()?;
        let syntax = Syntax {
            ansi_quotes: state.has_mode("ANSI_QUOTES"),
            no_backslash_escapes: state.has_mode("NO_BACKSLASH_ESCAPES"),
            ..Syntax::default()
        };
        let alter = AlterTable::read(&text, syntax).ok();
        let emptied = sql::emptied(&text, syntax);
        let Some(name) = alter.as_ref().map(|alter| &alter.table).or(emptied.as_ref()) else {
            return Ok(false);
        };
        let (own, is_lower) = (&mut self.sessions.own, self.is_lower);
        let table =
            self.order.table(name, &mut Naming { own, charset: state.charset(), is_lower })?;
        if self.tables.shadow(&table).is_none() || state.is_of_next() {
            return Ok(false);
        }
        while self.crew.is_busy(&table) {
            self.settle(true)?;
        }
        let is_done = match &alter {
            Some(alter) => self.tables.alter(&mut self.sessions, alter, &table)?,
            // It has none.
            None => self.filled.get(&table).is_some_and(|filled| !filled.has_rows),
        };
        self.report.statements += u64::from(is_done);
        Ok(is_done)
    }

    /// DROP DATABASE: at the end it would take the tables with it that the dump makes there.
    ///
    /// Errors: a database that is there, and could not be had back if the replay fails.
    fn drop_database(&mut self, statement: &Statement, name: &[u8]) -> Result<(), Error> {
        let state = self.state()?;
        let (own, is_lower) = (&mut self.sessions.own, self.is_lower);
        let name = Naming { own, charset: state.charset(), is_lower }.decode(name)?;
        if self.has_database(&name)? {
            return Err(Error::Refused(format!(
                "--atomic cannot take back that the database {name} was dropped: drop it before, or \
                 replay without --atomic"
            )));
        }
        self.once(statement)
    }

    /// Does what was left, in its order.
    pub(super) fn run_deferred(&mut self) -> Result<(), Error> {
        let mut now: Option<Arc<SessionState>> = None;
        for Deferred { statement, state, spot } in std::mem::take(&mut self.deferred) {
            if !now.as_ref().is_some_and(|now| Arc::ptr_eq(now, &state)) {
                state.apply(&mut self.sessions.dump)?;
                self.state = None;
                now = Some(state);
            }
            self.spot = spot;
            let place = Place::of(&self.shared.options.dump, &statement, &statement.text);
            let done = self.once(&statement);
            self.judge(place, done)?;
        }
        Ok(())
    }
}
