//! The transactions of the dump's own session, and what a ROLLBACK takes back.
//!
//! Rows of tables in their places stay in the transaction, in the dump's session. Those of tables
//! that are filled apart are in no transaction: a ROLLBACK has such a table made anew, where all
//! its rows came since the last COMMIT, and is refused else.

use schema::TableName;
use server::Session;
use server::session::Done;
use sources::dump::Statement;
use sql::{Bound, StatementKind};

use super::Conductor;
use super::repetition::Words;
use crate::error::Error;
use crate::journal::{Line, Spot};

/// First words of statements that commit what was done before them.
/// Source: MariaDB, "SQL statements that cause an implicit commit".
const COMMITTING: [&str; 16] = [
    "ALTER", "ANALYZE", "CHANGE", "CREATE", "DROP", "FLUSH", "GRANT", "INSTALL", "OPTIMIZE",
    "RENAME", "REPAIR", "RESET", "REVOKE", "START", "STOP", "TRUNCATE",
];

/// The variable that says whether each statement is committed by itself.
const AUTOCOMMIT: &str = "autocommit";

/// Uncommitted work of the dump's session.
#[derive(Debug, Default)]
pub(super) struct Transaction {
    /// `SET autocommit=0`.
    is_manual: bool,
    /// `BEGIN`, or `START TRANSACTION`.
    is_begun: bool,
    /// `LOCK TABLES`, whose end commits too.
    is_locked: bool,
    /// Rows of tables in their places, and other statements, to be written down as done.
    held: Vec<HeldWork>,
    /// Savepoints, and how many of the held were there before each.
    savepoints: Vec<(Vec<u8>, usize)>,
    /// True if the server may have committed the held ones, and has not said so.
    is_unclear: bool,
    /// A table that has its place with rows that a ROLLBACK would take back.
    stays: Option<TableName>,
}

/// Work of a transaction that is done when the transaction is committed.
#[derive(Clone, Debug, PartialEq, Eq)]
struct HeldWork {
    spot: Spot,
    /// Rows of this table, and their number; None: another statement.
    rows: Option<(TableName, u64)>,
    /// True if the journal has its beginning, or needs none.
    is_begun: bool,
}

/// Rows of a table that is filled apart, which the dump may take back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Since {
    /// None came since the last COMMIT.
    #[default]
    Nothing,
    /// All of them did.
    All,
    /// Some did.
    Some,
}

impl Transaction {
    /// That of a session as it is before the dump.
    pub(super) fn of(session: &mut Session) -> Result<Transaction, Error> {
        Ok(Transaction { is_manual: is_manual(session)?, ..Transaction::default() })
    }

    /// True if the dump's current work can be rolled back.
    pub(super) fn is_open(&self) -> bool {
        self.is_manual || self.is_begun
    }

    /// A statement ran that is to be written down when it is committed. `is_begun`: the journal has
    /// its beginning, or needs none.
    pub(super) fn holds(&mut self, spot: Spot, is_begun: bool) {
        self.held.push(HeldWork { spot, rows: None, is_begun });
    }

    /// True if the server commits before it runs a statement.
    pub(super) fn is_committed_by(&self, statement: &Statement) -> bool {
        match &statement.kind {
            StatementKind::Set { .. }
            | StatementKind::Use(_)
            | StatementKind::Insert(_)
            | StatementKind::Transaction(_) => false,
            StatementKind::UnlockTables => self.is_locked,
            StatementKind::Other => {
                let text = String::from_utf8_lossy(&statement.text);
                let mut words = text.split_whitespace().map(str::to_ascii_uppercase);
                let (first, second) = (words.next(), words.next());
                first.is_some_and(|word| COMMITTING.contains(&word.as_str()))
                    && second.as_deref() != Some("TEMPORARY")
            }
            _ => true,
        }
    }

    /// A table takes its place with rows that came `since`.
    pub(super) fn passes(&mut self, table: &TableName, since: Since) {
        if since != Since::Nothing {
            self.stays.get_or_insert_with(|| table.clone());
        }
    }
}

