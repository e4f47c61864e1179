//! ALTER TABLE of a table that is not published yet, and changes of its rows.

use std::collections::BTreeMap;

use schema::TableName;
use server::identifier::table_condition;
use sql::{AlterTable, ForeignKey, TableChange};

use super::{Entry, Late, Reading, StagingTable, Tables};
use crate::error::Error;
use crate::sessions::Sessions;

impl Tables {
    /// Has an ALTER TABLE done to the staging table of `name`, none of whose rows are on their way; foreign
    /// keys are added with the others. False where it cannot be done so.
    ///
    /// Errors: the server's.
    pub(crate) fn alter(
        &mut self,
        sessions: &mut Sessions,
        alter: &AlterTable,
        name: &TableName,
    ) -> Result<bool, Error> {
        let key = self.key(&mut sessions.own, name)?;
        let reading = Reading::of(&mut sessions.dump)?;
        let Some(entry) = self.entries.get_mut(&key) else { return Ok(false) };
        // The staging table's name is UTF-8.
        let is_ascii = alter.is_ascii() && entry.staging.name.quoted().is_ascii();
        if !(reading.is_utf8 || is_ascii) {
            return Ok(false);
        }
        if !alter.keys.is_empty() {
            entry.keys.extend(alter.keys.iter().cloned());
            entry.late = Late { any: true, checked: entry.late.checked || reading.is_checking };
            return Ok(true);
        }
        // The index that a foreign key makes would come behind those of this.
        if entry.late.any {
            return Ok(false);
        }
        sessions.dump.exec_bytes(&alter.named(&entry.staging.name.quoted()))?;
        entry.read_again(sessions)?;
        Ok(true)
    }

    /// The same of a DELETE, UPDATE or CREATE INDEX.
    pub(crate) fn change(
        &mut self,
        sessions: &mut Sessions,
        change: &TableChange,
        name: &TableName,
    ) -> Result<bool, Error> {
        let key = self.key(&mut sessions.own, name)?;
        let reading = Reading::of(&mut sessions.dump)?;
        let has_keys = self
            .entries
            .values()
            .any(|entry| !entry.keys.is_empty() || !entry.keys_within.is_empty());
        let Some(entry) = self.entries.get_mut(&key) else { return Ok(false) };
        let is_ascii = change.is_ascii() && entry.staging.name.quoted().is_ascii();
        // Rows that others refer to, or that a foreign key changes with them, are not there yet.
        let is_tied = match change.is_index {
            true => entry.late.any && !entry.are_served(sessions, &change.columns)?,
            false => has_keys && reading.is_checking,
        };
        if is_tied || !(reading.is_utf8 || is_ascii) {
            return Ok(false);
        }
        sessions.dump.exec_bytes(&change.named(&entry.staging.name.quoted()))?;
        if change.is_index {
            entry.read_again(sessions)?;
        }
        Ok(true)
    }
}

impl Entry {
    /// True if every foreign key has an index that serves for it, once there is one of `columns`:
    /// then the server keeps none of its own.
    fn are_served(&self, sessions: &mut Sessions, columns: &[Vec<u8>]) -> Result<bool, Error> {
        let sql = format!(
            "SELECT INDEX_NAME, COLUMN_NAME FROM information_schema.STATISTICS WHERE SUB_PART IS NULL \
             AND {} ORDER BY INDEX_NAME, SEQ_IN_INDEX",
            table_condition(&self.staging.name)
        );
        let mut indexes: BTreeMap<String, Vec<Vec<u8>>> = BTreeMap::new();
        for row in sessions.own.query(&sql)? {
            indexes.entry(row.text(0)?).or_default().push(row.text(1)?.into_bytes());
        }
        let has_one = |key: &ForeignKey| indexes.values().any(|index| key.is_served_by(index));
        Ok(!columns.is_empty()
            && self.keys.iter().all(|key| key.is_served_by(columns) || has_one(key)))
    }

    pub(super) fn read_again(&mut self, sessions: &mut Sessions) -> Result<(), Error> {
        let (table, staging) = (self.staging.table.clone(), self.staging.name.clone());
        (self.staging, _) = StagingTable::read(&mut sessions.own, table, staging)?;
        Ok(())
    }
}
