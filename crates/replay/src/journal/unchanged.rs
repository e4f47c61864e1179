//! A check that tables are still as a failed replay has left them.
//!
//! Who reads of a failure may mend the cause, and more than that, before the same command is given
//! again. So a replay that fails takes down what tells its finished tables apart from changed ones,
//! and the next one looks.

use std::collections::BTreeSet;

use face::option::FRESH;
use schema::TableName;
use server::Session;
use server::identifier::{digest, table_condition};

use super::{Finished, Journal, Line, Spot};
use crate::error::Error;

/// Bytes of finished tables that are read when a replay fails: nobody waits an hour for an error.
/// Those beyond are not known to be unchanged, and replayed anew.
const BYTES_MAX: u64 = 4 << 30;

/// The replay before this one, by its journal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Earlier {
    /// True if there is something to go on with.
    pub(crate) goes_on: bool,
    /// The note about it.
    pub(crate) note: Option<String>,
}

impl Journal {
    /// Compares with the server. Where tables are not there that were finished, somebody has begun
    /// anew, and so does the replay; also where it failed and its tables were changed since.
    ///
    /// Errors: rows that it added to such a table, which are there or not.
    pub(crate) fn check(&mut self, own: &mut Session) -> Result<Earlier, Error> {
        self.resolve_publish(own)?;
        let mut missing = None;
        for (name, rows) in self.finished().filter(|(name, _)| !self.changed.contains(name)) {
            if !catalog::exists(own, name)? || (rows > 0 && catalog::is_empty(own, name)?) {
                missing = Some(name.clone());
                break;
            }
        }
        if let Some(name) = missing {
            self.begin_anew(own, &name)?;
        }
        let note = match self.has_failed {
            true => self.check_unchanged(own)?,
            false => None,
        };
        Ok(Earlier { goes_on: self.goes_on(), note })
    }

    fn goes_on(&self) -> bool {
        !self.tables.is_empty() || !self.done.is_empty()
    }

    /// Behind a replay that failed: begins anew unless its tables are as it left them, and says so.
    fn check_unchanged(&mut self, own: &mut Session) -> Result<Option<String>, Error> {
        let mut is_changed = |name: &&TableName| {
            match mark(own, name) {
                Ok(mark) => self.seen.get(*name) != Some(&mark),
                // The dump itself may have dropped it.
                Err(_) => self.seen.contains_key(*name) || !self.changed.contains(*name),
            }
        };
        let names: Vec<TableName> = self.tables.keys().cloned().collect();
        let Some(changed) = names.iter().find(&mut is_changed).cloned() else {
            self.write(Line::Resumed)?;
            let note = || {
                format!(
                    "the same replay failed before; this one continued it, because its finished \
                     tables are unchanged ({FRESH} begins anew)"
                )
            };
            return Ok(self.goes_on().then(note));
        };
        self.begin_anew(own, &changed)?;
        Ok(Some(format!(
            "the same replay failed before; {changed} has changed since, or cannot be compared, \
             so everything was replayed anew"
        )))
    }

    /// Forgets everything, since this table is not as the replay has left it.
    ///
    /// Errors: rows that were added to other tables would come once more.
    fn begin_anew(&mut self, own: &mut Session, changed: &TableName) -> Result<(), Error> {
        let why = format!("{changed} has changed since, or cannot be compared");
        self.check_anew(Some(own), &why)?;
        self.restart()
    }

    /// Before everything is forgotten that a replay has done, because of `why`. Rows whose table `own` does not find are
    /// gone with that, if their statement changed no others.
    ///
    /// Errors: rows that it added to tables in their places would come once more.
    pub(super) fn check_anew(&self, mut own: Option<&mut Session>, why: &str) -> Result<(), Error> {
        // Rows of a table in its place are finished by one statement, which adds them.
        let adds = |finished: &Finished| finished.from == finished.to && finished.rows > 0;
        let mut is_gone = |name: &TableName| match &mut own {
            Some(own) => matches!(catalog::exists(own, name), Ok(false)),
            None => false,
        };
        let has_others = |one: &Finished| adds(one) && self.changes.contains(&one.from);
        let mut added = self.tables.iter().filter(|(_, all)| all.iter().any(adds));
        let has_changed = |spots: &BTreeSet<Spot>| !self.changes.is_disjoint(spots);
        let what = match added.find(|(name, all)| !is_gone(name) || all.iter().any(has_others)) {
            Some((name, _)) => format!("had added rows to {name}"),
            None if has_changed(&self.done) => "had run statements that change rows".to_owned(),
            // Their COMMIT had no answer.
            None if has_changed(&self.begun) => "may have changed rows".to_owned(),
            None => return Ok(()),
        };
        Err(Error::Refused(format!(
            "an earlier replay did not complete, but {what}; {why}, so these rows may still be \
             there: delete them or undo the changes, and run the same command with {FRESH}, which \
             begins anew"
        )))
    }

    /// The replay has failed; what it has finished is taken down as it is now, as far as that can be
    /// had in a moment. Where the server is gone, it is as if the replay had been killed.
    pub(crate) fn failed(&mut self, own: &mut Session) {
        let mut again = match own.query("SELECT 1") {
            Ok(_) => None,
            Err(_) => match own.another() {
                Ok(again) => Some(again),
                Err(_) => return,
            },
        };
        let own = again.as_mut().unwrap_or(own);
        let names: Vec<TableName> = self.tables.keys().cloned().collect();
        let marks = marks(own, &names);
        // What cannot be written is not known to be unchanged.
        let mut written = self.write(Line::Failed);
        for (TableName { database, table }, mark) in marks {
            written = written.and_then(|()| self.write(Line::Seen { database, table, mark }));
        }
    }
}

/// Marks of as many of these tables as may be read, in their order.
fn marks(own: &mut Session, names: &[TableName]) -> Vec<(TableName, String)> {
    let mut left = BYTES_MAX;
    let mut marks = Vec::new();
    for name in names {
        let Some(rest) = size(own, name).ok().and_then(|size| left.checked_sub(size)) else {
            continue;
        };
        left = rest;
        if let Ok(mark) = mark(own, name) {
            marks.push((name.clone(), mark));
        }
    }
    marks
}

/// A mark that differs if a table was altered, or has other rows.
fn mark(own: &mut Session, name: &TableName) -> server::Result<String> {
    let shown = own.query_row(&format!("SHOW CREATE TABLE {}", name.quoted()))?;
    let summed = own.query_row(&format!("CHECKSUM TABLE {} EXTENDED", name.quoted()))?;
    let shown = digest(shown.bytes(1).unwrap_or_default());
    Ok(format!("{shown:016x} {}", summed.text_lossy(1)))
}

fn size(own: &mut Session, name: &TableName) -> server::Result<u64> {
    let row = own.query_row(&format!(
        "SELECT COALESCE(DATA_LENGTH, 0) FROM information_schema.TABLES WHERE {}",
        table_condition(name)
    ))?;
    row.number(0)
}
