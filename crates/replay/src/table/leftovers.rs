//! Leftovers of a killed replay.
//!
//! | found | it was killed | what is done |
//! | --- | --- | --- |
//! | a staging table | before its RENAME | it goes, with what a load into it left |
//! | a table aside, and the table | after the RENAME | the old one goes, foreign keys are rebound |
//! | a table aside alone | never; somebody dropped the new table | it stays |
//!
//! A staging table whose table's named lock somebody holds belongs to a replay that runs.

use std::collections::BTreeMap;
use std::time::Duration;

use schema::TableName;
use server::identifier::quote_text;
use server::{Session, privileges};
use targets::names::suffix;
use targets::torn::{remove_unknown_files, rows_if_there};
use targets::{Lock, LockOptions};

use super::staging_table::{ASIDE, STAGING};
use super::{Tables, swap};
use crate::error::Error;

impl Tables {
    /// Looks through a database, the first time it is named.
    ///
    /// Errors: the account may not do all that a table there needs, which would be left half-way.
    pub(super) fn clean(&mut self, own: &mut Session, database: &str) -> Result<(), Error> {
        if !self.cleaned.insert(database.to_owned()) {
            return Ok(());
        }
        if let Some(grant) = privileges::missing(own, privileges::TO_MAKE_BESIDE, database)? {
            return Err(Error::Refused(format!("the account needs: {grant}")));
        }
        let names = names(own, database)?;
        // Digests cannot be undone, but looked up.
        let of: BTreeMap<String, &TableName> =
            names.iter().map(|name| (suffix(name), name)).collect();
        for name in &names {
            if let Some(suffix) = name.table.strip_prefix(STAGING) {
                drop_staging(own, name, suffix)?;
            } else if let Some(table) = name.table.strip_prefix(ASIDE).and_then(|s| of.get(s)) {
                own.set_lock_wait(self.lock_wait)?;
                swap::finish(own, &[((*table).clone(), name.clone())], self.lock_wait)?;
            }
        }
        let mut locks = Vec::new();
        let removed = remove_unknown_files(own, database, |own, name| {
            let ours = [STAGING, ASIDE].iter().find_map(|kind| name.strip_prefix(kind));
            let Some(lock) = ours.map(lock_of) else { return Ok(false) };
            let is_free = own.lock_name(&lock, Duration::ZERO)?;
            locks.extend(is_free.then_some(lock));
            Ok(is_free)
        });
        locks.iter().for_each(|lock| release(own, lock));
        Ok(removed?)
    }
}

/// The named lock of the table whose suffix is in the names of its helpers.
fn lock_of(suffix: &str) -> String {
    format!("inrush_{}", suffix.get(..16).unwrap_or(suffix))
}

fn release(own: &mut Session, lock: &str) {
    // It ends with the connection too.
    let _ = own.exec(&format!("DO RELEASE_LOCK({})", quote_text(lock)));
}

/// Drops a staging table, unless its replay runs.
fn drop_staging(own: &mut Session, name: &TableName, suffix: &str) -> Result<(), Error> {
    let lock = lock_of(suffix);
    if !own.lock_name(&lock, Duration::ZERO)? {
        return Ok(());
    }
    let dropped = clean_target(own, name);
    release(own, &lock);
    dropped
}

/// Drops a table and what loads into it left.
fn clean_target(own: &mut Session, name: &TableName) -> Result<(), Error> {
    // A power cut may have left its description alone.
    let any = format!("SELECT 1 FROM {base} LIMIT 0", base = name.base());
    rows_if_there(own, name, |own| own.query(&any))?;
    if !catalog::exists(own, name)? {
        return Ok(());
    }
    let mut target = Lock::take(own.another()?, name, &LockOptions::default())?;
    target.cleanup_tables()?;
    own.exec(&format!("DROP TABLE IF EXISTS {}", name.quoted()))?;
    Ok(())
}

/// All tables of a database.
pub(super) fn names(own: &mut Session, database: &str) -> server::Result<Vec<TableName>> {
    let sql = format!(
        "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA={}",
        quote_text(database)
    );
    let rows = own.query(&sql)?;
    rows.iter().map(|row| Ok(TableName::new(database, row.text(0)?))).collect()
}

#[cfg(test)]
mod tests {
    use targets::Names;

    use super::*;

    #[test]
    fn the_digest_in_a_shadows_name_is_that_of_its_tables_lock() {
        let table = TableName::new("d", "t");
        assert_eq!(Names::of(&table).lock, format!("inrush_{}", &suffix(&table)[..16]));
    }
}
