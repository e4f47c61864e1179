//! Steps that an interrupted replay has finished, which are skipped.

use face::option::FRESH;
use server::Session;
use server::identifier::quote_text;
use sources::dump::Statement;
use sql::StatementKind;

use super::Conductor;
use super::other_engines::OtherEngines;
use super::repetition::Words;
use crate::error::{Error, is_refusal};
use crate::journal::{Journal, Line, was_done_before};
use crate::options::ReplayOptions;
use crate::order::{Step, has_word};
use crate::report::Report;

/// Query for the identity of a server, whatever address leads to it.
const SERVER: &str =
    "SELECT CONCAT_WS(' ', @@hostname, @@port, @@socket, @@datadir, CURRENT_USER())";

/// Opens the journal of a replay with these names for collations (`FROM=TO`), and says which tables it has for finished.
pub(super) fn journal(
    options: &ReplayOptions,
    mapped: Vec<String>,
    own: &mut Session,
    report: &mut Report,
) -> Result<Journal, Error> {
    let server = own.query_row(SERVER)?.text_lossy(0);
    let mut journal = Journal::begin(options, mapped, &server)?;
    let earlier = journal.check(own)?;
    report.notes.extend(earlier.note);
    if earlier.goes_on {
        report.tables_before = journal.finished().map(|(name, _)| name.to_string()).collect();
    }
    Ok(journal)
}

impl Conductor<'_, '_> {
    /// True if a statement was done before, and is skipped.
    pub(super) fn was_done(&mut self, step: &Step, statement: &Statement) -> Result<bool, Error> {
        Ok(match step {
            Step::Make(table) if self.journal.is_table_done(table, self.spot) => {
                let syntax = self.state()?.syntax();
                let text = self.order.text(&statement.text, syntax);
                self.tables.pass_over(&mut self.sessions, &text, table)?;
                true
            }
            // Where the table is being made anew, it is to go once more.
            Step::Drop(table) if self.tables.staging(table).is_none() => {
                self.journal.is_table_done(table, self.spot) || self.journal.is_done(self.spot)
            }
            Step::Drop(table) | Step::Keys(table) | Step::Rows(table) => {
                self.journal.is_table_done(table, self.spot)
            }
            Step::Set(_) | Step::Use(_) | Step::Nothing | Step::LeftOut => false,
            Step::Database(name) => {
                // Somebody may have dropped it to begin anew.
                self.journal.is_done(self.spot) && self.has_database(name)?
            }
            _ => self.journal.is_done(self.spot),
        })
    }

    pub(super) fn has_database(&mut self, name: &str) -> Result<bool, Error> {
        let sql = format!(
            "SELECT 1 FROM information_schema.SCHEMATA WHERE SCHEMA_NAME={}",
            quote_text(name)
        );
        Ok(!self.sessions.own.query(&sql)?.is_empty())
    }

    /// Removes the journal of a complete replay.
    pub(super) fn end_journal(&mut self) {
        if let Err(error) = self.journal.forget() {
            self.report.notes.push(format!(
                "the replay is complete, but its journal is left: {error}; remove this file, or \
                 the same command skips the finished tables ({FRESH} loads them again)"
            ));
        }
    }

    /// Runs a statement in the dump's session, and writes down that it is done: when it is committed.
    ///
    /// Errors: the server's; a statement that an interrupted replay may have done, and that does more
    /// the second time.
    pub(super) fn once(&mut self, statement: &Statement) -> Result<(), Error> {
        let words = Words::of(&statement.text, self.state()?.syntax());
        let is_other = statement.kind == StatementKind::Other;
        if is_other && words.are_of_transaction() {
            // In a transaction that is finished they change nothing.
            return self.exec(statement).map(|()| self.after_savepoint(&words));
        }
        if is_other && self.journal.is_unclear(self.spot) {
            self.check_repeatable(&words)?;
        }
        self.before_change(&words, statement)?;
        let is_inside = self.transaction.is_open() && !self.transaction.is_committed_by(statement);
        match is_other
            && (is_inside || words.change_rows())
            && self.can_be_undone(&words, statement)?
        {
            true if is_inside => self.in_transaction(statement, &words),
            true => self.alone(statement, &words),
            false => self.begun(statement, &words, is_inside),
        }
    }

