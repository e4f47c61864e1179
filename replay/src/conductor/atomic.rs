//! All tables at once: what else the dump has waits for them.
//!
//! Until the one RENAME at the end nothing of the dump can be seen but empty databases. Views,
//! triggers and routines follow it, each in a session that is set to what it was when the dump came
//! to them.

use std::sync::Arc;

use sources::dump::Statement;
use sql::StatementKind;

use super::Conductor;
use crate::error::Error;
use crate::journal::Spot;
use crate::order::Step;
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
