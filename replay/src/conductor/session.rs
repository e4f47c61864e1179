//! The dump's session: what it is set to, and what of that others have to know.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use server::identifier::quote_name;
use sources::sql::{SqlReader, Statement, StatementKind};

use super::Conductor;
use crate::error::Error;
use crate::order::has_word;
use crate::reading;
use crate::state::State;
use crate::token::{Modes, tokens};

/// Variables that change how statements are told apart.
const READING: [&str; 4] = ["sql_mode", "names", "charset", "character_set_client"];

/// The variable that says whether foreign keys are checked.
const CHECKS: &str = "foreign_key_checks";

/// The variable that says whether replicas are told.
const LOG: &str = "sql_log_bin";

impl Conductor<'_, '_> {
    pub(super) fn set(
        &mut self,
        statement: &Statement,
        variables: Vec<String>,
    ) -> Result<(), Error> {
        let sets_checks = variables.iter().any(|name| name == CHECKS);
        if has_word(&statement.text, b"from") {
            self.before_reading_tables()?;
        }
        let before = sets_checks.then(|| self.state()).transpose()?;
        self.exec(statement)?;
        self.in_transaction |= variables.iter().any(|name| name == "autocommit");
        if variables.iter().any(|name| name == LOG) {
            self.follow_log()?;
        }
        self.set.extend(variables);
        self.state = None;
        // From here on the dump counts on its foreign keys, or no longer. Files of rows that say
        // again what holds already are in the midst of their table.
        let changes = match before {
            Some(before) => before.is_on(CHECKS) != self.state()?.is_on(CHECKS),
            None => false,
        };
        if changes && !self.shared.options.atomic {
            self.leave_tables();
            self.barrier()?;
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

    /// What the dump keeps from replicas, our other connections keep from them too.
    fn follow_log(&mut self) -> Result<(), Error> {
        let sql = format!("SELECT @@SESSION.{LOG}");
        let is_off = self.sessions.dump.query_text(&sql)?.as_deref() == Some("0");
        let unlogged = &self.shared.connect.unlogged;
        // The tables of an atomic replay take their places after its last word.
        let stays = self.shared.options.atomic && unlogged.load(Ordering::SeqCst);
        if stays || is_off == unlogged.load(Ordering::SeqCst) {
            return Ok(());
        }
        self.leave_tables();
        self.barrier()?;
        self.shared.connect.unlogged.store(is_off, Ordering::SeqCst);
        self.sessions.own.exec(&format!("SET SESSION {LOG}={}", u8::from(!is_off)))?;
        Ok(())
    }

    pub(super) fn enter(&mut self, database: &str) -> Result<(), Error> {
        self.sessions.dump.exec(&format!("USE {}", quote_name(database)))?;
        self.state = None;
        Ok(())
    }

    /// Runs a statement in the dump's session.
    pub(super) fn exec(&mut self, statement: &Statement) -> Result<(), Error> {
        let text = self.order.names().text(&statement.text, &self.order.databases()).into_owned();
        if self.has_open_rows && first_word_is(&text, "ROLLBACK") {
            return Err(Error::Refused(
                "rows before it, back to the START TRANSACTION, are in and stay: each table's are a \
                 transaction of their own"
                    .to_owned(),
            ));
        }
        self.sessions.dump.exec_bytes(&text)?;
        if statement.kind == StatementKind::Transaction {
            self.has_open_rows = false;
            // COMMIT begins the next one where none ends by itself.
            self.in_transaction = !first_word_is(&text, "COMMIT")
                || self.set.contains("autocommit")
                || has_word(&text, b"chain");
        }
        self.report.statements += 1;
        Ok(())
    }

    /// What the dump's session is set to now.
    pub(super) fn state(&mut self) -> Result<Arc<State>, Error> {
        if let Some(state) = &self.state {
            return Ok(Arc::clone(state));
        }
        let database = self.sessions.dump.query_text("SELECT DATABASE()")?;
        let state = State::read(&mut self.sessions.dump, database.as_deref(), &self.set)?;
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

fn first_word_is(text: &[u8], word: &str) -> bool {
    tokens(text, Modes::default()).next().is_some_and(|first| first.is_word(text, word))
}