    /// A statement that goes when its transaction is rolled back.
    fn in_transaction(&mut self, statement: &Statement, words: &Words<'_>) -> Result<(), Error> {
        let done = self.exec_in_step(statement, words);
        if self.is_over(&done) {
            // A statement that only reads needs no beginning.
            let only_reads = !words.change_rows() && !words.change_more_rows(self.functions()?);
            self.transaction.holds(self.spot, only_reads);
        }
        done
    }

    /// The same in a transaction of its own: a replay that is killed meanwhile has done nothing.
    fn alone(&mut self, statement: &Statement, words: &Words<'_>) -> Result<(), Error> {
        self.sessions.dump.exec("START TRANSACTION")?;
        let done = self.in_transaction(statement, words);
        if done.is_err() {
            // The error of the statement says more.
            let _ = self.sessions.dump.exec("ROLLBACK");
            self.committed()?;
            return done;
        }
        self.commit()?;
        self.committed()
    }

    /// A statement whose beginning is written down, since it may stay whatever comes.
    fn begun(
        &mut self,
        statement: &Statement,
        words: &Words<'_>,
        is_inside: bool,
    ) -> Result<(), Error> {
        let was_begun = self.journal.is_unclear(self.spot);
        let is_other = statement.kind == StatementKind::Other;
        match is_inside && !words.stay_inside() {
            // It may commit.
            true => self.before_commit(Some(self.spot))?,
            false if is_other && words.change_more_rows(&[]) => {
                self.journal.write(Line::Commit(vec![self.spot]))?
            }
            false => self.journal.write(Line::Begin(self.spot))?,
        }
        let done = match self.exec_in_step(statement, words) {
            Err(Error::Server(error))
                if was_begun && (was_done_before(&error) || words.have_renamed(&error)) =>
            {
                Ok(())
            }
            done => done,
        };
        if self.is_over(&done) {
            match is_inside {
                true => self.transaction.holds(self.spot, true),
                false => self.journal.write(Line::Done(self.spot))?,
            }
        }
        match &done {
            Err(Error::Server(error))
                if !self.is_over(&done) && !was_begun && is_refusal(error) =>
            {
                self.journal.write(Line::Undone(self.spot))?;
            }
            _ => {}
        }
        done
    }

    /// Before a statement that may empty, rename or drop tables that the dump has finished.
    fn before_change(&mut self, words: &Words<'_>, statement: &Statement) -> Result<(), Error> {
        let is_database = matches!(statement.kind, StatementKind::DropDatabase(_));
        let is_meant = statement.kind == StatementKind::Other && words.may_take_rows();
        if !(is_database || is_meant) {
            return Ok(());
        }
        let has = |name: &str| has_word(&statement.text, name.as_bytes());
        self.journal.changed(|name| has(&name.table) || (is_database && has(&name.database)))
    }

    /// True for a statement that is done, or fails and is passed over.
    fn is_over(&self, done: &Result<(), Error>) -> bool {
        done.as_ref().err().is_none_or(|error| self.shared.options.passes_over(error))
    }

    /// Errors: the current statement may be done already, and does more the second time.
    fn check_repeatable(&mut self, words: &Words<'_>) -> Result<(), Error> {
        if words.are_repeatable(self.functions()?) {
            return Ok(());
        }
        self.journal.write(Line::Told(self.spot))?;
        Err(Error::Refused(
            "an earlier replay was interrupted while the server ran or committed this statement, so \
             it may be done already, with all of its transaction: check, undo it if it is done, and \
             run the same command again"
                .to_owned(),
        ))
    }

    /// True if the server takes back all that a statement does, when its transaction is rolled back.
    fn can_be_undone(&mut self, words: &Words<'_>, statement: &Statement) -> Result<bool, Error> {
        let is_of_system = self.state()?.database.as_deref().is_some_and(schema::is_system_schema);
        if !words.stay_inside() || is_of_system || has_word(&statement.text, b"mysql") {
            return Ok(false);
        }
        let others = match &mut self.other_engines {
            Some(others) => others,
            none => none.insert(OtherEngines::read(&mut self.sessions.own)?),
        };
        Ok(!others.are_reached_by(&statement.text))
    }

    /// Runs a statement, and checks that the answer was its own.
    fn exec_in_step(&mut self, statement: &Statement, words: &Words<'_>) -> Result<(), Error> {
        self.exec(statement)?;
        match statement.kind != StatementKind::Other || words.define() {
            true => Ok(self.sessions.dump.check_in_step()?),
            false => Ok(()),
        }
    }
}
