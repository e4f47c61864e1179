//! The empty staging table of a target that rows are sent to, and its way back into the target's shape.
//!
//! ```text
//! StagingCopy::create -> (rows go in) -> finish -> filled -> publish
//! ```
//!
//! Each load gives this table a name of its own; the direct path's staging table has one name in all loads.
//! The named lock of a load is lost with its connection, and others may then clean up and begin anew while
//! connections of the first still send rows: they find their table gone, never another's.
//!
//! While it is filled the staging table can differ from the target: secondary indexes are missing, and a
//! table of an engine without transactions is one of InnoDB. That the way back leads to the very
//! definition of the target is tried on the empty staging table, before any row is sent.

use crate::lock::Lock;
use crate::names::staging_name;
use crate::publish::Filled;
use crate::secondary::{Defer, Secondary, alter_text};
use catalog::definition;
use server::Unsupported;
use server::error::{Error, Result};

/// Connections lost in [`StagingCopy::finish`] before it gives up.
const FINISH_TRIES: usize = 4;

/// A table that rows for the target are sent to, [`Names::staging`](super::names::Names::staging) as
/// long as it is there, and what is still to be done before it is the target's like.
#[derive(Clone, Debug)]
pub struct StagingCopy {
    /// Indexes that are built when the rows are in.
    secondary: Secondary,
    /// The target's engine, where the staging table is of InnoDB until the end.
    staged: Option<String>,
    /// Its next AUTO_INCREMENT value.
    next: Option<u64>,
}

impl StagingCopy {
    /// Makes the empty staging table without the indexes that `defer` leaves for later; `staged` makes it a
    /// table of InnoDB for the time.
    ///
    /// AUTO_INCREMENT goes on where the target's does.
    ///
    /// Killed after it: an empty table, which [`Lock::cleanup_tables`] finds.
    ///
    /// Errors: [`Error::NoStagingTable`] when the server's copy is another table than the target, the staging
    /// table then gone again; the server's.
    pub fn create(lock: &mut Lock, defer: Defer, staged: bool) -> Result<StagingCopy> {
        lock.names.staging = staging_name(&lock.table.name, lock.session.id());
        let made = StagingCopy::shape(lock, defer, staged);
        if made.is_err() {
            let _shield = lock.session.options().interrupt.shield();
            // The error that is reported says why; what stays the next load removes.
            let _ = drop_staging(lock);
        }
        made
    }

    fn shape(lock: &mut Lock, defer: Defer, staged: bool) -> Result<StagingCopy> {
        copy_target(lock)?;
        let mut copy = StagingCopy {
            secondary: Secondary::of(&lock.table, defer),
            staged: staged.then(|| lock.table.engine.to_string()),
            next: lock.table.auto_increment,
        };
        if !copy.try_way_back(lock)? {
            if staged {
                return Err(no_staging(lock, Unsupported::StagedDiffers));
            }
            // Only indexes: they can just as well stay.
            drop_staging(lock)?;
            copy_target(lock)?;
            copy.secondary = Secondary::default();
        }
        if let Some(next) = copy.next.filter(|&next| next > 1) {
            alter_staging(lock, &[format!("AUTO_INCREMENT={next}")])?;
        }
        Ok(copy)
    }

    /// Gives the empty staging table the shape rows are sent to, brings it back, and if that leads to the
    /// target's definition takes it there again; false if it does not.
    fn try_way_back(&self, lock: &mut Lock) -> Result<bool> {
        let there = self.there();
        if there.is_empty() {
            return Ok(true);
        }
        match alter_staging(lock, &there) {
            // MyISAM has tables that InnoDB refuses: with AUTO_INCREMENT behind another column of its key.
            Err(Error::Statement { .. }) if self.staged.is_some() => return Ok(false),
            done => done?,
        }
        let staging = lock.names.staging.clone();
        let before = definition(&mut lock.session, &staging)?;
        for back in self.back(&before, None) {
            alter_staging(lock, &back)?;
        }
        if definition(&mut lock.session, &staging)? != lock.table.definition {
            return Ok(false);
        }
        alter_staging(lock, &there)?;
        Ok(true)
    }

