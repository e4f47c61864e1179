//! Rows of tables that the dump has not made.

use face::option::{ATOMIC, EXCLUDE};
use schema::TableName;
use server::Session;
use server::identifier::table_condition;

use super::Conductor;
use crate::connections::{Resolved, Together};
use crate::error::Error;
use crate::journal::{Line, Spot};

impl Conductor<'_, '_> {
    /// Before rows of a table that the dump has not made: what they refer to has its place. True
    /// where an interrupted replay has put them in. `is_inside`: they go into the transaction of the
    /// dump's session.
    ///
    /// Errors: `--atomic`; rows that an interrupted replay may have put in.
    pub(super) fn before_rows_of_others(
        &mut self,
        table: &TableName,
        is_inside: bool,
    ) -> Result<bool, Error> {
        if self.shared.options.atomic {
            return Err(Error::Refused(format!(
                "{ATOMIC}: the dump does not create {table}, so its rows cannot be staged"
            )));
        }
        if self.journal.is_done(self.spot) {
            return Ok(true);
        }
        self.barrier()?;
        let own = &mut self.sessions.own;
        if !catalog::exists(own, table)? {
            // A temporary table of the dump's session, or none: its session tells.
            return Ok(false);
        }
        let is_unclear = match self.journal.is_unclear(self.spot) {
            true => match Together::of(table, self.spot).resolve(own)? {
                Resolved::In => {
                    // How many they are, nobody knows.
                    self.journal.table(table, self.spot, self.spot, 1)?;
                    return Ok(true);
                }
                Resolved::Out => false,
                Resolved::Nothing => true,
            },
            false => false,
        };
        if is_unclear && !catalog::is_empty(own, table)? {
            self.journal.write(Line::Told(self.spot))?;
            return Err(Error::Refused(format!(
                "an earlier replay was interrupted while it loaded these rows into {table}, so the \
                 rows there may be these, with all of their transaction: check, delete or undo them if \
                 they are, and run the same command again"
            )));
        }
        let has_ours = is_unclear || self.journal.finished().any(|(name, _)| name == table);
        let is_doubled = self.shared.options.folder().is_some()
            && self.existing.contains(table)
            && !has_ours
            && !catalog::is_empty(own, table)?;
        if is_doubled {
            return Err(Error::Refused(format!(
                "{table} existed before this replay and has rows, so the rows of the dump may be there \
                 already: drop {table}, or leave it out with {EXCLUDE}"
            )));
        }
        let takes_back = takes_rows_back(own, table)?;
        if takes_back && is_inside {
            // The COMMIT is their beginning.
            return Ok(false);
        }
        // Rows that a trigger writes, or another server has, stay where this table is dropped.
        let may_stay = !takes_back || catalog::has_triggers(own, table)?;
        let line = if may_stay { Line::Commit(vec![self.spot]) } else { Line::Begin(self.spot) };
        self.journal.write(line)?;
        Ok(false)
    }

    /// Rows failed: those of a table in its place are not in, where the server has said so and takes
    /// back what it had of them. The same command loads them.
    pub(super) fn were_refused(
        &mut self,
        table: &TableName,
        spot: Spot,
        error: &Error,
    ) -> Result<(), Error> {
        let is_ours = self.tables.staging(table).is_some();
        if is_ours || !self.journal.is_unclear(spot) || !error.is_certain() {
            return Ok(());
        }
        match takes_rows_back(&mut self.sessions.own, table) {
            Ok(true) => self.journal.write(Line::Undone(spot)),
            // The error of the rows says more.
            _ => Ok(()),
        }
    }
}

/// True if the server rolls incomplete rows back.
fn takes_rows_back(own: &mut Session, table: &TableName) -> Result<bool, Error> {
    let sql = format!(
        "SELECT 1 FROM information_schema.TABLES WHERE {} AND ENGINE='InnoDB'",
        table_condition(table)
    );
    Ok(!own.query(&sql)?.is_empty())
}
