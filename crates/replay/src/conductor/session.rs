//! The dump's session: what it is set to, and what of that others have to know.

use std::sync::Arc;

use face::option::ATOMIC;
use schema::TableName;
use server::identifier::quote_name;
use sources::dump::{SqlReader, Statement};
use sql::command::first_word;
use sql::{StatementKind, Token, Tokens};

use super::Conductor;
use crate::error::Error;
use crate::order::has_word;
use crate::reading;
use crate::session_question::SessionQuestion;
use crate::state::SessionState;

/// Variables that change how statements are told apart.
const READING: [&str; 4] = ["sql_mode", "names", "charset", "character_set_client"];

/// Words that begin statements which change rows, besides INSERTs of rows.
const CHANGING: [&[u8]; 5] = [b"insert", b"replace", b"update", b"load", b"with"];

/// The variable that says whether foreign keys are checked.
pub(super) const CHECKS: &str = "foreign_key_checks";

impl Conductor<'_, '_> {
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
        // Its state is read with them; those that the server refuses are not asked for again.
        let new: Vec<String> =
            variables.into_iter().filter(|name| self.set.insert(name.clone())).collect();
        if let Err(error) = self.exec(statement) {
            self.set.retain(|name| !new.contains(name));
            return Err(error);
        }
        match before {
            Some(before) => self.changed(&before),
            None => Ok(()),
        }
    }

    /// Runs PREPARE, EXECUTE and DEALLOCATE of a SET, which Percona's mysqldump writes, as a SET is
    /// run: at once, and again by each replay. False for every other statement.
    ///
    /// Errors: the server's.
    pub(super) fn prepared(&mut self, statement: &Statement) -> Result<bool, Error> {
        if statement.kind != StatementKind::Other {
            return Ok(false);
        }
        let syntax = self.state()?.syntax();
        let words: Vec<Token<'_>> = Tokens::of_any_server(&statement.text, syntax).collect();
        let name =
            |at: usize| words.get(at).and_then(Token::name).map(|name| name.to_ascii_lowercase());
        let is = |at: usize, word: &str| words.get(at).is_some_and(|token| token.is(word));
        let prepared = if is(0, "PREPARE") && is(2, "FROM") {
            // The name stands for another statement from here on.
            if let Some(own) = name(1) {
                self.prepared.remove(&own);
            }
            let (Some(own), Some(variable), true) =
                (name(1), name(4), words.get(3).is_some_and(|token| token.is_sign(b'@')))
            else {
                return Ok(false);
            };
            let sql = [b"SELECT @".as_slice(), &sql::quoted(&variable)].concat();
            let text = self.sessions.dump.query_text(&String::from_utf8_lossy(&sql))?;
            let text = text.unwrap_or_default();
            let text = text.trim_start().as_bytes();
            let is_set = first_word(text).eq_ignore_ascii_case(b"set");
            // One that reads or changes tables is no setting.
            if !is_set || [b"from".as_slice(), b"statement"].iter().any(|word| has_word(text, word))
            {
                return Ok(false);
            }
            self.prepared.insert(own.clone());
            own
        } else {
            let at = if is(1, "PREPARE") { 2 } else { 1 };
            let is_known = ["EXECUTE", "DEALLOCATE", "DROP"].iter().any(|word| is(0, word));
            match name(at).filter(|name| is_known && self.prepared.contains(name)) {
                Some(name) => name,
                None => return Ok(false),
            }
        };
        self.exec(statement)?;
        if is(1, "PREPARE") {
            self.prepared.remove(&prepared);
        }
        // Whatever it has set.
        self.state = None;
        Ok(true)
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
            return Err(Error::Refused(format!(
                "{ATOMIC} stages all tables until the end of the dump, but the dump changes \
                 settings of the binary log between tables: replay without {ATOMIC}"
            )));
        }
        Ok(())
    }

    /// Before a SET whose value may come from tables: they have their places.
    fn before_reading_tables(&mut self) -> Result<(), Error> {
        if self.shared.options.atomic && self.tables.pending().next().is_some() {
            return Err(Error::Refused(format!(
                "{ATOMIC} stages all tables until the end of the dump, but this statement may \
                 read them: replay without {ATOMIC}"
            )));
        }
        self.leave_tables();
        self.barrier()
    }

    pub(super) fn enter(&mut self, database: &str) -> Result<(), Error> {
        self.sessions.dump.exec(&format!("USE {}", quote_name(database)))?;
        self.state = None;
        Ok(())
    }

    /// Checks a statement before it runs as the dump has it. Questions of a routine or a trigger
    /// are asked when it runs.
    ///
    /// Errors: it asks about those before it what nobody can answer.
    pub(super) fn check_asks(&mut self, statement: &Statement) -> Result<(), Error> {
        let runs_now = matches!(statement.kind, StatementKind::Other | StatementKind::Set { .. });
        match runs_now {
            true => self.check_asked(&statement.text),
            false => Ok(()),
        }
    }

    /// The same of a text.
    pub(super) fn check_asked(&mut self, text: &[u8]) -> Result<(), Error> {
        if !SessionQuestion::may_be_by(text) {
            return Ok(());
        }
        let asked = SessionQuestion::by(text, self.state()?.syntax());
        self.last_number.check(&mut self.sessions.dump, asked)
    }

    /// Rows go into a table, or have gone, that the dump's session knows nothing of.
    pub(super) fn went_elsewhere(&mut self, table: &TableName) -> Result<(), Error> {
        let into = self.tables.staging(table).map_or(table, |staging| &staging.name);
        let columns = self.sessions.own.query(&format!("SHOW COLUMNS FROM {}", into.quoted()));
        let numbers = match columns {
            Ok(columns) => columns.iter().any(|column| {
                column.bytes(5).is_some_and(|extra| has_word(extra, b"auto_increment"))
            }),
            // It was there, or is on its way to its place.
            Err(server::Error::Statement { .. }) => true,
            Err(error) => return Err(error.into()),
        };
        self.last_number.went(&mut self.sessions.dump, table, numbers)
    }

    /// Runs a statement in the dump's session.
    pub(super) fn exec(&mut self, statement: &Statement) -> Result<(), Error> {
        let syntax = self.state()?.syntax();
        let text = self.order.text(&statement.text, syntax).into_owned();
        let may_set = may_set(&statement.kind, &text);
        match statement.kind {
            // It touches no table.
            StatementKind::Set { .. } if !may_set => {}
            StatementKind::Set { .. } => self.sessions.dump.check_in_step()?,
            _ => self.sessions.check_in_step()?,
        }
        let done = self.sessions.dump.exec_bytes(&text)?;
        if CHANGING.iter().any(|word| sql::command::first_word(&text).eq_ignore_ascii_case(word)) {
            let (dump, options) = (&mut self.sessions.dump, self.shared.options);
            self.report.changes.take(dump, &done, statement.line, options)?;
        }
        if may_set {
            self.read_state()?;
        }
        if self.state.as_ref().is_some_and(|state| state.is_of_next()) {
            self.state = None;
        }
        Ok(())
    }

    /// The current state of the dump's session.
    pub(super) fn state(&mut self) -> Result<Arc<SessionState>, Error> {
        if let Some(state) = &self.state {
            return Ok(Arc::clone(state));
        }
        // Nobody has set on purpose what has changed since then.
        self.sessions.dump.check_in_step()?;
        self.read_state()
    }

    /// The same after a statement that may have set something.
    fn read_state(&mut self) -> Result<Arc<SessionState>, Error> {
        let state = SessionState::read(&mut self.sessions.dump, &self.set)?;
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

/// True if a statement may set variables of the session: not where it sets variables of the user's alone, to what
/// calls no function.
fn may_set(kind: &StatementKind, text: &[u8]) -> bool {
    match kind {
        StatementKind::Set { variables } => !variables.is_empty() || text.contains(&b'('),
        // A procedure may, too.
        StatementKind::Other => [&b"set"[..], b"call"].iter().any(|word| has_word(text, word)),
        _ => false,
    }
}
