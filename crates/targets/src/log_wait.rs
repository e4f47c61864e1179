//! The wait for the redo log to begin behind a DISCARD, and for backups that may have read of it.

use crate::lock::Lock;
use crate::staging_table::{DirectState, LogState};
use server::error::{Error, Result};
use server::facts::CheckpointWay;
use server::facts::database_dir::DatabaseDir;

/// Waits until the redo log begins behind the DISCARD, and until backups that began before have ended.
pub(super) fn wait_for_log(lock: &mut Lock, dir: &DatabaseDir, made: &DirectState) -> Result<()> {
    if lock.facts.checkpoint == Some(CheckpointWay::Import) {
        // A backup of such a server has a lock that IMPORT itself waits for.
        made.log.set(LogState::Passed);
        return Ok(());
    }
    let passed = match made.log.take() {
        LogState::Passed => {
            made.log.set(LogState::Passed);
            return Ok(());
        }
        LogState::Begun(checkpoint) => Some(checkpoint.wait(&mut lock.session)),
        LogState::Unknown => None,
    };
    let mut second = match passed {
        Some(Ok(Some(second))) => second,
        Some(Ok(None)) => lock.second()?,
        Some(Err(error @ Error::Checkpoint { .. })) => return Err(error),
        // Not known to have passed: its connection was lost, or the one before this.
        _ => match lock.begin_checkpoint()?.wait(&mut lock.session)? {
            Some(second) => second,
            None => lock.second()?,
        },
    };
    lock.wait_for_backups(dir, &mut second)?;
    lock.spare = Some(second);
    made.log.set(LogState::Passed);
    Ok(())
}
