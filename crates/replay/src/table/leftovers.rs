//! Leftovers of a killed replay.
//!
//! | found | it was killed | what is done |
//! | --- | --- | --- |
//! | a staging table | before its RENAME | it goes, with what a load into it left |
//! | a table aside, and the table | after the RENAME | the old one goes, foreign keys are rebound |
//! | a table aside alone | never; somebody dropped the new table | it stays |
//!
//! A staging table whose table's named lock somebody holds belongs to a replay that runs, and a table aside to a command
//! that works at it.

use std::collections::BTreeMap;
use std::time::Duration;

use schema::TableName;
use server::identifier::quote_text;
use server::{Session, privileges};
use targets::names::suffix;
use targets::torn::{remove_unknown_files, rows_if_there};
use targets::{Lock, LockOptions, Names};

use super::staging_table::{ASIDE, STAGING};
use super::{Tables, swap};
use crate::error::Error;

/// How long another command's work at a table put aside is waited for.
const OTHERS_WAIT: Duration = Duration::from_secs(5);

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
        let mut put_aside = BTreeMap::new();
        for name in &names {
            if let Some(suffix) = name.table.strip_prefix(STAGING) {
                drop_staging(own, name, suffix)?;
            } else if let Some(table) = name.table.strip_prefix(ASIDE).and_then(|s| of.get(s)) {
                put_aside.insert((*table).clone(), name.clone());
            }
        }
        self.finish_put_aside(own, put_aside)?;
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

    /// Finishes swaps of killed replays, with the named locks of all their tables: another command that carries the
    /// keys of one over would wait for a table that is dropped here, and the drop for that. A table whose lock does
    /// not come is somebody else's.
    fn finish_put_aside(
        &self,
        own: &mut Session,
        put_aside: BTreeMap<TableName, TableName>,
    ) -> Result<(), Error> {
        let (mut locks, mut held) = (Vec::new(), Vec::new());
        own.set_lock_wait(self.lock_wait)?;
        for pair in put_aside {
            let lock = Names::of(&pair.0).lock;
            if own.lock_name(&lock, OTHERS_WAIT)? {
                locks.push(lock);
                held.push(pair);
            }
        }
        let mut pairs = held.iter();
        let finished = pairs
            .try_for_each(|pair| swap::finish(own, std::slice::from_ref(pair), self.lock_wait));
        locks.iter().for_each(|lock| release(own, lock));
        Ok(finished?)
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
    use super::*;

    #[test]
    fn the_digest_in_a_shadows_name_is_that_of_its_tables_lock() {
        let table = TableName::new("d", "t");
        assert_eq!(Names::of(&table).lock, format!("inrush_{}", &suffix(&table)[..16]));
    }
}
