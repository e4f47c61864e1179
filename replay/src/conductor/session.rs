//! The dump's session: what it is set to, and what of that others have to know.

use std::sync::Arc;

use server::identifier::quote_name;
use sources::dump::{SqlReader, Statement};
use sql::StatementKind;

use super::Conductor;
use crate::error::Error;
use crate::order::has_word;
use crate::reading;
use crate::state::SessionState;

/// Variables that change how statements are told apart.
const READING: [&str; 4] = ["sql_mode", "names", "charset", "character_set_client"];

/// The variable that says whether foreign keys are checked.
pub(super) const CHECKS: &str = "foreign_key_checks";

/// What a statement asks about the one before it by.
const ABOUT_THE_LAST: [&[u8]; 4] =
    [b"row_count(", b"found_rows(", b"@@warning_count", b"@@error_count"];

impl Conductor<'_, '_> {
    /// Has the rows that the dump's session has put in stay.
    pub(super) fn commit(&mut self) -> Result<(), Error> {
        self.sessions.dump.exec("COMMIT")?;
        Ok(self.sessions.dump.check_in_step()?)
    }

    pub(super) fn set(
        &mut self,
        statement: &Statement,
        variables: Vec<String>,
    ) -> Result<(), Error> {
        if has_word(&statement.text, b"from") {
            self.before_reading_tables()?;
        }
        let matters = |name: &String| name == CHECKS || SessionState::is_written(name);
        let before = match variables.iter().any(matters) {
            true => Some(self.state()?),
            false => None,
        };
        self.exec(statement)?;
        self.set.extend(variables);
        self.state = None;
        match before {
            Some(before) => self.changed(&before),
            None => Ok(()),
        }
    }

    /// The dump has set something that matters to all connections.
    fn changed(&mut self, before: &SessionState) -> Result<(), Error> {
        let now = self.state()?;
        // From here on the dump counts on its foreign keys, or no longer. Files of rows that say
        // again what holds already are in the midst of their table.
        let changes_checks = before.is_on(CHECKS) != now.is_on(CHECKS);
        let written = now.written();
        let changes_written = before.written() != written;
        if (changes_checks || changes_written) && !self.shared.options.atomic {
            self.leave_tables();
            self.barrier()?;
        }
        // What is made in one way is renamed and dropped in the same.
        let is_kept = self.shared.options.atomic && self.tables.pending().next().is_some();
        if changes_written && !is_kept {
            self.sessions.own.set_all(&written)?;
        }
        Ok(())
    }

    /// Errors: tables that are kept apart until the end would have to be written to the binary log
    /// in one way and another.
    pub(super) fn check_written(&mut self) -> Result<(), Error> {
        if self.shared.options.atomic
            && self.state()?.written() != self.sessions.own.options().settings
        {
            return Err(Error::Refused(
                "--atomic keeps all tables apart until the end of the dump, which sets before some \
                 of them what is written to the binary log: replay without --atomic"
                    .to_owned(),
            ));
        }
        Ok(())
    }

    /// Before a SET whose value may come from tables: they have their places.
    fn before_reading_tables(&mut self) -> Result<(), Error> {
        if self.shared.options.atomic && self.tables.pending().next().is_some() {
            return Err(Error::Refused(
                "--atomic keeps all tables apart until the end of the dump, and this statement \
                 may read them: replay without --atomic"
                    .to_owned(),
            ));
        }
        self.leave_tables();
        self.barrier()
    }

    pub(super) fn enter(&mut self, database: &str) -> Result<(), Error> {
        self.sessions.dump.exec(&format!("USE {}", quote_name(database)))?;
        self.state = None;
        Ok(())
    }

    /// Runs a statement in the dump's session.
    pub(super) fn exec(&mut self, statement: &Statement) -> Result<(), Error> {
        let text = self.order.names().text(&statement.text, &self.order.databases()).into_owned();
        if asks_about_the_last(statement) {
            return Err(Error::Refused(
                "it asks what the statement before it did (ROW_COUNT() and the like), and a replay \
                 has asked other things since: the client plays such a dump"
                    .to_owned(),
            ));
        }
        self.sessions.check_in_step()?;
        self.sessions.dump.exec_bytes(&text)?;
        self.report.statements += 1;
        if self.state.as_ref().is_some_and(|state| state.is_of_next()) {
            self.state = None;
        }
        Ok(())
    }

    /// What the dump's session is set to now.
    pub(super) fn state(&mut self) -> Result<Arc<SessionState>, Error> {
        if let Some(state) = &self.state {
            return Ok(Arc::clone(state));
        }
        let database = self.sessions.dump.query_text("SELECT DATABASE()")?;
        let state = SessionState::read(&mut self.sessions.dump, database.as_deref(), &self.set)?;
        Ok(Arc::clone(self.state.insert(Arc::new(state))))
    }

    /// Has the reader know what the server made of a SET.
    pub(super) fn follow(
        &mut self,
        reader: &mut SqlReader,
        statement: &Statement,
    ) -> Result<(), Error> {
        let StatementKind::Set { variables } = &statement.kind else { return Ok(()) };
        if variables.iter().any(|name| READING.contains(&name.as_str())) {
            reading::follow(reader, &*self.state()?);
        }
        Ok(())
    }
}

/// Whether a statement asks about the one before it. What a routine or a trigger asks, it asks when it
/// runs.
fn asks_about_the_last(statement: &Statement) -> bool {
    let text = statement.text.to_ascii_lowercase();
    let is_later = text.starts_with(b"create");
    let asks = |words: &&[u8]| text.windows(words.len()).any(|at| at == *words);
    matches!(statement.kind, StatementKind::Other | StatementKind::Set { .. })
        && !is_later
        && ABOUT_THE_LAST.iter().any(asks)
}
