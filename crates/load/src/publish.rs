//! Loaded rows appear by the RENAME of filled tables, or by the COMMIT of a transaction.

use job::error::Error;
use job::failpoint;
use job::options::{LoadOptions, Mode};
use job::pool;
use job::publish::Publish;
use schema::TableName;
use send::Uncommitted;
use targets::Lock;
use targets::publish::Filled;
use targets::relations::KeyChecks;
use targets::swapped::Swapped;

use crate::copies::Copies;

/// Filled tables that take their targets' places.
pub(crate) struct TableSwap<'s, 'l> {
    /// The target, or all of them, for messages.
    pub(crate) target: String,
    pub(crate) filled: &'s mut Filled<'l>,
    /// Replicas that have the same tables.
    pub(crate) copies: Option<&'s mut Copies>,
    pub(crate) options: &'s LoadOptions,
    /// Ledgers of the targets, and the text for a ledger that cannot be removed.
    pub(crate) ledgers: (Vec<TableName>, Option<&'static str>),
    /// The old tables, after the RENAME.
    pub(crate) swapped: Option<Swapped>,
}

impl Publish for TableSwap<'_, '_> {
    fn target(&self) -> String {
        self.target.clone()
    }

    fn publish(&mut self) -> Result<(), Error> {
        let filled = &mut *self.filled;
        self.copies.as_mut().map_or(Ok(()), |copies| copies.check(&mut filled.lock.session))?;
        filled.ensure_session()?;
        let keys_are_checked = !self.options.server.unchecked_keys;
        let checks = if keys_are_checked { KeyChecks::Rows } else { KeyChecks::None };
        // Rows are added to a table by another way: of one that is swapped in, the old table has none.
        let mode = match self.options.mode {
            Mode::Append | Mode::Insert => Mode::Insert,
            Mode::Replace => Mode::Replace,
        };
        let swapped = filled.publish(mode, checks).map_err(|error| match error {
            server::Error::Unanswered(_) => self.unknown(error.to_string()),
            error => error.into(),
        });
        self.swapped = Some(swapped?);
        Ok(())
    }

    fn is_published(&mut self) -> server::Result<bool> {
        self.filled.lock.is_published()
    }

    fn unknown(&self, reason: String) -> Error {
        Error::SwapUnknown { target: self.target.clone(), reason }
    }

    fn proof(&self) -> Option<TableName> {
        self.swapped.as_ref().and_then(|swapped| swapped.asides().into_iter().next())
    }

    fn clean_up(&mut self) -> Vec<String> {
        let mut warnings = self.drop_old();
        let (ledgers, then) = &self.ledgers;
        warnings.extend(send::forget_ledgers(self.filled.lock, ledgers, *then));
        warnings
    }

    fn leave(&mut self) {
        let Some(swapped) = &self.swapped else { return };
        swapped.leave(self.filled.lock);
    }
}

impl TableSwap<'_, '_> {
    /// Drops the old tables.
    fn drop_old(&mut self) -> Vec<String> {
        let Some(swapped) = &mut self.swapped else { return Vec::new() };
        let lock = &mut *self.filled.lock;
        let (died, dropped) = pool::catch_again("publish.swapped", || Ok(swapped.drop_old(lock)?));
        let left = dropped.err().map(|error| match error {
            Error::Server(server::Error::Leftover(_)) => error.to_string(),
            error if lock.keys_left.is_empty() => left(&swapped.asides(), &error),
            error => format!("foreign keys of other tables still refer to the old table: {error}"),
        });
        died.into_iter().chain(left).collect()
    }
}

/// A warning about old tables that could not be dropped.
fn left(asides: &[TableName], error: &Error) -> String {
    match asides {
        [aside] => format!(
            "the old table, {aside}, could not be dropped; the next load of this table drops it: \
             {error}"
        ),
        asides => format!(
            "old tables such as {} could not be dropped; the next load of each table drops its \
             old table: {error}",
            asides[0]
        ),
    }
}

/// A transaction with all rows.
pub(crate) struct RowCommit<'c> {
    /// The target, or all of them, for messages.
    pub(crate) target: String,
    /// The lock on the first table.
    pub(crate) lock: &'c mut Lock,
    pub(crate) rows: Uncommitted,
    /// Ledgers of the targets.
    pub(crate) ledgers: Vec<TableName>,
}

impl Publish for RowCommit<'_> {
    fn target(&self) -> String {
        self.target.clone()
    }

    fn publish(&mut self) -> Result<(), Error> {
        failpoint::hit("publish.commit");
        let lost = || Error::Internal("the transaction's connection was lost".to_owned());
        let session = self.rows.session.take().ok_or_else(lost)?;
        self.rows.transaction.commit(self.lock, session).map_err(|error| match error {
            server::Error::CommitUnknown(_) => self.unknown(String::new()),
            error => error.into(),
        })?;
        failpoint::hit("publish.committed");
        Ok(())
    }

    fn is_published(&mut self) -> server::Result<bool> {
        self.rows.transaction.is_in(self.lock)
    }

    fn unknown(&self, _: String) -> Error {
        server::Error::CommitUnknown(self.target.clone()).into()
    }

    fn proof(&self) -> Option<TableName> {
        self.rows.transaction.mark().cloned()
    }

    fn clean_up(&mut self) -> Vec<String> {
        let mut warnings: Vec<String> =
            self.rows.transaction.forget(self.lock).into_iter().collect();
        warnings.extend(self.rows.number(self.lock));
        warnings.extend(send::forget_ledgers(self.lock, &self.ledgers, Some(send::NEXT_LOAD)));
        warnings
    }
}
