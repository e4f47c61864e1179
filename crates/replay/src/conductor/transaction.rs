//! The transactions of the dump's own session, and what a ROLLBACK takes back.
//!
//! Rows of tables in their places stay in the transaction, in the dump's session. Those of tables
//! that are filled apart are in no transaction: a ROLLBACK has such a table made anew, where all
//! its rows came since the last COMMIT, and is refused else.

use schema::TableName;
use server::Session;
use sources::dump::Statement;
use sql::{Bound, StatementKind};

use super::Conductor;
use crate::error::Error;
use crate::journal::Spot;

/// First words of statements that commit what was done before them.
/// Source: MariaDB, "SQL statements that cause an implicit commit".
const COMMITTING: [&str; 16] = [
    "ALTER", "ANALYZE", "CHANGE", "CREATE", "DROP", "FLUSH", "GRANT", "INSTALL", "OPTIMIZE",
    "RENAME", "REPAIR", "RESET", "REVOKE", "START", "STOP", "TRUNCATE",
];

/// Uncommitted work of the dump's session.
#[derive(Debug, Default)]
pub(super) struct Transaction {
    /// `SET autocommit=0`.
    is_manual: bool,
    /// `BEGIN`, or `START TRANSACTION`.
    is_begun: bool,
    /// `LOCK TABLES`, whose end commits too.
    is_locked: bool,
    /// Rows of tables in their places, to be written down as done.
    rows: Vec<(TableName, Spot, u64)>,
    /// A table that has its place with rows that a ROLLBACK would take back.
    stays: Option<TableName>,
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

    /// Rows went in that are to be written down when they are committed.
    pub(super) fn holds(&mut self, table: &TableName, spot: Spot, rows: u64) {
        self.rows.push((table.clone(), spot, rows));
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
                self.exec(statement)?;
                self.committed()?;
                self.transaction.is_begun = true;
                Ok(())
            }
            Bound::Commit => {
                self.exec(statement)?;
                self.committed()
            }
            Bound::Rollback => {
                self.check_rollback()?;
                self.exec(statement)?;
                self.rolled_back()
            }
        }
    }

    /// After a statement that may have committed, or changed what a ROLLBACK means.
    pub(super) fn after_statement(&mut self, statement: &Statement) -> Result<(), Error> {
        let commits = match &statement.kind {
            StatementKind::Set { variables } => {
                if !variables.iter().any(|name| name == "autocommit") {
                    return Ok(());
                }
                let was_manual = self.transaction.is_manual;
                self.transaction.is_manual = is_manual(&mut self.sessions.dump)?;
                was_manual && !self.transaction.is_manual
            }
            StatementKind::Use(_) | StatementKind::Insert(_) => false,
            StatementKind::LockTables => {
                self.transaction.is_locked = true;
                true
            }
            StatementKind::UnlockTables => std::mem::take(&mut self.transaction.is_locked),
            StatementKind::Other => {
                let text = String::from_utf8_lossy(&statement.text);
                let mut words = text.split_whitespace().map(str::to_ascii_uppercase);
                let (first, second) = (words.next(), words.next());
                first.is_some_and(|word| COMMITTING.contains(&word.as_str()))
                    && second.as_deref() != Some("TEMPORARY")
            }
            _ => true,
        };
        if commits && self.transaction.is_open() {
            // What the server would have done: the statement may not have run, or under another name.
            self.commit()?;
            self.committed()?;
        }
        Ok(())
    }

    /// The dump is over: what it has not committed is taken back, as when a client goes.
    pub(super) fn end_of_transaction(&mut self) -> Result<(), Error> {
        let has_rows = self.filled.values().any(|filled| filled.since != Since::Nothing);
        if !self.transaction.is_open() || (self.transaction.rows.is_empty() && !has_rows) {
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

    fn committed(&mut self) -> Result<(), Error> {
        for (table, spot, rows) in std::mem::take(&mut self.transaction.rows) {
            self.journal.table(&table, spot, spot, rows)?;
        }
        self.transaction.is_begun = false;
        self.transaction.stays = None;
        for filled in self.filled.values_mut() {
            filled.since = Since::Nothing;
        }
        Ok(())
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
        for (table, _, rows) in std::mem::take(&mut self.transaction.rows) {
            self.took_back(&table, rows);
        }
        self.transaction.is_begun = false;
        let all = self.filled.iter().filter(|(_, filled)| filled.since == Since::All);
        let all: Vec<TableName> = all.map(|(table, _)| table.clone()).collect();
        for table in all {
            while self.runs.is_busy(&table) {
                self.settle(true)?;
            }
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
