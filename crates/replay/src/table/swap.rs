//! Staging tables become the tables they are for.

use std::time::Duration;

use schema::TableName;
use server::Session;
use targets::carried_keys::{carry_over, mend};
use targets::foreign_keys::unchecked;
use targets::lock::LOCK_WAIT;
use targets::swap::{Before, Pair, Swap};

use super::staging_table::{StagingTable, aside_of};
use crate::keys;

/// Publishes tables, all or none. `replaces` says for each whether a table has its name, which
/// goes.
///
/// Killed after the RENAME: the tables are new, the old ones are aside still, and foreign keys of
/// others refer to these; [`finish`] makes that good.
pub(super) fn swap(
    own: &mut Session,
    lock_wait: Duration,
    stagings: &[&StagingTable],
    replaces: &[bool],
) -> server::Result<()> {
    if stagings.is_empty() {
        return Ok(());
    }
    let mut old = Vec::new();
    let pair = |(staging, &replaces): (&&StagingTable, &bool)| {
        let aside = aside_of(&staging.table);
        if replaces {
            old.push((staging.table.clone(), aside.clone()));
        }
        let before = if replaces { Before::Whatever { aside } } else { Before::Nothing };
        Pair { table: staging.table.clone(), replacement: staging.name.clone(), before }
    };
    let swap = Swap::new(stagings.iter().zip(replaces).map(pair).collect());
    let _shield = own.options().interrupt.shield();
    load::failpoint::step("replay.rename");
    match old.is_empty() {
        // Foreign keys that came first may be of this name.
        true => unchecked(own, |own| swap.run(own, lock_wait))?,
        false => swap.run(own, lock_wait)?,
    }
    own.check_in_step()?;
    load::failpoint::step("replay.renamed");
    finish(own, &old, lock_wait)
}

/// As [`finish`], of a table whose RENAME was done or not: a panic has kept that from being heard.
pub(super) fn finish_renamed(own: &mut Session, staging: &StagingTable) -> server::Result<()> {
    if catalog::exists(own, &staging.name)? || !catalog::exists(own, &staging.table)? {
        return Ok(());
    }
    finish(own, &[(staging.table.clone(), aside_of(&staging.table))], LOCK_WAIT)
}

/// Drops old tables that were put aside, and gives the foreign keys that refer to them to the
/// new ones; does nothing the second time.
pub(super) fn finish(
    own: &mut Session,
    old: &[(TableName, TableName)],
    lock_wait: Duration,
) -> server::Result<()> {
    if old.is_empty() {
        return Ok(());
    }
    mend(own, old)?;
    let asides: Vec<TableName> = old.iter().map(|(_, aside)| aside.clone()).collect();
    let drops = format!("DROP TABLE IF EXISTS {}", keys::quoted_list(&asides));
    unchecked(own, |own| own.exec(&drops).map(drop))?;
    load::failpoint::step("replay.dropped");
    carry_over(own, old, lock_wait)
}