    /// Sees to it that the session works. One that was lost is made again, if the staging table is there.
    ///
    /// Errors: [`Error::Overtaken`], [`Error::Busy`]; a server that cannot be reached.
    pub fn ensure_session(&self, lock: &mut Lock) -> Result<()> {
        lock.ensure_session_if(Lock::has_staging).map(drop)
    }

    /// Gives the filled staging table the indexes and the engine of the target; does nothing the second
    /// time. A connection that breaks meanwhile is made again, and what is still missing done.
    ///
    /// Killed in it, or the server: a table that lacks indexes and is never published.
    ///
    /// Errors: two rows with one key, where unique keys were left for later; the server's.
    pub fn finish(&self, lock: &mut Lock) -> Result<()> {
        let mut tries = 0;
        loop {
            match self.finish_once(lock) {
                Err(error) if error.is_cut() && tries < FINISH_TRIES => {
                    tries += 1;
                    self.ensure_session(lock)?;
                }
                done => return done,
            }
        }
    }

    fn finish_once(&self, lock: &mut Lock) -> Result<()> {
        let staging = lock.names.staging.clone();
        let now = definition(&mut lock.session, &staging)?;
        for alter in self.back(&now, self.next) {
            alter_staging(lock, &alter)?;
        }
        lock.check_staging()
    }

    /// Has its AUTO_INCREMENT go on at `next`, and the target's after the swap.
    pub fn number(&mut self, lock: &mut Lock, next: u64) -> Result<()> {
        self.next = Some(next);
        alter_staging(lock, &[format!("AUTO_INCREMENT={next}")])
    }

    /// Names of the indexes that [`StagingCopy::finish`] builds.
    pub fn deferred(&self) -> Vec<&str> {
        self.secondary.names().collect()
    }

    /// The staging table as what takes the target's place. That it is what the target is, in every index, is
    /// looked at before the swap.
    pub fn filled<'l>(&self, lock: &'l mut Lock) -> Filled<'l> {
        Filled::sent(lock)
    }

    /// From the target's shape to the one rows are sent to.
    fn there(&self) -> Vec<String> {
        let mut clauses = self.secondary.drops();
        if self.staged.is_some() {
            clauses.push("ENGINE=InnoDB".to_owned());
        }
        clauses
    }

    /// The ALTERs that lead from `now` to the target's shape.
    fn back(&self, now: &str, next: Option<u64>) -> Vec<Vec<String>> {
        let mut alters = self.secondary.adds(now);
        let is_staged = now.contains("\n) ENGINE=InnoDB");
        if let Some(engine) = self.staged.as_ref().filter(|_| is_staged) {
            // In one statement: the other engine builds its indexes as it copies the rows.
            let mut all: Vec<String> = alters.drain(..).flatten().collect();
            all.push(format!("ENGINE={engine}"));
            all.extend(next.map(|next| format!("AUTO_INCREMENT={next}")));
            alters.push(all);
        }
        alters
    }
}

/// CREATE TABLE .. LIKE.
///
/// Errors: [`Error::NoStagingTable`] where that made another table.
fn copy_target(lock: &mut Lock) -> Result<()> {
    match lock.copy_target()? {
        Some(reason) => Err(no_staging(lock, reason)),
        None => Ok(()),
    }
}

fn drop_staging(lock: &mut Lock) -> Result<()> {
    let sql = format!("DROP TABLE IF EXISTS {}", lock.names.staging.quoted());
    lock.exec(&sql)
}

fn alter_staging(lock: &mut Lock, clauses: &[String]) -> Result<()> {
    let flavor = lock.session.version().flavor;
    let sql = alter_text(flavor, &lock.names.staging, clauses);
    lock.exec(&sql)
}

fn no_staging(lock: &Lock, reason: Unsupported) -> Error {
    Error::NoStagingTable { target: lock.table.name.to_string(), reasons: vec![reason] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_back_names_only_what_is_missing() {
        let copy = StagingCopy {
            secondary: Secondary::default(),
            staged: Some("Aria".to_owned()),
            next: None,
        };
        assert_eq!(
            copy.back("  `a` int\n) ENGINE=InnoDB", Some(7)),
            [["ENGINE=Aria", "AUTO_INCREMENT=7"]]
        );
        assert!(copy.back("  `a` int\n) ENGINE=Aria", Some(7)).is_empty());
    }
}