impl Conductor<'_, '_> {
    /// BEGIN, COMMIT or ROLLBACK. It is done again by a replay that goes on after a crash.
    pub(super) fn bound(&mut self, statement: &Statement, bound: Bound) -> Result<(), Error> {
        match bound {
            Bound::Begin => {
                if !self.shared.options.atomic {
                    // So that it can be taken back, all in it goes into tables in their places.
                    self.barrier()?;
                }
                self.commit_by(|conductor| conductor.exec(statement))?;
                self.committed()?;
                // The server unlocks tables then.
                (self.transaction.is_begun, self.transaction.is_locked) = (true, false);
                Ok(())
            }
            Bound::Commit => {
                self.commit_by(|conductor| conductor.exec(statement))?;
                self.committed()
            }
            Bound::Rollback => {
                self.check_rollback()?;
                self.exec(statement)?;
                self.rolled_back()
            }
        }
    }

    /// After SAVEPOINT or ROLLBACK TO: rows behind the savepoint are not in any more.
    pub(super) fn after_savepoint(&mut self, words: &Words<'_>) {
        let Transaction { held, savepoints, .. } = &mut self.transaction;
        let Some((name, is_rollback)) = words.savepoint() else { return };
        let place = savepoints.iter().rposition(|(its, _)| *its == name);
        if !is_rollback {
            savepoints.push((name, held.len()));
            return;
        }
        let Some(place) = place else { return };
        savepoints.truncate(place + 1);
        let behind = held.get_mut(savepoints[place].1..).unwrap_or_default();
        let rows = behind.iter_mut().filter_map(|one| one.rows.as_mut());
        let gone: Vec<(TableName, u64)> =
            rows.map(|(table, rows)| (table.clone(), std::mem::take(rows))).collect();
        gone.iter().for_each(|(table, rows)| self.took_back(table, *rows));
    }

    /// Rows went in that are to be written down when they are committed.
    pub(super) fn hold_rows(&mut self, table: &TableName, rows: u64) {
        let (spot, is_begun) = (self.spot, self.journal.is_unclear(self.spot));
        self.transaction.held.push(HeldWork { spot, rows: Some((table.clone(), rows)), is_begun });
    }

    /// Has the work that the dump's session has done stay.
    pub(super) fn commit(&mut self) -> Result<(), Error> {
        self.commit_by(|conductor| Ok(conductor.sessions.dump.exec("COMMIT").map(drop)?))?;
        Ok(self.sessions.dump.check_in_step()?)
    }

    /// Runs what commits. Where the server refuses that, nothing more stays than before.
    fn commit_by(&mut self, run: impl FnOnce(&mut Self) -> Result<(), Error>) -> Result<(), Error> {
        let was_unclear = self.transaction.is_unclear;
        self.before_commit(None)?;
        let done = run(self);
        if let Err(error) = &done
            && error.is_certain()
        {
            self.transaction.is_unclear = was_unclear;
        }
        done
    }

    /// Before the server may commit, by COMMIT or by a `statement` within the transaction: writes down what
    /// of it is not written down yet.
    pub(super) fn before_commit(&mut self, statement: Option<Spot>) -> Result<(), Error> {
        let Transaction { held, is_unclear, .. } = &mut self.transaction;
        *is_unclear |= !held.is_empty() || statement.is_some();
        let new = held.iter_mut().filter(|one| !one.is_begun).map(|one| {
            one.is_begun = true;
            one.spot
        });
        let spots: Vec<Spot> = new.chain(statement).collect();
        match spots.is_empty() {
            true => Ok(()),
            false => self.journal.write(Line::Commit(spots)),
        }
    }

    /// Before a statement that the server commits before, by itself or in the dump's place: the
    /// statement may not run at all, or under another name.
    pub(super) fn before_statement(&mut self, statement: &Statement) -> Result<(), Error> {
        if let StatementKind::Set { variables } = &statement.kind
            && variables.iter().any(|name| name == AUTOCOMMIT)
        {
            return self.before_commit(None);
        }
        let commits = self.transaction.is_committed_by(statement);
        if commits {
            // It may make a table of any engine.
            self.other_engines = None;
        }
        match statement.kind {
            StatementKind::LockTables => self.transaction.is_locked = true,
            StatementKind::UnlockTables => self.transaction.is_locked = false,
            _ => {}
        }
        if commits && self.transaction.is_open() {
            self.commit()?;
            self.committed()?;
        }
        Ok(())
    }

    /// After a statement that may have changed what a ROLLBACK means.
    pub(super) fn after_statement(&mut self, statement: &Statement) -> Result<(), Error> {
        let StatementKind::Set { variables } = &statement.kind else { return Ok(()) };
        if !variables.iter().any(|name| name == AUTOCOMMIT) {
            return Ok(());
        }
        let was_manual = self.transaction.is_manual;
        self.transaction.is_manual = is_manual(&mut self.sessions.dump)?;
        match was_manual && !self.transaction.is_manual {
            true => self.committed(),
            false => Ok(()),
        }
    }

