//! Triggers of MySQL, carried from an old table to the one that took its place.
//!
//! MySQL has triggers in its dictionary, by the table, and a RENAME takes them along. So a swap puts them aside with the
//! old table, and each is made anew on the new one. A name is that of one trigger in a database, so another has to hold
//! the text in between:
//!
//! ```text
//! old: x, y -> old: x, y, _inrush_x, _inrush_y        all of them, or the swap is taken back
//!      -> old: y, _inrush_x, _inrush_y                DROP TRIGGER x
//!      -> the same, and t: x                          CREATE TRIGGER x
//!      -> old: y, _inrush_y                           DROP TRIGGER _inrush_x; then y
//! ```
//!
//! Nobody writes to an old table, so what is there never runs. All of it is done under the locks of the swap: nobody
//! sees the new table without them. Killed at any point, the old table has what is still to be carried over, and is not
//! dropped before.
//! Source: tried on MySQL 9.7.4.

use disk::failpoint;

use crate::lock::Lock;
use crate::names::{ASIDES, kind_prefix};
use crate::trigger_text::TriggerText;
use crate::turns::is_wait;
use server::error::{Error, Result};
use server::identifier::TableName;
use server::session::Session;

/// Makes all triggers of a table on one of ours, and takes them away again: so a server that would refuse one later does
/// so now.
///
/// Killed in it: a table of ours with a trigger.
pub(super) fn try_out(session: &mut Session, table: &TableName, own: &TableName) -> Result<()> {
    for text in TriggerText::all(session, table)? {
        let held = text.held();
        held.make(session, own)?;
        let made = TriggerText::all(session, own)?;
        if !made.contains(&held) {
            let detail =
                format!("the server creates trigger {} with another definition", text.name);
            return Err(Error::Altered { target: table.to_string(), detail });
        }
        held.drop_in(session, &own.database)?;
    }
    Ok(())
}

/// Has an old table hold the text of each of its triggers a second time; does nothing the second time.
///
/// Errors: the server's; [`Error::Altered`] if one would be another trigger.
pub(super) fn hold(session: &mut Session, old: &TableName) -> Result<()> {
    let there = TriggerText::all(session, old)?;
    for text in there.iter().filter(|text| text.holds().is_none()) {
        let held = text.held();
        if !there.iter().any(|other| other.name == held.name) {
            held.make(session, old)?;
        }
        if !TriggerText::all(session, old)?.contains(&held) {
            let detail =
                format!("the server creates trigger {} with another definition", text.name);
            return Err(Error::Altered { target: old.to_string(), detail });
        }
    }
    failpoint::hit("triggers.held");
    Ok(())
}

/// Takes back what [`hold`] has done, before any trigger was carried over.
pub(super) fn let_go(session: &mut Session, old: &TableName) -> Result<()> {
    let there = TriggerText::all(session, old)?;
    let mut held = there.iter().filter(|text| text.holds().is_some());
    held.try_for_each(|held| held.drop_in(session, &old.database))
}

/// Carries over the triggers that an old table holds. One that the table has by now is left as it is. A `holder` is
/// another connection that locks the table.
pub(super) fn carry_held(
    session: &mut Session,
    mut holder: Option<&mut Session>,
    table: &TableName,
    old: &TableName,
) -> Result<()> {
    let there = TriggerText::all(session, old)?;
    for held in &there {
        let Some(text) = held.holds() else { continue };
        if there.iter().any(|other| other.name == text.name) {
            text.drop_in(session, &old.database)?;
            failpoint::hit("triggers.dropped");
        }
        let is_that = |other: &TriggerText| other.name == text.name;
        let locking = holder.as_deref_mut().unwrap_or(session);
        if !TriggerText::all(locking, table)?.iter().any(is_that) {
            text.make(locking, table)?;
            failpoint::hit("triggers.made");
        }
        if !TriggerText::all(locking, table)?.iter().any(is_that) {
            return Err(Error::Leftover(format!("{table} did not get trigger {}", text.name)));
        }
        held.drop_in(session, &old.database)?;
    }
    failpoint::hit("triggers.end");
    Ok(())
}

/// The names of triggers that an old table has still.
pub(super) fn left(session: &mut Session, old: &TableName) -> Result<Vec<String>> {
    let all = TriggerText::all(session, old)?;
    let mut names: Vec<String> = all
        .iter()
        .map(|text| text.holds().map_or_else(|| text.name.clone(), |of| of.name))
        .collect();
    names.sort();
    names.dedup();
    Ok(names)
}

/// Carries over all that a swap has left at an old table, while nobody uses the new one; does nothing the second time.
///
/// Errors: [`Error::Leftover`]; a lock that does not come.
pub(super) fn carry_over(session: &mut Session, table: &TableName, old: &TableName) -> Result<()> {
    if !catalog::has_triggers(session, old)? {
        return Ok(());
    }
    let (target, aside) = (table.quoted(), old.quoted());
    session.exec(&format!("LOCK TABLES {target} WRITE, {aside} WRITE"))?;
    let done = hold(session, old).and_then(|()| carry_held(session, None, table, old));
    if session.is_alive() {
        session.exec_always("UNLOCK TABLES")?;
    }
    done.map_err(|error| match error {
        error if is_wait(&error) || error.is_unclear() => error,
        error => Error::Leftover(format!(
            "triggers of {table} are still those of {old}, its old table, and do not run: {error}"
        )),
    })
}

impl Lock {
    /// As [`carry_over`], of an old table that is about to be dropped; does nothing of other tables.
    pub(super) fn carry_triggers(&mut self, old: &TableName) -> Result<()> {
        let table = self.table.name.clone();
        if !is_aside_of(&table, old) {
            return Ok(());
        }
        // Triggers that the account does not see would be dropped.
        if let Some(reason) = self.facts.unseen_triggers(old) {
            return Err(Error::Leftover(format!(
                "{old}, the old table of {table}, stays: {reason}"
            )));
        }
        self.patience.watch(&mut self.session, |session| carry_over(session, &table, old))
    }
}

/// True if a table beside it is called so once its place is taken.
pub(super) fn is_aside_of(table: &TableName, old: &TableName) -> bool {
    let is_of = |kind| old.table.starts_with(&kind_prefix(table, kind));
    old.database == table.database && ASIDES.into_iter().any(is_of)
}
