//! Old tables that are kept, because others may have written to them after their rows were read.
//!
//! The connection that blocks writers of a table may be lost at the last moment of a merge. Rows that others write then
//! are in the old table alone, so that is renamed to a name that no load removes, and a remark says so.

use schema::{ForeignKey, Table};

use crate::carried_keys::keys_of;
use crate::foreign_keys::unchecked;
use crate::lock::Lock;
use crate::staging_database::drop_keys_of;
use crate::swap::exec_published;
use server::error::{Error, Result};
use server::identifier::TableName;
use server::session::Session;

/// An old table that is kept.
#[derive(Clone, Debug)]
pub(super) struct KeptRows {
    /// Its name after the swap or the exchange.
    pub(super) old: TableName,
    /// The name under which it is kept.
    pub(super) kept: TableName,
    /// The partition whose rows it has; none of all rows of the table.
    pub(super) partition: Option<String>,
    /// True once it has its last name.
    pub(super) is_renamed: bool,
}

impl KeptRows {
    /// Renames the old table of a target, and says so; does nothing the second time.
    ///
    /// Errors: the server's.
    pub(super) fn keep(&mut self, lock: &mut Lock, target: &Table) -> Result<()> {
        if self.is_renamed {
            return Ok(());
        }
        lock.reconnect()?;
        if catalog::exists(&mut lock.session, &self.old)? {
            if !target.triggers.is_empty() {
                lock.free_of_triggers(&self.old)?;
            }
            self.rename(lock, target)?;
        }
        self.is_renamed = true;
        lock.remarks.push(self.remark(target));
        Ok(())
    }

    fn rename(&self, lock: &mut Lock, target: &Table) -> Result<()> {
        let (old, kept) = (self.old.quoted(), self.kept.quoted());
        let sql = format!("RENAME TABLE {old} TO {kept}");
        let rename = |session: &mut Session| {
            // Names of foreign keys are unique in the database, and those are the new table's.
            drop_keys_of(session, target, &self.old)?;
            unchecked(session, |session| exec_published(session, &sql))
        };
        let Lock { session, patience, .. } = &mut *lock;
        let done = patience.watch(session, rename);
        done.map_err(|error| lock.gone_meanwhile(error))
    }

    fn remark(&self, target: &Table) -> String {
        let (kept, target) = (&self.kept, &target.name);
        let (of, lacking) = match &self.partition {
            Some(partition) => (format!(" of partition {partition}"), "the partition".to_owned()),
            None => (String::new(), target.to_string()),
        };
        format!(
            "the connection that blocked writers of {target} was lost at the last moment: {kept} has \
             the old rows{of}; copy the rows that {lacking} lacks from there, then drop the table with \
             the old rows"
        )
    }

    /// Foreign keys of other tables, which refer to the old table still.
    pub(super) fn keys(&self, session: &mut Session) -> Result<Vec<ForeignKey>> {
        keys_of(session, if self.is_renamed { &self.kept } else { &self.old })
    }

    /// The error of foreign keys that refer to the old table still.
    pub(super) fn check_keys(&self, session: &mut Session, target: &TableName) -> Result<()> {
        if self.keys(session)?.is_empty() {
            return Ok(());
        }
        let (kept, target) = (self.kept.quoted(), target.quoted());
        Err(Error::Leftover(format!(
            "foreign keys of other tables refer to {kept}: once its rows are copied, run SET \
             foreign_key_checks=0, DROP TABLE {kept}, then RENAME TABLE {target} TO {kept}, {kept} TO \
             {target}"
        )))
    }

    /// The error of a table that could not be renamed.
    pub(super) fn not_renamed(&self, target: &TableName, error: &Error) -> Error {
        let old = &self.old;
        Error::Leftover(format!(
            "{old}, the old rows of {target}, may have rows that others wrote during the publish, and \
             could not be renamed: copy these rows before the next load of the table, which drops \
             {old} ({error})"
        ))
    }
}