    /// The dump is over: what it has not committed is taken back, as when a client goes.
    pub(super) fn end_of_transaction(&mut self) -> Result<(), Error> {
        let has_rows = self.filled.values().any(|filled| filled.since != Since::Nothing);
        let Transaction { held, stays, .. } = &self.transaction;
        let is_empty = held.is_empty() && stays.is_none() && !has_rows;
        if !self.transaction.is_open() || is_empty {
            return Ok(());
        }
        self.check_rollback()?;
        self.sessions.dump.exec("ROLLBACK")?;
        self.rolled_back()?;
        self.report.notes.push(
            "the dump ends without a COMMIT of its last rows, so they were rolled back, as the \
             server does when a client disconnects"
                .to_owned(),
        );
        Ok(())
    }

    /// Writes down what the server has committed.
    pub(super) fn committed(&mut self) -> Result<(), Error> {
        let held = std::mem::take(&mut self.transaction.held);
        self.transaction.savepoints.clear();
        self.are_done(held)?;
        (self.transaction.is_begun, self.transaction.is_unclear) = (false, false);
        self.transaction.stays = None;
        for filled in self.filled.values_mut() {
            filled.since = Since::Nothing;
        }
        Ok(())
    }

    fn are_done(&mut self, held: Vec<HeldWork>) -> Result<(), Error> {
        held.into_iter().try_for_each(|HeldWork { spot, rows, .. }| match rows {
            Some((table, rows)) => self.journal.table(&table, spot, spot, rows),
            None => self.journal.write(Line::Done(spot)),
        })
    }

    /// The replay has failed, and the dump's session has rolled back all that was not committed:
    /// the same command does it again.
    pub(super) fn gave_up(&mut self, rollback: &Done) -> Result<(), Error> {
        // The server warns of tables whose changes stay.
        let is_undone = !self.transaction.is_unclear && rollback.warnings == 0;
        let held = std::mem::take(&mut self.transaction.held);
        let mut begun = held.into_iter().filter(|one| one.is_begun && is_undone);
        begun.try_for_each(|one| self.journal.write(Line::Undone(one.spot)))
    }

    /// Errors: rows that cannot be taken back.
    fn check_rollback(&self) -> Result<(), Error> {
        let partly = self.filled.iter().find(|(_, filled)| filled.since == Since::Some);
        match self.transaction.stays.as_ref().or(partly.map(|(table, _)| table)) {
            None => Ok(()),
            Some(table) => Err(Error::Refused(format!(
                "the dump rolls back rows of {table}, but these rows are already loaded and cannot \
                 be rolled back: a replay loads tables that the dump creates without a transaction"
            ))),
        }
    }

    fn rolled_back(&mut self) -> Result<(), Error> {
        let held = std::mem::take(&mut self.transaction.held);
        self.transaction.savepoints.clear();
        for (table, rows) in held.iter().filter_map(|one| one.rows.as_ref()) {
            self.took_back(table, *rows);
        }
        // Whatever of them the server could not take back is not to be done again.
        self.are_done(held.into_iter().filter(|one| one.is_begun).collect())?;
        (self.transaction.is_begun, self.transaction.is_unclear) = (false, false);
        let all = self.filled.iter().filter(|(_, filled)| filled.since == Since::All);
        let all: Vec<TableName> = all.map(|(table, _)| table.clone()).collect();
        for table in all {
            self.wait_for(&table)?;
            let Some(staging) = self.tables.staging(&table) else { continue };
            staging.remake(&mut self.sessions.own)?;
            let Some(filled) = self.filled.get_mut(&table) else { continue };
            let rows = std::mem::take(&mut filled.rows);
            (filled.has_rows, filled.since) = (false, Since::Nothing);
            self.took_back(&table, rows);
        }
        Ok(())
    }

    fn took_back(&mut self, table: &TableName, rows: u64) {
        self.shared.watch.take_rows(rows);
        let line = self.report.table(&table.to_string());
        line.rows = line.rows.saturating_sub(rows);
    }
}

fn is_manual(session: &mut Session) -> Result<bool, Error> {
    Ok(session.query_text("SELECT @@SESSION.autocommit")?.as_deref() == Some("0"))
}
