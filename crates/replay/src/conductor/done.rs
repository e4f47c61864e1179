//! Steps that an interrupted replay has finished, which are skipped.

use face::option::FRESH;
use server::Session;
use server::identifier::quote_text;
use sources::dump::Statement;
use sql::StatementKind;

use super::Conductor;
use crate::error::{Error, is_refusal};
use crate::journal::{Journal, Line, was_done_before};
use crate::options::ReplayOptions;
use crate::order::Step;
use crate::report::Report;

/// First words of statements that change definitions, not rows.
const CHANGES: [&str; 5] = ["CREATE", "ALTER", "DROP", "RENAME", "TRUNCATE"];

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
                let text = self.order.names().text(&statement.text, &self.order.databases());
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

    /// Runs a statement in the dump's session, and writes down that it is done.
    pub(super) fn once(&mut self, statement: &Statement) -> Result<(), Error> {
        let was_begun = self.journal.is_unclear(self.spot);
        self.journal.write(Line::Begin(self.spot))?;
        let done = match self.exec_in_step(statement) {
            Err(Error::Server(error)) if was_begun && was_done_before(&error) => Ok(()),
            done => done,
        };
        match &done {
            Ok(()) => self.journal.write(Line::Done(self.spot))?,
            // One that fails and is passed over is over too.
            Err(error) if self.shared.options.passes_over(error) => {
                self.journal.write(Line::Done(self.spot))?;
            }
            Err(Error::Server(error)) if !was_begun && is_refusal(error) => {
                self.journal.write(Line::Told(self.spot))?;
            }
            Err(_) => {}
        }
        done
    }

    /// Runs a statement, and checks that the answer was its own. The statement after one that
    /// changes rows may ask how many they were.
    fn exec_in_step(&mut self, statement: &Statement) -> Result<(), Error> {
        self.exec(statement)?;
        let changes_tables = |kind: &StatementKind| match kind {
            StatementKind::Other => CHANGES.iter().any(|word| begins(&statement.text, word)),
            _ => true,
        };
        match changes_tables(&statement.kind) {
            true => Ok(self.sessions.dump.check_in_step()?),
            false => Ok(()),
        }
    }
}

/// True if a statement begins with a word.
fn begins(text: &[u8], word: &str) -> bool {
    text.get(..word.len()).is_some_and(|head| head.eq_ignore_ascii_case(word.as_bytes()))
}
