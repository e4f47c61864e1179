//! The swap: shadows become the tables they are for in one RENAME.
//!
//! RENAME TABLE of many tables is done whole or not at all, on a crash of the server too (DDL log,
//! MariaDB 10.6 and later). Whether one without an answer was done is told by the shadow's name.

use std::time::Duration;

use schema::TableName;
use server::waiting::{ER_LOCK_WAIT_TIMEOUT, lock_holders};
use server::{Session, catalog};

use super::shadow::{Shadow, aside_of};
use crate::keys;

/// Publishes tables, all or none. `replaces` says for each whether a table has its name, which
/// goes.
///
/// Killed after the RENAME: the tables are new, the old ones are aside still, and foreign keys of
/// others refer to these; [`finish`] makes that good.
pub(super) fn swap(
    own: &mut Session,
    lock_wait: Duration,
    shadows: &[&Shadow],
    replaces: &[bool],
) -> server::Result<()> {
    let Some(first) = shadows.first() else { return Ok(()) };
    let mut renames = Vec::new();
    let mut old = Vec::new();
    for (shadow, &replaces) in shadows.iter().zip(replaces) {
        if replaces {
            let aside = aside_of(&shadow.table);
            renames.push(format!("{} TO {}", shadow.table.quoted(), aside.quoted()));
            old.push((shadow.table.clone(), aside));
        }
        renames.push(format!("{} TO {}", shadow.name.quoted(), shadow.table.quoted()));
    }
    let sql = format!("RENAME TABLE {}", renames.join(", "));
    let _shield = own.options().interrupt.shield();
    own.set_lock_wait(lock_wait)?;
    load::failpoint::step("replay.rename");
    match unchecked(own, |own| own.exec(&sql).map(drop)) {
        Err(error) if error.errno() == Some(ER_LOCK_WAIT_TIMEOUT) => {
            return Err(timed_out(own, lock_wait, shadows));
        }
        Err(server::Error::Lost { message, statement }) => {
            // The rest needs a connection too; the locks of the lost one are nobody's now.
            *own = own.another()?;
            own.set_lock_wait(lock_wait)?;
            if catalog::exists(own, &first.name)? {
                return Err(server::Error::Lost { message, statement });
            }
        }
        renamed => renamed?,
    }
    load::failpoint::step("replay.renamed");
    finish(own, &old)
}

/// Drops old tables that were put aside, and gives the foreign keys that refer to them to the
/// new ones; does nothing the second time.
pub(super) fn finish(own: &mut Session, old: &[(TableName, TableName)]) -> server::Result<()> {
    if old.is_empty() {
        return Ok(());
    }
    let asides: Vec<TableName> = old.iter().map(|(_, aside)| aside.clone()).collect();
    let drops = format!("DROP TABLE IF EXISTS {}", keys::quoted_list(&asides));
    unchecked(own, |own| own.exec(&drops).map(drop))?;
    load::failpoint::step("replay.dropped");
    for (table, aside) in old {
        if keys::has_children(own, aside)? {
            unchecked(own, |own| keys::rebind(own, table, aside))?;
        }
    }
    Ok(())
}

/// Works under `foreign_key_checks=0`, as the dump does wherever this is used.
pub(super) fn unchecked(
    own: &mut Session,
    work: impl FnOnce(&mut Session) -> server::Result<()>,
) -> server::Result<()> {
    own.exec("SET SESSION foreign_key_checks=0")?;
    let done = work(own);
    // What made the work fail is what matters.
    let reset = own.exec("SET SESSION foreign_key_checks=1").map(drop);
    done.and(reset)
}

fn timed_out(own: &mut Session, lock_wait: Duration, shadows: &[&Shadow]) -> server::Error {
    let mut holders = Vec::new();
    for shadow in shadows {
        holders.extend(lock_holders(own, &shadow.table).unwrap_or_default());
    }
    holders.dedup();
    let names: Vec<String> = shadows.iter().map(|shadow| shadow.table.to_string()).collect();
    server::Error::LockWait { target: names.join(", "), seconds: lock_wait.as_secs(), holders }
}
