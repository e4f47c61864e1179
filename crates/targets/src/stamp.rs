//! Pages of a filled table get the server's LSN, so that incremental backups copy them.
//!
//! ```text
//! checkpoint, no backup runs | FLUSH TABLES staging FOR EXPORT | LSN into every page, sync | UNLOCK TABLES
//! ```
//!
//! IMPORT sets the LSN of all pages to 0, and mariadb-backup --incremental copies pages with a higher LSN than
//! the last backup's. The dirty pages are written by FLUSH, and the server changes none of the file until UNLOCK.
//!
//! - The LSN is one that is in the redo log on disk. A later one would be lost in a crash, and the server would
//!   use it again for changes that recovery then leaves out.
//! - The checkpoint comes first. The doublewrite buffer does not know of our writes, so a power cut may tear a page.
//!   Recovery fails at a torn page if the redo log has changes of the file; behind the checkpoint it has none,
//!   and the staging table is dropped.
//! - A backup that runs meanwhile may copy some pages and not others. Its restored staging table is dropped
//!   by the next load, but the next backup is based on it. So the pages are stamped again behind it.
//!
//! Purge stands still meanwhile, on the whole server, as for every FLUSH TABLES .. FOR EXPORT.
//! Source: MariaDB 10.11, extra/mariabackup/write_filt.cc, `wf_incremental_process`; storage/innobase/log/log0recv.cc,
//! `recv_recover_page`; tried with 10.11.19 and 11.8.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use disk::File;
use schema::Partition;

use crate::checkpoint::status;
use crate::lock::Lock;
use crate::publish::Filled;
use crate::read_back::Access;
use server::error::{Error, Result};
use server::facts::ServerFacts;
use server::identifier::TableName;
use server::session::Session;

/// How often pages are stamped if backups begin meanwhile.
const TRIES: usize = 3;
/// The longest wait for a checkpoint while writers of the target wait.
const HELD_CHECKPOINT_WAIT: Duration = Duration::from_secs(5);
/// The longest wait for a lock of others while writers of the target wait.
const HELD_LOCK_WAIT: Duration = Duration::from_secs(1);
/// Pages are stamped again within this time while writers of the target wait.
const HELD_AGAIN_WITHIN: Duration = Duration::from_secs(2);
/// Statements BACKUP STAGE of a backup at least: START, BLOCK_COMMIT, END. A load that looks for backups
/// needs two.
const BACKUP_STATEMENTS: u64 = 3;
/// mariadb-backup's table of its backups, since 10.11 and before.
const HISTORIES: [(&str, &str); 2] =
    [("mysql", "mariadb_backup_history"), ("PERCONA_SCHEMA", "xtrabackup_history")];

impl Filled<'_> {
    /// Has `write` give the LSN to all pages of the table that is to take the target's place, and sync its
    /// files: one, or one a partition. None if pages could not be stamped without a backup beside: the table
    /// is as good as before, but incremental backups may lack pages of it.
    ///
    /// Killed in it: the staging table, whose pages may be torn.
    ///
    /// Errors: those of [`Filled::ensure_session`]; those of `write`.
    pub fn stamp<T, E: From<Error>>(
        &mut self,
        partitions: Option<&[Partition]>,
        mut write: impl FnMut(Vec<(File, PathBuf)>, u64) -> std::result::Result<T, E>,
    ) -> std::result::Result<Option<T>, E> {
        let is_held = self.holds_target();
        let begun = Instant::now();
        for _ in 0..TRIES {
            self.ensure_session()?;
            let Some(backups) = self.lock.prepare_stamp(is_held)? else { break };
            let wait = if is_held { HELD_LOCK_WAIT } else { self.lock.lock_wait() };
            self.lock.session.set_lock_wait(wait)?;
            match self.flush() {
                Err(Error::LockWait { .. }) => break,
                flushed => flushed?,
            }
            let stamped = self.with_files(partitions, Access::Write, |session, files| {
                let lsn = status(session, "Innodb_lsn_flushed")?;
                write(files, lsn)
            })?;
            self.ensure_session()?;
            if !self.lock.had_backup(backups)? {
                self.lock.session.set_lock_wait(self.lock.lock_wait())?;
                return Ok(Some(stamped));
            }
            if is_held && begun.elapsed() > HELD_AGAIN_WITHIN {
                break;
            }
        }
        self.ensure_session()?;
        self.lock.session.set_lock_wait(self.lock.lock_wait())?;
        Ok(None)
    }
}

impl Lock {
    /// Waits until the redo log has no change of the staging table and no backup runs: for a short
    /// time only if writers of the target wait. Gives the number of statements for backups so far; none if the wait was too long.
    fn prepare_stamp(&mut self, is_held: bool) -> Result<Option<u64>> {
        let begun = self.begin_checkpoint()?;
        if is_held && !begun.passes_within(&mut self.session, HELD_CHECKPOINT_WAIT)? {
            return Ok(None);
        }
        let mut second = match begun.wait(&mut self.session)? {
            Some(second) => second,
            None => self.second()?,
        };
        let dir = self.dir()?.clone();
        let waited = match is_held {
            true => self.runs_backup(&dir, &mut second).map(|runs| !runs),
            false => match self.wait_for_backups(&dir, &mut second) {
                Err(Error::LockWait { .. }) => Ok(false),
                waited => waited.map(|()| true),
            },
        };
        self.spare = Some(second);
        let is_free = waited?;
        is_free.then(|| status(&mut self.session, "Com_backup")).transpose()
    }

    /// True if a backup runs, or has run since there were so many statements for backups.
    fn had_backup(&mut self, statements: u64) -> Result<bool> {
        // A server that has restarted counts anew.
        let since = status(&mut self.session, "Com_backup")?.checked_sub(statements);
        if since.is_none_or(|since| since >= BACKUP_STATEMENTS) {
            return Ok(true);
        }
        let (mut second, dir) = (self.second()?, self.dir()?.clone());
        let runs = self.runs_backup(&dir, &mut second);
        self.spare = Some(second);
        runs
    }
}

/// True if the server had a history of backups when the first of a command's tables was inspected.
///
/// Errors: as [`has_backup_history`].
pub fn had_backup_history(session: &mut Session, facts: &ServerFacts) -> Result<bool> {
    match facts.has_backup_history.get() {
        Some(had) => Ok(*had),
        None => has_backup_history(session).inspect(|has| {
            let _ = facts.has_backup_history.set(*has);
        }),
    }
}

/// True if a server has a history of backups (mariadb-backup --history), as far as the account may see it.
///
/// Errors: the connection's.
pub fn has_backup_history(session: &mut Session) -> Result<bool> {
    for (database, table) in HISTORIES {
        match catalog::is_empty(session, &TableName::new(database, table)) {
            Ok(false) => return Ok(true),
            Ok(true) => {}
            // A history that is not there has no row, and one that the account may not read is unknown, as is a
            // broken one.
            Err(error) if error.errno().is_some() => {}
            Err(error) => return Err(error),
        }
    }
    Ok(false)
}
